//! The table, and the threads that solve its problems.

use std::{
    io::Write as _,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use pcr99::{Correspondences, Params, Registration, Scale, Solver};
use pcr99_lab::trust::Matches;

use crate::options::Options;

/// Failing problems that are named below a row.
const NAMED: usize = 8;

/// A problem that does not have what its row requires.
pub(crate) struct Failure {
    /// Name that reproduces the problem.
    pub(crate) name: String,
    /// What was found.
    pub(crate) detail: String,
}

/// A row of the table.
pub(crate) struct Row {
    pub(crate) measured: String,
    pub(crate) required: String,
    /// Whether the requirement holds; `None` for rows that only inform.
    pub(crate) is_met: Option<bool>,
    pub(crate) failures: Vec<Failure>,
}

impl Row {
    /// A row that counts failures and allows `most` of them.
    pub(crate) fn count(failures: Vec<Failure>, all: usize, what: &str, most: usize) -> Self {
        Self {
            measured: format!("{} of {all} {what}", failures.len()),
            required: if most == 0 { "0".to_owned() } else { format!("at most {most}") },
            is_met: Some(failures.len() <= most),
            failures,
        }
    }
}

/// Options, progress and results of the command.
pub(crate) struct Lab {
    options: Options,
    item: usize,
    rows: usize,
    failed: Vec<String>,
    is_incomplete: bool,
    start: Instant,
}

impl Lab {
    pub(crate) fn new(options: Options) -> Self {
        let [from, to] = options.seeds;
        let to = if to == u64::MAX { String::new() } else { to.to_string() };
        println!("seeds {from}..{to}; each row: what | measured | required | ok or FAILS");
        Self { options, item: 0, rows: 0, failed: Vec::new(), is_incomplete: false, start: Instant::now() }
    }

    /// Measures an item, unless the options leave it out.
    pub(crate) fn begin(&mut self, item: usize, title: &str, measure: impl FnOnce(&mut Self)) {
        if self.options.only.is_empty() || self.options.only.contains(&item) {
            println!("\n{item}. {title}");
            self.item = item;
            measure(self);
        }
    }

    /// Whether the options ask for a row.
    pub(crate) fn wants(&self, what: &str) -> bool {
        what.contains(&self.options.row)
    }

    /// Measures a row, unless the options leave it out, and prints it.
    pub(crate) fn row(&mut self, what: &str, measure: impl FnOnce(&Self) -> Row) {
        if !self.wants(what) {
            return;
        }
        let start = Instant::now();
        let row = measure(self);
        self.rows += 1;
        let verdict = match row.is_met {
            Some(true) => "ok",
            Some(false) => "FAILS",
            None => "",
        };
        println!(
            "{what:50} | {:56} | {:31} | {verdict:5} {:6.1} s",
            row.measured,
            row.required,
            start.elapsed().as_secs_f64()
        );
        if row.is_met == Some(false) {
            self.failed.push(format!("{}. {what}: {}; required {}", self.item, row.measured, row.required));
        }
        self.print_failures(&row.failures);
        let _ = std::io::stdout().flush();
    }

    fn print_failures(&self, failures: &[Failure]) {
        if self.options.show {
            for Failure { name, detail } in failures {
                println!("    {name}: {detail}");
            }
        } else if !failures.is_empty() {
            let named: Vec<&str> = failures.iter().take(NAMED).map(|f| f.name.as_str()).collect();
            let more = if failures.len() > NAMED { ", …" } else { "" };
            println!("    {}{more}", named.join(", "));
        }
    }

    /// Says that the rows about real matches are left out.
    pub(crate) fn leave_out_real_matches(&mut self) {
        println!("(set PCR99_DATA for the rows about real matches)");
        self.is_incomplete = true;
    }

    /// Prints the rows that fail, and returns whether there are none.
    pub(crate) fn summary(&self) -> bool {
        println!(
            "\n{} rows, {} fail; {:.0} s",
            self.rows,
            self.failed.len(),
            self.start.elapsed().as_secs_f64()
        );
        if self.is_incomplete {
            println!("left out: the rows about real matches, because PCR99_DATA is not set");
        }
        self.failed.iter().for_each(|row| println!("FAILS {row}"));
        self.failed.is_empty()
    }

    /// Seeds of a row with `usual` problems by default.
    pub(crate) fn seeds(&self, usual: u64) -> Vec<u64> {
        let [from, to] = self.options.seeds;
        (from..to.min(from.saturating_add(self.options.problems.unwrap_or(usual)))).collect()
    }

    /// Search seeds over which verdicts and answers must agree.
    pub(crate) fn search_seeds(&self) -> std::ops::Range<u64> {
        0..self.options.search_seeds
    }

    /// Works on all items of a list, on all threads. The results are in the order of the list.
    pub(crate) fn each<I: Sync, T: Send>(
        &self,
        list: &[I],
        work: impl Fn(&mut Solver, &I) -> T + Sync,
    ) -> Vec<T> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::with_capacity(list.len()));
        std::thread::scope(|scope| {
            for _ in 0..self.options.threads.min(list.len()) {
                scope.spawn(|| {
                    let mut solver = Solver::new();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = list.get(at) else { break };
                        let result = work(&mut solver, item);
                        results.lock().expect("no thread has panicked").push((at, result));
                    }
                });
            }
        });
        let mut results = results.into_inner().expect("no thread has panicked");
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// Parameters for one thread with or without a threshold.
pub(crate) fn params(threshold: Option<f64>) -> Params {
    let params = Params::new().with_threads(1);
    match threshold {
        Some(threshold) => params.with_threshold(threshold).expect("a positive threshold"),
        None => params,
    }
}

/// Matches, checked.
pub(crate) fn checked(matches: &Matches) -> Correspondences {
    checked_points(&matches.source, &matches.target)
}

/// Matches of two lists of points, checked.
pub(crate) fn checked_points(source: &[[f64; 3]], target: &[[f64; 3]]) -> Correspondences {
    Correspondences::new(source, target).expect("generated matches are valid")
}

/// The answer for a problem.
pub(crate) fn solve(
    solver: &mut Solver,
    pairs: &Correspondences,
    scale: Scale,
    params: &Params,
) -> Registration {
    solver.solve(pairs, scale, params).expect("valid input")
}

/// The decisive numbers of an answer.
pub(crate) fn describe(found: &Registration) -> String {
    let doubt = found.doubt.map_or("no doubt", |doubt| doubt.code());
    let rival = found.rival.map_or(String::new(), |rival| format!(", rival with {}", rival.inlier_count));
    format!(
        "{} ({doubt}), {} of {}, log10 NFA {:.1}, {} places, threshold {:.4}{rival}",
        found.status,
        found.inliers.len(),
        found.correspondences,
        found.evidence.map_or(0.0, |evidence| evidence.log10_nfa),
        found.evidence.map_or(0, |evidence| evidence.inlier_places),
        found.threshold
    )
}

/// Median; NaN of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Threshold as a word in the name of a row.
pub(crate) fn threshold_name(is_given: bool) -> &'static str {
    if is_given { "threshold given" } else { "threshold found" }
}
