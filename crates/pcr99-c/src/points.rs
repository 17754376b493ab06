//! Arrays of the caller, read into points.

use crate::failure::Failure;

/// Coordinates are 64-bit floating-point numbers.
pub const PCR99_F64: u32 = 0;
/// Coordinates are 32-bit floating-point numbers.
pub const PCR99_F32: u32 = 1;

/// Points in memory of the caller, with any strides: arrays, matrices of Eigen, clouds of PCL and Open3D. They are read during the call only.
///
/// The coordinate `k` (0 to 2) of the point `i` lies at the byte `i * point_stride + k * coordinate_stride` of `data`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pcr99_points {
    /// First coordinate of the first point. May be null when `count` is 0.
    pub data: *const std::ffi::c_void,
    /// Number of points.
    pub count: usize,
    /// Type of a coordinate: `PCR99_F64` or `PCR99_F32`. Any alignment will do.
    pub scalar: u32,
    /// Bytes from one point to the next; 0 for points without gaps.
    pub point_stride: isize,
    /// Bytes from one coordinate to the next; 0 for coordinates side by side.
    pub coordinate_stride: isize,
}

/// Matches: pairs of points of which most may be wrong.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pcr99_matches {
    /// Source points. Row i matches row i of the target, unless there are indices.
    pub source: pcr99_points,
    /// Target points.
    pub target: pcr99_points,
    /// Pairs of rows that match, `[source, target]` one after the other, counted from 0; or null.
    pub indices: *const u64,
    /// Number of pairs in `indices`.
    pub index_count: usize,
    /// Confidence of each match, higher is better; or null.
    pub weights: *const f64,
    /// Noise of each match, in any unit; or null.
    pub standard_deviations: *const f64,
}

impl pcr99_points {
    /// The points of the argument `name`.
    ///
    /// # Safety
    /// The memory that the fields describe must be readable.
    pub(crate) unsafe fn read(&self, name: &str) -> Result<Vec<[f64; 3]>, Failure> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        if self.data.is_null() {
            return Err(Failure::argument(format!(
                "`{name}.data` is a null pointer, but `{name}.count` is {}",
                self.count
            )));
        }
        let size: isize = match self.scalar {
            PCR99_F64 => 8,
            PCR99_F32 => 4,
            other => {
                return Err(Failure::argument(format!(
                    "`{name}.scalar` is {other}: expected PCR99_F64 ({PCR99_F64}) or PCR99_F32 ({PCR99_F32})"
                )));
            }
        };
        let or = |stride: isize, default: isize| if stride == 0 { default } else { stride };
        let (point, coordinate) = (or(self.point_stride, 3 * size), or(self.coordinate_stride, size));
        let reach = isize::try_from(self.count - 1).ok().and_then(|last| last.checked_mul(point));
        let reach = reach.and_then(|reach| Some((reach, coordinate.checked_mul(2)?)));
        if reach.is_none_or(|(a, b)| a.checked_add(b).is_none()) {
            return Err(Failure::argument(format!(
                "`{name}` has {} points that are {point} bytes apart, which is more than the memory can hold",
                self.count
            )));
        }
        let base = self.data.cast::<u8>();
        let at = |row: usize, axis: isize| -> f64 {
            // `reach` fits, and so does every smaller offset.
            let place = row.cast_signed() * point + axis * coordinate;
            // SAFETY: the caller promises that the described memory is readable; reads need no alignment.
            unsafe {
                let place = base.offset(place);
                if size == 8 {
                    place.cast::<f64>().read_unaligned()
                } else {
                    f64::from(place.cast::<f32>().read_unaligned())
                }
            }
        };
        Ok((0..self.count).map(|row| [at(row, 0), at(row, 1), at(row, 2)]).collect())
    }
}

/// `count` values at a place of the caller; `None` at a null pointer.
///
/// # Safety
/// The pointer is null or points to that many readable values.
pub(crate) unsafe fn values<T: Copy>(
    place: *const T,
    count: usize,
    name: &str,
) -> Result<Option<Vec<T>>, Failure> {
    if place.is_null() {
        return Ok(None);
    }
    if !place.is_aligned()
        || count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize)
    {
        return Err(Failure::argument(format!("`{name}` is not the place of {count} numbers")));
    }
    // SAFETY: it is aligned, the caller promises the rest.
    Ok(Some(unsafe { std::slice::from_raw_parts(place, count) }.to_vec()))
}

/// The 4×4 matrix at a place of the caller, row by row.
///
/// # Safety
/// The pointer is null or points to sixteen readable numbers.
pub(crate) unsafe fn matrix(place: *const f64, name: &str) -> Result<pcr99::Similarity, Failure> {
    // SAFETY: as promised by the caller.
    let numbers = unsafe { values(place, 16, name) }?.ok_or_else(|| Failure::null(name))?;
    let rows: [[f64; 4]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| numbers[4 * i + j]));
    pcr99::Similarity::from_matrix(&rows).map_err(|error| Failure::argument(format!("`{name}`: {error}")))
}
