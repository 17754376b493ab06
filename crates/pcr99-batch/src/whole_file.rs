//! Files that are on the disk completely, or not there at all.

use std::{io::Write, path::PathBuf};

use pcr99_base::output_file::PendingFile;
pub(crate) use pcr99_base::output_file::is_unfinished;

use crate::error::Error;

/// A file that is being written; it gets its name when all of it is on the disk.
#[derive(Debug)]
pub(crate) struct WholeFile(PendingFile);

impl WholeFile {
    pub(crate) fn new(path: PathBuf) -> Result<Self, Error> {
        PendingFile::new(path.clone()).map(Self).map_err(Error::io("write", &path))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.write_all(bytes).map_err(|cause| Error::io("write", self.0.path())(cause))
    }

    /// Gives the file its name, when all of it is on the disk.
    pub(crate) fn finish(self) -> Result<PathBuf, Error> {
        let path = self.0.path().to_owned();
        self.0.finish_durably().map_err(Error::io("write", &path))?;
        Ok(path)
    }
}
