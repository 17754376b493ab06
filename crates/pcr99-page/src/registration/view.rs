//! What a page shows of one registration: clouds and matches thinned, candidates, histogram, facts.

use std::fmt::Write as _;

use pcr99::{Registration, Similarity, Status, StopReason};
use pcr99_cloud::CloudRegistration;
use pcr99_document::{
    CloudDocument, Document, DoubtCode, Evidence, Fit, LocalTransform, MatchDocument, Matrix, NotRefuted,
    Seconds,
};

use super::{
    axes::AxisAccuracy,
    check::check,
    distances::Distances,
    histogram::Bins,
    rotation::angle_deg,
    thin::thinned,
    votes::{self, VoteLayer},
};
use crate::{
    Error,
    numbers::{duration, grouped, percent, power_of_ten, shown},
};

/// Name of the fact that is the sum of the times of all stages.
const TIME: &str = "time";

/// Largest number of points drawn per cloud.
const MOST_POINTS: usize = 30_000;
/// Largest number of matched points drawn per side. They form no surface, and more would hide each other.
const MOST_MATCHED: usize = 10_000;
/// Largest number of inliers drawn as lines, per candidate.
pub(crate) const MOST_INLIERS: usize = 1000;
/// Largest number of outliers drawn as lines.
pub(crate) const MOST_OUTLIERS: usize = 1500;
/// Largest number of candidates on a page, the rival and those that fit as well as the answer apart.
const MOST_CANDIDATES: usize = 8;
/// Largest number of poses on a page that fit as well as the answer.
const MOST_EQUIVALENT: usize = 23;
/// Poses are the same when they differ by less than this fraction of their difference from the answer.
const SAME: f64 = 0.03;

/// One registration, prepared for a page.
#[derive(Debug, Clone)]
pub struct RegistrationView {
    pub(crate) title: Option<String>,
    /// Names of source and target; `None` until they are given.
    pub(crate) names: Option<[String; 2]>,
    pub(crate) status: Status,
    pub(crate) doubt: Option<DoubtCode>,
    pub(crate) reason: String,
    /// Name and value, in the order in which they are shown.
    pub(crate) facts: Vec<(String, String)>,
    /// Whether points are drawn.
    pub(crate) has_points: bool,
    /// Source and target.
    pub(crate) clouds: [CloudPart; 2],
    pub(crate) lines: Lines,
    /// The answer first; empty without a solution.
    pub(crate) poses: Vec<Pose>,
    /// Motions after which the clouds fit as well, in words.
    pub(crate) free_motions: Vec<String>,
    /// Votes of points on the answer; empty for matches.
    pub(crate) votes: Vec<VoteLayer>,
    /// Where most of the votes that raised the doubt are, in target coordinates.
    pub(crate) place: Option<[f64; 3]>,
    /// How accurate the transform is.
    pub(crate) accuracy: Option<String>,
    /// The same along each axis.
    pub(crate) axes: Option<AxisAccuracy>,
    /// Distances between the clouds after registration.
    pub(crate) distances: Option<Distances>,
    /// A sentence on the rival.
    pub(crate) rival: Option<String>,
    pub(crate) bins: Option<Bins>,
    /// Inlier threshold, in target units.
    pub(crate) threshold: Option<f64>,
    pub(crate) seconds: Option<Seconds>,
    /// Method, and why the search ended.
    pub(crate) search: String,
    /// Whether the points are those of matches and not whole clouds. The place of such points before registration tells little.
    pub(crate) are_matches: bool,
}

/// Some of the points of a cloud.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CloudPart {
    /// Number of finite points of the cloud.
    pub(crate) total: usize,
    pub(crate) points: Vec<[f64; 3]>,
}

/// Some of the matches.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Lines {
    /// Number of matches.
    pub(crate) total: usize,
    /// Indices of those that are drawn, ascending.
    pub(crate) index: Vec<usize>,
    /// Their points in source and target.
    pub(crate) points: Vec<[[f64; 3]; 2]>,
    /// Number of outliers of the answer, and how many of them are drawn.
    pub(crate) outliers: [usize; 2],
}

/// The answer, or another candidate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pose {
    pub(crate) model: Similarity,
    /// Number of matches that it explains.
    pub(crate) inlier_count: usize,
    pub(crate) log10_nfa: Option<f64>,
    /// Overlap of source and target.
    pub(crate) overlap: Option<[f64; 2]>,
    pub(crate) is_rival: bool,
    /// How it relates to the answer, in words, where it fits as well.
    pub(crate) relation: Option<String>,
    /// Angle to the answer's rotation, in degrees.
    pub(crate) rotated_deg: f64,
    /// Places in [`Lines::index`] of the matches that it explains.
    pub(crate) inliers: Vec<usize>,
    /// Number of matches in each bar of the histogram.
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

/// A candidate of a document.
struct Found {
    model: Similarity,
    inlier_count: usize,
    log10_nfa: Option<f64>,
    overlap: Option<[f64; 2]>,
    is_rival: bool,
    relation: Option<String>,
}

impl Found {
    fn new(model: Similarity, inlier_count: usize, evidence: Option<&Evidence>, fit: Option<&Fit>) -> Self {
        Self {
            model,
            inlier_count,
            log10_nfa: evidence.map(|evidence| evidence.log10_nfa),
            overlap: fit.map(|fit| [fit.overlap_source, fit.overlap_target]),
            is_rival: false,
            relation: None,
        }
    }

    /// Whether this is another pose than the answer, and `other` nearly the same: a hundredth as far from it as the answer, in rotation and in place.
    fn is_close_to(&self, other: &Self, answer: &Self) -> bool {
        let apart = |a: &Similarity, b: &Similarity| {
            let turned = angle_deg(&a.rotation(), &b.rotation()).to_radians();
            let (p, q) = (a.translation(), b.translation());
            let moved = p.iter().zip(q).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
            [turned, moved]
        };
        let (near, far) = (apart(&self.model, &other.model), apart(&self.model, &answer.model));
        self.model == other.model || (near[0] <= SAME * far[0].max(SAME) && near[1] <= SAME * far[1])
    }

    /// A candidate from its matrix; `None` when the matrix is not a similarity, which documents that were read never have.
    fn other(
        matrix: &Matrix,
        inlier_count: usize,
        evidence: Option<&Evidence>,
        fit: Option<&Fit>,
    ) -> Option<Self> {
        Some(Self::new(Similarity::from_matrix(matrix).ok()?, inlier_count, evidence, fit))
    }
}

/// The other poses of a document that fit as well as the answer.
fn equivalent(document: &Document) -> Vec<Found> {
    let Document::Clouds(CloudDocument { poses, .. }) = document else { return Vec::new() };
    let found = poses.iter().skip(1).filter_map(|pose| {
        let found = Found::other(&pose.transform, pose.inlier_count, None, Some(&pose.fit))?;
        Some(Found { relation: pose.relation.as_ref().map(|relation| relation.sentence.clone()), ..found })
    });
    found.collect()
}

/// The answer of a document, its other candidates, and its rival.
fn candidates(document: &Document) -> Vec<Found> {
    let answer = document
        .target_from_source()
        .map(|model| Found::new(model, document.inliers().len(), document.evidence(), document.fit()));
    let Some(answer) = answer else { return Vec::new() };
    let (others, rival): (Vec<Option<Found>>, Option<Found>) = match document {
        Document::Matches(MatchDocument { candidates, rival, .. }) => (
            candidates
                .iter()
                .map(|c| Found::other(&c.transform, c.inlier_count, Some(&c.evidence), None))
                .collect(),
            rival.as_ref().and_then(|r| Found::other(&r.transform, r.inlier_count, Some(&r.evidence), None)),
        ),
        Document::Clouds(CloudDocument { candidates, rival, .. }) => (
            (candidates.iter())
                .map(|c| Found::other(&c.transform, c.inlier_count, c.evidence.as_ref(), Some(&c.fit)))
                .collect(),
            (rival.as_ref())
                .and_then(|r| Found::other(&r.transform, r.inlier_count, r.evidence.as_ref(), Some(&r.fit))),
        ),
    };
    let equivalent = equivalent(document);
    let is_new = |other: &Found| equivalent.iter().all(|known| !known.is_close_to(other, &answer));
    let others: Vec<Found> = others.into_iter().flatten().skip(1).filter(is_new).collect();
    let mut found: Vec<Found> = std::iter::once(answer).chain(equivalent).take(MOST_EQUIVALENT + 1).collect();
    let room = MOST_CANDIDATES.saturating_sub(found.len());
    found.extend(others.into_iter().take(room));
    if let Some(rival) = rival {
        let (answer, others) = found.split_at_mut(1);
        match others.iter_mut().find(|candidate| candidate.is_close_to(&rival, &answer[0])) {
            Some(candidate) => candidate.is_rival = true,
            None => found.push(Found { is_rival: true, ..rival }),
        }
    }
    found
}

/// Motions after which the clouds fit as well, in words.
fn free_motions(document: &Document) -> Vec<String> {
    match document {
        Document::Matches(_) => Vec::new(),
        Document::Clouds(clouds) => {
            clouds.free_motions.iter().map(|motion| motion.sentence.clone()).collect()
        }
    }
}

/// Where most of the votes that raised the doubt are.
fn place(document: &Document) -> Option<[f64; 3]> {
    match document {
        Document::Matches(_) => None,
        Document::Clouds(clouds) => clouds.place.map(|place| place.at),
    }
}

/// A sentence on the rival of a document that was not refuted.
fn rival(document: &Document) -> Option<String> {
    let because = match document {
        Document::Matches(matches) => matches.rival.as_ref()?.not_refuted_because.as_ref(),
        Document::Clouds(clouds) => clouds.rival.as_ref()?.not_refuted_because.as_ref(),
    };
    because.map(|NotRefuted { sentence, .. }| format!("The rival could not be refuted: {sentence}."))
}

/// How accurate the transform is; and where coordinates are far from their origin, the transform about a local one.
fn accuracy(document: &Document) -> Option<String> {
    // The accuracy of a wrong transform says nothing.
    if document.status() != Status::Registered {
        return None;
    }
    let (model, accuracy) = document.target_from_source().zip(document.accuracy())?;
    let mut text = format!("Accuracy, in target units: {}.", accuracy.sentence);
    if let Some(local) = LocalTransform::of(&model, &accuracy.covariance()) {
        let point = |p: [f64; 3]| format!("({})", p.map(|x| x.to_string()).join(", "));
        let _ = write!(
            text,
            " The coordinates are far from their origin. About the local origins {} of the source and {} of the target, the translation is ({}), and every digit counts.",
            point(local.source_origin),
            point(local.target_origin),
            local.translation.map(|x| format!("{x:.6}")).join(", ")
        );
    }
    Some(text)
}

/// Name and value of what the page shows below the status.
fn facts(document: &Document) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut tell = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    let scale = document.target_from_source().map(|model| shown(model.scale()));
    let inliers = format!("{} of {}", grouped(document.inliers().len()), grouped(document.correspondences()));
    let evidence = document.evidence().map(|evidence| false_alarms(evidence.log10_nfa));
    match document {
        Document::Clouds(clouds) => {
            let overlap =
                |fit: &Fit| format!("{} / {}", percent(fit.overlap_source), percent(fit.overlap_target));
            tell("overlap, source / target", clouds.fit.as_ref().map(overlap));
            tell("normals that agree", clouds.fit.map(|fit| percent(fit.normal_agreement)));
            tell("RMSE, target units", clouds.rmse.map(shown));
            tell("scale", scale);
            tell("inliers, of all matches", (clouds.correspondences > 0).then_some(inliers));
            tell("expected false alarms", evidence);
            tell("voxel, target units", Some(shown(clouds.voxel)));
        }
        Document::Matches(matches) => {
            tell("inliers, of all matches", Some(inliers));
            tell("expected false alarms", evidence);
            tell("scale", scale);
            tell("threshold, target units", Some(shown(matches.threshold)));
            tell("inlier RMSE, target units", matches.inlier_rmse.map(shown));
        }
    }
    tell(TIME, document.seconds().map(|seconds| duration(seconds.total())));
    facts
}

impl RegistrationView {
    /// A view of a saved document with the points that it was made from.
    ///
    /// For matches, `source[i]` is matched with `target[i]`. For clouds these are the clouds as they were read, and `matches` are
    /// the matches between them; without these, no matches are drawn. The votes of points are counted again.
    ///
    /// # Errors
    /// When these are not the points of the document.
    pub fn of_document(
        document: &Document,
        source: &[[f64; 3]],
        target: &[[f64; 3]],
        matches: Option<&[[[f64; 3]; 2]]>,
    ) -> Result<Self, Error> {
        check(document, source, target)?;
        let view = Self::new(document, source, target, matches);
        let votes = votes::of_document(document, source, target);
        Ok(Self { votes: votes::layers(&votes, document.status()), ..view })
    }

    /// A view of a document without its points: numbers only, nothing is drawn.
    pub fn without_points(document: &Document) -> Self {
        let mut view = Self::of_numbers(document);
        view.take(&candidates(document), 0, &|_| [[0.0; 3]; 2], &[]);
        view
    }

    /// A view of a registration from matches: `source[i]` was matched with `target[i]`.
    ///
    /// # Panics
    /// When the numbers of source and target points are not the number of matches of the registration.
    pub fn of_matches(found: &Registration, method: &str, source: &[[f64; 3]], target: &[[f64; 3]]) -> Self {
        assert_eq!(
            [source.len(), target.len()],
            [found.correspondences; 2],
            "source[i] is matched with target[i]"
        );
        Self::new(&Document::of_matches(method, found), source, target, None)
    }

    /// A view of a registration of two clouds, given as they were read.
    pub fn of_clouds(found: &CloudRegistration, source: &[[f64; 3]], target: &[[f64; 3]]) -> Self {
        let matches = found.matches.as_ref().map(|matches| matches.points.as_slice());
        let view = Self::new(&Document::of_clouds(found), source, target, matches);
        Self { votes: votes::layers(&found.votes, found.status), ..view }
    }

    fn new(
        document: &Document,
        source: &[[f64; 3]],
        target: &[[f64; 3]],
        matches: Option<&[[[f64; 3]; 2]]>,
    ) -> Self {
        let found = candidates(document);
        let mut view = Self::of_numbers(document);
        view.has_points = true;
        view.are_matches = matches!(document, Document::Matches(_));
        let most = if view.are_matches { MOST_MATCHED } else { MOST_POINTS };
        view.clouds = [source, target].map(|points| CloudPart::of(points, most));
        view.distances = Distances::of(document, &view.clouds[0].points, target);
        let total = document.correspondences();
        match matches.filter(|points| points.len() == total) {
            _ if view.are_matches => {
                view.take(&found, total, &|i| [source[i], target[i]], document.inliers())
            }
            Some(points) => view.take(&found, total, &|i| points[i], document.inliers()),
            None => view.take(&found, 0, &|_| [[0.0; 3]; 2], &[]),
        }
        view
    }

    /// What needs no points.
    fn of_numbers(document: &Document) -> Self {
        let ended = document.stopped_because().map(|reason| format!(" Search stopped: {}.", ended(reason)));
        Self {
            title: None,
            names: None,
            status: document.status(),
            doubt: document.doubt(),
            reason: document.reason().to_owned(),
            facts: facts(document),
            has_points: false,
            clouds: Default::default(),
            lines: Lines::default(),
            poses: Vec::new(),
            free_motions: free_motions(document),
            votes: Vec::new(),
            place: place(document),
            accuracy: accuracy(document),
            axes: AxisAccuracy::of(document),
            distances: None,
            rival: rival(document),
            bins: None,
            threshold: document.threshold(),
            seconds: document.seconds().cloned(),
            search: format!("Method: {}.{}", document.method(), ended.unwrap_or_default()),
            are_matches: false,
        }
    }

    /// Sets the names of source and target, such as those of their files.
    #[must_use]
    pub fn with_names(self, source: &str, target: &str) -> Self {
        Self { names: Some([source, target].map(str::to_owned)), ..self }
    }

    /// Replaces the times of the stages, and their sum among the facts.
    #[must_use]
    pub fn with_seconds(mut self, seconds: Seconds) -> Self {
        self.facts.retain(|(name, _)| name != TIME);
        self.facts.push((TIME.to_owned(), duration(seconds.total())));
        Self { seconds: Some(seconds), ..self }
    }

    /// Adds a heading, for a page of several.
    #[must_use]
    pub fn with_title(self, title: &str) -> Self {
        Self { title: Some(title.to_owned()), ..self }
    }

    /// Adds a further fact below the status, such as an error against a known truth.
    #[must_use]
    pub fn with_fact(mut self, name: &str, value: &str) -> Self {
        self.facts.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds the whole clouds, for matches between some of their points.
    #[must_use]
    pub fn with_clouds(self, source: &[[f64; 3]], target: &[[f64; 3]]) -> Self {
        Self {
            are_matches: false,
            clouds: [source, target].map(|points| CloudPart::of(points, MOST_POINTS)),
            ..self
        }
    }

    /// Sets lines, poses and histogram from all matches.
    fn take(
        &mut self,
        found: &[Found],
        count: usize,
        pair: &dyn Fn(usize) -> [[f64; 3]; 2],
        inliers: &[usize],
    ) {
        let threshold = self.threshold.unwrap_or(0.0);
        // By pose, ascending: the inliers of the answer, and for the others what is within the threshold.
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
                is_rival: pose.is_rival,
                relation: pose.relation.clone(),
                rotated_deg: angle_deg(&pose.model.rotation(), &found[0].model.rotation()),
                inliers: (0..index.len()).filter(|&k| own.binary_search(&index[k]).is_ok()).collect(),
                counts: self.bins.as_ref().map_or(Vec::new(), |bins| {
                    bins.counts((0..count).map(|i| residual(&pose.model, pair(i))))
                }),
            })
            .collect();
        let points = index.iter().map(|&i| pair(i)).collect();
        self.lines = Lines { total: count, index, points, outliers: [outliers.len(), drawn] };
    }

    /// Whether the answer is confirmed.
    pub(crate) fn is_registered(&self) -> bool {
        self.status == Status::Registered
    }
}

/// Why a search ended, in words.
fn ended(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EnoughInliers => "the required number of inliers was reached",
        StopReason::Confident => "confident that no better answer was missed",
        StopReason::Exhausted => "everything was tried",
        StopReason::HypothesisLimit => "the limit on hypotheses was reached",
        StopReason::TimeLimit => "the time limit was reached",
        StopReason::Interrupted => "interrupted",
        _ => "for another reason",
    }
}

/// A number of false alarms: written out unless it is small.
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
