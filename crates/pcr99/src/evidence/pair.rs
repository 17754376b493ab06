//! The probability that two wrong matches agree on a transform that keeps a known vertical.
//!
//! Two matches determine a turn about the vertical and a translation, and leave the difference of heights and the horizontal distance over. With the least squares
//! fit of both, each is off by half of what remains. So two wrong matches agree within `e` when what remains is at most `2e`. How often that happens is counted:
//! the difference of two sources is compared with the difference of the targets of two other matches. A tilt `θ` may turn one difference towards the other by as
//! much, and an unknown scale may stretch it.

use pcr99_base::{Soa, upright::Tilt, vector::minus};

use crate::random::Random;

/// Number of differences that are compared. A probability of a hundredth is counted with a standard deviation of a twelfth.
const COMPARED: usize = 1 << 14;
/// Number of differences within a radius from which their share is taken as it is: its standard deviation is below a third.
const ENOUGH: usize = 10;
/// Number of radii, half an octave apart, from the extent of the targets down to a 65 000th of it.
const RADII: usize = 32;

/// The logarithm of the probability as a function of the radius.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairChance {
    /// Logarithm of the largest radius.
    log_reach: f64,
    log_share: [f64; RADII],
    /// Slope beyond the last radius.
    fall: f64,
    tilt: Tilt,
}

impl PairChance {
    /// Counts the matches `points`, whose third axis is up. Lengths are compared with a scale within `scales`.
    pub(super) fn count(points: &Soa, tilt: Tilt, scales: [f64; 2], extent: f64) -> Self {
        let n = points.len();
        let mut random = Random::new(0);
        let mut counts = [0_usize; RADII];
        let log_reach = libm::log(2.0 * extent);
        let half_octave = 0.5 * std::f64::consts::LN_2;
        let ratio = |i: usize| 1.0 / points.precision_of(i).sqrt();
        let compared = COMPARED.min(64 * n * n);
        for _ in 0..compared {
            let [i, j, k, l] = std::array::from_fn(|_| random.below(n));
            if i == j || k == l || [i, j] == [k, l] || [i, j] == [l, k] {
                continue;
            }
            let source = heights(minus(points.source(i), points.source(j)));
            let target = heights(minus(points.target(k), points.target(l)));
            let off = remainder(source, target, tilt, scales) / (ratio(i) + ratio(j));
            let place = (log_reach - libm::log(off.max(1e-300))) / half_octave;
            if place >= 0.0 {
                counts[(place as usize).min(RADII - 1)] += 1;
            }
        }
        // From counts between radii to counts within each.
        for place in (0..RADII - 1).rev() {
            counts[place] += counts[place + 1];
        }
        // Differences of height and of distance, less what a tilt and the scale take up.
        let fall = f64::from(u8::from(tilt.is_none())) + f64::from(u8::from(scales[0] == scales[1]));
        let mut log_share = [0.0; RADII];
        for place in 0..RADII {
            let continued = if place == 0 { 0.0 } else { log_share[place - 1] - fall * half_octave };
            let counted = counts[place] as f64;
            log_share[place] = if counts[place] >= ENOUGH {
                libm::log(counted / compared as f64)
            } else {
                // Never below what the few show.
                continued.max(libm::log((counted - counted.sqrt()).max(0.0) / compared as f64))
            };
        }
        Self { log_reach, log_share, fall, tilt }
    }

    /// `ln` of the probability that two wrong matches agree within a radius given by its logarithm.
    pub(super) fn log_at(&self, log_radius: f64) -> f64 {
        let steps = 2.0 * (self.log_reach - log_radius) / std::f64::consts::LN_2;
        if steps <= 0.0 {
            return self.log_share[0].min(0.0);
        }
        let last = (RADII - 1) as f64;
        if steps >= last {
            return self.log_share[RADII - 1] - self.fall * 0.5 * std::f64::consts::LN_2 * (steps - last);
        }
        let place = steps as usize;
        let (here, next) = (self.log_share[place], self.log_share[place + 1]);
        here + (next - here) * (steps - place as f64)
    }

    /// `ln` of the factor by which a tilt makes it more probable that a third match agrees within a radius: it sweeps an arc of the length `2θ·reach` instead of staying
    /// at one place. The volume of a tube about the arc, with round ends, is that of a ball times this factor.
    pub(super) fn log_sweep(&self, log_radius: f64, reach: f64) -> f64 {
        libm::log1p(1.5 * self.tilt.radians() * reach / libm::exp(log_radius))
    }
}

/// Horizontal length and height of a difference.
fn heights([x, y, z]: [f64; 3]) -> [f64; 2] {
    [(x * x + y * y).sqrt(), z]
}

/// What remains of the difference of two vectors, given by their horizontal lengths and heights, after the best turn about the vertical, tilt and scale.
fn remainder(source: [f64; 2], target: [f64; 2], tilt: Tilt, [low, high]: [f64; 2]) -> f64 {
    let along = source[0] * target[0] + source[1] * target[1];
    let across = (source[0] * target[1] - source[1] * target[0]).abs();
    let length = |[x, y]: [f64; 2]| (x * x + y * y).sqrt();
    let (a, b) = (length(source), length(target));
    // The angle between the two, less the tilt.
    let (sine, cosine) = tilt.sine_and_cosine();
    let (mut less_along, mut less_across) = (along * cosine + across * sine, across * cosine - along * sine);
    if less_across < 0.0 {
        (less_along, less_across) = (a * b, 0.0);
    }
    if a == 0.0 {
        return b;
    }
    // Both in the frame of the source: the target is at (x, y), and the source at (s·a, 0).
    let (x, y) = (less_along / a, less_across / a);
    let s = (x / a).clamp(low, high);
    length([x - s * a, y])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::background::tests::cloud;

    #[test]
    fn what_remains_is_what_no_pose_takes_up() {
        let tilt = |degrees| Tilt::new(degrees).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(remainder([3.0, 4.0], [3.0, 4.0], tilt(0.0), [1.0; 2]), 0.0);
        near(remainder([3.0, 4.0], [4.0, 2.0], tilt(0.0), [1.0; 2]), 5.0_f64.sqrt());
        near(remainder([1.0, 0.0], [0.0, 1.0], tilt(60.0), [1.0; 2]), 2.0 * libm::sin(15.0_f64.to_radians()));
        near(remainder([1.0, 0.0], [2.0, 0.2], tilt(10.0), [1.0; 2]), 2.0_f64.hypot(0.2) - 1.0);
        near(remainder([1.0, 0.0], [2.0, 0.2], tilt(0.0), [0.5, 3.0]), 0.2);
        near(remainder([0.0, 0.0], [2.0, 0.0], tilt(0.0), [1.0; 2]), 2.0);
    }

    /// Pairs of wrong matches that are all compared with each other.
    #[test]
    fn the_probability_is_that_of_a_full_count() {
        let mut points = cloud(60, 1.0, 3);
        points.b = cloud(60, 1.0, 4).b;
        for (degrees, scales) in [(0.0, [1.0; 2]), (5.0, [1.0; 2]), (0.0, [0.2, 5.0]), (5.0, [0.2, 5.0])] {
            let tilt = Tilt::new(degrees).unwrap();
            let chance = PairChance::count(&points, tilt, scales, 1.0);
            for radius in [0.05_f64, 0.1, 0.3] {
                let (mut within, mut all) = (0_usize, 0_usize);
                for (i, j) in (0..60).flat_map(|i| (0..i).map(move |j| (i, j))) {
                    for (k, l) in (0..60).flat_map(|k| (0..60).map(move |l| (k, l))).filter(|(k, l)| k != l) {
                        let source = heights(minus(points.source(i), points.source(j)));
                        let target = heights(minus(points.target(k), points.target(l)));
                        within += usize::from(remainder(source, target, tilt, scales) <= 2.0 * radius);
                        all += 1;
                    }
                }
                let exact = within as f64 / all as f64;
                let found = libm::exp(chance.log_at(libm::log(radius)));
                assert!((found / exact - 1.0).abs() < 0.3, "{degrees} {radius}: {found} {exact}");
            }
        }
    }
}
