//! Refinement: robust iterative closest point (ICP), point-to-plane or point-to-point, with or without scale.
//!
//! The residual of a source point moved to `p`, with nearest target point `q` and normal `n`, is `n·(p − q)`; for point-to-point, the same
//! along each of the three axes. A small further motion `p + ω × p + t + σ·p` changes it by `(p × n)·ω + n·t + (p·n)·σ`. Each pair at
//! distance `d` has Tukey's weight `(1 − (d/g)²)²`, so pairs enter and leave the gate `g` smoothly. The gate narrows as the pose settles.

mod equations;
pub mod finish;
mod known;

use pcr99::Similarity;
use rayon::prelude::*;

use pcr99_base::{
    eigen::symmetric_eigen,
    rotation_of,
    vector::{cross, dot, minus, rotate, solve_positive, unit},
};

use self::{equations::Equations, known::Known};
use crate::prepare::SampledCloud;

/// Method of refinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Refinement {
    /// Minimises distances to the tangent planes of the target. Converges fastest on surfaces.
    #[default]
    PointToPlane,
    /// Minimises distances to the points of the target. Suits clouds that are not surfaces.
    PointToPoint,
    /// Minimises distances between the tangent planes of both clouds (GICP). Converges where planes of the two clouds differ, as at edges and on rough
    /// surfaces.
    PlaneToPlane,
    /// No refinement: the pose is the one that the matches give.
    None,
}

/// Number of points of one task. Fixed, so that sums are formed in the same order on any number of threads.
const CHUNK: usize = 512;
/// Convergence: the largest motion of a last step, as a fraction of the gate.
const SETTLED: f64 = 1e-3;
/// Cosine of 60°: the largest angle between the normals of a pair.
const SAME_FACE: f64 = 0.5;

/// ICP between two sampled clouds.
#[derive(Debug, Clone, Copy)]
pub struct Icp<'a> {
    /// The cloud that moves.
    pub source: &'a SampledCloud,
    /// The cloud that stays.
    pub target: &'a SampledCloud,
    /// Distances to planes or to points.
    pub refinement: Refinement,
    /// Whether the scale is estimated, too. Then target points are paired with source points as well, because otherwise a smaller source
    /// would always fit better.
    pub with_scale: bool,
    /// The direction that is up in the target, with length 1, where it is known: the pose only turns about it.
    pub up: Option<[f64; 3]>,
    /// Whether the normals of a pair must be within 60° of each other. A coarse pose needs this. Near the end it costs more than it gives,
    /// because it needs the normals of the source.
    pub faces: bool,
    /// Approximate number of points of each cloud that are used.
    pub points: usize,
}

/// How firmly pairs constrain small motions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Firmness {
    /// Mean of the moved points of the pairs.
    pub(crate) middle: [f64; 3],
    /// Root mean square distance of the moved points from there.
    pub(crate) lever: f64,
    /// Mean squared change of the distances of pairs by each motion, ascending.
    pub(crate) values: [f64; 6],
    /// Motions `(ω, t)` of unit length: a moved point `p` moves by `ω × (p − middle)/lever + t`.
    pub(crate) motions: [[f64; 6]; 6],
}

/// A source point and the target point nearest to it under the current pose.
struct Pair {
    moved: [f64; 3],
    fixed: [f64; 3],
    normal: [f64; 3],
    distance_sq: f64,
}

impl Icp<'_> {
    /// Refines `start` in at most `iterations` steps, while the gate narrows from `widest` to `narrowest` (in target units). Returns the
    /// last pose that could be computed, at worst `start`.
    pub fn run(&self, start: Similarity, widest: f64, narrowest: f64, iterations: usize) -> Similarity {
        let (mut pose, mut known) = (start, self.nothing_known());
        let mut gate = widest;
        for _ in 0..iterations {
            let equations = self.equations(&pose, gate, &mut known);
            let Some((next, change)) = self.step(&pose, &equations) else { break };
            if !next.scale().is_finite() || !(0.5..2.0).contains(&(next.scale() / start.scale())) {
                break;
            }
            pose = next;
            if gate <= narrowest && change < SETTLED * narrowest {
                break;
            }
            gate = (0.7 * gate).max(narrowest);
        }
        pose
    }

    /// The pose after one step, and approximately the largest motion of a point of the overlap.
    fn step(&self, pose: &Similarity, equations: &Equations) -> Option<(Similarity, f64)> {
        if equations.pairs < 6 {
            return None;
        }
        // Units in which rotation and translation move a typical point about equally.
        let (_, lever) = equations.middle_and_spread();
        let unit = [1.0 / lever, 1.0 / lever, 1.0 / lever, 1.0, 1.0, 1.0, 1.0 / lever];
        let mut matrix = equations.matrix;
        let mut right = equations.right;
        for i in 0..7 {
            right[i] *= unit[i];
            for j in 0..7 {
                matrix[i][j] *= unit[i] * unit[j];
            }
            // Directions that the pairs do not constrain do not move.
            matrix[i][i] += 1e-6 * equations.weight;
        }
        let x = if let Some(up) = self.up {
            upright_step(&matrix, &right, up, self.with_scale)?
        } else if self.with_scale {
            solve_positive(&matrix, right)?
        } else {
            let rigid: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| matrix[i][j]));
            let x = solve_positive(&rigid, std::array::from_fn(|i| right[i]))?;
            std::array::from_fn(|i| if i < 6 { x[i] } else { 0.0 })
        };
        let change = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let x: [f64; 7] = std::array::from_fn(|i| x[i] * unit[i]);
        // A quaternion with vector part ω/2 rotates by ω to second order, and is a rotation for any ω.
        let quaternion = [1.0, 0.5 * x[0], 0.5 * x[1], 0.5 * x[2]];
        let further = Similarity::new_unchecked(
            (1.0 + x[6]).clamp(0.8, 1.25),
            rotation_of(quaternion),
            [x[3], x[4], x[5]],
        );
        Some((pose.then(&further), change))
    }

    /// How firmly the pairs within `gate` constrain the pose: the smallest eigenvalue of the mean of `row·rowᵀ` over the pairs.
    ///
    /// Rows are about the mean of the pairs, with rotations measured by the motion of a typical point. A plane, a sphere or a tube has a
    /// motion that changes no distance, and a value near the squared noise of its normals. A box has 0.05 to 0.2.
    pub fn rigidity(&self, pose: &Similarity, gate: f64) -> f64 {
        self.firmness(pose, gate).map_or(0.0, |firmness| firmness.values[0])
    }

    /// How firmly the pairs within `gate` constrain each small motion; `None` with too few pairs.
    pub(crate) fn firmness(&self, pose: &Similarity, gate: f64) -> Option<Firmness> {
        let mut known = self.nothing_known();
        let sum = self.equations(pose, gate, &mut known);
        if sum.pairs < 6 {
            return None;
        }
        let (middle, lever) = sum.middle_and_spread();
        let about = self.sum_pairs(pose, gate, &mut known, &|sum, pair| {
            let arm = minus(pair.moved, middle).map(|x| x / lever);
            sum.add(arm, arm, pair.normal, 1.0);
        });
        let rigid: [[f64; 6]; 6] =
            std::array::from_fn(|i| std::array::from_fn(|j| about.matrix[i][j] / about.weight));
        let (values, motions) = match self.up {
            None => symmetric_eigen(&rigid),
            Some(up) => upright_motions(&reduced(&rigid, up), up),
        };
        Some(Firmness { middle, lever, values, motions })
    }

    /// Normal equations of the pairs within `gate`.
    fn equations(&self, pose: &Similarity, gate: f64, known: &mut [Vec<Known>; 2]) -> Equations {
        self.sum_pairs(pose, gate, known, &|sum, pair| {
            let share = pair.distance_sq / (gate * gate);
            let weight = (1.0 - share) * (1.0 - share);
            sum.pairs += 1;
            match self.refinement {
                Refinement::PointToPoint => {
                    for axis in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
                        sum.add(pair.moved, pair.fixed, axis, weight);
                    }
                }
                _ => sum.add(pair.moved, pair.fixed, pair.normal, weight),
            }
        })
    }

    /// Every how many points of a cloud one is used.
    fn stride(&self, cloud: &SampledCloud) -> usize {
        cloud.points.len().div_ceil(self.points.max(1)).max(1)
    }

    /// Room for the nearest neighbours of the points of the source, and of the target, before the first step.
    fn nothing_known(&self) -> [Vec<Known>; 2] {
        let room =
            |cloud: &SampledCloud| vec![Known::NOTHING; cloud.points.len().div_ceil(self.stride(cloud))];
        [room(self.source), if self.with_scale { room(self.target) } else { Vec::new() }]
    }

    /// Sums `add` over the pairs within `gate`, in parts of fixed size.
    fn sum_pairs(
        &self,
        pose: &Similarity,
        gate: f64,
        known: &mut [Vec<Known>; 2],
        add: &(dyn Fn(&mut Equations, &Pair) + Sync),
    ) -> Equations {
        let collect =
            |cloud, known: &mut [Known], pair: &(dyn Fn(usize, &mut Known) -> Option<Pair> + Sync)| {
                let stride = self.stride(cloud);
                let part = |(part, known): (usize, &mut [Known])| {
                    let mut sum = Equations::NONE;
                    for (k, known) in (part * CHUNK..).zip(known) {
                        if let Some(pair) = pair(k * stride, known) {
                            add(&mut sum, &pair);
                        }
                    }
                    sum
                };
                let parts: Vec<Equations> = known.par_chunks_mut(CHUNK).enumerate().map(part).collect();
                parts.iter().fold(Equations::NONE, |sum, part| sum.merge(part))
            };
        let [of_source, of_target] = known;
        let mut sum = collect(self.source, of_source, &|i, known| self.forward(pose, i, gate, known));
        if self.with_scale {
            let back = pose.inverse();
            let backward = |i: usize, known: &mut Known| self.backward(pose, &back, i, gate, known);
            sum = sum.merge(&collect(self.target, of_target, &backward));
        }
        sum.symmetric()
    }

    /// Source point `i` and the target point nearest to it.
    fn forward(&self, pose: &Similarity, i: usize, gate: f64, known: &mut Known) -> Option<Pair> {
        let moved = pose.apply(self.source.points[i]);
        let SampledCloud { tree, points, voxel, .. } = self.target;
        let near = known.nearest(tree, points, moved, gate, *voxel)?;
        let normal = || self.target.normal(near.index);
        let other = || rotate(&pose.rotation(), self.source.normal(i));
        self.pair(moved, points[near.index], near.distance_sq, normal, other)
    }

    /// Target point `i` and the source point nearest to it.
    fn backward(
        &self,
        pose: &Similarity,
        back: &Similarity,
        i: usize,
        gate: f64,
        known: &mut Known,
    ) -> Option<Pair> {
        let scale = pose.scale();
        let SampledCloud { tree, points, voxel, .. } = self.source;
        let near = known.nearest(tree, points, back.apply(self.target.points[i]), gate / scale, *voxel)?;
        let normal = || rotate(&pose.rotation(), self.source.normal(near.index));
        let other = || self.target.normal(i);
        let moved = pose.apply(points[near.index]);
        self.pair(moved, self.target.points[i], near.distance_sq * scale * scale, normal, other)
    }

    fn pair(
        &self,
        moved: [f64; 3],
        fixed: [f64; 3],
        distance_sq: f64,
        normal: impl Fn() -> [f64; 3],
        other: impl Fn() -> [f64; 3],
    ) -> Option<Pair> {
        if self.refinement == Refinement::PointToPoint {
            return Some(Pair { moved, fixed, normal: [0.0; 3], distance_sq });
        }
        let normal = normal();
        let same_face = !self.faces || dot(normal, other()).abs() > SAME_FACE;
        (same_face && normal != [0.0; 3]).then_some(Pair { moved, fixed, normal, distance_sq })
    }
}

/// A matrix over rotation, translation and scale, reduced to the turn about `up` and the rest.
fn reduced<const ALL: usize, const KEPT: usize>(
    matrix: &[[f64; ALL]; ALL],
    up: [f64; 3],
) -> [[f64; KEPT]; KEPT] {
    let column = |row: usize, k: usize| {
        if k == 0 { (0..3).map(|axis| matrix[row][axis] * up[axis]).sum() } else { matrix[row][k + 2] }
    };
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            if i == 0 { (0..3).map(|axis| up[axis] * column(axis, j)).sum() } else { column(i + 2, j) }
        })
    })
}

/// Eigenvalues of a matrix over the turn about `up` and the translation, with their motions. Both tilts follow, which are held firmly.
fn upright_motions(matrix: &[[f64; 4]; 4], up: [f64; 3]) -> ([f64; 6], [[f64; 6]; 6]) {
    let (values, motions) = symmetric_eigen(matrix);
    // Any two axes across the vertical: begin with the coordinate axis that is farthest from it.
    let farthest = (0..3).min_by(|&i, &j| up[i].abs().total_cmp(&up[j].abs())).unwrap_or(0);
    let first = unit(cross(up, std::array::from_fn(|axis| f64::from(u8::from(axis == farthest)))));
    let tilts = [first, cross(up, first)];
    let all = std::array::from_fn(|k| values.get(k).copied().unwrap_or(f64::INFINITY));
    let motions = std::array::from_fn(|k| match motions.get(k) {
        Some(&[turn, x, y, z]) => [turn * up[0], turn * up[1], turn * up[2], x, y, z],
        None => {
            let [x, y, z] = tilts[k - 4];
            [x, y, z, 0.0, 0.0, 0.0]
        }
    });
    (all, motions)
}

/// The motion that solves the normal equations without a tilt.
fn upright_step(
    matrix: &[[f64; 7]; 7],
    right: &[f64; 7],
    up: [f64; 3],
    with_scale: bool,
) -> Option<[f64; 7]> {
    let all: [[f64; 5]; 5] = reduced(matrix, up);
    let along = dot(up, [right[0], right[1], right[2]]);
    let all_right = [along, right[3], right[4], right[5], right[6]];
    let x: [f64; 5] = if with_scale {
        solve_positive(&all, all_right)?
    } else {
        let rigid: [[f64; 4]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| all[i][j]));
        let x = solve_positive(&rigid, std::array::from_fn(|i| all_right[i]))?;
        [x[0], x[1], x[2], x[3], 0.0]
    };
    Some([x[0] * up[0], x[0] * up[1], x[0] * up[2], x[1], x[2], x[3], x[4]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;
    use pcr99_base::vector::distance_sq;

    /// Three faces of a box with sides 3, 2 and 1.5, bent a little.
    fn surface(seed: u64) -> SampledCloud {
        let mut random = Random::new(seed);
        let point = |_| {
            let (u, v) = (random.uniform(), random.uniform());
            match random.below(3) {
                0 => [3.0 * u, 2.0 * v, 0.2 * u * v],
                1 => [3.0 * u, 0.1 * u * u, 1.5 * v],
                _ => [0.0, 2.0 * u, 1.5 * v],
            }
        };
        let points: Vec<[f64; 3]> = (0..40_000).map(point).collect();
        SampledCloud::of(&points, None, 0.06)
    }

    fn icp<'a>(
        source: &'a SampledCloud,
        target: &'a SampledCloud,
        refinement: Refinement,
        with_scale: bool,
    ) -> Icp<'a> {
        Icp { source, target, refinement, with_scale, up: None, faces: true, points: 3000 }
    }

    fn off(pose: &Similarity) -> f64 {
        let corner = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.5]];
        corner.iter().map(|&p| distance_sq(pose.apply(p), p).sqrt()).fold(0.0, f64::max)
    }

    #[test]
    fn a_small_motion_is_undone() {
        let (source, target) = (surface(1), surface(2));
        let start = Similarity::from_quaternion(1.0, [1.0, 0.02, -0.015, 0.01], [0.05, -0.04, 0.06])
            .expect("a similarity");
        assert!(off(&start) > 0.1);
        let plane = icp(&source, &target, Refinement::PointToPlane, false).run(start, 0.3, 0.1, 40);
        assert!(off(&plane) < 0.01, "{}", off(&plane));
        assert_eq!(plane.scale(), 1.0);
        let point = icp(&source, &target, Refinement::PointToPoint, false).run(start, 0.3, 0.1, 60);
        assert!(off(&point) < 0.03, "{}", off(&point));
    }

    /// A turn about the vertical and a shift are undone, and a tilt stays.
    #[test]
    fn a_known_vertical_is_kept() {
        let (source, target) = (surface(1), surface(2));
        let up = [0.0, 0.6, 0.8];
        let half = [0.02 * up[0], 0.02 * up[1], 0.02 * up[2]];
        let start = Similarity::from_quaternion(1.0, [1.0, half[0], half[1], half[2]], [0.03, -0.04, 0.02])
            .expect("a similarity");
        for with_scale in [false, true] {
            let mut icp = icp(&source, &target, Refinement::PointToPlane, with_scale);
            icp.up = Some(up);
            let found = icp.run(start, 0.3, 0.1, 40);
            assert!(off(&found) < 0.015, "{}", off(&found));
            let moved = rotate(&found.rotation(), up);
            assert!((0..3).all(|k| (moved[k] - up[k]).abs() < 1e-12), "{moved:?}");
            assert!(icp.rigidity(&found, 0.1) > 0.03);
        }
    }

    #[test]
    fn a_change_of_scale_is_undone() {
        let (source, target) = (surface(3), surface(4));
        let start = Similarity::from_quaternion(1.04, [1.0, 0.0, 0.01, 0.0], [0.02, 0.0, -0.03])
            .expect("a similarity");
        let found = icp(&source, &target, Refinement::PointToPlane, true).run(start, 0.3, 0.1, 60);
        assert!((found.scale() - 1.0).abs() < 0.003, "{}", found.scale());
        assert!(off(&found) < 0.02, "{}", off(&found));
    }

    #[test]
    fn nothing_near_leaves_the_start() {
        let (source, target) = (surface(1), surface(2));
        let far = Similarity::from_translation([100.0, 0.0, 0.0]);
        let icp = icp(&source, &target, Refinement::PointToPlane, false);
        assert_eq!(icp.run(far, 0.3, 0.1, 10), far);
        assert_eq!(icp.rigidity(&far, 0.1), 0.0);
    }

    #[test]
    fn a_box_holds_and_threads_change_nothing() {
        let (source, target) = (surface(1), surface(2));
        let start =
            Similarity::from_quaternion(1.0, [1.0, 0.01, 0.0, 0.0], [0.02, 0.0, 0.0]).expect("a similarity");
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                let icp = icp(&source, &target, Refinement::PointToPlane, false);
                (icp.run(start, 0.3, 0.1, 10), icp.rigidity(&start, 0.1))
            })
        };
        let one = with(1);
        assert_eq!(one, with(4));
        assert!(one.1 > 0.03, "{}", one.1);
    }
}
