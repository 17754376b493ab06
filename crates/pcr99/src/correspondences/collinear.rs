//! The test whether points lie on one line, up to rounding.

use pcr99_base::{
    kernel::sums::Spread,
    vector::{cross, dot, minus},
};

/// Distance from the origin beyond which a point is far outside, in normalised units. Half of the points are within 1/4 on each axis, or all are within 1.
const FAR_OUT: f64 = 4.0;

/// Whether all points lie on one line, up to rounding of the caller's coordinates. `spread` has the sums over them, `offset` is the distance of the caller's
/// origin from the centre, and `epsilon` the relative rounding error of the caller's coordinates.
///
/// The test point by point is needed only for points that are nearly on a line, or where some are far outside. Points far outside have rounding errors that are
/// larger than the rest, so the others are tested without them first.
pub(super) fn are_collinear(columns: &[Vec<f64>; 3], spread: &Spread, offset: f64, epsilon: f64) -> bool {
    if are_clearly_wide(spread, columns[0].len(), offset, epsilon) {
        return false;
    }
    let is_near = |p: &[f64; 3]| p.iter().all(|x| x.abs() <= FAR_OUT);
    lie_on_a_line(columns, is_near, offset, epsilon) && lie_on_a_line(columns, |_| true, offset, epsilon)
}

/// Whether the sums over all points prove that they are not on one line: the test point by point would say so, too.
fn are_clearly_wide(spread: &Spread, n: usize, offset: f64, epsilon: f64) -> bool {
    let [x, y, z] = spread.sum.map(|sum| sum / n as f64);
    let [xx, xy, xz, yy, yz, zz] = spread.products.map(|sum| sum / n as f64);
    let (xx, yy, zz) = (xx - x * x, yy - y * y, zz - z * z);
    let (xy, xz, yz) = (xy - x * y, xz - x * z, yz - y * z);
    // With the variances u ≥ v ≥ w along the principal axes, these are u + v + w and uv + uw + vw.
    let total = xx + yy + zz;
    let minors = (xx * yy - xy * xy) + (xx * zz - xz * xz) + (yy * zz - yz * yz);
    // The test point by point lets each point deviate by three rounding errors of 8ε, so v + w is at most the square of that.
    let deviation = 24.0 * epsilon * (offset + FAR_OUT);
    // Largest rounding error of the entries of the covariance. Each of the three minors adds up to four times this error, times `total`.
    let summing = (n as f64 + 16.0) * f64::EPSILON * FAR_OUT * FAR_OUT;
    spread.farthest_sq <= FAR_OUT * FAR_OUT && minors > (4.0 * deviation * deviation + 16.0 * summing) * total
}

/// Whether the points that `keep` selects lie on the line through two distant ones of them.
fn lie_on_a_line(
    columns: &[Vec<f64>; 3],
    keep: impl Fn(&[f64; 3]) -> bool,
    offset: f64,
    epsilon: f64,
) -> bool {
    let point = |i: usize| columns.each_ref().map(|column| column[i]);
    let all = || (0..columns[0].len()).map(point).filter(|p| keep(p));
    let distance_sq = |p: [f64; 3], q: [f64; 3]| dot(minus(p, q), minus(p, q));
    let farthest_from = |origin: [f64; 3]| {
        all().fold(
            origin,
            |best, p| {
                if distance_sq(p, origin) > distance_sq(best, origin) { p } else { best }
            },
        )
    };
    let far = farthest_from([0.0; 3]);
    let near = farthest_from(far);
    let along = minus(far, near);
    let length = dot(along, along).sqrt();
    let rounding = |p: [f64; 3]| 8.0 * epsilon * (offset + p.iter().fold(0.0, |m: f64, x| m.max(x.abs())));
    all().all(|p| {
        let from_near = minus(p, near);
        let off = cross(along, from_near);
        // The line is as uncertain as its two points, the far one in proportion.
        let share = (dot(from_near, from_near).sqrt() / length).min(1.0);
        let tolerance = rounding(p) + rounding(near) + share * rounding(far);
        dot(off, off).sqrt() <= tolerance * length
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Correspondences, Error, error::Side, random::Random};

    const TRIANGLE: [[f64; 3]; 3] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]];

    #[test]
    fn a_line_is_found_at_any_offset_and_unit() {
        for (offset, unit) in [(0.0, 1.0), (1e7, 1.0), (-3e7, 1e-3), (0.0, 1e-6), (1e6, 1e6), (0.0, 1e-260)] {
            let line: Vec<[f64; 3]> =
                (0..20).map(|i| [1.0, 2.0, -0.5].map(|d| offset + unit * d * f64::from(i))).collect();
            let mut bent = line.clone();
            bent[7][0] += 0.01 * unit;
            let spread: Vec<_> = (0..20).map(|i| TRIANGLE[i % 3]).collect();
            let refused = |source: &[_], target: &[_]| Correspondences::new(source, target).unwrap_err();
            assert_eq!(refused(&line, &spread), Error::Collinear { side: Side::Source }, "{offset} {unit}");
            assert_eq!(refused(&spread, &line), Error::Collinear { side: Side::Target }, "{offset} {unit}");
            assert!(Correspondences::new(&bent, &spread).is_ok(), "{offset} {unit}");
        }
    }

    /// Regression: two points far outside, opposite of each other, made all others look like points on the line between them.
    #[test]
    fn points_far_outside_do_not_make_a_line() {
        let mut random = Random::new(4);
        let cloud: Vec<[f64; 3]> = (0..50).map(|_| std::array::from_fn(|_| random.gaussian())).collect();
        for far in [1e20, 1e38, 1e300] {
            let mut strayed = cloud.clone();
            strayed[3] = [far, 0.0, 0.0];
            strayed[4] = [-far, 0.0, 0.0];
            assert!(Correspondences::new(&strayed, &cloud).is_ok(), "{far}");
            // The bulk is on a line, and one point far outside is not.
            let mut line: Vec<[f64; 3]> = (0..50).map(|i| [f64::from(i), 0.0, 0.0]).collect();
            line[7][0] = far;
            assert_eq!(
                Correspondences::new(&line, &cloud).unwrap_err(),
                Error::Collinear { side: Side::Source }
            );
            line[7] = [0.0, far, 0.0];
            assert!(Correspondences::new(&line, &cloud).is_ok(), "{far}");
        }
    }

    /// What the sums prove, the test point by point confirms, for points of any width around a line.
    #[test]
    fn the_proof_by_sums_is_never_wrong() {
        let mut random = Random::new(5);
        let mut proved = 0;
        for exponent in -60..0 {
            let width = 2_f64.powi(exponent);
            for (offset, epsilon) in
                [(0.0, f64::EPSILON), (1e7, f64::EPSILON), (1e3, f64::from(f32::EPSILON))]
            {
                let columns: [Vec<f64>; 3] = [1.0, width, width]
                    .map(|size| (0..200).map(|_| size * (2.0 * random.uniform() - 1.0)).collect());
                let spread = pcr99_base::kernel::sums::spread(&columns);
                if are_clearly_wide(&spread, 200, offset, epsilon) {
                    proved += 1;
                    assert!(!lie_on_a_line(&columns, |_| true, offset, epsilon), "{width} {offset}");
                }
            }
        }
        assert!(proved > 30, "{proved}");
    }
}
