//! Cloud files with moved points, for `convert`, `apply` and `--write-aligned`: a copy where the format stays, else a conversion.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use pcr99::Similarity;
use pcr99_cloud::{Attribute, CloudFormat, OutputFile, Written, copy_cloud, is_copy, read_cloud_file};

use crate::say;

/// What was written.
pub(super) struct Moved {
    /// Summary, then notes about changes.
    summary: String,
    notes: Vec<String>,
}

impl Moved {
    /// Prints the summary and the notes.
    pub(super) fn say_all(&self) {
        say(&self.summary);
        self.say_notes();
    }

    /// Prints what was lost or changed.
    pub(super) fn say_notes(&self) {
        self.notes.iter().for_each(|note| say(note));
    }

    /// What was lost or changed.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Checks that `output` can be written, and that it replaces nothing unless `is_forced`.
pub(super) fn check(input: &Path, output: &Path, is_forced: bool) -> Result<()> {
    CloudFormat::of(output)?;
    ensure!(
        !is_same(input, output),
        "`{}` and `{}` are the same file: name another output file",
        input.display(),
        output.display()
    );
    // Checked before the cloud is read, which may take long.
    OutputFile::new(output)?;
    ensure!(
        is_forced || !output.exists(),
        "`{}` exists: add --force to replace it, or name another file",
        output.display()
    );
    Ok(())
}

/// Writes the cloud in the file `input`, moved by `transform`, to `output`.
pub(super) fn write(input: &Path, output: &Path, transform: &Similarity) -> Result<Moved> {
    if is_copy(input, output)? {
        let copied = copy_cloud(input, output, transform)?;
        let summary = format!(
            "{} with all attributes written to `{}`",
            count(copied.points as usize, "point"),
            output.display()
        );
        let notes = copied.lost.iter().map(|lost| format!("note: not kept, because points moved: {lost}"));
        return Ok(Moved { summary, notes: notes.collect() });
    }
    let mut file = read_cloud_file(input)?;
    if *transform != Similarity::IDENTITY {
        file = file.moved(transform).with_context(|| format!("`{}`", input.display()))?;
    }
    let written = file.write(output)?;
    Ok(described(output, &written, &file.left_out))
}

/// Whether both paths name the same file.
fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Lines about what was written and what was lost.
fn described(output: &Path, written: &Written, left_out: &[String]) -> Moved {
    let mut names: Vec<String> = written.kept.iter().map(Attribute::to_string).collect();
    names.extend(written.kept_columns.iter().cloned());
    let with = if names.is_empty() { String::new() } else { format!(" with {}", listed(&names)) };
    let summary = format!("{}{with} written to `{}`", count(written.points, "point"), output.display());
    let mut notes = Vec::new();
    if CloudFormat::of(output).is_ok_and(|format| format == CloudFormat::Npy) && !names.is_empty() {
        let columns = written.kept.iter().map(|attribute| match attribute {
            Attribute::Normals => " nx ny nz",
            Attribute::Colors => " red green blue",
            _ => " intensity",
        });
        let more = written.kept_columns.iter().map(|name| format!(" {name}"));
        notes.push(format!(
            "note: the columns are x y z{}{}",
            columns.collect::<String>(),
            more.collect::<String>()
        ));
    }
    let lost: Vec<String> = written.lost.iter().chain(left_out).cloned().collect();
    if !lost.is_empty() {
        notes.push(format!("note: not stored, because the format has no field for it: {}", listed(&lost)));
    }
    if written.dropped > 0 {
        let points = count(written.dropped, "point");
        notes.push(format!("note: removed {points} with non-finite coordinates"));
    }
    Moved { summary, notes }
}

/// Names, separated by commas and `and`.
fn listed(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}
