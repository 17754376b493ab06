/// Error while making a page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The registration was computed from other points than those given.
    #[error("these are not the points of this registration: {why}")]
    OtherPoints {
        /// What differs.
        why: String,
    },
    /// The page could not be written.
    #[error(transparent)]
    Output(#[from] pcr99_base::output_file::OutputError),
}
