//! VODRAC: "VODRAC: Efficient and robust correspondence-based point cloud registration with extreme outlier ratios",
//! Journal of King Saud University – Computer and Information Sciences 35 (2023).
//!
//! Two random matches; those that are length-consistent with both vote for each other with Tukey's weights. The matches with most votes complete
//! the triple in turn. The search stops when a larger consensus would have been found with 99 % probability.
//!
//! Consistent pairs are stored when they are first needed, one bit per pair: up to `n²/8` bytes; more than 1 GiB (92 672 matches) is an error.
//! Weights are computed when needed.

use std::cmp::Reverse;

use pcr99::{StopReason, random::Random, stop::StopCheck};
use pcr99_base::{
    Soa,
    kernel::{
        consensus::{Affine, Coarse, count_inliers, squared_residual},
        lengths::{self, common_bits},
    },
    least_squares,
};

use crate::{
    Error,
    baseline::{Baseline, Found, KnownScale, Matches},
    blocks::{distinct_pair, inliers, trials, triangle_model},
    graph::{LengthGraph, list_bits},
    watch::Watch,
};

/// Residual at which Tukey's weight becomes zero, in σ.
const EDGE: f64 = 5.0;
/// Inlier threshold, in σ.
const INLIER: f64 = 6.0;
const CONFIDENCE: f64 = 0.99;
/// Smallest inlier ratio that the search aims at.
const LEAST_SHARE: f64 = 0.01;
/// Largest number of pairs drawn before there is any consensus.
const FIRST_LIMIT: f64 = 1e5;
/// Largest number of third matches that are tried for a pair.
const MOST_THIRDS: usize = 10;
/// Smallest size of a consensus.
const LEAST_KEPT: usize = 5;

/// Random pairs, and votes for the third; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Vodrac {
    graph: LengthGraph,
    coarse: Coarse,
    /// Matches that are consistent with both matches of a pair, by index and as columns, and their votes.
    common: Vec<u32>,
    common_points: Soa,
    votes: Vec<f64>,
    order: Vec<u32>,
    kept: Vec<u32>,
    best: Vec<u32>,
    samples: u64,
    hypotheses: u64,
}

impl Baseline for Vodrac {
    type Scale = KnownScale;

    fn reserve(&mut self, method: &'static str, matches: usize) -> Result<(), Error> {
        self.graph.reserve(method, matches)
    }

    fn find(
        &mut self,
        matches: &Matches<'_>,
        KnownScale: KnownScale,
        random: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        self.best.clear();
        (self.samples, self.hypotheses) = (0, 0);
        let (Ok(stopped_because) | Err(stopped_because)) =
            self.search(matches, random, &mut Watch::new(stop));
        let model = least_squares::fit(matches.points, &self.best, Some(1.0));
        Found { model, samples: self.samples, hypotheses: self.hypotheses, stopped_because }
    }
}

impl Vodrac {
    /// Draws pairs; an error means that the caller stopped the search.
    fn search(
        &mut self,
        matches: &Matches<'_>,
        random: &mut Random,
        watch: &mut Watch<'_>,
    ) -> Result<StopReason, StopReason> {
        let Matches { points, sigma } = *matches;
        let (n, delta) = (points.len(), INLIER * sigma);
        // The weight at the bound is zero, so such a pair is not consistent.
        self.graph.clear(n, (EDGE * sigma).next_down());
        self.coarse.assign(points);
        let mut limit = FIRST_LIMIT;
        while (self.samples as f64) < limit {
            watch.work(20)?;
            self.samples += 1;
            let [u, v] = distinct_pair(random, n);
            if !self.graph.alike(points, u, v) {
                continue;
            }
            watch.work(n)?;
            self.graph.need(points, u);
            self.graph.need(points, v);
            let (one, other) = (self.graph.row(u), self.graph.row(v));
            let c = common_bits(one, other) as usize;
            if ((c + 2) as f64) < (LEAST_SHARE * n as f64).max(self.best.len() as f64) {
                continue;
            }
            list_bits(one.iter().zip(other).map(|(x, y)| x & y), &mut self.common);
            self.common_points.assign_permuted(points, &self.common);
            vote(&self.common_points, EDGE * sigma, &mut self.votes, watch)?;
            self.consensus(matches, [u, v], watch)?;
            if self.kept.len() >= LEAST_KEPT
                && let Some(model) = least_squares::fit(points, &self.kept, Some(1.0))
                && self.coarse.may_exceed(&Affine::from(&model), delta, self.best.len())
            {
                let found = inliers(points, &model, delta);
                if found.len() > self.best.len() {
                    self.best = found;
                    limit = trials(CONFIDENCE, (self.best.len() as f64 / n as f64).powi(2));
                }
            }
        }
        Ok(if self.best.is_empty() { StopReason::HypothesisLimit } else { StopReason::Confident })
    }

    /// Stores the largest consensus of the pair and one of the third matches with most votes.
    fn consensus(
        &mut self,
        matches: &Matches<'_>,
        [u, v]: [usize; 2],
        watch: &mut Watch<'_>,
    ) -> Result<(), StopReason> {
        let Matches { points, sigma } = *matches;
        let c = self.common.len();
        self.kept.clear();
        self.order.clear();
        self.order.extend(0..c as u32);
        // Half of the matches plus one, but not more than there are.
        let thirds = MOST_THIRDS.min(c.div_ceil(2) + 1).min(c);
        let by_votes = |&k: &u32| (Reverse(ordered(self.votes[k as usize])), k);
        if thirds < c {
            self.order.select_nth_unstable_by_key(thirds, by_votes);
        }
        self.order[..thirds].sort_unstable_by_key(by_votes);
        let (mut needed, delta_sq) = (0, (INLIER * sigma).powi(2));
        for &k in &self.order[..thirds] {
            watch.work(100 + c)?;
            let w = self.common[k as usize] as usize;
            let Some(model) = triangle_model(points, [u, v, w]) else { continue };
            self.hypotheses += 1;
            let model = Affine::from(&model);
            let count = count_inliers(&self.common_points, &model, delta_sq);
            if count >= needed {
                // As published: the next consensus must be larger by two, since the pair is counted in one number and not in the other.
                needed = count + 2;
                self.kept.clear();
                let fits = |i: &&u32| squared_residual(points, &model, **i as usize) <= delta_sq;
                self.kept.extend(self.common.iter().filter(fits).chain(&[u as u32, v as u32]));
            }
        }
        Ok(())
    }
}

/// Computes the votes of all matches for each other.
fn vote(points: &Soa, bound: f64, votes: &mut Vec<f64>, watch: &mut Watch<'_>) -> Result<(), StopReason> {
    let n = points.len();
    votes.clear();
    votes.resize(n, 0.0);
    for i in 0..n {
        watch.work(2 * (n - i))?;
        lengths::vote(points, i, bound * bound, votes);
    }
    Ok(())
}

/// Integer with the order of a vote, which is never negative.
fn ordered(vote: f64) -> u64 {
    vote.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, blocks::lengths, problems::largest_error};
    use pcr99::stop;

    #[test]
    fn votes_are_sums_of_weights() {
        let mut random = Random::new(4);
        let mut columns = || std::array::from_fn(|_| (0..80).map(|_| random.uniform()).collect());
        let points = Soa::new(columns(), columns());
        let (bound, mut votes) = (0.3, vec![5.0]);
        vote(&points, bound, &mut votes, &mut Watch::new(&stop::never)).unwrap();
        assert_eq!(votes.len(), 80);
        for (i, vote) in votes.iter().enumerate() {
            let weight = |j: usize| {
                let (a, b) = lengths(&points, i, j);
                let r = (a - b).abs();
                if r <= bound { (1.0 - r * r / (bound * bound)).powi(2) } else { 0.0 }
            };
            let expected: f64 = (0..80).filter(|&j| j != i).map(weight).sum();
            assert!((vote - expected).abs() < 1e-12, "{vote} {expected}");
        }
        // Larger votes are larger numbers.
        assert!(ordered(0.0) < ordered(1e-300) && ordered(0.5) < ordered(2.0));
    }

    #[test]
    fn solves_what_it_can() {
        for ratio in [0.0, 0.5, 0.9, 0.98] {
            assert!(largest_error(Method::Vodrac, Some(2.5), ratio, 5) < 4.0, "{ratio}");
        }
    }
}
