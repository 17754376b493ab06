//! The stages of the published method one by one, for benchmarks only: no promise is made about this module.

use pcr99_base::kernel::{
    consensus::{Affine, Coarse, count_inliers},
    log_ratio::log_ratios,
};

use crate::{Correspondences, Scale, Similarity, paper::bench_stages};

/// Log ratios of every match with all others, Eq. (4).
pub fn log_ratio(pairs: &Correspondences) -> f64 {
    let mut row = vec![0.0; pairs.len()];
    (0..pairs.len())
        .map(|i| {
            log_ratios(pairs.points(), i, 0, &mut row);
            row[i / 2]
        })
        .fold(0.0, f64::max)
}

/// Scores and ranking, Eq. (6)–(10).
pub fn score(pairs: &Correspondences, scale: Scale) -> usize {
    bench_stages::score(pairs, scale)
}

/// The prescreening test on the first `triplets` samples, Eq. (24)–(29); how many pass.
pub fn prescreen(pairs: &Correspondences, scale: Scale, triplets: usize) -> usize {
    bench_stages::prescreen(pairs, scale, triplets)
}

/// Transforms from `count` triplets; how many could be formed.
pub fn align(pairs: &Correspondences, scale: Scale, count: usize) -> usize {
    bench_stages::align(pairs, scale, count)
}

/// The fast upper bound on the inliers of a transform, `count` times; how many may have more than nine.
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

/// The exact number of inliers of a transform, `count` times.
pub fn consensus_exact(pairs: &Correspondences, model: &Similarity, count: usize) -> usize {
    let model = Affine::from(model);
    (0..count).map(|k| count_inliers(pairs.points(), &model, 1e-4 * k as f64)).sum()
}

/// Least squares over all matches.
pub fn refit(pairs: &Correspondences, scale: Scale) -> Option<f64> {
    bench_stages::refit(pairs, scale)
}
