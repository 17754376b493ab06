//! Neighbourhoods: for each point of a cloud, the other points within a radius.

use rayon::prelude::*;

use crate::tree::{KdTree, Neighborhoods};

/// Number of points of one task.
const CHUNK: usize = 256;

/// For each point of a cloud, the other points within a radius.
#[derive(Debug, Clone, Default)]
pub struct Neighbors {
    /// Neighbours of `CHUNK` points each, in the order of the tree's leaves. The parts are not joined, because copying them would cost as much as
    /// writing them.
    parts: Vec<Part>,
    /// Place of each point in the order of the tree's leaves.
    places: Vec<u32>,
}

/// Neighbours of some points.
#[derive(Debug, Clone)]
struct Part {
    /// Start of the neighbours of each point, and the end of the last.
    starts: Vec<usize>,
    indices: Vec<u32>,
    distances_sq: Vec<f32>,
}

impl Neighbors {
    /// Finds the neighbours of each of the `points` within `radius`, without the point itself. `tree` is the tree of these points.
    pub fn within(tree: &KdTree, points: &[[f64; 3]], radius: f64) -> Self {
        debug_assert_eq!(tree.len(), points.len());
        let order = tree.order();
        let search = |(indices, all_distances_sq): &mut (Vec<u32>, Vec<f32>), chunk: usize| {
            let places: Vec<usize> = (chunk * CHUNK..order.len().min((chunk + 1) * CHUNK)).collect();
            let mut starts = Vec::with_capacity(places.len() + 1);
            starts.push(0);
            indices.clear();
            all_distances_sq.clear();
            Neighborhoods::new(tree).for_each(&places, radius, |_, near, distances_sq| {
                indices.extend(near.iter().map(|&place| order[place as usize]));
                all_distances_sq.extend_from_slice(distances_sq);
                starts.push(indices.len());
            });
            // Copied to lists of the right size: memory that is reserved but not used is expensive when it is used later.
            Part { starts, indices: indices.clone(), distances_sq: all_distances_sq.clone() }
        };
        let chunks = (0..order.len().div_ceil(CHUNK)).into_par_iter();
        let parts = chunks.map_init(Default::default, search).collect();
        let mut places = vec![0; order.len()];
        (0..).zip(order).for_each(|(place, &index)| places[index as usize] = place);
        Self { parts, places }
    }

    /// Neighbours of point `i`: indices and squared distances.
    pub fn of(&self, i: usize) -> impl Iterator<Item = (usize, f32)> + Clone + '_ {
        let (indices, distances_sq) = self.lists(i);
        indices.iter().map(|&j| j as usize).zip(distances_sq.iter().copied())
    }

    /// Neighbours of point `i` as two lists.
    pub(crate) fn lists(&self, i: usize) -> (&[u32], &[f32]) {
        let place = self.places[i] as usize;
        let Part { starts, indices, distances_sq } = &self.parts[place / CHUNK];
        let range = starts[place % CHUNK]..starts[place % CHUNK + 1];
        (&indices[range.clone()], &distances_sq[range])
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_a_grid_are_known() {
        // More points than one task takes.
        let points: Vec<[f64; 3]> = (0..900).map(|k| [f64::from(k % 30), f64::from(k / 30), 0.0]).collect();
        let neighbors = Neighbors::within(&KdTree::new(&points), &points, 1.1);
        assert_eq!(neighbors.len(), 900);
        for i in 0..900 {
            let (x, y) = (i % 30, i / 30);
            let expected = [x > 0, x < 29, y > 0, y < 29].into_iter().filter(|inside| *inside).count();
            assert_eq!(neighbors.of(i).count(), expected);
            assert!(neighbors.of(i).all(|(j, d_sq)| d_sq == 1.0 && j != i));
        }
        assert!(Neighbors::default().is_empty());
    }
}
