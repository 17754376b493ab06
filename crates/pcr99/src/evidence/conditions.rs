//! What the evidence must show for a registered answer.

use super::false_alarms::LARGEST_LOG10_NFA;
use pcr99_base::kernel::near::MOST_SCATTERED;

use crate::Doubt;

/// The evidence for a transform, from the matches that agree with it.
///
/// [`doubt`](Self::doubt) tests it against the conditions for a registered answer.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Evidence {
    /// log₁₀ of the number of false alarms: how often chance alone would produce such a consensus. At −3, it happens at most once in a
    /// thousand problems of wrong matches; at 0 or above, it is expected.
    pub log10_nfa: f64,
    /// Number of inliers, counted once per place.
    ///
    /// Inliers are counted to see that they are not a single patch, which one wrong patch of neighbouring matches would explain. Targets closer than `3δ`
    /// are at one place. This distance is at least 10 % of the longest half-axis of the targets, or of the moved
    /// sources where those are smaller, and at most 20 % of the longest half-axis of the targets. Counting stops at
    /// [`Evidence::MOST_COUNTED`]; from more than twice as many inliers, an even sample is counted. Where neighbouring matches are correlated over a quarter
    /// of this distance or more, the independent inliers are given instead.
    pub inlier_places: usize,
    /// Standard deviation of the rotation about the axis that the inliers determine least, in degrees; at most 180. It is that of the covariance where
    /// [`with_covariance`](crate::Registration::with_covariance) added one, and else the simpler estimate by which the status is decided.
    pub rotation_deviation_deg: f64,
    /// Independent inliers beyond chance of the strongest [rival](crate::Rival), divided by those of this transform, between 0 and 1; 0 when there is no
    /// rival, or when none was searched for.
    pub rival_evidence_ratio: f64,
}

/// Number of places from which inliers are scattered enough, whatever their number.
const ENOUGH_PLACES: usize = 11;
/// Number of places from which the way of counting does not matter.
pub(super) const CLEARLY_ENOUGH: usize = 2 * ENOUGH_PLACES;
/// Smallest radius of a patch, in thresholds.
pub(super) const SMALLEST_PATCH: f64 = 1.5;
/// Places per inlier above which fewer places are enough: the inliers are few, but not duplicates of each other.
const SCATTERED_SHARE: f64 = 0.5;
/// Smallest number of places. A transform can be made to fit any three.
const FEWEST_PLACES: usize = 4;
/// Largest standard deviation of the rotation of a registered answer, in degrees.
const LARGEST_ROTATION_DEVIATION: f64 = 2.5;

impl Evidence {
    /// Largest value of [`inlier_places`](Self::inlier_places): counting stops here, because the conditions need no more.
    pub const MOST_COUNTED: usize = MOST_SCATTERED;

    /// Largest share of the evidence that a rival of a registered answer may have.
    pub const LARGEST_RIVAL_RATIO: f64 = 0.6;

    /// Evidence from its four numbers; see the fields.
    pub const fn new(
        log10_nfa: f64,
        inlier_places: usize,
        rotation_deviation_deg: f64,
        rival_evidence_ratio: f64,
    ) -> Self {
        Self { log10_nfa, inlier_places, rotation_deviation_deg, rival_evidence_ratio }
    }

    /// Whether chance alone does not explain the consensus.
    pub(crate) fn exceeds_chance(&self) -> bool {
        self.log10_nfa <= LARGEST_LOG10_NFA
    }

    /// Whether the consensus may be that of another motion: neither chance nor a single patch explains it. Another doubt, such as a few places, does not
    /// matter.
    pub(crate) fn may_rival(&self) -> bool {
        self.exceeds_chance() && self.has_places()
    }

    /// Whether the inliers are at more places than any transform can be made to fit.
    pub(crate) fn has_places(&self) -> bool {
        self.inlier_places >= FEWEST_PLACES
    }

    /// The doubt about a consensus with this number of `inliers`, or `None` when the evidence confirms it.
    ///
    /// The conditions are tested in this order: chance, inliers at few places, an undetermined rotation, a rival.
    pub fn doubt(&self, inliers: usize) -> Option<Doubt> {
        let few_but_scattered = self.inlier_places >= FEWEST_PLACES
            && self.inlier_places as f64 > SCATTERED_SHARE * inliers as f64;
        if !self.exceeds_chance() {
            Some(Doubt::Chance { log10_nfa: self.log10_nfa })
        } else if self.inlier_places < ENOUGH_PLACES && !few_but_scattered {
            Some(Doubt::FewPlaces { places: self.inlier_places })
        } else if self.rotation_deviation_deg > LARGEST_ROTATION_DEVIATION {
            Some(Doubt::LooseRotation { deviation_deg: self.rotation_deviation_deg })
        } else if self.rival_evidence_ratio > Self::LARGEST_RIVAL_RATIO {
            Some(Doubt::Ambiguous { evidence_ratio: self.rival_evidence_ratio })
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conditions for a registered answer, one by one.
    #[test]
    fn the_first_condition_that_fails_is_the_doubt() {
        let doubt = |log10_nfa, places, inliers, deviation_deg| {
            Evidence::new(log10_nfa, places, deviation_deg, 0.3).doubt(inliers)
        };
        assert_eq!(doubt(-2.5, 9, 10, 1.0), None, "few, but scattered");
        assert_eq!(doubt(-300.0, 11, 500, 1.0), None, "at eleven places");
        assert_eq!(doubt(-300.0, 10, 500, 1.0), Some(Doubt::FewPlaces { places: 10 }));
        assert_eq!(doubt(-1.5, 10, 10, 1.0), Some(Doubt::Chance { log10_nfa: -1.5 }));
        assert_eq!(doubt(-20.0, 3, 3, 1.0), Some(Doubt::FewPlaces { places: 3 }));
        assert_eq!(doubt(-20.0, 6, 12, 1.0), Some(Doubt::FewPlaces { places: 6 }), "each of them twice");
        assert_eq!(doubt(-20.0, 20, 20, 3.0), Some(Doubt::LooseRotation { deviation_deg: 3.0 }));
        let rivalled = Evidence::new(-20.0, 20, 1.0, 0.8);
        assert_eq!(rivalled.doubt(20), Some(Doubt::Ambiguous { evidence_ratio: 0.8 }));
    }
}
