//! What is told about a search: the same lines on any number of threads, and the same results with and without.

use std::sync::Mutex;

use log::{Level, LevelFilter, Log, Metadata, Record};
use pcr99::{Correspondences, Params, Registration, Scale, Seconds, random::Random, solve};

struct Listener(Mutex<Vec<(Level, String)>>);

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "pcr99"
    }

    fn log(&self, record: &Record<'_>) {
        assert!(self.enabled(record.metadata()), "all lines have one target");
        self.0.lock().expect("lines").push((record.level(), record.args().to_string()));
    }

    fn flush(&self) {}
}

static LISTENER: Listener = Listener(Mutex::new(Vec::new()));

/// `n` matches of which a share of `right` follows a turn, with noise.
fn matches(n: usize, right: f64) -> Correspondences {
    let mut random = Random::new(5);
    let (mut source, mut target) = (Vec::new(), Vec::new());
    for i in 0..n {
        let mut point = || -> [f64; 3] { std::array::from_fn(|_| random.uniform()) };
        let (p, q) = (point(), point());
        let moved = if (i as f64) < right * n as f64 { [1.0 - p[1], p[0], p[2]] } else { q };
        source.push(p);
        target.push(moved.map(|x| x + 0.002 * random.gaussian()));
    }
    Correspondences::new(&source, &target).expect("matches")
}

fn told(
    pairs: &Correspondences,
    params: &Params,
    filter: LevelFilter,
) -> (Registration, Vec<(Level, String)>) {
    log::set_max_level(filter);
    let mut found = solve(pairs, Scale::one(), params).expect("a search");
    log::set_max_level(LevelFilter::Off);
    found.seconds = Seconds::default();
    (found, std::mem::take(&mut *LISTENER.0.lock().expect("lines")))
}

// One test: the listener belongs to the whole process.
#[test]
fn lines_do_not_change_results_and_do_not_depend_on_threads() {
    log::set_logger(&LISTENER).expect("the only listener");
    // Enough matches for several threads; few right ones, so that rounds follow stars.
    for (n, right) in [(60, 0.5), (3000, 0.03), (200, 0.0)] {
        let pairs = matches(n, right);
        for params in [Params::new(), Params::new().with_threshold(0.01).expect("a threshold")] {
            let (silent, lines) = told(&pairs, &params, LevelFilter::Off);
            assert!(lines.is_empty());
            let (found, all) = told(&pairs, &params, LevelFilter::Debug);
            assert_eq!(found, silent);
            for threads in [1, 3] {
                let (again, lines) = told(&pairs, &params.clone().with_threads(threads), LevelFilter::Debug);
                assert_eq!((&again, &lines), (&silent, &all), "{threads} threads");
            }
            let (_, decided) = told(&pairs, &params, LevelFilter::Info);
            let of_all: Vec<_> = all.iter().filter(|(level, _)| *level == Level::Info).cloned().collect();
            assert_eq!(decided, of_all);

            let has = |start: &str| all.iter().any(|(_, line)| line.starts_with(start));
            let origin = if params.threshold().is_some() { "as given" } else { "estimated from the data" };
            assert!(decided[0].1.starts_with("threshold ") && decided[0].1.contains(origin), "{decided:?}");
            let verdict = match found.doubt {
                None => format!("no doubt: {}", found.reason()),
                Some(doubt) => format!("doubt `{}`: {}", doubt.code(), found.reason()),
            };
            assert_eq!(decided.last().map(|(_, line)| line.as_str()), Some(verdict.as_str()));
            assert!(has("search with threshold "), "{all:?}");
            assert_eq!(has("no threshold is given: tries "), params.threshold().is_none());
            assert_eq!(has("candidate 1: "), !found.candidates.is_empty());
            assert!(n < 100 || has("stars (one match against a block of others): "), "{all:?}");
        }
    }
}
