//! The page of a result.

use std::path::PathBuf;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pcr99_cloud::{OutputFile, document::PROGRAM};
use pcr99_document::Document;
use pcr99_page::{RegistrationPage, RegistrationView};
use pyo3::prelude::*;
use serde_json::Value;

use crate::{
    arrays::{index_pairs, rows},
    error::Failure,
    work::{self, Interrupted},
};

/// What is written around a view.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Labels {
    title: Option<String>,
    source: String,
    target: String,
    /// What makes the page.
    call: Option<String>,
}

/// Points, and which of them match.
struct Points {
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    indices: Option<Vec<[usize; 2]>>,
    matches: Option<Vec<[[f64; 3]; 2]>>,
}

impl Points {
    fn view(&self, document: &Document) -> Result<RegistrationView, Failure> {
        let of = |source: &[[f64; 3]], target: &[[f64; 3]]| {
            RegistrationView::of_document(document, source, target, self.matches.as_deref())
                .map_err(|error| Failure::Value(error.to_string()))
        };
        let Some(indices) = &self.indices else { return of(&self.source, &self.target) };
        let side = |which: usize, points: &[[f64; 3]]| -> Result<Vec<[f64; 3]>, Failure> {
            let point = |pair: &[usize; 2]| points.get(pair[which]).copied();
            let all: Option<Vec<[f64; 3]>> = indices.iter().map(point).collect();
            all.ok_or_else(|| {
                Failure::Value("the points have changed since: indices are beyond their end".to_owned())
            })
        };
        let view = of(&side(0, &self.source)?, &side(1, &self.target)?)?;
        Ok(view.with_clouds(&self.source, &self.target))
    }
}

/// Writes the page of a result, whole or not at all: of its document, its inliers, and the points that it was made from.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by the package only")]
pub(crate) fn save_page(
    py: Python<'_>,
    path: PathBuf,
    document: &str,
    inliers: PyReadonlyArray1<'_, i64>,
    source: PyReadonlyArray2<'_, f64>,
    target: PyReadonlyArray2<'_, f64>,
    indices: Option<PyReadonlyArray2<'_, i64>>,
    matches: Option<PyReadonlyArray2<'_, f64>>,
    labels: Labels,
) -> PyResult<()> {
    let mut document: Value = serde_json::from_str(document)
        .map_err(|error| Failure::Internal(format!("a document: {error}")).raised(py))?;
    document["inliers"] = inliers.as_slice()?.iter().copied().map(Value::from).collect();
    let document = Document::from_value(document)
        .map_err(|error| Failure::Internal(format!("a document: {error}")).raised(py))?;
    let indices = indices.map(|indices| index_pairs(&indices)).transpose()?;
    let indices = indices.transpose().map_err(|failure| failure.raised(py))?;
    let matches: Option<Vec<[f64; 6]>> = matches.map(|matches| rows(&matches)).transpose()?;
    let pair = |[a, b, c, d, e, f]: [f64; 6]| [[a, b, c], [d, e, f]];
    let matches = matches.map(|matches| matches.into_iter().map(pair).collect());
    let points = Points { source: rows(&source)?, target: rows(&target)?, indices, matches };
    work::run_until(py, None, Interrupted::Wait, move |_| {
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
