/// Largest memory that one method may use for tables of all pairs of matches, in MiB. Enough for 92 000 matches at one bit a pair.
pub(crate) const LARGEST_TABLE_MIB: u64 = 1024;

/// Error of a method.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No method has that name.
    #[error("there is no method `{name}`: the methods are {}", crate::Method::names())]
    UnknownMethod {
        /// The name that was given.
        name: String,
    },
    /// The method cannot find the scale.
    #[error(
        "method `{method}` needs a known scale: give it, or use a method that finds it (default, paper, ransic, …)"
    )]
    ScaleNeeded {
        /// Name of the method.
        method: &'static str,
    },
    /// Only the default method takes a range.
    #[error("only the default method takes a range of scales: give one scale, or none")]
    ScaleRange,
    /// Only the default method takes matches that differ in noise.
    #[error(
        "method `{method}` treats all matches as equally precise: remove the standard deviations, or use the default method"
    )]
    StandardDeviations {
        /// Name of the method.
        method: &'static str,
    },
    /// Only the default method takes a known vertical.
    #[error("method `{method}` does not take a known vertical: remove it, or use the default method")]
    Vertical {
        /// Name of the method.
        method: &'static str,
    },
    /// The tables that the method keeps of all pairs of matches would be too large.
    #[error(
        "method `{method}` needs {needed_mib} MiB for {matches} matches, more than the {LARGEST_TABLE_MIB} MiB it may \
         use or than there are: thin the matches, or use the default method"
    )]
    TooManyMatches {
        /// Name of the method.
        method: &'static str,
        /// Number of matches.
        matches: usize,
        /// Memory that they would need, in MiB.
        needed_mib: u64,
    },
    /// Error of the core.
    #[error(transparent)]
    Core(#[from] pcr99::Error),
}
