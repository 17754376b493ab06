//! The hits of a star, copied together, and which of them are consistent with each other.

use std::ops::Range;

use super::{
    super::{
        edges::{Columns, SixtyFour},
        pack::pack,
    },
    is_consistent,
};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::dispatch::compiled_twice;

/// Largest number of matches in [`Hits`]: one per bit of a word.
pub const MOST_HITS: usize = 64;
/// Places of bits that are written at once.
const AT_ONCE: usize = 6;

compiled_twice! {
    /// Writes the positions of the bits that are set, at least [`MOST_HITS`] of them where there are as many, and returns the number of bits set up to the last word that was looked at.
    /// The first word has the bits from `64·first` on.
    fn positions_of(bits: &[u64], first: usize, out: &mut [u32; MOST_HITS + AT_ONCE]) -> usize = positions_of_lanes
}

#[inline(always)]
fn positions_of_lanes(bits: &[u64], first: usize, out: &mut [u32; MOST_HITS + AT_ONCE]) -> usize {
    let mut count = 0;
    for (word, &bits) in (64 * first as u32..).step_by(64).zip(bits) {
        let (mut left, mut at) = (bits, count);
        // Most words have fewer bits. What is written too much is overwritten. A loop that ends with the last bit would end unpredictably.
        while left != 0 && at < MOST_HITS {
            for place in &mut out[at..at + AT_ONCE] {
                *place = word + left.trailing_zeros();
                left &= left.wrapping_sub(1);
            }
            at += AT_ONCE;
        }
        count += bits.count_ones() as usize;
        if count >= MOST_HITS {
            break;
        }
    }
    count
}

/// A hit with which others are consistent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seed {
    /// Which one.
    pub hit: usize,
    /// Square of the scale that it suggests.
    pub scale_sq: f32,
    /// Bits of the hits that are consistent with it.
    pub common: u64,
}

/// Which hits make a seed.
#[derive(Debug, Clone, Copy)]
pub struct Condition {
    /// Whether each seed suggests a scale together with the centre, at which the others must be consistent with the centre, too. Else the scale is 1.
    pub is_scale_unknown: bool,
    /// Square of the tolerance on a difference of distances.
    pub tau_sq: f32,
    /// Number of consistent hits.
    pub least: u32,
}

/// First of the hits `seeds` that meets a condition. The numbers of consistent hits of all that were looked at are added to `seen`.
#[expect(clippy::inline_always, reason = "it is compiled for each set of instructions")]
#[inline(always)]
pub(super) fn first_seed_by(
    hits: &Hits,
    seeds: Range<usize>,
    condition: Condition,
    seen: &mut u32,
    consistent: impl Fn([f32; 3], [f32; 3], f32) -> u64,
    with_centre: impl Fn(f32) -> u64,
) -> Option<Seed> {
    for hit in seeds.start..seeds.end.min(hits.len) {
        let scale_sq = if condition.is_scale_unknown { hits.scale_sq(hit) } else { 1.0 };
        let (a, b) = hits.point(hit);
        let mut common = consistent(a, b, scale_sq);
        if condition.is_scale_unknown {
            common &= with_centre(scale_sq);
        }
        let count = common.count_ones();
        *seen += count;
        if count >= condition.least {
            return Some(Seed { hit, scale_sq, common });
        }
    }
    None
}

/// A few matches, copied together.
#[derive(Debug, Clone)]
pub struct Hits {
    positions: [u32; MOST_HITS + AT_ONCE],
    pub(super) a: [[f32; MOST_HITS]; 3],
    pub(super) b: [[f32; MOST_HITS]; 3],
    /// Squared distances from the centre, where they were measured.
    pub(super) from_centre: [[f32; MOST_HITS]; 2],
    pub(super) len: usize,
}

impl Default for Hits {
    fn default() -> Self {
        let empty = [[f32::NAN; MOST_HITS]; 3];
        Self {
            positions: [0; MOST_HITS + AT_ONCE],
            a: empty,
            b: empty,
            from_centre: [[f32::NAN; MOST_HITS]; 2],
            len: 0,
        }
    }
}

impl Hits {
    /// Copies the matches whose bits are set, at most [`MOST_HITS`] of them. The first word has the bits of the matches from `64·first` on.
    pub fn gather(&mut self, columns: &Columns, first: usize, bits: &[u64]) {
        let len = positions_of(bits, first, &mut self.positions).min(MOST_HITS);
        let n = columns.a[0].len();
        let [ax, ay, az] = columns.a.each_ref().map(|column| &column[..n]); // equal lengths: one bounds check below
        let [bx, by, bz] = columns.b.each_ref().map(|column| &column[..n]);
        let ([to_ax, to_ay, to_az], [to_bx, to_by, to_bz]) = (&mut self.a, &mut self.b);
        for (k, &m) in self.positions[..len].iter().enumerate() {
            let m = m as usize;
            (to_ax[k], to_ay[k], to_az[k]) = (ax[m], ay[m], az[m]);
            (to_bx[k], to_by[k], to_bz[k]) = (bx[m], by[m], bz[m]);
        }
        let padded = len.next_multiple_of(16);
        for column in self.a.iter_mut().chain(&mut self.b) {
            column[len..padded].fill(f32::NAN);
        }
        self.len = len;
    }

    /// Measures how far the matches are from match `centre`.
    pub fn measure(&mut self, columns: &Columns, centre: usize) {
        let point = |side: &[Vec<f32>; 3]| side.each_ref().map(|column| column[centre]);
        measure_hits(self, point(&columns.a), point(&columns.b));
    }

    /// Square of the scale that match `k` suggests together with the centre.
    pub(super) fn scale_sq(&self, k: usize) -> f32 {
        self.from_centre[1][k] / self.from_centre[0][k]
    }

    /// Match `k`.
    #[inline]
    pub(super) fn point(&self, k: usize) -> ([f32; 3], [f32; 3]) {
        (self.a.each_ref().map(|column| column[k]), self.b.each_ref().map(|column| column[k]))
    }

    /// First of the hits `seeds` that meets a condition. The numbers of consistent hits of all that were looked at are added to `seen`.
    pub fn first_seed(&self, seeds: Range<usize>, condition: Condition, seen: &mut u32) -> Option<Seed> {
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx512() {
            // SAFETY: the line above checked that this CPU has AVX-512.
            return unsafe { avx512::first_seed(self, seeds, condition, seen) };
        } else if crate::dispatch::has_avx2() {
            // SAFETY: the line above checked that this CPU has AVX2 and POPCNT.
            return unsafe { avx2::first_seed(self, seeds, condition, seen) };
        }
        self.first_seed_lanes(seeds, condition, seen)
    }

    /// [`Self::first_seed`] with the plain loops below.
    pub(super) fn first_seed_lanes(
        &self,
        seeds: Range<usize>,
        condition: Condition,
        seen: &mut u32,
    ) -> Option<Seed> {
        let tau_sq = condition.tau_sq;
        let consistent = |a, b, scale_sq| self.consistent_lanes(a, b, scale_sq, tau_sq);
        first_seed_by(self, seeds, condition, seen, consistent, |scale_sq| {
            self.consistent_with_centre_plain(scale_sq, tau_sq)
        })
    }

    /// Bits of the matches that are consistent with the centre, for a scale given by its square.
    pub(super) fn consistent_with_centre_plain(&self, scale_sq: f32, tau_sq: f32) -> u64 {
        let [a, b] = &self.from_centre;
        (0..self.len).fold(0, |bits, k| bits | u64::from(is_consistent(scale_sq * a[k], b[k], tau_sq)) << k)
    }

    /// All places, of which the first [`len`](Self::len) hold a match.
    pub(super) fn sixty_four(&self) -> SixtyFour<'_> {
        SixtyFour { a: self.a.each_ref(), b: self.b.each_ref() }
    }

    /// Number of matches.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Position of match `k` in the columns that it was copied from.
    pub fn position(&self, k: usize) -> u32 {
        self.positions[k]
    }

    /// Bits of the matches that are consistent with a match at `a` and `b`, when squared lengths in the source are multiplied by `scale_sq`.
    pub fn consistent(&self, a: [f32; 3], b: [f32; 3], scale_sq: f32, tau_sq: f32) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx512() {
            // SAFETY: the line above checked that this CPU has AVX-512.
            return unsafe { avx512::consistent_hits(self, a, b, scale_sq, tau_sq) };
        } else if crate::dispatch::has_avx2() {
            // SAFETY: the line above checked that this CPU has AVX2.
            return unsafe { avx2::consistent_hits(self, a, b, scale_sq, tau_sq) };
        }
        self.consistent_lanes(a, b, scale_sq, tau_sq)
    }

    /// [`Self::consistent`] with all places at once, which NEON, simd128 and SSE2 do in vectors. Places without a match hold old ones.
    pub(super) fn consistent_lanes(&self, a: [f32; 3], b: [f32; 3], scale_sq: f32, tau_sq: f32) -> u64 {
        let others = self.sixty_four();
        let bits = pack(|k| {
            let (square_a, square_b) = others.squares((a, b), k);
            is_consistent(scale_sq * square_a, square_b, tau_sq)
        });
        bits & u64::MAX.checked_shr((MOST_HITS - self.len) as u32).unwrap_or(0)
    }

    #[cfg(test)]
    pub(super) fn consistent_plain(&self, a: [f32; 3], b: [f32; 3], scale_sq: f32, tau_sq: f32) -> u64 {
        let square = |point: [f32; 3], columns: &[[f32; MOST_HITS]; 3], k: usize| {
            let [x, y, z]: [f32; 3] = std::array::from_fn(|axis| point[axis] - columns[axis][k]);
            x * x + y * y + z * z
        };
        (0..self.len).fold(0, |bits, k| {
            let near = is_consistent(scale_sq * square(a, &self.a, k), square(b, &self.b, k), tau_sq);
            bits | u64::from(near) << k
        })
    }

    /// Bits of the matches that are consistent with match `k`.
    pub fn consistent_with(&self, k: usize, scale_sq: f32, tau_sq: f32) -> u64 {
        let (a, b) = self.point(k);
        self.consistent(a, b, scale_sq, tau_sq)
    }
}

compiled_twice! {
    fn measure_hits(hits: &mut Hits, a: [f32; 3], b: [f32; 3]) = measure_hits_lanes
}

#[inline(always)]
pub(super) fn measure_hits_lanes(hits: &mut Hits, a: [f32; 3], b: [f32; 3]) {
    let square = |[px, py, pz]: [f32; 3], [x, y, z]: &[[f32; MOST_HITS]; 3], k: usize| {
        let (x, y, z) = (px - x[k], py - y[k], pz - z[k]);
        x * x + y * y + z * z
    };
    for group in 0..hits.len.div_ceil(16) {
        for k in 16 * group..16 * (group + 1) {
            hits.from_centre[0][k] = square(a, &hits.a, k);
            hits.from_centre[1][k] = square(b, &hits.b, k);
        }
    }
}
