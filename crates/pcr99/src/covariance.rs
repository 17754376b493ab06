//! The accuracy of a transform: its covariance, in one convention, and what follows from it.
//!
//! **Convention.** The true transform is the estimated one followed by a small motion
//!
//! `p → p + ω × (p − c) + t + σ·(p − c)`
//!
//! of the moved points `p`, in the axes and units of the target. The unknowns are, in this order, the rotation `ω` in radians, the translation `t` and,
//! where the scale was estimated, its relative change `σ`. The point `c` is the [`center`](Covariance::center): about it, rotation and translation are
//! nearly uncorrelated, and the matrix is well conditioned wherever the origin of the coordinates is.
//!
//! [`Covariance::about`] moves the point. [`Covariance::of_pose`] and [`Covariance::g2o_information`] have the conventions of GTSAM and g2o.

mod accuracy;
mod matches;
mod tilt;

use pcr99_base::{
    eigen::symmetric_eigen,
    vector::{cross, minus, rotate, solve_positive, transpose},
};

pub use self::{accuracy::Accuracy, matches::covariance};
use crate::Similarity;

/// Number of unknowns with an estimated scale.
const ALL: usize = 7;

/// A square matrix of all unknowns. Where the scale is known, its row and column are those of the identity.
type Matrix = [[f64; ALL]; ALL];

/// A direction that the data do not determine.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FreeDirection {
    /// The source slides along this unit vector, in target coordinates.
    Sliding([f64; 3]),
    /// The source turns about this unit vector through the centre, in target coordinates.
    Turning([f64; 3]),
    /// The source grows or shrinks.
    Scaling,
}

impl std::fmt::Display for FreeDirection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sliding([x, y, z]) => write!(f, "sliding along ({x:.2}, {y:.2}, {z:.2})"),
            Self::Turning([x, y, z]) => write!(f, "turning about ({x:.2}, {y:.2}, {z:.2})"),
            Self::Scaling => write!(f, "growing or shrinking"),
        }
    }
}

/// Covariance of the small motion that leads from the estimated transform to the true one: rotation, translation and, where it was estimated, scale.
///
/// The motion is `p → p + ω × (p − c) + t + σ·(p − c)` of the moved points `p`, in the axes and units of the target, with `c` the `center`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Covariance {
    /// Rows and columns `(ω, t)`, 6×6; or `(ω, t, σ)`, 7×7, where the scale was estimated.
    pub matrix: Vec<Vec<f64>>,
    /// The point `c`, in target coordinates.
    pub center: [f64; 3],
    /// Root mean square distance from the centre of the points that the transform rests on, in target units.
    pub lever: f64,
    /// Directions that the data do not determine. Their variance is large, but finite.
    pub free: Vec<FreeDirection>,
}

impl Covariance {
    /// A covariance from its parts.
    pub fn new(matrix: Vec<Vec<f64>>, center: [f64; 3], lever: f64, free: Vec<FreeDirection>) -> Self {
        Self { matrix, center, lever, free }
    }

    /// The same covariance about another point, in target coordinates.
    ///
    /// # Errors
    /// [`Error::NotFiniteCoordinate`](crate::Error::NotFiniteCoordinate).
    pub fn about(&self, point: [f64; 3]) -> Result<Self, crate::Error> {
        if let Some(value) = point.into_iter().find(|x| !x.is_finite()) {
            return Err(crate::Error::NotFiniteCoordinate { name: "the point of a covariance", value });
        }
        // The motion of the new centre: t' = t + ω × d + σ·d.
        let d = minus(point, self.center);
        let mut change = identity();
        for axis in 0..3 {
            let mut unit = [0.0; 3];
            unit[axis] = 1.0;
            let moved = cross(unit, d);
            for row in 0..3 {
                change[3 + row][axis] = moved[row];
            }
            change[3 + axis][6] = d[axis];
        }
        Ok(Self { matrix: self.changed(&change), center: point, ..self.clone() })
    }

    /// The same covariance in the coordinates to which `frame` maps the target.
    #[must_use]
    pub fn in_frame(&self, frame: &Similarity) -> Self {
        let (rotation, scale) = (frame.rotation(), frame.scale());
        let mut change = identity();
        for row in 0..3 {
            for column in 0..3 {
                change[row][column] = rotation[row][column];
                change[3 + row][3 + column] = scale * rotation[row][column];
            }
        }
        let free = self.free.iter().map(|free| match *free {
            FreeDirection::Sliding(way) => FreeDirection::Sliding(rotate(&rotation, way)),
            FreeDirection::Turning(axis) => FreeDirection::Turning(rotate(&rotation, axis)),
            FreeDirection::Scaling => FreeDirection::Scaling,
        });
        Self {
            matrix: self.changed(&change),
            center: frame.apply(self.center),
            lever: scale * self.lever,
            free: free.collect(),
        }
    }

    /// The inverse of the matrix.
    pub fn information(&self) -> Vec<Vec<f64>> {
        let size = self.matrix.len();
        // In units in which rotations and translations are alike.
        let unit = |k: usize| if (3..6).contains(&k) && self.lever > 0.0 { 1.0 / self.lever } else { 1.0 };
        let mut full = self.full();
        for (i, row) in full.iter_mut().enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                *x *= unit(i) * unit(j);
            }
        }
        let inverse = inverse(&full);
        // One half is computed, so that the matrix is symmetric to the bit.
        let element = |i: usize, j: usize| inverse[i.max(j)][i.min(j)] * unit(i) * unit(j);
        (0..size).map(|i| (0..size).map(|j| element(i, j)).collect()).collect()
    }

    /// The covariance of the pose `target_from_source` as a rigid motion, in the convention of GTSAM's `Pose3`: the true pose is the estimated one followed
    /// *on the right*, in the axes and about the origin of the source, by a small rotation and translation, in this order. An estimated scale is left out.
    ///
    /// # Errors
    /// As [`about`](Self::about).
    pub fn of_pose(&self, target_from_source: &Similarity) -> Result<[[f64; 6]; 6], crate::Error> {
        // The origin of the source moves to the translation.
        let there = self.about(target_from_source.translation())?;
        let back = transpose(&target_from_source.rotation());
        let turned = there.in_frame(&Similarity::new_unchecked(1.0, back, [0.0; 3]));
        Ok(std::array::from_fn(|i| std::array::from_fn(|j| turned.matrix[i][j])))
    }

    /// The information of the pose in the convention of g2o's `EDGE_SE3:QUAT`: as [`of_pose`](Self::of_pose), with the translation first and the rotation
    /// as the vector part of a quaternion, which is half of it.
    ///
    /// # Errors
    /// As [`about`](Self::about).
    pub fn g2o_information(&self, target_from_source: &Similarity) -> Result<[[f64; 6]; 6], crate::Error> {
        let pose = self.of_pose(target_from_source)?;
        let place = |k: usize| (k + 3) % 6;
        let matrix = pose.iter().map(|row| row.to_vec()).collect();
        let information = Self { matrix, ..self.clone() }.information();
        let twice = |k: usize| if k < 3 { 2.0 } else { 1.0 };
        Ok(std::array::from_fn(|i| {
            std::array::from_fn(|j| information[place(i)][place(j)] * twice(place(i)) * twice(place(j)))
        }))
    }

    /// Largest standard deviation of the rotation, in radians, and its axis.
    pub fn loosest_rotation(&self) -> (f64, [f64; 3]) {
        self.loosest(0)
    }

    /// Largest standard deviation of the translation of the centre, in target units, and its direction.
    pub fn loosest_translation(&self) -> (f64, [f64; 3]) {
        self.loosest(3)
    }

    /// Relative standard deviation of the scale; `None` where it was known.
    pub fn scale_deviation(&self) -> Option<f64> {
        self.matrix.get(6).map(|row| row[6].max(0.0).sqrt())
    }

    /// The accuracy as numbers and words for people.
    pub fn accuracy(&self) -> Accuracy {
        Accuracy::of(self)
    }

    fn loosest(&self, first: usize) -> (f64, [f64; 3]) {
        let block: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| self.matrix[first + i][first + j]));
        let (values, vectors) = symmetric_eigen(&block);
        (values[2].max(0.0).sqrt(), vectors[2])
    }

    /// The matrix of all unknowns.
    fn full(&self) -> Matrix {
        let mut full = identity();
        for (to, from) in full.iter_mut().zip(&self.matrix) {
            to[..from.len()].copy_from_slice(from);
        }
        full
    }

    /// The matrix of other unknowns, with their derivatives by the present ones.
    fn changed(&self, change: &Matrix) -> Vec<Vec<f64>> {
        let (size, full) = (self.matrix.len(), self.full());
        let product = |i: usize, l: usize| (0..size).map(|k| change[i][k] * full[k][l]).sum::<f64>();
        let element = |i: usize, j: usize| (0..size).map(|l| product(i, l) * change[j][l]).sum::<f64>();
        (0..size).map(|i| (0..size).map(|j| element(i.max(j), i.min(j))).collect()).collect()
    }
}

fn identity() -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))))
}

/// The inverse of a symmetric positive matrix. Directions without variance, as of matches without noise, have a very large but finite inverse.
fn inverse(matrix: &Matrix) -> Matrix {
    let column = |j: usize| solve_positive(matrix, std::array::from_fn(|i| f64::from(u8::from(i == j))));
    let columns: Option<Vec<[f64; ALL]>> = (0..ALL).map(column).collect();
    if let Some(columns) = columns.filter(|columns| columns.iter().flatten().all(|x| x.is_finite())) {
        return std::array::from_fn(|i| std::array::from_fn(|j| columns[j][i]));
    }
    let (values, vectors) = symmetric_eigen(matrix);
    let least = values[ALL - 1].max(f64::MIN_POSITIVE) * f64::EPSILON;
    std::array::from_fn(|i| {
        std::array::from_fn(|j| (0..ALL).map(|k| vectors[k][i] * vectors[k][j] / values[k].max(least)).sum())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn covariance(seed: u64, size: usize) -> Covariance {
        let mut random = Random::new(seed);
        let rows: Vec<Vec<f64>> = (0..9).map(|_| (0..size).map(|_| random.gaussian()).collect()).collect();
        let element = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>() * 1e-6;
        let matrix = (0..size).map(|i| (0..size).map(|j| element(i.max(j), i.min(j))).collect()).collect();
        Covariance::new(matrix, [1.0, -2.0, 0.5], 2.0, vec![])
    }

    fn transform() -> Similarity {
        Similarity::from_quaternion(1.0, [0.8, 0.1, -0.5, 0.3], [4.0, -1.0, 2.0]).unwrap()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * (1e-6 + a.abs() + b.abs())
    }

    #[test]
    fn there_and_back_is_the_same() {
        for size in [6, 7] {
            let one = covariance(1, size);
            let back = one.about([7.0, 8.0, 9.0]).unwrap().about(one.center).unwrap();
            let frame = Similarity::from_quaternion(3.0, [0.5, 0.5, 0.1, 0.7], [1.0, 2.0, 3.0]).unwrap();
            let turned = one.in_frame(&frame).in_frame(&frame.inverse());
            for i in 0..size {
                for j in 0..size {
                    assert!(near(back.matrix[i][j], one.matrix[i][j]));
                    assert!(near(turned.matrix[i][j], one.matrix[i][j]));
                }
            }
            assert!(one.about([f64::NAN, 0.0, 0.0]).unwrap_err().to_string().contains("finite"));
        }
    }

    #[test]
    fn information_is_the_inverse() {
        for size in [6, 7] {
            let one = covariance(2, size);
            let inverse = one.information();
            let places = (0..size).flat_map(|i| (0..size).map(move |j| (i, j)));
            places.for_each(|(i, j)| {
                let product: f64 = (0..size).map(|k| one.matrix[i][k] * inverse[k][j]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-8, "{product}");
                assert_eq!(inverse[i][j].to_bits(), inverse[j][i].to_bits());
            });
        }
        // Matches without noise.
        let exact = Covariance::new(vec![vec![0.0; 6]; 6], [0.0; 3], 1.0, vec![]);
        assert!(exact.information().iter().flatten().all(|x| x.is_finite()));
    }

    /// Draws small motions, and writes each as a small motion on the right of the pose.
    #[test]
    fn the_convention_of_pose_graphs_is_that_of_drawn_motions() {
        let (pose, one) = (transform(), covariance(3, 6));
        let mut random = Random::new(4);
        // The square root of the covariance, by its eigenvectors.
        let full: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| one.matrix[i][j]));
        let (values, vectors) = symmetric_eigen(&full);
        let mut sums = [[0.0; 6]; 6];
        let draws = 20_000;
        for _ in 0..draws {
            let mut x = [0.0; 6];
            for k in 0..6 {
                let length = values[k].max(0.0).sqrt() * random.gaussian();
                (0..6).for_each(|i| x[i] += length * vectors[k][i]);
            }
            let [wx, wy, wz, tx, ty, tz] = x;
            let small =
                Similarity::from_quaternion(1.0, [1.0, 0.5 * wx, 0.5 * wy, 0.5 * wz], [0.0; 3]).unwrap();
            let moved = small.apply(one.center);
            let shift = [tx, ty, tz];
            let by = std::array::from_fn(|k| one.center[k] - moved[k] + shift[k]);
            let truth = pose.then(&small).then(&Similarity::from_translation(by));
            // truth = pose · right, so right = pose⁻¹ · truth.
            let right = truth.then(&pose.inverse());
            let r = right.rotation();
            let t = right.translation();
            let y = [
                0.5 * (r[2][1] - r[1][2]),
                0.5 * (r[0][2] - r[2][0]),
                0.5 * (r[1][0] - r[0][1]),
                t[0],
                t[1],
                t[2],
            ];
            for i in 0..6 {
                for j in 0..6 {
                    sums[i][j] += y[i] * y[j] / f64::from(draws);
                }
            }
        }
        let said = one.of_pose(&pose).unwrap();
        for i in 0..6 {
            for j in 0..6 {
                let scale = (said[i][i] * said[j][j]).sqrt();
                assert!(
                    (said[i][j] - sums[i][j]).abs() < 0.05 * scale,
                    "{i} {j} {} {}",
                    said[i][j],
                    sums[i][j]
                );
            }
        }
        // g2o: translation first, and half of the rotation. Its inverse is the covariance in that order.
        let edge = one.g2o_information(&pose).unwrap();
        let half = |k: usize| if k < 3 { 1.0 } else { 0.5 };
        let places = (0..6).flat_map(|i| (0..6).map(move |j| (i, j)));
        places.for_each(|(i, j)| {
            let product: f64 =
                (0..6).map(|k| edge[i][k] * said[(k + 3) % 6][(j + 3) % 6] * half(k) * half(j)).sum();
            assert!((product - f64::from(u8::from(i == j))).abs() < 1e-6, "{i} {j} {product}");
        });
    }
}
