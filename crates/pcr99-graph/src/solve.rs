//! Options in, poses out.

use pcr99_base::Similarity;

use crate::{
    Cost, Error, Kind, PoseGraph,
    cost::{Chordal, Geodesic, Model, SimilarityCost, Weights},
    optimize::{Stop, minimize},
    problem::Problem,
    robust::{Trust, choose},
    sparse::Factor,
    start::relaxed,
};

/// Where the optimisation starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// From the edges alone, by chordal relaxation; the poses of the vertices are ignored, except those of fixed vertices.
    #[default]
    Edges,
    /// From the poses of the vertices.
    Poses,
}

/// Options of [`solve`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// What is minimised.
    pub cost: Cost,
    /// Where to start. With `robust`, always from the edges.
    pub start: Start,
    /// Whether and which edges may be wrong; `None` uses all edges as they are.
    pub robust: Option<Trust>,
    /// Index of the vertex that keeps its pose in its component, where no vertex is fixed. Without it, the vertex with most edges.
    pub gauge: Option<usize>,
    /// Largest decrease of the cost that the last step may predict, relative to the cost.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub most_iterations: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cost: Cost::default(),
            start: Start::default(),
            robust: None,
            gauge: None,
            // Steps shrink by a factor of 10 to 1000 in cost, so that the cost is within 10⁻⁹ of the minimum.
            tolerance: 1e-8,
            most_iterations: 100,
        }
    }
}

/// The poses of a graph.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Solution {
    /// Pose of each vertex: maps its coordinates to those of the graph.
    pub poses: Vec<Similarity>,
    /// The cost of the used edges at these poses.
    pub cost: f64,
    /// Whether each edge was used; all are without `robust`.
    pub is_used: Vec<bool>,
    /// Indices of the vertices that kept their pose: fixed ones, and one of each component.
    pub held: Vec<usize>,
    /// Component of each vertex, by used edges.
    pub components: Vec<usize>,
    /// Number of linear systems that were solved after the start.
    pub iterations: usize,
    /// Whether the last step was small enough.
    pub has_converged: bool,
    /// Bytes of memory of the sparse factor, which is the largest part.
    pub factor_bytes: usize,
}

/// Finds the poses of all vertices.
///
/// Poses are relative to the vertices that are held; see [`Solution::held`]. Components that no edge connects are solved side by side.
///
/// # Errors
/// [`Error::Empty`], [`Error::NoPose`], [`Error::ChordalSimilarity`], [`Error::MissingVertex`], [`Error::NotPositive`], [`Error::NotPositiveInformation`] for the geodesic cost, and
/// [`Error::Singular`].
pub fn solve(graph: &PoseGraph, options: &Options) -> Result<Solution, Error> {
    check(graph, options)?;
    let weights = Weights::of_all(graph);
    match (graph.kind(), options.cost) {
        (Kind::Rigid, Cost::Chordal) => with_model::<6>(graph, options, &weights, &Chordal(&weights)),
        (Kind::Rigid, Cost::Geodesic) => with_model::<6>(graph, options, &weights, &Geodesic),
        (Kind::Similarity, _) => with_model::<7>(graph, options, &weights, &SimilarityCost),
    }
}

pub(crate) fn check(graph: &PoseGraph, options: &Options) -> Result<(), Error> {
    if graph.is_empty() {
        return Err(Error::Empty);
    }
    if graph.kind() == Kind::Similarity && options.cost == Cost::Chordal {
        return Err(Error::ChordalSimilarity);
    }
    if let Some(missing) = options.gauge.filter(|&v| v >= graph.len()) {
        return Err(Error::MissingVertex(missing as u64));
    }
    if !(options.tolerance > 0.0 && options.tolerance.is_finite()) {
        return Err(Error::NotPositive { name: "tolerance", value: options.tolerance });
    }
    if options.start == Start::Poses
        && options.robust.is_none()
        && let Some(missing) = graph.poses().iter().position(Option::is_none)
    {
        return Err(Error::NoPose(graph.id(missing)));
    }
    if options.cost == Cost::Geodesic
        && let Some((edge, least)) = graph.edges().iter().find_map(|edge| Some((edge, edge.indefinite?)))
    {
        let error = Error::IndefiniteInformation { from: graph.id(edge.from), to: graph.id(edge.to), least };
        return Err(if edge.line > 0 { error.at(edge.line) } else { error });
    }
    Ok(())
}

fn with_model<const D: usize>(
    graph: &PoseGraph,
    options: &Options,
    weights: &[Weights],
    model: &impl Model<D>,
) -> Result<Solution, Error> {
    let mut factor = Factor::default();
    let stop = Stop { tolerance: options.tolerance, most: options.most_iterations };
    let (optimum, problem, is_used) = match options.robust {
        Some(trust) => {
            let chosen =
                choose(graph, model, weights, (options.cost, trust, options.gauge, stop), &mut factor)?;
            (chosen.optimum, chosen.problem, chosen.is_used)
        }
        None => {
            let problem = Problem::new(graph, options.gauge, |_| true);
            let poses = match options.start {
                Start::Edges => relaxed(graph, &problem, weights, &mut factor)?,
                Start::Poses => {
                    graph.poses().iter().map(|pose| pose.unwrap_or(Similarity::IDENTITY)).collect()
                }
            };
            let optimum = minimize(graph, &problem, model, poses, stop, &mut factor)?;
            (optimum, problem, vec![true; graph.edges().len()])
        }
    };
    let used =
        graph.edges().iter().zip(&is_used).filter(|(_, used)| **used).map(|(edge, _)| (edge.from, edge.to));
    Ok(Solution {
        components: crate::graph::components(graph.len(), used),
        poses: optimum.poses,
        cost: optimum.cost,
        is_used,
        held: problem.held,
        iterations: optimum.iterations,
        has_converged: optimum.has_converged,
        factor_bytes: factor.bytes(),
    })
}
