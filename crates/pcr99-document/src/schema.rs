//! JSON Schema, generated from the types.

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::Value;

use crate::{Document, PairResult, SCHEMA};

/// The JSON Schema of a [`Document`], as text. Its `$defs` also describe a [`PairResult`], a line of `results.jsonl`.
pub fn json_schema() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<PairResult>();
    let schema = generator.into_root_schema_for::<Document>();
    // A schema is an object of texts and numbers: writing it cannot fail.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// The number of this version's schema.
pub(crate) fn number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "const": SCHEMA })
}

/// The words of [`pcr99::Status`].
pub(crate) fn status(_: &mut SchemaGenerator) -> Schema {
    words(pcr99::Status::ALL.map(pcr99::Status::as_str))
}

/// The words of [`pcr99::StopReason`].
pub(crate) fn stop_reason(_: &mut SchemaGenerator) -> Schema {
    words(pcr99::StopReason::ALL.map(pcr99::StopReason::as_str))
}

/// The words of [`pcr99::StopReason`], or null.
pub(crate) fn optional_stop_reason(_: &mut SchemaGenerator) -> Schema {
    let words = pcr99::StopReason::ALL.map(|reason| Value::from(reason.as_str()));
    let words: Vec<Value> = words.into_iter().chain([Value::Null]).collect();
    json_schema!({ "type": ["string", "null"], "enum": words })
}

/// The kind of documents of matches.
pub(crate) fn matches(_: &mut SchemaGenerator) -> Schema {
    words(["matches"])
}

/// The kind of documents of clouds.
pub(crate) fn clouds(_: &mut SchemaGenerator) -> Schema {
    words(["clouds"])
}

fn words<const N: usize>(words: [&str; N]) -> Schema {
    json_schema!({ "type": "string", "enum": words.to_vec() })
}
