//! Copies of cloud files with moved points. The copy has the format of the original and everything that is in it: attributes, other
//! elements, records, the coordinate system. Only positions change, and what depends on them: normals, poses of sensors, boxes.

use std::io::{self, BufRead, Cursor, Read, Write};
use std::path::Path;

use pcr99::Similarity;
use pcr99_base::output_file::OutputFile;

#[cfg(feature = "e57")]
use super::e57;
use super::edit::Open;
use super::format::Format;
#[cfg(feature = "las")]
use super::las;
use super::source::Origin;
use super::{CloudFormat, MemoryFile, Source, npy, pcd, ply, xyz};
use crate::error::{Fault, FileError, Problem};

/// Summary of a copied file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Number of points.
    pub points: u64,
    /// What could not be kept, by name.
    pub lost: Vec<String>,
}

/// Whether a file at `output` would have the format of the file at `input`, so that [`copy_cloud`] can write it. LAS and LAZ count as one format.
///
/// # Errors
/// When `input` cannot be read, and when the extension of `output` is not known.
pub fn is_copy(input: &Path, output: &Path) -> Result<bool, FileError> {
    let output = CloudFormat::of(output)?;
    Ok(match (format(input)?, output) {
        (Format::Las, CloudFormat::Las | CloudFormat::Laz)
        | (Format::Ply, CloudFormat::Ply)
        | (Format::Pcd, CloudFormat::Pcd)
        | (Format::Npy, CloudFormat::Npy) => true,
        // One scan of several is converted.
        (Format::E57, CloudFormat::E57) => super::chosen_scan(input).is_none(),
        (Format::Text(_), CloudFormat::Csv | CloudFormat::Xyz) => CloudFormat::of(input).ok() == Some(output),
        _ => false,
    })
}

/// Copies the cloud file at `input` to `output`, which has the same format ([`is_copy`]), with its points moved by `transform`.
///
/// All else stays: attributes of any name and type, comments, other elements, records, the coordinate system, the encoding. Normals
/// turn with the cloud. Coordinates get a finer step (LAS) or double precision (PLY, PCD, NPY) where they would lose digits. Scans of E57
/// files get another pose. LAS and LAZ files are copied in little memory, whatever their size. The copy appears completely or not at all.
///
/// # Errors
/// When `input` cannot be read or is malformed, when `output` cannot be written or has another format, and when the format cannot hold
/// the moved points.
pub fn copy_cloud(input: &Path, output: &Path, transform: &Similarity) -> Result<Copied, FileError> {
    let format = format(input)?;
    let open = || -> Result<Source, Fault> {
        let source = Source::open(input).map_err(io::Error::other)?;
        if source.size.is_none() { Err(Fault::whole(Problem::ReadTwice)) } else { Ok(source) }
    };
    let label = crate::error::label(input);
    let named = |fault: Fault| fault.in_file(&label);
    if !is_copy(input, output)? {
        return Err(named(Fault::whole(Problem::OtherFormat { output: crate::error::label(output) })));
    }
    open().map_err(named)?;
    let file = OutputFile::new(output)?;
    let is_packed = CloudFormat::of(output)? == CloudFormat::Laz;
    let is_same = match format {
        Format::Las => is_laz(Origin::Disk(input))? == is_packed,
        _ => true,
    };
    if *transform == Similarity::IDENTITY && is_same {
        return Ok(Copied { points: copy_bytes(input, &file)?, lost: Vec::new() });
    }
    #[cfg(feature = "las")]
    if format == Format::Las {
        return file.write_seekable(|out| {
            las::rewrite(Origin::Disk(input), transform, is_packed, out).map_err(named)
        });
    }
    let mut result = None;
    let written = file.write(|out| {
        let mut out = Noted { out, failed: None };
        let copied = copy(format, &open, transform, &mut out);
        match (copied, out.failed) {
            (_, Some(error)) => Err(error),
            (Err(fault), None) => {
                result = Some(Err(fault));
                Err(io::Error::other("the original cannot be read"))
            }
            (Ok(points), None) => {
                result = Some(Ok(points));
                Ok(())
            }
        }
    });
    let points = match (result, written) {
        (Some(Err(fault)), _) => return Err(named(fault)),
        (Some(Ok(points)), Ok(())) => points,
        (_, Err(error)) => return Err(error.into()),
        // A pipe whose reader has closed it.
        (None, Ok(())) => 0,
    };
    Ok(Copied { points, lost: Vec::new() })
}

/// Copies what `open` opens, in a format that is written from beginning to end.
fn copy(format: Format, open: Open<'_>, transform: &Similarity, out: &mut dyn Write) -> Result<u64, Fault> {
    match format {
        Format::Ply => ply::copy(open, transform, out),
        Format::Pcd => pcd::copy(open, transform, out),
        Format::Npy => npy::cloud::copy(open, transform, out),
        Format::Text(habit) => xyz::copy(open, habit, transform, out),
        #[cfg(feature = "e57")]
        Format::E57 => e57::copy(open, transform, out),
        _ => Err(Fault::whole(Problem::NotBuiltIn { format: "LAS, LAZ and E57", feature: "las` or `e57" })),
    }
}

/// Whether a copy in memory can have the format of the original: the format is written, and by the extension of the name.
pub(super) fn is_copied(origin: Origin<'_>) -> Result<bool, FileError> {
    let written = CloudFormat::of(origin.path());
    Ok(match (format_of(origin)?, written) {
        (Format::Obj | Format::Kitti, _) | (_, Err(_)) => false,
        (Format::Text(_), Ok(written)) => matches!(written, CloudFormat::Csv | CloudFormat::Xyz),
        _ => true,
    })
}

/// A copy in memory with moved points, in the same format; compressed if the original is.
pub(super) fn copy_memory(file: &MemoryFile, transform: &Similarity) -> Result<(Vec<u8>, Copied), FileError> {
    let origin = Origin::Memory(file);
    let format = format_of(origin)?;
    let label = crate::error::label(origin.path());
    let named = |fault: Fault| fault.in_file(&label);
    let mut out = Cursor::new(Vec::new());
    #[cfg(feature = "las")]
    if format == Format::Las {
        let copied = las::rewrite(origin, transform, is_laz(origin)?, &mut out).map_err(named)?;
        return Ok((out.into_inner(), copied));
    }
    let open = || origin.open().map_err(|error| io::Error::other(error).into());
    let points = copy(format, &open, transform, &mut out).map_err(named)?;
    Ok((out.into_inner(), Copied { points, lost: Vec::new() }))
}

/// The format of the file at `path`.
pub(super) fn format(path: &Path) -> Result<Format, FileError> {
    format_of(Origin::Disk(path))
}

fn format_of(origin: Origin<'_>) -> Result<Format, FileError> {
    let Source { mut reader, label, .. } = origin.open()?;
    let start = reader.fill_buf().map_err(|error| Fault::from(error).in_file(&label))?;
    Ok(Format::signed(start).unwrap_or_else(|| Format::named(origin.path())))
}

/// Whether the points of a LAS file are compressed.
fn is_laz(origin: Origin<'_>) -> Result<bool, FileError> {
    /// Place of the format of the points in the header.
    const FORMAT: usize = 104;
    let Source { reader, label, .. } = origin.open()?;
    let mut start = Vec::with_capacity(FORMAT + 1);
    let read = reader.take(FORMAT as u64 + 1).read_to_end(&mut start);
    read.map_err(|error| Fault::from(error).in_file(&label))?;
    Ok(start.get(FORMAT).is_some_and(|format| format & 0x80 != 0))
}

/// Copies a file as it is, once its points have been read without an error.
fn copy_bytes(input: &Path, output: &OutputFile) -> Result<u64, FileError> {
    let points = super::read_points(input)?.len() as u64;
    let mut source = Source::open(input)?;
    output.write(|out| io::copy(&mut source.reader, out).map(|_| ()))?;
    Ok(points)
}

/// An output that keeps its first error, so that it is not taken for one of the input.
struct Noted<'a> {
    out: &'a mut dyn Write,
    failed: Option<io::Error>,
}

impl Write for Noted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.out.write(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let kind = error.kind();
                self.failed.get_or_insert(error);
                Err(kind.into())
            }
            result => result,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
