//! What is printed: a summary to read, one JSON document, or a plain matrix; and files that appear whole or not at all.

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, Result};
use pcr99::{Evidence, Registration, Similarity, Status};
use pcr99_cloud::{CloudRegistration, OutputFile};

/// Where a document goes: checked before any work is done for it.
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

    /// Whether both go to one file.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        matches!((self, other), (Self::File(a), Self::File(b)) if a.is_same_file(b))
    }

    /// Writes the document, to a file under its own name only when it is complete.
    pub(crate) fn write(&self, document: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        match self {
            Self::StandardOutput => {
                write_stream(io::stdout().lock(), document).context("cannot write to standard output")
            }
            Self::File(file) => Ok(file.write(document)?),
        }
    }
}

fn write_stream(
    stream: impl Write,
    document: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(stream);
    match document(&mut out).and_then(|()| out.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// A few lines to read on two clouds.
pub(crate) fn cloud_summary(found: &CloudRegistration) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}", status_word(found.status), found.reason());
    if let (Some(model), Some(fit)) = (&found.target_from_source, &found.assessment) {
        let rmse = found.rmse.map_or(String::new(), |rmse| format!(", residual {} rms", shown(rmse)));
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let _ = writeln!(
            text,
            "overlap {} of the source, {} of the target; {} of the normals agree{rmse}",
            percent(fit.overlap_source),
            percent(fit.overlap_target),
            percent(fit.normal_agreement)
        );
        let _ = writeln!(text, "scale {}", shown(model.scale()));
        text += &rounded_matrix(model);
    }
    for (name, cloud) in [("source", &found.source), ("target", &found.target)] {
        let _ = writeln!(text, "{name}: {} points, {} after sampling", cloud.points, cloud.sampled);
    }
    let matches = found.matches.as_ref().map_or(String::new(), |m| format!("{} matches, ", m.matches));
    let _ = writeln!(text, "voxel {}, {matches}{} ms", shown(found.voxel), milliseconds(found.seconds.total));
    text
}

/// The status and its reason in one line.
pub fn verdict(found: &Registration) -> String {
    format!("{}: {}", status_word(found.status), found.reason())
}

/// The status in words, in capitals where the answer must not be used.
fn status_word(status: Status) -> &'static str {
    match status {
        Status::Registered => "registered",
        Status::NotReliable => "NOT RELIABLE",
        Status::NoSolution => "NO SOLUTION",
    }
}

/// Where the inliers are, neighbours taken together.
fn places(inlier_places: usize) -> String {
    match inlier_places {
        1 => "at 1 place".to_owned(),
        // No further are they counted.
        Evidence::MOST_COUNTED.. => format!("at {inlier_places} or more distinct places"),
        some => format!("at {some} distinct places"),
    }
}

/// A few lines to read.
pub(crate) fn summary(method: &str, found: &Registration) -> String {
    let mut text = verdict(found);
    text.push('\n');
    if let Some(model) = &found.target_from_source {
        let what = if found.is_registered() { "transform" } else { "best guess" };
        let _ = writeln!(text, "\n{what}, source to target:");
        for row in rounded_matrix(model).lines() {
            let _ = writeln!(text, "  {row}");
        }
        let _ = writeln!(text, "\n  scale        {}", shown(model.scale()));
    }
    if let Some(rmse) = found.inlier_rmse {
        let _ = writeln!(text, "  inlier rmse  {} (threshold {})", shown(rmse), shown(found.threshold));
    }
    if let Some(evidence) = found.evidence {
        let _ = writeln!(
            text,
            "  evidence     10^{:.1} false alarms expected; inliers {}",
            evidence.log10_nfa,
            places(evidence.inlier_places)
        );
    }
    let _ = writeln!(
        text,
        "  searched     {}; stopped: {}",
        searched(found),
        found.stopped_because.as_str().replace('_', " ")
    );
    let stages: Vec<String> = found
        .seconds
        .stages
        .iter()
        .map(|(stage, seconds)| format!("{stage} {}", milliseconds(*seconds)))
        .collect();
    let _ = writeln!(text, "  time         {} ms ({})", milliseconds(found.seconds.total), stages.join(", "));
    let _ = writeln!(text, "  method       {method}");
    text
}

/// How much was tried.
pub(crate) fn searched(found: &Registration) -> String {
    let pcr99::Counters { pairs, triplets, hypotheses, .. } = found.counters;
    let count = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let looked_at =
        if pairs > 0 { count(pairs, "pair", "pairs") } else { count(triplets, "triplet", "triplets") };
    format!("{looked_at}, {}", count(hypotheses, "hypothesis", "hypotheses"))
}

/// The 4×4 matrix, one row a line, with all the digits that are needed to read back the same numbers.
pub(crate) fn matrix(model: &Similarity) -> String {
    // The debugging form has an exponent where the display form would have hundreds of zeros.
    aligned(model.matrix().map(|row| row.map(|x| format!("{x:?}"))))
}

/// The 4×4 matrix to look at.
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

/// Six significant digits.
pub(crate) fn shown(x: f64) -> String {
    if x == 0.0 || (1e-4..1e7).contains(&x.abs()) {
        let before_point = x.abs().max(1.0).log10() as usize + 1;
        let text = format!("{x:.*}", 7_usize.saturating_sub(before_point));
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{x:.5e}")
    }
}
