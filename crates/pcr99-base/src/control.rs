//! The transform that maps a few control points to their known places, of which some may be grossly wrong.
//!
//! Control points are few, so that subsets are tried exhaustively: every two points where the vertical is known, and every three else, as far as they are at most 20 000, or fewer where there are many
//! points; beyond, as many at random. Each subset is fitted, and the points that agree with it are fitted again.
//!
//! With standard deviations, a point agrees when its residual is at most [`GATE`] of them. Among all subsets, the one counts whose truncated sum of squares is smallest. Without,
//! the noise is unknown, and a set of `k` points with residuals up to `e` is judged by how often wrong points would agree as well: `C(n, k)·(e/r)^(3k − p)`, with `r` the extent of the
//! places and `p` the number of unknowns. The noise follows from the residuals of the best set.

use crate::{
    Similarity, Soa,
    eigen::symmetric_eigen,
    kernel::consensus::{Affine, squared_distance},
    least_squares::{fit_sums, fit_sums_upright, weighted_sums},
    random::Random,
    upright::Tilt,
};

/// Largest residual of a right point, in standard deviations of a coordinate: one right point of a thousand is beyond (χ² with three degrees of freedom).
pub const GATE: f64 = 4.033;
/// Largest number of subsets that are tried.
const MOST_SUBSETS: usize = 20_000;
/// Largest number of residuals that are computed for all subsets together. It bounds the time where there are many points.
const MOST_RESIDUALS: usize = 500_000;
/// Smallest number of subsets: with 40 % of wrong points, one in five subsets of three is right.
const FEWEST_SUBSETS: usize = 200;
/// Rounds of fits to the points that agree.
const ROUNDS: usize = 20;
/// Smallest noise relative to the extent of the places: the rounding error of coordinates.
const FINEST: f64 = 1e-12;
/// Ratio of the second largest standard deviation of points to the largest below which they are on a line.
const ON_A_LINE: f64 = 1e-6;

/// What is known of the transform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// The scale, where it is known.
    pub scale: Option<f64>,
    /// How far the third axis may tilt, where it is up on both sides.
    pub tilt: Option<Tilt>,
}

impl Known {
    /// Smallest number of points that determine a transform.
    pub fn fewest(&self) -> usize {
        if self.tilt.is_some() { 2 } else { 3 }
    }

    /// Number of unknowns.
    pub fn unknowns(&self) -> usize {
        let rotation = if self.tilt.is_some_and(|tilt| tilt.is_none()) { 1 } else { 3 };
        3 + rotation + usize::from(self.scale.is_none())
    }

    /// The least-squares transform of some points, with weights by their position in the list.
    pub fn fit(&self, points: &Soa, some: &[u32], weight: impl Fn(usize) -> f64) -> Option<Similarity> {
        if some.len() < self.fewest() {
            return None;
        }
        let sums = weighted_sums(points, some, weight);
        match self.tilt {
            None => fit_sums(&sums, self.scale),
            // Two points say nothing about a tilt.
            Some(_) if some.len() < 3 => fit_sums_upright(&sums, self.scale, &Tilt::NONE),
            Some(tilt) => fit_sums_upright(&sums, self.scale, &tilt),
        }
    }
}

/// A transform of control points.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// From local coordinates to places.
    pub transform: Similarity,
    /// Distance between each moved point and its place.
    pub residuals: Vec<f64>,
    /// Whether each point was used. The others are gross errors.
    pub is_used: Vec<bool>,
    /// Standard deviation of a coordinate of a point whose relative deviation is 1: measured, where no deviations were given and something is left over to measure it by.
    pub sigma: Option<f64>,
    /// Number of coordinates that are left over after the unknowns are determined.
    pub redundancy: usize,
}

/// Why control points do not determine a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undetermined {
    /// There are fewer than needed.
    TooFew {
        /// Number of points.
        found: usize,
        /// Number that is needed.
        needed: usize,
    },
    /// They are on one line, so that the rotation about it is open; with a known vertical, on one vertical line.
    OnALine,
    /// They are at one place.
    AtOnePlace,
}

/// Aligns `points.a` with `points.b`, of which some may be wrong. `deviations` are the standard deviations of the points; without, all are alike, and their noise is measured.
///
/// # Errors
/// [`Undetermined`].
pub fn align(points: &Soa, deviations: Option<&[f64]>, known: &Known) -> Result<Alignment, Undetermined> {
    let n = points.len();
    let all: Vec<u32> = (0..n as u32).collect();
    if n < known.fewest() {
        return Err(Undetermined::TooFew { found: n, needed: known.fewest() });
    }
    check_shape(points, &all, known)?;
    let weights: Vec<f64> = match deviations {
        Some(deviations) => deviations.iter().map(|s| 1.0 / (s * s)).collect(),
        None => vec![1.0; n],
    };
    let case = Case {
        points,
        weights: &weights,
        known,
        has_deviations: deviations.is_some(),
        extent: extent(points),
    };
    let mut best: Option<(f64, Vec<u32>, Similarity)> = None;
    let mut consider = |some: &[u32]| {
        let Some(found) = case.refined(some) else { return };
        if best.as_ref().is_none_or(|(least, ..)| found.0 < *least) {
            best = Some(found);
        }
    };
    consider(&all);
    subsets(n, known.fewest(), &mut consider);
    let (_, used, transform) = best.ok_or(Undetermined::OnALine)?;
    let affine = Affine::from(&transform);
    let squares: Vec<f64> = (0..n).map(|i| squared_distance(points, &affine, i)).collect();
    let redundancy = (3 * used.len()).saturating_sub(known.unknowns());
    let sum: f64 = used.iter().map(|&i| weights[i as usize] * squares[i as usize]).sum();
    let measured = (redundancy > 0).then(|| (sum / redundancy as f64).sqrt());
    Ok(Alignment {
        transform,
        residuals: squares.iter().map(|square| square.sqrt()).collect(),
        is_used: (0..n as u32).map(|i| used.contains(&i)).collect(),
        sigma: if deviations.is_some() { Some(1.0) } else { measured },
        redundancy,
    })
}

/// As [`align`] with all points, none of which is wrong.
///
/// # Errors
/// [`Undetermined`].
pub fn align_all(points: &Soa, known: &Known) -> Result<Alignment, Undetermined> {
    let n = points.len();
    if n < known.fewest() {
        return Err(Undetermined::TooFew { found: n, needed: known.fewest() });
    }
    let all: Vec<u32> = (0..n as u32).collect();
    check_shape(points, &all, known)?;
    let transform = known.fit(points, &all, |_| 1.0).ok_or(Undetermined::OnALine)?;
    let affine = Affine::from(&transform);
    let squares: Vec<f64> = (0..n).map(|i| squared_distance(points, &affine, i)).collect();
    let redundancy = (3 * n).saturating_sub(known.unknowns());
    let measured = (redundancy > 0).then(|| (squares.iter().sum::<f64>() / redundancy as f64).sqrt());
    Ok(Alignment {
        transform,
        residuals: squares.iter().map(|square| square.sqrt()).collect(),
        is_used: vec![true; n],
        sigma: measured,
        redundancy,
    })
}

/// Points with weights, and what is known.
struct Case<'a> {
    points: &'a Soa,
    weights: &'a [f64],
    known: &'a Known,
    has_deviations: bool,
    /// Largest standard deviation of the places, and the rounding error.
    extent: f64,
}

impl Case<'_> {
    /// The set that a fit of `some` leads to: its rank (smaller is better), its points and its transform.
    fn refined(&self, some: &[u32]) -> Option<(f64, Vec<u32>, Similarity)> {
        check_shape(self.points, some, self.known).ok()?;
        let mut used = some.to_vec();
        let mut best: Option<(f64, Vec<u32>, Similarity)> = None;
        for _ in 0..ROUNDS {
            let transform = self.known.fit(self.points, &used, |k| self.weights[used[k] as usize])?;
            let affine = Affine::from(&transform);
            let square =
                |i: u32| self.weights[i as usize] * squared_distance(self.points, &affine, i as usize);
            let mut sorted: Vec<(f64, u32)> = (0..self.points.len() as u32).map(|i| (square(i), i)).collect();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let (rank, count) =
                if self.has_deviations { self.truncated(&sorted) } else { self.meaningful(&sorted) };
            let mut next: Vec<u32> = sorted[..count].iter().map(|(_, i)| *i).collect();
            next.sort_unstable();
            if best.as_ref().is_none_or(|(least, ..)| rank < *least) {
                best = Some((rank, next.clone(), transform));
            }
            if next == used || check_shape(self.points, &next, self.known).is_err() {
                break;
            }
            used = next;
        }
        let (rank, used, _) = best?;
        check_shape(self.points, &used, self.known).ok()?;
        let transform = self.known.fit(self.points, &used, |k| self.weights[used[k] as usize])?;
        Some((rank, used, transform))
    }

    /// The truncated sum of squares, and the number of points within the gate.
    fn truncated(&self, sorted: &[(f64, u32)]) -> (f64, usize) {
        let gate = GATE * GATE;
        let count = sorted.iter().take_while(|(square, _)| *square <= gate).count();
        let sum: f64 = sorted.iter().map(|(square, _)| square.min(gate)).sum();
        (sum, count.max(self.known.fewest()))
    }

    /// Logarithm of how often wrong points would agree as well as the most meaningful number of these, and that number, with all further points that are within the gate of its noise.
    fn meaningful(&self, sorted: &[(f64, u32)]) -> (f64, usize) {
        let (n, unknowns) = (sorted.len(), self.known.unknowns() as f64);
        let finest = FINEST * self.extent;
        let mut best = (f64::INFINITY, self.known.fewest());
        for k in self.known.fewest()..=n {
            let e = sorted[k - 1].0.sqrt().max(finest);
            let free = 3.0 * k as f64 - unknowns;
            let ratio = (e / self.extent).min(1.0);
            let log = log_choose(n, k) + free * libm::log(ratio);
            if log < best.0 {
                best = (log, k);
            }
        }
        let (rank, core) = best;
        let free = (3.0 * core as f64 - unknowns).max(1.0);
        let sum: f64 = sorted[..core].iter().map(|(square, _)| square).sum();
        let sigma_sq = (sum / free).max(finest * finest);
        let within = sorted.iter().take_while(|(square, _)| *square <= GATE * GATE * sigma_sq).count();
        (rank, core.max(within))
    }
}

fn log_choose(n: usize, k: usize) -> f64 {
    let log = |x: usize| libm::lgamma(x as f64 + 1.0);
    log(n) - log(k) - log(n - k)
}

/// Largest standard deviation of the places along a direction.
fn extent(points: &Soa) -> f64 {
    let all: Vec<u32> = (0..points.len() as u32).collect();
    spread(&points.b, &all).0[2].max(f64::MIN_POSITIVE)
}

/// Standard deviations of points along their principal axes, ascending, and these axes.
fn spread(columns: &[Vec<f64>; 3], some: &[u32]) -> ([f64; 3], [[f64; 3]; 3]) {
    let count = some.len() as f64;
    let mean = columns.each_ref().map(|column| some.iter().map(|&i| column[i as usize]).sum::<f64>() / count);
    let entry = |row: usize, column: usize| {
        let product =
            |&i: &u32| (columns[row][i as usize] - mean[row]) * (columns[column][i as usize] - mean[column]);
        some.iter().map(product).sum::<f64>() / count
    };
    let matrix: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| entry(i.max(j), i.min(j))));
    let (values, axes) = symmetric_eigen(&matrix);
    (values.map(|value| value.max(0.0).sqrt()), axes)
}

/// Checks that some points are not on a line, on either side.
fn check_shape(points: &Soa, some: &[u32], known: &Known) -> Result<(), Undetermined> {
    for columns in [&points.a, &points.b] {
        let (deviations, _) = spread(columns, some);
        if deviations[2] == 0.0 {
            return Err(Undetermined::AtOnePlace);
        }
        let across = if known.tilt.is_some() {
            // Points above each other leave the turn about the vertical open.
            let flat = [columns[0].clone(), columns[1].clone(), vec![0.0; columns[2].len()]];
            spread(&flat, some).0[2]
        } else {
            deviations[1]
        };
        if across <= ON_A_LINE * deviations[2] {
            return Err(Undetermined::OnALine);
        }
    }
    Ok(())
}

/// Calls `consider` with every subset of `size` (two or three) of `n`, or with many random ones.
fn subsets(n: usize, size: usize, consider: &mut impl FnMut(&[u32])) {
    let all = if size == 2 { n * (n - 1) / 2 } else { n * n.saturating_sub(1) * n.saturating_sub(2) / 6 };
    let most = (MOST_RESIDUALS / n).clamp(FEWEST_SUBSETS, MOST_SUBSETS);
    if all > most {
        let mut random = Random::new(0);
        for _ in 0..most {
            let triple = random.distinct_triple(n).map(|i| i as u32);
            consider(&triple[..size]);
        }
        return;
    }
    for i in 0..n as u32 {
        for j in 0..i {
            if size == 2 {
                consider(&[j, i]);
            } else {
                (0..j).for_each(|k| consider(&[k, j, i]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation_of;

    /// `n` points of which the last `wrong` are off by tens of standard deviations or more, with noise 0.01.
    fn case(n: usize, wrong: usize, known: &Known, random: &mut Random) -> (Soa, Similarity) {
        let mut points = Soa::default();
        let q = match known.tilt {
            None => std::array::from_fn(|_| random.gaussian()),
            Some(_) => [random.gaussian(), 0.0, 0.0, random.gaussian()],
        };
        let scale = known.scale.unwrap_or_else(|| 0.5 + random.uniform());
        let truth = Similarity::new_unchecked(scale, rotation_of(q), [5.0, -3.0, 1.0]);
        for k in 0..n {
            let a: [f64; 3] = std::array::from_fn(|axis| [20.0, 15.0, 3.0][axis] * random.gaussian());
            let mut b = truth.apply(a).map(|x| x + 0.01 * random.gaussian());
            if k >= n - wrong {
                let size = libm::exp(4.0 * random.uniform());
                b = std::array::from_fn(|axis| b[axis] + size * [0.6, 0.64, 0.48][axis]);
            }
            (0..3).for_each(|axis| points.a[axis].push(a[axis]));
            (0..3).for_each(|axis| points.b[axis].push(b[axis]));
        }
        (points, truth)
    }

    #[test]
    fn gross_errors_are_found() {
        let mut random = Random::new(77);
        for known in [
            Known { scale: Some(1.0), tilt: None },
            Known { scale: None, tilt: None },
            Known { scale: Some(1.0), tilt: Some(Tilt::NONE) },
            Known { scale: None, tilt: Tilt::new(0.5) },
        ] {
            for (n, wrong) in [(4, 0), (6, 1), (8, 2), (10, 4), (20, 8), (60, 24)] {
                for has_deviations in [true, false] {
                    let mut missed = 0;
                    for _ in 0..10 {
                        let (points, _) = case(n, wrong, &known, &mut random);
                        let deviations = vec![0.01; n];
                        let found =
                            align(&points, has_deviations.then_some(&deviations[..]), &known).unwrap();
                        let right = (0..n).filter(|&i| found.is_used[i] == (i < n - wrong)).count();
                        missed += usize::from(right < n);
                    }
                    // A right point of a thousand is beyond the gate, and few points measure their noise badly.
                    assert!(missed <= 2, "{known:?} {n} {wrong} {has_deviations}: {missed} of 10");
                }
            }
        }
    }

    #[test]
    fn what_does_not_determine_a_pose_is_named() {
        let line: Vec<[f64; 3]> = (0..5).map(|i| [f64::from(i), 2.0 * f64::from(i), 0.0]).collect();
        let soa = |points: &[[f64; 3]]| {
            let columns =
                || [0, 1, 2].map(|axis: usize| points.iter().map(|p| p[axis]).collect::<Vec<f64>>());
            Soa::new(columns(), columns())
        };
        let (free, upright) =
            (Known { scale: Some(1.0), tilt: None }, Known { scale: Some(1.0), tilt: Some(Tilt::NONE) });
        let error = |points: &[[f64; 3]], known: &Known| align(&soa(points), None, known).unwrap_err();
        assert_eq!(error(&line, &free), Undetermined::OnALine);
        assert_eq!(error(&line[..2], &free), Undetermined::TooFew { found: 2, needed: 3 });
        assert_eq!(error(&[[1.0; 3]; 4], &free), Undetermined::AtOnePlace);
        assert!(align(&soa(&line[..2]), None, &upright).is_ok());
        assert_eq!(error(&line[..1], &upright), Undetermined::TooFew { found: 1, needed: 2 });
        let above = [[1.0, 2.0, 0.0], [1.0, 2.0, 5.0], [1.0, 2.0, 9.0]];
        assert_eq!(error(&above, &upright), Undetermined::OnALine);
        assert_eq!(align(&soa(&line[..2]), None, &upright).unwrap().redundancy, 2);
    }
}
