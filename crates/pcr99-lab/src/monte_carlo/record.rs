use serde::{Deserialize, Serialize};

use super::{ScaleMode, Size};

/// Result of one run: a line of `records.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the method, or `true-inliers`.
    pub method: String,
    /// Whether the method knew the scale.
    pub scale: ScaleMode,
    /// Number of matches.
    pub points: usize,
    /// Outlier ratio.
    pub outlier_ratio: f64,
    /// Number of the run, counted from 0.
    pub run: u64,
    /// Seed of the problem, as for `pcr99 simulate`.
    pub seed: u64,
    /// Rotation error in degrees; all errors are `None` without a transform.
    pub rotation_deg: Option<f64>,
    /// Translation error, in target units.
    pub translation: Option<f64>,
    /// Scale error, absolute.
    pub scale_error: Option<f64>,
    /// Outcome.
    pub status: Outcome,
    /// Number of inliers found.
    pub inliers: usize,
    /// log₁₀ of the number of false alarms.
    pub log10_nfa: Option<f64>,
    /// Why the search stopped; `None` for the reference, which does not search.
    pub stopped_because: Option<String>,
    /// CPU time in seconds, from [where the clock starts](super::TimedFrom) to the verdict; `None` where parallel runs make it unknown.
    pub cpu_seconds: Option<f64>,
    /// Wall-clock time in seconds, of the same.
    pub wall_seconds: f64,
    /// Error message of a failed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The answer is reliable.
    Registered,
    /// There is a transform, but it is not reliable.
    NotReliable,
    /// There is no transform.
    NoSolution,
    /// The method ended with an error, for instance too little memory.
    Failed,
}

impl From<pcr99::Status> for Outcome {
    fn from(status: pcr99::Status) -> Self {
        match status {
            pcr99::Status::Registered => Self::Registered,
            pcr99::Status::NotReliable => Self::NotReliable,
            pcr99::Status::NoSolution => Self::NoSolution,
        }
    }
}

impl Record {
    /// Key of the record.
    pub fn key(&self) -> Key {
        Key::new(&self.method, self.scale, self.size(), self.run)
    }

    /// Number of matches and outlier ratio.
    pub fn size(&self) -> Size {
        Size { points: self.points, outlier_ratio: self.outlier_ratio }
    }

    /// CPU time in seconds, or wall-clock time where none was measured.
    pub fn seconds(&self) -> f64 {
        self.cpu_seconds.unwrap_or(self.wall_seconds)
    }
}

/// Unique key of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    estimator: String,
    scale: ScaleMode,
    points: usize,
    ratio_bits: u64,
    run: u64,
}

impl Key {
    pub(super) fn new(estimator: &str, scale: ScaleMode, size: Size, run: u64) -> Self {
        // Adding zero makes a negative zero positive.
        let ratio_bits = (size.outlier_ratio + 0.0).to_bits();
        Self { estimator: estimator.to_owned(), scale, points: size.points, ratio_bits, run }
    }

    pub(super) fn estimator(&self) -> &str {
        &self.estimator
    }

    pub(super) fn scale(&self) -> ScaleMode {
        self.scale
    }

    pub(super) fn size(&self) -> Size {
        Size { points: self.points, outlier_ratio: f64::from_bits(self.ratio_bits) }
    }

    pub(super) fn run(&self) -> u64 {
        self.run
    }
}
