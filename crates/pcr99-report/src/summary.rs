//! What the records of one method on one kind of problem come to.

use pcr99_lab::monte_carlo::{Estimator, Outcome, Record, ScaleMode, Size};
use serde::Serialize;

use crate::statistics::Spread;

/// A rotation error above this is large (Table I).
pub const LARGE_DEG: f64 = 5.0;
/// And above this very large; a registration that is worse is wrong.
pub const VERY_LARGE_DEG: f64 = 10.0;

/// All records, cell by cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Unknown scale first, then by size, then by method in the order of figures and tables.
    pub cells: Vec<Cell>,
}

/// The records of one method on one kind of problem. A run without a transform counts as a large error, and is left out of the
/// spread of errors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Whether the scale was told.
    pub scale: ScaleMode,
    /// Number of matches.
    pub points: usize,
    /// Share of wrong ones.
    pub outlier_ratio: f64,
    /// Name of the method.
    pub method: String,
    /// Number of records.
    pub runs: usize,
    /// Rotation errors above 5°, or no transform.
    pub above_5_deg: usize,
    /// Rotation errors above 10°, or no transform.
    pub above_10_deg: usize,
    /// Registered, with evidence.
    pub registered: usize,
    /// Registered, but with a rotation error above 10°: said to be right, and wrong.
    pub registered_above_10_deg: usize,
    /// No transform.
    pub no_solution: usize,
    /// Could not run at all.
    pub failed: usize,
    /// Stopped by the time limit.
    pub time_limit_reached: usize,
    /// Rotation errors in degrees.
    pub rotation_deg: Option<Spread>,
    /// Translation errors in target units.
    pub translation: Option<Spread>,
    /// Scale errors.
    pub scale_error: Option<Spread>,
    /// CPU time, where it was measured.
    pub cpu_seconds: Option<Spread>,
    /// Wall-clock time.
    pub wall_seconds: Option<Spread>,
    /// log₁₀ of the number of false alarms.
    pub log10_nfa: Option<Spread>,
}

impl Cell {
    fn of(scale: ScaleMode, size: Size, estimator: Estimator, records: &[&Record]) -> Self {
        let count = |wanted: &dyn Fn(&Record) -> bool| records.iter().filter(|record| wanted(record)).count();
        let spread = |value: &dyn Fn(&Record) -> Option<f64>| {
            Spread::of(records.iter().filter_map(|record| value(record)))
        };
        let above = |record: &Record, bound: f64| record.rotation_deg.is_none_or(|error| error > bound);
        Self {
            scale,
            points: size.points,
            outlier_ratio: size.outlier_ratio,
            method: estimator.name().to_owned(),
            runs: records.len(),
            above_5_deg: count(&|record| above(record, LARGE_DEG)),
            above_10_deg: count(&|record| above(record, VERY_LARGE_DEG)),
            registered: count(&|record| record.status == Outcome::Registered),
            registered_above_10_deg: count(&|record| {
                record.status == Outcome::Registered && above(record, VERY_LARGE_DEG)
            }),
            no_solution: count(&|record| record.status == Outcome::NoSolution),
            failed: count(&|record| record.status == Outcome::Failed),
            time_limit_reached: count(&|record| record.stopped_because.as_deref() == Some("time_limit")),
            rotation_deg: spread(&|record| record.rotation_deg),
            translation: spread(&|record| record.translation),
            scale_error: spread(&|record| record.scale_error),
            // What could not run at all has no time.
            cpu_seconds: spread(&|record| record.cpu_seconds.filter(|_| record.status != Outcome::Failed)),
            wall_seconds: spread(&|record| {
                Some(record.wall_seconds).filter(|_| record.status != Outcome::Failed)
            }),
            log10_nfa: spread(&|record| record.log10_nfa),
        }
    }

    /// How large and how hard the problems were.
    pub fn size(&self) -> Size {
        Size { points: self.points, outlier_ratio: self.outlier_ratio }
    }

    /// Registered, and right.
    pub fn solved(&self) -> usize {
        self.registered - self.registered_above_10_deg
    }

    /// CPU time, or wall-clock time where there is none.
    pub fn seconds(&self) -> Option<Spread> {
        self.cpu_seconds.or(self.wall_seconds)
    }
}

impl Summary {
    /// Of records in any order.
    pub fn of(records: &[Record]) -> Self {
        let mut sizes: Vec<Size> = Vec::new();
        for record in records {
            if !sizes.contains(&record.size()) {
                sizes.push(record.size());
            }
        }
        sizes.sort_by(|a, b| a.points.cmp(&b.points).then(a.outlier_ratio.total_cmp(&b.outlier_ratio)));
        let mut cells = Vec::new();
        for scale in ScaleMode::ALL {
            for &size in &sizes {
                let of_size: Vec<&Record> =
                    records.iter().filter(|record| record.scale == scale && record.size() == size).collect();
                for estimator in Estimator::all() {
                    let mut own: Vec<&Record> =
                        of_size.iter().copied().filter(|record| record.method == estimator.name()).collect();
                    own.sort_by_key(|record| record.run);
                    if !own.is_empty() {
                        cells.push(Cell::of(scale, size, estimator, &own));
                    }
                }
            }
        }
        Self { cells }
    }

    /// The cell of a method on a kind of problem, if there are records.
    pub fn cell(&self, scale: ScaleMode, size: Size, estimator: Estimator) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|cell| cell.scale == scale && cell.size() == size && cell.method == estimator.name())
    }

    /// Who has records in a scale mode, in the order of figures and tables.
    pub fn estimators(&self, scale: ScaleMode) -> Vec<Estimator> {
        let has = |estimator: &Estimator| {
            self.cells.iter().any(|cell| cell.scale == scale && cell.method == estimator.name())
        };
        Estimator::all().filter(has).collect()
    }

    /// The kinds of problems, ascending.
    pub fn sizes(&self) -> Vec<Size> {
        let mut sizes: Vec<Size> = Vec::new();
        for cell in &self.cells {
            if !sizes.contains(&cell.size()) {
                sizes.push(cell.size());
            }
        }
        sizes.sort_by(|a, b| a.points.cmp(&b.points).then(a.outlier_ratio.total_cmp(&b.outlier_ratio)));
        sizes
    }

    /// The different numbers of matches, ascending.
    pub fn points(&self) -> Vec<usize> {
        let mut points: Vec<usize> = self.sizes().iter().map(|size| size.points).collect();
        points.dedup();
        points
    }
}
