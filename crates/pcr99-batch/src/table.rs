//! Records as lines of the result files.

use pcr99::Similarity;
use pcr99_document::{Document, PairResult, Seconds};
use serde_json::{Map, Value};

use crate::csv;

/// Name of a column, and its text in the row of a result.
type Column = (&'static str, fn(&PairResult) -> String);

/// Columns of `results.csv` with the value of each; an empty text where there is none.
const COLUMNS: [Column; 22] = [
    ("pair_id", |result| harmless(result.pair_id())),
    ("source", |result| text(result.inputs().source.as_deref())),
    ("target", |result| text(result.inputs().target.as_deref())),
    ("pairs", |result| text(result.inputs().pairs.as_deref())),
    ("method", |result| text(result.document().map(Document::method))),
    ("status", |result| result.status_word().to_owned()),
    ("doubt", |result| text(result.doubt().map(|doubt| doubt.as_str()))),
    ("reason", |result| text(result.document().map(Document::reason))),
    ("error", |result| text(result.error())),
    ("scale", |result| number(of(result, |d| d.target_from_source().map(|model| model.scale())))),
    ("correspondences", |result| count(result.document().map(Document::correspondences))),
    ("inliers", |result| count(result.document().map(|document| document.inliers().len()))),
    ("threshold", |result| number(of(result, Document::threshold))),
    ("inlier_rmse", |result| number(of(result, inlier_rmse))),
    ("log10_nfa", |result| number(of(result, |d| d.evidence().map(|evidence| evidence.log10_nfa)))),
    ("inlier_places", |result| {
        count(result.document().and_then(Document::evidence).map(|evidence| evidence.inlier_places))
    }),
    ("overlap_source", |result| number(of(result, |d| d.fit().map(|fit| fit.overlap_source)))),
    ("overlap_target", |result| number(of(result, |d| d.fit().map(|fit| fit.overlap_target)))),
    ("normal_agreement", |result| number(of(result, |d| d.fit().map(|fit| fit.normal_agreement)))),
    ("rmse", |result| number(of(result, rmse))),
    ("voxel", |result| number(of(result, voxel))),
    ("stopped_because", |result| {
        text(result.document().and_then(Document::stopped_because).map(|reason| reason.as_str()))
    }),
];

/// Columns of the first three rows of the transform. They come last, row by row.
const MATRIX: [&str; 12] =
    ["m00", "m01", "m02", "m03", "m10", "m11", "m12", "m13", "m20", "m21", "m22", "m23"];

/// First line of `times.csv`.
pub(crate) const TIMES_HEADER: &str = "pair_id,seconds,stages\n";

/// First line of `results.csv`.
pub(crate) fn header() -> String {
    csv::line(COLUMNS.iter().map(|(name, _)| *name).chain(MATRIX))
}

/// Line of `results.csv`.
pub(crate) fn line(result: &PairResult) -> String {
    let mut cells: Vec<String> = COLUMNS.iter().map(|(_, value)| value(result)).collect();
    let model = result.document().and_then(Document::target_from_source);
    let matrix = model.as_ref().map(Similarity::matrix);
    for place in 0..MATRIX.len() {
        cells.push(number(matrix.map(|rows| rows[place / 4][place % 4])));
    }
    csv::line(cells.iter().map(String::as_str))
}

/// Line of `times.csv`: seconds in total, and of each stage as JSON.
pub(crate) fn times_line(pair_id: &str, seconds: &Seconds) -> String {
    let stages: Map<String, Value> =
        seconds.stages().iter().map(|(stage, time)| (stage.clone(), Value::from(*time))).collect();
    csv::line([
        harmless(pair_id).as_str(),
        &number(Some(seconds.total())),
        &Value::Object(stages).to_string(),
    ])
}

/// A number of a pair that ran.
fn of(result: &PairResult, value: impl Fn(&Document) -> Option<f64>) -> Option<f64> {
    result.document().and_then(value)
}

fn inlier_rmse(document: &Document) -> Option<f64> {
    match document {
        Document::Matches(matches) => matches.inlier_rmse,
        Document::Clouds(_) => None,
    }
}

fn rmse(document: &Document) -> Option<f64> {
    match document {
        Document::Matches(_) => None,
        Document::Clouds(clouds) => clouds.rmse,
    }
}

fn voxel(document: &Document) -> Option<f64> {
    match document {
        Document::Matches(_) => None,
        Document::Clouds(clouds) => Some(clouds.voxel),
    }
}

fn text(value: Option<&str>) -> String {
    value.map_or(String::new(), harmless)
}

/// A text that no spreadsheet takes for a formula: one that begins like a formula and is not a number gets an apostrophe before it, which
/// spreadsheets do not show. `results.jsonl` has the text as it is.
fn harmless(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

fn count(value: Option<usize>) -> String {
    value.map_or(String::new(), |count| count.to_string())
}

/// A number with the digits of the documents; −∞ is an empty cell.
fn number(value: Option<f64>) -> String {
    value.and_then(serde_json::Number::from_f64).map_or(String::new(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        for (text, cell) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("@SUM(1)", "'@SUM(1)"),
            ("+1+1", "'+1+1"),
            ("-a.ply", "'-a.ply"),
            ("\t=1", "'\t=1"),
            ("-5", "-5"),
            ("+1.5e3", "+1.5e3"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(harmless(text), cell);
        }
        assert_eq!(times_line("=1+1", &Seconds::default()), "'=1+1,0.0,{}\n");
    }
}
