//! How well the used edges predict another one: the covariance of the relative pose of two vertices.

use pcr99_base::{
    Similarity,
    vector::{multiply, rotate, transpose},
};

use super::{cycles::Stated, noise::Noise};
use crate::{
    PoseGraph,
    lie::{Matrix3, between, skew},
    matrix::inverse,
    problem::{HELD, Problem},
    sparse::{Factor, System},
};

/// The information of all poses, factored.
pub(super) struct Prediction<'a, const D: usize> {
    problem: &'a Problem,
    factor: Factor,
    /// Memory of the solutions: zero between them.
    scratch: Vec<f64>,
}

/// Derivative of a relative pose by a motion of its first vertex; that by the second is the identity.
fn by_first<const D: usize>(seen: &Similarity) -> [[f64; D]; D] {
    let back = transpose(&seen.rotation());
    let shrunk: Matrix3 = back.map(|row| row.map(|x| x / seen.scale()));
    let (across, grown) = (multiply(&shrunk, &skew(seen.translation())), rotate(&shrunk, seen.translation()));
    let mut derivative = [[0.0; D]; D];
    for i in 0..3 {
        for j in 0..3 {
            derivative[i][j] = -back[i][j];
            derivative[3 + i][j] = across[i][j];
            derivative[3 + i][3 + j] = -shrunk[i][j];
        }
        if D == 7 {
            derivative[3 + i][D - 1] = -grown[i];
        }
    }
    if D == 7 {
        derivative[D - 1][D - 1] = -1.0;
    }
    derivative
}

impl<'a, const D: usize> Prediction<'a, D> {
    /// Factors the information of the used edges at these poses, with `noise` times their stated covariances. `None` where it is singular.
    pub(super) fn new(
        graph: &PoseGraph,
        problem: &'a Problem,
        poses: &[Similarity],
        stated: &[Stated],
        noise: Noise,
    ) -> Option<Self> {
        let count = problem.vertex_of.len();
        let mut diagonal = vec![[[0.0; D]; D]; count];
        let mut pairs = vec![[[0.0; D]; D]; problem.pairs()];
        for (&k, &block) in problem.edges.iter().zip(&problem.block_of) {
            let edge = &graph.edges()[k as usize];
            let stated = &stated[k as usize];
            let (rotation, translation) = (inverse(&stated.rotation)?, inverse(&stated.translation)?);
            let mut information = [[0.0; D]; D];
            for i in 0..3 {
                for j in 0..3 {
                    information[i][j] = rotation[i][j] / noise.rotation;
                    information[3 + i][3 + j] = translation[i][j] / noise.translation;
                }
            }
            if D == 7 {
                information[D - 1][D - 1] = 1.0 / stated.scale;
            }
            let first = by_first::<D>(&between(&poses[edge.from], &poses[edge.to]));
            // The mixed part is the transposed derivative times the information.
            let mut mixed = [[0.0; D]; D];
            for k in 0..D {
                for i in 0..D {
                    for j in 0..D {
                        mixed[i][j] += first[k][i] * information[k][j];
                    }
                }
            }
            let (a, b) = (problem.unknown_of[edge.from], problem.unknown_of[edge.to]);
            if a != HELD {
                let to = &mut diagonal[a as usize];
                for i in 0..D {
                    for k in 0..D {
                        for j in 0..=i {
                            to[i][j] += mixed[i][k] * first[k][j];
                        }
                    }
                }
            }
            if b != HELD {
                let to = &mut diagonal[b as usize];
                (0..D).for_each(|i| (0..D).for_each(|j| to[i][j] += information[i][j]));
            }
            if block != HELD {
                pairs[block as usize] = mixed;
            }
        }
        let system = System {
            size: D,
            diagonal: diagonal.as_flattened().as_flattened(),
            pairs: pairs.as_flattened().as_flattened(),
            diagonal_factor: 1.0,
            shift: 0.0,
        };
        let mut factor = Factor::default();
        factor.compute(&problem.structure, &system).then(|| Self {
            problem,
            factor,
            scratch: vec![0.0; count * D * D],
        })
    }

    /// Covariance of the pose of the second vertex in the frame of the first on its right, rotation before translation. Both are in one component.
    pub(super) fn covariance(&mut self, (from, to): (usize, usize), poses: &[Similarity]) -> [[f64; 6]; 6] {
        if from == to {
            return [[0.0; 6]; 6];
        }
        let first = by_first::<D>(&between(&poses[from], &poses[to]));
        let unit = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
        let sides = [(self.problem.unknown_of[from], first), (self.problem.unknown_of[to], unit)];
        let sides: Vec<(u32, [[f64; D]; D])> =
            sides.into_iter().filter(|(unknown, _)| *unknown != HELD).collect();
        let whole = self.factor.quadratic(&self.problem.structure, &sides, &mut self.scratch);
        std::array::from_fn(|i| std::array::from_fn(|j| whole[i][j]))
    }
}
