//! ICOS: L. Sun, "ICOS: Efficient and highly robust rotation search and point cloud registration with correspondences",
//! arXiv:2104.14763 (2021).
//!
//! A seed of three compatible random matches grows by four more random matches that are compatible with it. The transform of seven compatible matches
//! is accepted without verification.
//!
//! The search ends only by the caller's time limit or the limit of `Draws`. Problems with fewer than seven inliers are not solved.

use pcr99::{StopReason, random::Random, stop::StopCheck};
use pcr99_base::vector::{minus, plus, rotate, times};

use crate::{
    baseline::{Baseline, EitherScale, Found, Matches},
    blocks::{Rotation, inliers, triangle_rotation},
    draws::{Draws, Ratios, Rows, fit_by_norms, may_be_within_a_tenth, square, within_angle},
};

/// Number of matches that a seed grows by.
const GROWTH: usize = 4;
/// Number of draws for each of these matches, and for the third match of a seed.
const TRIES: usize = 400;
/// Number of matches of a full structure.
const FULL: usize = 3 + GROWTH;
/// Tolerance of scale ratios, in σ.
const SCALE: f64 = 4.5;
/// Tolerance of translations, in σ.
const TRANSLATION: f64 = 5.0;
/// Largest residual of a new member, in σ.
const RESIDUAL: f64 = 1.2 * TRANSLATION;
/// Largest range of ratios, relative to the scale.
const RANGE: f64 = 0.1;
/// Largest difference between a ratio and the scale, relative to the scale.
const WINDOW: f64 = 0.06;
/// Largest difference of the lengths of an edge with a known scale, in σ.
const EDGE: f64 = 5.2;
/// Largest angle between the rotation of a seed and those with a new member, in degrees.
const ANGLE: f64 = 7.0;
/// Inlier threshold, in σ.
const INLIER: f64 = 5.1;

/// Compatible structures; keeps its buffer.
#[derive(Debug, Default)]
pub(crate) struct Icos {
    rows: Rows,
}

impl Baseline for Icos {
    type Scale = EitherScale;

    fn find(
        &mut self,
        matches: &Matches<'_>,
        scale: EitherScale,
        random: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        let draws = Draws::new(matches.points.len(), stop);
        self.rows.assign(matches.points);
        let mut search = Search { matches, rows: &self.rows, scale, random, draws, seeds: 0 };
        let (members, stopped_because) = match search.structure() {
            Ok(members) => (Some(members), StopReason::EnoughInliers),
            Err(reason) => (None, reason),
        };
        let model = members.and_then(|members| {
            let model = fit_by_norms(matches.points, &members.map(|i| i as u32), scale)?;
            let inliers = inliers(matches.points, &model, INLIER * matches.sigma);
            fit_by_norms(matches.points, &inliers, scale)
        });
        Found { model, samples: search.draws.made(), hypotheses: search.seeds, stopped_because }
    }
}

/// Three compatible matches.
struct Seed {
    triple: [usize; 3],
    scale: f64,
    rotation: Rotation,
    /// Transform that new members are tested against: `s·R` and the mean translation.
    linear: Rotation,
    translation: [f64; 3],
}

struct Search<'a> {
    matches: &'a Matches<'a>,
    rows: &'a Rows,
    scale: EitherScale,
    random: &'a mut Random,
    draws: Draws<'a>,
    /// Number of compatible seeds.
    seeds: u64,
}

impl Search<'_> {
    /// Seven compatible matches, or the reason why there are none.
    fn structure(&mut self) -> Result<[usize; FULL], StopReason> {
        if self.matches.points.len() < FULL {
            return Err(StopReason::Exhausted);
        }
        loop {
            let triple = match self.scale {
                EitherScale::Known => self.consistent_triple()?,
                EitherScale::Unknown => {
                    self.draws.another()?;
                    Some(self.random.distinct_triple(self.matches.points.len()))
                }
            };
            let Some(seed) = triple.and_then(|triple| self.seed(triple)) else { continue };
            self.seeds += 1;
            if let Some(members) = self.grown(&seed)? {
                return Ok(members);
            }
        }
    }

    /// Three matches with consistent lengths: random pairs until one is consistent, then random third matches; `None` when no third match is
    /// consistent.
    fn consistent_triple(&mut self) -> Result<Option<[usize; 3]>, StopReason> {
        let (n, rows, edge) = (self.matches.points.len(), self.rows, EDGE * self.matches.sigma);
        let keeps_length = |i, j| rows.keeps_length(i, j, 1.0, edge);
        let [i, j] = loop {
            self.draws.another()?;
            let i = self.random.below(n);
            let mut j = self.random.below(n - 1);
            j += usize::from(j >= i);
            if keeps_length(i, j) {
                break [i, j];
            }
        };
        for _ in 0..TRIES {
            self.draws.another()?;
            let mut k = self.random.below(n - 2);
            k += usize::from(k >= i.min(j));
            k += usize::from(k >= i.max(j));
            if keeps_length(i, k) && keeps_length(j, k) {
                return Ok(Some([i, j, k]));
            }
        }
        Ok(None)
    }

    /// Transform of three matches, if they are compatible.
    fn seed(&self, triple: [usize; 3]) -> Option<Seed> {
        let Matches { points, sigma } = *self.matches;
        let [i, j, k] = triple;
        let (first, second) = (self.rows.squared_lengths(i, j), self.rows.squared_lengths(j, k));
        if !may_be_within_a_tenth(first, second) {
            return None;
        }
        let squares = [first, second, self.rows.squared_lengths(k, i)];
        if !may_be_within_a_tenth(squares[1], squares[2]) {
            return None;
        }
        let ratios = Ratios::new(squares)?;
        let scale = ratios.mean;
        let in_window = self.scale == EitherScale::Unknown || (scale - 1.0).abs() <= WINDOW;
        if !in_window || ratios.range() > RANGE * scale || !ratios.agree(SCALE * sigma) {
            return None;
        }
        let rotation = triangle_rotation(points, triple)?;
        let translation = |i| {
            let [a, b] = self.rows.get(i);
            minus(b, times(scale, rotate(&rotation, a)))
        };
        let [t, u, v] = triple.map(translation);
        let bound_sq = (TRANSLATION * sigma) * (TRANSLATION * sigma);
        let near = |t, u| square(minus(t, u)) <= bound_sq;
        if !(near(t, u) && near(u, v) && near(v, t)) {
            return None;
        }
        let of_members = self.scale.known().unwrap_or(scale);
        let linear = rotation.map(|row| times(of_members, row));
        let translation = plus(plus(t, u), v).map(|x| x / 3.0);
        Some(Seed { triple, scale, rotation, linear, translation })
    }

    /// The seed with four more members; `None` when too many draws fail.
    fn grown(&mut self, seed: &Seed) -> Result<Option<[usize; FULL]>, StopReason> {
        let n = self.matches.points.len();
        let mut members = [0; FULL];
        members[..3].copy_from_slice(&seed.triple);
        let mut len = 3;
        for tried in 1..=GROWTH * TRIES {
            // One member is needed after 400 draws, two after 800, three after 1200.
            if tried / TRIES > len - 3 && tried < GROWTH * TRIES {
                return Ok(None);
            }
            self.draws.another()?;
            let k = loop {
                let k = self.random.below(n);
                if !members[..len].contains(&k) {
                    break k;
                }
            };
            if self.joins(seed, &members[..len], k) {
                members[len] = k;
                len += 1;
                if len == FULL {
                    return Ok(Some(members));
                }
            }
        }
        Ok(None)
    }

    /// Whether match `k` is compatible with the seed and all members. The order of the tests affects only the time.
    fn joins(&self, seed: &Seed, members: &[usize], k: usize) -> bool {
        let ([a, b], sigma) = (self.rows.get(k), self.matches.sigma);
        let residual = minus(plus(rotate(&seed.linear, a), seed.translation), b);
        if square(residual) > (RESIDUAL * sigma) * (RESIDUAL * sigma) {
            return false;
        }
        let squares = |m: usize| self.rows.squared_lengths(members[m], k);
        let Some(to_seed) = Ratios::new([squares(0), squares(1), squares(2)]) else { return false };
        let (mut weights, mut sum, mut low, mut high) = (0.0, 0.0, f64::INFINITY, 0.0_f64);
        for m in 0..members.len() {
            let [a_sq, b_sq] = squares(m);
            let ratio = (b_sq / a_sq).sqrt();
            weights += a_sq;
            sum += a_sq * ratio;
            (low, high) = (low.min(ratio), high.max(ratio));
        }
        let mean = sum / weights;
        let window = WINDOW * if self.scale == EitherScale::Known { 1.0 } else { seed.scale };
        // In this form, a ratio that is NaN fails.
        let alike = high - low <= RANGE * mean && (seed.scale - mean).abs() <= window;
        alike && to_seed.agree(SCALE * sigma) && self.rotations_agree(seed, k)
    }

    /// Whether the rotation of the seed agrees with those of the new match and each two matches of the seed.
    fn rotations_agree(&self, seed: &Seed, k: usize) -> bool {
        let cosine = libm::cos(ANGLE.to_radians());
        let points = self.matches.points;
        let [first, second, third] = seed.triple;
        let mut rotations = [seed.rotation; 4];
        for (place, triple) in
            [[k, second, third], [k, second, first], [k, first, third]].into_iter().enumerate()
        {
            let Some(rotation) = triangle_rotation(points, triple) else { return false };
            if !rotations[..=place].iter().all(|other| within_angle(&rotation, other, cosine)) {
                return false;
            }
            rotations[place + 1] = rotation;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, problems::largest_error};
    use pcr99::stop;
    use pcr99_base::Soa;

    #[test]
    fn solves_what_it_can() {
        for (scale, ratio) in [(None, 0.5), (Some(2.5), 0.5), (None, 0.95), (Some(2.5), 0.97)] {
            let worst = largest_error(Method::Icos, scale, ratio, 5);
            assert!(worst < 3.0, "{scale:?} {ratio}: {worst}");
        }
    }

    /// `n` matches moved by (1, 2, 3), with noise of 0.001.
    fn moved(n: usize) -> Soa {
        let mut random = Random::new(8);
        let mut points = Soa::default();
        for _ in 0..n {
            for axis in 0..3 {
                let a = random.uniform();
                points.a[axis].push(a);
                points.b[axis].push(a + 1.0 + axis as f64 + 0.001 * random.gaussian());
            }
        }
        points
    }

    /// Seven inliers are enough, six are not.
    #[test]
    fn seven_matches_make_a_structure() {
        for scale in [EitherScale::Known, EitherScale::Unknown] {
            for n in [6, 7] {
                let points = moved(n);
                let matches = Matches { points: &points, sigma: 0.001 };
                let found = Icos::default().find(&matches, scale, &mut Random::new(1), &stop::never);
                assert_eq!(found.model.is_some(), n == 7);
                let ended = if n == 7 { StopReason::EnoughInliers } else { StopReason::Exhausted };
                assert_eq!(found.stopped_because, ended);
            }
        }
    }

    /// A match with a residual above 6σ does not join, nor does one that coincides with a member.
    #[test]
    fn only_compatible_matches_join() {
        let mut points = moved(10);
        points.b[0][9] += 0.02;
        for columns in [&mut points.a, &mut points.b] {
            columns.iter_mut().for_each(|column| column[8] = column[0]);
        }
        let matches = Matches { points: &points, sigma: 0.001 };
        let mut rows = Rows::default();
        rows.assign(&points);
        let draws = Draws::new(10, &stop::never);
        for scale in [EitherScale::Known, EitherScale::Unknown] {
            let random = &mut Random::new(1);
            let draws = Draws::new(10, &stop::never);
            let search = Search { matches: &matches, rows: &rows, scale, random, draws, seeds: 0 };
            let seed = search.seed([0, 1, 2]).unwrap();
            let joins: Vec<bool> = (3..10).map(|k| search.joins(&seed, &[0, 1, 2], k)).collect();
            assert_eq!(joins, [true, true, true, true, true, false, false]);
            assert!(search.seed([0, 1, 9]).is_none() && search.seed([0, 8, 1]).is_none());
        }
        assert_eq!(draws.made(), 0);
    }

    /// With six inliers, no structure becomes full, and the limit ends the search.
    #[test]
    fn too_few_right_matches_are_no_structure() {
        let mut points = moved(14);
        let mut random = Random::new(11);
        for column in &mut points.b {
            column[6..].iter_mut().for_each(|x| *x += random.uniform());
        }
        let matches = Matches { points: &points, sigma: 0.001 };
        let found = Icos::default().find(&matches, EitherScale::Known, &mut Random::new(1), &stop::never);
        assert_eq!((found.model, found.stopped_because), (None, StopReason::HypothesisLimit));
    }
}
