//! A small generated cloud on which normals and descriptors are compared with those of Open3D: a ball with dents, so that the curvature
//! differs everywhere. It uses sums, products and roots only, and has the same bits on every machine.

use pcr99::random::Random;
use pcr99_cloud::{
    fpfh::{Descriptor, Fpfh},
    neighbors::Neighbors,
    normals,
    tree::KdTree,
};

/// Number of points.
pub const COUNT: usize = 2000;
/// Radius of normals: about 40 neighbours, and nowhere so few that `normals` would look beyond it, which Open3D does not.
pub const NORMAL_RADIUS: f64 = 0.3;
/// Radius of descriptors: about 110 neighbours.
pub const FEATURE_RADIUS: f64 = 0.5;

/// The cloud with its normals and descriptors.
pub struct DentedBall {
    /// `r(u)·u` for unit vectors `u` of all directions.
    pub points: Vec<[f64; 3]>,
    /// Outward normals.
    pub normals: Vec<[f64; 3]>,
    /// Signed descriptors.
    pub descriptors: Vec<Descriptor>,
}

impl DentedBall {
    /// Points, normals and descriptors.
    pub fn new() -> Self {
        let mut random = Random::new(33);
        let points: Vec<[f64; 3]> = (0..COUNT).map(|_| point(&mut random)).collect();
        let tree = KdTree::new(&points);
        let mut normals = normals::estimate(&points, &tree, NORMAL_RADIUS);
        // Every ray from the centre leaves the ball once.
        for (normal, point) in normals.iter_mut().zip(&points) {
            if (0..3).map(|k| normal[k] * point[k]).sum::<f64>() < 0.0 {
                *normal = normal.map(|x| -x);
            }
        }
        let neighbors = Neighbors::within(&tree, &points, FEATURE_RADIUS);
        let fpfh = Fpfh::of(&points, &normals, &neighbors, FEATURE_RADIUS);
        assert_eq!(fpfh.points.len(), COUNT, "every point has a descriptor");
        Self { points, normals, descriptors: fpfh.signed }
    }
}

/// A direction `u`, at `r = 1 + 0.5·xy + 0.4·z³ − 0.4·x²z + 0.3·xyz`.
fn point(random: &mut Random) -> [f64; 3] {
    let direction: [f64; 3] = std::array::from_fn(|_| random.gaussian());
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [x, y, z] = direction.map(|x| x / length);
    let radius = 1.0 + 0.5 * x * y + 0.4 * z * z * z - 0.4 * x * x * z + 0.3 * x * y * z;
    [x, y, z].map(|x| radius * x)
}
