//! The probability that a wrong match agrees with a transform by chance.
//!
//! `α(e)` is the share of the targets of *other* matches within `e` of a moved source. Under wrong matches, which pair sources with targets
//! at random, that is how often a match agrees. The share is at least that of an even distribution in the ellipsoid of the targets. It is
//! larger where the transform moves the sources to a crowd of targets, and falls more slowly than with `e³` on surfaces, curves and lattices.

use pcr99_base::{
    Soa,
    kernel::{
        consensus::{Affine, squared_distance},
        near::{BLOCK, RINGS, count_rings, ring_of},
    },
};

use super::{background::Background, slabs::Slabs};

/// Number of hits from which a count is taken as it is: its standard deviation is below a third.
const ENOUGH_HITS: u32 = 10;
/// Number of hits from which a count is precise enough for the verdict.
const PRECISE_HITS: u32 = 30;
/// Steepest fall of the share with the radius: that of points that fill space.
const SPACE: f64 = 3.0;
/// Sizes of the samples, in matches. A larger one follows only while the outcome depends on it.
pub(super) const SAMPLES: [usize; 5] = [16, 64, 256, 1024, 4096];
/// Number of samples tried within a subset of the matches, where the verdict is not final.
pub(super) const SUBSET_STAGES: usize = 3;
/// Index of the sample with which the core of the residuals is found. Where the number of false alarms is smallest depends little on its size.
pub(super) const CORE_STAGE: usize = 1;
/// Largest radius of each sample, relative to the extent of the targets. The larger the sample, the smaller the radii at which it has enough
/// hits; a smaller reach keeps the number of hits, and the time, bounded.
const REACHES: [f64; 5] = [0.3, 0.3, 0.15, 0.075, 0.0375];

/// `ln α` as a function of the radius.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance {
    log_axes: [f64; 3],
    log_even_share: f64,
    background: Background,
    /// `ln` of the largest radius that was counted, and `ln α` there and at each smaller one; empty when nothing was counted.
    log_reach: f64,
    log_share: [f64; RINGS],
    counted: bool,
    /// Hits within each radius, and the number of pairs that were compared.
    hits: [u32; RINGS],
    pairs: f64,
}

impl Chance {
    /// The share for evenly distributed targets.
    pub(super) fn even(background: &Background) -> Self {
        let log_axes = background.half_axes().map(libm::log);
        let log_even_share = libm::log(background.share());
        Self {
            log_axes,
            log_even_share,
            background: *background,
            log_reach: 0.0,
            log_share: [f64::NEG_INFINITY; RINGS],
            counted: false,
            hits: [0; RINGS],
            pairs: 1.0,
        }
    }

    /// `ln α` at a radius given by its logarithm.
    pub(super) fn log_at(&self, log_radius: f64) -> f64 {
        let share = |log_radius: f64| {
            self.log_even_share + self.log_axes.iter().map(|axis| (log_radius - axis).min(0.0)).sum::<f64>()
        };
        let noise = self.background.noise();
        let even = if noise.differs() {
            libm::log(noise.mean(|ratio| libm::exp(share(log_radius + libm::log(ratio)))))
        } else {
            share(log_radius)
        };
        if self.counted { even.max(self.log_counted(log_radius)).min(0.0) } else { even }
    }

    /// `ln` of the probability that the three matches to which a transform is fitted agree by chance, at a radius given by its logarithm; 0 unless the vertical is known.
    pub(super) fn log_minimal_at(&self, log_radius: f64) -> f64 {
        self.background.log_minimal(log_radius, self.log_at(log_radius))
    }

    /// The larger of two shares at every radius.
    pub(super) fn larger(&self, other: &Self) -> Self {
        let mut larger = *self;
        if other.counted && self.counted {
            for (ring, share) in larger.log_share.iter_mut().enumerate() {
                let log_radius = self.log_reach - 0.5 * std::f64::consts::LN_2 * ring as f64;
                *share = share.max(other.log_counted(log_radius));
            }
        }
        larger
    }

    /// An upper bound at every radius: the hits and three standard deviations more, or four where there is none.
    pub(super) fn at_most(&self) -> Self {
        let most = |hits: u32| {
            libm::log(((f64::from(hits) + 3.0 * f64::from(hits).sqrt() + 4.0) / self.pairs).min(1.0))
        };
        Self { log_share: self.hits.map(most), ..*self }
    }

    /// Whether the share at this radius was counted with a standard deviation below a fifth.
    pub(super) fn is_precise_at(&self, radius: f64) -> bool {
        let relative = radius / libm::exp(self.log_reach);
        self.hits[ring_of((relative * relative).min(1.0))] >= PRECISE_HITS
    }

    /// The counted share, interpolated between the rings. Beyond the last ring it is constant or falls as it did before; beyond the first it
    /// grows like the volume, which never understates it.
    fn log_counted(&self, log_radius: f64) -> f64 {
        let steps = 2.0 * (self.log_reach - log_radius) / std::f64::consts::LN_2;
        if steps <= 0.0 {
            return self.log_share[0] + SPACE * (log_radius - self.log_reach);
        }
        let ring = (steps as usize).min(RINGS - 2);
        let (here, next) = (self.log_share[ring], self.log_share[ring + 1]);
        here + (next - here) * (steps - ring as f64)
    }
}

/// The smallest sample that can show that `α` is at most `share`: without a hit it says four in the number of pairs.
pub(super) fn first_stage(share: f64) -> usize {
    let enough = |sample: &usize| 4.0 <= share * (sample * sample) as f64;
    SAMPLES.iter().position(enough).unwrap_or(SAMPLES.len() - 1)
}

/// Counts how many targets are near moved sources. Buffers are kept between calls.
#[derive(Debug, Default)]
pub(super) struct Counter {
    /// Sampled matches by slabs of the first coordinate of their target, and those targets.
    order: Vec<u32>,
    targets: [Vec<f64>; 3],
    slabs: Slabs,
    /// The matches from the noisiest to the most precise; empty when all are alike.
    by_noise: Vec<u32>,
    /// Number of matches and of samples that the targets belong to, where they may be used again.
    sampled: Option<[usize; 2]>,
}

impl Counter {
    /// Forgets the targets of earlier matches.
    pub(super) fn begin(&mut self) {
        self.sampled = None;
    }

    /// The share counted with the sample of that `stage`, and an upper bound on `α` at `delta`. With `keep`, the sorted targets are used again in
    /// the next call with as many matches; they must be the same.
    pub(super) fn count(
        &mut self,
        points: &Soa,
        model: &Affine,
        background: &Background,
        delta: f64,
        stage: usize,
        keep: bool,
    ) -> (Chance, f64) {
        let n = points.len();
        let sample = SAMPLES[stage].min(n);
        let reach = (REACHES[stage] * background.extent()).max(delta);
        let half_step = n / (2 * sample);
        let other =
            |place: usize| if place + half_step >= n { place + half_step - n } else { place + half_step };
        let sampled = keep.then_some([n, sample]);
        if !keep || self.sampled.is_none_or(|[matches, _]| matches != n) {
            sort_by_noise(points, &mut self.by_noise);
        }
        if !keep || self.sampled != sampled {
            self.order.clear();
            self.order.extend(evenly(n, sample).map(|place| at(&self.by_noise, other(place)) as u32));
            self.slabs.divide(&points.b[0], &mut self.order);
            for (to, from) in self.targets.iter_mut().zip(&points.b) {
                to.clear();
                to.extend(self.order.iter().map(|&i| from[i as usize]));
                to.resize(sample + BLOCK, f64::INFINITY);
            }
            self.sampled = sampled;
        }
        let mut hits = [0_u32; RINGS];
        for place in evenly(n, sample) {
            let source = at(&self.by_noise, place);
            // A noisier match agrees from farther away.
            let (reach, reach_sq) = if self.by_noise.is_empty() {
                (reach, reach * reach)
            } else {
                let reach_sq = reach * reach / points.precision[source];
                (reach_sq.sqrt(), reach_sq)
            };
            let [x, y, z] = points.source(source);
            let moved: [f64; 3] = std::array::from_fn(|axis| {
                let row = model.linear[axis];
                row[0] * x + row[1] * y + row[2] * z + model.translation[axis]
            });
            let near = self.slabs.between(moved[0] - reach, moved[0] + reach);
            // Whole blocks: what is beyond is out of reach.
            let near = near.start..near.start + near.len().next_multiple_of(BLOCK);
            let window = self.targets.each_ref().map(|column| &column[near.clone()]);
            count_rings(window, moved, reach_sq, &mut hits);
            let own = if half_step == 0 { squared_distance(points, model, source) } else { f64::INFINITY };
            if own <= reach_sq {
                let ring = &mut hits[ring_of(own * (1.0 / reach_sq))];
                *ring = ring.saturating_sub(1);
            }
        }
        // A match is not compared with itself, where the sample of targets holds it.
        let own = if half_step == 0 { sample } else { 0 };
        let pairs = (sample * sample - own).max(1) as f64;
        // From hits per ring to hits within each radius.
        for ring in (0..RINGS - 1).rev() {
            hits[ring] += hits[ring + 1];
        }
        let chance = Chance {
            log_reach: libm::log(reach),
            log_share: log_shares(&hits, pairs),
            counted: true,
            hits,
            pairs,
            ..Chance::even(background)
        };
        let within = ring_of((delta * delta / (reach * reach)).min(1.0));
        let most = f64::from(hits[within]);
        (chance, ((most + 3.0 * most.sqrt() + 4.0) / pairs).min(1.0))
    }
}

/// The match at a place of the order, which is that of the indices when it is empty.
#[inline]
fn at(order: &[u32], place: usize) -> usize {
    if order.is_empty() { place } else { order[place] as usize }
}

/// Sorts the matches from the noisiest to the most precise; `order` stays empty when all are alike.
///
/// An even sample of this order takes the noisiest match of each stretch. A noisier match agrees more often, so the sample does not miss the few that agree
/// with nearly everything, and the share is not understated.
fn sort_by_noise(points: &Soa, order: &mut Vec<u32>) {
    let precision = &points.precision;
    order.clear();
    order.extend(0..precision.len() as u32);
    order.sort_unstable_by(|&i, &j| precision[i as usize].total_cmp(&precision[j as usize]).then(i.cmp(&j)));
}

/// `ln` of the shares. Where hits are few, the fall of the last octave with enough of them is continued, but the share is never below what
/// the hits themselves show.
fn log_shares(hits: &[u32; RINGS], pairs: f64) -> [f64; RINGS] {
    let at_least = |hits: u32| libm::log((f64::from(hits) - f64::from(hits).sqrt()).max(0.0) / pairs);
    let mut shares = [f64::NEG_INFINITY; RINGS];
    let enough = hits.iter().take_while(|&&hits| hits >= ENOUGH_HITS).count();
    for (share, &hits) in shares.iter_mut().zip(&hits[..enough]) {
        *share = libm::log(f64::from(hits) / pairs);
    }
    // Two rings are one octave.
    let fall =
        if enough >= 3 { (shares[enough - 3] - shares[enough - 1]) / std::f64::consts::LN_2 } else { SPACE };
    let step = fall.clamp(0.0, SPACE) * 0.5 * std::f64::consts::LN_2;
    for ring in enough..RINGS {
        let continued = if ring == 0 { f64::NEG_INFINITY } else { shares[ring - 1] - step };
        shares[ring] = continued.max(at_least(hits[ring]));
    }
    shares
}

/// The numbers `k·n/count`, rounded down, for `k` from 0 to `count`, without a division for each.
pub(super) fn evenly(n: usize, count: usize) -> impl Iterator<Item = usize> {
    let (step, rest) = (n / count, n % count);
    let next = move |&(place, left): &(usize, usize)| {
        let left = left + rest;
        let (carry, left) = if left >= count { (1, left - count) } else { (0, left) };
        Some((place + step + carry, left))
    };
    std::iter::successors(Some((0, 0)), next).take(count).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{evidence::background::tests::cloud, random::Random};

    #[test]
    fn places_are_even() {
        for (n, count) in [(1000, 64), (100, 64), (64, 64), (65, 64), (5, 3), (1, 1)] {
            assert!(evenly(n, count).eq((0..count).map(|k| k * n / count)), "{n} {count}");
        }
    }

    fn shrunk(s: f64) -> Affine {
        Affine { linear: [[s, 0.0, 0.0], [0.0, s, 0.0], [0.0, 0.0, s]], translation: [0.0; 3] }
    }

    /// The share that a full comparison of all sources with all other targets gives.
    fn exact(points: &Soa, model: &Affine, radius: f64) -> f64 {
        let n = points.len();
        let near = |i: usize, j: usize| {
            let mut pair = Soa::default();
            for axis in 0..3 {
                pair.a[axis].push(points.a[axis][i]);
                pair.b[axis].push(points.b[axis][j]);
            }
            squared_distance(&pair, model, 0) * points.precision_of(i) <= radius * radius
        };
        let hits =
            (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| i != j && near(i, j)).count();
        hits as f64 / (n * (n - 1)) as f64
    }

    #[test]
    fn all_matches_give_the_exact_share() {
        let mut points = cloud(300, 1.0, 4);
        let model = shrunk(0.7);
        // The targets are denser in the middle.
        points.b.iter_mut().for_each(|column| column[..150].iter_mut().for_each(|x| *x *= 0.5));
        let background = Background::of(&points, 1e-15);
        let (chance, most) = Counter::default().count(&points, &model, &background, 0.1, 3, false);
        for radius in [0.1, 0.1 * 0.5_f64.sqrt()] {
            let want = exact(&points, &model, radius).max(background.chance(radius));
            let got = chance.log_at(radius.ln()).exp();
            assert!((got / want - 1.0).abs() < 0.02, "{radius}: {got} {want}");
        }
        assert!(most > exact(&points, &model, 0.1));
    }

    /// Each source has its own radius where matches differ in noise.
    #[test]
    fn noisier_matches_agree_from_farther_away() {
        let mut random = Random::new(8);
        let mut points = cloud(400, 1.0, 4);
        points.b.iter_mut().for_each(|column| column[..200].iter_mut().for_each(|x| *x *= 0.3));
        points.precision = (0..400).map(|_| libm::exp10(2.0 * random.uniform() - 1.0)).collect();
        let (model, background) = (shrunk(0.7), Background::of(&points, 1e-15));
        let (chance, most) = Counter::default().count(&points, &model, &background, 0.1, 3, false);
        for radius in [0.1, 0.05] {
            let want = exact(&points, &model, radius).max(background.chance(radius));
            let got = chance.log_at(libm::log(radius)).exp();
            assert!((got / want - 1.0).abs() < 0.02, "{radius}: {got} {want}");
        }
        assert!(most > exact(&points, &model, 0.1));
        // Smaller samples say no less on average.
        let mut sum = 0.0;
        for shift in 0..40 {
            let order: Vec<u32> = (0..400).map(|i| (i * 7 + shift * 10) % 400).collect();
            let mut shuffled = Soa::default();
            shuffled.assign_permuted(&points, &order);
            let (chance, _) = Counter::default().count(&shuffled, &model, &background, 0.1, 1, false);
            sum += chance.log_at(libm::log(0.1)).exp() / 40.0;
        }
        assert!(sum > 0.95 * exact(&points, &model, 0.1), "{sum}");
    }

    /// Two thirds of the targets lie in a tenth of the width; a transform that shrinks the sources moves them all there.
    #[test]
    fn a_crowd_is_counted() {
        let mut points = cloud(3000, 1.0, 4);
        points.b.iter_mut().for_each(|column| column[..2000].iter_mut().for_each(|x| *x *= 0.1));
        let background = Background::of(&points, 1e-15);
        let (chance, _) = Counter::default().count(&points, &shrunk(0.05), &background, 0.1, 2, false);
        let at = |radius: f64| chance.log_at(radius.ln()).exp();
        assert!((0.4..0.7).contains(&at(0.1)), "{}", at(0.1));
        assert!(at(0.01) > 10.0 * background.chance(0.01), "{}", at(0.01));
    }

    /// On a lattice, points coincide or are a step apart, so the share stays the same below the step.
    #[test]
    fn a_lattice_has_a_constant_share() {
        let mut random = Random::new(2);
        let mut points = Soa::default();
        for _ in 0..1000 {
            for axis in 0..3 {
                points.a[axis].push(0.1 * random.below(12) as f64);
                points.b[axis].push(0.1 * random.below(12) as f64);
            }
        }
        let background = Background::of(&points, 1e-15);
        let (chance, _) = Counter::default().count(&points, &shrunk(1.0), &background, 0.02, 3, false);
        let at = |radius: f64| chance.log_at(libm::log(radius)).exp();
        let coincide = 1.0 / 12_f64.powi(3);
        assert!(
            (at(0.001) / coincide - 1.0).abs() < 0.2 && (at(1e-6) / coincide - 1.0).abs() < 0.2,
            "{}",
            at(1e-6)
        );
    }

    /// Without a hit, a sample says four in the number of pairs; the first stage is the first that can say enough.
    #[test]
    fn the_first_stage_is_large_enough() {
        assert_eq!(first_stage(0.5), 0);
        assert_eq!(first_stage(1e-4), 2);
        assert_eq!(first_stage(1e-12), SAMPLES.len() - 1);
    }
}
