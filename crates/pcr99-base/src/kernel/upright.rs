//! Pairs of matches that agree with a known vertical, one bit per pair.
//!
//! A rotation about the vertical, which is the third axis on both sides, keeps differences of height. With a tilt of at most `θ` they change by at most the chord
//! `2·sin(θ/2)` of the distance. With an unknown scale, the ratio of height to distance is kept instead.

use super::{edges::Columns, pack::pack};
use crate::dispatch::compiled_twice;

/// The test of a pair of matches.
#[derive(Debug, Clone, Copy)]
pub struct UprightTest {
    /// Largest difference of two distances that noise explains.
    pub tau: f32,
    /// Largest distance by which a tilt moves a point, relative to its distance from the axis of the tilt.
    pub chord: f32,
    /// Whether the sources are scaled already.
    pub is_scale_known: bool,
}

impl UprightTest {
    /// Whether a pair passes, by the differences of its sources and of its targets. NaN does not.
    #[expect(clippy::inline_always, reason = "it is part of a loop")]
    #[inline(always)]
    pub fn holds(&self, a: [f32; 3], b: [f32; 3]) -> bool {
        let length = |[x, y, z]: [f32; 3]| (x * x + y * y + z * z).sqrt();
        let (source, target) = (length(a), length(b));
        // With an unknown scale, the noise of the distances adds to that of the heights.
        let (off, noise) = if self.is_scale_known {
            ((b[2] - a[2]).abs(), self.tau)
        } else {
            ((b[2] * source - a[2] * target).abs(), 2.0 * self.tau * source)
        };
        let unit = if self.is_scale_known { 1.0 } else { source };
        off <= noise + self.chord * target * unit
    }
}

compiled_twice! {
    /// Clears bit `m − 64·first_word` of `bits` for every match `m` that does not agree with match `i`.
    pub fn keep_upright(columns: &Columns, i: usize, first_word: usize, test: &UprightTest, bits: &mut [u64]) = keep_upright_lanes
}

#[expect(clippy::inline_always, reason = "compiled again for AVX2 and AVX-512")]
#[inline(always)]
fn keep_upright_lanes(columns: &Columns, i: usize, first_word: usize, test: &UprightTest, bits: &mut [u64]) {
    let (p, q) = columns.one(i);
    for (word, bits) in (first_word..).zip(bits) {
        if *bits == 0 {
            continue;
        }
        let others = columns.sixty_four(word);
        *bits &= pack(|k| {
            let a = std::array::from_fn(|axis| p[axis] - others.a[axis][k]);
            let b = std::array::from_fn(|axis| q[axis] - others.b[axis][k]);
            test.holds(a, b)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn columns(n: usize, seed: u64) -> Columns {
        let mut random = Random::new(seed);
        let mut column = || {
            let mut column: Vec<f32> = (0..n).map(|_| random.uniform() as f32).collect();
            column.resize(n.next_multiple_of(64), f32::NAN);
            column
        };
        Columns { a: std::array::from_fn(|_| column()), b: std::array::from_fn(|_| column()) }
    }

    #[test]
    fn all_compilations_equal_the_definition() {
        for n in [3, 64, 130, 300] {
            let columns = columns(n, n as u64);
            for (tau, chord, is_scale_known) in
                [(0.1, 0.0, true), (0.05, 0.1, true), (0.1, 0.0, false), (0.02, 0.2, false)]
            {
                let test = UprightTest { tau, chord, is_scale_known };
                let words = n.div_ceil(64);
                for i in [0, n / 2, n - 1] {
                    let (mut chosen, mut plain) = (vec![u64::MAX; words], vec![u64::MAX; words]);
                    keep_upright(&columns, i, 0, &test, &mut chosen);
                    keep_upright_lanes(&columns, i, 0, &test, &mut plain);
                    assert_eq!(chosen, plain);
                    let mut kept = 0;
                    for m in 0..64 * words {
                        let differences =
                            |side: &[Vec<f32>; 3]| std::array::from_fn(|k| side[k][i] - side[k][m]);
                        let (a, b): ([f32; 3], [f32; 3]) = (differences(&columns.a), differences(&columns.b));
                        let length =
                            |d: [f32; 3]| d.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
                        let (la, lb) = (length(a), length(b));
                        let (off, most) = if is_scale_known {
                            (f64::from((b[2] - a[2]).abs()), f64::from(tau + chord * lb as f32))
                        } else {
                            let off = (f64::from(b[2]) * la - f64::from(a[2]) * lb).abs();
                            (off, la * f64::from(2.0 * tau + chord * lb as f32))
                        };
                        let bit = chosen[m / 64] >> (m % 64) & 1 == 1;
                        kept += usize::from(bit);
                        let is_close = (off - most).abs() < 1e-6;
                        assert!(is_close || bit == (m < n && off <= most), "{i} {m}: {off} {most}");
                    }
                    assert!(n < 64 || (kept > 1 && kept < n), "{kept} of {n}");
                }
            }
        }
    }

    /// A turn about the vertical, a shift and a scale keep every pair; a tilt within the bound does, too.
    #[test]
    fn a_pose_that_is_allowed_keeps_all() {
        let mut columns = columns(200, 5);
        let (c, s) = (0.6_f32, 0.8_f32);
        for i in 0..200 {
            let [x, y, z] = columns.a.each_ref().map(|column| column[i]);
            let placed = [c * x - s * y + 3.0, s * x + c * y, z - 1.0];
            columns.b.iter_mut().zip(placed).for_each(|(column, x)| column[i] = x);
        }
        let count = |columns: &Columns, test: UprightTest| {
            let mut bits = vec![u64::MAX; 4];
            keep_upright(columns, 7, 0, &test, &mut bits);
            bits.iter().map(|bits| bits.count_ones()).sum::<u32>()
        };
        let test = UprightTest { tau: 1e-5, chord: 0.0, is_scale_known: true };
        assert_eq!(count(&columns, test), 200);
        columns.b.iter_mut().flatten().for_each(|x| *x *= 2.0);
        assert_eq!(count(&columns, UprightTest { is_scale_known: false, ..test }), 200);
        columns.b.iter_mut().flatten().for_each(|x| *x *= 0.5);
        let angle = 0.1_f32;
        for i in 0..200 {
            let (y, z) = (columns.b[1][i], columns.b[2][i]);
            columns.b[1][i] = angle.cos() * y - angle.sin() * z;
            columns.b[2][i] = angle.sin() * y + angle.cos() * z;
        }
        assert!(count(&columns, test) < 100);
        assert_eq!(count(&columns, UprightTest { chord: 2.0 * (0.5 * angle).sin(), ..test }), 200);
    }
}
