//! Columns through the Arrow C stream interface, which polars, pandas and DuckDB read without copying.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use bytes::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// A stream of one batch of columns, each given as its name, NumPy's name of its type, and its memory.
#[pyfunction]
pub(crate) fn arrow_stream(
    py: Python<'_>,
    columns: Vec<(String, String, PyBackedBytes)>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let arrays = columns.into_iter().map(|(name, kind, memory)| Ok((name, array(&kind, memory)?)));
    let batch =
        RecordBatch::try_from_iter(arrays.collect::<PyResult<Vec<_>>>()?).map_err(|error| wrong(&error))?;
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// A column that refers to Python's memory, and keeps it alive.
fn array(kind: &str, memory: PyBackedBytes) -> PyResult<ArrayRef> {
    let buffer = Buffer::from(Bytes::from_owner(memory));
    Ok(match kind {
        "<u8" => Arc::new(UInt64Array::new(buffer.into(), None)),
        "<u4" => Arc::new(UInt32Array::new(buffer.into(), None)),
        "<f8" => Arc::new(numbers(buffer.into())),
        "|u1" => Arc::new(UInt8Array::new(buffer.into(), None)),
        _ => return Err(PyValueError::new_err(format!("there are no columns of {kind}"))),
    })
}

/// Figures, of which those that are NaN have no value.
fn numbers(values: ScalarBuffer<f64>) -> Float64Array {
    let known: NullBuffer = values.iter().map(|value| !value.is_nan()).collect();
    let nulls = Some(known).filter(|known| known.null_count() > 0);
    Float64Array::new(values, nulls)
}
