//! How honest the covariance of `solve` is: `cargo run --release -p pcr99-lab --features bunny --example nees -- [RUNS] [FIRST_SEED] [THRESHOLD]`.
//!
//! Normalised squared errors (NEES) per degree of freedom, which are 1 on average for an honest covariance, and how often the truth is within the 95 % region. Without
//! THRESHOLD, it is found from the data.

#![allow(clippy::print_stdout, reason = "the table is its output")]

use pcr99::{Correspondences, Covariance, Params, Scale, Similarity, Solver, covariance};
use pcr99_lab::{Recipe, ScaleChoice};

/// 95 % quantiles of the χ² distribution with six and seven degrees of freedom.
const NINETY_FIVE: [f64; 2] = [12.592, 14.067];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, usual: f64| {
        args.get(place)
            .map_or(usual, |text| text.parse().expect("RUNS, FIRST_SEED and THRESHOLD are numbers"))
    };
    let (runs, first) = (number(0, 200.0) as u64, number(1, 5000.0) as u64);
    let mut params = Params::new().with_threads(1);
    if args.len() > 2 {
        params = params.with_threshold(number(2, 0.05)).expect("a threshold");
    }
    println!("scale    outliers  runs  NEES/dof  within 95 %");
    for (name, scale, choice) in
        [("known", Scale::one(), ScaleChoice::Fixed(1.0)), ("unknown", Scale::Unknown, ScaleChoice::Random)]
    {
        for ratio in [0.0, 0.5, 0.9, 0.95, 0.98, 0.99] {
            let recipe = Recipe::default().with_scale(choice).and_then(|r| r.with_outlier_ratio(ratio));
            let recipe = recipe.expect("a good recipe");
            let mut found = Vec::new();
            for seed in first..first + runs {
                let problem = recipe.clone().with_seed(seed).generate().expect("a good recipe");
                let pairs = Correspondences::new(&problem.source, &problem.target).expect("good matches");
                let answer = Solver::new().solve(&pairs, scale, &params).expect("good input");
                let transform = answer.target_from_source.filter(|_| answer.is_registered());
                if let (Some(transform), Some(said)) = (transform, covariance(&pairs, &answer, scale)) {
                    found.push(nees(&transform, &problem.truth, &said));
                }
            }
            let size = if name == "known" { 6 } else { 7 };
            let count = found.len() as f64;
            let within = found.iter().filter(|nees| **nees <= NINETY_FIVE[size - 6]).count();
            println!(
                "{name:8} {:7.0}% {count:5}     {:.3}        {:.3}",
                100.0 * ratio,
                found.iter().sum::<f64>() / count / size as f64,
                within as f64 / count
            );
        }
    }
}

/// `xᵀ·C⁻¹·x` for the small motion `x` from the transform to the truth.
fn nees(transform: &Similarity, truth: &Similarity, said: &Covariance) -> f64 {
    let off = transform.inverse().then(truth);
    let (r, moved) = (off.rotation(), off.apply(said.center));
    let mut x = vec![0.5 * (r[2][1] - r[1][2]), 0.5 * (r[0][2] - r[2][0]), 0.5 * (r[1][0] - r[0][1])];
    x.extend((0..3).map(|axis| moved[axis] - said.center[axis]));
    x.push(off.scale() - 1.0);
    let rows = said.information();
    let product = |row: &Vec<f64>| row.iter().zip(&x).map(|(a, b)| a * b).sum::<f64>();
    rows.iter().zip(&x).map(|(row, x)| x * product(row)).sum()
}
