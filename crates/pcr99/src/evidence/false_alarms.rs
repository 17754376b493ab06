//! Number of false alarms of a set of inliers.

use std::sync::LazyLock;

use super::{Consensus, chance::Chance, places::Places};
use pcr99_base::{Soa, kernel::log_ratio::half_log_ratios};

/// Largest number of inliers whose residuals are all tried as thresholds. For more, thresholds a quarter of an octave apart are tried.
const EACH: usize = 64;
/// Number of thresholds tried for many inliers: 20 octaves, from the largest residual down to a millionth of it.
const LEVELS: usize = 80;
/// Smallest number of inliers that can be evidence. Any transform can be made to fit three.
const FEWEST: usize = 4;
/// Largest `log10_nfa` of a registered answer: one false alarm in a hundred problems of wrong matches.
pub(super) const LARGEST_LOG10_NFA: f64 = -2.0;

/// What the residuals of a consensus say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    /// log₁₀ of the number of false alarms, at the threshold that makes it smallest.
    pub(super) log10_nfa: f64,
    /// That threshold.
    pub(super) radius: f64,
    /// Independent inliers within the largest threshold.
    pub(super) places: usize,
    /// log₁₀ of the number of sets of as many wrong matches that are expected to agree with this one transform, at the threshold that makes it smallest. The transform counts as
    /// given, not as made to fit three of them.
    pub(super) log10_at_transform: f64,
}

/// Computes the number of false alarms. Buffers are kept between calls.
#[derive(Debug, Default)]
pub(super) struct FalseAlarms {
    order: Vec<u32>,
    sorted: Vec<f64>,
    ones: Vec<f64>,
    places: Places,
    /// Threshold (its logarithm) and independent inliers within it, both ascending.
    steps: Vec<(f64, u32)>,
}

/// Thresholds to which the residuals of many inliers are rounded up, which never overstates the evidence. Two for each power of two of a squared residual.
#[derive(Debug, Clone, Copy)]
struct Levels {
    largest: f64,
    finest_sq: f64,
}

impl Levels {
    fn new(residuals: &[f64], finest: f64) -> Self {
        let finest_sq = finest * finest;
        Self { largest: residuals.iter().fold(finest_sq, |most, square| most.max(*square)), finest_sq }
    }

    /// Twice the exponent of a square, plus the first bit of its mantissa.
    fn half_octave(self, square: f64) -> usize {
        (square.max(self.finest_sq).to_bits() >> 51) as usize
    }

    /// The level of a squared residual, 0 for the smallest.
    fn of(self, square: f64) -> usize {
        (LEVELS - 1).saturating_sub(self.half_octave(self.largest) - self.half_octave(square))
    }

    /// Number of residuals at each level.
    fn counts(self, residuals: &[f64]) -> [u32; LEVELS] {
        let mut counts = [0; LEVELS];
        residuals.iter().for_each(|square| counts[self.of(*square)] += 1);
        counts
    }

    /// Logarithm of the threshold of a level.
    fn log_radius(self, level: usize) -> f64 {
        let next = self.half_octave(self.largest) + level + 2 - LEVELS;
        0.5 * libm::log(f64::from_bits((next as u64) << 51).min(self.largest))
    }
}

impl FalseAlarms {
    /// Sorts the inliers by residual and counts the independent ones within each threshold. With a `radius`, inliers count once per place of that
    /// size. Without, those that share a point with an earlier one do not count. Residuals below `finest` are rounded up to it.
    pub(super) fn sort(&mut self, consensus: &Consensus<'_>, radius: f64, finest: f64) {
        let Consensus { points, inliers, residuals, .. } = *consensus;
        self.steps.clear();
        let each = inliers.len() <= EACH;
        if !each && radius <= 0.0 {
            return self.count_by_level(residuals, finest);
        }
        self.order.clear();
        self.order.extend(0..inliers.len() as u32);
        if each {
            self.order.sort_unstable_by(|&k, &l| {
                residuals[k as usize].total_cmp(&residuals[l as usize]).then(k.cmp(&l))
            });
            self.sorted.clear();
            self.sorted.extend(self.order.iter().map(|&k| residuals[k as usize].max(finest * finest)));
            // ln e = ½ ln(e²/1).
            self.ones.resize(EACH, 1.0);
            half_log_ratios(&self.ones[..inliers.len()], &mut self.sorted);
        } else {
            self.sort_by_level(residuals, finest);
        }
        let (order, sorted, steps) = (&self.order, &self.sorted, &mut self.steps);
        let mut next = 0;
        let mut count = 0;
        let step = |is_new: bool| {
            count += u32::from(is_new);
            let log_radius = sorted[next];
            next += 1;
            match steps.last_mut() {
                Some(last) if last.0 == log_radius => last.1 = count,
                _ if is_new => steps.push((log_radius, count)),
                _ => {}
            }
        };
        if radius > 0.0 {
            self.places.mark(points, order.iter().map(|&k| inliers[k as usize]), radius, step);
        } else {
            mark_shared(points, inliers, order, step);
        }
    }

    /// Counts many inliers that are all independent within each threshold, without sorting them.
    fn count_by_level(&mut self, residuals: &[f64], finest: f64) {
        let levels = Levels::new(residuals, finest);
        let counts = levels.counts(residuals);
        let mut within = 0;
        for (level, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            within += count;
            let log_radius = levels.log_radius(level);
            match self.steps.last_mut() {
                Some(last) if last.0 == log_radius => last.1 = within,
                _ => self.steps.push((log_radius, within)),
            }
        }
    }

    /// Order of many inliers by residual, rounded up to the next of `LEVELS` thresholds.
    fn sort_by_level(&mut self, residuals: &[f64], finest: f64) {
        let levels = Levels::new(residuals, finest);
        let counts = levels.counts(residuals);
        let mut starts = [0_u32; LEVELS];
        for level in 1..LEVELS {
            starts[level] = starts[level - 1] + counts[level - 1];
        }
        self.order.resize(residuals.len(), 0);
        for (k, square) in (0..).zip(residuals) {
            let at = &mut starts[levels.of(*square)];
            self.order[*at as usize] = k;
            *at += 1;
        }
        self.sorted.clear();
        for (level, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            self.sorted.extend(std::iter::repeat_n(levels.log_radius(level), count as usize));
        }
    }

    /// The weight of the sorted inliers among `n` matches. `penalty` is added to `log10_nfa`.
    pub(super) fn weigh(&self, n: usize, chance: &Chance, penalty: f64) -> Weight {
        let penalty = penalty * std::f64::consts::LN_10;
        let mut best = (penalty + log_nfa(n, 3.min(n), 0.0, 0.0), f64::NEG_INFINITY);
        let mut at_transform: f64 = best.0;
        for &(log_radius, count) in &self.steps {
            let count = count as usize;
            if count >= FEWEST {
                let log_chance = chance.log_at(log_radius);
                let log_minimal = chance.log_minimal_at(log_radius);
                let log_nfa = penalty + log_nfa(n, count, log_chance, log_minimal);
                at_transform = at_transform.min(log_nfa - log_minimal + 3.0 * log_chance);
                if log_nfa < best.0 {
                    best = (log_nfa, log_radius);
                }
            }
        }
        let last = self.steps.last().copied().unwrap_or((f64::NEG_INFINITY, 0));
        Weight {
            log10_nfa: best.0 * std::f64::consts::LOG10_E,
            radius: libm::exp(best.1),
            places: last.1 as usize,
            log10_at_transform: at_transform * std::f64::consts::LOG10_E,
        }
    }

    /// Independent inliers beyond the number that chance explains: at the threshold of `weight` or at the largest, whichever gives more.
    pub(super) fn surplus(&self, n: usize, weight: &Weight, chance: &Chance, penalty: f64) -> f64 {
        let penalty = penalty * std::f64::consts::LN_10;
        let beyond = |(log_radius, count): (f64, u32)| {
            let (log_chance, log_minimal) = (chance.log_at(log_radius), chance.log_minimal_at(log_radius));
            f64::from(count) + 1.0 - needed(n, log_chance, log_minimal, penalty) as f64
        };
        let within = |(log_radius, _): &&(f64, u32)| libm::exp(*log_radius) <= weight.radius;
        let at_best = self.steps.iter().rev().find(within).copied();
        let last = self.steps.last().copied();
        [at_best, last].into_iter().flatten().map(beyond).fold(f64::NEG_INFINITY, f64::max).max(-(n as f64))
    }
}

/// Logarithm of the price for trying several numbers `k` of inliers: `k(k − 1)/3`. The inverses sum to one over all `k` from four on, so that
/// all trials together are as likely to give a false alarm as a single one.
fn log_tests(k: usize) -> f64 {
    static TABLE: LazyLock<Vec<f64>> =
        LazyLock::new(|| (0..4096).map(|k| libm::log(f64::from(k) * (f64::from(k) - 1.0) / 3.0)).collect());
    let k = k.max(FEWEST - 1);
    TABLE.get(k).copied().unwrap_or_else(|| libm::log(k as f64 * (k as f64 - 1.0) / 3.0))
}

/// `ln NFA` of `k` independent inliers among `n` matches, each of which agrees by chance with a probability given by its logarithm. Three are made to fit, which is
/// possible with the probability given by `log_minimal`.
pub(super) fn log_nfa(n: usize, k: usize, log_chance: f64, log_minimal: f64) -> f64 {
    log_tests(k) + log_choose(n, k) + (k.max(3) - 3) as f64 * log_chance + log_minimal
}

/// Smallest number of independent inliers among `n` matches that chance does not explain; more than `n` when no number is enough.
pub(super) fn needed(n: usize, log_chance: f64, log_minimal: f64, penalty: f64) -> usize {
    let limit = LARGEST_LOG10_NFA * std::f64::consts::LN_10 - penalty;
    let enough = |k: usize| log_nfa(n, k, log_chance, log_minimal) <= limit;
    // Beyond the expected number the logarithm falls with each further inlier.
    let expected = (n as f64 * libm::exp(log_chance)) as usize;
    let (mut low, mut step) = (expected.max(FEWEST - 1), 4);
    while low + step <= n && !enough(low + step) {
        low += step;
        step *= 2;
    }
    let mut high = (low + step).min(n + 1);
    while high - low > 1 {
        let middle = low.midpoint(high);
        (low, high) = if enough(middle) { (low, middle) } else { (middle, high) };
    }
    high
}

/// `ln C(n, k)`.
pub(crate) fn log_choose(n: usize, k: usize) -> f64 {
    log_factorial(n) - log_factorial(k) - log_factorial(n - k)
}

/// `ln n!`, from a table where `n` is small.
fn log_factorial(n: usize) -> f64 {
    static TABLE: LazyLock<Vec<f64>> =
        LazyLock::new(|| (0..4096).map(|n| libm::lgamma(f64::from(n) + 1.0)).collect());
    TABLE.get(n).copied().unwrap_or_else(|| libm::lgamma(n as f64 + 1.0))
}

/// Calls `step` for each inlier in this order with whether it shares no point with an earlier one: a duplicate match, or two matches with a
/// common point, confirm nothing together. There are at most `EACH` inliers; more all count.
fn mark_shared(points: &Soa, inliers: &[u32], order: &[u32], mut step: impl FnMut(bool)) {
    let ends =
        |k: u32| (points.source(inliers[k as usize] as usize), points.target(inliers[k as usize] as usize));
    // Few matches share a first coordinate; only those are compared in full.
    let mut first = [[0.0; EACH]; 2];
    for (place, &k) in order.iter().enumerate() {
        let (a, b) = ends(k);
        let earlier = first[0][..place].iter().zip(&first[1][..place]);
        let may_share = earlier.fold(false, |any, (x, y)| any | (*x == a[0]) | (*y == b[0]));
        let shares = |&l: &u32| {
            let (c, d) = ends(l);
            a == c || b == d
        };
        step(!(may_share && order[..place].iter().any(shares)));
        (first[0][place], first[1][place]) = (a[0], b[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Similarity,
        evidence::background::{Background, tests::cloud},
        random::Random,
    };

    /// The weight of inliers with these residuals, each at a place of its own.
    fn weigh(residuals: &[f64], n: usize, radius: f64) -> (Weight, f64) {
        let points = cloud(n.max(residuals.len()), 1.0, 1);
        let background = Background::of(&points, 1e-15);
        let inliers: Vec<u32> = (0..residuals.len() as u32).collect();
        let squares: Vec<f64> = residuals.iter().map(|e| e * e).collect();
        let consensus = Consensus {
            points: &points,
            model: &Similarity::IDENTITY,
            inliers: &inliers,
            residuals: &squares,
            sum: squares.iter().sum(),
            delta: 0.05,
            parameters: 6.0,
            tilt: None,
        };
        let mut false_alarms = FalseAlarms::default();
        false_alarms.sort(&consensus, radius, background.finest());
        let chance = Chance::even(&background);
        let weight = false_alarms.weigh(n, &chance, 0.0);
        (weight, false_alarms.surplus(n, &weight, &chance, 0.0))
    }

    /// The formula as it is written, for each `k`.
    fn log10_nfa(residuals: &[f64], n: usize) -> f64 {
        let background = Background::of(&cloud(n.max(residuals.len()), 1.0, 1), 1e-15);
        let mut sorted = residuals.to_vec();
        sorted.sort_by(f64::total_cmp);
        let choose =
            |n: usize, k: usize| (0..k).map(|i| (((n - i) as f64) / ((k - i) as f64)).log10()).sum::<f64>();
        (3..=sorted.len())
            .map(|k| {
                let tests = ((k * (k - 1)) as f64 / 3.0).log10();
                tests + choose(n, k) + (k - 3) as f64 * background.chance(sorted[k - 1]).log10()
            })
            .fold(f64::INFINITY, f64::min)
    }

    fn some_residuals(k: usize) -> Vec<f64> {
        let mut random = Random::new(3);
        (0..k).map(|_| 0.05 * random.uniform()).collect()
    }

    #[test]
    fn few_inliers_are_judged_by_the_formula() {
        for k in [3, 4, 8, 30, 64] {
            let residuals = some_residuals(k);
            let (got, _) = weigh(&residuals, 1000, 0.0);
            assert!((got.log10_nfa - log10_nfa(&residuals, 1000)).abs() < 1e-9, "{k}: {got:?}");
        }
    }

    /// For many inliers, the grid of thresholds is close to the formula and never gives more evidence.
    #[test]
    fn many_inliers_are_never_overrated() {
        for k in [65, 200, 900] {
            let residuals = some_residuals(k);
            let (got, exact) = (weigh(&residuals, 1000, 0.0).0.log10_nfa, log10_nfa(&residuals, 1000));
            assert!(got >= exact - 1e-6 && got < 0.85 * exact, "{k}: {got} {exact}");
        }
    }

    #[test]
    fn three_matches_are_never_evidence_and_numbers_are_finite() {
        assert!(weigh(&[0.0; 3], 3, 0.0).0.log10_nfa > 0.0);
        // Exact data: residuals at the rounding error of the coordinates.
        for n in [4, 10, 1000] {
            let (weight, surplus) = weigh(&vec![0.0; n], n, 0.0);
            assert!(weight.log10_nfa.is_finite() && weight.log10_nfa < -10.0, "{n}: {weight:?}");
            assert!(surplus > 0.0 && surplus.is_finite(), "{n}: {surplus}");
        }
    }

    /// The prices of all numbers of inliers together are those of a single trial.
    #[test]
    fn all_trials_together_cost_as_much_as_one() {
        let sum: f64 = (4..1_000_000).map(|k| (-log_tests(k)).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }

    #[test]
    fn the_needed_number_is_the_smallest_that_is_enough() {
        let limit = LARGEST_LOG10_NFA * std::f64::consts::LN_10;
        for (n, chance) in [(30, 0.1_f64), (1000, 1e-4), (1000, 0.05), (100_000, 1e-3), (10, 0.9)] {
            let first =
                (4..=n).find(|&k| k as f64 > n as f64 * chance && log_nfa(n, k, chance.ln(), 0.0) <= limit);
            assert_eq!(needed(n, chance.ln(), 0.0, 0.0), first.unwrap_or(n + 1), "{n} {chance}");
        }
    }

    /// Chance explains a consensus exactly when its surplus is not positive.
    #[test]
    fn the_surplus_is_positive_where_chance_is_exceeded() {
        for k in 4..30 {
            let residuals = vec![0.04; k];
            let (weight, surplus) = weigh(&residuals, 1000, 0.0);
            assert_eq!(surplus > 0.0, weight.log10_nfa <= LARGEST_LOG10_NFA, "{k}: {weight:?} {surplus}");
        }
    }

    #[test]
    fn neighbours_count_once() {
        let residuals = some_residuals(300);
        let (apart, near) = (weigh(&residuals, 1000, 0.0).0, weigh(&residuals, 1000, 0.3).0);
        assert_eq!(apart.places, 300);
        assert!(near.places < 150 && near.log10_nfa > 0.6 * apart.log10_nfa, "{near:?} {apart:?}");
    }

    #[test]
    fn copies_confirm_nothing() {
        let mut points = cloud(20, 1.0, 1);
        for axis in 0..3 {
            points.a[axis][1] = points.a[axis][0];
            points.b[axis][3] = points.b[axis][2];
        }
        let mut marks = Vec::new();
        mark_shared(&points, &[0, 1, 2, 3, 7], &[0, 1, 2, 3, 4], |is_new| marks.push(is_new));
        assert_eq!(marks, [true, false, true, false, true]);
    }
}
