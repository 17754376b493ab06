//! DANIEL: L. Sun, "DANIEL: A fast and robust consensus maximization method for point cloud registration with high outlier ratios",
//! Information Sciences 614 (2022).
//!
//! Two layers of random samples. The outer layer draws one match and takes all matches that are length-consistent with it. The inner layer draws two
//! of those; a transform counts only when it agrees with that of another triple. Each layer stops when a larger consensus would have been
//! found with 99 % probability.
//!
//! Memory grows linearly with the number of matches.

use pcr99::{Similarity, StopReason, random::Random, stop::StopCheck};
use pcr99_base::{
    Soa,
    kernel::{
        consensus::{Affine, count_inliers, squared_residual},
        lengths::alike_row,
        near::near_bits,
    },
    least_squares, rotation_of,
    vector::{plus, times},
};

use crate::{
    baseline::{Baseline, Found, KnownScale, Matches},
    blocks::{Rotation, distinct_pair, inliers, trials, triangle_model},
    graph::list_bits,
    watch::Watch,
};

/// Largest difference of the lengths of an edge, in σ.
const EDGE: f64 = 5.0;
/// Inlier threshold, in σ.
const INLIER: f64 = 6.0;
/// Largest difference of each component of the translations of two triples, in σ: published as 0.07 with noise of 0.01.
const SAME_TRANSLATION: f64 = 7.0;
/// Largest difference of each element of the rotations of two triples.
const SAME_ROTATION: f64 = 0.133;
/// Smallest inlier ratio that the search aims at.
const LEAST_SHARE: f64 = 0.01;
const CONFIDENCE: f64 = 0.99;
/// Confidence of the inner layer before there is any consensus. The number of draws is twice what it demands, as published.
const FIRST_INNER_CONFIDENCE: f64 = 0.995;
/// Draws of the outer layer before there is any consensus: `ln(0.01)/ln(1 − 0.01)`.
const FIRST_OUTER_LIMIT: f64 = 459.0;
/// Size of a consensus that is too small: any three matches have it.
const TOO_FEW: usize = 3;

/// Two layers of random samples; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Daniel {
    row: Vec<u64>,
    /// Matches that are length-consistent with the first one, by index and as columns.
    near: Vec<u32>,
    near_points: Soa,
    /// The matches as rows for random access: source, then target.
    near_rows: Vec<[f64; 6]>,
    stored: Stored,
    tried: Tried,
    kept: Vec<u32>,
    best: Vec<u32>,
    outer: u64,
    hypotheses: u64,
}

/// Transforms of the triples of one outer sample.
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

    /// Whether transform `k` has about this rotation and comes from two other matches.
    fn agrees(&self, k: usize, rotation: &Rotation, pair: [u32; 2]) -> bool {
        let close = |(x, y): (&f64, &f64)| (x - y).abs() <= SAME_ROTATION;
        let distinct = pair.iter().all(|i| !self.pairs[k].contains(i));
        distinct && self.rotations[k].as_flattened().iter().zip(rotation.as_flattened()).all(close)
    }

    fn model(&self, k: usize) -> Similarity {
        Similarity::new_unchecked(
            1.0,
            self.rotations[k],
            self.translations.each_ref().map(|column| column[k]),
        )
    }
}

/// Ordered pairs that were drawn before and need no second test. They are stored only when there are more draws than pairs, that is with few
/// matches.
#[derive(Debug, Default)]
struct Tried {
    bits: Vec<u64>,
    members: usize,
    /// Number of pairs that were not drawn yet.
    left: usize,
}

impl Tried {
    /// Starts with no pair drawn; `draws` is the number of draws to come.
    fn clear(&mut self, members: usize, draws: f64) {
        let pairs = members * (members - 1);
        (self.members, self.left) = (members, pairs);
        self.bits.clear();
        if draws >= pairs as f64 {
            self.bits.resize((members * members).div_ceil(64), 0);
        }
    }

    /// Marks a pair as drawn; true when it was not marked before, or when pairs are not stored.
    fn is_new(&mut self, [i, j]: [usize; 2]) -> bool {
        let at = i * self.members + j;
        let Some(word) = self.bits.get_mut(at / 64) else { return true };
        let is_new = *word >> (at % 64) & 1 == 0;
        *word |= 1 << (at % 64);
        self.left -= usize::from(is_new);
        is_new
    }

    /// Whether all pairs were drawn.
    fn all(&self) -> bool {
        self.left == 0
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
    /// Outer layer; an error means that the caller stopped the search.
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
            // The match itself is excluded by its index. A test for a difference of zero would exclude all matches of exact data.
            alike_row(points, u, EDGE * sigma, 0, &mut self.row);
            list_bits(self.row.iter().copied(), &mut self.near);
            let c = self.near.len();
            if c < 2 || (c as f64) < least {
                continue;
            }
            self.near_points.assign_permuted(points, &self.near);
            self.near_rows.clear();
            self.near_rows.extend(self.near.iter().map(|&i| {
                let ([ax, ay, az], [bx, by, bz]) = (points.source(i as usize), points.target(i as usize));
                [ax, ay, az, bx, by, bz]
            }));
            let agreed = self.agreement(matches, u, least, random, watch)?;
            if let Some((count, model)) = agreed
                && count > self.best.len().max(TOO_FEW)
            {
                let model = Affine::from(&model);
                let fits =
                    |i: &u32| squared_residual(points, &model, *i as usize) <= (INLIER * sigma).powi(2);
                self.kept.clear();
                self.kept.extend(self.near.iter().filter(|i| fits(i)));
                if let Some(model) = least_squares::fit(points, &self.kept, Some(1.0)) {
                    self.best = inliers(points, &model, INLIER * sigma);
                    limit = trials(CONFIDENCE, self.best.len() as f64 / n as f64);
                }
            }
        }
        Ok(if self.best.is_empty() { StopReason::HypothesisLimit } else { StopReason::Confident })
    }

    /// Inner layer: the transform with most inliers on which two triples with `u` agree, and the number of inliers.
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
        self.tried.clear(c, limit);
        loop {
            watch.work(20)?;
            draws += 1;
            let [v, w] = distinct_pair(random, c);
            if self.tried.is_new([v, w]) && are_alike(&self.near_rows[v], &self.near_rows[w], EDGE * sigma) {
                let pair = [self.near[v], self.near[w]];
                let triple = [pair[0] as usize, pair[1] as usize, u];
                if let Some(model) = triangle_model(points, triple) {
                    self.hypotheses += 1;
                    if let Some((count, middle)) = self.compare(&model, pair, most, sigma, watch)? {
                        (most, best) = (count, Some((count, middle)));
                        limit = trials(CONFIDENCE, (count as f64 / c as f64).powi(2));
                    }
                    self.stored.push(&model, pair);
                }
            }
            // Counted after every draw. The published loop would not end when no pair passes.
            if draws as f64 >= limit || self.tried.all() {
                return Ok(best);
            }
        }
    }

    /// Compares a transform with all stored ones. Returns the midpoint with most inliers between it and a transform that agrees with it, and the
    /// number of inliers, if that is above `most`.
    fn compare(
        &self,
        model: &Similarity,
        pair: [u32; 2],
        mut most: usize,
        sigma: f64,
        watch: &mut Watch<'_>,
    ) -> Result<Option<(usize, Similarity)>, StopReason> {
        let (rotation, translation) = (model.rotation(), model.translation());
        let mut best = None;
        watch.work(100 + self.stored.pairs.len())?;
        for start in (0..self.stored.pairs.len()).step_by(64) {
            let bound = SAME_TRANSLATION * sigma;
            let mut near = near_bits(&self.stored.translations, start, translation, bound);
            while near != 0 {
                let k = start + near.trailing_zeros() as usize;
                near &= near - 1;
                if self.stored.agrees(k, &rotation, pair) {
                    watch.work(2 * self.near.len())?;
                    let middle = midpoint(&self.stored.model(k), model);
                    let delta_sq = (INLIER * sigma).powi(2);
                    let count = count_inliers(&self.near_points, &Affine::from(&middle), delta_sq);
                    if count > most {
                        (most, best) = (count, Some((count, middle)));
                    }
                }
            }
        }
        Ok(best)
    }
}

/// Whether the lengths of an edge, `‖a − a'‖` and `‖b − b'‖`, differ by at most `tau`.
fn are_alike(one: &[f64; 6], other: &[f64; 6], tau: f64) -> bool {
    let difference = |axis: usize| one[axis] - other[axis];
    let square = |x: f64, y: f64, z: f64| x * x + y * y + z * z;
    let a_sq = square(difference(0), difference(1), difference(2));
    let b_sq = square(difference(3), difference(4), difference(5));
    // |A − B| ≤ τ·(√A + √B) ≤ τ·√(2(A + B)) rejects most edges without roots; the factor allows for rounding.
    let (sum, gap) = (a_sq + b_sq, a_sq - b_sq);
    gap * gap <= 2.0 * tau * tau * sum * (1.0 + 1e-9) && (a_sq.sqrt() - b_sq.sqrt()).abs() <= tau
}

/// Midpoint of two transforms at scale 1: `R₁·exp(½·log(R₁ᵀR₂))`, and the mean of the translations. The angle between the rotations must be
/// below 180°.
fn midpoint(one: &Similarity, other: &Similarity) -> Similarity {
    let back = Similarity::new_unchecked(1.0, one.rotation(), [0.0; 3]).inverse();
    let [x, y, z] = Similarity::new_unchecked(1.0, other.rotation(), [0.0; 3]).then(&back).rotation();
    // (w, v) is the quaternion of the rotation between them, and (1 + w, v) that of half its angle; all times 4w.
    let trace_and_one = (1.0 + x[0] + y[1] + z[2]).max(0.0);
    let four_w = 2.0 * trace_and_one.sqrt();
    let half = [four_w + trace_and_one, z[1] - y[2], x[2] - z[0], y[0] - x[1]];
    let turn = Similarity::new_unchecked(1.0, rotation_of(half), [0.0; 3]);
    let rotation = turn.then(&Similarity::new_unchecked(1.0, one.rotation(), [0.0; 3])).rotation();
    Similarity::new_unchecked(1.0, rotation, times(0.5, plus(one.translation(), other.translation())))
}

/// Least squares on the inliers, and again on the inliers of the result.
fn refined(matches: &Matches<'_>, best: &[u32]) -> Option<Similarity> {
    let Matches { points, sigma } = *matches;
    let model = least_squares::fit(points, best, Some(1.0))?;
    least_squares::fit(points, &inliers(points, &model, INLIER * sigma), Some(1.0)).or(Some(model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, blocks::angle_between, problems::largest_error};
    use pcr99_base::kernel::lengths::length_difference;
    use proptest::{array::uniform3, prelude::*};

    proptest! {
        /// The midpoint is half as far from both rotations as they are from each other; only one rotation is.
        #[test]
        fn midpoint_is_halfway(
            first in uniform3(-1.0..1.0_f64), turn in uniform3(-1.0..1.0_f64), t in uniform3(-1.0..1.0_f64),
        ) {
            let one = Similarity::from_quaternion(1.0, [1.0, first[0], first[1], first[2]], t).expect("a similarity");
            let turn = Similarity::from_quaternion(1.0, [1.0, turn[0], turn[1], turn[2]], [0.0; 3]).expect("a similarity");
            let other = turn.then(&one);
            let middle = midpoint(&one, &other);
            let apart = |x: &Similarity, y: &Similarity| angle_between(&x.rotation(), &y.rotation());
            let half = 0.5 * apart(&one, &other);
            prop_assert!((apart(&one, &middle) - half).abs() < 1e-7);
            prop_assert!((apart(&middle, &other) - half).abs() < 1e-7);
            for axis in 0..3 {
                let mean = 0.5 * (one.translation()[axis] + other.translation()[axis]);
                prop_assert!((middle.translation()[axis] - mean).abs() < 1e-12);
            }
        }

        /// The shortcut gives the same result, also exactly at the bound.
        #[test]
        fn edges_are_alike_by_their_lengths(
            one in proptest::array::uniform6(-1.0..1.0_f64), other in proptest::array::uniform6(-1.0..1.0_f64),
            far in prop_oneof![3 => Just(1.0), 1 => Just(1e60), 1 => Just(1e200)], factor in 0.5..2.0_f64,
        ) {
            let other = other.map(|x| far * x);
            let points = Soa::new(
                std::array::from_fn(|axis| vec![one[axis], other[axis]]),
                std::array::from_fn(|axis| vec![one[axis + 3], other[axis + 3]]),
            );
            let difference = length_difference(&points, 0, 1);
            for tau in [difference, difference * factor, 0.05] {
                prop_assert_eq!(are_alike(&one, &other, tau), difference <= tau);
            }
        }
    }

    #[test]
    fn the_middle_of_a_quarter_turn_is_an_eighth() {
        let quarter =
            Similarity::from_quaternion(1.0, [1.0, 0.0, 0.0, 1.0], [2.0, 0.0, 0.0]).expect("a similarity");
        let middle = midpoint(&Similarity::IDENTITY, &quarter);
        let root = 0.5_f64.sqrt();
        let expected = [[root, -root, 0.0], [root, root, 0.0], [0.0, 0.0, 1.0]];
        let off = middle.rotation().into_iter().flatten().zip(expected.into_iter().flatten());
        assert!(off.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max) < 1e-15);
        assert_eq!(middle.translation(), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn repetitions_are_known_where_they_matter() {
        let mut tried = Tried::default();
        tried.clear(3, 1000.0);
        assert!(tried.is_new([0, 1]) && tried.is_new([1, 0]) && !tried.is_new([0, 1]));
        assert!([[0, 2], [2, 0], [1, 2]].into_iter().all(|pair| tried.is_new(pair)) && !tried.all());
        assert!(tried.is_new([2, 1]) && tried.all());
        tried.clear(100, 1000.0);
        assert!(tried.is_new([0, 1]) && tried.is_new([0, 1]) && !tried.all());
    }

    #[test]
    fn pairs_are_distinct_and_uniform() {
        let mut random = Random::new(1);
        let mut seen = [[0_u32; 4]; 4];
        for _ in 0..12_000 {
            let [i, j] = distinct_pair(&mut random, 4);
            seen[i][j] += 1;
        }
        // The expected count is 1000; five standard deviations are 151.
        assert!((0..4).all(|i| (0..4).all(|j| seen[i][j].abs_diff(if i == j { 0 } else { 1000 }) < 152)));
        assert!((0..4).all(|i| seen[i][i] == 0));
    }

    #[test]
    fn solves_what_it_can() {
        for ratio in [0.0, 0.5, 0.9, 0.97] {
            assert!(largest_error(Method::Daniel, Some(2.5), ratio, 5) < 4.0, "{ratio}");
        }
    }
}
