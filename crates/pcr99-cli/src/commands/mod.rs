//! One file per command.

mod batch;
mod batch_pages;
#[cfg(feature = "lab")]
mod bench;
mod convert;
#[cfg(feature = "lab")]
mod demo;
mod page;
mod register;
#[cfg(feature = "lab")]
mod simulate;
mod solve;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::{
    Outcome,
    args::{Args, Command},
    output::Sink,
};

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    match &args.command {
        #[cfg(feature = "lab")]
        Command::Demo(options) => demo::run(options, args),
        Command::Solve(options) => solve::run(options, args),
        Command::Register(options) => register::run(options, args),
        #[cfg(feature = "lab")]
        Command::Simulate(options) => simulate::run(options, args.quiet),
        Command::Convert(options) => convert::run(options, args.quiet),
        #[cfg(feature = "lab")]
        Command::Bench(options) => bench::run(options, args),
        Command::Batch(options) => batch::run(options, args),
        Command::Page(options) => page::run(options, args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "pcr99", &mut script);
            Sink::new(None)?.write(|out| out.write_all(&script))?;
            Ok(Outcome::Done)
        }
        Command::Help { topic } => help(topic.as_deref()),
    }
}

/// Prints the help of the program or of one command.
fn help(topic: Option<&str>) -> Result<Outcome> {
    let mut program = Args::command();
    // Commands inherit the global options only when the program is built.
    program.build();
    let command = match topic {
        None => &mut program,
        Some(name) => {
            let known: Vec<String> = program.get_subcommands().map(|c| c.get_name().to_owned()).collect();
            program.find_subcommand_mut(name).with_context(|| {
                format!("there is no command `{name}`: the commands are {}", known.join(", "))
            })?
        }
    };
    command.print_long_help().context("cannot write to standard output")?;
    Ok(Outcome::Done)
}

/// What a registration tells the shell.
fn outcome(found: &pcr99::Registration) -> Outcome {
    if found.stopped_because == pcr99::StopReason::Interrupted {
        Outcome::Interrupted
    } else if found.is_registered() {
        Outcome::Done
    } else {
        Outcome::NotReliable
    }
}
