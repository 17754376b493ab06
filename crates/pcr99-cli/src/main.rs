//! The program `pcr99`; everything is in the library.

fn main() -> std::process::ExitCode {
    pcr99_cli::run(std::env::args_os())
}
