//! The program `pcr99` as a library: [`run`] takes the arguments and returns the exit status.
//!
//! Raw options ([`args`]) → checked plan (crate `pcr99-plan`) → work (`commands`, one file each) → result (`output`). Standard output
//! carries only the result; notes, progress and errors go to standard error.
//!
//! Exit status: 0 registered; 1 finished without a reliable registration; 2 bad usage or bad input, with one message and nothing
//! written; 130 interrupted.
//!
//! The commands `demo`, `simulate` and `bench` need the feature `lab`, which is on by default.

/// Options as the user writes them.
pub mod args;

mod commands;

mod input;

mod output;

mod page;

mod terminal;

mod verbose;

mod watch;

use std::{
    ffi::OsString,
    io::{self, Write},
    panic,
    process::ExitCode,
};

use clap::Parser;

/// Outcome of a command that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Registered, or simply done.
    Done,
    /// Finished without a reliable registration.
    NotReliable,
    /// Stopped by Ctrl-C; the best result so far has been printed.
    Interrupted,
}

impl From<Outcome> for u8 {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => 0,
            Outcome::NotReliable => 1,
            Outcome::Interrupted => 130,
        }
    }
}

/// Runs the program with `args`, of which the first is its name.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let program = std::env::current_exe().map(Into::into);
    ExitCode::from(status(args, program.into_iter().collect()))
}

/// Runs the program as [`run`] does, and returns the exit status as a number. `program` is the command that starts it again, with its first
/// arguments if needed; an empty command starts nothing.
pub fn status(args: impl IntoIterator<Item = impl Into<OsString> + Clone>, program: Vec<OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let command_line = page::command_line(&args);
    let args = match args::Args::try_parse_from(args) {
        Ok(args) => args::Args { command_line, program, ..args },
        Err(message) if message.use_stderr() => {
            let _ = message.print();
            return 2;
        }
        // `--help` and `--version` are results.
        Err(text) => return output::print_help(&text).map_or_else(failed, |()| 0),
    };
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        // A panic of a decoder on a damaged file becomes an error message instead.
        if !pcr99_cloud::files::panic_is_caught() {
            usual(panic);
        }
    }));
    match commands::run(&args) {
        Ok(outcome) => outcome.into(),
        Err(error) => failed(error),
    }
}

/// Prints an error and returns its exit status.
fn failed(error: anyhow::Error) -> u8 {
    say(&format!("error: {}", in_one_line(&error)));
    2
}

/// Prints a line on standard error. A closed standard error is ignored.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The error and its causes, without causes that the text before already quotes.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
