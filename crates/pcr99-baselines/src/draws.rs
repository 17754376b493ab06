//! Parts of methods that sample at random: counted draws, tests of ratios without roots, and the fit of RANSIC and ICOS.

use pcr99::{Similarity, StopReason, stop::StopCheck};
use pcr99_base::{
    Soa, least_squares,
    vector::{dot, minus, plus},
};

use crate::{
    baseline::EitherScale,
    blocks::{Rotation, centroids, norm_ratio_scale},
};

/// Number of draws between two stop checks, about 0.1 ms.
const BETWEEN_CHECKS: u64 = 1024;
/// Largest number of draws, as for random sampling in PCR-99.
const MOST: u64 = 1_000_000_000;
/// Mean number of draws of each ordered triple after which a search with few matches ends.
const TIMES_EACH: u64 = 100;

/// Counts draws and limits them.
pub(super) struct Draws<'a> {
    made: u64,
    limit: u64,
    stop: StopCheck<'a>,
}

impl<'a> Draws<'a> {
    /// At most `min(10⁹, 100·n³)` draws for `n` matches. The published methods have no limit but the caller's time limit; with few matches,
    /// this limit ends the search after every triple has been tried many times.
    pub(super) fn new(n: usize, stop: StopCheck<'a>) -> Self {
        let triples = (n as u64).saturating_pow(3);
        Self { made: 0, limit: triples.saturating_mul(TIMES_EACH).min(MOST), stop }
    }

    /// Counts one draw; the error says why there must be no more.
    #[inline]
    pub(super) fn another(&mut self) -> Result<(), StopReason> {
        if self.made.is_multiple_of(BETWEEN_CHECKS) {
            if let Some(request) = (self.stop)() {
                return Err(request.into());
            }
            if self.made >= self.limit {
                return Err(StopReason::HypothesisLimit);
            }
        }
        self.made += 1;
        Ok(())
    }

    /// Number of draws so far.
    pub(super) fn made(&self) -> u64 {
        self.made
    }
}

/// Whether two ratios `√(v/u)`, given by their squares, can both be within a tenth of their weighted mean: `min ≥ 0.9·max`, since the mean is
/// at most the larger. A bound without roots and divisions, wider than the test by rounding.
#[inline]
pub(super) fn may_be_within_a_tenth([u, v]: [f64; 2], [w, x]: [f64; 2]) -> bool {
    let (one, other) = (v * w, x * u);
    one.min(other) >= 0.81 * (1.0 - 1e-9) * one.max(other)
}

/// `‖v‖²`.
#[inline]
pub(super) fn square(v: [f64; 3]) -> f64 {
    dot(v, v)
}

/// Matches as rows, source and target of each together. Random access then touches one place in memory instead of six.
#[derive(Debug, Default)]
pub(super) struct Rows(Vec<[[f64; 3]; 2]>);

impl Rows {
    /// Copies `points`, reusing the buffer.
    pub(super) fn assign(&mut self, points: &Soa) {
        self.0.clear();
        self.0.extend((0..points.len()).map(|i| [points.source(i), points.target(i)]));
    }

    /// Source and target of match `i`.
    #[inline]
    pub(super) fn get(&self, i: usize) -> [[f64; 3]; 2] {
        self.0[i]
    }

    /// `‖a_i − a_j‖²` and `‖b_i − b_j‖²`.
    #[inline]
    pub(super) fn squared_lengths(&self, i: usize, j: usize) -> [f64; 2] {
        let ([a, b], [c, d]) = (self.0[i], self.0[j]);
        [square(minus(a, c)), square(minus(b, d))]
    }

    /// `|‖b_i − b_j‖ − s·‖a_i − a_j‖| ≤ tolerance`.
    #[inline]
    pub(super) fn keeps_length(&self, i: usize, j: usize, s: f64, tolerance: f64) -> bool {
        let [a_sq, b_sq] = self.squared_lengths(i, j);
        (b_sq.sqrt() - s * a_sq.sqrt()).abs() <= tolerance
    }

    /// Centroids of three matches on both sides, and the squared distances of the three points from them.
    #[inline]
    pub(super) fn about_mean(&self, triple: [usize; 3]) -> ([[f64; 3]; 2], [[f64; 2]; 3]) {
        let rows = triple.map(|i| self.0[i]);
        let mean = std::array::from_fn(|side| {
            plus(plus(rows[0][side], rows[1][side]), rows[2][side]).map(|x| x * (1.0 / 3.0))
        });
        let squares = rows.map(|[a, b]| [square(minus(a, mean[0])), square(minus(b, mean[1]))]);
        (mean, squares)
    }
}

/// Three scale ratios with their weights, for the tests that RANSIC and ICOS share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ratios {
    /// Lengths `r` in the source.
    pub(super) r: [f64; 3],
    /// Ratios `s` of the lengths in the target to those in the source.
    pub(super) s: [f64; 3],
    /// Mean of the ratios, weighted by the squared lengths: `Σ r²·s / Σ r²`.
    pub(super) mean: f64,
}

impl Ratios {
    /// Ratios of squared lengths; `None` when a length in the source or the mean is zero.
    #[inline]
    pub(super) fn new(squares: [[f64; 2]; 3]) -> Option<Self> {
        let r = squares.map(|[u, _]| u.sqrt());
        let s = std::array::from_fn(|m| squares[m][1].sqrt() / r[m]);
        let mean =
            (0..3).map(|m| squares[m][0] * s[m]).sum::<f64>() / squares.iter().map(|[u, _]| u).sum::<f64>();
        (mean > 0.0 && mean.is_finite()).then_some(Self { r, s, mean })
    }

    /// Largest minus smallest ratio.
    #[inline]
    pub(super) fn range(&self) -> f64 {
        let [x, y, z] = self.s;
        x.max(y).max(z) - x.min(y).min(z)
    }

    /// Whether noise of the given size explains the difference of each two ratios: `|s_m − s_l| ≤ bound·(1/r_m + 1/r_l)`.
    #[inline]
    pub(super) fn agree(&self, bound: f64) -> bool {
        let near =
            |m: usize, l: usize| (self.s[m] - self.s[l]).abs() <= bound * (1.0 / self.r[m] + 1.0 / self.r[l]);
        near(0, 1) && near(1, 2) && near(2, 0)
    }
}

/// Whether the angle between two rotations is at most the angle with this cosine: `tr(R₁ᵀR₂) ≥ 1 + 2·cos`.
#[inline]
pub(super) fn within_angle(one: &Rotation, other: &Rotation, cosine: f64) -> bool {
    let trace: f64 = one.iter().zip(other).map(|(r, s)| dot(*r, *s)).sum();
    trace >= 1.0 + 2.0 * cosine
}

/// Transform of some matches as RANSIC and ICOS fit it: an unknown scale from the norms, the rest by least squares.
pub(super) fn fit_by_norms(points: &Soa, some: &[u32], scale: EitherScale) -> Option<Similarity> {
    let s = match scale.known() {
        Some(s) => s,
        None => {
            let some: Vec<usize> = some.iter().map(|&i| i as usize).collect();
            let (p, q) = centroids(points, &some);
            norm_ratio_scale(points, &some, p, q)?
        }
    };
    least_squares::fit(points, some, Some(s))
}

#[cfg(test)]
mod tests {
    use super::super::blocks::{angle_between, lengths, triangle_rotation};
    use super::*;
    use pcr99::{
        random::Random,
        stop::{self, StopRequest},
    };

    #[test]
    fn draws_end() {
        let mut few = Draws::new(3, &stop::never);
        let end = loop {
            if let Err(end) = few.another() {
                break end;
            }
        };
        assert_eq!(end, StopReason::HypothesisLimit);
        assert!((2700..2700 + BETWEEN_CHECKS).contains(&few.made()));
        let told = || Some(StopRequest::Interrupted);
        let mut none = Draws::new(1000, &told);
        assert_eq!((none.another(), none.made()), (Err(StopReason::Interrupted), 0));
        assert_eq!(Draws::new(usize::MAX, &stop::never).limit, MOST);
    }

    /// The bound never rejects what the test accepts.
    #[test]
    fn the_bound_without_roots_is_wide_enough() {
        let mut random = Random::new(3);
        let (mut accepted, mut rejected) = (0, 0);
        for _ in 0..20_000 {
            let squares: [[f64; 2]; 3] = std::array::from_fn(|_| {
                let u = random.uniform();
                [u, u * (0.8 + 0.4 * random.uniform())]
            });
            let ratios = Ratios::new(squares).unwrap();
            let passes = ratios.range() <= 0.1 * ratios.mean;
            let may =
                [(0, 1), (1, 2), (2, 0)].iter().all(|&(m, l)| may_be_within_a_tenth(squares[m], squares[l]));
            assert!(may || !passes);
            accepted += usize::from(passes);
            rejected += usize::from(!may);
        }
        assert!(accepted > 1000 && rejected > 1000, "{accepted} {rejected}");
    }

    #[test]
    fn angles_and_lengths_are_those_of_their_definitions() {
        let mut random = Random::new(5);
        let mut points = Soa::default();
        points
            .a
            .iter_mut()
            .chain(&mut points.b)
            .for_each(|column| column.extend((0..50).map(|_| random.uniform())));
        let mut rows = Rows::default();
        rows.assign(&points);
        let rotation = |random: &mut Random| triangle_rotation(&points, random.distinct_triple(50)).unwrap();
        let (mut within, mut kept) = (0, 0);
        for _ in 0..2000 {
            let (one, other) = (rotation(&mut random), rotation(&mut random));
            let near = angle_between(&one, &other) <= 1.5;
            assert_eq!(within_angle(&one, &other, libm::cos(1.5)), near);
            let [i, j, _] = random.distinct_triple(50);
            let (a, b) = lengths(&points, i, j);
            assert_eq!(rows.keeps_length(i, j, 1.1, 0.2), (b - 1.1 * a).abs() <= 0.2);
            (within, kept) = (within + usize::from(near), kept + usize::from((b - 1.1 * a).abs() <= 0.2));
        }
        assert!((100..1900).contains(&within) && (100..1900).contains(&kept), "{within} {kept}");
    }

    /// The scale from the norms is that of the definition, also for three matches at once.
    #[test]
    fn scale_of_exact_matches() {
        let mut random = Random::new(6);
        let mut points = Soa::default();
        points.a.iter_mut().for_each(|column| column.extend((0..9).map(|_| random.uniform())));
        points.b = points.a.each_ref().map(|column| column.iter().map(|x| 2.5 * x + 1.0).collect());
        let model = fit_by_norms(&points, &(0..9).collect::<Vec<_>>(), EitherScale::Unknown).unwrap();
        assert!((model.scale() - 2.5).abs() < 1e-12);
        let mut rows = Rows::default();
        rows.assign(&points);
        let ratios = Ratios::new(rows.about_mean([1, 4, 7]).1).unwrap();
        assert!((ratios.mean - 2.5).abs() < 1e-12 && ratios.range() < 1e-12 && ratios.agree(1e-9));
        assert!(fit_by_norms(&points, &[], EitherScale::Unknown).is_none());
    }

    #[test]
    fn coincident_points_have_no_ratio() {
        assert!(Ratios::new([[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]).is_none());
        assert!(Ratios::new([[0.0; 2]; 3]).is_none());
        assert!(Ratios::new([[1.0, 0.0]; 3]).is_none());
    }
}
