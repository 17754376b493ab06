//! The evidence for a consensus, and the conditions under which it confirms a transform.
//!
//! **Number of false alarms** (a-contrario statistics: Desolneux, Moisan and Morel; for RANSAC: Moisan, Moulon and Monasse). If all
//! matches were wrong, how many sets of `k` matches would be expected to fit one transform within `e`? Any transform can be made to fit
//! three matches, so
//!
//! `NFA(k) = k(k − 1)/3 · C(n, k) · α(e_k)^(k − 3)`,
//!
//! with `e_k` the residual of the k-th independent inlier and `α(e)` the probability that a wrong match is within `e`. The first factor pays for
//! trying every `k`: its inverses sum to one over all `k` from four on. The evidence is the minimum over all `k` with `e_k ≤ δ`. It finds its own
//! threshold below `δ`. Transforms through three points would need a further factor `C(k, 3)` for the choice of the three; ours is the
//! least-squares fit, one for each set.
//!
//! With a known vertical, three wrong matches rarely fit. The formula then has a further factor, `p(e_k)·α(e_k)`: the probability `p` that two wrong matches agree on a
//! turn about the vertical and a translation, and that a third one agrees with it. A tilt makes both larger.
//!
//! | what | module |
//! |---|---|
//! | the formula, and the number of inliers that chance explains | `false_alarms` |
//! | the probability `α`, counted where the transform moves the sources | `chance` |
//! | the probability that two wrong matches agree, where the vertical is known | `pair` |
//! | its lower bound: an even spread in the ellipsoid of the targets | `background` |
//! | how the matches differ in noise | `noise` |
//! | how far neighbouring wrong matches are wrong in the same way | `correlation` |
//! | inliers counted once per place of that size | `places` |
//! | inliers in one patch, or in a small part of the scene | `clumps` |
//! | numbers of an interval, found without a search | `slabs` |
//! | how well the inliers determine the rotation | `rotation` |
//! | the conditions for a registered answer | `conditions` |
//!
//! **Order.** Candidates are ordered by their *surplus*: the independent inliers beyond the number that chance explains. It is positive exactly where
//! chance does not explain the candidate.

mod background;
mod chance;
mod clumps;
mod conditions;
mod correlation;
mod false_alarms;
mod noise;
mod pair;
mod places;
mod rotation;
mod slabs;

pub use self::conditions::Evidence;
pub(crate) use self::{background::Background, false_alarms::log_choose};

use self::{
    chance::{Chance, Counter},
    clumps::{is_small_part, outside_densest_patch},
    conditions::{CLEARLY_ENOUGH, SMALLEST_PATCH},
    correlation::correlation_length,
    false_alarms::{FalseAlarms, LARGEST_LOG10_NFA, Weight, log_nfa, needed},
    rotation::rotation_deviation,
};
use pcr99_base::{
    Soa,
    kernel::{
        consensus::{Affine, squared_residual},
        near::{MOST_SCATTERED, Scattered, count_scattered},
        sums::sum,
    },
    upright::Tilt,
};

use crate::{Correspondences, Scale, Similarity};

/// Smallest number of independent inliers among `n` matches that chance may leave unexplained, with residuals of about half the threshold `delta`.
pub(crate) fn fewest_inliers(n: usize, delta: f64, background: &Background) -> usize {
    let (chance, log_radius) = (Chance::even(background), libm::log(0.5 * delta));
    needed(n, chance.log_at(log_radius), chance.log_minimal_at(log_radius), 0.0)
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
    /// How far the third axis may tilt, where it is the known vertical.
    pub(crate) tilt: Option<Tilt>,
}

/// Number of parameters of a fitted transform: three of the rotation, three of the translation, and the scale unless it is known. A vertical that is kept exactly leaves
/// one of the rotation.
pub(crate) fn fitted_parameters(known_scale: Option<f64>, tilt: Option<Tilt>) -> f64 {
    let all = if known_scale.is_some() { 6.0 } else { 7.0 };
    if tilt.is_some_and(|tilt| tilt.is_none()) { all - 2.0 } else { all }
}

/// The evidence for a consensus, as far as a search needs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighed {
    pub(crate) evidence: Evidence,
    /// Independent inliers beyond the number that chance explains: the measure by which candidates are ordered.
    pub(crate) surplus: f64,
    /// Whether it exceeds chance against evenly spread wrong matches that are all independent.
    pub(crate) stands_out: bool,
    /// Independent inliers, where wrong matches would not agree as often with this one transform if it were given; else zero.
    pub(crate) beyond_transform: usize,
}

/// Which matches a consensus is judged among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A random subset. Matches count as independent: a subset only has to show where to look.
    Subset,
    /// All matches. Neighbours count once.
    All,
}

/// Computes evidence. Buffers are kept between calls.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    false_alarms: FalseAlarms,
    counter: Counter,
    scattered: Scattered,
    /// Distance in the target below which inliers are at one place; `None` while no outcome depended on it.
    place_radius: Option<f64>,
    /// Whether the caller gave the correlation length.
    is_given: bool,
    /// `log10_nfa` of the candidate without which the correlation was measured.
    measured_without: f64,
    /// Index of the largest sample of targets that was needed so far.
    stage: usize,
    /// Chance of each of the candidates that are compared.
    compared: Vec<Chance>,
}

/// Radius of a place, relative to the correlation length.
const PLACE_RADIUS: f64 = 0.5;
/// Radius of a place where the correlation cannot be measured, relative to the extent of what is moved.
const ASSUMED_PLACE_RADIUS: f64 = 0.1;

/// Radius of a place where inliers are clumped, relative to the extent of what is moved.
const PATCH_RADIUS: f64 = 0.05;
/// Share of the places of as many matches below which inliers are clumped. Those of a scene that overlaps by a third have about 0.85.
const CLUMPED: f64 = 0.7;

/// Radius of a place, relative to that of a patch, from which places are counted with the correlation that was measured.
const PART_OF_PATCH: f64 = 0.25;

/// Largest expected number (log₁₀) of agreements with one transform from which they are not chance. A search looks at some hundreds of transforms.
const LARGEST_LOG10_AT_TRANSFORM: f64 = -4.0;

impl Judge {
    /// Forgets what was measured on earlier matches. `correlation_length`, in the target, is measured where it is not given.
    pub(crate) fn begin(&mut self, correlation_length: Option<f64>) {
        self.counter.begin();
        self.compared.clear();
        self.stage = 0;
        self.is_given = correlation_length.is_some();
        self.place_radius = correlation_length.map(|length| PLACE_RADIUS * length);
        // What the caller says is not measured again.
        self.measured_without = if correlation_length.is_some() { f64::NEG_INFINITY } else { 0.0 };
    }

    /// Measures the correlation once and for all, among the matches that follow none of the candidates that are to be compared.
    pub(crate) fn settle_correlation(
        &mut self,
        points: &Soa,
        models: &[&Similarity],
        background: &Background,
    ) {
        if self.measured_without > f64::NEG_INFINITY && self.place_radius != Some(0.0) {
            self.measured_without = f64::NEG_INFINITY;
            self.measure_correlation(points, models, background);
        }
    }

    /// Counts chance where each of the candidates moves the sources. They are ordered by the largest count: a transform that moves the sources away from the
    /// targets has less chance, but its inliers are worth no more.
    pub(crate) fn settle_chance(
        &mut self,
        points: &Soa,
        models: &[&Similarity],
        background: &Background,
        delta: f64,
    ) {
        let stage = self.stage;
        let count = |model: &&Similarity| {
            self.counter.count(points, &Affine::from(*model), background, delta, stage, true).0
        };
        self.compared = models.iter().map(count).collect();
    }

    /// Measures the correlation among the matches that follow none of `models`.
    fn measure_correlation(&mut self, points: &Soa, models: &[&Similarity], background: &Background) {
        let scale = models.first().map_or(1.0, |model| model.scale());
        let extent = background.common_extent(scale);
        // A wrong candidate may have any scale, but neighbours are as far apart as the extents say.
        let length = correlation_length(points, models, extent, scale.max(background.ratio_of_extents()));
        let assumed = ASSUMED_PLACE_RADIUS * extent;
        self.place_radius = Some(length.map_or(assumed, |length| PLACE_RADIUS * length));
    }

    /// The evidence for a consensus; where chance explains it, only `log10_nfa` is computed. `penalty` is added to `log10_nfa`.
    pub(crate) fn weigh(
        &mut self,
        consensus: &Consensus<'_>,
        background: &Background,
        penalty: f64,
        scope: Scope,
    ) -> Weighed {
        let n = consensus.points.len();
        self.false_alarms.sort(consensus, 0.0, background.finest());
        let chance = Chance::even(background);
        let even = self.false_alarms.weigh(n, &chance, penalty);
        let stands_out = even.log10_nfa <= LARGEST_LOG10_NFA;
        let (weight, chance) = match (stands_out, scope) {
            (false, _) => (even, chance),
            (true, Scope::Subset) => {
                let (weight, chance, _) = self.weigh_in_crowd(consensus, background, penalty, scope);
                (weight, chance)
            }
            (true, Scope::All) => self.weigh_by_place(consensus, background, penalty, even.log10_nfa),
        };
        let surplus = match scope {
            Scope::Subset => weight.places as f64,
            Scope::All => {
                let chance = self.compared.iter().fold(chance, |chance, other| chance.larger(other));
                self.false_alarms.surplus(n, &weight, &chance, penalty)
            }
        };
        let evidence = Evidence {
            log10_nfa: weight.log10_nfa,
            inlier_places: weight.places,
            rotation_deviation_deg: 0.0,
            rival_evidence_ratio: 0.0,
        };
        let exceeds_chance = evidence.exceeds_chance();
        let evidence = if exceeds_chance { self.complete(evidence, consensus, background) } else { evidence };
        let is_beyond = stands_out && weight.log10_at_transform <= LARGEST_LOG10_AT_TRANSFORM;
        let beyond_transform = if is_beyond { weight.places } else { 0 };
        Weighed { evidence, surplus, stands_out, beyond_transform }
    }

    /// The threshold at which the number of false alarms of a consensus is smallest; `None` when no threshold holds four independent inliers.
    pub(crate) fn core_radius(&mut self, consensus: &Consensus<'_>, background: &Background) -> Option<f64> {
        self.false_alarms.sort(consensus, self.place_radius.unwrap_or(0.0), background.finest());
        let model = Affine::from(consensus.model);
        let (chance, _) = self.counter.count(
            consensus.points,
            &model,
            background,
            consensus.delta,
            chance::CORE_STAGE,
            true,
        );
        let weight = self.false_alarms.weigh(consensus.points.len(), &chance, 0.0);
        (weight.radius > 0.0).then_some(weight.radius)
    }

    /// The weight of a consensus among all matches, with neighbours counted once. The correlation is measured when the outcome depends on it, and again
    /// without a candidate that stands out more: `even` is `log10_nfa` among independent matches.
    fn weigh_by_place(
        &mut self,
        consensus: &Consensus<'_>,
        background: &Background,
        penalty: f64,
        even: f64,
    ) -> (Weight, Chance) {
        // Matches without correlation have none when some of them are left out.
        if self.place_radius.is_some_and(|radius| radius > 0.0) && even < self.measured_without {
            self.measured_without = even;
            self.measure_correlation(consensus.points, &[consensus.model], background);
        }
        if self.place_radius.is_none() {
            let (weight, chance, most) = self.weigh_in_crowd(consensus, background, penalty, Scope::All);
            let chance_explains = weight.log10_nfa > LARGEST_LOG10_NFA;
            if chance_explains || self.is_sure(consensus, background, penalty, most) {
                return (weight, chance);
            }
            self.measured_without = even;
            self.measure_correlation(consensus.points, &[consensus.model], background);
        }
        let assumed = ASSUMED_PLACE_RADIUS * background.common_extent(consensus.model.scale());
        let measured = self.place_radius.unwrap_or(0.0);
        // The correlation was measured among the other matches, which do not show a patch that this transform explains.
        let radius = if measured < assumed && !self.is_given && self.is_clumped(consensus, assumed) {
            measured.max(PATCH_RADIUS / ASSUMED_PLACE_RADIUS * assumed)
        } else {
            measured
        };
        let outside = if self.is_given { None } else { outside_densest_patch(consensus, assumed) };
        let (inliers, residuals) = outside.unwrap_or_default();
        let reduced = Consensus { inliers: &inliers, residuals: &residuals, ..*consensus };
        let consensus = if inliers.is_empty() { consensus } else { &reduced };
        self.false_alarms.sort(consensus, radius, background.finest());
        let (weight, chance, _) = self.weigh_in_crowd(consensus, background, penalty, Scope::All);
        (weight, chance)
    }

    /// Whether the inliers lie at clearly fewer places of this `radius` than as many of all matches do.
    fn is_clumped(&mut self, consensus: &Consensus<'_>, radius: f64) -> bool {
        let n = consensus.points.len();
        let all: Vec<u32> = chance::evenly(n, consensus.inliers.len().min(n)).map(|i| i as u32).collect();
        let expected = self.count_places(consensus.points, &all, radius);
        let places = self.count_places(consensus.points, consensus.inliers, radius);
        (places as f64) < CLUMPED * expected as f64
    }

    /// The weight of the sorted inliers with the targets counted where the transform moves the sources, in as large a sample as the outcome depends on;
    /// that count, and an upper bound on `α` at the threshold.
    fn weigh_in_crowd(
        &mut self,
        consensus: &Consensus<'_>,
        background: &Background,
        penalty: f64,
        scope: Scope,
    ) -> (Weight, Chance, f64) {
        let n = consensus.points.len();
        let model = Affine::from(consensus.model);
        let chance = Chance::even(background);
        let even = self.false_alarms.weigh(n, &chance, penalty);
        if even.log10_nfa > LARGEST_LOG10_NFA {
            return (even, chance, 1.0);
        }
        let stages = match scope {
            Scope::Subset => chance::SUBSET_STAGES,
            Scope::All => chance::SAMPLES.len(),
        };
        let last = (0..stages).find(|&stage| chance::SAMPLES[stage] >= n).unwrap_or(stages - 1);
        // Smaller samples cannot show that chance does not explain the consensus.
        let limit = LARGEST_LOG10_NFA * std::f64::consts::LN_10 - penalty * std::f64::consts::LN_10;
        let log_minimal = background.log_minimal(libm::log(consensus.delta), 0.0);
        let per_inlier =
            (limit - log_nfa(n, even.places, 0.0, log_minimal)) / (even.places.max(4) - 3) as f64;
        let mut stage = chance::first_stage(libm::exp(per_inlier)).min(last);
        // Where one candidate needed a large sample, the next will, and its targets are sorted already.
        if scope == Scope::All {
            stage = stage.max(self.stage);
        }
        loop {
            let keep = scope == Scope::All;
            let (chance, most) =
                self.counter.count(consensus.points, &model, background, consensus.delta, stage, keep);
            let weight = self.false_alarms.weigh(n, &chance, penalty);
            let is_sure = || {
                libm::log(most) <= per_inlier
                    || self.false_alarms.weigh(n, &chance.at_most(), penalty).log10_nfa <= LARGEST_LOG10_NFA
            };
            if stage == last || is_sure() || chance.is_precise_at(weight.radius) {
                if scope == Scope::All {
                    self.stage = stage;
                }
                return (weight, chance, most);
            }
            stage += 1;
        }
    }

    /// Whether chance does not explain the consensus even if matches are correlated over a tenth of the extent. `most` is an upper bound on `α`.
    fn is_sure(
        &mut self,
        consensus: &Consensus<'_>,
        background: &Background,
        penalty: f64,
        most: f64,
    ) -> bool {
        // An even sample is counted where inliers are many. It stands for a sample of the matches.
        let step = consensus.inliers.len().div_ceil(LARGEST_SAMPLE).max(1);
        let n = consensus.points.len() / step;
        let radius = ASSUMED_PLACE_RADIUS * background.common_extent(consensus.model.scale());
        let places = self.count_places(consensus.points, consensus.inliers, radius).min(n);
        let is_enough = |most: f64| {
            let log_minimal = background.log_minimal(libm::log(consensus.delta), libm::log(most));
            let log_nfa = log_nfa(n, places, libm::log(most), log_minimal);
            log_nfa * std::f64::consts::LOG10_E + penalty <= LARGEST_LOG10_NFA
        };
        // A larger sample may show that chance is smaller. It is cheaper than to measure the correlation.
        let mut count = |stage| {
            let model = Affine::from(consensus.model);
            self.counter.count(consensus.points, &model, background, consensus.delta, stage, true).1
        };
        is_enough(most) || is_enough(count(1)) || is_enough(count(2))
    }

    /// Adds what [`weigh`](Self::weigh) leaves out where chance explains the consensus.
    pub(crate) fn complete(
        &mut self,
        evidence: Evidence,
        consensus: &Consensus<'_>,
        background: &Background,
    ) -> Evidence {
        let radius = background.patch(consensus.delta, consensus.model.scale());
        // Where neighbours over a good part of a patch counted once already, one wrong patch cannot explain what is left.
        let inlier_places = match self.place_radius {
            Some(counted_once) if counted_once >= PART_OF_PATCH * radius => evidence.inlier_places,
            _ => self.count_patches(consensus, radius),
        };
        let inlier_places =
            if inlier_places < CLEARLY_ENOUGH && is_small_part(consensus) { 1 } else { inlier_places };
        let others = consensus.points.len() - consensus.inliers.len();
        let wrong = others as f64 * background.chance(consensus.delta);
        let rotation_deviation_deg = rotation_deviation(consensus, wrong).to_degrees().min(180.0);
        Evidence { inlier_places, rotation_deviation_deg, ..evidence }
    }

    /// Number of patches that the inliers occupy. Where they are few, they are counted in the order of their residuals, so that the order of the rows does not
    /// matter; and where as many of all matches occupy few patches as well, on a curve for instance, with smaller patches.
    fn count_patches(&mut self, consensus: &Consensus<'_>, radius: f64) -> usize {
        let Consensus { points, inliers, residuals, delta, .. } = *consensus;
        let count = self.count_places(points, inliers, radius);
        if count >= CLEARLY_ENOUGH || inliers.is_empty() {
            return count;
        }
        let mut order: Vec<u32> = (0..inliers.len() as u32).collect();
        order.sort_unstable_by(|&k, &l| residuals[k as usize].total_cmp(&residuals[l as usize]));
        let sorted: Vec<u32> = order.iter().map(|&k| inliers[k as usize]).collect();
        let all: Vec<u32> =
            chance::evenly(points.len(), inliers.len().min(points.len())).map(|i| i as u32).collect();
        let mut radius = radius;
        while 0.5 * radius >= SMALLEST_PATCH * delta
            && self.count_places(points, &all, radius) < CLEARLY_ENOUGH
        {
            radius *= 0.5;
        }
        self.count_places(points, &sorted, radius)
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
        // A transform that tilts more was not found with the vertical.
        let tilt = pairs.tilt().filter(|tilt| tilt.allows(&model.rotation()));
        let (inliers, residuals): (Vec<u32>, Vec<f64>) =
            inliers.iter().map(with_residual).filter(|(_, sq)| *sq <= delta * delta).unzip();
        let consensus = Consensus {
            points,
            model,
            inliers: &inliers,
            residuals: &residuals,
            sum: sum(&residuals),
            delta,
            parameters: fitted_parameters(known_scale, tilt),
            tilt,
        };
        let scale = known_scale.map_or(Scale::Unknown, |s| Scale::Known(pairs.scale_outward(s)));
        let mut background = Background::of_matches(pairs);
        if tilt.is_some() {
            background = background.with_vertical(pairs, scale);
        }
        self.begin(pairs.correlation_length());
        let evidence = self.weigh(&consensus, &background, 0.0, Scope::All).evidence;
        if evidence.exceeds_chance() { evidence } else { self.complete(evidence, &consensus, &background) }
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
}
