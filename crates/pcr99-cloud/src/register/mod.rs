//! Registration: from two raw clouds to their pose, and whether it can be relied on.
//!
//! | step | where |
//! |---|---|
//! | remove non-finite and duplicate points; centre | [`crate::clean`], [`PreparedCloud`] |
//! | choose a voxel size; sample | [`crate::voxel`] |
//! | estimate and orient normals | [`crate::normals`], [`crate::orient`] |
//! | compute descriptors | [`crate::fpfh`] |
//! | match nearest descriptors | [`crate::matching`] |
//! | search the matches for candidates | [`pcr99::solve`] |
//! | compare each candidate with the clouds | [`crate::verify`] |
//! | refine the best on denser points | [`crate::refine`] |
//! | refine it on all points; its covariance | [`crate::refine::finish`] |
//! | judge it | `judge` |
//!
//! Internally the cloud with fewer points moves and the other is fixed, so that exchanging source and target gives the inverse pose.

mod doubt;
mod error;
mod judge;
mod outcome;
mod params;
mod scales;
mod search;

use std::cmp::Ordering;

use pcr99::{
    Scale, Similarity, Status,
    stop::{self, StopRequest},
};
use pcr99_base::clock::Clock;
use rayon::ThreadPoolBuilder;

pub use doubt::{Doubt, NotRefuted, RefutationTest};
pub use error::RegisterError;
pub use outcome::{
    CloudRegistration, CloudSummary, MatchSummary, PoseCandidate, PoseRival, RoundKind, SearchRound,
};
pub use params::RegisterParams;

use self::{
    judge::{Case, Judgement, Rival, own_doubt},
    search::{Attempt, Candidate, Effort, Pair, SampledPair},
};
use crate::{
    orient::Orientation,
    prepare::{PreparedCloud, SampledCloud},
    refine::{
        Icp, Refinement,
        finish::{self, Finish, Finished, Surfaces},
    },
    verify::Assessment,
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
/// The result has the same parts as that of [`register`]. Its status is [`Status::Registered`] when the refinement converged, the clouds overlap and fit, and no
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

/// Number of points of each dense sample that are used before the pose is judged. The last stage uses all points.
const DENSE_POINTS: usize = 1250;
/// The same for point-to-point, whose last stage this is.
const POINT_PAIRS: usize = 5000;
/// Largest number of sampled points of a cloud. The time to match descriptors grows faster than their number.
const MOST_SAMPLED: usize = 40_000;
/// Smallest voxel, as a fraction of the extent of the larger cloud.
const FINEST: f64 = 1e-5;
/// Smallest overlap of both clouds from which they count as the same shape.
const ALL_OVERLAPS: f64 = 0.8;
/// Voxel of the dense sample, as a fraction of the voxel of the search.
const FINE: f64 = 0.5;

/// A registration in progress.
struct Task<'a> {
    pair: Pair<'a>,
    /// Whether the moving cloud is the target.
    swapped: bool,
    /// Fixed units per moving unit.
    scale: Scale,
    params: &'a RegisterParams,
    stop: SharedStopCheck<'a>,
    stopped: Option<StopRequest>,
    rounds: Vec<SearchRound>,
    clock: Clock,
    /// The clouds, prepared for the last stage of the refinement at a scale.
    surfaces: Option<(f64, Surfaces)>,
}

/// The state at the end of a search.
struct Found {
    sampled: SampledPair,
    /// Candidates, best first.
    known: Vec<Candidate>,
    attempt: Option<Attempt>,
    pose: Option<(Candidate, Judgement)>,
    /// The last refinement of the pose.
    fit: Option<Finished>,
}

impl<'a> Task<'a> {
    fn new(
        source: &'a PreparedCloud,
        target: &'a PreparedCloud,
        params: &'a RegisterParams,
        stop: SharedStopCheck<'a>,
    ) -> Self {
        let swapped = order(source, target) == Ordering::Greater;
        let (moving, fixed) = if swapped { (target, source) } else { (source, target) };
        let way = [Orientation::Given, Orientation::Viewpoint]
            .into_iter()
            .find(|&way| moving.can_be_oriented(way) && fixed.can_be_oriented(way));
        let orientation = way.unwrap_or(Orientation::Consistent);
        let scale = if swapped { inverse_scale(params.scale()) } else { params.scale() };
        let pair = Pair { moving, fixed, orientation };
        Self {
            pair,
            swapped,
            scale,
            params,
            stop,
            stopped: None,
            rounds: Vec::new(),
            clock: Clock::start(),
            surfaces: None,
        }
    }

    fn run(mut self) -> Result<CloudRegistration, RegisterError> {
        let found = match (self.params.initial(), self.scale) {
            (Some(initial), _) if self.params.is_local() => self.refine_only(initial)?,
            (Some(initial), _) => self.start_from(initial)?,
            (None, Scale::Known(scale)) => self.search(scale.get(), self.scale, None)?,
            (None, Scale::Unknown | Scale::Between(..)) => self.search_scales()?,
        };
        Ok(self.outcome(found))
    }

    /// The record of a round that has not been judged.
    fn round(
        &self,
        kind: RoundKind,
        sampled: &SampledPair,
        attempt: Option<&Attempt>,
        best: Option<&Candidate>,
    ) -> SearchRound {
        let outward =
            |[moving, fixed]: [usize; 2]| if self.swapped { [fixed, moving] } else { [moving, fixed] };
        let voxels = [sampled.moving.voxel, sampled.fixed.voxel];
        SearchRound {
            kind,
            voxels: if self.swapped { [voxels[1], voxels[0]] } else { voxels },
            sampled: outward([sampled.moving.points.len(), sampled.fixed.points.len()]),
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
            Some(voxel) if self.swapped => voxel.get() * scale,
            Some(voxel) => voxel.get(),
            None => self.suggested_voxel(scale),
        };
        self.clock.lap("voxel size");
        let fixed_voxel = match self.params.voxel() {
            Some(_) => self.affordable(fixed_voxel, scale),
            None => fixed_voxel,
        };
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

    /// Searches with a scale that is known at least approximately; `range` bounds it. With a pose from the caller, that pose is judged, and
    /// the candidates of the search are its rivals.
    fn search(
        &mut self,
        scale: f64,
        range: Scale,
        given: Option<Similarity>,
    ) -> Result<Found, RegisterError> {
        let with_scale = !matches!(range, Scale::Known(_));
        let sampled = self.sampled(scale);
        let mut found = Found { sampled, known: Vec::new(), attempt: None, pose: None, fit: None };
        let mut initial: Option<Candidate> = None;
        for effort in [Effort::Mutual, Effort::All] {
            if self.is_stopped() {
                break;
            }
            let attempt =
                self.pair.attempt(&found.sampled, range, effort, self.params, self.stop, &mut self.clock)?;
            if let Some(start) = given.filter(|_| initial.is_none()) {
                initial = Some(found.sampled.given(start, with_scale, self.params.refinement()));
            }
            if let Some(attempt) = attempt {
                // All candidates are judged by the same matches, those of the last round.
                found.known.iter_mut().chain(&mut initial).for_each(|c| attempt.count(&found.sampled, c));
                found.known.extend(attempt.candidates(&found.sampled, with_scale, self.params.refinement()));
                found.attempt = Some(attempt);
            }
            if found.known.is_empty() && given.is_none() {
                found.known.push(found.sampled.fallback(scale, with_scale));
            }
            found.known.sort_by(|a, b| b.merit().total_cmp(&a.merit()));
            self.clock.lap("verify");
            let best = initial.clone().or_else(|| found.known.first().cloned());
            let kind = match effort {
                Effort::Mutual => RoundKind::MutualMatches,
                Effort::All => RoundKind::AllMatches,
            };
            let round = self.round(kind, &found.sampled, found.attempt.as_ref(), best.as_ref());
            let Some(best) = best else {
                self.rounds.push(round);
                break;
            };
            let (judged, fit) = self.refine_and_judge(&found, &best, with_scale);
            let (this, judgement) = &judged;
            self.rounds.push(SearchRound {
                best_inlier_count: this.inliers,
                status: Some(judgement.status),
                doubt: judgement.doubt,
                ..round
            });
            // When all of two underconstrained clouds overlaps, as of two spheres, no other pose would be better constrained.
            let Assessment { overlap_source, overlap_target, .. } = judged.1.assessment;
            let is_hopeless = matches!(judged.1.doubt, Some(Doubt::Underconstrained { .. }))
                && overlap_source.min(overlap_target) > ALL_OVERLAPS;
            let done = judged.1.status == Status::Registered || is_hopeless;
            found.pose = Some(judged);
            found.fit = Some(fit);
            if done {
                break;
            }
        }
        // The answer comes first, with the numbers that it was judged by.
        if let Some((this, _)) = &found.pose {
            let this = this.clone();
            let is_it = |c: &Candidate| given.is_none() && c.start == this.start;
            found.known.retain(|c| !is_it(c));
            found.known.insert(0, this);
        }
        Ok(found)
    }

    /// The caller's pose, from moving to fixed and relative to the centres, and the range of its scale.
    fn inward(&self, initial: &Similarity) -> Result<(Similarity, Scale), RegisterError> {
        let [from, to] = if self.swapped {
            [self.pair.fixed.center(), self.pair.moving.center()]
        } else {
            [self.pair.moving.center(), self.pair.fixed.center()]
        };
        let inner = shift(from).then(initial).then(&shift(to.map(|x| -x)));
        let start = if self.swapped { inner.inverse() } else { inner };
        let range = match self.scale {
            known @ Scale::Known(_) => known,
            _ => scales::around(start.scale(), self.scale)?,
        };
        Ok((start, range))
    }

    /// Judges the caller's pose, and searches for rivals.
    fn start_from(&mut self, initial: &Similarity) -> Result<Found, RegisterError> {
        let (start, range) = self.inward(initial)?;
        self.search(start.scale(), range, Some(start))
    }

    /// Refines the caller's pose without a search.
    fn refine_only(&mut self, initial: &Similarity) -> Result<Found, RegisterError> {
        let (start, range) = self.inward(initial)?;
        let with_scale = !matches!(range, Scale::Known(_));
        let sampled = self.sampled(start.scale());
        let near = match self.params.refinement() {
            Refinement::None => start,
            Refinement::PointToPoint => {
                let near = sampled.refine_coarsely(start, with_scale, Refinement::PointToPoint);
                self.refined_densely(&sampled, near, with_scale)
            }
            refinement => sampled.refine_coarsely(start, with_scale, refinement),
        };
        let voxel = sampled.voxel(near.scale());
        let fit = self.finish(&sampled, &near, voxel);
        self.clock.lap("refine");
        let this = Candidate::without_matches(&sampled, start, fit.pose);
        let judgement = judge::without_search(&sampled, &this, &fit);
        self.clock.lap("verify");
        Ok(Found {
            sampled,
            known: vec![this.clone()],
            attempt: None,
            pose: Some((this, judgement)),
            fit: Some(fit),
        })
    }

    /// Refines a candidate, on denser points and then on all, and judges it.
    fn refine_and_judge(
        &mut self,
        found: &Found,
        best: &Candidate,
        with_scale: bool,
    ) -> ((Candidate, Judgement), Finished) {
        let pose = match self.params.refinement() {
            Refinement::None => best.start,
            _ => self.refined_densely(&found.sampled, best.pose, with_scale),
        };
        let reach = FINE * found.sampled.voxel(pose.scale());
        let fit = self.finish(&found.sampled, &pose, reach);
        let pose = fit.pose;
        self.clock.lap("refine");
        let this = match &found.attempt {
            Some(attempt) => attempt.compare(&found.sampled, best.start, pose),
            None => Candidate { pose, votes: found.sampled.votes_on(&pose), ..best.clone() },
        };
        let case = Case {
            sampled: &found.sampled,
            moving: self.pair.moving,
            fixed: self.pair.fixed,
            this: &this,
            known: &found.known,
            attempt: found.attempt.as_ref(),
            is_given: self.params.initial().is_some(),
            with_scale,
        };
        let judgement = case.judge();
        self.clock.lap("verify");
        ((this, judgement), fit)
    }

    /// Refines a pose on denser points.
    fn refined_densely(&self, sampled: &SampledPair, pose: Similarity, with_scale: bool) -> Similarity {
        let (dense, voxel) = self.dense(sampled, pose.scale());
        let icp = Icp {
            source: &dense.moving,
            target: &dense.fixed,
            refinement: self.params.refinement(),
            with_scale,
            faces: false,
            points: match self.params.refinement() {
                Refinement::PointToPoint => POINT_PAIRS,
                _ => DENSE_POINTS,
            },
        };
        icp.run(pose, voxel, FINE * voxel, 20)
    }

    /// Samples the clouds more densely; also returns the voxel of the search in fixed units.
    fn dense(&self, sampled: &SampledPair, scale: f64) -> (SampledPair, f64) {
        let voxel = sampled.voxel(scale);
        (self.pair.sampled(FINE * sampled.moving.voxel, FINE * sampled.fixed.voxel), voxel)
    }

    /// Refines a pose on all points, by at most `reach`, and tells how accurate it is.
    fn finish(&mut self, sampled: &SampledPair, pose: &Similarity, reach: f64) -> Finished {
        let scale = pose.scale();
        // The cells of both clouds have about the same size.
        let is_usable = |(known, _): &(f64, Surfaces)| (0.9..1.1).contains(&(known / scale));
        let (known, surfaces) = self.surfaces.take().filter(is_usable).unwrap_or_else(|| {
            let cell = |cloud: &PreparedCloud, sampled: &SampledCloud| {
                finish::cell_size(sampled.voxel, sampled.points.len(), cloud.points().len())
            };
            let Pair { moving, fixed, .. } = self.pair;
            let cell = (scale * cell(moving, &sampled.moving)).max(cell(fixed, &sampled.fixed));
            (scale, Surfaces::new(moving.points(), fixed.points(), cell, scale, self.params.refinement()))
        });
        let with_scale = !matches!(self.scale, Scale::Known(_));
        let mut finish = Finish::new(&surfaces, pose, self.params.refinement(), with_scale);
        let finished = finish.run(pose, reach);
        self.surfaces = Some((known, surfaces));
        finished
    }

    /// Maps coordinates relative to the fixed cloud's centre to those of the target as given.
    fn target_frame(&self, pose: &Similarity) -> Similarity {
        if self.swapped {
            pose.inverse().then(&shift(self.pair.moving.center()))
        } else {
            shift(self.pair.fixed.center())
        }
    }

    /// Converts a pose from moving to fixed, relative to the centres, to one from source to target as given.
    fn outward(&self, pose: &Similarity) -> Similarity {
        let from_moving = shift(self.pair.moving.center().map(|x| -x));
        let full = from_moving.then(pose).then(&shift(self.pair.fixed.center()));
        if self.swapped { full.inverse() } else { full }
    }

    /// Converts a match from moving to fixed, relative to the centres, to one from source to target as given.
    fn outward_points(&self, [moving, fixed]: [[f64; 3]; 2]) -> [[f64; 3]; 2] {
        let pair =
            [shift(self.pair.moving.center()).apply(moving), shift(self.pair.fixed.center()).apply(fixed)];
        if self.swapped { [pair[1], pair[0]] } else { pair }
    }

    fn outcome(self, found: Found) -> CloudRegistration {
        let fit = found.fit;
        let seen = |assessment: Assessment| {
            if self.swapped { assessment.inverse() } else { assessment }
        };
        let candidate = |c: &Candidate| PoseCandidate {
            target_from_source: self.outward(&c.pose),
            inlier_count: c.inliers,
            evidence: c.evidence,
            assessment: seen(c.votes.assessment),
            doubt: own_doubt(c),
        };
        let summaries = [(self.pair.moving, &found.sampled.moving), (self.pair.fixed, &found.sampled.fixed)]
            .map(|(cloud, sampled)| CloudSummary::of(cloud, sampled.points.len()));
        let [source, target] = if self.swapped { [summaries[1], summaries[0]] } else { summaries };
        let (pose, judgement) = match &found.pose {
            Some((this, judgement)) => (Some(this.pose), judgement.clone()),
            None => (None, Judgement::nothing(self.stopped.is_some())),
        };
        let rmse = fit.as_ref().and_then(|fit| fit.rmse);
        let covariance = match (&pose, fit.and_then(|fit| fit.covariance)) {
            (Some(pose), Some(covariance)) => Some(covariance.in_frame(&self.target_frame(pose))),
            _ => None,
        };
        let scale = pose.map_or(1.0, |pose| pose.scale());
        let unit = if self.swapped { 1.0 / scale } else { 1.0 };
        let matches = match (&found.attempt, &pose) {
            (Some(attempt), Some(pose)) => attempt.summary(&found.sampled, pose, unit),
            _ => None,
        };
        let matches = matches.map(|mut summary| {
            summary.points.iter_mut().for_each(|pair| *pair = self.outward_points(*pair));
            summary
        });
        CloudRegistration {
            status: judgement.status,
            doubt: judgement.doubt,
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
            target_from_source: pose.map(|pose| self.outward(&pose)),
            assessment: pose.map(|_| seen(judgement.assessment)),
            rmse: rmse.map(|rmse| unit * rmse),
            covariance,
            matches,
            candidates: found.known.iter().map(candidate).collect(),
            rounds: self.rounds,
            voxel: unit * found.sampled.voxel(scale),
            orientation: self.pair.orientation,
            stopped: self.stopped,
            source,
            target,
            seconds: self.clock.stop(),
        }
    }
}

/// Order of two clouds: the one with fewer points first, ties by coordinates. The first one moves.
fn order(source: &PreparedCloud, target: &PreparedCloud) -> Ordering {
    let (a, b) = (source.points(), target.points());
    a.len().cmp(&b.len()).then_with(|| {
        let mut compared = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| x.total_cmp(y));
        compared.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    })
}

/// Bounds of `1/s`.
fn inverse_scale(scale: Scale) -> Scale {
    let inverse = match scale {
        Scale::Unknown => Ok(Scale::Unknown),
        Scale::Known(s) => Scale::known(1.0 / s.get()),
        Scale::Between(low, high) => Scale::between(1.0 / high.get(), 1.0 / low.get()),
    };
    inverse.unwrap_or(scale)
}

fn shift(by: [f64; 3]) -> Similarity {
    Similarity::from_translation(by)
}
