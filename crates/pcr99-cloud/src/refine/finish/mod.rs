//! The last stage of a refinement: all points of both clouds, as patches, against the planes of the other cloud.
//!
//! Patches of the moving cloud are compared with planes of the fixed one, and patches of the fixed cloud with planes of the moving one. So the two clouds
//! are treated alike, and what a plane misses of a curved surface cancels. A patch weighs as much as its points say: its residual is divided by the variance
//! that the scatter of the points about the planes predicts, and Tukey's weight removes what does not belong together.

mod covariance;
mod patches;

use pcr99::Similarity;
use pcr99_base::{
    rotation_of,
    vector::{cross, dot, lower_median, minus, plus, rotate, solve_positive},
};
use rayon::prelude::*;

pub use self::covariance::Covariance;
use self::patches::{Patch, Plane, Surface};

/// Number of patches of one task. Fixed, so that sums are formed in the same order on any number of threads.
const CHUNK: usize = 512;
/// Largest number of steps.
const MOST_STEPS: usize = 12;
/// Quaternions of the rotations of the two clouds before their points are sorted into cells. Walls and levelled scans are then not parallel to the cells, nor
/// the cells of one cloud to those of the other, so that what the borders of cells do to planes has no common direction.
const TURNS: [[f64; 4]; 2] = [[1.0, 0.31, -0.17, 0.23], [1.0, -0.13, 0.29, -0.37]];
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
}

impl Sums {
    const NONE: Self = Self { matrix: [[0.0; 7]; 7], score: [0.0; 7], count: 0 };

    fn add(&mut self, row: &[f64; 7], weight: f64, value: f64) {
        for i in 0..7 {
            let weighted = weight * row[i];
            self.score[i] += weighted * value;
            for j in 0..=i {
                self.matrix[i][j] += weighted * row[j];
            }
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
    /// Typical squared scatter of points about their planes, in fixed units.
    typical: f64,
    /// Squared scale of the residuals, in units of what the scatter predicts.
    spread: f64,
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
        [turn[0], turn[1], turn[2], n[0], n[1], n[2], dot(arm, n)]
    }

    /// Weight of a residual.
    fn weight(&self, residual: &Residual) -> f64 {
        let share = residual.surprise / (TUKEY * TUKEY * self.spread);
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

/// The last stage for two clouds.
#[derive(Debug)]
pub struct Finish {
    surfaces: [Surface; 2],
    /// Patches of the moving and of the fixed cloud.
    pairings: [Vec<Pairing>; 2],
    /// Rotations from the coordinates of the clouds to those of the patches.
    turns: [Similarity; 2],
    with_scale: bool,
    measures: Measures,
}

/// A refined pose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finished {
    /// From moving to fixed.
    pub pose: Similarity,
    /// Number of steps.
    pub steps: usize,
    /// Whether the last step was small beside the noise.
    pub is_settled: bool,
    /// Number of patches with a plane of the other cloud.
    pub pairs: usize,
}

impl Finish {
    /// Sums the points of both clouds in cells of this size, in fixed units; larger where the noise asks for it.
    pub fn new(
        moving: &[[f64; 3]],
        fixed: &[[f64; 3]],
        cell: f64,
        start: &Similarity,
        with_scale: bool,
    ) -> Self {
        let scale = start.scale();
        let turns = TURNS.map(|quaternion| Similarity::new_unchecked(1.0, rotation_of(quaternion), [0.0; 3]));
        let mut of_moving = Surface::of(moving, &turns[0].rotation(), cell / scale);
        let mut of_fixed = Surface::of(fixed, &turns[1].rotation(), cell);
        // Cells of equal size, so that what planes miss of a curved surface cancels.
        let size = (scale * of_moving.size()).max(of_fixed.size());
        of_moving.coarsen(size / scale);
        of_fixed.coarsen(size);
        let surfaces = [of_moving, of_fixed];
        let pairings = surfaces.each_ref().map(|surface| {
            let new = |patch| Pairing { patch, key: 0, plane: Plane::NONE };
            surface.patches().into_iter().map(new).collect()
        });
        let measures = Measures { typical: 0.0, spread: 1.0, about: [0.0; 3], lever: 1.0 };
        let mut this = Self { surfaces, pairings, turns, with_scale, measures };
        this.measure(&this.inward(start));
        this
    }

    /// A pose between the clouds as one between their patches.
    fn inward(&self, pose: &Similarity) -> Similarity {
        self.turns[0].inverse().then(pose).then(&self.turns[1])
    }

    /// A pose between patches as one between the clouds.
    fn outward(&self, pose: &Similarity) -> Similarity {
        self.turns[0].then(pose).then(&self.turns[1].inverse())
    }

    /// Edge of the cells, in fixed units.
    pub fn cell(&self) -> f64 {
        self.surfaces[1].size()
    }

    /// Typical scatter of points about their planes, in fixed units.
    pub fn scatter(&self) -> f64 {
        self.measures.typical.sqrt()
    }

    /// Number of unknowns.
    fn unknowns(&self) -> usize {
        if self.with_scale { 7 } else { 6 }
    }

    /// What `each` makes of the residuals of each chunk of patches.
    fn collect<T: Send>(
        &mut self,
        pose: &Similarity,
        each: &(dyn Fn(&mut dyn Iterator<Item = Residual>) -> T + Sync),
    ) -> Vec<T> {
        let back = pose.inverse();
        let [moving, fixed] = &self.surfaces;
        let [forward, backward] = &mut self.pairings;
        let finest = FINEST * fixed.size();
        let typical = self.measures.typical.max(finest * finest);
        let (rotation, scale) = (pose.rotation(), pose.scale());
        let update = |pairing: &mut Pairing, surface: &Surface, place: [f64; 3]| {
            let key = surface.plane_key(place);
            if key != pairing.key {
                *pairing = Pairing { key, plane: surface.plane(place), ..*pairing };
            }
        };
        let residual = |patch: &Patch, plane: &Plane, at, normal, value: f64, around: f64, unit: f64| {
            let scatter = unit * unit * plane.sum_sq;
            let variance = (scatter + PRIOR_POINTS * typical) / (plane.count - 3.0 + PRIOR_POINTS);
            let weight = patch.count / (variance * (1.0 + patch.around / plane.count));
            let surprise = around * around / (variance * (1.0 / patch.around + 1.0 / plane.count));
            Residual { at, normal, value, surprise, weight, variance }
        };
        let mut parts: Vec<T> = forward
            .par_chunks_mut(CHUNK)
            .map(|chunk| {
                each(&mut chunk.iter_mut().filter_map(|pairing| {
                    let at = pose.apply(pairing.patch.at);
                    update(pairing, fixed, at);
                    let Pairing { patch, plane, .. } = pairing;
                    let value = dot(plane.normal, minus(at, plane.mean));
                    let around = dot(plane.normal, minus(pose.apply(patch.middle), plane.mean));
                    (plane.count > 0.0).then(|| residual(patch, plane, at, plane.normal, value, around, 1.0))
                }))
            })
            .collect();
        parts.par_extend(backward.par_chunks_mut(CHUNK).map(|chunk| {
            each(&mut chunk.iter_mut().filter_map(|pairing| {
                let at = pairing.patch.at;
                let place = back.apply(at);
                update(pairing, moving, place);
                let Pairing { patch, plane, .. } = pairing;
                let value = scale * dot(plane.normal, minus(plane.mean, place));
                let around = scale * dot(plane.normal, minus(plane.mean, back.apply(patch.middle)));
                let normal = rotate(&rotation, plane.normal);
                (plane.count > 0.0).then(|| residual(patch, plane, at, normal, value, around, scale))
            }))
        }));
        parts
    }

    /// Measures scatter, middle and scale of the residuals.
    fn measure(&mut self, pose: &Similarity) {
        let places = self.collect(pose, &|all| all.map(|r| (r.variance, r.at)).collect::<Vec<_>>()).concat();
        let count = places.len().max(1) as f64;
        let about = places.iter().fold([0.0; 3], |sum, r| plus(sum, r.1)).map(|x| x / count);
        let squares: f64 = places.iter().map(|r| minus(r.1, about)).map(|d| dot(d, d)).sum();
        self.measures = Measures {
            typical: lower_median(&mut places.iter().map(|r| r.0).collect::<Vec<_>>()).unwrap_or(0.0),
            spread: 1.0,
            about,
            lever: (squares / count).max(f64::MIN_POSITIVE).sqrt(),
        };
        self.measure_spread(pose);
    }

    /// Measures the scale of the residuals.
    fn measure_spread(&mut self, pose: &Similarity) {
        let mut surprises = self.collect(pose, &|all| all.map(|r| r.surprise).collect::<Vec<_>>()).concat();
        let median = lower_median(&mut surprises).unwrap_or(1.0);
        self.measures.spread = (median / MEDIAN_SQ).max(1.0);
    }

    fn sums(&mut self, pose: &Similarity) -> Sums {
        let measures = self.measures;
        let parts = self.collect(pose, &|residuals| {
            let mut sum = Sums::NONE;
            for residual in residuals {
                let weight = measures.weight(&residual);
                if weight > 0.0 {
                    sum.add(&measures.row(&residual), weight, residual.value);
                }
            }
            sum
        });
        parts.iter().fold(Sums::NONE, |sum, part| sum.merge(part)).symmetric()
    }

    /// Refines `start` until a step is small beside the noise.
    pub fn run(&mut self, start: &Similarity) -> Finished {
        let mut found = Finished { pose: self.inward(start), steps: 0, is_settled: false, pairs: 0 };
        for _ in 0..MOST_STEPS {
            let sums = self.sums(&found.pose);
            found.pairs = sums.count;
            let Some(x) = self.step(&sums) else { break };
            let moved = self.measures.moved(&found.pose, &x);
            let size_sq: f64 =
                (0..7).map(|i| (0..7).map(|j| x[i] * sums.matrix[i][j] * x[j]).sum::<f64>()).sum();
            found = Finished { pose: moved, steps: found.steps + 1, ..found };
            if size_sq < SETTLED * SETTLED * self.measures.spread {
                found.is_settled = true;
                break;
            }
            if found.steps <= 3 {
                self.measure_spread(&found.pose);
            }
        }
        found.pose = self.outward(&found.pose);
        found
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
        if self.with_scale {
            return solve_positive(&matrix, right);
        }
        let rigid: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| matrix[i][j]));
        let x = solve_positive(&rigid, std::array::from_fn(|i| right[i]))?;
        Some(std::array::from_fn(|i| if i < 6 { x[i] } else { 0.0 }))
    }
}
