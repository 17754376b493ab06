//! Two motions that are too close for one threshold.
//!
//! A second motion shifted by a threshold or two, or turned by a few degrees, shares a consensus with the first, and a fit to both lies in between. It
//! shows in the residual vectors: they spread farther along some direction than across it. Then two fits with a narrow threshold are tried.
//! Where matches cluster around each and few lie between them, there are two modes. The larger one alone is the answer, and the other is its
//! rival. One broad cluster, such as noise that differs between directions, has no gap and stays whole.

use super::candidate::{Candidate, Model};
use pcr99_base::{
    Soa,
    eigen::symmetric_eigen,
    kernel::consensus::{Affine, squared_residual},
    least_squares,
    vector::{distance_sq, dot, minus, plus},
};

use crate::{Similarity, random::Random};

/// Two modes of a consensus, the larger first.
#[derive(Debug)]
pub(super) struct Modes {
    pub(super) models: [Similarity; 2],
    /// Matches that follow each.
    pub(super) sizes: [usize; 2],
    /// Standard deviation of a coordinate's noise.
    pub(super) sigma: f64,
}

/// Smallest number of inliers among which two modes can be told apart.
const FEWEST: usize = 24;
/// Largest number of inliers whose residuals are looked at first.
const FIRST_SAMPLE: usize = 128;
/// Largest number of inliers from which modes are drawn.
const LARGEST_SAMPLE: usize = 256;
/// Largest number of matches that are assigned to the modes.
const LARGEST_POOL: usize = 2048;
/// Radius around the consensus in which the second mode is looked for, in thresholds.
const POOL_RADIUS: f64 = 1.5;
/// Ratio of the largest to the smallest variance from which the residuals are looked at more closely, for many inliers. By chance the ratio is
/// larger among few: eight times the inverse root of their number covers it.
const SPREAD: [f64; 2] = [1.6, 8.0];
/// Correlation of a squared residual with the squared distance from the middle, in standard deviations, from which residuals are looked at more closely.
const GROWTH: f64 = 3.0;
/// Radii of a mode, in standard deviations of a coordinate: 74 % of a Gaussian are within the first, 97 % within the second. The first tells modes
/// apart that are close; the second places a transform that was drawn.
const MODE_RADII: [f64; 2] = [2.0, 2.2];
/// Median size of a Gaussian number with standard deviation 1.
const MEDIAN_SIZE: f64 = 0.674_489_75;
/// Triplets tried for each mode. Three matches of one half are drawn once in eight times; missing them all happens once in 5000 problems.
const TRIPLETS: usize = 64;
/// Largest number of refits of a mode.
const REFITS: usize = 6;
/// Smallest distance of two modes, in standard deviations of a coordinate. Closer ones overlap too much to be told apart.
const LEAST_DISTANCE: f64 = 3.5;
/// Half-width of the bands at both modes and half-way between them, relative to their distance.
const BAND: f64 = 0.15;
/// Largest number of matches between the modes, relative to those at the smaller one.
const DEEPEST: f64 = 0.5;
/// How many fewer, in standard deviations.
const CLEARLY: f64 = 2.0;
/// Smallest share of the matches at which the modes are apart.
const LEAST_APART: f64 = 0.25;
/// Smallest ratio of the mean square residual of one fit to all matches to that of the larger mode. Halves of a single Gaussian give 1.3.
const LEAST_GAIN: f64 = 1.4;
/// Smallest size of the second mode, relative to the first.
const LEAST_SHARE: f64 = 0.1;

/// The two modes of a consensus, if it has two.
pub(super) fn split(points: &Soa, candidate: &Candidate, known: &Model) -> Option<Modes> {
    let sigma = uneven_spread(points, candidate)?.max(known.background.finest());
    let pool = pool(points, candidate, known);
    let mut random = Random::new(0);
    let radii_sq = MODE_RADII.map(|radius| (radius * sigma).powi(2));
    let inliers: Vec<u32> = some_of(&candidate.inliers, LARGEST_SAMPLE);
    let first = mode(points, &inliers, &pool, known, radii_sq, &mut random)?;
    let away = |i: &u32| squared_residual(points, &Affine::from(&first), *i as usize) > radii_sq[1];
    let rest: Vec<u32> = pool.iter().copied().filter(away).collect();
    let second = mode(points, &rest, &rest, known, radii_sq, &mut random)?;
    assign(points, &pool, known, sigma, [first, second])
}

/// Evenly chosen elements, at most `most`.
fn some_of(all: &[u32], most: usize) -> Vec<u32> {
    all.iter().copied().step_by(all.len().div_ceil(most).max(1)).collect()
}

/// Standard deviation across the direction in which the residuals spread most; `None` when they spread evenly, or are too few.
fn uneven_spread(points: &Soa, candidate: &Candidate) -> Option<f64> {
    if candidate.inliers.len() < FEWEST {
        return None;
    }
    let some = some_of(&candidate.inliers, FIRST_SAMPLE);
    let count = some.len() as f64;
    let residual =
        |&i: &u32| minus(points.target(i as usize), candidate.model.apply(points.source(i as usize)));
    let (mut sum, mut products) = ([0.0; 3], [[0.0; 3]; 3]);
    for r in some.iter().map(residual) {
        for row in 0..3 {
            sum[row] += r[row];
            for column in 0..3 {
                products[row][column] += r[row] * r[column];
            }
        }
    }
    let mean = sum.map(|sum| sum / count);
    let entry = |row: usize, column: usize| products[row][column] / count - mean[row] * mean[column];
    let covariance: [[f64; 3]; 3] =
        std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)));
    let (variances, axes) = symmetric_eigen(&covariance);
    let is_uneven = variances[2] > (SPREAD[0] + SPREAD[1] / count.sqrt()) * variances[0];
    if !is_uneven && !grows_outwards(some.iter().map(|i| (points.source(*i as usize), residual(i)))) {
        return None;
    }
    // The median, because a few wrong matches among the inliers have large residuals in every direction.
    let mut sizes: Vec<f64> = some.iter().map(residual).map(|r| dot(r, axes[0]).abs()).collect();
    let middle = sizes.len() / 2;
    Some(*sizes.select_nth_unstable_by(middle, f64::total_cmp).1 / MEDIAN_SIZE)
}

/// Whether residuals are larger far from the middle of the sources, as those of two motions are that are turned against each other. Each item is a
/// source with its residual vector.
fn grows_outwards(items: impl Iterator<Item = ([f64; 3], [f64; 3])> + Clone) -> bool {
    let count = items.clone().count() as f64;
    let sum = items.clone().fold([0.0; 3], |sum, (a, _)| plus(sum, a));
    let middle = sum.map(|sum| sum / count);
    let pair = |(a, r): ([f64; 3], [f64; 3])| [distance_sq(a, middle), dot(r, r)];
    let means = items.clone().map(pair).fold([0.0; 2], |[x, y], [u, v]| [x + u / count, y + v / count]);
    let [xx, xy, yy] = items.map(pair).fold([0.0; 3], |[xx, xy, yy], [u, v]| {
        let (u, v) = (u - means[0], v - means[1]);
        [xx + u * u, xy + u * v, yy + v * v]
    });
    // Without a connection the coefficient of correlation has a standard deviation of one over the root of the number.
    xy * count.sqrt() > GROWTH * (xx * yy).sqrt()
}

/// Matches around the consensus.
fn pool(points: &Soa, candidate: &Candidate, known: &Model) -> Vec<u32> {
    let reach = (POOL_RADIUS * candidate.delta).min(known.background.extent());
    let affine = Affine::from(&candidate.model);
    let near = |i: &u32| squared_residual(points, &affine, *i as usize) <= reach * reach;
    let all: Vec<u32> = (0..points.len() as u32).filter(near).collect();
    some_of(&all, LARGEST_POOL)
}

/// The transform of three of the matches in `from` that most matches of the `pool` follow, refined.
fn mode(
    points: &Soa,
    from: &[u32],
    pool: &[u32],
    known: &Model,
    radii_sq: [f64; 2],
    random: &mut Random,
) -> Option<Similarity> {
    if from.len() < FEWEST / 4 {
        return None;
    }
    let within = |model: &Similarity, limit: f64| {
        let affine = Affine::from(model);
        move |i: &u32| squared_residual(points, &affine, *i as usize) <= limit
    };
    let refit = |model: &Similarity, limit: f64| {
        let inliers: Vec<u32> = pool.iter().copied().filter(within(model, limit)).collect();
        known.fit(points, &inliers, |_| 1.0).map(|model| (model, inliers))
    };
    let mut best: Option<(usize, Similarity)> = None;
    for _ in 0..TRIPLETS {
        let chosen = random.distinct_triple(from.len()).map(|k| from[k]);
        // Three noisy matches place a transform less well than many.
        let placed = known.fit(points, &chosen, |_| 1.0).and_then(|model| refit(&model, radii_sq[1]));
        let Some((model, _)) = placed else { continue };
        let count = pool.iter().copied().filter(within(&model, radii_sq[0])).count();
        if best.as_ref().is_none_or(|(most, _)| count > *most) {
            best = Some((count, model));
        }
    }
    let (_, mut model) = best?;
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

/// Assigns the matches to the nearer mode and refits both, when there is a gap between them.
fn assign(points: &Soa, pool: &[u32], known: &Model, sigma: f64, models: [Similarity; 2]) -> Option<Modes> {
    let mut models = models;
    let mut groups = [Vec::new(), Vec::new()];
    for _ in 0..REFITS {
        let mut bands = Bands::default();
        let next = groups_of(points, pool, &models, sigma, &mut bands);
        let Bands { at: [at_first, between, at_second], apart } = bands;
        let is_apart = apart as f64 >= LEAST_APART * pool.len() as f64;
        if !is_apart || !is_gap(between as f64, at_first.min(at_second) as f64) {
            return None;
        }
        let done = next == groups;
        groups = next;
        let fit = |group: &[u32]| known.fit(points, group, |_| 1.0);
        models = [fit(&groups[0])?, fit(&groups[1])?];
        if done {
            break;
        }
    }
    if groups[0].len() < groups[1].len() {
        models.swap(0, 1);
        groups.swap(0, 1);
    }
    let rmse = least_squares::rmse(points, &groups[0], &models[0])?;
    // One broad cluster that is cut in two has little more spread than its halves.
    let together = groups.concat();
    let whole = least_squares::rmse(points, &together, &known.fit(points, &together, |_| 1.0)?)?;
    if whole * whole < LEAST_GAIN * rmse * rmse {
        return None;
    }
    let freedom = 3.0 * groups[0].len() as f64 - known.parameters();
    let sigma = rmse * (groups[0].len() as f64 / freedom.max(1.0)).sqrt();
    let sizes = groups.map(|group| group.len());
    (sizes[1] as f64 >= LEAST_SHARE * sizes[0] as f64).then_some(Modes { models, sizes, sigma })
}

/// Whether clearly fewer matches lie between two modes than at the smaller one, beyond what chance would give.
fn is_gap(between: f64, at_smaller: f64) -> bool {
    between <= DEEPEST * at_smaller && at_smaller - between >= CLEARLY * (at_smaller + between).sqrt()
}

/// Matches at which the two modes are apart.
#[derive(Debug, Clone, Copy, Default)]
struct Bands {
    /// How many of them lie at the first mode, half-way between, and at the second.
    at: [usize; 3],
    apart: usize,
}

/// The matches that follow each mode, and the bands.
fn groups_of(
    points: &Soa,
    pool: &[u32],
    models: &[Similarity; 2],
    sigma: f64,
    bands: &mut Bands,
) -> [Vec<u32>; 2] {
    let mut groups = [Vec::new(), Vec::new()];
    for &i in pool {
        let (a, b) = (points.source(i as usize), points.target(i as usize));
        let [first, second] = [models[0].apply(a), models[1].apply(a)];
        let (apart, off) = (minus(second, first), minus(b, first));
        let distance_sq = dot(apart, apart);
        let along = dot(off, apart) / distance_sq.max(f64::MIN_POSITIVE);
        let across_sq = dot(off, off) - along * along * distance_sq;
        // Five standard deviations are the usual threshold.
        let limit_sq = (5.0 * sigma).powi(2);
        if across_sq > limit_sq {
            continue;
        }
        if distance_sq >= (LEAST_DISTANCE * sigma).powi(2) {
            bands.apart += 1;
            for (band, at) in bands.at.iter_mut().zip([0.0, 0.5, 1.0]) {
                *band += usize::from((along - at).abs() <= BAND);
            }
        }
        let nearer = usize::from(along > 0.5);
        let beyond = if nearer == 0 { along } else { along - 1.0 };
        if beyond * beyond * distance_sq + across_sq <= limit_sq {
            groups[nearer].push(i);
        }
    }
    groups
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
            background: Background::of(&points, 1e-15),
            scope: Scope::All,
        };
        let candidate =
            Refiner::default().refine(&points, Similarity::IDENTITY, &known, &mut Judge::default());
        split(&points, &candidate.expect("a consensus"), &known)
    }

    #[test]
    fn a_shifted_group_is_told_apart() {
        for seed in 0..10 {
            let shift = Similarity::from_translation([0.0, 0.06, 0.0]);
            let modes = split_of(60, &shift, NOISE, seed).expect("two modes");
            let [first, second] = modes.models.map(|model| model.translation()[1]);
            assert!(first.abs() < 0.006 && (second - 0.06).abs() < 0.006, "{modes:?}");
            assert!(modes.sizes[0].abs_diff(100) < 8 && modes.sizes[1].abs_diff(60) < 8, "{modes:?}");
            assert!((0.7..1.4).contains(&(modes.sigma / 0.01)), "{modes:?}");
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
