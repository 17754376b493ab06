//! The last stage of a refinement: all points of both clouds, as patches, against the planes of the other cloud.
//!
//! Patches of the moving cloud are compared with planes of the fixed one, and patches of the fixed cloud with planes of the moving one. So the two clouds
//! are treated alike, and what a plane misses of a curved surface cancels. A patch weighs as much as its points say: its residual is divided by the variance
//! that the scatter of the points about the planes predicts, and Tukey's weight removes what does not belong together.
//!
//! The first steps use a part of the patches, because they only have to come near; the last steps use all.

mod cells;
mod covariance;
mod surface;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use pcr99::{Covariance, Similarity};
use pcr99_base::{
    rotation_of,
    vector::{cross, distance_sq, dot, lower_median, minus, plus, rotate, solve_positive, times},
};
use rayon::prelude::*;

pub use self::surface::Surface;
use self::{cells::Plane, surface::Patch};
use super::Refinement;

/// Number of patches of one task. Fixed, so that sums are formed in the same order on any number of threads.
const CHUNK: usize = 512;
/// Mean number of points of a cell. With 4, planes of a sparse street are larger than the gaps between its houses: 18 mm instead of 4 mm with 15 000 points
/// (example `accuracy`). With 1, most planes have too few points.
const CELL_POINTS: f64 = 2.0;
/// Number of cells of a dense cloud. With 12 000, a street of 100 000 points is off by 1.9 mm instead of 0.3 mm (example `accuracy`).
const DENSE_CELLS: f64 = 20_000.0;
/// Mean number of points of a cell of a very dense cloud: more points pay only with smaller cells.
const DENSE_POINTS: f64 = 12.0;
/// Largest number of cells.
const MOST_CELLS: f64 = 80_000.0;
/// Number of patches of each cloud for the first steps.
const FIRST_PATCHES: usize = 1500;
/// Smallest scatter of points about their planes, in cells. Below it, a hall without noise was turned by its edges (example `accuracy`).
const FLATTEST: f64 = 0.01;
/// Factor by which the gate narrows at each step.
const GATE_STEP: f64 = 0.3;
/// Smallest gate after a step, in units of its length.
const GATE_WAYS: f64 = 2.0;
/// Largest number of first steps.
const FIRST_STEPS: usize = 12;
/// Largest number of steps with all patches.
const LAST_STEPS: usize = 4;
/// Quaternions of the rotations of the two clouds before their points are sorted into cells. Walls and levelled scans are then not parallel to the cells, nor
/// the cells of one cloud to those of the other, so that what the borders of cells do to planes has no common direction.
const TURNS: [[f64; 4]; 2] = [[1.0, 0.31, -0.17, 0.23], [1.0, -0.13, 0.29, -0.37]];
/// Edge of a block over which scores are summed, in the largest cells of patches.
const BLOCK: f64 = 3.0;
/// Tukey's constant: 95 % efficiency on Gaussian residuals.
const TUKEY: f64 = 4.685;
/// Number of the eight cells around a corner that a surface fills.
const FILLED: f64 = 4.0;
/// Smallest breadth of the points of a plane, as a fraction of the distance at which it is used.
const NARROW: f64 = 0.03;
/// Number of points that a typical variance counts as, when that of a plane is estimated. Planes of few points would otherwise seem exact by chance.
const PRIOR_POINTS: f64 = 8.0;
/// Standard deviation below which points count as exact, in cells. Residuals of an exact copy are rounding errors.
const FINEST: f64 = 1e-6;
/// Added to the diagonal of the normal equations, as a fraction of their trace.
const UNHELD: f64 = 1e-9;
/// A step below this fraction of its standard deviation ends the refinement. The rest that is left is a fraction of it.
const SETTLED: f64 = 0.1;

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
    /// Squared distance between patch and plane that decides whether they belong together.
    apart_sq: f64,
    /// Variance with which it is compared.
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

    fn merge(&mut self, other: &Self) {
        for i in 0..7 {
            self.score[i] += other.score[i];
            for j in 0..=i {
                self.matrix[i][j] += other.matrix[i][j];
            }
        }
        self.count += other.count;
        self.weight += other.weight;
        self.sum_sq += other.sum_sq;
    }

    /// The sum of some sums, with both halves of the matrix.
    fn total<'s>(parts: impl IntoIterator<Item = &'s Self>) -> Self {
        let mut all = Self::NONE;
        parts.into_iter().for_each(|part| all.merge(part));
        all.symmetric()
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
        let arm = times(1.0 / self.lever, minus(residual.at, self.about));
        let n = residual.normal;
        let turn = cross(arm, n);
        [turn[0], turn[1], turn[2], n[0], n[1], n[2], if self.with_scale { dot(arm, n) } else { 0.0 }]
    }

    /// Weight of a residual.
    fn weight(&self, residual: &Residual) -> f64 {
        let limit_sq = (TUKEY * TUKEY * residual.expected).max(self.gate * self.gate);
        let share = residual.apart_sq / limit_sq;
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
/// Cells have two points on average, as if the surface were cut evenly, and up to twelve in dense clouds. More cells are no more accurate on surfaces that are flat
/// over a cell, because all points are used in any case.
pub fn cell_size(voxel: f64, cells: usize, points: usize) -> f64 {
    let points = points as f64;
    let wanted = (points / CELL_POINTS).min((points / DENSE_POINTS).clamp(DENSE_CELLS, MOST_CELLS));
    voxel * (cells as f64 / wanted).sqrt()
}

/// The power of √2 that is nearest to a positive size, so that clouds keep cells of few sizes for many partners.
pub fn rounded_size(size: f64) -> f64 {
    // Sign and mantissa are cleared.
    let power = f64::from_bits(size.to_bits() & 0x7FF0_0000_0000_0000).max(f64::MIN_POSITIVE);
    // The borders are 2^(1/4) and 2^(3/4).
    match size / power {
        ratio if ratio < 1.189_207 => power,
        ratio if ratio < 1.681_793 => std::f64::consts::SQRT_2 * power,
        _ => 2.0 * power,
    }
}

/// The comparison of patches with planes under one pose.
struct Comparison<'a> {
    surfaces: [&'a Surface; 2],
    kind: Refinement,
    /// Edge of the smallest cells of the fixed cloud.
    cell: f64,
    pose: Similarity,
    back: Similarity,
    /// Typical squared scatter of points about their planes, in fixed units.
    typical: f64,
}

impl<'a> Comparison<'a> {
    fn new(prepared: &'a Surfaces, measures: &Measures, pose: &Similarity) -> Self {
        let cell = prepared.cell();
        let finest = FINEST * cell;
        let typical = measures.typical.max(finest * finest);
        let surfaces = [&*prepared.surfaces[0], &*prepared.surfaces[1]];
        Self { surfaces, kind: measures.kind, cell, pose: *pose, back: pose.inverse(), typical }
    }

    /// Where a patch is, in the coordinates of the other cloud. Side 0 has the patches of the moving cloud.
    fn place(&self, side: usize, patch: &Patch) -> [f64; 3] {
        if side == 0 { self.pose.apply(patch.at) } else { self.back.apply(patch.at) }
    }

    /// The patches with their planes, without those that have none.
    fn pairings(&self, side: usize, patches: &[Patch]) -> Vec<Pairing> {
        let places: Vec<([f64; 3], usize)> =
            patches.iter().map(|patch| (self.place(side, patch), patch.level)).collect();
        let surface = self.surfaces[1 - side];
        let planes = match self.kind {
            Refinement::PointToPoint => {
                places.iter().map(|&(place, level)| surface.nearest(place, level)).collect()
            }
            _ => surface.planes(&places),
        };
        let pairing = |((patch, &(place, level)), plane): ((&Patch, &([f64; 3], usize)), &Plane)| {
            let own = match self.kind {
                Refinement::PlaneToPlane => self.surfaces[side].plane(patch.at, level).normal,
                _ => [0.0; 3],
            };
            let key = surface.plane_key(place, level, plane);
            Pairing { patch: *patch, own, key, plane: *plane }
        };
        let all = patches.iter().zip(&places).zip(&planes).filter(|(_, plane)| plane.count > 0.0);
        all.map(pairing).collect()
    }

    /// Finds the plane near the place, unless it is known.
    #[inline]
    fn update(&self, side: usize, pairing: &mut Pairing, place: [f64; 3]) {
        let surface = self.surfaces[1 - side];
        let level = pairing.patch.level;
        if self.kind == Refinement::PointToPoint {
            pairing.plane = surface.nearest(place, level);
        } else if surface.plane_key(place, level, &pairing.plane) != pairing.key {
            pairing.plane = surface.plane(place, level);
            pairing.key = surface.plane_key(place, level, &pairing.plane);
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
        // From the plane to the patch, in the coordinates of the plane.
        let apart = minus(place, plane.mean);
        let across = dot(plane.normal, apart);
        // What a plane says of a place falls with the distance from the middle of its points: a narrow strip at the border of a cloud could be tilted.
        let aside = (dot(apart, apart) - across * across).max(0.0);
        let known =
            plane.count / (1.0 + aside / (plane.breadth + NARROW * NARROW * aside).max(f64::MIN_POSITIVE));
        // The patch has its share of what the points around it say.
        let weight = patch.count / (variance * (1.0 + FILLED * patch.count / known));
        let turned = |v: [f64; 3]| rotate(&self.pose.rotation(), v);
        // From the plane to the patch for side 0, and back for side 1, in fixed coordinates.
        let (at, normal, value) = match side {
            0 => (place, plane.normal, apart),
            _ => (patch.at, turned(plane.normal), turned(times(-unit, apart))),
        };
        let residual = |direction: [f64; 3], weight: f64| Residual {
            at,
            normal: direction,
            value: dot(direction, value),
            apart_sq: unit * unit * across * across,
            expected: variance,
            weight,
            variance,
        };
        match self.kind {
            Refinement::PointToPoint => {
                let third = dot(value, value) / 3.0;
                let weight = patch.count / self.typical;
                for axis in AXES {
                    let expected = self.typical;
                    found(Residual { apart_sq: third, expected, variance: third, ..residual(axis, weight) });
                }
            }
            Refinement::PlaneToPlane => {
                // Weight of the normal direction is that of point-to-plane; along the planes, a patch is up to a cell from the mean of its partner.
                let other = if side == 0 { turned(*own) } else { *own };
                let along = self.cell * self.cell / variance;
                let spread = |i: usize, j: usize| {
                    let one = f64::from(u8::from(i == j));
                    let flat = |n: [f64; 3]| along * (one - n[i] * n[j]) + n[i] * n[j];
                    0.5 * (flat(normal) + flat(other))
                };
                let rows = inverse_root(&std::array::from_fn(|i| std::array::from_fn(|j| spread(i, j))));
                rows.into_iter().flatten().for_each(|row| found(residual(row, weight)));
            }
            _ => found(residual(normal, weight)),
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

/// Rotations from the coordinates of the moving and of the fixed cloud to those of their patches.
fn turns() -> [Similarity; 2] {
    TURNS.map(|quaternion| Similarity::new_unchecked(1.0, rotation_of(quaternion), [0.0; 3]))
}

/// Sums the points of a cloud in cells of this size and of larger ones. Side 0 is the moving cloud, and side 1 the fixed one.
pub fn surface(points: &[[f64; 3]], side: usize, size: f64) -> Surface {
    Surface::of(points, &turns()[side].rotation(), size)
}

/// Two clouds, prepared for the last stage.
#[derive(Debug)]
pub struct Surfaces {
    /// The moving and the fixed one.
    surfaces: [Arc<Surface>; 2],
    patches: [Vec<Patch>; 2],
    /// Level of the smallest patches.
    first: usize,
    turns: [Similarity; 2],
    /// Edge of the blocks over which scores are summed, in fixed units.
    block: f64,
}

impl Surfaces {
    /// The patches of two surfaces with cells of about the same size. Where a surface is flat, cells are merged, except for [`Refinement::PointToPoint`].
    pub fn new(surfaces: [Arc<Surface>; 2], kind: Refinement) -> Self {
        // Cells of equal size, so that what planes miss of a curved surface cancels.
        let first = surfaces[0].first().max(surfaces[1].first());
        // Means of large cells are too coarse to be paired as points.
        let coarse = match kind {
            Refinement::PointToPoint => first,
            _ => surfaces[0].coarse(first).max(surfaces[1].coarse(first)),
        };
        let block = BLOCK * surfaces[1].size(coarse);
        let patches = surfaces.each_ref().map(|surface| surface.patches(first, coarse));
        Self { surfaces, patches, first, turns: turns(), block }
    }

    /// Edge of the smallest cells, in fixed units.
    fn cell(&self) -> f64 {
        self.surfaces[1].size(self.first)
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
    /// The last stage, before it has a pose.
    pub fn new(prepared: &'a Surfaces, kind: Refinement, with_scale: bool) -> Self {
        let measures = Measures { kind, with_scale, typical: 0.0, gate: 0.0, about: [0.0; 3], lever: 1.0 };
        Self { prepared, pairings: [Vec::new(), Vec::new()], measures }
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

    /// Pairs about this many patches of each cloud with the planes near them, and measures scatter and middle.
    fn pair(&mut self, pose: &Similarity, patches: usize) {
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
    fn collect<T: Clone + Send + Sync>(
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
                    comparison.residuals(side, pairing, place, |residual| add(&mut sum, residual));
                }
                sum
            };
            parts.par_extend(list.par_chunks_mut(CHUNK).map(part));
        }
        parts
    }

    /// The scores of chunks of patches, of which one in `stride` is used. New planes are not kept.
    fn scores(&self, pose: &Similarity, stride: usize) -> Vec<[f64; 7]> {
        let measures = self.measures;
        let comparison = Comparison::new(self.prepared, &self.measures, pose);
        let mut parts = Vec::new();
        for (side, list) in self.pairings.iter().enumerate() {
            let part = |chunk: &[Pairing]| {
                let mut sum = [0.0; 7];
                for pairing in chunk.iter().step_by(stride) {
                    let mut pairing = *pairing;
                    let place = comparison.place(side, &pairing.patch);
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
        parts
    }

    /// Measures scatter and middle of the pairs.
    fn measure(&mut self, pose: &Similarity) {
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

    fn sums(&mut self, pose: &Similarity) -> Sums {
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
    fn steps(&mut self, start: Similarity, most: usize) -> (Similarity, usize, bool) {
        let mut pose = start;
        let narrowest = self.scatter();
        for steps in 0..most {
            let sums = self.sums(&pose);
            let Some(x) = self.step(&sums) else { return (pose, steps, false) };
            pose = self.measures.moved(&pose, &x);
            if self.measures.gate <= narrowest && is_small(&x, &sums) {
                return (pose, steps + 1, true);
            }
            // A gate that is narrower than the way that is left would keep the walls out that ask for it.
            let way = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            self.measures.gate =
                (GATE_STEP * self.measures.gate).max(GATE_WAYS * way).max(narrowest).min(self.measures.gate);
        }
        (pose, most, false)
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
        // Weakly held directions need the slope with new planes, which is flatter than that of fixed planes.
        let slope = self.slope(&pose);
        let (mut blocks, mut last);
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
            is_settled = is_small(&x, &last);
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

/// Whether a step is small beside the noise.
fn is_small(x: &[f64; 7], sums: &Sums) -> bool {
    let size_sq: f64 = (0..7).map(|i| (0..7).map(|j| x[i] * sums.matrix[i][j] * x[j]).sum::<f64>()).sum();
    size_sq < SETTLED * SETTLED
}
