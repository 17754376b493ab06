//! Hot loops only: columns in, results into the caller's buffers, each with a plain twin in its tests that it equals to the bit.
//!
//! Most loops are written once and compiled twice, for the baseline of the platform and for AVX2, chosen when it runs; a few that no
//! compiler vectorises are written twice. Both do the same operations in the same order without fused multiply-add, so results
//! do not depend on the CPU. Tests run both on every input.
//! This is the only place with `unsafe`.

pub(crate) mod consensus;
pub(crate) mod consistent_bits;
pub(crate) mod edges;
pub(crate) mod lengths;
pub(crate) mod log_ratio;
pub(crate) mod near;
pub(crate) mod residuals;
pub(crate) mod savings;
pub(crate) mod similar_triangles;
pub(crate) mod slices;
pub(crate) mod sums;

/// Defines `$name` as `$lanes` compiled for AVX2 where the CPU has it, else as it is.
macro_rules! compiled_twice {
    ($(#[$doc:meta])* $visible:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? = $lanes:ident) => {
        $(#[$doc])*
        $visible fn $name($($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,popcnt")]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    $lanes($($arg),*)
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                    // SAFETY: the line above checked that this CPU has both.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $lanes($($arg),*)
        }
    };
}
pub(crate) use compiled_twice;

/// Matched points, one array per coordinate: `a` the source, `b` the target.
#[derive(Debug, Clone, Default)]
pub struct Soa {
    /// The source, by axis.
    pub a: [Vec<f64>; 3],
    /// The target, by axis.
    pub b: [Vec<f64>; 3],
}

impl Soa {
    /// How many matches.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    #[inline]
    pub fn len(&self) -> usize {
        self.a[0].len()
    }

    /// Source point of match `i`.
    #[inline]
    pub fn source(&self, i: usize) -> [f64; 3] {
        [self.a[0][i], self.a[1][i], self.a[2][i]]
    }

    /// Target point of match `i`.
    #[inline]
    pub fn target(&self, i: usize) -> [f64; 3] {
        [self.b[0][i], self.b[1][i], self.b[2][i]]
    }

    /// Becomes `other` in the order given, keeping its buffers.
    pub fn assign_permuted(&mut self, other: &Self, order: &[u32]) {
        let columns = self.a.iter_mut().chain(&mut self.b).zip(other.a.iter().chain(&other.b));
        for (to, from) in columns {
            to.clear();
            to.extend(order.iter().map(|&i| from[i as usize]));
        }
    }
}

/// Squared distances `‖a_i − a_j‖²` and `‖b_i − b_j‖²`; symmetric in `i` and `j` to the bit.
#[inline(always)]
pub(crate) fn squared_distances(points: &Soa, i: usize, j: usize) -> (f64, f64) {
    let square = |columns: &[Vec<f64>; 3]| {
        let [x, y, z] = columns.each_ref().map(|column| column[i] - column[j]);
        x * x + y * y + z * z
    };
    (square(&points.a), square(&points.b))
}

#[cfg(test)]
pub(crate) mod test_points {
    use super::Soa;
    use crate::random::Random;

    /// `n` random matches, half of them related, some coincident on either side.
    pub(crate) fn random(n: usize, seed: u64) -> Soa {
        let mut random = Random::new(seed);
        let mut points = Soa::default();
        for i in 0..n {
            for axis in 0..3 {
                let a = 2.0 * random.uniform() - 1.0;
                let b = if i % 2 == 0 {
                    0.7 * a + 0.01 * random.gaussian()
                } else {
                    2.0 * random.uniform() - 1.0
                };
                points.a[axis].push(a);
                points.b[axis].push(b);
            }
            for columns in [&mut points.a, &mut points.b] {
                if i > 0 && random.below(10) == 0 {
                    let twin = random.below(i);
                    columns.iter_mut().for_each(|column| column[i] = column[twin]);
                }
            }
        }
        points
    }
}
