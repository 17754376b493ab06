//! Fast point feature histograms (Rusu, Blodow, Beetz, 2009): 33 numbers that describe the shape around a point independently of the pose.
//!
//! For a pair of points with normals, the one whose normal makes the smaller angle with the line between them is the source. With
//! `d` the unit vector from source to target, `u = n_s`, `v = d × u` (unit) and `w = u × v`:
//! `α = v·n_t`, `φ = u·d`, `θ = atan2(w·n_t, u·n_t)`. The simplified histogram (SPFH) of a point counts these over its neighbours, in 11 bins each;
//! its FPFH is its own SPFH plus the mean of its neighbours', weighted by `1/distance²`. Each of the three parts sums to 200.
//!
//! One pass computes two kinds:
//! * **signed**: as published. Reversing all normals of a cloud gives `−φ` and `−θ`, that is the same bins in reverse order
//!   ([`turned`]).
//! * **unsigned**: from `|α|`, `|φ|` and `atan2(|w·n_t|, |u·n_t|)`, which do not depend on the sign of any normal. They are less
//!   distinctive, but need no oriented normals.

use rayon::prelude::*;

use pcr99_base::{
    kernel::{
        pair_features::{BATCH, BINS, Bins, NONE, Others, PARTS, bins_of, pair_bins},
        weighted_sum::{WIDTH, weighted_sum},
    },
    vector::minus,
};

use crate::neighbors::Neighbors;

pub use pcr99_base::kernel::pair_features::{DIMENSIONS, Descriptor};

/// A signed and an unsigned simple histogram, one after the other, then a one when they exist. Zeros pad the rest.
type Both = [f32; WIDTH];
/// Position of the one.
const IS_THERE: usize = 2 * DIMENSIONS;

/// Descriptors of a cloud.
#[derive(Debug, Clone, PartialEq)]
pub struct Fpfh {
    /// Indices of the points that have a descriptor: those with a normal and with neighbours that have one. Ascending.
    pub points: Vec<u32>,
    /// Descriptors from oriented normals.
    pub signed: Vec<Descriptor>,
    /// Descriptors from normals without their signs.
    pub unsigned: Vec<Descriptor>,
}

impl Fpfh {
    /// Describes `points` with their `normals` (zero where unknown) by their neighbours within `radius`. `neighbors` must reach at least
    /// that far.
    pub fn of(points: &[[f64; 3]], normals: &[[f64; 3]], neighbors: &Neighbors, radius: f64) -> Self {
        let normals: Vec<[f32; 3]> = normals.iter().map(|normal| normal.map(|x| x as f32)).collect();
        let cloud = Cloud { points, normals: &normals, neighbors, radius };
        let simple: Vec<Both> =
            (0..points.len()).into_par_iter().map(|i| cloud.simple_histograms(i)).collect();
        let describe = |i: usize| {
            let own = &simple[i];
            let mut sums = [0.0; WIDTH];
            let (others, distances_sq) = neighbors.lists(i);
            weighted_sum(others, distances_sq, (radius * radius) as f32, &simple, &mut sums);
            let total = sums[IS_THERE];
            if own[IS_THERE] == 0.0 || total == 0.0 {
                return None;
            }
            let part = |kind: usize| {
                std::array::from_fn(|k| own[kind * DIMENSIONS + k] + sums[kind * DIMENSIONS + k] / total)
            };
            Some((i as u32, part(0), part(1)))
        };
        let described: Vec<(u32, Descriptor, Descriptor)> =
            (0..points.len()).into_par_iter().filter_map(describe).collect();
        Self {
            points: described.iter().map(|d| d.0).collect(),
            signed: described.iter().map(|d| d.1).collect(),
            unsigned: described.iter().map(|d| d.2).collect(),
        }
    }
}

/// Input of descriptors.
struct Cloud<'a> {
    points: &'a [[f64; 3]],
    normals: &'a [[f32; 3]],
    neighbors: &'a Neighbors,
    radius: f64,
}

impl Cloud<'_> {
    /// SPFH of point `i`, signed and unsigned; zeros when the point has no normal or no neighbours with one.
    fn simple_histograms(&self, i: usize) -> Both {
        let normal = self.normals[i];
        if normal == [0.0; 3] {
            return [0.0; WIDTH];
        }
        // Counts of fractional bins, with one entry more for pairs without angles.
        let mut counts = [[0_u32; NONE as usize + 1]; 3];
        let mut others = Others::EMPTY;
        let mut filled = 0;
        let mut flush = |others: &Others, filled: usize| {
            let mut bins: Bins = [[0; BATCH]; 3];
            pair_bins(normal, others, &mut bins);
            for (counts, bins) in counts.iter_mut().zip(&bins) {
                for &bin in &bins[..filled] {
                    counts[(bin & NONE) as usize] += 1;
                }
            }
        };
        // Scaled by the radius, so that squares neither vanish nor overflow.
        let (unit, radius_sq) = (1.0 / self.radius, (self.radius * self.radius) as f32);
        let near = self.neighbors.of(i).filter(|&(_, d_sq)| d_sq <= radius_sq);
        for (j, _) in near.filter(|&(j, _)| self.normals[j] != [0.0; 3]) {
            let place = minus(self.points[j], self.points[i]);
            for (axis, (x, n)) in place.into_iter().zip(self.normals[j]).enumerate() {
                others.place[axis][filled] = (x * unit) as f32;
                others.normal[axis][filled] = n;
            }
            filled += 1;
            if filled == BATCH {
                flush(&others, filled);
                filled = 0;
            }
        }
        flush(&others, filled);
        let pairs: u32 = counts[0][..PARTS[0] * BINS].iter().sum();
        let mut both = [0.0; WIDTH];
        if pairs > 0 {
            for (angle, counts) in counts.iter().enumerate() {
                for (part, &count) in counts[..PARTS[angle] * BINS].iter().enumerate() {
                    let [signed, unsigned] = bins_of(angle, part);
                    both[angle * BINS + signed] += count as f32;
                    both[DIMENSIONS + angle * BINS + unsigned] += count as f32;
                }
            }
            both.iter_mut().for_each(|sum| *sum *= 100.0 / pairs as f32);
            both[IS_THERE] = 1.0;
        }
        both
    }
}

/// The signed descriptor after all normals are reversed: `θ` and `φ` change sign.
pub fn turned(descriptor: &Descriptor) -> Descriptor {
    std::array::from_fn(|k| match k / BINS {
        1 => descriptor[k],
        part => descriptor[part * BINS + BINS - 1 - k % BINS],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::KdTree;
    use pcr99::{Similarity, random::Random};

    /// A bumpy surface with its normals.
    fn surface() -> (Vec<[f64; 3]>, Vec<[f64; 3]>) {
        let mut random = Random::new(4);
        let point = |_| {
            let (x, y) = (4.0 * random.uniform(), 4.0 * random.uniform());
            // z = x²/4 − y³/30.
            let (slope_x, slope_y) = (x / 2.0, -y * y / 10.0);
            let length = (1.0 + slope_x * slope_x + slope_y * slope_y).sqrt();
            let normal = [-slope_x / length, -slope_y / length, 1.0 / length];
            ([x, y, x * x / 4.0 - y * y * y / 30.0], normal)
        };
        (0..1500).map(point).unzip()
    }

    fn describe(points: &[[f64; 3]], normals: &[[f64; 3]]) -> Fpfh {
        let tree = KdTree::new(points);
        Fpfh::of(points, normals, &Neighbors::within(&tree, points, 0.5), 0.5)
    }

    fn largest_difference(a: &[Descriptor], b: &[Descriptor]) -> f32 {
        let differences = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| (x - y).abs());
        differences.fold(0.0, f32::max)
    }

    #[test]
    fn each_part_sums_to_two_hundred() {
        let (points, normals) = surface();
        let fpfh = describe(&points, &normals);
        assert!(fpfh.points.len() > 1450);
        for part in fpfh.signed.iter().chain(&fpfh.unsigned).flat_map(|d| d.chunks(BINS)) {
            assert!((part.iter().sum::<f32>() - 200.0).abs() < 0.01, "{part:?}");
        }
    }

    #[test]
    fn a_rigid_motion_changes_nothing() {
        let (points, normals) = surface();
        let motion =
            Similarity::from_quaternion(1.0, [0.3, -0.5, 0.8, 0.1], [3.0, -2.0, 9.0]).expect("a similarity");
        let turn = Similarity::new(1.0, motion.rotation(), [0.0; 3]).expect("a similarity");
        let moved: Vec<[f64; 3]> = points.iter().map(|&p| motion.apply(p)).collect();
        let moved_normals: Vec<[f64; 3]> = normals.iter().map(|&n| turn.apply(n)).collect();
        let (a, b) = (describe(&points, &normals), describe(&moved, &moved_normals));
        assert_eq!(a.points, b.points);
        // A pair in ten thousand changes its bin by rounding; one is worth 100/k, and k is about 70.
        assert!(largest_difference(&a.signed, &b.signed) < 3.0);
        assert!(largest_difference(&a.unsigned, &b.unsigned) < 3.0);
    }

    #[test]
    fn signs_of_normals_do_not_matter_where_they_should_not() {
        let (points, normals) = surface();
        let a = describe(&points, &normals);
        let turned_normals: Vec<[f64; 3]> = normals.iter().map(|n| n.map(|x| -x)).collect();
        let b = describe(&points, &turned_normals);
        let reversed: Vec<Descriptor> = b.signed.iter().map(turned).collect();
        assert!(largest_difference(&a.signed, &reversed) < 1.0);
        assert!(largest_difference(&a.signed, &b.signed) > 20.0, "the turn is seen");
        let mut random = Random::new(1);
        let mixed: Vec<[f64; 3]> =
            normals.iter().map(|n| if random.below(2) == 0 { *n } else { n.map(|x| -x) }).collect();
        assert!(largest_difference(&a.unsigned, &describe(&points, &mixed).unsigned) < 1.0);
    }

    #[test]
    fn a_plane_has_its_known_histogram() {
        let points: Vec<[f64; 3]> = (0..400).map(|k| [f64::from(k % 20), f64::from(k / 20), 0.0]).collect();
        let tree = KdTree::new(&points);
        let neighbors = Neighbors::within(&tree, &points, 3.1);
        let fpfh = Fpfh::of(&points, &vec![[0.0, 0.0, 1.0]; 400], &neighbors, 3.1);
        // All angles are zero, and zero is in the middle bin.
        let expected: Descriptor = std::array::from_fn(|k| if k % BINS == 5 { 200.0 } else { 0.0 });
        assert!(largest_difference(&fpfh.signed, &vec![expected; 400]) < 1e-3);
        let folded: Descriptor = std::array::from_fn(|k| if k % BINS == 0 { 200.0 } else { 0.0 });
        assert!(largest_difference(&fpfh.unsigned, &vec![folded; 400]) < 1e-3);
    }
}
