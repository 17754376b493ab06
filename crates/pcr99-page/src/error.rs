/// Error while making a page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The JSON value is not the document of a registration.
    #[error("this is not the document of a registration: `{field}` is missing, or not as it should be")]
    Document {
        /// First field that is missing or wrong.
        field: &'static str,
    },
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
