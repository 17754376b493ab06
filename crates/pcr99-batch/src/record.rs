//! The result of a pair, as it is kept in part files.

use std::path::Path;

use pcr99_document::{Document, PairResult, Seconds};
use serde::{Deserialize, Serialize};

use crate::{
    fingerprint::Fingerprint,
    row::Row,
    stamp::{Stamp, StampedFile},
};

/// The result of a pair, with what is needed to resume a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Fingerprint of the row.
    pub fingerprint: Fingerprint,
    /// Row of the manifest.
    pub row: Row,
    /// State of its files when the pair was run; `None` for a file that did not exist.
    #[serde(default)]
    pub files: Vec<Option<Stamp>>,
    /// Wall-clock seconds, including the reading of files.
    pub seconds: Seconds,
    /// Line of `results.jsonl`. It is the same for the same row, wherever and whenever the pair is run.
    pub result: PairResult,
    /// Matches of clouds, from source to target. They are in memory only: part files do not keep them.
    #[serde(skip)]
    pub matches: Option<Vec<[[f64; 3]; 2]>>,
}

/// Outcome of the work on a pair.
pub(crate) struct Solved {
    pub(crate) document: Document,
    /// Matches of clouds.
    pub(crate) matches: Option<Vec<[[f64; 3]; 2]>>,
}

impl Record {
    /// The record of a pair; `total` is its wall-clock time in seconds, including the reading of `files`.
    pub(crate) fn new(
        row: &Row,
        base: &Path,
        files: &[StampedFile],
        solved: Result<Solved, String>,
        total: f64,
    ) -> Self {
        let inputs = row.input.to_document();
        let (seconds, result, matches) = match solved {
            Ok(Solved { document, matches }) => {
                let seconds = document.seconds().cloned().unwrap_or_default();
                (seconds, PairResult::ran(&row.pair_id, inputs, document), matches)
            }
            Err(error) => (Seconds::default(), PairResult::failed(&row.pair_id, inputs, &error), None),
        };
        Self {
            fingerprint: row.fingerprint(base),
            row: row.clone(),
            files: files.iter().map(|file| file.stamp).collect(),
            seconds: seconds.with_total(total),
            result,
            matches,
        }
    }

    /// The record of a pair that could not be run, for instance because its worker was killed each time.
    pub fn failed(row: &Row, base: &Path, error: &str) -> Self {
        Self::new(row, base, &row.files(base), Err(error.to_owned()), 0.0)
    }

    /// Approximate number of values in the record. Inliers are by far the most of them.
    pub(crate) fn values(&self) -> usize {
        /// Values of a record without its inliers: matrices, candidates, counters.
        const OTHERS: usize = 256;
        OTHERS + self.result.document().map_or(0, |document| document.inliers().len())
    }

    /// Whether the pair could not be run.
    pub fn is_failed(&self) -> bool {
        self.result.error().is_some()
    }
}
