//! From descriptors to poses that the matches support, held against the clouds.

use std::sync::Arc;

use pcr99::{Correspondences, Params, Positive, Registration, Scale, Similarity, Solver, assess};

use super::{
    MatchSummary, RegisterError, RegisterParams, SharedStopCheck, clock::Clock, judge::principal_axes,
};
use crate::{
    fpfh::{Descriptor, turned},
    matching::{MatchPool, NearestBothWays},
    orient::Orientation,
    prepare::{Features, Level, PreparedCloud},
    refine::{Icp, Refinement},
    vector::{distance_sq, minus},
    verify::Assessment,
};

/// How far a right match may be off, in voxels: two centroids of the same surface are up to one apart.
pub(super) const THRESHOLD: f64 = 1.5;
/// More matches than this are not searched: the time grows with their square.
const MOST_MATCHES: usize = 4000;
/// Points that are used to bring a candidate into place.
const COARSE_POINTS: usize = 1000;
/// Descriptors that decide which side the normals of one cloud are on.
const PROBES: usize = 500;

/// The two clouds in the order in which they are worked on: the moving one is put onto the fixed one.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) moving: &'a PreparedCloud,
    pub(super) fixed: &'a PreparedCloud,
    pub(super) orientation: Orientation,
}

/// The clouds at one size of voxels.
#[derive(Debug, Clone)]
pub(super) struct Levels {
    pub(super) moving: Arc<Level>,
    pub(super) fixed: Arc<Level>,
}

impl Levels {
    /// The voxel under a pose of this scale, in fixed units: the coarser of the two.
    pub(super) fn voxel(&self, scale: f64) -> f64 {
        self.fixed.voxel.max(scale * self.moving.voxel)
    }

    fn icp(&self, refinement: Refinement, with_scale: bool, points: usize) -> Icp<'_> {
        Icp { source: &self.moving, target: &self.fixed, refinement, with_scale, faces: true, points }
    }

    /// Brings `start` into place.
    pub(super) fn settle(&self, start: Similarity, with_scale: bool, refinement: Refinement) -> Similarity {
        let refinement = match refinement {
            Refinement::None => Refinement::PointToPlane,
            given => given,
        };
        let voxel = self.voxel(start.scale());
        let icp = self.icp(refinement, with_scale, COARSE_POINTS);
        icp.run(start, 3.0 * voxel, THRESHOLD * voxel, 15)
    }

    /// How firmly the overlap holds the pose: least eigenvalue of the mean of `row·rowᵀ`, lengths in units in which turning and shifting weigh the same.
    pub(super) fn rigidity(&self, pose: &Similarity) -> f64 {
        let icp = self.icp(Refinement::PointToPlane, false, 2 * COARSE_POINTS);
        icp.rigidity(pose, THRESHOLD * self.voxel(pose.scale()))
    }

    /// Whether two poses put the moving cloud to different places: some corner of it is farther off than a few voxels.
    pub(super) fn differ(&self, a: &Similarity, b: &Similarity) -> bool {
        let limit = 4.0 * self.voxel(a.scale());
        let stride = self.moving.points.len().div_ceil(64).max(1);
        let apart = |&p: &[f64; 3]| distance_sq(a.apply(p), b.apply(p)).sqrt();
        let picked = self.moving.points.iter().step_by(stride);
        let (count, sum) = picked.fold((0.0, 0.0), |(n, s), p| (n + 1.0, s + apart(p)));
        sum > count * limit
    }

    /// What the clouds say of a pose.
    pub(super) fn assess(&self, pose: &Similarity) -> Assessment {
        Assessment::of(&self.moving, &self.fixed, pose, self.voxel(pose.scale()))
    }
}

impl Levels {
    /// The same, looking at few points.
    pub(super) fn assess_roughly(&self, pose: &Similarity, points: usize) -> Assessment {
        Assessment::with_points(&self.moving, &self.fixed, pose, self.voxel(pose.scale()), points)
    }

    /// A pose to fall back on: the middles and the principal axes on each other, of the four ways to do so the one that fits best.
    pub(super) fn guess(&self, scale: f64, with_scale: bool) -> Contender {
        let (from, from_axes) = principal_axes(&self.moving.points);
        let (to, to_axes) = principal_axes(&self.fixed.points);
        let settled = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]].map(|[a, b]| {
            let signs = [a, b, a * b];
            let rotation = std::array::from_fn(|i| {
                std::array::from_fn(|j| (0..3).map(|k| signs[k] * to_axes[k][i] * from_axes[k][j]).sum())
            });
            let turned = Similarity::new(scale, rotation, [0.0; 3]);
            let start = Similarity::new(scale, rotation, minus(to, turned.apply(from)));
            let pose = self.settle(start, with_scale, Refinement::PointToPlane);
            Contender { start, pose, inliers: 0, log10_nfa: 0.0, assessment: self.assess(&pose) }
        });
        let best = (1..4).fold(0, |best, k| {
            if settled[k].assessment.score() > settled[best].assessment.score() { k } else { best }
        });
        settled[best].clone()
    }
}

/// A pose in the coordinates of the two clouds' centres, held against the clouds.
#[derive(Debug, Clone)]
pub(super) struct Contender {
    /// As the matches give it.
    pub(super) start: Similarity,
    /// After it was brought into place.
    pub(super) pose: Similarity,
    pub(super) inliers: usize,
    pub(super) log10_nfa: f64,
    pub(super) assessment: Assessment,
}

impl Contender {
    /// Matches and clouds together.
    pub(super) fn merit(&self) -> f64 {
        self.inliers as f64 * self.assessment.score()
    }
}

/// Matches that were searched, and what they said.
#[derive(Debug)]
pub(super) struct Attempt {
    /// Between the points of the two levels.
    matches: Correspondences,
    /// The same as indices of the points.
    pairs: Vec<[usize; 2]>,
    found: Registration,
}

/// How hard to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Matches that are each other's nearest, normals on the likelier side.
    Mutual,
    /// All nearest, both ways, normals on either side.
    All,
}

/// Pools the matches of several kinds of descriptors: the search does not mind wrong ones.
pub(super) fn pool(
    moving: &Features,
    fixed: &Features,
    orientation: Orientation,
    effort: Effort,
) -> MatchPool {
    let mut pool = MatchPool::default();
    let mut add = |from: &[Descriptor], to: &[Descriptor]| {
        let near = NearestBothWays::between(from, to);
        let points = |[i, j]: [u32; 2]| [moving.fpfh.points[i as usize], fixed.fpfh.points[j as usize]];
        match effort {
            Effort::Mutual => pool.extend(near.mutual().map(points)),
            Effort::All => pool.extend(near.one_way().map(points)),
        }
    };
    let (signed, target) = (&moving.fpfh.signed, &fixed.fpfh.signed);
    let certain = orientation == Orientation::Viewpoint;
    let reversed = || signed.iter().map(turned).collect::<Vec<_>>();
    match effort {
        _ if certain => add(signed, target),
        Effort::Mutual if is_turned(signed, target) => add(&reversed(), target),
        Effort::Mutual => add(signed, target),
        Effort::All => {
            add(signed, target);
            add(&reversed(), target);
        }
    }
    add(&moving.fpfh.unsigned, &fixed.fpfh.unsigned);
    pool
}

/// Whether the normals of one cloud seem to be on the other side: most descriptors of a sample have a nearer neighbour when turned.
fn is_turned(from: &[Descriptor], to: &[Descriptor]) -> bool {
    let stride = from.len().div_ceil(PROBES).max(1);
    let probes: Vec<Descriptor> = from.iter().step_by(stride).copied().collect();
    let reversed: Vec<Descriptor> = probes.iter().map(turned).collect();
    let nearest = |probes: &[Descriptor]| NearestBothWays::between(probes, to).to_target;
    let distance =
        |a: &Descriptor, b: &Descriptor| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f32>();
    let (straight, back) = (nearest(&probes), nearest(&reversed));
    let votes = straight.iter().zip(&back).enumerate().map(|(k, (&i, &j))| {
        let (there, back) = (distance(&probes[k], &to[i as usize]), distance(&reversed[k], &to[j as usize]));
        i32::from(back < there) - i32::from(there < back)
    });
    votes.sum::<i32>() > 0
}

impl Pair<'_> {
    /// The clouds sampled with voxels of these sizes.
    pub(super) fn levels(&self, moving_voxel: f64, fixed_voxel: f64) -> Levels {
        let (moving, fixed) =
            rayon::join(|| self.moving.level(moving_voxel), || self.fixed.level(fixed_voxel));
        Levels { moving, fixed }
    }

    /// Searches matches between descriptors at these levels for poses; `None` when there are too few to search.
    pub(super) fn attempt(
        &self,
        levels: &Levels,
        scale: Scale,
        effort: Effort,
        params: &RegisterParams,
        stop: SharedStopCheck<'_>,
        clock: &mut Clock,
    ) -> Result<Option<Attempt>, RegisterError> {
        let (moving, fixed) = rayon::join(
            || self.moving.features(levels.moving.voxel, self.orientation),
            || self.fixed.features(levels.fixed.voxel, self.orientation),
        );
        clock.lap("features");
        let pairs = pool(&moving, &fixed, self.orientation, effort).into_pairs(MOST_MATCHES);
        clock.lap("matching");
        // Fewer than three, or all in one place: nothing to search, which is an outcome and no error.
        let Ok(matches) = Correspondences::from_indices(&levels.moving.points, &levels.fixed.points, &pairs)
        else {
            return Ok(None);
        };
        let solver_params = Params::new()
            .with_threshold(THRESHOLD * levels.fixed.voxel)?
            .with_candidates(params.candidates())?
            .with_seed(params.seed());
        let found = Solver::new().solve_until(&matches, scale, &solver_params, stop)?;
        clock.lap("solve");
        Ok(Some(Attempt { matches, pairs, found }))
    }
}

impl Attempt {
    /// Each pose that the matches support, held against the clouds.
    pub(super) fn contenders(
        &self,
        levels: &Levels,
        with_scale: bool,
        refinement: Refinement,
    ) -> Vec<Contender> {
        let hold = |candidate: &pcr99::Alternative| {
            let start = candidate.target_from_source;
            let pose = levels.settle(start, with_scale, refinement);
            Contender {
                start,
                pose,
                inliers: candidate.inlier_count,
                log10_nfa: candidate.log10_nfa,
                assessment: levels.assess(&pose),
            }
        };
        self.found.candidates.iter().map(hold).collect()
    }

    /// What the matches say of the final pose, their points still from moving to fixed about the centres; `unit` is one fixed unit
    /// in target units.
    pub(super) fn summary(&self, levels: &Levels, pose: &Similarity, unit: f64) -> Option<MatchSummary> {
        let threshold = THRESHOLD * levels.fixed.voxel;
        let judged = assess(&self.matches, pose, Positive::new("threshold", threshold).ok()?);
        let point = |&[i, j]: &[usize; 2]| [levels.moving.points[i], levels.fixed.points[j]];
        Some(MatchSummary {
            matches: self.matches.len(),
            points: self.pairs.iter().map(point).collect(),
            inliers: judged.inliers,
            threshold: unit * threshold,
            evidence: judged.evidence?,
            stopped_because: self.found.stopped_because,
            counters: self.found.counters,
        })
    }
}
