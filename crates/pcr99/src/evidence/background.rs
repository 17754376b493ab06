//! The distribution of wrong matches.

use super::{noise::Noise, pair::PairChance};
use pcr99_base::{Soa, eigen::symmetric_eigen, kernel::sums::Spread};

use crate::{Correspondences, Scale};

/// The distribution of wrong matches: uniform in the ellipsoid that the targets fill.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Background {
    half_axes: [f64; 3],
    /// Share of the matches with both points in the ellipsoids. The others are far outside and agree with nothing.
    share: f64,
    /// Longest half-axis of the source.
    source_extent: f64,
    /// Smallest meaningful residual: the rounding error of the coordinates.
    finest: f64,
    /// How the matches differ in noise.
    noise: Noise,
    /// How often two wrong matches agree, where the vertical is known.
    pair: Option<PairChance>,
}

impl Background {
    /// How the matches differ in noise.
    pub(super) fn noise(&self) -> &Noise {
        &self.noise
    }

    /// Smallest meaningful residual: the rounding error of the coordinates, or half the step of their grid.
    pub(crate) fn finest(&self) -> f64 {
        self.finest
    }

    /// Half-axes of the ellipsoid.
    pub(super) fn half_axes(&self) -> [f64; 3] {
        self.half_axes
    }

    /// Share of the matches with both points in the ellipsoids.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// The probability `α` that a wrong match has a residual of at most `e`; the mean over the matches where they differ in noise.
    pub(crate) fn chance(&self, e: f64) -> f64 {
        self.noise.mean(|ratio| self.chance_within(ratio * e))
    }

    /// The probability that a wrong match has a target within `e` of its moved source.
    pub(crate) fn chance_within(&self, e: f64) -> f64 {
        self.share * self.half_axes.iter().map(|axis| (e / axis).min(1.0)).product::<f64>()
    }

    /// Size of a place: inliers within this distance of each other count once.
    ///
    /// It is `3δ`, but at least 10 % of the extent, so that one patch does not count as many places, and at most 20 % of it, so that
    /// several places exist at all.
    pub(crate) fn patch(&self, delta: f64, scale: f64) -> f64 {
        let least = 0.1 * self.common_extent(scale);
        (3.0 * delta).max(least).min(0.2 * self.extent())
    }

    /// Extent of what is moved, in the target: the moved sources may be smaller than the targets, where other targets lie far beyond the right
    /// ones.
    pub(super) fn common_extent(&self, scale: f64) -> f64 {
        self.extent().min(scale * self.source_extent)
    }

    /// Longest half-axis of the targets relative to that of the sources.
    pub(super) fn ratio_of_extents(&self) -> f64 {
        self.extent() / self.source_extent
    }

    /// Longest half-axis of the targets.
    pub(crate) fn extent(&self) -> f64 {
        longest(&self.half_axes)
    }

    /// The background of a set of matches.
    pub(crate) fn of_matches(pairs: &Correspondences) -> Self {
        Self::from_sums(pairs.points(), pairs.spreads(), pairs.target_rounding())
    }

    /// The same with the probability that two wrong matches agree, where the vertical is known.
    pub(crate) fn with_vertical(self, pairs: &Correspondences, scale: Scale) -> Self {
        let Some(tilt) = pairs.tilt() else { return self };
        let scales = match scale {
            Scale::Known(s) => [pairs.scale_inward(s); 2],
            Scale::Between(low, high) => [low, high].map(|s| pairs.scale_inward(s)),
            Scale::Unknown => [0.0, f64::INFINITY],
        };
        Self { pair: Some(PairChance::count(pairs.points(), tilt, scales, self.extent())), ..self }
    }

    /// `ln` of the probability that the three matches to which a transform is fitted agree within a radius, given by its logarithm: 0, because any three can be made to
    /// fit, unless the vertical is known. `log_chance` is `ln α` at that radius.
    pub(super) fn log_minimal(&self, log_radius: f64, log_chance: f64) -> f64 {
        let Some(pair) = &self.pair else { return 0.0 };
        let third = (log_chance + pair.log_sweep(log_radius, self.extent())).min(0.0);
        (pair.log_at(log_radius) + third).min(0.0)
    }

    /// The background of a set of matches, with `finest` the rounding error of the coordinates.
    #[cfg(test)]
    pub(crate) fn of(points: &Soa, finest: f64) -> Self {
        use pcr99_base::kernel::sums::spread;
        Self::from_sums(points, [&spread(&points.a), &spread(&points.b)], finest)
    }

    /// The background of matches with the sums over their sources and targets.
    fn from_sums(points: &Soa, [sources, targets]: [&Spread; 2], finest: f64) -> Self {
        let noise = Noise::of(points);
        let grid = 0.5 * grid_step(points);
        let (source_axes, source_share) = ellipsoid(&points.a, sources, 0.0);
        let (half_axes, target_share) = ellipsoid(&points.b, targets, finest.max(grid));
        // Relative to its noise, the most precise match has the largest rounding error.
        let finest = (finest / noise.least()).max(grid);
        let share = source_share * target_share;
        Self { half_axes, share, source_extent: longest(&source_axes), finest, noise, pair: None }
    }
}

fn longest(half_axes: &[f64; 3]) -> f64 {
    half_axes.iter().fold(0.0, |longest, axis| longest.max(*axis))
}

/// Half-axes of the ellipsoid that points fill, and the share of the points in it. Points far outside would make every residual look small, so they are trimmed, the
/// farthest first. `spread` has the sums over all points.
fn ellipsoid(columns: &[Vec<f64>; 3], spread: &Spread, finest: f64) -> ([f64; 3], f64) {
    let mut kept = Moments::from(spread, columns[0].len());
    let mut half_axes = kept.half_axes(finest);
    let all = (half_axes, 1.0);
    // Many far points widen the ellipsoid until it holds them, so their distance is compared with the bulk as well.
    if spread.farthest_sq <= (4.0 * longest(&half_axes).powi(2)).min(FAR_OUT * FAR_OUT) {
        return all;
    }
    let bulk = Moments::of(columns, |b| b.iter().all(|x| x.abs() <= BULK));
    if bulk.count >= 4.0 {
        kept = bulk;
        half_axes = kept.half_axes(finest);
    }
    for _ in 0..MOST_TRIMS {
        let (_, axes) = symmetric_eigen(&kept.covariance());
        let mean = kept.mean();
        let near = |b: [f64; 3]| {
            let along = |axis: usize| (0..3).map(|k| (b[k] - mean[k]) * axes[axis][k]).sum::<f64>();
            (0..3).map(|axis| (along(axis) / half_axes[axis]).powi(2)).sum::<f64>() <= 2.0
        };
        let fewer = Moments::of(columns, near);
        if fewer.count < 4.0 || fewer.count >= kept.count {
            break;
        }
        // When a trim removes less than 2 %, it has reached the rim of the bulk.
        let done = fewer.count > 0.98 * kept.count;
        kept = fewer;
        half_axes = kept.half_axes(finest);
        if done {
            break;
        }
    }
    (half_axes, kept.count / columns[0].len() as f64)
}

/// Largest coordinate of the bulk, in normalised units. Half of the points are within 0.25 of the origin, or all are within 1; points
/// beyond this bound are far outside.
const BULK: f64 = 2.0;
/// Distance of a point that is far outside, however many there are, in normalised units. The nearer half of the points is within 0.25.
const FAR_OUT: f64 = 5.0;
/// Largest number of trims. Each removes less than the one before, so fewer are needed.
const MOST_TRIMS: usize = 20;

/// Step of the grid on which the targets lie, or 0 when they lie on none. Coordinates on a grid coincide by chance; others do not.
fn grid_step(points: &Soa) -> f64 {
    let looked_at = points.len().min(64);
    let step = points.len() / looked_at;
    let mut coarsest: f64 = 0.0;
    for column in &points.b {
        let mut values: [f64; 64] = std::array::from_fn(|k| column[k % looked_at * step]);
        let values = &mut values[..looked_at];
        if !may_repeat(values) {
            continue;
        }
        values.sort_unstable_by(f64::total_cmp);
        let gaps = || values.windows(2).map(|pair| pair[1] - pair[0]);
        let equal = gaps().filter(|gap| *gap == 0.0).count();
        if is_many(equal, looked_at) {
            let least = gaps().filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
            coarsest = coarsest.max(if least.is_finite() { least } else { 0.0 });
        }
    }
    coarsest
}

/// Whether more than one value in eight equals its neighbour, which does not happen by chance.
fn is_many(equal: usize, values: usize) -> bool {
    8 * equal > values
}

/// Quick test whether many values may be equal, by a table of hashed bits. It is rarely true where they are not.
fn may_repeat(values: &[f64]) -> bool {
    let mut table = [0_u64; 64];
    for value in values {
        let hash = value.to_bits().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        table[(hash >> 58) as usize] |= 1 << (hash >> 52 & 63);
    }
    let distinct: u32 = table.iter().map(|bits| bits.count_ones()).sum();
    is_many(values.len() - distinct as usize, values.len())
}

/// Count, sums and sums of products of a set of points.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: [f64; 3],
    products: [[f64; 3]; 3],
}

impl Moments {
    fn of(columns: &[Vec<f64>; 3], keep: impl Fn([f64; 3]) -> bool) -> Self {
        let mut moments = Self::default();
        let point = |i: usize| columns.each_ref().map(|column| column[i]);
        for b in (0..columns[0].len()).map(point).filter(|&b| keep(b)) {
            moments.count += 1.0;
            for row in 0..3 {
                moments.sum[row] += b[row];
                for column in row..3 {
                    moments.products[row][column] += b[row] * b[column];
                }
            }
        }
        moments
    }

    fn from(spread: &Spread, count: usize) -> Self {
        let [xx, xy, xz, yy, yz, zz] = spread.products;
        let products = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        Self { count: count as f64, sum: spread.sum, products }
    }

    fn mean(&self) -> [f64; 3] {
        self.sum.map(|sum| sum / self.count)
    }

    fn covariance(&self) -> [[f64; 3]; 3] {
        let mean = self.mean();
        let entry =
            |row: usize, column: usize| self.products[row][column] / self.count - mean[row] * mean[column];
        std::array::from_fn(|row| std::array::from_fn(|column| entry(row.min(column), row.max(column))))
    }

    /// Half-axes of the ellipsoid with these moments. In a uniform ellipsoid the variance along an axis is a fifth of its square.
    fn half_axes(&self, finest: f64) -> [f64; 3] {
        let (variances, _) = symmetric_eigen(&self.covariance());
        variances.map(|variance| (5.0 * variance.max(0.0)).sqrt().max(finest))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::random::Random;

    pub(in crate::evidence) fn cloud(n: usize, flatten: f64, seed: u64) -> Soa {
        let mut random = Random::new(seed);
        let mut points = Soa::default();
        while points.len() < n {
            let p: [f64; 3] = std::array::from_fn(|_| 2.0 * random.uniform() - 1.0);
            if p.iter().map(|x| x * x).sum::<f64>() <= 1.0 {
                for (axis, x) in [p[0], p[1], flatten * p[2]].into_iter().enumerate() {
                    points.a[axis].push(x);
                    points.b[axis].push(x);
                }
            }
        }
        points
    }

    #[test]
    fn a_ball_has_the_law_of_its_radius() {
        let background = Background::of(&cloud(20_000, 1.0, 1), 1e-15);
        assert!((background.extent() - 1.0).abs() < 0.02);
        assert!((background.chance(0.1) / 1e-3 - 1.0).abs() < 0.05, "{}", background.chance(0.1));
        assert_eq!(background.chance(5.0), 1.0);
    }

    /// With flat targets, the points within e lie in a disc.
    #[test]
    fn a_disc_has_the_two_dimensional_law() {
        let background = Background::of(&cloud(20_000, 1e-4, 1), 1e-15);
        let ratio = background.chance(0.2) / background.chance(0.1);
        assert!((ratio - 4.0).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn far_points_do_not_widen_the_background() {
        let mut points = cloud(2000, 1.0, 1);
        for i in 0..10 {
            points.b[0][i] = 1000.0;
        }
        assert!(Background::of(&points, 1e-15).extent() < 1.2);
        for i in 0..200 {
            points.b[i % 3][i] = 1e4 * (1.0 + i as f64);
        }
        assert!(Background::of(&points, 1e-15).extent() < 1.2);
    }

    #[test]
    fn a_grid_bounds_how_tight_a_fit_can_be() {
        let mut points = cloud(500, 1.0, 1);
        assert_eq!(grid_step(&points), 0.0);
        points.b.iter_mut().for_each(|column| column.iter_mut().for_each(|x| *x = (*x / 0.1).round() * 0.1));
        assert!((grid_step(&points) - 0.1).abs() < 1e-9);
        assert!((Background::of(&points, 1e-15).finest() - 0.05).abs() < 1e-9);
    }
}
