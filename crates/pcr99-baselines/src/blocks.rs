//! Building blocks that several methods share.

use pcr99::{Similarity, random::Random};
use pcr99_base::{
    Soa,
    kernel::consensus::{Affine, squared_residual},
    vector::{cross, minus, norm, plus, rotate, times},
};

/// Rotation matrix, row by row.
pub(crate) type Rotation = [[f64; 3]; 3];

/// Rotation from the frame of the source triangle to that of the target triangle: x along the first edge, y along the normal, z = x × y. It
/// depends on the order of the corners; the first edge is matched exactly. `None` for triangles that are nearly collinear.
pub(crate) fn triangle_rotation(points: &Soa, [i, j, k]: [usize; 3]) -> Option<Rotation> {
    let a = frame([points.source(i), points.source(j), points.source(k)])?;
    let b = frame([points.target(i), points.target(j), points.target(k)])?;
    // R = [x' y' z'] [x y z]ᵀ.
    Some(std::array::from_fn(|row| {
        std::array::from_fn(|column| (0..3).map(|axis| b[axis][row] * a[axis][column]).sum())
    }))
}

fn frame([p, q, r]: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let (along, other) = (minus(q, p), minus(r, p));
    let normal = cross(along, other);
    let (length, area) = (norm(along), norm(normal));
    if area.is_nan() || area <= 1e-12 * length * norm(other) || area == 0.0 {
        return None;
    }
    let (x, y) = (along.map(|c| c / length), normal.map(|c| c / area));
    Some([x, y, cross(x, y)])
}

/// Centroids of the sources and targets of some matches.
pub(crate) fn centroids(points: &Soa, some: &[usize]) -> ([f64; 3], [f64; 3]) {
    let n = some.len() as f64;
    let mean = |columns: &[Vec<f64>; 3]| {
        columns.each_ref().map(|column| some.iter().map(|&i| column[i]).sum::<f64>() / n)
    };
    (mean(&points.a), mean(&points.b))
}

/// Transform of an ordered triple at scale 1: frames for the rotation, centroids for the translation, `t = q − R·p`.
pub(crate) fn triangle_model(points: &Soa, triple: [usize; 3]) -> Option<Similarity> {
    let rotation = triangle_rotation(points, triple)?;
    let mean = |[u, v, w]: [[f64; 3]; 3]| times(1.0 / 3.0, plus(plus(u, v), w));
    let (p, q) = (mean(triple.map(|i| points.source(i))), mean(triple.map(|i| points.target(i))));
    Some(Similarity::new_unchecked(1.0, rotation, minus(q, rotate(&rotation, p))))
}

/// Two distinct indices below `bound`, which must be at least 2.
pub(crate) fn distinct_pair(random: &mut Random, bound: usize) -> [usize; 2] {
    let i = random.below(bound);
    let j = random.below(bound - 1);
    [i, j + usize::from(j >= i)]
}

/// Angle between two rotations in radians: `acos((tr(R₁ᵀR₂) − 1)/2)`.
#[cfg(test)]
pub(crate) fn angle_between(one: &Rotation, other: &Rotation) -> f64 {
    let trace: f64 = one.iter().zip(other).map(|(r, s)| pcr99_base::vector::dot(*r, *s)).sum();
    libm::acos(((trace - 1.0) / 2.0).clamp(-1.0, 1.0))
}

/// Number of trials after which at least one has succeeded with probability `confidence`, when each succeeds with probability `chance`:
/// `ln(1 − c)/ln(1 − w)`.
pub(crate) fn trials(confidence: f64, chance: f64) -> f64 {
    if chance <= 0.0 {
        f64::INFINITY
    } else if chance >= 1.0 {
        0.0
    } else {
        libm::log(1.0 - confidence) / libm::log(1.0 - chance)
    }
}

/// `‖a_i − a_j‖` and `‖b_i − b_j‖`.
#[cfg(test)]
pub(crate) fn lengths(points: &Soa, i: usize, j: usize) -> (f64, f64) {
    (norm(minus(points.source(i), points.source(j))), norm(minus(points.target(i), points.target(j))))
}

/// `s = Σ ‖a − p‖·‖b − q‖ / Σ ‖a − p‖²` over some matches with the centroids `p` and `q`; `None` when all sources coincide.
pub(crate) fn norm_ratio_scale(points: &Soa, some: &[usize], p: [f64; 3], q: [f64; 3]) -> Option<f64> {
    let (mut products, mut squares) = (0.0, 0.0);
    for &i in some {
        let (a, b) = (norm(minus(points.source(i), p)), norm(minus(points.target(i), q)));
        products += a * b;
        squares += a * a;
    }
    (squares > 0.0 && products > 0.0).then(|| products / squares)
}

/// Indices of the matches with a residual of at most `delta`, ascending.
pub(crate) fn inliers(points: &Soa, model: &Similarity, delta: f64) -> Vec<u32> {
    let model = Affine::from(model);
    (0..points.len() as u32)
        .filter(|&i| squared_residual(points, &model, i as usize) <= delta * delta)
        .collect()
}
