//! Source and target as given, and the order in which they are registered.
//!
//! The cloud with fewer points moves and the other is fixed, so that exchanging source and target gives the inverse pose. Inside, coordinates are relative
//! to the centres of the clouds. This is the only place that knows which of the two clouds the source is.

use std::cmp::Ordering;

use pcr99::{Scale, Similarity, Vertical};

use super::{PoseCandidate, judge::own_doubt, search::Candidate};
use crate::{prepare::PreparedCloud, verify::Assessment};

/// Converts between the caller's source and target and the moving and the fixed cloud.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    /// Whether the moving cloud is the target.
    is_exchanged: bool,
    /// Centres of the moving and of the fixed cloud.
    centers: [[f64; 3]; 2],
}

impl Exchange {
    /// The order of two clouds; also returns the moving and the fixed one.
    pub(super) fn of<'a>(
        source: &'a PreparedCloud,
        target: &'a PreparedCloud,
    ) -> (Self, [&'a PreparedCloud; 2]) {
        let is_exchanged = order(source, target) == Ordering::Greater;
        let [moving, fixed] = if is_exchanged { [target, source] } else { [source, target] };
        (Self { is_exchanged, centers: [moving.center(), fixed.center()] }, [moving, fixed])
    }

    /// Something of the source and of the target, from that of the moving and of the fixed cloud, or the other way round.
    pub(super) fn pair<T>(&self, [a, b]: [T; 2]) -> [T; 2] {
        if self.is_exchanged { [b, a] } else { [a, b] }
    }

    /// Number of fixed units per moving unit.
    pub(super) fn scale(&self, scale: Scale) -> Scale {
        if !self.is_exchanged {
            return scale;
        }
        let inverse = match scale {
            Scale::Unknown => Ok(Scale::Unknown),
            Scale::Known(s) => Scale::known(1.0 / s.get()),
            Scale::Between(low, high) => Scale::between(1.0 / high.get(), 1.0 / low.get()),
        };
        inverse.unwrap_or(scale)
    }

    /// The vertical of the moving and of the fixed cloud.
    pub(super) fn vertical(&self, vertical: &Vertical) -> Vertical {
        if self.is_exchanged { vertical.exchanged() } else { *vertical }
    }

    /// A length in target units, in fixed units; `scale` is the number of fixed units per moving unit.
    pub(super) fn length_in(&self, length: f64, scale: f64) -> f64 {
        if self.is_exchanged { length * scale } else { length }
    }

    /// One fixed unit, in target units.
    pub(super) fn unit(&self, scale: f64) -> f64 {
        if self.is_exchanged { 1.0 / scale } else { 1.0 }
    }

    /// The caller's pose, from moving to fixed.
    pub(super) fn pose_in(&self, pose: &Similarity) -> Similarity {
        let [from, to] = self.pair(self.centers);
        let inner = shift(from).then(pose).then(&shift(to.map(|x| -x)));
        if self.is_exchanged { inner.inverse() } else { inner }
    }

    /// A pose from moving to fixed, from source to target.
    pub(super) fn pose_out(&self, pose: &Similarity) -> Similarity {
        let [moving, fixed] = self.centers;
        let full = shift(moving.map(|x| -x)).then(pose).then(&shift(fixed));
        if self.is_exchanged { full.inverse() } else { full }
    }

    /// Maps the coordinates of the fixed cloud to those of the target as given, under a pose from moving to fixed.
    pub(super) fn target_frame(&self, pose: &Similarity) -> Similarity {
        let [moving, fixed] = self.centers;
        if self.is_exchanged { pose.inverse().then(&shift(moving)) } else { shift(fixed) }
    }

    /// Whether the moving (or else the fixed) cloud is the source.
    pub(super) fn is_source(&self, is_moving: bool) -> bool {
        is_moving != self.is_exchanged
    }

    /// A point relative to the centre of the moving or of the fixed cloud, as given.
    pub(super) fn point_out(&self, point: [f64; 3], is_moving: bool) -> [f64; 3] {
        shift(self.centers[usize::from(!is_moving)]).apply(point)
    }

    /// A match of a moving and a fixed point, as source and target point.
    pub(super) fn points_out(&self, [moving, fixed]: [[f64; 3]; 2]) -> [[f64; 3]; 2] {
        let [a, b] = self.centers;
        self.pair([shift(a).apply(moving), shift(b).apply(fixed)])
    }

    /// Target units per source unit, from fixed units per moving unit.
    pub(super) fn scale_out(&self, scale: f64) -> f64 {
        if self.is_exchanged { 1.0 / scale } else { scale }
    }

    /// A candidate with the pose from source to target.
    pub(super) fn candidate_out(&self, candidate: &Candidate) -> PoseCandidate {
        PoseCandidate {
            target_from_source: self.pose_out(&candidate.pose),
            inlier_count: candidate.inliers,
            evidence: candidate.evidence,
            assessment: self.fit_out(candidate.votes.assessment),
            doubt: own_doubt(candidate),
        }
    }

    /// The fit of moving and fixed cloud, as that of source and target.
    pub(super) fn fit_out(&self, fit: Assessment) -> Assessment {
        if self.is_exchanged { fit.inverse() } else { fit }
    }
}

/// Order of two clouds: the one with fewer points first, ties by coordinates. The first one moves.
fn order(source: &PreparedCloud, target: &PreparedCloud) -> Ordering {
    let (a, b) = (source.points(), target.points());
    a.len().cmp(&b.len()).then_with(|| {
        let mut compared = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| x.total_cmp(y));
        compared.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    })
}

fn shift(by: [f64; 3]) -> Similarity {
    Similarity::from_translation(by)
}
