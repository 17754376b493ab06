//! What a result says.

use std::ffi::{CStr, c_char};

use pcr99::Status;
use pcr99_document::Document;

use crate::{
    failure::{Failure, guarded, pcr99_code},
    handle::pcr99_result,
    points::values,
};

/// Whether a transform can be relied on.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum pcr99_status {
    /// The transform is confirmed.
    Registered = 0,
    /// There is a transform, but it cannot be relied on: see `PCR99_TEXT_REASON`.
    NotReliable = 1,
    /// There is no transform.
    NoSolution = 2,
}

/// The most important fields of a result. The others are in its JSON document.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pcr99_summary {
    /// Whether the transform can be relied on.
    pub status: pcr99_status,
    /// Whether there is a transform. Without one, the transform is all zeros.
    pub has_transform: bool,
    /// The matrix `[sR t; 0 1]` from source to target, row by row.
    pub transform: [f64; 16],
    /// The scale; 0 without a transform.
    pub scale: f64,
    /// Number of matches.
    pub correspondences: usize,
    /// Number of matches that agree with the transform.
    pub inlier_count: usize,
    /// Number of unknowns of the covariance: 6, or 7 with an estimated scale; 0 without a covariance.
    pub covariance_size: usize,
}

/// `registered`, `not_reliable` or `no_solution`.
pub const PCR99_TEXT_STATUS: u32 = 0;
/// Why the result is not registered, as a word; empty when it is.
pub const PCR99_TEXT_DOUBT: u32 = 1;
/// The verdict in one sentence.
pub const PCR99_TEXT_REASON: u32 = 2;
/// The accuracy in one sentence.
pub const PCR99_TEXT_ACCURACY: u32 = 3;
/// The whole document, as `pcr99 solve --json` prints it.
pub const PCR99_TEXT_JSON: u32 = 4;
/// The pose as a line of a trajectory of TUM, at time 0.
pub const PCR99_TEXT_TUM: u32 = 5;
/// The pose as a line of a trajectory of KITTI.
pub const PCR99_TEXT_KITTI: u32 = 6;
/// The pose as an edge of g2o, from vertex 0 (target) to vertex 1 (source).
pub const PCR99_TEXT_G2O: u32 = 7;

fn missing(what: &str) -> Failure {
    Failure::new(pcr99_code::NotAvailable, what)
}

/// The most important fields of a result.
///
/// # Safety
/// `summary` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_result_summary(
    result: pcr99_result,
    summary: *mut pcr99_summary,
) -> pcr99_code {
    guarded(|| {
        if summary.is_null() {
            return Err(Failure::null("summary"));
        }
        let document = result.get()?;
        let matrix = document.transform();
        let mut transform = [0.0; 16];
        if let Some(matrix) = matrix {
            transform.copy_from_slice(matrix.as_flattened());
        }
        let fields = pcr99_summary {
            status: match document.status() {
                Status::Registered => pcr99_status::Registered,
                Status::NotReliable => pcr99_status::NotReliable,
                Status::NoSolution => pcr99_status::NoSolution,
            },
            has_transform: matrix.is_some(),
            transform,
            scale: document.target_from_source().map_or(0.0, |pose| pose.scale()),
            correspondences: document.correspondences(),
            inlier_count: document.inliers().len(),
            covariance_size: document.accuracy().map_or(0, |accuracy| accuracy.covariance.len()),
        };
        // SAFETY: it may be written.
        unsafe { summary.write_unaligned(fields) };
        Ok(())
    })
}

/// Copies `content` to a buffer of the caller for at most `capacity` values, and its length to `count`. A null buffer asks for the length only.
///
/// # Safety
/// The buffer is null or may be written; so is `count`.
unsafe fn give<T: Copy>(
    content: &[T],
    buffer: *mut T,
    capacity: usize,
    count: *mut usize,
) -> Result<(), Failure> {
    if !count.is_null() {
        // SAFETY: it may be written.
        unsafe { count.write_unaligned(content.len()) };
    }
    if buffer.is_null() {
        return if count.is_null() {
            Err(Failure::argument("the buffer and the count are null pointers"))
        } else {
            Ok(())
        };
    }
    if capacity < content.len() {
        let message = format!("the buffer has room for {capacity} values, but there are {}", content.len());
        return Err(Failure::new(pcr99_code::BufferTooSmall, message));
    }
    for (k, value) in content.iter().enumerate() {
        // SAFETY: there is room for all.
        unsafe { buffer.add(k).write_unaligned(*value) };
    }
    Ok(())
}

/// Indices of the inliers, ascending, counted from 0.
///
/// `count` gets their number. `buffer` may be null, to ask for that only.
///
/// # Safety
/// `buffer` is null or has room for `capacity` values; `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_result_inliers(
    result: pcr99_result,
    buffer: *mut u64,
    capacity: usize,
    count: *mut usize,
) -> pcr99_code {
    guarded(|| {
        let document = result.get()?;
        let indices: Vec<u64> = document.inliers().iter().map(|&index| index as u64).collect();
        // SAFETY: as promised by the caller.
        unsafe { give(&indices, buffer, capacity, count) }
    })
}

/// Covariance of the transform, row by row: 36 numbers, or 49 with an estimated scale.
///
/// It is that of the small motion `p → p + ω × (p − c) + t + σ·(p − c)` of the moved points that leads from the transform to the true one, in the axes and units
/// of the target. Rows and columns are `(ω, t)` or `(ω, t, σ)`; `ω` is in radians. `about` is the point `c`, three numbers; null chooses the centre of the data, which
/// `center` gets, if it is not null. `count` gets the number of values, and `buffer` may be null, to ask for that only.
///
/// # Safety
/// `about` is null or has three numbers, `center` is null or has room for three, and `buffer` is null or has room for `capacity` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_result_covariance(
    result: pcr99_result,
    about: *const f64,
    center: *mut f64,
    buffer: *mut f64,
    capacity: usize,
    count: *mut usize,
) -> pcr99_code {
    guarded(|| {
        let document = result.get()?;
        let accuracy = document.accuracy().ok_or_else(|| missing("the result has no covariance"))?;
        // SAFETY: as promised by the caller.
        let about = unsafe { values(about, 3, "about") }?;
        let covariance = match about {
            Some(point) => accuracy.covariance().about([point[0], point[1], point[2]])?,
            None => accuracy.covariance(),
        };
        // SAFETY: as promised by the caller.
        unsafe { give(covariance.matrix.concat().as_slice(), buffer, capacity, count) }?;
        if !center.is_null() {
            for (axis, x) in covariance.center.into_iter().enumerate() {
                // SAFETY: checked above; it may be written.
                unsafe { center.add(axis).write_unaligned(x) };
            }
        }
        Ok(())
    })
}

/// A text of a result, in UTF-8, with a zero at its end: one of `PCR99_TEXT_…`.
///
/// `size` gets the number of bytes with the zero. `buffer` may be null, to ask for that only.
///
/// # Safety
/// `buffer` is null or has room for `capacity` bytes; `size` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_result_text(
    result: pcr99_result,
    which: u32,
    buffer: *mut c_char,
    capacity: usize,
    size: *mut usize,
) -> pcr99_code {
    guarded(|| {
        let document = result.get()?;
        let pose = |written: Result<String, pcr99_document::FormatError>| {
            written.map_err(|error| missing(&error.to_string()))
        };
        let mut text = match which {
            PCR99_TEXT_STATUS => document.status().as_str().to_owned(),
            PCR99_TEXT_DOUBT => document.doubt().map_or("", |doubt| doubt.as_str()).to_owned(),
            PCR99_TEXT_REASON => document.reason().to_owned(),
            PCR99_TEXT_ACCURACY => {
                document.accuracy().ok_or_else(|| missing("the result has no accuracy"))?.sentence.clone()
            }
            PCR99_TEXT_JSON => document.to_json(),
            PCR99_TEXT_TUM => pose(document.to_tum(0.0))?,
            PCR99_TEXT_KITTI => pose(document.to_kitti())?,
            PCR99_TEXT_G2O => pose(document.to_g2o(0, 1))?,
            other => {
                return Err(Failure::argument(format!("`which` is {other}: expected one of PCR99_TEXT_…")));
            }
        };
        text.push('\0');
        // SAFETY: as promised by the caller; bytes of the same size.
        unsafe { give(text.as_bytes(), buffer.cast::<u8>(), capacity, size) }
    })
}

/// Reads a result from a JSON document, as `pcr99 solve --json` or `PCR99_TEXT_JSON` write it. Free it with `pcr99_result_free`.
///
/// # Safety
/// `json` is null or ends with a zero; `result` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_result_from_json(
    json: *const c_char,
    result: *mut pcr99_result,
) -> pcr99_code {
    guarded(|| {
        if json.is_null() {
            return Err(Failure::null("json"));
        }
        if result.is_null() {
            return Err(Failure::null("result"));
        }
        // SAFETY: as promised by the caller.
        let text = unsafe { CStr::from_ptr(json) }.to_str();
        let text = text.map_err(|_| Failure::argument("`json` is not UTF-8"))?;
        let document = Document::from_json(text).map_err(|error| Failure::argument(error.to_string()))?;
        // SAFETY: checked above; it may be written.
        unsafe { result.write_unaligned(pcr99_result::of(document)) };
        Ok(())
    })
}

/// Frees a result. The handle 0 is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn pcr99_result_free(result: pcr99_result) -> pcr99_code {
    guarded(|| result.free())
}
