//! Files that appear under their name when they are complete, or not at all.
//!
//! All bytes go to a temporary file in the same directory, which is renamed at the end. A reader never sees half a file, and a program that
//! is killed leaves at most a temporary file, which [`is_unfinished`] recognises.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Start of the name of a temporary file.
const PREFIX: &str = ".unfinished-";
/// End of the name of a temporary file.
const SUFFIX: &str = ".tmp";
/// Size of the write buffer in bytes: large enough that a system call per buffer costs nothing beside the copying.
const BUFFER: usize = 128 * 1024;

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The path is that of a directory.
    #[error("cannot write {file}: it is a directory; name a file inside it")]
    IsDirectory {
        /// The path, quoted.
        file: String,
    },
    /// The directory of the file does not exist.
    #[error("cannot write {file}: there is no directory {directory}; create it first")]
    NoDirectory {
        /// The path of the file, quoted.
        file: String,
        /// The path of the directory, quoted.
        directory: String,
    },
    /// The operating system refused.
    #[error("cannot write {file}: {cause}")]
    Write {
        /// The path of the file, quoted.
        file: String,
        /// The operating system's message.
        #[source]
        cause: io::Error,
    },
}

/// A place for an output file, checked before any work is done for it.
///
/// * The file is replaced in one step when it is complete; before that, and after an error, it is as it was.
/// * Its permissions are those of the file that is replaced, or of any new file.
/// * A symbolic link stays a link; the file that it points to is replaced.
/// * A pipe or a device cannot be replaced, so it is written directly.
#[derive(Debug)]
pub struct OutputFile {
    /// The path as the caller gave it, quoted for messages.
    label: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A regular file, existing or not, without links in its path.
    File(PathBuf),
    /// A pipe or a device.
    Stream(PathBuf),
}

impl OutputFile {
    /// Checks that a file can be written at `path`.
    ///
    /// # Errors
    /// When `path` is a directory, when its directory does not exist, and when no file can be created there.
    pub fn new(path: &Path) -> Result<Self, OutputError> {
        let label = quoted(path);
        if path.is_dir() {
            return Err(OutputError::IsDirectory { file: label });
        }
        if path.exists() && !path.is_file() {
            return Ok(Self { label, place: Place::Stream(path.to_path_buf()) });
        }
        let directory = directory_of(path);
        if !directory.is_dir() {
            return Err(OutputError::NoDirectory { file: label, directory: quoted(directory) });
        }
        let failed = |cause| OutputError::Write { file: label.clone(), cause };
        // The target of a link is replaced, not the link.
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(_) => directory.canonicalize().map_err(failed)?.join(path.file_name().unwrap_or_default()),
        };
        // A directory that takes no file should be found now, not after hours of work.
        temporary_beside(&path).map_err(failed)?;
        Ok(Self { label, place: Place::File(path) })
    }

    /// Whether both are the same file.
    pub fn is_same_file(&self, other: &Self) -> bool {
        matches!((&self.place, &other.place), (Place::File(a), Place::File(b)) if a == b)
    }

    /// Writes the bytes that `document` produces.
    ///
    /// # Errors
    /// When `document` or the operating system fails; the file is then as it was before.
    pub fn write(&self, document: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), OutputError> {
        self.try_write(document).map_err(|cause| OutputError::Write { file: self.label.clone(), cause })
    }

    fn try_write(&self, document: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match &self.place {
            Place::Stream(path) => {
                let mut out = BufWriter::new(File::options().write(true).open(path)?);
                match document(&mut out).and_then(|()| out.flush()) {
                    // The reader has closed the pipe: it has read what it needs.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    result => result,
                }
            }
            Place::File(path) => {
                let mut file = PendingFile::new(path.clone())?;
                document(&mut file)?;
                file.finish()
            }
        }
    }
}

/// A file that is being written under a temporary name; dropping it removes it.
///
/// It is meant for files that grow piece by piece. [`OutputFile::write`] is simpler where one closure writes everything.
#[derive(Debug)]
pub struct PendingFile {
    out: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl PendingFile {
    /// Begins a file that will be named `path`. A link at `path` is replaced by the file.
    ///
    /// # Errors
    /// When no file can be created in the directory of `path`.
    pub fn new(path: PathBuf) -> io::Result<Self> {
        let file = temporary_beside(&path)?;
        Ok(Self { out: BufWriter::with_capacity(BUFFER, file), path })
    }

    /// The name that the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When the last bytes cannot be written or the file cannot be renamed.
    pub fn finish(self) -> io::Result<()> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Gives the file its name after all bytes have reached the disk, so that it survives a power failure.
    ///
    /// # Errors
    /// When the last bytes cannot be written or synchronised, or the file cannot be renamed.
    pub fn finish_durably(self) -> io::Result<()> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        // The directory entry must reach the disk, too. Not every system can synchronise a directory, so an error is ignored.
        if let Ok(directory) = File::open(directory_of(&self.path)) {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Whether a file name is that of a temporary file, which a killed process leaves behind.
///
/// ```
/// assert!(pcr99_base::output_file::is_unfinished(".unfinished-Xy7.tmp"));
/// assert!(!pcr99_base::output_file::is_unfinished("results.csv"));
/// ```
pub fn is_unfinished(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// A path for use in a message: on one line, in backticks.
pub fn quoted(path: &Path) -> String {
    let shown = path.display().to_string();
    let escape =
        |c: char| -> String { if c.is_control() { c.escape_default().collect() } else { c.to_string() } };
    format!("`{}`", shown.chars().map(escape).collect::<String>())
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A temporary file with the permissions of the file that it replaces, or of any new file. Temporary files are otherwise private to their owner.
fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::{fs::Permissions, os::unix::fs::PermissionsExt};
        let replaced = path.metadata().map(|file| file.permissions());
        builder.permissions(replaced.unwrap_or_else(|_| Permissions::from_mode(0o666)));
    }
    builder.tempfile_in(directory_of(path))
}
