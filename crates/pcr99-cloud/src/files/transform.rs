//! Transforms as text: the 4×4 matrix that we write, and that CloudCompare and Open3D read.

use std::io::Read as _;
use std::path::Path;

use pcr99::Similarity;

use super::Source;
use crate::error::{Fault, FileError, quote};

/// Largest number of bytes read; a matrix has far fewer.
const LONGEST: u64 = 1 << 16;
/// Error in a file that should hold a transform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// A field that is not a finite number.
    #[error("{text} is not a finite number; a transform is 16 of them, 4 rows of 4")]
    NotANumber {
        /// The text, quoted.
        text: String,
    },
    /// Too few or too many numbers.
    #[error("{numbers} number(s), but a transform has 16, 4 rows of 4")]
    Count {
        /// Number found.
        numbers: usize,
    },
    /// The matrix is not a similarity: shear, reflection, perspective, or a transposed matrix.
    #[error("not [sR t; 0 1] with a rotation R, row by row: {reason}")]
    NotASimilarity {
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads the transform in the text file at `path`: 4×4 numbers, `[sR t; 0 1]` row by row, separated by spaces, commas or semicolons.
///
/// # Errors
/// When the file cannot be read, or holds anything else.
pub fn read_transform(path: &Path) -> Result<Similarity, FileError> {
    let Source { reader, label, .. } = Source::open(path)?;
    let mut bytes = Vec::new();
    reader
        .take(LONGEST)
        .read_to_end(&mut bytes)
        .map_err(Fault::from)
        .and_then(|_| parse(&String::from_utf8_lossy(&bytes)).map_err(Fault::whole))
        .map_err(|fault| fault.in_file(&label))
}

fn parse(text: &str) -> Result<Similarity, TransformError> {
    let separator = |c: char| c.is_whitespace() || c == ',' || c == ';';
    let mut matrix = [0.0; 16];
    let mut numbers = 0;
    for field in text.split(separator).filter(|field| !field.is_empty()) {
        let number = field.parse().ok().filter(|x: &f64| x.is_finite());
        let number = number.ok_or_else(|| TransformError::NotANumber { text: quote(field) })?;
        if let Some(place) = matrix.get_mut(numbers) {
            *place = number;
        }
        numbers += 1;
    }
    if numbers != matrix.len() {
        return Err(TransformError::Count { numbers });
    }
    let row = |k: usize| [matrix[4 * k], matrix[4 * k + 1], matrix[4 * k + 2], matrix[4 * k + 3]];
    Similarity::from_matrix(&[row(0), row(1), row(2), row(3)])
        .map_err(|error| TransformError::NotASimilarity { reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_transform_and_what_is_not() {
        let pose =
            Similarity::from_quaternion(2.5, [0.3, -0.8, 0.5, 0.2], [5.0, -3.0, 8.0]).expect("a similarity");
        let text = pose.matrix().map(|row| row.map(|x| format!("{x:?}")).join(", ")).join("\n");
        let read = parse(&text).expect("own text").matrix();
        let close =
            read.as_flattened().iter().zip(pose.matrix().as_flattened()).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close, "{read:?}");
        for (text, message) in [
            ("1 0 0 0", "4 number(s), but a transform has 16"),
            ("1 0 0 zero", "`zero` is not a finite number"),
            ("1 0 0 inf", "`inf` is not a finite number"),
            (
                "1 0 0 0 0 1 0 0 0 0 -1 0 0 0 0 1",
                "not [sR t; 0 1] with a rotation R, row by row: the rotation of a transform is a reflection",
            ),
            ("1 0.5 0 0 0 1 0 0 0 0 1 0 0 0 0 1", "must have orthonormal rows"),
            (
                "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1",
                "the scale of a transform must be finite and positive, got 0",
            ),
            ("1 0 0 0 0 1 0 0 0 0 1 0 5 6 7 1", "the last row of a transform must be 0 0 0 1"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
