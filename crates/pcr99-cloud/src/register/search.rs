//! Search: from descriptors to candidates, which are compared with the clouds.

use std::sync::{Arc, OnceLock};

use pcr99::{
    Correspondences, Evidence, Params, Positive, Registration, Scale, Similarity, Solver, Vertical, assess,
};
use rayon::prelude::*;

use pcr99_base::{
    clock::Clock,
    logging::nested,
    rotation_of,
    vector::{distance_sq, dot, minus, rotate},
};

use super::{
    MatchSummary, RegisterError, RegisterParams, SharedStopCheck, decoys::principal_axes,
    judge::LEAST_RIGIDITY, told::tell_matches,
};

use crate::{
    fpfh::{Descriptor, turned},
    grid::{KeyTable, key_of},
    matching::{MatchPool, NearestBothWays, mutual_matches, nearest_targets},
    orient::Orientation,
    prepare::{Features, PreparedCloud, SampledCloud},
    refine::{Firmness, Icp, Refinement},
    votes::{Side, Voters, Votes},
};

/// Inlier threshold of matches, in voxels: two centroids of the same surface are up to one voxel apart.
pub(super) const THRESHOLD: f64 = 1.5;
/// Largest number of matches that are searched: the time grows with its square.
const MOST_MATCHES: usize = 4000;
/// Largest number of pairs of matches that are tried in each subset. Candidates that needed more were never confirmed by the clouds.
const MOST_TRIED: u64 = 20_000;
/// Number of points for the last steps of coarse refinement.
const COARSE_POINTS: usize = 1000;
/// Number of points for the steps before, until the pose hardly moves.
const ROUGH_POINTS: usize = 300;
/// Number of the last steps.
const LAST_STEPS: usize = 4;
/// Number of points of each cloud that vote on a pose.
const VOTER_POINTS: usize = 1000;
/// Smallest number of matches that agree on a shift for it to be tried as a rival.
const SHIFT_VOTES: usize = 4;
/// Largest number of shifts that are tried.
const SHIFTS: usize = 6;
/// Number of descriptors that decide whether the normals of one cloud are reversed.
const PROBES: usize = 400;
/// One in this many descriptors of the other cloud is compared with them.
const PROBED: usize = 2;

/// The two clouds in internal order: `moving` is mapped onto `fixed`.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) moving: &'a PreparedCloud,
    pub(super) fixed: &'a PreparedCloud,
    pub(super) orientation: Orientation,
    /// The vertical of both, if it is known.
    pub(super) vertical: Option<Vertical>,
}

/// Both clouds sampled at one voxel size, with their voters.
#[derive(Debug, Clone)]
pub(super) struct SampledPair {
    pub(super) moving: Arc<SampledCloud>,
    pub(super) fixed: Arc<SampledCloud>,
    vertical: Option<Vertical>,
    voters: OnceLock<Voters>,
    /// Features of the moving and of the fixed cloud, once they are computed.
    features: OnceLock<[Arc<Features>; 2]>,
}

impl SampledPair {
    /// Voxel under a pose of this scale, in fixed units: the coarser of the two.
    pub(super) fn voxel(&self, scale: f64) -> f64 {
        self.fixed.voxel.max(scale * self.moving.voxel)
    }

    fn icp(&self, refinement: Refinement, with_scale: bool, points: usize) -> Icp<'_> {
        Icp {
            source: &self.moving,
            target: &self.fixed,
            refinement,
            with_scale,
            up: self.up(),
            faces: true,
            points,
        }
    }

    /// Refines `start` on the sampled points.
    pub(super) fn refine_coarsely(
        &self,
        start: Similarity,
        with_scale: bool,
        refinement: Refinement,
    ) -> Similarity {
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

    /// `pose` without its motion from `start` along directions that the overlap does not hold.
    pub(super) fn held(&self, start: &Similarity, pose: &Similarity) -> Similarity {
        let Some(Firmness { middle, lever, values, motions }) = self.firmness(pose) else { return *pose };
        let moved = start.inverse().then(pose);
        let r = moved.rotation();
        let turn = [(2, 1), (0, 2), (1, 0)].map(|(i, j)| 0.5 * (r[i][j] - r[j][i]));
        let shift = minus(moved.apply(middle), middle);
        let motion = [lever * turn[0], lever * turn[1], lever * turn[2], shift[0], shift[1], shift[2]];
        let mut back = [0.0; 6];
        for (_, way) in values.iter().zip(&motions).filter(|(value, _)| **value < LEAST_RIGIDITY) {
            let along: f64 = way.iter().zip(motion).map(|(x, y)| x * y).sum();
            back.iter_mut().zip(way).for_each(|(sum, x)| *sum -= along * x);
        }
        let [x, y, z, shift @ ..] = back;
        let half = 0.5 / lever;
        let turn = rotation_of([1.0, half * x, half * y, half * z]);
        let [there, back] = [middle.map(|x| -x), middle].map(Similarity::from_translation);
        pose.then(&there).then(&Similarity::new_unchecked(1.0, turn, shift)).then(&back)
    }

    /// How firmly the overlap constrains the pose, see [`Icp::rigidity`].
    pub(super) fn rigidity(&self, pose: &Similarity) -> f64 {
        self.firmness(pose).map_or(0.0, |firmness| firmness.values[0])
    }

    /// How firmly the overlap constrains each small motion; `None` where hardly anything overlaps.
    pub(super) fn firmness(&self, pose: &Similarity) -> Option<Firmness> {
        let icp = self.icp(Refinement::PointToPlane, false, 2 * COARSE_POINTS);
        icp.firmness(pose, THRESHOLD * self.voxel(pose.scale()))
    }

    /// The direction that is up in the fixed cloud, if it is known, with length 1.
    pub(super) fn up(&self) -> Option<[f64; 3]> {
        self.vertical.map(|vertical| vertical.uprights()[1][2])
    }

    /// Whether a pose keeps the vertical, where it is known.
    pub(super) fn is_upright(&self, pose: &Similarity) -> bool {
        self.vertical.is_none_or(|vertical| vertical.allows(&pose.rotation()))
    }

    /// Whether two poses differ: the mean distance between the two positions of a point is above four voxels.
    pub(super) fn differ(&self, a: &Similarity, b: &Similarity) -> bool {
        let limit = 4.0 * self.voxel(a.scale());
        let stride = self.moving.points.len().div_ceil(64).max(1);
        let apart = |&p: &[f64; 3]| distance_sq(a.apply(p), b.apply(p)).sqrt();
        let picked = self.moving.points.iter().step_by(stride);
        let (count, sum) = picked.fold((0.0, 0.0), |(n, s), p| (n + 1.0, s + apart(p)));
        sum > count * limit
    }

    /// The points that vote on poses.
    pub(super) fn voters(&self) -> &Voters {
        let chosen = || Voters::of(&self.moving, &self.fixed, VOTER_POINTS);
        if self.voters.get().is_none() {
            // Computed outside of the cell, see `SampledCloud::normals`.
            let _ = self.voters.set(chosen());
        }
        self.voters.get_or_init(chosen)
    }

    /// Votes of both clouds on a pose.
    pub(super) fn votes_on(&self, pose: &Similarity) -> Votes {
        let [moving, fixed] = match self.features.get() {
            Some([moving, fixed]) => [
                Side { cloud: &self.moving, normals: &moving.normals },
                Side { cloud: &self.fixed, normals: &fixed.normals },
            ],
            None => [Side::unoriented(&self.moving), Side::unoriented(&self.fixed)],
        };
        self.voters().votes_on(moving, fixed, pose, self.voxel(pose.scale()))
    }

    /// Fraction of a few points of the moving cloud that the fixed cloud explains under a pose.
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

    /// The pair with normals of either sign and with another moving cloud, whose points correspond to those of this one.
    pub(super) fn with_moving(&self, moving: Arc<SampledCloud>) -> Self {
        let voters = OnceLock::from(self.voters().clone());
        let vertical = self.vertical;
        Self { moving, fixed: Arc::clone(&self.fixed), vertical, voters, features: OnceLock::new() }
    }

    /// The caller's pose, refined coarsely.
    pub(super) fn given(&self, start: Similarity, with_scale: bool, refinement: Refinement) -> Candidate {
        let pose = match refinement {
            Refinement::None => start,
            given => self.refine_coarsely(start, with_scale, given),
        };
        Candidate::without_matches(self, start, pose)
    }

    /// Fallback without matches: centres and principal axes are aligned. Of the four ways to do so, the one that fits best.
    pub(super) fn fallback(&self, scale: f64, with_scale: bool) -> Candidate {
        let (from, from_axes) = principal_axes(&self.moving.points);
        let (to, to_axes) = principal_axes(&self.fixed.points);
        let settled = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]].map(|[a, b]| {
            let signs = [a, b, a * b];
            let rotation = std::array::from_fn(|i| {
                std::array::from_fn(|j| (0..3).map(|k| signs[k] * to_axes[k][i] * from_axes[k][j]).sum())
            });
            let rotation = self.vertical.map_or(rotation, |vertical| vertical.nearest(&rotation));
            let turned = Similarity::new_unchecked(scale, rotation, [0.0; 3]);
            let start = Similarity::new_unchecked(scale, rotation, minus(to, turned.apply(from)));
            let pose = self.refine_coarsely(start, with_scale, Refinement::PointToPlane);
            Candidate::without_matches(self, start, pose)
        });
        let best =
            (1..4).fold(0, |best, k| if settled[k].score() > settled[best].score() { k } else { best });
        settled[best].clone()
    }
}

/// A pose relative to the centres of the two clouds, with its matches and votes.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// The pose that the search proposed.
    pub(super) start: Similarity,
    /// The pose after coarse refinement.
    pub(super) pose: Similarity,
    /// Number of matches that `pose` explains.
    pub(super) inliers: usize,
    /// Evidence of those matches; `None` without matches.
    pub(super) evidence: Option<Evidence>,
    /// Votes of the clouds on `pose`.
    pub(super) votes: Votes,
}

impl Candidate {
    /// A pose that no matches have been counted for.
    pub(super) fn without_matches(sampled: &SampledPair, start: Similarity, pose: Similarity) -> Self {
        Self { start, pose, inliers: 0, evidence: None, votes: sampled.votes_on(&pose) }
    }

    /// log₁₀ of the number of false alarms; 0 without matches.
    pub(super) fn log10_nfa(&self) -> f64 {
        self.evidence.map_or(0.0, |evidence| evidence.log10_nfa)
    }

    /// How well the clouds fit.
    pub(super) fn score(&self) -> f64 {
        self.votes.assessment.score()
    }

    /// Inlier count times score: ranks candidates by matches and clouds together.
    pub(super) fn merit(&self) -> f64 {
        self.inliers as f64 * self.score()
    }
}

/// Matches, and the result of the search among them.
#[derive(Debug)]
pub(super) struct Attempt {
    /// Matches as indices into the two sampled clouds.
    pairs: Vec<[usize; 2]>,
    /// Coordinates of the matches.
    matches: Correspondences,
    found: Registration,
}

/// Which matches are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Mutual nearest neighbours, with normals on the likelier side.
    Mutual,
    /// All nearest neighbours, both ways, with normals on either side.
    All,
}

/// Pools the matches of several kinds of descriptors. The search tolerates wrong matches.
pub(super) fn pool(
    moving: &Features,
    fixed: &Features,
    orientation: Orientation,
    effort: Effort,
) -> MatchPool {
    let mut pool = MatchPool::default();
    let mut add = |from: &[Descriptor], to: &[Descriptor]| {
        let points = |[i, j]: [u32; 2]| [moving.fpfh.points[i as usize], fixed.fpfh.points[j as usize]];
        match effort {
            Effort::Mutual => pool.extend(mutual_matches(from, to).into_iter().map(points)),
            Effort::All => pool.extend(NearestBothWays::between(from, to).one_way().map(points)),
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

/// Whether the normals of one cloud seem to be reversed: most descriptors of a sample have a nearer neighbour after reversal.
fn is_turned(from: &[Descriptor], to: &[Descriptor]) -> bool {
    let stride = from.len().div_ceil(PROBES).max(1);
    let probes: Vec<Descriptor> = from.iter().step_by(stride).copied().collect();
    let reversed: Vec<Descriptor> = probes.iter().map(turned).collect();
    let to: Vec<Descriptor> = to.iter().step_by(PROBED).copied().collect();
    let distance =
        |a: &Descriptor, b: &Descriptor| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f32>();
    let [straight, back] = nearest_targets([&probes, &reversed], &to);
    let votes = straight.iter().zip(&back).enumerate().map(|(k, (&i, &j))| {
        let (there, back) = (distance(&probes[k], &to[i as usize]), distance(&reversed[k], &to[j as usize]));
        i32::from(back < there) - i32::from(there < back)
    });
    votes.sum::<i32>() > 0
}

impl<'a> Pair<'a> {
    /// Two clouds, with the best orientation of normals that both can have.
    pub(super) fn new([moving, fixed]: [&'a PreparedCloud; 2], vertical: Option<Vertical>) -> Self {
        let way = [Orientation::Given, Orientation::Viewpoint]
            .into_iter()
            .find(|&way| moving.can_be_oriented(way) && fixed.can_be_oriented(way));
        Self { moving, fixed, orientation: way.unwrap_or(Orientation::Consistent), vertical }
    }
}

impl Pair<'_> {
    /// The clouds sampled with voxels of these sizes.
    pub(super) fn sampled(&self, moving_voxel: f64, fixed_voxel: f64) -> SampledPair {
        let (moving, fixed) =
            rayon::join(|| self.moving.sampled(moving_voxel), || self.fixed.sampled(fixed_voxel));
        let vertical = self.vertical;
        SampledPair { moving, fixed, vertical, voters: OnceLock::new(), features: OnceLock::new() }
    }

    /// Features of the sampled clouds. Once they are known, votes use the orientation of their normals.
    pub(super) fn features<'s>(&self, sampled: &'s SampledPair) -> &'s [Arc<Features>; 2] {
        let (moving, fixed) = rayon::join(
            || self.moving.features(sampled.moving.voxel, self.orientation),
            || self.fixed.features(sampled.fixed.voxel, self.orientation),
        );
        sampled.features.get_or_init(|| [moving, fixed])
    }

    /// Matches the descriptors of two sampled clouds and searches the matches for poses; `None` when there are too few to search.
    pub(super) fn attempt(
        &self,
        sampled: &SampledPair,
        scale: Scale,
        effort: Effort,
        params: &RegisterParams,
        stop: SharedStopCheck<'_>,
        clock: &mut Clock,
    ) -> Result<Option<Attempt>, RegisterError> {
        let [moving, fixed] = self.features(sampled);
        clock.lap("features");
        let pairs = pool(moving, fixed, self.orientation, effort).into_pairs(MOST_MATCHES);
        clock.lap("matching");
        // Fewer than three matches, or all in one place, are a result and not an error.
        let Ok(matches) =
            Correspondences::from_indices(&sampled.moving.points, &sampled.fixed.points, &pairs)
        else {
            tell_matches(effort, None);
            return Ok(None);
        };
        tell_matches(effort, Some(matches.len()));
        // The limits of the judge on `log10_nfa` were set with every match counted.
        let mut matches = matches.with_correlation_length(0.0)?;
        if let Some(vertical) = self.vertical {
            matches = matches.with_vertical(vertical);
        }
        let solver_params = Params::new()
            .with_threshold(THRESHOLD * sampled.fixed.voxel)?
            .with_candidates(params.candidates())?
            .with_effort(MOST_TRIED)?
            .with_seed(params.seed());
        let found = nested(|| Solver::new().solve_until(&matches, scale, &solver_params, stop))?;
        clock.lap("solve");
        Ok(Some(Attempt { pairs, matches, found }))
    }
}

impl Attempt {
    /// Number of matches that were searched.
    pub(super) fn matches(&self) -> usize {
        self.matches.len()
    }

    /// Number of poses that the matches support.
    pub(super) fn poses(&self) -> usize {
        self.found.candidates.len()
    }

    /// Each pose that the matches support, refined coarsely and compared with the clouds.
    pub(super) fn candidates(
        &self,
        sampled: &SampledPair,
        with_scale: bool,
        refinement: Refinement,
    ) -> Vec<Candidate> {
        // Computed here, before several threads need them.
        let _ = sampled.voters();
        let starts = self.found.candidates.par_iter().map(|candidate| candidate.target_from_source);
        starts
            .map(|start| self.compare(sampled, start, sampled.refine_coarsely(start, with_scale, refinement)))
            .collect()
    }

    /// A pose with these matches and the votes of the clouds.
    pub(super) fn compare(&self, sampled: &SampledPair, start: Similarity, pose: Similarity) -> Candidate {
        let mut candidate = Candidate::without_matches(sampled, start, pose);
        self.count(sampled, &mut candidate);
        candidate
    }

    /// Counts these matches for a candidate of another round.
    pub(super) fn count(&self, sampled: &SampledPair, candidate: &mut Candidate) {
        if let Some(judged) = self.assess(sampled, &candidate.pose) {
            candidate.inliers = judged.inliers.len();
            candidate.evidence = judged.evidence;
        }
    }

    fn assess(&self, sampled: &SampledPair, pose: &Similarity) -> Option<Registration> {
        let threshold = Positive::new("threshold", THRESHOLD * sampled.fixed.voxel).ok()?;
        Some(assess(&self.matches, pose, threshold))
    }

    /// Shifts on which several matches agree once the moving cloud is rotated by `pose`: the scene repeats itself at these distances. The
    /// most frequent come first.
    pub(super) fn shifts(&self, sampled: &SampledPair, pose: &Similarity) -> Vec<[f64; 3]> {
        let cell = 2.0 * THRESHOLD * sampled.fixed.voxel;
        let mut table = KeyTable::new();
        let mut bins: Vec<(usize, [f64; 3])> = Vec::new();
        for &[i, j] in &self.pairs {
            let by = minus(sampled.fixed.points[j], pose.apply(sampled.moving.points[i]));
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
        // The sort is stable: the first of equals stays first.
        voted.sort_by_key(|(votes, _)| std::cmp::Reverse(*votes));
        voted.into_iter().take(SHIFTS).map(|(_, by)| by).collect()
    }

    /// Matches and evidence of the final pose. Points are still from moving to fixed, relative to the centres; `unit` is one fixed unit in
    /// target units.
    pub(super) fn summary(
        &self,
        sampled: &SampledPair,
        pose: &Similarity,
        unit: f64,
    ) -> Option<MatchSummary> {
        let point = |&[i, j]: &[usize; 2]| [sampled.moving.points[i], sampled.fixed.points[j]];
        let judged = self.assess(sampled, pose)?;
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
