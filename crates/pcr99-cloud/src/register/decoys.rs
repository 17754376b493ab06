//! Decoys: poses that the shape of the clouds suggests, as rivals of a pose.
//!
//! Turns about the principal axes of the moving cloud fit again when it is symmetric. Shifts on which matches agree fit again when the scene repeats itself.

use std::sync::Arc;

use pcr99::Similarity;
use rayon::prelude::*;

use pcr99_base::{
    eigen::symmetric_eigen,
    vector::{cross, minus, rotate},
};

use super::{
    judge::limits,
    search::{Attempt, Candidate, SampledPair},
};

/// Number of decoys that are refined and compared.
const REFINED: usize = 4;
/// Number of points of the moving cloud that rank the decoys before they are refined.
const RANKING_POINTS: usize = 150;
/// A mirror image is refined when it explains at least this fraction of what the pose explains: it explains more after than before.
const MIRROR_EXPLAINED: f64 = 0.4;

/// Refined decoys of a pose, those that explain most first.
pub(super) fn decoys(
    sampled: &SampledPair,
    pose: &Similarity,
    attempt: Option<&Attempt>,
    with_scale: bool,
) -> Vec<Candidate> {
    let (center, axes) = principal_axes(&sampled.moving.points);
    let center = pose.apply(center);
    let axes = axes.map(|axis| rotate(&pose.rotation(), axis));
    let turned = turns(&axes).into_iter().map(|turn| {
        let moved = rotate(&turn, center);
        pose.then(&Similarity::new_unchecked(1.0, turn, minus(center, moved)))
    });
    let shifts = attempt.map_or(Vec::new(), |attempt| attempt.shifts(sampled, pose));
    let shifted = shifts.into_iter().map(|by| pose.then(&Similarity::from_translation(by)));
    let roughly = |pose: &Similarity| sampled.explained_roughly(pose, RANKING_POINTS);
    // A pose explains less before it is refined than after, hence half of the limit.
    let least = 0.5 * limits::RIVAL_EXPLAINED * roughly(pose);
    let poses: Vec<Similarity> = turned.chain(shifted).filter(|pose| sampled.is_upright(pose)).collect();
    let mut suggested: Vec<(f64, Similarity)> =
        poses.into_par_iter().map(|pose| (roughly(&pose), pose)).collect();
    suggested.retain(|(share, _)| *share >= least);
    suggested.sort_by(|a, b| b.0.total_cmp(&a.0));
    suggested.truncate(REFINED);
    let refined = suggested.par_iter().filter_map(|(_, start)| {
        let refined = sampled.refine_coarsely(*start, with_scale, Default::default());
        if !sampled.differ(pose, &refined) {
            return None;
        }
        Some(match attempt {
            Some(attempt) => attempt.compare(sampled, *start, refined),
            None => Candidate::without_matches(sampled, *start, refined),
        })
    });
    refined.collect()
}

/// How clearly a mirror image of the moving cloud fits better than the cloud itself, in standard deviations; negative when it fits worse.
///
/// The image in each principal plane is refined, where it explains nearly as much as the pose to begin with. A cloud that is almost symmetric, as a shoe, fits
/// onto its mirror image well enough for every other test.
pub(super) fn mirror_clearness(sampled: &SampledPair, pose: &Similarity, with_scale: bool) -> f64 {
    let roughly = |pair: &SampledPair| pair.explained_roughly(pose, RANKING_POINTS);
    // Normals of either sign on both sides: an image turns them inside out.
    let plain = sampled.with_moving(Arc::clone(&sampled.moving));
    let least = MIRROR_EXPLAINED * roughly(&plain);
    let (center, axes) = principal_axes(&sampled.moving.points);
    let clearness = axes.into_par_iter().filter_map(|axis| {
        let image = sampled.with_moving(Arc::new(sampled.moving.mirrored(center, axis)));
        if roughly(&image) < least {
            return None;
        }
        let refined = image.refine_coarsely(*pose, with_scale, Default::default());
        let (mirrored, votes) = (image.votes_on(&refined), plain.votes_on(pose));
        Some(sampled.voters().compare(&mirrored, &votes).clearness())
    });
    clearness.reduce(|| f64::NEG_INFINITY, f64::max)
}

/// Rotations about each of three axes by multiples of 30°, and the half turns about the diagonals between two of them.
fn turns(axes: &[[f64; 3]; 3]) -> Vec<[[f64; 3]; 3]> {
    let half = (0.75_f64).sqrt();
    // Cosine and sine of 30°, 60°, …, 330°.
    let steps = [
        [half, 0.5],
        [0.5, half],
        [0.0, 1.0],
        [-0.5, half],
        [-half, 0.5],
        [-1.0, 0.0],
        [-half, -0.5],
        [-0.5, -half],
        [0.0, -1.0],
        [0.5, -half],
        [half, -0.5],
    ];
    let mut turns: Vec<[[f64; 3]; 3]> =
        axes.iter().flat_map(|&axis| steps.map(|[cosine, sine]| turn(axis, cosine, sine))).collect();
    for k in 0..3 {
        let (u, v) = (axes[k], axes[(k + 1) % 3]);
        for sign in [1.0, -1.0] {
            let diagonal = std::array::from_fn(|i| (u[i] + sign * v[i]) * 0.5_f64.sqrt());
            turns.push(turn(diagonal, -1.0, 0.0));
        }
    }
    turns
}

/// Rotation about a unit vector (Rodrigues).
pub(super) fn turn(axis: [f64; 3], cosine: f64, sine: f64) -> [[f64; 3]; 3] {
    let [x, y, z] = axis;
    let across = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let same = if i == j { cosine } else { 0.0 };
            same + sine * across[i][j] + (1.0 - cosine) * axis[i] * axis[j]
        })
    })
}

/// Mean of points and their principal axes, from least to most spread, as a right-handed frame.
pub(super) fn principal_axes(points: &[[f64; 3]]) -> ([f64; 3], [[f64; 3]; 3]) {
    let n = points.len().max(1) as f64;
    let mean: [f64; 3] = std::array::from_fn(|k| points.iter().map(|p| p[k]).sum::<f64>() / n);
    let covariance: [[f64; 3]; 3] = std::array::from_fn(|i| {
        std::array::from_fn(|j| points.iter().map(|p| (p[i] - mean[i]) * (p[j] - mean[j])).sum::<f64>() / n)
    });
    let (_, mut axes) = symmetric_eigen(&covariance);
    axes[2] = cross(axes[0], axes[1]);
    (mean, axes)
}
