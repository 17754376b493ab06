//! Helpers of the writers of binary formats.

use std::io::{self, Write};

/// Storage of a real number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Real {
    /// Four bytes, about seven digits.
    Single,
    /// Eight bytes, about sixteen digits.
    Double,
}

impl Real {
    /// Single precision if it holds all of `values` exactly, otherwise double.
    pub(crate) fn exact(values: &[f64]) -> Self {
        let holds = |&value: &f64| value.is_nan() || f64::from(value as f32) == value;
        if values.iter().all(holds) { Self::Single } else { Self::Double }
    }

    /// Bytes of a value.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

/// Writes `values`, low byte first.
pub(crate) fn reals(out: &mut dyn Write, values: &[f64], real: Real) -> io::Result<()> {
    values.iter().try_for_each(|&value| match real {
        Real::Single => out.write_all(&(value as f32).to_le_bytes()),
        Real::Double => out.write_all(&value.to_le_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_only_where_nothing_is_lost() {
        assert_eq!(Real::exact(&[0.5, f64::from(0.1f32), f64::NAN, f64::INFINITY, -0.0]), Real::Single);
        assert_eq!(Real::exact(&[0.1]), Real::Double);
        assert_eq!(Real::exact(&[4_500_000.125]), Real::Double);
        assert_eq!(Real::exact(&[1e300]), Real::Double);
    }
}
