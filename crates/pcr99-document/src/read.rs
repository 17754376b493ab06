//! Reading and checking.

use pcr99::{Similarity, Status};
use serde::de::DeserializeOwned;
use serde_json::{Value, error::Category};

use crate::{
    ASSEMBLY_SCHEMA, AssemblyDocument, CloudDocument, Document, EquivalentPose, Error, Kind, MatchDocument,
    Matrix, SCHEMA,
};

/// Largest difference between `transform` and `scale`, `rotation`, `translation`, relative to the largest element. Our own
/// documents agree to the bit.
const SAME_TRANSFORM: f64 = 1e-9;

/// JSON text as a value.
pub(crate) fn value(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Eof => Error::Truncated { line: error.line(), column: error.column() },
        _ => Error::Syntax { message: error.to_string() },
    })
}

/// A value as a type; errors name the path of the field.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => String::new(),
            path => path,
        };
        Error::field(path, error.into_inner().to_string())
    })
}

/// Checks field `schema`, which every document has, before any other.
pub(crate) fn check_schema(value: &Value) -> Result<(), Error> {
    let fields = value.as_object().ok_or_else(|| Error::field("", "expected a JSON object"))?;
    let schema = fields.get("schema").ok_or_else(|| Error::field("", "missing field `schema`"))?;
    match schema.as_u64() {
        Some(found) if found == u64::from(SCHEMA) => Ok(()),
        Some(found) => Err(Error::Schema { found }),
        None => Err(Error::field("schema", format!("expected the number {SCHEMA}, found {schema}"))),
    }
}

/// The document of an assembly from JSON text.
pub(crate) fn assembly(text: &str) -> Result<AssemblyDocument, Error> {
    let value = value(text)?;
    let fields = value.as_object().ok_or_else(|| Error::field("", "expected a JSON object"))?;
    if fields.get("kind").and_then(Value::as_str) != Some("assembly") {
        return Err(Error::field("kind", "expected the word `assembly`"));
    }
    let schema = fields.get("schema").and_then(Value::as_u64).unwrap_or(0);
    if schema != u64::from(ASSEMBLY_SCHEMA) {
        return Err(Error::AssemblySchema { found: schema });
    }
    typed(value)
}

/// A value as a checked document.
pub(crate) fn document(value: Value) -> Result<Document, Error> {
    check_schema(&value)?;
    let kind = value.get("kind").ok_or_else(|| Error::field("", "missing field `kind`"))?;
    let kind: Kind = typed(kind.clone()).map_err(|error| match error {
        Error::Field { message, .. } => Error::field("kind", message),
        other => other,
    })?;
    let document = match kind {
        Kind::Matches => Document::Matches(typed(value)?),
        Kind::Clouds => Document::Clouds(typed(value)?),
    };
    check(&document)?;
    Ok(document)
}

/// A checked document of that kind from JSON text, without names of fields in mistakes: `None` for any.
pub(crate) fn direct(text: &str, kind: Kind) -> Option<Document> {
    let document = match kind {
        Kind::Matches => Document::Matches(serde_json::from_str(text).ok()?),
        Kind::Clouds => Document::Clouds(serde_json::from_str(text).ok()?),
    };
    check(&document).is_ok().then_some(document)
}

/// The transform of its three parts; `None` when one is missing or the rotation is none.
pub(crate) fn similarity(
    scale: Option<f64>,
    rotation: Option<[[f64; 3]; 3]>,
    translation: Option<[f64; 3]>,
) -> Option<Similarity> {
    Similarity::new(scale?, rotation?, translation?).ok()
}

/// Checks what types alone cannot express.
fn check(document: &Document) -> Result<(), Error> {
    let (status, doubt) = (document.status(), document.doubt());
    if (status == Status::Registered) != doubt.is_none() {
        return Err(Error::field("doubt", "must be null exactly when the status is `registered`"));
    }
    let ascending = document.inliers().is_sorted_by(|a, b| a < b);
    if !ascending || document.inliers().last().is_some_and(|&last| last >= document.correspondences()) {
        return Err(Error::field("inliers", "must be ascending indices below `correspondences`"));
    }
    if let Some(accuracy) = document.accuracy() {
        for (name, rows) in
            [("accuracy.covariance", &accuracy.covariance), ("accuracy.information", &accuracy.information)]
        {
            let square = rows.iter().all(|row| row.len() == rows.len());
            if !square || ![6, 7].contains(&rows.len()) {
                return Err(Error::field(name, "must be a 6×6 or 7×7 matrix"));
            }
        }
    }
    match document {
        Document::Matches(MatchDocument {
            threshold,
            transform,
            scale,
            rotation,
            translation,
            candidates,
            rival,
            ..
        }) => {
            check_threshold(Some(*threshold))?;
            check_transform(status, transform.as_ref(), *scale, *rotation, *translation)?;
            check_others(candidates.iter().map(|c| &c.transform), rival.as_ref().map(|r| &r.transform))
        }
        Document::Clouds(CloudDocument {
            threshold,
            transform,
            scale,
            rotation,
            translation,
            candidates,
            rival,
            poses,
            voxel,
            ..
        }) => {
            check_threshold(*threshold)?;
            if *voxel <= 0.0 {
                return Err(Error::field("voxel", "must be positive"));
            }
            check_transform(status, transform.as_ref(), *scale, *rotation, *translation)?;
            check_others(candidates.iter().map(|c| &c.transform), rival.as_ref().map(|r| &r.transform))?;
            check_poses(poses)
        }
    }
}

/// Checks the transforms of poses that fit equally well.
fn check_poses(poses: &[EquivalentPose]) -> Result<(), Error> {
    poses.iter().enumerate().try_for_each(|(place, pose)| {
        let path = format!("poses[{place}].transform");
        Similarity::from_matrix(&pose.transform).map_err(|error| Error::field(path, error.to_string()))?;
        Ok(())
    })
}

fn check_threshold(threshold: Option<f64>) -> Result<(), Error> {
    match threshold {
        Some(threshold) if threshold < 0.0 => Err(Error::field("threshold", "must not be negative")),
        _ => Ok(()),
    }
}

fn check_transform(
    status: Status,
    transform: Option<&Matrix>,
    scale: Option<f64>,
    rotation: Option<[[f64; 3]; 3]>,
    translation: Option<[f64; 3]>,
) -> Result<(), Error> {
    let is_solved = status != Status::NoSolution;
    let parts = [
        ("transform", transform.is_some()),
        ("scale", scale.is_some()),
        ("rotation", rotation.is_some()),
        ("translation", translation.is_some()),
    ];
    if let Some((field, _)) = parts.into_iter().find(|(_, is_there)| *is_there != is_solved) {
        return Err(Error::field(field, "must be null exactly when the status is `no_solution`"));
    }
    let Some(matrix) = transform else { return Ok(()) };
    let model = similarity(scale, rotation, translation)
        .ok_or_else(|| Error::field("rotation", "`scale` and `rotation` are not those of a similarity"))?;
    let largest = matrix.as_flattened().iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let own = model.matrix();
    let mut apart = own.as_flattened().iter().zip(matrix.as_flattened()).map(|(a, b)| (a - b).abs());
    if apart.all(|difference| difference <= SAME_TRANSFORM * largest) {
        Ok(())
    } else {
        Err(Error::field("transform", "differs from `scale`, `rotation` and `translation`"))
    }
}

fn check_others<'a>(
    candidates: impl Iterator<Item = &'a Matrix>,
    rival: Option<&'a Matrix>,
) -> Result<(), Error> {
    let candidates =
        candidates.enumerate().map(|(place, matrix)| (format!("candidates[{place}].transform"), matrix));
    for (path, matrix) in candidates.chain(rival.map(|matrix| ("rival.transform".to_owned(), matrix))) {
        Similarity::from_matrix(matrix).map_err(|error| Error::field(path, error.to_string()))?;
    }
    Ok(())
}
