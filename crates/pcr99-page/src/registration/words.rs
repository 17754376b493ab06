//! The verdict in plain words.

use pcr99::{Doubt, Registration, Status, StopReason};
use pcr99_cloud::register;

use crate::numbers::{grouped, one_in, percent, without_numbers};

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

    /// On a registration from `matches` matches.
    pub(crate) fn on_matches(matches: usize, found: &Registration) -> Self {
        let agree = found.inliers.len();
        let start = format!("{} of {} matches agree", grouped(agree), grouped(matches));
        let (sentence, advice) = match (found.status, found.evidence) {
            (Status::Registered, Some(evidence)) => {
                let times = one_in(-evidence.log10_nfa);
                (format!("{start}; chance alone would give this once in {times} such problems"), None)
            }
            (Status::Registered, None) => (start, None),
            (Status::NotReliable, Some(evidence)) => match evidence.doubt(agree) {
                Some(Doubt::Chance) if evidence.log10_nfa >= 0.0 => {
                    (format!("{start}, no more than by chance"), Some(MORE))
                }
                Some(Doubt::Chance) => {
                    let times = one_in(-evidence.log10_nfa);
                    let often = if times == "1" { "every".to_owned() } else { format!("one in {times}") };
                    (
                        format!("{start}, as chance alone would give in about {often} such problems"),
                        Some(MORE),
                    )
                }
                Some(Doubt::FewPlaces) => {
                    let place = match evidence.effective_inliers {
                        1 => "one place".to_owned(),
                        places => format!("{places} distinct places"),
                    };
                    (format!("{start}, but only at {place}, which one repeated patch explains"), Some(SPREAD))
                }
                Some(Doubt::LooseRotation) => (
                    format!(
                        "{start}, but leave the rotation about one axis open by {:.0}° or more",
                        evidence.rotation_deviation_deg
                    ),
                    Some(SPREAD),
                ),
                Some(Doubt::Rival) => (
                    format!(
                        "{start}, but another transform has {} of their evidence",
                        percent(evidence.rival)
                    ),
                    Some(RIVAL),
                ),
                None => (format!("{start}, but they do not fix a transform"), Some(MORE)),
            },
            (Status::NotReliable, None) => (start, Some(MORE)),
            (Status::NoSolution, _) if found.stopped_because == StopReason::Exhausted => {
                let all = grouped(matches);
                (format!("no consistent matches were found among the {all}"), Some(NOTHING))
            }
            (Status::NoSolution, _) => {
                let all = grouped(matches);
                (format!("stopped before consistent matches were found among the {all}"), Some(STOPPED))
            }
        };
        Self { status: found.status, sentence, advice }
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
    use pcr99::{Counters, Evidence, Similarity};

    fn found(status: Status, inliers: usize, evidence: Option<Evidence>) -> Registration {
        let nothing = Registration::nothing(0.05, StopReason::Exhausted, Counters::default());
        let model = Similarity::from_quaternion(1.0, [1.0, 0.0, 0.0, 0.0], [0.0; 3]);
        let target_from_source = (status != Status::NoSolution).then_some(model);
        Registration { status, inliers: (0..inliers).collect(), evidence, target_from_source, ..nothing }
    }

    fn evidence(log10_nfa: f64, effective_inliers: usize) -> Evidence {
        Evidence { log10_nfa, effective_inliers, rotation_deviation_deg: 1.0, rival: 0.1 }
    }

    fn sentence(status: Status, inliers: usize, evidence: Option<Evidence>) -> String {
        let verdict = Verdict::on_matches(1000, &found(status, inliers, evidence));
        format!("{}: {}", verdict.word(), verdict.sentence)
    }

    #[test]
    fn every_outcome_has_a_sentence() {
        let registered = sentence(Status::Registered, 10, Some(evidence(-9.2, 10)));
        assert_eq!(
            registered,
            "Registered: 10 of 1000 matches agree; chance alone would give this once in 10⁹ such problems"
        );
        let not = |inliers, evidence| sentence(Status::NotReliable, inliers, Some(evidence));
        assert_eq!(not(5, evidence(2.0, 5)), "Not reliable: 5 of 1000 matches agree, no more than by chance");
        let chance = not(5, evidence(-0.5, 5));
        assert!(chance.ends_with("as chance alone would give in about one in 3 such problems"), "{chance}");
        let patch = not(40, evidence(-20.0, 2));
        assert!(
            patch.ends_with("but only at 2 distinct places, which one repeated patch explains"),
            "{patch}"
        );
        let loose = not(40, Evidence { rotation_deviation_deg: 12.3, ..evidence(-20.0, 40) });
        assert!(loose.ends_with("leave the rotation about one axis open by 12° or more"), "{loose}");
        let rival = not(40, Evidence { rival: 0.93, ..evidence(-20.0, 40) });
        assert!(rival.ends_with("but another transform has 93 % of their evidence"), "{rival}");
        let nothing = sentence(Status::NoSolution, 0, None);
        assert_eq!(nothing, "No solution: no consistent matches were found among the 1000");
    }
}
