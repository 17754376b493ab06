//! A tube of radius `ρ` along a trefoil knot.
//!
//! The curve is `c(u) = (sin u + 2 sin 2u, cos u − 2 cos 2u, −sin 3u)`, `0 ≤ u < 2π`, and the surface
//! `x(u, θ) = c(u) + ρ·(cos θ·N(u) + sin θ·B(u))` with the curve's normal `N` and binormal `B`. Its
//! area element is `dA = ρ·‖c′‖·(1 − ρ·κ·cos θ) du dθ` with the curvature `κ`: the torsion only
//! slides the surface along itself. The curve is straight nowhere (κ ≥ 0.2), so that `N` exists, and
//! `ρ = ½` is below the least radius of curvature (1.29) and below half the least distance between
//! strands (0.60): the tube has neither creases nor self-intersections.

use std::f64::consts::TAU;

use pcr99::random::Random;
use pcr99_base::vector::{cross, dot, norm, plus, times, unit};

/// Radius `ρ` of the tube.
const RADIUS: f64 = 0.5;

/// Bound of the density for the rejection: above the largest `‖c′‖·(1 + ρ·κ)`, which is 6.4312.
const DENSITY_BOUND: f64 = 6.44;

/// Point and derivatives of the curve at a parameter `u`.
struct Curve {
    point: [f64; 3],
    /// `c′`.
    first: [f64; 3],
    /// `c″`.
    second: [f64; 3],
}

impl Curve {
    fn at(u: f64) -> Self {
        let (s1, c1) = libm::sincos(u);
        let (s2, c2) = libm::sincos(2.0 * u);
        let (s3, c3) = libm::sincos(3.0 * u);
        Self {
            point: [s1 + 2.0 * s2, c1 - 2.0 * c2, -s3],
            first: [c1 + 4.0 * c2, -s1 + 4.0 * s2, -3.0 * c3],
            second: [-s1 - 8.0 * s2, -c1 + 8.0 * c2, 9.0 * s3],
        }
    }

    /// `κ = ‖c′ × c″‖ / ‖c′‖³`.
    fn curvature(&self) -> f64 {
        let speed_sq = dot(self.first, self.first);
        norm(cross(self.first, self.second)) / (speed_sq * speed_sq.sqrt())
    }
}

/// Point, uniform on the tube: `(u, θ)` accepted in proportion to the area element.
pub(super) fn on_tube(random: &mut Random) -> [f64; 3] {
    loop {
        let curve = Curve::at(TAU * random.uniform());
        let (sine, cosine) = libm::sincos(TAU * random.uniform());
        let density = norm(curve.first) * (1.0 - RADIUS * curve.curvature() * cosine);
        if random.uniform() * DENSITY_BOUND < density {
            let binormal = unit(cross(curve.first, curve.second));
            let normal = cross(binormal, unit(curve.first));
            let offset = plus(times(cosine, normal), times(sine, binormal));
            return plus(curve.point, times(RADIUS, offset));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::vector::minus;

    /// Parameter of the curve point nearest to `x`: a scan, then Newton on `(c − x)·c′ = 0`.
    fn nearest(x: [f64; 3]) -> f64 {
        let distance = |u: f64| norm(minus(Curve::at(u).point, x));
        let start = (0..400).map(|k| TAU * f64::from(k) / 400.0);
        let mut u = start.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap();
        for _ in 0..8 {
            let curve = Curve::at(u);
            let offset = minus(curve.point, x);
            u -= dot(offset, curve.first) / (dot(curve.first, curve.first) + dot(offset, curve.second));
        }
        u
    }

    /// That the *nearest* curve point is at the radius also shows that no strand cuts another.
    #[test]
    fn points_lie_on_the_tube() {
        let mut random = Random::new(1);
        for _ in 0..500 {
            let x = on_tube(&mut random);
            let distance = norm(minus(Curve::at(nearest(x)).point, x));
            assert!((distance - RADIUS).abs() < 1e-12, "{distance}");
        }
    }

    #[test]
    fn constants_hold_along_the_whole_curve() {
        let mut largest = 0.0_f64;
        for k in 0..10_000 {
            let curve = Curve::at(TAU * f64::from(k) / 1e4);
            let bend = RADIUS * curve.curvature();
            assert!((0.1..0.4).contains(&bend), "{bend}");
            largest = largest.max(norm(curve.first) * (1.0 + bend));
        }
        assert!((6.43..DENSITY_BOUND).contains(&largest), "{largest}");
    }

    /// Pappus: the area over a stretch of a tube is `2πρ` times its length. The knot repeats itself
    /// every third; within a third, six parts must get points by their lengths, which differ by
    /// a third. The outer side of a bend has more area than the inner.
    #[test]
    fn density_is_even() {
        const PARTS: usize = 6;
        let speed = |k: usize| norm(Curve::at(TAU / 3.0 * (k as f64 + 0.5) / (1000 * PARTS) as f64).first);
        let lengths: Vec<f64> =
            (0..PARTS).map(|part| (1000 * part..1000 * (part + 1)).map(speed).sum()).collect();
        let total: f64 = lengths.iter().sum();

        let mut random = Random::new(3);
        let (mut counts, mut outside, mut expected_outside) = ([0.0; PARTS], 0.0, 0.0);
        for _ in 0..20_000 {
            let x = on_tube(&mut random);
            let u = nearest(x).rem_euclid(TAU);
            counts[(u / TAU * (3 * PARTS) as f64) as usize % PARTS] += 1.0;
            let curve = Curve::at(u);
            outside += f64::from(dot(minus(x, curve.point), curve.second) < 0.0);
            // Half the ring plus ∫ρκ|cos θ| over it: ½ + ρκ/π.
            expected_outside += 0.5 + RADIUS * curve.curvature() / std::f64::consts::PI;
        }
        for (part, count) in counts.iter().enumerate() {
            let expected = 20_000.0 * lengths[part] / total;
            assert!((count - expected).abs() < 4.5 * expected.sqrt(), "{part}: {count} {expected}");
        }
        assert!((outside - expected_outside).abs() < 300.0, "{outside} {expected_outside}");
        assert!(expected_outside > 10_800.0, "the test would not notice a missing area element");
    }
}
