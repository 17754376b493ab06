//! What comes back from a search.

use std::time::Instant;

use crate::{Evidence, Similarity, stop::StopRequest};

/// How far the answer can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Enough matches agree.
    Registered,
    /// A transform was found, but too few matches agree for it to be trusted.
    NotReliable,
    /// No transform was found at all.
    NoSolution,
}

impl Status {
    /// The word used in documents: `registered`, `not_reliable`, `no_solution`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::NotReliable => "not_reliable",
            Self::NoSolution => "no_solution",
        }
    }
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The required number of inliers was reached.
    EnoughInliers,
    /// A larger consensus would have been found, but for the accepted probability.
    Confident,
    /// There was nothing left to try.
    Exhausted,
    /// The limit on hypotheses was reached.
    HypothesisLimit,
    /// The caller's time was up.
    TimeLimit,
    /// The caller asked to stop.
    Interrupted,
}

impl StopReason {
    /// The word used in documents, for instance `enough_inliers`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EnoughInliers => "enough_inliers",
            Self::Confident => "confident",
            Self::Exhausted => "exhausted",
            Self::HypothesisLimit => "hypothesis_limit",
            Self::TimeLimit => "time_limit",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<StopRequest> for StopReason {
    fn from(request: StopRequest) -> Self {
        match request {
            StopRequest::TimeLimit => Self::TimeLimit,
            StopRequest::Interrupted => Self::Interrupted,
        }
    }
}

/// How much was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Pairs of matches examined.
    pub pairs: u64,
    /// Triplets of matches looked at.
    pub triplets: u64,
    /// Transforms computed from a triplet and tested on all matches.
    pub hypotheses: u64,
}

/// Wall-clock seconds, stage by stage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seconds {
    /// From call to return.
    pub total: f64,
    /// Each stage with its name, in the order they ran.
    pub stages: Vec<(&'static str, f64)>,
}

/// Wall-clock time of one stage after the other.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    lap: Instant,
    stages: Vec<(&'static str, f64)>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self { start: now, lap: now, stages: Vec::with_capacity(3) }
    }

    /// Ends a stage.
    pub(crate) fn lap(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.stages.push((stage, now.duration_since(self.lap).as_secs_f64()));
        self.lap = now;
    }

    pub(crate) fn stop(self) -> Seconds {
        Seconds { total: self.start.elapsed().as_secs_f64(), stages: self.stages }
    }
}

/// One of several transforms that the matches support.
#[derive(Debug, Clone, PartialEq)]
pub struct Alternative {
    /// The transform from source to target.
    pub target_from_source: Similarity,
    /// How many matches it explains.
    pub inlier_count: usize,
    /// log₁₀ of its number of false alarms.
    pub log10_nfa: f64,
}

/// The outcome of a search: always the best found, with how far it can be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// How far the answer can be trusted.
    pub status: Status,
    /// The transform from source to target; `None` exactly when the status is [`Status::NoSolution`].
    pub target_from_source: Option<Similarity>,
    /// The matches that agree, from 0, ascending.
    pub inliers: Vec<usize>,
    /// The inlier threshold `δ_in` used, in target units.
    pub threshold: f64,
    /// Root mean square residual of `inliers` under the transform, in target units; `None` without inliers.
    pub inlier_rmse: Option<f64>,
    /// What the consensus is worth; `None` without a transform.
    pub evidence: Option<Evidence>,
    /// Distinct transforms that matches support, best first; the first is the answer. Best is most evidence, each patch of
    /// neighbouring inliers counted once.
    pub candidates: Vec<Alternative>,
    /// Why the search ended.
    pub stopped_because: StopReason,
    /// How much was tried.
    pub counters: Counters,
    /// Where the time went.
    pub seconds: Seconds,
}

impl Registration {
    /// Nothing was found.
    pub fn nothing(threshold: f64, stopped_because: StopReason, counters: Counters) -> Self {
        Self {
            status: Status::NoSolution,
            target_from_source: None,
            inliers: Vec::new(),
            threshold,
            inlier_rmse: None,
            evidence: None,
            candidates: Vec::new(),
            stopped_because,
            counters,
            seconds: Seconds::default(),
        }
    }

    /// Whether the answer can be trusted.
    pub fn is_registered(&self) -> bool {
        self.status == Status::Registered
    }
}
