//! Checked options of `assess` and `verify`, which judge a transform from elsewhere.

use pcr99::{
    Clock, Correspondences, Positive, Registration, Similarity, Status,
    stop::{StopCheck, StopRequest},
};
use pcr99_base::info;
use pcr99_baselines::Solvers;
use pcr99_cloud::{CloudRegistration, PreparedCloud, Refinement, RegisterError, register::SharedStopCheck};

use crate::{
    AssessOptions, Deadline, GivenScale, PlanError, RegisterOptions, RegisterPlan, RunError, SolveOptions,
    SolvePlan, VerifyOptions,
};

/// A transform, and what is needed to judge it by matches.
#[derive(Debug, Clone, PartialEq)]
pub struct AssessPlan {
    transform: Similarity,
    /// Only its threshold and its correlation length count, and the search that finds the threshold.
    search: SolvePlan,
}

/// The verdict on a transform by matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessed {
    /// The given transform, unchanged, with its verdict.
    pub found: Registration,
    /// What a search with the scale of the transform found; `None` when the threshold was given, so that no search ran.
    pub searched: Option<Registration>,
}

impl AssessPlan {
    /// Checks the options.
    ///
    /// # Errors
    /// When a value is outside its range.
    pub fn new(transform: &Similarity, options: &AssessOptions) -> Result<Self, PlanError> {
        let search = SolvePlan::new(&SolveOptions {
            scale: Some(GivenScale::Known(transform.scale())),
            threshold: options.threshold,
            correlation_length: options.correlation_length,
            threads: options.threads,
            time_limit: options.time_limit,
            seed: options.seed,
            ..SolveOptions::default()
        })?;
        Ok(Self { transform: *transform, search })
    }

    /// Starts the clock of the time limit.
    pub fn deadline(&self) -> Deadline {
        self.search.deadline()
    }

    /// Judges the transform. Without a threshold, a search finds one; it asks `stop` now and then whether to end.
    ///
    /// # Errors
    /// As [`SolvePlan::run`].
    pub fn run(
        &self,
        pairs: &Correspondences,
        solvers: &mut Solvers,
        stop: StopCheck<'_>,
    ) -> Result<Assessed, RunError> {
        let searched = match self.search.threshold() {
            Some(_) => None,
            None => Some(self.search.run(pairs, solvers, stop)?),
        };
        let threshold = match (self.search.threshold(), &searched) {
            (Some(threshold), _) => threshold,
            (None, Some(searched)) => Positive::new("threshold", searched.threshold)?,
            (None, None) => unreachable!("a search runs where no threshold is given"),
        };
        let mut clock = Clock::start();
        let correlated;
        let pairs = match self.search.correlation_length() {
            Some(length) => {
                correlated = pairs.clone().with_correlation_length(length)?;
                &correlated
            }
            None => pairs,
        };
        info!("{} matches; judges the given transform", pairs.len());
        let mut found = pcr99::assess(pairs, &self.transform, threshold);
        found.tell(self.search.threshold());
        clock.lap("evidence");
        found.seconds = match &searched {
            Some(searched) => clock.stop().preceded_by(&searched.seconds),
            None => clock.stop(),
        };
        Ok(Assessed { found, searched })
    }
}

impl Assessed {
    /// A registered transform that the search found, when the given one is not registered.
    pub fn better(&self) -> Option<&Registration> {
        let searched = self.searched.as_ref().filter(|searched| searched.is_registered())?;
        (self.found.status != Status::Registered).then_some(searched)
    }
}

/// A pose, and what is needed to judge it by two clouds.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyPlan {
    transform: Similarity,
    /// Judges the pose as it is, beside those that a search finds.
    judge: RegisterPlan,
    /// Refines the pose where it is.
    refine: RegisterPlan,
}

/// The verdict on a pose by two clouds.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    /// The given pose, unchanged, with its verdict. It has no covariance: that belongs to refined poses.
    pub found: CloudRegistration,
    /// The pose refined, if that ended well.
    pub refined: Option<CloudRegistration>,
}

impl VerifyPlan {
    /// Checks the options.
    ///
    /// # Errors
    /// When a value is outside its range.
    pub fn new(transform: &Similarity, options: &VerifyOptions) -> Result<Self, PlanError> {
        let usual = RegisterOptions {
            scale: Some(GivenScale::Known(transform.scale())),
            voxel: options.voxel,
            initial: Some(*transform),
            candidates: options.candidates,
            threads: options.threads,
            time_limit: options.time_limit,
            seed: options.seed,
            ..RegisterOptions::default()
        };
        let refine = RegisterPlan::new(&RegisterOptions { is_local: true, ..usual.clone() })?;
        let judge = RegisterPlan::new(&RegisterOptions { refine: Some(Refinement::None), ..usual })?;
        Ok(Self { transform: *transform, judge, refine })
    }

    /// The parameters of the search beside which the pose is judged.
    pub fn params(&self) -> &pcr99_cloud::RegisterParams {
        self.judge.params()
    }

    /// Starts the clock of the time limit.
    pub fn deadline(&self) -> Deadline {
        self.judge.deadline()
    }

    /// Judges the pose as it is, and refines it to tell how far it is off. Asks `stop` now and then whether to end.
    ///
    /// # Errors
    /// As [`RegisterPlan::run`].
    pub fn run(
        &self,
        source: &PreparedCloud,
        target: &PreparedCloud,
        stop: SharedStopCheck<'_>,
    ) -> Result<Verified, RegisterError> {
        info!("judges the given pose, and looks for others");
        let mut found = self.judge.run(source, target, stop)?;
        // Inside, the pose passed through other coordinates, which rounds it.
        if found.target_from_source.is_some() {
            found.target_from_source = Some(self.transform);
            if let Some(first) = found.candidates.first_mut() {
                first.target_from_source = self.transform;
            }
        }
        found.covariance = None;
        let overlaps = found.assessment.is_some_and(|fit| fit.overlap_source.max(fit.overlap_target) > 0.0);
        let goes_on = overlaps && found.stopped.is_none();
        if goes_on {
            info!("refines the given pose, to tell how far it is off");
        }
        let refined = goes_on.then(|| self.refine.run(source, target, stop)).transpose()?;
        if let Some(stopped) = refined.as_ref().and_then(|refined| refined.stopped) {
            found.stopped = found.stopped.or(Some(stopped));
        }
        Ok(Verified { found, refined: refined.filter(CloudRegistration::is_registered) })
    }
}

impl Verified {
    /// Whether the caller interrupted the work.
    pub fn is_interrupted(&self) -> bool {
        self.found.stopped == Some(StopRequest::Interrupted)
    }

    /// Length by which refinement moves the points that the pose rests on, in target units: the root of the mean square, estimated from the shift of their
    /// centre and from the turn about it. `None` when the pose could not be refined, and when the length is within the accuracy (95 %) of the refined pose.
    pub fn correction(&self) -> Option<f64> {
        let refined = self.refined.as_ref()?;
        let (given, best) = (self.found.target_from_source?, refined.target_from_source?);
        let covariance = refined.covariance.as_ref()?;
        let (accuracy, lever) = (covariance.accuracy(), covariance.lever);
        let motion = given.inverse().then(&best);
        let moved = motion.apply(covariance.center);
        let shift_sq: f64 = moved.iter().zip(covariance.center).map(|(x, y)| (x - y) * (x - y)).sum();
        // Twice the sine of half the angle.
        let [_, x, y, z] = motion.quaternion();
        let turn = 2.0 * (x * x + y * y + z * z).sqrt() * lever;
        let length = (shift_sq + turn * turn).sqrt();
        let turned = accuracy.rotation_deg.to_radians() * lever;
        let within = (accuracy.translation * accuracy.translation + turned * turned).sqrt();
        (length > within).then_some(length)
    }

    /// Another pose that the search found and that passes the tests on which the given one failed.
    pub fn better(&self) -> Option<&pcr99_cloud::register::PoseCandidate> {
        if self.found.is_registered() {
            return None;
        }
        self.found.candidates.iter().skip(1).find(|candidate| candidate.doubt.is_none())
    }
}
