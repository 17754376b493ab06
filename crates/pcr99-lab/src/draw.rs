//! Random streams, one per part of a problem, and random draws.

use pcr99::random::Random;
use pcr99_base::{
    rotation_of,
    vector::{dot, norm, times},
};

/// Purpose of a random stream. Each purpose has its own stream, so that a change of one part of a recipe leaves the other parts
/// unchanged. The order fixes the streams: append only.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Points,
    Rotation,
    Translation,
    Scale,
    Noise,
    OutlierChoice,
    OutlierPoints,
    OutlierCenter,
}

impl Purpose {
    /// Stream of this purpose in the problem with `seed`.
    pub(crate) fn stream(self, seed: u64) -> Random {
        let mut seeds = Random::new(seed);
        for _ in 0..self as usize {
            seeds.bits();
        }
        Random::new(seeds.bits())
    }
}

/// `count` distinct indices below `len` in random order; every ordered choice is equally likely.
/// `count` must not exceed `len`.
pub(crate) fn distinct_indices(len: usize, count: usize, random: &mut Random) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..len).collect();
    for i in 0..count {
        indices.swap(i, i + random.below(len - i));
    }
    indices.truncate(count);
    indices
}

/// Three independent standard normal numbers.
pub(crate) fn gaussian_vector(random: &mut Random) -> [f64; 3] {
    std::array::from_fn(|_| random.gaussian())
}

/// Direction, uniform on the unit sphere: the normal distribution is isotropic.
pub(crate) fn direction(random: &mut Random) -> [f64; 3] {
    loop {
        let vector = gaussian_vector(random);
        let length = norm(vector);
        // Shorter vectors would lose digits. The probability is about 10⁻³⁰.
        if length > 1e-10 {
            return times(1.0 / length, vector);
        }
    }
}

/// Point, uniform in the unit ball, by rejection from the cube around it.
pub(crate) fn in_unit_ball(random: &mut Random) -> [f64; 3] {
    loop {
        let point = std::array::from_fn(|_| 2.0 * random.uniform() - 1.0);
        if dot(point, point) <= 1.0 {
            return point;
        }
    }
}

/// Rotation, uniform on SO(3): four normal numbers, normalized, are a uniform unit quaternion.
pub(crate) fn rotation(random: &mut Random) -> [[f64; 3]; 3] {
    loop {
        let q: [f64; 4] = std::array::from_fn(|_| random.gaussian());
        // A shorter quaternion would lose digits.
        if q.iter().map(|c| c * c).sum::<f64>() > 1e-20 {
            return rotation_of(q);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::vector::cross;

    use crate::metrics::rotation_error_deg;

    const IDENTITY: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    #[test]
    fn rotations_are_proper_and_orthonormal() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let r = rotation(&mut random);
            assert!((dot(r[0], cross(r[1], r[2])) - 1.0).abs() < 1e-12);
            for (i, row) in r.iter().enumerate() {
                for (j, other) in r.iter().enumerate() {
                    assert!((dot(*row, *other) - IDENTITY[i][j]).abs() < 1e-12);
                }
            }
        }
    }

    /// The angle of a uniform rotation has density `(1 − cos θ)/π` and mean `π/2 + 2/π` = 126.5°.
    #[test]
    fn rotations_are_uniform() {
        let mut random = Random::new(2);
        let angles: Vec<f64> =
            (0..5000).map(|_| rotation_error_deg(&rotation(&mut random), &IDENTITY)).collect();
        let mean = angles.iter().sum::<f64>() / 5000.0;
        // The standard deviation of one angle is 37°, of the mean 0.52°.
        assert!((mean - 126.476).abs() < 2.0, "{mean}");
        // A first column without preferred direction.
        let mut sum = [0.0; 3];
        for _ in 0..5000 {
            let r = rotation(&mut random);
            for axis in 0..3 {
                sum[axis] += r[axis][0] / 5000.0;
            }
        }
        assert!(norm(sum) < 0.05, "{sum:?}");
    }

    #[test]
    fn ball_is_filled_evenly() {
        let mut random = Random::new(3);
        // The cube of the radius is uniform in [0, 1).
        let cubes: Vec<f64> = (0..20_000)
            .map(|_| {
                let r = norm(in_unit_ball(&mut random));
                r * r * r
            })
            .collect();
        assert!(cubes.iter().all(|&c| c <= 1.0));
        let mean = cubes.iter().sum::<f64>() / 20_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn indices_are_distinct_and_uniform() {
        let mut random = Random::new(4);
        let mut hits = [0_u32; 7];
        for _ in 0..7000 {
            let chosen = distinct_indices(7, 3, &mut random);
            assert!(chosen[0] != chosen[1] && chosen[1] != chosen[2] && chosen[0] != chosen[2]);
            chosen.iter().for_each(|&i| hits[i] += 1);
        }
        assert!(hits.iter().all(|hit| hit.abs_diff(3000) < 200), "{hits:?}");
        let mut all = distinct_indices(50, 50, &mut random);
        assert!(!all.is_sorted());
        all.sort_unstable();
        assert!(all.into_iter().eq(0..50));
    }

    #[test]
    fn streams_differ_by_purpose_and_seed() {
        let firsts = [
            Purpose::Points.stream(0).bits(),
            Purpose::OutlierCenter.stream(0).bits(),
            Purpose::Points.stream(1).bits(),
            Random::new(0).bits(),
        ];
        for (i, first) in firsts.iter().enumerate() {
            assert!(!firsts[..i].contains(first));
        }
    }
}
