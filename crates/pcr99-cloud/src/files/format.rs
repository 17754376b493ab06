//! Format of a cloud: by its first bytes where they have a signature, otherwise by the extension.

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
    /// Format by the extension, in any case; text when it is unknown.
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

    /// Format by the first bytes of a file, where formats have a signature. A file with the extension of another format is
    /// read by its signature: extensions are wrong more often.
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
