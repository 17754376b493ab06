//! The last stage of a refinement: all points of both clouds, as patches, against the planes of the other cloud.
//!
//! Patches of the moving cloud are compared with planes of the fixed one, and patches of the fixed cloud with planes of the moving one. So the two clouds
//! are treated alike, and what a plane misses of a curved surface cancels. A patch weighs as much as its points say: its residual is divided by the variance
//! that the scatter of the points about the planes predicts, and Tukey's weight removes what does not belong together.
//!
//! The first steps use a part of the patches, because they only have to come near; the last steps use all.

mod cells;
mod covariance;
mod prepared;
mod residuals;
mod steps;
mod stop;
mod surface;
#[cfg(test)]
mod tests;
mod weights;

use pcr99::{Covariance, Similarity};

pub use self::{
    prepared::{NOISY, Surfaces, cell_size, rounded_size, surface, why_no_smaller},
    surface::Surface,
};
use self::{
    residuals::Pairing,
    stop::{is_small, squared_length},
    weights::{Measures, Sums},
};
use super::Refinement;

/// Number of patches of each cloud for the first steps.
const FIRST_PATCHES: usize = 1500;
/// Largest number of first steps.
const FIRST_STEPS: usize = 12;
/// Largest number of steps with all patches.
const LAST_STEPS: usize = 4;
/// The coordinate axes.
const AXES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The last stage for two clouds.
#[derive(Debug)]
pub struct Finish<'a> {
    prepared: &'a Surfaces,
    /// Patches of the moving and of the fixed cloud.
    pairings: [Vec<Pairing>; 2],
    measures: Measures,
    /// Whether the patches hold a direction only weakly.
    is_weak: bool,
}

/// A refined pose.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// From moving to fixed.
    pub pose: Similarity,
    /// Number of steps.
    pub steps: usize,
    /// Whether the last step was small beside the noise.
    pub is_settled: bool,
    /// Whether the patches hold a direction only weakly, as along a corridor. Smaller cells may hold it better.
    pub is_weak: bool,
    /// Number of patches with a plane of the other cloud.
    pub pairs: usize,
    /// Root mean square distance of the points of both clouds from the planes (or points) of the other, weighted as in the fit, in fixed units; `None` without pairs.
    pub rmse: Option<f64>,
    /// Covariance of the pose, in fixed coordinates; `None` with too few patches.
    pub covariance: Option<Covariance>,
}

impl<'a> Finish<'a> {
    /// The last stage, before it has a pose.
    pub fn new(prepared: &'a Surfaces, kind: Refinement, with_scale: bool) -> Self {
        let measures = Measures { kind, with_scale, typical: 0.0, gate: 0.0, about: [0.0; 3], lever: 1.0 };
        Self { prepared, pairings: [Vec::new(), Vec::new()], measures, is_weak: false }
    }

    /// A pose between the clouds as one between their patches.
    fn inward(&self, pose: &Similarity) -> Similarity {
        self.prepared.turns[0].inverse().then(pose).then(&self.prepared.turns[1])
    }

    /// A pose between patches as one between the clouds.
    fn outward(&self, pose: &Similarity) -> Similarity {
        self.prepared.turns[0].then(pose).then(&self.prepared.turns[1].inverse())
    }

    /// Edge of the cells, in fixed units.
    fn cell(&self) -> f64 {
        self.prepared.cell()
    }

    /// Typical scatter of points about their planes, in fixed units.
    fn scatter(&self) -> f64 {
        self.measures.typical.sqrt()
    }

    /// Number of unknowns.
    fn unknowns(&self) -> usize {
        if self.measures.with_scale { 7 } else { 6 }
    }

    /// Refines `start` until a step is small beside the noise, and tells how accurate the pose is. The pose moves a typical point by at most `reach`; where more
    /// would be needed, it stays where it is.
    pub fn run(&mut self, start: &Similarity, reach: f64) -> Finished {
        let first = self.inward(start);
        let mut pose = first;
        let (mut steps, mut is_settled) = (0, false);
        if self.moves() {
            self.pair(&pose, FIRST_PATCHES);
            self.measures.gate = reach.max(self.scatter());
            (pose, steps, _) = self.steps(pose, FIRST_STEPS);
            if !self.is_within(&first, &pose, reach) {
                pose = first;
            }
        }
        self.pair(&pose, usize::MAX);
        self.measures.gate = self.scatter();
        if self.is_weak {
            // A part of the patches does not tell where along the direction the pose is.
            let (found, more, _) = self.steps(pose, FIRST_STEPS);
            if self.is_within(&first, &found, reach) {
                pose = found;
                steps += more;
            }
            self.pair(&pose, usize::MAX);
            self.measures.gate = self.scatter();
        }
        // Weakly held directions need the slope with new planes, which is flatter than that of fixed planes.
        let slope = self.slope(&pose);
        let (mut blocks, mut last);
        let mut before_sq = 0.0;
        let mut more = if self.moves() { LAST_STEPS } else { 0 };
        loop {
            blocks = self.blocks(&pose);
            last = Sums::total(blocks.iter().map(|(_, block)| block));
            let x = slope.step(&last.score);
            let next = self.measures.moved(&pose, &x);
            if more == 0 || !x.iter().all(|x| x.abs() < self.cell()) || !self.is_within(&first, &next, reach)
            {
                break;
            }
            pose = next;
            steps += 1;
            more -= 1;
            // The next step would be shorter than this one by about the same factor.
            let length_sq = squared_length(&x, &last);
            let rest_sq =
                if 4.0 * length_sq < before_sq { length_sq / before_sq * length_sq } else { length_sq };
            before_sq = length_sq;
            is_settled = is_small(rest_sq);
            if is_settled {
                // The blocks would hardly differ at the new pose.
                break;
            }
        }
        let rmse = (last.count > 0).then(|| (last.sum_sq / last.weight).sqrt());
        let found = self.covariance(&blocks, &last, &slope);
        // Where patches change their planes at every step, the steps stay larger than the limit, but small beside the deviation.
        is_settled = match &found {
            Some((_, deviations)) if self.moves() && last.count >= self.unknowns() => {
                is_settled || slope.is_small(&last.score, deviations)
            }
            _ => !self.moves(),
        };
        let is_finite = |covariance: &Covariance| covariance.matrix.iter().flatten().all(|x| x.is_finite());
        let covariance = found.map(|(covariance, _)| covariance).filter(is_finite);
        let (pose, is_weak) = (self.outward(&pose), self.is_weak);
        Finished { pose, steps, is_settled, is_weak, pairs: last.count, rmse, covariance }
    }

    /// Whether the pose is refined here. Means of cells are too coarse to be paired as points; they only tell how accurate the pose is.
    fn moves(&self) -> bool {
        !matches!(self.measures.kind, Refinement::None | Refinement::PointToPoint)
    }
}
