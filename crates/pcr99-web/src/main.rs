//! Makes the page and the npm package: `pcr99-web MODULE DIRECTORY`, for `cargo xtask web`.
#![allow(clippy::print_stderr, reason = "a program")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, directory] = arguments.as_slice() else {
        eprintln!("usage: pcr99-web MODULE DIRECTORY; `cargo xtask web` compiles the module and calls this");
        return ExitCode::from(2);
    };
    let written = std::fs::read(module)
        .map_err(|error| format!("cannot read `{module}`: {error}"))
        .and_then(|module| pcr99_web::bundle::write(&module, directory.as_ref()).map_err(|e| e.to_string()));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
