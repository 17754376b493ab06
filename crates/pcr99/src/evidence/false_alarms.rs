//! Number of false alarms of a set of inliers.

use super::background::{Background, Crowd};
use pcr99_base::{Soa, kernel::log_ratio::half_log_ratios};

/// Computes the number of false alarms. Buffers are kept between calls.
#[derive(Debug, Default)]
pub(super) struct FalseAlarms {
    sorted: Vec<f64>,
    ones: Vec<f64>,
}

/// Largest number of inliers whose residuals are all tried as thresholds. For more, a grid of thresholds is tried.
const EACH: usize = 64;
/// Number of thresholds in the grid.
const GRID: usize = 16;

impl FalseAlarms {
    /// log₁₀ of the number of false alarms among `n` matches. `inliers_sq` are the squared residuals of the inliers in any order, at most
    /// `delta_sq`. The `crowd` increases `α`.
    pub(super) fn log10_nfa(
        &mut self,
        inliers_sq: &[f64],
        delta_sq: f64,
        n: usize,
        background: &Background,
        crowd: &Crowd,
    ) -> f64 {
        let inliers = inliers_sq.len();
        let finest_sq = background.finest() * background.finest();
        let log_axes = background.half_axes().map(libm::log);
        let chance = |log_residual: f64| {
            let even = log_axes.iter().map(|axis| (log_residual - axis).min(0.0)).sum::<f64>();
            (even + crowd.log_factor(log_residual)).min(0.0)
        };
        let thresholds = libm::log((n.max(4) - 3) as f64);
        let log_nfa = |k: usize, choose_n: f64, log_residual: f64| {
            thresholds + choose_n + (k.max(3) - 3) as f64 * chance(log_residual)
        };
        // The value for any three matches.
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
            // Each residual is rounded up to the next threshold, which never overstates the evidence.
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
                    let residual = ((step + 1) as f64 / per_step).max(background.finest());
                    best = best.min(log_nfa(k, choose_n, libm::log(residual)));
                }
            }
        }
        best * std::f64::consts::LOG10_E
    }
}

/// Keeps the residuals of the inliers that share no point with an earlier one: a duplicate match, or two matches with a common point,
/// confirm nothing together. More than `EACH` inliers are all kept; their places are counted instead.
pub(super) fn independent(points: &Soa, inliers: &[u32], residuals: &[f64], keep: &mut Vec<f64>) {
    keep.clear();
    if inliers.len() > EACH {
        keep.extend_from_slice(residuals);
        return;
    }
    let ends = |i: u32| (points.source(i as usize), points.target(i as usize));
    // Few matches share a first coordinate; only those are compared in full.
    let mut first = [[0.0; EACH]; 2];
    for (k, (&i, residual)) in inliers.iter().zip(residuals).enumerate() {
        let (a, b) = ends(i);
        let earlier = first[0][..k].iter().zip(&first[1][..k]);
        let may_share = earlier.fold(false, |any, (x, y)| any | (*x == a[0]) | (*y == b[0]));
        let shares = |&j: &u32| {
            let (c, d) = ends(j);
            a == c || b == d
        };
        if !(may_share && inliers[..k].iter().any(shares)) {
            keep.push(*residual);
        }
        (first[0][k], first[1][k]) = (a[0], b[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::background::tests::cloud, *};
    use crate::random::Random;

    /// The formula as it is written, for each `k`.
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
    fn few_inliers_are_judged_by_the_formula() {
        let background = Background::of(&cloud(1000, 1.0, 1), 1e-15);
        let mut random = Random::new(3);
        for k in [3, 4, 8, 30, 64] {
            let residuals: Vec<f64> = (0..k).map(|_| 0.05 * random.uniform()).collect();
            let squares: Vec<f64> = residuals.iter().map(|e| e * e).collect();
            let got =
                FalseAlarms::default().log10_nfa(&squares, 0.05 * 0.05, 1000, &background, &Crowd::default());
            assert!((got - log10_nfa(&residuals, 1000, &background)).abs() < 1e-9, "{k}: {got}");
        }
    }

    /// For many inliers, the grid of thresholds is close to the formula and never gives more evidence.
    #[test]
    fn many_inliers_are_never_overrated() {
        let background = Background::of(&cloud(1000, 1.0, 1), 1e-15);
        let mut random = Random::new(3);
        for k in [65, 200, 900] {
            let residuals: Vec<f64> = (0..k).map(|_| 0.05 * random.uniform()).collect();
            let squares: Vec<f64> = residuals.iter().map(|e| e * e).collect();
            let (got, exact) = (
                FalseAlarms::default().log10_nfa(&squares, 0.05 * 0.05, 1000, &background, &Crowd::default()),
                log10_nfa(&residuals, 1000, &background),
            );
            assert!(got >= exact - 1e-6 && got < 0.95 * exact, "{k}: {got} {exact}");
        }
    }

    #[test]
    fn three_matches_are_never_evidence_and_numbers_are_finite() {
        let background = Background::of(&cloud(3, 1.0, 1), 1e-15);
        assert_eq!(FalseAlarms::default().log10_nfa(&[0.0; 3], 0.01, 3, &background, &Crowd::default()), 0.0);
        // Exact data: residuals at the rounding error of the coordinates.
        for n in [4, 10, 1000] {
            let log10_nfa =
                FalseAlarms::default().log10_nfa(&vec![0.0; n], 0.01, n, &background, &Crowd::default());
            assert!(log10_nfa.is_finite() && log10_nfa < -20.0, "{n}: {log10_nfa}");
        }
    }

    #[test]
    fn copies_confirm_nothing() {
        let mut points = cloud(20, 1.0, 1);
        for axis in 0..3 {
            points.a[axis][1] = points.a[axis][0];
            points.b[axis][3] = points.b[axis][2];
        }
        let mut kept = Vec::new();
        independent(&points, &[0, 1, 2, 3, 7], &[0.0, 0.1, 0.2, 0.3, 0.7], &mut kept);
        assert_eq!(kept, [0.0, 0.2, 0.7]);
    }
}
