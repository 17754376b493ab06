//! The covariance of a transform that was found from matches.
//!
//! For a least-squares fit with residuals `e`, noise covariance `N` of a match and derivatives `J` of its residual, the covariance is `A⁻¹·S·A⁻¹` with
//! `A = Σ w·JᵀJ` and `S = Σ w·JᵀNJ`. Four things make the plain formula too confident:
//!
//! * The noise is estimated from few residuals. The covariance of Student's distribution is `ν/(ν − 2)` times its scale, with `ν` degrees of freedom.
//! * Residuals beyond the threshold are left out, which makes those that remain small, and the fit less steady: with `m` the mean square of a coordinate that remains
//!   and `v` that of the whole Gaussian, the covariance is `(v/m)²` times as large.
//! * The noise may differ between axes, as of depth cameras. `N` is the one that was measured, as far as it differs from a sphere by more than chance.
//! * Neighbouring matches may be off in the same way. The scores `JᵀNe` are summed over blocks of space; where the sums are larger than those of independent
//!   residuals would be, beyond chance, the covariance grows by that factor.

use std::hint::black_box;

use pcr99_base::{
    Soa,
    eigen::symmetric_eigen,
    upright::Tilt,
    vector::{cross, dot, minus, norm},
};

use super::{ALL, Covariance, FreeDirection, Matrix};
use crate::{
    Correspondences, Positive, Registration, Scale, Similarity,
    evidence::Background,
    search::{Gaussian, untruncated_ratio},
};

/// Rounds in which weights and noise are adapted to each other.
const ROUNDS: usize = 6;
/// Numbers of blocks along the longest axis that are tried: those of the size over which residuals are alike show it best.
const BLOCKS: [usize; 3] = [3, 4, 6];
/// Smallest number of blocks from which correlation is looked for.
const FEWEST_BLOCKS: usize = 8;
/// Standard deviations by which sums over blocks must exceed those of independent residuals.
const BEYOND_CHANCE: f64 = 2.0;
/// Largest factor by which few degrees of freedom enlarge the covariance. Student's distribution with two of them has none.
const MOST_UNSURE: f64 = 3.0;
/// Standard deviation of a rotation, in radians, from which it is undetermined: that of any angle.
const ANY_ANGLE: f64 = 1.8;
/// Correlation below which it is a rounding error.
const ROUNDING: f64 = 1e-12;
/// Relative standard deviation of a scale from which it is undetermined.
const ANY_SCALE: f64 = 1.0;

/// The covariance of a transform that [`solve`](crate::solve) or [`assess`](crate::assess) returned for these matches; `None` without a transform, and where fewer
/// than three matches follow it. `scale` says whether the scale was estimated.
///
/// ```
/// use pcr99::{Correspondences, Params, Scale, covariance, random::Random, solve};
///
/// let mut random = Random::new(1);
/// let source: Vec<[f64; 3]> = (0..100).map(|_| [9.0 * random.uniform(), 5.0 * random.uniform(), random.uniform()]).collect();
/// let target: Vec<[f64; 3]> = source.iter().map(|p| p.map(|x| x + 1.0 + 0.01 * random.gaussian())).collect();
/// let pairs = Correspondences::new(&source, &target)?;
/// let found = solve(&pairs, Scale::one(), &Params::new())?;
/// let accuracy = covariance(&pairs, &found, Scale::one()).expect("a transform").accuracy();
/// assert!(accuracy.translation < 0.003 && accuracy.rotation_deg < 0.2, "{accuracy}");
/// # Ok::<(), pcr99::Error>(())
/// ```
pub fn covariance(pairs: &Correspondences, found: &Registration, scale: Scale) -> Option<Covariance> {
    let model = pairs.inward(found.target_from_source.as_ref()?);
    let delta = pairs.target_length_inward(Positive::new("threshold", found.threshold).ok()?);
    let is_scale_known = matches!(scale, Scale::Known(_));
    let background = Background::of_matches(pairs);
    let known = Known { is_scale_known, tilt: pairs.tilt() };
    let residuals = Residuals::of(pairs.points(), &found.inliers, &model, delta, &background, known)?;
    Some(residuals.covariance().in_frame(&pairs.target_frame()))
}

/// What is known of the transform.
#[derive(Debug, Clone, Copy)]
struct Known {
    is_scale_known: bool,
    /// How far the third axis may tilt, where it is the known vertical.
    tilt: Option<Tilt>,
}

impl Known {
    /// Number of unknowns in the matrix.
    fn unknowns(&self) -> usize {
        if self.is_scale_known { 6 } else { 7 }
    }

    /// Number of unknowns that were fitted.
    fn fitted(&self) -> usize {
        self.unknowns() - if self.keeps_vertical() { 2 } else { 0 }
    }

    /// Whether the vertical is kept exactly.
    fn keeps_vertical(&self) -> bool {
        // A branch. Otherwise the compiler compares the bound before it knows that there is one, and forgets the outcome; Valgrind then takes all that
        // follows for unknown.
        self.tilt.is_some_and(|tilt| black_box(tilt).is_none())
    }

    /// Standard deviation of a tilt about a horizontal axis, in radians, where there may be one: half the radius of the disc of tilts.
    fn tilt_deviation(&self) -> Option<f64> {
        self.tilt.filter(|tilt| !tilt.is_none()).map(|tilt| 0.5 * tilt.radians())
    }
}

/// One match that follows the transform.
#[derive(Debug, Clone, Copy)]
struct Follower {
    /// The moved source.
    moved: [f64; 3],
    /// The target less the moved source.
    residual: [f64; 3],
    /// Inverse variance relative to the median match, times the probability that the match is right.
    weight: f64,
    precision: f64,
}

/// The matches that follow a transform, in normalised units.
struct Residuals {
    followers: Vec<Follower>,
    /// Variance of a coordinate of the median match.
    variance: f64,
    /// Degrees of freedom.
    freedom: f64,
    /// How much leaving out residuals beyond the threshold enlarges the covariance.
    cut: f64,
    known: Known,
    center: [f64; 3],
    lever: f64,
}

impl Residuals {
    fn of(
        points: &Soa,
        inliers: &[usize],
        model: &Similarity,
        delta: f64,
        background: &Background,
        known: Known,
    ) -> Option<Self> {
        if inliers.len() < 3 {
            return None;
        }
        let follower = |&i: &usize| {
            let moved = model.apply(points.source(i));
            let precision = points.precision_of(i);
            Follower { moved, residual: minus(points.target(i), moved), weight: precision, precision }
        };
        let mut followers: Vec<Follower> = inliers.iter().map(follower).collect();
        let (n, k) = (points.len() as f64, inliers.len() as f64);
        let wrong = ((n - k) * background.chance(delta)).min(0.5 * k);
        let density_of_wrong = wrong / (4.0 / 3.0 * std::f64::consts::PI * delta.powi(3));
        let finest_sq = background.finest().powi(2);
        let (mut variance, mut freedom) = (0.0, 1.0);
        for _ in 0..ROUNDS {
            let (mut sum, mut right) = (0.0, 0.0);
            for f in &followers {
                sum += f.weight * dot(f.residual, f.residual);
                right += f.weight / f.precision;
            }
            freedom = (3.0 * right - known.fitted() as f64).max(1.0);
            variance = (sum / freedom).max(finest_sq);
            let gaussian = Gaussian::new(k - wrong, variance);
            for f in &mut followers {
                let density = gaussian.density(f.precision * dot(f.residual, f.residual));
                f.weight = f.precision * density / (density + density_of_wrong);
            }
        }
        // The variance so far is that of the residuals within the threshold.
        let cut = untruncated_ratio(3.0 * variance / (delta * delta)).powi(2);
        let total: f64 = followers.iter().map(|f| f.weight).sum();
        let mean = |value: &dyn Fn(&Follower) -> f64| {
            followers.iter().map(|f| f.weight * value(f)).sum::<f64>() / total
        };
        let center = std::array::from_fn(|axis| mean(&|f| f.moved[axis]));
        let lever = mean(&|f| dot(minus(f.moved, center), minus(f.moved, center))).sqrt();
        (total > 0.0 && lever > 0.0).then_some(Self {
            followers,
            variance,
            freedom,
            cut,
            known,
            center,
            lever,
        })
    }

    fn covariance(&self) -> Covariance {
        let noise = self.noise();
        let mut moments = Moments::default();
        self.followers.iter().for_each(|f| moments.add(f.weight, self.arm(f)));
        let (mut a, mut s) = (moments.matrix(&SPHERE), moments.matrix(&noise));
        let unknowns = self.known.unknowns();
        if let Some(deviation) = self.known.tilt_deviation() {
            // The vertical was measured as well, with this deviation.
            let information = self.variance / (deviation * self.lever).powi(2);
            for axis in 0..2 {
                a[axis][axis] += information;
                s[axis][axis] += self.variance * information;
            }
        }
        let is_fixed = |k: usize| k >= unknowns || (k < 2 && self.known.keeps_vertical());
        for fixed in (0..ALL).filter(|k| is_fixed(*k)) {
            for k in 0..ALL {
                (a[k][fixed], a[fixed][k], s[k][fixed], s[fixed][k]) = (0.0, 0.0, 0.0, 0.0);
            }
            a[fixed][fixed] = 1.0;
        }
        let (mut inverse, free) = self.held(&a);
        for fixed in (0..2).filter(|k| is_fixed(*k)) {
            (0..ALL).for_each(|k| (inverse[k][fixed], inverse[fixed][k]) = (0.0, 0.0));
        }
        let half = product(&inverse, &s);
        let sandwich = product(&half, &inverse);
        let student = if self.freedom > 2.0 { self.freedom / (self.freedom - 2.0) } else { f64::INFINITY };
        let factor = self.cut * student.min(MOST_UNSURE) * self.correlation(&inverse);
        let mut full = sandwich.map(|row| row.map(|x| factor * x));
        if let Some(deviation) = self.known.tilt_deviation() {
            // No more than the vertical allows.
            let shrink =
                |k: usize| if k < 2 { (deviation * self.lever / full[k][k].sqrt()).min(1.0) } else { 1.0 };
            let shrinks: [f64; ALL] = std::array::from_fn(shrink);
            for (row, one) in full.iter_mut().zip(shrinks) {
                row.iter_mut().zip(shrinks).for_each(|(x, other)| *x *= one * other);
            }
        }
        for (direction, deviation) in &free {
            for i in 0..ALL {
                for j in 0..ALL {
                    full[i][j] += direction[i] * direction[j] * deviation * deviation;
                }
            }
        }
        let unit = |k: usize| if (3..6).contains(&k) { 1.0 } else { 1.0 / self.lever };
        // What is uncorrelated is zero, not a rounding error.
        let element = |i: usize, j: usize| {
            let x = full[i.max(j)][i.min(j)];
            let is_rounding = x.abs() < ROUNDING * (full[i][i] * full[j][j]).sqrt();
            if is_rounding { 0.0 } else { x * unit(i) * unit(j) }
        };
        let matrix = (0..unknowns).map(|i| (0..unknowns).map(|j| element(i, j)).collect()).collect();
        let free = free.iter().map(|(direction, _)| named(direction)).collect();
        Covariance::new(matrix, self.center, self.lever, free)
    }

    /// Place of a follower relative to the centre, in units in which a rotation and a change of scale move a typical point by as much as a translation.
    fn arm(&self, follower: &Follower) -> [f64; 3] {
        minus(follower.moved, self.center).map(|x| x / self.lever)
    }

    /// The noise of the median match: a sphere, unless the axes differ by more than chance.
    fn noise(&self) -> [[f64; 3]; 3] {
        let mut measured = [[0.0; 3]; 3];
        for Follower { residual, weight, .. } in &self.followers {
            for i in 0..3 {
                for j in 0..3 {
                    measured[i][j] += weight * residual[i] * residual[j];
                }
            }
        }
        let trace = (measured[0][0] + measured[1][1] + measured[2][2]).max(f64::MIN_POSITIVE);
        let sphere = |i: usize, j: usize| f64::from(u8::from(i == j));
        let shape = measured.map(|row| row.map(|x| 3.0 * x / trace));
        let off: f64 = (0..3)
            .flat_map(|i| (0..3).map(move |j| (i, j)))
            .map(|(i, j)| (shape[i][j] - sphere(i, j)).powi(2))
            .sum();
        // Under a sphere, half of the sum times a third of the degrees of freedom has a χ² distribution with five degrees of freedom.
        let beyond = 0.5 * off * self.freedom / 3.0;
        let part = if beyond > 5.0 { 1.0 - 5.0 / beyond } else { 0.0 };
        std::array::from_fn(|i| {
            std::array::from_fn(|j| self.variance * (sphere(i, j) + part * (shape[i][j] - sphere(i, j))))
        })
    }

    /// How much larger the covariance is because neighbouring residuals are alike; 1 where that is not beyond chance.
    fn correlation(&self, inverse: &Matrix) -> f64 {
        BLOCKS.into_iter().map(|blocks| self.correlation_over(blocks, inverse)).fold(1.0, f64::max)
    }

    /// The same with this many blocks along the longest axis.
    fn correlation_over(&self, along: usize, inverse: &Matrix) -> f64 {
        let extent = self.followers.iter().map(|f| norm(minus(f.moved, self.center))).fold(0.0, f64::max);
        let block_of = |f: &Follower| {
            minus(f.moved, self.center).into_iter().fold(0_usize, |key, x| {
                let place = along as f64 * (0.5 + 0.5 * x / extent);
                key * along + (place as usize).min(along - 1)
            })
        };
        let mut blocks: Vec<Option<(Moments, [f64; ALL])>> = vec![None; along * along * along];
        for follower in &self.followers {
            let (moments, score) = blocks[block_of(follower)].get_or_insert((Moments::default(), [0.0; ALL]));
            let (arm, weight) = (self.arm(follower), follower.weight);
            moments.add(weight, arm);
            let pull = follower.residual.map(|x| weight * x);
            let turn = cross(arm, pull);
            let grow = if self.known.is_scale_known { 0.0 } else { dot(arm, pull) };
            let own = [turn[0], turn[1], turn[2], pull[0], pull[1], pull[2], grow];
            score.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
        }
        let blocks: Vec<_> = blocks.into_iter().flatten().collect();
        if blocks.len() < FEWEST_BLOCKS {
            return 1.0;
        }
        // Scores of a fit sum to zero, so the blocks expect less than the trace of the identity.
        let (mut sum, mut own) = (0.0, 0.0);
        for (moments, score) in &blocks {
            let row = |i: usize| (0..ALL).map(|j| inverse[i][j] * score[j]).sum::<f64>();
            sum += (0..ALL).map(|i| score[i] * row(i)).sum::<f64>();
            let a = moments.matrix(&SPHERE);
            let trace: f64 = (0..self.known.unknowns())
                .map(|i| (0..self.known.unknowns()).map(|j| inverse[i][j] * a[j][i]).sum::<f64>())
                .sum();
            // A block is small, so it acts like one point, with three coordinates.
            own += trace * trace / 3.0;
        }
        let unknowns = self.known.fitted() as f64;
        let expected = self.variance * (unknowns - own).max(0.5);
        let ratio = sum / expected;
        if ratio > 1.0 + BEYOND_CHANCE * (2.0 * own).sqrt() / unknowns { ratio } else { 1.0 }
    }

    /// The inverse of `A` in the directions that it determines; and the other directions, with the standard deviation that they get.
    fn held(&self, a: &Matrix) -> (Matrix, Vec<([f64; ALL], f64)>) {
        let (values, vectors) = symmetric_eigen(a);
        let mut free = Vec::new();
        let mut result = [[0.0; ALL]; ALL];
        for (value, vector) in values.iter().zip(&vectors) {
            let is_scaling = vector[6].abs() > 0.9;
            let most = if is_scaling { ANY_SCALE } else { ANY_ANGLE } * self.lever;
            if *value > 0.0 && self.variance <= most * most * value {
                for i in 0..ALL {
                    for j in 0..ALL {
                        result[i][j] += vector[i] * vector[j] / value;
                    }
                }
            } else {
                free.push((*vector, most));
            }
        }
        (result, free)
    }
}

/// A noise without direction.
const SPHERE: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Sums of weights, weighted arms and their products: `Σ w·(1, x, y, z)ᵀ(1, x, y, z)`.
#[derive(Debug, Clone, Copy, Default)]
struct Moments([[f64; 4]; 4]);

impl Moments {
    fn add(&mut self, weight: f64, [x, y, z]: [f64; 3]) {
        let terms = [1.0, x, y, z];
        for (row, one) in self.0.iter_mut().zip(terms) {
            for (sum, other) in row.iter_mut().zip(terms) {
                *sum += weight * one * other;
            }
        }
    }

    /// `Σ w·JᵀNJ` for the derivatives `J` of the residuals, which are linear in the arms.
    fn matrix(&self, noise: &[[f64; 3]; 3]) -> Matrix {
        // N·J, term by term.
        let spread: [[[f64; 3]; 4]; ALL] =
            DERIVATIVES.map(|terms| terms.map(|term| noise.map(|row| dot(row, term))));
        let mut result = [[0.0; ALL]; ALL];
        for k in 0..ALL {
            for l in 0..=k {
                let mut sum = 0.0;
                for (moments, one) in self.0.iter().zip(&DERIVATIVES[k]) {
                    for (moment, other) in moments.iter().zip(&spread[l]) {
                        sum += moment * dot(*one, *other);
                    }
                }
                (result[k][l], result[l][k]) = (sum, sum);
            }
        }
        result
    }
}

/// Derivatives of the moved point by each unknown, as coefficients of 1 and of the three coordinates of its arm: `e × arm` for a rotation about the axis `e`, `e`
/// for a translation, and the arm itself for the scale.
const DERIVATIVES: [[[f64; 3]; 4]; ALL] = {
    const O: [f64; 3] = [0.0; 3];
    const X: [f64; 3] = [1.0, 0.0, 0.0];
    const Y: [f64; 3] = [0.0, 1.0, 0.0];
    const Z: [f64; 3] = [0.0, 0.0, 1.0];
    const fn minus(v: [f64; 3]) -> [f64; 3] {
        [-v[0], -v[1], -v[2]]
    }
    [
        [O, O, Z, minus(Y)],
        [O, minus(Z), O, X],
        [O, Y, minus(X), O],
        [X, O, O, O],
        [Y, O, O, O],
        [Z, O, O, O],
        [O, X, Y, Z],
    ]
};

fn product(one: &Matrix, other: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..ALL).map(|k| one[i][k] * other[k][j]).sum()))
}

/// A direction of the unknowns, by what it mostly does.
fn named(direction: &[f64; ALL]) -> FreeDirection {
    let part = |k: usize| [direction[k], direction[k + 1], direction[k + 2]];
    let (turn, shift) = (norm(part(0)), norm(part(3)));
    if direction[6].abs() > turn.max(shift) {
        FreeDirection::Scaling
    } else if turn >= shift {
        FreeDirection::Turning(part(0).map(|x| x / turn))
    } else {
        FreeDirection::Sliding(part(3).map(|x| x / shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, random::Random, solve};

    /// Mean of `xᵀ·C⁻¹·x` divided by the number of unknowns, over `runs` problems of 200 matches that `make` gives noise.
    fn nees(runs: u64, scale: Scale, make: impl Fn(&mut Random, u64, [f64; 3]) -> ([f64; 3], f64)) -> f64 {
        let mut sum = 0.0;
        for run in 0..runs {
            let mut random = Random::new(1000 + run);
            let truth = Similarity::from_quaternion(
                1.0,
                std::array::from_fn(|_| random.gaussian()),
                [300.0, -5.0, 70.0],
            )
            .unwrap();
            let (mut source, mut target, mut deviations) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..200 {
                let p: [f64; 3] = std::array::from_fn(|axis| [9.0, 4.0, 2.0][axis] * random.uniform());
                let (noise, deviation) = make(&mut random, run, p);
                let moved = truth.apply(p);
                source.push(p);
                target.push(std::array::from_fn(|axis| moved[axis] + noise[axis]));
                deviations.push(deviation);
            }
            let pairs = Correspondences::new(&source, &target).unwrap();
            let pairs = if deviations.iter().any(|d| *d != deviations[0]) {
                pairs.with_standard_deviations(&deviations).unwrap()
            } else {
                pairs
            };
            let found = solve(&pairs, scale, &Params::new()).unwrap();
            let covariance = covariance(&pairs, &found, scale).unwrap();
            let off = found.target_from_source.unwrap().inverse().then(&truth);
            let (r, c) = (off.rotation(), off.apply(covariance.center));
            let mut x = vec![0.5 * (r[2][1] - r[1][2]), 0.5 * (r[0][2] - r[2][0]), 0.5 * (r[1][0] - r[0][1])];
            x.extend(minus(c, covariance.center));
            x.push(off.scale() - 1.0);
            let information = covariance.information();
            let size = information.len();
            let one: f64 =
                (0..size).map(|i| (0..size).map(|j| x[i] * information[i][j] * x[j]).sum::<f64>()).sum();
            sum += one / size as f64;
        }
        sum / runs as f64
    }

    fn gaussian(random: &mut Random, deviations: [f64; 3]) -> [f64; 3] {
        deviations.map(|deviation| deviation * random.gaussian())
    }

    #[test]
    fn noise_that_differs_between_axes() {
        let found = nees(100, Scale::Unknown, |random, _, _| (gaussian(random, [0.01, 0.01, 0.04]), 1.0));
        assert!((0.85..1.2).contains(&found), "{found}");
    }

    #[test]
    fn matches_that_differ_in_noise() {
        let found = nees(100, Scale::one(), |random, _, _| {
            let deviation = 0.005 * 8.0_f64.powf(random.uniform());
            (gaussian(random, [deviation; 3]), deviation)
        });
        assert!((0.85..1.2).contains(&found), "{found}");
    }

    /// All matches of a block are off in the same way, beside noise of their own. Counted as independent, they would be worth far too much.
    #[test]
    fn neighbours_that_are_off_in_the_same_way() {
        let found = nees(100, Scale::one(), |random, run, p| {
            let block = p.iter().fold(run, |key, x| 16 * key + (x / 1.5) as u64);
            let drift = gaussian(&mut Random::new(block), [0.01; 3]);
            let own = gaussian(random, [0.005; 3]);
            (std::array::from_fn(|axis| drift[axis] + own[axis]), 1.0)
        });
        // Without the blocks it is 8. They cut some of what is alike.
        assert!((0.5..2.4).contains(&found), "{found}");
    }

    #[test]
    fn what_matches_on_a_line_do_not_determine_is_named() {
        let mut random = Random::new(3);
        let source: Vec<[f64; 3]> = (0..60).map(|k| [0.1 * f64::from(k), 0.0, 0.0]).collect();
        let shifted: Vec<[f64; 3]> =
            source.iter().map(|p| std::array::from_fn(|axis| p[axis] + 1e-3 * random.gaussian())).collect();
        // One match off the line makes the problem one in space.
        let (mut a, mut b) = (source, shifted);
        a.push([1.0, 3.0, 2.0]);
        b.push([1.0, 9.0, -4.0]);
        let pairs = Correspondences::new(&a, &b).unwrap();
        let threshold = Positive::new("threshold", 0.01).unwrap();
        let found = crate::assess(&pairs, &Similarity::IDENTITY, threshold);
        let covariance = covariance(&pairs, &found, Scale::one()).unwrap();
        let [FreeDirection::Turning(axis)] = covariance.free[..] else { panic!("{:?}", covariance.free) };
        assert!(axis[0].abs() > 0.999, "{axis:?}");
        assert!(covariance.matrix.iter().flatten().all(|x| x.is_finite()));
        assert!(covariance.accuracy().to_string().contains("not determined: turning about"));
    }

    #[test]
    fn the_evidence_has_the_rotation_of_the_covariance() {
        let mut random = Random::new(5);
        let rod = |random: &mut Random| [6.0, 1.0, 0.2].map(|edge| edge * random.uniform());
        let source: Vec<[f64; 3]> = (0..80).map(|_| rod(&mut random)).collect();
        let noisy = |p: &[f64; 3]| p.map(|x| x + 0.01 * random.gaussian());
        let target: Vec<[f64; 3]> = source.iter().map(noisy).collect();
        let pairs = Correspondences::new(&source, &target).unwrap();
        let plain = solve(&pairs, Scale::one(), &Params::new()).unwrap();
        let simple = plain.evidence.unwrap().rotation_deviation_deg;
        let found = plain.with_covariance(&pairs, Scale::one());
        let (deviation, axis) = found.covariance.as_ref().unwrap().loosest_rotation();
        assert_eq!(found.evidence.unwrap().rotation_deviation_deg, deviation.to_degrees());
        assert!(axis[0].abs() > 0.95, "{axis:?}");
        // With independent noise both estimates agree.
        let ratio = deviation.to_degrees() / simple;
        assert!((0.7..1.4).contains(&ratio), "{ratio}");
    }
}
