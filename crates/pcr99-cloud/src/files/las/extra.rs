//! Extra bytes of points: their record lists names and types (ASPRS LAS 1.4, table 24).

use super::header::{Header, LEAST, little};
use crate::files::fields::NORMALS;
use crate::files::scalar::Scalar;

/// Bytes of the description of a field.
pub(super) const FIELD: usize = 192;

/// Types of one value, by their number less one.
pub(super) const TYPES: [Scalar; 10] = [
    Scalar::U8,
    Scalar::I8,
    Scalar::U16,
    Scalar::I16,
    Scalar::U32,
    Scalar::I32,
    Scalar::U64,
    Scalar::I64,
    Scalar::F32,
    Scalar::F64,
];

/// A field of the extra bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    /// Place in a point, in bytes.
    pub(super) place: usize,
    /// Type of the value; `None` for arrays and raw bytes.
    pub(super) scalar: Option<Scalar>,
    /// Factor and summand from the stored to the real value.
    pub(super) conversion: Option<[f64; 2]>,
}

/// The fields that the record with this content describes, as far as they lie in the points.
pub(super) fn fields(content: &[u8], header: &Header) -> Vec<Field> {
    let mut place = LEAST[usize::from(header.format)] as usize;
    let mut fields = Vec::new();
    for entry in content.chunks_exact(FIELD) {
        let (kind, options) = (usize::from(entry[2]), entry[3]);
        let scalar = kind.checked_sub(1).and_then(|kind| TYPES.get(kind % 10).copied());
        // Arrays of two and three values follow the single types; type 0 is a number of bytes.
        let size = match scalar {
            Some(scalar) if kind <= 30 => scalar.size() * (1 + (kind - 1) / 10),
            _ => usize::from(options),
        };
        if place + size > header.stride as usize {
            break;
        }
        let number = |at: u64| f64::from_bits(little(entry, at, 8).unwrap_or(0));
        let factor = if options & 8 != 0 { number(112) } else { 1.0 };
        let summand = if options & 16 != 0 { number(136) } else { 0.0 };
        let name = entry[4..36].split(|&byte| byte == 0).next().unwrap_or_default();
        let is_typed = (1..=10).contains(&kind);
        fields.push(Field {
            name: String::from_utf8_lossy(name).into_owned(),
            place,
            scalar: scalar.filter(|_| is_typed),
            conversion: (is_typed && options & 24 != 0).then_some([factor, summand]),
        });
        place += size;
    }
    fields
}

/// Places of normals among the fields, and whether they have 64 bits. Their components are floats.
pub(super) fn normals(fields: &[Field]) -> impl Iterator<Item = ([usize; 3], bool)> {
    NORMALS.iter().filter_map(|names| {
        let find = |name: &str| fields.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        let [x, y, z] = [find(names[0])?, find(names[1])?, find(names[2])?];
        let is_float = matches!(x.scalar, Some(Scalar::F32 | Scalar::F64));
        let is_plain = [x, y, z].iter().all(|field| field.scalar == x.scalar && field.conversion.is_none());
        (is_float && is_plain).then_some(([x.place, y.place, z.place], x.scalar == Some(Scalar::F64)))
    })
}
