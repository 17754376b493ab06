//! What the search tells a listener, see [`pcr99_base::logging`].

use pcr99_base::{
    debug,
    text::{counted, shown},
};

use super::{
    Problem,
    candidate::{Best, Candidate},
    progress::Progress,
};
use crate::StopReason;

impl Problem<'_> {
    /// A length in normalised units, in those of the targets.
    fn length(&self, length: f64) -> String {
        shown(length * self.unit)
    }

    /// Tells that a threshold is tried, as a fraction of the `extent` of the targets.
    pub(super) fn tell_rung(&self, rung: f64, extent: f64) {
        let fraction = shown(rung);
        debug!(
            "no threshold is given: tries {}, {fraction} of the extent of the targets",
            self.length(rung * extent)
        );
    }

    /// Tells which threshold the residuals of the best candidate suggest.
    pub(super) fn tell_settled(&self, best: &Candidate) {
        debug!(
            "the residuals of the best consensus suggest the threshold {}: {}",
            self.length(best.delta),
            best.line()
        );
    }

    /// Tells that most inliers agree far more closely.
    pub(super) fn tell_tighter(&self, tighter: &Candidate) {
        debug!(
            "most of its inliers agree far more closely; the threshold becomes {}: {}",
            self.length(tighter.delta),
            tighter.line()
        );
    }

    /// Tells whether a last search is needed.
    pub(super) fn tell_last(&self, is_shown: bool) {
        match is_shown {
            true => debug!("the search with the larger threshold has shown that nothing was missed"),
            false => debug!(
                "one more search with the threshold {} makes sure that nothing is missed",
                self.length(self.model.delta)
            ),
        }
    }

    /// Tells that the inliers follow two motions.
    pub(super) fn tell_split(&self, rival: &Candidate, ratio: f64) {
        debug!(
            "the inliers follow two motions; the second has {:.0} % of the matches of the first: {}",
            100.0 * ratio,
            rival.line()
        );
    }
}

impl Progress {
    /// Tells what stars have found; `ended` is why they end the search, if they do.
    pub(super) fn tell_stars(&self, ended: Option<StopReason>) {
        let next = if ended.is_some() { "" } else { "; rounds over subsets follow" };
        debug!("stars (one match against a block of others): {}{next}", self.found.best.line());
    }

    /// Tells what a round over a subset of `size` of the `n` matches has found.
    pub(super) fn tell_round(&self, size: usize, n: usize) {
        let size = if size == n { "all".to_owned() } else { format!("{size} of") };
        debug!("round over {size} {n} matches: {}", self.found.best.line());
    }

    /// Tells why a search with one threshold ended.
    pub(super) fn tell_end(&self, problem: &Problem<'_>, reason: StopReason) {
        let counters = &self.found.counters;
        debug!(
            "search with threshold {} ended after {} and {}: {}",
            problem.length(problem.model.delta),
            counted(counters.pairs, "pair", "pairs"),
            counted(counters.hypotheses, "hypothesis", "hypotheses"),
            sentence(reason)
        );
    }
}

impl Best {
    /// The best candidate in words.
    fn line(&self) -> String {
        self.first().map_or_else(|| "no consensus yet".to_owned(), Candidate::line)
    }
}

impl Candidate {
    /// Inliers, evidence, and whether chance explains them.
    fn line(&self) -> String {
        let chance = if self.exceeds_chance() { "" } else { ", which chance explains" };
        let inliers = counted(self.inliers.len() as u64, "inlier", "inliers");
        format!("{inliers}, {}{chance}", self.evidence.false_alarms())
    }
}

/// Why a search ended.
fn sentence(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EnoughInliers => "enough matches agree",
        StopReason::Confident => "a larger consensus, or a rival, would have been found",
        StopReason::Exhausted => "all pairs were examined",
        StopReason::HypothesisLimit => "the limit on pairs or memory left the rest out",
        StopReason::TimeLimit => "the time limit was reached",
        StopReason::Interrupted => "it was interrupted",
    }
}
