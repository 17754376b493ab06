//! Normals by principal component analysis: the direction in which the neighbourhood of a point extends least.

use std::ops::Range;

use rayon::prelude::*;

use pcr99_base::{
    kernel::least_directions::{BATCH, Moments, least_directions},
    vector::{distance_sq, minus},
};

use crate::tree::{KdTree, Neighborhoods};

/// Number of points of one task.
const CHUNK: usize = 256;
/// Smallest number of neighbours within the radius. With fewer, the nearest points beyond the radius are used instead.
const FEW: usize = 5;
/// Number of nearest points used then.
const HELPERS: usize = 8;
/// Largest distance of these points, in radii.
const REACH: f64 = 2.5;

/// Estimates the normals of `points`: unit vectors of arbitrary sign, zero where the neighbours do not determine a plane.
///
/// The neighbourhood has this `radius`; `tree` is the tree of the points.
pub fn estimate(points: &[[f64; 3]], tree: &KdTree, radius: f64) -> Vec<[f64; 3]> {
    debug_assert_eq!(tree.len(), points.len());
    let order = tree.order();
    let estimate =
        |chunk: usize| estimate_range(tree, chunk * CHUNK..order.len().min((chunk + 1) * CHUNK), radius);
    let chunks = order.len().div_ceil(CHUNK);
    let parts: Vec<Vec<[f64; 3]>> = (0..chunks).into_par_iter().map(estimate).collect();
    let mut normals = vec![[0.0; 3]; order.len()];
    for (&index, normal) in order.iter().zip(parts.into_iter().flatten()) {
        normals[index as usize] = normal;
    }
    normals
}

/// Estimates the normal of the point at this place in the order of the tree's leaves: the same as [`estimate`] does.
pub(crate) fn estimate_one(tree: &KdTree, place: usize, radius: f64) -> [f64; 3] {
    let point = tree.point_at(place);
    let mut moments = PointMoments::new(point);
    tree.for_each_place_within(point, radius, |near, _| {
        if near != place {
            moments.add(tree.point_at(near));
        }
    });
    if moments.count < (FEW + 1) as f64 {
        moments = PointMoments::new(point);
        nearest_several(&mut Neighborhoods::new(tree), tree, place, radius)
            .for_each(|point| moments.add(point));
    }
    let mut batch = Batch::new(1);
    batch.push(&moments);
    batch.into_normals()[0]
}

/// Estimates the normals of the points at these places in the order of the tree's leaves.
fn estimate_range(tree: &KdTree, places: Range<usize>, radius: f64) -> Vec<[f64; 3]> {
    let mut batch = Batch::new(places.len());
    let mut wider = Neighborhoods::new(tree);
    let places: Vec<usize> = places.collect();
    Neighborhoods::new(tree).for_each(&places, radius, |place, near, _| {
        let mut moments = PointMoments::new(tree.point_at(place));
        if near.len() < FEW {
            nearest_several(&mut wider, tree, place, radius).for_each(|point| moments.add(point));
        } else {
            near.iter().for_each(|&near| moments.add(tree.point_at(near as usize)));
        }
        batch.push(&moments);
    });
    batch.into_normals()
}

/// The points nearest to the one at this place, without it, nearest first, ties by index.
fn nearest_several(
    wider: &mut Neighborhoods<'_>,
    tree: &KdTree,
    place: usize,
    radius: f64,
) -> impl Iterator<Item = [f64; 3]> {
    let order = tree.order();
    let mut several = vec![(0.0, order[place], place)];
    wider.for_each(&[place], REACH * radius, |_, near, _| {
        let point = tree.point_at(place);
        let neighbor = |&near: &u32| {
            let near = near as usize;
            (distance_sq(tree.point_at(near), point), order[near], near)
        };
        several.extend(near.iter().map(neighbor));
    });
    let before = |a: &(f64, u32, usize), b: &(f64, u32, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if several.len() > HELPERS + 1 {
        several.select_nth_unstable_by(HELPERS, before);
        several.truncate(HELPERS + 1);
    }
    several.sort_unstable_by(before);
    several.into_iter().filter(move |near| near.2 != place).map(|near| tree.point_at(near.2))
}

/// Count, sum and sums of products of some points, relative to one of them.
struct PointMoments {
    origin: [f64; 3],
    count: f64,
    sum: [f64; 3],
    /// Sums of xx, yy, zz, xy, xz and yz.
    products: [f64; 6],
}

impl PointMoments {
    /// Moments of this one point.
    fn new(origin: [f64; 3]) -> Self {
        Self { origin, count: 1.0, sum: [0.0; 3], products: [0.0; 6] }
    }

    fn add(&mut self, point: [f64; 3]) {
        let [x, y, z] = minus(point, self.origin);
        self.count += 1.0;
        self.sum.iter_mut().zip([x, y, z]).for_each(|(sum, x)| *sum += x);
        let products = [x * x, y * y, z * z, x * y, x * z, y * z];
        self.products.iter_mut().zip(products).for_each(|(sum, x)| *sum += x);
    }
}

/// Normals of some neighbourhoods, computed several at a time.
struct Batch {
    moments: Moments,
    filled: usize,
    normals: Vec<[f64; 3]>,
}

impl Batch {
    fn new(size: usize) -> Self {
        Self { moments: Moments::EMPTY, filled: 0, normals: Vec::with_capacity(size) }
    }

    fn push(&mut self, of: &PointMoments) {
        let (to, lane) = (&mut self.moments, self.filled);
        to.count[lane] = of.count;
        to.sum.iter_mut().zip(of.sum).for_each(|(sum, x)| sum[lane] = x);
        to.products.iter_mut().zip(of.products).for_each(|(sum, x)| sum[lane] = x);
        self.filled += 1;
        if self.filled == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let [x, y, z] = least_directions(&self.moments);
        self.normals.extend((0..self.filled).map(|k| [x[k], y[k], z[k]]));
        self.filled = 0;
    }

    fn into_normals(mut self) -> Vec<[f64; 3]> {
        self.flush();
        self.normals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;
    use pcr99_base::vector::dot;

    fn normals_of(points: &[[f64; 3]], radius: f64) -> Vec<[f64; 3]> {
        estimate(points, &KdTree::new(points), radius)
    }

    #[test]
    fn the_normal_of_one_point_is_that_of_all() {
        let mut random = Random::new(2);
        // Dense on one side, with fewer neighbours than are needed on the other.
        let points: Vec<[f64; 3]> = (0..700)
            .map(|k| {
                let spread = if k < 500 { 1.0 } else { 6.0 };
                [spread * random.uniform(), spread * random.uniform(), 0.1 * random.uniform()]
            })
            .collect();
        let tree = KdTree::new(&points);
        let all = estimate(&points, &tree, 0.2);
        for (place, &index) in tree.order().iter().enumerate() {
            assert_eq!(estimate_one(&tree, place, 0.2), all[index as usize]);
        }
        assert!(all.contains(&[0.0; 3]) && all.iter().filter(|n| **n != [0.0; 3]).count() > 500);
    }

    #[test]
    fn normals_of_a_sphere_point_to_its_centre() {
        // Evenly spread by the golden angle: z from −1 to 1 in equal steps.
        let golden = 2.399_963_229_728_653_f64;
        let points: Vec<[f64; 3]> = (0..4000)
            .map(|k| {
                let z = 1.0 - (2.0 * f64::from(k) + 1.0) / 4000.0;
                let (r, angle) = ((1.0 - z * z).sqrt(), golden * f64::from(k));
                [7.0 + r * angle.cos(), r * angle.sin() - 3.0, z]
            })
            .collect();
        for (p, n) in points.iter().zip(normals_of(&points, 0.12)) {
            let outward = minus(*p, [7.0, -3.0, 0.0]);
            // Within one degree.
            assert!(dot(n, outward).abs() > 0.99985, "{p:?} {n:?}");
        }
    }

    #[test]
    fn a_plane_has_one_normal_and_a_line_none() {
        let mut random = Random::new(3);
        let plane: Vec<[f64; 3]> = (0..500)
            .map(|_| {
                let (x, y) = (random.uniform(), random.uniform());
                [x, y, 0.5 * x - 0.25 * y]
            })
            .collect();
        let length = (0.25_f64 + 0.0625 + 1.0).sqrt();
        let truth = [-0.5 / length, 0.25 / length, 1.0 / length];
        assert!(normals_of(&plane, 0.1).iter().all(|n| dot(*n, truth).abs() > 1.0 - 1e-9));
        let line: Vec<[f64; 3]> = (0..50).map(|k| [f64::from(k), 2.0 * f64::from(k), 0.0]).collect();
        assert!(normals_of(&line, 5.0).iter().all(|n| *n == [0.0; 3]));
        assert_eq!(normals_of(&[[1.0; 3]], 1.0), [[0.0; 3]]);
    }
}
