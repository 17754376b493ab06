//! The result of one pair of a batch: a line of `results.jsonl`.

use std::borrow::Cow;

use pcr99::Status;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use crate::{Document, DoubtCode, Error, Inputs, Kind, PROGRAM, SCHEMA, Seconds, read};

/// The word for the status of a pair that could not be run.
const FAILED: &str = "failed";

/// The result of one pair of a batch.
///
/// In JSON this is one object: `pair_id`, then the fields of the [`Document`] without `seconds`. A pair that could not be run
/// has the status `failed` and the field `error` instead.
#[derive(Debug, Clone, PartialEq)]
pub struct PairResult {
    pair_id: String,
    inputs: Inputs,
    outcome: Result<Document, String>,
}

impl PairResult {
    /// The result of a pair that ran. Times are dropped: the same pair gives the same result wherever and whenever it runs.
    pub fn ran(pair_id: &str, inputs: Inputs, document: Document) -> Self {
        let document = document.with_seconds(None).with_inputs(Some(inputs.clone()));
        Self { pair_id: pair_id.to_owned(), inputs, outcome: Ok(document) }
    }

    /// The result of a pair that could not be run, with the reason.
    pub fn failed(pair_id: &str, inputs: Inputs, error: &str) -> Self {
        Self { pair_id: pair_id.to_owned(), inputs, outcome: Err(error.to_owned()) }
    }

    /// Reads a line of `results.jsonl`.
    ///
    /// # Errors
    /// As [`Document::from_json`].
    pub fn from_json(line: &str) -> Result<Self, Error> {
        Self::direct(line).map_or_else(|| Self::from_value(read::value(line)?), Ok)
    }

    /// The result on a line, in a third of the time; `None` when the line must be read the long way, which finds the mistake and its place.
    fn direct(line: &str) -> Option<Self> {
        let Head { pair_id, inputs, schema, kind } = serde_json::from_str(line).ok()?;
        let document = (schema == SCHEMA).then(|| read::direct(line, kind)).flatten()?;
        Some(Self { pair_id, inputs, outcome: Ok(document) })
    }

    /// The line of `results.jsonl`, without a newline.
    pub fn to_json(&self) -> String {
        // Objects, lists, texts and finite numbers: conversion cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Name of the pair in the manifest.
    pub fn pair_id(&self) -> &str {
        &self.pair_id
    }

    /// Files of the pair, as the manifest names them.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The document of a pair that ran.
    pub fn document(&self) -> Option<&Document> {
        self.outcome.as_ref().ok()
    }

    /// The document of a pair that ran, with its times.
    pub fn into_document(self, seconds: Seconds) -> Option<Document> {
        Some(self.outcome.ok()?.with_seconds(Some(seconds)))
    }

    /// Why the pair could not be run; `None` when it ran.
    pub fn error(&self) -> Option<&str> {
        self.outcome.as_ref().err().map(String::as_str)
    }

    /// `registered`, `not_reliable`, `no_solution` or `failed`.
    pub fn status_word(&self) -> &'static str {
        self.status().map_or(FAILED, Status::as_str)
    }

    /// Status of a pair that ran.
    pub fn status(&self) -> Option<Status> {
        self.document().map(Document::status)
    }

    /// Why the pair is not registered.
    pub fn doubt(&self) -> Option<DoubtCode> {
        self.document().and_then(Document::doubt)
    }

    fn from_value(value: Value) -> Result<Self, Error> {
        read::check_schema(&value)?;
        let is_failed = value.get("status").is_some_and(|status| status == FAILED);
        if is_failed {
            let Failure { pair_id, inputs, error, .. } = read::typed(value)?;
            return Ok(Self { pair_id, inputs, outcome: Err(error) });
        }
        let Named { pair_id, inputs } = read::typed(value.clone())?;
        Ok(Self { pair_id, inputs, outcome: Ok(read::document(value)?) })
    }
}

/// What every line has.
#[derive(Deserialize)]
struct Named {
    pair_id: String,
    inputs: Inputs,
}

/// What every line of a pair that ran has.
#[derive(Deserialize)]
struct Head {
    pair_id: String,
    inputs: Inputs,
    schema: u32,
    kind: Kind,
}

/// Line of a pair that ran.
#[derive(Serialize)]
struct Success<'a> {
    pair_id: &'a str,
    #[serde(flatten)]
    document: &'a Document,
}

/// Result of a pair that could not be run.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PairFailure")]
struct Failure {
    /// Name of the pair in the manifest.
    pair_id: String,
    /// Version of this format; 2.
    #[schemars(schema_with = "crate::schema::number")]
    schema: u32,
    /// Name and version of the program that wrote the result.
    program: String,
    /// Files of the pair, as the manifest names them.
    inputs: Inputs,
    /// The word `failed`.
    #[schemars(schema_with = "failed")]
    status: String,
    /// Why the pair could not be run.
    error: String,
}

fn failed(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": FAILED })
}

impl Serialize for PairResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.outcome {
            Ok(document) => Success { pair_id: &self.pair_id, document }.serialize(serializer),
            Err(error) => Failure {
                pair_id: self.pair_id.clone(),
                schema: SCHEMA,
                program: PROGRAM.to_owned(),
                inputs: self.inputs.clone(),
                status: FAILED.to_owned(),
                error: error.clone(),
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PairResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for PairResult {
    fn schema_name() -> Cow<'static, str> {
        "PairResult".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let failure = generator.subschema_for::<Failure>();
        let document = generator.subschema_for::<Document>();
        json_schema!({
            "description": "The result of one pair of a batch: a line of results.jsonl. A pair that ran has the fields of a document without seconds.",
            "oneOf": [failure, {
                "type": "object",
                "properties": {
                    "pair_id": { "description": "Name of the pair in the manifest.", "type": "string" }
                },
                "required": ["pair_id"],
                "allOf": [document]
            }]
        })
    }
}
