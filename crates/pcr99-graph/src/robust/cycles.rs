//! Short cycles of edges, and how far each is from closing.

use std::f64::consts::PI;

use pcr99_base::{
    Similarity,
    vector::{multiply, rotate, times, transpose},
};

use super::noise::{GATE, Noise};
use crate::{
    Kind, PoseGraph,
    cost::Weights,
    graph::Edge,
    lie::{Matrix3, RotationLog, UNIT, between, combined, skew},
    matrix::{gaussian, inverse, sandwich},
};

/// Cycles per edge that are looked at, in the order of the edges: enough for a verdict, and a bound of the time at vertices with very many edges.
const MOST_CYCLES: usize = 16;
/// Pairs of neighbours per edge that are looked at.
const MOST_STEPS: usize = 4096;
/// Volume of all rotations, in the measure of rotation vectors near the identity.
pub(super) const ROTATIONS: f64 = 8.0 * PI * PI;
/// Logarithm of a ratio of likelihoods that convinces alone: 150 to 1, as wrong edges may be as frequent as right ones.
const CONVINCING: f64 = 5.0;
/// Trace of the covariance of a chained rotation in rad² beyond which a cycle says nothing.
const USELESS: f64 = 1.5;

/// Stated covariance of the error of an edge: its parts for rotation and translation, on the right of the measured pose. Their correlation is left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stated {
    pub(super) rotation: Matrix3,
    pub(super) translation: Matrix3,
    /// Variance of the logarithm of the scale.
    pub(super) scale: f64,
}

impl Stated {
    /// The round covariance that the chordal cost assumes.
    pub(super) fn round(weights: &Weights) -> Self {
        let times_unit = |x: f64| combined(x, &UNIT, 0.0, &UNIT);
        Self {
            rotation: times_unit(0.5 / weights.rotation),
            translation: times_unit(1.0 / weights.translation),
            scale: 1.0,
        }
    }

    /// The covariance of the whole information.
    pub(super) fn of(edge: &Edge, kind: Kind) -> Self {
        let part = |first: usize| -> Matrix3 {
            let m = std::array::from_fn(|i| std::array::from_fn(|j| edge.information[first + i][first + j]));
            inverse(&m).unwrap_or([[0.0; 3]; 3])
        };
        let scale = if kind == Kind::Similarity { 1.0 / edge.information[6][6] } else { 1.0 };
        let alone = Self { rotation: part(0), translation: part(3), scale };
        if edge.indefinite.is_some() {
            return alone;
        }
        let m: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| edge.information[i][j]));
        let Some(whole) = inverse(&m) else { return alone };
        let part =
            |first: usize| std::array::from_fn(|i| std::array::from_fn(|j| whole[first + i][first + j]));
        Self { rotation: part(0), translation: part(3), ..alone }
    }

    /// Covariance of rotation and translation with this noise.
    pub(super) fn with_noise(&self, noise: Noise) -> [[f64; 6]; 6] {
        let mut covariance = [[0.0; 6]; 6];
        for i in 0..3 {
            for j in 0..3 {
                covariance[i][j] = noise.rotation * self.rotation[i][j];
                covariance[3 + i][3 + j] = noise.translation * self.translation[i][j];
            }
        }
        covariance
    }

    /// Squares of errors in units of the covariance: rotation and translation.
    pub(super) fn squares(&self, error: &[f64; 6]) -> [f64; 2] {
        let [a, b, c, x, y, z] = *error;
        let square = |m: &Matrix3, v: [f64; 3]| gaussian(m, &v).map_or(f64::INFINITY, |(_, square)| square);
        [square(&self.rotation, [a, b, c]), square(&self.translation, [x, y, z])]
    }
}

/// Difference of a pose from the measured one, on its right: rotation vector and translation.
pub(super) fn difference(measured: &Similarity, pose: &Similarity) -> [f64; 6] {
    let error = between(measured, pose);
    let [a, b, c] = RotationLog::of(&error.rotation()).vector;
    let [x, y, z] = times(1.0 / error.scale(), rotate(&transpose(&error.rotation()), error.translation()));
    [a, b, c, x, y, z]
}

/// How far a cycle is from closing, with the stated covariance of that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closing {
    error: [f64; 6],
    /// By the rotations: of the rotation, of the translation with the rotation, of the translation.
    turned: [Matrix3; 3],
    /// By the translations.
    moved: Matrix3,
}

impl Closing {
    /// Stated covariance of the rotation alone, and its error.
    pub(super) fn rotation(&self) -> (&Matrix3, [f64; 3]) {
        (&self.turned[0], [self.error[0], self.error[1], self.error[2]])
    }

    /// Square of the error of the translation in units of its covariance.
    pub(super) fn translation_square(&self, noise: Noise) -> f64 {
        let covariance: Matrix3 = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                noise.rotation * self.turned[2][i][j] + noise.translation * self.moved[i][j]
            })
        });
        gaussian(&covariance, &[self.error[3], self.error[4], self.error[5]])
            .map_or(f64::INFINITY, |(_, square)| square)
    }

    /// The error with its covariance.
    pub(super) fn with_noise(&self, noise: Noise) -> Error {
        let covariance = std::array::from_fn(|i| {
            std::array::from_fn(|j| match (i < 3, j < 3) {
                (true, true) => noise.rotation * self.turned[0][i][j],
                (false, true) => noise.rotation * self.turned[1][i - 3][j],
                (true, false) => noise.rotation * self.turned[1][j - 3][i],
                (false, false) => {
                    noise.rotation * self.turned[2][i - 3][j - 3]
                        + noise.translation * self.moved[i - 3][j - 3]
                }
            })
        });
        Error::new(&covariance, &self.error)
    }
}

/// An error in units of its covariance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Error {
    log_determinant: f64,
    square: f64,
}

impl Error {
    pub(super) fn new(covariance: &[[f64; 6]; 6], error: &[f64; 6]) -> Self {
        let (log_determinant, square) = gaussian(covariance, error).unwrap_or((f64::INFINITY, f64::INFINITY));
        Self { log_determinant, square }
    }

    /// Logarithm of the density at no error, in units of that of random poses, whose translations are anywhere in a ball of this radius.
    fn log_peak(&self, radius: f64) -> f64 {
        let ball = 4.0 / 3.0 * PI * radius * radius * radius;
        libm::log(ROTATIONS * ball) - 0.5 * (self.log_determinant + 6.0 * libm::log(2.0 * PI))
    }

    /// Logarithm of how much likelier the error is when all edges are right than when one is random.
    pub(super) fn log_ratio(&self, radius: f64) -> f64 {
        self.log_peak(radius) - 0.5 * self.square
    }

    /// Whether the error is as those of right edges are, and hardly ever that of random ones: they are so small with at most the probability `chance`, or the error is
    /// much likelier for a right edge. `slack` is what the gate may be widened by where the first condition allows it.
    pub(super) fn is_right(&self, radius: f64, chance: f64, slack: f64) -> bool {
        // Random errors have a square below c with the probability exp(−peak)·π³c³/6 / (2π)³.
        let most = libm::cbrt(48.0 * chance) * libm::exp(self.log_peak(radius).min(1e3) / 3.0);
        self.square <= (GATE * slack).min(most)
            || (self.square <= GATE && self.log_ratio(radius) > CONVINCING)
    }
}

/// Edges at each vertex.
pub(super) struct Neighbours<'a> {
    graph: &'a PoseGraph,
    stated: &'a [Stated],
    lists: Vec<Vec<(u32, u32)>>,
}

impl<'a> Neighbours<'a> {
    pub(super) fn new(graph: &'a PoseGraph, stated: &'a [Stated]) -> Self {
        let mut lists = vec![Vec::new(); graph.len()];
        for (k, edge) in graph.edges().iter().enumerate() {
            lists[edge.from].push((edge.to as u32, k as u32));
            lists[edge.to].push((edge.from as u32, k as u32));
        }
        Self { graph, stated, lists }
    }

    /// Closings of the cycles of edge `k` with one to three other edges. `marks` has an empty list per vertex, before and after.
    pub(super) fn short_cycles(&self, k: usize, marks: &mut [Vec<u32>]) -> Vec<Closing> {
        let edge = &self.graph.edges()[k];
        let (start, end) = (edge.from as u32, edge.to as u32);
        let mut found = Vec::new();
        // Edges that lead to the end, by the vertex they come from.
        for &(vertex, last) in self.lists[end as usize].iter().filter(|(_, last)| *last as usize != k) {
            marks[vertex as usize].push(last);
        }
        let mut steps = 0;
        let mut path = Vec::with_capacity(3);
        'search: for &(x, first) in
            self.lists[start as usize].iter().filter(|(_, first)| *first as usize != k)
        {
            path.clear();
            path.push((first, start));
            if x == end {
                found.push(self.closing(k, &path));
                continue;
            }
            for &last in &marks[x as usize] {
                path.truncate(1);
                path.push((last, x));
                found.push(self.closing(k, &path));
            }
            for &(y, second) in &self.lists[x as usize] {
                steps += 1;
                if steps > MOST_STEPS || found.len() >= MOST_CYCLES {
                    break 'search;
                }
                if y == start || y == end {
                    continue;
                }
                for &last in &marks[y as usize] {
                    path.truncate(1);
                    path.extend([(second, x), (last, y)]);
                    found.push(self.closing(k, &path));
                }
            }
        }
        for &(vertex, _) in &self.lists[end as usize] {
            marks[vertex as usize].clear();
        }
        found
    }

    /// Closing of a cycle of edge `k` and a path, given as edges with the vertices that they leave.
    fn closing(&self, k: usize, path: &[(u32, u32)]) -> Closing {
        let own = self.stated[k];
        let mut turned = [own.rotation, [[0.0; 3]; 3], [[0.0; 3]; 3]];
        let mut moved = own.translation;
        // The pose of the end of the path in the frame of the vertex that the walk back has reached.
        let mut chained = Similarity::IDENTITY;
        for &(edge, from) in path.iter().rev() {
            let (edge, stated) = (&self.graph.edges()[edge as usize], self.stated[edge as usize]);
            let step = if edge.from == from as usize { edge.from_to } else { edge.from_to.inverse() };
            // The error is on the right of the measured pose, in the frame of the edge's `to`: seen from the end of the path, a rotation also moves it.
            let end_in_to = if edge.from == from as usize { chained } else { chained.then(&step) };
            let back = transpose(&end_in_to.rotation());
            let lever = multiply(&back, &skew(end_in_to.translation().map(|x| -x)));
            let cross = multiply(&multiply(&lever, &stated.rotation), &end_in_to.rotation());
            for (sum, add) in turned.iter_mut().zip([
                sandwich(&back, &stated.rotation),
                cross,
                sandwich(&lever, &stated.rotation),
            ]) {
                add_to(sum, &add);
            }
            add_to(&mut moved, &sandwich(&back, &stated.translation));
            chained = chained.then(&step);
        }
        Closing { error: difference(&self.graph.edges()[k].from_to, &chained), turned, moved }
    }
}

fn add_to(sum: &mut Matrix3, add: &Matrix3) {
    sum.as_flattened_mut().iter_mut().zip(add.as_flattened()).for_each(|(x, y)| *x += y);
}

/// Trees of trusted edges.
pub(super) struct Backbone<'a> {
    neighbours: &'a Neighbours<'a>,
    /// Vertex above, edge to it, and depth; the root is its own parent.
    parents: Vec<(u32, u32, u32)>,
    trees: Vec<u32>,
}

impl<'a> Backbone<'a> {
    pub(super) fn new(neighbours: &'a Neighbours<'a>, is_trusted: &[bool]) -> Self {
        let count = neighbours.lists.len();
        let mut parents: Vec<(u32, u32, u32)> = (0..count as u32).map(|v| (v, u32::MAX, 0)).collect();
        let mut trees = vec![u32::MAX; count];
        for root in 0..count as u32 {
            if trees[root as usize] != u32::MAX {
                continue;
            }
            trees[root as usize] = root;
            let mut queue = std::collections::VecDeque::from([root]);
            while let Some(v) = queue.pop_front() {
                for &(other, edge) in &neighbours.lists[v as usize] {
                    if is_trusted[edge as usize] && trees[other as usize] == u32::MAX {
                        trees[other as usize] = root;
                        parents[other as usize] = (v, edge, parents[v as usize].2 + 1);
                        queue.push_back(other);
                    }
                }
            }
        }
        Self { neighbours, parents, trees }
    }

    /// Closing of the cycle of edge `k` and the trusted path between its ends; `None` where there is none, or where its noise makes it useless.
    pub(super) fn closing(&self, k: usize, noise: Noise) -> Option<Closing> {
        let edge = &self.neighbours.graph.edges()[k];
        let (mut a, mut b) = (edge.from as u32, edge.to as u32);
        if self.trees[a as usize] != self.trees[b as usize] {
            return None;
        }
        let (mut from_start, mut to_end) = (Vec::new(), Vec::new());
        let mut trace = 0.0;
        while a != b {
            let (pa, pb) = (self.parents[a as usize], self.parents[b as usize]);
            let edge = if pa.2 >= pb.2 {
                from_start.push((pa.1, a));
                a = pa.0;
                pa.1
            } else {
                to_end.push((pb.1, pb.0));
                b = pb.0;
                pb.1
            };
            let m = self.neighbours.stated[edge as usize].rotation;
            trace += noise.rotation * (m[0][0] + m[1][1] + m[2][2]);
            if trace > USELESS {
                return None;
            }
        }
        from_start.extend(to_end.iter().rev());
        Some(self.neighbours.closing(k, &from_start))
    }
}
