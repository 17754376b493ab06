//! Registration: from two raw clouds to their pose, and whether it can be relied on.
//!
//! | step | where |
//! |---|---|
//! | remove non-finite and duplicate points; centre | [`crate::clean`], [`PreparedCloud`] |
//! | choose a voxel size; sample | [`crate::voxel`] |
//! | estimate and orient normals | [`crate::normals`], [`crate::orient`] |
//! | compute descriptors | [`crate::fpfh`] |
//! | match nearest descriptors | [`crate::matching`] |
//! | search the matches for candidates | [`pcr99::solve`], `search` |
//! | compare each candidate with the clouds | [`crate::verify`] |
//! | refine the best; for point-to-point on denser points | [`crate::refine`] |
//! | refine it on all points; its covariance | [`crate::refine::finish`] |
//! | make decoys: poses that the shape of the clouds suggests | `decoys` |
//! | judge the pose beside candidates and decoys | `judge` |
//! | when it is refused: look again, with coarser and with finer voxels | `look` |
//! | when other poses fit as well: list them, and say how they relate | `ambiguity`, [`Relation`], [`FreeMotion`] |
//! | say where the votes that decided are | `places` |
//!
//! Internally the cloud with fewer points moves and the other is fixed (`exchange`).

mod ambiguity;
mod decoys;
mod doubt;
mod error;
mod exchange;
mod free_motion;
mod judge;
mod look;
mod outcome;
mod params;
mod places;
mod reason;
mod relation;
mod report;
mod scales;
mod search;
mod telling_parts;
mod told;
mod turns;

use pcr99::{
    Scale, Similarity,
    stop::{self, StopRequest},
};
use pcr99_base::{clock::Clock, logging};
use rayon::ThreadPoolBuilder;

pub use doubt::{Doubt, NotRefuted, RefutationTest};
pub use error::RegisterError;
pub use free_motion::FreeMotion;
pub use outcome::{
    CloudRegistration, CloudSummary, EquivalentPose, MatchSummary, PoseCandidate, PoseRival, RoundKind,
    SearchRound,
};
pub use params::RegisterParams;
pub use places::{DecisivePlace, VotedPoint};
pub use relation::{Relation, Turn};
pub use report::votes;

pub use crate::votes::Vote;

use self::{
    exchange::Exchange,
    judge::{Judgement, Rival},
    look::{Aim, Answer, Look},
    report::Further,
    search::{Attempt, Candidate, Effort, Pair, SampledPair},
};
use crate::{
    prepare::{PreparedCloud, SampledCloud},
    refine::{
        Icp, Refinement,
        finish::{self, Finish, Finished, Surfaces},
    },
    voxel::Density,
};

/// Check that is called repeatedly during a registration; `Some` ends it.
pub type SharedStopCheck<'a> = &'a (dyn Fn() -> Option<StopRequest> + Sync);

/// Registers two clouds: finds the pose that maps `source` onto `target`.
///
/// # Errors
/// None at present: clouds and parameters are checked when they are made.
pub fn register(
    source: &PreparedCloud,
    target: &PreparedCloud,
    params: &RegisterParams,
) -> Result<CloudRegistration, RegisterError> {
    register_until(source, target, params, &stop::never)
}

/// Registers two clouds, and ends with the best pose so far when `stop` says so.
///
/// # Errors
/// As [`register`].
pub fn register_until(
    source: &PreparedCloud,
    target: &PreparedCloud,
    params: &RegisterParams,
    stop: SharedStopCheck<'_>,
) -> Result<CloudRegistration, RegisterError> {
    with_threads(params.threads(), || Task::new(source, target, params, stop).run())
}

/// Refines a given pose without a search: local registration.
///
/// The result has the same parts as that of [`register`]. Its status is [`Registered`](pcr99::Status::Registered) when the refinement converged, the clouds overlap and fit, and no
/// motion is free. Whether another pose fits better is not asked: the initial pose must be right to about three voxels. Clouds that do not overlap at the initial
/// pose are [`Doubt::LittleOverlap`].
///
/// ```
/// use pcr99::Similarity;
/// use pcr99_cloud::{PreparedCloud, RawCloud, RegisterParams, register::refine};
///
/// # let hills = |k: u32| { let (x, y) = (f64::from(k % 60) * 0.1, f64::from(k / 60) * 0.1);
/// #     [x, y, (x * 1.3).sin() * (y * 0.9 + 0.4).cos() + 0.4 * (2.1 * x - 1.7 * y).sin()] };
/// # let target: Vec<[f64; 3]> = (0..3600).map(hills).collect();
/// let source: Vec<[f64; 3]> = target.iter().map(|p| [p[0] + 0.04, p[1] - 0.03, p[2] + 0.05]).collect();
/// let map = PreparedCloud::new(RawCloud::new(&target))?; // once, for many scans
/// let scan = PreparedCloud::new(RawCloud::new(&source))?;
/// let found = refine(&scan, &map, &Similarity::IDENTITY, &RegisterParams::new())?;
/// assert!(found.is_registered(), "{}", found.reason());
/// assert!((found.target_from_source.expect("a pose").translation()[0] + 0.04).abs() < 1e-3);
/// # Ok::<(), pcr99_cloud::RegisterError>(())
/// ```
///
/// # Errors
/// As [`register`].
pub fn refine(
    source: &PreparedCloud,
    target: &PreparedCloud,
    initial: &Similarity,
    params: &RegisterParams,
) -> Result<CloudRegistration, RegisterError> {
    register(source, target, &params.clone().with_local(*initial))
}

/// Runs `work` on this many threads; 0 uses all cores. A call within such a call uses the threads of the outer one.
pub fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    // What is told depends on what the caller does, not on the thread.
    let scope = logging::scope();
    let work = || logging::within(scope, work);
    let is_inside = rayon::current_thread_index().is_some() && rayon::current_num_threads() == threads;
    if threads > 0 && !is_inside {
        // Without threads of its own, the shared ones are used.
        if let Ok(pool) = ThreadPoolBuilder::new().num_threads(threads).build() {
            return pool.install(work);
        }
    }
    // Enters the pool once, not anew for each parallel loop.
    rayon::scope(|_| work())
}

/// Number of points of each dense sample for point-to-point. The other kinds use all points in the last stage.
const POINT_PAIRS: usize = 5000;
/// Largest number of sampled points of a cloud. The time to match descriptors grows faster than their number.
const MOST_SAMPLED: usize = 40_000;
/// Smallest voxel, as a fraction of the extent of the larger cloud.
const FINEST: f64 = 1e-5;
/// Voxel of the dense sample, as a fraction of the voxel of the search.
const FINE: f64 = 0.5;

/// Coarser voxel of the second look, in voxels of the first. It helps where noise or distance hide the features.
const COARSER: f64 = 1.5;
/// Finer voxel of the second look, in voxels of the first. It helps where features are small.
const FINER: f64 = 0.7;

/// A registration in progress.
struct Task<'a> {
    exchange: Exchange,
    pair: Pair<'a>,
    /// Fixed units per moving unit.
    scale: Scale,
    params: &'a RegisterParams,
    stop: SharedStopCheck<'a>,
    stopped: Option<StopRequest>,
    rounds: Vec<SearchRound>,
    clock: Clock,
    /// The clouds, prepared for the last stage of the refinement at a scale, and whether their cells are fine.
    surfaces: Option<(f64, bool, Surfaces)>,
}

impl<'a> Task<'a> {
    fn new(
        source: &'a PreparedCloud,
        target: &'a PreparedCloud,
        params: &'a RegisterParams,
        stop: SharedStopCheck<'a>,
    ) -> Self {
        let (exchange, pair) = Exchange::of(source, target);
        Self {
            exchange,
            pair: Pair::new(pair, params.vertical().map(|vertical| exchange.vertical(vertical))),
            scale: exchange.scale(params.scale()),
            params,
            stop,
            stopped: None,
            rounds: Vec::new(),
            clock: Clock::start(),
            surfaces: None,
        }
    }

    fn run(mut self) -> Result<CloudRegistration, RegisterError> {
        self.tell_input();
        let aim = match (self.params.initial(), self.scale) {
            (Some(initial), _) => self.aim_at(initial)?,
            (None, Scale::Known(scale)) => Aim { scale: scale.get(), range: self.scale, given: None },
            (None, Scale::Unknown | Scale::Between(..)) => self.search_scales()?,
        };
        let look = match aim.given {
            Some(start) if self.params.is_local() => self.refine_only(start, &aim),
            _ => self.search(&aim)?,
        };
        let further = self.further(&look, aim.with_scale());
        let found = self.outcome(look, further);
        found.tell();
        Ok(found)
    }

    /// Looks at the clouds with the voxel that suits them. What is refused is looked at again, with coarser and with finer voxels.
    fn search(&mut self, aim: &Aim) -> Result<Look, RegisterError> {
        let sampled = self.sampled(aim.scale);
        let first = self.look(
            Look::new(sampled),
            aim,
            &[(Effort::Mutual, RoundKind::MutualMatches), (Effort::All, RoundKind::AllMatches)],
            None,
        )?;
        if first.is_final() || self.params.voxel().is_some() {
            return Ok(first);
        }
        // Coarser voxels blur what could refute a rival.
        let coarser = (!first.has_rival()).then_some((COARSER, Effort::All, RoundKind::CoarserVoxels));
        // Finer voxels take twice as long, and where the matches support no pose they find none.
        let finer = first.has_evidence().then_some((FINER, Effort::Mutual, RoundKind::FinerVoxels));
        for (factor, effort, kind) in coarser.into_iter().chain(finer) {
            if self.is_stopped() {
                break;
            }
            let mut second = Look::new(self.sampled_with(factor * first.sampled.fixed.voxel, aim.scale));
            second.carry(&first);
            let second = self.look(second, aim, &[(effort, kind)], Some(&first))?;
            if second.is_registered() {
                return Ok(second);
            }
        }
        Ok(first)
    }

    /// The record of a round that has not been judged.
    fn round(
        &self,
        kind: RoundKind,
        sampled: &SampledPair,
        attempt: Option<&Attempt>,
        best: Option<&Candidate>,
    ) -> SearchRound {
        SearchRound {
            kind,
            voxels: self.exchange.pair([sampled.moving.voxel, sampled.fixed.voxel]),
            sampled: self.exchange.pair([sampled.moving.points.len(), sampled.fixed.points.len()]),
            matches: attempt.map_or(0, Attempt::matches),
            candidates: attempt.map_or(0, Attempt::poses),
            best_inlier_count: best.map_or(0, |best| best.inliers),
            status: None,
            doubt: None,
        }
    }

    /// Whether the caller wants to stop; remembers why.
    fn is_stopped(&mut self) -> bool {
        self.stopped = self.stopped.or_else(|| (self.stop)());
        self.stopped.is_some()
    }

    /// Samples both clouds with a suitable voxel. `scale` is the number of fixed units per moving unit.
    fn sampled(&mut self, scale: f64) -> SampledPair {
        let fixed_voxel = match self.params.voxel() {
            Some(voxel) => self.affordable(self.exchange.length_in(voxel.get(), scale), scale),
            None => self.suggested_voxel(scale),
        };
        self.clock.lap("voxel size");
        self.tell_voxel(fixed_voxel, scale);
        self.sampled_with(fixed_voxel, scale)
    }

    /// Samples both clouds with this voxel, in fixed units.
    fn sampled_with(&mut self, fixed_voxel: f64, scale: f64) -> SampledPair {
        let sampled = self.pair.sampled(fixed_voxel / scale, fixed_voxel);
        self.clock.lap("voxels");
        rayon::join(|| sampled.moving.normals().len(), || sampled.fixed.normals().len());
        self.clock.lap("normals");
        sampled
    }

    /// Voxel size that suits both clouds, in fixed units.
    fn suggested_voxel(&self, scale: f64) -> f64 {
        let [moving, fixed] = [self.pair.moving.density(), self.pair.fixed.density()];
        // Measured by two threads before both are needed.
        rayon::join(|| moving.voxel(), || fixed.voxel());
        Density::common_voxel(&moving.scaled(scale), fixed)
    }

    /// The given voxel, or a coarser one where it would leave too many points to match.
    fn affordable(&self, fixed_voxel: f64, scale: f64) -> f64 {
        let finest =
            (scale * self.pair.moving.density().extent()).max(self.pair.fixed.density().extent()) * FINEST;
        let mut voxel = fixed_voxel.max(finest);
        loop {
            // The samples are kept for what follows.
            let count = |cloud: &PreparedCloud, voxel| match cloud.sampled_at_most(voxel, MOST_SAMPLED) {
                Ok(sampled) => sampled.points.len(),
                Err(count) => count,
            };
            let (moving, fixed) =
                rayon::join(|| count(self.pair.moving, voxel / scale), || count(self.pair.fixed, voxel));
            let most = moving.max(fixed);
            if most <= MOST_SAMPLED {
                return voxel;
            }
            // The number of cells of a surface falls with the square of their size.
            voxel *= 1.05 * (most as f64 / MOST_SAMPLED as f64).sqrt();
        }
    }

    /// What is looked for with the caller's pose: its scale is known at least approximately.
    fn aim_at(&self, initial: &Similarity) -> Result<Aim, RegisterError> {
        let mut start = self.exchange.pose_in(initial);
        let range = match self.scale {
            known @ Scale::Known(scale) => {
                // The digits of the pose may be rounded. The middle of the moving cloud, which is the origin here, stays in its place.
                start = Similarity::new_unchecked(scale.get(), start.rotation(), start.translation());
                known
            }
            _ => scales::around(start.scale(), self.scale)?,
        };
        if let Some(vertical) = &self.pair.vertical {
            // So may those of its rotation.
            let rotation = vertical.nearest(&start.rotation());
            start = Similarity::new_unchecked(start.scale(), rotation, start.translation());
        }
        Ok(Aim { scale: start.scale(), range, given: Some(start) })
    }

    /// Refines the caller's pose without a search.
    fn refine_only(&mut self, start: Similarity, aim: &Aim) -> Look {
        let with_scale = aim.with_scale();
        let sampled = self.sampled(aim.scale);
        if self.is_stopped() {
            return Look::new(sampled);
        }
        let near = match self.params.refinement() {
            Refinement::None => start,
            Refinement::PointToPoint => {
                let near = sampled.refine_coarsely(start, with_scale, Refinement::PointToPoint);
                self.refined_densely(&sampled, near, with_scale)
            }
            refinement => sampled.refine_coarsely(start, with_scale, refinement),
        };
        let fit = self.finish(&sampled, &start, &near);
        self.clock.lap("refine");
        let candidate = Candidate::without_matches(&sampled, start, fit.pose);
        let judgement = judge::without_search(&sampled, &candidate, &fit);
        self.clock.lap("verify");
        let mut look = Look::new(sampled);
        look.known.push(candidate.clone());
        look.answer = Some(Answer { candidate, judgement, fit });
        look
    }

    /// Refines a pose on denser points, for point-to-point.
    fn refined_densely(&self, sampled: &SampledPair, pose: Similarity, with_scale: bool) -> Similarity {
        let (dense, voxel) = self.dense(sampled, pose.scale());
        let icp = Icp {
            source: &dense.moving,
            target: &dense.fixed,
            refinement: self.params.refinement(),
            with_scale,
            up: sampled.up(),
            faces: false,
            points: POINT_PAIRS,
        };
        icp.run(pose, voxel, FINE * voxel, 20)
    }

    /// Samples the clouds more densely; also returns the voxel of the search in fixed units.
    fn dense(&self, sampled: &SampledPair, scale: f64) -> (SampledPair, f64) {
        let voxel = sampled.voxel(scale);
        (self.pair.sampled(FINE * sampled.moving.voxel, FINE * sampled.fixed.voxel), voxel)
    }

    /// Refines a pose on all points, by at most a voxel, and tells how accurate it is. The coarse refinement began at `start`.
    fn finish(&mut self, sampled: &SampledPair, start: &Similarity, pose: &Similarity) -> Finished {
        let mut finished = self.finish_in_cells(sampled, pose, false);
        if finished.is_weak {
            // Voxels do not see the small relief that holds the direction. What they did along it was chance.
            let held = sampled.held(start, &finished.pose);
            finished = self.finish_in_cells(sampled, &held, true);
        }
        if let Some(vertical) = &self.pair.vertical {
            // Without a covariance, the pose before this stage keeps the vertical.
            let held =
                finished.covariance.as_ref().map(|covariance| vertical.hold(&finished.pose, covariance));
            (finished.pose, finished.covariance) =
                held.map_or((*pose, None), |(pose, held)| (pose, Some(held)));
        }
        if let Some((.., surfaces)) = &self.surfaces {
            self.tell_finish(surfaces, pose.scale(), &finished);
        }
        finished
    }

    /// The last stage with usual or with fine cells.
    fn finish_in_cells(&mut self, sampled: &SampledPair, pose: &Similarity, is_fine: bool) -> Finished {
        let scale = pose.scale();
        // The cells of both clouds have about the same size.
        let is_usable = |(known, fine, _): &(f64, bool, Surfaces)| {
            *fine == is_fine && (0.9..1.1).contains(&(known / scale))
        };
        let (known, fine, surfaces) = self.surfaces.take().filter(is_usable).unwrap_or_else(|| {
            let cell = |cloud: &PreparedCloud, sampled: &SampledCloud| {
                finish::cell_size(sampled.voxel, sampled.points.len(), cloud.points().len(), is_fine)
            };
            let Pair { moving, fixed, .. } = self.pair;
            let cell = (scale * cell(moving, &sampled.moving)).max(cell(fixed, &sampled.fixed));
            let cell = finish::rounded_size(cell);
            let (moving, fixed) = rayon::join(|| moving.surface(0, cell / scale), || fixed.surface(1, cell));
            (scale, is_fine, Surfaces::new([moving, fixed], self.params.refinement()))
        });
        let with_scale = !matches!(self.scale, Scale::Known(_));
        let reach = sampled.voxel(scale);
        let finished = Finish::new(&surfaces, self.params.refinement(), with_scale).run(pose, reach);
        self.surfaces = Some((known, fine, surfaces));
        finished
    }

    fn outcome(self, look: Look, further: Further) -> CloudRegistration {
        let Look { sampled, known, attempt, answer, .. } = look;
        let exchange = self.exchange;
        let candidate = |candidate: &Candidate| exchange.candidate_out(candidate);
        let summaries = [(self.pair.moving, &sampled.moving), (self.pair.fixed, &sampled.fixed)]
            .map(|(cloud, sampled)| CloudSummary::of(cloud, sampled.points.len()));
        let [source, target] = exchange.pair(summaries);
        let (pose, judgement, fit) = match answer {
            Some(Answer { candidate, judgement, fit }) => (Some(candidate.pose), judgement, Some(fit)),
            None => (None, Judgement::nothing(self.stopped.is_some()), None),
        };
        let rmse = fit.as_ref().and_then(|fit| fit.rmse);
        let covariance = match (&pose, fit.and_then(|fit| fit.covariance)) {
            (Some(pose), Some(covariance)) => Some(covariance.in_frame(&exchange.target_frame(pose))),
            _ => None,
        };
        let scale = pose.map_or(1.0, |pose| pose.scale());
        let unit = exchange.unit(scale);
        let matches = match (&attempt, &pose) {
            (Some(attempt), Some(pose)) => attempt.summary(&sampled, pose, unit),
            _ => None,
        };
        let matches = matches.map(|mut summary| {
            summary.points.iter_mut().for_each(|pair| *pair = exchange.points_out(*pair));
            summary
        });
        let Further { doubt, poses, free_motions, place, votes } = further;
        CloudRegistration {
            status: judgement.status,
            doubt: doubt.or(judgement.doubt),
            poses,
            free_motions,
            place,
            votes,
            rival: judgement.rival.map(|rival| {
                let PoseCandidate { target_from_source, inlier_count, evidence, assessment, .. } =
                    candidate(&rival.candidate);
                let Rival { score_ratio, not_refuted_because, .. } = rival;
                PoseRival {
                    target_from_source,
                    inlier_count,
                    evidence,
                    assessment,
                    score_ratio,
                    not_refuted_because,
                }
            }),
            target_from_source: pose.map(|pose| exchange.pose_out(&pose)),
            assessment: pose.map(|_| exchange.fit_out(judgement.assessment)),
            rmse: rmse.map(|rmse| unit * rmse),
            covariance,
            matches,
            candidates: known.iter().map(candidate).collect(),
            rounds: self.rounds,
            voxel: unit * sampled.voxel(scale),
            orientation: self.pair.orientation,
            stopped: self.stopped,
            source,
            target,
            seconds: self.clock.stop(),
        }
    }
}
