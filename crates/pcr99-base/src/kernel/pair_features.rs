//! Angles between one point with its normal and many others, as bins of their histograms (fast point feature histograms, FPFH).

use crate::dispatch::compiled_twice;

/// Number of pairs in a batch.
pub const BATCH: usize = 64;
/// Number of bins of each histogram.
pub const BINS: usize = 11;
/// Numbers of a descriptor: one histogram for each of three angles.
pub const DIMENSIONS: usize = 3 * BINS;
/// One descriptor: 11 bins for `θ`, 11 for `α`, 11 for `φ`. Each histogram sums to 200.
pub type Descriptor = [f32; DIMENSIONS];
/// Bin of pairs without angles: coincident points, or a normal along the line between them.
pub const NONE: u32 = 63;
/// Number of parts of a bin of `θ`, of `α` and of `φ`. They are as fine as the unsigned histogram needs.
///
/// The unsigned `θ` covers a quarter of a turn in eleven bins, so its bins are a fourth of the signed ones. The unsigned `α` and `φ` cover one side of zero, so
/// their bins are half of the signed ones.
pub const PARTS: [usize; 3] = [4, 2, 2];

/// Other points of a batch, relative to the one, with their normals.
#[derive(Debug, Clone)]
pub struct Others {
    /// Positions relative to the point: x, y and z.
    pub place: [[f32; BATCH]; 3],
    /// Unit normals: x, y and z.
    pub normal: [[f32; BATCH]; 3],
}

impl Others {
    /// All zeros.
    pub const EMPTY: Self = Self { place: [[0.0; BATCH]; 3], normal: [[0.0; BATCH]; 3] };
}

/// Parts of bins of `θ`, `α` and `φ`, one for each pair of the batch.
pub type Bins = [[u32; BATCH]; 3];

/// Signed and unsigned bin of a part. The `angle` is 0, 1, 2 for `θ`, `α`, `φ`.
pub fn bins_of(angle: usize, part: usize) -> [usize; 2] {
    let parts = PARTS[angle] * BINS;
    // Distance from the middle; beyond a right angle it is folded back.
    let from_middle = if 2 * part >= parts { part - parts / 2 } else { parts / 2 - 1 - part };
    let folded = if from_middle < BINS { from_middle } else { 2 * BINS - 1 - from_middle };
    [part / PARTS[angle], folded]
}

compiled_twice! {
    /// Parts of bins of all pairs of the batch.
    pub fn pair_bins(normal: [f32; 3], others: &Others, bins: &mut Bins) = pair_bins_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn pair_bins_lanes(normal: [f32; 3], others: &Others, bins: &mut Bins) {
    let [px, py, pz] = &others.place;
    let [mx, my, mz] = &others.normal;
    for k in 0..BATCH {
        let features = angles(normal, [px[k], py[k], pz[k]], [mx[k], my[k], mz[k]]);
        for (bins, bin) in bins.iter_mut().zip(features) {
            bins[k] = bin;
        }
    }
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
fn angles(n: [f32; 3], p: [f32; 3], m: [f32; 3]) -> [u32; 3] {
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
    std::array::from_fn(|k| {
        let parts = (PARTS[k] * BINS) as f32;
        let part = (shares[k] * parts).clamp(0.0, parts - 1.0) as i32 as u32;
        if valid { part } else { NONE }
    })
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

    #[test]
    fn both_compilations_are_equal_to_the_bit() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let mut others = Others::EMPTY;
            for column in others.place.iter_mut().chain(&mut others.normal) {
                // Some coordinates are zero, so that some pairs have no angles.
                column
                    .iter_mut()
                    .for_each(|x| *x = if random.below(3) == 0 { 0.0 } else { random.gaussian() as f32 });
            }
            let normal = [0.6, 0.0, -0.8];
            let (mut chosen, mut portable) = ([[0; BATCH]; 3], [[0; BATCH]; 3]);
            pair_bins(normal, &others, &mut chosen);
            pair_bins_lanes(normal, &others, &mut portable);
            assert_eq!(chosen, portable);
            for (parts, chosen) in PARTS.iter().zip(&chosen) {
                assert!(chosen.iter().all(|&part| part < (parts * BINS) as u32 || part == NONE));
            }
        }
    }

    #[test]
    fn known_pairs_have_known_bins() {
        let mut others = Others::EMPTY;
        // Beside it on a plane: all angles are zero. Around a right corner: φ = cos 45°, θ = 90°.
        let half = 0.5_f32.sqrt();
        for (k, (p, m)) in
            [([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]), ([half, 0.0, half], [1.0, 0.0, 0.0])].into_iter().enumerate()
        {
            for axis in 0..3 {
                others.place[axis][k] = p[axis];
                others.normal[axis][k] = m[axis];
            }
        }
        let mut parts = [[0; BATCH]; 3];
        pair_bins([0.0, 0.0, 1.0], &others, &mut parts);
        let bins = |pair: usize| [0, 1, 2].map(|angle| bins_of(angle, parts[angle][pair] as usize));
        assert_eq!(bins(0), [[5, 0], [5, 0], [5, 0]]);
        assert_eq!((bins(1)[0][1], bins(1)[1], bins(1)[2]), (10, [5, 0], [9, 7]));
        assert_eq!(parts.map(|parts| parts[2]), [NONE; 3], "a point on the other");
    }

    #[test]
    fn parts_fold_as_angles_do() {
        for (angle, parts) in PARTS.iter().enumerate() {
            let count = parts * BINS;
            for part in 0..count {
                // The middle of the part, from −1 to 1 for what is −π to π, or a cosine.
                let middle = (2.0 * part as f64 + 1.0) / count as f64 - 1.0;
                let size = if angle == 0 { 2.0 * middle.abs().min(1.0 - middle.abs()) } else { middle.abs() };
                let expected = [0.5 + 0.5 * middle, size].map(|share| (share * BINS as f64) as usize);
                assert_eq!(bins_of(angle, part), expected, "{angle} {part}");
            }
        }
    }
}
