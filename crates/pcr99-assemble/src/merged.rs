//! The merged clouds: one file for each component.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    str::FromStr,
};

use pcr99_cloud::{Attribute, Cloud, CloudFormat, read_cloud, write_cloud};
use pcr99_document::AssemblyDocument;
use pcr99_plan::text;

use crate::{Error, prepare::ScanRecord};

/// What is written of the merged clouds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Merge {
    /// One point for each voxel, with the voxel of the registrations.
    #[default]
    Auto,
    /// One point for each voxel with this edge, in units of the map.
    Voxel(f64),
    /// All points.
    All,
    /// Nothing.
    Nothing,
}

impl FromStr for Merge {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let voxel = || text::number(text).ok().filter(|voxel| voxel.is_finite() && *voxel > 0.0);
        match text {
            "auto" => Ok(Self::Auto),
            "all" => Ok(Self::All),
            "none" => Ok(Self::Nothing),
            _ => {
                voxel().map(Self::Voxel).ok_or("expected `auto`, `all`, `none` or a positive edge of a voxel")
            }
        }
    }
}

/// Name of the merged cloud of a component.
pub fn merged_name(component: usize, components: usize, extension: &str) -> String {
    if components == 1 { format!("merged.{extension}") } else { format!("merged-{component}.{extension}") }
}

/// Writes the merged cloud of each component. `voxels` are those of the registrations. Returns the files.
pub(crate) fn write_merged(
    directory: &Path,
    document: &AssemblyDocument,
    records: &[ScanRecord],
    voxels: &[f64],
    merge: Merge,
    extension: &str,
) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    if merge == Merge::Nothing {
        return Ok(files);
    }
    for (number, usual) in voxels.iter().enumerate().take(document.components.len()) {
        let path = directory.join(merged_name(number, document.components.len(), extension));
        CloudFormat::of(&path)?;
        let voxel = match merge {
            Merge::Voxel(voxel) => Some(voxel),
            Merge::All => None,
            _ => Some(*usual),
        };
        let mut merged = Merged::new(voxel);
        for (record, scan) in records.iter().zip(&document.scans) {
            if scan.component == Some(number)
                && scan.same_as.is_none()
                && let Some(pose) = scan.map_from_scan()
            {
                merged.add(read_cloud(&record.file())?.moved(&pose));
            }
        }
        write_cloud(&path, &merged.cloud)?;
        files.push(path);
    }
    Ok(files)
}

/// A cloud that grows. It has the attributes that all of its parts have.
struct Merged {
    voxel: Option<f64>,
    taken: HashSet<[i64; 3]>,
    cloud: Cloud,
    is_empty: bool,
}

impl Merged {
    fn new(voxel: Option<f64>) -> Self {
        Self { voxel, taken: HashSet::new(), cloud: Cloud::default(), is_empty: true }
    }

    fn add(&mut self, part: Cloud) {
        let part = part.without_missing().0;
        let has = |attribute| self.is_empty || self.cloud.attributes().contains(&attribute);
        let parts = part.attributes();
        let both = [Attribute::Normals, Attribute::Colors, Attribute::Intensities]
            .map(|attribute| has(attribute) && parts.contains(&attribute));
        self.is_empty = false;
        let cell = |p: [f64; 3], voxel: f64| p.map(|x| (x / voxel).floor() as i64);
        let is_new = |p: &[f64; 3]| self.voxel.is_none_or(|voxel| self.taken.insert(cell(*p, voxel)));
        let kept: Vec<usize> =
            part.points.iter().map(is_new).enumerate().filter(|(_, new)| *new).map(|(k, _)| k).collect();
        self.cloud.points.extend(kept.iter().map(|&k| part.points[k]));
        extend(&mut self.cloud.normals, part.normals.as_deref(), &kept, both[0]);
        extend(&mut self.cloud.colors, part.colors.as_deref(), &kept, both[1]);
        extend(&mut self.cloud.intensities, part.intensities.as_deref(), &kept, both[2]);
    }
}

fn extend<T: Copy>(list: &mut Option<Vec<T>>, part: Option<&[T]>, kept: &[usize], both: bool) {
    match part.filter(|_| both) {
        Some(part) => list.get_or_insert_default().extend(kept.iter().map(|&k| part[k])),
        None => *list = None,
    }
}
