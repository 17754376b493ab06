use serde::{Deserialize, Serialize};

use super::{ScaleMode, Size};

/// What came out of one run: a line of `records.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the method, or `true-inliers`.
    pub method: String,
    /// Whether the scale was told.
    pub scale: ScaleMode,
    /// Number of matches.
    pub points: usize,
    /// Share of wrong ones.
    pub outlier_ratio: f64,
    /// Which run, from 0.
    pub run: u64,
    /// Seed of the problem, as for `pcr99 simulate`.
    pub seed: u64,
    /// Angle between the rotation found and the true one, in degrees; as the other errors, `None` without a transform.
    pub rotation_deg: Option<f64>,
    /// Distance of the translations, in target units.
    pub translation: Option<f64>,
    /// Difference of the scales.
    pub scale_error: Option<f64>,
    /// What it came to.
    pub status: Outcome,
    /// How many matches agree.
    pub inliers: usize,
    /// log₁₀ of the number of false alarms.
    pub log10_nfa: Option<f64>,
    /// Why the search ended; `None` for a plain fit.
    pub stopped_because: Option<String>,
    /// CPU time; `None` where it cannot be told from that of other runs side by side.
    pub cpu_seconds: Option<f64>,
    /// Wall-clock time.
    pub wall_seconds: f64,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Registered, with evidence.
    Registered,
    /// A transform, not to be trusted.
    NotReliable,
    /// No transform.
    NoSolution,
    /// The method could not run at all, for instance for want of memory.
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
    /// What it is known by.
    pub fn key(&self) -> Key {
        Key::new(&self.method, self.scale, self.size(), self.run)
    }

    /// How large and how hard the problem was.
    pub fn size(&self) -> Size {
        Size { points: self.points, outlier_ratio: self.outlier_ratio }
    }

    /// CPU time, or wall-clock time where there is none.
    pub fn seconds(&self) -> f64 {
        self.cpu_seconds.unwrap_or(self.wall_seconds)
    }
}

/// What a record is known by: there is one of each.
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
