//! Orientation of normals.
//!
//! Descriptors are more distinctive when the normals of a surface all point to the same side. Where the position of the sensor is known,
//! that is the side it saw. Otherwise neighbours are made to agree along a minimum spanning tree of the angles between them (Hoppe et al.,
//! 1992), which leaves one sign open for each connected piece.

use pcr99_base::vector::{dot, minus};

use crate::neighbors::Neighbors;

/// How the normals of a cloud are oriented. Both clouds of a pair use the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Orientation {
    /// To the sides of the given normals, where these agree with each other.
    Given,
    /// Towards the sensor.
    Viewpoint,
    /// Neighbours agree, and most of each connected piece points outward. The side may be wrong for a whole piece.
    Consistent,
}

/// Turns each normal towards `viewpoint`.
pub fn towards(viewpoint: [f64; 3], points: &[[f64; 3]], normals: &mut [[f64; 3]]) {
    for (p, n) in points.iter().zip(normals) {
        if dot(*n, minus(viewpoint, *p)) < 0.0 {
            *n = n.map(|x| -x);
        }
    }
}

/// Turns each normal to the side of its guide; a guide of zero turns nothing.
pub fn along(guides: &[[f64; 3]], normals: &mut [[f64; 3]]) {
    for (guide, n) in guides.iter().zip(normals) {
        if dot(*n, *guide) < 0.0 {
            *n = n.map(|x| -x);
        }
    }
}

/// Fraction of the neighbours within `radius` that point to the same side, of those whose normals are parallel within 45°; 1 when there are
/// none.
pub fn agreement(neighbors: &Neighbors, radius: f64, normals: &[[f64; 3]]) -> f64 {
    let radius_sq = (radius * radius) as f32;
    let (mut all, mut same) = (0_usize, 0_usize);
    for (i, normal) in normals.iter().enumerate() {
        for (j, _) in neighbors.of(i).filter(|&(j, d_sq)| j > i && d_sq <= radius_sq) {
            let cosine = dot(*normal, normals[j]);
            all += usize::from(cosine.abs() > 0.7);
            same += usize::from(cosine > 0.7);
        }
    }
    if all == 0 { 1.0 } else { same as f64 / all as f64 }
}

/// Turns normals so that neighbours within `radius` agree and each connected piece points outward.
pub fn consistently(points: &[[f64; 3]], neighbors: &Neighbors, radius: f64, normals: &mut [[f64; 3]]) {
    let mut forest = Forest::new(points.len());
    for Edge { cost, ends: [i, j] } in sorted_edges(neighbors, radius, normals) {
        forest.join(i, j, cost & OPPOSED != 0);
    }
    let mut pieces: Vec<Piece> = vec![Piece::default(); points.len()];
    let found: Vec<(usize, bool)> = (0..points.len() as u32).map(|i| forest.find(i)).collect();
    for (i, &(root, opposed)) in found.iter().enumerate() {
        if opposed {
            normals[i] = normals[i].map(|x| -x);
        }
        let piece = &mut pieces[root];
        piece.count += 1.0;
        piece.sum.iter_mut().zip(points[i]).for_each(|(sum, x)| *sum += x);
    }
    for (i, &(root, _)) in found.iter().enumerate() {
        let piece = &mut pieces[root];
        let middle = piece.sum.map(|x| x / piece.count);
        piece.outward += dot(normals[i], minus(points[i], middle));
    }
    for (i, &(root, _)) in found.iter().enumerate() {
        if pieces[root].outward < 0.0 {
            normals[i] = normals[i].map(|x| -x);
        }
    }
}

/// Two neighbours.
#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    /// One minus the cosine between the normals, whatever their signs, in units of 2⁻²⁰. [`OPPOSED`] is added where the signs differ.
    cost: u32,
    ends: [u32; 2],
}

/// Marks an edge between opposed normals.
const OPPOSED: u32 = 1 << 31;
/// Bits of a cost, without the mark.
const COST_BITS: u32 = 21;

/// Edges between neighbours within `radius`, the cheapest first, ties by index.
fn sorted_edges(neighbors: &Neighbors, radius: f64, normals: &[[f64; 3]]) -> Vec<Edge> {
    let radius_sq = (radius * radius) as f32;
    let mut edges: Vec<Edge> = Vec::new();
    let mut near: Vec<u32> = Vec::new();
    for (i, normal) in normals.iter().enumerate() {
        let (others, distances_sq) = neighbors.lists(i);
        near.resize(others.len() + 1, 0);
        let mut count = 0;
        for (&j, &d_sq) in others.iter().zip(distances_sq) {
            near[count] = j;
            count += usize::from((j as usize > i) & (d_sq <= radius_sq));
        }
        // Mostly sorted already.
        near[..count].sort_unstable();
        for &j in &near[..count] {
            let cosine = dot(*normal, normals[j as usize]);
            if cosine.abs() > 0.0 {
                let cost = ((1.0 - cosine.abs()).max(0.0) * f64::from(1 << 20)) as u32;
                let mark = if cosine < 0.0 { OPPOSED } else { 0 };
                edges.push(Edge { cost: cost | mark, ends: [i as u32, j] });
            }
        }
    }
    sort_by_cost(edges)
}

/// Stable radix sort.
fn sort_by_cost(mut edges: Vec<Edge>) -> Vec<Edge> {
    const DIGIT: u32 = COST_BITS.div_ceil(2);
    let mut sorted = vec![Edge::default(); edges.len()];
    for shift in [0, DIGIT] {
        let digit = |edge: &Edge| (edge.cost & !OPPOSED) as usize >> shift & ((1 << DIGIT) - 1);
        let mut places = [0_u32; 1 << DIGIT];
        edges.iter().for_each(|edge| places[digit(edge)] += 1);
        let mut start = 0;
        for place in &mut places {
            (start, *place) = (start + *place, start);
        }
        for edge in &edges {
            let place = &mut places[digit(edge)];
            sorted[*place as usize] = *edge;
            *place += 1;
        }
        std::mem::swap(&mut edges, &mut sorted);
    }
    edges
}

/// Sums over a connected piece.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    count: f64,
    sum: [f64; 3],
    outward: f64,
}

/// Disjoint sets in which each member knows whether it is opposed to its root.
struct Forest {
    parents: Vec<(u32, bool)>,
    sizes: Vec<u32>,
}

impl Forest {
    fn new(n: usize) -> Self {
        Self { parents: (0..n as u32).map(|i| (i, false)).collect(), sizes: vec![1; n] }
    }

    fn find(&mut self, i: u32) -> (usize, bool) {
        let (mut root, mut opposed) = (i, false);
        while self.parents[root as usize].0 != root {
            // Path halving: each member is linked to its grandparent.
            let (parent, flip) = self.parents[root as usize];
            let (grandparent, parent_flip) = self.parents[parent as usize];
            self.parents[root as usize] = (grandparent, flip ^ parent_flip);
            opposed ^= flip ^ parent_flip;
            root = grandparent;
        }
        (root as usize, opposed)
    }

    fn join(&mut self, i: u32, j: u32, opposed: bool) {
        let ((a, a_opposed), (b, b_opposed)) = (self.find(i), self.find(j));
        if a == b {
            return;
        }
        let (large, small) = if self.sizes[a] >= self.sizes[b] { (a, b) } else { (b, a) };
        self.parents[small] = (large as u32, a_opposed ^ b_opposed ^ opposed);
        self.sizes[large] += self.sizes[small];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::KdTree;
    use pcr99::random::Random;

    /// A sphere whose normals have random signs.
    fn sphere() -> (Vec<[f64; 3]>, Vec<[f64; 3]>) {
        let mut random = Random::new(6);
        let place = |_| {
            let v: [f64; 3] = std::array::from_fn(|_| random.gaussian());
            let length = dot(v, v).sqrt();
            let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
            (v.map(|x| x / length), v.map(|x| sign * x / length))
        };
        (0..2000).map(place).unzip()
    }

    #[test]
    fn neighbours_agree_and_a_closed_surface_points_outward() {
        let (points, mut normals) = sphere();
        let neighbors = Neighbors::within(&KdTree::new(&points), &points, 0.2);
        assert!((0.4..0.6).contains(&agreement(&neighbors, 0.2, &normals)));
        consistently(&points, &neighbors, 0.2, &mut normals);
        assert_eq!(agreement(&neighbors, 0.2, &normals), 1.0);
        assert!(points.iter().zip(&normals).all(|(p, n)| dot(*p, *n) > 0.99));
    }

    #[test]
    fn edges_are_in_the_order_of_their_costs_then_of_their_ends() {
        let mut random = pcr99::random::Random::new(7);
        let edge = |k: u32| {
            let mark = if random.below(2) == 0 { 0 } else { OPPOSED };
            Edge { cost: random.below(1 + (1 << 20)) as u32 >> (k % 20) | mark, ends: [k, k + 1] }
        };
        let edges: Vec<Edge> = (0..5000).map(edge).collect();
        let mut expected = edges.clone();
        expected.sort_by_key(|edge| (edge.cost & !OPPOSED, edge.ends));
        let content = |edge: &Edge| (edge.cost, edge.ends);
        assert!(sort_by_cost(edges).iter().map(content).eq(expected.iter().map(content)));
    }

    #[test]
    fn a_viewpoint_and_given_normals_decide() {
        let (points, mut normals) = sphere();
        towards([9.0, 0.0, 0.0], &points, &mut normals);
        assert!(points.iter().zip(&normals).all(|(p, n)| dot(*n, minus([9.0, 0.0, 0.0], *p)) >= 0.0));
        let inward: Vec<[f64; 3]> = points.iter().map(|p| p.map(|x| -0.3 * x)).collect();
        along(&inward, &mut normals);
        assert!(points.iter().zip(&normals).all(|(p, n)| dot(*p, *n) < -0.99));
    }
}
