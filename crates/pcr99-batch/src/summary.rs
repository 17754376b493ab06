//! How many pairs came to what.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::Record;

/// How many pairs came to what.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// All of them.
    pub pairs: u64,
    /// With a transform that can be trusted.
    pub registered: u64,
    /// With one that cannot.
    pub not_reliable: u64,
    /// Those by what speaks against them.
    pub doubts: BTreeMap<String, u64>,
    /// Without a transform.
    pub no_solution: u64,
    /// That could not be run.
    pub failed: u64,
}

impl Summary {
    /// Counts one more.
    pub fn count(&mut self, record: &Record) {
        self.pairs += 1;
        match record.status() {
            "registered" => self.registered += 1,
            "not_reliable" => {
                self.not_reliable += 1;
                let doubt = record.result.get("doubt").and_then(Value::as_str).unwrap_or("other");
                *self.doubts.entry(doubt.to_owned()).or_default() += 1;
            }
            "no_solution" => self.no_solution += 1,
            _ => self.failed += 1,
        }
    }

    /// Whether all are registered.
    pub fn all_registered(&self) -> bool {
        self.registered == self.pairs
    }

    /// As a document.
    pub fn to_json(&self) -> String {
        // A structure of numbers and names: it always succeeds.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>9} {}", self.pairs, if self.pairs == 1 { "pair" } else { "pairs" })?;
        writeln!(f, "{:>9} registered", self.registered)?;
        let doubts: Vec<String> =
            self.doubts.iter().map(|(doubt, count)| format!("{} {count}", doubt.replace('_', " "))).collect();
        let doubts = if doubts.is_empty() { String::new() } else { format!(" ({})", doubts.join(", ")) };
        writeln!(f, "{:>9} not reliable{doubts}", self.not_reliable)?;
        writeln!(f, "{:>9} without solution", self.no_solution)?;
        writeln!(f, "{:>9} failed", self.failed)
    }
}
