//! `pcr99 page`: a page from a saved document.

use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

use anyhow::{Context, Result};
use pcr99_cloud::{read_indices, read_matches, read_points};
use pcr99_document::{Document, Inputs, Kind};
use pcr99_page::RegistrationView;

use crate::{
    Outcome,
    args::{Args, Page},
    page::{self, PageFile},
    say,
};

pub(super) fn run(options: &Page, args: &Args) -> Result<Outcome> {
    let file = PageFile::new(Some(&options.output), &[])?.context("no file for the page")?;
    let (name, text) = read(&options.document)?;
    let document = Document::from_json(&text).with_context(|| name.clone())?;
    let view = match points(&document) {
        Ok(points) => points.view(&document).with_context(|| name.clone())?,
        Err(error) => {
            if !args.quiet {
                say(&format!("note: the page shows numbers only: {error:#}"));
            }
            RegistrationView::without_points(&document)
        }
    };
    file.write(args, [titled(view, &document)])?;
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

/// Points of a document's input files.
struct Points {
    /// Source and target cloud, or the two sides of the matches.
    sides: [Vec<[f64; 3]>; 2],
    /// Whole clouds, where `sides` are matches between some of their points.
    clouds: Option<[Vec<[f64; 3]>; 2]>,
}

impl Points {
    fn view(&self, document: &Document) -> Result<RegistrationView> {
        let [source, target] = &self.sides;
        let view = RegistrationView::of_document(document, source, target, None)?;
        Ok(match &self.clouds {
            Some([source, target]) => view.with_clouds(source, target),
            None => view,
        })
    }
}

/// Reads the files that the document names.
fn points(document: &Document) -> Result<Points> {
    let inputs = document.inputs().context("the document names no input files")?;
    let file = |path: &Option<String>| path.clone().context("the document does not name all input files");
    if document.kind() == Kind::Clouds {
        let [source, target] = [file(&inputs.source)?, file(&inputs.target)?];
        return Ok(Points {
            sides: [read_points(source.as_ref())?, read_points(target.as_ref())?],
            clouds: None,
        });
    }
    let pairs = file(&inputs.pairs)?;
    if pairs == "-" {
        anyhow::bail!("the matches came from standard input");
    }
    let Inputs { source: Some(source), target: Some(target), .. } = inputs else {
        let read = read_matches(pairs.as_ref())?;
        return Ok(Points { sides: [read.source, read.target], clouds: None });
    };
    let clouds = [read_points(source.as_ref())?, read_points(target.as_ref())?];
    let indices = read_indices(pairs.as_ref())?;
    let side = |side: usize| -> Option<Vec<[f64; 3]>> {
        indices.iter().map(|pair| clouds[side].get(pair[side]).copied()).collect()
    };
    let sides = side(0).zip(side(1)).context("the index pairs do not fit the clouds")?;
    Ok(Points { sides: sides.into(), clouds: Some(clouds) })
}

/// Names the files on the page.
fn titled(view: RegistrationView, document: &Document) -> RegistrationView {
    let name = |path: &str| page::name(Path::new(path));
    match document.inputs() {
        Some(Inputs { source: Some(source), target: Some(target), .. }) => {
            view.with_names(&name(source), &name(target))
        }
        Some(Inputs { pairs: Some(pairs), .. }) if pairs == "-" => view.with_title("standard input"),
        Some(Inputs { pairs: Some(pairs), .. }) => view.with_title(&name(pairs)),
        _ => view,
    }
}
