//! `pcr99 apply`: a cloud file moved by a transform from a file.

use std::{fs, io::Read as _, path::Path};

use anyhow::{Context, Result};
use pcr99::{Similarity, Status};
use pcr99_cloud::read_transform;
use pcr99_document::Document;

use super::moved;
use crate::{Outcome, args::Apply, say, watch::Busy};

pub(super) fn run(options: &Apply, quiet: bool) -> Result<Outcome> {
    moved::check(&options.input, &options.output, options.force)?;
    let transform = transform(&options.transform, quiet)?;
    let transform = if options.inverse { transform.inverse() } else { transform };
    let busy = Busy::start(format!("moving `{}`", options.input.display()), quiet);
    let written = moved::write(&options.input, &options.output, &transform)?;
    drop(busy);
    if !quiet {
        written.say_all();
    }
    Ok(Outcome::Done)
}

/// The transform in a text file (4×4 matrix) or in a document of `solve`, `register` or `refine`.
pub(super) fn transform(path: &Path, quiet: bool) -> Result<Similarity> {
    let mut start = [0; 64];
    let is_document = fs::File::open(path)
        .and_then(|mut file| file.read(&mut start))
        .is_ok_and(|count| start[..count].trim_ascii_start().starts_with(b"{"));
    if !is_document {
        return Ok(read_transform(path)?);
    }
    let name = || format!("`{}`", path.display());
    let text = fs::read_to_string(path).with_context(name)?;
    let document = Document::from_json(&text).with_context(name)?;
    let transform = document.target_from_source().with_context(|| {
        format!("{}: the document has no transform; its status is `{}`", name(), document.status())
    })?;
    if document.status() != Status::Registered && !quiet {
        say(&format!("warning: {}: the transform is not reliable: {}", name(), document.reason()));
    }
    Ok(transform)
}
