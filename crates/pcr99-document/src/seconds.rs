//! Wall-clock times as one JSON object.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor},
    ser::SerializeMap,
};

/// Name of the total among the stages.
const TOTAL: &str = "total";

/// Wall-clock seconds: in total, and of each stage by name, in the order in which the stages ran first.
///
/// The first stages are `reading`, where files are read, and `preparing`, where arrays of points become matches or clouds that a method can use. Then come those of the method. In
/// JSON this is one object: `{"total": 0.31, "reading": 0.05, "preparing": 0.02, …}`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seconds {
    total: f64,
    stages: Vec<(String, f64)>,
}

impl Seconds {
    /// A total time with the times of its stages. Times of equal stages are added.
    pub fn new<S: AsRef<str>>(total: f64, stages: impl IntoIterator<Item = (S, f64)>) -> Self {
        let mut seconds = Self { total, stages: Vec::new() };
        for (stage, time) in stages {
            let stage = stage.as_ref();
            match seconds.stages.iter_mut().find(|(name, _)| name == stage) {
                Some((_, sum)) => *sum += time,
                None => seconds.stages.push((stage.to_owned(), time)),
            }
        }
        seconds
    }

    /// Time from the first stage to the verdict.
    pub const fn total(&self) -> f64 {
        self.total
    }

    /// Name and time of each stage.
    pub fn stages(&self) -> &[(String, f64)] {
        &self.stages
    }

    /// Replaces the total, for instance one that includes the reading of files.
    #[must_use]
    pub fn with_total(self, total: f64) -> Self {
        Self { total, ..self }
    }
}

impl From<&pcr99::Seconds> for Seconds {
    fn from(seconds: &pcr99::Seconds) -> Self {
        Self::new(seconds.total, seconds.stages.iter().copied())
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.stages.len()))?;
        map.serialize_entry(TOTAL, &self.total)?;
        for (stage, time) in &self.stages {
            map.serialize_entry(stage, time)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of seconds by stage")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Seconds, A::Error> {
                let (mut total, mut stages) = (None, Vec::new());
                while let Some((stage, time)) = map.next_entry::<String, f64>()? {
                    if stage == TOTAL { total = Some(time) } else { stages.push((stage, time)) }
                }
                let total = total.ok_or_else(|| A::Error::missing_field(TOTAL))?;
                Ok(Seconds { total, stages })
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl JsonSchema for Seconds {
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Wall-clock seconds: in total, and of each stage by name, in the order in which the stages ran first.",
            "type": "object",
            "properties": {
                "total": { "description": "Time from the first stage to the verdict.", "type": "number", "format": "double" },
                "reading": { "description": "Time to read files. Absent where nothing was read.", "type": "number", "format": "double" },
                "preparing": { "description": "Time to check and convert the input: arrays of points become matches or clouds that a method can use.", "type": "number", "format": "double" },
                "search": { "description": "Time of the search for a transform from matches. Clouds have more stages in its place.", "type": "number", "format": "double" }
            },
            "required": ["total"],
            "additionalProperties": { "type": "number", "format": "double" }
        })
    }
}
