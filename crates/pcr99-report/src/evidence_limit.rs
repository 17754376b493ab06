//! Smallest number of inliers that can be told from chance: the limit that the evidence predicts for any method.
//!
//! The evidence is the minimum over `j` of `NFA(j) = (n − 3)·C(n, j)·α(e_j)^(j − 3)` (see `docs/explanation/verdict.md`). The residuals of
//! `k` inliers with noise `σ` after a fit are about `σ·√(1 − p/(3k))` times a chi variable with three degrees of freedom, where `p` is
//! the number of parameters. `e_j` is taken at its quantile `(j − ½)/k`. `α(e) = (e/ρ)³`, where `ρ` is the radius of the ball of outliers.

use pcr99_lab::monte_carlo::ScaleMode;

/// Largest log₁₀ NFA of a significant consensus: one false alarm in ten problems, as in the verdict.
const SIGNIFICANT: f64 = -1.0;

/// Largest number of inliers that is tried. With the noise of any benchmark, fewer are significant.
const MOST_INLIERS: usize = 300;

/// Properties of a problem that the evidence depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Whether the scale is known.
    pub scale: ScaleMode,
    /// Standard deviation `σ` of the noise.
    pub noise: f64,
}

impl Setting {
    /// Radius `ρ` of the ball of outliers: `√3·s/2`. Random scales are between 1 and 5, with mean 3.
    fn radius(&self) -> f64 {
        let scale = match self.scale {
            ScaleMode::Known => 1.0,
            ScaleMode::Unknown => 3.0,
        };
        0.5 * 3.0_f64.sqrt() * scale
    }

    /// Number of parameters `p` of the transform.
    fn parameters(&self) -> f64 {
        match self.scale {
            ScaleMode::Known => 6.0,
            ScaleMode::Unknown => 7.0,
        }
    }

    /// Expected log₁₀ NFA of `k` inliers among `n` matches.
    pub fn log10_nfa(&self, n: usize, k: usize) -> f64 {
        let all = libm::log((n.max(4) - 3) as f64);
        let shrunk = (1.0 - self.parameters() / (3.0 * k as f64)).max(0.0).sqrt();
        let mut choose = 0.0; // ln C(n, j)
        let mut least = f64::INFINITY;
        for j in 1..=k.min(n) {
            choose += libm::log((n + 1 - j) as f64 / j as f64);
            if j >= 4 {
                let residual = self.noise * shrunk * chi3_quantile((j as f64 - 0.5) / k as f64);
                let log_chance = (3.0 * libm::log(residual / self.radius())).min(0.0);
                least = least.min(all + choose + (j - 3) as f64 * log_chance);
            }
        }
        least * std::f64::consts::LOG10_E
    }

    /// Smallest significant number of inliers among `n` matches; `None` when no number is.
    pub fn least_inliers(&self, n: usize) -> Option<usize> {
        (4..=n.min(MOST_INLIERS)).find(|&k| self.log10_nfa(n, k) <= SIGNIFICANT)
    }

    /// Highest outlier ratio of `n` matches at which the inliers are significant.
    pub fn highest_ratio(&self, n: usize) -> Option<f64> {
        self.least_inliers(n).map(|k| 1.0 - k as f64 / n as f64)
    }

    /// Smallest number of matches whose inliers are significant at this outlier ratio.
    pub fn least_points(&self, outlier_ratio: f64) -> Option<usize> {
        let right = |n: usize| n - (outlier_ratio * n as f64).round() as usize;
        let enough = |n: usize| right(n) >= 4 && self.log10_nfa(n, right(n)) <= SIGNIFICANT;
        let mut high = 4;
        while !enough(high) {
            if high > 10_000_000 || right(high) > MOST_INLIERS {
                return None;
            }
            high *= 2;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low.midpoint(high);
            if enough(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }
}

/// Quantile of a chi variable with three degrees of freedom (Maxwell distribution), by bisection of
/// `F(x) = erf(x/√2) − √(2/π)·x·exp(−x²/2)`.
fn chi3_quantile(part: f64) -> f64 {
    let distribution = |x: f64| {
        libm::erf(x / std::f64::consts::SQRT_2)
            - (2.0 / std::f64::consts::PI).sqrt() * x * libm::exp(-0.5 * x * x)
    };
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if distribution(middle) < part { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Setting = Setting { scale: ScaleMode::Known, noise: 0.01 };
    const UNKNOWN: Setting = Setting { scale: ScaleMode::Unknown, noise: 0.01 };

    /// Tables of the chi-square distribution with 3 degrees of freedom: medians and 95 %.
    #[test]
    fn chi_quantiles() {
        assert!((chi3_quantile(0.5).powi(2) - 2.365_973_884).abs() < 1e-6);
        assert!((chi3_quantile(0.95).powi(2) - 7.814_727_903).abs() < 1e-6);
    }

    /// "Fewer than about eight of 1000 cannot be told from chance."
    #[test]
    fn about_eight_of_a_thousand() {
        let least = KNOWN.least_inliers(1000).unwrap();
        assert!((7..=9).contains(&least), "{least}");
        assert!(UNKNOWN.least_inliers(1000).unwrap() <= least, "a larger ball leaves less to chance");
    }

    #[test]
    fn more_right_matches_are_more_evidence_and_more_wrong_ones_less() {
        for setting in [KNOWN, UNKNOWN] {
            let by_k: Vec<f64> = (5..40).map(|k| setting.log10_nfa(1000, k)).collect();
            assert!(by_k.is_sorted_by(|a, b| a > b), "{by_k:?}");
            let by_n: Vec<f64> =
                [50, 100, 1000, 10_000, 1_000_000].map(|n| setting.log10_nfa(n, 12)).to_vec();
            assert!(by_n.is_sorted_by(|a, b| a < b), "{by_n:?}");
        }
    }

    #[test]
    fn both_ways_to_the_limit_agree() {
        for (setting, ratio) in [(KNOWN, 0.9), (KNOWN, 0.99), (UNKNOWN, 0.99), (UNKNOWN, 0.995)] {
            let n = setting.least_points(ratio).unwrap();
            assert!(setting.highest_ratio(n).unwrap() >= ratio - 0.5 / n as f64, "{ratio}: {n}");
            assert!(setting.log10_nfa(n, n - (ratio * n as f64).round() as usize) <= SIGNIFICANT);
        }
        // Nothing is significant in noise as wide as the ball.
        let hopeless = Setting { scale: ScaleMode::Known, noise: 1.0 };
        assert_eq!((hopeless.least_inliers(1000), hopeless.least_points(0.9)), (None, None));
    }
}
