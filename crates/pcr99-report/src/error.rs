/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to report on.
    #[error("there are no records yet: nothing to draw")]
    NoRecords,
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] pcr99_base::output_file::OutputError),
}
