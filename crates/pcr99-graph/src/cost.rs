//! The two costs, each linearised at the present poses.

use pcr99_base::{
    Similarity,
    vector::{dot, minus, multiply, rotate, transpose},
};

use crate::{
    Kind, PoseGraph,
    graph::Edge,
    lie::{Matrix3, RotationLog, UNIT, between, combined, motion_log, skew},
};

/// What is minimised.
///
/// Both costs agree to first order where errors are small and information matrices are isotropic; elsewhere their minima are different points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cost {
    /// `½ Σ rᵀ Ω r` with `r` the logarithm of the measured pose's inverse times the present one, and `Ω` the whole information matrix. It is that of GTSAM, and
    /// the negative log likelihood of Gaussian errors. In graphs of similarities, `r` is the rotation vector, the translation and the logarithm of the scale.
    #[default]
    Geodesic,
    /// `Σ κ‖R_j − R_i R_ij‖² + τ‖t_j − t_i − R_i t_ij‖²` with `κ = 3 / (2 tr Ω_R⁻¹)` and `τ = 3 / tr Ω_t⁻¹`. It is that of SE-Sync, and defined for rigid
    /// motions.
    Chordal,
}

/// Cost of one edge and its derivatives by small motions on the right of its two poses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term<const D: usize> {
    /// Half the sum of squares.
    pub(crate) half_sum: f64,
    pub(crate) gradient: [[f64; D]; 2],
    /// Second derivatives: both by the first pose, by the first and the second, both by the second.
    pub(crate) hessian: [[[f64; D]; D]; 3],
}

/// Which second derivatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Second {
    /// Gauss–Newton's approximation, which is never indefinite.
    Approximate,
    /// Exact, where the model has them. Newton's method then converges quadratically where errors are large, but only near the minimum.
    Exact,
}

/// A cost as the optimiser sees it; half sums of squares.
pub(crate) trait Model<const D: usize> {
    /// Half sum of squares of edge `k`, with its derivatives.
    fn term(&self, k: usize, edge: &Edge, a: &Similarity, b: &Similarity, second: Second) -> Term<D>;

    /// What the reported cost is in half sums of squares.
    fn unit(&self) -> f64;
}

/// Weights of the chordal cost of one edge: rotation and translation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weights {
    /// κ.
    pub(crate) rotation: f64,
    /// τ.
    pub(crate) translation: f64,
    /// Information of the logarithm of the scale.
    pub(crate) scale: f64,
}

impl Weights {
    pub(crate) fn of(edge: &Edge, kind: Kind) -> Self {
        let inverse_trace = |first: usize| {
            let m: Matrix3 =
                std::array::from_fn(|i| std::array::from_fn(|j| edge.information[first + i][first + j]));
            // tr M⁻¹ = (sum of the principal 2×2 minors) / det M, in units of the trace.
            let size = m[0][0] + m[1][1] + m[2][2];
            let m = m.map(|row| row.map(|x| x / size));
            let minor = |i: usize, j: usize| m[i][i] * m[j][j] - m[i][j] * m[j][i];
            let determinant = dot(m[0], pcr99_base::vector::cross(m[1], m[2]));
            (minor(0, 1) + minor(0, 2) + minor(1, 2)) / determinant / size
        };
        let scale = if kind == Kind::Similarity { edge.information[6][6] } else { 0.0 };
        Self { rotation: 1.5 / inverse_trace(0), translation: 3.0 / inverse_trace(3), scale }
    }

    pub(crate) fn of_all(graph: &PoseGraph) -> Vec<Self> {
        graph.edges().iter().map(|edge| Self::of(edge, graph.kind())).collect()
    }
}

/// The chordal cost.
pub(crate) struct Chordal<'a>(pub(crate) &'a [Weights]);

impl Chordal<'_> {
    /// The rotation from the present relative rotation to the measured one, the present relative rotation, and the present relative translation.
    fn parts(edge: &Edge, a: &Similarity, b: &Similarity) -> (Matrix3, Matrix3, [f64; 3]) {
        let seen = between(a, b);
        let relative = seen.rotation();
        (multiply(&transpose(&relative), &edge.from_to.rotation()), relative, seen.translation())
    }
}

impl Model<6> for Chordal<'_> {
    fn term(&self, k: usize, edge: &Edge, a: &Similarity, b: &Similarity, second: Second) -> Term<6> {
        let Weights { rotation: kappa, translation: tau, .. } = self.0[k];
        let (m, relative, seen) = Self::parts(edge, a, b);
        let measured = edge.from_to.rotation();
        let trace = m[0][0] + m[1][1] + m[2][2];
        let axis = [m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]];
        let e = minus(seen, edge.from_to.translation());
        let chord: f64 = (0..3)
            .map(|i| {
                let d = minus(relative[i], measured[i]);
                dot(d, d)
            })
            .sum();
        let u = skew(seen);
        // Rotation of the first pose turns the relative translation: u × ω; its own translation moves it back.
        let (turned, pulled) = (rotate(&measured, axis), rotate(&transpose(&u), e));
        let back = rotate(&transpose(&relative), e);
        let gradient = [
            std::array::from_fn(
                |i| if i < 3 { kappa * turned[i] + tau * pulled[i] } else { -tau * e[i - 3] },
            ),
            std::array::from_fn(|i| if i < 3 { -kappa * axis[i] } else { tau * back[i - 3] }),
        ];
        // ∂²/∂ω_a∂ω_b = −κ R_ij (tr M − M), rows of the first pose.
        let mixed = multiply(&measured, &combined(trace, &UNIT, -1.0, &m));
        // Second derivatives by the rotation of the first pose, of the rotational cost at both poses, and the vector of its mixed derivatives.
        let (turning, at_first, at_second, lever) = match second {
            Second::Approximate => {
                let twice = combined(2.0, &UNIT, 0.0, &UNIT);
                (multiply(&transpose(&u), &u), twice, twice, seen)
            }
            Second::Exact => {
                let t = edge.from_to.translation();
                let turning = std::array::from_fn(|i| {
                    std::array::from_fn(|j| {
                        dot(t, seen) * UNIT[i][j] - 0.5 * (t[i] * seen[j] + seen[i] * t[j])
                    })
                });
                let symmetric = combined(0.5, &m, 0.5, &transpose(&m));
                let at_second = combined(trace, &UNIT, -1.0, &symmetric);
                let at_first = multiply(&multiply(&measured, &at_second), &transpose(&measured));
                (turning, at_first, at_second, t)
            }
        };
        let across = skew(lever);
        let moving = multiply(&across, &relative);
        let mut hessian = [[[0.0; 6]; 6]; 3];
        for i in 0..3 {
            hessian[0][3 + i][3 + i] = tau;
            hessian[2][3 + i][3 + i] = tau;
            for j in 0..3 {
                hessian[0][i][j] = kappa * at_first[i][j] + tau * turning[i][j];
                hessian[0][i][3 + j] = tau * across[i][j];
                hessian[0][3 + j][i] = tau * across[i][j];
                hessian[1][i][j] = -kappa * mixed[i][j];
                hessian[1][i][3 + j] = -tau * moving[i][j];
                hessian[1][3 + i][3 + j] = -tau * relative[i][j];
                hessian[2][i][j] = kappa * at_second[i][j];
            }
        }
        Term { half_sum: 0.5 * (kappa * chord + tau * dot(e, e)), gradient, hessian }
    }

    fn unit(&self) -> f64 {
        2.0
    }
}

/// The geodesic cost of rigid motions.
pub(crate) struct Geodesic;

impl Geodesic {
    fn weighted(edge: &Edge, r: &[f64; 6]) -> [f64; 6] {
        std::array::from_fn(|i| (0..6).map(|j| edge.information[i][j] * r[j]).sum())
    }
}

impl Model<6> for Geodesic {
    fn term(&self, _: usize, edge: &Edge, a: &Similarity, b: &Similarity, _: Second) -> Term<6> {
        let seen = between(a, b);
        let error = between(&edge.from_to, &seen);
        let (r, own, coupling) = motion_log(&error.rotation(), error.translation());
        let weighted = Self::weighted(edge, &r);
        let half_sum = 0.5 * weighted.iter().zip(&r).map(|(x, y)| x * y).sum::<f64>();
        // By the second pose.
        let second: [[f64; 6]; 6] = std::array::from_fn(|i| {
            std::array::from_fn(|j| match (i < 3, j < 3) {
                (true, true) => own[i][j],
                (false, false) => own[i - 3][j - 3],
                (false, true) => coupling[i - 3][j],
                (true, false) => 0.0,
            })
        });
        // A motion of the first pose is minus the adjoint of it at the second.
        let back = transpose(&seen.rotation());
        let across = multiply(&skew(rotate(&back, seen.translation()).map(|x| -x)), &back);
        let adjoint: [[f64; 6]; 6] = std::array::from_fn(|i| {
            std::array::from_fn(|j| match (i < 3, j < 3) {
                (true, true) => -back[i][j],
                (false, false) => -back[i - 3][j - 3],
                (false, true) => -across[i - 3][j],
                (true, false) => 0.0,
            })
        });
        let information: [[f64; 6]; 6] =
            std::array::from_fn(|i| std::array::from_fn(|j| edge.information[i][j]));
        let square = transposed_product(&second, &product(&information, &second));
        let by_second: [f64; 6] = std::array::from_fn(|i| (0..6).map(|k| second[k][i] * weighted[k]).sum());
        let by_first = std::array::from_fn(|i| (0..6).map(|k| adjoint[k][i] * by_second[k]).sum());
        let mixed = transposed_product(&adjoint, &square);
        Term {
            half_sum,
            gradient: [by_first, by_second],
            hessian: [product(&mixed, &adjoint), mixed, square],
        }
    }

    fn unit(&self) -> f64 {
        1.0
    }
}

/// The geodesic cost of similarities.
pub(crate) struct SimilarityCost;

impl SimilarityCost {
    fn residual(edge: &Edge, seen: &Similarity) -> ([f64; 7], RotationLog, Similarity) {
        let error = between(&edge.from_to, seen);
        let log = RotationLog::of(&error.rotation());
        let ([a, b, c], [x, y, z]) = (log.vector, error.translation());
        ([a, b, c, x, y, z, libm::log(error.scale())], log, error)
    }
}

impl Model<7> for SimilarityCost {
    fn term(&self, _: usize, edge: &Edge, a: &Similarity, b: &Similarity, _: Second) -> Term<7> {
        let seen = between(a, b);
        let (r, log, error) = Self::residual(edge, &seen);
        let own = log.inverse_derivative(-1.0);
        let (mut first, mut second) = ([[0.0; 7]; 7], [[0.0; 7]; 7]);
        let turned = multiply(&own, &transpose(&seen.rotation()));
        let to_measured =
            transpose(&edge.from_to.rotation()).map(|row| row.map(|x| x / edge.from_to.scale()));
        let across = multiply(&to_measured, &skew(seen.translation()));
        let grown = rotate(&to_measured, seen.translation());
        let linear = error.linear();
        for i in 0..3 {
            for j in 0..3 {
                second[i][j] = own[i][j];
                second[3 + i][3 + j] = linear[i][j];
                first[i][j] = -turned[i][j];
                first[3 + i][j] = across[i][j];
                first[3 + i][3 + j] = -to_measured[i][j];
            }
            first[3 + i][6] = -grown[i];
        }
        second[6][6] = 1.0;
        first[6][6] = -1.0;
        let weighted: [f64; 7] = std::array::from_fn(|i| (0..7).map(|j| edge.information[i][j] * r[j]).sum());
        let half_sum = 0.5 * weighted.iter().zip(&r).map(|(x, y)| x * y).sum::<f64>();
        let gradient =
            [&first, &second].map(|j| std::array::from_fn(|i| (0..7).map(|k| j[k][i] * weighted[k]).sum()));
        let (left, right) = (product(&edge.information, &first), product(&edge.information, &second));
        let hessian = [
            transposed_product(&first, &left),
            transposed_product(&first, &right),
            transposed_product(&second, &right),
        ];
        Term { half_sum, gradient, hessian }
    }

    fn unit(&self) -> f64 {
        1.0
    }
}

/// `A·B`.
fn product<const D: usize>(a: &[[f64; D]; D], b: &[[f64; D]; D]) -> [[f64; D]; D] {
    let mut c = [[0.0; D]; D];
    for i in 0..D {
        for k in 0..D {
            for j in 0..D {
                c[i][j] += a[i][k] * b[k][j];
            }
        }
    }
    c
}

/// `Aᵀ·B`.
fn transposed_product<const D: usize>(a: &[[f64; D]; D], b: &[[f64; D]; D]) -> [[f64; D]; D] {
    let mut c = [[0.0; D]; D];
    for k in 0..D {
        for i in 0..D {
            for j in 0..D {
                c[i][j] += a[k][i] * b[k][j];
            }
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        isotropic,
        lie::{moved, rotation_by},
    };
    use pcr99_base::random::Random;

    fn pose(random: &mut Random, scale: f64) -> Similarity {
        let mut three = || [random.gaussian(), random.gaussian(), random.gaussian()];
        Similarity::new_unchecked(scale, rotation_by(three()), three())
    }

    /// An edge with random information, and two poses that it nearly relates.
    fn sample(random: &mut Random, has_scale: bool) -> (Edge, Similarity, Similarity) {
        let scale = |random: &mut Random| if has_scale { libm::exp(0.3 * random.gaussian()) } else { 1.0 };
        let (s, u) = (scale(random), scale(random));
        let (a, b) = (pose(random, s), pose(random, u));
        let mut motion: [f64; 7] = std::array::from_fn(|_| 0.4 * random.gaussian());
        if !has_scale {
            motion[6] = 0.0;
        }
        let from_to = moved(&between(&a, &b), motion);
        let mut information = isotropic(0.5, 0.7, 0.6);
        for _ in 0..3 {
            let v: [f64; 7] = std::array::from_fn(|_| random.gaussian());
            (0..7).for_each(|i| (0..7).for_each(|j| information[i][j] += v[i] * v[j]));
        }
        (Edge { from: 0, to: 1, from_to, information, indefinite: None, line: 0 }, a, b)
    }

    fn check<const D: usize>(model: &impl Model<D>, sample: &(Edge, Similarity, Similarity)) {
        let (edge, a, b) = sample;
        let term = model.term(0, edge, a, b, Second::Approximate);
        let step = 1e-5;
        let at = |side: usize, k: usize, length: f64| {
            let mut motion = [0.0; 7];
            motion[k] = length;
            let there = moved(if side == 0 { a } else { b }, motion);
            if side == 0 { (there, *b) } else { (*a, there) }
        };
        for side in 0..2 {
            for k in 0..D {
                let (low, high) = (at(side, k, -step), at(side, k, step));
                let half = |(a, b): (Similarity, Similarity)| {
                    model.term(0, edge, &a, &b, Second::Approximate).half_sum
                };
                let expected = (half(high) - half(low)) / (2.0 * step);
                let found = term.gradient[side][k];
                assert!(
                    (found - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                    "{side} {k}: {found} {expected}"
                );
            }
        }
    }

    /// Second derivatives are exact where they say so, and where an edge fits.
    fn check_second<const D: usize>(
        model: &impl Model<D>,
        sample: &(Edge, Similarity, Similarity),
        second: Second,
    ) {
        let (edge, a, b) = sample;
        let from_to = if second == Second::Exact { edge.from_to } else { between(a, b) };
        let edge = Edge { from_to, ..edge.clone() };
        let term = model.term(0, &edge, a, b, second);
        let half = |one: (usize, f64), other: (usize, f64)| {
            let (mut first, mut second) = ([0.0; 7], [0.0; 7]);
            for (k, length) in [one, other] {
                if k < D { first[k] += length } else { second[k - D] += length }
            }
            model.term(0, &edge, &moved(a, first), &moved(b, second), Second::Approximate).half_sum
        };
        let step = 1e-3;
        for k in 0..2 * D {
            for i in 0..2 * D {
                let at = |x: f64, y: f64| half((i, x * step), (k, y * step));
                let expected =
                    (at(1.0, 1.0) - at(1.0, -1.0) - at(-1.0, 1.0) + at(-1.0, -1.0)) / (4.0 * step * step);
                let found = match (i < D, k < D) {
                    (true, true) => term.hessian[0][i][k],
                    (true, false) => term.hessian[1][i][k - D],
                    (false, true) => term.hessian[1][k][i - D],
                    (false, false) => term.hessian[2][i - D][k - D],
                };
                assert!(
                    (found - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                    "{i} {k}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn derivatives_are_quotients_of_differences() {
        let mut random = Random::new(5);
        for _ in 0..20 {
            let rigid = sample(&mut random, false);
            let weights = [Weights::of(&rigid.0, Kind::Rigid)];
            check(&Chordal(&weights), &rigid);
            check_second(&Chordal(&weights), &rigid, Second::Approximate);
            check_second(&Chordal(&weights), &rigid, Second::Exact);
            check(&Geodesic, &rigid);
            check_second(&Geodesic, &rigid, Second::Approximate);
            let scaled = sample(&mut random, true);
            check(&SimilarityCost, &scaled);
            check_second(&SimilarityCost, &scaled, Second::Approximate);
        }
    }

    #[test]
    fn weights_are_those_of_the_definition() {
        let mut random = Random::new(6);
        let (mut edge, ..) = sample(&mut random, false);
        edge.information = isotropic(0.5, 0.1, 1.0);
        let weights = Weights::of(&edge, Kind::Rigid);
        // 3 / (2·3·σ²) and 3 / (3·σ²).
        assert!((weights.rotation - 2.0).abs() < 1e-12 && (weights.translation - 100.0).abs() < 1e-9);
        assert_eq!(weights.scale, 0.0);
    }
}
