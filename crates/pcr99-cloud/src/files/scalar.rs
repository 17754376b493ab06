//! Types of binary values and streams of records: shared by all binary formats.

use std::io::{self, BufRead, Read};

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
    /// Half precision (IEEE 754 binary16), in `NumPy` arrays only.
    F16,
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

    /// Name in PLY files; 64-bit integers and half precision have none and are written as doubles.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::I8 => "char",
            Self::U8 => "uchar",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::F32 => "float",
            Self::I64 | Self::U64 | Self::F16 | Self::F64 => "double",
        }
    }

    /// Bytes of a value.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        !matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// The value at the beginning of `bytes`, which are at least [`size`](Self::size); 64-bit integers above 2⁵³ are
    /// rounded.
    pub(crate) fn decode(self, bytes: &[u8], order: ByteOrder) -> f64 {
        for_type!(self, order, decode => decode(bytes))
    }

    /// Appends `value`, rounded towards zero and clamped to the type if that is one of integers. Half precision is not written.
    pub(crate) fn push(self, value: f64, order: ByteOrder, out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            Self::I8 => out.extend_from_slice(&(value as i8).to_le_bytes()),
            Self::U8 => out.extend_from_slice(&(value as u8).to_le_bytes()),
            Self::I16 => out.extend_from_slice(&(value as i16).to_le_bytes()),
            Self::U16 => out.extend_from_slice(&(value as u16).to_le_bytes()),
            Self::I32 => out.extend_from_slice(&(value as i32).to_le_bytes()),
            Self::U32 => out.extend_from_slice(&(value as u32).to_le_bytes()),
            Self::I64 => out.extend_from_slice(&(value as i64).to_le_bytes()),
            Self::U64 => out.extend_from_slice(&(value as u64).to_le_bytes()),
            Self::F16 | Self::F32 => out.extend_from_slice(&(value as f32).to_le_bytes()),
            Self::F64 => out.extend_from_slice(&value.to_le_bytes()),
        }
        if order == ByteOrder::Big {
            out[start..].reverse();
        }
    }

    /// The exact value at the beginning of `bytes` if this is an integer type.
    pub(crate) fn integer(self, bytes: &[u8], order: ByteOrder) -> Option<i128> {
        let big = order == ByteOrder::Big;
        match self {
            Self::I64 if big => Some(i64::from_be_bytes(first(bytes)).into()),
            Self::U64 if big => Some(u64::from_be_bytes(first(bytes)).into()),
            Self::I64 => Some(i64::from_le_bytes(first(bytes)).into()),
            Self::U64 => Some(u64::from_le_bytes(first(bytes)).into()),
            // At most 32 bits: exact in a double.
            _ => self.is_integer().then(|| self.decode(bytes, order) as i128),
        }
    }
}

/// Evaluates `$body` with `$decode` as the function from bytes to a value of type `$scalar`. Each type has its own copy of `$body`, so that a
/// loop in it does not choose the type again for each value.
macro_rules! for_type {
    ($scalar:expr, $order:expr, $decode:ident => $body:expr) => {
        for_type!(@ $scalar, $order, $decode, $body;
            I8: i8 => f64::from, U8: u8 => f64::from, I16: i16 => f64::from, U16: u16 => f64::from, I32: i32 => f64::from,
            U32: u32 => f64::from, I64: i64 => |x| x as f64, U64: u64 => |x| x as f64, F16: u16 => from_half, F32: f32 => f64::from,
            F64: f64 => std::convert::identity)
    };
    (@ $scalar:expr, $order:expr, $decode:ident, $body:expr; $($name:ident: $type:ty => $convert:expr),*) => {
        match ($scalar, $order) {
            $((Scalar::$name, ByteOrder::Little) => {
                let $decode = |bytes: &[u8]| -> f64 { ($convert)(<$type>::from_le_bytes(first(bytes))) };
                $body
            }
            (Scalar::$name, ByteOrder::Big) => {
                let $decode = |bytes: &[u8]| -> f64 { ($convert)(<$type>::from_be_bytes(first(bytes))) };
                $body
            })*
        }
    };
}
use for_type;

/// The first `N` of `bytes`.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&bytes[..N]);
    value
}

/// The value of a half-precision float: one bit of sign, five of exponent, ten of fraction.
fn from_half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let magnitude = match (bits >> 10) & 0x1f {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(i32::from(exponent) - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// A value in a record: its offset in bytes, and its type.
pub(crate) type Place = (usize, Scalar);

/// Records of the same length, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Records<'a> {
    /// Whole records.
    pub(crate) bytes: &'a [u8],
    /// Length of a record in bytes, at least 1.
    pub(crate) stride: usize,
    pub(crate) order: ByteOrder,
}

impl Records<'_> {
    /// Adds the value at `place` of each record to `list`.
    pub(crate) fn values(self, (offset, scalar): Place, list: &mut Vec<f64>) {
        let records = self.bytes.chunks_exact(self.stride);
        for_type!(scalar, self.order, decode => list.extend(records.map(|record| decode(&record[offset..]))));
    }

    /// Adds the three values at `places` of each record to `list`, after `convert`.
    pub(crate) fn triples<T>(self, places: [Place; 3], convert: impl Fn(f64) -> T, list: &mut Vec<[T; 3]>) {
        let records = self.bytes.chunks_exact(self.stride);
        let (offsets, [a, b, c]) = (places.map(|place| place.0), places.map(|place| place.1));
        if a == b && b == c {
            let row = |record: &[u8], decode: &dyn Fn(&[u8]) -> f64| {
                offsets.map(|at| convert(decode(&record[at..])))
            };
            for_type!(a, self.order, decode => list.extend(records.map(|record| row(record, &decode))));
        } else {
            let row =
                |record: &[u8]| places.map(|(at, scalar)| convert(scalar.decode(&record[at..], self.order)));
            list.extend(records.map(row));
        }
    }
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

    /// Hands up to `count` records of `stride` bytes to `each`, many at a time; returns how many there were in full before the stream
    /// ended.
    pub(crate) fn records(
        &mut self,
        count: u64,
        stride: usize,
        mut each: impl FnMut(Records<'_>),
    ) -> io::Result<u64> {
        let order = self.order;
        // Records are used where they lie in the reader's buffer. One that lies across its end is put together here.
        let mut split = vec![0; stride];
        let mut found = 0;
        while found < count {
            let buffer = self.reader.fill_buf()?;
            let whole = usize::try_from(count - found).unwrap_or(usize::MAX).min(buffer.len() / stride);
            if whole > 0 {
                let length = whole * stride;
                each(Records { bytes: &buffer[..length], stride, order });
                self.reader.consume(length);
                self.byte += length as u64;
                found += whole as u64;
            } else {
                if self.fill(&mut split)? < stride {
                    break;
                }
                each(Records { bytes: &split, stride, order });
                found += 1;
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
            (Scalar::F16, &[0x00, 0x3e], 1.5),
            (Scalar::F32, &[0, 0, 0xc0, 0x3f], 1.5),
            (Scalar::F64, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f], 1.5),
        ] {
            let big: Vec<u8> = little.iter().rev().copied().collect();
            assert_eq!(scalar.size(), little.len());
            assert_eq!(scalar.decode(little, ByteOrder::Little), value);
            assert_eq!(scalar.decode(&big, ByteOrder::Big), value);
        }
    }

    #[test]
    fn half_floats_at_their_edges() {
        for (bits, value) in [
            (0x0001, 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
            (0x7bff, 65504.0),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(from_half(bits), value);
        }
        assert!(from_half(0x7e00).is_nan());
    }

    /// Whatever the buffer of the reader: records are found in it, across its end, or are longer than it.
    #[test]
    fn records_are_whole() {
        let bytes: Vec<u8> = (0..100).collect();
        for (capacity, stride, count, expected) in [
            (64, 7, 5, 5),
            (10, 7, 9, 9),
            (7, 7, 20, 14),
            (3, 10, 20, 10),
            (1, 1, 200, 100),
            (200, 9, 11, 11),
        ] {
            let reader = io::BufReader::with_capacity(capacity, &bytes[..]);
            let mut body = Binary::new(reader, 5, ByteOrder::Little);
            let mut seen = Vec::new();
            let found =
                body.records(count, stride, |records| seen.extend_from_slice(records.bytes)).expect("bytes");
            assert_eq!((found, seen.len()), (expected, expected as usize * stride), "{capacity} {stride}");
            assert_eq!(seen, bytes[..seen.len()]);
            let read = if found < count { 100 } else { seen.len() as u64 };
            assert_eq!(body.byte, 5 + read, "{capacity} {stride}");
        }
    }

    #[test]
    fn columns_of_records_are_those_of_single_values() {
        let bytes: Vec<u8> = (0..96).map(|i| (i * 37 % 251) as u8).collect();
        let mixed = [(0, Scalar::I16), (2, Scalar::F32), (23, Scalar::U8)];
        let equal = [(16, Scalar::U32), (1, Scalar::U32), (9, Scalar::U32)];
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let records = Records { bytes: &bytes, stride: 24, order };
            let value = |i: usize, (at, scalar): Place| scalar.decode(&bytes[24 * i + at..], order);
            for places in [mixed, equal] {
                let mut list = vec![[9.0; 3]];
                records.triples(places, |x| -x, &mut list);
                let expected: Vec<_> = (0..4).map(|i| places.map(|place| -value(i, place))).collect();
                assert_eq!((list[0], &list[1..]), ([9.0; 3], &expected[..]));
                let mut list = vec![9.0];
                records.values(places[1], &mut list);
                let expected: Vec<_> = (0..4).map(|i| value(i, places[1])).collect();
                assert_eq!((list[0], &list[1..]), (9.0, &expected[..]));
            }
        }
    }
}
