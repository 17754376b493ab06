//! What a registration is to other programs: one JSON document, the same from the program, from Python and in the results of a batch.
//!
//! ```
//! use pcr99_cloud::document;
//!
//! let source: Vec<[f64; 3]> = (0..60).map(|i| { let x = f64::from(i); [x, x * x % 61.0, x * x * x % 61.0] }).collect();
//! let pairs = pcr99::Correspondences::new(&source, &source)?;
//! let found = pcr99::solve(&pairs, pcr99::Scale::one(), &pcr99::Params::new())?;
//! let document = document::of_matches("default", pairs.len(), &found);
//! assert_eq!(document["status"], "registered");
//! assert_eq!(document["inliers"].as_array().map(Vec::len), Some(60));
//! # Ok::<(), pcr99::Error>(())
//! ```

use pcr99::{Registration, Similarity, StopReason};
use serde_json::{Map, Value, json};

use crate::{
    register::{CloudRegistration, CloudSummary, PoseCandidate},
    verify::Assessment,
};

/// The version of the documents, their field `schema`.
pub const SCHEMA: u32 = 1;

/// Name and version, their field `program`.
pub const PROGRAM: &str = concat!("pcr99 ", env!("CARGO_PKG_VERSION"));

/// The document of a registration from so many matches by the method of that name.
pub fn of_matches(method: &str, matches: usize, found: &Registration) -> Value {
    let model = found.target_from_source.as_ref();
    let candidate = |c: &pcr99::Candidate| json!({ "transform": c.target_from_source.matrix(), "inlier_count": c.inlier_count, "log10_nfa": c.evidence.log10_nfa });
    let candidates: Vec<Value> = found.candidates.iter().map(candidate).collect();
    let evidence =
        found.evidence.map(|e| json!({ "log10_nfa": e.log10_nfa, "inlier_places": e.inlier_places, "rotation_deviation_deg": e.rotation_deviation_deg, "rival_evidence_ratio": e.rival_evidence_ratio }));
    let counters = found.counters;
    json!({
        "schema": SCHEMA,
        "program": PROGRAM,
        "method": method,
        "status": found.status.as_str(),
        "transform": model.map(Similarity::matrix),
        "scale": model.map(Similarity::scale),
        "rotation": model.map(Similarity::rotation),
        "translation": model.map(Similarity::translation),
        "correspondences": matches,
        "inliers": found.inliers,
        "threshold": found.threshold,
        "inlier_rmse": found.inlier_rmse,
        "evidence": evidence,
        "candidates": candidates,
        "stopped_because": found.stopped_because.as_str(),
        "counters": { "pairs": counters.pairs, "hypotheses": counters.hypotheses, "triplets": counters.triplets },
        "seconds": seconds(&found.seconds),
    })
}

/// The document of a registration of two clouds.
pub fn of_clouds(found: &CloudRegistration) -> Value {
    let model = found.target_from_source.as_ref();
    let fit = |a: &Assessment| json!({ "source": a.overlap_source, "target": a.overlap_target });
    let candidate = |c: &PoseCandidate| {
        json!({ "transform": c.target_from_source.matrix(), "inlier_count": c.inlier_count, "log10_nfa": c.evidence.map(|e| e.log10_nfa),
                "overlap": fit(&c.assessment), "normal_agreement": c.assessment.normal_agreement, "residual_voxels": c.assessment.residual_voxels,
                "contradiction": c.assessment.conflict_fraction, "distinct": c.assessment.off_plane_fraction })
    };
    let candidates: Vec<Value> = found.candidates.iter().map(candidate).collect();
    let cloud = |c: &CloudSummary| json!({ "points": c.points, "not_finite": c.not_finite, "duplicates": c.duplicates, "sampled": c.sampled });
    let matches = found.matches.as_ref();
    let stopped = match found.stopped {
        Some(request) => Some(StopReason::from(request)),
        None => matches.map(|m| m.stopped_because),
    };
    json!({
        "schema": SCHEMA,
        "program": PROGRAM,
        "method": "default",
        "status": found.status.as_str(),
        "reason": found.reason(),
        "transform": model.map(Similarity::matrix),
        "scale": model.map(Similarity::scale),
        "rotation": model.map(Similarity::rotation),
        "translation": model.map(Similarity::translation),
        "fitness": found.fitness(),
        "overlap": found.assessment.as_ref().map(fit),
        "normal_agreement": found.assessment.map(|a| a.normal_agreement),
        "rmse": found.rmse,
        "contradiction": found.assessment.map(|a| a.conflict_fraction),
        "distinct": found.assessment.map(|a| a.off_plane_fraction),
        "information": found.information,
        "information_center": found.information_center,
        "voxel": found.voxel,
        "clouds": { "source": cloud(&found.source), "target": cloud(&found.target) },
        "correspondences": matches.map_or(0, |m| m.matches),
        "inliers": matches.map_or(&[][..], |m| &m.inliers),
        "threshold": matches.map(|m| m.threshold),
        "evidence": matches.map(|m| json!({ "log10_nfa": m.evidence.log10_nfa, "inlier_places": m.evidence.inlier_places })),
        "candidates": candidates,
        "stopped_because": stopped.map(StopReason::as_str),
        "counters": matches.map(|m| json!({ "pairs": m.counters.pairs, "hypotheses": m.counters.hypotheses, "triplets": m.counters.triplets })),
        "seconds": seconds(&found.seconds),
    })
}

/// A document as text: one field per line.
pub fn to_text(document: &Value) -> String {
    let fields = document.as_object().into_iter().flatten();
    let lines: Vec<String> =
        fields.map(|(name, value)| format!("  {}: {value}", Value::from(name.as_str()))).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// What speaks against a registration from matches, in one word; `None` when nothing does, and when there is none.
pub fn doubt_of_matches(found: &Registration) -> Option<&'static str> {
    found.doubt.map(|doubt| doubt.code())
}

/// What speaks against a registration of two clouds, in one word; `None` when nothing does.
pub fn doubt_of_clouds(found: &CloudRegistration) -> Option<&'static str> {
    found.doubt.map(|doubt| doubt.code())
}

/// Seconds with their stages.
fn seconds(seconds: &pcr99::Seconds) -> Map<String, Value> {
    let mut map = Map::from_iter([("total".to_owned(), json!(seconds.total))]);
    map.extend(seconds.stages.iter().map(|(stage, seconds)| ((*stage).to_owned(), json!(seconds))));
    map
}
