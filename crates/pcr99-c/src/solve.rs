//! Registration of matches.

use std::{
    ffi::c_void,
    sync::{Mutex, PoisonError},
};

use pcr99::{Clock, Correspondences, Positive, Seconds};
use pcr99_document::Document;
use pcr99_plan::{SolvePlan, Solvers};

use crate::{
    failure::{Failure, guarded, pcr99_code},
    handle::{pcr99_result, pcr99_solver},
    options::{pcr99_solve_options, pcr99_solve_options_default},
    points::{matrix, pcr99_matches, values},
    stop::{Stop, pcr99_stop_check},
};

/// Makes the memory of a search, to be used for many calls of `pcr99_solve`.
///
/// # Safety
/// `solver` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_solver_new(solver: *mut pcr99_solver) -> pcr99_code {
    guarded(|| {
        if solver.is_null() {
            return Err(Failure::null("solver"));
        }
        // SAFETY: it may be written.
        unsafe { solver.write_unaligned(pcr99_solver::of(Mutex::new(Solvers::new()))) };
        Ok(())
    })
}

/// Frees a solver. The handle 0 is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn pcr99_solver_free(solver: pcr99_solver) -> pcr99_code {
    guarded(|| solver.free())
}

impl pcr99_matches {
    /// # Safety
    /// The memory that the fields describe must be readable.
    unsafe fn read(&self) -> Result<Correspondences, Failure> {
        // SAFETY: as promised by the caller.
        let source = unsafe { self.source.read("source") }?;
        // SAFETY: as promised by the caller.
        let target = unsafe { self.target.read("target") }?;
        let length =
            self.index_count.checked_mul(2).ok_or_else(|| Failure::argument("`index_count` is too large"))?;
        // SAFETY: as promised by the caller.
        let pairs = match unsafe { values(self.indices, length, "indices") }? {
            None => Correspondences::new(&source, &target)?,
            Some(indices) => {
                let row = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
                let indices: Vec<[usize; 2]> =
                    indices.chunks_exact(2).map(|pair| [row(pair[0]), row(pair[1])]).collect();
                Correspondences::from_indices(&source, &target, &indices)?
            }
        };
        // SAFETY: as promised by the caller.
        let pairs = match unsafe { values(self.weights, pairs.len(), "weights") }? {
            Some(weights) => pairs.with_weights(&weights)?,
            None => pairs,
        };
        // SAFETY: as promised by the caller.
        Ok(match unsafe { values(self.standard_deviations, pairs.len(), "standard_deviations") }? {
            Some(deviations) => pairs.with_standard_deviations(&deviations)?,
            None => pairs,
        })
    }
}

/// Finds the transform `b = s·R·a + t` from source to target, given matches of which most may be wrong.
///
/// `solver` may be 0, `options` null (the defaults) and `stop` null. Free the result with `pcr99_result_free`.
///
/// # Safety
/// Pointers are null, or point to what their types say. The memory that `matches` describes must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_solve(
    solver: pcr99_solver,
    matches: *const pcr99_matches,
    options: *const pcr99_solve_options,
    stop: pcr99_stop_check,
    user: *mut c_void,
    result: *mut pcr99_result,
) -> pcr99_code {
    guarded(|| {
        let mut clock = Clock::start();
        if result.is_null() {
            return Err(Failure::null("result"));
        }
        // SAFETY: as promised by the caller.
        let matches = unsafe { matches.as_ref() }.ok_or_else(|| Failure::null("matches"))?;
        // SAFETY: as promised by the caller.
        let options = unsafe { options.as_ref() }.copied().unwrap_or_else(|| pcr99_solve_options_default());
        // SAFETY: as promised by the caller.
        let plan = SolvePlan::new(&unsafe { options.read() }?)?;
        let stop = Stop::new(stop, user, plan.deadline());
        let kept = (solver.id != 0).then(|| solver.get()).transpose()?;
        // SAFETY: as promised by the caller.
        let pairs = unsafe { matches.read() }?;
        clock.lap(Seconds::PREPARING);
        let mut found = match kept {
            Some(kept) => {
                // A search that panicked leaves tables that the next one clears.
                let mut solvers = kept.lock().unwrap_or_else(PoisonError::into_inner);
                plan.run(&pairs, &mut solvers, &|| stop.ask())?
            }
            None => plan.run(&pairs, &mut Solvers::new(), &|| stop.ask())?,
        };
        found.seconds = found.seconds.preceded_by(&clock.stop());
        let document = Document::of_matches(plan.method().name(), &found);
        // SAFETY: checked above; it may be written.
        unsafe { result.write_unaligned(pcr99_result::of(document)) };
        Ok(())
    })
}

/// Judges a given transform: counts the matches that agree with it, and tests whether chance explains them.
///
/// `transform` has the sixteen numbers of the matrix `[sR t; 0 1]`, row by row. `threshold` is the largest distance of a correct match, in target units.
///
/// # Safety
/// As `pcr99_solve`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_assess(
    matches: *const pcr99_matches,
    transform: *const f64,
    threshold: f64,
    result: *mut pcr99_result,
) -> pcr99_code {
    guarded(|| {
        let mut clock = Clock::start();
        if result.is_null() {
            return Err(Failure::null("result"));
        }
        // SAFETY: as promised by the caller.
        let matches = unsafe { matches.as_ref() }.ok_or_else(|| Failure::null("matches"))?;
        // SAFETY: as promised by the caller.
        let transform = unsafe { matrix(transform, "transform") }?;
        let threshold = Positive::new("threshold", threshold)?;
        // SAFETY: as promised by the caller.
        let pairs = unsafe { matches.read() }?;
        clock.lap(Seconds::PREPARING);
        let mut found = pcr99::assess(&pairs, &transform, threshold);
        clock.lap("evidence");
        found.seconds = clock.stop();
        let document = Document::of_matches("assess", &found);
        // SAFETY: checked above; it may be written.
        unsafe { result.write_unaligned(pcr99_result::of(document)) };
        Ok(())
    })
}
