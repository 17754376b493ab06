//! Which format a cloud is in: by its first bytes where they tell, else by the extension.

use std::path::Path;

use super::guess::Habit;

/// A format of clouds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Ply,
    Pcd,
    Las,
    E57,
    Npy,
    Obj,
    Kitti,
    Text(Habit),
}

impl Format {
    /// By the extension, of any case; text for all that is not known.
    pub(super) fn named(path: &Path) -> Self {
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        match extension.as_deref().and_then(|extension| extension.to_str()) {
            Some("ply") => Self::Ply,
            Some("pcd") => Self::Pcd,
            Some("las" | "laz") => Self::Las,
            Some("e57") => Self::E57,
            Some("npy") => Self::Npy,
            Some("obj") => Self::Obj,
            Some("bin") => Self::Kitti,
            Some("pts") => Self::Text(Habit::Pts),
            _ => Self::Text(Habit::Usual),
        }
    }

    /// By the first bytes of a file, for formats that begin with a signature. A file under the name of another format is
    /// read as what it is: names go wrong more often than signatures.
    pub(super) fn signed(start: &[u8]) -> Option<Self> {
        let signatures: [(&[u8], Self); 8] = [
            (b"ply\n", Self::Ply),
            (b"ply\r", Self::Ply),
            (b"# .PCD", Self::Pcd),
            (b"#.PCD", Self::Pcd),
            (b"LASF", Self::Las),
            (b"ASTM-E57", Self::E57),
            (b"\x93NUMPY", Self::Npy),
            (b"VERSION .", Self::Pcd),
        ];
        signatures.iter().find(|(magic, _)| start.starts_with(magic)).map(|&(_, format)| format)
    }
}
