//! The Stanford Bunny. Origin and terms: `data/NOTICE`.

use std::sync::LazyLock;

use pcr99::random::Random;
use pcr99_base::vector::{cross, minus, norm, plus, times};

use super::subset;

/// Parsed once, on first use.
static BUNNY: LazyLock<Mesh> = LazyLock::new(|| Mesh::parse(include_str!("../../data/bunny.obj")));

/// Up to 1839 points: a random subset of the vertices, as the paper downsamples. More points: uniform on the triangles.
pub(super) fn sample(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    if n <= BUNNY.vertices.len() {
        subset(&BUNNY.vertices, n, random)
    } else {
        (0..n).map(|_| BUNNY.on_surface(random)).collect()
    }
}

struct Mesh {
    vertices: Vec<[f64; 3]>,
    triangles: Vec<[usize; 3]>,
    /// Total area of the triangles `0..=i`, to choose a triangle by its area.
    area_up_to: Vec<f64>,
}

impl Mesh {
    /// Reads `v x y z` and `f i j k` lines. The file is part of the crate, so anything else is a bug and panics.
    fn parse(text: &str) -> Self {
        let mut vertices = Vec::new();
        let mut triangles: Vec<[usize; 3]> = Vec::new();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("v", rest)) => vertices.push(three(rest)),
                Some(("f", rest)) => triangles.push(three(rest).map(|index: usize| index - 1)),
                _ => assert!(line.starts_with('#'), "data/bunny.obj has only v, f and # lines: {line}"),
            }
        }
        let mut total = 0.0;
        let area_up_to = triangles
            .iter()
            .map(|corners| {
                let [a, b, c] = corners.map(|i| vertices[i]);
                total += 0.5 * norm(cross(minus(b, a), minus(c, a)));
                total
            })
            .collect();
        Self { vertices, triangles, area_up_to }
    }

    /// Point, uniform on the surface: a triangle chosen by its area, then the point `(1 − √u)·a + √u·(1 − v)·b + √u·v·c` with uniform `u`, `v`.
    /// The root makes it uniform, because the area within a fraction `r` of the height from `a` grows as `r²`.
    fn on_surface(&self, random: &mut Random) -> [f64; 3] {
        let total = self.area_up_to.last().copied().unwrap_or(0.0);
        let position = random.uniform() * total;
        let chosen = self.area_up_to.partition_point(|&area| area <= position);
        // Rounding may lift `position` to the total.
        let [a, b, c] = self.triangles[chosen.min(self.triangles.len() - 1)].map(|i| self.vertices[i]);
        let root = random.uniform().sqrt();
        let along = random.uniform();
        plus(times(1.0 - root, a), plus(times(root * (1.0 - along), b), times(root * along, c)))
    }
}

fn three<T: std::str::FromStr>(text: &str) -> [T; 3] {
    let values: Vec<T> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
    values.try_into().unwrap_or_else(|_| panic!("data/bunny.obj has three numbers per line: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::vector::dot;

    #[test]
    fn the_file_is_whole() {
        assert_eq!((BUNNY.vertices.len(), BUNNY.triangles.len()), (1839, 3674));
        assert_eq!(BUNNY.vertices[0], [1.301895, 0.122622, 2.550061]);
        assert_eq!(BUNNY.triangles[0], [2, 1661, 3]);
        // Closed: every edge is met once in each direction.
        let mut edges = std::collections::BTreeSet::new();
        for [i, j, k] in &BUNNY.triangles {
            assert!(edges.insert((i, j)) && edges.insert((j, k)) && edges.insert((k, i)));
        }
        let unmatched = edges.iter().filter(|(i, j)| !edges.contains(&(*j, *i))).count();
        assert_eq!(unmatched, 0);
    }

    #[test]
    fn few_points_are_distinct_vertices() {
        let mut points = sample(1000, &mut Random::new(1));
        assert!(points.iter().all(|point| BUNNY.vertices.contains(point)));
        points.sort_by(|a, b| a.partial_cmp(b).unwrap());
        points.dedup();
        assert_eq!(points.len(), 1000);
        assert_eq!(sample(1839, &mut Random::new(2)).len(), 1839);
    }

    #[test]
    fn many_points_lie_on_triangles_in_proportion_to_area() {
        let points = sample(4000, &mut Random::new(3));
        let on_triangle = |p: [f64; 3], corners: &[usize; 3]| {
            let [a, b, c] = corners.map(|i| BUNNY.vertices[i]);
            let normal = cross(minus(b, a), minus(c, a));
            let side = |p: [f64; 3], q: [f64; 3], x: [f64; 3]| dot(normal, cross(minus(q, p), minus(x, p)));
            dot(normal, minus(p, a)).abs() < 1e-9 * norm(normal)
                && [side(a, b, p), side(b, c, p), side(c, a, p)].iter().all(|s| *s > -1e-9)
        };
        for &point in &points[..200] {
            assert!(BUNNY.triangles.iter().any(|corners| on_triangle(point, corners)), "{point:?}");
        }
        // The centroid of the points is that of the surface.
        let (mut centroid, mut total) = ([0.0; 3], 0.0);
        for corners in &BUNNY.triangles {
            let [a, b, c] = corners.map(|i| BUNNY.vertices[i]);
            let area = 0.5 * norm(cross(minus(b, a), minus(c, a)));
            centroid = plus(centroid, times(area / 3.0, plus(a, plus(b, c))));
            total += area;
        }
        let mean = points.iter().fold([0.0; 3], |sum, p| plus(sum, times(1.0 / 4000.0, *p)));
        // Standard deviation of a coordinate about 2.5, of the mean 0.04.
        let gap = norm(minus(mean, times(1.0 / total, centroid)));
        assert!(gap < 0.2, "{gap}");
    }

    /// Two triangles of areas 1 and 3 in one plane: shares, and within each the mean is the centroid.
    #[test]
    fn triangles_are_filled_evenly() {
        let mesh =
            Mesh::parse("# two\nv 0 0 0\nv 2 0 0\nv 0 1 0\nv 10 0 0\nv 12 0 0\nv 10 3 0\nf 1 2 3\nf 4 5 6");
        assert_eq!(mesh.area_up_to, [1.0, 4.0]);
        let mut random = Random::new(4);
        let points: Vec<[f64; 3]> = (0..20_000).map(|_| mesh.on_surface(&mut random)).collect();
        let (small, large): (Vec<[f64; 3]>, Vec<[f64; 3]>) = points.into_iter().partition(|p| p[0] < 5.0);
        assert!(small.len().abs_diff(5000) < 300, "{}", small.len());
        for (part, centroid) in [(small, [2.0 / 3.0, 1.0 / 3.0, 0.0]), (large, [32.0 / 3.0, 1.0, 0.0])] {
            let share = 1.0 / part.len() as f64;
            let mean = part.iter().fold([0.0; 3], |sum, p| plus(sum, times(share, *p)));
            assert!(norm(minus(mean, centroid)) < 0.04, "{mean:?}");
        }
    }
}
