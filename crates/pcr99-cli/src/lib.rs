//! The program `pcr99` as a library: [`run`] takes the arguments and returns the exit status.
//!
//! Raw options ([`args`]) → checked values → work (`commands`, one file each) → documents (`output`). Standard output
//! carries the result only, everything else goes to standard error.
//!
//! Exit status: 0 registered; 1 ran well, but there is no reliable registration; 2 bad usage or bad input, one message and
//! nothing written; 130 interrupted.

/// The options, as the user writes them.
pub mod args;

mod commands;

mod input;

mod output;

mod page;

mod terminal;

mod watch;

pub use output::verdict;

use std::{
    ffi::OsString,
    io::{self, Write},
    panic,
    process::ExitCode,
};

use clap::Parser;

/// What a command that ran to its end says to the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Registered, or simply done.
    Done,
    /// Ran well, but the registration is not reliable.
    NotReliable,
    /// Stopped by Ctrl-C; what was found so far has been printed.
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

/// Runs the program with `args`, the first being its name.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    ExitCode::from(status(args))
}

/// As [`run`], for callers that end by other means: the exit status as a number.
pub fn status(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let command_line = page::command_line(&args);
    let args = match args::Args::try_parse_from(args) {
        Ok(args) => args::Args { command_line, ..args },
        Err(message) => {
            // `--help` and `--version` are not errors; clap knows which is which. A closed pipe is none either.
            let _ = message.print();
            return if message.use_stderr() { 2 } else { 0 };
        }
    };
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        // What a decoder of damaged files cannot go on with becomes an error of one line.
        if !pcr99_cloud::files::panic_is_caught() {
            usual(panic);
        }
    }));
    match commands::run(&args) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            say(&format!("error: {}", in_one_line(&error)));
            2
        }
    }
}

/// A line on standard error. If nobody reads it, that is no reason to fail.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The error and its causes, without those that the one before has quoted already.
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
