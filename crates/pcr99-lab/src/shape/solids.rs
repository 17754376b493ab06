//! Surfaces that are sampled by a closed formula.

use pcr99::random::Random;

use crate::draw::direction;

/// Point, uniform on the surface of the cube `[−1, 1]³`: one of six equal faces, then a point of it.
pub(super) fn on_cube(random: &mut Random) -> [f64; 3] {
    let face = random.below(6);
    let mut point = std::array::from_fn(|_| 2.0 * random.uniform() - 1.0);
    point[face / 2] = if face.is_multiple_of(2) { 1.0 } else { -1.0 };
    point
}

/// Point, uniform on the unit sphere.
pub(super) fn on_sphere(random: &mut Random) -> [f64; 3] {
    direction(random)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::vector::norm;

    #[test]
    fn cube_points_lie_on_the_six_faces_evenly() {
        let mut random = Random::new(1);
        let mut faces = [0_u32; 6];
        for _ in 0..6000 {
            let point = on_cube(&mut random);
            let axis = point.iter().position(|x| x.abs() == 1.0).unwrap();
            assert!(point.iter().all(|x| x.abs() <= 1.0));
            faces[2 * axis + usize::from(point[axis] < 0.0)] += 1;
        }
        assert!(faces.iter().all(|count| count.abs_diff(1000) < 150), "{faces:?}");
    }

    /// Archimedes: equal slabs of a sphere have equal areas, so each coordinate is uniform.
    #[test]
    fn sphere_points_lie_on_the_sphere_evenly() {
        let mut random = Random::new(2);
        let mut slabs = [[0_u32; 10]; 3];
        for _ in 0..10_000 {
            let point = on_sphere(&mut random);
            assert!((norm(point) - 1.0).abs() < 1e-12);
            for axis in 0..3 {
                slabs[axis][((point[axis] + 1.0) * 5.0).min(9.0) as usize] += 1;
            }
        }
        assert!(slabs.iter().flatten().all(|count| count.abs_diff(1000) < 150), "{slabs:?}");
    }
}
