//! pcr99 for C, and through the header `pcr99.hpp` for C++.
//!
//! The C header `include/pcr99.h` is made from this crate. It holds no algorithm, no default and no rule of its own: options go to `pcr99-plan`, and results
//! are documents of `pcr99-document`.
//!
//! | what | where |
//! |---|---|
//! | codes and messages of failures; panics end at the boundary | `failure` |
//! | solvers, clouds and results as numbers that are checked | `handle` |
//! | arrays of the caller | `points` |
//! | options, and which values mean the default | `options` |
//! | a callback that ends a search | `stop` |
//! | a callback that gets a line for each decision | `told` |
//! | registration of matches | `solve` |
//! | clouds, their registration and refinement | `cloud` |
//! | what a result says | `result` |
#![allow(non_camel_case_types, reason = "names of C")]

mod cloud;
mod failure;
mod handle;
mod options;
mod points;
mod result;
mod solve;
mod stop;
mod told;

use std::ffi::{CStr, c_char};

pub use cloud::{
    pcr99_cloud_free, pcr99_cloud_new, pcr99_fit, pcr99_refine, pcr99_register, pcr99_suggest_voxel,
    pcr99_verify,
};
pub use failure::{pcr99_code, pcr99_last_error};
pub use handle::{pcr99_cloud, pcr99_result, pcr99_solver};
pub use options::{
    PCR99_SCALE_KNOWN, PCR99_SCALE_RANGE, PCR99_SCALE_UNKNOWN, pcr99_register_options,
    pcr99_register_options_default, pcr99_scale, pcr99_solve_options, pcr99_solve_options_default,
};
pub use points::{PCR99_F32, PCR99_F64, pcr99_matches, pcr99_points};
pub use result::{
    PCR99_TEXT_ACCURACY, PCR99_TEXT_DOUBT, PCR99_TEXT_G2O, PCR99_TEXT_JSON, PCR99_TEXT_KITTI,
    PCR99_TEXT_REASON, PCR99_TEXT_STATUS, PCR99_TEXT_TUM, pcr99_result_covariance, pcr99_result_free,
    pcr99_result_from_json, pcr99_result_inliers, pcr99_result_summary, pcr99_result_text, pcr99_status,
    pcr99_summary,
};
pub use solve::{pcr99_assess, pcr99_solve, pcr99_solver_free, pcr99_solver_new};
pub use stop::pcr99_stop_check;
pub use told::{PCR99_LOG_DEBUG, PCR99_LOG_INFO, PCR99_LOG_OFF, pcr99_log_line, pcr99_set_log};

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => c"",
};

/// Version of the library, for instance "0.1.0". The text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn pcr99_version() -> *const c_char {
    VERSION.as_ptr()
}
