//! A transform from three matches (Algorithm 1, line 18).
//!
//! The paper cites Horn, who gives two methods for three points. The one meant uses the frame of the triangle (decision 9): `x` along
//! `i → j`, `y` along the normal, `z = x × y`, and `R` maps one frame to the other. Least squares on three points gives other inlier counts
//! than the authors' program.

use pcr99_base::{
    Soa,
    vector::{cross, dot, minus, rotate},
};

use crate::Similarity;

/// Sine of the angle between two edges up to which a triangle counts as a line (decision 10): rounding errors only.
const COLLINEAR: f64 = 1e-12;

/// The similarity that maps the source triangle `sample` to its target; `None` when either triangle is a line or a point.
pub(super) fn align_triplet(
    points: &Soa,
    sample: [usize; 3],
    known_scale: Option<f64>,
) -> Option<Similarity> {
    let a = sample.map(|i| points.source(i));
    let b = sample.map(|i| points.target(i));
    let (source_axes, target_axes) = (triangle_frame(a)?, triangle_frame(b)?);
    // R = x'xᵀ + y'yᵀ + z'zᵀ.
    let rotation: [[f64; 3]; 3] = std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            (0..3).map(|axis| target_axes[axis][row] * source_axes[axis][column]).sum()
        })
    });
    let (a_mean, b_mean) = (mean(a), mean(b));
    let scale = match known_scale {
        Some(scale) => scale,
        // s = Σ (b − b̄)ᵀ R (a − ā) / Σ ‖a − ā‖².
        None => {
            let terms = a.into_iter().zip(b).map(|(a, b)| {
                let (a, b) = (minus(a, a_mean), minus(b, b_mean));
                (dot(b, rotate(&rotation, a)), dot(a, a))
            });
            let (numerator, denominator) =
                terms.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
            numerator / denominator
        }
    };
    // With a large ε, triangles pass the prescreening that differ so much that no positive scale fits.
    (scale > 0.0 && scale.is_finite()).then(|| {
        let moved = rotate(&rotation, a_mean);
        Similarity::new_unchecked(
            scale,
            rotation,
            std::array::from_fn(|axis| b_mean[axis] - scale * moved[axis]),
        )
    })
}

/// The axes `x`, `y`, `z` of a triangle; `None` when it is a line or a point.
fn triangle_frame([i, j, k]: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let (along, aside) = (minus(j, i), minus(k, i));
    let normal = cross(along, aside);
    let (along_sq, normal_sq) = (dot(along, along), dot(normal, normal));
    // NaN is not a triangle either.
    if normal_sq.is_nan() || normal_sq <= COLLINEAR * COLLINEAR * along_sq * dot(aside, aside) {
        return None;
    }
    let (x, y) = (divided(along, along_sq.sqrt()), divided(normal, normal_sq.sqrt()));
    Some([x, y, cross(x, y)])
}

fn divided(v: [f64; 3], by: f64) -> [f64; 3] {
    v.map(|x| x / by)
}

fn mean([p, q, r]: [[f64; 3]; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| (p[axis] + q[axis] + r[axis]) / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use pcr99_base::test_points;

    fn soa(a: [[f64; 3]; 3], b: [[f64; 3]; 3]) -> Soa {
        let columns = |p: [[f64; 3]; 3]| std::array::from_fn(|axis| p.iter().map(|p| p[axis]).collect());
        Soa::new(columns(a), columns(b))
    }

    /// Decision 9: the direction of the edge i → j is met exactly, whatever k is.
    #[test]
    fn the_first_edge_sets_the_direction() {
        let a = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let b = [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-2.0, 0.3, 0.0]];
        let model = align_triplet(&soa(a, b), [0, 1, 2], None).unwrap();
        let along = rotate(&model.rotation(), [1.0, 0.0, 0.0]);
        assert!((along[0].abs() + (along[1] - 1.0).abs() + along[2].abs()) < 1e-15, "{along:?}");
        // Least squares would rotate slightly towards k. Another order of the sample gives another rotation.
        let other = align_triplet(&soa(a, b), [0, 2, 1], None).unwrap();
        assert!((other.rotation()[0][0] - model.rotation()[0][0]).abs() > 0.1);
    }

    #[test]
    fn an_exact_similarity_is_recovered() {
        let turn = [[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]];
        let truth = Similarity::new(2.5, turn, [1.0, -2.0, 0.5]).expect("a similarity");
        let a = [[0.1, 0.2, 0.3], [0.9, -0.4, 0.2], [-0.3, 0.8, -0.6]];
        let points = soa(a, a.map(|p| truth.apply(p)));
        for known in [None, Some(2.5)] {
            let model = align_triplet(&points, [2, 0, 1], known).unwrap();
            let errors = a.iter().flat_map(|&p| minus(model.apply(p), truth.apply(p)));
            assert!(errors.into_iter().all(|e| e.abs() < 1e-14));
            assert!((model.scale() - 2.5).abs() < 1e-14);
        }
    }

    #[test]
    fn rotations_are_proper() {
        let points = test_points::random(60, 11);
        let mut random = Random::new(4);
        let mut formed = 0;
        for _ in 0..500 {
            if let Some(model) = align_triplet(&points, random.distinct_triple(60), Some(1.0)) {
                let [x, y, z] = model.rotation();
                assert!((dot(cross(x, y), z) - 1.0).abs() < 1e-12 && dot(x, y).abs() < 1e-12);
                formed += 1;
            }
        }
        assert!(formed > 300);
    }

    /// Decision 10: lines are recognised up to rounding.
    #[test]
    fn lines_and_points_are_rejected() {
        let good = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let line = [[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [0.4, 0.4, 0.4]];
        let twice = [[0.1, 0.1, 0.1], [0.1, 0.1, 0.1], [0.4, 0.0, 0.4]];
        let mut random = Random::new(2);
        let slanting = std::array::from_fn::<_, 100, _>(|_| {
            let along: [f64; 3] = std::array::from_fn(|_| random.gaussian());
            [0.3, -0.7, 0.9].map(|t| along.map(|x| t * x))
        });
        for bad in slanting.into_iter().chain([line, twice, [[0.5; 3]; 3]]) {
            assert_eq!(align_triplet(&soa(good, bad), [0, 1, 2], None), None);
            assert_eq!(align_triplet(&soa(bad, good), [0, 1, 2], Some(1.0)), None);
        }
        // A very flat triangle still is a triangle.
        let flat = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 1e-9, 0.0]];
        assert!(align_triplet(&soa(flat, flat), [0, 1, 2], None).is_some());
    }
}
