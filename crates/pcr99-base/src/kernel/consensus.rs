//! Number of inliers of a hypothesis: `e = s·R·a + t − b`, inlier ⇔ `‖e‖² ≤ δ_in²`. Where matches differ in noise, `‖e‖²` is multiplied by the precision.
//!
//! Only a hypothesis with more inliers than the best one so far matters, and few have them. Each hypothesis is therefore counted in single
//! precision first, with a threshold that is widened by the largest possible rounding error. That count is never too low. Only when it exceeds the best
//! count are the inliers counted exactly.

use crate::{Similarity, Soa, dispatch::compiled_twice};

/// A hypothesis in the form that the loops use: `s·R` and `t`.
#[derive(Debug, Clone, Copy)]
pub struct Affine {
    /// `s·R`, by rows.
    pub linear: [[f64; 3]; 3],
    /// `t`.
    pub translation: [f64; 3],
}

impl From<&Similarity> for Affine {
    fn from(model: &Similarity) -> Self {
        Self { linear: model.linear(), translation: model.translation() }
    }
}

compiled_twice! {
    /// Number of points whose squared residual is at most `delta_sq`.
    pub fn count_inliers(points: &Soa, model: &Affine, delta_sq: f64) -> usize = count_lanes
}

#[inline(always)]
fn count_lanes(points: &Soa, model: &Affine, delta_sq: f64) -> usize {
    let n = points.len();
    let [ax, ay, az] = points.a.each_ref().map(|column| &column[..n]); // equal lengths: no bounds checks below
    let [bx, by, bz] = points.b.each_ref().map(|column| &column[..n]);
    if !points.precision.is_empty() {
        return (0..n).filter(|&i| squared_residual(points, model, i) <= delta_sq).count();
    }
    let ([r0, r1, r2], [t0, t1, t2]) = (model.linear, model.translation);
    let mut count = 0;
    for i in 0..n {
        let ex = r0[0] * ax[i] + r0[1] * ay[i] + r0[2] * az[i] + t0 - bx[i];
        let ey = r1[0] * ax[i] + r1[1] * ay[i] + r1[2] * az[i] + t1 - by[i];
        let ez = r2[0] * ax[i] + r2[1] * ay[i] + r2[2] * az[i] + t2 - bz[i];
        count += usize::from(ex * ex + ey * ey + ez * ez <= delta_sq);
    }
    count
}

/// Squared residual of one point, relative to its noise, by the same operations as the count.
#[inline]
pub fn squared_residual(points: &Soa, model: &Affine, i: usize) -> f64 {
    squared_distance(points, model, i) * points.precision_of(i)
}

/// Squared distance between a moved source and its target, whatever the precision of the match.
#[inline]
pub fn squared_distance(points: &Soa, model: &Affine, i: usize) -> f64 {
    let ([x, y, z], b) = (points.source(i), points.target(i));
    let error = |axis: usize| {
        let row = model.linear[axis];
        row[0] * x + row[1] * y + row[2] * z + model.translation[axis] - b[axis]
    };
    let [ex, ey, ez] = [error(0), error(1), error(2)];
    ex * ex + ey * ey + ez * ez
}

/// The points in single precision, for upper bounds on a number of inliers.
#[derive(Debug, Clone, Default)]
pub struct Coarse {
    a: [Vec<f32>; 3],
    b: [Vec<f32>; 3],
    /// Factor of the threshold of each point: `s` of its noise; empty when all are alike.
    factors: Vec<f32>,
    /// The largest coordinate of the points that are not strays.
    reach: f64,
    /// Number of points so far off that they would make the bound useless. They are NaN in the columns and count as inliers in the bound.
    strays: usize,
}

/// Largest normalised coordinate of a point that is not a stray. Normalised coordinates of the bulk are at most 1, and the rounding error of single
/// precision grows with the largest coordinate.
const STRAY: f64 = 64.0;

impl Coarse {
    /// Copies `points`. The buffers are reused.
    pub fn assign(&mut self, points: &Soa) {
        let columns = self.a.iter_mut().chain(&mut self.b).zip(points.a.iter().chain(&points.b));
        (self.reach, self.strays) = (0.0, 0);
        let mut strays = false;
        for (to, from) in columns {
            to.resize(from.len(), 0.0);
            let (reach, some) = coarsen(from, to);
            self.reach = self.reach.max(reach);
            strays |= some;
        }
        if strays {
            let is_stray = |&i: &usize| points.a.iter().chain(&points.b).any(|x| x[i].abs() > STRAY);
            self.strays = (0..points.len()).filter(is_stray).count();
        }
        self.factors.clear();
        self.factors.extend(points.precision.iter().map(|precision| (1.0 / precision.sqrt()) as f32));
    }

    /// Whether `model` may have more than `floor` inliers within `delta`. False only when it certainly has not.
    pub fn may_exceed(&self, model: &Affine, delta: f64, floor: usize) -> bool {
        if self.strays > floor {
            return true;
        }
        let rounding = self.rounding(model);
        let widened = delta + rounding;
        let widened_sq = widened * widened * SAFETY;
        if rounding.is_nan() || rounding >= LARGEST_ROUNDING || widened_sq.is_nan() || widened_sq >= 1e30 {
            return true;
        }
        let floor = floor - self.strays;
        let linear = model.linear.map(|row| row.map(|x| x as f32));
        let translation = model.translation.map(|x| x as f32);
        if self.factors.is_empty() {
            exceeds(&self.a, &self.b, &linear, &translation, widened_sq as f32, floor)
        } else {
            let limit = [delta * SAFETY, rounding * SAFETY].map(|x| x as f32);
            exceeds_scaled(&self.a, &self.b, &self.factors, &linear, &translation, limit, floor)
        }
    }

    /// Largest rounding error of a residual in single precision.
    fn rounding(&self, model: &Affine) -> f64 {
        // Each component of a residual is a sum of five terms. Rounding of the inputs and of the four additions changes it by less than
        // 8 · 2⁻²⁴ times the sum of the sizes of the terms. A factor of 4 is for safety, and √3 for three components.
        let largest = |row: &[f64]| row.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let linear = model.linear.iter().map(|row| largest(row)).fold(0.0, f64::max);
        let sizes = self.reach * (3.0 * linear + 1.0) + largest(&model.translation);
        64.0 * f64::from(f32::EPSILON) * sizes
    }
}

/// Factor that makes up for the rounding of the threshold itself to single precision.
const SAFETY: f64 = 1.0 + 1e-5;
/// Rounding error from which the numbers are too large for single precision.
const LARGEST_ROUNDING: f64 = 64.0 * f32::EPSILON as f64 * 1e15;

compiled_twice! {
    /// Rounds one column to single precision, strays to NaN; returns the largest size of the others, and whether there are strays.
    fn coarsen(from: &[f64], to: &mut [f32]) -> (f64, bool) = coarsen_lanes
}

#[inline(always)]
fn coarsen_lanes(from: &[f64], to: &mut [f32]) -> (f64, bool) {
    // Several side by side: the largest is the same in any order.
    const LANES: usize = 8;
    let mut largest = [0.0_f64; LANES];
    let mut strays = [false; LANES];
    let mut coarsen = |from: &f64, to: &mut f32, lane: usize| {
        let size = from.abs();
        // False for NaN.
        let near = size <= STRAY;
        *to = if near { *from as f32 } else { f32::NAN };
        let size = if near { size } else { 0.0 };
        largest[lane] = if size > largest[lane] { size } else { largest[lane] };
        strays[lane] |= !near;
    };
    let ((from, last_from), (to, last_to)) = (from.as_chunks::<LANES>(), to.as_chunks_mut::<LANES>());
    for (from, to) in from.iter().zip(to) {
        for lane in 0..LANES {
            coarsen(&from[lane], &mut to[lane], lane);
        }
    }
    for (lane, (from, to)) in last_from.iter().zip(last_to).enumerate() {
        coarsen(from, to, lane);
    }
    (largest.into_iter().fold(0.0, f64::max), strays.contains(&true))
}

/// Number of points between two tests for leaving the loop early.
const BLOCK: usize = 128;

compiled_twice! {
    /// Whether more than `floor` points are within the threshold. Ends early once the remaining points cannot change the answer.
    fn exceeds(
        a: &[Vec<f32>; 3], b: &[Vec<f32>; 3], linear: &[[f32; 3]; 3], translation: &[f32; 3], delta_sq: f32, floor: usize,
    ) -> bool = exceeds_lanes
}

#[inline(always)]
fn exceeds_lanes(
    a: &[Vec<f32>; 3],
    b: &[Vec<f32>; 3],
    linear: &[[f32; 3]; 3],
    translation: &[f32; 3],
    delta_sq: f32,
    floor: usize,
) -> bool {
    let n = a[0].len();
    let ([r0, r1, r2], [t0, t1, t2]) = (*linear, *translation);
    let mut count = 0;
    let mut start = 0;
    while start < n {
        let end = (start + BLOCK).min(n);
        let [ax, ay, az] = a.each_ref().map(|column| &column[start..end]);
        let [bx, by, bz] = b.each_ref().map(|column| &column[start..end]);
        let mut inside = 0_u32;
        for i in 0..end - start {
            let ex = r0[0] * ax[i] + r0[1] * ay[i] + r0[2] * az[i] + (t0 - bx[i]);
            let ey = r1[0] * ax[i] + r1[1] * ay[i] + r1[2] * az[i] + (t1 - by[i]);
            let ez = r2[0] * ax[i] + r2[1] * ay[i] + r2[2] * az[i] + (t2 - bz[i]);
            inside += u32::from(ex * ex + ey * ey + ez * ez <= delta_sq);
        }
        count += inside as usize;
        start = end;
        if count > floor {
            return true;
        }
        if count + (n - end) <= floor {
            return false;
        }
    }
    false
}

compiled_twice! {
    /// As [`exceeds`], where `limit` is `[delta, rounding]` and the threshold of point `i` is `delta·factors[i] + rounding`.
    fn exceeds_scaled(
        a: &[Vec<f32>; 3], b: &[Vec<f32>; 3], factors: &[f32], linear: &[[f32; 3]; 3], translation: &[f32; 3],
        limit: [f32; 2], floor: usize,
    ) -> bool = exceeds_scaled_lanes
}

#[inline(always)]
fn exceeds_scaled_lanes(
    a: &[Vec<f32>; 3],
    b: &[Vec<f32>; 3],
    factors: &[f32],
    linear: &[[f32; 3]; 3],
    translation: &[f32; 3],
    [delta, rounding]: [f32; 2],
    floor: usize,
) -> bool {
    let n = factors.len();
    let [ax, ay, az] = a.each_ref().map(|column| &column[..n]);
    let [bx, by, bz] = b.each_ref().map(|column| &column[..n]);
    let ([r0, r1, r2], [t0, t1, t2]) = (*linear, *translation);
    let mut count = 0_u32;
    for i in 0..n {
        let ex = r0[0] * ax[i] + r0[1] * ay[i] + r0[2] * az[i] + (t0 - bx[i]);
        let ey = r1[0] * ax[i] + r1[1] * ay[i] + r1[2] * az[i] + (t1 - by[i]);
        let ez = r2[0] * ax[i] + r2[1] * ay[i] + r2[2] * az[i] + (t2 - bz[i]);
        let limit = delta * factors[i] + rounding;
        count += u32::from(ex * ex + ey * ey + ez * ez <= limit * limit);
    }
    count as usize > floor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{random::Random, test_points};
    use proptest::{array::uniform3, prelude::*, sample::Index};

    proptest! {
        /// Lengths meet every remainder of the vector width; the threshold sits exactly on one point, so a single wrong
        /// rounding changes the count.
        #[test]
        fn fast_equals_reference(
            n in 1_usize..67, seed in any::<u64>(),
            linear in uniform3(uniform3(-2.0..2.0)), translation in uniform3(-2.0..2.0), pick in any::<Index>(),
        ) {
            let (mut points, model) = (test_points::random(n, seed), Affine { linear, translation });
            if seed % 2 == 0 {
                points.precision = (0..n).map(|i| points.a[0][i].abs() + 0.1).collect();
            }
            let delta_sq = squared_residual(&points, &model, pick.index(n));
            let expected = (0..n).filter(|&i| squared_residual(&points, &model, i) <= delta_sq).count();
            prop_assert_eq!(count_inliers(&points, &model, delta_sq), expected);
            prop_assert_eq!(count_lanes(&points, &model, delta_sq), expected, "the plain compilation");
        }

        /// A bound: never says no when the exact count is above the floor, whatever the sizes of the numbers. The residuals go down
        /// to far below what single precision can tell, so that a bound that is too tight is seen.
        #[test]
        fn coarse_count_is_never_too_small(
            n in 1_usize..200, seed in any::<u64>(), linear in uniform3(uniform3(-2.0..2.0)),
            translation in prop_oneof![Just([0.0; 3]), uniform3(-2.0..2.0)], power in prop_oneof![4 => -1..2_i32, 1 => -8..24],
            noise in prop_oneof![2 => 7..12_i32, 1 => 0..7], reach in prop_oneof![4 => 0..2_i32, 1 => 2..4],
            pick in any::<Index>(),
        ) {
            let mut random = Random::new(seed);
            let factor = 10_f64.powi(power);
            let model = Affine { linear: linear.map(|r| r.map(|x| x * factor)), translation: translation.map(|x| x * factor) };
            let mut points = Soa::default();
            for _ in 0..n {
                let a: [f64; 3] = std::array::from_fn(|_| 10_f64.powi(reach) * (random.uniform() - 0.5));
                for axis in 0..3 {
                    let row = model.linear[axis];
                    let moved = row[0] * a[0] + row[1] * a[1] + row[2] * a[2] + model.translation[axis];
                    points.a[axis].push(a[axis]);
                    points.b[axis].push(moved + 10_f64.powi(-noise) * random.gaussian());
                }
                if seed % 2 == 0 {
                    points.precision.push(10_f64.powf(4.0 * random.uniform() - 2.0));
                }
            }
            let delta_sq = squared_residual(&points, &model, pick.index(n));
            let exact = count_inliers(&points, &model, delta_sq);
            let mut coarse = Coarse::default();
            coarse.assign(&points);
            prop_assert!(coarse.may_exceed(&model, delta_sq.sqrt(), exact - 1));
            // The plain compilation decides alike.
            let narrow = |x: f64| x as f32;
            let (linear, translation) = (model.linear.map(|row| row.map(narrow)), model.translation.map(narrow));
            for floor in [exact - 1, n / 2] {
                let decide = |f: fn(&_, &_, &_, &_, f32, usize) -> bool| f(&coarse.a, &coarse.b, &linear, &translation, delta_sq as f32, floor);
                prop_assert_eq!(decide(exceeds), decide(exceeds_lanes));
                if !coarse.factors.is_empty() {
                    let limit = [delta_sq.sqrt() as f32, 0.0];
                    let decide = |f: fn(&_, &_, &[f32], &_, &_, [f32; 2], usize) -> bool| {
                        f(&coarse.a, &coarse.b, &coarse.factors, &linear, &translation, limit, floor)
                    };
                    prop_assert_eq!(decide(exceeds_scaled), decide(exceeds_scaled_lanes));
                }
            }
        }
    }

    /// A stray fits in double precision at most; here it counts as if it did, and spoils nothing for the others.
    #[test]
    fn strays_count_as_inliers() {
        let mut points = test_points::random(1000, 3);
        points.a[0][5] = 1e30;
        points.b[1][7] = 1e50;
        let mut coarse = Coarse::default();
        coarse.assign(&points);
        assert_eq!(coarse.strays, 2);
        let far_off =
            Affine { linear: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], translation: [9.0; 3] };
        assert!(coarse.may_exceed(&far_off, 0.01, 1) && !coarse.may_exceed(&far_off, 0.01, 2));
    }

    #[test]
    fn coarse_count_rejects_what_is_far_off() {
        let points = test_points::random(1000, 3);
        let mut coarse = Coarse::default();
        coarse.assign(&points);
        let model =
            Affine { linear: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], translation: [9.0; 3] };
        assert!(!coarse.may_exceed(&model, 0.01, 0));
    }
}
