//! The small motions that residuals follow most.
//!
//! A small motion turns by `ω` about the middle of the points, shifts by `v` and grows by `g`. It displaces the point `p`, seen from the middle, by
//! `ω × p + v + g·p`. Residuals `r` that are noise of variance `σ²` have `Σ (r · displacement)² = σ² Σ displacement²` for every small motion; a match
//! that is noisier counts less in both. Where a second motion is
//! mixed in, the ratio of the two sums is larger for the motion that leads to it.

use pcr99_base::{
    Soa,
    eigen::symmetric_eigen,
    vector::{cross, dot, lower_median, minus, plus, rotate, times, transpose},
};

use crate::Similarity;

/// A small motion that residuals follow.
#[derive(Debug)]
pub(super) struct Twist {
    /// The transform that the residuals belong to.
    model: Similarity,
    /// Mean of the moved sources.
    middle: [f64; 3],
    /// Turn, shift and growth, for a root mean square displacement of 1.
    turn: [f64; 3],
    shift: [f64; 3],
    growth: f64,
}

/// Small motions that residuals may follow: the strongest one, and the strongest among those that only shift. Where the shift is strong, some turns are nearly
/// as strong, and the strongest motion is a mixture.
#[derive(Debug)]
pub(super) struct Twists {
    pub(super) twists: [Twist; 2],
    /// Standard deviation of a coordinate: across the displacements, or in the direction of least spread, whichever is smaller.
    pub(super) sigma: f64,
}

/// A source that was moved, with its residual vector and its precision.
struct Moved {
    point: [f64; 3],
    residual: [f64; 3],
    weight: f64,
}

/// Numbers of residuals that are looked at, at most: a few, and more where those follow a twist. By chance they do so in one problem of twenty.
const SAMPLES: [usize; 2] = [128, 1024];
/// Variance along the twist, relative to the mean along the others, from which residuals follow it, for many residuals. By chance the ratio is larger
/// among few: ten times the inverse root of their number covers it.
const FOLLOWED: [f64; 2] = [1.3, 6.0];
/// Median size of a Gaussian number with standard deviation 1.
const MEDIAN_SIZE: f64 = 0.674_489_75;
/// Number of parameters of a small motion.
const PARAMETERS: usize = 7;

/// The small motions that the residuals of the `inliers` follow most; `None` when they follow none more than noise does. `grows` says that the scale
/// is not known.
pub(super) fn strongest_twists(
    points: &Soa,
    inliers: &[u32],
    model: &Similarity,
    grows: bool,
) -> Option<Twists> {
    let [few, many] = SAMPLES;
    let twists = twists_of(points, inliers, few, model, grows)?;
    if inliers.len() <= few { Some(twists) } else { twists_of(points, inliers, many, model, grows) }
}

/// The small motions that an even sample of at most `most` residuals follows.
fn twists_of(points: &Soa, inliers: &[u32], most: usize, model: &Similarity, grows: bool) -> Option<Twists> {
    let step = inliers.len().div_ceil(most).max(1);
    let some: Vec<Moved> = inliers
        .iter()
        .step_by(step)
        .map(|&i| {
            let point = model.apply(points.source(i as usize));
            let weight = points.precision_of(i as usize);
            Moved { point, residual: minus(points.target(i as usize), point), weight }
        })
        .collect();
    let count = some.len() as f64;
    let weights: f64 = some.iter().map(|moved| moved.weight).sum();
    let sum = some.iter().fold([0.0; 3], |sum, moved| plus(sum, times(moved.weight, moved.point)));
    let middle = times(1.0 / weights, sum);
    // In the principal axes of the points, seen from their middle, the sums of squared displacements of the seven parameters are separate.
    let mut scatter = [[0.0; 3]; 3];
    for moved in &some {
        let p = minus(moved.point, middle);
        for row in 0..3 {
            for column in 0..3 {
                scatter[row][column] += moved.weight * p[row] * p[column];
            }
        }
    }
    let (spread, axes) = symmetric_eigen(&scatter);
    let all: f64 = spread.iter().sum();
    let mut norms = [0.0; PARAMETERS];
    for axis in 0..3 {
        norms[axis] = all - spread[axis];
        norms[3 + axis] = weights;
    }
    norms[6] = all;
    let free = if grows { PARAMETERS } else { PARAMETERS - 1 };
    // The smallest turn that counts: points on a line do not show a turn about it.
    let scales = norms.map(|norm| if norm > 1e-6 * all { norm.sqrt().recip() } else { 0.0 });
    let mut products = [[0.0; PARAMETERS]; PARAMETERS];
    for moved in &some {
        let p = rotate(&axes, minus(moved.point, middle));
        let r = rotate(&axes, times(moved.weight, moved.residual));
        let turned = cross(p, r);
        let along = [turned[0], turned[1], turned[2], r[0], r[1], r[2], dot(p, r)];
        let along: [f64; PARAMETERS] =
            std::array::from_fn(|k| if k < free { along[k] * scales[k] } else { 0.0 });
        for (row, one) in products.iter_mut().zip(along) {
            for (product, other) in row.iter_mut().zip(along) {
                *product += one * other;
            }
        }
    }
    let limit = FOLLOWED[0] + FOLLOWED[1] / count.sqrt();
    let trace: f64 = (0..free).map(|k| products[k][k]).sum();
    let squares: f64 = products.iter().flatten().map(|product| product * product).sum();
    if largest_ratio(trace, squares, (free - 1) as f64) <= limit {
        return None;
    }
    let (values, vectors) = symmetric_eigen(&products);
    let strongest = values[PARAMETERS - 1];
    if strongest <= limit * (trace - strongest) / (free - 1) as f64 {
        return None;
    }
    let vector = vectors[PARAMETERS - 1];
    let size = weights.sqrt();
    let parameters: [f64; PARAMETERS] = std::array::from_fn(|k| vector[k] * scales[k] * size);
    let back = transpose(&axes);
    let twist = Twist {
        model: *model,
        middle,
        turn: rotate(&back, [parameters[0], parameters[1], parameters[2]]),
        shift: rotate(&back, [parameters[3], parameters[4], parameters[5]]),
        growth: parameters[6],
    };
    let across = |moved: &Moved| {
        let along = twist.displacement(moved.point);
        // The component of the residual across the displacement and across the axis that is farthest from it.
        let least = (0..3).min_by(|&k, &l| along[k].abs().total_cmp(&along[l].abs())).unwrap_or(0);
        let mut axis = [0.0; 3];
        axis[least] = 1.0;
        cross(along, axis)
    };
    let mut spread = [[0.0; 3]; 3];
    for Moved { residual, weight, .. } in &some {
        for row in 0..3 {
            for column in 0..3 {
                spread[row][column] += weight * residual[row] * residual[column];
            }
        }
    }
    let (_, [narrow, _, wide]) = symmetric_eigen(&spread);
    let sigma = median_along(&some, across)?.min(median_along(&some, |_| narrow)?);
    let shift = Twist { model: *model, middle, turn: [0.0; 3], shift: wide, growth: 0.0 };
    Some(Twists { twists: [twist, shift], sigma })
}

/// Standard deviation of the residuals along a direction for each. It is taken from the median, because a few wrong matches among the inliers have large
/// residuals in every direction.
fn median_along(some: &[Moved], direction: impl Fn(&Moved) -> [f64; 3]) -> Option<f64> {
    let size = |moved: &Moved| {
        let direction = direction(moved);
        let length_sq = dot(direction, direction).max(f64::MIN_POSITIVE);
        dot(moved.residual, direction).abs() * (moved.weight / length_sq).sqrt()
    };
    let mut sizes: Vec<f64> = some.iter().map(size).collect();
    Some(lower_median(&mut sizes)? / MEDIAN_SIZE)
}

/// Upper bound on the ratio of the largest eigenvalue to the mean of the `others`, from the sum of all and the sum of their squares. It is reached where the
/// others are equal.
fn largest_ratio(sum: f64, squares: f64, others: f64) -> f64 {
    // λ + m·μ = sum and λ² + m·μ² = squares.
    let root = (others * ((others + 1.0) * squares - sum * sum)).max(0.0).sqrt();
    let largest = (sum + root) / (others + 1.0);
    largest * others / (sum - largest).max(f64::MIN_POSITIVE)
}

impl Twist {
    /// Displacement of a moved source.
    fn displacement(&self, moved: [f64; 3]) -> [f64; 3] {
        let p = minus(moved, self.middle);
        plus(plus(cross(self.turn, p), self.shift), times(self.growth, p))
    }

    /// The transform followed by the twist with this root mean square displacement.
    pub(super) fn apply(&self, displacement: f64) -> Option<Similarity> {
        let half = times(0.5 * displacement, self.turn);
        let turn = Similarity::from_quaternion(
            libm::exp(displacement * self.growth),
            [1.0, half[0], half[1], half[2]],
            [0.0; 3],
        );
        let to_middle = Similarity::from_translation(times(-1.0, self.middle));
        let back = Similarity::from_translation(plus(self.middle, times(displacement, self.shift)));
        Some(self.model.then(&to_middle).then(&turn.ok()?).then(&back))
    }
}
