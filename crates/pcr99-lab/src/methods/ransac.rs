//! RANSAC: M. A. Fischler, R. C. Bolles, "Random sample consensus", Communications of the ACM 24 (1981).
//!
//! Three matches at random give a transform; the one that most matches follow wins. It stops when a better one would have been
//! drawn with 99 % probability.

use pcr99::{
    Similarity, StopReason,
    parts::{self, Affine, Coarse, Soa},
    random::Random,
    stop::StopCheck,
};

use super::{
    Baseline, EitherScale, Found, Matches,
    blocks::{centroids, lengths, norm_ratio_scale, rotate, trials, triangle_rotation},
    draws::Draws,
};
use crate::vector::{subtract, times};

/// Of the transform that is returned, in σ.
const INLIER: f64 = 5.0;
/// How much the lengths of an edge may differ, in σ.
const EDGE: f64 = 10.0;
const CONFIDENCE: f64 = 0.99;

/// Random sample consensus; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Ransac {
    coarse: Coarse,
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
        let (mut best, mut most) = (None, 2);
        let (mut draws, mut hypotheses, mut limit) = (Draws::new(n, stop), 0, f64::INFINITY);
        let stopped_because = loop {
            if draws.made() as f64 >= limit {
                break StopReason::Confident;
            }
            if let Err(reason) = draws.another() {
                break reason;
            }
            let Some(model) = hypothesis(points, random.distinct_triple(n), scale, EDGE * sigma) else {
                continue;
            };
            hypotheses += 1;
            let affine = Affine::from(&model);
            if !self.coarse.may_exceed(&affine, delta, most) {
                continue;
            }
            let count = parts::count_inliers(points, &affine, delta * delta);
            if count > most {
                (best, most) = (Some(model), count);
                limit = trials(CONFIDENCE, (count as f64 / n as f64).powi(3));
            }
        };
        let model = best.map(|model| refined(points, model, scale, delta));
        Found { model, samples: draws.made(), hypotheses, stopped_because }
    }
}

/// The transform of three matches, if their edges are of like lengths.
fn hypothesis(points: &Soa, triple: [usize; 3], scale: EitherScale, edge: f64) -> Option<Similarity> {
    let keeps_lengths = |s: f64| {
        [(0, 1), (1, 2), (2, 0)].iter().all(|&(i, j)| {
            let (a, b) = lengths(points, triple[i], triple[j]);
            (b - s * a).abs() <= edge
        })
    };
    // A known scale needs no more than the edges to reject nearly every triple.
    if scale == EitherScale::Known && !keeps_lengths(1.0) {
        return None;
    }
    let (p, q) = centroids(points, &triple);
    let s = match scale {
        EitherScale::Known => 1.0,
        EitherScale::Unknown => norm_ratio_scale(points, &triple, p, q).filter(|&s| keeps_lengths(s))?,
    };
    let rotation = triangle_rotation(points, triple)?;
    Some(Similarity::new(s, rotation, subtract(q, times(s, rotate(&rotation, p)))))
}

/// Least squares over the inliers, twice.
fn refined(points: &Soa, mut model: Similarity, scale: EitherScale, delta: f64) -> Similarity {
    for _ in 0..2 {
        let inliers = super::blocks::inliers(points, &model, delta);
        if let Some(fitted) = parts::fit(points, &inliers, scale.known()) {
            model = fitted;
        }
    }
    model
}

#[cfg(test)]
mod tests {
    use super::super::{Method, tests::largest_error};

    #[test]
    fn solves_what_it_can() {
        for scale in [None, Some(2.5)] {
            assert!(largest_error(Method::Ransac, scale, 0.8, 5) < 3.0);
        }
    }
}
