//! Edges between components: two that put the components at the same relative pose confirm each other.

use std::collections::BTreeMap;

use pcr99_base::{
    Similarity,
    vector::{multiply, transpose},
};

use super::{
    Evidence,
    cycles::{Error, Stated, difference},
    noise::Noise,
    prediction::Prediction,
};
use crate::{
    PoseGraph,
    lie::{between, skew},
};

/// Edges between two components that are compared with each other, at most; the first ones are taken.
const MOST: usize = 64;

/// Covariance of rotation and translation, 6×6.
type Covariance = [[f64; 6]; 6];

/// The edges between components that another edge between the same components confirms.
pub(super) fn confirmed<const D: usize>(
    graph: &PoseGraph,
    component: &[usize],
    poses: &[Similarity],
    prediction: &mut Prediction<'_, D>,
    (stated, noise, evidence): (&[Stated], Noise, &Evidence),
) -> Vec<usize> {
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (k, edge) in graph.edges().iter().enumerate() {
        let (a, b) = (component[edge.from], component[edge.to]);
        if a != b {
            groups.entry((a.min(b), a.max(b))).or_default().push(k);
        }
    }
    let mut found = Vec::new();
    for group in groups.values() {
        let group = &group[..group.len().min(MOST)];
        for (n, &e) in group.iter().enumerate() {
            for &f in &group[n + 1..] {
                // From the start of e through its component to f, over f, and through the other component to the end of e.
                let (edge, other) = (&graph.edges()[e], &graph.edges()[f]);
                let is_forward = component[other.from] == component[edge.from];
                let (near, far) = if is_forward { (other.from, other.to) } else { (other.to, other.from) };
                let step = if is_forward { other.from_to } else { other.from_to.inverse() };
                let from_far = between(&poses[far], &poses[edge.to]);
                let from_near = from_far.then(&step);
                let chained = from_near.then(&between(&poses[edge.from], &poses[near]));
                let error = difference(&edge.from_to, &chained);
                if !evidence.is_possible(&error) {
                    continue;
                }
                // The error of f is in the frame of its `to`.
                let from_its_to = if is_forward { from_far } else { from_near };
                let covariances = [
                    stated[e].with_noise(noise),
                    prediction.covariance((far, edge.to), poses),
                    carried(&stated[f].with_noise(noise), &from_its_to),
                    carried(&prediction.covariance((edge.from, near), poses), &from_near),
                ];
                let sum = std::array::from_fn(|i| {
                    std::array::from_fn(|j| covariances.iter().map(|c| c[i][j]).sum())
                });
                let chance = evidence.chance / group.len() as f64;
                if Error::new(&sum, &error).is_right(evidence.radius, chance, noise.slack()) {
                    found.extend([e, f]);
                }
            }
        }
    }
    found
}

/// The covariance of an error, seen from a vertex at this pose in its frame.
fn carried(covariance: &Covariance, end: &Similarity) -> Covariance {
    let back = transpose(&end.rotation());
    let lever = multiply(&back, &skew(end.translation().map(|x| -x)));
    let adjoint: Covariance = std::array::from_fn(|i| {
        std::array::from_fn(|j| match (i < 3, j < 3) {
            (true, true) => back[i][j],
            (true, false) => 0.0,
            (false, true) => lever[i - 3][j],
            (false, false) => back[i - 3][j - 3],
        })
    });
    let half: Covariance = std::array::from_fn(|i| {
        std::array::from_fn(|j| (0..6).map(|k| adjoint[i][k] * covariance[k][j]).sum())
    });
    std::array::from_fn(|i| std::array::from_fn(|j| (0..6).map(|k| half[i][k] * adjoint[j][k]).sum()))
}
