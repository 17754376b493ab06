//! Turns that may bring a cloud onto itself, as proposals of poses that fit as well.

use pcr99::Similarity;
use pcr99_base::vector::{dot, minus, rotate};
use rayon::prelude::*;

use super::{
    decoys::{principal_axes, turn},
    free_motion::turned,
    search::SampledPair,
};

/// Number of points of the moving cloud that rank proposals before they are refined.
pub(super) const RANKING_POINTS: usize = 150;
/// Angle between turns about an axis that are looked at, as a fraction of a whole turn: 3°. At 60 voxels from the axis a turn that is in between is off by 1.6 voxels.
const TURN_STEP: f64 = 1.0 / 120.0;
/// Two principal axes are exchangeable when their spreads differ by less than this fraction.
const SAME_SPREAD: f64 = 0.15;
/// Number of axes between two exchangeable ones about which half turns are looked at.
const AXES_BETWEEN: u32 = 24;

/// Turns of a pose about the principal axes of both clouds at which more is explained than at the turns before and after, and half turns about axes between two of equal spread: those that explain
/// at least this fraction of a few points, those that explain most first.
pub(super) fn turns(sampled: &SampledPair, pose: &Similarity, least: f64) -> Vec<Similarity> {
    let of_moving = spread(&sampled.moving.points);
    let of_fixed = spread(&sampled.fixed.points);
    let of_moving = Spread {
        center: pose.apply(of_moving.center),
        axes: of_moving.axes.map(|axis| rotate(&pose.rotation(), axis)),
        ..of_moving
    };
    let steps = (1.0 / TURN_STEP).round() as usize;
    let mut turns = Vec::new();
    for spread in [of_moving, of_fixed] {
        let profile = |axis: &[f64; 3]| -> Vec<Similarity> {
            let turned: Vec<Similarity> = (1..steps)
                .map(|k| {
                    pose.then(&turned(*axis, k as f64 * TURN_STEP * std::f64::consts::TAU, spread.center))
                })
                .collect();
            let explained: Vec<f64> =
                turned.par_iter().map(|pose| sampled.explained_roughly(pose, RANKING_POINTS)).collect();
            let at = |k: usize| explained.get(k).copied().unwrap_or(f64::INFINITY);
            let is_peak = |k: usize| k > 0 && at(k) > at(k - 1) && at(k) >= at(k + 1);
            (0..turned.len()).filter(|&k| is_peak(k)).map(|k| turned[k]).collect()
        };
        turns.extend(spread.axes.iter().flat_map(profile));
        turns.extend(spread.half_turns().into_iter().map(|further| pose.then(&further)));
    }
    ranked(sampled, turns, least)
}

/// Poses that explain enough, those that explain most first.
fn ranked(sampled: &SampledPair, poses: Vec<Similarity>, least: f64) -> Vec<Similarity> {
    let explained = |pose: Similarity| (sampled.explained_roughly(&pose, RANKING_POINTS), pose);
    let mut ranked: Vec<(f64, Similarity)> = poses.into_par_iter().map(explained).collect();
    ranked.retain(|(share, _)| *share >= least);
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().map(|(_, pose)| pose).collect()
}

/// Middle and principal axes of a cloud.
struct Spread {
    center: [f64; 3],
    axes: [[f64; 3]; 3],
    /// Variances along the axes, ascending.
    variances: [f64; 3],
}

fn spread(points: &[[f64; 3]]) -> Spread {
    let (center, axes) = principal_axes(points);
    let along = |axis: [f64; 3]| {
        let places = points.iter().map(|&p| dot(minus(p, center), axis));
        places.map(|x| x * x).sum::<f64>() / points.len().max(1) as f64
    };
    Spread { center, axes, variances: axes.map(along) }
}

impl Spread {
    /// Half turns about axes between two axes of equal spread, which are arbitrary in their plane.
    fn half_turns(&self) -> Vec<Similarity> {
        let pairs = [(0, 1), (1, 2), (0, 2)];
        let are_alike = |&(a, b): &(usize, usize)| {
            (self.variances[a] - self.variances[b]).abs()
                < SAME_SPREAD * self.variances[a].max(self.variances[b])
        };
        let about = |(a, b): (usize, usize)| {
            (1..AXES_BETWEEN).map(move |k| {
                let (sine, cosine) =
                    libm::sincos(std::f64::consts::PI * f64::from(k) / f64::from(AXES_BETWEEN));
                let axis = std::array::from_fn(|i| cosine * self.axes[a][i] + sine * self.axes[b][i]);
                let rotation = turn(axis, -1.0, 0.0);
                let moved = rotate(&rotation, self.center);
                Similarity::new_unchecked(1.0, rotation, minus(self.center, moved))
            })
        };
        pairs.into_iter().filter(are_alike).flat_map(about).collect()
    }
}
