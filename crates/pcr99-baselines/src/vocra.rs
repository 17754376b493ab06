//! VOCRA: L. Sun, "Practical, fast and robust point cloud registration for scene stitching and object localization", IEEE Access 10
//! (2022).
//!
//! Matches vote for each other with Tukey's weights. Pairs are tried in the order of their votes. Each third match that is length-consistent with
//! a pair gives a rotation; a pair is good when many of these agree with their robust mean. Graduated non-convexity refines the fit of the matches that
//! agree.
//!
//! Consistent pairs are stored when they are first needed, one bit per pair: up to `n²/8` bytes; more than 1 GiB (92 672 matches) is an error.

use std::cmp::Reverse;

use pcr99::{Similarity, StopReason, random::Random, stop::StopCheck};
use pcr99_base::{
    Soa,
    kernel::{
        consensus::{Affine, squared_residual},
        lengths::{common_bits, vote},
    },
    least_squares,
};

use crate::{
    Error,
    baseline::{Baseline, Found, KnownScale, Matches},
    blocks::{Rotation, inliers, triangle_rotation},
    graph::{LengthGraph, list_bits},
    rotation_mean::{RotationMean, distance},
    watch::Watch,
};

/// Squared residual at which Tukey's weight becomes zero in the vote, in σ²: the square of `√1.5·6σ`.
const VOTE_SQ: f64 = 1.5 * 6.0 * 6.0;
/// Largest difference of the lengths of an edge, in σ.
const EDGE: f64 = 5.0;
/// Inlier threshold, in σ.
const INLIER: f64 = 5.0;
/// Largest Frobenius distance of a rotation that agrees with the mean.
const AGREE: f64 = 0.14;
/// Fraction of the matches that are tried, by votes. Also the fraction of all votes at which voting ends.
const TOP: f64 = 0.2;
/// Number of matches after which voting may end.
const FIRST_ROWS: usize = 20;
/// Smallest inlier ratio that the search aims at.
const LEAST_SHARE: f64 = 0.01;
/// Rounds of the refinement, its first width (as a multiple of the squared threshold) and the divisor of the width.
const ROUNDS: usize = 50;
const FIRST_WIDTH: f64 = 100.0;
const NARROWER: f64 = 1.2;
/// Change of the sum of squared residuals below which the refinement ends, in σ².
const SETTLED: f64 = 1e-6;

/// Votes, then rotations that agree; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Vocra {
    graph: LengthGraph,
    order: Vec<u32>,
    votes: Vec<f64>,
    /// Matches in the order of their votes.
    points: Soa,
    pair: Pair,
    mean: RotationMean,
    /// Best consensus so far, as places in that order.
    best: Vec<u32>,
    samples: u64,
    hypotheses: u64,
}

/// Rotations of one pair.
#[derive(Debug, Default)]
struct Pair {
    candidates: Vec<u32>,
    /// Candidates that gave a rotation.
    thirds: Vec<u32>,
    rotations: Vec<Rotation>,
    /// Number of rotations that can agree with the same mean as each rotation, itself included.
    close: Vec<usize>,
    closest: usize,
}

impl Pair {
    fn clear(&mut self) {
        self.thirds.clear();
        self.rotations.clear();
        self.close.clear();
        self.closest = 0;
    }

    fn push(&mut self, third: u32, rotation: Rotation) {
        // Triangle inequality: both are within the bound of the mean. The factor allows for rounding.
        let bound = 2.0 * AGREE * (1.0 + 1e-9);
        let mut close = 1;
        for (other, count) in self.rotations.iter().zip(&mut self.close) {
            if distance(other.as_flattened(), rotation.as_flattened()) <= bound {
                *count += 1;
                close += 1;
                self.closest = self.closest.max(*count);
            }
        }
        self.closest = self.closest.max(close);
        self.close.push(close);
        self.thirds.push(third);
        self.rotations.push(rotation);
    }
}

impl Baseline for Vocra {
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
        let model = self.polished(matches);
        Found { model, samples: self.samples, hypotheses: self.hypotheses, stopped_because }
    }
}

impl Vocra {
    /// Orders the matches and searches the best pair; an error means that the caller stopped the search.
    fn search(
        &mut self,
        matches: &Matches<'_>,
        random: &mut Random,
        watch: &mut Watch<'_>,
    ) -> Result<StopReason, StopReason> {
        let Matches { points, sigma } = *matches;
        let n = points.len();
        let enough = self.vote(matches, random, watch)?;
        if !enough {
            self.order.truncate((TOP * n as f64).round() as usize);
        }
        let n = self.order.len();
        self.points.assign_permuted(points, &self.order);
        self.graph.clear(n, EDGE * sigma);
        let share = (LEAST_SHARE * points.len() as f64).round() as usize;
        let (least, target) = (share.saturating_sub(2).max(1), share + if enough { 6 } else { 1 });

        let mut most = 0;
        for i in 0..n {
            self.graph.need(&self.points, i);
            watch.work(2 * n)?;
            for j in i + 1..n {
                if self.graph.row(i)[j / 64] >> (j % 64) & 1 == 0 {
                    continue;
                }
                self.samples += 1;
                watch.work(n / 32 + 10)?;
                self.graph.need(&self.points, j);
                let (one, other) = (&self.graph.row(i)[j / 64..], &self.graph.row(j)[j / 64..]);
                // At most as many rotations agree as there are third matches.
                if (common_bits(one, other) as usize) < least.max(most) {
                    continue;
                }
                list_bits(one.iter().zip(other).map(|(x, y)| x & y), &mut self.pair.candidates);
                let start = 64 * (j / 64) as u32;
                self.pair.candidates.iter_mut().for_each(|k| *k += start);
                self.pair.candidates.retain(|&k| k > j as u32);
                if self.pair.candidates.len() >= least.max(most) {
                    most = self.try_pair([i, j], least, most, target, random, watch)?;
                    if most >= target {
                        return Ok(StopReason::EnoughInliers);
                    }
                }
            }
        }
        Ok(StopReason::Exhausted)
    }

    /// Orders the matches by votes, most first. Returns whether voting ended early.
    fn vote(
        &mut self,
        matches: &Matches<'_>,
        random: &mut Random,
        watch: &mut Watch<'_>,
    ) -> Result<bool, StopReason> {
        let Matches { points, sigma } = *matches;
        let n = points.len();
        self.order.clear();
        self.order.extend(0..n as u32);
        for i in (1..n).rev() {
            self.order.swap(i, random.below(i + 1));
        }
        self.points.assign_permuted(points, &self.order);
        self.votes.clear();
        self.votes.resize(n, 0.0);
        let mut enough = false;
        for i in 0..n {
            watch.work(2 * (n - i))?;
            vote(&self.points, i, VOTE_SQ * sigma * sigma, &mut self.votes);
            if i < FIRST_ROWS && self.votes[i] >= TOP * n as f64 {
                enough = true;
                break;
            }
        }
        // Votes are never negative, so their bits have the same order.
        let mut ranks: Vec<(u64, u32)> = self.votes.iter().map(|vote| vote.to_bits()).zip(0..).collect();
        ranks.sort_unstable_by_key(|&(vote, k)| (Reverse(vote), k));
        let ranked = ranks.iter().map(|&(_, k)| self.order[k as usize]).collect();
        self.order = ranked;
        Ok(enough)
    }

    /// Computes the rotations of a pair with its third matches, and stores those that agree if there are at least `most`. Returns the size of the
    /// best consensus.
    fn try_pair(
        &mut self,
        [i, j]: [usize; 2],
        least: usize,
        mut most: usize,
        target: usize,
        random: &mut Random,
        watch: &mut Watch<'_>,
    ) -> Result<usize, StopReason> {
        let pair = &mut self.pair;
        pair.clear();
        for c in 0..pair.candidates.len() {
            let third = pair.candidates[c];
            watch.work(100 + 10 * pair.rotations.len())?;
            let Some(rotation) = triangle_rotation(&self.points, [third as usize, i, j]) else { continue };
            self.hypotheses += 1;
            pair.push(third, rotation);
            if pair.rotations.len() < least || pair.closest < most {
                continue;
            }
            watch.work(200 * pair.rotations.len())?;
            let Some(mean) = self.mean.of(&pair.rotations, random) else { continue };
            let agrees = |r: &Rotation| distance(r.as_flattened(), mean.as_flattened()) <= AGREE;
            let agree = pair.rotations.iter().filter(|r| agrees(r)).count();
            if agree >= most {
                most = agree;
                self.best.clear();
                self.best.extend([i as u32, j as u32, third]);
                let others =
                    pair.thirds.iter().zip(&pair.rotations).filter(|&(&k, r)| k != third && agrees(r));
                self.best.extend(others.map(|(&k, _)| k));
                if most >= target {
                    break;
                }
            }
        }
        Ok(most)
    }

    /// Least squares on the consensus with Tukey's weights of decreasing width, and once more on all inliers.
    fn polished(&mut self, matches: &Matches<'_>) -> Option<Similarity> {
        let Matches { points, sigma } = *matches;
        self.best.iter_mut().for_each(|k| *k = self.order[*k as usize]);
        let some = &self.best;
        let weights = &mut self.votes;
        weights.clear();
        weights.resize(some.len(), 1.0);
        let (mut best, mut width, mut before) = (None, FIRST_WIDTH, f64::INFINITY);
        for _ in 0..ROUNDS {
            let Some(model) = least_squares::fit_weighted(points, some, Some(1.0), |k| weights[k]) else {
                break;
            };
            let (affine, bound) = (Affine::from(&model), width * (INLIER * sigma).powi(2));
            let mut sum = 0.0;
            for (weight, &i) in weights.iter_mut().zip(some) {
                let residual_sq = squared_residual(points, &affine, i as usize);
                sum += residual_sq;
                *weight = tukey(residual_sq, bound);
            }
            best = Some(model);
            width /= NARROWER;
            if (sum - before).abs() <= SETTLED * sigma * sigma || width < 1.0 {
                break;
            }
            before = sum;
        }
        let found = inliers(points, &best?, INLIER * sigma);
        if found.is_empty() { None } else { least_squares::fit(points, &found, Some(1.0)).or(best) }
    }
}

/// Tukey's weight of a squared residual.
fn tukey(residual_sq: f64, bound_sq: f64) -> f64 {
    if residual_sq <= bound_sq { (1.0 - residual_sq / bound_sq).powi(2) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Method,
        baseline::Prepared,
        blocks::lengths,
        problems::{knot_problem, largest_error},
    };
    use pcr99::{Positive, Scale, stop};

    #[test]
    fn tukey_falls_from_one_to_zero() {
        assert_eq!(tukey(0.0, 4.0), 1.0);
        assert_eq!(tukey(1.0, 4.0), 0.5625);
        assert_eq!(tukey(4.0, 4.0), 0.0);
        assert_eq!(tukey(4.1, 4.0), 0.0);
        assert_eq!(tukey(f64::INFINITY, 4.0), 0.0);
    }

    fn votes(pairs: &pcr99::Correspondences) -> (Vocra, Vec<f64>, bool) {
        let prepared = Prepared::new(pairs, Scale::one(), Positive::new("threshold", 0.05).unwrap());
        let matches = prepared.matches();
        let mut method = Vocra::default();
        let enough = method.vote(&matches, &mut Random::new(3), &mut Watch::new(&stop::never)).unwrap();
        let bound_sq = VOTE_SQ * matches.sigma * matches.sigma;
        let weight = |i: usize, j: usize| {
            let (a, b) = lengths(matches.points, i, j);
            tukey((a - b).powi(2), bound_sq)
        };
        let n = pairs.len();
        let sums = (0..n).map(|i| (0..n).filter(|&j| j != i).map(|j| weight(i, j)).sum()).collect();
        (method, sums, enough)
    }

    #[test]
    fn matches_are_in_the_order_of_their_votes() {
        let (pairs, _) = knot_problem(300, 0.9, 1);
        let (method, sums, enough) = votes(&pairs);
        assert!(!enough);
        assert!(method.order.windows(2).all(|w| sums[w[0] as usize] >= sums[w[1] as usize] - 1e-9));
        let mut all = method.order.clone();
        all.sort_unstable();
        assert_eq!(all, (0..300).collect::<Vec<_>>());
    }

    #[test]
    fn voting_ends_early_when_many_agree() {
        let (pairs, inliers) = knot_problem(300, 0.3, 1);
        let (method, _, enough) = votes(&pairs);
        assert!(enough);
        // A few votes are enough to rank the inliers first.
        let front = method.order[..60].iter().filter(|&&i| inliers[i as usize]).count();
        assert!(front >= 55, "{front}");
    }

    /// Rotations that agree with the same mean are always counted as close to each other.
    #[test]
    fn rotations_near_one_mean_are_close() {
        let mut random = Random::new(5);
        let mut pair = Pair::default();
        let mut drawn = Vec::new();
        for k in 0..300 {
            // Angles of up to 0.2 about one axis.
            let angle = 0.2 * random.uniform();
            let (sin, cos) = (libm::sin(angle), libm::cos(angle));
            let rotation = [[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]];
            drawn.push(rotation);
            pair.push(k, rotation);
            let near = |mean: &Rotation| {
                let close = |r: &&Rotation| distance(r.as_flattened(), mean.as_flattened()) <= AGREE;
                drawn.iter().filter(close).count()
            };
            assert!(drawn.iter().all(|mean| near(mean) <= pair.closest));
        }
        let plain = |r: &Rotation| {
            let close = |s: &&Rotation| distance(r.as_flattened(), s.as_flattened()) <= 2.0 * AGREE;
            drawn.iter().filter(close).count()
        };
        assert_eq!(pair.close, drawn.iter().map(plain).collect::<Vec<_>>());
    }

    #[test]
    fn solves_what_it_can() {
        for ratio in [0.0, 0.5, 0.9, 0.97] {
            assert!(largest_error(Method::Vocra, Some(2.5), ratio, 5) < 4.0, "{ratio}");
        }
    }
}
