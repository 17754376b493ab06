//! Fast point feature histograms (Rusu, Blodow, Beetz, 2009): 33 numbers that describe the shape around a point, whatever the pose.
//!
//! For a pair of points with normals, the one whose normal makes the smaller angle with the line between them is the source. With
//! `d` the unit vector from source to target, `u = n_s`, `v = d × u` (unit) and `w = u × v`:
//! `α = v·n_t`, `φ = u·d`, `θ = atan2(w·n_t, u·n_t)`. The simplified histogram (SPFH) of a point counts these over its neighbours, in 11 bins each;
//! its FPFH is its own SPFH plus the mean of its neighbours', weighted by `1/distance²`. Each of the three parts sums to 200.
//!
//! Two kinds come out of one pass:
//! * **signed**: as published. Turning all normals of a cloud round gives `−φ` and `−θ`, that is the same bins in reverse: [`turned`].
//! * **unsigned**: of `|α|`, `|φ|` and `atan2(|w·n_t|, |u·n_t|)`, which do not depend on the sign of any normal. Less is told apart, but
//!   nothing has to be known of what is inside and what outside.

use rayon::prelude::*;

use crate::{
    neighbors::Neighbors,
    vector::{cross, dot, minus},
};

/// Bins for each angle.
const BINS: usize = 11;
/// Numbers of a descriptor.
pub const DIMENSIONS: usize = 3 * BINS;

/// One descriptor: 11 bins for `θ`, 11 for `α`, 11 for `φ`.
pub type Descriptor = [f32; DIMENSIONS];

/// The descriptors of a cloud.
#[derive(Debug, Clone, PartialEq)]
pub struct Fpfh {
    /// The points that have one: those with a normal and neighbours with normals. Ascending.
    pub points: Vec<u32>,
    /// Of the normals as they are oriented.
    pub signed: Vec<Descriptor>,
    /// Of the normals without their sign.
    pub unsigned: Vec<Descriptor>,
}

impl Fpfh {
    /// Describes `points` with their `normals` (zero where there is none) by their `neighbors` within `radius`, which these must reach.
    pub fn of(points: &[[f64; 3]], normals: &[[f64; 3]], neighbors: &Neighbors, radius: f64) -> Self {
        let radius_sq = (radius * radius) as f32;
        let simple: Vec<Option<Box<[Descriptor; 2]>>> = (0..points.len())
            .into_par_iter()
            .map(|i| simple_histograms(i, points, normals, neighbors, radius_sq))
            .collect();
        let describe = |i: usize| {
            let own = simple[i].as_deref()?;
            let mut sums = [[0.0_f32; DIMENSIONS]; 2];
            let mut total = 0.0;
            for (j, d_sq) in neighbors.of(i).filter(|&(_, d_sq)| d_sq <= radius_sq && d_sq > 0.0) {
                if let Some(other) = simple[j].as_deref() {
                    // In units of the radius, so that nothing overflows.
                    let weight = radius_sq / d_sq;
                    total += weight;
                    for (sum, other) in sums.iter_mut().zip(other) {
                        sum.iter_mut().zip(other).for_each(|(s, o)| *s += weight * o);
                    }
                }
            }
            if total == 0.0 {
                return None;
            }
            let combined = |kind: usize| std::array::from_fn(|k| own[kind][k] + sums[kind][k] / total);
            Some((i as u32, combined(0), combined(1)))
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

/// The signed descriptor that the same place has when all normals are turned round: `θ` and `φ` change sign.
pub fn turned(descriptor: &Descriptor) -> Descriptor {
    std::array::from_fn(|k| match k / BINS {
        1 => descriptor[k],
        part => descriptor[part * BINS + BINS - 1 - k % BINS],
    })
}

/// SPFH of point `i`, signed and unsigned; `None` without a normal or neighbours with one.
fn simple_histograms(
    i: usize,
    points: &[[f64; 3]],
    normals: &[[f64; 3]],
    neighbors: &Neighbors,
    radius_sq: f32,
) -> Option<Box<[Descriptor; 2]>> {
    let has_normal = |n: &[f64; 3]| *n != [0.0; 3];
    if !has_normal(&normals[i]) {
        return None;
    }
    let mut counts = Box::new([[0.0_f32; DIMENSIONS]; 2]);
    let mut pairs = 0_u32;
    for (j, _) in neighbors.of(i).filter(|&(_, d_sq)| d_sq <= radius_sq) {
        if !has_normal(&normals[j]) {
            continue;
        }
        let Some(PairFeatures { theta, alpha, phi }) =
            PairFeatures::of(points[i], normals[i], points[j], normals[j])
        else {
            continue;
        };
        pairs += 1;
        let signed = [0.5 + 0.5 * theta / PI, 0.5 + 0.5 * alpha, 0.5 + 0.5 * phi];
        let steep = theta.abs().min(PI - theta.abs());
        let unsigned = [2.0 * steep / PI, alpha.abs(), phi.abs()];
        for (counts, shares) in counts.iter_mut().zip([signed, unsigned]) {
            for (part, share) in shares.into_iter().enumerate() {
                let bin = ((share * BINS as f64) as usize).min(BINS - 1);
                counts[part * BINS + bin] += 1.0;
            }
        }
    }
    if pairs == 0 {
        return None;
    }
    let share = 100.0 / pairs as f32;
    counts.iter_mut().flatten().for_each(|count| *count *= share);
    Some(counts)
}

const PI: f64 = std::f64::consts::PI;

/// The three angles between two points with normals.
struct PairFeatures {
    theta: f64,
    alpha: f64,
    phi: f64,
}

impl PairFeatures {
    /// `None` when the points coincide or a normal points along the line between them.
    #[inline]
    fn of(p: [f64; 3], p_normal: [f64; 3], q: [f64; 3], q_normal: [f64; 3]) -> Option<Self> {
        let between = minus(q, p);
        let length = dot(between, between).sqrt();
        if length == 0.0 {
            return None;
        }
        let d = between.map(|x| x / length);
        let (at_p, at_q) = (dot(p_normal, d), dot(q_normal, d));
        // The smaller angle with the line, whichever way the normals point, has the larger cosine.
        let (u, t, d, phi) = if at_p.abs() >= at_q.abs() {
            (p_normal, q_normal, d, at_p)
        } else {
            (q_normal, p_normal, d.map(|x| -x), -at_q)
        };
        let v = cross(d, u);
        let v_length = dot(v, v).sqrt();
        if v_length < 1e-9 {
            return None;
        }
        let v = v.map(|x| x / v_length);
        let w = cross(u, v);
        Some(Self { theta: atan2(dot(w, t), dot(u, t)), alpha: dot(v, t), phi })
    }
}

/// The angle of the vector `(x, y)`, off by at most 2·10⁻⁸: Abramowitz and Stegun 4.4.49. Only bins depend on it; unlike the C library's it
/// is the same on every CPU.
fn atan2(y: f64, x: f64) -> f64 {
    let (large, small) = if x.abs() >= y.abs() { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
    if large == 0.0 {
        return 0.0;
    }
    let z = small / large;
    let s = z * z;
    let series = [
        0.002_866_225_7,
        -0.016_165_736_7,
        0.042_909_613_8,
        -0.075_289_640_0,
        0.106_562_639_3,
        -0.142_088_994_4,
        0.199_935_508_5,
        -0.333_331_452_8,
    ];
    let angle = z * (1.0 + s * series.into_iter().fold(0.0, |sum, c| sum * s + c));
    let angle = if x.abs() >= y.abs() { angle } else { 0.5 * PI - angle };
    let angle = if x < 0.0 { PI - angle } else { angle };
    if y < 0.0 { -angle } else { angle }
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
        let motion = Similarity::from_quaternion(1.0, [0.3, -0.5, 0.8, 0.1], [3.0, -2.0, 9.0]);
        let turn = Similarity::new(1.0, motion.rotation(), [0.0; 3]);
        let moved: Vec<[f64; 3]> = points.iter().map(|&p| motion.apply(p)).collect();
        let moved_normals: Vec<[f64; 3]> = normals.iter().map(|&n| turn.apply(n)).collect();
        let (a, b) = (describe(&points, &normals), describe(&moved, &moved_normals));
        assert_eq!(a.points, b.points);
        // A pair in ten thousand changes its bin by rounding; one is worth 100/k, and k is about 70.
        assert!(largest_difference(&a.signed, &b.signed) < 2.0);
        assert!(largest_difference(&a.unsigned, &b.unsigned) < 2.0);
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

    #[test]
    fn the_angle_is_right_all_round() {
        for k in -1000..=1000 {
            let angle = f64::from(k) * PI / 1000.5;
            let found = atan2(3.0 * angle.sin(), 3.0 * angle.cos());
            assert!((found - angle).abs() < 3e-8, "{angle} {found}");
        }
        assert_eq!(atan2(0.0, 0.0), 0.0);
    }
}
