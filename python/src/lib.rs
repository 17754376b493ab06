//! `pcr99._core`: what the Python package `pcr99` calls.
//!
//! No algorithm is here, and no default either. The package around it (`python/pcr99`) checks shapes and types, this module copies
//! arrays, works beside the interpreter (`work`) and gives back the program's own documents.

mod arrays;

mod batch;

mod error;

mod files;

mod page;

mod register;

mod simulate;

mod solve;

mod stages;

mod work;

use std::{ffi::OsString, io::Write as _, panic};

use pyo3::prelude::*;

/// Runs the program `pcr99`; the first argument is its name. Returns the exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    // What a panic says is on standard error already; its status is that of any Rust program.
    let status = py.detach(|| panic::catch_unwind(|| pcr99_cli::status(arguments)).unwrap_or(101));
    // Python does not do it for us.
    let _ = std::io::stdout().flush();
    status
}

/// A document as the program prints it: one field per line.
#[pyfunction]
fn document_text(document: &str) -> PyResult<String> {
    let value = serde_json::from_str(document);
    let value = value.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    Ok(pcr99_cloud::document::to_text(&value))
}

/// What a decoder of damaged files cannot go on with becomes an error of one line, and nothing is printed.
fn quiet_decoders() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !pcr99_cloud::files::panic_is_caught() {
            usual(panic);
        }
    }));
}

#[pymodule]
#[pyo3(name = "_core")]
mod core {
    #[pymodule_export]
    use super::{
        batch::{Batch, Manifest, Worker},
        document_text,
        files::{read_cloud, read_matches, read_points, write_cloud, write_matches},
        main,
        page::save_page,
        register::{PreparedCloud, register, suggest_voxel, verify},
        simulate::{shapes, simulate},
        solve::{assess, methods, solve},
        stages::{clean, estimate_normals, fpfh, match_features, voxel_down_sample},
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::quiet_decoders();
        module.add("CHUNK", super::batch::usual_chunk())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
