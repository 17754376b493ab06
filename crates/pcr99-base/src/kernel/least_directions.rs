//! Directions in which neighbourhoods extend least: their normals by principal component analysis.

use std::ops::{Add, Div, Mul, Sub};

use crate::dispatch::compiled_twice;

/// Number of neighbourhoods in a batch.
pub const BATCH: usize = 4;
/// A neighbourhood is a line, without a normal, when its second largest standard deviation is below about this fraction of its largest.
const LINE: f64 = 0.05;

/// Moments of some neighbourhoods, each relative to one of its points.
#[derive(Debug, Clone)]
#[repr(align(32))]
pub struct Moments {
    /// Number of points.
    pub count: [f64; BATCH],
    /// Sums of x, y and z.
    pub sum: [[f64; BATCH]; 3],
    /// Sums of xx, yy, zz, xy, xz and yz.
    pub products: [[f64; BATCH]; 6],
}

impl Moments {
    /// All zeros.
    pub const EMPTY: Self = Self { count: [0.0; BATCH], sum: [[0.0; BATCH]; 3], products: [[0.0; BATCH]; 6] };
}

/// The axes of each product.
const AXES: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [1, 0], [2, 0], [2, 1]];

/// One number of each neighbourhood. A loop over neighbourhoods around everything would not vectorise.
#[derive(Clone, Copy)]
struct Each([f64; BATCH]);

impl Each {
    #[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
    #[inline(always)]
    fn with(self, other: Self, operation: impl Fn(f64, f64) -> f64) -> Self {
        Self(std::array::from_fn(|k| operation(self.0[k], other.0[k])))
    }

    /// `yes` where the condition holds for the two numbers, `no` elsewhere.
    #[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
    #[inline(always)]
    fn choose(self, other: Self, condition: impl Fn(f64, f64) -> bool, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|k| if condition(self.0[k], other.0[k]) { yes.0[k] } else { no.0[k] }))
    }
}

macro_rules! operation {
    ($trait:ident, $name:ident, $operation:expr) => {
        impl $trait for Each {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                self.with(other, $operation)
            }
        }
    };
}
operation!(Add, add, |x, y| x + y);
operation!(Sub, sub, |x, y| x - y);
operation!(Mul, mul, |x, y| x * y);
operation!(Div, div, |x, y| x / y);

compiled_twice! {
    /// Unit eigenvectors of the smallest eigenvalues of the covariances, x, y and z apart; zero when the points are fewer than three, a line or one place.
    ///
    /// Each is the eigenvector of the largest eigenvalue `λ₂λ₃` of the adjugate matrix, whose powers tend to `n·nᵀ`. Six squarings raise the ratio to the next
    /// eigenvalue to its 64th power. Where even that is not small, the neighbourhood has no clear normal.
    pub fn least_directions(moments: &Moments) -> [[f64; BATCH]; 3] = least_directions_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn least_directions_lanes(moments: &Moments) -> [[f64; BATCH]; 3] {
    let count = Each(moments.count);
    let mean = moments.sum.map(|sum| Each(sum) / count);
    let covariance: [Each; 6] = std::array::from_fn(|k| {
        let [i, j] = AXES[k];
        Each(moments.products[k]) / count - mean[i] * mean[j]
    });
    let trace = covariance[0] + covariance[1] + covariance[2];
    // Scaled to a trace of one.
    let [a, b, c, d, e, f] = covariance.map(|x| x / trace);
    let adjugate = [b * c - f * f, a * c - e * e, a * b - d * d, e * f - c * d, d * f - b * e, d * e - a * f];
    let pairs = adjugate[0] + adjugate[1] + adjugate[2];
    let mut m = adjugate.map(|x| x / pairs);
    for _ in 0..6 {
        let [a, b, c, d, e, f] = m;
        let square = [
            a * a + d * d + e * e,
            d * d + b * b + f * f,
            e * e + f * f + c * c,
            a * d + d * b + e * f,
            a * e + d * f + e * c,
            d * e + b * f + f * c,
        ];
        let size = square[0] + square[1] + square[2];
        m = square.map(|x| x / size);
    }
    let [a, b, c, d, e, f] = m;
    // All rows are multiples of the vector; the longest is the most accurate.
    let largest = a.with(b, f64::max).with(c, f64::max);
    let row = [[a, d, e], [d, b, f], [e, f, c]].map(|[x, y, z]| {
        let later = b.choose(c, |b, c| b >= c, y, z);
        a.choose(largest, |a, largest| a >= largest, x, later)
    });
    let length = (row[0] * row[0] + row[1] * row[1] + row[2] * row[2]).with(count, |x, _| x.sqrt());
    let zero = Each([0.0; BATCH]);
    let is_extended =
        |trace: f64, count: f64| trace > f64::MIN_POSITIVE && trace < f64::INFINITY && count >= 3.0;
    row.map(|x| {
        let of_surface = pairs.choose(zero, |pairs, _| pairs > LINE * LINE, x / length, zero);
        trace.choose(count, is_extended, of_surface, zero).0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{eigen::symmetric_eigen, random::Random};

    /// Moments of points stretched by these factors along the axes, then turned.
    fn random_moments(stretch: [f64; 3], random: &mut Random) -> Moments {
        let mut moments = Moments::EMPTY;
        for lane in 0..BATCH {
            for _ in 0..random.below(30) {
                let [u, v, w] = stretch.map(|x| x * random.gaussian());
                // A rotation by 36.9° about z, then by 53.1° about x.
                let (x, y) = (0.8 * u - 0.6 * v, 0.6 * u + 0.8 * v);
                let p = [x, 0.6 * y - 0.8 * w, 0.8 * y + 0.6 * w];
                moments.count[lane] += 1.0;
                moments.sum.iter_mut().zip(p).for_each(|(sum, x)| sum[lane] += x);
                moments.products.iter_mut().zip(AXES).for_each(|(sum, [i, j])| sum[lane] += p[i] * p[j]);
            }
        }
        moments
    }

    #[test]
    fn both_compilations_are_equal_and_directions_are_eigenvectors() {
        let mut random = Random::new(8);
        let (mut found, mut none) = (0, 0);
        for round in 0..300 {
            let stretch =
                [[3.0, 2.0, 0.1], [1.0, 1.0, 0.5], [1.0, 0.01, 0.005], [1e200; 3], [0.0; 3]][round % 5];
            let moments = random_moments(stretch, &mut random);
            let normals = least_directions(&moments);
            assert_eq!(normals, least_directions_lanes(&moments));
            for lane in 0..BATCH {
                let normal = normals.map(|axis| axis[lane]);
                if normal == [0.0; 3] {
                    none += 1;
                    continue;
                }
                let n = moments.count[lane];
                let mut covariance = [[0.0; 3]; 3];
                for (k, [i, j]) in AXES.into_iter().enumerate() {
                    covariance[i][j] =
                        moments.products[k][lane] / n - moments.sum[i][lane] / n * (moments.sum[j][lane] / n);
                    covariance[j][i] = covariance[i][j];
                }
                let ([least, next, _], vectors) = symmetric_eigen(&covariance);
                let cosine: f64 = normal.iter().zip(vectors[0]).map(|(x, y)| x * y).sum();
                assert!(least > 0.8 * next || cosine.abs() > 1.0 - 1e-6, "{cosine} {least} {next}");
                found += 1;
            }
        }
        assert!(found > 400 && none > 700, "{found} {none}");
    }
}
