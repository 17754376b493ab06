//! FGR: Q.-Y. Zhou, J. Park, V. Koltun, "Fast global registration", ECCV 2016.
//!
//! Random triples with consistent lengths select the matches that are used. The transform then minimizes a scaled Geman–McClure cost by Gauss–Newton
//! steps while the cost narrows. The method needs a known scale and works up to about 90 % outliers.

use pcr99::{Similarity, StopReason, random::Random, stop::StopCheck};
use pcr99_base::{
    Soa,
    vector::{cross, minus, plus, times},
};

use crate::{
    baseline::{Baseline, Found, KnownScale, Matches},
    draws::{Rows, square},
};

/// Smallest ratio of the shorter to the longer length of an edge.
const SIMILARITY: f64 = 0.95;
/// Number of triples drawn per match.
const TRIALS: u64 = 100;
/// Number of consistent triples after which drawing ends.
const MOST_TRIPLES: u64 = 1000;
/// Smallest number of matches in consistent triples, repetitions included.
const LEAST_MATCHES: u64 = 10;
const ITERATIONS: u64 = 64;
/// Number of iterations between two narrowings of the cost.
const BETWEEN_NARROWINGS: u64 = 4;
/// Divisor of the width of the cost at each narrowing.
const NARROWING: f64 = 1.4;
/// Smallest width of the cost, relative to the size of the clouds.
const NARROWEST: f64 = 0.025;
/// Number of draws between two stop checks, about 0.1 ms.
const BETWEEN_CHECKS: u64 = 1024;

/// Fast global registration; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Fgr {
    /// Number of consistent triples with each match.
    times_drawn: Vec<u32>,
    rows: Rows,
    some: Vec<Pair>,
}

/// Selected match, in the normalized frame.
#[derive(Debug, Clone, Copy)]
struct Pair {
    /// Source point, moved by the current transform.
    moved: [f64; 3],
    target: [f64; 3],
    times_drawn: f64,
}

impl Baseline for Fgr {
    type Scale = KnownScale;

    fn find(
        &mut self,
        matches: &Matches<'_>,
        _: KnownScale,
        random: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        let points = matches.points;
        let (samples, filtered) = self.filter(points, random, stop);
        let mut found = Found { model: None, samples, hypotheses: 0, stopped_because: StopReason::Exhausted };
        match filtered {
            Ok(true) => {}
            Ok(false) => return found,
            Err(reason) => return Found { stopped_because: reason, ..found },
        }
        let Some(normal) = Normalised::of(points) else { return found };
        self.some.clear();
        for (i, &drawn) in self.times_drawn.iter().enumerate().filter(|(_, drawn)| **drawn > 0) {
            let (moved, target) = normal.pair(points, i);
            self.some.push(Pair { moved, target, times_drawn: f64::from(drawn) });
        }
        let mut motion = Motion::NONE;
        let mut mu = 1.0;
        for iteration in 0..ITERATIONS {
            if let Some(request) = stop() {
                return Found { stopped_because: request.into(), ..found };
            }
            if iteration.is_multiple_of(BETWEEN_NARROWINGS) && mu > NARROWEST {
                mu /= NARROWING;
            }
            // Matches that do not determine a motion, such as collinear ones, have no solution.
            let Some(step) = step(&self.some, mu) else { return found };
            self.some.iter_mut().for_each(|pair| pair.moved = step.apply(pair.moved));
            motion = motion.then(&step);
            found.hypotheses += 1;
        }
        found.model =
            Some(normal.undo(&motion)).filter(|model| model.translation().iter().all(|t| t.is_finite()));
        found.stopped_because = StopReason::Confident;
        found
    }
}

impl Fgr {
    /// Counts the consistent random triples with each match; false when there are too few.
    fn filter(
        &mut self,
        points: &Soa,
        random: &mut Random,
        stop: StopCheck<'_>,
    ) -> (u64, Result<bool, StopReason>) {
        let n = points.len();
        self.times_drawn.clear();
        self.times_drawn.resize(n, 0);
        self.rows.assign(points);
        let rows = &self.rows;
        let (mut samples, mut triples) = (0, 0);
        while samples < TRIALS * n as u64 && triples < MOST_TRIPLES {
            if samples.is_multiple_of(BETWEEN_CHECKS)
                && let Some(request) = stop()
            {
                return (samples, Err(request.into()));
            }
            samples += 1;
            let triple = random.distinct_triple(n);
            let [i, j, k] = triple;
            if keeps_length(rows, i, j) && keeps_length(rows, j, k) && keeps_length(rows, k, i) {
                triple.iter().for_each(|&i| self.times_drawn[i] += 1);
                triples += 1;
            }
        }
        (samples, Ok(3 * triples >= LEAST_MATCHES))
    }
}

/// Whether the ratio of the lengths of an edge lies strictly between 0.95 and 1/0.95.
fn keeps_length(rows: &Rows, i: usize, j: usize) -> bool {
    let [a_sq, b_sq] = rows.squared_lengths(i, j);
    a_sq.min(b_sq) > SIMILARITY * SIMILARITY * a_sq.max(b_sq)
}

/// Normalization: both clouds relative to their centroids, divided by the larger radius.
struct Normalised {
    source_mean: [f64; 3],
    target_mean: [f64; 3],
    radius: f64,
}

impl Normalised {
    /// `None` when all points of both sides coincide.
    fn of(points: &Soa) -> Option<Self> {
        let n = points.len() as f64;
        let mean = |columns: &[Vec<f64>; 3]| columns.each_ref().map(|column| column.iter().sum::<f64>() / n);
        let (source_mean, target_mean) = (mean(&points.a), mean(&points.b));
        let mut radius_sq: f64 = 0.0;
        for i in 0..points.len() {
            radius_sq = radius_sq.max(square(minus(points.source(i), source_mean)));
            radius_sq = radius_sq.max(square(minus(points.target(i), target_mean)));
        }
        let radius = radius_sq.sqrt();
        (radius > 0.0 && radius.is_finite()).then_some(Self { source_mean, target_mean, radius })
    }

    fn pair(&self, points: &Soa, i: usize) -> ([f64; 3], [f64; 3]) {
        let shrunk = |v: [f64; 3]| v.map(|x| x / self.radius);
        (shrunk(minus(points.source(i), self.source_mean)), shrunk(minus(points.target(i), self.target_mean)))
    }

    /// Motion between the given clouds from one between the normalized clouds: `t' = D·t + b̄ − R·ā`.
    fn undo(&self, motion: &Motion) -> Similarity {
        let moved_mean =
            Similarity::new_unchecked(1.0, motion.0.rotation(), [0.0; 3]).apply(self.source_mean);
        let translation =
            plus(times(self.radius, motion.0.translation()), minus(self.target_mean, moved_mean));
        Similarity::new_unchecked(1.0, motion.0.rotation(), translation)
    }
}

/// Rotation and translation.
#[derive(Debug, Clone, Copy)]
struct Motion(Similarity);

impl Motion {
    const NONE: Self = Self(Similarity::IDENTITY);

    /// Rotates by the angles `x`, `y`, `z` about the axes in this order (R = Rz·Ry·Rx), then translates.
    fn new([x, y, z]: [f64; 3], translation: [f64; 3]) -> Self {
        let ((sx, cx), (sy, cy), (sz, cz)) = (libm::sincos(x), libm::sincos(y), libm::sincos(z));
        let rotation = [
            [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx],
        ];
        Self(Similarity::new_unchecked(1.0, rotation, translation))
    }

    fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        self.0.apply(point)
    }

    fn then(&self, next: &Self) -> Self {
        Self(self.0.then(&next.0))
    }
}

/// One Gauss–Newton step: the small rotation `ω` and translation `t` that minimize `Σ l·‖p − q − ω×q − t‖²` with `l = (μ/(μ + ‖p − q‖²))²`, where
/// `q` is the moved source and `p` the target. `None` when they are not determined.
fn step(pairs: &[Pair], mu: f64) -> Option<Motion> {
    // With e = p − q the normal equations are
    //   Σl·(‖q‖²I − q·qᵀ)·ω + (Σl·q)×t = Σl·q×e   and   −(Σl·q)×ω + Σl·t = Σl·e.
    let (mut weights, mut first, mut second) = (0.0, [0.0; 3], [0.0; 6]);
    let (mut turning, mut moving) = ([0.0; 3], [0.0; 3]);
    for &Pair { moved: q, target: p, times_drawn } in pairs {
        let e = minus(p, q);
        let l = mu / (mu + square(e));
        let l = times_drawn * (l * l);
        let lq = times(l, q);
        weights += l;
        first = plus(first, lq);
        let products = [lq[0] * q[0], lq[1] * q[1], lq[2] * q[2], lq[0] * q[1], lq[0] * q[2], lq[1] * q[2]];
        second.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
        turning = plus(turning, cross(lq, e));
        moving = plus(moving, times(l, e));
    }
    let [xx, yy, zz, xy, xz, yz] = second;
    let [x, y, z] = first;
    let matrix = [
        [yy + zz, -xy, -xz, 0.0, -z, y],
        [-xy, xx + zz, -yz, z, 0.0, -x],
        [-xz, -yz, xx + yy, -y, x, 0.0],
        [0.0, z, -y, weights, 0.0, 0.0],
        [-z, 0.0, x, 0.0, weights, 0.0],
        [y, -x, 0.0, 0.0, 0.0, weights],
    ];
    let right = [turning[0], turning[1], turning[2], moving[0], moving[1], moving[2]];
    let [a, b, c, d, e, f] = solve_symmetric(matrix, right)?;
    Some(Motion::new([a, b, c], [d, e, f]))
}

/// Solves `M·x = y` by Cholesky's decomposition; `None` unless `M` is positive definite by more than rounding errors.
fn solve_symmetric(mut m: [[f64; 6]; 6], mut y: [f64; 6]) -> Option<[f64; 6]> {
    for column in 0..6 {
        let whole = m[column][column];
        let pivot = whole - (0..column).map(|k| m[column][k] * m[column][k]).sum::<f64>();
        let fixed = pivot > 1e-12 * whole;
        if !fixed {
            return None;
        }
        let root = pivot.sqrt();
        m[column][column] = root;
        for row in column + 1..6 {
            let known: f64 = (0..column).map(|k| m[row][k] * m[column][k]).sum();
            m[row][column] = (m[row][column] - known) / root;
        }
    }
    for row in 0..6 {
        y[row] = (y[row] - (0..row).map(|k| m[row][k] * y[k]).sum::<f64>()) / m[row][row];
    }
    for row in (0..6).rev() {
        y[row] = (y[row] - (row + 1..6).map(|k| m[k][row] * y[k]).sum::<f64>()) / m[row][row];
    }
    Some(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, problems::largest_error};
    use pcr99::stop;

    #[test]
    fn solves_what_it_can() {
        for (scale, ratio) in [(Some(1.0), 0.0), (Some(2.5), 0.5), (Some(1.0), 0.8)] {
            let worst = largest_error(Method::Fgr, scale, ratio, 5);
            assert!(worst < 2.0, "{scale:?} {ratio}: {worst}");
        }
    }

    #[test]
    fn fails_where_it_must() {
        assert!(largest_error(Method::Fgr, Some(1.0), 0.99, 5) > 10.0);
    }

    #[test]
    fn small_systems() {
        let matrix: [[f64; 6]; 6] = std::array::from_fn(|i| {
            std::array::from_fn(|j| if i == j { 4.0 } else { 1.0 / (1 + i + j) as f64 })
        });
        let x = [1.0, -2.0, 3.0, 0.5, 0.0, -1.0];
        let y = matrix.map(|row| row.iter().zip(x).map(|(m, x)| m * x).sum());
        let solved = solve_symmetric(matrix, y).unwrap();
        assert!(solved.iter().zip(x).all(|(s, x)| (s - x).abs() < 1e-12), "{solved:?}");
        assert_eq!(solve_symmetric([[1.0; 6]; 6], [1.0; 6]), None);
        assert_eq!(solve_symmetric([[0.0; 6]; 6], [1.0; 6]), None);
    }

    /// A Gauss–Newton step from a close start nearly reaches the solution.
    #[test]
    fn a_step_undoes_a_small_motion() {
        let mut random = Random::new(3);
        let motion = Motion::new([0.01, -0.02, 0.015], [0.1, 0.2, -0.1]);
        let pairs: Vec<Pair> = (0..30)
            .map(|_| {
                let moved = std::array::from_fn(|_| random.uniform() - 0.5);
                Pair { moved, target: motion.apply(moved), times_drawn: 1.0 + random.below(3) as f64 }
            })
            .collect();
        let step = step(&pairs, 1e6).unwrap();
        for pair in &pairs {
            assert!(square(minus(step.apply(pair.moved), pair.target)).sqrt() < 1e-3);
        }
        assert!(super::step(&pairs[..1], 1.0).is_none(), "one match fixes no motion");
    }

    /// In noise, too few triples are consistent.
    #[test]
    fn without_triples_there_is_nothing() {
        let mut points = Soa::default();
        let mut random = Random::new(5);
        points.a.iter_mut().for_each(|column| column.extend((0..8).map(|_| random.uniform())));
        points.b = points.a.each_ref().map(|column| column.iter().map(|x| 3.0 * x).collect());
        let matches = Matches { points: &points, sigma: 0.01 };
        let found = Fgr::default().find(&matches, KnownScale, &mut Random::new(1), &stop::never);
        assert_eq!((found.model, found.samples, found.stopped_because), (None, 800, StopReason::Exhausted));
    }
}
