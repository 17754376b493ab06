//! Clouds that wrong matches are drawn from: each draws its own numbers, then `n` points.

use std::f64::consts::TAU;

use pcr99::random::Random;
use pcr99_base::vector::{cross, plus, times, unit};

use crate::{
    draw::{direction, gaussian_vector, in_unit_ball},
    trust::{in_unit_cube, integer, log_uniform, uniform},
};

/// Generator of a cloud of `n` points.
pub(super) type Cloud = fn(usize, &mut Random) -> Vec<[f64; 3]>;

/// Uniform in the unit ball.
pub(super) fn in_ball(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    (0..n).map(|_| in_unit_ball(random)).collect()
}

/// Uniform in the unit ball, or in a box with sides from 0.2 to 2.
pub(super) fn uniform_in_solid(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    if integer(0, 1, random) == 0 {
        return in_ball(n, random);
    }
    let sides: [f64; 3] = std::array::from_fn(|_| log_uniform(0.2, 2.0, random));
    let mut point = || {
        let p = in_unit_cube(random);
        std::array::from_fn(|axis| sides[axis] * p[axis])
    };
    (0..n).map(|_| point()).collect()
}

/// Normal, with standard deviations from 0.1 to 1 along three axes.
pub(super) fn gaussian(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let deviations: [f64; 3] = std::array::from_fn(|_| log_uniform(0.1, 1.0, random));
    let mut point = || {
        let p = gaussian_vector(random);
        std::array::from_fn(|axis| deviations[axis] * p[axis])
    };
    (0..n).map(|_| point()).collect()
}

/// Around a sensor: the distance is uniform from 1 to 30–100, so that the density falls with 1/r². The elevation is within 5° to 30°.
pub(super) fn around_sensor(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let farthest = uniform(30.0, 100.0, random);
    let steepest = libm::sin(uniform(5.0, 30.0, random).to_radians());
    let mut point = || {
        let (range, height) = (uniform(1.0, farthest, random), uniform(-steepest, steepest, random));
        let (sine, cosine) = libm::sincos(TAU * random.uniform());
        let level = (1.0 - height * height).sqrt();
        times(range, [level * cosine, level * sine, height])
    };
    (0..n).map(|_| point()).collect()
}

/// On one to five square planes of side 1 with centres in the unit cube. Half of the clouds are up to 1 % thick.
pub(super) fn on_planes(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let thickness = if integer(0, 1, random) == 0 { 0.0 } else { uniform(0.0, 0.01, random) };
    let planes: Vec<([f64; 3], [[f64; 3]; 3])> =
        (0..integer(1, 5, random)).map(|_| (in_unit_cube(random), axes(random))).collect();
    let mut point = || {
        let (center, [u, v, normal]) = planes[random.below(planes.len())];
        let [x, y, z] = in_unit_cube(random);
        let along = plus(times(x, u), times(y, v));
        plus(center, plus(along, times(thickness * z, normal)))
    };
    (0..n).map(|_| point()).collect()
}

/// On the unit sphere.
pub(super) fn on_sphere(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    (0..n).map(|_| direction(random)).collect()
}

/// On one to four closed curves with centres in the unit cube.
pub(super) fn on_curves(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let curves: Vec<Curve> = (0..integer(1, 4, random)).map(|_| Curve::draw(random)).collect();
    (0..n).map(|_| curves[random.below(curves.len())].point(TAU * random.uniform())).collect()
}

/// A closed curve: a sum of three harmonics; the second is half as large as the first, the third a third.
struct Curve {
    center: [f64; 3],
    /// Vectors along the cosine and the sine of each harmonic.
    harmonics: [[[f64; 3]; 2]; 3],
}

impl Curve {
    fn draw(random: &mut Random) -> Self {
        let center = in_unit_cube(random);
        let harmonics =
            [1.0, 2.0, 3.0].map(|order| [(); 2].map(|()| times(1.0 / order, gaussian_vector(random))));
        Self { center, harmonics }
    }

    fn point(&self, angle: f64) -> [f64; 3] {
        let mut point = self.center;
        for (order, [along_cosine, along_sine]) in (1..).zip(&self.harmonics) {
            let (sine, cosine) = libm::sincos(f64::from(order) * angle);
            point = plus(point, plus(times(cosine, *along_cosine), times(sine, *along_sine)));
        }
        point
    }
}

/// A ball of radius 0.3 to 1 with 20 % to 80 % of the points, in front of a plane with side 20.
pub(super) fn object_and_plane(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let (share, radius) = (uniform(0.2, 0.8, random), uniform(0.3, 1.0, random));
    let mut point = || {
        if random.uniform() < share {
            times(radius, in_unit_ball(random))
        } else {
            let [x, y, _] = in_unit_cube(random);
            [20.0 * x, 20.0 * y, -1.0]
        }
    };
    (0..n).map(|_| point()).collect()
}

/// A unit ball with 10 % to 60 % of the points, and a ball that is 10 to 100 times larger with the others.
pub(super) fn core_and_halo(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let (share, radius) = (uniform(0.1, 0.6, random), log_uniform(10.0, 100.0, random));
    let mut point = || {
        let point = in_unit_ball(random);
        if random.uniform() < share { point } else { times(radius, point) }
    };
    (0..n).map(|_| point()).collect()
}

/// On a lattice of spacing 1 with 6 to 30 points along each of two axes, and 1 to 30 along the third.
pub(super) fn on_lattice(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let side = integer(6, 30, random);
    let height = if integer(0, 2, random) == 0 { integer(1, 5, random) } else { side };
    let mut point = || [side, side, height].map(|count| random.below(count) as f64);
    (0..n).map(|_| point()).collect()
}

/// Three orthonormal axes in any orientation.
fn axes(random: &mut Random) -> [[f64; 3]; 3] {
    let normal = direction(random);
    let u = unit(cross(normal, direction(random)));
    [u, cross(normal, u), normal]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::vector::{dot, minus, norm};

    fn each(cloud: Cloud, check: impl Fn(&[[f64; 3]])) {
        for seed in 0..20 {
            let points = cloud(500, &mut Random::new(seed));
            assert_eq!(points.len(), 500);
            check(&points);
        }
    }

    #[test]
    fn surfaces_have_no_inside() {
        each(on_sphere, |points| assert!(points.iter().all(|&p| (norm(p) - 1.0).abs() < 1e-12)));
        each(on_lattice, |points| assert!(points.iter().flatten().all(|x| x.fract() == 0.0)));
    }

    #[test]
    fn planes_hold_many_points_each() {
        each(on_planes, |points| {
            let near = |point: [f64; 3], normal: [f64; 3]| {
                points.iter().filter(|&&p| dot(minus(p, point), normal).abs() < 0.011).count()
            };
            // With at most five planes, a triplet of points lies on one plane often enough.
            let best = (0..200)
                .filter_map(|i| points.get(i..i + 3))
                .filter_map(|p| {
                    let normal = cross(minus(p[1], p[0]), minus(p[2], p[0]));
                    (norm(normal) > 0.05).then(|| near(p[0], unit(normal)))
                })
                .max();
            assert!(best.is_some_and(|best| best > 60), "{best:?}");
        });
    }

    #[test]
    fn density_around_a_sensor_falls_with_the_square() {
        each(around_sensor, |points| {
            let farthest = points.iter().map(|&p| norm(p)).fold(0.0, f64::max);
            let inner = points.iter().filter(|&&p| norm(p) < farthest / 2.0).count();
            // Half of the points lie within half of the range; a uniform density has an eighth there.
            assert!((190..310).contains(&inner), "{inner}");
        });
    }

    #[test]
    fn cores_are_dense() {
        each(core_and_halo, |points| {
            let inside = points.iter().filter(|&&p| norm(p) <= 1.0).count();
            assert!((25..350).contains(&inside), "{inside}");
            assert!(points.iter().any(|&p| norm(p) > 8.0));
        });
        each(object_and_plane, |points| {
            let on_plane = points.iter().filter(|p| p[2] == -1.0).count();
            assert!((60..440).contains(&on_plane), "{on_plane}");
            assert!(points.iter().filter(|p| p[2] != -1.0).all(|&p| norm(p) <= 1.0));
        });
    }

    #[test]
    fn curves_are_thin() {
        // Neighbours on a curve of 500 points are far nearer than 500 points in a ball would be.
        each(on_curves, |points| {
            let nearest = |p: [f64; 3]| {
                let others = points.iter().map(|&q| norm(minus(p, q))).filter(|&d| d > 0.0);
                others.fold(f64::INFINITY, f64::min)
            };
            let mut distances: Vec<f64> = points.iter().map(|&p| nearest(p)).collect();
            distances.sort_by(f64::total_cmp);
            let extent = points.iter().map(|&p| norm(minus(p, points[0]))).fold(0.0, f64::max);
            assert!(distances[250] < 0.02 * extent, "{} {extent}", distances[250]);
        });
    }
}
