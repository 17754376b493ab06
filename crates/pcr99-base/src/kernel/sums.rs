//! Sums over many points, for least squares and for the extent of the targets.
//!
//! Point `i` goes into sum `i mod 4` of four interleaved sums, which are added in a fixed order at the end. A vector unit does the same, so the result does
//! not depend on whether there is one.

use crate::Soa;

/// Number of interleaved sums: one vector register of AVX2.
const LANES: usize = 4;
type Lanes = [f64; LANES];

/// Runs `$add` with four numbers of each column at a time. The last group is filled with zeros, in the first column with `$filling`.
///
/// This is a macro because a closure that is called in two places would be compiled without the target features of its caller.
macro_rules! by_lanes {
    ($n:expr, $filling:expr, [$first:ident $(, $column:ident)*], |$lanes:pat_param| $add:block) => {{
        let whole = $n / LANES * LANES;
        let rest = $n - whole;
        let mut last = [[$filling; LANES] $(, { let _ = &$column; [0.0; LANES] })*];
        for (last, column) in last.iter_mut().zip([&$first[whole..$n] $(, &$column[whole..$n])*]) {
            last[..rest].copy_from_slice(column);
        }
        let ($first $(, $column)*) =
            ($first[..whole].as_chunks::<LANES>().0 $(, $column[..whole].as_chunks::<LANES>().0)*);
        for k in 0..whole / LANES {
            let $lanes: [Lanes; _] = [$first[k] $(, $column[k])*];
            $add
        }
        if rest > 0 {
            let $lanes: [Lanes; _] = last;
            $add
        }
    }};
}

/// Sums over matches that determine the least-squares fit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FitSums {
    /// `Σ 1`, or the sum of the weights.
    pub count: f64,
    /// `Σ a`.
    pub a: [f64; 3],
    /// `Σ b`.
    pub b: [f64; 3],
    /// `Σ a·bᵀ`, one row per coordinate of `a`.
    pub products: [[f64; 3]; 3],
    /// `Σ ‖a‖²`.
    pub squares: f64,
}

impl FitSums {
    fn from_lanes(sums: &[Lanes; 17]) -> Self {
        let total = |k: usize| together(&sums[k]);
        let vector = |k: usize| [total(k), total(k + 1), total(k + 2)];
        Self {
            count: total(0),
            a: vector(1),
            b: vector(4),
            products: [vector(7), vector(10), vector(13)],
            squares: total(16),
        }
    }
}

/// Sums for a least-squares fit over the matches whose squared residual is at most `delta_sq`, each weighted by its precision.
pub fn fit_sums_within(points: &Soa, residuals: &[f64], delta_sq: f64) -> FitSums {
    if !points.precision.is_empty() {
        return fit_sums_weighted(points, residuals, delta_sq);
    }
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        return unsafe { avx2::fit_sums(points, residuals, delta_sq) };
    }
    fit_sums_lanes(points, residuals, delta_sq)
}

fn fit_sums_lanes(points: &Soa, residuals: &[f64], delta_sq: f64) -> FitSums {
    let mut sums = [[0.0; LANES]; 17];
    let [ax, ay, az] = &points.a;
    let [bx, by, bz] = &points.b;
    by_lanes!(residuals.len(), f64::INFINITY, [residuals, ax, ay, az, bx, by, bz], |[
        rest,
        ax,
        ay,
        az,
        bx,
        by,
        bz,
    ]| {
        // Selected, not multiplied by zero: a coordinate outside may be infinite.
        let keep = |x: Lanes| each(|k| if rest[k] <= delta_sq { x[k] } else { 0.0 });
        let (a, b) = ([keep(ax), keep(ay), keep(az)], [keep(bx), keep(by), keep(bz)]);
        plus(&mut sums[0], keep([1.0; LANES]));
        for row in 0..3 {
            plus(&mut sums[1 + row], a[row]);
            plus(&mut sums[4 + row], b[row]);
            for column in 0..3 {
                plus(&mut sums[7 + 3 * row + column], each(|k| a[row][k] * b[column][k]));
            }
        }
        plus(&mut sums[16], each(|k| a[0][k] * a[0][k] + a[1][k] * a[1][k] + a[2][k] * a[2][k]));
    });
    FitSums::from_lanes(&sums)
}

/// As [`fit_sums_within`], where matches differ in precision.
fn fit_sums_weighted(points: &Soa, residuals: &[f64], delta_sq: f64) -> FitSums {
    let mut sums = [[0.0; LANES]; 17];
    for (i, _) in residuals.iter().enumerate().filter(|(_, sq)| **sq <= delta_sq) {
        let (a, b, weight) = (points.source(i), points.target(i), points.precision[i]);
        let mut add = |sum: usize, term: f64| sums[sum][i % LANES] += term;
        add(0, weight);
        for row in 0..3 {
            add(1 + row, weight * a[row]);
            add(4 + row, weight * b[row]);
            for (column, b) in b.iter().enumerate() {
                add(7 + 3 * row + column, weight * a[row] * b);
            }
        }
        add(16, weight * (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]));
    }
    FitSums::from_lanes(&sums)
}

/// Sums and sums of products of the coordinates of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// Sums of x, y and z.
    pub sum: [f64; 3],
    /// `Σ xx, xy, xz, yy, yz, zz`.
    pub products: [f64; 6],
    /// Largest squared distance from the origin.
    pub farthest_sq: f64,
}

/// Sums over the points of one side, block by block.
///
/// The result does not depend on how the points are divided into blocks, as long as all blocks but the last hold a multiple of four points.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpreadSums {
    sums: [Lanes; 9],
    farthest_sq: Lanes,
}

impl SpreadSums {
    /// Adds points, given by their columns.
    pub fn add(&mut self, columns: [&[f64]; 3]) {
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx2() {
            // SAFETY: the line above checked that this CPU has AVX2.
            return unsafe { avx2::add_spread(self, columns) };
        }
        add_spread_lanes(self, columns);
    }

    /// The sums over all points that were added.
    pub fn total(&self) -> Spread {
        Spread {
            sum: [0, 1, 2].map(|k: usize| together(&self.sums[k])),
            products: [3, 4, 5, 6, 7, 8].map(|k: usize| together(&self.sums[k])),
            farthest_sq: self.farthest_sq.iter().fold(0.0, |most, x| x.max(most)),
        }
    }
}

/// Sums over all points of one side.
pub fn spread(columns: &[Vec<f64>; 3]) -> Spread {
    let mut sums = SpreadSums::default();
    sums.add(columns.each_ref().map(Vec::as_slice));
    sums.total()
}

fn add_spread_lanes(state: &mut SpreadSums, columns: [&[f64]; 3]) {
    let SpreadSums { mut sums, mut farthest_sq } = *state;
    let [x, y, z] = columns;
    by_lanes!(x.len(), 0.0, [x, y, z], |[x, y, z]| {
        let times = |a: Lanes, b: Lanes| each(|k| a[k] * b[k]);
        let terms = [x, y, z, times(x, x), times(x, y), times(x, z), times(y, y), times(y, z), times(z, z)];
        for k in 0..9 {
            plus(&mut sums[k], terms[k]);
        }
        let size_sq = each(|k| terms[3][k] + terms[6][k] + terms[8][k]);
        farthest_sq = each(|k| if size_sq[k] > farthest_sq[k] { size_sq[k] } else { farthest_sq[k] });
    });
    *state = SpreadSums { sums, farthest_sq };
}

/// Sum of numbers, in the order of the four interleaved sums.
pub fn sum(values: &[f64]) -> f64 {
    let (fours, rest) = values.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    fours.iter().for_each(|four| plus(&mut sums, *four));
    sums.iter_mut().zip(rest).for_each(|(sum, x)| *sum += x);
    together(&sums)
}

#[inline(always)]
fn each(value: impl Fn(usize) -> f64) -> Lanes {
    [value(0), value(1), value(2), value(3)]
}

#[inline(always)]
fn plus(sum: &mut Lanes, term: Lanes) {
    *sum = each(|k| sum[k] + term[k]);
}

fn together(lanes: &Lanes) -> f64 {
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

/// AVX2 versions of the loops above: same operations in the same order, same bits.
///
/// Compilers do not vectorise these loops. There are more sums than registers, so the products have a pass of their own.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{FitSums, LANES, Lanes, Soa, SpreadSums};

    #[target_feature(enable = "avx2")]
    pub(super) fn fit_sums(points: &Soa, residuals: &[f64], delta_sq: f64) -> FitSums {
        let limit = _mm256_set1_pd(delta_sq);
        let [ax, ay, az] = &points.a;
        let [bx, by, bz] = &points.b;
        let one = _mm256_set1_pd(1.0);
        // Selected, not multiplied by zero: a coordinate outside may be infinite.
        let inside = |rest: __m256d| _mm256_cmp_pd::<_CMP_LE_OQ>(rest, limit);
        let (mut plain, mut products) = ([_mm256_setzero_pd(); 8], [_mm256_setzero_pd(); 9]);
        by_lanes!(residuals.len(), f64::INFINITY, [residuals, ax, ay, az, bx, by, bz], |[
            rest,
            ax,
            ay,
            az,
            bx,
            by,
            bz,
        ]| {
            let inside = inside(load(rest));
            let keep = |x: __m256d| _mm256_and_pd(x, inside);
            let [ax, ay, az] = [keep(load(ax)), keep(load(ay)), keep(load(az))];
            let [bx, by, bz] = [keep(load(bx)), keep(load(by)), keep(load(bz))];
            let squares = _mm256_add_pd(
                _mm256_add_pd(_mm256_mul_pd(ax, ax), _mm256_mul_pd(ay, ay)),
                _mm256_mul_pd(az, az),
            );
            let terms = [keep(one), ax, ay, az, bx, by, bz, squares];
            for k in 0..8 {
                plain[k] = _mm256_add_pd(plain[k], terms[k]);
            }
        });
        by_lanes!(residuals.len(), f64::INFINITY, [residuals, ax, ay, az, bx, by, bz], |[
            rest,
            ax,
            ay,
            az,
            bx,
            by,
            bz,
        ]| {
            let inside = inside(load(rest));
            let keep = |x: __m256d| _mm256_and_pd(x, inside);
            let a = [keep(load(ax)), keep(load(ay)), keep(load(az))];
            let b = [keep(load(bx)), keep(load(by)), keep(load(bz))];
            for row in 0..3 {
                for column in 0..3 {
                    let sum = &mut products[3 * row + column];
                    *sum = _mm256_add_pd(*sum, _mm256_mul_pd(a[row], b[column]));
                }
            }
        });
        let mut sums = [[0.0; LANES]; 17];
        for (sum, lanes) in sums.iter_mut().zip(plain[..7].iter().chain(&products).chain(&plain[7..])) {
            *sum = store(*lanes);
        }
        FitSums::from_lanes(&sums)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn add_spread(state: &mut SpreadSums, columns: [&[f64]; 3]) {
        let mut sums = state.sums.map(|lanes| load(lanes));
        let mut farthest_sq = load(state.farthest_sq);
        let [x, y, z] = columns;
        by_lanes!(x.len(), 0.0, [x, y, z], |[x, y, z]| {
            let (x, y, z) = (load(x), load(y), load(z));
            let times = |a: __m256d, b: __m256d| _mm256_mul_pd(a, b);
            let terms =
                [x, y, z, times(x, x), times(x, y), times(x, z), times(y, y), times(y, z), times(z, z)];
            for k in 0..9 {
                sums[k] = _mm256_add_pd(sums[k], terms[k]);
            }
            let size_sq = _mm256_add_pd(_mm256_add_pd(terms[3], terms[6]), terms[8]);
            farthest_sq = _mm256_max_pd(size_sq, farthest_sq);
        });
        *state = SpreadSums { sums: sums.map(|lanes| store(lanes)), farthest_sq: store(farthest_sq) };
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(lanes: Lanes) -> __m256d {
        _mm256_setr_pd(lanes[0], lanes[1], lanes[2], lanes[3])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(lanes: __m256d) -> Lanes {
        let mut out = [0.0; LANES];
        // SAFETY: writes the 32 bytes of the array, which need no alignment.
        unsafe { _mm256_storeu_pd(out.as_mut_ptr(), lanes) };
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_points;
    use proptest::prelude::*;

    /// Point by point, in the lanes' order.
    fn by_lanes(n: usize, term: impl Fn(usize) -> f64) -> f64 {
        let mut lanes = [0.0; LANES];
        (0..n).for_each(|i| lanes[i % LANES] += term(i));
        together(&lanes)
    }

    proptest! {
        #[test]
        fn fit_sums_are_those_of_the_inliers(n in 1_usize..70, seed in any::<u64>(), delta_sq in 0.0..1.0_f64) {
            let points = test_points::random(n, seed);
            let residuals: Vec<f64> = (0..n).map(|i| points.b[0][i].abs()).collect();
            let fast = fit_sums_within(&points, &residuals, delta_sq);
            prop_assert_eq!(fast, fit_sums_lanes(&points, &residuals, delta_sq), "the plain compilation");
            let sum = |term: &dyn Fn(usize) -> f64| by_lanes(n, |i| if residuals[i] <= delta_sq { term(i) } else { 0.0 });
            prop_assert_eq!(fast.count, sum(&|_| 1.0));
            for row in 0..3 {
                prop_assert_eq!(fast.a[row], sum(&|i| points.a[row][i]));
                prop_assert_eq!(fast.b[row], sum(&|i| points.b[row][i]));
                for column in 0..3 {
                    prop_assert_eq!(fast.products[row][column], sum(&|i| points.a[row][i] * points.b[column][i]));
                }
            }
            let square = |i: usize| points.a[0][i] * points.a[0][i] + points.a[1][i] * points.a[1][i] + points.a[2][i] * points.a[2][i];
            prop_assert_eq!(fast.squares, sum(&square));
            let alike = Soa { precision: vec![1.0; n], ..points };
            prop_assert_eq!(fit_sums_within(&alike, &residuals, delta_sq), fast, "equal precisions");
        }

        #[test]
        fn spread_is_of_all_points(n in 1_usize..70, seed in any::<u64>()) {
            let points = test_points::random(n, seed);
            let fast = spread(&points.b);
            let part = |from: usize, to: usize| points.b.each_ref().map(|column| &column[from..to]);
            let mut plain = SpreadSums::default();
            add_spread_lanes(&mut plain, part(0, n));
            prop_assert_eq!(fast, plain.total(), "the plain compilation");
            let split = n / 8 * 4;
            let mut blocks = SpreadSums::default();
            blocks.add(part(0, split));
            blocks.add(part(split, n));
            prop_assert_eq!(fast, blocks.total(), "in two blocks");
            let size_sq = |i: usize| points.b[0][i] * points.b[0][i] + points.b[1][i] * points.b[1][i] + points.b[2][i] * points.b[2][i];
            prop_assert_eq!(fast.farthest_sq, (0..n).map(size_sq).fold(0.0, f64::max));
            let mut k = 0;
            for row in 0..3 {
                prop_assert_eq!(fast.sum[row], by_lanes(n, |i| points.b[row][i]));
                for column in row..3 {
                    prop_assert_eq!(fast.products[k], by_lanes(n, |i| points.b[row][i] * points.b[column][i]));
                    k += 1;
                }
            }
        }
    }
}
