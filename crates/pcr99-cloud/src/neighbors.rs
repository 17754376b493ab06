//! Neighbourhoods: for each point of a cloud, the other points within a radius.

use rayon::prelude::*;

use crate::tree::KdTree;

/// Number of points of one task.
const CHUNK: usize = 256;

/// For each point of a cloud, the other points within a radius.
#[derive(Debug, Clone, Default)]
pub struct Neighbors {
    /// Neighbours of `CHUNK` points each. The parts are not joined, because copying them would cost as much as writing them.
    parts: Vec<Part>,
    points: usize,
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
        let search = |(number, chunk): (usize, &[[f64; 3]])| {
            let mut part = Part { starts: vec![0], indices: Vec::new(), distances_sq: Vec::new() };
            for (k, &point) in chunk.iter().enumerate() {
                let own = number * CHUNK + k;
                tree.for_each_within(point, radius, |found| {
                    if found.index != own {
                        part.indices.push(found.index as u32);
                        part.distances_sq.push(found.distance_sq as f32);
                    }
                });
                part.starts.push(part.indices.len());
            }
            part
        };
        let parts = points.par_chunks(CHUNK).enumerate().map(search).collect();
        Self { parts, points: points.len() }
    }

    /// Neighbours of point `i`: indices and squared distances.
    pub fn of(&self, i: usize) -> impl Iterator<Item = (usize, f32)> + Clone + '_ {
        let (indices, distances_sq) = self.lists(i);
        indices.iter().map(|&j| j as usize).zip(distances_sq.iter().copied())
    }

    /// Neighbours of point `i` as two lists.
    pub(crate) fn lists(&self, i: usize) -> (&[u32], &[f32]) {
        let Part { starts, indices, distances_sq } = &self.parts[i / CHUNK];
        let range = starts[i % CHUNK]..starts[i % CHUNK + 1];
        (&indices[range.clone()], &distances_sq[range])
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.points
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
