//! Poses with covariances, and how far two statements about the same pose disagree.

use pcr99_base::{
    Similarity,
    vector::{cross, minus, multiply, norm, plus, rotate, times, transpose},
};

/// Covariance of a small motion on the right of a pose: rotation vector, translation and logarithm of the scale, in the axes and units of the scan that is moved.
pub type Covariance = [[f64; 7]; 7];

/// The points on which a pose rests: those where the two scans overlap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rest {
    /// Their middle, relative to that of the scan that is moved, in its units.
    pub middle: [f64; 3],
    /// Root mean square distance of the points from there.
    pub lever: f64,
}

/// A pose with a covariance: it maps coordinates of one scan to those of another. Both are relative to the middles of their scans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uncertain {
    /// The pose.
    pub pose: Similarity,
    /// Its covariance.
    pub covariance: Covariance,
}

impl Uncertain {
    /// The identity, which is certain.
    pub const IDENTITY: Self = Self { pose: Similarity::IDENTITY, covariance: [[0.0; 7]; 7] };

    /// A pose whose points are off by `deviation` (root mean square, in units of the scan that is moved), half by rotation and scale and half by translation. `radius` is the
    /// root mean square distance of the points from the middle.
    pub fn isotropic(pose: Similarity, deviation: f64, radius: f64) -> Self {
        let mut covariance = [[0.0; 7]; 7];
        let angle = deviation / radius.max(f64::MIN_POSITIVE);
        let (turn, shift) = (angle * angle / 6.0, deviation * deviation / 6.0);
        for (k, row) in covariance.iter_mut().enumerate() {
            row[k] = if (3..6).contains(&k) { shift } else { turn };
        }
        Self { pose, covariance }
    }

    /// A pose between two scans that are bent: the points near `rest`, on which it rests, are off by `deviation`.
    pub fn bent(pose: Similarity, deviation: f64, rest: &Rest) -> Self {
        let there = Self::isotropic(Similarity::IDENTITY, deviation, rest.lever);
        let away = Similarity::from_translation(rest.middle.map(|x| -x));
        Self { pose, covariance: carried(&away, &there.covariance) }
    }

    /// This pose after `first`: maps through `first`, then through this one.
    #[must_use]
    pub fn after(&self, first: &Self) -> Self {
        let carried = carried(&first.pose, &self.covariance);
        Self {
            pose: first.pose.then(&self.pose),
            covariance: std::array::from_fn(|i| {
                std::array::from_fn(|j| carried[i][j] + first.covariance[i][j])
            }),
        }
    }

    /// The inverse pose.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let pose = self.pose.inverse();
        Self { pose, covariance: carried(&pose, &self.covariance) }
    }

    /// A less certain copy of the pose: the covariance of `other` is added.
    #[must_use]
    pub fn loosened(&self, other: &Covariance) -> Self {
        let sum = |i: usize, j: usize| self.covariance[i][j] + other[i][j];
        Self { pose: self.pose, covariance: std::array::from_fn(|i| std::array::from_fn(|j| sum(i, j))) }
    }

    /// Expected square of the distance by which points are off, for points within `radius` of the middle (root mean square).
    pub fn variance(&self, radius: f64) -> f64 {
        let c = &self.covariance;
        let square = radius * radius;
        c[3][3] + c[4][4] + c[5][5] + square * (2.0 / 3.0 * (c[0][0] + c[1][1] + c[2][2]) + c[6][6])
    }

    /// Root mean square distance between the places to which this pose and another one move points within `radius` of the middle, in units of the scan that is moved.
    pub fn distance(&self, other: &Self, radius: f64) -> f64 {
        let [turn, shift, scale] = difference(&self.pose, &other.pose);
        (shift * shift + radius * radius * (2.0 / 3.0 * turn * turn + scale * scale)).sqrt()
    }

    /// [`distance`](Self::distance), divided by what the covariances of both lead one to expect.
    pub fn disagreement(&self, other: &Self, radius: f64) -> f64 {
        let expected = self.variance(radius) + other.variance(radius);
        self.distance(other, radius) / expected.sqrt().max(f64::MIN_POSITIVE)
    }
}

/// Angle in radians, shift and relative scale between two poses, in units of the scan that is moved.
pub fn difference(a: &Similarity, b: &Similarity) -> [f64; 3] {
    let turn = multiply(&transpose(&a.rotation()), &b.rotation());
    // The length of the vector part of R − Rᵀ is 2 sin, and the trace 1 + 2 cos.
    let sine = 0.5 * norm([turn[2][1] - turn[1][2], turn[0][2] - turn[2][0], turn[1][0] - turn[0][1]]);
    let cosine = 0.5 * (turn[0][0] + turn[1][1] + turn[2][2] - 1.0);
    let angle = libm::atan2(sine, cosine);
    let shift = norm(minus(b.translation(), a.translation())) / a.scale();
    [angle, shift, libm::log(b.scale() / a.scale())]
}

/// `Ad(first⁻¹)·C·Ad(first⁻¹)ᵀ`: the covariance of a motion before `first` as one after it.
fn carried(first: &Similarity, covariance: &Covariance) -> Covariance {
    let change = adjoint_of_inverse(first);
    let half: Covariance = std::array::from_fn(|i| {
        std::array::from_fn(|j| (0..7).map(|k| change[i][k] * covariance[k][j]).sum())
    });
    let element = |i: usize, j: usize| (0..7).map(|k| half[i][k] * change[j][k]).sum::<f64>();
    // One half is computed, so that the matrix is symmetric to the bit.
    std::array::from_fn(|i| std::array::from_fn(|j| element(i.max(j), i.min(j))))
}

fn adjoint_of_inverse(pose: &Similarity) -> Covariance {
    let back = transpose(&pose.rotation());
    let inverse = 1.0 / pose.scale();
    let mut change = [[0.0; 7]; 7];
    for axis in 0..3 {
        let unit: [f64; 3] = std::array::from_fn(|k| f64::from(u8::from(k == axis)));
        let turned = rotate(&back, unit);
        let moved = times(inverse, rotate(&back, cross(unit, pose.translation())));
        for row in 0..3 {
            change[row][axis] = turned[row];
            change[3 + row][axis] = moved[row];
            change[3 + row][3 + axis] = inverse * turned[row];
        }
    }
    let moved = times(inverse, rotate(&back, pose.translation()));
    for row in 0..3 {
        change[3 + row][6] = moved[row];
    }
    change[6][6] = 1.0;
    change
}

/// The pose between coordinates relative to `source_center` and `target_center`, from that between coordinates as given.
pub fn centered(pose: &Similarity, source_center: [f64; 3], target_center: [f64; 3]) -> Similarity {
    let translation = minus(pose.apply(source_center), target_center);
    Similarity::new_unchecked(pose.scale(), pose.rotation(), translation)
}

/// The inverse of [`centered`].
pub fn uncentered(pose: &Similarity, source_center: [f64; 3], target_center: [f64; 3]) -> Similarity {
    let moved = Similarity::new_unchecked(pose.scale(), pose.rotation(), [0.0; 3]).apply(source_center);
    let translation = minus(plus(pose.translation(), target_center), moved);
    Similarity::new_unchecked(pose.scale(), pose.rotation(), translation)
}

/// The covariance of a registration as one of a centred pose.
///
/// # Errors
/// When the covariance is not finite about the middle of the source.
pub fn covariance_of(
    covariance: &pcr99::Covariance,
    pose: &Similarity,
    source_center: [f64; 3],
) -> Result<Covariance, pcr99::Error> {
    let there = covariance.about(pose.apply(source_center))?;
    let back = Similarity::new_unchecked(1.0 / pose.scale(), transpose(&pose.rotation()), [0.0; 3]);
    let turned = there.in_frame(&back).matrix;
    let element = |i: usize, j: usize| turned.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0.0);
    Ok(std::array::from_fn(|i| std::array::from_fn(|j| element(i, j))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::random::Random;

    fn pose(random: &mut Random, scale: f64) -> Similarity {
        let q = [random.gaussian(), random.gaussian(), random.gaussian(), random.gaussian()];
        let t = [random.gaussian(), random.gaussian(), random.gaussian()];
        Similarity::from_quaternion(scale, q, t).expect("a pose")
    }

    fn small(random: &mut Random, size: f64) -> ([f64; 7], Similarity) {
        let x: [f64; 7] = std::array::from_fn(|_| size * random.gaussian());
        let q = [1.0, 0.5 * x[0], 0.5 * x[1], 0.5 * x[2]];
        (x, Similarity::from_quaternion(1.0 + x[6], q, [x[3], x[4], x[5]]).expect("a motion"))
    }

    /// The covariance of a chain is that of drawn motions.
    #[test]
    fn covariances_of_chains_and_inverses_are_those_of_drawn_motions() {
        let mut random = Random::new(3);
        let (a, b) = (pose(&mut random, 2.0), pose(&mut random, 0.7));
        let size = 1e-3;
        let own: Covariance =
            std::array::from_fn(|i| std::array::from_fn(|j| if i == j { size * size } else { 0.0 }));
        let (a_said, b_said) =
            (Uncertain { pose: a, covariance: own }, Uncertain { pose: b, covariance: own });
        let chain = a_said.after(&b_said);
        let back = a_said.inverse();
        let mut sums = [[[0.0; 7]; 7]; 2];
        let draws = 4000;
        for _ in 0..draws {
            let (da, db) = (small(&mut random, size).1, small(&mut random, size).1);
            // X·exp(ξ): the small motion first.
            let chained = db.then(&b).then(&da).then(&a);
            let inverted = da.then(&a).inverse();
            for (sum, (there, from)) in sums.iter_mut().zip([(chained, chain.pose), (inverted, back.pose)]) {
                let error = there.then(&from.inverse());
                let (r, t) = (error.rotation(), error.translation());
                let y = [
                    0.5 * (r[2][1] - r[1][2]),
                    0.5 * (r[0][2] - r[2][0]),
                    0.5 * (r[1][0] - r[0][1]),
                    t[0],
                    t[1],
                    t[2],
                    error.scale().ln(),
                ];
                for i in 0..7 {
                    for j in 0..7 {
                        sum[i][j] += y[i] * y[j] / f64::from(draws);
                    }
                }
            }
        }
        for (sum, said) in sums.iter().zip([chain.covariance, back.covariance]) {
            for i in 0..7 {
                for j in 0..7 {
                    let scale = (said[i][i] * said[j][j]).sqrt();
                    assert!(
                        (sum[i][j] - said[i][j]).abs() < 0.1 * scale,
                        "{i} {j} {} {}",
                        sum[i][j],
                        said[i][j]
                    );
                }
            }
        }
    }

    #[test]
    fn distances_are_those_of_points() {
        let mut random = Random::new(5);
        let a = pose(&mut random, 1.5);
        let (motion, step) = small(&mut random, 0.01);
        let b = step.then(&a);
        let [angle, shift, scale] = difference(&a, &b);
        let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!((angle - length(&motion[..3])).abs() < 1e-4 && (scale - motion[6]).abs() < 1e-3);
        assert!((shift - length(&motion[3..6])).abs() < 1e-12);
        let one = Uncertain::isotropic(a, 0.5, 3.0);
        assert!((one.variance(3.0).sqrt() - 0.5).abs() < 1e-12, "{}", one.variance(3.0));
    }

    #[test]
    fn middles_are_taken_out_and_put_back() {
        let mut random = Random::new(9);
        let given = pose(&mut random, 0.5);
        let [from, to] = [[1.0, 2.0, 3.0], [-4.0, 0.5, 9.0]];
        let inside = centered(&given, from, to);
        let p = [0.3, -0.2, 0.9];
        let there = plus(inside.apply(p), to);
        assert!(norm(minus(there, given.apply(plus(p, from)))) < 1e-12);
        let again = uncentered(&inside, from, to);
        assert!(norm(minus(again.translation(), given.translation())) < 1e-12);
    }
}
