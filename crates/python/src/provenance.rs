//! Hashes of inputs.

use crate::errors::detached;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Read;

/// SHA-256 of a file's bytes, in hexadecimal, read without the GIL.
#[pyfunction]
pub(crate) fn sha256_of_file(py: Python<'_>, path: &str) -> PyResult<String> {
    detached(py, || hash(path))?.map_err(|error| PyOSError::new_err(error.to_string()))
}

/// SHA-256 of bytes in memory, in hexadecimal.
#[pyfunction]
pub(crate) fn sha256_of_bytes(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hash(path: &str) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
