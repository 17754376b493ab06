//! One file per command.

mod batch;
mod batch_pages;
mod bench;
mod convert;
mod demo;
mod register;
mod simulate;
mod solve;

use anyhow::Result;
use clap::CommandFactory;

use crate::{
    Outcome,
    args::{Args, Command},
    output::Sink,
};

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    match &args.command {
        Command::Demo(options) => demo::run(options, args),
        Command::Solve(options) => solve::run(options, args),
        Command::Register(options) => register::run(options, args),
        Command::Simulate(options) => simulate::run(options, args.quiet),
        Command::Convert(options) => convert::run(options, args.quiet),
        Command::Bench(options) => bench::run(options, args),
        Command::Batch(options) => batch::run(options, args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "pcr99", &mut script);
            Sink::new(None)?.write(|out| out.write_all(&script))?;
            Ok(Outcome::Done)
        }
    }
}

/// What a registration says to the shell.
fn outcome(found: &pcr99::Registration) -> Outcome {
    if found.stopped_because == pcr99::StopReason::Interrupted {
        Outcome::Interrupted
    } else if found.is_registered() {
        Outcome::Done
    } else {
        Outcome::NotReliable
    }
}
