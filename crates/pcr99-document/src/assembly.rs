//! The document of an assembly: many scans, their poses, and the edges between them.

use pcr99::Similarity;
use serde::{Deserialize, Serialize};

use crate::{DoubtCode, Error, Matrix, log10, required};

/// Version of the document of an assembly.
pub const ASSEMBLY_SCHEMA: u32 = 1;

/// Many scans assembled to maps, one for each component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssemblyDocument {
    /// Version of this format, [`ASSEMBLY_SCHEMA`].
    pub schema: u32,
    /// Name and version of the program that wrote the document.
    pub program: String,
    /// The word `assembly`.
    pub kind: String,
    /// All scans, in the order in which they were given.
    pub scans: Vec<AssembledScan>,
    /// Scans that belong together, the largest component first. Scans that are alone are in none.
    pub components: Vec<Component>,
    /// Pairs that were tried, and what became of them.
    pub edges: Vec<AssemblyEdge>,
    /// Control points and positions of scans; empty without any.
    pub known_places: Vec<KnownPlaceResult>,
}

/// Whether a scan has a place in a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScanStatus {
    /// It has a pose in a component with other scans.
    Placed,
    /// No pair with another scan is admitted.
    Alone,
    /// It cannot be read or used.
    Failed,
}

impl ScanStatus {
    /// The word in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::Alone => "alone",
            Self::Failed => "failed",
        }
    }
}

/// A scan of an assembly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssembledScan {
    /// The file, as it was given.
    pub name: String,
    /// Whether it has a place in a map.
    pub status: ScanStatus,
    /// One sentence that explains the status.
    pub reason: String,
    /// Number of points; null for a scan that failed.
    #[serde(deserialize_with = "required")]
    pub points: Option<usize>,
    /// Number of its component, from 0; null for a scan that is not placed.
    #[serde(deserialize_with = "required")]
    pub component: Option<usize>,
    /// The transform from the scan to the map of its component, as a 4×4 matrix; null for a scan that is not placed.
    #[serde(deserialize_with = "required")]
    pub transform: Option<Matrix>,
    /// Scale of the transform.
    #[serde(deserialize_with = "required")]
    pub scale: Option<f64>,
    /// How accurate the pose is, relative to the held scan of the component; null for that scan and for scans that are not placed.
    #[serde(deserialize_with = "required")]
    pub accuracy: Option<PoseAccuracy>,
    /// Number of admitted edges.
    pub edges: usize,
    /// Name of an earlier scan with the same points; null without one.
    #[serde(deserialize_with = "required")]
    pub same_as: Option<String>,
    /// A remark, for instance that the units of the scan may be others; null without one.
    #[serde(deserialize_with = "required")]
    pub note: Option<String>,
}

impl AssembledScan {
    /// The transform from the scan to the map of its component.
    pub fn map_from_scan(&self) -> Option<Similarity> {
        Similarity::from_matrix(self.transform.as_ref()?).ok()
    }
}

/// How accurate the pose of a scan is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PoseAccuracy {
    /// In 95 of 100 cases, the middle of the scan is off by no more along the direction that is determined least, in units of the map.
    pub translation: f64,
    /// In 95 of 100 cases, the rotation is off by no more about the axis that is determined least, in degrees.
    pub rotation_deg: f64,
    /// In 95 of 100 cases, the scale is off by no more, relatively; null where it was known.
    #[serde(deserialize_with = "required")]
    pub scale: Option<f64>,
}

/// Scans that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// Number of scans.
    pub scans: usize,
    /// Name of the held scan: its coordinates are those of the map.
    pub held: String,
    /// Number of admitted edges.
    pub edges: usize,
    /// Loop errors before the joint optimisation: distance by which the points of a scan are off, root mean square, in units of the map, around the loop that each edge
    /// closes. Null without loops.
    #[serde(deserialize_with = "required")]
    pub loops_before: Option<LoopErrors>,
    /// The same for each edge after the joint optimisation.
    #[serde(deserialize_with = "required")]
    pub loops_after: Option<LoopErrors>,
    /// Edges without which the component falls into two, the one with the least evidence first.
    pub bridges: Vec<[String; 2]>,
    /// How known places tie it to the world; null without known places in it. A component that is tied has the coordinates of the world.
    #[serde(deserialize_with = "required")]
    pub world: Option<WorldTie>,
}

/// How known places tie a map to the world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldTie {
    /// Whether they do.
    pub is_tied: bool,
    /// Number of known places in the map.
    pub places: usize,
    /// Number of those that were used; the others are gross errors.
    pub used: usize,
    /// Root mean square distance of the used places from where the map has them; null where nothing is tied.
    #[serde(deserialize_with = "required")]
    pub rmse: Option<f64>,
    /// One sentence that explains it.
    pub reason: String,
}

/// A control point, or the position of a scan, after maps were tied to the world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownPlaceResult {
    /// Its name.
    pub name: String,
    /// Name of the scan in whose coordinates it was measured; the held scan for coordinates of the map.
    pub scan: String,
    /// Its place in the world.
    pub world: [f64; 3],
    /// Standard deviation of each coordinate of the place.
    pub deviations: [f64; 3],
    /// Whether it was used. The others are gross errors, or belong to a map that is not tied.
    pub is_used: bool,
    /// Distance between its place and where the map has it; null where its map is not tied.
    #[serde(deserialize_with = "required")]
    pub distance: Option<f64>,
    /// The same in standard deviations of what the other places and the map lead one to expect; null where its map is not tied.
    #[serde(deserialize_with = "required")]
    pub normalized_residual: Option<f64>,
}

/// Errors around loops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoopErrors {
    /// Number of loops, or of edges.
    pub count: usize,
    /// Median error.
    pub median: f64,
    /// Largest error.
    pub largest: f64,
}

/// What became of a pair of scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EdgeVerdict {
    /// Registered alone, and in agreement with the others.
    Registered,
    /// Refused alone, but supported by cycles through other pairs.
    Supported,
    /// Found from the map: the pair overlaps there and fits.
    Found,
    /// The two scans have the same points.
    Identical,
    /// Registered alone, but contradicted by the other pairs.
    Contradicted,
    /// Registered alone, but in a conflict with other pairs that nothing settles.
    Contested,
    /// Not registered, and not supported by others.
    Refused,
    /// The pair could not be run.
    Failed,
}

impl EdgeVerdict {
    /// All verdicts.
    pub const ALL: [Self; 8] = [
        Self::Registered,
        Self::Supported,
        Self::Found,
        Self::Identical,
        Self::Contradicted,
        Self::Contested,
        Self::Refused,
        Self::Failed,
    ];

    /// The word in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Supported => "supported",
            Self::Found => "found",
            Self::Identical => "identical",
            Self::Contradicted => "contradicted",
            Self::Contested => "contested",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    /// Whether the edge is part of the map.
    pub const fn is_admitted(self) -> bool {
        matches!(self, Self::Registered | Self::Supported | Self::Found | Self::Identical)
    }
}

/// A pair of scans that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssemblyEdge {
    /// Place of the target among the scans.
    pub target: usize,
    /// Place of the source among the scans.
    pub source: usize,
    /// What became of the pair.
    pub verdict: EdgeVerdict,
    /// Why the pair alone was not registered; null when it was, and when it could not be run.
    #[serde(deserialize_with = "required")]
    pub doubt: Option<DoubtCode>,
    /// One sentence that explains the verdict.
    pub reason: String,
    /// Place of the admitted pose among the candidates of the pair, from 0; null for an edge that is not admitted, and for one that is none of them.
    #[serde(deserialize_with = "required")]
    pub candidate: Option<usize>,
    /// The transform from source to target of the pair alone; null without one.
    #[serde(deserialize_with = "required")]
    pub transform: Option<Matrix>,
    /// log₁₀ of the number of false alarms of its matches; null without matches.
    #[serde(with = "log10_option")]
    pub log10_nfa: Option<f64>,
    /// Overlap of the cloud that overlaps more; null without a transform.
    #[serde(deserialize_with = "required")]
    pub overlap: Option<f64>,
    /// Distance by which the transform of an admitted edge differs from the map: root mean square over the points of the source, in units of the map.
    #[serde(deserialize_with = "required")]
    pub residual: Option<f64>,
    /// Whether the component falls into two without it.
    pub is_bridge: bool,
}

/// Numbers that may be −∞, which JSON does not have: null, as without matches.
mod log10_option {
    use super::log10;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => log10::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Option::<f64>::deserialize(deserializer)
    }
}

impl AssemblyDocument {
    /// The document as JSON text, with a newline at the end.
    pub fn to_json(&self) -> String {
        // Objects, lists, texts and finite numbers: conversion cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads a document from JSON text.
    ///
    /// # Errors
    /// When the text is not JSON, when the document has another schema, and when a field is missing or wrong.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        crate::read::assembly(text)
    }

    /// Number of scans with this status.
    pub fn count(&self, status: ScanStatus) -> usize {
        self.scans.iter().filter(|scan| scan.status == status).count()
    }

    /// Whether all maps with known places are tied to the world.
    pub fn is_tied_where_asked(&self) -> bool {
        self.components.iter().filter_map(|component| component.world.as_ref()).all(|world| world.is_tied)
    }

    /// Whether all scans are in one map.
    pub fn is_one_map(&self) -> bool {
        self.components.len() == 1 && self.count(ScanStatus::Placed) == self.scans.len()
    }
}
