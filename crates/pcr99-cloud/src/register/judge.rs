//! Whether a pose can be trusted.
//!
//! Some questions, each with a number and a limit; the first that is answered badly is the reason given. The limits were set on generated
//! scenes (`tests/scenes`): rooms, facades, objects, terrain, streets, woods and yards, from one place or several.

use pcr99::{Similarity, Status};

use super::{
    Reason,
    search::{Attempt, Contender, Levels},
};
use crate::{
    prepare::PreparedCloud,
    vector::{minus, rotate, symmetric_eigen},
    verify::{Assessment, free_space_share},
    witness::Comparison,
};

/// How firmly the overlap must hold the pose. Right poses of scans have 0.03 to 0.15; a plane, a sphere and a tube less than 0.0003.
const LEAST_RIGIDITY: f64 = 4e-3;
/// The clouds must overlap by this much of either, …
const LEAST_OVERLAP: f64 = 0.1;
/// … be no farther from each other than this, in voxels, …
const WORST_RESIDUAL: f64 = 0.35;
/// … and at least so many of the normals agree; …
const LEAST_AGREEMENT: f64 = 0.6;
/// … no more of what can be told may speak against the pose, …
const MOST_CONTRADICTION: f64 = 0.06;
/// … and matches must agree by chance at most once in so many powers of ten.
const SIGNIFICANT: f64 = -6.0;
/// This share of the points must be explained and not on large planes, which any two rooms or streets have; …
const LEAST_DISTINCT: f64 = 0.03;
/// … with matches that agree by chance at most once in so many powers of ten …
const STRONG: f64 = -100.0;
/// … this share will do, …
const SOME_DISTINCT: f64 = 0.01;
/// … and none is needed when they are stronger still (gentle hills are almost planes), …
const VERY_STRONG: f64 = -200.0;
/// … or when this much of one cloud overlaps, borders and all, …
const WHOLE: f64 = 0.9;
/// … and they are at least as strong as this.
const WHOLE_STRONG: f64 = -50.0;
/// No more of one cloud may be in the space that the other's sensor saw through.
const MOST_IN_FREE_SPACE: f64 = 0.15;
/// Another pose that explains less than this share of what this one does is no rival, …
const SMALL_RIVAL: f64 = 0.4;
/// … nor is one that so few matches support, compared with this one.
const UNSUPPORTED_RIVAL: f64 = 0.2;
/// The clouds tell two poses apart when more by this share of what can be told speaks against one of them, or when the points that one
/// explains and the other contradicts are this share of all that it explains, …
const TELLING: f64 = 0.04;
/// … and in either case so many times what there is on the other side.
const MUCH_MORE: f64 = 2.0;
/// Where both explain a point, one of them fits worse when the surfaces are so many times as far apart, …
const FARTHER: f64 = 1.25;
/// … and so many voxels more. For a right pose beside a wrong one it was at most 0.025 voxels more.
const FARTHER_BY: f64 = 0.05;
/// Clouds of which one is so many times as large as the other are hardly in the same unit.
const EXTREME_RATIO: f64 = 10.0;
/// Decoys that are brought into place.
const SETTLED_DECOYS: usize = 4;
/// Points of the moving cloud that all decoys are held against.
const DECOY_POINTS: usize = 150;

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
    /// The refined pose, with what matches and clouds say of it.
    pub(super) this: &'a Contender,
    /// All poses that were looked at, judged by the same matches.
    pub(super) known: &'a [Contender],
    pub(super) attempt: Option<&'a Attempt>,
    /// Whether it came from the caller.
    pub(super) is_given: bool,
    pub(super) with_scale: bool,
}

impl Judgement {
    /// There is no pose to judge.
    pub(super) fn nothing(was_stopped: bool) -> Self {
        let reason = if was_stopped { Reason::Stopped } else { Reason::NoPose };
        Self { status: Status::NoSolution, reason, assessment: Assessment::NOTHING }
    }
}

impl Case<'_> {
    /// The verdict.
    pub(super) fn judge(&self) -> Judgement {
        let reason = match self.doubt() {
            Reason::Consistent => Reason::Consistent,
            _ if self.extent_ratio() > EXTREME_RATIO => Reason::Extents { ratio: self.extent_ratio() },
            doubt => doubt,
        };
        let status = if reason == Reason::Consistent { Status::Registered } else { Status::NotReliable };
        Judgement { status, reason, assessment: self.this.heard.assessment }
    }

    /// How many times as large one cloud is as the other.
    fn extent_ratio(&self) -> f64 {
        let extents =
            [self.this.pose.scale() * self.moving.density().extent(), self.fixed.density().extent()];
        (extents[0] / extents[1]).max(extents[1] / extents[0])
    }

    /// The first doubt, or none.
    fn doubt(&self) -> Reason {
        let Assessment { overlap_source, overlap_target, agreement, residual, contradiction, distinct } =
            self.this.heard.assessment;
        let overlap = overlap_source.max(overlap_target);
        if overlap < LEAST_OVERLAP {
            return Reason::LittleOverlap { overlap };
        }
        if self.levels.rigidity(&self.this.pose) < LEAST_RIGIDITY {
            return Reason::Slides;
        }
        if residual > WORST_RESIDUAL || agreement < LEAST_AGREEMENT {
            return Reason::PoorFit { residual, agreement };
        }
        if contradiction > MOST_CONTRADICTION {
            return Reason::Contradicted { share: contradiction };
        }
        if self.this.log10_nfa > SIGNIFICANT {
            return Reason::Chance { log10_nfa: self.this.log10_nfa };
        }
        let is_distinct = distinct >= LEAST_DISTINCT
            || (distinct >= SOME_DISTINCT && self.this.log10_nfa <= STRONG)
            || self.this.log10_nfa <= VERY_STRONG
            || (overlap >= WHOLE && self.this.log10_nfa <= WHOLE_STRONG);
        if !is_distinct {
            return Reason::Plain { share: distinct };
        }
        let share = self.free_space();
        if share > MOST_IN_FREE_SPACE {
            return Reason::FreeSpace { share };
        }
        let mut rivals: Vec<&Contender> =
            self.known.iter().filter(|rival| self.levels.differ(&self.this.pose, &rival.pose)).collect();
        rivals.sort_by(|a, b| b.merit().total_cmp(&a.merit()));
        if let Some(rival) = rivals.into_iter().find(|rival| !self.is_refuted(rival)) {
            return self.beaten_by(rival);
        }
        match self.decoys().iter().find(|decoy| !self.is_refuted(decoy)) {
            Some(decoy) => self.beaten_by(decoy),
            None => Reason::Consistent,
        }
    }

    /// Why this pose is not to be trusted beside another.
    fn beaten_by(&self, rival: &Contender) -> Reason {
        let share = rival.score() / self.this.score();
        if self.is_given && share > 1.0 {
            Reason::Beaten
        } else {
            Reason::Ambiguous { share: share.min(1.0) }
        }
    }

    /// Whether something tells that this pose is right and the other is not.
    fn is_refuted(&self, rival: &Contender) -> bool {
        let (this, other) = (&self.this.heard, &rival.heard);
        let Comparison { told, askew, residual } = self.levels.jury().compare(this, other);
        let fits_worse = residual[1] > FARTHER * residual[0] + FARTHER_BY
            && askew[0] - askew[1] > TELLING * this.explained;
        other.explained < SMALL_RIVAL * this.explained
            || (rival.inliers as f64) < UNSUPPORTED_RIVAL * self.this.inliers as f64
            || told[0] > TELLING * this.explained + MUCH_MORE * told[1]
            || fits_worse
            || other.assessment.contradiction > TELLING + MUCH_MORE * this.assessment.contradiction
    }

    /// Share of the points that are where the other sensor saw free space, where a sensor's place is known.
    fn free_space(&self) -> f64 {
        let (levels, pose) = (self.levels, &self.this.pose);
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

    /// Poses of which the shape of the clouds makes one think: turned about the principal axes of the moving cloud, which fits again what
    /// is symmetric, and shifted as matches have it, which fits again what repeats itself. Brought into place.
    fn decoys(&self) -> Vec<Contender> {
        let pose = &self.this.pose;
        let (center, axes) = principal_axes(&self.levels.moving.points);
        let center = pose.apply(center);
        let axes = axes.map(|axis| rotate(&pose.rotation(), axis));
        let turned = turns(&axes).into_iter().map(|turn| {
            let moved = rotate(&turn, center);
            pose.then(&Similarity::new(1.0, turn, minus(center, moved)))
        });
        let shifts = self.attempt.map_or(Vec::new(), |attempt| attempt.shifts(self.levels, pose));
        let unturned = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let shifted = shifts.into_iter().map(|by| pose.then(&Similarity::new(1.0, unturned, by)));
        let roughly = |pose: &Similarity| self.levels.explained_roughly(pose, DECOY_POINTS);
        // Before it is brought into place, a decoy explains less than it will.
        let least = 0.5 * SMALL_RIVAL * roughly(pose);
        let mut decoys: Vec<(f64, Similarity)> =
            turned.chain(shifted).map(|pose| (roughly(&pose), pose)).collect();
        decoys.retain(|(share, _)| *share >= least);
        decoys.sort_by(|a, b| b.0.total_cmp(&a.0));
        let settled = decoys.iter().take(SETTLED_DECOYS).filter_map(|(_, start)| {
            let settled = self.levels.settle(*start, self.with_scale, Default::default());
            if !self.levels.differ(pose, &settled) {
                return None;
            }
            Some(match self.attempt {
                Some(attempt) => attempt.hold(self.levels, *start, settled),
                None => {
                    let heard = self.levels.hear(&settled);
                    Contender { start: *start, pose: settled, inliers: 0, log10_nfa: 0.0, heard }
                }
            })
        });
        settled.collect()
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
