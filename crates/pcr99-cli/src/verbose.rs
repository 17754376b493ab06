//! What `--verbose` says after a search: the steps, the candidates and their doubts.

use std::fmt::Write as _;

use pcr99::{Registration, Similarity};
use pcr99_cloud::{
    CloudRegistration, RegisterParams,
    orient::Orientation,
    register::{CloudSummary, MatchSummary, PoseCandidate, SearchRound},
    verify::Assessment,
};
use pcr99_plan::text::number_text;

use crate::output::{counted, evidence, percent, places, shown, stage_times};

/// Steps of a registration from matches; `given` is the threshold of the caller.
pub(crate) fn of_matches(found: &Registration, given: Option<f64>) -> String {
    let mut text = String::new();
    let origin = match given {
        Some(given) if is_reduced(given, found) => format!("reduced from the given {}", shown(given)),
        Some(_) => "as given".to_owned(),
        None => "estimated from the data".to_owned(),
    };
    let _ = writeln!(text, "threshold {} ({origin})", shown(found.threshold));
    for (rank, candidate) in (1..).zip(&found.candidates) {
        let _ = writeln!(
            text,
            "candidate {rank}: {}, {}, inliers {}, rotation uncertain by {:.2}°; {}",
            counted(candidate.inlier_count as u64, "inlier", "inliers"),
            evidence(&candidate.evidence),
            places(candidate.evidence.inlier_places),
            candidate.evidence.rotation_deviation_deg,
            motion(&candidate.target_from_source)
        );
    }
    if let Some(rival) = &found.rival {
        let _ = writeln!(
            text,
            "rival: {} inliers, {} of the evidence of the answer; {}",
            rival.inlier_count,
            percent(rival.evidence_ratio),
            motion(&rival.target_from_source)
        );
    }
    text += &doubt_line(found.doubt.map(|doubt| (doubt.code(), doubt.to_string())));
    text
}

/// Whether a result has a smaller threshold than the given one, beyond rounding.
pub(crate) fn is_reduced(given: f64, found: &Registration) -> bool {
    found.threshold < (1.0 - 1e-9) * given
}

/// Steps of a registration of two clouds.
pub(crate) fn of_clouds(found: &CloudRegistration, params: &RegisterParams) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "voxel {}: {}", shown(found.voxel), voxel_reason(found.voxel, params));
    for (name, cloud) in [("source", &found.source), ("target", &found.target)] {
        let _ = writeln!(text, "{name}: {}", points(cloud));
    }
    let _ = writeln!(text, "normals: {}", orientation(found.orientation));
    for (number, round) in (1..).zip(&found.rounds) {
        let _ = writeln!(text, "round {number}: {}", round_text(round));
    }
    match &found.matches {
        Some(matches) => text += &match_line(matches),
        None => text += "matches: too few descriptors in common to search\n",
    }
    for (rank, candidate) in (1..).zip(&found.candidates) {
        let _ = writeln!(text, "candidate {rank}: {}", candidate_text(candidate));
    }
    if let Some(rival) = &found.rival {
        let _ = writeln!(
            text,
            "rival: {} inliers, {}; score {} of the answer's; {}",
            rival.inlier_count,
            fit(&rival.assessment),
            percent(rival.score_ratio),
            motion(&rival.target_from_source)
        );
        let _ = writeln!(text, "the rival is not refuted because {}", rival.not_refuted_because);
    }
    text += &doubt_line(found.doubt.map(|doubt| (doubt.code(), found.reason())));
    let _ = writeln!(text, "time: {}", stage_times(&found.seconds));
    text
}

fn doubt_line(doubt: Option<(&str, String)>) -> String {
    match doubt {
        Some((code, sentence)) => format!("doubt `{code}`: {sentence}\n"),
        None => "no doubt\n".to_owned(),
    }
}

/// Why the voxel has this size.
fn voxel_reason(used: f64, params: &RegisterParams) -> String {
    match params.voxel() {
        None => "chosen from the density and extent of both clouds".to_owned(),
        Some(given) if is_coarser(used, given.get()) => {
            format!("coarser than the given {}, which would leave too many points", number_text(given.get()))
        }
        Some(_) => "as given".to_owned(),
    }
}

/// Whether a voxel was made coarser than the given one, by more than rounding.
pub(crate) fn is_coarser(used: f64, given: f64) -> bool {
    used > 1.001 * given
}

fn points(cloud: &CloudSummary) -> String {
    let removed = match (cloud.not_finite, cloud.duplicates) {
        (0, 0) => String::new(),
        (not_finite, duplicates) => format!("removed {not_finite} non-finite and {duplicates} duplicate, "),
    };
    format!("{} points, {removed}{} after sampling", cloud.points, cloud.sampled)
}

fn orientation(orientation: Orientation) -> &'static str {
    match orientation {
        Orientation::Given => "oriented as in the files",
        Orientation::Viewpoint => "oriented towards the sensor positions",
        Orientation::Consistent => "oriented consistently within each surface; the side is not certain",
        _ => "oriented",
    }
}

fn round_text(round: &SearchRound) -> String {
    let [source, target] = round.voxels.map(shown);
    let voxels = if source == target { source } else { format!("{source} and {target}") };
    let judged = match (round.status, round.doubt) {
        (_, Some(doubt)) => format!("doubt `{}`", doubt.code()),
        (Some(_), None) => "no doubt".to_owned(),
        (None, None) => "not judged".to_owned(),
    };
    format!(
        "{}: voxel {voxels}, {} and {} sampled points, {} matches, {}; best pose with {} inliers: {judged}",
        round.kind.as_str(),
        round.sampled[0],
        round.sampled[1],
        round.matches,
        counted(round.candidates as u64, "candidate", "candidates"),
        round.best_inlier_count
    )
}

fn match_line(matches: &MatchSummary) -> String {
    format!(
        "matches: {} between descriptors; {} agree within {}, {}, inliers {}; {}, {}; stopped: {}\n",
        matches.matches,
        matches.inliers.len(),
        shown(matches.threshold),
        evidence(&matches.evidence),
        places(matches.evidence.inlier_places),
        counted(matches.counters.pairs, "pair", "pairs"),
        counted(matches.counters.hypotheses, "hypothesis", "hypotheses"),
        matches.stopped_because.as_str().replace('_', " ")
    )
}

fn candidate_text(candidate: &PoseCandidate) -> String {
    let found = candidate.evidence.as_ref().map_or("no matches".to_owned(), evidence);
    let doubt = candidate.doubt.map_or("no doubt".to_owned(), |doubt| format!("doubt `{}`", doubt.code()));
    format!(
        "{}, {found}; {}; {doubt}; {}",
        counted(candidate.inlier_count as u64, "inlier", "inliers"),
        fit(&candidate.assessment),
        motion(&candidate.target_from_source)
    )
}

/// How well clouds fit, in numbers.
fn fit(assessment: &Assessment) -> String {
    format!(
        "overlap {} and {}, normals {}, residual {:.2} voxels, conflict {:.1} %, off planes {:.1} %",
        percent(assessment.overlap_source),
        percent(assessment.overlap_target),
        percent(assessment.normal_agreement),
        assessment.residual_voxels,
        100.0 * assessment.conflict_fraction,
        100.0 * assessment.off_plane_fraction
    )
}

/// Rotation angle, translation and scale in a few words.
fn motion(model: &Similarity) -> String {
    let r = model.rotation();
    let cosine = 0.5 * (r[0][0] + r[1][1] + r[2][2] - 1.0);
    let [x, y, z] = model.translation().map(shown);
    format!(
        "rotation {:.1}°, translation ({x}, {y}, {z}), scale {}",
        cosine.clamp(-1.0, 1.0).acos().to_degrees(),
        shown(model.scale())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_motion_in_a_few_words() {
        let quarter =
            Similarity::from_quaternion(2.0, [1.0, 0.0, 0.0, 1.0], [1.0, 0.0, -3.5]).expect("a similarity");
        assert_eq!(motion(&quarter), "rotation 90.0°, translation (1, 0, -3.5), scale 2");
    }

    #[test]
    fn the_voxel_has_a_reason() {
        let given = |voxel| RegisterParams::new().with_voxel(voxel).expect("a voxel");
        assert_eq!(
            voxel_reason(0.05, &RegisterParams::new()),
            "chosen from the density and extent of both clouds"
        );
        assert_eq!(voxel_reason(0.05, &given(0.05)), "as given");
        assert_eq!(
            voxel_reason(0.05, &given(0.01)),
            "coarser than the given 0.01, which would leave too many points"
        );
    }
}
