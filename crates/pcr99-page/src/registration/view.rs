//! What is shown of one registration: clouds and matches thinned, candidates, histogram, facts.

use pcr99::{Registration, Seconds, Similarity, Status, StopReason};
use pcr99_cloud::CloudRegistration;

use super::{histogram::Bins, rotation::angle_deg, thin::thinned, words::Verdict};
use crate::numbers::{duration, grouped, percent, power_of_ten, shown};

/// Points of each cloud that are drawn.
const MOST_POINTS: usize = 30_000;
/// Points that are drawn of those that are matched: they are no surface, and hide each other.
const MOST_MATCHED: usize = 10_000;
/// Lines of right matches that are drawn, of each candidate.
pub(crate) const MOST_INLIERS: usize = 1000;
/// Lines of wrong matches that are drawn.
pub(crate) const MOST_OUTLIERS: usize = 1500;
/// Candidates that can be looked at.
const MOST_CANDIDATES: usize = 8;

/// One registration, ready to be put on a page.
#[derive(Debug, Clone)]
pub struct RegistrationView {
    pub(crate) title: Option<String>,
    /// Of source and target.
    pub(crate) names: [String; 2],
    pub(crate) verdict: Verdict,
    /// Name and value, in the order in which they are shown.
    pub(crate) facts: Vec<(String, String)>,
    /// Source and target.
    pub(crate) clouds: [CloudPart; 2],
    pub(crate) lines: Lines,
    /// The answer first; empty without one.
    pub(crate) poses: Vec<Pose>,
    pub(crate) bins: Option<Bins>,
    /// In target units.
    pub(crate) threshold: Option<f64>,
    pub(crate) seconds: Times,
    /// How the search was made and ended, in words.
    pub(crate) search: String,
    /// Whether the points are those of matches, and not of clouds: their places before registration say little.
    pub(crate) are_matches: bool,
}

/// Seconds: in all, and of each stage.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Times {
    pub(crate) total: f64,
    pub(crate) stages: Vec<(String, f64)>,
}

impl From<&Seconds> for Times {
    fn from(seconds: &Seconds) -> Self {
        let stages = seconds.stages.iter().map(|(stage, time)| ((*stage).to_owned(), *time)).collect();
        Self { total: seconds.total, stages }
    }
}

/// Some of the points of a cloud.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CloudPart {
    /// How many finite points there are.
    pub(crate) total: usize,
    pub(crate) points: Vec<[f64; 3]>,
}

/// Some of the matches.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Lines {
    /// How many matches there are.
    pub(crate) total: usize,
    /// Which of them are drawn, ascending.
    pub(crate) index: Vec<usize>,
    /// Their points in source and target.
    pub(crate) points: Vec<[[f64; 3]; 2]>,
    /// How many wrong matches the answer leaves, and how many of those are drawn.
    pub(crate) outliers: [usize; 2],
}

/// The answer, or another candidate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pose {
    pub(crate) model: Similarity,
    /// Matches that it explains.
    pub(crate) inlier_count: Option<usize>,
    pub(crate) log10_nfa: Option<f64>,
    /// Shares of source and target that overlap.
    pub(crate) overlap: Option<[f64; 2]>,
    /// Angle to the answer's rotation, in degrees.
    pub(crate) turned_deg: f64,
    /// Places in [`Lines::index`] of the matches that it explains.
    pub(crate) inliers: Vec<usize>,
    /// Matches in each bar of the histogram.
    pub(crate) counts: Vec<usize>,
}

impl CloudPart {
    fn of(points: &[[f64; 3]], most: usize) -> Self {
        let finite = |&&p: &&[f64; 3]| p.iter().all(|x| x.is_finite());
        let total = points.iter().filter(finite).count();
        if total == points.len() {
            let points = thinned(total, most).into_iter().map(|i| points[i]).collect();
            return Self { total, points };
        }
        let usable: Vec<usize> = (0..points.len()).filter(|&i| finite(&&points[i])).collect();
        let points = thinned(total, most).into_iter().map(|k| points[usable[k]]).collect();
        Self { total, points }
    }
}

fn residual(model: &Similarity, [a, b]: [[f64; 3]; 2]) -> f64 {
    let moved = model.apply(a);
    moved.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// A candidate as it was found.
pub(crate) struct Found {
    pub(crate) model: Similarity,
    pub(crate) inlier_count: Option<usize>,
    pub(crate) log10_nfa: Option<f64>,
    /// Of source and target.
    pub(crate) overlap: Option<[f64; 2]>,
}

/// What is known of a registration of two clouds.
pub(crate) struct CloudFacts<'a> {
    pub(crate) verdict: Verdict,
    /// The answer first.
    pub(crate) poses: Vec<Found>,
    pub(crate) agreement: Option<f64>,
    pub(crate) rmse: Option<f64>,
    pub(crate) matches: Option<Agreeing<'a>>,
    pub(crate) voxel: f64,
    pub(crate) times: Times,
}

/// The matches between two clouds.
pub(crate) struct Agreeing<'a> {
    pub(crate) total: usize,
    /// All of them, or none where they are not known any more.
    pub(crate) points: &'a [[[f64; 3]; 2]],
    pub(crate) inliers: &'a [usize],
    pub(crate) threshold: f64,
    pub(crate) log10_nfa: f64,
    pub(crate) ended: StopReason,
}

/// What the time is called among the facts.
const TIME: &str = "time";

impl RegistrationView {
    /// Of a registration from matches: `source[i]` was matched with `target[i]`.
    ///
    /// # Panics
    /// When there are not as many source as target points.
    pub fn of_matches(found: &Registration, method: &str, source: &[[f64; 3]], target: &[[f64; 3]]) -> Self {
        assert_eq!(source.len(), target.len(), "row i of one matches row i of the other");
        let first = found.candidates.first();
        let answer = found.target_from_source.map(|model| Found {
            model,
            inlier_count: Some(first.map_or(found.inliers.len(), |c| c.inlier_count)),
            log10_nfa: found.evidence.map(|e| e.log10_nfa),
            overlap: None,
        });
        let others = found.candidates.iter().skip(1).map(|c| Found {
            model: c.target_from_source,
            inlier_count: Some(c.inlier_count),
            log10_nfa: Some(c.evidence.log10_nfa),
            overlap: None,
        });
        let mut facts = vec![(
            "matches that agree".to_owned(),
            format!("{} of {}", grouped(found.inliers.len()), grouped(source.len())),
        )];
        facts.extend(found.evidence.map(|e| ("false alarms expected".to_owned(), false_alarms(e.log10_nfa))));
        facts.extend(found.target_from_source.map(|m| ("scale".to_owned(), shown(m.scale()))));
        facts.push(("threshold, target units".to_owned(), shown(found.threshold)));
        facts.extend(found.inlier_rmse.map(|rmse| ("residual (rms), target units".to_owned(), shown(rmse))));
        facts.push((TIME.to_owned(), duration(found.seconds.total)));
        let mut view = Self {
            title: None,
            names: ["source", "target"].map(str::to_owned),
            verdict: Verdict::on_matches(found),
            facts,
            clouds: [source, target].map(|points| CloudPart::of(points, MOST_MATCHED)),
            lines: Lines::default(),
            poses: Vec::new(),
            bins: None,
            threshold: Some(found.threshold),
            seconds: Times::from(&found.seconds),
            search: format!("Method: {method}. The search ended: {}.", ended(found.stopped_because)),
            are_matches: true,
        };
        let found_poses: Vec<Found> = answer.into_iter().chain(others).take(MOST_CANDIDATES).collect();
        view.take(&found_poses, source.len(), &|i| [source[i], target[i]], &found.inliers);
        view
    }

    /// Of a registration of two clouds, given as they were read.
    pub fn of_clouds(found: &CloudRegistration, source: &[[f64; 3]], target: &[[f64; 3]]) -> Self {
        let fit = |a: &pcr99_cloud::verify::Assessment| [a.overlap_source, a.overlap_target];
        let (matches, first) = (found.matches.as_ref(), found.candidates.first());
        let answer = found.target_from_source.map(|model| Found {
            model,
            inlier_count: matches.map(|m| m.inliers.len()).or(first.map(|c| c.inlier_count)),
            log10_nfa: matches.map(|m| m.evidence.log10_nfa),
            overlap: found.assessment.as_ref().map(fit),
        });
        let others = found.candidates.iter().skip(1).map(|c| Found {
            model: c.target_from_source,
            inlier_count: Some(c.inlier_count),
            log10_nfa: c.evidence.map(|e| e.log10_nfa),
            overlap: Some(fit(&c.assessment)),
        });
        let reason = found.reason();
        let facts = CloudFacts {
            verdict: Verdict::of_reason(found.status, &reason, found.fitness()),
            poses: answer.into_iter().chain(others).collect(),
            agreement: found.assessment.map(|fit| fit.normal_agreement),
            rmse: found.rmse,
            matches: matches.map(|m| Agreeing {
                total: m.matches,
                points: &m.points,
                inliers: &m.inliers,
                threshold: m.threshold,
                log10_nfa: m.evidence.log10_nfa,
                ended: m.stopped_because,
            }),
            voxel: found.voxel,
            times: Times::from(&found.seconds),
        };
        Self::of_cloud_facts(facts, source, target)
    }

    pub(crate) fn of_cloud_facts(known: CloudFacts<'_>, source: &[[f64; 3]], target: &[[f64; 3]]) -> Self {
        let CloudFacts { verdict, mut poses, agreement, rmse, matches, voxel, times } = known;
        poses.truncate(MOST_CANDIDATES);
        let answer = poses.first();
        let mut facts = Vec::new();
        if let Some(overlap) = answer.and_then(|pose| pose.overlap) {
            let [source, target] = overlap.map(percent);
            facts.push(("overlap, source / target".to_owned(), format!("{source} / {target}")));
        }
        facts.extend(agreement.map(|share| ("normals that agree".to_owned(), percent(share))));
        facts.extend(rmse.map(|rmse| ("residual (rms), target units".to_owned(), shown(rmse))));
        facts.extend(answer.map(|pose| ("scale".to_owned(), shown(pose.model.scale()))));
        if let Some(m) = &matches {
            let agree = format!("{} of {}", grouped(m.inliers.len()), grouped(m.total));
            facts.push(("matches that agree".to_owned(), agree));
            facts.push(("false alarms expected".to_owned(), false_alarms(m.log10_nfa)));
        }
        facts.push(("voxel, target units".to_owned(), shown(voxel)));
        facts.push((TIME.to_owned(), duration(times.total)));
        let mut view = Self {
            title: None,
            names: ["source", "target"].map(str::to_owned),
            verdict,
            facts,
            clouds: [source, target].map(|points| CloudPart::of(points, MOST_POINTS)),
            lines: Lines::default(),
            poses: Vec::new(),
            bins: None,
            threshold: matches.as_ref().map(|m| m.threshold),
            seconds: times,
            search: matches.as_ref().map_or(String::new(), |m| {
                format!("The search among the matches ended: {}.", ended(m.ended))
            }),
            are_matches: false,
        };
        let points = matches.as_ref().map_or(&[][..], |m| m.points);
        let inliers = matches.as_ref().filter(|m| !m.points.is_empty()).map_or(&[][..], |m| m.inliers);
        view.take(&poses, points.len(), &|i| points[i], inliers);
        view
    }

    /// With another time among the facts.
    pub(crate) fn with_time(mut self, total: f64) -> Self {
        if let Some((_, time)) = self.facts.iter_mut().find(|(name, _)| name == TIME) {
            *time = duration(total);
        }
        self
    }

    /// With the names of source and target, such as those of their files.
    #[must_use]
    pub fn with_names(self, source: &str, target: &str) -> Self {
        Self { names: [source, target].map(str::to_owned), ..self }
    }

    /// With a heading, where a page has several.
    #[must_use]
    pub fn with_title(self, title: &str) -> Self {
        Self { title: Some(title.to_owned()), ..self }
    }

    /// With a further fact below the verdict, such as an error against a known truth.
    #[must_use]
    pub fn with_fact(mut self, name: &str, value: &str) -> Self {
        self.facts.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With the whole clouds, where the matches are between some of their points only.
    #[must_use]
    pub fn with_clouds(self, source: &[[f64; 3]], target: &[[f64; 3]]) -> Self {
        Self {
            are_matches: false,
            clouds: [source, target].map(|points| CloudPart::of(points, MOST_POINTS)),
            ..self
        }
    }

    /// Lines, poses and histogram from all matches.
    fn take(
        &mut self,
        found: &[Found],
        count: usize,
        pair: &dyn Fn(usize) -> [[f64; 3]; 2],
        inliers: &[usize],
    ) {
        let threshold = self.threshold.unwrap_or(0.0);
        // By pose, ascending: all of the answer, and of the others what is within the threshold.
        let explained: Vec<Vec<usize>> = found
            .iter()
            .enumerate()
            .map(|(place, pose)| match place {
                0 => inliers.to_vec(),
                _ => (0..count).filter(|&i| residual(&pose.model, pair(i)) <= threshold).collect(),
            })
            .collect();
        let is_inlier = |i: usize| inliers.binary_search(&i).is_ok();
        let outliers: Vec<usize> = (0..count).filter(|&i| !is_inlier(i)).collect();
        let mut index: Vec<usize> =
            thinned(outliers.len(), MOST_OUTLIERS).into_iter().map(|k| outliers[k]).collect();
        for own in &explained {
            index.extend(thinned(own.len(), MOST_INLIERS).into_iter().map(|k| own[k]));
        }
        index.sort_unstable();
        index.dedup();
        let drawn = index.iter().filter(|&&i| !is_inlier(i)).count();
        self.bins = found
            .first()
            .and_then(|answer| Bins::around((0..count).map(|i| residual(&answer.model, pair(i))), threshold));
        self.poses = found
            .iter()
            .zip(&explained)
            .map(|(pose, own)| Pose {
                model: pose.model,
                inlier_count: pose.inlier_count,
                log10_nfa: pose.log10_nfa,
                overlap: pose.overlap,
                turned_deg: angle_deg(&pose.model.rotation(), &found[0].model.rotation()),
                inliers: (0..index.len()).filter(|&k| own.binary_search(&index[k]).is_ok()).collect(),
                counts: self.bins.as_ref().map_or(Vec::new(), |bins| {
                    bins.counts((0..count).map(|i| residual(&pose.model, pair(i))))
                }),
            })
            .collect();
        let points = index.iter().map(|&i| pair(i)).collect();
        self.lines = Lines { total: count, index, points, outliers: [outliers.len(), drawn] };
    }

    /// Whether the answer can be trusted.
    pub(crate) fn is_registered(&self) -> bool {
        self.verdict.status == Status::Registered
    }
}

/// Why a search ended, in words.
fn ended(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EnoughInliers => "enough matches agreed",
        StopReason::Confident => "a better answer would have been found by then",
        StopReason::Exhausted => "nothing was left to try",
        StopReason::HypothesisLimit => "the limit on hypotheses was reached",
        StopReason::TimeLimit => "the time was up",
        StopReason::Interrupted => "interrupted",
        _ => reason.as_str(),
    }
}

/// A number of false alarms: plain where it is not small.
pub(crate) fn false_alarms(log10_nfa: f64) -> String {
    if (-3.0..4.0).contains(&log10_nfa) {
        let nfa = libm::exp10(log10_nfa);
        return if nfa < 10.0 {
            format!("{nfa:.*}", if nfa < 0.1 { 3 } else { 1 })
        } else {
            format!("{nfa:.0}")
        };
    }
    let power = log10_nfa.ceil();
    if power.abs() < 1e9 { power_of_ten(power as i32) } else { "0".to_owned() }
}
