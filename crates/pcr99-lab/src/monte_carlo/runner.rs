use std::{
    collections::HashSet,
    num::NonZero,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use cpu_time::{ProcessTime, ThreadTime};
use pcr99::{Correspondences, Registration, StopReason, assess, random::Random, stop::StopRequest};
use pcr99_base::logging::silent;
use pcr99_baselines::{Method, Solvers};

use super::{Case, Error, Estimator, Key, Outcome, Plan, Record, ScaleMode};
use crate::{Errors, Problem};

/// Number of parallel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jobs {
    /// One run at a time, for exact times.
    One,
    /// Several runs at a time, which affect each other's times.
    Several(NonZero<usize>),
}

impl Jobs {
    /// Number of parallel runs.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Several(count) => count.get(),
        }
    }
}

/// How a benchmark ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All problems are solved.
    Finished,
    /// The caller interrupted it; unfinished runs are lost.
    Interrupted,
}

/// Solves all planned problems, except those that are already done, and passes each record to `keep`. Checks `interrupted` regularly.
///
/// The clock of a run starts at the arrays of points and ends with the verdict, for every method alike: checking and normalising the matches counts. Each search uses
/// one thread. Before its first run, each method solves one problem that is not counted, so that no run includes first accesses to memory and code; and before
/// each run, the points are read.
///
/// # Errors
/// When a problem cannot be generated, or when `keep` fails. A method that cannot solve a problem gives a record, not an error.
pub fn run(
    plan: &Plan,
    is_done: &(dyn Fn(&Key) -> bool + Sync),
    jobs: Jobs,
    interrupted: &(dyn Fn() -> bool + Sync),
    keep: &mut dyn FnMut(Record) -> Result<(), Error>,
) -> Result<Ended, Error> {
    let open = |case: Case| {
        let mut estimators = plan.estimators(&case);
        estimators.retain(|estimator| !is_done(&case.key(*estimator)));
        (!estimators.is_empty()).then_some((case, estimators))
    };
    let tasks = plan.cases().filter_map(open);
    match jobs {
        Jobs::One => one_by_one(plan, tasks, interrupted, keep),
        Jobs::Several(count) => side_by_side(plan, tasks, count.get(), interrupted, keep),
    }
}

fn one_by_one(
    plan: &Plan,
    tasks: impl Iterator<Item = (Case, Vec<Estimator>)>,
    interrupted: &(dyn Fn() -> bool + Sync),
    keep: &mut dyn FnMut(Record) -> Result<(), Error>,
) -> Result<Ended, Error> {
    let mut worker = Worker::new(plan, Clock::Process, interrupted);
    for (case, estimators) in tasks {
        let task = Task::new(plan, case)?;
        for estimator in estimators {
            match worker.solve(&task, estimator) {
                Some(record) => keep(record)?,
                None => return Ok(Ended::Interrupted),
            }
        }
    }
    Ok(Ended::Finished)
}

fn side_by_side(
    plan: &Plan,
    tasks: impl Iterator<Item = (Case, Vec<Estimator>)> + Send,
    count: usize,
    interrupted: &(dyn Fn() -> bool + Sync),
    keep: &mut dyn FnMut(Record) -> Result<(), Error>,
) -> Result<Ended, Error> {
    let tasks = Mutex::new(tasks);
    // Set when a worker was interrupted or `keep` failed.
    let ended = AtomicBool::new(false);
    let ask = || ended.load(Ordering::Relaxed) || interrupted();
    let work = |sender: mpsc::SyncSender<Result<Record, Error>>| {
        let mut worker = Worker::new(plan, Clock::Thread, &ask);
        let next = || tasks.lock().ok()?.next();
        while let Some((case, estimators)) = next() {
            let task = match Task::new(plan, case) {
                Ok(task) => task,
                Err(error) => {
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            for estimator in estimators {
                let record = worker.solve(&task, estimator);
                if record.is_none_or(|record| sender.send(Ok(record)).is_err()) {
                    ended.store(true, Ordering::Relaxed);
                    return;
                }
            }
        }
    };
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(count);
        for _ in 0..count {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || work(sender));
        }
        drop(sender);
        let kept = receiver.into_iter().try_for_each(|record| keep(record?));
        if kept.is_err() {
            ended.store(true, Ordering::Relaxed);
        }
        kept
    })?;
    Ok(if ended.into_inner() { Ended::Interrupted } else { Ended::Finished })
}

/// Generated problem.
struct Task {
    case: Case,
    problem: Problem,
}

impl Task {
    fn new(plan: &Plan, case: Case) -> Result<Self, Error> {
        Ok(Self { case, problem: plan.recipe(&case)?.generate()? })
    }

    /// Reads the points, so that the first method does not pay for bringing them into the cache, where the others find them.
    fn read(&self) {
        let Problem { source, target, .. } = &self.problem;
        std::hint::black_box(source.iter().chain(target).flatten().sum::<f64>());
    }
}

/// Solves problems one after the other.
struct Worker<'a> {
    plan: &'a Plan,
    solvers: Solvers,
    /// Matches of the last run, whose memory the next one uses.
    pairs: Option<Correspondences>,
    clock: Clock,
    interrupted: &'a (dyn Fn() -> bool + Sync),
    /// Methods that have already solved a problem in a scale mode.
    warm: HashSet<(Method, ScaleMode)>,
}

/// CPU clock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// Clock of the process, when it does nothing else.
    Process,
    /// Clock of the calling thread.
    Thread,
}

/// Number of matches from which the default method always starts its own thread, so that the clock of the calling thread misses it.
const OWN_THREAD: usize = 2048;

/// Time limit of the first run of a method, which is not counted.
const WARM_UP: Duration = Duration::from_secs(1);

impl<'a> Worker<'a> {
    fn new(plan: &'a Plan, clock: Clock, interrupted: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { plan, solvers: Solvers::new(), pairs: None, clock, interrupted, warm: HashSet::new() }
    }

    /// Record of one run; `None` when it was interrupted.
    fn solve(&mut self, task: &Task, estimator: Estimator) -> Option<Record> {
        let limit =
            Duration::try_from_secs_f64(self.plan.configuration().time_limit).unwrap_or(Duration::MAX);
        if let Estimator::Method(method) = estimator
            && self.warm.insert((method, task.case.scale))
        {
            let _ = self.found(task, estimator, limit.min(WARM_UP));
        }
        if (self.interrupted)() {
            return None;
        }
        task.read();
        let wall = Instant::now();
        let cpu = self.clock_for(task, estimator);
        let found = self.found(task, estimator, limit);
        let cpu = cpu.map(|cpu| cpu());
        let wall = wall.elapsed();
        if matches!(&found, Ok(found) if found.stopped_because == StopReason::Interrupted) {
            return None;
        }
        let Case { scale, size, run } = task.case;
        let blank = Record {
            method: estimator.name().to_owned(),
            scale,
            points: size.points,
            outlier_ratio: size.outlier_ratio,
            run,
            seed: task.problem.seed,
            rotation_deg: None,
            translation: None,
            scale_error: None,
            status: Outcome::Failed,
            inliers: 0,
            log10_nfa: None,
            stopped_because: None,
            cpu_seconds: cpu.map(|cpu| cpu.as_secs_f64()),
            wall_seconds: wall.as_secs_f64(),
            error: None,
        };
        Some(match found {
            Err(error) => Record { error: Some(error.to_string()), ..blank },
            Ok(found) => {
                let errors =
                    found.target_from_source.map(|model| Errors::between(&model, &task.problem.truth));
                // JSON has no infinity.
                let finite = |error: Option<f64>| error.filter(|error| error.is_finite());
                Record {
                    rotation_deg: errors.map(|errors| errors.rotation_deg),
                    translation: finite(errors.map(|errors| errors.translation)),
                    scale_error: finite(errors.map(|errors| errors.scale)),
                    status: found.status.into(),
                    inliers: found.inliers.len(),
                    log10_nfa: found.evidence.map(|evidence| evidence.log10_nfa),
                    stopped_because: (estimator != Estimator::TrueInliers)
                        .then(|| found.stopped_because.as_str().to_owned()),
                    ..blank
                }
            }
        })
    }

    /// CPU time from now on; `None` where it cannot be separated from that of parallel runs.
    fn clock_for(&self, task: &Task, estimator: Estimator) -> Option<Box<dyn Fn() -> Duration>> {
        match self.clock {
            Clock::Process => {
                let start = ProcessTime::now();
                Some(Box::new(move || start.elapsed()))
            }
            Clock::Thread if estimator == Estimator::DEFAULT && task.case.size.points >= OWN_THREAD => None,
            Clock::Thread => {
                let start = ThreadTime::now();
                Some(Box::new(move || start.elapsed()))
            }
        }
    }

    /// Solves a problem, from its arrays of points on.
    fn found(
        &mut self,
        task: &Task,
        estimator: Estimator,
        limit: Duration,
    ) -> Result<Registration, pcr99_baselines::Error> {
        let (start, cpu) = (Instant::now(), self.clock_for(task, estimator));
        let Problem { source, target, .. } = &task.problem;
        let pairs = match self.pairs.take() {
            Some(earlier) => Correspondences::new_reusing(earlier, source, target)?,
            None => Correspondences::new(source, target)?,
        };
        let (scale, threshold) = (Plan::scale(&task.case), self.plan.threshold());
        let found = match estimator {
            Estimator::TrueInliers => {
                let nothing = || {
                    let n = pairs.len();
                    Registration::no_solution(n, threshold.get(), StopReason::Exhausted, Default::default())
                };
                let fitted = pairs.fit(scale, &task.problem.inliers());
                Ok(fitted.map_or_else(nothing, |model| assess(&pairs, &model, threshold)))
            }
            Estimator::Method(method) => {
                // Independent of the streams of the problem.
                let seed = Random::new(!task.problem.seed).bits();
                // The limit is in CPU time. Reading it is slow, so the wall clock, which is never behind, is checked first.
                let is_late = || start.elapsed() >= limit && cpu.as_ref().is_none_or(|cpu| cpu() >= limit);
                let stop = || match (self.interrupted)() {
                    true => Some(StopRequest::Interrupted),
                    false => is_late().then_some(StopRequest::TimeLimit),
                };
                silent(|| self.solvers.solve(method, &pairs, scale, threshold, seed, &stop))
            }
        };
        self.pairs = Some(pairs);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Shape,
        monte_carlo::{Configuration, Size},
    };

    fn plan(sizes: Vec<Size>, time_limit: f64) -> Plan {
        let methods = vec![Method::Default, Method::PaperRandom, Method::Ransac];
        let configuration = Configuration { methods, sizes, runs: 3, time_limit, ..Configuration::quick() };
        Plan::new(configuration, Shape::Knot).unwrap()
    }

    fn records(plan: &Plan, jobs: Jobs) -> Vec<Record> {
        let mut records = Vec::new();
        let ended = run(plan, &|_| false, jobs, &|| false, &mut |record| {
            records.push(record);
            Ok(())
        });
        assert_eq!(ended.unwrap(), Ended::Finished);
        records
    }

    #[test]
    fn side_by_side_as_one_by_one() {
        let plan = plan(Size::grid(&[50], &[0.0, 0.6]), 10.0);
        let bare = |jobs| {
            let mut records = records(&plan, jobs);
            for record in &mut records {
                assert!(record.cpu_seconds.unwrap() >= 0.0 && record.wall_seconds > 0.0);
                (record.cpu_seconds, record.wall_seconds) = (None, 0.0);
            }
            records.sort_by_key(|record| format!("{:?}", record.key()));
            records
        };
        let one = bare(Jobs::One);
        assert_eq!(one.len(), 3 * 2 * 2 * 4);
        assert_eq!(one, bare(Jobs::Several(NonZero::new(3).unwrap())));
    }

    /// Includes problems with too few inliers for a fit.
    #[test]
    fn the_reference_is_right_and_nothing_is_invented() {
        for record in records(&plan(Size::grid(&[60], &[0.5]), 10.0), Jobs::One) {
            assert!(record.rotation_deg.unwrap() < 5.0, "{record:?}");
            assert_eq!(record.status, Outcome::Registered);
            assert!(record.log10_nfa.unwrap() < -10.0);
            assert_eq!(record.stopped_because.is_none(), record.method == "true-inliers");
        }
        for record in records(&plan(Size::grid(&[40], &[0.95]), 10.0), Jobs::One) {
            if record.method == "true-inliers" {
                assert_eq!((record.status, record.rotation_deg), (Outcome::NoSolution, None));
                assert_eq!((record.translation, record.scale_error), (None, None));
            }
            assert_ne!(record.status, Outcome::Registered, "{record:?}");
        }
    }

    #[test]
    fn the_time_limit_is_kept() {
        let slow = plan(Size::grid(&[400], &[0.99]), 0.02);
        let slow: Vec<Record> =
            records(&slow, Jobs::One).into_iter().filter(|record| record.method == "ransac").collect();
        assert!(!slow.is_empty());
        for record in slow {
            assert_eq!(record.stopped_because.as_deref(), Some("time_limit"));
            assert!((0.02..0.5).contains(&record.cpu_seconds.unwrap()), "{record:?}");
        }
    }

    #[test]
    fn an_interrupt_or_an_error_ends_it() {
        let plan = plan(Size::grid(&[50], &[0.0, 0.6]), 10.0);
        for jobs in [Jobs::One, Jobs::Several(NonZero::new(2).unwrap())] {
            let ended = run(&plan, &|_| false, jobs, &|| true, &mut |_| Ok(()));
            assert_eq!(ended.unwrap(), Ended::Interrupted);
            let mut kept = 0;
            let failed = run(&plan, &|_| false, jobs, &|| false, &mut |_| {
                kept += 1;
                if kept == 3 { Err(Error::NoRuns) } else { Ok(()) }
            });
            assert!(matches!(failed, Err(Error::NoRuns)));
            assert_eq!(kept, 3);
        }
    }
}
