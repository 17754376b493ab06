//! How accurate the poses are: marginal covariances.

use pcr99_base::Similarity;

use crate::{
    Cost, Error, Information, Kind, Options, PoseGraph, Solution,
    cost::{Chordal, Geodesic, Model, Second, SimilarityCost, Weights},
    optimize::Linearized,
    problem::Problem,
    solve::check,
    sparse::Factor,
};

impl Solution {
    /// Covariance of each pose relative to the held vertices, as far as the information of the used edges is right.
    ///
    /// The true pose is the found one followed on its right by a small motion. Rows and columns are its rotation vector in radians, its translation and, in graphs of
    /// similarities, the logarithm of its scale, in the axes and units of the vertex. Held vertices have zeros. `options` are those of [`solve`](crate::solve).
    ///
    /// The whole costs about as much as two iterations: only the needed part of the inverse is computed (Erisman and Tinney, 1975).
    ///
    /// # Errors
    /// As [`solve`](crate::solve); [`Error::MissingVertex`] when the solution is that of another graph.
    pub fn covariances(&self, graph: &PoseGraph, options: &Options) -> Result<Vec<Information>, Error> {
        check(graph, options)?;
        if self.poses.len() != graph.len() || self.is_used.len() != graph.edges().len() {
            return Err(Error::MissingVertex(self.poses.len() as u64));
        }
        let weights = Weights::of_all(graph);
        match (graph.kind(), options.cost) {
            (Kind::Rigid, Cost::Chordal) => marginals::<6>(graph, options, self, &Chordal(&weights)),
            (Kind::Rigid, Cost::Geodesic) => marginals::<6>(graph, options, self, &Geodesic),
            (Kind::Similarity, _) => marginals::<7>(graph, options, self, &SimilarityCost),
        }
    }
}

fn marginals<const D: usize>(
    graph: &PoseGraph,
    options: &Options,
    solution: &Solution,
    model: &impl Model<D>,
) -> Result<Vec<Information>, Error> {
    let problem = Problem::new(graph, options.gauge, |k| solution.is_used[k]);
    of_problem(graph, &problem, model, &solution.poses)
}

/// Covariances of the poses of a problem.
pub(crate) fn of_problem<const D: usize>(
    graph: &PoseGraph,
    problem: &Problem,
    model: &impl Model<D>,
    poses: &[Similarity],
) -> Result<Vec<Information>, Error> {
    let here = Linearized::of(graph, problem, model, poses, Second::Approximate);
    let mut factor = Factor::default();
    if !factor.compute(&problem.structure, &here.system(0.0)) {
        return Err(Error::Singular);
    }
    let blocks = factor.inverse_diagonal(&problem.structure);
    let mut covariances = vec![[[0.0; 7]; 7]; graph.len()];
    for (&vertex, block) in problem.vertex_of.iter().zip(blocks.chunks_exact(D * D)) {
        for (i, row) in block.chunks_exact(D).enumerate() {
            covariances[vertex as usize][i][..D].copy_from_slice(row);
        }
    }
    Ok(covariances)
}
