//! `pcr99 convert`: a cloud to another file format.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

use anyhow::Result;
use pcr99::Similarity;

use super::moved;
use crate::{Outcome, args::Convert, say, watch::Busy};

pub(super) fn run(options: &Convert, quiet: bool) -> Result<Outcome> {
    let (input, output) = (options.input.as_path(), options.output.as_path());
    moved::check(input, output, options.force)?;
    let busy = Busy::start(format!("converting `{}`", input.display()), quiet);
    let has_matches = names_matches(input);
    let written = moved::write(input, output, &Similarity::IDENTITY)?;
    drop(busy);
    if !quiet {
        written.say_all();
        if has_matches {
            say(&format!(
                "warning: the header of `{}` names matches (sx sy sz tx ty tz), not a cloud: check the points that were written, or use `pcr99 solve`",
                input.display()
            ));
        }
    }
    Ok(Outcome::Done)
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
