//! A covariance given what is known of the vertical.

use pcr99_base::vector::{dot, rotate};

use super::{ALL, Covariance, FreeDirection, Matrix};

impl Covariance {
    /// The most probable small motion whose rotation about the two horizontal axes is `correction`, and the covariance given that the tilt has this standard
    /// `deviation` about each. The rows of `upright` are the horizontal axes and the vertical.
    pub(crate) fn given_tilt(
        &self,
        upright: &[[f64; 3]; 3],
        correction: [f64; 2],
        deviation: f64,
    ) -> ([f64; ALL], Self) {
        let full = self.full();
        // Covariance of all unknowns with the two tilts, and of the tilts.
        let with: [[f64; 2]; ALL] = std::array::from_fn(|i| {
            std::array::from_fn(|t| (0..3).map(|k| full[i][k] * upright[t][k]).sum())
        });
        let between = |s: usize, t: usize| (0..3).map(|k| upright[s][k] * with[k][t]).sum::<f64>();
        let own = [[between(0, 0), between(0, 1)], [between(1, 0), between(1, 1)]];
        let gain = |more: f64| -> Option<[[f64; 2]; ALL]> {
            let [[a, b], [c, d]] = [[own[0][0] + more, own[0][1]], [own[1][0], own[1][1] + more]];
            let determinant = a * d - b * c;
            let inverse = [[d / determinant, -b / determinant], [-c / determinant, a / determinant]];
            (determinant > 0.0).then(|| {
                with.map(|row| std::array::from_fn(|t| row[0] * inverse[0][t] + row[1] * inverse[1][t]))
            })
        };
        let change = match gain(0.0) {
            Some(gain) => gain.map(|row| row[0] * correction[0] + row[1] * correction[1]),
            // Without an uncertainty there is nothing to distribute.
            None => {
                let [x, y] = correction;
                let turn: [f64; 3] = std::array::from_fn(|k| x * upright[0][k] + y * upright[1][k]);
                std::array::from_fn(|k| if k < 3 { turn[k] } else { 0.0 })
            }
        };
        let Some(gain) = gain(deviation * deviation) else { return (change, self.clone()) };
        let left: Matrix = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let (i, j) = (i.max(j), i.min(j));
                full[i][j] - gain[i][0] * with[j][0] - gain[i][1] * with[j][1]
            })
        });
        let size = self.matrix.len();
        let is_open = |free: &FreeDirection| match free {
            // The vertical holds a rotation about a horizontal axis.
            FreeDirection::Turning(axis) => dot(rotate(upright, *axis), [0.0, 0.0, 1.0]).abs() > 0.5,
            _ => true,
        };
        let matrix = (0..size)
            .map(|i| (0..size).map(|j| if i == j { left[i][j].max(0.0) } else { left[i][j] }).collect())
            .collect();
        let free = self.free.iter().filter(|free| is_open(free)).cloned().collect();
        (change, Self::new(matrix, self.center, self.lever, free))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Covariance, Vertical, random::Random};
    use pcr99_base::{Similarity, vector::rotate};

    fn covariance(random: &mut Random) -> Covariance {
        let rows: Vec<Vec<f64>> = (0..9).map(|_| (0..6).map(|_| random.gaussian()).collect()).collect();
        let element = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>() * 1e-5;
        let matrix = (0..6).map(|i| (0..6).map(|j| element(i.max(j), i.min(j))).collect()).collect();
        Covariance::new(matrix, [4.0, -2.0, 0.5], 2.0, vec![])
    }

    #[test]
    fn an_exact_vertical_leaves_no_tilt() {
        let mut random = Random::new(3);
        for _ in 0..50 {
            let up: [[f64; 3]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| random.gaussian()));
            let vertical = Vertical::new(up[0], up[1]).unwrap();
            let q: [f64; 4] = std::array::from_fn(|_| random.gaussian());
            let free = Similarity::from_quaternion(1.0, q, [1.0, 2.0, 3.0]).unwrap();
            let near = vertical.upright_about(&free, [0.0; 3]);
            assert!(vertical.tilt_of(&near.rotation()) < 1e-6);
            let small = [1.0, 0.004, -0.003, 0.002];
            let off = near.then(&Similarity::from_quaternion(1.0, small, [0.0; 3]).unwrap());
            let one = covariance(&mut random);
            let (held, left) = vertical.hold(&off, &one);
            let moved = rotate(&held.rotation(), vertical.uprights()[0][2]);
            let target = vertical.uprights()[1][2];
            assert!((0..3).all(|k| (moved[k] - target[k]).abs() < 1e-12));
            let [x, y, z] = vertical.uprights()[1];
            let variance = |axis: [f64; 3], c: &Covariance| -> f64 {
                (0..3).map(|i| (0..3).map(|j| axis[i] * c.matrix[i][j] * axis[j]).sum::<f64>()).sum()
            };
            assert!(variance(x, &left).abs() < 1e-15 && variance(y, &left).abs() < 1e-15);
            assert!(variance(z, &left) <= variance(z, &one) && variance(z, &left) > 0.0);
            // A tilt that may be larger than the data allow changes hardly anything; a small one bounds the variance.
            let loose = vertical.with_tilt(80.0).unwrap().hold(&off, &one);
            assert_eq!(loose.0, off);
            assert!((variance(x, &loose.1) / variance(x, &one) - 1.0).abs() < 0.01);
            let tight = vertical.with_tilt(0.02).unwrap().hold(&off, &one);
            assert!(vertical.tilt_of(&tight.0.rotation()) <= 0.02 * 1.001);
            let most = 0.01_f64.to_radians().powi(2);
            assert!(variance(x, &tight.1) <= most && variance(x, &tight.1) > 0.5 * most);
        }
    }
}
