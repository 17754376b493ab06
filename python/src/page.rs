//! The page of a result.

use std::path::PathBuf;

use numpy::PyReadonlyArray2;
use pcr99_cloud::OutputFile;
use pcr99_document::{Document as ResultDocument, PROGRAM};
use pcr99_page::{RegistrationPage, RegistrationView};
use pyo3::prelude::*;

use crate::{
    arrays::{index_pairs, rows},
    document::Document,
    error::Failure,
    work,
};

/// Texts of a page.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Labels {
    title: Option<String>,
    source: String,
    target: String,
    /// Python call that makes the page.
    call: Option<String>,
}

/// Points of a registration and their matches.
struct Points {
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    indices: Option<Vec<[usize; 2]>>,
    matches: Option<Vec<[[f64; 3]; 2]>>,
}

impl Points {
    fn view(&self, document: &ResultDocument) -> Result<RegistrationView, Failure> {
        let of = |source: &[[f64; 3]], target: &[[f64; 3]]| {
            RegistrationView::of_document(document, source, target, self.matches.as_deref())
                .map_err(|error| Failure::Value(error.to_string()))
        };
        let Some(indices) = &self.indices else { return of(&self.source, &self.target) };
        let view = of(&side(indices, 0, &self.source)?, &side(indices, 1, &self.target)?)?;
        Ok(view.with_clouds(&self.source, &self.target))
    }
}

/// Points on one side of index pairs.
fn side(indices: &[[usize; 2]], which: usize, points: &[[f64; 3]]) -> Result<Vec<[f64; 3]>, Failure> {
    let point = |pair: &[usize; 2]| points.get(pair[which]).copied();
    let all: Option<Vec<[f64; 3]>> = indices.iter().map(point).collect();
    all.ok_or_else(|| {
        Failure::Value("the points have changed since: an index is beyond their end".to_owned())
    })
}

/// Writes the page of a result, completely or not at all, with the points that the result was made from.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called only by the package")]
pub(crate) fn save_page(
    py: Python<'_>,
    path: PathBuf,
    document: Bound<'_, Document>,
    source: PyReadonlyArray2<'_, f64>,
    target: PyReadonlyArray2<'_, f64>,
    indices: Option<PyReadonlyArray2<'_, i64>>,
    matches: Option<PyReadonlyArray2<'_, f64>>,
    labels: Labels,
) -> PyResult<()> {
    let document = document.get().0.clone();
    let indices = indices.map(|indices| index_pairs(&indices)).transpose()?;
    let indices = indices.transpose().map_err(|failure| failure.raised(py))?;
    let matches: Option<Vec<[f64; 6]>> = matches.map(|matches| rows(&matches)).transpose()?;
    let pair = |[a, b, c, d, e, f]: [f64; 6]| [[a, b, c], [d, e, f]];
    let matches = matches.map(|matches| matches.into_iter().map(pair).collect());
    let points = Points { source: rows(&source)?, target: rows(&target)?, indices, matches };
    work::run_to_end(py, move |_| {
        let file = OutputFile::new(&path).map_err(Failure::file(&path))?;
        let mut view = points.view(&document)?.with_names(&labels.source, &labels.target);
        if let Some(title) = &labels.title {
            view = view.with_title(title);
        }
        let mut page = RegistrationPage::new(PROGRAM).with_view(view);
        if let Some(call) = &labels.call {
            page = page.with_command(call);
        }
        let html = page.to_html();
        file.write(|out| out.write_all(html.as_bytes())).map_err(Failure::file(&path))
    })
}
