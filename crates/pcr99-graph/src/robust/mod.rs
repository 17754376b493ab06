//! Wrong edges: found by cycles that do not close, and by residuals under a gate that is narrowed step by step (graduated non-convexity).
//!
//! 1. Cycles of two to four edges say how large the errors of right edges are, whatever their information says ([`noise`]), and which edges are supported: a
//!    cycle that closes within these errors is unlikely where one of its edges is wrong ([`cycles`]).
//! 2. The graph is solved with the supported edges and the trusted ones.
//! 3. Edges whose residuals pass the gate are used, the others not; the gate is narrowed, and the graph is solved again until the choice stays the same.
//!
//! A start with all edges, as usual, would fill the sparse system: random edges connect everything with everything.

mod cycles;

mod joints;

mod noise;

mod prediction;

use pcr99_base::{
    Similarity,
    vector::{lower_median, norm},
};

use self::{
    cycles::{Backbone, Closing, Neighbours, Stated, difference},
    noise::{GATE, Noise},
    prediction::Prediction,
};
use crate::{
    Cost, Error, PoseGraph,
    cost::{Model, Weights},
    graph::components,
    lie::between,
    matrix::gaussian,
    optimize::{Optimum, Stop, minimize},
    problem::Problem,
    sparse::Factor,
    start::relaxed,
};

/// Which edges may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// Edges between vertices with successive numbers, as from odometry, are right.
    #[default]
    Odometry,
    /// Any edge may be wrong.
    Nothing,
}

/// Factors of the gate, from loose to tight.
const FACTORS: [f64; 3] = [4.0, 2.0, 1.0];
/// Rounds; usually three to six suffice.
const MOST_ROUNDS: usize = 15;
/// Random edges that may be expected to look right by chance.
const FALSE_ALARMS: f64 = 0.1;
/// Fewer edges than this say little about the lengths of wrong ones.
const FEW: usize = 10;
/// Angle in radians from which on an error is never taken for that of a right edge.
const FAR: f64 = 1.5;
/// Relative decrease at which a solution is good enough to compare residuals.
const ROUGH: Stop = Stop { tolerance: 1e-3, most: 10 };

/// The used edges, and their optimum.
pub(crate) struct Chosen {
    pub(crate) optimum: Optimum,
    pub(crate) problem: Problem,
    pub(crate) is_used: Vec<bool>,
}

/// Chooses the edges that agree, and minimises their cost.
pub(crate) fn choose<const D: usize>(
    graph: &PoseGraph,
    model: &impl Model<D>,
    weights: &[Weights],
    (cost, trust, gauge, stop): (Cost, Trust, Option<usize>, Stop),
    factor: &mut Factor,
) -> Result<Chosen, Error> {
    let edges = graph.edges();
    let is_odometry = odometry(graph);
    let is_trusted: Vec<bool> =
        (0..edges.len()).map(|k| trust == Trust::Odometry && is_odometry[k]).collect();
    let stated: Vec<Stated> = match cost {
        Cost::Chordal => weights.iter().map(Stated::round).collect(),
        Cost::Geodesic => edges.iter().map(|edge| Stated::of(edge, graph.kind())).collect(),
    };
    let judged: Vec<Stated> =
        stated.iter().zip(&is_trusted).filter(|(_, trusted)| !**trusted).map(|(s, _)| *s).collect();
    let neighbours = Neighbours::new(graph, &stated);
    let evidence = Evidence::of(graph, &neighbours, &is_trusted);
    let mut is_used = evidence.supported(&neighbours, &is_trusted, trust);
    let mut poses: Option<Vec<Similarity>> = None;
    // Edges that were dropped and that the others predicted nevertheless: they would come and go.
    let (mut was_dropped, mut is_settled) = (vec![false; edges.len()], vec![false; edges.len()]);
    for round in 0..MOST_ROUNDS {
        let problem = Problem::new(graph, gauge, |k| is_used[k]);
        let start = match poses.take() {
            Some(poses) => poses,
            None => relaxed(graph, &problem, weights, factor)?,
        };
        let rough = minimize(graph, &problem, model, start, ROUGH, factor)?;
        let errors: Vec<[f64; 6]> = (edges.iter())
            .map(|edge| difference(&edge.from_to, &between(&rough.poses[edge.from], &rough.poses[edge.to])))
            .collect();
        // Residuals are smaller than errors, as the poses follow the edges, so that they can only show that errors are larger.
        let used = (0..edges.len()).filter(|&k| is_used[k]);
        let seen = noise::of_residuals(used.map(|k| stated[k].squares(&errors[k])));
        let noise = seen.map_or(evidence.noise, |seen| evidence.noise.larger(seen));
        let gate = noise::gate(noise, FACTORS[round.min(FACTORS.len() - 1)], &judged, evidence.radius);
        let mut prediction = Prediction::<D>::new(graph, &problem, &rough.poses, &stated, noise);
        let component = components(graph.len(), problem.edges.iter().map(|&k| ends(graph, k as usize)));
        let mut passes = |k: usize| {
            if is_used[k] && is_settled[k] {
                return true;
            }
            if is_used[k] {
                let [rotation, translation] = stated[k].squares(&errors[k]);
                return rotation / gate.rotation + translation / gate.translation <= GATE;
            }
            // The poses do not follow this edge, so that their own errors count.
            let is_joined = component[edges[k].from] == component[edges[k].to];
            let Some(prediction) =
                prediction.as_mut().filter(|_| is_joined && evidence.is_possible(&errors[k]))
            else {
                return false;
            };
            let own = stated[k].with_noise(noise);
            let predicted = prediction.covariance(ends(graph, k), &rough.poses);
            let sum = std::array::from_fn(|i| std::array::from_fn(|j| own[i][j] + predicted[i][j]));
            cycles::Error::new(&sum, &errors[k]).is_right(evidence.radius, evidence.chance, noise.slack())
        };
        let mut next: Vec<bool> = (0..edges.len()).map(|k| is_trusted[k] || passes(k)).collect();
        if let Some(prediction) = prediction.as_mut() {
            let given = (&stated[..], noise, &evidence);
            let joints = joints::confirmed(graph, &component, &rough.poses, prediction, given);
            joints.into_iter().for_each(|k| next[k] = true);
        }
        for k in 0..edges.len() {
            was_dropped[k] |= is_used[k] && !next[k];
            is_settled[k] |= was_dropped[k] && next[k];
        }
        let is_same = next == is_used;
        is_used = next;
        // Components that were joined have to be moved to each other.
        let count = components(graph.len(), (0..edges.len()).filter(|&k| is_used[k]).map(|k| ends(graph, k)));
        poses = (count == component).then_some(rough.poses);
        if is_same && round + 1 >= FACTORS.len() {
            break;
        }
    }
    let problem = Problem::new(graph, gauge, |k| is_used[k]);
    // From the edges again: the rounds may have led to a local minimum.
    let start = relaxed(graph, &problem, weights, factor)?;
    let optimum = minimize(graph, &problem, model, start, stop, factor)?;
    Ok(Chosen { optimum, problem, is_used })
}

fn ends(graph: &PoseGraph, k: usize) -> (usize, usize) {
    (graph.edges()[k].from, graph.edges()[k].to)
}

/// Whether each edge is between vertices that follow each other in the order of their numbers.
fn odometry(graph: &PoseGraph) -> Vec<bool> {
    let mut order: Vec<usize> = (0..graph.len()).collect();
    order.sort_unstable_by_key(|&v| graph.id(v));
    let mut rank = vec![0_usize; graph.len()];
    order.iter().enumerate().for_each(|(k, &v)| rank[v] = k);
    graph.edges().iter().map(|edge| rank[edge.from].abs_diff(rank[edge.to]) == 1).collect()
}

/// What the cycles say.
struct Evidence {
    /// Closings of the cycles of each edge that may be wrong.
    cycles: Vec<Vec<Closing>>,
    /// The noise of right edges.
    noise: Noise,
    /// Logarithm of the odds of a cycle before it is looked at.
    prior: f64,
    /// Radius of the ball that translations of wrong edges are in.
    radius: f64,
    /// Probability with which one random edge may look right, so that all together do [`FALSE_ALARMS`] times.
    chance: f64,
}

impl Evidence {
    fn of(graph: &PoseGraph, neighbours: &Neighbours<'_>, is_trusted: &[bool]) -> Self {
        let mut marks = vec![Vec::new(); graph.len()];
        let count = graph.edges().len();
        let cycles: Vec<Vec<Closing>> = (0..count)
            .map(|k| if is_trusted[k] { Vec::new() } else { neighbours.short_cycles(k, &mut marks) })
            .collect();
        let all: Vec<Closing> = cycles.iter().flatten().copied().collect();
        let (noise, right) = noise::of_cycles(&all).unwrap_or((Noise::STATED, 0.5));
        let prior = libm::log(right / (1.0 - right));
        // Lengths of the edges whose rotation no cycle supports, of which most are wrong; of all edges where there are few.
        let is_refuted = |k: usize| {
            let squares = cycles[k].iter().map(|cycle| {
                let (covariance, error) = cycle.rotation();
                gaussian(covariance, &error).map_or(f64::INFINITY, |(_, square)| square / noise.rotation)
            });
            !cycles[k].is_empty() && squares.fold(f64::INFINITY, f64::min) > GATE
        };
        let length = |k: usize| norm(graph.edges()[k].from_to.translation());
        let judged = || (0..count).filter(|&k| !is_trusted[k]);
        let mut lengths: Vec<f64> = judged().filter(|&k| is_refuted(k)).map(length).collect();
        if lengths.len() < FEW {
            lengths = judged().map(length).collect();
        }
        let radius = lower_median(&mut lengths).unwrap_or(0.0);
        let chance = FALSE_ALARMS / judged().count().max(1) as f64;
        Self { cycles, noise, prior, radius, chance }
    }

    /// Whether an edge with this error is worth a look: it is not far off in both rotation and translation.
    fn is_possible(&self, error: &[f64; 6]) -> bool {
        let square = |part: &[f64]| part.iter().map(|x| x * x).sum::<f64>();
        square(&error[..3]) < FAR * FAR && square(&error[3..]) < self.radius * self.radius
    }

    /// The trusted edges and those that a cycle supports. Where nothing is trusted, also those without any short cycle, which nothing speaks against.
    ///
    /// Of wrong edges that a short cycle supports by chance, the residuals will be large.
    fn supported(&self, neighbours: &Neighbours<'_>, is_trusted: &[bool], trust: Trust) -> Vec<bool> {
        let backbone = Backbone::new(neighbours, is_trusted);
        let is_supported = |k: usize| {
            if self.cycles[k]
                .iter()
                .any(|cycle| self.prior + cycle.with_noise(self.noise).log_ratio(self.radius) > 0.0)
            {
                return true;
            }
            match trust {
                Trust::Nothing => self.cycles[k].is_empty(),
                Trust::Odometry => (backbone.closing(k, self.noise)).is_some_and(|cycle| {
                    cycle.with_noise(self.noise).is_right(self.radius, self.chance, self.noise.slack())
                }),
            }
        };
        (0..is_trusted.len()).map(|k| is_trusted[k] || is_supported(k)).collect()
    }
}
