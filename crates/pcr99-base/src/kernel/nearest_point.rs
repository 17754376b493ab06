//! Nearest point in a k-d tree.

use super::within::{Bounds, LEAF, gap_sq};
use crate::dispatch::compiled_twice;

/// A node of a tree.
#[derive(Debug, Clone, Copy, Default)]
pub struct Node {
    /// Coordinate of the plane between the children; unused in a leaf.
    pub split: f64,
    /// Axis of the split, 0 to 2; 3 for a leaf.
    pub axis: u32,
    /// Index of the upper child; the lower child is the next node. In a leaf: number of points, at most [`LEAF`].
    pub upper: u32,
    /// Place of the first point of a leaf; unused elsewhere.
    pub start: u32,
}

/// A tree.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    /// Nodes; the first is the root. There are at most [`DEEPEST`] between it and a leaf.
    pub nodes: &'a [Node],
    /// Bounding box of the points of each node.
    pub boxes: &'a [Bounds],
    /// Coordinates of the points in the order of the leaves, padded with [`LEAF`] numbers.
    pub columns: [&'a [f64]; 3],
    /// Indices of the points, ascending in each leaf.
    pub ids: &'a [u32],
}

/// A point that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// Index in the list that the tree was built from.
    pub index: usize,
    /// Squared distance from the query.
    pub distance_sq: f64,
}

/// Largest number of nodes between the root and a leaf: a tree halves its fewer than 2³² points.
pub const DEEPEST: usize = 32;

/// The nearest point, and how far all others are at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alone {
    /// The nearest point; of equally near ones the one with the lowest index. Its index is `usize::MAX` when there is none.
    pub nearest: Neighbor,
    /// Every other point is at least this far away: squared distance.
    pub others_sq: f64,
}

compiled_twice! {
    /// The point nearest to `query` within `radius`; the lowest index of equally near ones.
    pub fn nearest_point(tree: &Tree<'_>, query: [f64; 3], radius: f64) -> Option<Neighbor> = nearest_point_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn nearest_point_lanes(tree: &Tree<'_>, query: [f64; 3], radius: f64) -> Option<Neighbor> {
    let mut best = Neighbor { index: usize::MAX, distance_sq: radius * radius };
    search(tree, query, radius * radius, |leaf| {
        if leaf.least <= best.distance_sq {
            best = leaf.nearest().min(best);
        }
        best.distance_sq
    });
    (best.index != usize::MAX).then_some(best)
}

compiled_twice! {
    /// The point nearest to `query` within `radius`, and how far the others are, as far as they are within `radius` and not more than `margin` farther than the
    /// nearest.
    pub fn nearest_point_alone(tree: &Tree<'_>, query: [f64; 3], radius: f64, margin: f64) -> Alone = nearest_point_alone_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn nearest_point_alone_lanes(tree: &Tree<'_>, query: [f64; 3], radius: f64, margin: f64) -> Alone {
    let mut nearest = Neighbor { index: usize::MAX, distance_sq: radius * radius };
    let mut others_sq = radius * radius;
    search(tree, query, radius * radius, |leaf| {
        if leaf.least > nearest.distance_sq {
            others_sq = others_sq.min(leaf.least);
            return others_sq;
        }
        let before = nearest;
        nearest = leaf.nearest().min(before);
        let reach = nearest.distance_sq.sqrt() + margin;
        // Either the nearest point so far or that of the leaf is one of the others now.
        let other = if nearest == before { leaf.least } else { before.distance_sq };
        others_sq = others_sq.min(other).min(leaf.second_least).min(reach * reach);
        others_sq
    });
    Alone { nearest, others_sq }
}

impl Neighbor {
    /// The nearer of two; the one with the lower index of equally near ones.
    #[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        let is_before = self.distance_sq == other.distance_sq && self.index < other.index;
        if self.distance_sq < other.distance_sq || is_before { self } else { other }
    }
}

/// A leaf, as seen from a query.
struct Leaf<'a> {
    ids: &'a [u32],
    /// Squared distances of the points, then infinity.
    squares: [f64; LEAF],
    least: f64,
    second_least: f64,
}

impl Leaf<'_> {
    /// The nearest point; indices ascend in a leaf, so it is the first of equally near ones.
    #[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
    #[inline(always)]
    fn nearest(&self) -> Neighbor {
        let mut place = 0;
        for k in (0..LEAF).rev() {
            place = if self.squares[k] == self.least { k } else { place };
        }
        Neighbor { index: self.ids[place] as usize, distance_sq: self.least }
    }
}

/// Calls `found` with all leaves that have points within a limit. The limit is what `found` returned last, and must not grow.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn search(tree: &Tree<'_>, query: [f64; 3], mut limit_sq: f64, mut found: impl FnMut(&Leaf<'_>) -> f64) {
    // Nodes that remain to be searched, and the squared distance of the query from the plane before them.
    let mut rest = [(0_u32, 0.0_f64); DEEPEST + 1];
    let mut count = usize::from(!tree.nodes.is_empty());
    while count > 0 {
        count -= 1;
        let (mut node, plane_sq) = rest[count];
        if plane_sq > limit_sq || gap_sq(&[query; 2], &tree.boxes[node as usize]) > limit_sq {
            continue;
        }
        loop {
            let Node { split, axis, upper, start } = tree.nodes[node as usize];
            if axis == 3 {
                let (start, count) = (start as usize, upper as usize);
                let squares = squared_distances(tree, start, count, query);
                let [least, second_least] = two_least(squares);
                if least <= limit_sq {
                    let ids = &tree.ids[start..start + count];
                    limit_sq = found(&Leaf { ids, squares, least, second_least });
                }
                break;
            }
            let offset = query[axis as usize] - split;
            let (near, far) = if offset < 0.0 { (node + 1, upper) } else { (upper, node + 1) };
            rest[count] = (far, offset * offset);
            count += 1;
            node = near;
        }
    }
}

/// Squared distances of the points of a leaf, then infinity.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn squared_distances(tree: &Tree<'_>, start: usize, count: usize, query: [f64; 3]) -> [f64; LEAF] {
    let [x, y, z] = tree.columns.map(|column| &column[start..start + LEAF]);
    let mut squares = [0.0; LEAF];
    for k in 0..LEAF {
        let (dx, dy, dz) = (x[k] - query[0], y[k] - query[1], z[k] - query[2]);
        let square = dx * dx + dy * dy + dz * dz;
        squares[k] = if k < count { square } else { f64::INFINITY };
    }
    squares
}

/// The two least of some numbers. By halves, which vectorises.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn two_least(mut first: [f64; LEAF]) -> [f64; 2] {
    // Not `f64::min`, which takes three instructions for the sake of NaN.
    let min = |x: f64, y: f64| if x < y { x } else { y };
    let max = |x: f64, y: f64| if x < y { y } else { x };
    let mut second = [f64::INFINITY; LEAF];
    let mut half = LEAF / 2;
    while half > 0 {
        for k in 0..half {
            let (x, y) = (first[k], first[k + half]);
            second[k] = min(max(x, y), min(second[k], second[k + half]));
            first[k] = min(x, y);
        }
        half /= 2;
    }
    [first[0], second[0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{random::Random, vector::distance_sq};
    use proptest::prelude::*;

    /// A tree with one split along x: a leaf of `lower` points and a leaf of the others.
    fn nodes_and_boxes(points: &[[f64; 3]], lower: usize) -> (Vec<Node>, Vec<Bounds>) {
        let bounds = |part: &[[f64; 3]]| {
            let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
            for point in part {
                bounds[0] = std::array::from_fn(|axis| bounds[0][axis].min(point[axis]));
                bounds[1] = std::array::from_fn(|axis| bounds[1][axis].max(point[axis]));
            }
            bounds
        };
        let leaf = |start: usize, count: usize| Node {
            split: 0.0,
            axis: 3,
            upper: count as u32,
            start: start as u32,
        };
        let root = Node { split: points[lower][0], axis: 0, upper: 2, start: 0 };
        let nodes = vec![root, leaf(0, lower), leaf(lower, points.len() - lower)];
        (nodes, vec![bounds(points), bounds(&points[..lower]), bounds(&points[lower..])])
    }

    proptest! {
        /// Coordinates on a coarse grid, so that there are ties.
        #[test]
        fn both_compilations_equal_a_comparison_with_all(n in 2_usize..=2 * LEAF, seed in any::<u64>(), radius in 0.0..4.0_f64, margin in 0.0..1.0_f64) {
            let mut random = Random::new(seed);
            let mut points: Vec<[f64; 3]> = (0..n).map(|_| std::array::from_fn(|_| random.below(6) as f64)).collect();
            points.sort_by(|a, b| a[0].total_cmp(&b[0]));
            let (nodes, boxes) = nodes_and_boxes(&points, n / 2);
            let column = |axis: usize| -> Vec<f64> { points.iter().map(|p| p[axis]).chain([0.0; LEAF]).collect() };
            let columns = [column(0), column(1), column(2)];
            // The indices of the second leaf are lower than those of the first.
            let (lower, upper) = ((n / 2) as u32, (n - n / 2) as u32);
            let ids: Vec<u32> = (upper..upper + lower).chain(0..upper).collect();
            let tree = Tree { nodes: &nodes, boxes: &boxes, columns: columns.each_ref().map(Vec::as_slice), ids: &ids };
            for _ in 0..10 {
                let query: [f64; 3] = std::array::from_fn(|_| 0.5 * random.below(14) as f64 - 0.5);
                let all = points.iter().zip(&ids).map(|(&p, &id)| Neighbor { index: id as usize, distance_sq: distance_sq(p, query) });
                let before = |a: &Neighbor, b: &Neighbor| a.distance_sq.total_cmp(&b.distance_sq).then(a.index.cmp(&b.index));
                let expected = all.clone().filter(|near| near.distance_sq <= radius * radius).min_by(before);
                prop_assert_eq!(nearest_point(&tree, query, radius), expected);
                prop_assert_eq!(nearest_point_lanes(&tree, query, radius), expected);
                let alone = nearest_point_alone(&tree, query, radius, margin);
                prop_assert_eq!(alone, nearest_point_alone_lanes(&tree, query, radius, margin));
                prop_assert_eq!(expected.map_or(usize::MAX, |near| near.index), alone.nearest.index);
                let others = all.filter(|near| near.index != alone.nearest.index).map(|near| near.distance_sq);
                let reach = expected.map_or(radius, |near| radius.min(near.distance_sq.sqrt() + margin));
                prop_assert_eq!(alone.others_sq, others.fold(reach * reach, f64::min));
            }
        }
    }

    #[test]
    fn an_empty_tree_has_no_nearest_point() {
        let padding = [0.0; LEAF];
        let tree = Tree { nodes: &[], boxes: &[], columns: [&padding; 3], ids: &[] };
        assert_eq!(nearest_point(&tree, [0.0; 3], 1.0), None);
        assert_eq!(nearest_point_alone(&tree, [0.0; 3], 1.0, 0.5).others_sq, 1.0);
    }
}
