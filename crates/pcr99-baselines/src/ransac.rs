//! RANSAC: M. A. Fischler, R. C. Bolles, "Random sample consensus", Communications of the ACM 24 (1981).
//!
//! Three random matches give a transform; the transform with most inliers wins. The search stops when a larger consensus would have been found with
//! 99 % probability.

use pcr99::{Similarity, StopReason, random::Random, stop::StopCheck};
use pcr99_base::{
    Soa,
    kernel::consensus::{Affine, Coarse, count_inliers},
    least_squares,
    vector::{minus, rotate, times},
};

use crate::{
    baseline::{Baseline, EitherScale, Found, Matches},
    blocks::{centroids, trials, triangle_model, triangle_rotation},
    draws::{Draws, Rows},
};

/// Inlier threshold, in σ.
const INLIER: f64 = 5.0;
/// Largest difference of the lengths of an edge, in σ.
const EDGE: f64 = 10.0;
const CONFIDENCE: f64 = 0.99;

/// Random sample consensus; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Ransac {
    coarse: Coarse,
    rows: Rows,
}

impl Baseline for Ransac {
    type Scale = EitherScale;

    fn find(
        &mut self,
        matches: &Matches<'_>,
        scale: EitherScale,
        random: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        let Matches { points, sigma } = *matches;
        let (n, delta) = (points.len(), INLIER * sigma);
        self.coarse.assign(points);
        self.rows.assign(points);
        let (mut best, mut most) = (None, 2);
        let (mut draws, mut hypotheses, mut limit) = (Draws::new(n, stop), 0, f64::INFINITY);
        let stopped_because = loop {
            if draws.made() as f64 >= limit {
                break StopReason::Confident;
            }
            if let Err(reason) = draws.another() {
                break reason;
            }
            let triple = random.distinct_triple(n);
            let Some(s) = common_scale(&self.rows, triple, scale, EDGE * sigma) else { continue };
            let hypothesis = match scale {
                EitherScale::Known => triangle_model(points, triple),
                EitherScale::Unknown => scaled_triangle_model(points, triple, s),
            };
            let Some(model) = hypothesis else { continue };
            hypotheses += 1;
            let affine = Affine::from(&model);
            if !self.coarse.may_exceed(&affine, delta, most) {
                continue;
            }
            let count = count_inliers(points, &affine, delta * delta);
            if count > most {
                (best, most) = (Some(model), count);
                let share = count as f64 / n as f64;
                limit = trials(CONFIDENCE, share * share * share);
            }
        };
        let model = best.map(|model| refined(points, model, scale, delta));
        Found { model, samples: draws.made(), hypotheses, stopped_because }
    }
}

/// Scale of three matches; `None` when the lengths of an edge differ too much.
#[inline]
fn common_scale(rows: &Rows, triple: [usize; 3], scale: EitherScale, edge: f64) -> Option<f64> {
    let s = match scale {
        EitherScale::Known => 1.0,
        EitherScale::Unknown => {
            // Σ ‖a − p‖·‖b − q‖ / Σ ‖a − p‖².
            let (_, squares) = rows.about_mean(triple);
            let products: f64 = squares.iter().map(|[a_sq, b_sq]| (a_sq * b_sq).sqrt()).sum();
            products / squares.iter().map(|[a_sq, _]| a_sq).sum::<f64>()
        }
    };
    let [i, j, k] = triple;
    // With a scale that is NaN, no length agrees.
    let keeps_length = |i, j| rows.keeps_length(i, j, s, edge);
    (keeps_length(i, j) && keeps_length(j, k) && keeps_length(k, i) && s > 0.0).then_some(s)
}

/// Transform of three matches with a given scale.
fn scaled_triangle_model(points: &Soa, triple: [usize; 3], s: f64) -> Option<Similarity> {
    let rotation = triangle_rotation(points, triple)?;
    let (p, q) = centroids(points, &triple);
    Some(Similarity::new_unchecked(s, rotation, minus(q, times(s, rotate(&rotation, p)))))
}

/// Least squares on the inliers, twice.
fn refined(points: &Soa, mut model: Similarity, scale: EitherScale, delta: f64) -> Similarity {
    for _ in 0..2 {
        let inliers = super::blocks::inliers(points, &model, delta);
        if let Some(fitted) = least_squares::fit(points, &inliers, scale.known()) {
            model = fitted;
        }
    }
    model
}

#[cfg(test)]
mod tests {
    use crate::{Method, problems::largest_error};

    use super::*;
    use pcr99::stop;

    #[test]
    fn solves_what_it_can() {
        for scale in [None, Some(2.5)] {
            assert!(largest_error(Method::Ransac, scale, 0.8, 5) < 3.0);
        }
    }

    /// Three matches without a consistent transform: without a limit, the search would not end.
    #[test]
    fn ends_without_a_hypothesis() {
        let points = Soa::new(
            [vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0], vec![0.0; 3]],
            [vec![0.0, 9.0, 0.0], vec![0.0, 0.0, 2.0], vec![0.0; 3]],
        );
        let matches = Matches { points: &points, sigma: 0.01 };
        for scale in [EitherScale::Known, EitherScale::Unknown] {
            let found = Ransac::default().find(&matches, scale, &mut Random::new(1), &stop::never);
            assert_eq!((found.model, found.stopped_because), (None, StopReason::HypothesisLimit));
        }
    }
}
