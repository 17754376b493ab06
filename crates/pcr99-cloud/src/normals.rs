//! Normals by principal component analysis: the direction in which the neighbourhood of a point extends least.

use rayon::prelude::*;

use pcr99_base::vector::{dot, minus};

use crate::tree::KdTree;

/// Smallest number of neighbours within the radius. With fewer, the nearest points beyond the radius are used instead.
const FEW: usize = 5;
/// Number of nearest points used then.
const HELPERS: usize = 8;
/// Largest distance of these points, in radii.
const REACH: f64 = 2.5;
/// A neighbourhood is a line, without a normal, when its second largest standard deviation is below about this fraction of its largest.
const LINE: f64 = 0.05;

/// Estimates the normals of `points`: unit vectors of arbitrary sign, zero where the neighbours do not determine a plane.
///
/// The neighbourhood has this `radius`; `tree` is the tree of the points.
pub fn estimate(points: &[[f64; 3]], tree: &KdTree, radius: f64) -> Vec<[f64; 3]> {
    let normal = |i: usize| {
        let mut moments = Moments::new(points[i]);
        tree.for_each_within(points[i], radius, |p| {
            if p.index != i {
                moments.add(points[p.index]);
            }
        });
        if moments.count < FEW + 1 {
            moments = Moments::new(points[i]);
            let several = tree.nearest_several(points[i], HELPERS + 1, REACH * radius);
            several.iter().filter(|p| p.index != i).for_each(|p| moments.add(points[p.index]));
        }
        moments.normal()
    };
    (0..points.len()).into_par_iter().map(normal).collect()
}

/// Count, sum and sums of products of some points, relative to one of them.
struct Moments {
    origin: [f64; 3],
    count: usize,
    sum: [f64; 3],
    products: [[f64; 3]; 3],
}

impl Moments {
    /// Moments of this one point.
    fn new(origin: [f64; 3]) -> Self {
        Self { origin, count: 1, sum: [0.0; 3], products: [[0.0; 3]; 3] }
    }

    fn add(&mut self, point: [f64; 3]) {
        let d = minus(point, self.origin);
        self.count += 1;
        for i in 0..3 {
            self.sum[i] += d[i];
            for j in 0..=i {
                self.products[i][j] += d[i] * d[j];
            }
        }
    }

    fn normal(&self) -> [f64; 3] {
        let n = self.count as f64;
        let covariance: [[f64; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                self.products[i.max(j)][i.min(j)] / n - self.sum[i] / n * (self.sum[j] / n)
            })
        });
        if self.count < 3 { [0.0; 3] } else { least_direction(&covariance).unwrap_or([0.0; 3]) }
    }
}

/// Unit eigenvector of the smallest eigenvalue of a covariance matrix; `None` when the points are a line or one place.
///
/// It is the eigenvector of the largest eigenvalue `λ₂λ₃` of the adjugate matrix, whose powers tend to `n·nᵀ`. Six squarings raise the
/// ratio to the next eigenvalue to its 64th power. Where even that is not small, the neighbourhood has no clear normal.
fn least_direction(covariance: &[[f64; 3]; 3]) -> Option<[f64; 3]> {
    let trace = covariance[0][0] + covariance[1][1] + covariance[2][2];
    if !(trace > f64::MIN_POSITIVE && trace.is_finite()) {
        return None;
    }
    // The elements xx, yy, zz, xy, xz, yz, scaled to a trace of one.
    let [a, b, c] = [0, 1, 2].map(|k| covariance[k][k] / trace);
    let [d, e, f] = [[1, 0], [2, 0], [2, 1]].map(|[i, j]| covariance[i][j] / trace);
    let adjugate = [b * c - f * f, a * c - e * e, a * b - d * d, e * f - c * d, d * f - b * e, d * e - a * f];
    let pairs = adjugate[0] + adjugate[1] + adjugate[2];
    if pairs <= LINE * LINE {
        return None;
    }
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
    let row = if a >= b && a >= c {
        [a, d, e]
    } else if b >= c {
        [d, b, f]
    } else {
        [e, f, c]
    };
    let length = dot(row, row).sqrt();
    Some(row.map(|x| x / length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;

    fn normals_of(points: &[[f64; 3]], radius: f64) -> Vec<[f64; 3]> {
        estimate(points, &KdTree::new(points), radius)
    }

    #[test]
    fn normals_of_a_sphere_point_to_its_centre() {
        // Evenly spread by the golden angle: z from −1 to 1 in equal steps.
        let golden = 2.399_963_229_728_653_f64;
        let points: Vec<[f64; 3]> = (0..4000)
            .map(|k| {
                let z = 1.0 - (2.0 * f64::from(k) + 1.0) / 4000.0;
                let (r, angle) = ((1.0 - z * z).sqrt(), golden * f64::from(k));
                [7.0 + r * angle.cos(), r * angle.sin() - 3.0, z]
            })
            .collect();
        for (p, n) in points.iter().zip(normals_of(&points, 0.12)) {
            let outward = minus(*p, [7.0, -3.0, 0.0]);
            // Within one degree.
            assert!(dot(n, outward).abs() > 0.99985, "{p:?} {n:?}");
        }
    }

    #[test]
    fn a_plane_has_one_normal_and_a_line_none() {
        let mut random = Random::new(3);
        let plane: Vec<[f64; 3]> = (0..500)
            .map(|_| {
                let (x, y) = (random.uniform(), random.uniform());
                [x, y, 0.5 * x - 0.25 * y]
            })
            .collect();
        let length = (0.25_f64 + 0.0625 + 1.0).sqrt();
        let truth = [-0.5 / length, 0.25 / length, 1.0 / length];
        assert!(normals_of(&plane, 0.1).iter().all(|n| dot(*n, truth).abs() > 1.0 - 1e-9));
        let line: Vec<[f64; 3]> = (0..50).map(|k| [f64::from(k), 2.0 * f64::from(k), 0.0]).collect();
        assert!(normals_of(&line, 5.0).iter().all(|n| *n == [0.0; 3]));
        assert_eq!(normals_of(&[[1.0; 3]], 1.0), [[0.0; 3]]);
    }
}
