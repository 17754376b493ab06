//! Static k-d tree: nearest point, points within a radius.
//!
//! The points are stored in the order of the leaves, at most sixteen to a leaf, one array per coordinate. A leaf is then one short loop
//! over adjacent memory. Nodes split at the median of the widest axis. Ties are broken by index, so the tree and its answers do not depend
//! on the number of threads.

/// Largest number of points in a leaf.
const LEAF: usize = 16;
/// Smallest number of points for which building in a second thread pays off.
const WORTH_A_THREAD: usize = 8192;

/// A point that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// Index in the list that the tree was built from.
    pub index: usize,
    /// Squared distance from the query.
    pub distance_sq: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// Coordinate of the plane between the children; unused in a leaf.
    split: f64,
    /// Axis of the split, 0 to 2; 3 for a leaf.
    axis: u32,
    /// Index of the upper child; the lower child is the next node. In a leaf: number of points.
    upper: u32,
    /// First point of a leaf; unused elsewhere.
    start: u32,
}

/// Static k-d tree of points.
#[derive(Debug, Clone)]
pub struct KdTree {
    nodes: Vec<Node>,
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
        size_of_val(&*self.nodes) + coordinates + size_of_val(&*self.ids)
    }

    /// Builds the tree of `points`, which must be finite and fewer than 2³².
    pub fn new(points: &[[f64; 3]]) -> Self {
        let mut ids: Vec<u32> = (0..points.len() as u32).collect();
        let mut nodes = vec![Node::default(); node_count(points.len())];
        build(points, &mut ids, 0, &mut nodes, 0);
        let column = |axis: usize| {
            ids.iter().map(|&i| points[i as usize][axis]).chain(std::iter::repeat_n(0.0, LEAF)).collect()
        };
        Self { nodes, coordinates: std::array::from_fn(column), ids }
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
        let mut best = Neighbor { index: usize::MAX, distance_sq: radius * radius };
        if !self.is_empty() {
            self.descend_nearest(0, query, [0.0; 3], 0.0, &mut best);
        }
        (best.index != usize::MAX).then_some(best)
    }

    fn descend_nearest(
        &self,
        node: usize,
        query: [f64; 3],
        beside: [f64; 3],
        beside_sq: f64,
        best: &mut Neighbor,
    ) {
        let Node { split, axis, upper, start } = self.nodes[node];
        if axis == 3 {
            let start = start as usize;
            let (distances, count) = self.leaf_distances(start, upper as usize, query);
            for (k, &distance_sq) in distances[..count].iter().enumerate() {
                if distance_sq <= best.distance_sq {
                    let index = self.ids[start + k] as usize;
                    if distance_sq < best.distance_sq || index < best.index {
                        *best = Neighbor { index, distance_sq };
                    }
                }
            }
            return;
        }
        let axis = axis as usize;
        let offset = query[axis] - split;
        let (near, far) = if offset < 0.0 { (node + 1, upper as usize) } else { (upper as usize, node + 1) };
        self.descend_nearest(near, query, beside, beside_sq, best);
        // Lower bound of the distance to the far side: the offset along this axis, the known offsets along the others.
        let far_sq = beside_sq - beside[axis] * beside[axis] + offset * offset;
        if far_sq * SAFE <= best.distance_sq {
            let mut beside = beside;
            beside[axis] = offset;
            self.descend_nearest(far, query, beside, far_sq, best);
        }
    }

    /// Calls `found` for each point within `radius` of `query`, in the order of the leaves. A query that is one of the points is included.
    pub fn for_each_within(&self, query: [f64; 3], radius: f64, mut found: impl FnMut(Neighbor)) {
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
        found: &mut impl FnMut(Neighbor),
    ) {
        let Node { split, axis, upper, start } = self.nodes[node];
        if axis == 3 {
            let start = start as usize;
            let (distances, count) = self.leaf_distances(start, upper as usize, query);
            for (k, &distance_sq) in distances[..count].iter().enumerate() {
                if distance_sq <= radius_sq {
                    found(Neighbor { index: self.ids[start + k] as usize, distance_sq });
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

    /// The `count` points nearest to `query` within `radius`, nearest first, ties by index.
    pub fn nearest_several(&self, query: [f64; 3], count: usize, radius: f64) -> Vec<Neighbor> {
        let mut best = Vec::with_capacity(count + 1);
        if !self.is_empty() && count > 0 {
            self.descend_several(0, query, [0.0; 3], 0.0, count, radius * radius, &mut best);
        }
        best
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one recursion")]
    fn descend_several(
        &self,
        node: usize,
        query: [f64; 3],
        beside: [f64; 3],
        beside_sq: f64,
        count: usize,
        radius_sq: f64,
        best: &mut Vec<Neighbor>,
    ) {
        let bound =
            |best: &[Neighbor]| if best.len() < count { radius_sq } else { best[count - 1].distance_sq };
        let Node { split, axis, upper, start } = self.nodes[node];
        if axis == 3 {
            let start = start as usize;
            let (distances, len) = self.leaf_distances(start, upper as usize, query);
            for (k, &distance_sq) in distances[..len].iter().enumerate() {
                if distance_sq <= bound(best) {
                    let new = Neighbor { index: self.ids[start + k] as usize, distance_sq };
                    let before = |old: &Neighbor| (old.distance_sq, old.index) < (distance_sq, new.index);
                    best.insert(best.partition_point(before), new);
                    best.truncate(count);
                }
            }
            return;
        }
        let axis = axis as usize;
        let offset = query[axis] - split;
        let (near, far) = if offset < 0.0 { (node + 1, upper as usize) } else { (upper as usize, node + 1) };
        self.descend_several(near, query, beside, beside_sq, count, radius_sq, best);
        let far_sq = beside_sq - beside[axis] * beside[axis] + offset * offset;
        if far_sq * SAFE <= bound(best) {
            let mut beside = beside;
            beside[axis] = offset;
            self.descend_several(far, query, beside, far_sq, count, radius_sq, best);
        }
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

/// Safety factor of the lower bound: it is computed in another way than the distance, and must not exceed it by rounding.
const SAFE: f64 = 1.0 - 1e-12;

fn build(points: &[[f64; 3]], ids: &mut [u32], start: usize, nodes: &mut [Node], node: usize) {
    if ids.len() <= LEAF {
        nodes[0] = Node { split: 0.0, axis: 3, upper: ids.len() as u32, start: start as u32 };
        ids.sort_unstable();
        return;
    }
    let mut low = points[ids[0] as usize];
    let mut high = low;
    for &id in &*ids {
        for (axis, x) in points[id as usize].into_iter().enumerate() {
            low[axis] = low[axis].min(x);
            high[axis] = high[axis].max(x);
        }
    }
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
    let large = lower_ids.len() >= WORTH_A_THREAD;
    let mut lower = || build(points, lower_ids, start, lower_part, node + 1);
    let mut upper = || build(points, upper_ids, start + middle, upper_part, upper);
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
        fn searches_equal_brute_force(n in 0_usize..400, seed in any::<u64>(), radius in 0.0..2.0_f64, count in 0_usize..20) {
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
                all.truncate(count);
                prop_assert_eq!(tree.nearest_several(q, count, radius), all);
            }
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
