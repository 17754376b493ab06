//! Types of values, under both families of names that are in use.

/// Which byte of a value comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// The type of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    /// The type of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of a value.
    pub(super) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    pub(super) fn is_integer(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }

    /// The value at the beginning of `bytes`, which are at least [`size`](Self::size).
    pub(super) fn decode(self, bytes: &[u8], order: ByteOrder) -> f64 {
        match self {
            Self::I8 => f64::from(bytes[0] as i8),
            Self::U8 => f64::from(bytes[0]),
            Self::I16 => f64::from(u16::from_le_bytes(little(bytes, order)) as i16),
            Self::U16 => f64::from(u16::from_le_bytes(little(bytes, order))),
            Self::I32 => f64::from(u32::from_le_bytes(little(bytes, order)) as i32),
            Self::U32 => f64::from(u32::from_le_bytes(little(bytes, order))),
            Self::F32 => f64::from(f32::from_le_bytes(little(bytes, order))),
            Self::F64 => f64::from_le_bytes(little(bytes, order)),
        }
    }
}

/// The first `N` of `bytes`, low byte first.
fn little<const N: usize>(bytes: &[u8], order: ByteOrder) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&bytes[..N]);
    if order == ByteOrder::Big {
        value.reverse();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_of_names() {
        let old = ["char", "uchar", "short", "ushort", "int", "uint", "float", "double"];
        let new = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"];
        assert_eq!(old.map(Scalar::named), new.map(Scalar::named));
        assert!(old.iter().all(|name| Scalar::named(name).is_some()));
        assert_eq!(Scalar::named("long"), None);
    }

    #[test]
    fn values_in_both_orders() {
        for (scalar, little, value) in [
            (Scalar::I8, &[0xfe][..], -2.0),
            (Scalar::U8, &[0xfe], 254.0),
            (Scalar::I16, &[0xfe, 0xff], -2.0),
            (Scalar::U16, &[0xfe, 0xff], 65534.0),
            (Scalar::I32, &[0xfe, 0xff, 0xff, 0xff], -2.0),
            (Scalar::U32, &[0xfe, 0xff, 0xff, 0xff], 4_294_967_294.0),
            (Scalar::F32, &[0, 0, 0xc0, 0x3f], 1.5),
            (Scalar::F64, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f], 1.5),
        ] {
            let big: Vec<u8> = little.iter().rev().copied().collect();
            assert_eq!(scalar.size(), little.len());
            assert_eq!(scalar.decode(little, ByteOrder::Little), value);
            assert_eq!(scalar.decode(&big, ByteOrder::Big), value);
        }
    }
}
