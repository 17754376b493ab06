//! Each stage of the published method on its own, so that a slowdown has an address: `cargo bench -p pcr99`.
//!
//! 1000 matches of which 10 are right; one thread.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use pcr99::{
    Correspondences, Scale, Similarity, bench,
    paper::{Params, Sampling, Solver},
    random::Random,
};

fn problem(scale: f64) -> Correspondences {
    let mut random = Random::new(1);
    let mut point = || -> [f64; 3] { std::array::from_fn(|_| random.uniform() - 0.5) };
    let source: Vec<[f64; 3]> = (0..1000).map(|_| point()).collect();
    let target: Vec<[f64; 3]> =
        (0..1000).map(|i| if i % 100 == 0 { source[i] } else { point() }.map(|x| scale * x)).collect();
    Correspondences::new(&source, &target).expect("good matches")
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

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2));
    targets = stages, whole
}
criterion_main!(benches);
