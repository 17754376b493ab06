//! RANSIC: L. Sun, "RANSIC: Fast and highly robust estimation for rotation search and point cloud registration using invariant
//! compatibility", IEEE Robotics and Automation Letters 7 (2022).
//!
//! Three random matches whose scale ratios, edges and translations agree give a transform, which is stored. Two stored transforms that agree are
//! unlikely to be both wrong: their matches are fitted together and verified.
//!
//! The search ends only by the caller's time limit or the limit of `Draws`. After the third failed verification, the last fit is returned without
//! further tests, as published.

use pcr99::{Similarity, StopReason, random::Random, stop::StopCheck};
use pcr99_base::{
    Soa,
    kernel::consensus::{Affine, squared_residual},
    vector::{minus, rotate, times},
};

use crate::{
    baseline::{Baseline, EitherScale, Found, Matches},
    blocks::{Rotation, inliers, triangle_rotation},
    draws::{Draws, Ratios, Rows, fit_by_norms, may_be_within_a_tenth, square, within_angle},
};

/// Tolerance of scale ratios and edges, in σ.
const SCALE: f64 = 4.3;
/// Tolerance of translations, in σ.
const TRANSLATION: f64 = 5.2;
/// Largest range of the three ratios, relative to the scale.
const RANGE: f64 = 0.1;
/// Largest difference between the mean ratio and a known scale.
const WINDOW: f64 = 0.06;
/// Largest difference of the scales of two transforms that agree, relative to their mean.
const SCALES_AGREE: f64 = 0.1;
/// Largest angle between the rotations of two transforms that agree, in degrees.
const ROTATIONS_AGREE: f64 = 10.0;
/// Largest distance of the translations of two transforms that agree, in σ.
const TRANSLATIONS_AGREE: f64 = 2.0 * TRANSLATION;
/// Inlier threshold, in σ.
const INLIER: f64 = 5.1;
/// Smallest number of inliers of a verified set.
const LEAST_INLIERS: usize = 9;
/// Largest root mean square residual of a verified set, in σ.
const LARGEST_RMS: f64 = 2.78;
/// Largest number of stored transforms that must agree with a new one before verification. It starts at 1 and grows after each failure.
const MOST_NEEDED: usize = 3;

/// Random sampling with invariant compatibility; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Ransic {
    rows: Rows,
    kept: Kept,
    union: Vec<u32>,
}

/// Transform of three matches.
#[derive(Debug, Clone, Copy)]
struct Model {
    triple: [u32; 3],
    scale: f64,
    rotation: Rotation,
    /// Translation according to each of the three matches: `t_m = b_m − s·R·a_m`.
    translations: [[f64; 3]; 3],
}

impl Baseline for Ransic {
    type Scale = EitherScale;

    fn find(
        &mut self,
        matches: &Matches<'_>,
        scale: EitherScale,
        random: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        let Matches { points, sigma } = *matches;
        let mut draws = Draws::new(points.len(), stop);
        let (mut hypotheses, mut needed, mut least_points) = (0, 1, 3);
        let mut consensus = Vec::new();
        self.rows.assign(points);
        self.kept.clear();
        let stopped_because = loop {
            if let Err(reason) = draws.another() {
                break reason;
            }
            let triple = random.distinct_triple(points.len());
            if !may_pass(&self.rows, triple, scale, sigma) {
                continue;
            }
            let Some(model) = model(points, &self.rows, triple, scale, sigma) else { continue };
            if !self.kept.add(model, sigma) {
                continue;
            }
            hypotheses += 1;
            if self.kept.agreeing.len() < needed {
                continue;
            }
            self.kept.union_of_agreeing(&mut self.union);
            if self.union.len() < least_points {
                continue;
            }
            let verified = Verified::new(points, &self.union, scale, sigma);
            if verified.passes(sigma) {
                consensus = verified.inliers;
                break StopReason::EnoughInliers;
            }
            if needed == MOST_NEEDED {
                consensus = verified.inliers;
                break StopReason::Exhausted;
            }
            if verified.inliers.len() > consensus.len() {
                consensus = verified.inliers;
            }
            needed += 1;
            least_points = if needed == MOST_NEEDED { 9 } else { 5 };
        };
        let model = fit_by_norms(points, &consensus, scale);
        Found { model, samples: draws.made(), hypotheses, stopped_because }
    }
}

/// Quick test: false only when the three matches certainly fail the full test. It rejects nearly all triples.
#[inline]
fn may_pass(rows: &Rows, [i, j, k]: [usize; 3], scale: EitherScale, sigma: f64) -> bool {
    if scale == EitherScale::Known {
        // With the scale in its window, |d_b − s·d_a| ≤ e makes d_b at most 1.06·d_a + e and at least 0.94·d_a − e.
        let in_window = |i: usize, j: usize| {
            let [a_sq, b_sq] = rows.squared_lengths(i, j);
            let a = a_sq.sqrt();
            let slack = 2.0 * SCALE * sigma + (WINDOW + 1e-9) * a;
            let (low, high) = ((a - slack).max(0.0), a + slack);
            low * low <= b_sq && b_sq <= high * high
        };
        return in_window(i, j) && in_window(j, k) && in_window(k, i);
    }
    let (_, [x, y, z]) = rows.about_mean([i, j, k]);
    may_be_within_a_tenth(x, y) && may_be_within_a_tenth(y, z) && may_be_within_a_tenth(z, x)
}

/// Transform of three matches that pass every test.
fn model(points: &Soa, rows: &Rows, triple: [usize; 3], scale: EitherScale, sigma: f64) -> Option<Model> {
    let (_, squares) = rows.about_mean(triple);
    let ratios = Ratios::new(squares)?;
    let s = ratios.mean;
    let (in_window, of_range) = match scale {
        EitherScale::Known => ((s - 1.0).abs() <= WINDOW, 1.0),
        EitherScale::Unknown => (true, s),
    };
    if !in_window || ratios.range() > RANGE * of_range || !ratios.agree(SCALE * sigma) {
        return None;
    }
    let [i, j, k] = triple;
    let keeps_length = |i, j| rows.keeps_length(i, j, s, 2.0 * SCALE * sigma);
    if !(keeps_length(i, j) && keeps_length(j, k) && keeps_length(k, i)) {
        return None;
    }
    let rotation = triangle_rotation(points, triple)?;
    let translations = triple.map(|i| {
        let [a, b] = rows.get(i);
        minus(b, times(s, rotate(&rotation, a)))
    });
    let [t0, t1, t2] = translations;
    let bound_sq = (TRANSLATION * sigma) * (TRANSLATION * sigma);
    let near = |t, u| square(minus(t, u)) <= bound_sq;
    if !(near(t0, t1) && near(t1, t2) && near(t2, t0)) {
        return None;
    }
    let mut sorted = triple.map(|i| i as u32);
    sorted.sort_unstable();
    Some(Model { triple: sorted, scale: s, rotation, translations })
}

/// Stored transforms, and those that agree with the last one.
#[derive(Debug, Default)]
struct Kept {
    models: Vec<Model>,
    /// Scale and first translation of each transform. They are compared first and are close together in memory.
    first_look: Vec<[f64; 4]>,
    /// Positions of the transforms that agree with the last one.
    agreeing: Vec<u32>,
}

impl Kept {
    fn clear(&mut self) {
        self.models.clear();
        self.first_look.clear();
        self.agreeing.clear();
    }

    /// Stores `model` and finds the transforms that agree with it; false when its three matches are already stored, in any order.
    ///
    /// The publication takes different scales as a sign of different matches. Here the matches are compared, so that exact data, where all scales
    /// are equal, can be solved.
    fn add(&mut self, model: Model, sigma: f64) -> bool {
        self.agreeing.clear();
        let cosine = libm::cos(ROTATIONS_AGREE.to_radians());
        let bound_sq = (TRANSLATIONS_AGREE * sigma) * (TRANSLATIONS_AGREE * sigma);
        let [t0, t1, t2] = model.translations;
        let near = |t, u| square(minus(t, u)) <= bound_sq;
        for (place, &[s, x, y, z]) in self.first_look.iter().enumerate() {
            let like = (s - model.scale).abs() <= SCALES_AGREE * 0.5 * (s + model.scale);
            if !(like && near(t0, [x, y, z])) {
                continue;
            }
            let other = &self.models[place];
            if other.triple == model.triple {
                return false;
            }
            let [_, u1, u2] = other.translations;
            if within_angle(&model.rotation, &other.rotation, cosine)
                && near(t1, u1)
                && near(t2, u2)
                && near(t0, u1)
                && near(t1, u2)
                && near(t0, u2)
            {
                self.agreeing.push(place as u32);
            }
        }
        self.models.push(model);
        self.first_look.push([model.scale, t0[0], t0[1], t0[2]]);
        true
    }

    /// Distinct matches of the last model and of those that agree with it.
    fn union_of_agreeing(&self, union: &mut Vec<u32>) {
        union.clear();
        union.extend(self.models.last().iter().flat_map(|model| model.triple));
        union.extend(self.agreeing.iter().flat_map(|&place| self.models[place as usize].triple));
        union.sort_unstable();
        union.dedup();
    }
}

/// Inliers of the transform fitted to some matches.
struct Verified {
    inliers: Vec<u32>,
    rms: f64,
}

impl Verified {
    fn new(points: &Soa, some: &[u32], scale: EitherScale, sigma: f64) -> Self {
        let fitted: Option<Similarity> = fit_by_norms(points, some, scale);
        let Some(model) = fitted else { return Self { inliers: Vec::new(), rms: 0.0 } };
        let inliers = inliers(points, &model, INLIER * sigma);
        let affine = Affine::from(&model);
        let sum: f64 = inliers.iter().map(|&i| squared_residual(points, &affine, i as usize)).sum();
        let rms = (sum / inliers.len() as f64).sqrt();
        Self { inliers, rms }
    }

    fn passes(&self, sigma: f64) -> bool {
        self.inliers.len() >= LEAST_INLIERS && self.rms <= LARGEST_RMS * sigma
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, problems::largest_error};

    #[test]
    fn solves_what_it_can() {
        for (scale, ratio) in [(None, 0.5), (Some(2.5), 0.5), (None, 0.96), (Some(2.5), 0.96)] {
            let worst = largest_error(Method::Ransic, scale, ratio, 5);
            assert!(worst < 3.0, "{scale:?} {ratio}: {worst}");
        }
    }

    const NO_TURN: Rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    fn model(triple: [u32; 3], scale: f64, turn: f64, shift: f64) -> Model {
        let (sine, cosine) = libm::sincos(turn.to_radians());
        let rotation = [[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]];
        Model { triple, scale, rotation, translations: [[shift, 0.0, 0.0]; 3] }
    }

    #[test]
    fn transforms_agree_up_to_the_published_bounds() {
        let sigma = 0.01;
        let mut kept = Kept::default();
        assert!(kept.add(model([0, 1, 2], 2.0, 0.0, 0.0), sigma));
        for (place, (other, agrees)) in [
            (model([3, 4, 5], 2.2, 0.0, 0.0), true), // differ by 0.095 of their mean
            (model([3, 4, 6], 2.22, 0.0, 0.0), false), // by 0.105
            (model([3, 4, 7], 2.0, 9.9, 0.0), true),
            (model([3, 4, 8], 2.0, 10.1, 0.0), false),
            (model([3, 4, 9], 2.0, 0.0, 0.103), true),
            (model([3, 5, 6], 2.0, 0.0, 0.105), false),
        ]
        .into_iter()
        .enumerate()
        {
            let mut alone = Kept::default();
            assert!(alone.add(model([0, 1, 2], 2.0, 0.0, 0.0), sigma));
            assert!(alone.add(other, sigma));
            assert_eq!(alone.agreeing.len(), usize::from(agrees), "{place}");
        }
        // The same three matches are not new. With one other match they are, and four matches agree.
        assert!(!kept.add(model([0, 1, 2], 2.0, 1.0, 0.0), sigma));
        assert!(kept.add(model([0, 1, 3], 2.0, 0.0, 0.0), sigma));
        let mut union = Vec::new();
        kept.union_of_agreeing(&mut union);
        assert_eq!(union, [0, 1, 2, 3]);
    }

    /// The quick test rejects nothing that the full test accepts.
    #[test]
    fn the_first_look_rejects_nothing_good() {
        let mut random = Random::new(2);
        let mut points = Soa::default();
        for _ in 0..40 {
            for axis in 0..3 {
                let a = random.uniform();
                points.a[axis].push(a);
                points.b[axis].push(a + 0.02 * random.gaussian());
            }
        }
        let mut rows = Rows::default();
        rows.assign(&points);
        let (mut good, mut rejected) = (0, 0);
        for _ in 0..50_000 {
            let triple = random.distinct_triple(40);
            for scale in [EitherScale::Known, EitherScale::Unknown] {
                let may = may_pass(&rows, triple, scale, 0.01);
                let passes = super::model(&points, &rows, triple, scale, 0.01).is_some();
                assert!(may || !passes, "{triple:?}");
                (good, rejected) = (good + usize::from(passes), rejected + usize::from(!may));
            }
        }
        assert!(good > 1000 && rejected > 100, "{good} {rejected}");
    }

    #[test]
    fn verification_wants_nine_close_ones() {
        let close = |n: u32, rms: f64| Verified { inliers: (0..n).collect(), rms };
        assert!(
            close(9, 0.0278).passes(0.01) && !close(8, 0.01).passes(0.01) && !close(20, 0.028).passes(0.01)
        );
        let on_a_line = Soa { a: [vec![0.0, 1.0, 2.0], vec![0.0; 3], vec![0.0; 3]], ..Soa::default() };
        let on_a_line = Soa { b: on_a_line.a.clone(), ..on_a_line };
        assert!(Verified::new(&on_a_line, &[0, 1, 2], EitherScale::Known, 0.01).inliers.is_empty());
        assert!(within_angle(&NO_TURN, &NO_TURN, 1.0 - 1e-12));
    }
}
