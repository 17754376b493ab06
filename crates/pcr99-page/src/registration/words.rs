//! The verdict in plain words.

use pcr99::{Doubt, Registration, Status};
use pcr99_cloud::register;

use crate::numbers::{percent, without_numbers};

/// A verdict: one word, and the rest of the sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) status: Status,
    /// After the word of the status and a colon.
    pub(crate) sentence: String,
    /// What to make of it, when it is not good.
    pub(crate) advice: Option<&'static str>,
}

impl Verdict {
    /// The word of the status.
    pub(crate) fn word(&self) -> &'static str {
        match self.status {
            Status::Registered => "Registered",
            Status::NotReliable => "Not reliable",
            Status::NoSolution => "No solution",
        }
    }

    /// On a registration from matches.
    pub(crate) fn on_matches(found: &Registration) -> Self {
        let advice = found.doubt.map(|doubt| match doubt {
            Doubt::FewPlaces { .. } | Doubt::LooseRotation { .. } => SPREAD,
            Doubt::Ambiguous { .. } => RIVAL,
            Doubt::NoConsensus { .. } => NOTHING,
            Doubt::Stopped { .. } => STOPPED,
            _ => MORE,
        });
        Self { status: found.status, sentence: found.reason(), advice }
    }

    /// On a registration of two clouds for this reason; `overlap` is the share of the source that lies on the target.
    pub(crate) fn of_reason(status: Status, reason: &str, overlap: Option<f64>) -> Self {
        let sentence = match (status, overlap) {
            (Status::Registered, Some(overlap)) => {
                format!("{} of the source lies on the target; {reason}", percent(overlap))
            }
            _ => reason.to_owned(),
        };
        // A document has the reason only in its own words.
        let is = |which: register::Doubt| without_numbers(&which.to_string()) == without_numbers(reason);
        let advice = if status == Status::Registered {
            None
        } else if is(register::Doubt::NoConsensus) {
            Some(NOTHING)
        } else if is(register::Doubt::Stopped) {
            Some(STOPPED)
        } else if is(register::Doubt::Ambiguous { score_ratio: 0.5 }) {
            Some(RIVAL)
        } else {
            Some("The views show the best guess, which is not to be trusted.")
        };
        Self { status, sentence, advice }
    }
}

const MORE: &str =
    "The views show the best guess. More matches, or better ones, would be needed to tell it from chance.";
const SPREAD: &str =
    "The views show the best guess. Matches farther apart would be needed to fix the transform.";
const RIVAL: &str =
    "Two answers are nearly as good, as where structure repeats: compare the candidates below.";
const NOTHING: &str = "There is nothing to show but the data. A wrong unit, a known scale that is not right, or clouds that do not \
                       overlap are the usual reasons.";
const STOPPED: &str = "A longer time limit may help.";

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::{Counters, StopReason};

    #[test]
    fn a_verdict_has_the_reason_and_the_advice_for_the_doubt() {
        let found = Registration::no_solution(1000, 0.05, StopReason::Exhausted, Counters::default());
        let verdict = Verdict::on_matches(&found);
        assert_eq!(
            (verdict.word(), verdict.sentence, verdict.advice),
            ("No solution", found.reason(), Some(NOTHING))
        );
        let stopped = Registration::no_solution(1000, 0.05, StopReason::TimeLimit, Counters::default());
        assert_eq!(Verdict::on_matches(&stopped).advice, Some(STOPPED));
    }
}
