//! Nearest points that are known from the step before.
//!
//! Between two steps a point moves little, and mostly its nearest neighbour stays the same. That is certain when the neighbour is nearer than any other point can
//! be, by the distance of the other points at the last search and the way since then.

use pcr99_base::{kernel::nearest_point::Alone, vector::distance_sq};

use crate::tree::{KdTree, Neighbor};

/// How much farther than the nearest point a search looks, in voxels. With more, searches take longer; with less, there are more of them. Times differ little from
/// 0.25 to 1.
const MARGIN: f64 = 0.25;
/// Bounds are made narrower by this fraction, far more than the rounding errors of distances.
const ROUNDING: f64 = 1e-9;

/// The last search of one point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Where the point was.
    at: [f64; 3],
    /// The nearest point; `usize::MAX` for none.
    nearest: usize,
    /// Every other point is at least this far from there.
    others: f64,
}

impl Known {
    /// Nothing is known.
    pub(super) const NOTHING: Self = Self { at: [0.0; 3], nearest: usize::MAX, others: 0.0 };

    /// The point nearest to `query` within `radius`, as [`KdTree::nearest`]; `points` are those of the tree, and `voxel` is their distance.
    pub(super) fn nearest(
        &mut self,
        tree: &KdTree,
        points: &[[f64; 3]],
        query: [f64; 3],
        radius: f64,
        voxel: f64,
    ) -> Option<Neighbor> {
        let others = self.others * (1.0 - ROUNDING) - distance_sq(query, self.at).sqrt();
        if let Some(&point) = points.get(self.nearest) {
            let near = Neighbor { index: self.nearest, distance_sq: distance_sq(point, query) };
            if near.distance_sq.sqrt() < others {
                return Some(near).filter(|near| near.distance_sq <= radius * radius);
            }
        } else if radius < others {
            return None;
        }
        let Alone { nearest, others_sq } = tree.nearest_alone(query, radius + MARGIN * voxel, MARGIN * voxel);
        *self = Self { at: query, nearest: nearest.index, others: others_sq.sqrt() };
        Some(nearest).filter(|near| near.index != usize::MAX && near.distance_sq <= radius * radius)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;

    #[test]
    fn what_is_known_is_what_a_search_finds() {
        let mut random = Random::new(9);
        let mut place = |size: f64| -> [f64; 3] { std::array::from_fn(|_| size * random.uniform()) };
        // A grid, so that there are ties.
        let points: Vec<[f64; 3]> = (0..512).map(|k| [k % 8, k / 8 % 8, k / 64].map(f64::from)).collect();
        let tree = KdTree::new(&points);
        let (mut known_before, mut all) = (0, 0);
        for _ in 0..300 {
            let (mut query, mut known) = (place(9.0), Known::NOTHING);
            if query[0] < 3.0 {
                query = query.map(f64::round);
            }
            for step in 0..12 {
                let radius = [2.0, 0.7, 0.3][step % 3];
                let before = known.at;
                assert_eq!(known.nearest(&tree, &points, query, radius, 1.0), tree.nearest(query, radius));
                all += 1;
                known_before += usize::from(step > 0 && known.at == before);
                let by = place(0.3 / f64::powi(2.0, step as i32));
                query = std::array::from_fn(|axis| query[axis] + by[axis]);
            }
        }
        assert!(known_before > all / 2, "{known_before} of {all}");
    }
}
