//! `pcr99 register`: two raw clouds → transform.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use pcr99::{Scale, Status, stop::StopRequest};
use pcr99_cloud::{
    Cloud, CloudFormat, CloudRegistration, OutputFile, PreparedCloud, RawCloud, Refinement, RegisterParams,
    read_cloud, register::CloudSummary, register_until, write_cloud,
};

use crate::{
    Outcome,
    args::{Args, Format, Place, RefineOption, Register},
    input,
    output::{self, Sink},
    say,
    watch::Watch,
};

pub(super) fn run(options: &Register, args: &Args) -> Result<Outcome> {
    let sink = Sink::new(options.output.as_deref())?;
    if let Some(path) = &options.write_aligned {
        // Before anything is read, which may take long.
        CloudFormat::of(path)?;
        let same = Sink::File(OutputFile::new(path)?).is_same_file(&sink);
        ensure!(!same, "--output and --write-aligned name the same file: give each its own");
    }
    let params = params(options)?;
    let (source_cloud, target_cloud) = (read(&options.source)?, read(&options.target)?);
    let watch = Watch::start(options.time_limit, args.quiet);
    let source = prepared(&source_cloud, options.source_viewpoint, &options.source)?;
    let target = prepared(&target_cloud, options.target_viewpoint, &options.target)?;
    if !args.quiet {
        for (cloud, path) in [(&source, &options.source), (&target, &options.target)] {
            note_left_out(cloud, path);
        }
    }
    let found = register_until(&source, &target, &params, &|| watch.check())?;
    drop(watch);
    if let Some(voxel) = options.voxel.filter(|_| !args.quiet) {
        note_voxel(voxel, &found);
    }

    let document = match if options.json { Format::Json } else { options.format } {
        Format::Json => output::cloud_json(&found),
        Format::Summary => output::cloud_summary(&found),
        Format::Matrix => {
            if !found.is_registered() && !args.quiet {
                say(&warning(&found));
            }
            found.target_from_source.as_ref().map_or(String::new(), output::matrix)
        }
    };
    if let (Some(path), Some(pose)) = (&options.write_aligned, &found.target_from_source) {
        if found.is_registered() || options.force {
            write_cloud(path, &source_cloud.moved(pose))?;
        } else if !args.quiet {
            say(
                "note: the aligned cloud is not written, because the pose is not reliable (--force writes it)",
            );
        }
    }
    sink.write(|out| out.write_all(document.as_bytes()))?;
    Ok(match (found.stopped, found.is_registered()) {
        (Some(StopRequest::Interrupted), _) => Outcome::Interrupted,
        (_, true) => Outcome::Done,
        (_, false) => Outcome::NotReliable,
    })
}

fn warning(found: &CloudRegistration) -> String {
    match found.status {
        Status::NoSolution => {
            format!("warning: no solution, so that there is no matrix to print: {}", found.reason)
        }
        _ => format!("warning: NOT RELIABLE: the matrix is only the best guess: {}", found.reason),
    }
}

fn read(path: &Path) -> Result<Cloud> {
    ensure!(path.as_os_str() != "-", "a cloud must come from a file: only `solve` reads standard input, `-`");
    Ok(read_cloud(path)?)
}

/// With the normals that the file knows, and the viewpoint that it knows or that was given.
fn prepared(cloud: &Cloud, viewpoint: Option<Place>, path: &Path) -> Result<PreparedCloud> {
    let viewpoint = viewpoint.map(|Place(at)| at).or(cloud.viewpoint);
    let raw = RawCloud::new(&cloud.points).with_viewpoint(viewpoint).with_normals(cloud.normals.as_deref());
    PreparedCloud::new(raw).with_context(|| format!("`{}`", path.display()))
}

fn params(options: &Register) -> Result<RegisterParams> {
    let mut params = RegisterParams::new()
        .with_scale(options.scale.0)
        .with_seed(options.seed)
        .with_refinement(match options.refine {
            RefineOption::PointToPlane => Refinement::PointToPlane,
            RefineOption::PointToPoint => Refinement::PointToPoint,
            RefineOption::None => Refinement::None,
        });
    if let Some(voxel) = options.voxel {
        params = params.with_voxel(voxel).context("--voxel")?;
    }
    if let Some(threads) = options.threads {
        params = params.with_threads(usize::try_from(threads).context("--threads")?);
    }
    if let Some(path) = &options.initial {
        let initial = input::transform(path)?;
        if let Scale::Known(scale) = options.scale.0 {
            let off = (initial.scale() / scale.get() - 1.0).abs();
            ensure!(
                off < 1e-3,
                "`{}` has scale {}, but --scale is {}: make them agree, or give --scale unknown",
                path.display(),
                output::shown(initial.scale()),
                output::shown(scale.get())
            );
        }
        params = params.with_initial(initial);
    }
    Ok(params)
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
