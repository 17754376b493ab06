use crate::{ASSEMBLY_SCHEMA, SCHEMA};

/// Error while reading a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text ends before the document does.
    #[error("the document is truncated: the text ends at line {line}, column {column}")]
    Truncated {
        /// Line of the end, counted from 1.
        line: usize,
        /// Column of the end, counted from 1.
        column: usize,
    },
    /// The text is not JSON.
    #[error("the document is not JSON: {message}")]
    Syntax {
        /// What is wrong, with line and column.
        message: String,
    },
    /// The document has another schema.
    #[error("this document has schema {found}; this version reads {SCHEMA}: run the registration again")]
    Schema {
        /// Schema of the document.
        found: u64,
    },
    /// The document of an assembly has another schema.
    #[error(
        "this assembly has schema {found}; this version reads {ASSEMBLY_SCHEMA}: assemble the scans again"
    )]
    AssemblySchema {
        /// Schema of the document.
        found: u64,
    },
    /// A field is missing or has a wrong value.
    #[error("this is not the document of a registration: {}", of_field(.path, .message))]
    Field {
        /// Path of the field, for instance `candidates[2].evidence`; empty for the document as a whole.
        path: String,
        /// What is wrong.
        message: String,
    },
}

fn of_field(path: &str, message: &str) -> String {
    if path.is_empty() { message.to_owned() } else { format!("field `{path}`: {message}") }
}

impl Error {
    pub(crate) fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Field { path: path.into(), message: message.into() }
    }
}
