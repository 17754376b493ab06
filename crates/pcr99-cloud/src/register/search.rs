//! From descriptors to poses that the matches support, held against the clouds.

use std::sync::{Arc, OnceLock};

use pcr99::{Correspondences, Params, Positive, Registration, Scale, Similarity, Solver, assess};

use super::{
    MatchSummary, RegisterError, RegisterParams, SharedStopCheck, clock::Clock, judge::principal_axes,
};
use crate::{
    fpfh::{Descriptor, turned},
    grid::{KeyTable, key_of},
    matching::{MatchPool, NearestBothWays},
    orient::Orientation,
    prepare::{Features, Level, PreparedCloud},
    refine::{Icp, Refinement},
    vector::{distance_sq, dot, minus, rotate},
    witness::{Jury, Side, Testimony},
};

/// How far a right match may be off, in voxels: two centroids of the same surface are up to one apart.
pub(super) const THRESHOLD: f64 = 1.5;
/// More matches than this are not searched: the time grows with their square.
const MOST_MATCHES: usize = 4000;
/// Pairs of matches that are tried at most in each subset. What shows only after more of them is not borne out by the clouds.
const MOST_TRIED: u64 = 20_000;
/// Points that are used to bring a candidate into place, …
const COARSE_POINTS: usize = 1000;
/// … of which so many do until it hardly moves …
const ROUGH_POINTS: usize = 300;
/// … and so many steps with all remain.
const LAST_STEPS: usize = 4;
/// Points of each cloud that are asked what they say of a pose.
const JURY_POINTS: usize = 1000;
/// Matches that must agree on a shift before it is tried as a rival.
const SHIFT_VOTES: usize = 4;
/// Shifts that are tried.
const SHIFTS: usize = 6;
/// Descriptors that decide which side the normals of one cloud are on.
const PROBES: usize = 400;
/// Of those of the other cloud, one in so many is looked at.
const PROBED: usize = 2;

/// The two clouds in the order in which they are worked on: the moving one is put onto the fixed one.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) moving: &'a PreparedCloud,
    pub(super) fixed: &'a PreparedCloud,
    pub(super) orientation: Orientation,
}

/// The clouds at one size of voxels, and who of them is asked about poses.
#[derive(Debug, Clone)]
pub(super) struct Levels {
    pub(super) moving: Arc<Level>,
    pub(super) fixed: Arc<Level>,
    jury: OnceLock<Jury>,
    /// Of the moving and the fixed cloud, once they are made.
    features: OnceLock<[Arc<Features>; 2]>,
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
        let near =
            self.icp(refinement, with_scale, ROUGH_POINTS).run(start, 3.0 * voxel, THRESHOLD * voxel, 15);
        let all = self.icp(refinement, with_scale, COARSE_POINTS);
        all.run(near, THRESHOLD * voxel, THRESHOLD * voxel, LAST_STEPS)
    }

    /// How firmly the overlap holds the pose: least eigenvalue of the mean of `row·rowᵀ`, lengths in units in which turning and shifting weigh the same.
    pub(super) fn rigidity(&self, pose: &Similarity) -> f64 {
        let icp = self.icp(Refinement::PointToPlane, false, 2 * COARSE_POINTS);
        icp.rigidity(pose, THRESHOLD * self.voxel(pose.scale()))
    }

    /// Whether two poses put the moving cloud to different places: the mean way from one to the other is more than a few voxels.
    pub(super) fn differ(&self, a: &Similarity, b: &Similarity) -> bool {
        let limit = 4.0 * self.voxel(a.scale());
        let stride = self.moving.points.len().div_ceil(64).max(1);
        let apart = |&p: &[f64; 3]| distance_sq(a.apply(p), b.apply(p)).sqrt();
        let picked = self.moving.points.iter().step_by(stride);
        let (count, sum) = picked.fold((0.0, 0.0), |(n, s), p| (n + 1.0, s + apart(p)));
        sum > count * limit
    }

    /// Those who are asked.
    pub(super) fn jury(&self) -> &Jury {
        let chosen = || Jury::of(&self.moving, &self.fixed, JURY_POINTS);
        if self.jury.get().is_none() {
            // Not inside the cell, see `Level::normals`.
            let _ = self.jury.set(chosen());
        }
        self.jury.get_or_init(chosen)
    }

    /// What the clouds say of a pose.
    pub(super) fn hear(&self, pose: &Similarity) -> Testimony {
        let [moving, fixed] = match self.features.get() {
            Some([moving, fixed]) => [
                Side { level: &self.moving, normals: &moving.normals },
                Side { level: &self.fixed, normals: &fixed.normals },
            ],
            None => [Side::unoriented(&self.moving), Side::unoriented(&self.fixed)],
        };
        self.jury().hear(moving, fixed, pose, self.voxel(pose.scale()))
    }

    /// Share of a few points of the moving cloud that the fixed one explains under a pose.
    pub(super) fn explained_roughly(&self, pose: &Similarity, points: usize) -> f64 {
        let reach = THRESHOLD * self.voxel(pose.scale());
        let stride = self.moving.points.len().div_ceil(points).max(1);
        let (normals, others) = (self.moving.normals(), self.fixed.normals());
        let is_explained = |i: usize| {
            let near = self.fixed.tree.nearest(pose.apply(self.moving.points[i]), reach);
            near.is_some_and(|near| {
                dot(rotate(&pose.rotation(), normals[i]), others[near.index]).abs() > 0.866
            })
        };
        let (mut all, mut explained) = (0_usize, 0_usize);
        for i in (0..self.moving.points.len()).step_by(stride) {
            all += 1;
            explained += usize::from(is_explained(i));
        }
        explained as f64 / all.max(1) as f64
    }

    /// The caller's pose, brought into place.
    pub(super) fn given(&self, start: Similarity, with_scale: bool, refinement: Refinement) -> Contender {
        let pose = match refinement {
            Refinement::None => start,
            given => self.settle(start, with_scale, given),
        };
        Contender { start, pose, inliers: 0, log10_nfa: 0.0, heard: self.hear(&pose) }
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
            Contender { start, pose, inliers: 0, log10_nfa: 0.0, heard: self.hear(&pose) }
        });
        let best =
            (1..4).fold(0, |best, k| if settled[k].score() > settled[best].score() { k } else { best });
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
    /// What the matches say of `pose`: how many agree, and log₁₀ of the number of false alarms.
    pub(super) inliers: usize,
    pub(super) log10_nfa: f64,
    /// What the clouds say of it.
    pub(super) heard: Testimony,
}

impl Contender {
    /// How well the clouds fit.
    pub(super) fn score(&self) -> f64 {
        self.heard.assessment.score()
    }

    /// Matches and clouds together.
    pub(super) fn merit(&self) -> f64 {
        self.inliers as f64 * self.score()
    }
}

/// Matches that were searched, and what they said.
#[derive(Debug)]
pub(super) struct Attempt {
    /// Points of the two levels, by their numbers, …
    pairs: Vec<[usize; 2]>,
    /// … and by their places.
    matches: Correspondences,
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
    let to: Vec<Descriptor> = to.iter().step_by(PROBED).copied().collect();
    let nearest = |probes: &[Descriptor]| NearestBothWays::between(probes, &to).to_target;
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
        Levels { moving, fixed, jury: OnceLock::new(), features: OnceLock::new() }
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
        let [moving, fixed] = levels.features.get_or_init(|| [moving, fixed]);
        let pairs = pool(moving, fixed, self.orientation, effort).into_pairs(MOST_MATCHES);
        clock.lap("matching");
        // Fewer than three, or all in one place: nothing to search, which is an outcome and no error.
        let Ok(matches) = Correspondences::from_indices(&levels.moving.points, &levels.fixed.points, &pairs)
        else {
            return Ok(None);
        };
        let solver_params = Params::new()
            .with_threshold(THRESHOLD * levels.fixed.voxel)?
            .with_candidates(params.candidates())?
            .with_effort(MOST_TRIED)?
            .with_seed(params.seed());
        let found = Solver::new().solve_until(&matches, scale, &solver_params, stop)?;
        clock.lap("solve");
        Ok(Some(Attempt { pairs, matches, found }))
    }
}

impl Attempt {
    /// Each pose that the matches support, brought into place and held against the clouds.
    pub(super) fn contenders(
        &self,
        levels: &Levels,
        with_scale: bool,
        refinement: Refinement,
    ) -> Vec<Contender> {
        let starts = self.found.candidates.iter().map(|candidate| candidate.target_from_source);
        starts.map(|start| self.hold(levels, start, levels.settle(start, with_scale, refinement))).collect()
    }

    /// A pose, and what these matches and the clouds say of it.
    pub(super) fn hold(&self, levels: &Levels, start: Similarity, pose: Similarity) -> Contender {
        let mut held = Contender { start, pose, inliers: 0, log10_nfa: 0.0, heard: levels.hear(&pose) };
        self.count(levels, &mut held);
        held
    }

    /// What these matches say of a pose that was found among others.
    pub(super) fn count(&self, levels: &Levels, contender: &mut Contender) {
        if let Some(judged) = self.assess(levels, &contender.pose) {
            contender.inliers = judged.inliers.len();
            contender.log10_nfa = judged.evidence.map_or(0.0, |evidence| evidence.log10_nfa);
        }
    }

    fn assess(&self, levels: &Levels, pose: &Similarity) -> Option<Registration> {
        let threshold = Positive::new("threshold", THRESHOLD * levels.fixed.voxel).ok()?;
        Some(assess(&self.matches, pose, threshold))
    }

    /// Shifts on which several matches agree once the moving cloud is turned as `pose` has it: by them a scene repeats itself. Most
    /// votes first.
    pub(super) fn shifts(&self, levels: &Levels, pose: &Similarity) -> Vec<[f64; 3]> {
        let cell = 2.0 * THRESHOLD * levels.fixed.voxel;
        let mut table = KeyTable::new();
        let mut bins: Vec<(usize, [f64; 3])> = Vec::new();
        for &[i, j] in &self.pairs {
            let by = minus(levels.fixed.points[j], pose.apply(levels.moving.points[i]));
            let Some(key) = key_of(by, 1.0 / cell) else { continue };
            let bin = table.number(key);
            if bin == bins.len() {
                bins.push((0, [0.0; 3]));
            }
            bins[bin].0 += 1;
            bins[bin].1.iter_mut().zip(by).for_each(|(sum, x)| *sum += x);
        }
        let mut voted: Vec<(usize, [f64; 3])> = bins
            .into_iter()
            .filter(|(votes, _)| *votes >= SHIFT_VOTES)
            .map(|(votes, sum)| (votes, sum.map(|x| x / votes as f64)))
            .filter(|(_, by)| dot(*by, *by) > cell * cell)
            .collect();
        // Stable: of equals the one that came first.
        voted.sort_by_key(|(votes, _)| std::cmp::Reverse(*votes));
        voted.into_iter().take(SHIFTS).map(|(_, by)| by).collect()
    }

    /// What the matches say of the final pose, their points still from moving to fixed about the centres; `unit` is one fixed unit
    /// in target units.
    pub(super) fn summary(&self, levels: &Levels, pose: &Similarity, unit: f64) -> Option<MatchSummary> {
        let point = |&[i, j]: &[usize; 2]| [levels.moving.points[i], levels.fixed.points[j]];
        let judged = self.assess(levels, pose)?;
        Some(MatchSummary {
            matches: self.matches.len(),
            points: self.pairs.iter().map(point).collect(),
            inliers: judged.inliers,
            threshold: unit * judged.threshold,
            evidence: judged.evidence?,
            stopped_because: self.found.stopped_because,
            counters: self.found.counters,
        })
    }
}
