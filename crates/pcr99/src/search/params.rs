//! The parameters of the default method.

use crate::{Error, Positive};

/// The parameters of the default method. All have defaults, the threshold too: without one it is found from the data.
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
            effort: super::DEFAULT_EFFORT,
            threads: 0,
            seed: 0,
        }
    }
}

impl Params {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How far a right match may be off, in target units (`δ`). Default: found from the data.
    ///
    /// # Errors
    /// Unless finite and positive.
    pub fn with_threshold(self, threshold: f64) -> Result<Self, Error> {
        Ok(Self { threshold: Some(Positive::new("threshold", threshold)?), ..self })
    }

    /// The search stops when the probability of having missed a larger consensus is below this. Default 10⁻⁶.
    ///
    /// # Errors
    /// Unless positive and at most ½.
    pub fn with_miss_probability(self, probability: f64) -> Result<Self, Error> {
        Positive::within("miss_probability", probability, [1e-300, 0.5])?;
        Ok(Self { miss_probability: probability, ..self })
    }

    /// How many distinct candidates are returned at most. Default 5.
    ///
    /// # Errors
    /// When zero.
    pub fn with_candidates(self, candidates: usize) -> Result<Self, Error> {
        if candidates == 0 {
            Err(Error::Zero { name: "candidates" })
        } else {
            Ok(Self { candidates, ..self })
        }
    }

    /// How many bytes the tables over pairs of matches may take. Default 1 GiB. More matches than fit are searched through
    /// random subsets.
    pub fn with_memory_budget(self, bytes: u64) -> Self {
        Self { memory_budget: bytes, ..self }
    }

    /// How many pairs of matches are tried at most in each subset. Default 100 000. Where there is nothing to find, the time grows with it.
    ///
    /// # Errors
    /// When zero.
    pub fn with_effort(self, pairs: u64) -> Result<Self, Error> {
        if pairs == 0 { Err(Error::Zero { name: "effort" }) } else { Ok(Self { effort: pairs, ..self }) }
    }

    /// How many threads to use; 0, the default, takes all cores. The result does not depend on it.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Decides in which order pairs are examined. Default 0.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// `δ`, when it is given.
    pub fn threshold(&self) -> Option<Positive> {
        self.threshold
    }

    /// The accepted probability of having missed a larger consensus.
    pub fn miss_probability(&self) -> f64 {
        self.miss_probability
    }

    /// How many distinct candidates are returned at most.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// How many bytes the tables over pairs of matches may take.
    pub fn memory_budget(&self) -> u64 {
        self.memory_budget
    }

    /// How many pairs of matches are tried at most in each subset.
    pub fn effort(&self) -> u64 {
        self.effort
    }

    /// How many threads to use; 0 takes all cores.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}
