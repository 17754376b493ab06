//! Requests: what JavaScript asks for, as JSON. Files and arrays follow in further buffers, in the order in which they are named here.

use pcr99::Similarity;
use pcr99_plan::{GivenScale, RegisterOptions, SolveOptions, text};
use serde::Deserialize;

use crate::Error;

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The transform between matched points.
    Solve {
        /// Where the matches are.
        matches: GivenMatches,
        /// Options.
        #[serde(default)]
        options: Solve,
        /// Whether the parts of a page are wanted.
        #[serde(default)]
        page: bool,
    },
    /// The transform between two clouds.
    Register {
        /// Where the source is.
        source: GivenCloud,
        /// Where the target is.
        target: GivenCloud,
        /// Options.
        #[serde(default)]
        options: Register,
        /// Whether the initial pose is only refined, without a search.
        #[serde(default)]
        local: bool,
        /// Whether the parts of a page are wanted.
        #[serde(default)]
        page: bool,
    },
    /// A file with moved points, in its own format.
    Move {
        /// Name of the file, which is in the next buffer.
        file: String,
        /// The transform.
        transform: GivenTransform,
    },
}

/// A transform: a matrix `[sR t; 0 1]`, or its parts as a document has them, which are exact.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`transform` must be a 4×4 matrix, or an object with scale, rotation and translation"
)]
pub enum GivenTransform {
    /// A matrix.
    Matrix([[f64; 4]; 4]),
    /// Parts.
    Parts {
        /// Scale.
        scale: f64,
        /// Rotation, row by row.
        rotation: [[f64; 3]; 3],
        /// Translation.
        translation: [f64; 3],
    },
}

/// Where a cloud is: a file in the next buffer, or points and perhaps normals in the next buffers, as doubles.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GivenCloud {
    /// Name of the file.
    pub file: Option<String>,
    /// Whether normals follow the points.
    pub normals: bool,
}

/// Where matches are: a file in the next buffer, or source points, target points, and perhaps more in the next buffers, as doubles.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GivenMatches {
    /// Name of the file.
    pub file: Option<String>,
    /// Whether weights follow the points.
    pub weights: bool,
    /// Whether standard deviations follow.
    pub standard_deviations: bool,
}

/// A scale: a number, `"unknown"`, `"MIN..MAX"` or two bounds.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "`scale` must be a number, \"unknown\" or two numbers")]
pub enum GivenScaleValue {
    /// A known scale.
    Number(f64),
    /// As on the command line.
    Text(String),
    /// Bounds.
    Range([f64; 2]),
}

/// Options of `solve`, with the names and meanings of [`SolveOptions`].
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "they are those of `SolveOptions`")]
pub struct Solve {
    pub scale: Option<GivenScaleValue>,
    pub threshold: Option<f64>,
    pub method: Option<String>,
    pub memory_budget_mib: Option<u64>,
    pub time_limit: Option<f64>,
    pub seed: Option<u64>,
    pub candidates: Option<usize>,
    pub effort: Option<u64>,
    pub miss_probability: Option<f64>,
    pub correlation_length: Option<f64>,
}

/// Options of `register`, with the names and meanings of [`RegisterOptions`], and the positions of the sensors.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "they are those of `RegisterOptions`")]
pub struct Register {
    pub scale: Option<GivenScaleValue>,
    pub voxel: Option<f64>,
    pub refine: Option<String>,
    pub initial: Option<[[f64; 4]; 4]>,
    pub candidates: Option<usize>,
    pub time_limit: Option<f64>,
    pub seed: Option<u64>,
    pub source_viewpoint: Option<[f64; 3]>,
    pub target_viewpoint: Option<[f64; 3]>,
}

fn scale(given: Option<&GivenScaleValue>) -> Result<Option<GivenScale>, Error> {
    given
        .map(|given| match given {
            GivenScaleValue::Number(scale) => Ok(GivenScale::Known(*scale)),
            GivenScaleValue::Range([low, high]) => Ok(GivenScale::Range(*low, *high)),
            GivenScaleValue::Text(text) => {
                text.parse().map_err(|expected| Error::Option { name: "scale", text: text.clone(), expected })
            }
        })
        .transpose()
}

fn named<T>(
    name: &'static str,
    given: Option<&String>,
    parse: impl Fn(&str) -> Result<T, text::Expected>,
) -> Result<Option<T>, Error> {
    let wrong = |text: &String, expected| Error::Option { name, text: text.clone(), expected };
    given.map(|text| parse(text).map_err(|expected| wrong(text, expected))).transpose()
}

/// A transform, or why a matrix is none.
fn similarity(name: &'static str, matrix: &[[f64; 4]; 4]) -> Result<Similarity, Error> {
    Similarity::from_matrix(matrix).map_err(|cause| Error::Transform { name, cause })
}

impl GivenTransform {
    pub(crate) fn given(&self) -> Result<Similarity, Error> {
        match self {
            Self::Matrix(matrix) => similarity("transform", matrix),
            Self::Parts { scale, rotation, translation } => Similarity::new(*scale, *rotation, *translation)
                .map_err(|cause| Error::Transform { name: "transform", cause }),
        }
    }
}

impl Solve {
    pub(crate) fn given(&self) -> Result<SolveOptions, Error> {
        Ok(SolveOptions {
            scale: scale(self.scale.as_ref())?,
            threshold: self.threshold,
            method: named("method", self.method.as_ref(), text::method)?,
            memory_budget_mib: self.memory_budget_mib,
            time_limit: self.time_limit,
            seed: self.seed,
            candidates: self.candidates,
            effort: self.effort,
            miss_probability: self.miss_probability,
            correlation_length: self.correlation_length,
            ..SolveOptions::default()
        })
    }
}

impl Register {
    pub(crate) fn given(&self, is_local: bool) -> Result<RegisterOptions, Error> {
        Ok(RegisterOptions {
            scale: scale(self.scale.as_ref())?,
            voxel: self.voxel,
            refine: named("refine", self.refine.as_ref(), text::refinement)?,
            initial: self.initial.as_ref().map(|matrix| similarity("initial", matrix)).transpose()?,
            is_local,
            candidates: self.candidates,
            time_limit: self.time_limit,
            seed: self.seed,
            ..RegisterOptions::default()
        })
    }
}
