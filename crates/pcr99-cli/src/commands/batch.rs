//! `pcr99 batch`: many pairs, resumable.

use std::{
    num::NonZero,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use pcr99_batch::{Directory, Ended, Manifest, Progress, RunOptions, Settings, Summary, run_and_see};
use pcr99_cloud::document;
use serde_json::json;

use crate::{
    Outcome,
    args::{Args, Batch, BatchDefaults},
    commands::batch_pages::BatchPages,
    output::Sink,
    say, watch,
};

/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

pub(super) fn run(options: &Batch, args: &Args) -> Result<Outcome> {
    let is_file = options.manifest.as_os_str() != "-";
    ensure!(is_file, "a manifest must come from a file: paths in it are relative to it");
    let page = BatchPages::check(options)?;
    let manifest = Manifest::read(&options.manifest, &settings(&options.defaults)?)?;
    let mut directory = if options.resume {
        Directory::resume(&options.output, &manifest)?
    } else {
        Directory::create(&options.output, &manifest)?
    };
    let mut pages = page.begin(options, &manifest)?;
    let note = |line: &str| {
        if !args.quiet {
            say(line);
        }
    };
    if options.retry_failed {
        let failed = directory.forget_failed()?;
        note(&format!("{failed} failed {} run again", if failed == 1 { "pair is" } else { "pairs are" }));
    }
    if options.retry_changed {
        let changed = directory.forget_changed(&manifest)?;
        note(&format!(
            "{changed} {} whose files have changed {} run again",
            if changed == 1 { "pair" } else { "pairs" },
            if changed == 1 { "is" } else { "are" },
        ));
    } else if options.resume {
        let changed = directory.changed(&manifest);
        if !changed.rows.is_empty() {
            note(&format!("note: {changed}; results are kept, --retry-changed runs these again"));
        }
    }
    let (before, all) = (directory.finished(), manifest.rows().len());
    if before > 0 {
        note(&format!("going on after {before} of {all} pairs"));
    }
    watch::listen();
    let start = Instant::now();
    let mut shown = Shown::new(all, args);
    let ended = run_and_see(
        &manifest,
        &mut directory,
        &run_options(options),
        &watch::interrupted,
        &mut |progress| shown.update(progress),
        &mut |record, matches| pages.see(record, matches),
    );
    drop(shown);
    let seconds = start.elapsed().as_secs_f64();
    let ended = ended.map_err(|error| anyhow!("{error}; what is finished is kept: go on with --resume"))?;
    if ended == Ended::Interrupted {
        note(&format!(
            "interrupted after {} of {all} pairs, which are kept; go on with the same command and --resume",
            directory.finished()
        ));
        return Ok(Outcome::Interrupted);
    }
    let summary = directory.merge(&manifest)?;
    let written = pages.write(&manifest, &directory, args, &note);
    let written =
        written.context("the results are complete, but not the pages: --resume makes these alone")?;
    let text =
        if options.json { as_json(&summary, before, seconds, &options.output) } else { summary.to_string() };
    Sink::new(None)?.write(|out| out.write_all(text.as_bytes()))?;
    note(&format!(
        "written to `{}`: results.csv, results.jsonl, times.csv, summary.json{}; {}",
        options.output.display(),
        match written {
            0 => String::new(),
            1 => ", a page in `pages`".to_owned(),
            count => format!(", {count} pages in `pages`"),
        },
        pace(all - before, seconds)
    ));
    Ok(if summary.all_registered() { Outcome::Done } else { Outcome::NotReliable })
}

/// The summary with what differs from run to run.
fn as_json(summary: &Summary, before: usize, seconds: f64, output: &Path) -> String {
    document::to_text(&json!({
        "schema": document::SCHEMA,
        "program": document::PROGRAM,
        "output": output.display().to_string(),
        "pairs": summary.pairs,
        "registered": summary.registered,
        "not_reliable": summary.not_reliable,
        "doubts": summary.doubts,
        "no_solution": summary.no_solution,
        "failed": summary.failed,
        "finished_before": before,
        "seconds": { "total": seconds },
    }))
}

pub(super) fn run_options(options: &Batch) -> RunOptions {
    let usual = RunOptions::default();
    RunOptions {
        threads: options.threads.and_then(NonZero::new),
        chunk: options.chunk.and_then(NonZero::new).unwrap_or(usual.chunk),
        cache: options.cache.map_or(usual.cache, |mib| mib.saturating_mul(1 << 20)),
    }
}

/// Options of pairs whose cell is empty.
fn settings(given: &BatchDefaults) -> Result<Settings> {
    let initial = match &given.initial {
        // Relative to where the program runs, unlike those in the manifest.
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
        voxel: given.voxel,
        refine: given.refine.map(Into::into),
        initial,
        candidates: given.candidates,
        time_limit: given.time_limit,
        seed: given.seed,
    })
}

/// Pairs and time.
fn pace(made: usize, seconds: f64) -> String {
    format!("{made} {} in {seconds:.1} s", if made == 1 { "pair" } else { "pairs" })
}

/// A bar on a terminal, with the time that is left; elsewhere, when more is to be said, a line now and then.
struct Shown {
    bar: ProgressBar,
    lines: bool,
    start: Instant,
    last_line: Instant,
}

impl Shown {
    fn new(all: usize, args: &Args) -> Self {
        let target = if args.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(all as u64), target);
        if let Ok(style) = ProgressStyle::with_template("[{wide_bar}] {pos} of {len} pairs{msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        let now = Instant::now();
        Self { lines: args.verbose && bar.is_hidden(), bar, start: now, last_line: now }
    }

    fn update(&mut self, progress: &Progress) {
        let finished = progress.before + progress.made;
        let mut more = String::new();
        if progress.failed > 0 {
            more += &format!(", {} failed", progress.failed);
        }
        if progress.made > 0 && finished < progress.all {
            let each = self.start.elapsed().as_secs_f64() / progress.made as f64;
            let left = Duration::try_from_secs_f64(each * (progress.all - finished) as f64);
            more += &format!(", {} left", HumanDuration(left.unwrap_or(Duration::MAX)));
        }
        if self.lines && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            say(&format!("{finished} of {} pairs{more}", progress.all));
        }
        if self.start.elapsed() >= PATIENCE {
            self.bar.set_message(more);
            self.bar.set_position(finished as u64);
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
