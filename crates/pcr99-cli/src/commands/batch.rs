//! `pcr99 batch`: many pairs, resumable.

use std::{ffi::OsString, num::NonZero, thread, time::Instant};

use anyhow::{Context, Result, anyhow, ensure};
use pcr99_batch::{
    Directory, Ended, Error, Manifest, RunOptions, Settings, Summary, run_and_see, serve_pair,
};
use pcr99_document::{PROGRAM, SCHEMA, Seconds};
use pcr99_plan::MOST_THREADS;
use serde::Serialize;

use crate::{
    Outcome,
    args::{Args, Batch, BatchDefaults, BatchPair, both_sides},
    commands::{
        batch_aligned::{self, AlignedClouds},
        batch_pages::BatchPages,
        progress::Bar,
    },
    output::{Sink, counted},
    say, watch,
};

pub(super) fn run(options: &Batch, args: &Args) -> Result<Outcome> {
    let is_file = options.manifest.as_os_str() != "-";
    ensure!(is_file, "a manifest must be a file: its paths are relative to it");
    let page = BatchPages::check(options)?;
    batch_aligned::check(options)?;
    let manifest = Manifest::read(&options.manifest, &settings(&options.defaults)?)?;
    let note = |line: &str| {
        if !args.quiet {
            say(line);
        }
    };
    let mut directory = match (options.resume, options.repair) {
        (false, _) => Directory::create(&options.output, &manifest)?,
        (true, false) => Directory::resume(&options.output, &manifest)?,
        (true, true) => {
            let (directory, damaged) = Directory::repair(&options.output, &manifest)?;
            note(&format!("{damaged} damaged {} dropped", if damaged == 1 { "line" } else { "lines" }));
            directory
        }
    };
    let mut pages = page.begin(options, &manifest)?;
    let aligned = options.write_aligned.as_deref();
    let mut aligned = aligned.map(|directory| AlignedClouds::begin(directory, &manifest)).transpose()?;
    retry(options, &mut directory, &manifest, &note)?;
    let (before, all) = (directory.finished(), manifest.rows().len());
    if before > 0 {
        note(&format!("resuming after {before} of {all} pairs"));
    }
    watch::listen();
    let start = Instant::now();
    let mut bar = Bar::new(all, args);
    let ended = run_and_see(
        &manifest,
        &mut directory,
        &run_options(options, &args.program),
        &watch::interrupted,
        &mut |progress| bar.update(progress),
        &mut |record, matches| {
            if let Some(aligned) = &mut aligned {
                aligned.see(record);
            }
            pages.see(record, matches);
        },
    );
    drop(bar);
    let seconds = start.elapsed().as_secs_f64();
    let ended = ended.map_err(|error| match error {
        Error::Gone { .. } => anyhow!(error),
        error => anyhow!("{error}; finished pairs are kept: continue with --resume"),
    })?;
    if ended == Ended::Interrupted {
        note(&format!(
            "interrupted after {} of {all} pairs, which are kept; continue with the same command and --resume",
            directory.finished()
        ));
        return Ok(Outcome::Interrupted);
    }
    let summary = directory.merge(&manifest)?;
    let written = pages.write(&manifest, &directory, args, &note);
    let written = written
        .context("the results are complete, but the pages are not: run the same command with --resume")?;
    let moved = aligned.map(|aligned| aligned.write(&manifest, &directory, args, &note)).transpose();
    let moved = moved.context(
        "the results are complete, but the aligned clouds are not: run the same command with --resume",
    )?;
    print(&summary, before, seconds, options)?;
    note(&written_line(options, written, moved, all - before, seconds));
    Ok(if summary.all_registered() { Outcome::Done } else { Outcome::NotReliable })
}

/// Forgets the pairs that are to run again, and notes those whose files have changed.
fn retry(options: &Batch, directory: &mut Directory, manifest: &Manifest, note: &dyn Fn(&str)) -> Result<()> {
    let pairs = |count: usize| if count == 1 { "pair" } else { "pairs" };
    if options.retry_failed {
        let failed = directory.forget_failed()?;
        note(&format!("{failed} failed {} will run again", pairs(failed)));
    }
    if options.retry_changed {
        let changed = directory.forget_changed(manifest)?;
        note(&format!("{changed} {} with changed files will run again", pairs(changed)));
    } else if options.resume {
        let changed = directory.changed(manifest);
        if !changed.rows.is_empty() {
            note(&format!("note: {changed}; their results are kept; --retry-changed runs them again"));
        }
    }
    Ok(())
}

/// Prints the summary.
fn print(summary: &Summary, before: usize, seconds: f64, options: &Batch) -> Result<()> {
    let text = if options.json {
        let document = SummaryDocument {
            schema: SCHEMA,
            program: PROGRAM,
            output: options.output.display().to_string(),
            summary,
            finished_before: before,
            seconds: Seconds::new::<&str>(seconds, []),
        };
        serde_json::to_string_pretty(&document)? + "\n"
    } else {
        summary.to_string()
    };
    Sink::new(None)?.write(|out| out.write_all(text.as_bytes()))
}

/// The summary with values that differ from run to run, as `--json` prints it.
#[derive(Serialize)]
struct SummaryDocument<'a> {
    schema: u32,
    program: &'static str,
    /// Directory of the results.
    output: String,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Pairs that earlier runs finished.
    finished_before: usize,
    seconds: Seconds,
}

/// Line about the files that were written. `aligned` is the number of aligned clouds, if they were asked for.
fn written_line(options: &Batch, pages: usize, aligned: Option<usize>, made: usize, seconds: f64) -> String {
    let clouds = match (aligned, &options.write_aligned) {
        (Some(count), Some(directory)) => {
            format!(
                ", {} to `{}`",
                counted(count as u64, "aligned cloud", "aligned clouds"),
                directory.display()
            )
        }
        _ => String::new(),
    };
    format!(
        "wrote results.csv, results.jsonl, times.csv, summary.json{} to `{}`{clouds}; {made} {} in {seconds:.1} s",
        match pages {
            0 => String::new(),
            1 => " and 1 page in `pages`".to_owned(),
            count => format!(" and {count} pages in `pages`"),
        },
        options.output.display(),
        if made == 1 { "pair" } else { "pairs" }
    )
}

/// Runs a pair that may end this process.
pub(super) fn run_pair(options: &BatchPair) -> Result<Outcome> {
    watch::listen();
    serve_pair(&options.output, options.threads, &watch::interrupted)?;
    Ok(if watch::interrupted() { Outcome::Interrupted } else { Outcome::Done })
}

pub(super) fn run_options(options: &Batch, program: &[OsString]) -> RunOptions {
    let usual = RunOptions::default();
    RunOptions {
        isolation: isolation(program, options.threads),
        threads: options.threads.and_then(NonZero::new),
        chunk: options.chunk.and_then(NonZero::new).unwrap_or(usual.chunk),
        cache: options.cache.map_or(usual.cache, |mib| mib.saturating_mul(1 << 20)),
    }
}

/// Command that runs a single pair in a process of its own; empty where this program cannot be started again.
pub(super) fn isolation(program: &[OsString], threads: Option<usize>) -> Vec<OsString> {
    if program.is_empty() {
        return Vec::new();
    }
    let threads = threads.or_else(|| thread::available_parallelism().ok().map(NonZero::get));
    let pair =
        ["batch-pair".into(), "--threads".into(), threads.unwrap_or(1).min(MOST_THREADS).to_string().into()];
    program.iter().cloned().chain(pair).collect()
}

/// Options of pairs whose cell is empty.
fn settings(given: &BatchDefaults) -> Result<Settings> {
    let initial = match &given.initial {
        // Relative to the working directory, unlike paths in the manifest.
        Some(path) => {
            let path = std::path::absolute(path).context("`initial`")?;
            Some(path.to_str().context("`initial`: the path is not Unicode")?.into())
        }
        None => None,
    };
    Ok(Settings {
        scale: given.scale,
        threshold: given.threshold,
        method: given.method,
        memory_budget: given.memory_budget,
        effort: given.effort,
        miss_probability: given.miss_probability,
        correlation_length: given.correlation_length,
        vertical: both_sides(&given.vertical),
        tilt: given.tilt,
        voxel: given.voxel,
        refine: given.refine.map(Into::into),
        initial,
        candidates: given.candidates,
        time_limit: given.time_limit,
        seed: given.seed,
    })
}
