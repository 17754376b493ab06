//! Gauss–Newton with damping where a step does not help (Levenberg–Marquardt), on the poses as a manifold.

use pcr99_base::Similarity;

use crate::{
    Error, PoseGraph,
    cost::{Model, Second},
    lie::moved,
    positions,
    problem::{HELD, Problem},
    sparse::{Factor, System},
};

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop {
    /// Largest decrease that a step may predict at the end, relative to the cost.
    pub(crate) tolerance: f64,
    /// Largest number of factorisations.
    pub(crate) most: usize,
}

/// The outcome.
#[derive(Debug)]
pub(crate) struct Optimum {
    pub(crate) poses: Vec<Similarity>,
    /// The cost in its own unit.
    pub(crate) cost: f64,
    pub(crate) iterations: usize,
    pub(crate) has_converged: bool,
}

/// The quadratic model of the cost at some poses.
pub(crate) struct Linearized<const D: usize> {
    pub(crate) half_sum: f64,
    gradient: Vec<[f64; D]>,
    diagonal: Vec<[[f64; D]; D]>,
    pairs: Vec<[[f64; D]; D]>,
}

impl<const D: usize> Linearized<D> {
    pub(crate) fn of(
        graph: &PoseGraph,
        problem: &Problem,
        model: &impl Model<D>,
        poses: &[Similarity],
        second: Second,
    ) -> Self {
        let count = problem.vertex_of.len();
        let mut half_sum = 0.0;
        let mut gradient = vec![[0.0; D]; count];
        let mut diagonal = vec![[[0.0; D]; D]; count];
        let mut pairs = vec![[[0.0; D]; D]; problem.pairs()];
        for (&k, &block) in problem.edges.iter().zip(&problem.block_of) {
            let edge = &graph.edges()[k as usize];
            let term = model.term(k as usize, edge, &poses[edge.from], &poses[edge.to], second);
            half_sum += term.half_sum;
            let unknowns = [problem.unknown_of[edge.from], problem.unknown_of[edge.to]];
            for (side, unknown) in unknowns.into_iter().enumerate().filter(|(_, unknown)| *unknown != HELD) {
                let own = &term.hessian[2 * side];
                let (g, h) = (&mut gradient[unknown as usize], &mut diagonal[unknown as usize]);
                for i in 0..D {
                    g[i] += term.gradient[side][i];
                    for j in 0..=i {
                        h[i][j] += own[i][j];
                    }
                }
            }
            if block != HELD {
                pairs[block as usize] = term.hessian[1];
            }
        }
        for &k in &problem.positions {
            let position = &graph.positions()[k];
            let unknown = problem.unknown_of[position.vertex];
            let (own_half_sum, own_gradient, own_hessian) =
                positions::term::<D>(position, &poses[position.vertex]);
            half_sum += own_half_sum;
            if unknown != HELD {
                let (g, h) = (&mut gradient[unknown as usize], &mut diagonal[unknown as usize]);
                for i in 0..D {
                    g[i] += own_gradient[i];
                    for j in 0..=i {
                        h[i][j] += own_hessian[i][j];
                    }
                }
            }
        }
        Self { half_sum, gradient, diagonal, pairs }
    }

    pub(crate) fn system(&self, damping: f64) -> System<'_> {
        System {
            size: D,
            diagonal: self.diagonal.as_flattened().as_flattened(),
            pairs: self.pairs.as_flattened().as_flattened(),
            diagonal_factor: 1.0 + damping,
            shift: 0.0,
        }
    }
}

/// Damping after the first step that did not help, relative to the diagonal.
const FIRST_DAMPING: f64 = 1e-4;
/// Decrease of the cost that a step predicts, relative to the cost, below which exact second derivatives are used.
const NEAR: f64 = 0.05;
/// Decrease per edge that is none: squares are in units of the variance, and rounding errors of poses are about 10⁻¹⁰ of usual standard deviations.
const NOTHING: f64 = 1e-18;
/// Parts of a step that are tried.
const FRACTIONS: [f64; 4] = [1.0, 0.5, 0.25, 0.125];
/// Largest damping. Beyond it, no step helps in double precision.
const MOST_DAMPING: f64 = 1e8;

/// Minimises the cost of the used edges from `poses`.
pub(crate) fn minimize<const D: usize>(
    graph: &PoseGraph,
    problem: &Problem,
    model: &impl Model<D>,
    mut poses: Vec<Similarity>,
    stop: Stop,
    factor: &mut Factor,
) -> Result<Optimum, Error> {
    let mut second = Second::Approximate;
    let mut here = Linearized::of(graph, problem, model, &poses, second);
    if !here.half_sum.is_finite() {
        return Err(Error::Singular);
    }
    let mut damping = 0.0;
    let (mut iterations, mut has_converged) = (0, problem.vertex_of.is_empty());
    while !has_converged && iterations < stop.most && damping <= MOST_DAMPING {
        iterations += 1;
        if !factor.compute(&problem.structure, &here.system(damping)) {
            if second == Second::Exact {
                second = Second::Approximate;
                here = Linearized::of(graph, problem, model, &poses, second);
            } else {
                damping = (10.0 * damping).max(FIRST_DAMPING);
            }
            continue;
        }
        let mut step: Vec<f64> = here.gradient.as_flattened().iter().map(|g| -g).collect();
        factor.solve(&problem.structure, &mut step);
        // Without damping, the model falls by exactly this; with damping by more.
        let predicted =
            -0.5 * here.gradient.as_flattened().iter().zip(&step).map(|(g, x)| g * x).sum::<f64>();
        has_converged = predicted <= stop.tolerance * here.half_sum + NOTHING * problem.edges.len() as f64;
        second = if predicted < NEAR * here.half_sum { Second::Exact } else { Second::Approximate };
        // A step that leads too far is shortened, which costs little beside a factorisation.
        let shorter = |fraction: f64| {
            let next = moved_by(problem, &poses, &step, D, fraction);
            let there = Linearized::of(graph, problem, model, &next, second);
            (there.half_sum <= here.half_sum).then_some((next, there))
        };
        if let Some(better) = FRACTIONS.into_iter().find_map(shorter) {
            (poses, here) = better;
            damping = if damping <= FIRST_DAMPING { 0.0 } else { 0.1 * damping };
        } else if !has_converged {
            second = Second::Approximate;
            here = Linearized::of(graph, problem, model, &poses, second);
            damping = (10.0 * damping).max(FIRST_DAMPING);
        }
    }
    Ok(Optimum { poses, cost: model.unit() * here.half_sum, iterations, has_converged })
}

/// The poses after a fraction of a step.
fn moved_by(
    problem: &Problem,
    poses: &[Similarity],
    step: &[f64],
    unknowns: usize,
    fraction: f64,
) -> Vec<Similarity> {
    let mut next = poses.to_vec();
    for (&vertex, step) in problem.vertex_of.iter().zip(step.chunks_exact(unknowns)) {
        let motion = std::array::from_fn(|k| fraction * step.get(k).copied().unwrap_or(0.0));
        next[vertex as usize] = moved(&poses[vertex as usize], motion);
    }
    next
}
