//! The stages of both methods one by one, for benchmarks only. This module may change at any time.

use pcr99_base::kernel::{
    consensus::{Affine, Coarse, count_inliers},
    log_ratio::log_ratios,
};

pub use crate::search::bench_stages::SearchStages;
use crate::{Correspondences, Scale, Similarity, paper::bench_stages};

/// Computes the log ratios of every match with all others, Eq. (4).
pub fn log_ratio(pairs: &Correspondences) -> f64 {
    let mut row = vec![0.0; pairs.len()];
    (0..pairs.len())
        .map(|i| {
            log_ratios(pairs.points(), i, 0, &mut row);
            row[i / 2]
        })
        .fold(0.0, f64::max)
}

/// Scores and ranks the matches, Eq. (6)–(10); returns the best match.
pub fn score(pairs: &Correspondences, scale: Scale) -> usize {
    bench_stages::score(pairs, scale)
}

/// Prescreens the first `triplets` samples, Eq. (24)–(29); returns how many pass.
pub fn prescreen(pairs: &Correspondences, scale: Scale, triplets: usize) -> usize {
    bench_stages::prescreen(pairs, scale, triplets)
}

/// Computes transforms from `count` triplets; returns how many exist.
pub fn align(pairs: &Correspondences, scale: Scale, count: usize) -> usize {
    bench_stages::align(pairs, scale, count)
}

/// Computes the fast upper bound on the inliers of `count` transforms; returns how many may have more than nine.
pub fn consensus_bound(pairs: &Correspondences, model: &Similarity, count: usize) -> usize {
    let mut coarse = Coarse::default();
    coarse.assign(pairs.points());
    let shifted = |k: usize| {
        let mut model = Affine::from(model);
        model.translation[0] += k as f64 * 1e-3;
        model
    };
    (0..count).filter(|&k| coarse.may_exceed(&shifted(k), 0.02, 9)).count()
}

/// Counts the inliers of a transform with `count` thresholds; returns the sum.
pub fn consensus_exact(pairs: &Correspondences, model: &Similarity, count: usize) -> usize {
    let model = Affine::from(model);
    (0..count).map(|k| count_inliers(pairs.points(), &model, 1e-4 * k as f64)).sum()
}

/// Fits all matches by least squares; returns the scale.
pub fn refit(pairs: &Correspondences, scale: Scale) -> Option<f64> {
    bench_stages::refit(pairs, scale)
}
