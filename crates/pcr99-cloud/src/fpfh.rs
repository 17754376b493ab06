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
        pair_features::{Angles, BATCH, BINS, BINS_OF, PARTS, Pairs, pair_angles},
        weighted_sum::{Row, weighted_sum},
    },
    vector::minus,
};

use crate::neighbors::Neighbors;

pub use pcr99_base::kernel::pair_features::{DIMENSIONS, Descriptor};

/// Place of the one in a row that has a signed and an unsigned simple histogram, one after the other, then a one when they exist. Zeros pad the rest.
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
        let simple = simple_histograms(points, normals, neighbors, radius);
        let radius_sq = (radius * radius) as f32;
        // Two allocations, because a clone of the first would write to all of its memory.
        let zeros = || -> Vec<Descriptor> { vec![[0.0; DIMENSIONS]; points.len()] };
        let (mut signed, mut unsigned) = (zeros(), zeros());
        let describe = |(i, (signed, unsigned)): (usize, (&mut Descriptor, &mut Descriptor))| {
            let own = &simple[i].0;
            let (others, distances_sq) = neighbors.lists(i);
            let sums = weighted_sum(others, distances_sq, radius_sq, &simple).0;
            let total = sums[IS_THERE];
            for (kind, descriptor) in [signed, unsigned].into_iter().enumerate() {
                for (k, x) in descriptor.iter_mut().enumerate() {
                    *x = own[kind * DIMENSIONS + k] + sums[kind * DIMENSIONS + k] / total;
                }
            }
            own[IS_THERE] != 0.0 && total != 0.0
        };
        let pairs = signed.par_iter_mut().zip(&mut unsigned);
        let is_there: Vec<bool> = pairs.enumerate().map(describe).collect();
        keep(&mut signed, &is_there);
        keep(&mut unsigned, &is_there);
        let points = (0..).zip(&is_there).filter(|(_, is_there)| **is_there).map(|(i, _)| i).collect();
        Self { points, signed, unsigned }
    }
}

/// Keeps the marked descriptors.
fn keep(descriptors: &mut Vec<Descriptor>, marks: &[bool]) {
    let mut marks = marks.iter();
    descriptors.retain(|_| marks.next().copied().unwrap_or(false));
}

/// SPFH of all points, signed and unsigned; zeros where a point has no normal or no neighbours with one.
fn simple_histograms(
    points: &[[f64; 3]],
    normals: &[[f64; 3]],
    neighbors: &Neighbors,
    radius: f64,
) -> Vec<Row> {
    let normals: Vec<[f32; 3]> = normals.iter().map(|normal| normal.map(|x| x as f32)).collect();
    let mut counts = vec![[0; ROW]; points.len()];
    // One part for each thread: a pair within a part is computed once, one between two parts twice. Counts do not depend on that.
    let size = points.len().div_ceil(rayon::current_num_threads()).max(1);
    counts.par_chunks_mut(size).enumerate().for_each(|(part, counts)| {
        Counter::new(points, &normals, radius, part * size, counts).count_all(neighbors);
    });
    counts.par_iter().map(histograms).collect()
}

/// Number of counts of a point: one for each part of a bin, one for pairs without angles, and zeros.
const ROW: usize = 96;
/// Counts of parts of bins over the neighbours of a point.
type Counts = [u32; ROW];

/// Signed and unsigned histograms from counts.
fn histograms(counts: &Counts) -> Row {
    // Every pair with angles has one `θ`, whose parts come first.
    let pairs: u32 = counts[..PARTS[0] * BINS].iter().sum();
    let mut both = Row::ZERO.0;
    if pairs > 0 {
        for (&count, &[signed, unsigned]) in counts.iter().zip(&BINS_OF) {
            both[usize::from(signed)] += count as f32;
            both[DIMENSIONS + usize::from(unsigned)] += count as f32;
        }
        both.iter_mut().for_each(|sum| *sum *= 100.0 / pairs as f32);
        both[IS_THERE] = 1.0;
    }
    Row(both)
}

/// Counts the angles of pairs in which the first point, or both, are of one part of a cloud.
struct Counter<'a> {
    points: &'a [[f64; 3]],
    /// Zero where a point has none.
    normals: &'a [[f32; 3]],
    /// Lengths are divided by the radius, so that squares neither vanish nor overflow.
    unit: f64,
    radius_sq: f32,
    /// First point of the part.
    start: usize,
    /// Counts of the points of the part.
    counts: &'a mut [Counts],
    pairs: Pairs,
    angles: Angles,
    /// The points of each pair of the batch, relative to the start. The second is [`ELSEWHERE`] when only the first is counted.
    ends: [[usize; 2]; BATCH],
    filled: usize,
}

/// Stands for a point whose angles another part counts.
const ELSEWHERE: usize = usize::MAX;

impl<'a> Counter<'a> {
    fn new(
        points: &'a [[f64; 3]],
        normals: &'a [[f32; 3]],
        radius: f64,
        start: usize,
        counts: &'a mut [Counts],
    ) -> Self {
        let (unit, radius_sq) = (1.0 / radius, (radius * radius) as f32);
        let (pairs, angles, ends) = (Pairs::EMPTY, Angles::EMPTY, [[0; 2]; BATCH]);
        Self { points, normals, unit, radius_sq, start, counts, pairs, angles, ends, filled: 0 }
    }

    fn count_all(mut self, neighbors: &Neighbors) {
        let part = self.start..self.start + self.counts.len();
        for i in part.clone() {
            if self.normals[i] == [0.0; 3] {
                continue;
            }
            let radius_sq = self.radius_sq;
            for (j, _) in neighbors.of(i).filter(|&(_, d_sq)| d_sq <= radius_sq) {
                // A pair of this part is met twice, once from each end.
                let is_here = part.contains(&j);
                if !(is_here && j < i) && self.normals[j] != [0.0; 3] {
                    self.add(i, j, if is_here { j - part.start } else { ELSEWHERE });
                }
            }
        }
        while self.filled > 0 {
            self.flush();
        }
    }

    /// Adds the pair of point `i` of this part with point `j` of the cloud; `second` is where `j` is counted.
    fn add(&mut self, i: usize, j: usize, second: usize) {
        let place = minus(self.points[j], self.points[i]);
        let k = self.filled;
        for (axis, x) in place.into_iter().enumerate() {
            self.pairs.first[axis][k] = self.normals[i][axis];
            self.pairs.place[axis][k] = (x * self.unit) as f32;
            self.pairs.second[axis][k] = self.normals[j][axis];
        }
        self.ends[k] = [i - self.start, second];
        self.filled += 1;
        // Twice when all pairs of the batch begin the next.
        while self.filled == BATCH {
            self.flush();
        }
    }

    /// Counts the angles of the batch. Pairs whose angles depend on which point is the first begin the next batch, with their points exchanged.
    fn flush(&mut self) {
        pair_angles(&self.pairs, &mut self.angles);
        let mut next = 0;
        for k in 0..self.filled {
            let [first, second] = self.ends[k];
            let parts = self.angles.parts.each_ref().map(|parts| parts[k] as usize);
            let mut count = |point: usize| {
                let counts = &mut self.counts[point];
                parts.iter().for_each(|&part| counts[part] += 1);
            };
            count(first);
            if second == ELSEWHERE {
                continue;
            }
            if self.angles.is_even[k] == 0 {
                count(second);
                continue;
            }
            let Pairs { first: normals, place, second: others } = &mut self.pairs;
            for axis in 0..3 {
                (normals[axis][next], others[axis][next]) = (others[axis][k], normals[axis][k]);
                place[axis][next] = -place[axis][k];
            }
            self.ends[next] = [second, ELSEWHERE];
            next += 1;
        }
        self.filled = next;
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

    /// A pair within a part of the cloud is computed once, one between two parts twice, and the parts depend on the number of threads.
    #[test]
    fn threads_change_nothing() {
        let (points, normals) = surface();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| describe(&points, &normals))
        };
        let one = on(1);
        for threads in [2, 5, 64] {
            assert_eq!(on(threads), one);
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
