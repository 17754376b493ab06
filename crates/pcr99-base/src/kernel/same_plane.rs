//! Number of points on the tangent plane of a point.

use crate::dispatch::compiled_twice;

/// Points with their normals; x, y and z are apart.
#[derive(Debug, Clone, Default)]
pub struct Surface {
    /// Positions.
    pub points: [Vec<f64>; 3],
    /// Unit normals, or zeros.
    pub normals: [Vec<f64>; 3],
}

impl Surface {
    /// Some points and their normals.
    pub fn of(pairs: impl Iterator<Item = ([f64; 3], [f64; 3])>) -> Self {
        let mut surface = Self::default();
        for (point, normal) in pairs {
            for axis in 0..3 {
                surface.points[axis].push(point[axis]);
                surface.normals[axis].push(normal[axis]);
            }
        }
        surface
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.points[0].len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Conditions for a point to be on a plane.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The cosine between the normals is above this, whatever their signs.
    pub cosine: f64,
    /// The distance from the plane is below this.
    pub distance: f64,
}

compiled_twice! {
    /// Number of points of `surface` that are on the plane through `point` with this `normal`.
    pub fn count_on_plane(surface: &Surface, point: [f64; 3], normal: [f64; 3], limits: Limits) -> usize = count_on_plane_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn count_on_plane_lanes(surface: &Surface, point: [f64; 3], normal: [f64; 3], limits: Limits) -> usize {
    let n = surface.len();
    let [px, py, pz] = surface.points.each_ref().map(|column| &column[..n]);
    let [nx, ny, nz] = surface.normals.each_ref().map(|column| &column[..n]);
    let mut count = 0_u64;
    for k in 0..n {
        let cosine = nx[k] * normal[0] + ny[k] * normal[1] + nz[k] * normal[2];
        let [dx, dy, dz] = [px[k] - point[0], py[k] - point[1], pz[k] - point[2]];
        let height = normal[0] * dx + normal[1] * dy + normal[2] * dz;
        count += u64::from((cosine.abs() > limits.cosine) & (height.abs() < limits.distance));
    }
    count as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        random::Random,
        vector::{dot, minus, unit},
    };

    #[test]
    fn both_compilations_equal_the_definition() {
        let mut random = Random::new(4);
        for n in 0..70 {
            let mut place = || -> [f64; 3] { std::array::from_fn(|_| random.gaussian()) };
            let pairs: Vec<([f64; 3], [f64; 3])> = (0..n).map(|_| (place(), unit(place()))).collect();
            let (point, normal) = (place(), unit(place()));
            let limits = Limits { cosine: 0.5, distance: 0.8 };
            let is_on = |(p, m): &&([f64; 3], [f64; 3])| {
                dot(*m, normal).abs() > limits.cosine && dot(normal, minus(*p, point)).abs() < limits.distance
            };
            let expected = pairs.iter().filter(is_on).count();
            let surface = Surface::of(pairs.iter().copied());
            assert_eq!(surface.is_empty(), n == 0);
            assert_eq!(count_on_plane(&surface, point, normal, limits), expected);
            assert_eq!(count_on_plane_lanes(&surface, point, normal, limits), expected);
        }
    }
}
