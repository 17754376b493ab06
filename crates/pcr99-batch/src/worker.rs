//! One pair after the other.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use pcr99::{Correspondences, Scale, paper, stop::StopRequest};
use pcr99_cloud::{document, read_matches, read_transform, register_until};
use pcr99_lab::{Method, Solvers};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{
    clouds::Clouds,
    order::Chunk,
    record::{Record, Solved},
    row::Row,
    settings::{Kind, Settings},
    stamp::StampedFile,
};

/// Stack of a thread: that of a main thread.
const STACK: usize = 8 << 20;

/// Runs pairs in the same memory, with clouds that may be shared with others.
#[derive(Debug)]
pub struct Worker {
    clouds: Arc<Clouds>,
    /// `None` where no threads can be had; the shared ones do.
    pool: Option<ThreadPool>,
    solvers: AllSolvers,
}

#[derive(Debug, Default)]
struct AllSolvers {
    default: pcr99::Solver,
    paper: paper::Solver,
    others: Solvers,
}

/// Whether to end now.
pub type Interrupted<'a> = &'a (dyn Fn() -> bool + Sync);

impl Worker {
    /// A worker that uses so many threads for one pair, at least one. No result depends on it.
    pub fn new(clouds: Arc<Clouds>, threads: usize) -> Self {
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).stack_size(STACK).build().ok();
        Self { clouds, pool, solvers: AllSolvers::default() }
    }

    /// Runs the pairs of a chunk. Where it is interrupted, those that are done come back.
    pub fn run_chunk(&mut self, chunk: &Chunk, interrupted: Interrupted<'_>) -> Vec<Record> {
        let base = Path::new(&chunk.base);
        chunk.rows.iter().map_while(|row| self.run(row, base, interrupted)).collect()
    }

    /// Runs a pair of a manifest in `base`; `None` when it was interrupted. Whatever is wrong with the pair is in the record.
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
        let mut work = || solve(row, &files, clouds, solvers, &stop);
        let solved = guarded(|| match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        });
        let solved = solved.unwrap_or_else(|message| {
            // Whatever state they are in.
            self.solvers = AllSolvers::default();
            Err(format!("internal error, please report it: {message}"))
        });
        self.clouds.settle(&files);
        (!ended.into_inner()).then(|| Record::new(row, base, &files, solved, start.elapsed().as_secs_f64()))
    }
}

/// What `work` returns, or what it said when it panicked.
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
    solvers: &mut AllSolvers,
    interrupted: Interrupted<'_>,
) -> Result<Solved, String> {
    let settings = &*row.settings;
    match (row.input.kind(), files) {
        (Kind::Clouds, [source, target, others @ ..]) => {
            let (source, target) = (clouds.get(source)?, clouds.get(target)?);
            let mut params = settings.register_params().map_err(text)?;
            if let [StampedFile { path, .. }] = others {
                let initial = read_transform(path).map_err(text)?;
                if let Scale::Known(scale) = settings.scale()
                    && (initial.scale() / scale.get() - 1.0).abs() >= 1e-3
                {
                    let (there, here) = (initial.scale(), scale.get());
                    return Err(format!(
                        "`{}` has scale {there}, but `scale` is {here}: make them agree, or let it be unknown",
                        path.display()
                    ));
                }
                params = params.with_initial(initial);
            }
            let clock = stop_after(settings, interrupted);
            let mut found = register_until(&source, &target, &params, &clock).map_err(text)?;
            let matches = found.matches.as_mut().map(|matches| std::mem::take(&mut matches.points));
            let (document, doubt) = (document::of_clouds(&found), document::doubt_of_clouds(&found));
            Ok(Solved { document, doubt, matches })
        }
        (_, [matches, ..]) => solve_matches(&matches.path, settings, solvers, interrupted),
        (_, []) => Err("there is no file to read".to_owned()),
    }
}

fn solve_matches(
    path: &Path,
    settings: &Settings,
    solvers: &mut AllSolvers,
    interrupted: Interrupted<'_>,
) -> Result<Solved, String> {
    let matches = read_matches(path).map_err(text)?;
    let in_file = |error: pcr99::Error| format!("`{}`: {error}", path.display());
    let mut pairs = Correspondences::new(&matches.source, &matches.target).map_err(in_file)?;
    if let Some(weights) = &matches.weights {
        pairs = pairs.with_weights(weights).map_err(in_file)?;
    }
    let (method, scale) = (settings.method(), settings.scale());
    let stop = stop_after(settings, interrupted);
    let found = match (method, settings.threshold) {
        (Method::Default, _) => {
            let params = settings.params().map_err(text)?;
            solvers.default.solve_until(&pairs, scale, &params, &stop).map_err(in_file)?
        }
        // Checked with the manifest.
        (method, None) => return Err(format!("method `{method}` needs a `threshold`")),
        (Method::Paper | Method::PaperRandom, Some(threshold)) => {
            let params = settings.paper_params(threshold).map_err(text)?;
            solvers.paper.solve_until(&pairs, scale, &params, &stop).map_err(in_file)?
        }
        (method, Some(threshold)) => {
            let seed = settings.seed.unwrap_or(0);
            solvers.others.solve(method, &pairs, scale, threshold, seed, &stop).map_err(text)?
        }
    };
    Ok(Solved {
        document: document::of_matches(method.name(), pairs.len(), &found),
        doubt: document::doubt_of_matches(&found),
        matches: None,
    })
}

/// What a search asks now and then; its time begins now.
fn stop_after<'a>(
    settings: &Settings,
    interrupted: Interrupted<'a>,
) -> impl Fn() -> Option<StopRequest> + Sync + 'a {
    // Longer than the clock can count is no limit.
    let limit =
        settings.time_limit.map(|limit| Duration::try_from_secs_f64(limit.get()).unwrap_or(Duration::MAX));
    let start = Instant::now();
    move || {
        if interrupted() {
            Some(StopRequest::Interrupted)
        } else {
            limit.is_some_and(|limit| start.elapsed() >= limit).then_some(StopRequest::TimeLimit)
        }
    }
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
