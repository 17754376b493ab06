//! A start from the edges alone, as two linear problems: chordal relaxation (Martinec and Pajdla, 2007; Carlone et al., 2015).
//!
//! Rotations first: `R_j = R_i R_ij` is solved for arbitrary 3×3 matrices, which are then replaced by the nearest rotations. Scales follow from a linear problem in
//! their logarithms, and translations from a linear problem with these rotations and scales.

use pcr99_base::{
    Similarity,
    vector::{multiply, rotate, times, transpose},
};

use crate::{
    Error, PoseGraph,
    cost::Weights,
    lie::nearest_rotation,
    problem::{HELD, Problem},
    sparse::{Factor, System},
};

/// Poses that nearly minimise the cost of the used edges. Held vertices keep their pose, or are at the origin.
pub(crate) fn relaxed(
    graph: &PoseGraph,
    problem: &Problem,
    weights: &[Weights],
    factor: &mut Factor,
) -> Result<Vec<Similarity>, Error> {
    let mut poses: Vec<Similarity> =
        graph.poses().iter().map(|pose| pose.unwrap_or(Similarity::IDENTITY)).collect();
    if problem.vertex_of.is_empty() {
        return Ok(poses);
    }
    let rotations = rotations(graph, problem, weights, &poses, factor)?;
    for (&vertex, rotation) in problem.vertex_of.iter().zip(rotations) {
        let pose = &mut poses[vertex as usize];
        *pose = Similarity::new_unchecked(pose.scale(), rotation, pose.translation());
    }
    if graph.kind() == crate::Kind::Similarity {
        let weight = |k: usize| weights[k].scale;
        let logarithm = |v: usize| [libm::log(poses[v].scale())];
        let difference = |k: usize| [libm::log(graph.edges()[k].from_to.scale())];
        let logarithms = potentials(graph, problem, weight, logarithm, difference, factor)?;
        for (&vertex, [logarithm]) in problem.vertex_of.iter().zip(logarithms) {
            let pose = &mut poses[vertex as usize];
            *pose = Similarity::new_unchecked(libm::exp(logarithm), pose.rotation(), pose.translation());
        }
    }
    // In graphs of similarities, errors of the translation are in the units of the vertex that is seen.
    let weight = |k: usize| {
        let edge = &graph.edges()[k];
        let scale = poses[edge.from].scale() * edge.from_to.scale();
        weights[k].translation / (scale * scale)
    };
    let place = |v: usize| poses[v].translation();
    let difference = |k: usize| {
        let edge = &graph.edges()[k];
        times(poses[edge.from].scale(), rotate(&poses[edge.from].rotation(), edge.from_to.translation()))
    };
    let translations = potentials(graph, problem, weight, place, difference, factor)?;
    for (&vertex, translation) in problem.vertex_of.iter().zip(translations) {
        let pose = &mut poses[vertex as usize];
        *pose = Similarity::new_unchecked(pose.scale(), pose.rotation(), translation);
    }
    Ok(poses)
}

/// The relaxed rotations of all unknowns.
fn rotations(
    graph: &PoseGraph,
    problem: &Problem,
    weights: &[Weights],
    poses: &[Similarity],
    factor: &mut Factor,
) -> Result<Vec<[[f64; 3]; 3]>, Error> {
    // The unknowns are the transposes, one column after the other: X_j = R_ijᵀ X_i.
    let count = problem.vertex_of.len();
    let mut diagonal = vec![0.0; count * 9];
    let mut blocks = vec![0.0; problem.pairs() * 9];
    let mut sides = [const { Vec::new() }; 3];
    sides.iter_mut().for_each(|side| side.resize(count * 3, 0.0));
    for (&k, &block) in problem.edges.iter().zip(&problem.block_of) {
        let edge = &graph.edges()[k as usize];
        let weight = weights[k as usize].rotation;
        let measured = edge.from_to.rotation();
        let (a, b) = (problem.unknown_of[edge.from], problem.unknown_of[edge.to]);
        for unknown in [a, b].into_iter().filter(|&unknown| unknown != HELD) {
            (0..3).for_each(|i| diagonal[unknown as usize * 9 + 4 * i] += weight);
        }
        if block != HELD {
            let to = &mut blocks[block as usize * 9..][..9];
            to.iter_mut().zip(measured.as_flattened()).for_each(|(x, r)| *x -= weight * r);
        } else if a != HELD {
            // X_i = R_ij X_j.
            let known = multiply(&measured, &transpose(&poses[edge.to].rotation()));
            add_known(&mut sides, a, weight, &known);
        } else if b != HELD {
            let known = multiply(&transpose(&measured), &transpose(&poses[edge.from].rotation()));
            add_known(&mut sides, b, weight, &known);
        }
    }
    let system = System { size: 3, diagonal: &diagonal, pairs: &blocks, diagonal_factor: 1.0, shift: 0.0 };
    if !factor.compute(&problem.structure, &system) {
        return Err(Error::Singular);
    }
    sides.iter_mut().for_each(|side| factor.solve(&problem.structure, side));
    let rotation = |k: usize| {
        nearest_rotation(&std::array::from_fn(|row| std::array::from_fn(|i| sides[row][3 * k + i])))
    };
    Ok((0..count).map(rotation).collect())
}

/// Adds `weight` times the known matrix of a neighbour, column by column.
fn add_known(sides: &mut [Vec<f64>; 3], unknown: u32, weight: f64, known: &[[f64; 3]; 3]) {
    for (column, side) in sides.iter_mut().enumerate() {
        (0..3).for_each(|i| side[3 * unknown as usize + i] += weight * known[i][column]);
    }
}

/// Solves `x_to − x_from = difference` by weighted least squares.
fn potentials<const N: usize>(
    graph: &PoseGraph,
    problem: &Problem,
    weight: impl Fn(usize) -> f64,
    known: impl Fn(usize) -> [f64; N],
    difference: impl Fn(usize) -> [f64; N],
    factor: &mut Factor,
) -> Result<Vec<[f64; N]>, Error> {
    let count = problem.vertex_of.len();
    let mut diagonal = vec![0.0; count];
    let mut blocks = vec![0.0; problem.pairs()];
    let mut sides: [Vec<f64>; N] = std::array::from_fn(|_| vec![0.0; count]);
    for (&k, &block) in problem.edges.iter().zip(&problem.block_of) {
        let edge = &graph.edges()[k as usize];
        let (weight, difference) = (weight(k as usize), difference(k as usize));
        if block != HELD {
            blocks[block as usize] -= weight;
        }
        for (unknown, other, sign) in
            [(problem.unknown_of[edge.from], edge.to, -1.0), (problem.unknown_of[edge.to], edge.from, 1.0)]
        {
            if unknown == HELD {
                continue;
            }
            diagonal[unknown as usize] += weight;
            let there = if problem.unknown_of[other] == HELD { known(other) } else { [0.0; N] };
            for axis in 0..N {
                sides[axis][unknown as usize] += weight * (sign * difference[axis] + there[axis]);
            }
        }
    }
    let system = System { size: 1, diagonal: &diagonal, pairs: &blocks, diagonal_factor: 1.0, shift: 0.0 };
    if !factor.compute(&problem.structure, &system) {
        return Err(Error::Singular);
    }
    sides.iter_mut().for_each(|side| factor.solve(&problem.structure, side));
    Ok((0..count).map(|k| std::array::from_fn(|axis| sides[axis][k])).collect())
}
