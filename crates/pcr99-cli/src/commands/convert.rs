//! `pcr99 convert`: a cloud to another file format.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

use anyhow::{Result, ensure};
use pcr99_cloud::{Attribute, CloudFormat, OutputFile, Written, read_cloud, write_cloud};

use crate::{Outcome, args::Convert, say, watch::Busy};

pub(super) fn run(options: &Convert, quiet: bool) -> Result<Outcome> {
    let (input, output) = (options.input.as_path(), options.output.as_path());
    let format = CloudFormat::of(output)?;
    ensure!(
        !is_same(input, output),
        "`{}` and `{}` are the same file: name another output file",
        input.display(),
        output.display()
    );
    // Checked before the cloud is read, which may take long.
    OutputFile::new(output)?;
    ensure!(
        options.force || !output.exists(),
        "`{}` exists: add --force to replace it, or name another file",
        output.display()
    );
    let busy = Busy::start(format!("converting `{}`", input.display()), quiet);
    let cloud = read_cloud(input)?;
    let has_matches = names_matches(input);
    let written = write_cloud(output, &cloud)?;
    drop(busy);
    if !quiet {
        described(output, format, &written).iter().for_each(|line| say(line));
        if has_matches {
            say(&format!(
                "warning: the header of `{}` names matches (sx sy sz tx ty tz), not a cloud: check the points that were written, or use `pcr99 solve`",
                input.display()
            ));
        }
    }
    Ok(Outcome::Done)
}

/// Whether both paths name the same file.
fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Whether the first line of a file of text names the columns of matches.
fn names_matches(path: &Path) -> bool {
    /// Longest header that is looked at, in bytes.
    const LONGEST: u64 = 4096;
    let mut line = Vec::new();
    let Ok(file) = File::open(path) else { return false };
    if BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line).is_err() {
        return false;
    }
    let line = String::from_utf8_lossy(&line).to_lowercase();
    let names: Vec<&str> = line.split(|letter: char| !letter.is_alphanumeric()).collect();
    ["sx", "sy", "sz", "tx", "ty", "tz"].iter().all(|name| names.contains(name))
}

/// Lines about what was written and what was lost.
fn described(output: &Path, format: CloudFormat, written: &Written) -> Vec<String> {
    let count = |number: usize| format!("{number} {}", if number == 1 { "point" } else { "points" });
    let with =
        if written.kept.is_empty() { String::new() } else { format!(" with {}", listed(&written.kept)) };
    let mut lines = vec![format!("{}{with} written to `{}`", count(written.points), output.display())];
    if format == CloudFormat::Npy && !written.kept.is_empty() {
        let columns = written.kept.iter().map(|attribute| match attribute {
            Attribute::Normals => " nx ny nz",
            Attribute::Colors => " red green blue",
            _ => " intensity",
        });
        lines.push(format!("note: the columns are x y z{}", columns.collect::<String>()));
    }
    if !written.lost.is_empty() {
        lines.push(format!(
            "note: not stored, because the format has no field for it: {}",
            listed(&written.lost)
        ));
    }
    if written.dropped > 0 {
        lines.push(format!("note: removed {} with non-finite coordinates", count(written.dropped)));
    }
    lines
}

/// Names, separated by commas and `and`.
fn listed(attributes: &[Attribute]) -> String {
    let names: Vec<String> = attributes.iter().map(Attribute::to_string).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}
