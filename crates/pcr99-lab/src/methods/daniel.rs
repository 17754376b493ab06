//! DANIEL: L. Sun, "DANIEL: A fast and robust consensus maximization method for point cloud registration with high outlier ratios",
//! Information Sciences 614 (2022).
//!
//! Two layers of random samples. The outer draws one match and takes all that are length-consistent with it; the inner draws two
//! more of those, and a transform counts only when it agrees with that of another triple. Each layer stops when a better
//! consensus would have been drawn with 99 % probability.
//!
//! Memory grows with `n` only.

use pcr99::{
    Similarity, StopReason,
    parts::{self, Affine, Soa},
    random::Random,
    stop::StopCheck,
};

use super::{
    Baseline, Found, KnownScale, Matches,
    blocks::{Rotation, inliers, trials, triangle_model},
    graph::list_bits,
    watch::Watch,
};
use crate::vector::{Vector, add, times};

/// How much the lengths of an edge may differ, in σ.
const EDGE: f64 = 5.0;
/// Of the consensus and of the transform that is returned, in σ.
const INLIER: f64 = 6.0;
/// How much each component of the translations of two triples may differ, in σ.
const SAME_TRANSLATION: f64 = 7.0;
/// How much each element of their rotations may differ.
const SAME_ROTATION: f64 = 0.133;
/// The least share of inliers that is looked for.
const LEAST_SHARE: f64 = 0.01;
const CONFIDENCE: f64 = 0.99;
/// Of the inner layer before there is any consensus; there are twice as many draws as this asks for.
const FIRST_INNER_CONFIDENCE: f64 = 0.995;
/// Draws of the outer layer before there is any consensus: `ln(0.01)/ln(1 − 0.01)`.
const FIRST_OUTER_LIMIT: f64 = 459.0;
/// A consensus must have more than this.
const TOO_FEW: usize = 3;

/// Two layers of random samples; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Daniel {
    row: Vec<u64>,
    /// The matches that are length-consistent with the first one, by index and as columns.
    near: Vec<u32>,
    near_points: Soa,
    stored: Stored,
    kept: Vec<u32>,
    best: Vec<u32>,
    outer: u64,
    hypotheses: u64,
}

/// The transforms of the triples of one outer sample.
#[derive(Debug, Default)]
struct Stored {
    translations: [Vec<f64>; 3],
    rotations: Vec<Rotation>,
    pairs: Vec<[u32; 2]>,
}

impl Stored {
    fn clear(&mut self) {
        self.translations.iter_mut().for_each(Vec::clear);
        self.rotations.clear();
        self.pairs.clear();
    }

    fn push(&mut self, model: &Similarity, pair: [u32; 2]) {
        let translation = model.translation();
        self.translations.iter_mut().zip(translation).for_each(|(column, t)| column.push(t));
        self.rotations.push(model.rotation());
        self.pairs.push(pair);
    }

    /// Those whose translation is near, 64 at a time: one bit for each of the block that starts at `start`.
    fn near_translations(&self, start: usize, translation: Vector, bound: f64) -> u64 {
        let end = (start + 64).min(self.pairs.len());
        let [xs, ys, zs] = self.translations.each_ref().map(|column| &column[start..end]);
        let mut near = 0;
        for k in 0..end - start {
            let [x, y, z] = [xs[k] - translation[0], ys[k] - translation[1], zs[k] - translation[2]];
            let all = (x.abs() <= bound) & (y.abs() <= bound) & (z.abs() <= bound);
            near |= u64::from(all) << k;
        }
        near
    }

    /// Whether number `k` has about this rotation, and comes from two other matches.
    fn agrees(&self, k: usize, rotation: &Rotation, pair: [u32; 2]) -> bool {
        let close = |(x, y): (&f64, &f64)| (x - y).abs() <= SAME_ROTATION;
        let distinct = pair.iter().all(|i| !self.pairs[k].contains(i));
        distinct && self.rotations[k].as_flattened().iter().zip(rotation.as_flattened()).all(close)
    }

    fn model(&self, k: usize) -> Similarity {
        Similarity::new(1.0, self.rotations[k], self.translations.each_ref().map(|column| column[k]))
    }
}

impl Baseline for Daniel {
    type Scale = KnownScale;

    fn find(
        &mut self,
        matches: &Matches<'_>,
        KnownScale: KnownScale,
        random: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        self.best.clear();
        (self.outer, self.hypotheses) = (0, 0);
        let (Ok(stopped_because) | Err(stopped_because)) =
            self.search(matches, random, &mut Watch::new(stop));
        let model = refined(matches, &self.best);
        Found { model, samples: self.outer, hypotheses: self.hypotheses, stopped_because }
    }
}

impl Daniel {
    /// The outer layer; the reason to end is an error when it comes from outside.
    fn search(
        &mut self,
        matches: &Matches<'_>,
        random: &mut Random,
        watch: &mut Watch<'_>,
    ) -> Result<StopReason, StopReason> {
        let Matches { points, sigma } = *matches;
        let n = points.len();
        let least = LEAST_SHARE * n as f64;
        self.row.clear();
        self.row.resize(n.div_ceil(64), 0);
        let mut limit = FIRST_OUTER_LIMIT;
        while (self.outer as f64) < limit {
            watch.work(2 * n)?;
            self.outer += 1;
            let u = random.below(n);
            // A difference of zero would leave out the match itself, and all of exact data with it: it is left out by its index.
            parts::alike_row(points, u, EDGE * sigma, 0, &mut self.row);
            list_bits(self.row.iter().copied(), &mut self.near);
            let c = self.near.len();
            if c < 2 || (c as f64) < least {
                continue;
            }
            self.near_points.assign_permuted(points, &self.near);
            let agreed = self.agreement(matches, u, least, random, watch)?;
            if let Some((count, model)) = agreed
                && count > self.best.len().max(TOO_FEW)
            {
                let model = Affine::from(&model);
                let fits = |i: &u32| {
                    parts::squared_residual(points, &model, *i as usize) <= (INLIER * sigma).powi(2)
                };
                self.kept.clear();
                self.kept.extend(self.near.iter().filter(|i| fits(i)));
                if let Some(model) = parts::fit(points, &self.kept, Some(1.0)) {
                    self.best = inliers(points, &model, INLIER * sigma);
                    limit = trials(CONFIDENCE, self.best.len() as f64 / n as f64);
                }
            }
        }
        Ok(if self.best.is_empty() { StopReason::HypothesisLimit } else { StopReason::Confident })
    }

    /// The inner layer: the transform on which two triples with `u` agree that most of the matches near it follow, and how many.
    fn agreement(
        &mut self,
        matches: &Matches<'_>,
        u: usize,
        least: f64,
        random: &mut Random,
        watch: &mut Watch<'_>,
    ) -> Result<Option<(usize, Similarity)>, StopReason> {
        let Matches { points, sigma } = *matches;
        let c = self.near.len();
        let mut limit = 2.0 * trials(FIRST_INNER_CONFIDENCE, (least / c as f64).powi(2)).round();
        let (mut most, mut best, mut draws) = (0, None, 0_u64);
        self.stored.clear();
        loop {
            watch.work(20)?;
            draws += 1;
            let [v, w] = distinct_pair(random, c);
            if parts::length_difference(&self.near_points, v, w) <= EDGE * sigma {
                let pair = [self.near[v], self.near[w]];
                let triple = [pair[0] as usize, pair[1] as usize, u];
                if let Some(model) = triangle_model(points, triple) {
                    self.hypotheses += 1;
                    watch.work(100 + self.stored.pairs.len())?;
                    for start in (0..self.stored.pairs.len()).step_by(64) {
                        let (translation, bound) = (model.translation(), SAME_TRANSLATION * sigma);
                        let mut near = self.stored.near_translations(start, translation, bound);
                        while near != 0 {
                            let k = start + near.trailing_zeros() as usize;
                            near &= near - 1;
                            if self.stored.agrees(k, &model.rotation(), pair) {
                                watch.work(2 * c)?;
                                let middle = midpoint(&self.stored.model(k), &model);
                                let delta_sq = (INLIER * sigma).powi(2);
                                let count =
                                    parts::count_inliers(&self.near_points, &Affine::from(&middle), delta_sq);
                                if count > most {
                                    (most, best) = (count, Some((count, middle)));
                                    limit = trials(CONFIDENCE, (count as f64 / c as f64).powi(2));
                                }
                            }
                        }
                    }
                    self.stored.push(&model, pair);
                }
            }
            // After every draw: with no pair that passes, the published loop would have no end.
            if draws as f64 >= limit {
                return Ok(best);
            }
        }
    }
}

/// Two distinct indices below `bound`, which must be at least 2.
pub(crate) fn distinct_pair(random: &mut Random, bound: usize) -> [usize; 2] {
    let i = random.below(bound);
    let j = random.below(bound - 1);
    [i, j + usize::from(j >= i)]
}

/// Halfway between two transforms at scale one: `R₁·exp(½·log(R₁ᵀR₂))`, and the mean of the translations. The rotations must be less
/// than half a turn apart.
fn midpoint(one: &Similarity, other: &Similarity) -> Similarity {
    let back = Similarity::new(1.0, one.rotation(), [0.0; 3]).inverse();
    let [x, y, z] = Similarity::new(1.0, other.rotation(), [0.0; 3]).then(&back).rotation();
    // The quaternion (w, v) of that turn, of which (1 + w, v) is half the turn; all times 4w.
    let trace_and_one = (1.0 + x[0] + y[1] + z[2]).max(0.0);
    let four_w = 2.0 * trace_and_one.sqrt();
    let half = [four_w + trace_and_one, z[1] - y[2], x[2] - z[0], y[0] - x[1]];
    let turn = Similarity::from_quaternion(1.0, half, [0.0; 3]);
    let rotation = turn.then(&Similarity::new(1.0, one.rotation(), [0.0; 3])).rotation();
    Similarity::new(1.0, rotation, times(0.5, add(one.translation(), other.translation())))
}

/// Least squares over the inliers, and again over the inliers of that.
fn refined(matches: &Matches<'_>, best: &[u32]) -> Option<Similarity> {
    let Matches { points, sigma } = *matches;
    let model = parts::fit(points, best, Some(1.0))?;
    parts::fit(points, &inliers(points, &model, INLIER * sigma), Some(1.0)).or(Some(model))
}
