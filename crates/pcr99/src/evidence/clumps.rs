//! Inliers that lie close together: one patch, or a small part of the scene.

use super::{Consensus, LARGEST_SAMPLE};
use pcr99_base::vector::{distance_sq, lower_median};

/// Share of the matches near the inliers below which the inliers are in one small part of the scene, and how many of the inliers are looked at: the others may be
/// there by chance.
const SMALL_PART: f64 = 0.2;
const MOST_INLIERS: f64 = 0.8;
/// Smallest number of inliers in a patch that counts once, and its smallest share of them. Fewer are neighbours by chance.
const FEWEST_IN_PATCH: usize = 5;
const LARGE_PATCH: f64 = 0.15;

/// Whether the inliers are in one small part of the scene, on both sides. A few matches there may be an object that moved, or that stands elsewhere.
pub(super) fn is_small_part(consensus: &Consensus<'_>) -> bool {
    [&consensus.points.a, &consensus.points.b]
        .iter()
        .all(|columns| share_near(columns, consensus.inliers) < SMALL_PART)
}

/// Share of all points in the smallest ball about the middle of the inliers that holds most of them.
fn share_near(columns: &[Vec<f64>; 3], inliers: &[u32]) -> f64 {
    let mut along = Vec::with_capacity(inliers.len());
    let middle = columns.each_ref().map(|column| {
        along.clear();
        along.extend(inliers.iter().map(|&i| column[i as usize]));
        lower_median(&mut along).unwrap_or(0.0)
    });
    let square = |i: usize| distance_sq(columns.each_ref().map(|column| column[i]), middle);
    let mut squares: Vec<f64> = inliers.iter().map(|&i| square(i as usize)).collect();
    let most = ((MOST_INLIERS * squares.len() as f64).ceil() as usize).saturating_sub(1);
    if squares.is_empty() {
        return 0.0;
    }
    let limit = *squares.select_nth_unstable_by(most, f64::total_cmp).1;
    let n = columns[0].len();
    (0..n).filter(|&i| square(i) <= limit).count() as f64 / n as f64
}

/// The inliers without those of the densest patch of this `radius`, of which the one with the smallest residual stays; `None` where no patch holds many of them.
pub(super) fn outside_densest_patch(consensus: &Consensus<'_>, radius: f64) -> Option<(Vec<u32>, Vec<f64>)> {
    let target = |i: u32| consensus.points.target(i as usize);
    let is_near = |center: u32| move |i: u32| distance_sq(target(center), target(i)) <= radius * radius;
    let step = consensus.inliers.len().div_ceil(LARGEST_SAMPLE).max(1);
    let some: Vec<u32> = consensus.inliers.iter().copied().step_by(step).collect();
    let held = |center: u32| some.iter().filter(|&&i| is_near(center)(i)).count();
    let (most, center) =
        some.iter().map(|&i| (held(i), i)).max_by_key(|(held, i)| (*held, std::cmp::Reverse(*i)))?;
    if most < FEWEST_IN_PATCH || (most as f64) < LARGE_PATCH * some.len() as f64 {
        return None;
    }
    let all = || consensus.inliers.iter().copied().zip(consensus.residuals.iter().copied());
    let inside = is_near(center);
    let kept = all().filter(|(i, _)| inside(*i)).min_by(|one, other| one.1.total_cmp(&other.1))?.0;
    Some(all().filter(|&(i, _)| i == kept || !inside(i)).unzip())
}
