//! `pcr99 page`: a page of a saved document.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use pcr99_cloud::{read_indices, read_matches, read_points};
use pcr99_document::{Document, Kind};
use pcr99_page::RegistrationView;

use crate::{
    Outcome,
    args::{Args, Page},
    page::{self, PageFile},
    watch::Busy,
};

/// Added to every error about points.
const REMEDY: &str = "name the files with --source and --target or with --pairs, or give --no-points for a page of the numbers alone";

pub(super) fn run(options: &Page, args: &Args) -> Result<Outcome> {
    if let (Ok(page), Ok(document)) = (options.output.canonicalize(), options.document.canonicalize()) {
        ensure!(page != document, "--output names the document: give the page a file of its own");
    }
    let file =
        PageFile::with_head(Some(&options.output), &[], &options.head)?.context("no file for the page")?;
    let (name, text) = read(&options.document)?;
    let document = Document::from_json(&text).with_context(|| name.clone())?;
    let files = Files::of(&document, options);
    let view = if options.no_points {
        RegistrationView::without_points(&document)
    } else {
        let _reading = Busy::start("reading the points".to_owned(), args.quiet);
        files.view(&document).with_context(|| format!("cannot draw the points of {name}; {REMEDY}"))?
    };
    file.write(args, [files.named(view)])?;
    Ok(Outcome::Done)
}

/// Name and text of a document.
fn read(path: &Path) -> Result<(String, String)> {
    if path.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text).context("cannot read standard input")?;
        return Ok(("standard input".to_owned(), text));
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok((format!("`{}`", path.display()), text))
}

/// Files with the points of a document.
struct Files {
    source: Option<PathBuf>,
    target: Option<PathBuf>,
    /// Matches, or pairs of indices into source and target.
    pairs: Option<PathBuf>,
}

impl Files {
    /// Files of the options; otherwise those that the document names.
    fn of(document: &Document, options: &Page) -> Self {
        let inputs = document.inputs().cloned().unwrap_or_default();
        let file = |given: &Option<PathBuf>, named: Option<String>| {
            given.clone().or_else(|| named.map(|named| found(&named, &options.document)))
        };
        Self {
            source: file(&options.source, inputs.source),
            target: file(&options.target, inputs.target),
            pairs: file(&options.pairs, inputs.pairs),
        }
    }

    fn view(&self, document: &Document) -> Result<RegistrationView> {
        let view = match (document.kind(), &self.source, &self.target, &self.pairs) {
            (Kind::Clouds, Some(source), Some(target), _) => {
                let (a, b) = (read_points(source)?, read_points(target)?);
                RegistrationView::of_document(document, &a, &b, None)?
            }
            (Kind::Matches, _, _, Some(pairs)) if pairs.as_os_str() == "-" => {
                bail!("its matches came from standard input")
            }
            (Kind::Matches, Some(source), Some(target), Some(indices)) => {
                let (a, b, indices) = (read_points(source)?, read_points(target)?, read_indices(indices)?);
                let side = |which: usize, points: &[[f64; 3]]| -> Result<Vec<[f64; 3]>> {
                    let point = |pair: &[usize; 2]| points.get(pair[which]).copied();
                    let all: Option<Vec<[f64; 3]>> = indices.iter().map(point).collect();
                    all.ok_or_else(|| {
                        anyhow!("an index is beyond the end of its cloud: the files have changed since")
                    })
                };
                let view = RegistrationView::of_document(document, &side(0, &a)?, &side(1, &b)?, None)?;
                view.with_clouds(&a, &b)
            }
            (Kind::Matches, _, _, Some(pairs)) => {
                let read = read_matches(pairs)?;
                RegistrationView::of_document(document, &read.source, &read.target, None)?
            }
            _ => bail!("it does not name the files that it was made from"),
        };
        Ok(view)
    }

    /// The view with the names of the files.
    fn named(&self, view: RegistrationView) -> RegistrationView {
        match (&self.source, &self.target, &self.pairs) {
            (Some(source), Some(target), _) => view.with_names(&page::name(source), &page::name(target)),
            (_, _, Some(pairs)) if pairs.as_os_str() == "-" => view.with_title("standard input"),
            (_, _, Some(pairs)) => view.with_title(&page::name(pairs)),
            _ => view,
        }
    }
}

/// A file that a document names: relative to the current directory, or else to the directory of the document.
fn found(named: &str, document: &Path) -> PathBuf {
    let path = PathBuf::from(named);
    let beside = document.parent().map(|directory| directory.join(&path));
    match beside {
        Some(beside) if !path.exists() && beside.exists() => beside,
        _ => path,
    }
}
