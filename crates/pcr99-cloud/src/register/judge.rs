//! Whether a pose can be trusted.
//!
//! Four questions, each with a number and a limit; the first that is answered badly is the reason given.
//! Limits were set between what right and wrong poses of real scans show: residuals of 0.05–0.3 voxels against 0.35–0.65, 70–99 % of
//! normals agreeing against 15–80 %, and a merit at least five times that of the best other pose against once to twice.

use pcr99::{Similarity, Status};

use super::{
    Reason,
    search::{Contender, Levels},
};
use crate::{
    prepare::PreparedCloud,
    vector::{minus, rotate, symmetric_eigen},
    verify::{Assessment, free_space_share},
};

/// Matches must agree by chance at most once in so many powers of ten …
const SIGNIFICANT: f64 = -6.0;
/// … where the clouds overlap by this much of the smaller one, …
const LEAST_OVERLAP: f64 = 0.1;
/// … are no farther from each other than this, in voxels, …
const WORST_RESIDUAL: f64 = 0.35;
/// … and at least so many of the normals agree.
const LEAST_AGREEMENT: f64 = 0.6;
/// How firmly the overlap must hold the pose. Right poses of scans have 0.03 to 0.15; a plane, a sphere and a tube less than 0.0003.
const LEAST_RIGIDITY: f64 = 4e-3;
/// A pose from matches must have so many times the merit of any other, …
const LEAST_MARGIN: f64 = 2.5;
/// … and fit so many times as well as any other pose, wherever it came from.
const LEAST_FIT_MARGIN: f64 = 1.15;
/// No more of one cloud may be in the space that the other's sensor saw through.
const MOST_IN_FREE_SPACE: f64 = 0.15;
/// Clouds of which one is so many times as large as the other are hardly in the same unit.
const EXTREME_RATIO: f64 = 10.0;
/// Decoys that are brought into place.
const SETTLED_DECOYS: usize = 3;
/// Points of each cloud that all decoys are held against.
const DECOY_POINTS: usize = 250;

/// A verdict, and what it rests on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judgement {
    pub(super) status: Status,
    pub(super) reason: Reason,
    pub(super) assessment: Assessment,
}

/// What is judged.
pub(super) struct Case<'a> {
    pub(super) levels: &'a Levels,
    pub(super) moving: &'a PreparedCloud,
    pub(super) fixed: &'a PreparedCloud,
    /// The refined pose.
    pub(super) pose: Similarity,
    /// Where it came from is the first; the others are rivals, best first.
    pub(super) known: &'a [Contender],
    /// Whether it came from the caller and not from matches.
    pub(super) is_given: bool,
    pub(super) with_scale: bool,
}

impl Judgement {
    /// There is no pose to judge.
    pub(super) fn nothing(was_stopped: bool) -> Self {
        let reason = if was_stopped { Reason::Stopped } else { Reason::NoPose };
        let assessment =
            Assessment { overlap_source: 0.0, overlap_target: 0.0, agreement: 0.0, residual: 0.0 };
        Self { status: Status::NoSolution, reason, assessment }
    }
}

impl Case<'_> {
    /// The verdict.
    pub(super) fn judge(&self) -> Judgement {
        let assessment = self.levels.assess(&self.pose);
        let reason = match self.doubt(&assessment) {
            Reason::Consistent => Reason::Consistent,
            _ if self.extent_ratio() > EXTREME_RATIO => Reason::Extents { ratio: self.extent_ratio() },
            doubt => doubt,
        };
        let status = if reason == Reason::Consistent { Status::Registered } else { Status::NotReliable };
        Judgement { status, reason, assessment }
    }

    /// How many times as large one cloud is as the other.
    fn extent_ratio(&self) -> f64 {
        let extents = [self.pose.scale() * self.moving.density().extent(), self.fixed.density().extent()];
        (extents[0] / extents[1]).max(extents[1] / extents[0])
    }

    /// The first doubt, or none.
    fn doubt(&self, assessment: &Assessment) -> Reason {
        let best = &self.known[0];
        let overlap = assessment.overlap_source.max(assessment.overlap_target);
        let Assessment { agreement, residual, .. } = *assessment;
        let unfit = residual > WORST_RESIDUAL || agreement < LEAST_AGREEMENT;
        let chance = !self.is_given && best.log10_nfa > SIGNIFICANT;
        if self.levels.rigidity(&self.pose) < LEAST_RIGIDITY {
            return Reason::Slides;
        }
        if overlap < LEAST_OVERLAP {
            return Reason::LittleOverlap { overlap };
        }
        if unfit {
            return Reason::PoorFit { residual, agreement };
        }
        if chance {
            return Reason::Chance { log10_nfa: best.log10_nfa };
        }
        let share = self.free_space();
        if share > MOST_IN_FREE_SPACE {
            return Reason::FreeSpace { share };
        }
        let rivals = self.known.iter().filter(|c| self.levels.differ(&self.pose, &c.pose));
        let strongest = rivals.map(Contender::merit).fold(0.0, f64::max);
        if !self.is_given && strongest * LEAST_MARGIN > best.merit() {
            return Reason::Ambiguous { share: strongest / best.merit() };
        }
        let rival = self.best_decoy().max(self.best_rival());
        if rival * LEAST_FIT_MARGIN > assessment.score() {
            return Reason::Ambiguous { share: rival / assessment.score() };
        }
        Reason::Consistent
    }

    /// The best fit of another pose that matches support.
    fn best_rival(&self) -> f64 {
        let rivals = self.known.iter().filter(|c| self.levels.differ(&self.pose, &c.pose));
        rivals.map(|c| c.assessment.score()).fold(0.0, f64::max)
    }

    /// Share of the points that are where the other sensor saw free space, where a sensor's place is known.
    fn free_space(&self) -> f64 {
        let (levels, pose) = (self.levels, &self.pose);
        let voxel = levels.voxel(pose.scale());
        let there =
            self.fixed.viewpoint().map(|v| free_space_share(&levels.moving, &levels.fixed, pose, v, voxel));
        let back = pose.inverse();
        let here = self
            .moving
            .viewpoint()
            .map(|v| free_space_share(&levels.fixed, &levels.moving, &back, v, voxel * back.scale()));
        there.unwrap_or(0.0).max(here.unwrap_or(0.0))
    }

    /// The best fit of the pose turned about the principal axes of the moving cloud: what is symmetric fits again.
    fn best_decoy(&self) -> f64 {
        let Levels { moving, .. } = self.levels;
        let (center, axes) = principal_axes(&moving.points);
        let center = self.pose.apply(center);
        let axes = axes.map(|axis| rotate(&self.pose.rotation(), axis));
        let decoy = |turn: &[[f64; 3]; 3]| {
            let moved = rotate(turn, center);
            self.pose.then(&Similarity::new(1.0, *turn, minus(center, moved)))
        };
        let mut decoys: Vec<(f64, Similarity)> = turns(&axes)
            .iter()
            .map(|turn| {
                let pose = decoy(turn);
                (self.levels.assess_roughly(&pose, DECOY_POINTS).score(), pose)
            })
            .collect();
        decoys.sort_by(|a, b| b.0.total_cmp(&a.0));
        let settled = decoys.iter().take(SETTLED_DECOYS).map(|(_, start)| {
            let pose = self.levels.settle(*start, self.with_scale, Default::default());
            if self.levels.differ(&self.pose, &pose) { self.levels.assess(&pose).score() } else { 0.0 }
        });
        settled.fold(0.0, f64::max)
    }
}

/// Turns about each of three axes by multiples of 30°, and the half turns that lie between two of them.
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

/// The rotation about a unit vector (Rodrigues).
fn turn(axis: [f64; 3], cosine: f64, sine: f64) -> [[f64; 3]; 3] {
    let [x, y, z] = axis;
    let across = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let same = if i == j { cosine } else { 0.0 };
            same + sine * across[i][j] + (1.0 - cosine) * axis[i] * axis[j]
        })
    })
}

/// The mean of points and the directions of least to most spread, a right-handed frame.
pub(super) fn principal_axes(points: &[[f64; 3]]) -> ([f64; 3], [[f64; 3]; 3]) {
    let n = points.len().max(1) as f64;
    let mean: [f64; 3] = std::array::from_fn(|k| points.iter().map(|p| p[k]).sum::<f64>() / n);
    let covariance: [[f64; 3]; 3] = std::array::from_fn(|i| {
        std::array::from_fn(|j| points.iter().map(|p| (p[i] - mean[i]) * (p[j] - mean[j])).sum::<f64>() / n)
    });
    let (_, mut axes) = symmetric_eigen(&covariance);
    axes[2] = crate::vector::cross(axes[0], axes[1]);
    (mean, axes)
}
