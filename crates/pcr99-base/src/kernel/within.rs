//! Points within a radius of a query, of the points in some leaves of a tree.

/// Largest number of points in a leaf.
pub const LEAF: usize = 16;

/// Bounding box: lower and upper corner.
pub type Bounds = [[f64; 3]; 2];

/// Squared distance between two boxes. It is never greater than the squared distance of two points in them as computed here: rounding keeps the order of
/// differences, squares and sums.
#[inline(always)]
pub fn gap_sq(a: &Bounds, b: &Bounds) -> f64 {
    // Not `f64::max`, which takes three instructions for the sake of NaN.
    let max = |x: f64, y: f64| if x > y { x } else { y };
    let [x, y, z] = [0, 1, 2].map(|axis| max(max(a[0][axis] - b[1][axis], b[0][axis] - a[1][axis]), 0.0));
    x * x + y * y + z * z
}

/// Some leaves: each has points that follow each other in columns, and a bounding box.
#[derive(Debug, Clone, Default)]
pub struct Leaves {
    /// Corners of the boxes, apart for each axis.
    low: [Vec<f64>; 3],
    high: [Vec<f64>; 3],
    /// Place of the first point, and number of points, at most [`LEAF`].
    ranges: Vec<[u32; 2]>,
    /// Squared distances of the boxes from a query.
    gaps_sq: Vec<f64>,
    near: Vec<u32>,
}

impl Leaves {
    /// Removes all leaves.
    pub fn clear(&mut self) {
        self.low.iter_mut().chain(&mut self.high).for_each(Vec::clear);
        self.ranges.clear();
    }

    /// Adds a leaf of `count` points, at most [`LEAF`], from the place `start` on.
    pub fn push(&mut self, [low, high]: &Bounds, start: u32, count: u32) {
        self.low.iter_mut().zip(low).for_each(|(column, x)| column.push(*x));
        self.high.iter_mut().zip(high).for_each(|(column, x)| column.push(*x));
        self.ranges.push([start, count.min(LEAF as u32)]);
    }

    /// Number of points of all leaves.
    pub fn points(&self) -> usize {
        self.ranges.iter().map(|[_, count]| *count as usize).sum()
    }

    /// Lists the leaves that are near; returns their number. Without conditions: whether a leaf is near cannot be predicted.
    #[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
    #[inline(always)]
    fn find_near(&mut self, ball: &Ball) -> usize {
        let n = self.ranges.len();
        self.gaps_sq.resize(n, 0.0);
        self.near.resize(n + 1, 0);
        let [lx, ly, lz] = self.low.each_ref().map(|column| &column[..n]);
        let [hx, hy, hz] = self.high.each_ref().map(|column| &column[..n]);
        for (k, gap) in self.gaps_sq[..n].iter_mut().enumerate() {
            *gap = gap_sq(&[ball.center; 2], &[[lx[k], ly[k], lz[k]], [hx[k], hy[k], hz[k]]]);
        }
        let mut count = 0;
        for (k, gap) in (0..).zip(&self.gaps_sq) {
            self.near[count] = k;
            count += usize::from(*gap <= ball.radius_sq);
        }
        count
    }
}

/// A ball without one of the points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ball {
    /// Its centre.
    pub center: [f64; 3],
    /// Its squared radius.
    pub radius_sq: f64,
    /// Place of the point that is left out.
    pub without: u32,
}

/// Finds the points in a ball, in the order of the leaves. Writes their places and squared distances; returns their number. The entries after them are
/// overwritten.
///
/// # Panics
/// When the columns do not have [`LEAF`] numbers from the start of each leaf, or when there is no room for [`LEAF`] entries more than the leaves have points.
pub fn within(
    columns: [&[f64]; 3],
    leaves: &mut Leaves,
    ball: &Ball,
    places: &mut [u32],
    distances_sq: &mut [f32],
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2 and POPCNT.
        return unsafe { avx2::within(columns, leaves, ball, places, distances_sq) };
    }
    each_leaf(columns, leaves, ball, places, distances_sq, write_near)
}

/// Runs `write` on each leaf whose box is near.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn each_leaf(
    columns: [&[f64]; 3],
    leaves: &mut Leaves,
    ball: &Ball,
    places: &mut [u32],
    distances_sq: &mut [f32],
    write: impl Fn([&[f64; LEAF]; 3], [u32; 2], &Ball, &mut [u32; LEAF], &mut [f32; LEAF]) -> usize,
) -> usize {
    let mut found = 0;
    let near = leaves.find_near(ball);
    for k in 0..near {
        let range = leaves.ranges[leaves.near[k] as usize];
        let columns = columns.map(|column| {
            column[range[0] as usize..].first_chunk().expect("columns are longer than the points")
        });
        let room = "room for more than all points";
        let places = places[found..].first_chunk_mut().expect(room);
        found += write(columns, range, ball, places, distances_sq[found..].first_chunk_mut().expect(room));
    }
    found
}

/// Writes the near points of one leaf.
fn write_near(
    [x, y, z]: [&[f64; LEAF]; 3],
    [start, count]: [u32; 2],
    ball: &Ball,
    places: &mut [u32; LEAF],
    distances_sq: &mut [f32; LEAF],
) -> usize {
    let mut found = 0;
    for k in 0..count as usize {
        let [dx, dy, dz] = [x[k] - ball.center[0], y[k] - ball.center[1], z[k] - ball.center[2]];
        let (place, square) = (start + k as u32, dx * dx + dy * dy + dz * dz);
        if square <= ball.radius_sq && place != ball.without {
            (places[found], distances_sq[found]) = (place, square as f32);
            found += 1;
        }
    }
    found
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _CMP_LE_OQ, _mm_loadu_si64, _mm256_add_epi32, _mm256_add_pd, _mm256_cmp_pd,
        _mm256_cvtepu8_epi32, _mm256_cvtpd_ps, _mm256_loadu_pd, _mm256_movemask_pd, _mm256_mul_pd,
        _mm256_permutevar8x32_ps, _mm256_set_m128, _mm256_set1_epi32, _mm256_set1_pd, _mm256_storeu_ps,
        _mm256_storeu_si256, _mm256_sub_pd,
    };

    use super::{super::bit_places::BIT_PLACES, Ball, LEAF, Leaves, each_leaf};

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn within(
        columns: [&[f64]; 3],
        leaves: &mut Leaves,
        ball: &Ball,
        places: &mut [u32],
        distances_sq: &mut [f32],
    ) -> usize {
        each_leaf(
            columns,
            leaves,
            ball,
            places,
            distances_sq,
            |columns, range, ball, places, distances_sq| {
                write_near(columns, range, ball, places, distances_sq)
            },
        )
    }

    /// As the plain version, eight points at once and without conditions: whether a point is near cannot be predicted.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn write_near(
        columns: [&[f64; LEAF]; 3],
        [start, count]: [u32; 2],
        ball: &Ball,
        places: &mut [u32; LEAF],
        distances_sq: &mut [f32; LEAF],
    ) -> usize {
        // Bits of the points of the leaf, without the one that is left out.
        let mut wanted = (1_u32 << count) - 1;
        if let Some(bit) = ball.without.checked_sub(start).filter(|&bit| bit < LEAF as u32) {
            wanted &= !(1 << bit);
        }
        let limit = _mm256_set1_pd(ball.radius_sq);
        let squares = |first: usize| {
            let square = |axis: usize| {
                // SAFETY: four numbers from `first` on, which is at most twelve, are read.
                let x = unsafe { _mm256_loadu_pd(columns[axis].as_ptr().add(first)) };
                let apart = _mm256_sub_pd(x, _mm256_set1_pd(ball.center[axis]));
                _mm256_mul_pd(apart, apart)
            };
            _mm256_add_pd(_mm256_add_pd(square(0), square(1)), square(2))
        };
        let mut found = 0;
        for half in 0..LEAF / 8 {
            let [low, high] = [squares(8 * half), squares(8 * half + 4)];
            let near = |squares| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(squares, limit)) as u32;
            let bits = (near(low) | near(high) << 4) & wanted >> (8 * half) & 0xFF;
            // SAFETY: eight bytes are read.
            let bit_places =
                _mm256_cvtepu8_epi32(unsafe { _mm_loadu_si64(BIT_PLACES[bits as usize].as_ptr()) });
            let first = _mm256_set1_epi32((start + 8 * half as u32) as i32);
            let squares = _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
            // SAFETY: at most eight entries are there before the second half, so there is room for eight more.
            unsafe {
                let places = places.as_mut_ptr().add(found);
                _mm256_storeu_si256(places.cast::<__m256i>(), _mm256_add_epi32(first, bit_places));
                let distances_sq = distances_sq.as_mut_ptr().add(found);
                _mm256_storeu_ps(distances_sq, _mm256_permutevar8x32_ps(squares, bit_places));
            }
            found += bits.count_ones() as usize;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    proptest! {
        /// Coordinates on a coarse grid, so that distances equal the radius.
        #[test]
        fn both_versions_equal_a_comparison_with_all(n in 1_usize..100, seed in any::<u64>(), radius in 0_u32..8) {
            let mut random = Random::new(seed);
            let points: Vec<[f64; 3]> = (0..n).map(|_| std::array::from_fn(|_| random.below(6) as f64)).collect();
            let column = |axis: usize| -> Vec<f64> { points.iter().map(|p| p[axis]).chain([0.0; LEAF]).collect() };
            let columns = [column(0), column(1), column(2)];
            let columns = columns.each_ref().map(Vec::as_slice);
            let mut leaves = Leaves::default();
            for (start, part) in (0..).step_by(11).zip(points.chunks(11)) {
                let extreme = |first: f64, choose: fn(f64, f64) -> f64| std::array::from_fn(|axis| part.iter().map(|p| p[axis]).fold(first, choose));
                leaves.push(&[extreme(f64::INFINITY, f64::min), extreme(f64::NEG_INFINITY, f64::max)], start, part.len() as u32);
            }
            prop_assert_eq!(leaves.points(), n);
            let radius_sq = f64::from(radius);
            for own in 0..n {
                let query = points[own];
                let square = |k: &usize| (0..3).map(|axis| (points[*k][axis] - query[axis]).powi(2)).sum::<f64>();
                let expected: Vec<u32> = (0..n).filter(|k| *k != own && square(k) <= radius_sq).map(|k| k as u32).collect();
                let ball = Ball { center: query, radius_sq, without: own as u32 };
                for is_plain in [true, false] {
                    let (mut places, mut squares) = (vec![0; n + LEAF], vec![0.0; n + LEAF]);
                    let count = if is_plain {
                        each_leaf(columns, &mut leaves, &ball, &mut places, &mut squares, write_near)
                    } else {
                        within(columns, &mut leaves, &ball, &mut places, &mut squares)
                    };
                    prop_assert_eq!(&places[..count], &expected);
                    prop_assert!(squares[..count].iter().zip(&expected).all(|(s, &k)| f64::from(*s) == square(&(k as usize))));
                }
            }
        }
    }
}
