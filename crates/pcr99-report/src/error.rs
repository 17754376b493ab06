/// Error of a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are no records.
    #[error("the benchmark has no records yet: run it first")]
    NoRecords,
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] pcr99_base::output_file::OutputError),
}
