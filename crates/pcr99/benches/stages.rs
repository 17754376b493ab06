//! Benchmarks of each stage of the published and of the default method, and of both as a whole: `cargo bench -p pcr99`.
//!
//! The problem has 1000 matches, of which 10 are right. All runs use one thread. The default method is also measured on 40 right matches, where
//! the final fit with weights takes another path.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use pcr99::{
    Correspondences, Positive, Scale, Similarity, bench,
    paper::{Params, Sampling, Solver},
    random::Random,
};

/// Every hundredth match is right and exact.
fn problem(scale: f64) -> Correspondences {
    let mut random = Random::new(1);
    let mut point = || -> [f64; 3] { std::array::from_fn(|_| random.uniform() - 0.5) };
    let source: Vec<[f64; 3]> = (0..1000).map(|_| point()).collect();
    let target: Vec<[f64; 3]> =
        (0..1000).map(|i| if i % 100 == 0 { source[i] } else { point() }.map(|x| scale * x)).collect();
    Correspondences::new(&source, &target).expect("good matches")
}

/// One match in `one_in` is right, with noise of 0.01; its index is returned with the others.
fn noisy_problem(scale: f64, one_in: usize) -> (Correspondences, Vec<u32>) {
    let mut random = Random::new(1);
    let mut point = || -> [f64; 3] { std::array::from_fn(|_| random.uniform() - 0.5) };
    let source: Vec<[f64; 3]> = (0..1000).map(|_| point()).collect();
    let places: Vec<[f64; 3]> =
        (0..1000).map(|i| if i % one_in == 0 { source[i] } else { point() }).collect();
    let target: Vec<[f64; 3]> =
        places.iter().map(|p| p.map(|x| scale * x + 0.01 * random.gaussian())).collect();
    let right = (0..1000).step_by(one_in).map(|i| i as u32).collect();
    (Correspondences::new(&source, &target).expect("good matches"), right)
}

fn stages(criterion: &mut Criterion) {
    let pairs = problem(1.0);
    let model = Similarity::IDENTITY;
    criterion.bench_function("log_ratio/1M pairs", |b| b.iter(|| bench::log_ratio(black_box(&pairs))));
    for (name, scale) in [("known", Scale::one()), ("unknown", Scale::Unknown)] {
        criterion
            .bench_function(&format!("score/{name}"), |b| b.iter(|| bench::score(black_box(&pairs), scale)));
        criterion.bench_function(&format!("prescreen/{name}, 1M triplets"), |b| {
            b.iter(|| bench::prescreen(black_box(&pairs), scale, 1_000_000));
        });
        criterion.bench_function(&format!("align/{name}, 1000 triplets"), |b| {
            b.iter(|| bench::align(black_box(&pairs), scale, 1000));
        });
        criterion
            .bench_function(&format!("refit/{name}"), |b| b.iter(|| bench::refit(black_box(&pairs), scale)));
    }
    criterion.bench_function("consensus/bound, 1000 models", |b| {
        b.iter(|| bench::consensus_bound(black_box(&pairs), &model, 1000));
    });
    criterion.bench_function("consensus/exact, 1000 models", |b| {
        b.iter(|| bench::consensus_exact(black_box(&pairs), &model, 1000));
    });
}

fn whole(criterion: &mut Criterion) {
    let mut solver = Solver::new();
    for (name, scale, sampling) in [
        ("known", Scale::one(), Sampling::Ordered),
        ("known, no S/O", Scale::one(), Sampling::random(0)),
        ("unknown", Scale::Unknown, Sampling::Ordered),
        ("unknown, no S/O", Scale::Unknown, Sampling::random(0)),
    ] {
        let pairs = problem(if scale == Scale::Unknown { 3.0 } else { 1.0 });
        let params = Params::new(0.05).expect("positive").with_sampling(sampling);
        criterion.bench_function(&format!("solve/{name}"), |b| {
            b.iter(|| solver.solve(black_box(&pairs), scale, &params).expect("within the memory budget"));
        });
    }
}

fn default_stages(criterion: &mut Criterion) {
    let threshold = Positive::new("threshold", 0.05).expect("positive");
    for (name, scale, s) in [("known", Scale::one(), 1.0), ("unknown", Scale::Unknown, 3.0)] {
        for (one_in, right) in [(100, 10), (25, 40)] {
            let (pairs, indices) = noisy_problem(s, one_in);
            let mut stages = bench::SearchStages::new(&pairs, scale, threshold, 1000, &indices);
            let id = |stage: &str| format!("default/{stage}/{name}, {right} right");
            criterion.bench_function(&id("refine"), |b| b.iter(|| black_box(stages.refine())));
            criterion.bench_function(&id("evidence"), |b| b.iter(|| black_box(stages.evidence(&pairs))));
            criterion.bench_function(&id("polish"), |b| b.iter(|| black_box(stages.polish())));
            if right == 10 {
                criterion.bench_function(&id("subset"), |b| b.iter(|| black_box(stages.subset())));
                criterion.bench_function(&id("edges"), |b| b.iter(|| stages.edges()));
                criterion.bench_function(&id("pairs"), |b| b.iter(|| black_box(stages.pairs())));
                criterion.bench_function(&id("clique, 1000 pairs"), |b| {
                    b.iter(|| black_box(stages.cliques(1000)))
                });
            }
        }
    }
}

fn default_whole(criterion: &mut Criterion) {
    let mut solver = pcr99::Solver::new();
    for (name, scale, s) in [("known", Scale::one(), 1.0), ("unknown", Scale::Unknown, 3.0)] {
        let (pairs, _) = noisy_problem(s, 100);
        let given = pcr99::Params::new().with_threads(1).with_threshold(0.05).expect("positive");
        let estimated = pcr99::Params::new().with_threads(1);
        for (threshold, params) in [("given", given), ("estimated", estimated)] {
            criterion.bench_function(&format!("default/solve/{name}, threshold {threshold}"), |b| {
                b.iter(|| solver.solve(black_box(&pairs), scale, &params).expect("valid"));
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2));
    targets = stages, whole, default_stages, default_whole
}
criterion_main!(benches);
