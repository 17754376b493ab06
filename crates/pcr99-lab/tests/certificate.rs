//! The probability that a larger consensus or a rival is missed is what the search accepts.
//!
//! A problem has two motions of different sizes. The search stops when the larger one, or a rival, would have been missed at most with the accepted probability.
//! Where it stops as confident without the larger motion first, it missed that. The accepted probabilities are large here, so that misses can be counted.

use pcr99::{Correspondences, Params, Scale, Solver, StopReason};
use pcr99_lab::trust::{
    displacement,
    motions::{Recipe, Second},
};

/// Problems of each kind.
const PROBLEMS: u64 = 200;

/// Number of problems among [`PROBLEMS`] in which the search is confident although the larger motion is not its answer.
fn missed(recipe: Recipe, scale: Scale, accepted: f64, thresholds: f64) -> usize {
    let mut solver = Solver::new();
    let is_missed = |seed: &u64| {
        let problem = recipe.generate(Second::Independent, *seed);
        let pairs = Correspondences::new(&problem.matches.source, &problem.matches.target).expect("matches");
        let threshold = thresholds * recipe.noise[0];
        let params = Params::new().with_threads(1).with_seed(*seed).with_threshold(threshold);
        let params = params.and_then(|params| params.with_miss_probability(accepted)).expect("parameters");
        let found = solver.solve(&pairs, scale, &params).expect("valid input");
        let Some(answer) = &found.target_from_source else { return true };
        let off = displacement(answer, &problem.motions[0], &problem.first_sources());
        found.stopped_because == StopReason::Confident && off > threshold
    };
    (0..PROBLEMS).filter(is_missed).count()
}

/// The larger motion has a little more than the smaller one, so that finding the smaller one first is as likely as not.
#[test]
fn a_larger_consensus_is_missed_as_rarely_as_accepted() {
    for groups in [[120, 110], [60, 54], [40, 36]] {
        let recipe = Recipe { matches: 1000, groups, noise: [0.01; 2] };
        for scale in [Scale::one(), Scale::Unknown] {
            for (accepted, thresholds) in [(0.2, 5.0), (0.05, 5.0), (0.05, 3.5), (0.05, 8.0)] {
                let missed = missed(recipe, scale, accepted, thresholds);
                // Three standard deviations of a count with the accepted probability.
                let expected = accepted * PROBLEMS as f64;
                let most = expected + 3.0 * (expected * (1.0 - accepted)).sqrt();
                assert!(
                    (missed as f64) <= most,
                    "{groups:?} {scale:?} accepted {accepted}, {thresholds} σ: missed {missed} of {PROBLEMS}"
                );
            }
        }
    }
}
