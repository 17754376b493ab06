//! Rotations and rigid motions near the identity: exponential, logarithm and their derivatives (Barfoot, *State Estimation for Robotics*, 2017, chapter 7).

use pcr99_base::{
    Similarity,
    eigen::symmetric_eigen,
    rotation_of,
    vector::{cross, dot, minus, multiply, norm, plus, rotate, times, transpose, unit},
};

/// A 3×3 matrix, row by row.
pub(crate) type Matrix3 = [[f64; 3]; 3];

/// The unit matrix.
pub(crate) const UNIT: Matrix3 = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Angle in radians below which series replace quotients that would lose digits.
const SMALL: f64 = 0.1;

/// The matrix of `u × ·`.
#[inline]
pub(crate) fn skew([x, y, z]: [f64; 3]) -> Matrix3 {
    [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
}

/// `a·A + b·B`.
#[inline]
pub(crate) fn combined(a: f64, m: &Matrix3, b: f64, n: &Matrix3) -> Matrix3 {
    std::array::from_fn(|i| std::array::from_fn(|j| a * m[i][j] + b * n[i][j]))
}

/// The rotation by the vector `w`: its axis, and its length in radians.
pub(crate) fn rotation_by(w: [f64; 3]) -> Matrix3 {
    let half = 0.5 * norm(w);
    // sin(h)/h, halved.
    let factor = if half < 1e-4 { 0.5 * (1.0 - half * half / 6.0) } else { 0.5 * libm::sin(half) / half };
    rotation_of([libm::cos(half), factor * w[0], factor * w[1], factor * w[2]])
}

/// The logarithm of a rotation and what its derivatives need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RotationLog {
    /// The rotation vector, at most π long.
    pub(crate) vector: [f64; 3],
    /// Its length.
    angle: f64,
    /// Cosine and sine of half of it.
    half: (f64, f64),
}

impl RotationLog {
    pub(crate) fn of(rotation: &Matrix3) -> Self {
        let [w, x, y, z] = Similarity::new_unchecked(1.0, *rotation, [0.0; 3]).quaternion();
        let length = norm([x, y, z]);
        let angle = 2.0 * libm::atan2(length, w);
        let factor = if length < 1e-8 { 2.0 } else { angle / length };
        Self { vector: times(factor, [x, y, z]), angle, half: (w, length) }
    }

    /// The inverse of the left derivative of the exponential, or of the right one with `sign` −1: `I ∓ ½[w] + c·[w]²`.
    pub(crate) fn inverse_derivative(&self, sign: f64) -> Matrix3 {
        let square = self.angle * self.angle;
        let c = if self.angle < SMALL {
            1.0 / 12.0 + square / 720.0 + square * square / 30240.0
        } else {
            let (cosine, sine) = self.half;
            (1.0 - 0.5 * self.angle * cosine / sine) / square
        };
        let w = skew(self.vector);
        let squared = multiply(&w, &w);
        combined(1.0, &combined(1.0, &UNIT, -0.5 * sign, &w), c, &squared)
    }

    /// The derivative of the translation by the rotation in the left derivative of the exponential of (`sign`·w, `sign`·`r`).
    fn coupling(&self, r: [f64; 3], sign: f64) -> Matrix3 {
        let (t, t2) = (self.angle, self.angle * self.angle);
        let (a, b, c) = if t < SMALL {
            let t4 = t2 * t2;
            (
                1.0 / 6.0 - t2 / 120.0 + t4 / 5040.0,
                1.0 / 24.0 - t2 / 720.0 + t4 / 40320.0,
                1.0 / 120.0 - t2 / 2520.0 + t4 / 120_960.0,
            )
        } else {
            let (cosine, sine) = self.half;
            let (sine, cosine) = (2.0 * sine * cosine, cosine * cosine - sine * sine);
            (
                (t - sine) / (t2 * t),
                (t2 + 2.0 * cosine - 2.0) / (2.0 * t2 * t2),
                (2.0 * t - 3.0 * sine + t * cosine) / (2.0 * t2 * t2 * t),
            )
        };
        let (w, r) = (skew(times(sign, self.vector)), skew(times(sign, r)));
        let (wr, rw) = (multiply(&w, &r), multiply(&r, &w));
        let (wrw, ww) = (multiply(&wr, &w), multiply(&w, &w));
        let second = [&wr, &rw, &wrw];
        let third = [&multiply(&ww, &r), &multiply(&rw, &w), &wrw];
        let fourth = [&multiply(&wrw, &w), &multiply(&w, &wrw)];
        std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let at = |m: &Matrix3| m[i][j];
                0.5 * at(&r)
                    + a * (at(second[0]) + at(second[1]) + at(second[2]))
                    + b * (at(third[0]) + at(third[1]) - 3.0 * at(third[2]))
                    + c * (at(fourth[0]) + at(fourth[1]))
            })
        })
    }
}

/// The logarithm of a rigid motion, rotation before translation, and the inverse of the right derivative of the exponential there: the block of rotations (twice on
/// the diagonal), and the block below the diagonal.
pub(crate) fn motion_log(rotation: &Matrix3, translation: [f64; 3]) -> ([f64; 6], Matrix3, Matrix3) {
    let log = RotationLog::of(rotation);
    let r = rotate(&log.inverse_derivative(1.0), translation);
    let own = log.inverse_derivative(-1.0);
    let coupling = multiply(&multiply(&own, &log.coupling(r, -1.0)), &own);
    let [a, b, c] = log.vector;
    ([a, b, c, r[0], r[1], r[2]], own, coupling.map(|row| row.map(|x| -x)))
}

/// The rotation nearest to a matrix, in the sum of squares of its elements.
pub(crate) fn nearest_rotation(m: &Matrix3) -> Matrix3 {
    let size = m.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    if !(size > 0.0 && size.is_finite()) {
        return UNIT;
    }
    let mut r = m.map(|row| row.map(|x| x / size));
    let determinant = dot(r[0], cross(r[1], r[2]));
    // A multiple of a rotation has 3^(-3/2) ≈ 0.19.
    if determinant > 1e-3 {
        // Newton's method for the polar decomposition (Higham, 1986).
        for _ in 0..20 {
            let cofactors = [cross(r[1], r[2]), cross(r[2], r[0]), cross(r[0], r[1])];
            let determinant = dot(r[0], cofactors[0]);
            let next = combined(0.5, &r, 0.5 / determinant, &cofactors);
            let change = (next.as_flattened().iter().zip(r.as_flattened()))
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            r = next;
            if change < 1e-15 {
                break;
            }
        }
        return orthonormal(&r);
    }
    // Reflections and flat matrices: the quaternion of the largest eigenvalue (Horn, 1987).
    let [a, b, c] = m.map(|row| row.map(|x| x / size));
    let k = [
        [a[0] + b[1] + c[2], c[1] - b[2], a[2] - c[0], b[0] - a[1]],
        [c[1] - b[2], a[0] - b[1] - c[2], a[1] + b[0], a[2] + c[0]],
        [a[2] - c[0], a[1] + b[0], b[1] - a[0] - c[2], b[2] + c[1]],
        [b[0] - a[1], a[2] + c[0], b[2] + c[1], c[2] - a[0] - b[1]],
    ];
    let (_, vectors) = symmetric_eigen(&k);
    rotation_of(vectors[3])
}

/// A rotation without rounding errors of its rows, from one that nearly is.
pub(crate) fn orthonormal(r: &Matrix3) -> Matrix3 {
    let x = unit(r[0]);
    let y = unit(minus(r[1], times(dot(x, r[1]), x)));
    [x, y, cross(x, y)]
}

/// A pose after a small motion on its right: rotation vector, translation and logarithm of the scale, in its own axes and units.
pub(crate) fn moved(pose: &Similarity, motion: [f64; 7]) -> Similarity {
    let [a, b, c, x, y, z, s] = motion;
    let rotation = orthonormal(&multiply(&pose.rotation(), &rotation_by([a, b, c])));
    let by = times(pose.scale(), rotate(&pose.rotation(), [x, y, z]));
    let scale = if s == 0.0 { pose.scale() } else { pose.scale() * libm::exp(s) };
    Similarity::new_unchecked(scale, rotation, plus(pose.translation(), by))
}

/// The pose of `b` in the frame of `a`.
pub(crate) fn between(a: &Similarity, b: &Similarity) -> Similarity {
    let back = transpose(&a.rotation());
    let inverse = 1.0 / a.scale();
    let translation = times(inverse, rotate(&back, minus(b.translation(), a.translation())));
    Similarity::new_unchecked(b.scale() * inverse, multiply(&back, &b.rotation()), translation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::random::Random;

    #[test]
    fn logarithms_undo_exponentials() {
        let mut random = Random::new(1);
        for length in [0.0, 1e-9, 1e-4, 0.05, 0.3, 2.0, 3.1, std::f64::consts::PI - 1e-6] {
            let axis = unit([random.gaussian(), random.gaussian(), random.gaussian()]);
            let w = times(length, axis);
            let back = RotationLog::of(&rotation_by(w)).vector;
            assert!(norm(minus(w, back)) < 1e-8, "{w:?} {back:?}");
        }
    }

    #[test]
    fn derivatives_of_the_logarithm_are_quotients_of_differences() {
        let mut random = Random::new(2);
        for length in [1e-3, 0.05, 0.099, 0.101, 0.5, 2.5] {
            let axis = unit([random.gaussian(), random.gaussian(), random.gaussian()]);
            let t = [random.gaussian(), random.gaussian(), random.gaussian()];
            let pose = Similarity::new_unchecked(1.0, rotation_by(times(length, axis)), t);
            let (_, own, coupling) = motion_log(&pose.rotation(), t);
            for k in 0..6 {
                let step = 1e-6;
                let at = |sign: f64| {
                    let mut motion = [0.0; 7];
                    motion[k] = sign * step;
                    let there = moved(&pose, motion);
                    motion_log(&there.rotation(), there.translation()).0
                };
                let (low, high) = (at(-1.0), at(1.0));
                for i in 0..6 {
                    let expected = (high[i] - low[i]) / (2.0 * step);
                    let found = match (i < 3, k < 3) {
                        (true, true) => own[i][k],
                        (false, false) => own[i - 3][k - 3],
                        (false, true) => coupling[i - 3][k],
                        (true, false) => 0.0,
                    };
                    assert!((found - expected).abs() < 1e-8, "{length} {i} {k}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn the_nearest_rotation_is_the_nearest() {
        let mut random = Random::new(3);
        for k in 0..200 {
            let mut m: Matrix3 = std::array::from_fn(|_| std::array::from_fn(|_| random.gaussian()));
            if k % 10 == 0 {
                m[2] = [0.0; 3];
            }
            let r = nearest_rotation(&m);
            let agreement = |r: &Matrix3| -> f64 { (0..3).map(|i| dot(r[i], m[i])).sum() };
            assert!(Similarity::new(1.0, r, [0.0; 3]).is_ok());
            for _ in 0..20 {
                let w = [0.1 * random.gaussian(), 0.1 * random.gaussian(), 0.1 * random.gaussian()];
                assert!(agreement(&multiply(&r, &rotation_by(w))) <= agreement(&r) + 1e-12);
            }
        }
        assert_eq!(nearest_rotation(&[[0.0; 3]; 3]), UNIT);
        assert_eq!(nearest_rotation(&[[f64::NAN; 3]; 3]), UNIT);
    }
}
