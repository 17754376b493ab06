//! The last stage of a refinement: all points of both clouds, as patches, against the planes of the other cloud.
//!
//! Patches of the moving cloud are compared with planes of the fixed one, and patches of the fixed cloud with planes of the moving one. So the two clouds
//! are treated alike, and what a plane misses of a curved surface cancels. A patch weighs as much as its points say: its residual is divided by the variance
//! that the scatter of the points about the planes predicts, and Tukey's weight removes what does not belong together.

mod covariance;
mod patches;
#[cfg(test)]
mod tests;

use pcr99::{Covariance, Similarity};
use pcr99_base::{
    rotation_of,
    vector::{cross, distance_sq, dot, lower_median, minus, plus, rotate, solve_positive, times},
};
use rayon::prelude::*;

use self::patches::{Patch, Plane, Surface};
use super::Refinement;

/// Number of patches of one task. Fixed, so that sums are formed in the same order on any number of threads.
const CHUNK: usize = 512;
/// Mean number of points of a cell: with the eight cells of a plane, enough for its normal.
const CELL_POINTS: f64 = 4.0;
/// Largest number of cells.
const MOST_CELLS: f64 = 20_000.0;
/// Smallest scatter of points about their planes, in cells. Below it, a hall without noise was turned by its edges (example `accuracy`).
const FLATTEST: f64 = 0.01;
/// Factor by which the gate narrows at each step.
const GATE_STEP: f64 = 0.3;
/// Largest number of steps.
const MOST_STEPS: usize = 8;
/// Number of the first steps after which the scale of the residuals is measured again.
const MEASURED_STEPS: usize = 3;
/// Largest number of steps with the slope that has new planes.
const SLOPE_STEPS: usize = 3;
/// Quaternions of the rotations of the two clouds before their points are sorted into cells. Walls and levelled scans are then not parallel to the cells, nor
/// the cells of one cloud to those of the other, so that what the borders of cells do to planes has no common direction.
const TURNS: [[f64; 4]; 2] = [[1.0, 0.31, -0.17, 0.23], [1.0, -0.13, 0.29, -0.37]];
/// Edge of a block over which scores are summed, in the largest cells of patches.
const BLOCK: f64 = 6.0;
/// Tukey's constant: 95 % efficiency on Gaussian residuals.
const TUKEY: f64 = 4.685;
/// Median of the squares of standard Gaussian numbers.
const MEDIAN_SQ: f64 = 0.454_9;
/// Number of points that a typical variance counts as, when that of a plane is estimated. Planes of few points would otherwise seem exact by chance.
const PRIOR_POINTS: f64 = 8.0;
/// Standard deviation below which points count as exact, in cells. Residuals of an exact copy are rounding errors.
const FINEST: f64 = 1e-6;
/// Added to the diagonal of the normal equations, as a fraction of their trace.
const UNHELD: f64 = 1e-9;
/// A step below this fraction of its standard deviation ends the refinement.
const SETTLED: f64 = 0.02;

/// One patch and the plane that it was last compared with.
#[derive(Debug, Clone, Copy)]
struct Pairing {
    patch: Patch,
    /// Normal of the patch in its own cloud; zero where it is not needed.
    own: [f64; 3],
    /// Key of the place of `plane`.
    key: u64,
    plane: Plane,
}

/// A residual with its derivative.
#[derive(Debug, Clone, Copy)]
struct Residual {
    /// Where, in fixed coordinates.
    at: [f64; 3],
    /// Direction of the residual, in fixed coordinates.
    normal: [f64; 3],
    value: f64,
    /// Square over the variance that the scatter of the points predicts.
    surprise: f64,
    /// That variance.
    expected: f64,
    /// Weight before Tukey's.
    weight: f64,
    /// Scatter of the points about their plane, squared.
    variance: f64,
}

/// Weighted sums over residuals. Only the lower half of the matrix is filled until [`symmetric`](Self::symmetric) is called.
#[derive(Debug, Clone, Copy)]
struct Sums {
    matrix: [[f64; 7]; 7],
    score: [f64; 7],
    count: usize,
    weight: f64,
    /// Weighted sum of the squared distances of points from the planes.
    sum_sq: f64,
}

impl Sums {
    const NONE: Self = Self { matrix: [[0.0; 7]; 7], score: [0.0; 7], count: 0, weight: 0.0, sum_sq: 0.0 };

    fn add(&mut self, row: &[f64; 7], weight: f64, residual: &Residual) {
        let Residual { value, variance, .. } = *residual;
        self.weight += weight;
        self.sum_sq += weight * (value * value + variance);
        for i in 0..7 {
            let weighted = weight * row[i];
            self.score[i] += weighted * value;
            self.matrix[i].iter_mut().zip(&row[..=i]).for_each(|(sum, x)| *sum += weighted * x);
        }
        self.count += 1;
    }

    fn merge(mut self, other: &Self) -> Self {
        for i in 0..7 {
            self.score[i] += other.score[i];
            for j in 0..=i {
                self.matrix[i][j] += other.matrix[i][j];
            }
        }
        self.count += other.count;
        self.weight += other.weight;
        self.sum_sq += other.sum_sq;
        self
    }

    fn symmetric(mut self) -> Self {
        for i in 0..7 {
            for j in 0..i {
                self.matrix[j][i] = self.matrix[i][j];
            }
        }
        self
    }
}

/// What is measured once and then fixed while a score is compared with others.
#[derive(Debug, Clone, Copy)]
struct Measures {
    kind: Refinement,
    /// Whether the scale is unknown. Derivatives by a known scale are zero.
    with_scale: bool,
    /// Typical squared scatter of points about their planes, in fixed units.
    typical: f64,
    /// Squared scale of the residuals, in units of what the scatter predicts.
    spread: f64,
    /// Residuals below this length always count. It begins with what the start may be off, and narrows to the scatter of the points: a wall would otherwise be
    /// taken for an outlier, because the floor fits already.
    gate: f64,
    /// Middle of the residuals.
    about: [f64; 3],
    /// Their root mean square distance from it. It is the unit of rotations: one unit moves a typical point by one unit of length.
    lever: f64,
}

impl Measures {
    /// Derivative of a residual by a small motion about the middle.
    fn row(&self, residual: &Residual) -> [f64; 7] {
        let arm = minus(residual.at, self.about).map(|x| x / self.lever);
        let n = residual.normal;
        let turn = cross(arm, n);
        [turn[0], turn[1], turn[2], n[0], n[1], n[2], if self.with_scale { dot(arm, n) } else { 0.0 }]
    }

    /// Weight of a residual.
    fn weight(&self, residual: &Residual) -> f64 {
        let limit_sq = (TUKEY * TUKEY * self.spread * residual.expected).max(self.gate * self.gate);
        let share = residual.surprise * residual.expected / limit_sq;
        if share < 1.0 { residual.weight * (1.0 - share) * (1.0 - share) } else { 0.0 }
    }

    /// `pose`, and then the small motion `x` about the middle.
    fn moved(&self, pose: &Similarity, x: &[f64; 7]) -> Similarity {
        let half = x.map(|x| 0.5 * x / self.lever);
        // A quaternion with vector part ω/2 rotates by ω to second order, and is a rotation for any ω.
        let rotation = rotation_of([1.0, half[0], half[1], half[2]]);
        let further = Similarity::new_unchecked(1.0 + x[6] / self.lever, rotation, [x[3], x[4], x[5]]);
        let [there, back] = [self.about.map(|x| -x), self.about].map(Similarity::from_translation);
        pose.then(&there).then(&further).then(&back)
    }
}

/// Size of cells for a cloud of this many points, of which there is a sample of `cells` voxels.
///
/// Cells have four points on average, as if the surface were cut evenly, and there are at most 20 000. More are no more accurate on surfaces
/// that are flat over a cell, because all points are used in any case.
pub fn cell_size(voxel: f64, cells: usize, points: usize) -> f64 {
    let wanted = (points as f64 / CELL_POINTS).min(MOST_CELLS);
    voxel * (cells as f64 / wanted).sqrt()
}

/// The comparison of patches with planes under one pose.
struct Comparison<'a> {
    surfaces: &'a [Surface; 2],
    kind: Refinement,
    pose: Similarity,
    back: Similarity,
    /// Typical squared scatter of points about their planes, in fixed units.
    typical: f64,
}

impl<'a> Comparison<'a> {
    fn new(surfaces: &'a [Surface; 2], measures: &Measures, pose: &Similarity) -> Self {
        let finest = FINEST * surfaces[1].size();
        let typical = measures.typical.max(finest * finest);
        Self { surfaces, kind: measures.kind, pose: *pose, back: pose.inverse(), typical }
    }

    /// Where a patch is, in the coordinates of the other cloud. Side 0 has the patches of the moving cloud.
    fn place(&self, side: usize, pairing: &Pairing) -> [f64; 3] {
        if side == 0 { self.pose.apply(pairing.patch.at) } else { self.back.apply(pairing.patch.at) }
    }

    /// Finds the plane near the place, unless it is known.
    fn update(&self, side: usize, pairing: &mut Pairing, place: [f64; 3]) {
        let surface = &self.surfaces[1 - side];
        if self.kind == Refinement::PointToPoint {
            pairing.plane = surface.nearest(place, &pairing.patch);
        } else if surface.plane_key(place, &pairing.patch, &pairing.plane) != pairing.key {
            pairing.plane = surface.plane(place, &pairing.patch);
            pairing.key = surface.plane_key(place, &pairing.patch, &pairing.plane);
        }
    }

    /// Calls `found` with the residuals of a patch: one for point-to-plane, three for the other kinds, none without a plane.
    #[inline]
    fn residuals(&self, side: usize, pairing: &Pairing, place: [f64; 3], mut found: impl FnMut(Residual)) {
        let Pairing { patch, plane, own, .. } = pairing;
        if plane.count == 0.0 {
            return;
        }
        let unit = if side == 0 { 1.0 } else { self.pose.scale() };
        let scatter = unit * unit * plane.sum_sq;
        let variance = (scatter + PRIOR_POINTS * self.typical) / (plane.count - 3.0 + PRIOR_POINTS);
        // The patch has its share of what the points around it say.
        let weight = patch.count / (variance * (1.0 + patch.around / plane.count));
        let expected = variance * (1.0 / patch.around + 1.0 / plane.count);
        // From the plane to the patch for side 0, and back for side 1, in fixed coordinates.
        let turned = |v: [f64; 3]| rotate(&self.pose.rotation(), v);
        let [value, around] = match side {
            0 => [place, self.pose.apply(patch.middle)].map(|p| minus(p, plane.mean)),
            _ => [place, self.back.apply(patch.middle)].map(|p| turned(times(unit, minus(plane.mean, p)))),
        };
        let (at, normal) = if side == 0 { (place, plane.normal) } else { (patch.at, turned(plane.normal)) };
        let residual = |direction: [f64; 3], surprise: f64, weight: f64| Residual {
            at,
            normal: direction,
            value: dot(direction, value),
            surprise,
            expected,
            weight,
            variance,
        };
        let across = dot(normal, around);
        let surprise = across * across / expected;
        match self.kind {
            Refinement::PointToPoint => {
                let expected = self.typical;
                let surprise = dot(value, value) / (3.0 * expected);
                let weight = patch.count / self.typical;
                let variance = dot(value, value) / 3.0;
                for axis in AXES {
                    found(Residual { variance, expected, ..residual(axis, surprise, weight) });
                }
            }
            Refinement::PlaneToPlane => {
                // Weight of the normal direction is that of point-to-plane; along the planes, points are half a cell from each other.
                let other = if side == 0 { turned(*own) } else { *own };
                let along = 0.25 * self.surfaces[1].size() * self.surfaces[1].size() / variance;
                let spread = |i: usize, j: usize| {
                    let one = f64::from(u8::from(i == j));
                    let flat = |n: [f64; 3]| along * (one - n[i] * n[j]) + n[i] * n[j];
                    0.5 * (flat(normal) + flat(other))
                };
                let rows = inverse_root(&std::array::from_fn(|i| std::array::from_fn(|j| spread(i, j))));
                rows.into_iter().flatten().for_each(|row| found(residual(row, surprise, weight)));
            }
            _ => found(residual(normal, surprise, weight)),
        }
    }
}

/// The coordinate axes.
const AXES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Rows `r` with `Σ r·rᵀ = C⁻¹`, by the Cholesky decomposition of `C`; `None` unless it is positive definite.
fn inverse_root(c: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let a = c[0][0].sqrt();
    let (b, d) = (c[1][0] / a, c[2][0] / a);
    let e = (c[1][1] - b * b).sqrt();
    let f = (c[2][1] - d * b) / e;
    let g = (c[2][2] - d * d - f * f).sqrt();
    // Inverse of the lower triangle [[a, 0, 0], [b, e, 0], [d, f, g]].
    let rows = [
        [1.0 / a, 0.0, 0.0],
        [-b / (a * e), 1.0 / e, 0.0],
        [(b * f - d * e) / (a * e * g), -f / (e * g), 1.0 / g],
    ];
    rows.iter().flatten().all(|x| x.is_finite()).then_some(rows)
}

/// Two clouds, prepared for the last stage.
#[derive(Debug)]
pub struct Surfaces {
    /// The moving and the fixed one.
    surfaces: [Surface; 2],
    patches: [Vec<Patch>; 2],
    /// Rotations from the coordinates of the clouds to those of the patches.
    turns: [Similarity; 2],
    /// Edge of the blocks over which scores are summed, in fixed units.
    block: f64,
}

impl Surfaces {
    /// Sums the points of both clouds in cells of this size, in fixed units; larger where the noise asks for it. `scale` is the number of fixed units per
    /// moving unit, at least approximately. Where a surface is flat, cells are merged, except for [`Refinement::PointToPoint`].
    pub fn new(moving: &[[f64; 3]], fixed: &[[f64; 3]], cell: f64, scale: f64, kind: Refinement) -> Self {
        let turns = TURNS.map(|quaternion| Similarity::new_unchecked(1.0, rotation_of(quaternion), [0.0; 3]));
        let (mut of_moving, mut of_fixed) = rayon::join(
            || Surface::of(moving, &turns[0].rotation(), cell / scale),
            || Surface::of(fixed, &turns[1].rotation(), cell),
        );
        // Cells of equal size, so that what planes miss of a curved surface cancels.
        let size = (scale * of_moving.size()).max(of_fixed.size());
        of_moving.coarsen(size / scale);
        of_fixed.coarsen(size);
        // Means of large cells are too coarse to be paired as points.
        let coarse = match kind {
            Refinement::PointToPoint => 0,
            _ => of_moving.grow().max(of_fixed.grow()),
        };
        let mut surfaces = [of_moving, of_fixed];
        surfaces.iter_mut().for_each(|surface| surface.grow_to(coarse));
        let block = BLOCK * f64::from(1_u32 << coarse) * surfaces[1].size();
        let patches = surfaces.each_ref().map(|surface| surface.patches(coarse));
        Self { surfaces, patches, turns, block }
    }
}

/// The last stage for two clouds.
#[derive(Debug)]
pub struct Finish<'a> {
    prepared: &'a Surfaces,
    /// Patches of the moving and of the fixed cloud.
    pairings: [Vec<Pairing>; 2],
    measures: Measures,
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
    /// Number of patches with a plane of the other cloud.
    pub pairs: usize,
    /// Root mean square distance of the points of both clouds from the planes (or points) of the other, weighted as in the fit, in fixed units; `None` without pairs.
    pub rmse: Option<f64>,
    /// Covariance of the pose, in fixed coordinates; `None` with too few patches.
    pub covariance: Option<Covariance>,
}

impl<'a> Finish<'a> {
    /// Compares the patches under `start`.
    pub fn new(prepared: &'a Surfaces, start: &Similarity, kind: Refinement, with_scale: bool) -> Self {
        let pairings = std::array::from_fn(|side| {
            let normal = |patch: &Patch| match kind {
                Refinement::PlaneToPlane => prepared.surfaces[side].normal(patch),
                _ => [0.0; 3],
            };
            let new =
                |patch: &Patch| Pairing { patch: *patch, own: normal(patch), key: 0, plane: Plane::NONE };
            prepared.patches[side].par_iter().with_min_len(CHUNK).map(new).collect()
        });
        let measures =
            Measures { kind, with_scale, typical: 0.0, spread: 1.0, gate: 0.0, about: [0.0; 3], lever: 1.0 };
        let mut this = Self { prepared, pairings, measures };
        this.measure(&this.inward(start));
        this
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
    pub fn cell(&self) -> f64 {
        self.prepared.surfaces[1].size()
    }

    /// Typical scatter of points about their planes, in fixed units.
    pub fn scatter(&self) -> f64 {
        self.measures.typical.sqrt()
    }

    /// Number of unknowns.
    fn unknowns(&self) -> usize {
        if self.measures.with_scale { 7 } else { 6 }
    }

    /// Sums of the residuals of each chunk of patches. New planes are kept.
    fn collect<T: Clone + Send + Sync>(
        &mut self,
        pose: &Similarity,
        nothing: &T,
        add: impl Fn(&mut T, Residual) + Sync,
    ) -> Vec<T> {
        let comparison = Comparison::new(&self.prepared.surfaces, &self.measures, pose);
        let mut parts = Vec::new();
        for (side, list) in self.pairings.iter_mut().enumerate() {
            let part = |chunk: &mut [Pairing]| {
                let mut sum = nothing.clone();
                for pairing in chunk {
                    let place = comparison.place(side, pairing);
                    comparison.update(side, pairing, place);
                    comparison.residuals(side, pairing, place, |residual| add(&mut sum, residual));
                }
                sum
            };
            parts.par_extend(list.par_chunks_mut(CHUNK).map(part));
        }
        parts
    }

    /// The score of one in `stride` patches. New planes are not kept.
    fn score(&self, pose: &Similarity, stride: usize) -> [f64; 7] {
        let measures = self.measures;
        let comparison = Comparison::new(&self.prepared.surfaces, &self.measures, pose);
        let mut parts = Vec::new();
        for (side, list) in self.pairings.iter().enumerate() {
            let part = |chunk: &[Pairing]| {
                let mut sum = [0.0; 7];
                for pairing in chunk.iter().step_by(stride) {
                    let mut pairing = *pairing;
                    let place = comparison.place(side, &pairing);
                    comparison.update(side, &mut pairing, place);
                    comparison.residuals(side, &pairing, place, |residual| {
                        let factor = measures.weight(&residual) * residual.value;
                        sum.iter_mut().zip(measures.row(&residual)).for_each(|(sum, x)| *sum += factor * x);
                    });
                }
                sum
            };
            parts.par_extend(list.par_chunks(CHUNK * stride).map(part));
        }
        parts.iter().fold([0.0; 7], |sum, part: &[f64; 7]| std::array::from_fn(|k| sum[k] + part[k]))
    }

    /// Measures scatter, middle and scale of the residuals.
    fn measure(&mut self, pose: &Similarity) {
        let places = self.collect(pose, &Vec::new(), |list, r| list.push((r.variance, r.at))).concat();
        // The rest is outside of the overlap.
        self.pairings.iter_mut().for_each(|list| list.retain(|pairing| pairing.plane.count > 0.0));
        let count = places.len().max(1) as f64;
        let about = places.iter().fold([0.0; 3], |sum, r| plus(sum, r.1)).map(|x| x / count);
        let squares: f64 = places.iter().map(|r| minus(r.1, about)).map(|d| dot(d, d)).sum();
        self.measures = Measures {
            // A surface is not flat to more than a part of a cell. Without noise, edges and curvature would decide.
            typical: lower_median(&mut places.iter().map(|r| r.0).collect::<Vec<_>>())
                .unwrap_or(0.0)
                .max((FLATTEST * self.cell()).powi(2)),
            spread: 1.0,
            about,
            lever: (squares / count).max(f64::MIN_POSITIVE).sqrt(),
            ..self.measures
        };
        self.measure_spread(pose);
    }

    /// Measures the scale of the residuals.
    fn measure_spread(&mut self, pose: &Similarity) {
        let mut surprises = self.collect(pose, &Vec::new(), |list, r| list.push(r.surprise)).concat();
        let median = lower_median(&mut surprises).unwrap_or(1.0);
        self.measures.spread = (median / MEDIAN_SQ).max(1.0);
    }

    fn sums(&mut self, pose: &Similarity) -> Sums {
        let measures = self.measures;
        let parts = self.collect(pose, &Sums::NONE, |sum, residual| {
            let weight = measures.weight(&residual);
            if weight > 0.0 {
                sum.add(&measures.row(&residual), weight, &residual);
            }
        });
        parts.iter().fold(Sums::NONE, |sum, part| sum.merge(part)).symmetric()
    }

    /// Refines `start` until a step is small beside the noise, and tells how accurate the pose is. The pose moves a typical point by at most `reach`; where more
    /// would be needed, it stays where it is.
    pub fn run(&mut self, start: &Similarity, reach: f64) -> Finished {
        let first = self.inward(start);
        let mut pose = first;
        let last_gate = self.scatter();
        self.measures.gate = reach.max(last_gate);
        let mut steps = 0;
        let mut is_settled = false;
        while self.moves() && steps < MOST_STEPS && !is_settled {
            let sums = self.sums(&pose);
            let Some(x) = self.step(&sums) else { break };
            is_settled = self.is_small(&x, &sums);
            pose = self.measures.moved(&pose, &x);
            steps += 1;
            if steps <= MEASURED_STEPS {
                self.measure_spread(&pose);
            }
            is_settled &= self.measures.gate <= last_gate;
            self.measures.gate = (GATE_STEP * self.measures.gate).max(last_gate);
        }
        if !self.is_within(&first, &pose, reach) {
            (pose, is_settled) = (first, false);
        }
        self.measures.gate = last_gate;
        // Weakly held directions need the slope with new planes, which is flatter than that of fixed planes.
        let slope = self.slope(&pose);
        let slope_steps = if self.moves() { SLOPE_STEPS } else { 0 };
        for _ in 0..slope_steps {
            let sums = self.sums(&pose);
            let x = slope.step(&sums.score);
            if !x.iter().all(|x| x.abs() < self.cell()) {
                break;
            }
            let next = self.measures.moved(&pose, &x);
            if !self.is_within(&first, &next, reach) {
                break;
            }
            pose = next;
            steps += 1;
            is_settled = self.is_small(&x, &sums);
            if is_settled {
                break;
            }
        }
        let last = self.sums(&pose);
        let rmse = (last.count > 0).then(|| (last.sum_sq / last.weight).sqrt());
        let found = self.covariance(&pose, &slope);
        // Where patches change their planes at every step, the steps stay larger than the limit, but small beside the deviation.
        is_settled = match &found {
            Some((_, deviations)) if self.moves() && last.count >= self.unknowns() => {
                is_settled || slope.is_small(&last.score, deviations)
            }
            _ => !self.moves(),
        };
        let covariance = found.map(|(covariance, _)| covariance);
        Finished { pose: self.outward(&pose), steps, is_settled, pairs: last.count, rmse, covariance }
    }

    /// Whether the pose is refined here. Means of cells are too coarse to be paired as points; they only tell how accurate the pose is.
    fn moves(&self) -> bool {
        !matches!(self.measures.kind, Refinement::None | Refinement::PointToPoint)
    }

    /// Whether two poses differ by at most `reach`: at the middle, and at a typical distance from it along each axis.
    fn is_within(&self, a: &Similarity, b: &Similarity, reach: f64) -> bool {
        let Measures { about, lever, .. } = self.measures;
        let back = a.inverse();
        let is_near = |p: [f64; 3]| distance_sq(b.apply(back.apply(p)), p) <= reach * reach;
        is_near(about) && AXES.into_iter().all(|axis| is_near(plus(about, times(lever, axis))))
    }

    /// Whether a step is small beside the noise.
    fn is_small(&self, x: &[f64; 7], sums: &Sums) -> bool {
        let size_sq: f64 = (0..7).map(|i| (0..7).map(|j| x[i] * sums.matrix[i][j] * x[j]).sum::<f64>()).sum();
        size_sq < SETTLED * SETTLED * self.measures.spread
    }

    /// The motion that solves the normal equations.
    fn step(&self, sums: &Sums) -> Option<[f64; 7]> {
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
