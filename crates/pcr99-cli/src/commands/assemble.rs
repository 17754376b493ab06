//! `pcr99 assemble`: many scans to one map.

use std::{
    num::NonZero,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use pcr99_assemble::{AssembleOptions, Assembly, Error, Stage, assemble, read_control, read_positions};
use pcr99_document::{AssemblyDocument, EdgeVerdict, ScanStatus};

use crate::{
    Outcome,
    args::{Args, Assemble, Place},
    commands::{batch::isolation, progress::Bar},
    output::{Sink, shown},
    say,
    watch::{self, Busy},
};

pub(super) fn run(options: &Assemble, args: &Args) -> Result<Outcome> {
    ensure!(
        options.resume || !options.scans.is_empty(),
        "name the scans to assemble; without any, --resume continues a project"
    );
    ensure!(!options.scans.iter().any(|scan| scan.as_os_str() == "-"), "scans must be files");
    watch::listen();
    let start = Instant::now();
    let mut watcher = Watcher { args, start, bar: None, busy: None };
    let given = given(options, args)?;
    let found = assemble(&options.scans, &options.output, &given, &watch::interrupted, &mut |stage| {
        watcher.see(stage)
    });
    drop(watcher);
    let found = found.map_err(|error| match error {
        Error::Batch(error) => anyhow!("{error}; finished pairs are kept: continue with --resume"),
        error => anyhow!(error),
    })?;
    let note = |line: &str| {
        if !args.quiet {
            say(line);
        }
    };
    let Some(found) = found else {
        note("interrupted; finished pairs are kept: continue with the same command and --resume");
        return Ok(Outcome::Interrupted);
    };
    let text = if options.json { found.document.to_json() } else { summary(&found.document) };
    Sink::new(None)?.write(|out| out.write_all(text.as_bytes()))?;
    note(&written_line(&found, &options.output, start.elapsed()));
    let is_complete = found.document.is_one_map() && found.document.is_tied_where_asked();
    Ok(if is_complete { Outcome::Done } else { Outcome::NotReliable })
}

fn given(options: &Assemble, args: &Args) -> Result<AssembleOptions> {
    let mut given = AssembleOptions::default();
    given.scale = options.scale;
    given.voxel = options.voxel;
    given.vertical = options.vertical.map(|Place(up)| up);
    given.tilt = options.tilt;
    given.seed = options.seed;
    if let Some(file) = &options.control {
        given.known_places.extend(read_control(file)?);
    }
    if let Some(file) = &options.positions {
        given.known_places.extend(read_positions(file)?);
    }
    given.same_rig = options.same_rig.clone();
    given.resume = options.resume;
    given.threads = options.threads.and_then(NonZero::new);
    given.chunk = options.chunk.and_then(NonZero::new);
    given.cache = options.cache.map_or(given.cache, |mib| mib.saturating_mul(1 << 20));
    given.merge = options.merge;
    given.merge_format = options.merge_format.extension().to_owned();
    given.pair_pages = options.pair_pages;
    given.command = Some(args.command_line.clone());
    given.isolation = isolation(&args.program, options.threads);
    Ok(given)
}

/// Shows what an assembly is doing.
struct Watcher<'a> {
    args: &'a Args,
    start: Instant,
    bar: Option<Bar>,
    busy: Option<Busy>,
}

impl Watcher<'_> {
    fn see(&mut self, stage: &Stage) {
        match stage {
            Stage::Preparing { done: 0, all } if *all > 0 => {
                self.tell(&format!("reading {all} {}", if *all == 1 { "scan" } else { "scans" }));
            }
            Stage::Pairs(progress) => {
                self.busy = None;
                let args = self.args;
                self.bar.get_or_insert_with(|| Bar::new(progress.all, args)).update(progress);
            }
            Stage::Mapping => {
                self.bar = None;
                self.tell("finding poses");
            }
            Stage::Writing => self.tell("writing results"),
            _ => {}
        }
    }

    fn tell(&mut self, what: &str) {
        self.busy = None;
        if self.args.verbose > 0 {
            say(&format!("{what} ({:.1} s)", self.start.elapsed().as_secs_f64()));
        } else {
            self.busy = Some(Busy::start(what.to_owned(), self.args.quiet));
        }
    }
}

fn summary(document: &AssemblyDocument) -> String {
    let mut lines = vec![format!("scans       {}", counts(document))];
    let verdicts: Vec<String> = (EdgeVerdict::ALL.iter())
        .map(|verdict| (verdict, document.edges.iter().filter(|edge| edge.verdict == *verdict).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(verdict, count)| format!("{count} {}", verdict.as_str()))
        .collect();
    lines.push(format!(
        "pairs       {}",
        if verdicts.is_empty() { "none".to_owned() } else { verdicts.join(", ") }
    ));
    for (number, component) in document.components.iter().enumerate() {
        let loops =
            component.loops_before.zip(component.loops_after).map_or(String::new(), |(before, after)| {
                format!(
                    ", loops off by up to {} before and {} after",
                    shown(before.largest),
                    shown(after.largest)
                )
            });
        let weakest =
            component.bridges.first().map_or(String::new(), |[a, b]| format!(", weakest link {a} – {b}"));
        lines.push(format!(
            "map {number:<7} {} scans, {} edges{loops}{weakest}",
            component.scans, component.edges
        ));
        if let Some(tie) = &component.world {
            let how = match tie.rmse {
                Some(rmse) => format!("tied to the world: {}, rmse {}", tie.reason, shown(rmse)),
                None => format!("NOT tied to the world: {}", tie.reason),
            };
            lines.push(format!("            {how}"));
        }
    }
    for place in document.known_places.iter().filter(|place| !place.is_used) {
        if let (Some(distance), Some(normalized)) = (place.distance, place.normalized_residual) {
            lines.push(format!(
                "gross error {} is off by {}, {normalized:.1} standard deviations, and is left out",
                place.name,
                shown(distance)
            ));
        }
    }
    for scan in document.scans.iter().filter(|scan| scan.status != ScanStatus::Placed) {
        lines.push(format!("{:<11} {}: {}", scan.status.as_str(), scan.name, scan.reason));
    }
    for scan in document.scans.iter() {
        lines.extend(
            scan.same_as.as_ref().map(|first| format!("same        {} has the points of {first}", scan.name)),
        );
        lines.extend(scan.note.as_ref().map(|note| format!("note        {}: {note}", scan.name)));
    }
    lines.join("\n") + "\n"
}

fn counts(document: &AssemblyDocument) -> String {
    let count = |status, word: &str| match document.count(status) {
        0 => String::new(),
        count => format!(", {count} {word}"),
    };
    let maps = document.components.len();
    format!(
        "{}: {} placed in {maps} {}{}{}",
        document.scans.len(),
        document.count(ScanStatus::Placed),
        if maps == 1 { "map" } else { "maps" },
        count(ScanStatus::Alone, "alone"),
        count(ScanStatus::Failed, "failed")
    )
}

fn written_line(found: &Assembly, output: &Path, time: Duration) -> String {
    let merged: Vec<String> = (found.merged.iter())
        .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
        .collect();
    let merged = if merged.is_empty() { String::new() } else { format!(", {}", merged.join(", ")) };
    format!(
        "wrote poses.json, poses.csv, poses.tum, poses.g2o, edges.csv, index.html{merged} to `{}`; {} new {} in {:.1} s",
        output.display(),
        found.new_pairs,
        if found.new_pairs == 1 { "pair" } else { "pairs" },
        time.as_secs_f64()
    )
}
