//! The map: poses of all scans from the accepted edges, by pose graphs, with covariances that hold.
//!
//! Covariances of pairs know the noise of points, but not that scans are bent. The bend is one unknown length for each component, in voxels: that with which the residuals of
//! the edges are as large as their covariances say.

use pcr99_base::{
    Similarity,
    vector::{minus, multiply, rotate, solve_positive, times, transpose},
};
use pcr99_graph::{Anchored, Kind, Options, PoseGraph, Solution, anchor, solve};

use crate::{
    candidate::Candidate,
    error::Error,
    scan::Scan,
    uncertain::{Covariance, Rest, Uncertain, difference},
};

/// Bend of scans in voxels where no cycle tells it: the median of real sets of scans.
const USUAL_BEND: f64 = 0.1;
/// Smallest bend in voxels. It also keeps information matrices regular.
const LEAST_BEND: f64 = 0.01;
/// Largest bend in voxels.
const MOST_BEND: f64 = 2.0;
/// Number of times that the bend is estimated and the graph is solved again.
const ROUNDS: usize = 3;

/// An accepted edge of the map.
#[derive(Debug, Clone)]
pub struct MapEdge {
    /// Scan whose coordinates the pose maps to.
    pub target: usize,
    /// Scan whose coordinates the pose maps.
    pub source: usize,
    /// The pose, relative to the middles of the scans.
    pub pose: Similarity,
    /// Covariance of the pose without the bend.
    pub covariance: Covariance,
    /// Edge of a voxel, in units of the source.
    pub voxel: f64,
    /// What the pose rests on.
    pub rest: Rest,
}

impl MapEdge {
    /// The edge of a candidate. A pose that was refined coarsely only is as uncertain as it says.
    pub fn of(candidate: &Candidate) -> Self {
        let Candidate { target, source, voxel, pose, refined, rest, .. } = candidate;
        let covariance = refined.unwrap_or(pose.covariance);
        Self { target: *target, source: *source, pose: pose.pose, covariance, voxel: *voxel, rest: *rest }
    }

    /// The edge as a candidate of the network.
    pub(crate) fn as_candidate(&self) -> Candidate {
        Candidate {
            pair: 0,
            target: self.target,
            source: self.source,
            place: 0,
            pose: self.bent(USUAL_BEND),
            refined: Some(self.covariance),
            is_registered: true,
            log10_nfa: 0.0,
            voxel: self.voxel,
            rest: self.rest,
        }
    }

    /// The pose with its information between the coordinates of the scans as given.
    pub(crate) fn about_origins(
        &self,
        bend: f64,
        from: &Scan,
        to: &Scan,
    ) -> Option<(Similarity, Covariance)> {
        let certain =
            |by: [f64; 3]| Uncertain { pose: Similarity::from_translation(by), ..Uncertain::IDENTITY };
        let own = self.bent(bend);
        let out = certain(to.center).after(&own).after(&certain(from.center.map(|x| -x)));
        Some((out.pose, inverse(&out.covariance)?))
    }

    fn bent(&self, bend: f64) -> Uncertain {
        Uncertain::bent(self.pose, bend * self.voxel, &self.rest).loosened(&self.covariance)
    }
}

/// The poses of all scans.
#[derive(Debug, Clone)]
pub struct Map {
    /// Component of each scan, from 0, in the order of their first scans.
    pub component: Vec<usize>,
    /// Pose of each scan in its component, relative to the middle of the scan and that of the held one.
    pub poses: Vec<Similarity>,
    /// Covariance of each pose relative to the held scan.
    pub covariances: Vec<Covariance>,
    /// The held scan of each component: its coordinates are those of the map.
    pub held: Vec<usize>,
    /// Bend of each component in voxels.
    pub bend: Vec<f64>,
    /// Distance by which each edge is off in the map (root mean square over the points of its source), in units of its source.
    pub residuals: Vec<f64>,
    solved: Solved,
}

impl Map {
    /// Solves the pose graph of these edges.
    ///
    /// # Errors
    /// When the graph cannot be solved.
    pub fn of(scans: &[Scan], edges: &[MapEdge], kind: Kind) -> Result<Self, Error> {
        let mut bend = vec![USUAL_BEND; edges.len()];
        let mut solved = Solved::of(scans, edges, &bend, kind)?;
        for _ in 0..ROUNDS {
            bend = estimated(edges, &solved, kind);
            solved = Solved::of(scans, edges, &bend, kind)?;
        }
        let covariances =
            solved.solution.covariances(&solved.graph, &Options::default()).map_err(Error::Graph)?;
        let component = solved.solution.components.clone();
        let count = component.iter().max().map_or(0, |last| last + 1);
        let mut of_component = vec![USUAL_BEND; count];
        edges.iter().zip(&bend).for_each(|(edge, &bend)| of_component[component[edge.target]] = bend);
        let held = held(&component, &solved.solution.held, count);
        let residuals = edges.iter().map(|edge| solved.off(edge, scans)).collect();
        let poses = solved.solution.poses.clone();
        Ok(Self { component, poses, covariances, held, bend: of_component, residuals, solved })
    }

    /// The pose `target_from_source` between two scans of one component.
    pub fn between(&self, target: usize, source: usize) -> Option<Similarity> {
        (self.component[target] == self.component[source])
            .then(|| between(&self.poses[target], &self.poses[source]))
    }

    /// Ties the maps to places that are known: scan, point relative to the middle of the scan, place and standard deviations.
    pub(crate) fn anchored(
        &self,
        places: impl Iterator<Item = (usize, [f64; 3], [f64; 3], [f64; 3])>,
    ) -> Result<Anchored, Error> {
        let mut graph = self.solved.graph.clone();
        for (scan, local, place, deviations) in places {
            graph.add_position(scan, local, place, deviations).map_err(Error::Graph)?;
        }
        anchor(&graph, &Options::default(), &self.solved.solution).map_err(Error::Graph)
    }

    /// Number of scans in each component.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.held.len()];
        self.component.iter().for_each(|&component| sizes[component] += 1);
        sizes
    }
}

/// The held scan of each component.
fn held(component: &[usize], held: &[usize], count: usize) -> Vec<usize> {
    let first = |number: usize| component.iter().position(|&c| c == number);
    (0..count)
        .map(|number| {
            held.iter().copied().find(|&v| component[v] == number).or_else(|| first(number)).unwrap_or(0)
        })
        .collect()
}

fn between(target: &Similarity, source: &Similarity) -> Similarity {
    let back = transpose(&target.rotation());
    let inverse = 1.0 / target.scale();
    let translation = times(inverse, rotate(&back, minus(source.translation(), target.translation())));
    Similarity::new_unchecked(source.scale() * inverse, multiply(&back, &source.rotation()), translation)
}

/// The pose graph and its solution.
#[derive(Debug, Clone)]
struct Solved {
    graph: PoseGraph,
    solution: Solution,
}

impl Solved {
    fn of(scans: &[Scan], edges: &[MapEdge], bend: &[f64], kind: Kind) -> Result<Self, Error> {
        let mut graph = PoseGraph::new(kind);
        for id in 0..scans.len() {
            graph.add_vertex(id as u64, None).map_err(Error::Graph)?;
        }
        for (edge, &bend) in edges.iter().zip(bend) {
            let covariance = edge.bent(bend).covariance;
            let information = inverse(&covariance).ok_or(Error::Graph(pcr99_graph::Error::Singular))?;
            graph.add_edge(edge.target, edge.source, edge.pose, information).map_err(Error::Graph)?;
        }
        let solution = solve(&graph, &Options::default()).map_err(Error::Graph)?;
        Ok(Self { graph, solution })
    }

    /// The motion by which the map differs from an edge.
    fn error(&self, edge: &MapEdge) -> [f64; 7] {
        let there = between(&self.solution.poses[edge.target], &self.solution.poses[edge.source]);
        let back = transpose(&edge.pose.rotation());
        let turn = multiply(&back, &there.rotation());
        let axis = [turn[2][1] - turn[1][2], turn[0][2] - turn[2][0], turn[1][0] - turn[0][1]];
        let [angle, _, scale] = difference(&edge.pose, &there);
        let length = pcr99_base::vector::norm(axis);
        let turn = if length > 0.0 { times(angle / length, axis) } else { [0.0; 3] };
        let shift = minus(there.translation(), edge.pose.translation());
        let [x, y, z] = times(1.0 / edge.pose.scale(), rotate(&back, shift));
        [turn[0], turn[1], turn[2], x, y, z, scale]
    }

    fn off(&self, edge: &MapEdge, scans: &[Scan]) -> f64 {
        let there = between(&self.solution.poses[edge.target], &self.solution.poses[edge.source]);
        let certain = |pose| Uncertain { pose, ..Uncertain::IDENTITY };
        certain(edge.pose).distance(&certain(there), scans[edge.source].radius)
    }
}

/// The bend of the component of each edge.
fn estimated(edges: &[MapEdge], solved: &Solved, kind: Kind) -> Vec<f64> {
    let component = &solved.solution.components;
    let unknowns = kind.unknowns();
    let count = component.iter().max().map_or(0, |last| last + 1);
    let of_component = |number: usize| {
        let own: Vec<&MapEdge> = edges.iter().filter(|edge| component[edge.target] == number).collect();
        let vertices = component.iter().filter(|&&c| c == number).count();
        let freedom = unknowns * (own.len() + 1).saturating_sub(vertices);
        if freedom == 0 {
            return USUAL_BEND;
        }
        let errors: Vec<[f64; 7]> = own.iter().map(|edge| solved.error(edge)).collect();
        // The sum of squares falls with the bend.
        let is_too_small = |bend: f64| {
            let squares = own.iter().zip(&errors).map(|(edge, error)| {
                let covariance = edge.bent(bend).covariance;
                solve_positive(&covariance, *error)
                    .map_or(0.0, |x| x.iter().zip(error).map(|(a, b)| a * b).sum::<f64>())
            });
            squares.sum::<f64>() > freedom as f64
        };
        let (mut low, mut high) = (LEAST_BEND, MOST_BEND);
        for _ in 0..30 {
            let middle = (low * high).sqrt();
            if is_too_small(middle) { low = middle } else { high = middle }
        }
        high
    };
    let bends: Vec<f64> = (0..count).map(of_component).collect();
    edges.iter().map(|edge| bends[component[edge.target]]).collect()
}

/// The inverse of a covariance.
fn inverse(covariance: &Covariance) -> Option<Covariance> {
    // In units in which the diagonal is 1.
    let unit: [f64; 7] = std::array::from_fn(|i| 1.0 / covariance[i][i].sqrt());
    let scaled: Covariance =
        std::array::from_fn(|i| std::array::from_fn(|j| covariance[i][j] * unit[i] * unit[j]));
    let mut columns = [[0.0; 7]; 7];
    for (j, column) in columns.iter_mut().enumerate() {
        *column = solve_positive(&scaled, std::array::from_fn(|i| f64::from(u8::from(i == j))))?;
    }
    let inverse: Covariance =
        std::array::from_fn(|i| std::array::from_fn(|j| columns[i.max(j)][i.min(j)] * unit[i] * unit[j]));
    inverse.as_flattened().iter().all(|x| x.is_finite()).then_some(inverse)
}
