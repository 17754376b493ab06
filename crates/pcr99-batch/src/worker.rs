//! Runs pairs, one after the other.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use pcr99::{Clock, Correspondences, Seconds};
use pcr99_base::logging;
use pcr99_cloud::{read_matches, read_transform};
use pcr99_document::Document;
use pcr99_plan::Solvers;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{
    clouds::{Clouds, Input},
    order::Chunk,
    record::{Record, Solved},
    row::Row,
    settings::{Kind, Settings},
    stamp::StampedFile,
};

/// Stack of a worker thread in bytes: that of a main thread on Linux.
const STACK: usize = 8 << 20;

/// Runs pairs in the same memory, with a cache of clouds that other workers may share.
#[derive(Debug)]
pub struct Worker {
    clouds: Arc<Clouds>,
    /// `None` where the system has no more threads; rayon's global threads do the work then.
    pool: Option<Arc<ThreadPool>>,
    solvers: Solvers,
}

/// Answers whether to stop now.
pub type Interrupted<'a> = &'a (dyn Fn() -> bool + Sync);

impl Worker {
    /// A worker that uses `threads` threads for one pair, at least one. The results do not depend on the number.
    pub fn new(clouds: Arc<Clouds>, threads: usize) -> Self {
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).stack_size(STACK).build();
        Self { clouds, pool: pool.ok().map(Arc::new), solvers: Solvers::new() }
    }

    /// Runs the pairs of a chunk. After an interruption, it returns the records of the finished pairs.
    pub fn run_chunk(&mut self, chunk: &Chunk, interrupted: Interrupted<'_>) -> Vec<Record> {
        let base = Path::new(&chunk.base);
        self.inside(|worker| chunk.rows.iter().map_while(|row| worker.run(row, base, interrupted)).collect())
    }

    /// Calls `work` on a thread of this worker. Pairs that run there do not change threads, which would take as long as small ones themselves.
    pub(crate) fn inside<T: Send>(&mut self, work: impl FnOnce(&mut Self) -> T + Send) -> T {
        match self.pool.clone() {
            Some(pool) => pool.install(|| work(self)),
            None => work(self),
        }
    }

    /// Runs a pair of a manifest in the directory `base`; `None` when it was interrupted. Errors of the pair are in its record.
    pub fn run(&mut self, row: &Row, base: &Path, interrupted: Interrupted<'_>) -> Option<Record> {
        if interrupted() {
            return None;
        }
        let start = Instant::now();
        let ended = AtomicBool::new(false);
        let stop = || {
            let now = interrupted();
            if now {
                ended.store(true, Ordering::Relaxed);
            }
            now
        };
        let files = row.files(base);
        let (clouds, solvers) = (&*self.clouds, &mut self.solvers);
        // Pairs run at the same time: what they tell would be in no order.
        let mut work = || logging::silent(|| solve(row, &files, clouds, solvers, &stop));
        let solved = guarded(|| match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        });
        let solved = solved.unwrap_or_else(|message| {
            // A panic may have left them in any state.
            self.solvers = Solvers::new();
            Err(format!("internal error, please report it: {message}"))
        });
        self.clouds.settle(&files);
        (!ended.into_inner()).then(|| Record::new(row, base, &files, solved, start.elapsed().as_secs_f64()))
    }
}

/// The result of `work`, or the message of its panic.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload: Box<dyn Any + Send>| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("unknown panic").to_owned()
    })
}

fn solve(
    row: &Row,
    files: &[StampedFile],
    clouds: &Clouds,
    solvers: &mut Solvers,
    interrupted: Interrupted<'_>,
) -> Result<Solved, String> {
    let settings = &*row.settings;
    match (row.input.kind(), files) {
        (Kind::Clouds, [source, target, others @ ..]) => {
            let initial = match others {
                [StampedFile { path, .. }] => Some((path, read_transform(path).map_err(text)?)),
                _ => None,
            };
            let plan =
                settings.register_plan(initial.map(|(_, pose)| pose)).map_err(|error| match initial {
                    Some((path, _)) => format!("`{}`: {error}", path.display()),
                    None => error.to_string(),
                })?;
            let deadline = plan.deadline();
            let mut input = Input::default();
            let (source, target) = (clouds.get(source, &mut input)?, clouds.get(target, &mut input)?);
            let mut found = plan.run(&source, &target, &|| deadline.check(interrupted())).map_err(text)?;
            found.seconds = found.seconds.preceded_by(&input.seconds());
            let matches = found.matches.as_mut().map(|matches| std::mem::take(&mut matches.points));
            Ok(Solved { document: Document::of_clouds(&found), matches })
        }
        (_, [matches, ..]) => solve_matches(&matches.path, settings, solvers, interrupted),
        (_, []) => Err("there is no file to read".to_owned()),
    }
}

fn solve_matches(
    path: &Path,
    settings: &Settings,
    solvers: &mut Solvers,
    interrupted: Interrupted<'_>,
) -> Result<Solved, String> {
    let plan = settings.solve_plan().map_err(text)?;
    let deadline = plan.deadline();
    let mut clock = Clock::start();
    let matches = read_matches(path).map_err(text)?;
    clock.lap(Seconds::READING);
    let in_file = |error: pcr99::Error| format!("`{}`: {error}", path.display());
    let mut pairs = Correspondences::new(&matches.source, &matches.target).map_err(in_file)?;
    if let Some(weights) = &matches.weights {
        pairs = pairs.with_weights(weights).map_err(in_file)?;
    }
    if let Some(deviations) = &matches.standard_deviations {
        pairs = pairs.with_standard_deviations(deviations).map_err(in_file)?;
    }
    clock.lap(Seconds::PREPARING);
    let input = clock.stop();
    let stop = || deadline.check(interrupted());
    let mut found =
        plan.run(&pairs, solvers, &stop).map_err(|error| format!("`{}`: {error}", path.display()))?;
    found.seconds = found.seconds.preceded_by(&input);
    Ok(Solved { document: Document::of_matches(plan.method().name(), &found), matches: None })
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        // Not for the reader of the test's output.
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
        assert_eq!(guarded(|| 7), Ok(7));
        assert_eq!(guarded(|| -> u8 { panic!("index {} of {}", 3, 2) }), Err("index 3 of 2".to_owned()));
        let inside = guarded(|| pool.install(|| -> u8 { std::panic::panic_any("in a pool") }));
        assert_eq!(inside, Err("in a pool".to_owned()));
        assert_eq!(guarded(|| -> u8 { std::panic::panic_any(5_u8) }), Err("unknown panic".to_owned()));
        std::panic::set_hook(usual);
    }
}
