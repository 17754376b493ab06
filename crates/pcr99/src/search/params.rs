//! Parameters of the default method.

use crate::{Error, Positive};

/// Parameters of the default method. All have defaults; without a threshold, it is estimated from the data.
///
/// ```
/// let params = pcr99::Params::new().with_threshold(0.05)?.with_candidates(3)?;
/// assert_eq!(params.candidates(), 3);
/// # Ok::<(), pcr99::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    threshold: Option<Positive>,
    miss_probability: f64,
    candidates: usize,
    memory_budget: u64,
    effort: u64,
    threads: usize,
    seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            threshold: None,
            miss_probability: 1e-6,
            candidates: 5,
            memory_budget: 1 << 30,
            effort: super::budget::DEFAULT_EFFORT,
            threads: 0,
            seed: 0,
        }
    }
}

impl Params {
    /// The default parameters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the inlier threshold `δ`: the largest residual of a right match, in target units. About five standard deviations of the
    /// noise of a coordinate is a good choice. Default: estimated from the data.
    ///
    /// # Errors
    /// [`Error::NotPositive`] unless `threshold` is finite and positive.
    pub fn with_threshold(self, threshold: f64) -> Result<Self, Error> {
        Ok(Self { threshold: Some(Positive::new("threshold", threshold)?), ..self })
    }

    /// Sets the accepted probability that a larger consensus was missed, at which the search stops. Default 10⁻⁶.
    ///
    /// # Errors
    /// [`Error::NotPositive`] or [`Error::OutOfRange`] unless it is positive and at most 0.5.
    pub fn with_miss_probability(self, probability: f64) -> Result<Self, Error> {
        Positive::within("miss_probability", probability, [1e-300, 0.5])?;
        Ok(Self { miss_probability: probability, ..self })
    }

    /// Sets the largest number of distinct candidates to return. Default 5.
    ///
    /// # Errors
    /// [`Error::Zero`] when it is zero.
    pub fn with_candidates(self, candidates: usize) -> Result<Self, Error> {
        if candidates == 0 {
            Err(Error::Zero { name: "candidates" })
        } else {
            Ok(Self { candidates, ..self })
        }
    }

    /// Sets the memory for the tables over pairs of matches, in bytes. Default 1 GiB. More matches than fit are searched in random
    /// subsets.
    pub fn with_memory_budget(self, bytes: u64) -> Self {
        Self { memory_budget: bytes, ..self }
    }

    /// Sets the largest number of pairs of matches tried in each round. Default 100 000. Where there is nothing to find, the running
    /// time grows with it.
    ///
    /// # Errors
    /// [`Error::Zero`] when it is zero.
    pub fn with_effort(self, pairs: u64) -> Result<Self, Error> {
        if pairs == 0 { Err(Error::Zero { name: "effort" }) } else { Ok(Self { effort: pairs, ..self }) }
    }

    /// Sets the number of threads; 0, the default, uses all cores. The result does not depend on it.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the seed of the random order in which pairs are examined. Default 0.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The inlier threshold `δ`, when it is given.
    pub fn threshold(&self) -> Option<Positive> {
        self.threshold
    }

    /// The accepted probability that a larger consensus was missed.
    pub fn miss_probability(&self) -> f64 {
        self.miss_probability
    }

    /// The largest number of distinct candidates to return.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// The memory for the tables over pairs of matches, in bytes.
    pub fn memory_budget(&self) -> u64 {
        self.memory_budget
    }

    /// The largest number of pairs of matches tried in each round.
    pub fn effort(&self) -> u64 {
        self.effort
    }

    /// The number of threads; 0 uses all cores.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The seed of the random order of pairs.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}
