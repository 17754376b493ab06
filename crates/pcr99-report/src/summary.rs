//! Statistics of the records, by method and kind of problem.

use pcr99_lab::monte_carlo::{Estimator, Outcome, Record, ScaleMode, Size};
use serde::Serialize;

use crate::statistics::Spread;

/// Large rotation error, in degrees: the first bound of the paper's Table I.
pub const LARGE_DEG: f64 = 5.0;
/// Very large rotation error, in degrees: the second bound of the paper's Table I. A registration with a larger error is wrong.
pub const VERY_LARGE_DEG: f64 = 10.0;

/// Statistics of all records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Cells with unknown scale first, then by size, then by method in the order of figures and tables.
    pub cells: Vec<Cell>,
}

/// Statistics of one method on one kind of problem. A run without a transform counts as a large error and is not part of the spread of
/// errors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Whether the scale was given.
    pub scale: ScaleMode,
    /// Number of matches.
    pub points: usize,
    /// Outlier ratio.
    pub outlier_ratio: f64,
    /// Name of the method.
    pub method: String,
    /// Number of records.
    pub runs: usize,
    /// Rotation errors above 5°, or no transform.
    pub above_5_deg: usize,
    /// Rotation errors above 10°, or no transform.
    pub above_10_deg: usize,
    /// Registered runs.
    pub registered: usize,
    /// Registered runs with a rotation error above 10°: false positives.
    pub registered_above_10_deg: usize,
    /// Runs without a transform.
    pub no_solution: usize,
    /// Runs that ended with an error.
    pub failed: usize,
    /// Runs stopped by the time limit.
    pub time_limit_reached: usize,
    /// Rotation errors in degrees.
    pub rotation_deg: Option<Spread>,
    /// Translation errors in target units.
    pub translation: Option<Spread>,
    /// Scale errors.
    pub scale_error: Option<Spread>,
    /// CPU time in seconds, where it was measured.
    pub cpu_seconds: Option<Spread>,
    /// Wall-clock time in seconds.
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
            // The time of a run that ended with an error means nothing.
            cpu_seconds: spread(&|record| record.cpu_seconds.filter(|_| record.status != Outcome::Failed)),
            wall_seconds: spread(&|record| {
                Some(record.wall_seconds).filter(|_| record.status != Outcome::Failed)
            }),
            log10_nfa: spread(&|record| record.log10_nfa),
        }
    }

    /// Number of matches and outlier ratio.
    pub fn size(&self) -> Size {
        Size { points: self.points, outlier_ratio: self.outlier_ratio }
    }

    /// Registered runs with a rotation error of at most 10°.
    pub fn solved(&self) -> usize {
        self.registered - self.registered_above_10_deg
    }

    /// CPU time in seconds, or wall-clock time where none was measured.
    pub fn seconds(&self) -> Option<Spread> {
        self.cpu_seconds.or(self.wall_seconds)
    }
}

impl Summary {
    /// Summarizes records, in any order.
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

    /// Estimators with records in a scale mode, in the order of figures and tables.
    pub fn estimators(&self, scale: ScaleMode) -> Vec<Estimator> {
        let has = |estimator: &Estimator| {
            self.cells.iter().any(|cell| cell.scale == scale && cell.method == estimator.name())
        };
        Estimator::all().filter(has).collect()
    }

    /// Distinct sizes, ascending.
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

    /// Distinct numbers of matches, ascending.
    pub fn points(&self) -> Vec<usize> {
        let mut points: Vec<usize> = self.sizes().iter().map(|size| size.points).collect();
        points.dedup();
        points
    }
}
