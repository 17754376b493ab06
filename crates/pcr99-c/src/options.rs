//! Options of the caller. They are checked by `pcr99-plan`.

use std::ffi::{CStr, c_char};

use pcr99::Similarity;
use pcr99_plan::{GivenScale, RegisterOptions, SolveOptions, text};

use crate::{failure::Failure, points::matrix};

/// The scale is `pcr99_scale.low`.
pub const PCR99_SCALE_KNOWN: u32 = 0;
/// The scale is estimated.
pub const PCR99_SCALE_UNKNOWN: u32 = 1;
/// The scale is estimated between `pcr99_scale.low` and `pcr99_scale.high`.
pub const PCR99_SCALE_RANGE: u32 = 2;

/// What is known of the scale, the number of target units per source unit.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pcr99_scale {
    /// `PCR99_SCALE_KNOWN`, `PCR99_SCALE_UNKNOWN` or `PCR99_SCALE_RANGE`.
    pub kind: u32,
    /// The known scale, or the lower end of the range.
    pub low: f64,
    /// The upper end of the range.
    pub high: f64,
}

impl pcr99_scale {
    const ONE: Self = Self { kind: PCR99_SCALE_KNOWN, low: 1.0, high: 1.0 };

    fn given(self) -> Result<GivenScale, Failure> {
        match self.kind {
            PCR99_SCALE_KNOWN => Ok(GivenScale::Known(self.low)),
            PCR99_SCALE_UNKNOWN => Ok(GivenScale::Unknown),
            PCR99_SCALE_RANGE => Ok(GivenScale::Range(self.low, self.high)),
            other => Err(Failure::argument(format!(
                "`scale.kind` is {other}: expected PCR99_SCALE_KNOWN, PCR99_SCALE_UNKNOWN or PCR99_SCALE_RANGE"
            ))),
        }
    }
}

/// A number that means the default.
const DEFAULT: f64 = f64::NEG_INFINITY;
/// A count that means the default.
const DEFAULT_COUNT: u64 = u64::MAX;

fn number(x: f64) -> Option<f64> {
    (x != DEFAULT).then_some(x)
}

/// A count of the option `name`.
fn count<T: TryFrom<u64>>(x: u64, name: &str) -> Result<Option<T>, Failure> {
    if x == DEFAULT_COUNT {
        return Ok(None);
    }
    T::try_from(x).map(Some).map_err(|_| Failure::argument(format!("`{name}` is {x}, which is too large")))
}

/// Options of `pcr99_solve`. Begin with `pcr99_solve_options_default`, and change what you need: 0 is not a default.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pcr99_solve_options {
    /// What is known of the scale; default 1.
    pub scale: pcr99_scale,
    /// Inlier threshold: maximum distance of a correct match after the transform, in target units. By default it is found from the data. Methods other than the default one
    /// need it.
    pub threshold: f64,
    /// Name of the method, as `pcr99 solve --method`; null is the default method.
    pub method: *const c_char,
    /// Maximum number of threads; by default the number of cores.
    pub threads: u64,
    /// Seconds after which the search ends with the best result so far; by default never.
    pub time_limit: f64,
    /// Seed of the random numbers; default 0.
    pub seed: u64,
    /// Maximum number of candidates; default 5.
    pub candidates: u64,
    /// Maximum number of pairs of matches that each round of the search examines; default 100 000.
    pub effort: u64,
    /// Accepted probability that a larger consensus was missed; default 10⁻⁶.
    pub miss_probability: f64,
    /// Distance between targets up to which neighbouring wrong matches are wrong in the same way, in target units. By default it is measured.
    pub correlation_length: f64,
    /// Maximum size of the tables over pairs of matches, in MiB; default 1024.
    pub memory_budget_mib: u64,
}

/// Options of `pcr99_register` and `pcr99_refine`. Begin with `pcr99_register_options_default`, and change what you need: 0 is not a default.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pcr99_register_options {
    /// What is known of the scale; default 1.
    pub scale: pcr99_scale,
    /// Edge of the voxels with which the clouds are sampled, in target units. By default it is chosen from the data.
    pub voxel: f64,
    /// Refinement: "point-to-plane" (default, also null), "point-to-point", "plane-to-plane" or "none".
    pub refine: *const c_char,
    /// A pose to refine and judge: sixteen numbers of the matrix `[sR t; 0 1]`, row by row; or null. `pcr99_register` searches nevertheless.
    pub initial: *const f64,
    /// Maximum number of candidates that are compared with the clouds; default 8.
    pub candidates: u64,
    /// Maximum number of threads; by default the number of cores.
    pub threads: u64,
    /// Seconds after which the best pose so far is returned; by default there is no limit.
    pub time_limit: f64,
    /// Seed of the random numbers; default 0.
    pub seed: u64,
}

/// The default options of `pcr99_solve`.
#[unsafe(no_mangle)]
pub extern "C" fn pcr99_solve_options_default() -> pcr99_solve_options {
    pcr99_solve_options {
        scale: pcr99_scale::ONE,
        threshold: DEFAULT,
        method: std::ptr::null(),
        threads: DEFAULT_COUNT,
        time_limit: DEFAULT,
        seed: 0,
        candidates: DEFAULT_COUNT,
        effort: DEFAULT_COUNT,
        miss_probability: DEFAULT,
        correlation_length: DEFAULT,
        memory_budget_mib: DEFAULT_COUNT,
    }
}

/// The default options of `pcr99_register` and `pcr99_refine`.
#[unsafe(no_mangle)]
pub extern "C" fn pcr99_register_options_default() -> pcr99_register_options {
    pcr99_register_options {
        scale: pcr99_scale::ONE,
        voxel: DEFAULT,
        refine: std::ptr::null(),
        initial: std::ptr::null(),
        candidates: DEFAULT_COUNT,
        threads: DEFAULT_COUNT,
        time_limit: DEFAULT,
        seed: 0,
    }
}

/// The text of an option; `None` at a null pointer.
///
/// # Safety
/// The pointer is null or points to a text that ends with a zero.
unsafe fn named<T>(
    place: *const c_char,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, text::Expected>,
) -> Result<Option<T>, Failure> {
    if place.is_null() {
        return Ok(None);
    }
    // SAFETY: as promised by the caller.
    let text = unsafe { CStr::from_ptr(place) }.to_string_lossy();
    parse(&text).map(Some).map_err(|expected| Failure::argument(format!("`{name}` is `{text}`: {expected}")))
}

impl pcr99_solve_options {
    /// # Safety
    /// Texts are null or end with a zero.
    pub(crate) unsafe fn read(&self) -> Result<SolveOptions, Failure> {
        Ok(SolveOptions {
            scale: Some(self.scale.given()?),
            threshold: number(self.threshold),
            // SAFETY: as promised by the caller.
            method: unsafe { named(self.method, "method", text::method) }?,
            threads: count(self.threads, "threads")?,
            memory_budget_mib: count(self.memory_budget_mib, "memory_budget_mib")?,
            time_limit: number(self.time_limit),
            seed: Some(self.seed),
            candidates: count(self.candidates, "candidates")?,
            effort: count(self.effort, "effort")?,
            miss_probability: number(self.miss_probability),
            correlation_length: number(self.correlation_length),
            ..SolveOptions::default()
        })
    }
}

impl pcr99_register_options {
    /// The options, with another initial pose if there is one: then nothing is searched.
    ///
    /// # Safety
    /// Texts are null or end with a zero, and the initial pose is null or has sixteen numbers.
    pub(crate) unsafe fn read(&self, local: Option<Similarity>) -> Result<RegisterOptions, Failure> {
        let initial = match local {
            None if self.initial.is_null() => None,
            // SAFETY: as promised by the caller.
            None => Some(unsafe { matrix(self.initial, "initial") }?),
            local => local,
        };
        Ok(RegisterOptions {
            scale: Some(self.scale.given()?),
            voxel: number(self.voxel),
            // SAFETY: as promised by the caller.
            refine: unsafe { named(self.refine, "refine", text::refinement) }?,
            initial,
            is_local: local.is_some(),
            candidates: count(self.candidates, "candidates")?,
            threads: count(self.threads, "threads")?,
            time_limit: number(self.time_limit),
            seed: Some(self.seed),
            ..RegisterOptions::default()
        })
    }
}
