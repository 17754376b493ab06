//! The result of a search.

use std::{fmt, str::FromStr};

use crate::{
    Correspondences, Covariance, Doubt, Error, Evidence, Scale, Seconds, Similarity, covariance, doubt,
    stop::StopRequest,
};

/// How far an answer is confirmed by the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Status {
    /// The evidence confirms the transform.
    Registered,
    /// A transform was found, but the evidence does not confirm it; see [`Registration::doubt`].
    NotReliable,
    /// No transform was found.
    NoSolution,
}

impl Status {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Registered, Self::NotReliable, Self::NoSolution];

    /// The word used in documents: `registered`, `not_reliable`, `no_solution`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::NotReliable => "not_reliable",
            Self::NoSolution => "no_solution",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The inverse of [`Status::as_str`].
impl FromStr for Status {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == word);
        found.ok_or_else(|| Error::UnknownWord { kind: "status", word: word.to_owned() })
    }
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StopReason {
    /// The required number of inliers was reached (published method).
    EnoughInliers,
    /// The probability that a larger consensus was missed is at most
    /// [`miss_probability`](crate::Params::with_miss_probability).
    Confident,
    /// Everything was tried.
    Exhausted,
    /// The limit on hypotheses, or on pairs tried, was reached.
    HypothesisLimit,
    /// The caller's time limit was reached.
    TimeLimit,
    /// The caller interrupted the search.
    Interrupted,
}

impl StopReason {
    /// All values.
    pub const ALL: [Self; 6] = [
        Self::EnoughInliers,
        Self::Confident,
        Self::Exhausted,
        Self::HypothesisLimit,
        Self::TimeLimit,
        Self::Interrupted,
    ];

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

    /// Whether the caller ended the search, by a time limit or an interruption.
    pub const fn is_request(self) -> bool {
        matches!(self, Self::TimeLimit | Self::Interrupted)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The inverse of [`StopReason::as_str`].
impl FromStr for StopReason {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|reason| reason.as_str() == word);
        found.ok_or_else(|| Error::UnknownWord { kind: "stop reason", word: word.to_owned() })
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

/// Amount of work done by a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Counters {
    /// Pairs of matches examined.
    pub pairs: u64,
    /// Triplets of matches examined.
    pub triplets: u64,
    /// Transforms computed from a sample and tested on all matches.
    pub hypotheses: u64,
}

/// A transform that might be the answer, with the evidence for it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Candidate {
    /// The transform from source to target.
    pub target_from_source: Similarity,
    /// Number of matches within the threshold.
    pub inlier_count: usize,
    /// Evidence for this transform. Its `rival_evidence_ratio` is 0 for all candidates but the answer.
    pub evidence: Evidence,
}

impl Candidate {
    /// A candidate with its number of inliers and its evidence.
    pub const fn new(target_from_source: Similarity, inlier_count: usize, evidence: Evidence) -> Self {
        Self { target_from_source, inlier_count, evidence }
    }
}

/// Another transform that explains nearly as much as the answer.
///
/// A rival is a candidate that would be registered on its own and moves most inliers of the answer by more than 1.5 thresholds, or a nearer motion
/// that part of the consensus follows. The strongest one is named.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Rival {
    /// The transform from source to target.
    pub target_from_source: Similarity,
    /// Number of matches within the threshold.
    pub inlier_count: usize,
    /// Evidence for this transform.
    pub evidence: Evidence,
    /// Its evidence divided by that of the answer, between 0 and 1: independent inliers beyond chance of both, or the sizes of both groups where they
    /// share a consensus.
    pub evidence_ratio: f64,
}

impl Rival {
    /// A candidate as the rival of an answer, with the ratio of its evidence to that of the answer.
    pub const fn new(candidate: &Candidate, evidence_ratio: f64) -> Self {
        let Candidate { target_from_source, inlier_count, evidence } = *candidate;
        Self { target_from_source, inlier_count, evidence, evidence_ratio }
    }
}

/// The result of a search: the best transform found, and how far the evidence confirms it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Registration {
    /// How far the evidence confirms the transform.
    pub status: Status,
    /// Why the answer is not registered; `None` exactly when it is.
    pub doubt: Option<Doubt>,
    /// The transform from source to target; `None` exactly when the status is [`Status::NoSolution`].
    pub target_from_source: Option<Similarity>,
    /// Number of matches that were searched.
    pub correspondences: usize,
    /// Indices of the matches within the threshold, counted from 0, ascending.
    pub inliers: Vec<usize>,
    /// The inlier threshold `δ` that was used, in target units; that of a match of median noise where matches
    /// [differ](crate::Correspondences::with_standard_deviations).
    pub threshold: f64,
    /// Root mean square residual of the inliers under the transform, in target units; `None` without inliers.
    pub inlier_rmse: Option<f64>,
    /// How accurate the transform is; `None` unless [`with_covariance`](Self::with_covariance) added it.
    pub covariance: Option<Covariance>,
    /// Evidence for the transform; `None` without a transform.
    pub evidence: Option<Evidence>,
    /// Distinct transforms that matches support, best first; the first is the answer. Those that would be registered on their own come first, then
    /// those with more independent inliers beyond chance.
    pub candidates: Vec<Candidate>,
    /// The strongest candidate that contradicts the answer; always given when the doubt is [`Doubt::Ambiguous`].
    pub rival: Option<Rival>,
    /// Why the search ended.
    pub stopped_because: StopReason,
    /// Amount of work done.
    pub counters: Counters,
    /// Wall-clock time from checked matches to the verdict. The time before that can be [added](Seconds::preceded_by), as the program and the Python package do.
    pub seconds: Seconds,
}

impl Registration {
    /// Result of a search that found no transform among this number of `correspondences`.
    pub fn no_solution(
        correspondences: usize,
        threshold: f64,
        stopped_because: StopReason,
        counters: Counters,
    ) -> Self {
        Self {
            status: Status::NoSolution,
            doubt: Some(Doubt::without_transform(correspondences, stopped_because)),
            target_from_source: None,
            correspondences,
            inliers: Vec::new(),
            threshold,
            inlier_rmse: None,
            covariance: None,
            evidence: None,
            candidates: Vec::new(),
            rival: None,
            stopped_because,
            counters,
            seconds: Seconds::default(),
        }
    }

    /// Adds the [covariance](covariance()) of the transform. `pairs` and `scale` are those of the search, which leaves it out because it takes longer than the
    /// search of an easy problem. `rotation_deviation_deg` of the evidence, which the search estimates more simply, is then that of the covariance.
    #[must_use]
    pub fn with_covariance(mut self, pairs: &Correspondences, scale: Scale) -> Self {
        self.covariance = covariance(pairs, &self, scale);
        if let (Some(covariance), Some(evidence)) = (&self.covariance, &mut self.evidence) {
            let (deviation, _) = covariance.loosest_rotation();
            evidence.rotation_deviation_deg = deviation.to_degrees().min(180.0);
        }
        self
    }

    /// Whether the evidence confirms the transform.
    pub fn is_registered(&self) -> bool {
        self.status == Status::Registered
    }

    /// One sentence for people that explains the status: how many matches agree, and what the doubt is.
    ///
    /// ```
    /// use pcr99::{Counters, Registration, StopReason};
    /// let nothing = Registration::no_solution(50, 0.1, StopReason::Interrupted, Counters::default());
    /// assert_eq!(nothing.reason(), "the search was interrupted before consistent matches were found among the 50");
    /// ```
    pub fn reason(&self) -> String {
        let (inliers, all) = (self.inliers.len(), self.correspondences);
        match &self.doubt {
            None => doubt::registered(inliers, all, self.evidence.as_ref()),
            Some(doubt) if doubt.is_about_inliers() => {
                format!("{inliers} of {all} matches agree, but {doubt}")
            }
            Some(doubt) => doubt.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        for reason in StopReason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(reason));
        }
        let unknown = "done".parse::<Status>().unwrap_err();
        assert_eq!(unknown.to_string(), "`done` is not a known status");
    }

    #[test]
    fn the_reason_names_who_agrees_and_what_is_doubted() {
        let mut found = Registration::no_solution(1000, 0.1, StopReason::Exhausted, Counters::default());
        assert_eq!(found.doubt.map(|doubt| doubt.code()), Some("no_consensus"));
        assert!(found.reason().starts_with("no consistent matches were found among the 1000"));
        found.inliers = (0..40).collect();
        found.doubt = Some(Doubt::Ambiguous { evidence_ratio: 0.93 });
        assert!(found.reason().starts_with("40 of 1000 matches agree, but another transform has 93 %"));
        (found.doubt, found.evidence) = (None, Some(Evidence::new(-9.2, 40, 0.1, 0.0)));
        assert_eq!(
            found.reason(),
            "40 of 1000 matches agree; by chance this happens less than once in 10^9 such problems"
        );
        let late = Registration::no_solution(10, 0.1, StopReason::TimeLimit, Counters::default());
        assert_eq!(late.doubt.map(|doubt| doubt.code()), Some("stopped"));
    }
}
