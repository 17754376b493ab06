//! The JSON Schema that is shipped is the one of the types, real documents have its structure, and the reference names every field.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use pcr99::{Correspondences, Params, Registration, Scale, random::Random};
use pcr99_cloud::{PreparedCloud, RawCloud, RegisterParams, register};
use pcr99_document::{Document, Inputs, PairResult, json_schema};
use serde_json::Value;

/// Set this variable to write the schema anew.
const WRITE: &str = "PCR99_WRITE_SCHEMA";

fn reference(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name)
}

fn schema() -> Value {
    serde_json::from_str(&json_schema()).expect("a schema")
}

#[test]
fn the_shipped_schema_is_that_of_the_types() {
    let path = reference("document.schema.json");
    if env::var_os(WRITE).is_some() {
        fs::write(&path, json_schema()).expect("the schema is written");
    }
    let shipped = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shipped == json_schema(),
        "{} is out of date; write it anew: {WRITE}=1 cargo test -p pcr99-document --test schema",
        path.display()
    );
}

/// Names of all fields, wherever they are in the schema.
fn fields(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(parts) => {
            let properties = parts.get("properties").and_then(Value::as_object);
            found.extend(properties.into_iter().flat_map(|properties| properties.keys().cloned()));
            parts.values().for_each(|part| fields(part, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| fields(part, found)),
        _ => {}
    }
}

#[test]
fn the_reference_names_every_field_and_every_doubt() {
    let text = fs::read_to_string(reference("json.md")).expect("docs/reference/json.md");
    let mut names = BTreeSet::new();
    fields(&schema(), &mut names);
    assert!(names.len() > 50, "{names:?}");
    names.extend(pcr99_document::DoubtCode::ALL.map(|code| code.as_str().to_owned()));
    let missing: Vec<&String> = names.iter().filter(|name| !text.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/reference/json.md does not name {missing:?}");
}

/// Checks a value against a schema. It knows the keywords that our schema uses, and fails on any other.
struct Validator<'a> {
    root: &'a Value,
}

impl Validator<'_> {
    fn check(&self, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
        let parts = schema.as_object().ok_or_else(|| format!("{path}: not a schema: {schema}"))?;
        for (keyword, rule) in parts {
            self.keyword(keyword, rule, parts, value).map_err(|why| format!("{path}: {why}"))?;
        }
        for (name, inner) in value.as_object().into_iter().flatten() {
            let own = parts.get("properties").and_then(|properties| properties.get(name));
            if let Some(schema) = own.or(parts.get("additionalProperties")) {
                self.check(schema, inner, &format!("{path}.{name}"))?;
            }
        }
        for (place, inner) in value.as_array().into_iter().flatten().enumerate() {
            if let Some(schema) = parts.get("items") {
                self.check(schema, inner, &format!("{path}[{place}]"))?;
            }
        }
        Ok(())
    }

    fn keyword(
        &self,
        keyword: &str,
        rule: &Value,
        parts: &serde_json::Map<String, Value>,
        value: &Value,
    ) -> Result<(), String> {
        let list = || rule.as_array().expect("a list");
        let passes = |schema: &Value| self.check(schema, value, "").is_ok();
        let holds = match keyword {
            "$schema"
            | "title"
            | "description"
            | "$defs"
            | "format"
            | "properties"
            | "additionalProperties"
            | "items" => true,
            "$ref" => return self.check(self.at(rule.as_str().expect("a reference")), value, ""),
            "type" if rule.is_array() => list().iter().any(|kind| is(kind, value)),
            "type" => is(rule, value),
            "const" => rule == value,
            "enum" => list().contains(value),
            "minimum" => value.as_f64().is_none_or(|x| x >= rule.as_f64().expect("a number")),
            "minItems" => {
                value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().expect("a number"))
            }
            "maxItems" => {
                value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().expect("a number"))
            }
            "required" => list().iter().all(|name| value.get(name.as_str().expect("a name")).is_some()),
            "anyOf" => list().iter().any(passes),
            "allOf" => list().iter().all(passes),
            "oneOf" => list().iter().filter(|schema| passes(schema)).count() == 1,
            other => panic!("the test does not know the keyword `{other}` of {parts:?}"),
        };
        if holds { Ok(()) } else { Err(format!("`{keyword}: {rule}` does not hold for {value}")) }
    }

    /// The part of the schema that a reference such as `#/$defs/Fit` points to.
    fn at(&self, reference: &str) -> &Value {
        let pointer = reference.strip_prefix('#').expect("a reference within the schema");
        self.root.pointer(pointer).unwrap_or_else(|| panic!("nothing is at {reference}"))
    }
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the test does not know the type `{other}`"),
    }
}

fn solved(source: &[[f64; 3]], target: &[[f64; 3]]) -> Registration {
    let pairs = Correspondences::new(source, target).expect("matches");
    pcr99::solve(&pairs, Scale::one(), &Params::new()).expect("a search")
}

fn scattered(count: u32) -> Vec<[f64; 3]> {
    (0..count).map(|i| [f64::from(i % 7), f64::from(i * i % 31), f64::from(i * i * i % 29)]).collect()
}

fn hills() -> Vec<[f64; 3]> {
    let height = |x: f64, y: f64| (1.9 * x).sin() * (1.3 * y + 0.4).cos() + 0.4 * (3.1 * x - 2.3 * y).sin();
    let place = |i: u32| (f64::from(i % 40) * 0.1, f64::from(i / 40) * 0.1);
    (0..1600).map(place).map(|(x, y)| [x, y, height(x, y)]).collect()
}

/// Random points of a square, which slides and turns on another one.
fn flat(seed: u64) -> Vec<[f64; 3]> {
    let mut random = Random::new(seed);
    (0..6000).map(|_| [4.0 * random.uniform(), 3.0 * random.uniform(), 0.002 * random.gaussian()]).collect()
}

/// Documents of every status and kind, as the crates make them.
fn real_documents() -> Vec<Document> {
    let source = scattered(80);
    let moved: Vec<[f64; 3]> = source.iter().map(|&[x, y, z]| [5.0 - y, x + 1.0, z]).collect();
    // Two transforms explain half of the matches each.
    let halves: Vec<[f64; 3]> = source
        .iter()
        .enumerate()
        .map(|(i, &[x, y, z])| if i % 2 == 0 { [x, y, z] } else { [-y, x, z + 50.0] })
        .collect();
    let unrelated: Vec<[f64; 3]> = source
        .iter()
        .rev()
        .enumerate()
        .map(|(i, &[x, y, z])| [x * x - z, y * z, (i * i % 17) as f64 - x])
        .collect();
    let cloud = |points: &[[f64; 3]]| PreparedCloud::new(RawCloud::new(points)).expect("a cloud");
    let turned: Vec<[f64; 3]> = hills().iter().map(|&[x, y, z]| [7.0 - y, x, z - 2.0]).collect();
    let plane: Vec<[f64; 3]> = hills().iter().map(|&[x, y, _]| [x, y, 0.0]).collect();
    let found = |a: &[[f64; 3]], b: &[[f64; 3]]| {
        register(&cloud(a), &cloud(b), &RegisterParams::new()).expect("a registration")
    };
    vec![
        Document::of_matches("default", &solved(&source, &moved)),
        Document::of_matches("default", &solved(&source, &halves)),
        Document::of_matches("default", &solved(&source, &unrelated)),
        Document::of_clouds(&found(&turned, &hills())),
        Document::of_clouds(&found(&plane, &hills())),
        Document::of_clouds(&found(&flat(1), &flat(2))),
    ]
}

#[test]
fn real_documents_have_the_structure_of_the_schema() {
    let schema = schema();
    let validator = Validator { root: &schema };
    let pair = schema.pointer("/$defs/PairResult").expect("a schema of pairs");
    let (mut statuses, mut has_free_motions) = (BTreeSet::new(), false);
    for document in real_documents() {
        statuses.insert(document.status().as_str());
        let value = serde_json::to_value(&document).expect("JSON");
        has_free_motions |= value["free_motions"].as_array().is_some_and(|motions| !motions.is_empty());
        validator.check(&schema, &value, "").unwrap_or_else(|why| panic!("{why}\n{}", document.to_json()));
        assert_eq!(Document::from_json(&document.to_json()).expect("a document"), document);
        assert_eq!(document.doubt().is_none(), document.status() == pcr99::Status::Registered);
        let result = PairResult::ran("a", Inputs::clouds("a.ply", "b.ply"), document);
        let value = serde_json::to_value(&result).expect("JSON");
        validator.check(pair, &value, "").unwrap_or_else(|why| panic!("{why}\n{}", result.to_json()));
    }
    assert!(statuses.contains("registered") && statuses.len() > 1 && has_free_motions, "{statuses:?}");
    let failed = PairResult::failed("a", Inputs::matches("m.csv"), "no such file");
    validator.check(pair, &serde_json::to_value(&failed).expect("JSON"), "").expect("a failed pair");
}

/// The validator itself refuses what is wrong.
#[test]
fn broken_documents_do_not_have_the_structure() {
    let schema = schema();
    let validator = Validator { root: &schema };
    let source = scattered(80);
    let good =
        serde_json::to_value(Document::of_matches("default", &solved(&source, &source))).expect("JSON");
    validator.check(&schema, &good, "").expect("a document");
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        assert!(validator.check(&schema, &value, "").is_err());
    };
    refused(&|value| value["status"] = "failed".into());
    refused(&|value| value["schema"] = 1.into());
    refused(&|value| value["transform"][0][1] = "0".into());
    refused(&|value| value["transform"] = vec![vec![0.0; 4]; 3].into());
    refused(&|value| value["doubt"] = "rival".into());
    refused(&|value| value["counters"]["pairs"] = (-1).into());
    refused(&|value| value["seconds"]["total"] = Value::Null);
    refused(&|value| {
        value.as_object_mut().expect("an object").shift_remove("rival");
    });
}
