//! All pairs that are missing, on the threads of this machine.

use std::{
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    clouds::Clouds,
    directory::Directory,
    error::Error,
    manifest::Manifest,
    record::Record,
    row::Row,
    worker::{Interrupted, Worker},
};

/// How a batch is run. Nothing of it changes a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOptions {
    /// Threads; `None`: all cores.
    pub threads: Option<NonZero<usize>>,
    /// A part file is written after so many pairs, or ten seconds.
    pub chunk: NonZero<usize>,
    /// Bytes of clouds that are kept for further pairs.
    pub cache: u64,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { threads: None, chunk: NonZero::new(100).unwrap_or(NonZero::<usize>::MIN), cache: 1 << 30 }
    }
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Pairs of the manifest.
    pub all: usize,
    /// Finished before this run.
    pub before: usize,
    /// Finished by this run.
    pub made: usize,
    /// Of those, failed.
    pub failed: usize,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All pairs are finished.
    Finished,
    /// Somebody asked for an end; what was finished is kept.
    Interrupted,
}

/// What is finished is written at least this often.
pub(crate) const PART_EVERY: Duration = Duration::from_secs(10);
/// Values that may wait to be written, some 30 bytes each: pairs with a million inliers do not wait for each other.
pub(crate) const MOST_WAITING: usize = 1 << 20;
/// `progress` is called at least this often.
const TICK: Duration = Duration::from_millis(200);

/// Runs all pairs of the manifest that are not finished in `directory`, and keeps their results there. `progress` is called now and then.
///
/// With many pairs each has a thread; with fewer pairs than threads each has several.
///
/// # Errors
/// When results cannot be written. What is wrong with a pair is in its row.
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

/// The same, where `seen` is shown each record of this run and, of clouds, the matches that were searched; in whatever order they come.
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
    let rows = manifest.order().into_iter().map(|place| &manifest.rows()[place as usize]);
    let todo: Vec<&Row> = rows.filter(|row| !directory.is_finished(row)).collect();
    let threads = options.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let workers = threads.min(todo.len());
    let clouds = Arc::new(Clouds::new(options.cache));
    let all = manifest.rows().len();
    let mut state = Progress { all, before: all - todo.len(), made: 0, failed: 0 };
    progress(&state);

    let (next, broken) = (AtomicUsize::new(0), AtomicBool::new(false));
    let stop = || broken.load(Ordering::Relaxed) || interrupted();
    let work = |records: mpsc::SyncSender<Record>| {
        let mut worker = Worker::new(Arc::clone(&clouds), threads / workers.max(1));
        while let Some(row) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(record) = worker.run(row, manifest.base(), &stop) else { return };
            if records.send(record).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        // Bounded, so that results do not pile up where the disk is slow.
        let (sender, receiver) = mpsc::sync_channel(2 * workers + 1);
        let mut started = 0;
        for _ in 0..workers {
            let sender = sender.clone();
            match thread::Builder::new().spawn_scoped(scope, || work(sender)) {
                Ok(_) => started += 1,
                // Fewer do as well.
                Err(_) if started > 0 => break,
                Err(error) => return Err(Error::io("start a thread for", directory.path())(error)),
            }
        }
        drop(sender);
        let (mut waiting, mut values) = (Vec::new(), 0);
        let mut written = Instant::now();
        let mut keep = |waiting: &mut Vec<Record>| {
            let kept = if waiting.is_empty() { Ok(()) } else { directory.write_part(waiting) };
            waiting.clear();
            // The others need not go on for nothing.
            kept.inspect_err(|_| broken.store(true, Ordering::Relaxed))
        };
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(mut record) => {
                    // Nobody else needs them, and they are many.
                    let matches = record.matches.take();
                    seen(&record, matches);
                    state.made += 1;
                    state.failed += usize::from(record.status() == "failed");
                    values += record.values();
                    waiting.push(record);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let many = waiting.len() >= options.chunk.get() || values >= MOST_WAITING;
            if many || written.elapsed() >= PART_EVERY {
                keep(&mut waiting)?;
                (written, values) = (Instant::now(), 0);
            }
            progress(&state);
        }
        keep(&mut waiting)?;
        progress(&state);
        Ok(())
    })?;
    Ok(if state.before + state.made == all { Ended::Finished } else { Ended::Interrupted })
}
