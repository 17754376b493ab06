//! Prints what is promised of an answer's trustworthiness, measured and required, in one table:
//! `cargo run --release -p pcr99-lab --features bunny --example trust`.
//!
//! With `PCR99_DATA`, the directory of real matches, the rows about real matches are measured, too. `--help` lists the options.
//!
//! Seeds from 10 000 on judge a method. Use seeds below 10 000 (`--seeds 0..`) to set its numbers, never the judging ones.
//!
//! The full table takes hours. `--quick` takes a few minutes and finds what fails often; `--only` and `--row` pick parts.
//! Failing problems are named by their seeds: `--only 5 --row pairs --seeds 10023..10024 --show` solves one of them again.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the table is the result")]

mod detection;
mod first_motion;
mod found_threshold;
mod given_threshold;
mod lab;
mod near_rivals;
mod options;
mod pure_noise;
mod real;
mod same_status;
mod stray_matches;

use std::process::ExitCode;

use crate::{lab::Lab, options::Options};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(measure) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Prints the table, and returns whether all requirements hold. The error is a message for the user.
fn measure(options: Options) -> Result<bool, String> {
    let data = std::env::var_os("PCR99_DATA").filter(|path| !path.is_empty()).map(std::path::PathBuf::from);
    let files = data.as_deref().map(real::MatchFile::all).transpose()?;
    let mut lab = Lab::new(options);
    lab.begin(1, "The larger motion comes first", first_motion::measure);
    lab.begin(2, "The status does not depend on the search seed", |lab| {
        same_status::measure(lab, files.as_deref());
    });
    lab.begin(3, "No threshold given", |lab| {
        found_threshold::measure(lab, data.as_deref(), files.as_deref())
    });
    lab.begin(4, "Threshold of two voxels given", |lab| given_threshold::measure(lab, files.as_deref()));
    lab.begin(5, "Pure noise is not registered", pure_noise::measure);
    lab.begin(6, "Near rivals are told apart or named", near_rivals::measure);
    lab.begin(7, "Strays change nothing", stray_matches::measure);
    lab.begin(8, "Detection at the limit, and the paper's problems", detection::measure);
    Ok(lab.summary())
}
