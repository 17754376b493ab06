//! Where the bytes of a file come from: a disk, or memory.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::has_extension;
use super::memory::MemoryFile;
use crate::error::{FileError, label};

/// Largest size of the read buffer, in bytes.
const BUFFER: usize = 128 * 1024;

/// Smallest size of the read buffer, in bytes.
const SMALL_BUFFER: usize = 4 * 1024;

/// A file to open, once or several times.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    Disk(&'a Path),
    Memory(&'a MemoryFile),
}

impl<'a> Origin<'a> {
    /// The path, or the name of a file in memory. Its extension names the format.
    pub(super) fn path(self) -> &'a Path {
        match self {
            Self::Disk(path) => path,
            Self::Memory(file) => Path::new(file.name()),
        }
    }

    /// Opens the file.
    pub(super) fn open(self) -> Result<Source, FileError> {
        match self {
            Self::Disk(path) => Source::open(path),
            Self::Memory(file) => Ok(Source::of_memory(file)),
        }
    }
}

/// The bytes of a source, buffered.
pub(super) type Reader = BufReader<Content>;

/// The bytes of a source.
#[derive(Debug)]
pub(super) enum Content {
    Disk(File),
    Memory(Cursor<Shared>),
}

/// Bytes that several readers share.
#[derive(Debug, Clone)]
pub(super) struct Shared(pub(super) Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Disk(file) => file.read(buffer),
            Self::Memory(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for Content {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Disk(file) => file.seek(position),
            Self::Memory(bytes) => bytes.seek(position),
        }
    }
}

/// A file opened for reading.
pub(super) struct Source {
    /// The bytes, from the beginning.
    pub(super) reader: Reader,
    /// Size in bytes; `None` for pipes and devices.
    pub(super) size: Option<u64>,
    /// Name in messages.
    pub(super) label: String,
    /// The chosen scan of an E57 file, from 0.
    pub(super) scan: Option<usize>,
}

impl Source {
    /// Opens the file at `path`.
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let label = label(path);
        let chosen = chosen_scan(path);
        let (path, scan) = chosen.as_ref().map_or((path, None), |(path, scan)| (path.as_path(), Some(*scan)));
        let failed = |cause| FileError::Io { file: label.clone(), cause };
        let file = File::open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if meta.is_dir() {
            return Err(FileError::Directory { file: label });
        }
        let size = meta.is_file().then_some(meta.len());
        Ok(Self { reader: buffered(Content::Disk(file), size), size, label, scan })
    }

    fn of_memory(file: &MemoryFile) -> Self {
        let size = Some(file.bytes().len() as u64);
        let content = Content::Memory(Cursor::new(file.shared()));
        let label = label(Path::new(file.name()));
        Self { reader: buffered(content, size), size, label, scan: None }
    }
}

/// A small file needs no large buffer, which would take longer than the file when many are read.
fn buffered(content: Content, size: Option<u64>) -> Reader {
    let capacity = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(BUFFER);
    BufReader::with_capacity(capacity.clamp(SMALL_BUFFER, BUFFER), content)
}

/// The file and the number of `scan.e57#2`, which names one scan of an E57 file, unless there is a file of that name.
pub(super) fn chosen_scan(path: &Path) -> Option<(PathBuf, usize)> {
    let (file, number) = path.to_str()?.rsplit_once('#')?;
    let file = PathBuf::from(file);
    let is_plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (has_extension(&file, "e57") && is_plain && !path.exists())
        .then(|| number.parse().ok())?
        .map(|number| (file, number))
}
