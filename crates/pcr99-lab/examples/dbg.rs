//! x
#![allow(clippy::print_stdout)]
use pcr99::*;
use pcr99_lab::*;
fn main() {
    for (name, scale, choice) in
        [("known", Scale::one(), ScaleChoice::Fixed(1.0)), ("unknown", Scale::Unknown, ScaleChoice::Random)]
    {
        for ratio in [0.5, 0.9, 0.95, 0.98, 0.99, 1.0] {
            let mut solver = Solver::new();
            for seed in 0..4 {
                let problem = Recipe::default()
                    .with_scale(choice)
                    .unwrap()
                    .with_outlier_ratio(ratio)
                    .unwrap()
                    .with_seed(seed)
                    .generate()
                    .unwrap();
                let pairs = Correspondences::new(&problem.source, &problem.target).unwrap();
                let found =
                    solver.solve(&pairs, scale, &Params::new().with_threshold(0.05).unwrap()).unwrap();
                println!(
                    "{name} {ratio} {:?} inl {} nfa {:?} {:?} {:?} cands {:?} {:.3} ms",
                    found.status,
                    found.inliers.len(),
                    found.evidence,
                    found.stopped_because,
                    found.counters,
                    found
                        .candidates
                        .iter()
                        .map(|c| (c.inlier_count, (c.log10_nfa * 10.0).round() / 10.0))
                        .collect::<Vec<_>>(),
                    found.seconds.total * 1e3
                );
            }
        }
    }
}
