//! Registration of generated clouds: units, densities, noise, partial overlap, unknown scale, ambiguous shapes and bad input.

use pcr99::{Scale, Similarity, Status, random::Random};
use pcr99_cloud::{
    CloudRegistration, Doubt, PreparedCloud, RawCloud, Refinement, RegisterError, RegisterParams, register,
    register::refine, register_until,
};

type Points = Vec<[f64; 3]>;

/// A landscape of smooth hills with a few boxes on it, seen in the square from `low` to `high`.
fn landscape(random: &mut Random, points: usize, low: [f64; 2], high: [f64; 2], noise: f64) -> Points {
    let height = |x: f64, y: f64| {
        0.5 * (0.9 * x).sin() * (1.3 * y + 0.4).cos()
            + 0.35 * (2.1 * x - 1.4 * y).sin()
            + 0.2 * (0.3 * x * y).cos()
    };
    let boxes = [
        [1.0, 2.0, 0.8, 1.1],
        [3.5, 1.2, 0.5, 1.6],
        [2.6, 4.1, 1.1, 0.7],
        [5.1, 3.3, 0.6, 1.3],
        [4.4, 5.2, 0.9, 0.9],
    ];
    let mut cloud = Vec::with_capacity(points);
    while cloud.len() < points {
        let x = low[0] + (high[0] - low[0]) * random.uniform();
        let y = low[1] + (high[1] - low[1]) * random.uniform();
        let on = boxes.iter().find(|b| (x - b[0]).abs() < 0.5 * b[2] && (y - b[1]).abs() < 0.5 * b[2]);
        let mut p = [x, y, on.map_or_else(|| height(x, y), |b| b[3])];
        // Some of the points of a box are on its walls.
        if let Some(b) = on.filter(|_| random.below(2) == 0) {
            let side = if random.below(2) == 0 { 0.5 } else { -0.5 };
            let axis = random.below(2);
            p[axis] = b[axis] + side * b[2];
            p[2] = b[3] * random.uniform();
        }
        cloud.push(p.map(|x| x + noise * random.gaussian()));
    }
    cloud
}

fn motion(seed: u64, scale: f64, shift: f64) -> Similarity {
    let mut random = Random::new(seed);
    let quaternion = std::array::from_fn(|_| random.gaussian());
    Similarity::from_quaternion(scale, quaternion, std::array::from_fn(|_| shift * random.gaussian()))
        .expect("a similarity")
}

fn moved(points: &[[f64; 3]], motion: &Similarity) -> Points {
    points.iter().map(|&p| motion.apply(p)).collect()
}

fn prepared(points: &[[f64; 3]]) -> PreparedCloud {
    PreparedCloud::new(RawCloud::new(points)).expect("a cloud")
}

fn run(source: &[[f64; 3]], target: &[[f64; 3]], params: &RegisterParams) -> CloudRegistration {
    register(&prepared(source), &prepared(target), params).expect("an outcome")
}

/// Largest distance between the positions of a point under two transforms, in units of `unit`.
fn apart(a: &Similarity, b: &Similarity, points: &[[f64; 3]], unit: f64) -> f64 {
    let distance = |&p: &[f64; 3]| {
        let (x, y) = (a.apply(p), b.apply(p));
        (0..3).map(|k| (x[k] - y[k]).powi(2)).sum::<f64>().sqrt() / unit
    };
    points.iter().step_by(37).map(distance).fold(0.0, f64::max)
}

/// Two views of the landscape that share more than half. The source is moved by the inverse of the truth.
fn pair(seed: u64, truth: &Similarity, noise: f64) -> (Points, Points) {
    let mut random = Random::new(seed);
    let seen = landscape(&mut random, 30_000, [0.0, 0.0], [4.8, 6.0], noise);
    let target = landscape(&mut random, 22_000, [1.2, 0.0], [6.0, 6.0], noise);
    (moved(&seen, &truth.inverse()), target)
}

#[test]
fn two_views_are_registered_in_any_unit_at_any_place() {
    // Millimetres near the origin, metres far from it (UTM), and a tiny object.
    for (seed, unit, shift) in [(1, 1000.0, 5000.0), (2, 1.0, 4e6), (3, 1e-6, 1e-5)] {
        let (source, target) = pair(seed, &motion(seed, 1.0, 1.0), 0.01);
        let grow = Similarity::from_quaternion(unit, [1.0, 0.0, 0.0, 0.0], [shift, -shift, 0.5 * shift])
            .expect("a similarity");
        let truth = grow.inverse().then(&motion(seed, 1.0, 1.0)).then(&grow);
        let found = run(&moved(&source, &grow), &moved(&target, &grow), &RegisterParams::new());
        assert!(found.is_registered(), "unit {unit}: {}", found.reason());
        let pose = found.target_from_source.expect("a pose");
        let off = apart(&pose, &truth, &moved(&source, &grow), found.voxel);
        assert!(off < 0.25, "unit {unit}: {off} voxels");
        let overlap = found.assessment.expect("an assessment");
        assert!(
            (0.6..0.85).contains(&overlap.overlap_source) && (0.6..0.85).contains(&overlap.overlap_target)
        );
    }
}

#[test]
fn swapping_gives_the_inverse_and_threads_change_nothing() {
    let (source, target) = pair(4, &motion(4, 1.0, 2.0), 0.01);
    let there = run(&source, &target, &RegisterParams::new().with_threads(1));
    let again = run(&source, &target, &RegisterParams::new().with_threads(3));
    let back = run(&target, &source, &RegisterParams::new());
    let pose = there.target_from_source.expect("a pose");
    assert_eq!(again.target_from_source, Some(pose));
    assert_eq!((again.assessment, again.covariance.clone()), (there.assessment, there.covariance.clone()));
    let inverse = back.target_from_source.expect("a pose").inverse();
    assert!(apart(&pose, &inverse, &source, there.voxel) < 1e-9);
    assert_eq!(there.status, back.status);
    // The deviation of the translation, about the same point, is the same in both directions.
    let trace = |found: &CloudRegistration| {
        let covariance = found.covariance.as_ref().expect("one");
        (3..6).map(|k| covariance.matrix[k][k]).sum::<f64>()
    };
    assert!((trace(&there) / trace(&back) - 1.0).abs() < 1e-6);
    let (a, b) = (there.assessment.expect("one"), back.assessment.expect("one"));
    assert_eq!((a.overlap_source, a.overlap_target), (b.overlap_target, b.overlap_source));
}

#[test]
fn densities_may_differ() {
    let mut random = Random::new(5);
    let truth = motion(5, 1.0, 2.0);
    let source = landscape(&mut random, 4000, [0.0, 0.0], [5.0, 6.0], 0.005);
    let target = landscape(&mut random, 120_000, [0.8, 0.0], [6.0, 6.0], 0.005);
    let found = run(&moved(&source, &truth.inverse()), &target, &RegisterParams::new());
    assert!(found.is_registered(), "{}", found.reason());
    let off = apart(
        &found.target_from_source.expect("a pose"),
        &truth,
        &moved(&source, &truth.inverse()),
        found.voxel,
    );
    assert!(off < 0.5, "{off} voxels");
}

#[test]
fn an_unknown_scale_is_found() {
    for (seed, scale) in [(6, 0.25), (7, 4.0)] {
        let truth = motion(seed, scale, 1.0);
        let (source, target) = pair(seed, &truth, 0.01);
        let found = run(&source, &target, &RegisterParams::new().with_scale(Scale::Unknown));
        assert!(found.is_registered(), "scale {scale}: {}", found.reason());
        let pose = found.target_from_source.expect("a pose");
        assert!((pose.scale() / scale - 1.0).abs() < 0.005, "{}", pose.scale());
        assert!(apart(&pose, &truth, &source, found.voxel) < 0.5);
        assert_eq!(found.covariance.expect("one").matrix.len(), 7);
    }
    let truth = motion(8, 2.5, 1.0);
    let (source, target) = pair(8, &truth, 0.01);
    let known =
        run(&source, &target, &RegisterParams::new().with_scale(Scale::known(2.5).expect("positive")));
    assert!(known.is_registered(), "{}", known.reason());
    assert_eq!(known.target_from_source.expect("a pose").scale(), 2.5);
}

#[test]
fn an_initial_pose_is_refined_and_judged() {
    let truth = motion(9, 1.0, 1.0);
    let (source, target) = pair(9, &truth, 0.01);
    let near = Similarity::from_quaternion(1.0, [1.0, 0.01, -0.01, 0.01], [0.03, -0.02, 0.01])
        .expect("a similarity")
        .then(&truth);
    for refinement in [Refinement::PointToPlane, Refinement::PointToPoint] {
        let params = RegisterParams::new().with_initial(near).with_refinement(refinement);
        let found = run(&source, &target, &params);
        assert!(found.is_registered(), "{refinement:?}: {}", found.reason());
        let off = apart(&found.target_from_source.expect("a pose"), &truth, &source, found.voxel);
        assert!(off < 0.5, "{refinement:?}: {off} voxels");
    }
    let far = motion(10, 1.0, 1.0);
    let found = run(&source, &target, &RegisterParams::new().with_initial(far));
    assert_eq!(found.status, Status::NotReliable, "{}", found.reason());
    let kept = RegisterParams::new().with_initial(truth).with_refinement(Refinement::None);
    let found = run(&source, &target, &kept);
    assert!(apart(&found.target_from_source.expect("a pose"), &truth, &source, found.voxel) < 1e-9);
    assert!(found.is_registered(), "{}", found.reason());
}

#[test]
fn the_covariance_is_that_of_the_error_and_the_information_its_inverse() {
    let truth = motion(11, 1.0, 1.0);
    let (source, target) = pair(11, &truth, 0.01);
    let found = run(&source, &target, &RegisterParams::new());
    let covariance = found.covariance.expect("one");
    assert_eq!(covariance.matrix.len(), 6);
    assert!(covariance.free.is_empty(), "{:?}", covariance.free);
    let information = covariance.information();
    for (i, row) in covariance.matrix.iter().enumerate() {
        for (j, &element) in row.iter().enumerate() {
            assert_eq!(element, covariance.matrix[j][i]);
            let product: f64 = row.iter().zip(&information).map(|(x, other)| x * other[j]).sum();
            assert!((product - f64::from(u8::from(i == j))).abs() < 1e-6, "{i} {j}: {product}");
        }
    }
    // 30 000 points with a noise of 0.01 hold a translation to about 0.01/√30000·√2, and the middle is off by a few of these.
    let deviation: f64 = (3..6).map(|k| covariance.matrix[k][k]).sum::<f64>().sqrt();
    assert!((1e-4..1e-3).contains(&deviation), "{deviation}");
    let back = truth.inverse().apply(covariance.center);
    let off = apart(&found.target_from_source.expect("a pose"), &truth, &[back], 1.0);
    assert!(off < 4.0 * deviation, "{off} {deviation}");
}

#[test]
fn refinement_without_a_search() {
    let truth = motion(31, 1.0, 1.0);
    let (source, target) = pair(31, &truth, 0.01);
    let [scan, map] =
        [&source, &target].map(|points| PreparedCloud::new(RawCloud::new(points)).expect("a cloud"));
    let off = |by: [f64; 3]| {
        truth.then(&Similarity::from_quaternion(1.0, [1.0, 0.004, -0.003, 0.005], by).expect("one"))
    };
    for refinement in [Refinement::PointToPlane, Refinement::PlaneToPlane, Refinement::PointToPoint] {
        let params = RegisterParams::new().with_refinement(refinement);
        let found = refine(&scan, &map, &off([0.05, -0.04, 0.03]), &params).expect("a result");
        assert!(found.is_registered(), "{refinement:?}: {}", found.reason());
        let error = apart(&found.target_from_source.expect("a pose"), &truth, &source, found.voxel);
        let most = if refinement == Refinement::PointToPoint { 0.5 } else { 0.1 };
        assert!(error < most, "{refinement:?}: {error} voxels");
        assert!(found.matches.is_none() && found.rival.is_none());
    }
    // Exchanged, the result is the inverse.
    let there = refine(&scan, &map, &off([0.0; 3]), &RegisterParams::new()).expect("a result");
    let back = refine(&map, &scan, &off([0.0; 3]).inverse(), &RegisterParams::new()).expect("a result");
    let [there, back] = [there, back].map(|found| found.target_from_source.expect("a pose"));
    assert!(apart(&there, &back.inverse(), &source, 1.0) < 1e-9);
    // The digits of an initial pose are rounded, but a known scale is known.
    let rounded = Similarity::new(1.0004, truth.rotation(), truth.translation()).expect("one");
    let found = refine(&scan, &map, &rounded, &RegisterParams::new()).expect("a result");
    let pose = found.target_from_source.expect("a pose");
    assert!((pose.scale() - 1.0).abs() < 1e-12, "{}", pose.scale());
    assert!(apart(&pose, &truth, &source, found.voxel) < 0.1);
    // No overlap: the pose stays, and the doubt says why.
    let far = off([1000.0, 0.0, 0.0]);
    let found = refine(&scan, &map, &far, &RegisterParams::new()).expect("a result");
    assert_eq!(found.doubt, Some(Doubt::LittleOverlap { overlap: 0.0 }));
    assert!(apart(&found.target_from_source.expect("a pose"), &far, &source, 1.0) < 1e-9);
    assert!(found.covariance.is_none() && found.rmse.is_none());
    // A plane slides on a plane.
    let mut random = Random::new(32);
    let mut plane = || -> Points {
        (0..8000)
            .map(|_| [4.0 * random.uniform(), 3.0 * random.uniform(), 0.01 * random.gaussian()])
            .collect()
    };
    let [a, b] = [plane(), plane()].map(|points| PreparedCloud::new(RawCloud::new(points)).expect("a cloud"));
    let found = refine(&a, &b, &Similarity::IDENTITY, &RegisterParams::new()).expect("a result");
    assert!(matches!(found.doubt, Some(Doubt::Underconstrained { .. })), "{:?}", found.doubt);
    // It slides and turns. The noise of the normals may seem to hold one of the two directions.
    let free = found.covariance.expect("one").free;
    assert!(
        free.iter().any(|way| matches!(way, pcr99::FreeDirection::Sliding([_, _, z]) if z.abs() < 0.1)),
        "{free:?}"
    );
    assert!(free.len() >= 2, "{free:?}");
}

type Shape = fn(&mut Random) -> [f64; 3];

fn sampled(n: usize, seed: u64, point: impl Fn(&mut Random) -> [f64; 3]) -> Points {
    let mut random = Random::new(seed);
    (0..n).map(|_| point(&mut random).map(|x| x + 0.002 * random.gaussian())).collect()
}

fn sphere(random: &mut Random) -> [f64; 3] {
    let v: [f64; 3] = std::array::from_fn(|_| random.gaussian());
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    v.map(|x| x / length)
}

fn cube(random: &mut Random) -> [f64; 3] {
    let mut p: [f64; 3] = std::array::from_fn(|_| 2.0 * random.uniform() - 1.0);
    p[random.below(3)] = if random.below(2) == 0 { 1.0 } else { -1.0 };
    p
}

fn plane(random: &mut Random) -> [f64; 3] {
    [3.0 * random.uniform(), 2.0 * random.uniform(), 0.0]
}

fn tube(random: &mut Random) -> [f64; 3] {
    let v = [random.gaussian(), random.gaussian()];
    let length = (v[0] * v[0] + v[1] * v[1]).sqrt();
    [v[0] / length, v[1] / length, 4.0 * random.uniform()]
}

#[test]
fn shapes_that_fit_in_several_ways_are_not_reliable() {
    let shapes: [(&str, Shape); 4] = [("sphere", sphere), ("cube", cube), ("plane", plane), ("tube", tube)];
    for (name, shape) in shapes {
        let (source, target) = (sampled(20_000, 1, shape), sampled(20_000, 2, shape));
        let found = run(&moved(&source, &motion(3, 1.0, 1.0)), &target, &RegisterParams::new());
        assert_eq!(found.status, Status::NotReliable, "{name}: {}", found.reason());
        assert!(found.target_from_source.is_some(), "{name}: the best pose is reported");
        assert!(matches!(found.doubt, Some(Doubt::Ambiguous { .. })), "{name}: {}", found.reason());
        assert!(found.poses.len() == 24 || !found.free_motions.is_empty(), "{name}: {}", found.reason());
    }
}

/// A corridor with a niche every metre. It fits as well when shifted by one niche.
fn corridor(random: &mut Random) -> [f64; 3] {
    let (along, across) = (8.0 * random.uniform(), random.uniform());
    let niche = (along - along.floor() - 0.5).abs() < 0.2;
    match random.below(4) {
        0 => [along, 2.0 * across, 0.0],
        1 => [along, 2.0 * across, 2.5],
        2 => [along, if niche { -0.3 } else { 0.0 }, 2.5 * across],
        _ => [along, 2.0, 2.5 * across],
    }
}

#[test]
fn a_corridor_that_repeats_itself_is_not_registered_wrongly() {
    let target = sampled(60_000, 1, corridor);
    // Half of the corridor; which half is undetermined.
    let half: Points =
        sampled(60_000, 2, corridor).into_iter().filter(|p| (2.0..6.0).contains(&p[0])).collect();
    let truth = motion(21, 1.0, 1.0);
    let source = moved(&half, &truth.inverse());
    let found = run(&source, &target, &RegisterParams::new());
    let off = apart(&found.target_from_source.expect("a pose"), &truth, &source, found.voxel);
    assert!(!found.is_registered() || off < 3.0, "{} voxels off, {}", off, found.reason());
}

#[test]
fn unrelated_clouds_are_not_registered() {
    let (source, _) = pair(12, &motion(12, 1.0, 1.0), 0.01);
    let mut random = Random::new(13);
    // Spheres of many sizes in a box.
    let balls: Vec<([f64; 3], f64)> = (0..12)
        .map(|_| (std::array::from_fn(|_| 6.0 * random.uniform()), 0.3 + 0.7 * random.uniform()))
        .collect();
    let target = sampled(30_000, 14, |random| {
        let (center, radius) = balls[random.below(balls.len())];
        let v = sphere(random);
        std::array::from_fn(|k| center[k] + radius * v[k])
    });
    let found = run(&source, &target, &RegisterParams::new());
    assert_eq!(found.status, Status::NotReliable, "{}", found.reason());
    // One landscape in millimetres and in metres.
    let (source, target) = pair(15, &motion(15, 1.0, 1.0), 0.01);
    let grow = Similarity::from_quaternion(1000.0, [1.0, 0.0, 0.0, 0.0], [0.0; 3]).expect("a similarity");
    let found = run(&moved(&source, &grow), &target, &RegisterParams::new());
    assert_eq!(found.status, Status::NotReliable);
    assert!(
        matches!(found.doubt, Some(Doubt::SizeMismatch { ratio }) if (700.0..1400.0).contains(&ratio)),
        "{}",
        found.reason()
    );
}

#[test]
fn clouds_that_cannot_be_registered_are_errors() {
    let error = |points: &[[f64; 3]]| PreparedCloud::new(RawCloud::new(points)).expect_err("an error");
    assert_eq!(error(&[]), RegisterError::TooFewPoints { given: 0, distinct: 0 });
    assert_eq!(error(&[[1.0; 3]; 9]), RegisterError::TooFewPoints { given: 9, distinct: 1 });
    let nan = [[f64::NAN; 3], [0.0; 3], [1.0; 3], [f64::INFINITY, 0.0, 0.0]];
    assert_eq!(error(&nan), RegisterError::TooFewPoints { given: 4, distinct: 2 });
    let line: Points =
        (0..100).map(|k| [1e6 + 0.1 * f64::from(k), 2.0 - 0.3 * f64::from(k), 0.7 * f64::from(k)]).collect();
    assert_eq!(error(&line), RegisterError::Collinear { points: 100 });
    let huge: Points = (0..10).map(|k| [1e200 * f64::from(k), f64::from(k * k), 1e200]).collect();
    assert!(matches!(error(&huge), RegisterError::ExtremeSize { .. }));
    assert!(RegisterParams::new().with_voxel(f64::NAN).is_err());
    assert!(RegisterParams::new().with_candidates(0).is_err());
}

#[test]
fn three_points_and_odd_voxels_do_no_harm() {
    let few = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
    let found = run(&few, &few, &RegisterParams::new());
    assert_ne!(found.status, Status::Registered);
    let (source, target) = pair(16, &motion(16, 1.0, 1.0), 0.01);
    for voxel in [1e-300, 1e-3, 100.0] {
        let thin: Points = source.iter().step_by(10).copied().collect();
        let found = run(&thin, &target[..3000], &RegisterParams::new().with_voxel(voxel).expect("positive"));
        let pose = found.target_from_source;
        assert!(
            pose.is_none_or(|pose| pose.matrix().iter().flatten().all(|x| x.is_finite())),
            "voxel {voxel}"
        );
    }
}

#[test]
fn a_voxel_that_is_too_fine_is_made_coarser() {
    let mut random = Random::new(20);
    let points = landscape(&mut random, 150_000, [0.0, 0.0], [6.0, 6.0], 0.01);
    let voxel = 0.01;
    let found = run(&points, &points, &RegisterParams::new().with_voxel(voxel).expect("positive"));
    assert!(found.voxel > 1.5 * voxel, "{}", found.voxel);
    assert!(found.source.sampled <= 40_000, "{}", found.source.sampled);
    assert!(found.is_registered(), "{}", found.reason());
}

#[test]
fn the_caller_can_stop_it() {
    let (source, target) = pair(17, &motion(17, 1.0, 1.0), 0.01);
    let at_once = || Some(pcr99::stop::StopRequest::TimeLimit);
    let found = register_until(&prepared(&source), &prepared(&target), &RegisterParams::new(), &at_once);
    let found = found.expect("an outcome");
    assert_eq!((found.status, found.doubt), (Status::NoSolution, Some(Doubt::Stopped)));
    assert_eq!(found.stopped, Some(pcr99::stop::StopRequest::TimeLimit));
}

#[test]
fn a_known_viewpoint_orients_normals_and_tells_free_space() {
    let truth = motion(18, 1.0, 1.0);
    let (source, target) = pair(18, &truth, 0.01);
    let above = [3.0, 3.0, 8.0];
    let source_view = truth.inverse().apply(above);
    let prepare = |points: &[[f64; 3]], view| {
        RawCloud::new(points).with_viewpoint(view).and_then(PreparedCloud::new).expect("a cloud")
    };
    let (a, b) = (prepare(&source, source_view), prepare(&target, above));
    let found = register(&a, &b, &RegisterParams::new()).expect("an outcome");
    assert!(found.is_registered(), "{}", found.reason());
    assert_eq!(found.orientation, pcr99_cloud::orient::Orientation::Viewpoint);
    // Two voxels too high, the source floats where the sensor of the target saw free space.
    let lift = Similarity::from_translation([0.0, 0.0, 2.0]);
    let kept = RegisterParams::new().with_initial(truth.then(&lift)).with_refinement(Refinement::None);
    assert!(!register(&a, &b, &kept).expect("an outcome").is_registered());
}

#[test]
fn normals_that_came_with_the_clouds_help_and_bad_ones_do_no_harm() {
    let truth = motion(22, 1.0, 1.0);
    let (source, target) = pair(22, &truth, 0.01);
    let turn = Similarity::new(1.0, truth.inverse().rotation(), [0.0; 3]).expect("a similarity");
    let up = [0.05, -0.03, 1.0];
    let mut random = Random::new(23);
    let mut signs = |n: [f64; 3]| if random.below(2) == 0 { n } else { n.map(|x| -x) };
    let good = [vec![turn.apply(up); source.len()], vec![up; target.len()]];
    let bad = good.each_ref().map(|normals| normals.iter().map(|&n| signs(n)).collect::<Points>());
    for normals in [good, bad] {
        let clouds = [(&source, &normals[0]), (&target, &normals[1])]
            .map(|(points, normals)| RawCloud::new(points).with_normals(normals.as_slice()).expect("as many"))
            .map(|cloud| PreparedCloud::new(cloud).expect("a cloud"));
        let found = register(&clouds[0], &clouds[1], &RegisterParams::new()).expect("an outcome");
        assert!(found.is_registered(), "{}", found.reason());
        assert_eq!(found.orientation, pcr99_cloud::orient::Orientation::Given);
        assert!(apart(&found.target_from_source.expect("a pose"), &truth, &source, found.voxel) < 0.5);
    }
}

#[test]
fn a_prepared_cloud_gives_the_same_again_from_what_it_kept() {
    let (source, target) = pair(19, &motion(19, 1.0, 1.0), 0.01);
    let (a, b) = (prepared(&source), prepared(&target));
    let first = register(&a, &b, &RegisterParams::new()).expect("an outcome");
    let second = register(&a, &b, &RegisterParams::new()).expect("an outcome");
    assert_eq!(first.target_from_source, second.target_from_source);
    // The descriptors of the registration's voxel are kept: asking for them again gives the same memory.
    let kept = |cloud: &PreparedCloud, voxel: f64| {
        let [one, two] = [(); 2].map(|()| cloud.features(voxel, first.orientation));
        std::sync::Arc::ptr_eq(&one, &two)
    };
    assert!(kept(&a, first.voxel) && kept(&b, first.voxel));
    let before = a.bytes();
    register(&a, &b, &RegisterParams::new()).expect("an outcome");
    assert_eq!(a.bytes(), before, "nothing was computed anew");
}

/// The reported matches are in the coordinates of the clouds as given, whichever cloud was moved internally.
#[test]
fn matches_are_in_the_coordinates_of_the_clouds() {
    let mut random = Random::new(5);
    let source = landscape(&mut random, 6000, [0.0, 0.0], [6.0, 6.0], 0.005);
    let truth = motion(8, 1.0, 100.0);
    let target = moved(&landscape(&mut random, 9000, [0.0, 0.0], [6.0, 6.0], 0.005), &truth);
    for (from, to) in [(&source, &target), (&target, &source)] {
        let found = run(from, to, &RegisterParams::new());
        assert!(found.is_registered(), "{}", found.reason());
        let (matches, model) = (found.matches.expect("matches"), found.target_from_source.expect("a pose"));
        assert_eq!(matches.points.len(), matches.matches);
        for &i in &matches.inliers {
            let [a, b] = matches.points[i];
            let off = model.apply(a).iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
            assert!(off <= matches.threshold * (1.0 + 1e-6), "{off}");
        }
    }
}

#[test]
fn the_information_of_far_coordinates_is_well_conditioned() {
    let truth = motion(24, 1.0, 1.0);
    let (source, target) = pair(24, &truth, 0.01);
    let near = run(&source, &target, &RegisterParams::new());
    let utm = Similarity::from_translation([448_262.0, 5_411_932.0, 300.0]);
    let far = run(&source, &moved(&target, &utm), &RegisterParams::new());
    let (a, b) = (near.covariance.expect("one"), far.covariance.expect("one"));
    let (c, d) = (a.center, b.center);
    let (a, b) = (a.information(), b.information());
    for (x, y) in a.iter().flatten().zip(b.iter().flatten()) {
        assert!((x - y).abs() < 1e-3 * a[0][0].max(a[3][3]), "{x} {y}");
    }
    assert!((0..3).all(|k| (d[k] - c[k] - utm.translation()[k]).abs() < 0.01));
    assert!((0..3).all(|k| c[k].abs() < 7.0), "in the overlap: {c:?}");
}

#[test]
fn input_that_does_not_fit_is_an_error() {
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let normals = [[0.0, 0.0, 1.0]; 2];
    let error = RawCloud::new(&points).with_normals(normals.as_slice()).expect_err("two normals");
    assert_eq!(error.to_string(), "2 normals for 3 points: give one for each point, or none");
    let error = RawCloud::new(&points).with_viewpoint([0.0, f64::INFINITY, 0.0]).expect_err("infinite");
    assert!(matches!(error, RegisterError::ViewpointNotFinite { .. }), "{error}");
    let single = RawCloud::from_f32(&points.map(|p| p.map(|x| x as f32)));
    assert_eq!(PreparedCloud::new(single).expect("three points").given(), 3);
}

#[test]
fn rounds_tell_what_was_tried() {
    let (source, target) = pair(24, &motion(24, 1.0, 1.0), 0.01);
    let found = run(&source, &target, &RegisterParams::new());
    let [round] = found.rounds[..] else { panic!("{:?}", found.rounds) };
    assert_eq!(round.kind, pcr99_cloud::register::RoundKind::MutualMatches);
    assert_eq!((round.status, round.doubt), (Some(found.status), found.doubt));
    assert_eq!(round.sampled, [found.source.sampled, found.target.sampled]);
    let matches = found.matches.as_ref().expect("matches");
    assert_eq!((round.matches, round.best_inlier_count), (matches.matches, matches.inliers.len()));
    assert!(round.candidates >= 1 && found.candidates.len() <= round.candidates + 1);
    let reversed = run(&target, &source, &RegisterParams::new());
    assert_eq!(reversed.rounds[0].sampled, [round.sampled[1], round.sampled[0]]);
}
