//! Messages for options that cannot be carried out.

use pcr99_baselines::Method;

use crate::text;

/// Largest number of threads. It is twice the number of hardware threads of the largest machines in use, and each thread has a stack of 8 MiB.
pub const MOST_THREADS: usize = 1024;

/// Checks a number of threads.
///
/// # Errors
/// When it is zero or above [`MOST_THREADS`].
pub fn check_threads(threads: usize) -> Result<usize, PlanError> {
    match threads {
        0 => Err(pcr99::Error::Zero { name: "threads" }.into()),
        1..=MOST_THREADS => Ok(threads),
        _ => Err(PlanError::TooManyThreads { threads }),
    }
}

/// A mistake in the options. The message is the same in every front end.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A number is outside its range.
    #[error(transparent)]
    Value(#[from] pcr99::Error),
    /// A number of the registration of clouds is outside its range.
    #[error(transparent)]
    CloudValue(#[from] pcr99_cloud::RegisterError),
    /// More threads than any machine needs.
    #[error("`threads` is {threads}, but at most {MOST_THREADS} are started: remove it to use all cores")]
    TooManyThreads {
        /// The given number.
        threads: usize,
    },
    /// A parameter of the published method was given to another method.
    #[error("`{name}` is a parameter of the paper's methods: remove it, or set `method` to `paper`")]
    PaperOnly {
        /// The option.
        name: &'static str,
    },
    /// A parameter of the default method was given to another method.
    #[error("`{name}` is a parameter of the default method: remove it, or remove `method` (`{method}`)")]
    DefaultOnly {
        /// The option.
        name: &'static str,
        /// The method.
        method: Method,
    },
    /// Two ways to give one threshold.
    #[error("`threshold` and `noise_bound` both set the inlier threshold: remove one of them")]
    ThresholdTwice,
    /// The method needs a threshold.
    #[error(
        "method `{method}` needs a `threshold`: the largest residual of a correct match, in target units \
         (about five standard deviations of the noise)"
    )]
    ThresholdNeeded {
        /// The method.
        method: Method,
    },
    /// Only the default method takes a range of scales.
    #[error(
        "method `{method}` takes no range of scales: set `scale` to {}, or remove `method`",
        if .method.finds_scale() { "a number or `unknown`" } else { "a number" }
    )]
    ScaleRange {
        /// The method.
        method: Method,
    },
    /// The method cannot estimate the scale.
    #[error("method `{method}` cannot estimate the scale: set `scale` to a number, or remove `method`")]
    ScaleNeeded {
        /// The method.
        method: Method,
    },
    /// The initial pose has another scale than the one that is known.
    #[error(
        "`initial` has scale {}, but `scale` is {}: make them agree, or set `scale` to `unknown`",
        text::number_text(*.initial), text::number_text(*.scale)
    )]
    InitialScale {
        /// Scale of the initial pose.
        initial: f64,
        /// The known scale.
        scale: f64,
    },
    /// The direction that is up is given for one side only.
    #[error(
        "`vertical` lacks the direction that is up in the {missing}: add {missing}=X,Y,Z, for instance {missing}=0,0,1"
    )]
    VerticalSide {
        /// The side without a direction.
        missing: pcr99::Side,
    },
    /// A tilt without a vertical.
    #[error(
        "`tilt` needs `vertical`: say which direction is up on both sides, for instance source=0,0,1 target=0,0,1"
    )]
    TiltAlone,
    /// The initial pose tilts the vertical by more than it may.
    #[error(
        "`initial` tilts the vertical by {tilt:.1}°, but `tilt` allows {}°: check the directions of `vertical`, or raise `tilt`",
        text::number_text(*.most)
    )]
    InitialTilt {
        /// Tilt of the initial pose, in degrees.
        tilt: f64,
        /// The largest tilt, in degrees.
        most: f64,
    },
    /// The scale of the initial pose is outside the range of scales.
    #[error(
        "`initial` has scale {}, which is outside `scale` {}..{}: make them agree, or set `scale` to `unknown`",
        text::number_text(*.initial), text::number_text(*.low), text::number_text(*.high)
    )]
    InitialOutsideRange {
        /// Scale of the initial pose.
        initial: f64,
        /// Lower end of the range.
        low: f64,
        /// Upper end of the range.
        high: f64,
    },
}

/// A search that could not be run: the method cannot handle this many matches.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The tables of the method are larger than the budget.
    #[error(
        "{cause} (set `memory_budget` to {needed_mib} MiB, or `method` to `paper-random`, which keeps no tables)"
    )]
    MemoryBudget {
        /// What the method says.
        cause: pcr99::Error,
        /// Size of the tables.
        needed_mib: u64,
    },
    /// The tables of the method are within the budget, but the system has no room for them.
    #[error("{cause} (set `method` to `paper-random`, which keeps no tables)")]
    OutOfMemory {
        /// What the method says.
        cause: pcr99::Error,
    },
    /// Any other cause.
    #[error(transparent)]
    Method(pcr99_baselines::Error),
}

impl From<pcr99::Error> for RunError {
    fn from(cause: pcr99::Error) -> Self {
        match cause {
            pcr99::Error::TooMuchMemory { needed_mib, .. } => Self::MemoryBudget { cause, needed_mib },
            pcr99::Error::OutOfMemory { .. } => Self::OutOfMemory { cause },
            _ => Self::Method(cause.into()),
        }
    }
}

impl From<pcr99_baselines::Error> for RunError {
    fn from(cause: pcr99_baselines::Error) -> Self {
        match cause {
            pcr99_baselines::Error::Core(cause) => cause.into(),
            _ => Self::Method(cause),
        }
    }
}
