//! What a consensus is worth: the number of false alarms, the effective support, and the verdict.
//!
//! **Number of false alarms** (a-contrario; Desolneux, Moisan, Morel; Moisan, Moulon, Monasse for RANSAC). If all matches were
//! wrong, how often would one expect some `k` of them to fit one transform within `e`, three being met by any transform?
//! `NFA(k) = (n − 3) · C(n, k) · α(e_k)^(k − 3)`, with `e_k` the k-th smallest residual and `α(e)` the chance that a wrong match is
//! within `e` by accident. The least over all `k` with `e_k ≤ δ` is the evidence: it prefers tight sets and picks its own threshold
//! below `δ`. Three matches are never evidence. (With transforms through three points there is a further factor `C(k, 3)`, the choice of
//! the three; ours is the least-squares fit, one for each set.)
//!
//! **α** is measured against the spread of the targets: with `a_1, a_2, a_3` the half-axes of the ellipsoid that they fill,
//! `α(e) = Π min(1, e/a_i)`. A ball of radius `ρ` gives `(e/ρ)³`; flat targets give the two-dimensional law.
//!
//! **Effective support.** On real data wrong matches are not independent: neighbouring points match the same wrong patch.
//! Inliers that lie within `3δ` of each other count once.

use crate::{
    Correspondences, Similarity, Status,
    eigen::symmetric_eigen,
    kernel::{
        Soa,
        consensus::{Affine, squared_residual},
        log_ratio::half_log_ratios,
        near::{Scattered, count_scattered},
        sums::{Spread, any_beyond, spread},
    },
};

/// What a consensus is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// log₁₀ of the number of false alarms: −3 says that chance alone would give this at most once in a thousand such problems.
    /// Above zero it is no evidence at all.
    pub log10_nfa: f64,
    /// The inliers, those within `3δ` of each other counted once; counting stops at 100.
    pub effective_inliers: usize,
}

/// Registered needs a number of false alarms of at most this power of ten …
const SIGNIFICANT: f64 = -1.0;
/// … and either this many effective inliers …
const ENOUGH_EFFECTIVE: usize = 10;
/// … or at least four, and more than this share of the inliers: few, but scattered, and not each of them twice.
const SCATTERED: f64 = 0.5;
/// Three places are met by any transform.
const LEAST_EFFECTIVE: usize = 4;

impl Evidence {
    /// Whether chance alone does not explain it.
    pub(crate) fn is_significant(&self) -> bool {
        self.log10_nfa <= SIGNIFICANT
    }

    /// The verdict on a consensus of so many `inliers`: registered when it is significant, and not just one patch of
    /// neighbours.
    pub fn status(&self, inliers: usize) -> Status {
        let few_but_scattered = self.effective_inliers >= LEAST_EFFECTIVE
            && self.effective_inliers as f64 > SCATTERED * inliers as f64;
        let scattered = self.effective_inliers >= ENOUGH_EFFECTIVE || few_but_scattered;
        if self.is_significant() && scattered { Status::Registered } else { Status::NotReliable }
    }
}

/// How wrong matches would be spread: the ellipsoid that the targets fill.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Background {
    half_axes: [f64; 3],
    /// Residuals below this are rounding errors of the coordinates.
    finest: f64,
}

impl Background {
    /// Residuals below this are rounding errors of the coordinates.
    pub(crate) fn finest(&self) -> f64 {
        self.finest
    }

    /// `α`: the chance that a wrong match is within `e` by accident.
    pub(crate) fn chance(&self, e: f64) -> f64 {
        self.half_axes.iter().map(|axis| (e / axis).min(1.0)).product()
    }

    /// Inliers within this of each other count once: `3δ`, but never so much that few places are left in all.
    pub(crate) fn patch(&self, delta: f64) -> f64 {
        (3.0 * delta).min(0.2 * self.extent())
    }

    /// The longest half-axis.
    pub(crate) fn extent(&self) -> f64 {
        self.half_axes.iter().fold(0.0, |longest, axis| longest.max(*axis))
    }

    /// From the targets. Far strays would make everything look close: where there are any, they are left out in a second pass.
    pub(crate) fn of(points: &Soa, finest: f64) -> Self {
        let finest = finest.max(0.5 * grid_step(points));
        let all = Moments::from(&spread(&points.b), points.len());
        let first = all.background(finest);
        if !any_beyond(&points.b, 4.0 * first.extent() * first.extent()) {
            return first;
        }
        let (_, axes) = symmetric_eigen(all.covariance());
        let mean = all.mean();
        let near = |b: [f64; 3]| {
            let along = |axis: usize| (0..3).map(|k| (b[k] - mean[k]) * axes[k][axis]).sum::<f64>();
            (0..3).map(|axis| (along(axis) / first.half_axes[axis]).powi(2)).sum::<f64>() <= 2.0
        };
        let kept = Moments::of(points, near);
        if kept.count < 4.0 { first } else { kept.background(finest) }
    }
}

/// The step of the grid that the targets lie on, 0 when they lie on none: coordinates from a grid meet by chance, others do not.
fn grid_step(points: &Soa) -> f64 {
    let looked_at = points.len().min(64);
    let step = points.len() / looked_at;
    let mut coarsest: f64 = 0.0;
    for column in &points.b {
        let mut values: [f64; 64] = std::array::from_fn(|k| column[k % looked_at * step]);
        let values = &mut values[..looked_at];
        values.sort_unstable_by(f64::total_cmp);
        let gaps = || values.windows(2).map(|pair| pair[1] - pair[0]);
        let equal = gaps().filter(|gap| *gap == 0.0).count();
        if 8 * equal > looked_at {
            let least = gaps().filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
            coarsest = coarsest.max(if least.is_finite() { least } else { 0.0 });
        }
    }
    coarsest
}

/// Count, sums and sums of products of targets.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: [f64; 3],
    products: [[f64; 3]; 3],
}

impl Moments {
    fn of(points: &Soa, keep: impl Fn([f64; 3]) -> bool) -> Self {
        let mut moments = Self::default();
        for b in (0..points.len()).map(|i| points.target(i)).filter(|&b| keep(b)) {
            moments.count += 1.0;
            for row in 0..3 {
                moments.sum[row] += b[row];
                for column in row..3 {
                    moments.products[row][column] += b[row] * b[column];
                }
            }
        }
        moments
    }

    fn from(spread: &Spread, count: usize) -> Self {
        let [xx, xy, xz, yy, yz, zz] = spread.products;
        let products = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        Self { count: count as f64, sum: spread.sum, products }
    }

    fn mean(&self) -> [f64; 3] {
        self.sum.map(|sum| sum / self.count)
    }

    fn covariance(&self) -> [[f64; 3]; 3] {
        let mean = self.mean();
        let entry =
            |row: usize, column: usize| self.products[row][column] / self.count - mean[row] * mean[column];
        std::array::from_fn(|row| std::array::from_fn(|column| entry(row.min(column), row.max(column))))
    }

    /// In a uniform ellipsoid the variance along an axis is a fifth of the squared half-axis.
    fn background(&self, finest: f64) -> Background {
        let (variances, _) = symmetric_eigen(self.covariance());
        let half_axes = variances.map(|variance| (5.0 * variance.max(0.0)).sqrt().max(finest));
        Background { half_axes, finest }
    }
}

/// Computes evidence; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    sorted: Vec<f64>,
    ones: Vec<f64>,
    scattered: Scattered,
}

/// Up to so many inliers every one is a threshold to try; of more, a grid of thresholds.
const EACH: usize = 64;
/// Thresholds in the grid.
const GRID: usize = 32;

impl Judge {
    /// log₁₀ of the number of false alarms among `n` matches, from the squared residuals of the inliers in any order, all at
    /// most `delta_sq`.
    pub(crate) fn log10_nfa(
        &mut self,
        inliers_sq: &[f64],
        delta_sq: f64,
        n: usize,
        background: &Background,
    ) -> f64 {
        let inliers = inliers_sq.len();
        let finest_sq = background.finest * background.finest;
        let log_axes = background.half_axes.map(libm::log);
        let chance =
            |log_residual: f64| log_axes.iter().map(|axis| (log_residual - axis).min(0.0)).sum::<f64>();
        let thresholds = libm::log((n.max(4) - 3) as f64);
        let log_nfa = |k: usize, choose_n: f64, log_residual: f64| {
            thresholds + choose_n + (k.max(3) - 3) as f64 * chance(log_residual)
        };
        // What any three matches are worth.
        let mut best = thresholds + libm::log(n as f64 * (n.max(2) - 1) as f64 * (n.max(3) - 2) as f64 / 6.0);
        if inliers <= EACH {
            self.sorted.clear();
            self.sorted.extend(inliers_sq.iter().map(|sq| sq.max(finest_sq)));
            self.sorted.sort_unstable_by(f64::total_cmp);
            // ln e = ½ ln(e²/1).
            self.ones.resize(EACH, 1.0);
            half_log_ratios(&self.ones[..inliers], &mut self.sorted);
            let mut choose_n = 0.0; // ln C(n, k)
            for (k, &log_residual) in (1..).zip(&self.sorted) {
                choose_n += libm::log((n + 1 - k) as f64 / k as f64);
                if k >= 4 {
                    best = best.min(log_nfa(k, choose_n, log_residual));
                }
            }
        } else {
            // Every residual taken for the next threshold above it: never more evidence than there is.
            let mut counts = [0_usize; GRID + 1];
            let per_step = GRID as f64 / delta_sq.sqrt();
            for sq in inliers_sq {
                counts[((sq.sqrt() * per_step) as usize).min(GRID - 1)] += 1;
            }
            let all = libm::lgamma(n as f64 + 1.0);
            let mut k = 0;
            for (step, count) in counts.iter().enumerate().take(GRID) {
                k += count;
                if k >= 4 && *count > 0 {
                    let choose_n = all - libm::lgamma(k as f64 + 1.0) - libm::lgamma((n - k) as f64 + 1.0);
                    let residual = ((step + 1) as f64 / per_step).max(background.finest);
                    best = best.min(log_nfa(k, choose_n, libm::log(residual)));
                }
            }
        }
        best * std::f64::consts::LOG10_E
    }

    /// Of few inliers, those that share neither end with an earlier one: a match given twice, or two that end in one point, confirm
    /// each other no more than one. (Many are judged by how scattered they are.)
    pub(crate) fn independent(points: &Soa, inliers: &[u32], keep: &mut Vec<u32>) {
        keep.clear();
        if inliers.len() > EACH {
            keep.extend_from_slice(inliers);
            return;
        }
        for &i in inliers {
            let ends = |i: u32| (points.source(i as usize), points.target(i as usize));
            let (a, b) = ends(i);
            let shares = |&j: &u32| {
                let (c, d) = ends(j);
                a == c || b == d
            };
            if !keep.iter().any(shares) {
                keep.push(i);
            }
        }
    }

    /// What a transform and the matches that it explains are worth; those farther off than `delta` are left out.
    pub(crate) fn evidence(
        &mut self,
        pairs: &Correspondences,
        model: &Similarity,
        inliers: &[u32],
        delta: f64,
    ) -> Evidence {
        let (affine, delta_sq) = (Affine::from(model), delta * delta);
        let mut distinct = Vec::new();
        Self::independent(pairs.points(), inliers, &mut distinct);
        let all = distinct.iter().map(|&i| squared_residual(pairs.points(), &affine, i as usize));
        let residuals: Vec<f64> = all.filter(|sq| *sq <= delta_sq).collect();
        let background = Background::of(pairs.points(), pairs.target_rounding());
        Evidence {
            log10_nfa: self.log10_nfa(&residuals, delta_sq, pairs.len(), &background),
            effective_inliers: self.effective_support(pairs.points(), inliers, background.patch(delta)),
        }
    }

    /// The inliers, counting those once that are within `radius` of one already counted.
    pub(crate) fn effective_support(&mut self, points: &Soa, inliers: &[u32], radius: f64) -> usize {
        let step = inliers.len().div_ceil(MOST_LOOKED_AT).max(1);
        count_scattered(&points.b, inliers, step, radius * radius, &mut self.scattered)
    }
}

/// Of more inliers than this, some are left out, evenly: that never counts too many.
const MOST_LOOKED_AT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kernel::near::MOST_SCATTERED, random::Random};

    fn cloud(n: usize, flatten: f64, seed: u64) -> Soa {
        let mut random = Random::new(seed);
        let mut points = Soa::default();
        while points.len() < n {
            let p: [f64; 3] = std::array::from_fn(|_| 2.0 * random.uniform() - 1.0);
            if p.iter().map(|x| x * x).sum::<f64>() <= 1.0 {
                for (axis, x) in [p[0], p[1], flatten * p[2]].into_iter().enumerate() {
                    points.a[axis].push(x);
                    points.b[axis].push(x);
                }
            }
        }
        points
    }

    /// The formula, one `k` after the other.
    fn log10_nfa(residuals: &[f64], n: usize, background: &Background) -> f64 {
        let mut sorted = residuals.to_vec();
        sorted.sort_by(f64::total_cmp);
        let choose =
            |n: usize, k: usize| (0..k).map(|i| (((n - i) as f64) / ((k - i) as f64)).log10()).sum::<f64>();
        (3..=sorted.len())
            .map(|k| {
                let exponent = (k - 3) as f64;
                ((n - 3) as f64).log10() + choose(n, k) + exponent * background.chance(sorted[k - 1]).log10()
            })
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn a_ball_has_the_law_of_its_radius() {
        let background = Background::of(&cloud(20_000, 1.0, 1), 1e-15);
        assert!((background.extent() - 1.0).abs() < 0.02);
        assert!((background.chance(0.1) / 1e-3 - 1.0).abs() < 0.05, "{}", background.chance(0.1));
        assert_eq!(background.chance(5.0), 1.0);
    }

    /// Flat targets: what is within e lies in a disc.
    #[test]
    fn a_disc_has_the_two_dimensional_law() {
        let background = Background::of(&cloud(20_000, 1e-4, 1), 1e-15);
        let ratio = background.chance(0.2) / background.chance(0.1);
        assert!((ratio - 4.0).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn strays_do_not_widen_the_background() {
        let mut points = cloud(2000, 1.0, 1);
        for i in 0..10 {
            points.b[0][i] = 1000.0;
        }
        assert!(Background::of(&points, 1e-15).extent() < 1.2);
    }

    #[test]
    fn few_inliers_are_judged_by_the_formula() {
        let background = Background::of(&cloud(1000, 1.0, 1), 1e-15);
        let mut random = Random::new(3);
        for k in [3, 4, 8, 30, 64] {
            let residuals: Vec<f64> = (0..k).map(|_| 0.05 * random.uniform()).collect();
            let squares: Vec<f64> = residuals.iter().map(|e| e * e).collect();
            let got = Judge::default().log10_nfa(&squares, 0.05 * 0.05, 1000, &background);
            assert!((got - log10_nfa(&residuals, 1000, &background)).abs() < 1e-9, "{k}: {got}");
        }
    }

    /// Of many, a grid of thresholds: close to the formula, and never more evidence than it gives.
    #[test]
    fn many_inliers_are_judged_with_care() {
        let background = Background::of(&cloud(1000, 1.0, 1), 1e-15);
        let mut random = Random::new(3);
        for k in [65, 200, 900] {
            let residuals: Vec<f64> = (0..k).map(|_| 0.05 * random.uniform()).collect();
            let squares: Vec<f64> = residuals.iter().map(|e| e * e).collect();
            let (got, exact) = (
                Judge::default().log10_nfa(&squares, 0.05 * 0.05, 1000, &background),
                log10_nfa(&residuals, 1000, &background),
            );
            assert!(got >= exact - 1e-6 && got < 0.95 * exact, "{k}: {got} {exact}");
        }
    }

    #[test]
    fn three_matches_are_never_evidence_and_numbers_are_finite() {
        let background = Background::of(&cloud(3, 1.0, 1), 1e-15);
        assert_eq!(Judge::default().log10_nfa(&[0.0; 3], 0.01, 3, &background), 0.0);
        // Exact data: as tight as the rounding of coordinates allows.
        for n in [4, 10, 1000] {
            let log10_nfa = Judge::default().log10_nfa(&vec![0.0; n], 0.01, n, &background);
            assert!(log10_nfa.is_finite() && log10_nfa < -20.0, "{n}: {log10_nfa}");
        }
    }

    #[test]
    fn a_grid_bounds_how_tight_a_fit_can_be() {
        let mut points = cloud(500, 1.0, 1);
        assert_eq!(grid_step(&points), 0.0);
        points.b.iter_mut().for_each(|column| column.iter_mut().for_each(|x| *x = (*x / 0.1).round() * 0.1));
        assert!((grid_step(&points) - 0.1).abs() < 1e-9);
        assert!((Background::of(&points, 1e-15).finest() - 0.05).abs() < 1e-9);
    }

    #[test]
    fn copies_confirm_nothing() {
        let mut points = cloud(20, 1.0, 1);
        for axis in 0..3 {
            points.a[axis][1] = points.a[axis][0];
            points.b[axis][3] = points.b[axis][2];
        }
        let mut kept = Vec::new();
        Judge::independent(&points, &[0, 1, 2, 3, 7], &mut kept);
        assert_eq!(kept, [0, 2, 7]);
    }

    #[test]
    fn neighbours_count_once() {
        let mut points = cloud(300, 1.0, 5);
        for axis in 0..3 {
            let center = points.b[axis][0];
            points.b[axis][..100].fill(center);
        }
        let mut judge = Judge::default();
        assert_eq!(judge.effective_support(&points, &(0..100).collect::<Vec<_>>(), 0.01), 1);
        assert_eq!(judge.effective_support(&points, &(99..120).collect::<Vec<_>>(), 0.001), 21);
        assert_eq!(judge.effective_support(&points, &(99..300).collect::<Vec<_>>(), 0.001), MOST_SCATTERED);
        // Every second of 300: half of the hundred copies are one, and a hundred others.
        assert_eq!(judge.effective_support(&points, &(0..300).collect::<Vec<_>>(), 0.001), MOST_SCATTERED);
    }

    /// The rule of the verdict.
    #[test]
    fn significant_and_scattered_is_registered() {
        let status =
            |log10_nfa, effective_inliers, inliers| Evidence { log10_nfa, effective_inliers }.status(inliers);
        assert_eq!(status(-1.5, 9, 10), Status::Registered, "few, but scattered");
        assert_eq!(status(-300.0, 10, 500), Status::Registered, "in ten places");
        assert_eq!(status(-300.0, 9, 500), Status::NotReliable, "in nine places only");
        assert_eq!(status(-0.5, 10, 10), Status::NotReliable, "chance");
        assert_eq!(status(-20.0, 3, 3), Status::NotReliable, "three places");
        assert_eq!(status(-20.0, 6, 12), Status::NotReliable, "each of them twice");
    }
}
