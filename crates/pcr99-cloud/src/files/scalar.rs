//! Types of binary values and streams of records: shared by PLY, PCD and KITTI files.

use std::io::{self, BufRead, Read};

/// Approximate number of bytes of records read at a time.
const CHUNK: usize = 1 << 16;

/// Byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

/// The type of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Scalar {
    /// The type of that name in PLY files, where two families of names are in use; none has 64-bit integers.
    pub(crate) fn named(name: &str) -> Option<Self> {
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
    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }

    /// The value at the beginning of `bytes`, which are at least [`size`](Self::size); 64-bit integers above 2⁵³ are
    /// rounded.
    pub(crate) fn decode(self, bytes: &[u8], order: ByteOrder) -> f64 {
        match self {
            Self::I8 => f64::from(bytes[0] as i8),
            Self::U8 => f64::from(bytes[0]),
            Self::I16 => f64::from(u16::from_le_bytes(little(bytes, order)) as i16),
            Self::U16 => f64::from(u16::from_le_bytes(little(bytes, order))),
            Self::I32 => f64::from(u32::from_le_bytes(little(bytes, order)) as i32),
            Self::U32 => f64::from(u32::from_le_bytes(little(bytes, order))),
            Self::I64 => u64::from_le_bytes(little(bytes, order)) as i64 as f64,
            Self::U64 => u64::from_le_bytes(little(bytes, order)) as f64,
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

/// A stream of binary values that counts its bytes.
pub(crate) struct Binary<R> {
    reader: R,
    /// Bytes read so far, with the header.
    pub(crate) byte: u64,
    order: ByteOrder,
}

impl<R: BufRead> Binary<R> {
    /// What follows the first `byte` bytes of a file, which `reader` has behind it.
    pub(crate) fn new(reader: R, byte: u64, order: ByteOrder) -> Self {
        Self { reader, byte, order }
    }

    /// Hands the values at `places` (offset and type) of each of `count` records of `stride` bytes to `row`; returns how
    /// many there were in full before the stream ended.
    pub(crate) fn records(
        &mut self,
        count: u64,
        stride: usize,
        places: &[(usize, Scalar)],
        mut row: impl FnMut(&[f64]),
    ) -> io::Result<u64> {
        let mut values = vec![0.0; places.len()];
        let at_once = (CHUNK / stride.max(1)).max(1);
        let mut chunk = vec![0; at_once * stride];
        let mut found = 0;
        while found < count {
            let wanted = usize::try_from(count - found).unwrap_or(at_once).min(at_once);
            let filled = self.fill(&mut chunk[..wanted * stride])?;
            for record in chunk[..filled].chunks_exact(stride) {
                for (value, &(offset, scalar)) in values.iter_mut().zip(places) {
                    *value = scalar.decode(&record[offset..], self.order);
                }
                row(&values);
            }
            found += (filled / stride) as u64;
            if filled < wanted * stride {
                break;
            }
        }
        Ok(found)
    }

    /// One value; `None` when the file ends before or inside it.
    pub(crate) fn scalar(&mut self, scalar: Scalar) -> io::Result<Option<f64>> {
        let mut bytes = [0; 8];
        let wanted = scalar.size();
        let filled = self.fill(&mut bytes[..wanted])?;
        Ok((filled == wanted).then(|| scalar.decode(&bytes, self.order)))
    }

    /// Fills `buffer` as far as the file reaches.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.byte += filled as u64;
        Ok(filled)
    }

    /// Skips `count` bytes, or as many as there are.
    pub(crate) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let skipped = io::copy(&mut self.reader.by_ref().take(count), &mut io::sink())?;
        self.byte += skipped;
        Ok(skipped)
    }

    /// The next `count` bytes, or as many as there are; memory grows only with what is there.
    pub(crate) fn bytes(&mut self, count: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.byte += self.reader.by_ref().take(count).read_to_end(&mut bytes)? as u64;
        Ok(bytes)
    }
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
            (Scalar::I64, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], -2.0),
            (Scalar::U64, &[0, 0, 0, 0, 0, 0, 0, 0x80], 9_223_372_036_854_775_808.0),
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
