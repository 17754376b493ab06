//! `pcr99 register`: two raw clouds → transform.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use pcr99::{Status, stop::StopRequest};
use pcr99_cloud::{
    Cloud, CloudFormat, CloudRegistration, OutputFile, PreparedCloud, RawCloud, document, read_cloud,
    read_transform, register::CloudSummary, write_cloud,
};
use pcr99_page::RegistrationView;
use pcr99_plan::RegisterPlan;

use crate::{
    Outcome,
    args::{Args, Format, Place, Register},
    output::{self, Sink},
    page::{self, PageFile},
    say,
    terminal::{Matches, Scene, Terminal, picture},
    watch::{Busy, Watch},
};

pub(super) fn run(options: &Register, args: &Args) -> Result<Outcome> {
    let sink = Sink::new(options.output.as_deref())?;
    if let Some(path) = &options.write_aligned {
        // Before anything is read, which may take long.
        CloudFormat::of(path)?;
        let same = Sink::File(OutputFile::new(path)?).is_same_file(&sink);
        ensure!(!same, "--output and --write-aligned name the same file: give each its own");
    }
    let aligned = Sink::new(options.write_aligned.as_deref())?;
    let page = PageFile::new(options.page.as_deref(), &[("--output", &sink), ("--write-aligned", &aligned)])?;
    let plan = plan(options)?;
    let (source_cloud, target_cloud) =
        (read(&options.source, args.quiet)?, read(&options.target, args.quiet)?);
    let watch = Watch::start(plan.deadline(), args.quiet);
    let source = prepared(&source_cloud, options.source_viewpoint, &options.source)?;
    let target = prepared(&target_cloud, options.target_viewpoint, &options.target)?;
    if !args.quiet {
        for (cloud, path) in [(&source, &options.source), (&target, &options.target)] {
            note_left_out(cloud, path);
        }
    }
    let found = plan.run(&source, &target, &|| watch.check())?;
    drop(watch);
    if let Some(voxel) = options.voxel.filter(|_| !args.quiet) {
        note_voxel(voxel, &found);
    }

    let document = match options.format() {
        Format::Json => document::to_text(&document::of_clouds(&found)),
        Format::Summary => output::cloud_summary(&found),
        Format::Matrix => {
            if !found.is_registered() && !args.quiet {
                say(&warning(&found));
            }
            found.target_from_source.as_ref().map_or(String::new(), output::matrix)
        }
    };
    let is_summary = !options.json && options.format == Format::Summary && options.output.is_none();
    let terminal = Terminal::here().filter(|_| is_summary && !args.quiet);
    let shown = terminal.and_then(|terminal| shown(terminal, &found, &source_cloud, &target_cloud));
    let view = page.as_ref().map(|_| {
        RegistrationView::of_clouds(&found, &source_cloud.points, &target_cloud.points)
            .with_names(&page::name(&options.source), &page::name(&options.target))
    });
    if let (Some(path), Some(pose)) = (&options.write_aligned, &found.target_from_source) {
        if found.is_registered() || options.force {
            write_cloud(path, &source_cloud.moved(pose))?;
        } else if !args.quiet {
            say(
                "note: the aligned cloud is not written, because the pose is not reliable (--force writes it)",
            );
        }
    }
    if let (Some(page), Some(view)) = (page, view) {
        page.write(args, [view])?;
    }
    sink.write(|out| out.write_all(document.as_bytes()))?;
    if terminal.is_some() {
        shown.iter().for_each(|picture| say(picture));
        say(&page::next_command(args, options.page.as_deref()));
    }
    Ok(match (found.stopped, found.is_registered()) {
        (Some(StopRequest::Interrupted), _) => Outcome::Interrupted,
        (_, true) => Outcome::Done,
        (_, false) => Outcome::NotReliable,
    })
}

/// A small picture below the summary.
fn shown(terminal: Terminal, found: &CloudRegistration, source: &Cloud, target: &Cloud) -> Option<String> {
    let matches = found.matches.as_ref();
    let scene = Scene {
        source: &source.points,
        target: &target.points,
        model: found.target_from_source.as_ref()?,
        matches: Matches::Together(matches.map_or(&[], |m| &m.points)),
        inliers: matches.map_or(&[], |m| &m.inliers),
        threshold: matches.map(|m| m.threshold),
        are_matches: false,
    };
    Some(picture(terminal, &scene))
}

fn warning(found: &CloudRegistration) -> String {
    match found.status {
        Status::NoSolution => {
            format!("warning: no solution, so that there is no matrix to print: {}", found.reason())
        }
        _ => format!("warning: NOT RELIABLE: the matrix is only the best guess: {}", found.reason()),
    }
}

fn read(path: &Path, quiet: bool) -> Result<Cloud> {
    ensure!(path.as_os_str() != "-", "a cloud must come from a file: only `solve` reads standard input, `-`");
    let _busy = Busy::start(format!("reading `{}`", path.display()), quiet);
    Ok(read_cloud(path)?)
}

/// With the normals that the file knows, and the viewpoint that it knows or that was given.
fn prepared(cloud: &Cloud, viewpoint: Option<Place>, path: &Path) -> Result<PreparedCloud> {
    let viewpoint = viewpoint.map(|Place(at)| at).or(cloud.viewpoint);
    let raw = RawCloud::new(&cloud.points)
        .with_viewpoint(viewpoint)
        .and_then(|raw| raw.with_normals(cloud.normals.as_deref()));
    raw.and_then(PreparedCloud::new).with_context(|| format!("`{}`", path.display()))
}

/// The checked options, with the initial pose read from its file.
fn plan(options: &Register) -> Result<RegisterPlan> {
    let initial = options.initial.as_deref().map(read_transform).transpose()?;
    let plan = RegisterPlan::new(&options.options(initial));
    match &options.initial {
        Some(path) => plan.with_context(|| format!("`{}`", path.display())),
        None => Ok(plan?),
    }
}

/// Says when a given voxel could not do what it should.
fn note_voxel(voxel: f64, found: &CloudRegistration) {
    let is_sampled_whole = |cloud: &CloudSummary| {
        let distinct = cloud.points - cloud.not_finite - cloud.duplicates;
        10 * cloud.sampled > 9 * distinct
    };
    if found.voxel > 1.001 * voxel {
        say(&format!(
            "note: voxels of {} would leave too many points; {} was used",
            output::shown(voxel),
            output::shown(found.voxel)
        ));
    } else if is_sampled_whole(&found.source) && is_sampled_whole(&found.target) {
        say("note: --voxel is finer than the points are apart; without it, one that suits them is found");
    }
}

/// Says what of a cloud was left out.
fn note_left_out(cloud: &PreparedCloud, path: &Path) {
    let parts: Vec<String> = [(cloud.not_finite(), "not finite"), (cloud.duplicates(), "there twice")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !parts.is_empty() {
        say(&format!(
            "note: `{}`: of {} points left out: {}",
            path.display(),
            cloud.given(),
            parts.join(", ")
        ));
    }
}
