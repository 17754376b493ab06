//! What became of a pair.

use std::path::Path;

use pcr99_cloud::document::{PROGRAM, SCHEMA};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    fingerprint::Fingerprint,
    row::Row,
    stamp::{Stamp, StampedFile},
};

/// What became of a pair, as it is kept in part files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Of the row.
    pub fingerprint: Fingerprint,
    /// The pair.
    pub row: Row,
    /// What its files were when it was run; `None` for one that was not there.
    #[serde(default)]
    pub files: Vec<Option<Stamp>>,
    /// Wall-clock seconds: `total`, and the stages of the search.
    pub seconds: Map<String, Value>,
    /// The line of `results.jsonl`: the same for the same row wherever and whenever it is run.
    pub result: Map<String, Value>,
    /// Of clouds the matches that were searched, from source to target. Only whoever runs the pair sees them: they are kept in no file.
    #[serde(skip)]
    pub matches: Option<Vec<[[f64; 3]; 2]>>,
}

/// What came of the work on a pair.
pub(crate) struct Solved {
    /// As in `pcr99_cloud::document`.
    pub(crate) document: Value,
    pub(crate) doubt: Option<&'static str>,
    /// Of clouds.
    pub(crate) matches: Option<Vec<[[f64; 3]; 2]>>,
}

impl Record {
    /// Of a pair with these files that took so many seconds, with reading.
    pub(crate) fn new(
        row: &Row,
        base: &Path,
        files: &[StampedFile],
        solved: Result<Solved, String>,
        total: f64,
    ) -> Self {
        let mut result = Map::new();
        let mut put = |name: &str, value: Value| {
            result.insert(name.to_owned(), value);
        };
        put("pair_id", Value::from(&*row.pair_id));
        for (column, path) in row.input.cells() {
            put(column, Value::from(path));
        }
        let mut seconds = Map::from_iter([("total".to_owned(), Value::from(total))]);
        let mut searched = None;
        match solved {
            Ok(Solved { document, doubt, matches }) => {
                searched = matches;
                let fields = match document {
                    Value::Object(fields) => fields,
                    _ => Map::new(),
                };
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("seconds", Value::Object(stages)) => {
                            seconds.extend(stages.into_iter().filter(|(stage, _)| stage != "total"));
                        }
                        ("status", value) => {
                            put("status", value);
                            put("doubt", Value::from(doubt));
                            put("error", Value::Null);
                        }
                        (name, value) => put(name, value),
                    }
                }
            }
            Err(error) => {
                put("schema", Value::from(SCHEMA));
                put("program", Value::from(PROGRAM));
                put("status", Value::from("failed"));
                put("doubt", Value::Null);
                put("error", Value::from(error));
            }
        }
        let files = files.iter().map(|file| file.stamp).collect();
        Self {
            fingerprint: row.fingerprint(base),
            row: row.clone(),
            files,
            seconds,
            result,
            matches: searched,
        }
    }

    /// Of a pair that could not be run, for instance because whoever ran it was killed each time.
    pub fn failed(row: &Row, base: &Path, error: &str) -> Self {
        Self::new(row, base, &row.files(base), Err(error.to_owned()), 0.0)
    }

    /// About how many values it holds: inliers are by far the most of them.
    pub(crate) fn values(&self) -> usize {
        const OTHERS: usize = 256;
        OTHERS + self.result.get("inliers").and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// `registered`, `not_reliable`, `no_solution` or `failed`.
    pub fn status(&self) -> &str {
        self.result.get("status").and_then(Value::as_str).unwrap_or("failed")
    }
}
