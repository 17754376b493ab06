//! How the matches differ in noise, in few numbers.
//!
//! Let `s` be the noise of a match relative to that of the median match. A wrong match agrees within `e` when its target is within `s·e`, so each match
//! has its own probability `α(s·e)`. The expected number of sets of `k` matches that agree is the elementary symmetric sum of these probabilities. It is
//! at most `C(n, k)` times the k-th power of their mean (Maclaurin's inequality), so the mean takes the place of `α`.

use pcr99_base::Soa;

/// Number of groups: one for all matches below the median, then one for each factor of four, up to a ratio of 1024.
const GROUPS: usize = 6;

/// The matches in groups of similar noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    /// Whether matches differ at all.
    differs: bool,
    /// Share of the matches in each group, and the cube root of the mean of `s³`.
    groups: [(f64, f64); GROUPS],
    /// Smallest ratio `s`.
    least: f64,
}

impl Noise {
    pub(super) fn of(points: &Soa) -> Self {
        let mut groups = [(0.0, 0.0); GROUPS];
        let mut least: f64 = 1.0;
        for precision in &points.precision {
            let ratio = 1.0 / precision.sqrt();
            least = least.min(ratio);
            // Powers of four from 1 on.
            let group = (0..GROUPS - 1).take_while(|&k| ratio >= f64::from(1_u32 << (2 * k))).count();
            groups[group].0 += 1.0;
            groups[group].1 += ratio * ratio * ratio;
        }
        let n = points.len() as f64;
        let groups = groups.map(|(count, cubes)| (count / n, libm::cbrt(cubes / count.max(1.0))));
        Self { differs: !points.precision.is_empty(), groups, least }
    }

    /// Smallest ratio of the noise of a match to that of the median match.
    pub(super) fn least(&self) -> f64 {
        self.least
    }

    /// Whether matches differ.
    pub(super) fn differs(&self) -> bool {
        self.differs
    }

    /// Mean of a probability over the matches, as a function of the ratio `s`. It is never too small if the probability is a concave function of `s³`, as
    /// the share of an ellipsoid is: its slope in `s³` falls wherever `s` reaches a half-axis (Jensen's inequality within each group).
    pub(super) fn mean(&self, probability: impl Fn(f64) -> f64) -> f64 {
        if !self.differs {
            return probability(1.0);
        }
        self.groups
            .iter()
            .filter(|(share, _)| *share > 0.0)
            .map(|(share, ratio)| share * probability(*ratio))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        evidence::background::{Background, tests::cloud},
        random::Random,
    };

    /// The mean over the groups is at least that over the matches, and less than half as large again.
    #[test]
    fn the_mean_is_never_too_small() {
        let mut random = Random::new(3);
        for decades in [0.5, 2.0, 6.0] {
            for flatten in [1.0, 0.1, 1e-4] {
                let mut points = cloud(1000, flatten, 2);
                points.precision = (0..1000)
                    .map(|_| libm::exp10(2.0 * decades * (random.uniform() - 0.5)).clamp(1e-6, 1e6))
                    .collect();
                let background = Background::of(&points, 1e-15);
                for e in [1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0] {
                    let each = |precision: &f64| background.chance_within(e / precision.sqrt());
                    let exact = points.precision.iter().map(each).sum::<f64>() / 1000.0;
                    let mean = background.chance(e);
                    assert!(mean >= exact * (1.0 - 1e-12), "{decades} {flatten} {e}: {mean} {exact}");
                    assert!(mean < 1.5 * exact, "{decades} {flatten} {e}: {mean} {exact}");
                }
            }
        }
    }
}
