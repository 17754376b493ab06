//! `pcr99 bench`: the paper's evaluation and its extensions.

use std::{
    num::NonZero,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use pcr99_lab::monte_carlo::{
    self, Configuration, Ended, Jobs, Journal, Machine, Outcome as Status, Plan, ScaleMode, Session, Size,
    Stored,
};
use pcr99_report::Report;

use crate::{
    Outcome,
    args::{Args, Bench, PresetOption, ScaleModeOption},
    input,
    output::Sink,
    page::PageFile,
    say,
    watch::{self, Lines},
};

pub(super) fn run(options: &Bench, args: &Args) -> Result<Outcome> {
    let (quiet, page) = (args.quiet, PageFile::new(options.page.as_deref(), &[])?);
    match (&options.from, &options.output) {
        (Some(directory), _) => draw(directory, page, quiet),
        (None, Some(directory)) => run_in(directory, options, page, quiet),
        // Clap requires one of the two.
        (None, None) => anyhow::bail!("no directory given: name one with --output"),
    }
}

/// Runs what is missing, then draws.
fn run_in(directory: &Path, options: &Bench, page: Option<PageFile>, quiet: bool) -> Result<Outcome> {
    let shape = input::recipe(options.shape.as_deref())?.shape().clone();
    let plan = Plan::new(configuration(options), shape)?;
    let jobs = match NonZero::new(options.jobs) {
        Some(count) if count.get() > 1 => Jobs::Several(count),
        _ => Jobs::One,
    };
    let session = session(jobs);
    let optimised = session.optimised;
    let mut journal = match (options.resume, options.repair) {
        (false, _) => Journal::create(directory, &plan, session)?,
        (true, false) => Journal::resume(directory, &plan, session)?,
        (true, true) => {
            let (journal, damaged) = Journal::repair(directory, &plan, session)?;
            if !quiet {
                say(&format!("{damaged} damaged {} dropped", if damaged == 1 { "line" } else { "lines" }));
            }
            journal
        }
    };
    if !optimised && !quiet {
        say(
            "note: this program was built without full optimisation, so its times are not representative: build it with --release",
        );
    }
    let (before, all) = (journal.len() as u64, plan.configuration().records());
    if before > 0 && !quiet {
        say(&format!("resuming after {before} of {all} records"));
    }
    let done = journal.done().clone();
    let mut bar = Bar::new(before, all, quiet);
    watch::listen();
    let ended =
        monte_carlo::run(&plan, &|key| done.contains(key), jobs, &watch::interrupted, &mut |record| {
            journal.append(&record)?;
            bar.step();
            Ok(())
        })?;
    let made = bar.finish();
    if ended == Ended::Interrupted {
        if !quiet {
            say(&format!(
                "interrupted after {} of {all} records; continue with the same options and --resume, or draw the records with \
                 `pcr99 bench --from {}`",
                before + made,
                directory.display()
            ));
        }
        return Ok(Outcome::Interrupted);
    }
    drop(journal);
    draw(directory, page, quiet)
}

/// Draws tables and figures of the present records.
fn draw(directory: &Path, page: Option<PageFile>, quiet: bool) -> Result<Outcome> {
    let stored = Stored::read(directory)?;
    let place = || format!("`{}`", directory.display());
    let report = Report::new(&stored).with_context(place)?;
    if !stored.is_complete() && !quiet {
        let (there, all) = (stored.records.len(), stored.header.configuration.records());
        say(&format!("note: the records are incomplete: {there} of {all}"));
    }
    let written = report.write(directory)?;
    if let Some(page) = page {
        page.write_html(&report.to_html())?;
    }
    let tables: Vec<String> = report.tables().iter().map(|table| table.to_markdown()).collect();
    Sink::new(None)?.write(|out| out.write_all(tables.join("\n").as_bytes()))?;
    if !quiet {
        let names = written.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy());
        say(&format!("written to {}: {}", place(), names.collect::<Vec<_>>().join(", ")));
    }
    let failed = stored.records.iter().filter(|record| record.status == Status::Failed).count();
    if failed > 0 {
        if !quiet {
            say(&format!("note: {failed} runs failed; `records.jsonl` contains the reasons"));
        }
        return Ok(Outcome::NotReliable);
    }
    Ok(Outcome::Done)
}

/// The preset, changed by the options.
fn configuration(options: &Bench) -> Configuration {
    let preset = match options.preset {
        PresetOption::Quick => Configuration::quick(),
        PresetOption::Paper => Configuration::paper(),
        PresetOption::Limits => Configuration::limits(),
    };
    let mut changed = preset.clone();
    if !options.methods.is_empty() {
        changed.methods.clone_from(&options.methods);
    }
    if let Some(scale) = options.scale {
        changed.scales = match scale {
            ScaleModeOption::Known => vec![ScaleMode::Known],
            ScaleModeOption::Unknown => vec![ScaleMode::Unknown],
            ScaleModeOption::Both => ScaleMode::ALL.to_vec(),
        };
    }
    if !options.points.is_empty() || !options.ratios.is_empty() {
        // The other dimension keeps the values of the preset.
        let mut points: Vec<usize> = preset.sizes.iter().map(|size| size.points).collect();
        let mut ratios: Vec<f64> = preset.sizes.iter().map(|size| size.outlier_ratio).collect();
        points.sort_unstable();
        points.dedup();
        ratios.sort_by(f64::total_cmp);
        ratios.dedup();
        let points = if options.points.is_empty() { &points } else { &options.points };
        let ratios = if options.ratios.is_empty() { &ratios } else { &options.ratios };
        changed.sizes = Size::grid(points, ratios);
    }
    changed.runs = options.runs.unwrap_or(preset.runs);
    changed.noise = options.noise.unwrap_or(preset.noise);
    changed.seed = options.seed.unwrap_or(preset.seed);
    changed.time_limit = options.time_limit.unwrap_or(preset.time_limit);
    if let Some(center) = options.outlier_center {
        changed.outlier_center = center.into();
    }
    changed
}

fn session(jobs: Jobs) -> Session {
    Session {
        program: concat!("pcr99 ", env!("CARGO_PKG_VERSION")).to_owned(),
        commit: option_env!("PCR99_COMMIT").map(str::to_owned),
        compiler: option_env!("PCR99_COMPILER").map(str::to_owned),
        optimised: option_env!("PCR99_PROFILE") == Some("release"),
        machine: Machine::this(),
        jobs: jobs.count(),
    }
}

/// A progress bar on a terminal, with the remaining time.
struct Bar {
    line: ProgressBar,
    lines: Lines,
    start: Instant,
    made: u64,
    missing: u64,
}

impl Bar {
    fn new(before: u64, all: u64, quiet: bool) -> Self {
        let line = ProgressBar::with_draw_target(Some(all), watch::target(quiet)).with_position(before);
        let lines = Lines::new(watch::is_plain() && !quiet);
        if let Ok(style) = ProgressStyle::with_template("[{wide_bar}] {pos} of {len} records{msg}") {
            line.set_style(style.progress_chars("=> "));
        }
        Self { line, lines, start: Instant::now(), made: 0, missing: all - before.min(all) }
    }

    fn step(&mut self) {
        self.made += 1;
        // Runs come in rounds of all methods and sizes, so the mean so far predicts the rest.
        let each = self.start.elapsed().as_secs_f64() / self.made as f64;
        let left = each * (self.missing - self.made.min(self.missing)) as f64;
        let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
        let left = || format!(", {} left", indicatif::HumanDuration(left));
        if !self.line.is_hidden() {
            self.line.set_message(left());
        }
        self.line.inc(1);
        let (place, all) = (self.line.position(), self.line.length().unwrap_or_default());
        self.lines.say(|| format!("{place} of {all} records{}", left()));
    }

    /// Removes the bar and returns the number of steps.
    fn finish(self) -> u64 {
        self.line.finish_and_clear();
        self.made
    }
}
