//! What a result says beyond the pose and its verdict: what fits as well, where the votes that decided are, and all votes.

use pcr99::Similarity;
use pcr99_base::vector::{distance_sq, norm};

use super::{
    DecisivePlace, Doubt, EquivalentPose, FreeMotion, Relation, Task, VotedPoint,
    ambiguity::Ambiguity,
    exchange::Exchange,
    look::{Answer, Look},
    places,
    search::{Candidate, Pair, SampledPair},
};
use crate::prepare::PreparedCloud;

/// Votes of single points of both clouds on a pose, for instance on that of a saved result. `voxel` is the edge of a voxel in target units.
///
/// With `is_oriented`, points of two surfaces that lie on each other back to back vote against the pose. A search orients normals, a refinement alone does not.
///
/// The field [`votes`](super::CloudRegistration::votes) of a result has those on the answer.
///
/// ```
/// use pcr99::Similarity;
/// use pcr99_cloud::{PreparedCloud, RawCloud, register::{Vote, votes}};
///
/// # let hills = |k: u32| { let (x, y) = (f64::from(k % 60) * 0.1, f64::from(k / 60) * 0.1);
/// #     [x, y, (x * 1.3).sin() * (y * 0.9 + 0.4).cos() + 0.4 * (2.1 * x - 1.7 * y).sin()] };
/// # let points: Vec<[f64; 3]> = (0..3600).map(hills).collect();
/// let map = PreparedCloud::new(RawCloud::new(&points))?;
/// let found = votes(&map, &map, &Similarity::IDENTITY, 0.2, true);
/// assert!(found.iter().all(|point| point.vote == Vote::For));
/// # Ok::<(), pcr99_cloud::RegisterError>(())
/// ```
pub fn votes(
    source: &PreparedCloud,
    target: &PreparedCloud,
    pose: &Similarity,
    voxel: f64,
    is_oriented: bool,
) -> Vec<VotedPoint> {
    let (exchange, clouds) = Exchange::of(source, target);
    let pair = Pair::new(clouds, None);
    let pose = exchange.pose_in(pose);
    let fixed_voxel = exchange.length_in(voxel, pose.scale());
    let sampled = pair.sampled(fixed_voxel / pose.scale(), fixed_voxel);
    if is_oriented {
        pair.features(&sampled);
    }
    voted(&exchange, &sampled, &Candidate::without_matches(&sampled, pose, pose))
}

/// The votes on a candidate, in the coordinates of source and target.
fn voted(exchange: &Exchange, sampled: &SampledPair, candidate: &Candidate) -> Vec<VotedPoint> {
    let clouds = [(&sampled.moving, true), (&sampled.fixed, false)];
    let votes = places::votes_on(sampled, candidate).into_iter().zip(clouds);
    let points = votes.flat_map(|(votes, (cloud, is_moving))| {
        votes.into_iter().map(move |(i, vote, _)| VotedPoint {
            is_source: exchange.is_source(is_moving),
            point: exchange.point_out(cloud.points[i], is_moving),
            vote,
        })
    });
    points.collect()
}

/// Poses and places in the coordinates of source and target.
#[derive(Debug, Default)]
pub(super) struct Further {
    /// The doubt where other poses fit as well, in place of that of the judge.
    pub(super) doubt: Option<Doubt>,
    pub(super) poses: Vec<EquivalentPose>,
    pub(super) free_motions: Vec<FreeMotion>,
    pub(super) place: Option<DecisivePlace>,
    pub(super) votes: Vec<VotedPoint>,
}

impl Task<'_> {
    /// Looks for what a result says beyond the pose and its verdict.
    pub(super) fn further(&mut self, look: &Look, with_scale: bool) -> Further {
        let Some(answer) = &look.answer else { return Further::default() };
        let ambiguity = if self.params.is_local() || self.is_stopped() {
            None
        } else {
            Ambiguity::of(look, with_scale, self.stop)
        };
        let doubt = ambiguity.as_ref().map(|found| {
            let ratio = |other: &Candidate| other.score() / answer.candidate.score();
            let best = found.others.iter().map(ratio).filter(|ratio| ratio.is_finite()).fold(0.0, f64::max);
            match answer.judgement.doubt {
                Some(ambiguous @ Doubt::Ambiguous { .. }) => ambiguous,
                _ if found.others.is_empty() => Doubt::Ambiguous { score_ratio: 1.0 },
                _ => Doubt::Ambiguous { score_ratio: best },
            }
        });
        let (poses, free_motions) =
            ambiguity.map_or((Vec::new(), Vec::new()), |found| self.equivalent(look, answer, found));
        let place = answer
            .judgement
            .doubt
            .filter(|_| doubt.is_none())
            .and_then(|doubt| self.place(look, answer, &doubt));
        let votes = voted(&self.exchange, &look.sampled, &answer.candidate);
        let further = Further { doubt, poses, free_motions, place, votes };
        self.clock.lap("verify");
        further
    }

    /// The answer and the poses that fit as well, and the free motions, in target coordinates.
    fn equivalent(
        &self,
        look: &Look,
        answer: &Answer,
        found: Ambiguity,
    ) -> (Vec<EquivalentPose>, Vec<FreeMotion>) {
        let exchange = &self.exchange;
        let pose = answer.candidate.pose;
        let unit = exchange.unit(pose.scale());
        let precision = unit * look.sampled.voxel(pose.scale());
        let first = exchange.pose_out(&pose);
        let (sum, points) = (look.sampled.moving.points.iter(), &look.sampled.moving.points);
        let n = points.len().max(1) as f64;
        let mean = sum.fold([0.0; 3], |sum, p| std::array::from_fn(|k| sum[k] + p[k] / n));
        let spread_sq = points.iter().map(|&p| distance_sq(p, mean)).sum::<f64>() / n;
        let lever = precision.max(unit * pose.scale() * spread_sq.sqrt());
        let frame = exchange.target_frame(&pose);
        let center = frame.apply(pose.apply(mean));
        let of = |candidate: &Candidate, relation: Option<Relation>| EquivalentPose {
            target_from_source: exchange.pose_out(&candidate.pose),
            relation,
            inlier_count: candidate.inliers,
            assessment: exchange.fit_out(candidate.votes.assessment),
        };
        let mut poses: Vec<EquivalentPose> = (found.others.iter())
            .map(|other| {
                let second = exchange.pose_out(&other.pose);
                of(other, Some(Relation::between(&first, &second, center, lever, precision)))
            })
            .collect();
        poses.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        poses.insert(0, of(&answer.candidate, None));
        let free = found.free.iter().map(|motion| motion.in_frame(&frame)).collect();
        (poses, free)
    }

    /// Where most of the votes that raised a doubt are.
    fn place(&self, look: &Look, answer: &Answer, doubt: &Doubt) -> Option<DecisivePlace> {
        let (at, share) = places::decisive(&self.pair, &look.sampled, &answer.candidate, doubt)?;
        let pose = &answer.candidate.pose;
        let radius = self.exchange.unit(pose.scale()) * places::RADIUS * look.sampled.voxel(pose.scale());
        Some(DecisivePlace { at: self.exchange.target_frame(pose).apply(at), radius, share })
    }
}

/// Order of poses: small turns first, turns about the same axis together, then shifts by their length. Directions are rounded, so that noise does not part them.
fn order(pose: &EquivalentPose) -> (bool, [f64; 3], f64, f64) {
    let Some(relation) = &pose.relation else { return (false, [0.0; 3], 0.0, 0.0) };
    let shift = norm(relation.shift);
    match relation.turn {
        Some(turn) => (false, turn.axis.map(|x| -(20.0 * x).round()), turn.degrees, shift),
        None => (true, [0.0; 3], 0.0, shift),
    }
}
