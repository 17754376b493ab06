//! Runs all unfinished pairs on the threads of this machine.

use std::{
    collections::HashSet,
    ffi::OsString,
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    clouds::Clouds,
    directory::Directory,
    error::Error,
    isolated::{Alone, run_alone},
    manifest::Manifest,
    outbox::{Finished, Outbox, Presence},
    parts::Line,
    record::Record,
    row::Row,
    running::Slot,
    worker::{Interrupted, Worker},
};

/// Pairs between two part files, unless ten seconds pass first: a part file is then large enough that its overhead does not matter.
const DEFAULT_CHUNK: NonZero<usize> = NonZero::new(100).expect("not zero");

/// Default size of the cloud cache in bytes: 1 GiB.
const DEFAULT_CACHE: u64 = 1 << 30;

/// How a batch is run. The results do not depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Number of threads; `None`: all cores.
    pub threads: Option<NonZero<usize>>,
    /// Number of pairs after which a part file is written, at most ten times a second. One is also written every ten seconds.
    pub chunk: NonZero<usize>,
    /// Size of the cache of clouds, in bytes.
    pub cache: u64,
    /// Command of a process that runs a single pair; it must call [`serve_pair`](crate::serve_pair) with the directory that is appended to
    /// the command. Pairs that were running when an earlier process ended run in such a process first. Empty: they run as all others.
    pub isolation: Vec<OsString>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { threads: None, chunk: DEFAULT_CHUNK, cache: DEFAULT_CACHE, isolation: Vec::new() }
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Pairs of the manifest.
    pub all: usize,
    /// Pairs that were finished before this run.
    pub before: usize,
    /// Pairs that this run has finished.
    pub made: usize,
    /// Failed pairs among those of this run.
    pub failed: usize,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All pairs are finished.
    Finished,
    /// The caller stopped it; finished pairs are kept.
    Interrupted,
}

/// Longest time between two part files. A killed batch loses at most this much work.
pub(crate) const PART_EVERY: Duration = Duration::from_secs(10);
/// Shortest time between two part files, unless memory is needed: writing one durably takes as long as hundreds of small pairs.
const PART_PAUSE: Duration = Duration::from_millis(100);
/// Largest number of values that wait to be written, about 30 bytes each. It bounds memory when pairs have a million inliers.
pub(crate) const MOST_WAITING: usize = 1 << 20;
/// Longest time between two calls of `progress`.
const TICK: Duration = Duration::from_millis(200);

/// Runs all unfinished pairs of the manifest and saves their results in `directory`. Calls `progress` at least every 0.2 s.
///
/// Each pair has one thread; when there are fewer pairs than threads, each has several.
///
/// # Errors
/// When results cannot be written. Errors of pairs are in their rows.
pub fn run(
    manifest: &Manifest,
    directory: &mut Directory,
    options: &RunOptions,
    interrupted: Interrupted<'_>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Ended, Error> {
    run_and_see(manifest, directory, options, interrupted, progress, &mut |_, _| {})
}

/// Matches from source to target, in the coordinates of the clouds.
pub type Matched = Vec<[[f64; 3]; 2]>;

/// Runs a batch as [`run`] does, and shows `seen` each new record, with its matches for clouds, in the order in which pairs finish.
///
/// # Errors
/// As [`run`].
pub fn run_and_see(
    manifest: &Manifest,
    directory: &mut Directory,
    options: &RunOptions,
    interrupted: Interrupted<'_>,
    progress: &mut dyn FnMut(&Progress),
    seen: &mut dyn FnMut(&Record, Option<Matched>),
) -> Result<Ended, Error> {
    let clouds = Arc::new(Clouds::new(options.cache));
    run_sharing(manifest, directory, options, &clouds, interrupted, progress, seen)
}

/// Runs a batch as [`run_and_see`] does, with a cache of clouds that the caller shares with other work.
///
/// # Errors
/// As [`run`].
pub fn run_sharing(
    manifest: &Manifest,
    directory: &mut Directory,
    options: &RunOptions,
    clouds: &Arc<Clouds>,
    interrupted: Interrupted<'_>,
    progress: &mut dyn FnMut(&Progress),
    seen: &mut dyn FnMut(&Record, Option<Matched>),
) -> Result<Ended, Error> {
    let all = manifest.rows().len();
    let mut state = Progress { all, before: finished(manifest, directory), made: 0, failed: 0 };
    progress(&state);
    let mut done = |record: &Record| {
        state.made += 1;
        state.failed += usize::from(record.is_failed());
        seen(record, None);
        progress(&state);
    };
    if run_suspects(manifest, directory, options, interrupted, &mut done)? == Ended::Interrupted {
        return Ok(Ended::Interrupted);
    }
    let rows = manifest.order().into_iter().map(|place| &manifest.rows()[place as usize]);
    let todo: Vec<&Row> = rows.filter(|row| !directory.is_finished(row)).collect();
    let threads = options.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let workers = threads.min(todo.len());
    let running = directory.running();
    running.clear();

    let (next, broken) = (AtomicUsize::new(0), AtomicBool::new(false));
    let stop = || broken.load(Ordering::Relaxed) || interrupted();
    let outbox = Outbox::new(workers, options.chunk.get());
    let work = |_presence: Presence<'_>, mut slot: Slot| {
        Worker::new(Arc::clone(clouds), threads / workers.max(1)).inside(|worker| {
            while let Some(row) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                slot.begin(row.fingerprint(manifest.base()));
                let Some(record) = worker.run(row, manifest.base(), &stop) else { return };
                let line = Line::of(&record);
                if !outbox.put(Finished { record, line }) {
                    return;
                }
            }
        });
    };
    let saved = thread::scope(|scope| {
        let mut started = 0;
        for place in 0..workers {
            let (presence, slot, work) = (outbox.enter(), running.slot(place), &work);
            match thread::Builder::new().spawn_scoped(scope, move || work(presence, slot)) {
                Ok(_) => started += 1,
                // The system has no more threads; those that run do the work.
                Err(_) if started > 0 => break,
                Err(error) => return Err(Error::io("start a thread for", directory.path())(error)),
            }
        }
        let ended = save(&outbox, directory, options.chunk.get(), &mut state, progress, seen);
        // After an error, the workers must not continue for nothing.
        ended.inspect_err(|_| {
            broken.store(true, Ordering::Relaxed);
            outbox.close();
        })
    });
    running.clear();
    saved?;
    Ok(if state.before + state.made == all { Ended::Finished } else { Ended::Interrupted })
}

/// Number of pairs of the manifest that are finished.
fn finished(manifest: &Manifest, directory: &Directory) -> usize {
    manifest.rows().iter().filter(|row| directory.is_finished(row)).count()
}

/// Runs the pairs that were running when an earlier process ended, each in a process of its own. Calls `done` with each record.
fn run_suspects(
    manifest: &Manifest,
    directory: &mut Directory,
    options: &RunOptions,
    interrupted: Interrupted<'_>,
    done: &mut dyn FnMut(&Record),
) -> Result<Ended, Error> {
    let suspects: HashSet<_> = directory.running().left().into_iter().collect();
    if options.isolation.is_empty() || suspects.is_empty() {
        return Ok(Ended::Finished);
    }
    for row in manifest.rows() {
        if directory.is_finished(row) || !suspects.contains(&row.fingerprint(manifest.base())) {
            continue;
        }
        match run_alone(&options.isolation, row, manifest, directory, interrupted)? {
            Alone::Interrupted => return Ok(Ended::Interrupted),
            Alone::Undecided => {}
            Alone::Finished => directory.record(row)?.iter().for_each(&mut *done),
        }
    }
    Ok(Ended::Finished)
}

/// Saves records as they arrive, until the last worker has ended.
fn save(
    outbox: &Outbox,
    directory: &mut Directory,
    chunk: usize,
    state: &mut Progress,
    progress: &mut dyn FnMut(&Progress),
    seen: &mut dyn FnMut(&Record, Option<Matched>),
) -> Result<(), Error> {
    let (mut waiting, mut values, mut written) = (Vec::new(), 0, Instant::now());
    loop {
        let (finished, is_last) = outbox.take(TICK);
        for Finished { mut record, line } in finished {
            // Matches are large, and part files do not keep them.
            let matches = record.matches.take();
            seen(&record, matches);
            state.made += 1;
            state.failed += usize::from(record.is_failed());
            values += record.values();
            waiting.push(line.map_err(Error::io("write", directory.path()))?);
        }
        let time = written.elapsed();
        let is_full = (waiting.len() >= chunk && time >= PART_PAUSE) || values >= MOST_WAITING;
        if (is_full || time >= PART_EVERY || is_last) && !waiting.is_empty() {
            directory.write_lines(&waiting)?;
            waiting.clear();
            (written, values) = (Instant::now(), 0);
        }
        progress(state);
        if is_last {
            return Ok(());
        }
    }
}
