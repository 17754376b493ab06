//! Files that appear under their name whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{FileError, label};

/// A place for a file to be written, checked before any work is done for it.
///
/// The bytes go to a temporary file beside it, which takes the name when it is complete. Permissions are those of the file
/// that is replaced, or of any new one; of a link, what it points to is replaced. A pipe or a device is written as it is.
#[derive(Debug)]
pub struct OutputFile {
    /// As messages call it.
    label: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A regular file, there already or not, without links in its path.
    File(PathBuf),
    /// Can only be written as it is, never be replaced.
    Stream(PathBuf),
}

impl OutputFile {
    /// Checks that a file can be written at `path`.
    ///
    /// # Errors
    /// When it is a directory, when the directory is missing, and when nothing can be created there.
    pub fn new(path: &Path) -> Result<Self, FileError> {
        let label = label(path);
        if path.is_dir() {
            return Err(FileError::OutputIsDirectory { file: label });
        }
        if path.exists() && !path.is_file() {
            return Ok(Self { label, place: Place::Stream(path.to_path_buf()) });
        }
        let directory = directory_of(path);
        if !directory.is_dir() {
            return Err(FileError::NoDirectory { file: label, directory: crate::error::label(directory) });
        }
        let failed = |cause| FileError::Write { file: label.clone(), cause };
        // What a link points to is replaced, not the link.
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(_) => directory.canonicalize().map_err(failed)?.join(path.file_name().unwrap_or_default()),
        };
        // Not after hours of work.
        temporary_beside(&path).map_err(failed)?;
        Ok(Self { label, place: Place::File(path) })
    }

    /// Whether both are one file.
    pub fn is_same_file(&self, other: &Self) -> bool {
        matches!((&self.place, &other.place), (Place::File(a), Place::File(b)) if a == b)
    }

    /// Writes what `document` puts out.
    ///
    /// # Errors
    /// When `document` or the operating system fails; the file is then as it was before.
    pub fn write(&self, document: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), FileError> {
        self.try_write(document).map_err(|cause| FileError::Write { file: self.label.clone(), cause })
    }

    fn try_write(&self, document: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match &self.place {
            Place::Stream(path) => {
                let mut out = BufWriter::new(File::options().write(true).open(path)?);
                match document(&mut out).and_then(|()| out.flush()) {
                    // Whoever reads has seen enough.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    result => result,
                }
            }
            Place::File(path) => {
                let mut file = temporary_beside(path)?;
                let mut out = BufWriter::with_capacity(super::BUFFER, &mut file);
                document(&mut out).and_then(|()| out.flush())?;
                drop(out);
                file.persist(path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A temporary file that, unlike most, has the permissions of the file it replaces or of any new one.
fn temporary_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pcr99-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::{fs::Permissions, os::unix::fs::PermissionsExt};
        let replaced = path.metadata().map(|file| file.permissions());
        builder.permissions(replaced.unwrap_or_else(|_| Permissions::from_mode(0o666)));
    }
    builder.tempfile_in(directory_of(path))
}
