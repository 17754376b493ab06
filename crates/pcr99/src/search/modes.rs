//! Two motions that are too close for one threshold.
//!
//! A second motion shifted by a threshold or two, or turned by a few degrees, shares inliers with the first and distorts its fit. It shows in two ways.
//!
//! * Where both are of similar size, the fit lies in between. Each residual then points along the small motion, the *twist*, that leads from one
//!   to the other. Noise follows no twist more than any other. The first mode is the transform along the twist that most matches follow closely.
//! * Where one is much larger, the fit is close to it, and more matches lie around its noise than chance puts there.
//!
//! The second mode is looked for among the matches that do not follow the first. Where matches cluster around both and few lie in between, there are
//! two modes. The larger one alone is the answer, and the other is its rival. One broad cluster, such as noise that differs between directions, has no
//! gap and stays whole.

use super::{
    candidate::{Candidate, Model},
    mixture::{Modes, separate},
    threshold::MEDIAN_RESIDUAL,
    twist::{Twist, Twists, strongest_twists},
};
use pcr99_base::{
    Soa,
    kernel::consensus::{Affine, squared_residual},
    vector::lower_median,
};

use crate::{Similarity, random::Random};

/// Smallest number of inliers among which two modes can be told apart.
const FEWEST: usize = 24;
/// Largest number of matches that are assigned to the modes.
const LARGEST_POOL: usize = 1024;
/// Radius around the consensus in which the second mode is looked for, in thresholds: where the fit lies between both modes, and where it is at one.
const POOL_RADII: [f64; 2] = [1.5, 2.5];
/// Radii of a mode, in standard deviations of a coordinate: 74 % of a Gaussian are within the first, 97 % within the second. The first tells modes
/// apart that are close; the second places a transform that was drawn.
const MODE_RADII: [f64; 2] = [2.0, 2.2];
/// Share of a Gaussian beyond the second of these radii.
const BEYOND_RADIUS: f64 = 0.184;
/// Triplets tried for the second mode. Three matches of one half are drawn once in eight times; missing them all happens once in 5000 problems.
const TRIPLETS: usize = 64;
/// Largest number of residuals from which the noise is estimated, in matches.
const SAMPLE: usize = 256;
/// Distance from a mode beyond which a match does not follow it, in standard deviations, and the share of a Gaussian that lies there.
const TAIL: f64 = 3.4;
const BEYOND_TAIL: f64 = 0.009;
/// How many more matches than expected must be left, in standard deviations of their number, and in matches.
const MORE: f64 = 3.0;
const FEWEST_LEFT: f64 = 3.0;
/// Steps along the twist, in standard deviations of a coordinate: half the radius of a mode or less, so that one of them falls into each.
const STEP: f64 = 0.7;
/// Largest number of steps to either side.
const MOST_STEPS: usize = 40;
/// Largest number of refits of a mode.
const REFITS: usize = 6;

/// The two modes of a consensus, if it has two. `residuals` are the squared residuals of all matches.
pub(super) fn split(points: &Soa, residuals: &[f64], candidate: &Candidate, known: &Model) -> Option<Modes> {
    if candidate.inliers.len() < FEWEST {
        return None;
    }
    let extent = known.background.extent();
    let reach = |radius: f64| (radius * candidate.delta).min(extent);
    let wrong = |reach: f64| (points.len() - candidate.inliers.len()) as f64 * known.background.chance(reach);
    let twists = strongest_twists(points, &candidate.inliers, &candidate.model, known.known_scale.is_none());
    let is_twisted = twists.is_some();
    let (sigma, tail, reach, along) = if let Some(Twists { twists, sigma }) = twists {
        let sigma = sigma.max(known.background.finest());
        let along = twists.iter().flat_map(|twist| steps(twist, sigma, candidate.delta)).collect();
        (sigma, MODE_RADII[1], reach(POOL_RADII[0]), along)
    } else {
        let sigma = deviation(residuals, candidate)?.max(known.background.finest());
        let reach = reach(POOL_RADII[1]);
        if tail_is_expected(residuals, sigma, reach, wrong(reach)) {
            return None;
        }
        (sigma, TAIL, reach, vec![candidate.model])
    };
    let within = (0..).zip(residuals).filter(|(_, square)| **square <= reach * reach).map(|(i, _)| i);
    let pool = some_of(&within.collect::<Vec<u32>>(), LARGEST_POOL);
    let radii_sq = MODE_RADII.map(|radius| (radius * sigma).powi(2));
    let is_within = |model: &Similarity, limit: f64| {
        let affine = Affine::from(model);
        move |i: &u32| squared_residual(points, &affine, *i as usize) <= limit
    };
    let count = |model: &Similarity| {
        let follows = is_within(model, radii_sq[1]);
        pool.iter().filter(|i| follows(i)).count()
    };
    let first = along.iter().rev().max_by_key(|model| count(model))?;
    let first = refined(points, &pool, known, radii_sq, first)?;
    let follows = is_within(&first, (tail * sigma).powi(2));
    let rest: Vec<u32> = pool.iter().copied().filter(|i| !follows(i)).collect();
    // Nearly all follow the first mode: the twist was one of chance.
    let beyond = BEYOND_RADIUS * pool.len() as f64;
    if rest.len() < FEWEST / 4 || (is_twisted && (rest.len() as f64) < beyond + beyond.sqrt()) {
        return None;
    }
    let mut random = Random::new(0);
    let second = mode(points, &rest, known, radii_sq, &along, &mut random)?;
    let ball = 4.0 / 3.0 * std::f64::consts::PI * reach.powi(3);
    separate(points, &pool, known, sigma, [first, second], wrong(reach).max(1.0) / ball)
}

/// Whether a Gaussian and the `wrong` matches explain how many matches lie beyond the tail, up to `reach`.
fn tail_is_expected(residuals: &[f64], sigma: f64, reach: f64, wrong: f64) -> bool {
    let (tail_sq, reach_sq) = ((TAIL * sigma).powi(2), reach * reach);
    let (mut near, mut left) = (0_u32, 0_u32);
    for &square in residuals {
        near += u32::from(square <= reach_sq);
        left += u32::from(square <= reach_sq && square > tail_sq);
    }
    let expected = wrong + BEYOND_TAIL * f64::from(near);
    f64::from(left) < expected + MORE * expected.sqrt() + FEWEST_LEFT
}

/// Standard deviation of a coordinate, from the median residual.
fn deviation(residuals: &[f64], candidate: &Candidate) -> Option<f64> {
    let some = candidate.inliers.iter().step_by(candidate.inliers.len().div_ceil(SAMPLE));
    let mut squares: Vec<f64> = some.map(|&i| residuals[i as usize]).collect();
    lower_median(&mut squares).map(|square| square.sqrt() / MEDIAN_RESIDUAL)
}

/// Evenly chosen elements, at most `most`.
fn some_of(all: &[u32], most: usize) -> Vec<u32> {
    all.iter().copied().step_by(all.len().div_ceil(most).max(1)).collect()
}

/// Transforms along the twist, up to a mean displacement of `reach` to either side.
fn steps(twist: &Twist, sigma: f64, reach: f64) -> Vec<Similarity> {
    let count = ((reach / (STEP * sigma)).ceil() as usize).clamp(1, MOST_STEPS);
    let step = reach / count as f64;
    (0..=2 * count).filter_map(|k| twist.apply(step * (k as f64 - count as f64))).collect()
}

/// The transform that most matches of the `pool` follow, refined, among those of three of them and those given.
fn mode(
    points: &Soa,
    pool: &[u32],
    known: &Model,
    radii_sq: [f64; 2],
    given: &[Similarity],
    random: &mut Random,
) -> Option<Similarity> {
    let within = |model: &Similarity, limit: f64| {
        let affine = Affine::from(model);
        move |i: &u32| squared_residual(points, &affine, *i as usize) <= limit
    };
    let mut best: Option<(usize, Similarity)> = None;
    let drawn = (0..TRIPLETS).filter_map(|_| {
        let chosen = random.distinct_triple(pool.len()).map(|k| pool[k]);
        known.fit(points, &chosen, |_| 1.0)
    });
    for model in given.iter().copied().chain(drawn) {
        // Three noisy matches place a transform less well than many.
        let inliers: Vec<u32> = pool.iter().copied().filter(within(&model, radii_sq[1])).collect();
        let Some(model) = known.fit(points, &inliers, |_| 1.0) else { continue };
        let count = pool.iter().copied().filter(within(&model, radii_sq[0])).count();
        if best.as_ref().is_none_or(|(most, _)| count > *most) {
            best = Some((count, model));
        }
    }
    refined(points, pool, known, radii_sq, &best?.1)
}

/// A transform refitted to the matches of the `pool` that follow it closely.
fn refined(
    points: &Soa,
    pool: &[u32],
    known: &Model,
    radii_sq: [f64; 2],
    model: &Similarity,
) -> Option<Similarity> {
    let refit = |model: &Similarity, limit: f64| {
        let affine = Affine::from(model);
        let within = |i: &u32| squared_residual(points, &affine, *i as usize) <= limit;
        let inliers: Vec<u32> = pool.iter().copied().filter(within).collect();
        known.fit(points, &inliers, |_| 1.0).map(|model| (model, inliers))
    };
    let (mut model, _) = refit(model, radii_sq[1])?;
    let mut before = Vec::new();
    for _ in 0..REFITS {
        let (next, inliers) = refit(&model, radii_sq[0])?;
        model = next;
        if inliers == before {
            break;
        }
        before = inliers;
    }
    (before.len() >= FEWEST / 4).then_some(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evidence::{Background, Judge, Scope},
        search::candidate::Refiner,
    };

    const NOISE: [f64; 3] = [0.01; 3];

    /// A hundred matches that do not move and `others` that move by `second`, with the `noise` of each coordinate.
    fn split_of(others: usize, second: &Similarity, noise: [f64; 3], seed: u64) -> Option<Modes> {
        let mut random = Random::new(seed);
        let mut points = Soa::default();
        for k in 0..100 + others {
            let a: [f64; 3] = std::array::from_fn(|_| 2.0 * random.uniform() - 1.0);
            let b = if k < 100 { a } else { second.apply(a) };
            for axis in 0..3 {
                points.a[axis].push(a[axis]);
                points.b[axis].push(b[axis] + noise[axis] * random.gaussian());
            }
        }
        let known = Model {
            delta: 0.15,
            known_scale: Some(1.0),
            scale_range: None,
            tilt: None,
            background: Background::of(&points, 1e-15),
            scope: Scope::All,
        };
        let mut refiner = Refiner::default();
        let candidate = refiner.refine(&points, Similarity::IDENTITY, &known, &mut Judge::default());
        let candidate = candidate.expect("a consensus");
        split(&points, refiner.residuals(&points, &candidate.model), &candidate, &known)
    }

    #[test]
    fn a_shifted_group_is_told_apart() {
        for seed in 0..10 {
            let shift = Similarity::from_translation([0.0, 0.06, 0.0]);
            let modes = split_of(60, &shift, NOISE, seed).expect("two modes");
            let [first, second] = modes.models.map(|model| model.translation()[1]);
            assert!(first.abs() < 0.006 && (second - 0.06).abs() < 0.006, "{modes:?}");
            assert!((modes.ratio - 0.6).abs() < 0.05, "{modes:?}");
            assert!((0.85..1.15).contains(&(modes.sigma / 0.01)), "{modes:?}");
        }
    }

    #[test]
    fn a_turned_group_is_told_apart() {
        // Six degrees about the second axis.
        let turn = Similarity::from_quaternion(1.0, [1.0, 0.0, 0.0524, 0.0], [0.0; 3]).expect("a turn");
        for (others, seed) in (0..10).flat_map(|seed| [(30, seed), (90, seed)]) {
            let modes = split_of(others, &turn, NOISE, seed).expect("two modes");
            let [first, second] = modes.models.map(|model| model.rotation()[0][2]);
            assert!(first.abs() < 0.01 && (second - 0.1045).abs() < 0.02, "{modes:?}");
            assert!((modes.ratio - others as f64 / 100.0).abs() < 0.07, "{modes:?}");
        }
    }

    #[test]
    fn one_group_stays_whole() {
        for seed in 0..50 {
            for noise in [NOISE, [0.01, 0.01, 0.03], [0.003, 0.01, 0.02]] {
                assert!(split_of(0, &Similarity::IDENTITY, noise, seed).is_none(), "{noise:?} {seed}");
            }
        }
    }
}
