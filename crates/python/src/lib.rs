//! The extension module `flashkeep._flashkeep`: it converts values and handles the GIL.
//!
//! Structured values are passed as JSON text, columns as `bytes`, which NumPy and `memoryview` read without copying.
//! The Python package `flashkeep` wraps these functions.

mod arrow;
mod conformance;
mod errors;
mod fleet;
mod fork;
mod lists;
mod places;
mod policies;
mod provenance;
mod run;
mod schemes;
mod serve;
mod tables;
mod traces;

use pyo3::prelude::*;

/// The simulator, which takes and returns text (JSON) and bytes.
#[pymodule]
mod _flashkeep {
    use super::errors::quiet_panics;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrow::arrow_stream;
    #[pymodule_export]
    use super::conformance::conformance;
    #[pymodule_export]
    use super::errors::{DriveError, OptionError, TraceError};
    #[pymodule_export]
    use super::fleet::{fleet, fleet_array, fleet_local_code, fleet_scheme, fleet_schemes};
    #[pymodule_export]
    use super::lists::{
        check, drive_changes, drive_text, drives, format_text, formats, metrics, page_errors, policies,
        policy_text, run_options, schema, scheme_text, schemes, table_rows, workload_text, workloads,
    };
    #[pymodule_export]
    use super::places::toml_lines;
    #[pymodule_export]
    use super::provenance::{sha256_of_bytes, sha256_of_file};
    #[pymodule_export]
    use super::run::run;
    #[pymodule_export]
    use super::schemes::{SchemeCommand, SchemeView};
    #[pymodule_export]
    use super::serve::{ServeStop, serve};
    #[pymodule_export]
    use super::traces::{flow_tables, has_footprint, trace_convert, trace_files, trace_info, trace_synth};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        quiet_panics();
        super::policies::accept_files();
        super::schemes::accept_files();
        module.add("__debug_assertions__", cfg!(debug_assertions))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
