//! KITTI scans (`.bin`): nothing but x, y, z and intensity of each point, in single precision, low byte first.

use std::io::BufRead;

use super::fields::{Fields, Gather, Want};
use super::scalar::{Binary, ByteOrder, Scalar};
use crate::cloud::Cloud;
use crate::error::{Fault, Place};

/// Bytes of a point.
const STRIDE: u64 = 16;

/// Error in a KITTI scan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KittiError {
    /// The size is not that of a whole number of points.
    #[error(
        "the file ends inside a point: a KITTI scan has 16 bytes for each (x y z intensity as 32-bit floats); it is \
         truncated or of another kind"
    )]
    Size,
}

/// Reads the points; `size` is that of the whole stream, if known.
pub(super) fn read(reader: impl BufRead, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    let cut = |size: u64| Fault::at(Place::Byte(size / STRIDE * STRIDE), KittiError::Size);
    if let Some(size) = size.filter(|size| !size.is_multiple_of(STRIDE)) {
        return Err(cut(size));
    }
    let mut fields = Fields::positions([0, 1, 2]);
    fields.intensity = (want == Want::Everything).then_some(3);
    let places: Vec<_> = fields.columns().iter().map(|column| (4 * column, Scalar::F32)).collect();
    let mut cloud = Gather::new(&fields, usize::try_from(size.unwrap_or(0) / STRIDE).unwrap_or(0))?;
    let mut body = Binary::new(reader, 0, ByteOrder::Little);
    body.records(u64::MAX, STRIDE as usize, |records| cloud.extend(records, &places))?;
    if body.byte.is_multiple_of(STRIDE) { Ok(cloud.finish()) } else { Err(cut(body.byte)) }
}
