//! Number of pairs by outcome.

use std::{collections::BTreeMap, fmt};

use pcr99::Status;
use pcr99_document::{DoubtCode, PairResult};
use serde::{Deserialize, Serialize};

use crate::record::Record;

/// Number of pairs by outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Pairs of the manifest.
    pub pairs: u64,
    /// Pairs with a confirmed transform.
    pub registered: u64,
    /// Pairs with a transform that is not confirmed.
    pub not_reliable: u64,
    /// Pairs without a transform.
    pub no_solution: u64,
    /// Pairs that could not be run.
    pub failed: u64,
    /// Pairs that ran and are not registered, by doubt.
    pub doubts: BTreeMap<DoubtCode, u64>,
}

impl Summary {
    /// Counts one more pair.
    pub fn count(&mut self, record: &Record) {
        self.count_result(&record.result);
    }

    pub(crate) fn count_result(&mut self, result: &PairResult) {
        self.pairs += 1;
        match result.status() {
            Some(Status::Registered) => self.registered += 1,
            Some(Status::NotReliable) => self.not_reliable += 1,
            Some(Status::NoSolution) => self.no_solution += 1,
            None => self.failed += 1,
        }
        if let Some(doubt) = result.doubt() {
            *self.doubts.entry(doubt).or_default() += 1;
        }
    }

    /// Whether all pairs are registered.
    pub fn all_registered(&self) -> bool {
        self.registered == self.pairs
    }

    /// The content of `summary.json`.
    pub fn to_json(&self) -> String {
        // Numbers and names: conversion cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>9} {}", self.pairs, if self.pairs == 1 { "pair" } else { "pairs" })?;
        writeln!(f, "{:>9} registered", self.registered)?;
        writeln!(f, "{:>9} not reliable", self.not_reliable)?;
        writeln!(f, "{:>9} no solution", self.no_solution)?;
        writeln!(f, "{:>9} failed", self.failed)?;
        if self.doubts.is_empty() {
            return Ok(());
        }
        let doubts: Vec<String> =
            self.doubts.iter().map(|(doubt, count)| format!("{} {count}", doubt.as_str())).collect();
        writeln!(f, "   doubts: {}", doubts.join(", "))
    }
}
