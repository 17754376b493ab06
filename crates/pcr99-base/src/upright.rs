//! Rotations that keep the third axis upright: a turn about it (yaw), and a tilt of at most a given angle.
//!
//! A unit quaternion `q = (w, x, y, z)` tilts the third axis by the angle `τ` with `x² + y² = sin²(τ/2)`. The best rotation maximises `qᵀNq` with Horn's
//! matrix `N`. Under the bound on the tilt, it is the eigenvector of the largest eigenvalue of `N + μ·diag(1, −1, −1, 1)`, with the smallest `μ ≥ 0` at
//! which the tilt is within the bound (Lagrange's multiplier; strong duality holds, because both forms are quadratic and homogeneous: Brickman, 1961).

use crate::{
    eigen::symmetric_eigen,
    least_squares::{best_rotation, horn},
    similarity::rotation_of,
};

/// How far a rotation may tilt the third axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tilt {
    degrees: f64,
    sine: f64,
    cosine: f64,
    half_sine: f64,
}

/// Largest `μ` relative to `‖M‖`, as a power of two. The tilt is then below 10⁻¹⁵.
const MOST_DOUBLINGS: usize = 50;
/// Bisections of `μ`. The tilt differs from its bound by less than a millionth of it.
const BISECTIONS: usize = 24;
/// Smallest `μ` relative to `‖M‖`. Where several rotations are equally good, as for points on a line, it prefers the one with the smallest tilt.
const LEAST_MULTIPLIER: f64 = 1e-9;
/// Sine of a tilt, beyond the bound, that is a rounding error.
const SLACK: f64 = 1e-7;
/// Largest sums over the horizontal coordinates, relative to `‖M‖`, that are rounding errors: the turn about the third axis is undetermined.
const ROUNDING: f64 = 1e-12;

impl Tilt {
    /// No tilt: the third axis is kept.
    pub const NONE: Self = Self { degrees: 0.0, sine: 0.0, cosine: 1.0, half_sine: 0.0 };

    /// A tilt of at most `degrees`, from 0 to 90; `None` for other numbers.
    pub fn new(degrees: f64) -> Option<Self> {
        if !(0.0..90.0).contains(&degrees) {
            return None;
        }
        let angle = degrees.to_radians();
        Some(Self {
            degrees,
            sine: libm::sin(angle),
            cosine: libm::cos(angle),
            half_sine: libm::sin(0.5 * angle),
        })
    }

    /// The largest angle, in degrees.
    pub const fn degrees(&self) -> f64 {
        self.degrees
    }

    /// The largest angle, in radians.
    pub const fn radians(&self) -> f64 {
        self.degrees.to_radians()
    }

    /// Sine and cosine of the largest angle.
    pub const fn sine_and_cosine(&self) -> (f64, f64) {
        (self.sine, self.cosine)
    }

    /// Largest distance by which a tilt moves a point, relative to its distance from the origin.
    pub const fn chord(&self) -> f64 {
        2.0 * self.half_sine
    }

    /// Whether there is no tilt.
    pub fn is_none(&self) -> bool {
        self.degrees == 0.0
    }

    /// Whether a rotation keeps this bound, up to rounding.
    pub fn allows(&self, rotation: &[[f64; 3]; 3]) -> bool {
        let across = rotation[0][2] * rotation[0][2] + rotation[1][2] * rotation[1][2];
        let sine = self.sine + SLACK;
        rotation[2][2] > 0.0 && across <= sine * sine
    }

    /// The rotation within this bound that maximises `tr(R M)`; `None` when the turn about the third axis is undetermined.
    pub fn best_rotation(&self, m: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
        let turn = best_turn(m)?;
        if self.is_none() {
            return Some(turn);
        }
        let limit = self.half_sine * self.half_sine;
        if let Some(free) = best_rotation(m)
            && 0.5 * (1.0 - free[2][2]) <= limit
        {
            return Some(free);
        }
        let size = norm(m);
        let n = horn(&m.map(|row| row.map(|x| x / size)));
        let quaternion = |multiplier: f64| {
            let mut sum = n;
            (0..4).for_each(|k| sum[k][k] += if k == 0 || k == 3 { multiplier } else { -multiplier });
            symmetric_eigen(&sum).1[3]
        };
        let is_within = |q: &[f64; 4]| q[1] * q[1] + q[2] * q[2] <= limit;
        let least = quaternion(LEAST_MULTIPLIER);
        if is_within(&least) {
            return Some(rotation_of(least));
        }
        let (mut low, mut high) = (LEAST_MULTIPLIER, 1.0);
        let mut best = quaternion(high);
        for _ in 0..MOST_DOUBLINGS {
            if is_within(&best) {
                break;
            }
            (low, high) = (high, 2.0 * high);
            best = quaternion(high);
        }
        if !is_within(&best) {
            return Some(turn);
        }
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            let q = quaternion(middle);
            if is_within(&q) {
                (high, best) = (middle, q);
            } else {
                low = middle;
            }
        }
        Some(rotation_of(best))
    }
}

/// The turn about the third axis that maximises `tr(R M)`; `None` when every turn does.
fn best_turn(m: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let (along, across) = (m[0][0] + m[1][1], m[0][1] - m[1][0]);
    let length = (along * along + across * across).sqrt();
    if length.is_nan() || length <= ROUNDING * norm(m) {
        return None;
    }
    let (c, s) = (along / length, across / length);
    Some([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
}

fn norm(m: &[[f64; 3]; 3]) -> f64 {
    m.iter().flatten().map(|x| x * x).sum::<f64>().sqrt()
}

/// The rotation that turns a direction, of any length but zero, to the third axis. Directions along an axis give rotations whose entries are 0, 1 and −1, so that
/// no coordinate is rounded.
pub fn to_upright(direction: [f64; 3]) -> [[f64; 3]; 3] {
    let largest = direction.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let scaled = direction.map(|x| x / largest);
    let length = scaled.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [x, y, z] = scaled.map(|x| x / length);
    // The axis that the direction is nearest to goes to the third one, the other two in cyclic order.
    let places = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        [0, 1, 2]
    } else if y.abs() >= x.abs() {
        [2, 0, 1]
    } else {
        [1, 2, 0]
    };
    let [p, q, r] = places.map(|k| [x, y, z][k]);
    let sign = r.signum();
    // Rows: a basis whose third vector is (p, q, r), by the rotation that moves it to (0, 0, sign) directly.
    let k = 1.0 / (1.0 + r.abs());
    let rows = [
        [1.0 - p * p * k, -p * q * k * sign, -p],
        [-p * q * k, sign * (1.0 - q * q * k), -q * sign],
        [p, q, r],
    ];
    let rows = if sign > 0.0 { rows } else { below(p, q, r) };
    rows.map(|row| {
        let mut placed = [0.0; 3];
        for (k, x) in places.into_iter().zip(row) {
            placed[k] = x;
        }
        // Adding zero turns −0 into 0.
        placed.map(|x| x + 0.0)
    })
}

/// The rotation that turns `(p, q, r)` with `r < 0` to the third axis: a half turn about the first axis, then a small one.
fn below(p: f64, q: f64, r: f64) -> [[f64; 3]; 3] {
    // After the half turn the direction is (p, −q, −r).
    let k = 1.0 / (1.0 - r);
    [[1.0 - p * p * k, -p * q * k, p], [p * q * k, -1.0 + q * q * k, -q], [p, q, r]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        random::Random,
        vector::{multiply, rotate, transpose},
    };

    fn is_rotation(r: &[[f64; 3]; 3]) -> bool {
        let squares = multiply(r, &transpose(r));
        let det = crate::vector::dot(crate::vector::cross(r[0], r[1]), r[2]);
        (0..9).all(|k| (squares[k / 3][k % 3] - f64::from(u8::from(k % 4 == 0))).abs() < 1e-14)
            && (det - 1.0).abs() < 1e-14
    }

    #[test]
    fn any_direction_is_turned_up() {
        let mut random = Random::new(4);
        let mut directions: Vec<[f64; 3]> =
            (0..2000).map(|_| std::array::from_fn(|_| random.gaussian())).collect();
        directions.extend([
            [1e-300, 0.0, 2e-300],
            [0.0, -1e300, 1e299],
            [1e-9, -1e-9, -1.0],
            [-3.0, 1e-7, 0.0],
        ]);
        for direction in directions {
            let r = to_upright(direction);
            assert!(is_rotation(&r), "{direction:?} {r:?}");
            let largest = direction.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let scaled = direction.map(|x| x / largest);
            let length = scaled.iter().map(|x| x * x).sum::<f64>().sqrt();
            let up = rotate(&r, scaled).map(|x| x / length);
            assert!(up[0].abs() < 1e-15 && up[1].abs() < 1e-15 && (up[2] - 1.0).abs() < 1e-15, "{up:?}");
        }
        for axis in 0..3 {
            for sign in [1.0, -1.0] {
                let mut direction = [0.0; 3];
                direction[axis] = 7.0 * sign;
                let r = to_upright(direction);
                assert!(r.iter().flatten().all(|x| *x == 0.0 || x.abs() == 1.0), "{r:?}");
            }
        }
        assert_eq!(to_upright([0.0, 0.0, 1.0]), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    }

    /// No rotation within the bound is better, and the bound holds.
    #[test]
    fn the_best_rotation_within_the_bound_is_found() {
        let mut random = Random::new(9);
        let value = |r: &[[f64; 3]; 3], m: &[[f64; 3]; 3]| -> f64 {
            (0..3).map(|i| (0..3).map(|k| r[i][k] * m[k][i]).sum::<f64>()).sum()
        };
        for degrees in [0.0, 1e-6, 0.5, 3.0, 20.0, 89.0] {
            let tilt = Tilt::new(degrees).unwrap();
            for _ in 0..40 {
                let m: [[f64; 3]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| random.gaussian()));
                let best = tilt.best_rotation(&m).unwrap();
                assert!(is_rotation(&best));
                let angle = |r: &[[f64; 3]; 3]| {
                    libm::atan2((r[0][2] * r[0][2] + r[1][2] * r[1][2]).sqrt(), r[2][2]).to_degrees()
                };
                assert!(angle(&best) <= degrees * (1.0 + 1e-6) + 1e-13, "{degrees} {}", angle(&best));
                for _ in 0..300 {
                    let step = if random.uniform() < 0.5 { 0.01 } else { 1.0 };
                    let mut small = || step * random.gaussian();
                    let other = multiply(&rotation_of([1.0, small(), small(), small()]), &best);
                    if angle(&other) <= degrees {
                        assert!(value(&other, &m) <= value(&best, &m) + 1e-7, "{degrees}");
                    }
                }
            }
        }
    }

    /// Two points do not determine a rotation, but the turn, with the least tilt.
    #[test]
    fn two_points_determine_the_turn() {
        let (a, turn) = ([3.0, 1.0, 0.5], rotation_of([0.9, 0.0, 0.0, -0.4]));
        let b = rotate(&turn, a);
        let m: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| a[i] * b[j]));
        for degrees in [0.0, 2.0] {
            let found = Tilt::new(degrees).unwrap().best_rotation(&m).unwrap();
            let off = (0..9).map(|k| (found[k / 3][k % 3] - turn[k / 3][k % 3]).abs()).fold(0.0, f64::max);
            assert!(off < 1e-6, "{off}");
        }
        let upright = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 4.0]];
        assert_eq!(Tilt::NONE.best_rotation(&upright), None);
        assert_eq!(Tilt::new(5.0).unwrap().best_rotation(&upright), None);
        assert!([-1.0, 90.0, f64::NAN, f64::INFINITY].iter().all(|bad| Tilt::new(*bad).is_none()));
    }
}
