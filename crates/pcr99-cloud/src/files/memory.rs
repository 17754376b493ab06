//! Files in memory, for programs without a disk such as pages in a browser.

use std::path::Path;
use std::sync::Arc;

use pcr99::Similarity;

use super::clouds;
use super::copied::{self, Copied};
use super::fields::Want;
use super::matches::{self, Matches};
use super::source::{Origin, Shared};
use crate::cloud::Cloud;
use crate::error::FileError;

/// A file in memory: its name, whose extension names the format, and its bytes. Copies share the bytes.
///
/// ```
/// use pcr99_cloud::MemoryFile;
///
/// let file = MemoryFile::new("scan.xyz", b"0 0 0\n1 0 0\n0 2 0\n".to_vec());
/// assert_eq!(file.read_cloud()?.points.len(), 3);
/// let error = MemoryFile::new("scan.xyz", b"0 0\n".to_vec()).read_cloud().unwrap_err();
/// assert!(error.to_string().starts_with("`scan.xyz`"), "{error}");
/// # Ok::<(), pcr99_cloud::FileError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemoryFile {
    name: String,
    bytes: Shared,
}

impl MemoryFile {
    /// A file of this name with these bytes.
    pub fn new(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), bytes: Shared(Arc::new(bytes)) }
    }

    /// The name, as messages give it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    pub(super) fn shared(&self) -> Shared {
        self.bytes.clone()
    }

    /// Reads the cloud with all attributes; otherwise as [`read_cloud`](super::read_cloud).
    ///
    /// # Errors
    /// As [`read_cloud`](super::read_cloud).
    pub fn read_cloud(&self) -> Result<Cloud, FileError> {
        clouds::read(Origin::Memory(self), Want::Everything)
    }

    /// Reads matches; otherwise as [`read_matches`](super::read_matches).
    ///
    /// # Errors
    /// As [`read_matches`](super::read_matches).
    pub fn read_matches(&self) -> Result<Matches, FileError> {
        matches::read(Origin::Memory(self))
    }

    /// A copy with its points moved by `transform`, and all else as in the original: see [`copy_cloud`](super::copy_cloud).
    ///
    /// A format that is read only, such as OBJ, becomes PLY with the attributes of a [`Cloud`], and so does a text table in a format that is not written.
    ///
    /// # Errors
    /// When the file is malformed, and when its format cannot hold the moved points.
    pub fn moved(&self, transform: &Similarity) -> Result<(Self, Copied), FileError> {
        if copied::is_copied(Origin::Memory(self))? {
            let (bytes, copied) = copied::copy_memory(self, transform)?;
            return Ok((Self::new(&self.name, bytes), copied));
        }
        let cloud = self.read_cloud()?.moved(transform);
        let name = Path::new(&self.name).with_extension("ply").to_string_lossy().into_owned();
        let copied = Copied { points: cloud.len() as u64, lost: Vec::new() };
        Ok((Self::new(&name, clouds::ply_bytes(&cloud, &name)?), copied))
    }
}
