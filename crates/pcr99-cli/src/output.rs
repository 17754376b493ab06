//! What is printed: a summary to read, one JSON document, or a plain matrix; and files that appear whole or not at all.

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use pcr99::{Registration, Similarity, Status};
use serde_json::{Map, Value, json};

/// Where a document goes: checked before any work is done for it.
#[derive(Debug)]
pub(crate) struct Sink(Option<PathBuf>);

impl Sink {
    /// A file that can be written, or standard output.
    pub(crate) fn new(file: Option<&Path>) -> Result<Self> {
        if let Some(path) = file {
            ensure!(!path.is_dir(), "cannot write `{}`: it is a directory", path.display());
            let directory = directory_of(path);
            ensure!(
                directory.is_dir(),
                "cannot write `{}`: there is no directory `{}`",
                path.display(),
                directory.display()
            );
        }
        Ok(Self(file.map(Path::to_path_buf)))
    }

    /// Writes the document, to a file under its own name only when it is complete.
    pub(crate) fn write(&self, document: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        match &self.0 {
            None => {
                let mut out = io::BufWriter::new(io::stdout().lock());
                match document(&mut out).and_then(|()| out.flush()) {
                    // Whoever reads has seen enough.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    result => result.context("cannot write to standard output"),
                }
            }
            Some(path) => {
                let failed = || format!("cannot write `{}`", path.display());
                let mut file = temporary_beside(path).with_context(failed)?;
                let mut out = io::BufWriter::new(&mut file);
                document(&mut out).and_then(|()| out.flush()).with_context(failed)?;
                drop(out);
                file.persist(path).map_err(|error| error.error).with_context(failed)?;
                Ok(())
            }
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A temporary file that, unlike most, has the permissions of any new file.
fn temporary_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pcr99-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::{fs::Permissions, os::unix::fs::PermissionsExt};
        builder.permissions(Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory_of(path))
}

/// The document of interface schema 1.
pub(crate) fn json(method: &str, matches: usize, found: &Registration) -> Value {
    let model = found.target_from_source.as_ref();
    let candidates: Vec<Value> = model
        .map(|model| json!({ "transform": model.matrix(), "inlier_count": found.inliers.len(), "log10_nfa": null }))
        .into_iter()
        .collect();
    let mut seconds = Map::from_iter([("total".to_owned(), json!(found.seconds.total))]);
    seconds.extend(found.seconds.stages.iter().map(|(stage, seconds)| ((*stage).to_owned(), json!(seconds))));
    json!({
        "schema": 1,
        "program": concat!("pcr99 ", env!("CARGO_PKG_VERSION")),
        "method": method,
        "status": found.status.as_str(),
        "transform": model.map(Similarity::matrix),
        "scale": model.map(Similarity::scale),
        "rotation": model.map(Similarity::rotation),
        "translation": model.map(Similarity::translation),
        "correspondences": matches,
        "inliers": found.inliers,
        "threshold": found.threshold,
        "inlier_rmse": found.inlier_rmse,
        "evidence": null,
        "candidates": candidates,
        "stopped_because": found.stopped_because.as_str(),
        "counters": { "pairs": 0, "hypotheses": found.counters.hypotheses, "triplets": found.counters.triplets },
        "seconds": seconds,
    })
}

/// A few lines to read.
pub(crate) fn summary(method: &str, matches: usize, found: &Registration) -> String {
    let mut text = match found.status {
        Status::Registered => format!("registered: {} of {matches} matches agree\n", found.inliers.len()),
        Status::NotReliable => {
            format!(
                "NOT RELIABLE: only {} of {matches} matches agree; the best guess is\n",
                found.inliers.len()
            )
        }
        Status::NoSolution => {
            format!("NO SOLUTION: no three of the {matches} matches are consistent with each other\n")
        }
    };
    if let Some(model) = &found.target_from_source {
        text += "\ntransform, source to target:\n";
        text += &matrix(model);
        let _ = writeln!(text, "\n  scale        {}", shown(model.scale()));
    }
    let rmse = found.inlier_rmse.map_or(String::from("none"), shown);
    let _ = writeln!(text, "  inlier rmse  {rmse} (threshold {})", found.threshold);
    let _ = writeln!(
        text,
        "  searched     {} triplets, {} hypotheses; stopped: {}",
        found.counters.triplets,
        found.counters.hypotheses,
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

/// The 4×4 matrix, one row a line, with all its digits.
pub(crate) fn matrix(model: &Similarity) -> String {
    let mut text = String::new();
    for row in model.matrix() {
        let numbers = row.map(|x| format!("{x:>24.17}"));
        text += numbers.join(" ").trim_end();
        text.push('\n');
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
