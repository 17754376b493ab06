//! The votes of single points of two clouds on the answer, as layers of the view after registration.

use pcr99::{Similarity, Status};
use pcr99_cloud::{
    PreparedCloud, RawCloud,
    register::{self, Vote, VotedPoint},
};
use pcr99_document::{CloudDocument, Document};

/// Points with one vote.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VoteLayer {
    pub(crate) vote: Vote,
    /// Points of the source and of the target, each in the coordinates of its cloud.
    pub(crate) points: [Vec<[f64; 3]>; 2],
    /// Whether it is drawn until it is switched off.
    pub(crate) is_on: bool,
}

/// The layers of these votes; empty without votes. What speaks against an answer that is not registered is drawn from the start.
pub(crate) fn layers(votes: &[VotedPoint], status: Status) -> Vec<VoteLayer> {
    if votes.is_empty() {
        return Vec::new();
    }
    let layer = |vote: Vote| {
        let of = |is_source: bool| {
            let these = votes.iter().filter(move |point| point.vote == vote && point.is_source == is_source);
            these.map(|point| point.point).collect()
        };
        let is_on = status != Status::Registered && matches!(vote, Vote::Against | Vote::Askew);
        VoteLayer { vote, points: [of(true), of(false)], is_on }
    };
    Vote::ALL.map(layer).into()
}

/// The votes on the answer of a saved document, counted again from its points; empty for matches and without a solution.
pub(crate) fn of_document(document: &Document, source: &[[f64; 3]], target: &[[f64; 3]]) -> Vec<VotedPoint> {
    let (Document::Clouds(CloudDocument { voxel, .. }), Some(pose)) =
        (document, document.target_from_source())
    else {
        return Vec::new();
    };
    // A search has matches and orients normals; a refinement alone does neither.
    let is_oriented = document.correspondences() > 0;
    counted(source, target, &pose, *voxel, is_oriented).unwrap_or_default()
}

/// `None` for points that are no cloud, which those of a document never are.
fn counted(
    source: &[[f64; 3]],
    target: &[[f64; 3]],
    pose: &Similarity,
    voxel: f64,
    is_oriented: bool,
) -> Option<Vec<VotedPoint>> {
    let prepared = |points: &[[f64; 3]]| PreparedCloud::new(RawCloud::new(points)).ok();
    Some(register::votes(&prepared(source)?, &prepared(target)?, pose, voxel, is_oriented))
}

impl VoteLayer {
    /// Number of points.
    pub(crate) fn count(&self) -> usize {
        self.points.iter().map(Vec::len).sum()
    }

    /// What the vote means.
    pub(crate) fn meaning(&self) -> &'static str {
        match self.vote {
            Vote::For => "the other cloud has the same surface there",
            Vote::Askew => "the other cloud has a surface at another angle there",
            Vote::Against => "the other cloud has a surface a little above or below",
            Vote::Silent => "the other cloud tells nothing about the place",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vote_is_in_one_layer() {
        assert!(layers(&[], Status::NotReliable).is_empty());
        let points: Vec<[f64; 3]> = (0..900)
            .map(|k| [f64::from(k % 30) * 0.1, f64::from(k / 30) * 0.1, 0.3 * f64::from(k % 7)])
            .collect();
        let votes = counted(&points, &points, &Similarity::IDENTITY, 0.3, true).expect("votes");
        let found = layers(&votes, Status::NotReliable);
        assert_eq!(found.iter().map(VoteLayer::count).sum::<usize>(), votes.len());
        assert_eq!(found.iter().map(|layer| layer.is_on).collect::<Vec<_>>(), [false, true, true, false]);
        assert!(found[0].points[0].len() == found[0].points[1].len() && found[0].count() > 0);
        assert!(layers(&votes, Status::Registered).iter().all(|layer| !layer.is_on));
    }
}
