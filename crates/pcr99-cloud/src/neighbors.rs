//! Who is near whom: for each point of a cloud the others within a radius.

use rayon::prelude::*;

use crate::tree::KdTree;

/// Points of one task.
const CHUNK: usize = 256;

/// For each point the others within a radius, in one list.
#[derive(Debug, Clone, Default)]
pub struct Neighbors {
    starts: Vec<usize>,
    indices: Vec<u32>,
    distances_sq: Vec<f32>,
}

impl Neighbors {
    /// The neighbours of each of the `points`, of which `tree` was made, within `radius`; the point itself is none of them.
    pub fn within(tree: &KdTree, points: &[[f64; 3]], radius: f64) -> Self {
        let search = |(number, chunk): (usize, &[[f64; 3]])| {
            let mut part = Self::default();
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
        let parts: Vec<Self> = points.par_chunks(CHUNK).enumerate().map(search).collect();
        let mut all = Self { starts: vec![0], ..Self::default() };
        for part in &parts {
            let before = all.indices.len();
            all.starts.extend(part.starts.iter().map(|end| before + end));
            all.indices.extend_from_slice(&part.indices);
            all.distances_sq.extend_from_slice(&part.distances_sq);
        }
        all
    }

    /// The neighbours of point `i`: indices and squared distances.
    pub fn of(&self, i: usize) -> impl Iterator<Item = (usize, f32)> + Clone + '_ {
        let range = self.starts[i]..self.starts[i + 1];
        self.indices[range.clone()].iter().map(|&j| j as usize).zip(self.distances_sq[range].iter().copied())
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
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
