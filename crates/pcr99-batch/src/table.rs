//! Records as lines of the files at the end.

use serde_json::{Map, Value};

use crate::{csv, record::Record};

/// Columns of `results.csv`, and where in a document they are.
const COLUMNS: [(&str, &[&str]); 22] = [
    ("pair_id", &["pair_id"]),
    ("source", &["source"]),
    ("target", &["target"]),
    ("pairs", &["pairs"]),
    ("method", &["method"]),
    ("status", &["status"]),
    ("doubt", &["doubt"]),
    ("error", &["error"]),
    ("scale", &["scale"]),
    ("correspondences", &["correspondences"]),
    ("inliers", &["inliers"]),
    ("threshold", &["threshold"]),
    ("inlier_rmse", &["inlier_rmse"]),
    ("log10_nfa", &["evidence", "log10_nfa"]),
    ("inlier_places", &["evidence", "inlier_places"]),
    ("fitness", &["fitness"]),
    ("overlap_source", &["overlap", "source"]),
    ("overlap_target", &["overlap", "target"]),
    ("normal_agreement", &["normal_agreement"]),
    ("rmse", &["rmse"]),
    ("voxel", &["voxel"]),
    ("stopped_because", &["stopped_because"]),
];

/// The first three rows of the transform come last, row by row.
const MATRIX: [&str; 12] =
    ["m00", "m01", "m02", "m03", "m10", "m11", "m12", "m13", "m20", "m21", "m22", "m23"];

pub(crate) const TIMES_HEADER: &str = "pair_id,seconds,stages\n";

pub(crate) fn header() -> String {
    csv::line(COLUMNS.iter().map(|(name, _)| *name).chain(MATRIX))
}

/// The line of `results.csv`.
pub(crate) fn line(record: &Record) -> String {
    let mut cells: Vec<String> = COLUMNS.iter().map(|(_, path)| cell(&record.result, path)).collect();
    let matrix = record.result.get("transform").and_then(Value::as_array);
    for place in 0..MATRIX.len() {
        let number = matrix.and_then(|rows| rows.get(place / 4)?.get(place % 4));
        cells.push(number.map_or(String::new(), Value::to_string));
    }
    csv::line(cells.iter().map(String::as_str))
}

/// The line of `results.jsonl`.
pub(crate) fn document_line(record: &Record) -> String {
    // An object of texts and numbers: it always succeeds.
    serde_json::to_string(&record.result).unwrap_or_default() + "\n"
}

/// The line of `times.csv`: seconds in all, and in each stage as JSON.
pub(crate) fn times_line(record: &Record) -> String {
    let total = record.seconds.get("total").map_or(String::new(), Value::to_string);
    let stages: Map<String, Value> = record
        .seconds
        .iter()
        .filter(|(stage, _)| *stage != "total")
        .map(|(s, v)| (s.clone(), v.clone()))
        .collect();
    csv::line([&*record.row.pair_id, &total, &Value::Object(stages).to_string()])
}

/// A value of a document: texts and numbers as they are, of lists the length.
fn cell(result: &Map<String, Value>, path: &[&str]) -> String {
    let first = path.first().and_then(|name| result.get(*name));
    let value = path.iter().skip(1).fold(first, |value, name| value?.get(name));
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) => list.len().to_string(),
        Some(value) => value.to_string(),
    }
}
