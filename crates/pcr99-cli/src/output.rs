//! What the program prints: a summary for people, a matrix, and files that appear when they are complete or not at all.

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, Result};
use pcr99::{Counters, Covariance, Registration, Similarity, Status};
use pcr99_cloud::{CloudRegistration, OutputFile};
use pcr99_document::{Document, LocalTransform};

pub(crate) use pcr99_base::text::{counted, percent, shown};

use crate::{args::Format, say};

/// Largest number of poses that a summary lists beside the best candidate.
const MOST_LISTED: usize = 11;

/// Destination of a result, checked before any work is done for it.
#[derive(Debug)]
pub(crate) enum Sink {
    StandardOutput,
    File(OutputFile),
}

impl Sink {
    /// A file that can be written, or standard output.
    pub(crate) fn new(file: Option<&Path>) -> Result<Self> {
        Ok(match file {
            Some(path) => Self::File(OutputFile::new(path)?),
            None => Self::StandardOutput,
        })
    }

    /// Whether both are the same file.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        matches!((self, other), (Self::File(a), Self::File(b)) if a.is_same_file(b))
    }

    /// Writes the bytes that `document` produces. A file gets its name when it is complete.
    pub(crate) fn write(&self, document: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        match self {
            Self::StandardOutput => {
                write_stream(io::stdout().lock(), document).context("cannot write to standard output")
            }
            Self::File(file) => Ok(file.write(document)?),
        }
    }
}

/// Prints a help text with its colours, if standard output shows any.
pub(crate) fn print_help(text: &clap::Error) -> Result<()> {
    // Clap prints through a buffer of the standard library, whose last bytes are lost without a word unless they are flushed.
    let printed = text.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

fn write_stream(
    stream: impl Write,
    document: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(stream);
    match document(&mut out).and_then(|()| out.flush()) {
        // The reader has closed the pipe: it has read what it needs.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Status and reason in one line.
fn status_line(status: Status, reason: &str) -> String {
    // Capitals where the transform must not be used unchecked.
    let word = match status {
        Status::Registered => "registered",
        Status::NotReliable => "NOT RELIABLE",
        Status::NoSolution => "NO SOLUTION",
    };
    format!("{word}: {reason}")
}

/// Status and reason of a registration from matches, in one line.
pub(crate) fn verdict(found: &Registration) -> String {
    status_line(found.status, &found.reason())
}

/// A result in a format for programs. Warns before the transform of an answer that is not registered.
pub(crate) fn printed(document: &Document, format: Format, is_quiet: bool) -> Result<String> {
    let Some(model) = document.target_from_source() else {
        if format == Format::Json {
            return Ok(document.to_json());
        }
        warn(document, format, is_quiet);
        return Ok(String::new());
    };
    if format != Format::Json {
        warn(document, format, is_quiet);
    }
    Ok(match format {
        Format::Json | Format::Summary => document.to_json(),
        Format::Matrix => matrix(&model),
        Format::Tum => document.to_tum(0.0)?,
        Format::Kitti => document.to_kitti()?,
        Format::G2o => document.to_g2o(0, 1)?,
    })
}

/// Warns before a transform that must not be used unchecked.
fn warn(document: &Document, format: Format, is_quiet: bool) {
    let what = if format == Format::Matrix { "matrix" } else { "transform" };
    let verdict = status_line(document.status(), document.reason());
    match document.status() {
        Status::Registered => {}
        _ if is_quiet => {}
        Status::NoSolution => say(&format!("warning: there is no {what} to print. {verdict}")),
        Status::NotReliable => say(&format!("warning: do not use this {what} unchecked. {verdict}")),
    }
}

/// Summary of a registration of two clouds.
pub(crate) fn cloud_summary(found: &CloudRegistration) -> String {
    let mut text = status_line(found.status, &found.reason()) + "\n";
    text += &transform_lines(found.target_from_source.as_ref(), found.status);
    text += &equivalent_lines(found);
    if let Some(fit) = &found.assessment {
        let _ = writeln!(
            text,
            "  overlap      {} of the source, {} of the target; {} of the normals agree",
            percent(fit.overlap_source),
            percent(fit.overlap_target),
            percent(fit.normal_agreement)
        );
    }
    if let Some(rmse) = found.rmse {
        let _ = writeln!(text, "  residual     {} rms", shown(rmse));
    }
    if found.is_registered() {
        text += &accuracy_lines(found.target_from_source.as_ref(), found.covariance.as_ref());
    }
    for (name, cloud) in [("source", &found.source), ("target", &found.target)] {
        let _ = writeln!(text, "  {name}       {} points, {} after sampling", cloud.points, cloud.sampled);
    }
    let _ = writeln!(text, "  voxel        {}", shown(found.voxel));
    if let Some(matches) = &found.matches {
        let _ = writeln!(
            text,
            "  matches      {}, of which {} agree; {}",
            matches.matches,
            matches.inliers.len(),
            matches.evidence.false_alarms()
        );
    }
    let _ = writeln!(text, "  time         {} ms", milliseconds(found.seconds.total));
    text
}

/// What fits as well as the best candidate, one line each; empty where nothing does.
fn equivalent_lines(found: &CloudRegistration) -> String {
    let mut text = String::new();
    for motion in &found.free_motions {
        let _ = writeln!(text, "  fits as well  after {}", motion.sentence(found.voxel));
    }
    for relation in found.poses.iter().filter_map(|pose| pose.relation.as_ref()).take(MOST_LISTED) {
        let _ = writeln!(text, "  fits as well  {relation}");
    }
    if let Some(more @ 1..) = found.poses.len().checked_sub(1 + MOST_LISTED) {
        let _ = writeln!(text, "  fits as well  {more} more; --json lists all of them");
    }
    text
}

/// Summary of a registration from matches.
pub(crate) fn match_summary(method: &str, found: &Registration) -> String {
    let mut text = verdict(found) + "\n";
    text += &transform_lines(found.target_from_source.as_ref(), found.status);
    if let Some(rmse) = found.inlier_rmse {
        let _ = writeln!(text, "  inlier rmse  {} (threshold {})", shown(rmse), shown(found.threshold));
    }
    if found.is_registered() {
        text += &accuracy_lines(found.target_from_source.as_ref(), found.covariance.as_ref());
    }
    if let Some(found) = &found.evidence {
        let _ = writeln!(text, "  evidence     {}; inliers {}", found.false_alarms(), found.places());
    }
    // A transform from elsewhere was not searched for.
    if found.counters != Counters::default() {
        let stopped = found.stopped_because.as_str().replace('_', " ");
        let _ = writeln!(text, "  searched     {}; stopped: {stopped}", searched(found));
    }
    let _ = writeln!(text, "  time         {}", stage_times(&found.seconds));
    let _ = writeln!(text, "  method       {method}");
    text
}

/// How accurate the transform is; and where coordinates are so large that the matrix is printed with fewer digits than that, the transform about a local origin.
fn accuracy_lines(model: Option<&Similarity>, covariance: Option<&Covariance>) -> String {
    let (Some(model), Some(covariance)) = (model, covariance) else { return String::new() };
    let mut text = format!("  accuracy     {}\n", covariance.accuracy());
    if let Some(local) = LocalTransform::of(model, covariance) {
        let point = |p: [f64; 3]| format!("({}, {}, {})", p[0], p[1], p[2]);
        let _ = writeln!(
            text,
            "  local        about {} of the source and {} of the target, the translation is ({:.6}, {:.6}, {:.6})",
            point(local.source_origin),
            point(local.target_origin),
            local.translation[0],
            local.translation[1],
            local.translation[2],
        );
    }
    text
}

/// Matrix and scale; empty without a transform.
fn transform_lines(model: Option<&Similarity>, status: Status) -> String {
    let Some(model) = model else { return String::new() };
    let what = if status == Status::Registered { "transform" } else { "best candidate" };
    let mut text = format!("\n{what}, source to target:\n");
    for row in rounded_matrix(model).lines() {
        let _ = writeln!(text, "  {row}");
    }
    let _ = writeln!(text, "\n  scale        {}", shown(model.scale()));
    text
}

/// Amount of work of a search.
pub(crate) fn searched(found: &Registration) -> String {
    let counters = found.counters;
    let hypotheses = counted(counters.hypotheses, "hypothesis", "hypotheses");
    match (counters.pairs, counters.triplets) {
        (0, 0) => hypotheses,
        (0, triplets) => format!("{}, {hypotheses}", counted(triplets, "triplet", "triplets")),
        (pairs, _) => format!("{}, {hypotheses}", counted(pairs, "pair", "pairs")),
    }
}

/// Total time in milliseconds, with the time of each stage.
pub(crate) fn stage_times(seconds: &pcr99::Seconds) -> String {
    let stages: Vec<String> =
        seconds.stages.iter().map(|(stage, time)| format!("{stage} {}", milliseconds(*time))).collect();
    let total = format!("{} ms", milliseconds(seconds.total));
    if stages.is_empty() { total } else { format!("{total} ({})", stages.join(", ")) }
}

/// The 4×4 matrix, one row per line, with enough digits to read back the same numbers.
pub(crate) fn matrix(model: &Similarity) -> String {
    // The debugging form has an exponent where the display form would have hundreds of zeros.
    aligned(model.matrix().map(|row| row.map(|x| format!("{x:?}"))))
}

/// The 4×4 matrix with nine decimals.
fn rounded_matrix(model: &Similarity) -> String {
    let plain = (1e-3..1e6).contains(&model.scale());
    let number = |x: f64| match plain {
        // Not as -0.000000000.
        true if x.abs() < 0.5e-9 => format!("{:.9}", 0.0),
        true => format!("{x:.9}"),
        false => format!("{x:.9e}"),
    };
    aligned(model.matrix().map(|row| row.map(number)))
}

fn aligned(rows: [[String; 4]; 4]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 4] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let line: Vec<String> =
            row.iter().zip(widths).map(|(number, width)| format!("{number:>width$}")).collect();
        let _ = writeln!(text, "{}", line.join("  "));
    }
    text
}

/// Seconds in milliseconds.
pub(crate) fn milliseconds(seconds: f64) -> String {
    let ms = 1e3 * seconds;
    if ms < 10.0 { format!("{ms:.2}") } else { format!("{ms:.0}") }
}
