//! What a registration tells a listener, see [`pcr99_base::logging`].

use pcr99::Scale;
use pcr99_base::{
    debug, info,
    logging::is_detailed,
    text::{counted, motion, percent, shown},
};

use super::{
    CloudRegistration, CloudSummary, MatchSummary, POINT_PAIRS, PoseCandidate, RoundKind, SearchRound, Task,
    search::{Candidate, Effort},
};
use crate::{
    orient::Orientation,
    prepare::PreparedCloud,
    refine::{
        Refinement,
        finish::{self, Finished, Surfaces},
    },
    verify::Assessment,
};

impl Task<'_> {
    /// Tells what is registered.
    pub(super) fn tell_input(&self) {
        let [source, target] = self.exchange.pair([self.pair.moving, self.pair.fixed]).map(points);
        info!("source: {source}; target: {target}");
        info!("normals: {}", orientation(self.pair.orientation));
    }

    /// Tells which voxel was chosen and why. `scale` is the number of fixed units per moving unit.
    pub(super) fn tell_voxel(&self, fixed_voxel: f64, scale: f64) {
        let used = self.exchange.unit(scale) * fixed_voxel;
        let reason = || match self.params.voxel() {
            None => "chosen from the density and extent of both clouds".to_owned(),
            // By more than rounding.
            Some(given) if used > 1.001 * given.get() => {
                format!("coarser than the given {}, which would leave too many points", shown(given.get()))
            }
            Some(_) => "as given".to_owned(),
        };
        info!("voxel {}: {}", shown(used), reason());
    }

    /// Tells which poses were compared with the clouds, best first.
    pub(super) fn tell_candidates(&self, known: &[Candidate]) {
        if is_detailed() {
            for (rank, candidate) in (1..).zip(known) {
                debug!("candidate {rank}: {}", candidate_text(&self.exchange.candidate_out(candidate)));
            }
        }
    }

    /// Keeps the record of a round, and tells it.
    pub(super) fn add_round(&mut self, round: SearchRound) {
        self.rounds.push(round);
        let number = self.rounds.len();
        match round.kind {
            RoundKind::Scale => debug!("round {number}: {}", round_text(&round)),
            _ => info!("round {number}: {}", round_text(&round)),
        }
    }

    /// Tells which scale is searched.
    pub(super) fn tell_scale(&self, scale: f64, range: Scale) {
        let Scale::Between(low, high) = self.exchange.scale(range) else { return };
        let [low, high] = [low, high].map(|bound| shown(bound.get()));
        info!("scale about {}: from {low} to {high} is searched", shown(self.exchange.scale_out(scale)));
    }

    /// Tells what the last stage of the refinement used, and why not more.
    pub(super) fn tell_finish(&self, surfaces: &Surfaces, scale: f64, finished: &Finished) {
        let [moving, fixed] = [self.pair.moving, self.pair.fixed].map(|cloud| cloud.points().len());
        let [source, target] = self.exchange.pair([moving, fixed]);
        let unit = self.exchange.unit(scale);
        let used = || {
            format!(
                "all {source} and {target} points, as {} patches; cells are {} wide, because {}",
                finished.pairs,
                shown(unit * surfaces.cell()),
                if surfaces.are_noisy() {
                    finish::NOISY
                } else {
                    finish::why_no_smaller(moving.max(fixed), finished.is_weak)
                }
            )
        };
        match self.params.refinement() {
            Refinement::None => debug!("not refined; its accuracy is estimated from {}", used()),
            Refinement::PointToPoint => {
                debug!(
                    "refined with at most {POINT_PAIRS} points; its accuracy is estimated from {}",
                    used()
                );
            }
            _ => debug!(
                "refined in {}, {}, with {}",
                counted(finished.steps as u64, "step", "steps"),
                if finished.is_settled { "until it hardly moved" } else { "and it still moved" },
                used()
            ),
        }
    }
}

impl CloudRegistration {
    /// Tells what was found.
    pub(super) fn tell(&self) {
        if let Some(matches) = &self.matches {
            info!("{}", match_line(matches));
        }
        if let Some(rival) = &self.rival {
            info!(
                "rival: {}, {}; score {} of the answer's; {}; it is not refuted because {}",
                counted(rival.inlier_count as u64, "inlier", "inliers"),
                fit(&rival.assessment),
                percent(rival.score_ratio),
                motion(&rival.target_from_source),
                rival.not_refuted_because
            );
        }
        for pose in self.poses.iter().skip(1) {
            debug!("fits as well: {}; {}", fit(&pose.assessment), motion(&pose.target_from_source));
        }
        if let Some(covariance) = &self.covariance {
            info!("accuracy: {}", covariance.accuracy());
        }
        match self.doubt {
            Some(doubt) => info!("doubt `{}`: {}", doubt.code(), self.reason()),
            None => info!("no doubt: {}", self.reason()),
        }
    }
}

/// Tells how many matches between descriptors are searched; `None` when there are too few.
pub(super) fn tell_matches(effort: Effort, matches: Option<usize>) {
    let kind = match effort {
        Effort::Mutual => "mutual nearest neighbours",
        Effort::All => "nearest neighbours either way",
    };
    match matches {
        Some(count) => {
            debug!("{} between descriptors ({kind})", counted(count as u64, "match", "matches"));
        }
        None => debug!("too few matches between descriptors to search ({kind})"),
    }
}

/// Tells how many poses that the shape of the clouds suggests are compared with the answer.
pub(super) fn tell_decoys(count: usize) {
    match count {
        0 => debug!("the shape of the clouds suggests no other pose"),
        _ => debug!(
            "the shape of the clouds suggests {}, compared as rivals",
            counted(count as u64, "pose", "poses")
        ),
    }
}

/// Number of points of a cloud, and what was removed.
fn points(cloud: &PreparedCloud) -> String {
    let CloudSummary { points, not_finite, duplicates, .. } = CloudSummary::of(cloud, 0);
    let removed = [(not_finite, "non-finite"), (duplicates, "duplicate")].into_iter();
    let removed: Vec<String> =
        removed.filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let all = counted(points as u64, "point", "points");
    if removed.is_empty() { all } else { format!("{all}, of which {} are removed", removed.join(" and ")) }
}

fn orientation(orientation: Orientation) -> &'static str {
    match orientation {
        Orientation::Given => "oriented as in the files",
        Orientation::Viewpoint => "oriented towards the sensor positions",
        Orientation::Consistent => "oriented consistently within each surface; the side is not certain",
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
        "{}: voxel {voxels}, {} and {} sampled points, {}, {}; best pose with {}: {judged}",
        round.kind.as_str(),
        round.sampled[0],
        round.sampled[1],
        counted(round.matches as u64, "match", "matches"),
        counted(round.candidates as u64, "candidate", "candidates"),
        counted(round.best_inlier_count as u64, "inlier", "inliers")
    )
}

fn match_line(matches: &MatchSummary) -> String {
    format!(
        "matches: {} between descriptors; {} agree within {}, {}, inliers {}",
        matches.matches,
        matches.inliers.len(),
        shown(matches.threshold),
        matches.evidence.false_alarms(),
        matches.evidence.places()
    )
}

fn candidate_text(candidate: &PoseCandidate) -> String {
    let found = candidate.evidence.map_or("no matches".to_owned(), |evidence| evidence.false_alarms());
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
