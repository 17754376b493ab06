//! Interactive page of a benchmark.

/// Page of a benchmark.
pub(crate) mod bench;

/// Figures of a benchmark in Plotly's form.
mod plots;
