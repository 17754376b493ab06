//! Files that are on the disk whole, or not there at all.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::error::Error;

const PREFIX: &str = ".unfinished-";
const SUFFIX: &str = ".tmp";

/// A file in the making, under a name of its own in the same directory.
#[derive(Debug)]
pub(crate) struct WholeFile {
    out: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl WholeFile {
    pub(crate) fn new(path: PathBuf) -> Result<Self, Error> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::{fs::Permissions, os::unix::fs::PermissionsExt};
            // Those of any new file, not of a temporary one.
            builder.permissions(Permissions::from_mode(0o666));
        }
        let file = builder
            .tempfile_in(path.parent().unwrap_or(Path::new(".")))
            .map_err(Error::io("write", &path))?;
        Ok(Self { out: BufWriter::with_capacity(1 << 17, file), path })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes).map_err(Error::io("write", &self.path))
    }

    /// Gives it its name, when all of it is on the disk.
    pub(crate) fn finish(self) -> Result<PathBuf, Error> {
        let Self { out, path } = self;
        let named = || -> io::Result<()> {
            let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        named().map_err(Error::io("write", &path))?;
        // The name too must outlive a power failure; not every system lets a directory be synchronised.
        if let Some(directory) = path.parent().and_then(|directory| File::open(directory).ok()) {
            let _ = directory.sync_all();
        }
        Ok(path)
    }
}

/// Whether a file of that name is what a process that was killed left behind.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}
