//! Parameters of the published method, with the paper's values as defaults.

use crate::{Error, Positive};

/// Order in which samples of three matches are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// By the sum of their ranks, as the method has it.
    Ordered,
    /// At random: the paper's ablation "no S/O".
    Random {
        /// Seed of the random numbers. The same seed gives the same result.
        seed: u64,
        /// Largest number of samples drawn. Small problems need fewer: drawing stops when all samples have been visited with a probability
        /// of 1 − 10⁻⁶.
        draw_limit: u64,
    },
}

impl Sampling {
    /// Random sampling with at most 10⁹ draws.
    pub const fn random(seed: u64) -> Self {
        Self::Random { seed, draw_limit: 1_000_000_000 }
    }
}

/// Number of inliers at which the search stops: `max(at_least, round(fraction·n))`.
///
/// The paper does not say how `0.009·n` is rounded. The authors' program rounds to the nearest integer (decision 3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinInliers {
    at_least: usize,
    fraction: f64,
}

impl MinInliers {
    /// The number `max(at_least, round(fraction·n))`.
    ///
    /// # Errors
    /// [`Error::Zero`] when `at_least` is zero, [`Error::OutOfRange`] when `fraction` is not between 0 and 1.
    pub fn new(at_least: usize, fraction: f64) -> Result<Self, Error> {
        if at_least == 0 {
            return Err(Error::Zero { name: "min_inliers" });
        }
        if !(0.0..=1.0).contains(&fraction) {
            return Err(Error::OutOfRange {
                name: "min_inlier_fraction",
                value: fraction,
                low: 0.0,
                high: 1.0,
            });
        }
        Ok(Self { at_least, fraction })
    }

    /// The smallest number, for any `n`.
    pub const fn at_least(self) -> usize {
        self.at_least
    }

    /// The fraction of all matches.
    pub const fn fraction(self) -> f64 {
        self.fraction
    }

    /// The number for `n` matches.
    ///
    /// ```
    /// let paper = pcr99::paper::MinInliers::default();
    /// assert_eq!([100, 1000, 1055, 1056, 5000].map(|n| paper.of(n)), [9, 9, 9, 10, 45]);
    /// ```
    pub fn of(self, n: usize) -> usize {
        self.at_least.max((self.fraction * n as f64).round() as usize)
    }
}

impl Default for MinInliers {
    fn default() -> Self {
        Self { at_least: 9, fraction: 0.009 }
    }
}

/// Parameters of the published method. All but the inlier threshold default to the paper's values.
///
/// ```
/// use pcr99::paper::{Params, Sampling};
///
/// let params = Params::new(0.05)?.with_epsilon(0.05)?.with_sampling(Sampling::random(7));
/// assert_eq!(params.epsilon().get(), 0.05);
/// assert!(Params::new(-1.0).is_err());
/// # Ok::<(), pcr99::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    inlier_threshold: Positive,
    epsilon: Positive,
    grid_step: Positive,
    batch: u64,
    min_inliers: MinInliers,
    hypothesis_limit: Option<u64>,
    sampling: Sampling,
    memory_budget: u64,
}

impl Params {
    /// The paper's parameters with an inlier threshold `δ_in`, in target units. The paper's experiments use five standard deviations of the
    /// noise of a coordinate.
    ///
    /// # Errors
    /// [`Error::NotPositive`] unless `inlier_threshold` is finite and positive.
    pub fn new(inlier_threshold: f64) -> Result<Self, Error> {
        Ok(Self {
            inlier_threshold: Positive::new("inlier_threshold", inlier_threshold)?,
            epsilon: const { Positive::literal(0.1) },
            grid_step: const { Positive::literal(0.1) },
            batch: 1000,
            min_inliers: MinInliers::default(),
            hypothesis_limit: None,
            sampling: Sampling::Ordered,
            memory_budget: 1 << 30,
        })
    }

    /// Sets `ε` of the score and of the prescreening test, Eq. (6), (24)–(29). Default 0.1.
    ///
    /// # Errors
    /// [`Error::NotPositive`] or [`Error::OutOfRange`] unless it is positive and at most 10, where every triangle passes.
    pub fn with_epsilon(self, epsilon: f64) -> Result<Self, Error> {
        Ok(Self { epsilon: Positive::within("epsilon", epsilon, [0.0, 10.0])?, ..self })
    }

    /// Sets the spacing of the grid of `ln s`: the 0.1 in Eq. (10), which happens to equal `ε` there. Default 0.1.
    ///
    /// # Errors
    /// [`Error::NotPositive`] or [`Error::OutOfRange`] unless it is between 0.001 and 10. Time and memory of the score grow with the number
    /// of grid points.
    pub fn with_grid_step(self, grid_step: f64) -> Result<Self, Error> {
        Ok(Self { grid_step: Positive::within("grid_step", grid_step, [1e-3, 10.0])?, ..self })
    }

    /// Sets the number of hypotheses between tests of the stopping rule. Default 1000.
    ///
    /// # Errors
    /// [`Error::Zero`] when it is zero.
    pub fn with_batch(self, batch: u64) -> Result<Self, Error> {
        if batch == 0 { Err(Error::Zero { name: "batch" }) } else { Ok(Self { batch, ..self }) }
    }

    /// Sets the number of inliers at which the search stops. Default `max(9, round(0.009·n))`.
    pub fn with_min_inliers(self, min_inliers: MinInliers) -> Self {
        Self { min_inliers, ..self }
    }

    /// Sets the largest number of hypotheses. Default: no limit.
    ///
    /// # Errors
    /// [`Error::Zero`] when it is zero.
    pub fn with_hypothesis_limit(self, limit: u64) -> Result<Self, Error> {
        if limit == 0 {
            return Err(Error::Zero { name: "hypothesis_limit" });
        }
        Ok(Self { hypothesis_limit: Some(limit), ..self })
    }

    /// Sets the order of samples. Default: by rank.
    pub fn with_sampling(self, sampling: Sampling) -> Self {
        Self { sampling, ..self }
    }

    /// Sets the memory for the tables over pairs of matches, in bytes; see [memory](crate::paper#memory). Default 1 GiB.
    pub fn with_memory_budget(self, bytes: u64) -> Self {
        Self { memory_budget: bytes, ..self }
    }

    /// The inlier threshold `δ_in`, in target units.
    pub fn inlier_threshold(&self) -> Positive {
        self.inlier_threshold
    }

    /// The tolerance `ε` of log ratios.
    pub fn epsilon(&self) -> Positive {
        self.epsilon
    }

    /// The spacing of the grid of `ln s`.
    pub fn grid_step(&self) -> Positive {
        self.grid_step
    }

    /// The number of hypotheses between tests of the stopping rule.
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// The number of inliers at which the search stops.
    pub fn min_inliers(&self) -> MinInliers {
        self.min_inliers
    }

    /// The limit on hypotheses, if any.
    pub fn hypothesis_limit(&self) -> Option<u64> {
        self.hypothesis_limit
    }

    /// The order of samples.
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// The memory for the tables over pairs of matches, in bytes.
    pub fn memory_budget(&self) -> u64 {
        self.memory_budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_cannot_be_held() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Params::new(bad).is_err());
            assert!(Params::new(1.0).and_then(|p| p.with_epsilon(bad)).is_err());
            assert!(Params::new(1.0).and_then(|p| p.with_grid_step(bad)).is_err());
        }
        let params = Params::new(1.0).unwrap();
        assert_eq!(params.with_batch(0), Err(Error::Zero { name: "batch" }));
        assert_eq!(params.with_hypothesis_limit(0), Err(Error::Zero { name: "hypothesis_limit" }));
        assert_eq!(MinInliers::new(0, 0.1), Err(Error::Zero { name: "min_inliers" }));
        assert!(MinInliers::new(9, 1.5).is_err() && MinInliers::new(9, f64::NAN).is_err());
    }

    /// Decision 8: the grid step is a parameter of its own.
    #[test]
    fn grid_step_and_epsilon_are_two_parameters() {
        let params = Params::new(1.0).and_then(|p| p.with_epsilon(0.02)).unwrap();
        assert_eq!((params.epsilon().get(), params.grid_step().get()), (0.02, 0.1));
        let too_fine = params.with_grid_step(1e-6).unwrap_err();
        assert_eq!(too_fine.to_string(), "`grid_step` must be between 0.001 and 10, got 1e-6");
        assert!(params.with_epsilon(11.0).is_err());
    }
}
