//! Numbers of the paper's Tables I and II, by the names of our methods.

use pcr99_lab::monte_carlo::ScaleMode::{self, Known, Unknown};

/// Number of runs in each row of Table I.
pub const RUNS: usize = 5500;

/// Outlier ratio of Table II.
pub const SPEEDUP_RATIO: f64 = 0.99;

/// Scale mode, method, runs with a rotation error above 5° and above 10° (Table I).
const LARGE_ERRORS: [(ScaleMode, &str, usize, usize); 12] = [
    (Unknown, "ransic", 79, 79),
    (Unknown, "icos", 12, 11),
    (Unknown, "paper-random", 1, 0),
    (Unknown, "paper", 0, 0),
    (Known, "ransic", 81, 78),
    (Known, "icos", 24, 22),
    (Known, "daniel", 5, 3),
    (Known, "trivoc", 2, 0),
    (Known, "vodrac", 9, 2),
    (Known, "vocra", 16, 16),
    (Known, "paper-random", 4, 0),
    (Known, "paper", 4, 0),
];

/// Scale mode, method, median speed-up of PCR-99 against it (Table II), as printed.
const SPEEDUPS: [(ScaleMode, &str, &str); 10] = [
    (Unknown, "ransic", "16"),
    (Unknown, "icos", "7.0"),
    (Unknown, "paper-random", "1.6"),
    (Known, "ransic", "162"),
    (Known, "icos", "33"),
    (Known, "daniel", "8.0"),
    (Known, "trivoc", "1.4"),
    (Known, "vodrac", "3.0"),
    (Known, "vocra", "1.2"),
    (Known, "paper-random", "9.3"),
];

/// Number of runs, out of [`RUNS`], with a rotation error above 5° and above 10°; `None` where the paper has no row.
pub fn large_errors(scale: ScaleMode, method: &str) -> Option<(usize, usize)> {
    let row = LARGE_ERRORS.iter().find(|(mode, name, ..)| *mode == scale && *name == method);
    row.map(|&(_, _, above_5, above_10)| (above_5, above_10))
}

/// Median speed-up of PCR-99 over a method, as printed; `None` where the paper has no row.
pub fn speedup(scale: ScaleMode, method: &str) -> Option<&'static str> {
    SPEEDUPS.iter().find(|(mode, name, _)| *mode == scale && *name == method).map(|&(.., speedup)| speedup)
}
