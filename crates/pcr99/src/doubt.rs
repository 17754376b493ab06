//! The reasons why an answer is not registered.

use std::fmt;

use crate::{Evidence, StopReason};

/// Why an answer is not [registered](crate::Status::Registered), with the decisive numbers.
///
/// [`code`](Self::code) is the stable name for programs. The [`Display`](fmt::Display) form is the sentence for people.
///
/// ```
/// let doubt = pcr99::Doubt::FewPlaces { places: 2 };
/// assert_eq!(doubt.code(), "few_places");
/// assert!(doubt.to_string().starts_with("the inliers lie at only 2 distinct places"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "code", rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Doubt {
    /// Wrong matches alone could agree this well.
    Chance {
        /// log₁₀ of the number of false alarms.
        log10_nfa: f64,
    },
    /// The inliers are close to each other, so that one wrong patch of neighbouring matches explains them.
    FewPlaces {
        /// The inliers, counted once per place.
        places: usize,
    },
    /// The inliers do not determine the rotation about some axis.
    LooseRotation {
        /// Standard deviation of the rotation about that axis, in degrees; 180 when the inliers are collinear.
        deviation_deg: f64,
    },
    /// Another transform, the [rival](crate::Rival), has nearly as much evidence.
    Ambiguous {
        /// Evidence of the rival divided by that of the answer, between 0 and 1.
        evidence_ratio: f64,
    },
    /// A mirrored transform explains clearly more matches: one side has another handedness.
    Mirrored {
        /// Number of matches that the mirrored transform explains.
        inliers: usize,
    },
    /// The search ended before it looked for another transform with as much evidence.
    Unfinished {
        /// [`StopReason::TimeLimit`], [`StopReason::Interrupted`], or [`StopReason::HypothesisLimit`] and [`StopReason::Exhausted`] where the limits on pairs
        /// or memory left too many matches out.
        because: StopReason,
    },
    /// The search ended without finding consistent matches.
    NoConsensus {
        /// Number of matches that were searched.
        correspondences: usize,
    },
    /// The caller ended the search before it found consistent matches.
    Stopped {
        /// Number of matches that were searched.
        correspondences: usize,
        /// [`StopReason::TimeLimit`] or [`StopReason::Interrupted`].
        because: StopReason,
    },
}

impl Doubt {
    /// All codes, in the order of the variants.
    pub const CODES: [&'static str; 8] = [
        "chance",
        "few_places",
        "loose_rotation",
        "ambiguous",
        "mirrored",
        "unfinished",
        "no_consensus",
        "stopped",
    ];

    /// The stable name for programs and documents, one of [`CODES`](Self::CODES).
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Chance { .. } => "chance",
            Self::FewPlaces { .. } => "few_places",
            Self::LooseRotation { .. } => "loose_rotation",
            Self::Ambiguous { .. } => "ambiguous",
            Self::Mirrored { .. } => "mirrored",
            Self::Unfinished { .. } => "unfinished",
            Self::NoConsensus { .. } => "no_consensus",
            Self::Stopped { .. } => "stopped",
        }
    }

    /// The doubt about a search that found no transform.
    pub(crate) const fn without_transform(correspondences: usize, because: StopReason) -> Self {
        match because {
            StopReason::TimeLimit | StopReason::Interrupted => Self::Stopped { correspondences, because },
            _ => Self::NoConsensus { correspondences },
        }
    }

    /// Whether the sentence speaks of inliers, so that their number belongs before it.
    pub(crate) const fn is_about_inliers(&self) -> bool {
        !matches!(self, Self::NoConsensus { .. } | Self::Stopped { .. })
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Chance { log10_nfa } => {
                match one_in(-log10_nfa).as_str() {
                    "0" | "1" => f.write_str("as many are expected to agree by chance")?,
                    times => write!(f, "by chance this happens about once in {times} such problems")?,
                }
                f.write_str("; provide more or better matches")
            }
            Self::FewPlaces { places } => {
                let place = if places == 1 { "place" } else { "distinct places" };
                write!(
                    f,
                    "the inliers lie at only {places} {place}, so that one wrong patch could explain them; \
                     provide matches that are farther apart"
                )
            }
            Self::LooseRotation { deviation_deg } if deviation_deg >= 180.0 => f.write_str(
                "the inliers are collinear, so the rotation about their line is undetermined; \
                 provide matches off the line",
            ),
            Self::LooseRotation { deviation_deg } => write!(
                f,
                "the inliers leave the rotation about one axis uncertain by {deviation_deg:.0}°; \
                 provide matches farther from that axis"
            ),
            Self::Ambiguous { evidence_ratio } => write!(
                f,
                "another transform has {:.0} % of the evidence for this one; compare the candidates",
                100.0 * evidence_ratio
            ),
            Self::Mirrored { inliers } => write!(
                f,
                "a mirrored transform explains {inliers} matches; check that both sides have the same handedness"
            ),
            Self::Unfinished { because } => {
                let (event, remedy) = match because {
                    StopReason::TimeLimit => ("the time limit ended the search", "; allow more time"),
                    StopReason::Interrupted => ("the search was interrupted", ""),
                    _ => ("the search ended", "; allow more effort or memory"),
                };
                write!(f, "{event} before another transform with as much evidence was ruled out{remedy}")
            }
            Self::NoConsensus { correspondences } => write!(
                f,
                "no consistent matches were found among the {correspondences}; \
                 check the units, the scale and the threshold"
            ),
            Self::Stopped { correspondences, because } => {
                let (event, remedy) = match because {
                    StopReason::TimeLimit => ("the time limit ended the search", "; allow more time"),
                    _ => ("the search was interrupted", ""),
                };
                write!(f, "{event} before consistent matches were found among the {correspondences}{remedy}")
            }
        }
    }
}

/// The sentence of a registered answer: how many matches agree, and how rarely chance alone would do the same.
pub(crate) fn registered(inliers: usize, correspondences: usize, evidence: Option<&Evidence>) -> String {
    let agree = format!("{inliers} of {correspondences} matches agree");
    match evidence {
        Some(evidence) => {
            let times = one_in(-evidence.log10_nfa);
            format!("{agree}; by chance this happens less than once in {times} such problems")
        }
        None => agree,
    }
}

/// `10^power` rounded down to one digit: written out below a million, as a power of ten above.
fn one_in(power: f64) -> String {
    if power < 6.0 {
        let unit = 10_f64.powf(power.floor());
        format!("{:.0}", unit * (10_f64.powf(power) / unit).floor())
    } else {
        format!("10^{:.0}", power.floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_doubt_has_its_code_and_its_numbers_in_the_sentence() {
        let doubts = [
            (Doubt::Chance { log10_nfa: -0.5 }, "about once in 3 such"),
            (Doubt::FewPlaces { places: 1 }, "only 1 place,"),
            (Doubt::LooseRotation { deviation_deg: 12.3 }, "uncertain by 12°"),
            (Doubt::Ambiguous { evidence_ratio: 0.934 }, "has 93 % of"),
            (Doubt::Mirrored { inliers: 57 }, "explains 57 matches"),
            (Doubt::Unfinished { because: StopReason::TimeLimit }, "ruled out; allow more time"),
            (Doubt::NoConsensus { correspondences: 1000 }, "among the 1000;"),
            (Doubt::Stopped { correspondences: 50, because: StopReason::TimeLimit }, "among the 50; allow"),
        ];
        assert_eq!(doubts.map(|(doubt, _)| doubt.code()), Doubt::CODES);
        for (doubt, part) in doubts {
            assert!(doubt.to_string().contains(part), "{doubt}");
        }
        let expected = Doubt::Chance { log10_nfa: 2.0 }.to_string();
        assert!(expected.starts_with("as many are expected to agree by chance"), "{expected}");
        let line = Doubt::LooseRotation { deviation_deg: 180.0 }.to_string();
        assert!(line.starts_with("the inliers are collinear"), "{line}");
    }

    #[test]
    fn odds_are_rounded_down() {
        for (power, text) in
            [(0.0, "1"), (1.0, "10"), (0.5, "3"), (5.7, "500000"), (6.0, "10^6"), (9.9, "10^9")]
        {
            assert_eq!(one_in(power), text);
        }
        assert_eq!(one_in(f64::INFINITY), "10^inf");
    }
}
