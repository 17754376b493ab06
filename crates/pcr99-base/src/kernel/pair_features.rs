//! Angles between two points with their normals, as bins of histograms (fast point feature histograms, FPFH).

use crate::dispatch::compiled_twice;

/// Number of pairs in a batch.
pub const BATCH: usize = 64;
/// Number of bins of each histogram.
pub const BINS: usize = 11;
/// Numbers of a descriptor: one histogram for each of three angles.
pub const DIMENSIONS: usize = 3 * BINS;
/// One descriptor: 11 bins for `θ`, 11 for `α`, 11 for `φ`. Each histogram sums to 200.
pub type Descriptor = [f32; DIMENSIONS];
/// Number of parts of a bin of `θ`, of `α` and of `φ`. They are as fine as the unsigned histogram needs.
///
/// The unsigned `θ` covers a quarter of a turn in eleven bins, so its bins are a fourth of the signed ones. The unsigned `α` and `φ` cover one side of zero, so
/// their bins are half of the signed ones.
pub const PARTS: [usize; 3] = [4, 2, 2];

/// Place of the parts of each angle in a list of all parts.
const FIRST: [usize; 3] = [0, PARTS[0] * BINS, (PARTS[0] + PARTS[1]) * BINS];
/// Number of parts of all angles. It also stands for pairs without angles: coincident points, or a normal along the line between them.
pub const ALL_PARTS: usize = (PARTS[0] + PARTS[1] + PARTS[2]) * BINS;

/// Pairs of points with their normals; x, y and z are apart. Aligned to cache lines, because vectors that cross them take twice the time.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct Pairs {
    /// Unit normals of the first points.
    pub first: [[f32; BATCH]; 3],
    /// Positions of the second points relative to the first.
    pub place: [[f32; BATCH]; 3],
    /// Unit normals of the second points.
    pub second: [[f32; BATCH]; 3],
}

impl Pairs {
    /// All zeros.
    pub const EMPTY: Self =
        Self { first: [[0.0; BATCH]; 3], place: [[0.0; BATCH]; 3], second: [[0.0; BATCH]; 3] };
}

/// Angles of a batch of pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(align(64))]
pub struct Angles {
    /// Parts of bins of `θ`, `α` and `φ`, in a list of the parts of all angles.
    pub parts: [[u32; BATCH]; 3],
    /// Whether the two normals are equally far from the line between the points. If not, the pair has the same angles, to the bit, when its points are exchanged.
    pub is_even: [u32; BATCH],
}

impl Angles {
    /// All zeros.
    pub const EMPTY: Self = Self { parts: [[0; BATCH]; 3], is_even: [0; BATCH] };
}

/// Places of the signed and of the unsigned bin in a descriptor, for each part in the list of all parts.
pub const BINS_OF: [[u8; 2]; ALL_PARTS] = {
    let mut bins = [[0; 2]; ALL_PARTS];
    let mut angle = 0;
    while angle < 3 {
        let (parts, mut part) = (PARTS[angle] * BINS, 0);
        while part < parts {
            // Distance from the middle; beyond a right angle it is folded back.
            let from_middle = if 2 * part >= parts { part - parts / 2 } else { parts / 2 - 1 - part };
            let folded = if from_middle < BINS { from_middle } else { 2 * BINS - 1 - from_middle };
            let first = angle * BINS;
            bins[FIRST[angle] + part] = [(first + part / PARTS[angle]) as u8, (first + folded) as u8];
            part += 1;
        }
        angle += 1;
    }
    bins
};

compiled_twice! {
    /// Angles of all pairs of the batch.
    pub fn pair_angles(pairs: &Pairs, angles: &mut Angles) = pair_angles_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn pair_angles_lanes(pairs: &Pairs, out: &mut Angles) {
    let ([nx, ny, nz], [px, py, pz], [mx, my, mz]) = (&pairs.first, &pairs.place, &pairs.second);
    for k in 0..BATCH {
        let (parts, is_even) = angles([nx[k], ny[k], nz[k]], [px[k], py[k], pz[k]], [mx[k], my[k], mz[k]]);
        for (out, part) in out.parts.iter_mut().zip(parts) {
            out[k] = part;
        }
        out.is_even[k] = u32::from(is_even);
    }
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn angles(n: [f32; 3], p: [f32; 3], m: [f32; 3]) -> ([u32; 3], bool) {
    let dot = |u: [f32; 3], v: [f32; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let cross = |u: [f32; 3], v: [f32; 3]| {
        [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    };
    let length_sq = dot(p, p);
    let inverse = 1.0 / length_sq.max(f32::MIN_POSITIVE).sqrt();
    let d = [p[0] * inverse, p[1] * inverse, p[2] * inverse];
    let (at_n, at_m) = (dot(n, d), dot(m, d));
    // The smaller angle with the line, whichever way the normals point, has the larger cosine.
    let swap = at_m.abs() > at_n.abs();
    let choose = |a: f32, b: f32| if swap { b } else { a };
    let u = [choose(n[0], m[0]), choose(n[1], m[1]), choose(n[2], m[2])];
    let t = [choose(m[0], n[0]), choose(m[1], n[1]), choose(m[2], n[2])];
    let d = [choose(d[0], -d[0]), choose(d[1], -d[1]), choose(d[2], -d[2])];
    let phi = choose(at_n, -at_m);
    let v = cross(d, u);
    let v_sq = dot(v, v);
    let v_inverse = 1.0 / v_sq.max(f32::MIN_POSITIVE).sqrt();
    let v = [v[0] * v_inverse, v[1] * v_inverse, v[2] * v_inverse];
    let w = cross(u, v);
    let alpha = dot(v, t);
    let theta = angle(dot(w, t), dot(u, t));
    let shares = [0.5 + 0.5 / PI * theta, 0.5 + 0.5 * alpha, 0.5 + 0.5 * phi];
    let valid = length_sq > 0.0 && v_sq > 1e-10;
    let parts = std::array::from_fn(|k| {
        let parts = (PARTS[k] * BINS) as f32;
        let share = (shares[k] * parts).max(0.0).min(parts - 1.0);
        // SAFETY: `max` turns NaN into 0, so this is a number from 0 to 43. A checked conversion does not vectorise.
        let part = unsafe { share.to_int_unchecked::<i32>() } as u32 + FIRST[k] as u32;
        if valid { part } else { ALL_PARTS as u32 }
    });
    (parts, at_n.abs() == at_m.abs())
}

const PI: f32 = std::f32::consts::PI;

/// Angle of the vector `(x, y)` with an error of about 10⁻⁶: the series 4.4.49 of Abramowitz and Stegun. Only bins depend on it. Unlike that of
/// the C library it is the same on every CPU.
#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn angle(y: f32, x: f32) -> f32 {
    let (ax, ay) = (x.abs(), y.abs());
    let z = ax.min(ay) / ax.max(ay).max(f32::MIN_POSITIVE);
    let s = z * z;
    let mut sum = 0.002_866_225_7_f32;
    for c in
        [-0.016_165_737, 0.042_909_614, -0.075_289_64, 0.106_562_64, -0.142_089, 0.199_935_5, -0.333_331_45]
    {
        sum = sum * s + c;
    }
    let first = z * (1.0 + s * sum);
    let steep = if ay > ax { 0.5 * PI - first } else { first };
    let half = if x < 0.0 { PI - steep } else { steep };
    if y < 0.0 { -half } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_angle_is_right_all_round() {
        for k in -1000..=1000 {
            let truth = f64::from(k) * std::f64::consts::PI / 1000.5;
            let found = angle((3.0 * truth.sin()) as f32, (3.0 * truth.cos()) as f32);
            assert!((f64::from(found) - truth).abs() < 2e-6, "{truth} {found}");
        }
        assert_eq!(angle(0.0, 0.0), 0.0);
    }

    /// Some coordinates are zero, so that some pairs have no angles.
    fn random_pairs(random: &mut Random) -> Pairs {
        let mut pairs = Pairs::EMPTY;
        for column in pairs.first.iter_mut().chain(&mut pairs.place).chain(&mut pairs.second) {
            column
                .iter_mut()
                .for_each(|x| *x = if random.below(3) == 0 { 0.0 } else { random.gaussian() as f32 });
        }
        pairs
    }

    fn angles_of(pairs: &Pairs) -> Angles {
        let mut angles = Angles::EMPTY;
        pair_angles(pairs, &mut angles);
        angles
    }

    #[test]
    fn both_compilations_are_equal_to_the_bit() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let pairs = random_pairs(&mut random);
            let (chosen, mut plain) = (angles_of(&pairs), Angles::EMPTY);
            pair_angles_lanes(&pairs, &mut plain);
            assert_eq!(chosen, plain);
            for (angle, parts) in chosen.parts.iter().enumerate() {
                let range = FIRST[angle]..FIRST[angle] + PARTS[angle] * BINS;
                assert!(
                    parts.iter().all(|&part| range.contains(&(part as usize)) || part == ALL_PARTS as u32)
                );
            }
        }
    }

    #[test]
    fn exchanged_points_have_the_same_angles_unless_they_are_even() {
        let mut random = Random::new(6);
        let (mut same, mut even) = (0, 0);
        for _ in 0..200 {
            let Pairs { first, place, second } = random_pairs(&mut random);
            let back = place.map(|column| column.map(|x| -x));
            let there = angles_of(&Pairs { first, place, second });
            let back = angles_of(&Pairs { first: second, place: back, second: first });
            assert_eq!(there.is_even, back.is_even);
            for k in 0..BATCH {
                if there.is_even[k] == 0 {
                    assert_eq!(there.parts.map(|parts| parts[k]), back.parts.map(|parts| parts[k]));
                    same += 1;
                } else {
                    even += 1;
                }
            }
        }
        assert!(same > 10_000 && even > 100, "{same} {even}");
    }

    #[test]
    fn known_pairs_have_known_bins() {
        let mut pairs = Pairs::EMPTY;
        pairs.first[2] = [1.0; BATCH];
        // Beside it on a plane: all angles are zero. Around a right corner: φ = cos 45°, θ = 90°.
        let half = 0.5_f32.sqrt();
        for (k, (p, m)) in
            [([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]), ([half, 0.0, half], [1.0, 0.0, 0.0])].into_iter().enumerate()
        {
            for axis in 0..3 {
                pairs.place[axis][k] = p[axis];
                pairs.second[axis][k] = m[axis];
            }
        }
        let parts = angles_of(&pairs).parts;
        let bins = |pair: usize| [0, 1, 2].map(|angle| BINS_OF[parts[angle][pair] as usize]);
        assert_eq!(bins(0), [[5, 0], [16, 11], [27, 22]]);
        let [[_, theta], alpha, phi] = bins(1);
        assert_eq!((theta, alpha, phi), (10, [16, 11], [31, 29]));
        assert_eq!(parts.map(|parts| parts[2]), [ALL_PARTS as u32; 3], "a point on the other");
    }

    #[test]
    fn parts_fold_as_angles_do() {
        for (angle, parts) in PARTS.iter().enumerate() {
            let count = parts * BINS;
            for part in 0..count {
                // The middle of the part, from −1 to 1 for what is −π to π, or a cosine.
                let middle = (2.0 * part as f64 + 1.0) / count as f64 - 1.0;
                let size = if angle == 0 { 2.0 * middle.abs().min(1.0 - middle.abs()) } else { middle.abs() };
                let expected = [0.5 + 0.5 * middle, size]
                    .map(|share| (angle * BINS) as u8 + (share * BINS as f64) as u8);
                assert_eq!(BINS_OF[FIRST[angle] + part], expected, "{angle} {part}");
            }
        }
    }
}
