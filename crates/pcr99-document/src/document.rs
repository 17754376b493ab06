//! The document of a registration: from matches, or of two clouds.

use std::borrow::Cow;

use pcr99::{Similarity, Status, StopReason};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use crate::{
    Accuracy, CloudCandidate, CloudRival, Clouds, Counters, DoubtCode, EquivalentPose, Error, Evidence, Fit,
    FreeMotion, Inputs, Kind, MatchCandidate, MatchRival, Matrix, Place, Seconds, read, required, schema,
};

/// The result of one registration.
///
/// Field `kind` of the JSON object says which of the two it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(
    clippy::large_enum_variant,
    reason = "documents are few, and a box would be in the way of those who match on them"
)]
pub enum Document {
    /// Result of a registration from matches.
    Matches(MatchDocument),
    /// Result of a registration of two clouds.
    Clouds(CloudDocument),
}

/// The result of a registration from matches, kind `matches`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MatchDocument {
    /// Version of this format; 2.
    #[schemars(schema_with = "schema::number")]
    pub schema: u32,
    /// Name and version of the program that wrote the document.
    pub program: String,
    /// Kind of the input: `matches`.
    #[schemars(schema_with = "schema::matches")]
    pub kind: Kind,
    /// Files that were registered; null when the points did not come from files.
    #[serde(deserialize_with = "required")]
    pub inputs: Option<Inputs>,
    /// Name of the method.
    pub method: String,
    /// `registered`: the evidence confirms the transform. `not_reliable`: a transform was found, but not confirmed.
    /// `no_solution`: no transform was found.
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    /// Why the status is not `registered`, as a code; null when it is.
    #[serde(deserialize_with = "required")]
    pub doubt: Option<DoubtCode>,
    /// One sentence that explains the status.
    pub reason: String,
    /// The transform from source to target as a 4×4 matrix `[sR t; 0 1]`; null without a solution.
    #[serde(deserialize_with = "required")]
    pub transform: Option<Matrix>,
    /// Scale `s` of the transform: target units per source unit.
    #[serde(deserialize_with = "required")]
    pub scale: Option<f64>,
    /// Rotation `R` of the transform, 3×3, row by row.
    #[serde(deserialize_with = "required")]
    pub rotation: Option<[[f64; 3]; 3]>,
    /// Translation `t` of the transform, in target units.
    #[serde(deserialize_with = "required")]
    pub translation: Option<[f64; 3]>,
    /// Number of matches.
    pub correspondences: usize,
    /// Indices of the matches within the threshold, counted from 0, ascending.
    pub inliers: Vec<usize>,
    /// Inlier threshold: largest residual of an inlier, in target units.
    pub threshold: f64,
    /// Root mean square residual of the inliers, in target units; null without inliers.
    #[serde(deserialize_with = "required")]
    pub inlier_rmse: Option<f64>,
    /// How accurate the transform is; null without a solution.
    #[serde(deserialize_with = "required")]
    pub accuracy: Option<Accuracy>,
    /// Evidence for the transform; null without a solution.
    #[serde(deserialize_with = "required")]
    pub evidence: Option<Evidence>,
    /// Distinct transforms that matches support, best first. The first is the answer.
    pub candidates: Vec<MatchCandidate>,
    /// The strongest candidate that contradicts the answer; null without one.
    #[serde(deserialize_with = "required")]
    pub rival: Option<MatchRival>,
    /// Why the search ended.
    #[schemars(schema_with = "schema::stop_reason")]
    pub stopped_because: StopReason,
    /// Amount of work of the search.
    pub counters: Counters,
    /// Wall-clock seconds. Absent in the results of a batch, which are the same on every machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Seconds>,
}

/// The result of a registration of two clouds, kind `clouds`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CloudDocument {
    /// Version of this format; 2.
    #[schemars(schema_with = "schema::number")]
    pub schema: u32,
    /// Name and version of the program that wrote the document.
    pub program: String,
    /// Kind of the input: `clouds`.
    #[schemars(schema_with = "schema::clouds")]
    pub kind: Kind,
    /// Files that were registered; null when the points did not come from files.
    #[serde(deserialize_with = "required")]
    pub inputs: Option<Inputs>,
    /// Name of the method.
    pub method: String,
    /// `registered`: matches and clouds confirm the transform. `not_reliable`: a transform was found, but not confirmed.
    /// `no_solution`: no transform was found.
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    /// Why the status is not `registered`, as a code; null when it is.
    #[serde(deserialize_with = "required")]
    pub doubt: Option<DoubtCode>,
    /// One sentence that explains the status.
    pub reason: String,
    /// The transform from source to target as a 4×4 matrix `[sR t; 0 1]`; null without a solution.
    #[serde(deserialize_with = "required")]
    pub transform: Option<Matrix>,
    /// Scale `s` of the transform: target units per source unit.
    #[serde(deserialize_with = "required")]
    pub scale: Option<f64>,
    /// Rotation `R` of the transform, 3×3, row by row.
    #[serde(deserialize_with = "required")]
    pub rotation: Option<[[f64; 3]; 3]>,
    /// Translation `t` of the transform, in target units.
    #[serde(deserialize_with = "required")]
    pub translation: Option<[f64; 3]>,
    /// How well the clouds fit under the transform; null without a solution.
    #[serde(deserialize_with = "required")]
    pub fit: Option<Fit>,
    /// Root mean square distance of the overlapping source points from the tangent planes (or points) of the target, in target
    /// units; null without a solution.
    #[serde(deserialize_with = "required")]
    pub rmse: Option<f64>,
    /// How accurate the transform is; null without a solution.
    #[serde(deserialize_with = "required")]
    pub accuracy: Option<Accuracy>,
    /// Edge of a voxel, in target units.
    pub voxel: f64,
    /// Point counts of both clouds.
    pub clouds: Clouds,
    /// Number of matches between the clouds.
    pub correspondences: usize,
    /// Indices of the matches that the transform explains, counted from 0, ascending.
    pub inliers: Vec<usize>,
    /// Inlier threshold: largest residual of an inlier, in target units; null without matches.
    #[serde(deserialize_with = "required")]
    pub threshold: Option<f64>,
    /// Evidence of the matches for the transform; null without matches.
    #[serde(deserialize_with = "required")]
    pub evidence: Option<Evidence>,
    /// Transforms that were compared with the clouds, best first. The first is the answer.
    pub candidates: Vec<CloudCandidate>,
    /// Another transform that could not be refuted; null without one.
    #[serde(deserialize_with = "required")]
    pub rival: Option<CloudRival>,
    /// Transforms that fit equally well, the answer first, when the doubt is `ambiguous`; otherwise empty. Those to which a free motion leads are
    /// not listed again.
    pub poses: Vec<EquivalentPose>,
    /// Motions after which the clouds fit as well by any amount. Empty unless the doubt is `ambiguous`.
    pub free_motions: Vec<FreeMotion>,
    /// Where most of the votes that raised the doubt are; null for doubts that no votes raise.
    #[serde(deserialize_with = "required")]
    pub place: Option<Place>,
    /// Why the search ended; null without a search.
    #[serde(deserialize_with = "required")]
    #[schemars(schema_with = "schema::optional_stop_reason")]
    pub stopped_because: Option<StopReason>,
    /// Amount of work of the search among the matches; null without matches.
    #[serde(deserialize_with = "required")]
    pub counters: Option<Counters>,
    /// Wall-clock seconds. Absent in the results of a batch, which are the same on every machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Seconds>,
}

/// Calls the same on either kind.
macro_rules! either {
    ($document:expr, $part:ident => $value:expr) => {
        match $document {
            Document::Matches($part) => $value,
            Document::Clouds($part) => $value,
        }
    };
}

impl Document {
    /// Reads a document from JSON text.
    ///
    /// # Errors
    /// When the text is truncated or not JSON, when the document has another schema, and when a field is missing or wrong; the
    /// message names the field.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        read::document(read::value(text)?)
    }

    /// Reads a document from a parsed JSON value. Unknown fields are ignored.
    ///
    /// # Errors
    /// When the document has another schema, and when a field is missing or wrong; the message names the field.
    pub fn from_value(value: Value) -> Result<Self, Error> {
        read::document(value)
    }

    /// The document as JSON text, one line per field, with a newline at the end.
    pub fn to_json(&self) -> String {
        // Objects, lists, texts and finite numbers: conversion cannot fail.
        let fields = match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let line = |(name, value): (&String, &Value)| format!("  {}: {value}", Value::from(name.as_str()));
        let lines: Vec<String> = fields.iter().map(line).collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }

    /// Kind of the input.
    pub fn kind(&self) -> Kind {
        either!(self, document => document.kind)
    }

    /// Name and version of the program that wrote the document.
    pub fn program(&self) -> &str {
        either!(self, document => &document.program)
    }

    /// Files that were registered.
    pub fn inputs(&self) -> Option<&Inputs> {
        either!(self, document => document.inputs.as_ref())
    }

    /// Name of the method.
    pub fn method(&self) -> &str {
        either!(self, document => &document.method)
    }

    /// Whether the transform is confirmed.
    pub fn status(&self) -> Status {
        either!(self, document => document.status)
    }

    /// Why the status is not registered; `None` when it is.
    pub fn doubt(&self) -> Option<DoubtCode> {
        either!(self, document => document.doubt)
    }

    /// One sentence that explains the status.
    pub fn reason(&self) -> &str {
        either!(self, document => &document.reason)
    }

    /// The 4×4 matrix of the transform.
    pub fn transform(&self) -> Option<&Matrix> {
        either!(self, document => document.transform.as_ref())
    }

    /// The transform from source to target.
    pub fn target_from_source(&self) -> Option<Similarity> {
        either!(self, document => read::similarity(document.scale, document.rotation, document.translation))
    }

    /// Number of matches.
    pub fn correspondences(&self) -> usize {
        either!(self, document => document.correspondences)
    }

    /// Indices of the inliers, counted from 0, ascending.
    pub fn inliers(&self) -> &[usize] {
        either!(self, document => &document.inliers)
    }

    /// Inlier threshold, in target units.
    pub fn threshold(&self) -> Option<f64> {
        match self {
            Self::Matches(document) => Some(document.threshold),
            Self::Clouds(document) => document.threshold,
        }
    }

    /// Evidence of the matches for the transform.
    pub fn evidence(&self) -> Option<&Evidence> {
        either!(self, document => document.evidence.as_ref())
    }

    /// How well clouds fit under the transform; `None` for matches.
    pub fn fit(&self) -> Option<&Fit> {
        match self {
            Self::Matches(_) => None,
            Self::Clouds(document) => document.fit.as_ref(),
        }
    }

    /// How accurate the transform is.
    pub fn accuracy(&self) -> Option<&Accuracy> {
        either!(self, document => document.accuracy.as_ref())
    }

    /// Why the search ended.
    pub fn stopped_because(&self) -> Option<StopReason> {
        match self {
            Self::Matches(document) => Some(document.stopped_because),
            Self::Clouds(document) => document.stopped_because,
        }
    }

    /// Wall-clock seconds.
    pub fn seconds(&self) -> Option<&Seconds> {
        either!(self, document => document.seconds.as_ref())
    }

    /// Replaces the name of the method.
    #[must_use]
    pub fn with_method(mut self, method: &str) -> Self {
        either!(&mut self, document => document.method = method.to_owned());
        self
    }

    /// Adds the names of the input files.
    #[must_use]
    pub fn with_inputs(mut self, inputs: Option<Inputs>) -> Self {
        either!(&mut self, document => document.inputs = inputs);
        self
    }

    /// Replaces the times, or leaves them out.
    #[must_use]
    pub fn with_seconds(mut self, seconds: Option<Seconds>) -> Self {
        either!(&mut self, document => document.seconds = seconds);
        self
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read::document(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Document {
    fn schema_name() -> Cow<'static, str> {
        "Document".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = [generator.subschema_for::<MatchDocument>(), generator.subschema_for::<CloudDocument>()];
        json_schema!({ "description": "The result of one registration by pcr99.", "oneOf": kinds })
    }
}
