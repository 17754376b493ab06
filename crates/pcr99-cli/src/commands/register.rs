//! `pcr99 register`: two raw clouds → transform.

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use pcr99::{Scale, Similarity, Status, stop::StopRequest};
use pcr99_cloud::{
    CloudRegistration, PreparedCloud, RawCloud, Refinement, RegisterParams, read_points, register_until,
};

use crate::{
    Outcome,
    args::{Args, Format, RefineOption, Register},
    input,
    output::{self, Sink},
    say,
    watch::Watch,
};

pub(super) fn run(options: &Register, args: &Args) -> Result<Outcome> {
    let sink = Sink::new(options.output.as_deref())?;
    let aligned = options.write_aligned.as_deref().map(Aligned::new).transpose()?;
    let same = aligned.as_ref().is_some_and(|aligned| aligned.sink.is_same_file(&sink));
    ensure!(!same, "--output and --write-aligned name the same file: give each its own");
    let params = params(options)?;
    let points = [&options.source, &options.target].map(|path| read(path));
    let [source_points, target_points] = points;
    let (source_points, target_points) = (source_points?, target_points?);
    let prepare = |points: &[[f64; 3]], path: &Path| {
        PreparedCloud::new(RawCloud::new(points)).with_context(|| format!("`{}`", path.display()))
    };
    let watch = Watch::start(options.time_limit, args.quiet);
    let source = prepare(&source_points, &options.source)?;
    let target = prepare(&target_points, &options.target)?;
    if !args.quiet {
        for (cloud, path) in [(&source, &options.source), (&target, &options.target)] {
            note_left_out(cloud, path);
        }
    }
    let found = register_until(&source, &target, &params, &|| watch.check())?;
    drop(watch);

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
    if let (Some(aligned), Some(pose)) = (&aligned, &found.target_from_source) {
        if found.is_registered() || options.force {
            aligned.write(&source_points, pose)?;
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

fn read(path: &Path) -> Result<Vec<[f64; 3]>> {
    ensure!(path.as_os_str() != "-", "a cloud must come from a file: only `solve` reads standard input, `-`");
    Ok(read_points(path)?)
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

/// The file for the aligned cloud.
struct Aligned {
    sink: Sink,
    is_ply: bool,
}

impl Aligned {
    fn new(path: &Path) -> Result<Self> {
        let extension =
            path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        ensure!(
            ["ply", "xyz", "txt"].contains(&extension.as_str()),
            "cannot write `{}`: its name must end in .ply, .xyz or .txt",
            path.display()
        );
        Ok(Self { sink: Sink::new(Some(path))?, is_ply: extension == "ply" })
    }

    fn write(&self, points: &[[f64; 3]], pose: &Similarity) -> Result<()> {
        self.sink.write(|out| {
            if self.is_ply { write_ply(out, points, pose) } else { write_text(out, points, pose) }
        })
    }
}

/// Binary PLY with coordinates in double precision, so that large ones keep their digits.
fn write_ply(out: &mut dyn Write, points: &[[f64; 3]], pose: &Similarity) -> io::Result<()> {
    writeln!(out, "ply\nformat binary_little_endian 1.0\nelement vertex {}", points.len())?;
    writeln!(out, "property double x\nproperty double y\nproperty double z\nend_header")?;
    for &point in points {
        for x in pose.apply(point) {
            out.write_all(&x.to_le_bytes())?;
        }
    }
    Ok(())
}

fn write_text(out: &mut dyn Write, points: &[[f64; 3]], pose: &Similarity) -> io::Result<()> {
    for &point in points {
        let [x, y, z] = pose.apply(point);
        writeln!(out, "{x:?} {y:?} {z:?}")?;
    }
    Ok(())
}
