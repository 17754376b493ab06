//! Steps of the refinement: patches are paired with planes, and small motions solve the normal equations.

use pcr99::Similarity;
use pcr99_base::{
    eigen::symmetric_eigen,
    vector::{distance_sq, lower_median, plus, solve_positive},
};
use rayon::prelude::*;

use super::{
    Finish,
    residuals::{Comparison, Pairing, Residual},
    stop::{is_small, squared_length},
    weights::{Measures, Sums},
};
use crate::refine::Refinement;

/// Number of patches of one task. Fixed, so that sums are formed in the same order on any number of threads.
const CHUNK: usize = 512;
/// Smallest scatter of points about their planes, in cells. Below it, a hall without noise was turned by its edges (example `accuracy`).
const FLATTEST: f64 = 0.01;
/// Factor by which the gate narrows at each step.
const GATE_STEP: f64 = 0.3;
/// Smallest gate after a step, in units of its length.
const GATE_WAYS: f64 = 2.0;
/// Patches hold a direction weakly when the eigenvalue of the normal equations is below this fraction of the mean. The weakest direction of a corridor with ten
/// doors has 0.0004 to 0.002, of a street 0.06, of a room 0.4.
pub(super) const WEAKLY: f64 = 0.01;
/// Largest step along a direction that is held weakly, in cells. Only edges hold it, whose planes reach no farther.
const WEAK_STEP: f64 = 0.5;
/// Added to the diagonal of the normal equations, as a fraction of their trace.
pub(super) const UNHELD: f64 = 1e-9;

impl Finish<'_> {
    /// Pairs about this many patches of each cloud with the planes near them, and measures scatter and middle.
    pub(super) fn pair(&mut self, pose: &Similarity, patches: usize) {
        let comparison = Comparison::new(self.prepared, &self.measures, pose);
        let pairings = |side: usize| {
            let all = &self.prepared.patches[side];
            let stride = all.len().div_ceil(patches).max(1);
            match stride {
                1 => comparison.pairings(side, all),
                _ => comparison.pairings(side, &all.iter().step_by(stride).copied().collect::<Vec<_>>()),
            }
        };
        let (of_moving, of_fixed) = rayon::join(|| pairings(0), || pairings(1));
        self.pairings = [of_moving, of_fixed];
        self.measure(pose);
    }

    /// Sums of the residuals of each chunk of patches. New planes are kept.
    pub(super) fn collect<T: Clone + Send + Sync>(
        &mut self,
        pose: &Similarity,
        nothing: &T,
        add: impl Fn(&mut T, Residual) + Sync,
    ) -> Vec<T> {
        let comparison = Comparison::new(self.prepared, &self.measures, pose);
        let mut parts = Vec::new();
        for (side, list) in self.pairings.iter_mut().enumerate() {
            let part = |chunk: &mut [Pairing]| {
                let mut sum = nothing.clone();
                for pairing in chunk {
                    let place = comparison.place(side, &pairing.patch);
                    comparison.update(side, pairing, place);
                    comparison.residuals(side, pairing, &pairing.plane, place, |residual| {
                        add(&mut sum, residual);
                    });
                }
                sum
            };
            parts.par_extend(list.par_chunks_mut(CHUNK).map(part));
        }
        parts
    }

    /// The scores of chunks of patches, of which one in `stride` is used. New planes are not kept.
    pub(super) fn scores(&self, pose: &Similarity, stride: usize) -> Vec<[f64; 7]> {
        let measures = self.measures;
        let comparison = Comparison::new(self.prepared, &self.measures, pose);
        let mut parts = Vec::new();
        for (side, list) in self.pairings.iter().enumerate() {
            let part = |chunk: &[Pairing]| {
                let mut sum = [0.0; 7];
                for pairing in chunk.iter().step_by(stride) {
                    let place = comparison.place(side, &pairing.patch);
                    let other = comparison.other_plane(side, pairing, place);
                    let plane = other.as_ref().unwrap_or(&pairing.plane);
                    comparison.residuals(side, pairing, plane, place, |residual| {
                        let factor = measures.weight(&residual) * residual.value;
                        sum.iter_mut().zip(measures.row(&residual)).for_each(|(sum, x)| *sum += factor * x);
                    });
                }
                sum
            };
            parts.par_extend(list.par_chunks(CHUNK * stride).map(part));
        }
        parts
    }

    /// Measures scatter and middle of the pairs.
    pub(super) fn measure(&mut self, pose: &Similarity) {
        let back = pose.inverse();
        let scale_sq = pose.scale() * pose.scale();
        let is_point = self.measures.kind == Refinement::PointToPoint;
        let (mut places, mut scatters) = (Vec::new(), Vec::new());
        for (side, list) in self.pairings.iter().enumerate() {
            for Pairing { patch, plane, .. } in list {
                let at = if side == 0 { pose.apply(patch.at) } else { patch.at };
                places.push(at);
                scatters.push(match (side, is_point) {
                    (0, true) => distance_sq(at, plane.mean) / 3.0,
                    (_, true) => scale_sq * distance_sq(back.apply(at), plane.mean) / 3.0,
                    (0, false) => plane.sum_sq / (plane.count - 3.0),
                    (_, false) => scale_sq * plane.sum_sq / (plane.count - 3.0),
                });
            }
        }
        let count = places.len().max(1) as f64;
        let about = places.iter().fold([0.0; 3], |sum, p| plus(sum, *p)).map(|x| x / count);
        let squares: f64 = places.iter().map(|p| distance_sq(*p, about)).sum();
        self.measures = Measures {
            // A surface is not flat to more than a part of a cell. Without noise, edges and curvature would decide.
            typical: lower_median(&mut scatters).unwrap_or(0.0).max((FLATTEST * self.cell()).powi(2)),
            about,
            lever: (squares / count).max(f64::MIN_POSITIVE).sqrt(),
            ..self.measures
        };
    }

    pub(super) fn sums(&mut self, pose: &Similarity) -> Sums {
        let measures = self.measures;
        let parts = self.collect(pose, &Sums::NONE, |sum, residual| {
            let weight = measures.weight(&residual);
            if weight > 0.0 {
                sum.add(&measures.row(&residual), weight, &residual);
            }
        });
        Sums::total(&parts)
    }

    /// Steps with fixed planes, at most `most`, until one is small beside the noise. Returns the pose, the number of steps and whether the last was small.
    pub(super) fn steps(&mut self, start: Similarity, most: usize) -> (Similarity, usize, bool) {
        let mut pose = start;
        let narrowest = self.scatter();
        let mut weak = WeakMotion::NONE;
        for steps in 0..most {
            let sums = self.sums(&pose);
            let Some(x) = self.step(&sums) else { return (pose, steps, false) };
            let x = weak.bounded(&sums, x, WEAK_STEP * self.cell());
            self.is_weak = weak.is_there;
            pose = self.measures.moved(&pose, &x);
            if self.measures.gate <= narrowest && is_small(squared_length(&x, &sums)) {
                return (pose, steps + 1, true);
            }
            // A gate that is narrower than the way that is left would keep the walls out that ask for it.
            let way = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            self.measures.gate =
                (GATE_STEP * self.measures.gate).max(GATE_WAYS * way).max(narrowest).min(self.measures.gate);
        }
        (pose, most, false)
    }

    /// The motion that solves the normal equations.
    pub(super) fn step(&self, sums: &Sums) -> Option<[f64; 7]> {
        if sums.count < self.unknowns() {
            return None;
        }
        let mut matrix = sums.matrix;
        let trace: f64 = (0..6).map(|k| matrix[k][k]).sum();
        // Directions that the patches do not constrain do not move.
        (0..7).for_each(|k| matrix[k][k] += UNHELD * trace);
        let right = sums.score.map(|x| -x);
        if self.measures.with_scale {
            return solve_positive(&matrix, right);
        }
        let rigid: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| matrix[i][j]));
        let x = solve_positive(&rigid, std::array::from_fn(|i| right[i]))?;
        Some(std::array::from_fn(|i| if i < 6 { x[i] } else { 0.0 }))
    }
}

/// The part of the steps along directions that are held weakly.
struct WeakMotion {
    is_there: bool,
    last: [f64; 7],
    /// Factor of the next step.
    factor: f64,
}

impl WeakMotion {
    const NONE: Self = Self { is_there: false, last: [0.0; 7], factor: 1.0 };

    /// The step `x`, bounded along weakly held directions. There, planes that are kept fixed let a step go only a part of the way. So steps become longer as long
    /// as they go the same way.
    fn bounded(&mut self, sums: &Sums, x: [f64; 7], limit: f64) -> [f64; 7] {
        let mean = (0..6).map(|k| sums.matrix[k][k]).sum::<f64>() / 6.0;
        let (values, vectors) = symmetric_eigen(&sums.matrix);
        let dot = |a: &[f64; 7], b: &[f64; 7]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let mut weak = [0.0; 7];
        self.is_there = false;
        for (value, vector) in values.iter().zip(&vectors) {
            let along = dot(vector, &x);
            // A known scale has no equation.
            if *value < WEAKLY * mean && (*value > 0.0 || along != 0.0) {
                self.is_there = true;
                weak.iter_mut().zip(vector).for_each(|(sum, part)| *sum += along * part);
            }
        }
        self.factor = if dot(&weak, &self.last) > 0.0 { 2.0 * self.factor } else { 1.0 };
        self.last = weak;
        let length = dot(&weak, &weak).sqrt();
        let factor = if length > 0.0 { self.factor.min(limit / length) } else { 1.0 };
        std::array::from_fn(|i| x[i] + (factor - 1.0) * weak[i])
    }
}
