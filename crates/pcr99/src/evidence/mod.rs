//! The evidence for a consensus, and the conditions under which it confirms a transform.
//!
//! **Number of false alarms** (a-contrario statistics: Desolneux, Moisan and Morel; for RANSAC: Moisan, Moulon and Monasse). If all
//! matches were wrong, how many sets of `k` matches would be expected to fit one transform within `e`? Any transform can be made to fit
//! three matches, so
//!
//! `NFA(k) = (n − 3) · C(n, k) · α(e_k)^(k − 3)`,
//!
//! with `e_k` the k-th smallest residual and `α(e)` the probability that a wrong match is within `e`. The evidence is the minimum over all
//! `k` with `e_k ≤ δ`. It prefers tight sets and finds its own threshold below `δ`. Three matches are never evidence. Transforms through
//! three points would need a further factor `C(k, 3)` for the choice of the three; ours is the least-squares fit, one for each set.
//!
//! **The probability `α`** follows from the spread of the targets. With `a_1, a_2, a_3` the half-axes of the ellipsoid that they fill,
//! `α(e) = Π min(1, e/a_i)`. A ball of radius `ρ` gives `(e/ρ)³`; flat targets give the two-dimensional law. Where a transform moves the
//! sources to places with a higher density of targets, `α` grows accordingly: see `Background::crowding`.
//!
//! **Places.** On real data wrong matches are not independent: neighbouring points match the same wrong patch. Inliers closer to each
//! other than `Background::patch` count once.
//!
//! **Rotation.** Inliers near one line determine the rotation about it poorly, however many they are: see `rotation`.
//!
//! **Rivals.** Where structure repeats, several transforms explain many matches each, and the best of them may be wrong.

mod background;
mod false_alarms;
mod rotation;

pub(crate) use self::background::Background;

use self::{
    background::Crowd,
    false_alarms::{FalseAlarms, independent},
    rotation::rotation_deviation,
};
use pcr99_base::{
    Soa,
    kernel::{
        consensus::{Affine, squared_residual},
        near::{MOST_SCATTERED, Scattered, count_scattered},
        sums::sum,
    },
};

use crate::{Correspondences, Doubt, Similarity};

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
    /// Targets closer than `3δ` are at one place. This distance is at least 10 % of the longest half-axis of the targets, or of the moved
    /// sources where those are smaller, and at most 20 % of the longest half-axis of the targets. Counting stops at
    /// [`Evidence::MOST_COUNTED`]; from more than twice as many inliers, an even sample is counted.
    pub inlier_places: usize,
    /// Standard deviation of the rotation about the axis that the inliers determine least, in degrees; at most 180.
    pub rotation_deviation_deg: f64,
    /// Evidence for the strongest [rival](crate::Rival) divided by the evidence for this transform, between 0 and 1; 0 when there is no
    /// rival, or when none was searched for.
    pub rival_evidence_ratio: f64,
}

/// Largest `log10_nfa` of a registered answer: one false alarm in ten problems of wrong matches.
const LARGEST_LOG10_NFA: f64 = -1.0;
/// Number of places from which inliers are scattered enough, whatever their number.
const ENOUGH_PLACES: usize = 11;
/// Places per inlier above which fewer places are enough: the inliers are few, but not duplicates of each other.
const SCATTERED_SHARE: f64 = 0.5;
/// Smallest number of places. A transform can be made to fit any three.
const FEWEST_PLACES: usize = 4;
/// Largest standard deviation of the rotation of a registered answer, in degrees.
const LARGEST_ROTATION_DEVIATION: f64 = 2.5;
/// Largest share of the evidence that a rival of a registered answer may have.
const LARGEST_RIVAL_RATIO: f64 = 0.5;

impl Evidence {
    /// Largest value of [`inlier_places`](Self::inlier_places): counting stops here, because the conditions need no more.
    pub const MOST_COUNTED: usize = MOST_SCATTERED;

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

    /// The doubt about a consensus of so many `inliers`, or `None` when the evidence confirms it.
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
        } else if self.rival_evidence_ratio > LARGEST_RIVAL_RATIO {
            Some(Doubt::Ambiguous { evidence_ratio: self.rival_evidence_ratio })
        } else {
            None
        }
    }
}

/// A transform and its inliers, in normalised units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Consensus<'a> {
    pub(crate) points: &'a Soa,
    pub(crate) model: &'a Similarity,
    pub(crate) inliers: &'a [u32],
    /// Squared residuals of the inliers, at most `δ²`.
    pub(crate) residuals: &'a [f64],
    /// Sum of the squared residuals.
    pub(crate) sum: f64,
    /// The inlier threshold `δ`.
    pub(crate) delta: f64,
    /// Number of parameters of the transform that were fitted to the inliers.
    pub(crate) parameters: f64,
}

/// Number of parameters of a fitted transform: three of the rotation, three of the translation, and the scale unless it is known.
pub(crate) const fn fitted_parameters(known_scale: Option<f64>) -> f64 {
    if known_scale.is_some() { 6.0 } else { 7.0 }
}

/// The evidence for a consensus, as far as a search needs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighed {
    pub(crate) evidence: Evidence,
    /// Whether it exceeds chance against evenly spread wrong matches, before crowding is taken into account.
    pub(crate) stands_out: bool,
}

/// Computes evidence. Buffers are kept between calls.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    false_alarms: FalseAlarms,
    independent: Vec<f64>,
    scattered: Scattered,
}

/// Sample sizes for the crowding, in matches. A larger one follows only while the outcome depends on it.
const CROWD_SAMPLES: [usize; 3] = [16, 64, 256];

impl Judge {
    /// The evidence for a consensus; where chance explains it, only `log10_nfa` is computed. `penalty` is added to `log10_nfa`.
    pub(crate) fn weigh(
        &mut self,
        consensus: &Consensus<'_>,
        background: &Background,
        penalty: f64,
    ) -> Weighed {
        independent(consensus.points, consensus.inliers, consensus.residuals, &mut self.independent);
        let even = self.log10_nfa(consensus, background, &Crowd::default()) + penalty;
        let stands_out = even <= LARGEST_LOG10_NFA;
        let log10_nfa =
            if stands_out { self.log10_nfa_in_crowd(consensus, background, penalty, even) } else { even };
        let evidence = Evidence {
            log10_nfa,
            inlier_places: consensus.inliers.len(),
            rotation_deviation_deg: 0.0,
            rival_evidence_ratio: 0.0,
        };
        let exceeds_chance = evidence.exceeds_chance();
        let evidence = if exceeds_chance { self.complete(evidence, consensus, background) } else { evidence };
        Weighed { evidence, stands_out }
    }

    /// `log10_nfa` with crowding taken into account, as precisely as the outcome depends on it. `even` is the value without crowding.
    fn log10_nfa_in_crowd(
        &mut self,
        consensus: &Consensus<'_>,
        background: &Background,
        penalty: f64,
        even: f64,
    ) -> f64 {
        let mut log10_nfa = even;
        for sample in CROWD_SAMPLES {
            let model = Affine::from(consensus.model);
            let (crowd, most) = background.crowding(consensus.points, &model, consensus.delta, sample);
            log10_nfa = match crowd.is_even() {
                true => even,
                false => (self.log10_nfa(consensus, background, &crowd) + penalty).max(even),
            };
            // Each inlier but three contributes at most this factor.
            let at_worst = even + (consensus.inliers.len() as f64 - 3.0) * libm::log10(most);
            if log10_nfa > LARGEST_LOG10_NFA || at_worst <= LARGEST_LOG10_NFA {
                break;
            }
        }
        log10_nfa
    }

    /// Adds what [`weigh`](Self::weigh) leaves out where chance explains the consensus.
    pub(crate) fn complete(
        &mut self,
        evidence: Evidence,
        consensus: &Consensus<'_>,
        background: &Background,
    ) -> Evidence {
        let radius = background.patch(consensus.delta, consensus.model.scale());
        let inlier_places = self.count_places(consensus.points, consensus.inliers, radius);
        let rotation_deviation_deg = rotation_deviation(consensus).to_degrees().min(180.0);
        Evidence { inlier_places, rotation_deviation_deg, ..evidence }
    }

    /// The complete evidence for a transform and its inliers. Inliers with a residual above `delta` are left out.
    pub(crate) fn evidence(
        &mut self,
        pairs: &Correspondences,
        model: &Similarity,
        inliers: &[u32],
        delta: f64,
        known_scale: Option<f64>,
    ) -> Evidence {
        let points = pairs.points();
        let affine = Affine::from(model);
        let with_residual = |&i: &u32| (i, squared_residual(points, &affine, i as usize));
        let (inliers, residuals): (Vec<u32>, Vec<f64>) =
            inliers.iter().map(with_residual).filter(|(_, sq)| *sq <= delta * delta).unzip();
        let consensus = Consensus {
            points,
            model,
            inliers: &inliers,
            residuals: &residuals,
            sum: sum(&residuals),
            delta,
            parameters: fitted_parameters(known_scale),
        };
        let background = Background::of(points, pairs.target_rounding());
        let evidence = self.weigh(&consensus, &background, 0.0).evidence;
        if evidence.exceeds_chance() { evidence } else { self.complete(evidence, &consensus, &background) }
    }

    /// `log10_nfa` of the residuals in `self.independent`.
    fn log10_nfa(&mut self, consensus: &Consensus<'_>, background: &Background, crowd: &Crowd) -> f64 {
        let (inliers, n, delta) = (&self.independent, consensus.points.len(), consensus.delta);
        self.false_alarms.log10_nfa(inliers, delta * delta, n, background, crowd)
    }

    /// Number of inliers, without those within `radius` of one already counted.
    fn count_places(&mut self, points: &Soa, inliers: &[u32], radius: f64) -> usize {
        let step = inliers.len().div_ceil(LARGEST_SAMPLE).max(1);
        count_scattered(&points.b, inliers, step, radius * radius, &mut self.scattered)
    }
}

/// Largest number of inliers considered when counting places. More are sampled evenly, which never counts too many.
const LARGEST_SAMPLE: usize = 2 * MOST_SCATTERED;

#[cfg(test)]
mod tests {
    use super::{background::tests::cloud, *};

    #[test]
    fn neighbours_count_once() {
        let mut points = cloud(300, 1.0, 5);
        for axis in 0..3 {
            let center = points.b[axis][0];
            points.b[axis][..100].fill(center);
        }
        let mut judge = Judge::default();
        assert_eq!(judge.count_places(&points, &(0..100).collect::<Vec<_>>(), 0.01), 1);
        assert_eq!(judge.count_places(&points, &(99..120).collect::<Vec<_>>(), 0.001), 21);
        assert_eq!(judge.count_places(&points, &(99..300).collect::<Vec<_>>(), 0.001), MOST_SCATTERED);
        // Every second of 220: fifty of the copies, which are one place, and sixty others.
        assert_eq!(judge.count_places(&points, &(0..220).collect::<Vec<_>>(), 0.001), 1 + 60);
    }

    /// The conditions for a registered answer, one by one.
    #[test]
    fn the_first_condition_that_fails_is_the_doubt() {
        let doubt = |log10_nfa, places, inliers, deviation_deg| {
            Evidence::new(log10_nfa, places, deviation_deg, 0.3).doubt(inliers)
        };
        assert_eq!(doubt(-1.5, 9, 10, 1.0), None, "few, but scattered");
        assert_eq!(doubt(-300.0, 11, 500, 1.0), None, "at eleven places");
        assert_eq!(doubt(-300.0, 10, 500, 1.0), Some(Doubt::FewPlaces { places: 10 }));
        assert_eq!(doubt(-0.5, 10, 10, 1.0), Some(Doubt::Chance { log10_nfa: -0.5 }));
        assert_eq!(doubt(-20.0, 3, 3, 1.0), Some(Doubt::FewPlaces { places: 3 }));
        assert_eq!(doubt(-20.0, 6, 12, 1.0), Some(Doubt::FewPlaces { places: 6 }), "each of them twice");
        assert_eq!(doubt(-20.0, 20, 20, 3.0), Some(Doubt::LooseRotation { deviation_deg: 3.0 }));
        let rivalled = Evidence::new(-20.0, 20, 1.0, 0.8);
        assert_eq!(rivalled.doubt(20), Some(Doubt::Ambiguous { evidence_ratio: 0.8 }));
    }
}
