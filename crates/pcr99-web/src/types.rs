//! Types of the documents for TypeScript, made of their JSON Schema.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// One declaration for each type of the schema that a document is made of.
pub(crate) fn declarations(schema: &str) -> String {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let mut text = String::new();
    let definitions = schema["$defs"].as_object().into_iter().flatten();
    for (name, definition) in definitions.filter(|(name, _)| !name.starts_with("Pair")) {
        text += &comment(definition, "");
        match definition["properties"].as_object() {
            Some(properties) => {
                let required = definition["required"].as_array();
                let is_required =
                    |field: &str| required.is_some_and(|list| list.iter().any(|name| name == field));
                let _ = writeln!(text, "export interface {name} {{");
                text += &fields(properties, &is_required);
                text += "}\n\n";
            }
            None => {
                let _ = writeln!(text, "export type {name} = {};\n", type_of(definition));
            }
        }
    }
    text
}

fn fields(properties: &Map<String, Value>, is_required: &dyn Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for (field, definition) in properties {
        text += &comment(definition, "  ");
        let mark = if is_required(field) { "" } else { "?" };
        let _ = writeln!(text, "  {field}{mark}: {};", type_of(definition));
    }
    text
}

fn comment(definition: &Value, indent: &str) -> String {
    let text = definition["description"].as_str().unwrap_or_default();
    let line = text.split("\n\n").next().unwrap_or_default().replace('\n', " ").replace("*/", "*\u{2060}/");
    if line.is_empty() { String::new() } else { format!("{indent}/** {line} */\n") }
}

/// A schema as a type.
fn type_of(definition: &Value) -> String {
    if let Some(reference) = definition["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(fixed) = definition.get("const") {
        return fixed.to_string();
    }
    if let Some(words) = definition["enum"].as_array() {
        return union(words.iter().map(Value::to_string));
    }
    if let Some(list) = definition["anyOf"].as_array().or_else(|| definition["oneOf"].as_array()) {
        return union(list.iter().map(type_of));
    }
    match &definition["type"] {
        Value::Array(kinds) => union(kinds.iter().map(|kind| simple(kind, definition))),
        kind => simple(kind, definition),
    }
}

fn union(types: impl Iterator<Item = String>) -> String {
    types.collect::<Vec<_>>().join(" | ")
}

fn simple(kind: &Value, definition: &Value) -> String {
    match kind.as_str() {
        Some("integer" | "number") => "number".to_owned(),
        Some("string") => "string".to_owned(),
        Some("boolean") => "boolean".to_owned(),
        Some("null") => "null".to_owned(),
        Some("array") => format!("Array<{}>", type_of(&definition["items"])),
        Some("object") if definition["additionalProperties"].is_object() => {
            format!("Record<string, {}>", type_of(&definition["additionalProperties"]))
        }
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_a_document_is_declared() {
        let text = declarations(&pcr99_document::json_schema());
        for declared in [
            "export interface CloudDocument {",
            "export interface MatchDocument {",
            "  status: \"registered\" | \"not_reliable\" | \"no_solution\";",
            "  transform: Array<Array<number>> | null;",
            "export type Document = MatchDocument | CloudDocument;",
        ] {
            assert!(text.contains(declared), "{declared}\n{text}");
        }
        assert!(!text.contains("unknown"), "{text}");
    }
}
