//! Tests of the last stage on shapes with known truth.

use std::sync::Arc;

use pcr99::{FreeDirection, random::Random};
use pcr99_base::vector::distance_sq;

use super::*;

/// A random place on a box with sides 3, 2 and 1.5, without lid.
fn on_box(random: &mut Random) -> [f64; 3] {
    let (u, v) = (random.uniform(), random.uniform());
    match random.below(5) {
        0 => [3.0 * u, 2.0 * v, 0.0],
        1 => [3.0 * u, 0.0, 1.5 * v],
        2 => [3.0 * u, 2.0, 1.5 * v],
        3 => [0.0, 2.0 * u, 1.5 * v],
        _ => [3.0, 2.0 * u, 1.5 * v],
    }
}

fn cloud(seed: u64, count: usize, noise: f64, place: fn(&mut Random) -> [f64; 3]) -> Vec<[f64; 3]> {
    let mut random = Random::new(seed);
    (0..count).map(|_| place(&mut random).map(|x| x + noise * random.gaussian())).collect()
}

fn finished(
    moving: &[[f64; 3]],
    fixed: &[[f64; 3]],
    start: &Similarity,
    kind: Refinement,
    with_scale: bool,
) -> Finished {
    let surfaces = [surface(moving, 0, 0.08 / start.scale()), surface(fixed, 1, 0.08)].map(Arc::new);
    Finish::new(&Surfaces::new(surfaces, kind), kind, with_scale).run(start, 0.2)
}

fn near() -> Similarity {
    Similarity::from_quaternion(1.0, [1.0, 0.002, -0.003, 0.002], [0.01, -0.015, 0.01]).expect("a similarity")
}

/// Largest distance of a corner from where it should be.
fn off(pose: &Similarity) -> f64 {
    let corners = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.5]];
    corners.iter().map(|&p| distance_sq(pose.apply(p), p).sqrt()).fold(0.0, f64::max)
}

#[test]
fn the_error_falls_with_the_number_of_points() {
    let error = |count: usize| {
        let squares = (0..4).map(|seed| {
            let clouds = [0, 1].map(|k| cloud(2 * seed + k, count, 0.01, on_box));
            let found = finished(&clouds[0], &clouds[1], &near(), Refinement::PointToPlane, false);
            assert!(found.is_settled, "{found:?}");
            off(&found.pose).powi(2)
        });
        (squares.sum::<f64>() / 4.0).sqrt()
    };
    // A fit of all points would be off by 0.01·√(2/(n/3)) on each axis, and by two to three times that at the farthest corner.
    let (few, many) = (error(4000), error(64_000));
    assert!(few < 2.5e-3, "{few}");
    assert!(many < 0.6e-3 && many < 0.35 * few, "{few} {many}");
}

#[test]
fn every_kind_finds_the_pose_and_the_scale() {
    let clouds = [5, 6].map(|seed| cloud(seed, 20_000, 0.004, on_box));
    for kind in [Refinement::PointToPlane, Refinement::PlaneToPlane] {
        let found = finished(&clouds[0], &clouds[1], &near(), kind, false);
        assert!(off(&found.pose) < 1e-3, "{kind:?}: {}", off(&found.pose));
        assert_eq!(found.covariance.expect("one").matrix.len(), 6);
    }
    let larger = near().then(&Similarity::new(1.004, near().rotation(), [0.0; 3]).expect("a similarity"));
    let found = finished(&clouds[0], &clouds[1], &larger, Refinement::PointToPlane, true);
    assert!((found.pose.scale() - 1.0).abs() < 5e-4, "{}", found.pose.scale());
    assert_eq!(found.covariance.expect("one").matrix.len(), 7);
    for kind in [Refinement::None, Refinement::PointToPoint] {
        let kept = finished(&clouds[0], &clouds[1], &near(), kind, false);
        assert!((off(&kept.pose) - off(&near())).abs() < 1e-12 && kept.covariance.is_some());
    }
}

#[test]
fn what_slides_is_named_and_has_a_large_deviation() {
    let trough = |random: &mut Random| {
        let (u, v) = (random.uniform(), random.uniform());
        if random.below(2) == 0 { [6.0 * u, 2.0 * v, 0.0] } else { [6.0 * u, 0.0, 2.0 * v] }
    };
    let clouds = [7, 8].map(|seed| cloud(seed, 20_000, 0.005, trough));
    let covariance = finished(&clouds[0], &clouds[1], &Similarity::IDENTITY, Refinement::PointToPlane, false)
        .covariance
        .expect("one");
    let [FreeDirection::Sliding(way)] = covariance.free[..] else { panic!("{:?}", covariance.free) };
    assert!(way[0] > 0.99, "{way:?}");
    assert!(covariance.free[0].to_string().starts_with("sliding along (1.00, "), "{}", covariance.free[0]);
    assert!(covariance.matrix[3][3] > 1.0 && covariance.matrix[3][3] < 36.0);
    // The free direction is known to half a degree, so that a little of its variance is in the others.
    assert!(covariance.matrix[4][4] < 1e-3 && covariance.matrix[5][5] < 1e-3);
    let information = covariance.information();
    assert!(information.iter().flatten().all(|x| x.is_finite()));
}

#[test]
fn a_copy_is_exact_and_nothing_near_stays() {
    let points = cloud(9, 5000, 0.0, on_box);
    let found = finished(&points, &points, &near(), Refinement::PointToPlane, false);
    assert!(off(&found.pose) < 1e-3, "{}", off(&found.pose));
    assert!(found.covariance.expect("one").matrix.iter().flatten().all(|x| x.is_finite()));
    let far = Similarity::from_translation([50.0, 0.0, 0.0]);
    let found = finished(&points, &points, &far, Refinement::PointToPlane, false);
    assert_eq!((found.pairs, found.rmse), (0, None));
    assert!(found.covariance.is_none() && !found.is_settled);
    assert!((off(&found.pose) - 50.0).abs() < 1e-9);
}

#[test]
fn a_plane_slides_both_ways_and_turns() {
    let floor = |random: &mut Random| [6.0 * random.uniform(), 4.0 * random.uniform(), 0.0];
    for seed in 20..24 {
        let clouds = [0, 1].map(|k| cloud(2 * seed + k, 15_000, 0.01, floor));
        let found = finished(&clouds[0], &clouds[1], &Similarity::IDENTITY, Refinement::PointToPlane, false);
        let covariance = found.covariance.expect("one");
        let is_level = |way: &[f64; 3]| way[2].abs() < 0.02;
        let slides =
            covariance.free.iter().filter(|f| matches!(f, FreeDirection::Sliding(way) if is_level(way)));
        let turns =
            covariance.free.iter().filter(|f| matches!(f, FreeDirection::Turning(axis) if axis[2] > 0.99));
        assert_eq!(
            (slides.count(), turns.count(), covariance.free.len()),
            (2, 1, 3),
            "{:?}",
            covariance.free
        );
        // Height and tilt are known.
        assert!(covariance.matrix[5][5] < 1e-4 && covariance.matrix[0][0] < 1e-4, "{:?}", covariance.matrix);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let clouds = [10, 11].map(|seed| cloud(seed, 150_000, 0.01, on_box));
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| finished(&clouds[0], &clouds[1], &near(), Refinement::PointToPlane, false))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn a_covariance_moves_to_another_point_and_back() {
    let clouds = [12, 13].map(|seed| cloud(seed, 10_000, 0.01, on_box));
    let here =
        finished(&clouds[0], &clouds[1], &near(), Refinement::PointToPlane, true).covariance.expect("one");
    let there = here.about([100.0, -20.0, 5.0]).expect("finite");
    assert!(there.matrix[5][5] > here.matrix[5][5]);
    assert_eq!(there.matrix[0][0], here.matrix[0][0]);
    let back = there.about(here.center).expect("finite");
    for (x, y) in here.matrix.iter().flatten().zip(back.matrix.iter().flatten()) {
        assert!((x - y).abs() < 1e-9 * there.matrix[5][5], "{x} {y}");
    }
}
