//! One file per command.

mod apply;
mod assemble;
mod assess;
mod batch;
mod batch_aligned;
mod batch_pages;
#[cfg(feature = "lab")]
mod bench;
mod convert;
#[cfg(feature = "lab")]
mod demo;
mod georeference;
mod graph;
mod info;
mod moved;
mod page;
mod progress;
mod register;
#[cfg(feature = "lab")]
mod simulate;
mod solve;
mod verify;

use anyhow::{Result, ensure};
use clap::CommandFactory;

use crate::{
    Outcome,
    args::{Args, Command},
    output::{Sink, print_help},
    verbose, watch,
};

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    verbose::listen(args.verbose);
    watch::show(args.progress, args.verbose > 0);
    match &args.command {
        #[cfg(feature = "lab")]
        Command::Demo(options) => demo::run(options, args),
        Command::Solve(options) => solve::run(options, args),
        Command::Register(options) => register::run(options, args),
        Command::Refine(options) => register::run(&options.registration(), args),
        Command::Assess(options) => assess::run(options, args),
        Command::Verify(options) => verify::run(options, args),
        #[cfg(feature = "lab")]
        Command::Simulate(options) => simulate::run(options, args.quiet),
        Command::Convert(options) => convert::run(options, args.quiet),
        Command::Info(options) => info::run(options, args.quiet),
        Command::Apply(options) => apply::run(options, args.quiet),
        #[cfg(feature = "lab")]
        Command::Bench(options) => bench::run(options, args),
        Command::Assemble(options) => assemble::run(options, args),
        Command::Batch(options) => batch::run(options, args),
        Command::BatchPair(options) => batch::run_pair(options),
        Command::Georeference(options) => georeference::run(options, args.quiet),
        Command::Graph(options) => graph::run(options, args),
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

/// Prints what `--help` prints, for the program or for one command.
fn help(topic: Option<&str>) -> Result<Outcome> {
    let program = Args::command();
    if let Some(name) = topic {
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
        let known: Vec<&str> = shown.map(|command| command.get_name()).collect();
        let message = || format!("there is no command `{name}`: the commands are {}", known.join(", "));
        ensure!(known.contains(&name), message());
    }
    let arguments = ["pcr99"].into_iter().chain(topic).chain(["--help"]);
    // Clap reports a help text as an error that knows how to print itself.
    if let Err(text) = program.clone().try_get_matches_from(arguments) {
        print_help(&text)?;
    }
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
