//! Estimates a transform from matches, most of which are wrong: `cargo run --example solve`.

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use pcr99::{Correspondences, Params, Scale, random::Random};

fn main() -> Result<(), pcr99::Error> {
    // 500 matches between two clouds, of which 25 follow b = 2a + (0, 0, 5); the rest are wrong.
    let mut random = Random::new(1);
    let mut point = || -> [f64; 3] { std::array::from_fn(|_| random.uniform()) };
    let source: Vec<[f64; 3]> = (0..500).map(|_| point()).collect();
    let right = |i: usize| i.is_multiple_of(20);
    let target: Vec<[f64; 3]> = (0..500)
        .map(|i| if right(i) { source[i] } else { point() })
        .map(|[x, y, z]| [2.0 * x, 2.0 * y, 2.0 * z + 5.0])
        .collect();

    let pairs = Correspondences::new(&source, &target)?;
    let found = pcr99::solve(&pairs, Scale::Unknown, &Params::new())?;

    assert!(found.is_registered(), "{found:?}");
    assert!((0..500).filter(|&i| right(i)).all(|i| found.inliers.contains(&i)));
    if let Some(target_from_source) = found.target_from_source {
        println!("{}: {}", found.status, found.reason());
        println!(
            "scale {:.6}, translation {:.6?}",
            target_from_source.scale(),
            target_from_source.translation()
        );
        assert!((target_from_source.scale() - 2.0).abs() < 1e-9);
    }
    Ok(())
}
