//! `pcr99 register`: the transform between two clouds.

use std::{hint::black_box, mem, path::Path};

use anyhow::{Context, Result, ensure};
use pcr99::{Clock, Seconds, stop::StopRequest};
use pcr99_base::info;
use pcr99_cloud::{
    Cloud, CloudFormat, CloudRegistration, PreparedCloud, RawCloud, points_unit_hint, read_cloud,
    read_transform,
    register::{CloudSummary, with_threads},
};
use pcr99_document::{Document, Inputs};
use pcr99_page::RegistrationView;
use pcr99_plan::{GivenScale, RegisterPlan, text::number_text};

use super::moved;
use crate::{
    Outcome,
    args::{Args, Format, Place, Register},
    output::{self, Sink, shown, stage_times},
    page::{self, PageFile},
    say,
    terminal::{Matches, Scene, Terminal, picture},
    watch::{Busy, Watch},
};

/// Makes the C library keep freed memory for what follows. Otherwise it returns large blocks to the system, and each of their pages costs a fault when it is
/// needed again: 6 to 8 % of the CPU time of a registration, measured on scans of 20 000 to 300 000 points. The GNU C library raises its limits to the size of a block that is freed, up to nearly 32 MiB, and
/// the block itself is never touched. Other libraries ignore it.
pub(super) fn keep_freed_memory() {
    drop(black_box(Vec::<u8>::with_capacity((32 << 20) - (64 << 10))));
}

pub(super) fn run(options: &Register, args: &Args) -> Result<Outcome> {
    keep_freed_memory();
    let files = Files::check(options)?;
    let plan = plan(options)?;
    let is_summary = options.printed.is_summary_on_screen();
    let terminal = Terminal::here().filter(|_| is_summary && !args.quiet);
    // Points are shown or written again afterwards; otherwise they need not be copied.
    let is_shown = terminal.is_some() || options.page.is_some();
    let (found, clouds) = with_threads(plan.params().threads(), || search(&plan, is_shown, options, args))?;
    let result = match options.printed.format() {
        Format::Summary => output::cloud_summary(&found),
        format => {
            let inputs = Inputs::clouds(&page::path_text(&options.source), &page::path_text(&options.target));
            let document = Document::of_clouds(&found).with_inputs(Some(inputs));
            output::printed(&document, format, args.quiet)?
        }
    };
    let drawn = terminal.and_then(|terminal| drawn(terminal, &found, &clouds));
    let view = files.page.as_ref().map(|_| {
        RegistrationView::of_clouds(&found, &clouds[0].points, &clouds[1].points)
            .with_names(&page::name(&options.source), &page::name(&options.target))
    });
    drop(clouds);
    write_aligned(options, args, &found)?;
    if let (Some(page), Some(view)) = (files.page, view) {
        page.write(args, [view])?;
    }
    files.result.write(|out| out.write_all(result.as_bytes()))?;
    if terminal.is_some() {
        drawn.iter().for_each(|picture| say(picture));
        say(&page::next_command(args, options.page.as_deref()));
    }
    Ok(match (found.stopped, found.is_registered()) {
        (Some(StopRequest::Interrupted), _) => Outcome::Interrupted,
        (_, true) => Outcome::Done,
        (_, false) => Outcome::NotReliable,
    })
}

/// Output files, checked before anything is read, which may take long.
struct Files {
    result: Sink,
    page: Option<PageFile>,
}

impl Files {
    fn check(options: &Register) -> Result<Self> {
        let result = Sink::new(options.printed.output.as_deref())?;
        if let Some(path) = &options.write_aligned {
            CloudFormat::of(path)?;
        }
        let aligned = Sink::new(options.write_aligned.as_deref())?;
        ensure!(
            !aligned.is_same_file(&result),
            "--output and --write-aligned name the same file: give each its own"
        );
        let page = PageFile::with_head(
            options.page.as_deref(),
            &[("--output", &result), ("--write-aligned", &aligned)],
            &options.head,
        )?;
        Ok(Self { result, page })
    }
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

/// Reads and registers the clouds. Returns them, empty unless `is_shown`.
fn search(
    plan: &RegisterPlan,
    is_shown: bool,
    options: &Register,
    args: &Args,
) -> Result<(CloudRegistration, [Cloud; 2])> {
    let mut clock = Clock::start();
    // The time limit holds for reading and preparing, too.
    let deadline = plan.deadline();
    let mut clouds = read_both([&options.source, &options.target], args.quiet)?;
    clock.lap(Seconds::READING);
    let watch = Watch::start(deadline, args.quiet);
    let hint = points_unit_hint(&clouds[0].points, &clouds[1].points);
    let viewpoints = [options.source_viewpoint, options.target_viewpoint];
    let paths = [options.source.as_path(), options.target.as_path()];
    let [source, target] = prepared_both(&mut clouds, is_shown, viewpoints, paths, args.quiet)?;
    clock.lap(Seconds::PREPARING);
    let input = clock.stop();
    let mut found = plan.run(&source, &target, &|| watch.check())?;
    drop(watch);
    found.seconds = found.seconds.preceded_by(&input);
    if let Some(voxel) = options.voxel.filter(|_| !args.quiet) {
        note_voxel(voxel, &found);
    }
    // Of clouds that fit, one is simply larger. With an unknown scale, units do not matter.
    let is_known = matches!(options.scale, GivenScale::Known(_));
    if let Some(hint) = hint.filter(|_| is_known && !found.is_registered() && !args.quiet) {
        say(&format!("note: {hint}"));
    }
    info!("time: {}", stage_times(&found.seconds));
    Ok((found, clouds))
}

/// Writes the moved source, if it is registered or writing is forced. The file is read again, for all that is in it.
fn write_aligned(options: &Register, args: &Args, found: &CloudRegistration) -> Result<()> {
    if let (Some(path), Some(pose)) = (&options.write_aligned, &found.target_from_source) {
        if found.is_registered() || options.force {
            let written = moved::write(&options.source, path, pose)?;
            if !args.quiet {
                written.say_notes();
            }
        } else if !args.quiet {
            say(
                "note: the aligned cloud is not written, because the pose is not reliable; --force writes it",
            );
        }
    }
    Ok(())
}

/// A small picture below the summary.
fn drawn(terminal: Terminal, found: &CloudRegistration, [source, target]: &[Cloud; 2]) -> Option<String> {
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

/// Reads two clouds at the same time.
pub(super) fn read_both(paths: [&Path; 2], quiet: bool) -> Result<[Cloud; 2]> {
    for path in paths {
        ensure!(path.as_os_str() != "-", "a cloud must be a file: only `solve` reads standard input, `-`");
    }
    let [source, target] = paths;
    let _busy = Busy::start(format!("reading `{}` and `{}`", source.display(), target.display()), quiet);
    let (source, target) = rayon::join(|| read_cloud(source), || read_cloud(target));
    Ok([source?, target?])
}

/// Two clouds, prepared at the same time. Notes how many points were removed.
pub(super) fn prepared_both(
    [source, target]: &mut [Cloud; 2],
    is_shown: bool,
    viewpoints: [Option<Place>; 2],
    paths: [&Path; 2],
    is_quiet: bool,
) -> Result<[PreparedCloud; 2]> {
    let (source, target) = rayon::join(
        || prepared(source, is_shown, viewpoints[0], paths[0]),
        || prepared(target, is_shown, viewpoints[1], paths[1]),
    );
    let clouds = [source?, target?];
    if !is_quiet {
        clouds.iter().zip(paths).for_each(|(cloud, path)| note_removed(cloud, path));
    }
    Ok(clouds)
}

/// A cloud with the normals of its file, and with the given viewpoint or that of the file. The points are taken from `cloud` unless it `is_shown` later.
fn prepared(
    cloud: &mut Cloud,
    is_shown: bool,
    viewpoint: Option<Place>,
    path: &Path,
) -> Result<PreparedCloud> {
    let viewpoint = viewpoint.map(|Place(at)| at).or(cloud.viewpoint);
    let raw = match is_shown {
        true => RawCloud::new(&cloud.points).with_normals(cloud.normals.as_deref()),
        false => RawCloud::try_from(Cloud { viewpoint: None, ..mem::take(cloud) }),
    };
    let raw = raw.and_then(|raw| raw.with_viewpoint(viewpoint));
    raw.and_then(PreparedCloud::new).with_context(|| format!("`{}`", path.display()))
}

/// Notes that a given voxel was not used, or that it samples nothing.
fn note_voxel(voxel: f64, found: &CloudRegistration) {
    // More than nine tenths of the points remain.
    let is_unsampled = |cloud: &CloudSummary| {
        let distinct = cloud.points - cloud.not_finite - cloud.duplicates;
        10 * cloud.sampled > 9 * distinct
    };
    // By more than rounding.
    if found.voxel > 1.001 * voxel {
        say(&format!(
            "note: `voxel` {} would leave too many points; {} was used instead",
            number_text(voxel),
            shown(found.voxel)
        ));
    } else if is_unsampled(&found.source) && is_unsampled(&found.target) {
        say(
            "note: `voxel` is smaller than the distance between points; leave it out to have it chosen from the data",
        );
    }
}

/// Notes how many points were removed from a cloud.
fn note_removed(cloud: &PreparedCloud, path: &Path) {
    let parts: Vec<String> = [(cloud.not_finite(), "non-finite"), (cloud.duplicates(), "duplicate")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !parts.is_empty() {
        let points = format!("of {} points", cloud.given());
        say(&format!("note: `{}`: removed {} {points}", path.display(), parts.join(" and ")));
    }
}
