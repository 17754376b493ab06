//! Files that appear under their name when they are complete, or not at all.
//!
//! All bytes go to a temporary file in the same directory, which is renamed at the end. A reader never sees half a file. A program that is killed
//! leaves at most a temporary file, which the next [`OutputFile`] in that directory removes: the file is locked while it is written, so a file
//! that nobody holds is one that nobody will finish.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::NamedTempFile;

use crate::text::is_direction_mark;

/// Start of the name of a temporary file.
const PREFIX: &str = ".unfinished-";
/// End of the name of a temporary file.
const SUFFIX: &str = ".tmp";
/// Age of a temporary file below which it is not removed: its process may not have locked it yet.
const YOUNGEST: Duration = Duration::from_secs(60);
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
    /// The path is that of a pipe or a device, but the writer must go back in the file.
    #[error("cannot write {file}: it is a pipe or a device; name a file on a disk")]
    Stream {
        /// The path of the file, quoted.
        file: String,
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
        remove_stale(directory_of(&path));
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

    /// Writes a file with `document`, which may go back in it.
    ///
    /// # Errors
    /// Those of `document`. When the path is a pipe or a device, and when the operating system refuses; the file is then as it was before.
    pub fn write_seekable<T, E: From<OutputError>>(
        &self,
        document: impl FnOnce(&mut PendingFile) -> Result<T, E>,
    ) -> Result<T, E> {
        let failed = |cause| OutputError::Write { file: self.label.clone(), cause };
        let Place::File(path) = &self.place else {
            return Err(OutputError::Stream { file: self.label.clone() }.into());
        };
        let mut file = PendingFile::new(path.clone()).map_err(failed)?;
        match (document(&mut file), file.failed.take()) {
            (_, Some(cause)) => Err(failed(cause).into()),
            (Err(error), None) => Err(error),
            (Ok(value), None) => file.finish().map(|()| value).map_err(|cause| failed(cause).into()),
        }
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
    /// The first error of the operating system.
    failed: Option<io::Error>,
}

impl PendingFile {
    /// Begins a file that will be named `path`. A link at `path` is replaced by the file.
    ///
    /// # Errors
    /// When no file can be created in the directory of `path`.
    pub fn new(path: PathBuf) -> io::Result<Self> {
        let file = temporary_beside(&path)?;
        Ok(Self { out: BufWriter::with_capacity(BUFFER, file), path, failed: None })
    }

    /// Keeps a copy of the first error: writers in other libraries pass on their own.
    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let (Err(error), None) = (&result, &self.failed) {
            let copy = match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            };
            self.failed = (error.kind() != io::ErrorKind::Interrupted).then_some(copy);
        }
        result
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
        let written = self.out.write(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.noted(flushed)
    }
}

/// Writers of some formats read again what they have written.
impl Read for PendingFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.out.flush().and_then(|()| self.out.get_mut().read(bytes));
        self.noted(read)
    }
}

impl Seek for PendingFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let place = self.out.seek(position);
        self.noted(place)
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
    let escape = |c: char| -> String {
        if c.is_control() || is_direction_mark(c) { c.escape_default().collect() } else { c.to_string() }
    };
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
    let file = builder.tempfile_in(directory_of(path))?;
    // Where there are no locks, stale files stay.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Removes temporary files of killed processes from a directory. What cannot be removed stays.
fn remove_stale(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let is_old = || {
            entry
                .metadata()
                .and_then(|file| file.modified())
                .is_ok_and(|time| time.elapsed().is_ok_and(|age| age >= YOUNGEST))
        };
        if is_unfinished(&entry.file_name().to_string_lossy())
            && is_old()
            && File::options().write(true).open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("a directory");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_when_it_is_complete() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("result.txt");
        fs::write(&path, "old").expect("a file");
        let file = OutputFile::new(&path).expect("a place");
        let written = file.write(|out| {
            out.write_all(b"new")?;
            assert_eq!(fs::read_to_string(&path).expect("the file"), "old");
            assert!(names(place.path()).iter().any(|name| is_unfinished(name)));
            Ok(())
        });
        written.expect("written");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "new");
        assert_eq!(names(place.path()), ["result.txt"]);
    }

    #[test]
    fn an_error_leaves_the_file_as_it_was() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("result.txt");
        fs::write(&path, "old").expect("a file");
        let failed = OutputFile::new(&path).expect("a place").write(|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.expect_err("an error").to_string().ends_with("result.txt`: no more"));
        drop(PendingFile::new(place.path().join("other.txt")).expect("a file"));
        assert_eq!(fs::read_to_string(&path).expect("the file"), "old");
        assert_eq!(names(place.path()), ["result.txt"]);
    }

    #[test]
    fn a_file_can_be_written_out_of_order() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("points.laz");
        let file = OutputFile::new(&path).expect("a place");
        let wrote = file.write_seekable(|out| {
            out.write_all(b"....end").and_then(|()| out.seek(SeekFrom::Start(0))).expect("bytes");
            out.write_all(b"head").expect("bytes");
            Ok::<_, OutputError>(7)
        });
        assert_eq!(wrote.expect("a file"), 7);
        assert_eq!(fs::read_to_string(&path).expect("the file"), "headend");
        let failed = file.write_seekable(|out| {
            out.write_all(b"half").expect("bytes");
            out.failed = Some(io::Error::other("no more"));
            Ok::<_, OutputError>(())
        });
        assert!(failed.expect_err("an error").to_string().ends_with("points.laz`: no more"));
        assert_eq!(fs::read_to_string(&path).expect("the file"), "headend");
        assert_eq!(names(place.path()), ["points.laz"]);
    }

    #[test]
    fn a_durable_file_has_all_its_bytes() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("part.jsonl");
        let mut file = PendingFile::new(path.clone()).expect("a file");
        for _ in 0..100_000 {
            file.write_all(b"line\n").expect("written");
        }
        assert!(!path.exists());
        file.finish_durably().expect("finished");
        assert_eq!(fs::metadata(&path).expect("the file").len(), 500_000);
        assert_eq!(names(place.path()), ["part.jsonl"]);
    }

    #[test]
    fn files_of_killed_processes_are_removed_and_those_of_others_are_not() {
        let place = tempfile::tempdir().expect("a directory");
        let old = std::time::SystemTime::now() - 2 * YOUNGEST;
        let make = |name: &str| {
            let file = File::create(place.path().join(name)).expect("a file");
            file.set_modified(old).expect("a time");
            file
        };
        drop(make(".unfinished-killed.tmp"));
        let held = make(".unfinished-held.tmp");
        held.lock().expect("a lock");
        drop(make("mine.tmp"));
        fs::write(place.path().join(".unfinished-young.tmp"), "").expect("a file");
        // One that is being written holds its lock.
        let pending = PendingFile::new(place.path().join("slow.txt")).expect("a file");
        pending.out.get_ref().as_file().set_modified(old).expect("a time");
        let mut kept = names(place.path());
        kept.retain(|name| name != ".unfinished-killed.tmp");
        OutputFile::new(&place.path().join("result.txt")).expect("a place");
        assert_eq!(names(place.path()), kept);
        pending.finish().expect("finished");
    }

    #[test]
    fn places_without_room_for_a_file_are_named() {
        let place = tempfile::tempdir().expect("a directory");
        let error = OutputFile::new(place.path()).expect_err("a directory");
        assert!(error.to_string().ends_with("it is a directory; name a file inside it"), "{error}");
        let error = OutputFile::new(&place.path().join("no\nsuch/file")).expect_err("no directory");
        assert!(error.to_string().contains("there is no directory `"), "{error}");
        assert!(error.to_string().contains("no\\nsuch`; create it first"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let place = tempfile::tempdir().expect("a directory");
        let [file, link] = ["file", "link"].map(|name| place.path().join(name));
        fs::write(&file, "old").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("permissions");
        symlink(&file, &link).expect("a link");
        let output = OutputFile::new(&link).expect("a place");
        assert!(output.is_same_file(&OutputFile::new(&file).expect("a place")));
        output.write(|out| out.write_all(b"new")).expect("written");
        assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
        assert_eq!(fs::read_to_string(&file).expect("the file"), "new");
        assert_eq!(fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_directly() {
        let null = OutputFile::new(Path::new("/dev/null")).expect("a device");
        null.write(|out| out.write_all(b"gone")).expect("written");
        let refused = null.write_seekable(|_| Ok::<_, OutputError>(())).expect_err("no file");
        assert!(refused.to_string().ends_with("it is a pipe or a device; name a file on a disk"));
        assert!(!null.is_same_file(&OutputFile::new(Path::new("/dev/null")).expect("a device")));
    }
}
