//! `pcr99._core`: the native module of the Python package `pcr99`.
//!
//! It holds no algorithm, no default and no rule of its own. The package (`python/pcr99`) checks shapes and types. This module copies
//! arrays, passes options to `pcr99-plan`, works outside the interpreter's lock (`work`), and returns result documents (`document`).

mod arrays;

mod assemble;

mod batch;

mod document;

mod error;

mod files;

mod georeference;

mod logging;

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
fn main(py: Python<'_>, arguments: Vec<OsString>, program: Vec<OsString>) -> u8 {
    // The message of a panic is already on standard error; 101 is the exit status of any Rust program that panics.
    let status = py.detach(|| panic::catch_unwind(|| pcr99_cli::status(arguments, program)).unwrap_or(101));
    // Python does not flush the buffer of Rust.
    let _ = std::io::stdout().flush();
    status
}

/// Silences panics inside decoders of damaged files. They become errors of one line.
fn quiet_decoders() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !pcr99_cloud::files::panic_is_caught() {
            default(panic);
        }
    }));
}

#[pymodule]
#[pyo3(name = "_core")]
mod core {
    #[pymodule_export]
    use super::{
        assemble::Assembly,
        batch::{Batch, Manifest, Worker},
        document::Document,
        files::{read_cloud, read_matches, read_points, write_cloud, write_matches},
        georeference::georeference,
        main,
        page::save_page,
        register::{Deadline, PreparedCloud, RegisterPlan, suggest_voxel, verify},
        simulate::{shapes, simulate},
        solve::{assess, methods, solve},
        stages::{clean, estimate_normals, fpfh, match_features, voxel_down_sample},
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::quiet_decoders();
        module.add("CHUNK", super::batch::default_chunk())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
