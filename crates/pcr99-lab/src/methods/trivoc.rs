//! TriVoC: L. Sun, L. Deng, "TriVoC: Efficient voting-based consensus maximization for robust point cloud registration with extreme
//! outlier ratios", IEEE Robotics and Automation Letters 7 (2022).
//!
//! No chance in it: three levels of voting on the graph of length-consistent matches. The match with most neighbours first; among
//! its neighbours the one with most neighbours there; and once more for the third. Each level ends when a larger consensus would
//! have been met with 99 % probability, had the order been random.
//!
//! The graph takes `n²/8` bytes; more than 1 GiB (92 681 matches) is refused.

use pcr99::{
    Similarity, StopReason,
    parts::{self, Affine, Soa},
    random::Random,
    stop::StopCheck,
};

use super::{
    Baseline, Found, KnownScale, Matches,
    blocks::{inliers, trials, triangle_model},
    graph::{LengthGraph, list_bits},
    watch::Watch,
};
use crate::Error;

/// How much the lengths of an edge may differ, in σ.
const EDGE: f64 = 5.0;
/// Of the consensus and of the transform that is returned, in σ.
const INLIER: f64 = 6.0;
const CONFIDENCE: f64 = 0.99;
/// Which part of the candidates of each level is looked at: one in so many.
const ONE_IN: [usize; 3] = [10, 10, 5];
/// Candidates of each level that are looked at before there is any consensus.
const FIRST_LIMITS: [f64; 3] = [459.0, 45.0, 45.0];

/// Three levels of voting; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct TriVoc {
    graph: LengthGraph,
    levels: [Level; 3],
    /// The candidates of the third level and the two matches before it, as columns.
    group: Soa,
    group_indices: Vec<u32>,
    /// The largest consensus.
    consensus: Vec<u32>,
    counted: Counted,
}

/// What there was to do.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Counted {
    /// Matches of the first level, those skipped included.
    firsts: u64,
    /// Transforms of three matches.
    hypotheses: u64,
    /// Inliers of the transform that the largest consensus gives, before they make the final one.
    inliers: usize,
}

/// Candidates in the order of their votes.
#[derive(Debug, Default)]
struct Level {
    set: Vec<u64>,
    members: Vec<u32>,
    votes: Vec<u32>,
    /// Votes and members, most votes first, equal ones in the order of the matches.
    order: Vec<(u32, u32)>,
}

impl Level {
    /// Orders the members by how many others of them they are alike to.
    fn rank(&mut self, rows: &[u64], watch: &mut Watch<'_>) -> Result<(), StopReason> {
        list_bits(self.set.iter().copied(), &mut self.members);
        self.order.clear();
        // In parts, so that there is time for a look at the clock.
        for part in self.members.chunks(1 + 100_000 / self.set.len()) {
            watch.work(part.len() * (self.set.len() + 1))?;
            parts::common_counts(rows, &self.set, part, &mut self.votes);
            self.order.extend(self.votes.iter().copied().zip(part.iter().copied()));
        }
        self.order.sort_unstable_by_key(|&(votes, i)| (std::cmp::Reverse(votes), i));
        Ok(())
    }

    /// Becomes what is set in both.
    fn assign_common(&mut self, one: &[u64], other: &[u64]) {
        self.set.clear();
        self.set.extend(one.iter().zip(other).map(|(x, y)| x & y));
    }
}

impl Baseline for TriVoc {
    type Scale = KnownScale;

    fn reserve(&mut self, method: &'static str, matches: usize) -> Result<(), Error> {
        self.graph.reserve(method, matches)
    }

    fn find(
        &mut self,
        matches: &Matches<'_>,
        KnownScale: KnownScale,
        _: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        self.consensus.clear();
        self.counted = Counted::default();
        let (Ok(stopped_because) | Err(stopped_because)) = self.search(matches, &mut Watch::new(stop));
        let model = self.refined(matches);
        let Counted { firsts, hypotheses, .. } = self.counted;
        Found { model, samples: firsts, hypotheses, stopped_because }
    }
}

impl TriVoc {
    /// Looks for the largest consensus; the reason to end is an error when it comes from outside.
    fn search(&mut self, matches: &Matches<'_>, watch: &mut Watch<'_>) -> Result<StopReason, StopReason> {
        let Matches { points, sigma } = *matches;
        let (n, delta_sq) = (points.len(), (INLIER * sigma).powi(2));
        self.graph.clear(n, EDGE * sigma);
        self.graph.fill(points, watch)?;
        let (graph, [first, second, third]) = (&self.graph, &mut self.levels);
        first.set.clear();
        first.set.extend((0..n.div_ceil(64)).map(|word| u64::MAX >> (64 - (n - 64 * word).min(64))));
        first.rank(graph.rows(), watch)?;

        // Limits stay when the match of a level above changes.
        let (mut best, mut limits) = (0, FIRST_LIMITS);
        for (k1, &(degree, u)) in (1_u32..).zip(&first.order[..n / ONE_IN[0]]) {
            self.counted.firsts += 1;
            watch.work(100)?;
            if degree as usize + 1 > best {
                let neighbours = graph.row(u as usize);
                second.assign_common(neighbours, neighbours);
                second.rank(graph.rows(), watch)?;
                for (k2, &(shared, v)) in (1_u32..).zip(&second.order[..degree as usize / ONE_IN[1]]) {
                    watch.work(100)?;
                    if shared as usize + 2 > best && shared > 0 {
                        third.assign_common(neighbours, graph.row(v as usize));
                        third.rank(graph.rows(), watch)?;
                        self.group_indices.clear();
                        self.group_indices.extend(third.members.iter().chain(&[u, v]));
                        self.group.assign_permuted(points, &self.group_indices);
                        for (k3, &(_, w)) in (1_u32..).zip(&third.order[..shared as usize / ONE_IN[2]]) {
                            watch.work(100 + 2 * self.group_indices.len())?;
                            if let Some(model) = triangle_model(points, [u, v, w].map(|i| i as usize)) {
                                self.counted.hypotheses += 1;
                                let affine = Affine::from(&model);
                                let count = parts::count_inliers(&self.group, &affine, delta_sq);
                                if count > best {
                                    best = count;
                                    keep(points, &self.group_indices, &affine, delta_sq, &mut self.consensus);
                                    limits = limits_of(best, [n, degree as usize, shared as usize]);
                                }
                            }
                            if f64::from(k3) >= limits[2] {
                                break;
                            }
                        }
                    }
                    if f64::from(k2) >= limits[1] {
                        break;
                    }
                }
            }
            if f64::from(k1) >= limits[0] {
                return Ok(StopReason::Confident);
            }
        }
        Ok(StopReason::Exhausted)
    }

    /// Least squares over the consensus, and again over the inliers of that.
    fn refined(&mut self, matches: &Matches<'_>) -> Option<Similarity> {
        let Matches { points, sigma } = *matches;
        let model = parts::fit(points, &self.consensus, Some(1.0))?;
        let inliers = inliers(points, &model, INLIER * sigma);
        self.counted.inliers = inliers.len();
        parts::fit(points, &inliers, Some(1.0)).or(Some(model))
    }
}

/// Those of `some` that a transform explains.
fn keep(points: &Soa, some: &[u32], model: &Affine, delta_sq: f64, kept: &mut Vec<u32>) {
    kept.clear();
    let explained = |&&i: &&u32| parts::squared_residual(points, model, i as usize) <= delta_sq;
    kept.extend(some.iter().filter(explained));
}

/// How many candidates of each level to look at, when `best` of all matches agree, of which one and two are given.
fn limits_of(best: usize, sizes: [usize; 3]) -> [f64; 3] {
    std::array::from_fn(|level| trials(CONFIDENCE, (best as f64 - level as f64) / sizes[level] as f64))
}
