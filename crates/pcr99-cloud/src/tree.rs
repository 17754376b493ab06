//! Static k-d tree: nearest point, points within a radius.
//!
//! The points are stored in the order of the leaves, at most sixteen to a leaf, one array per coordinate. A leaf is then one short loop
//! over adjacent memory. Nodes split at the median of the widest axis. Ties are broken by index, so the tree and its answers do not depend
//! on the number of threads.

pub use pcr99_base::kernel::nearest_point::Neighbor;

use pcr99_base::kernel::{
    nearest_point::{Alone, Node, Tree, nearest_point, nearest_point_alone},
    within::{Ball, Bounds, LEAF, Leaves, gap_sq, within},
};

/// Smallest number of points for which building in a second thread pays off.
const WORTH_A_THREAD: usize = 8192;

/// Static k-d tree of points.
#[derive(Debug, Clone)]
pub struct KdTree {
    nodes: Vec<Node>,
    /// Bounding box of the points of each node.
    boxes: Vec<Bounds>,
    /// Padded with as many zeros as a leaf may have points, so that a leaf can always be read in full.
    coordinates: [Vec<f64>; 3],
    ids: Vec<u32>,
}

/// Number of nodes of a tree of this many points.
fn node_count(points: usize) -> usize {
    if points <= LEAF { 1 } else { 1 + node_count(points / 2) + node_count(points - points / 2) }
}

impl KdTree {
    /// Memory of the tables, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let coordinates: usize = self.coordinates.iter().map(|axis| size_of_val(&**axis)).sum();
        size_of_val(&*self.nodes) + size_of_val(&*self.boxes) + coordinates + size_of_val(&*self.ids)
    }

    /// Builds the tree of `points`, which must be finite and fewer than 2³².
    pub fn new(points: &[[f64; 3]]) -> Self {
        let mut ids: Vec<u32> = (0..points.len() as u32).collect();
        let mut nodes = vec![Node::default(); node_count(points.len())];
        let mut boxes = vec![[[0.0; 3]; 2]; nodes.len()];
        build(points, &mut ids, 0, &mut nodes, &mut boxes, 0);
        let column = |axis: usize| {
            ids.iter().map(|&i| points[i as usize][axis]).chain(std::iter::repeat_n(0.0, LEAF)).collect()
        };
        Self { nodes, boxes, coordinates: std::array::from_fn(column), ids }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Indices of the points in the order of the leaves. Neighbours in this order are mostly neighbours in space.
    pub fn order(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the order of the leaves and renumbers the points in that order.
    pub(crate) fn take_order(&mut self) -> Vec<u32> {
        let in_order = (0..self.ids.len() as u32).collect();
        std::mem::replace(&mut self.ids, in_order)
    }

    /// The point nearest to `query` within `radius`; the lowest index of equally near ones.
    pub fn nearest(&self, query: [f64; 3], radius: f64) -> Option<Neighbor> {
        nearest_point(&self.parts(), query, radius)
    }

    /// The point nearest to `query` within `radius`, and how far the others are, as far as they are within `radius` and not more than `margin` farther than
    /// the nearest.
    pub(crate) fn nearest_alone(&self, query: [f64; 3], radius: f64, margin: f64) -> Alone {
        nearest_point_alone(&self.parts(), query, radius, margin)
    }

    fn parts(&self) -> Tree<'_> {
        let columns = self.coordinates.each_ref().map(Vec::as_slice);
        Tree { nodes: &self.nodes, boxes: &self.boxes, columns, ids: &self.ids }
    }

    /// Calls `found` for each point within `radius` of `query`, in the order of the leaves. A query that is one of the points is included.
    pub fn for_each_within(&self, query: [f64; 3], radius: f64, mut found: impl FnMut(Neighbor)) {
        self.for_each_place_within(query, radius, |place, distance_sq| {
            found(Neighbor { index: self.ids[place] as usize, distance_sq });
        });
    }

    /// Calls `found` with the place and the squared distance of each point within `radius` of `query`, in the order of the leaves.
    pub(crate) fn for_each_place_within(
        &self,
        query: [f64; 3],
        radius: f64,
        mut found: impl FnMut(usize, f64),
    ) {
        if !self.is_empty() {
            self.descend_within(0, query, [0.0; 3], 0.0, radius * radius, &mut found);
        }
    }

    fn descend_within(
        &self,
        node: usize,
        query: [f64; 3],
        beside: [f64; 3],
        beside_sq: f64,
        radius_sq: f64,
        found: &mut impl FnMut(usize, f64),
    ) {
        let Node { split, axis, upper, start } = self.nodes[node];
        if axis == 3 {
            let start = start as usize;
            let (distances, count) = self.leaf_distances(start, upper as usize, query);
            for (k, &distance_sq) in distances[..count].iter().enumerate() {
                if distance_sq <= radius_sq {
                    found(start + k, distance_sq);
                }
            }
            return;
        }
        let axis = axis as usize;
        let offset = query[axis] - split;
        let far_sq = beside_sq - beside[axis] * beside[axis] + offset * offset;
        let reaches_far = far_sq * SAFE <= radius_sq;
        let mut far_beside = beside;
        far_beside[axis] = offset;
        let lower = (node + 1, offset < 0.0);
        for (child, is_near) in [lower, (upper as usize, !lower.1)] {
            if is_near {
                self.descend_within(child, query, beside, beside_sq, radius_sq, found);
            } else if reaches_far {
                self.descend_within(child, query, far_beside, far_sq, radius_sq, found);
            }
        }
    }

    /// Coordinates of the point at this place in the order of the leaves.
    pub(crate) fn point_at(&self, place: usize) -> [f64; 3] {
        self.coordinates.each_ref().map(|column| column[place])
    }

    /// Squared distances from `query` to the points of a leaf, and their number; the entries after them are meaningless.
    #[expect(clippy::inline_always, reason = "it returns sixteen numbers, which belong into registers")]
    #[inline(always)]
    fn leaf_distances(&self, start: usize, count: usize, query: [f64; 3]) -> ([f64; LEAF], usize) {
        let [x, y, z] = self.coordinates.each_ref().map(|column| &column[start..start + LEAF]);
        let distances = std::array::from_fn(|k| {
            let (dx, dy, dz) = (x[k] - query[0], y[k] - query[1], z[k] - query[2]);
            dx * dx + dy * dy + dz * dz
        });
        (distances, count)
    }
}

/// Searches around many points of a tree. Points that follow each other in the order of the leaves are near each other, so that many share one walk through
/// the tree.
#[derive(Debug)]
pub(crate) struct Neighborhoods<'a> {
    tree: &'a KdTree,
    leaves: Leaves,
    near: Vec<u32>,
    distances_sq: Vec<f32>,
}

impl<'a> Neighborhoods<'a> {
    pub(crate) fn new(tree: &'a KdTree) -> Self {
        Self { tree, leaves: Leaves::default(), near: Vec::new(), distances_sq: Vec::new() }
    }

    /// Calls `found` for each of the points at these places in the order of the leaves: with its place, the places of the other points within `radius`, in
    /// the order of the leaves, and their squared distances. The places should be ascending.
    pub(crate) fn for_each(
        &mut self,
        places: &[usize],
        radius: f64,
        mut found: impl FnMut(usize, &[u32], &[f32]),
    ) {
        let columns = self.tree.coordinates.each_ref().map(Vec::as_slice);
        for some in places.chunks(LEAF) {
            let mut bounds = EMPTY;
            some.iter().for_each(|&place| extend(&mut bounds, self.tree.point_at(place)));
            self.leaves.clear();
            self.collect_leaves(0, &bounds, radius * radius);
            let most = self.leaves.points() + LEAF;
            if self.near.len() < most {
                self.near.resize(most, 0);
                self.distances_sq.resize(most, 0.0);
            }
            for &place in some {
                let center = self.tree.point_at(place);
                let ball = Ball { center, radius_sq: radius * radius, without: place as u32 };
                let count = within(columns, &mut self.leaves, &ball, &mut self.near, &mut self.distances_sq);
                found(place, &self.near[..count], &self.distances_sq[..count]);
            }
        }
    }

    /// Collects the leaves within a distance of a box.
    fn collect_leaves(&mut self, node: usize, around: &Bounds, radius_sq: f64) {
        let bounds = &self.tree.boxes[node];
        if gap_sq(around, bounds) > radius_sq {
            return;
        }
        let Node { axis, upper, start, .. } = self.tree.nodes[node];
        if axis == 3 {
            return self.leaves.push(bounds, start, upper);
        }
        self.collect_leaves(node + 1, around, radius_sq);
        self.collect_leaves(upper as usize, around, radius_sq);
    }
}

/// The bounding box of no points.
const EMPTY: Bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];

/// Safety factor of the lower bound: it is computed in another way than the distance, and must not exceed it by rounding.
const SAFE: f64 = 1.0 - 1e-12;

/// Extends a bounding box to hold a point.
fn extend([low, high]: &mut Bounds, point: [f64; 3]) {
    for axis in 0..3 {
        low[axis] = low[axis].min(point[axis]);
        high[axis] = high[axis].max(point[axis]);
    }
}

fn build(
    points: &[[f64; 3]],
    ids: &mut [u32],
    start: usize,
    nodes: &mut [Node],
    boxes: &mut [Bounds],
    node: usize,
) {
    let mut bounds = EMPTY;
    ids.iter().for_each(|&id| extend(&mut bounds, points[id as usize]));
    boxes[0] = bounds;
    if ids.len() <= LEAF {
        nodes[0] = Node { split: 0.0, axis: 3, upper: ids.len() as u32, start: start as u32 };
        ids.sort_unstable();
        return;
    }
    let [low, high] = bounds;
    let widest = (1..3)
        .fold(0, |best, axis| if high[axis] - low[axis] > high[best] - low[best] { axis } else { best });
    let coordinate = |id: u32| points[id as usize][widest];
    let middle = ids.len() / 2;
    let by_coordinate = |a: &u32, b: &u32| coordinate(*a).total_cmp(&coordinate(*b)).then(a.cmp(b));
    let split = coordinate(*ids.select_nth_unstable_by(middle, by_coordinate).1);
    let lower_nodes = node_count(middle);
    let upper = node + 1 + lower_nodes;
    nodes[0] = Node { split, axis: widest as u32, upper: upper as u32, start: 0 };
    let (lower_ids, upper_ids) = ids.split_at_mut(middle);
    let (lower_part, upper_part) = nodes[1..].split_at_mut(lower_nodes);
    let (lower_boxes, upper_boxes) = boxes[1..].split_at_mut(lower_nodes);
    let large = lower_ids.len() >= WORTH_A_THREAD;
    let mut lower = || build(points, lower_ids, start, lower_part, lower_boxes, node + 1);
    let mut upper = || build(points, upper_ids, start + middle, upper_part, upper_boxes, upper);
    if large {
        rayon::join(lower, upper);
    } else {
        lower();
        upper();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;
    use pcr99_base::vector::distance_sq;
    use proptest::prelude::*;

    /// Points on a coarse grid, so that there are ties and duplicates.
    fn points(n: usize, seed: u64) -> Vec<[f64; 3]> {
        let mut random = Random::new(seed);
        (0..n).map(|_| std::array::from_fn(|_| random.below(12) as f64 * 0.25)).collect()
    }

    proptest! {
        #[test]
        fn searches_equal_brute_force(n in 0_usize..400, seed in any::<u64>(), radius in 0.0..2.0_f64) {
            let (cloud, queries) = (points(n, seed), points(10, seed ^ 1));
            let tree = KdTree::new(&cloud);
            for q in queries {
                let mut all: Vec<Neighbor> = (0..n)
                    .map(|index| Neighbor { index, distance_sq: distance_sq(cloud[index], q) })
                    .filter(|p| p.distance_sq <= radius * radius)
                    .collect();
                let mut within = Vec::new();
                tree.for_each_within(q, radius, |p| within.push(p));
                within.sort_by_key(|p| p.index);
                prop_assert_eq!(&within, &all);
                all.sort_by(|a, b| (a.distance_sq, a.index).partial_cmp(&(b.distance_sq, b.index)).expect("finite"));
                prop_assert_eq!(tree.nearest(q, radius), all.first().copied());
                let alone = tree.nearest_alone(q, radius, 0.3);
                match all.first() {
                    Some(first) => prop_assert_eq!(alone.nearest, *first),
                    None => prop_assert_eq!(alone.nearest.index, usize::MAX),
                }
                let others = (0..n).filter(|k| *k != alone.nearest.index).map(|k| distance_sq(cloud[k], q));
                let expected = all.first().map_or(radius, |first| radius.min(first.distance_sq.sqrt() + 0.3)).powi(2);
                let expected = others.fold(expected, f64::min);
                prop_assert!((alone.others_sq - expected).abs() <= 1e-12, "{} {}", alone.others_sq, expected);
            }
        }
    }

    proptest! {
        #[test]
        fn neighborhoods_are_what_single_searches_find(n in 0_usize..400, seed in any::<u64>(), radius in 0.0..2.0_f64) {
            let cloud = points(n, seed);
            let tree = KdTree::new(&cloud);
            let mut next = n / 3;
            Neighborhoods::new(&tree).for_each(&(n / 3..n).collect::<Vec<_>>(), radius, |place, near, distances_sq| {
                assert_eq!(place, next);
                next += 1;
                let own = tree.order()[place] as usize;
                assert_eq!(tree.point_at(place), cloud[own]);
                let mut expected = Vec::new();
                tree.for_each_within(cloud[own], radius, |p| if p.index != own { expected.push((p.index, p.distance_sq as f32)) });
                let found = near.iter().zip(distances_sq).map(|(&place, &d_sq)| (tree.order()[place as usize] as usize, d_sq));
                assert!(found.eq(expected));
            });
            prop_assert_eq!(next, n);
        }
    }

    #[test]
    fn a_tree_built_by_threads_is_the_same() {
        let cloud = points(40_000, 5);
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let four = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("a pool");
        let (a, b) = (one.install(|| KdTree::new(&cloud)), four.install(|| KdTree::new(&cloud)));
        assert_eq!(a.order(), b.order());
    }
}
