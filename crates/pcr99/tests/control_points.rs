//! Control points: gross errors, accuracy, large coordinates, and what does not determine a transform.

use pcr99::{Check, ControlError, ControlPoint, Scale, Similarity, Vertical, georeference, random::Random};

struct Recipe {
    count: usize,
    wrong: usize,
    scale: f64,
    has_deviations: bool,
    is_upright: bool,
    /// Unit of the local coordinates, and offset of the world.
    unit: f64,
    offset: f64,
}

const NOISE: f64 = 0.01;

/// Points of which the last ones are grossly wrong.
fn points(recipe: &Recipe, random: &mut Random) -> (Vec<ControlPoint>, Similarity) {
    let q = if recipe.is_upright {
        [random.gaussian(), 0.0, 0.0, random.gaussian()]
    } else {
        std::array::from_fn(|_| random.gaussian())
    };
    let shift = [recipe.offset, 10.0 * recipe.offset, 100.0];
    let truth = Similarity::from_quaternion(recipe.scale, q, shift).unwrap();
    let point = |k: usize, random: &mut Random| {
        let local: [f64; 3] =
            std::array::from_fn(|axis| recipe.unit * [20.0, 15.0, 3.0][axis] * random.gaussian());
        let sigma = NOISE * recipe.unit * recipe.scale;
        let mut world = truth.apply(local).map(|x| x + sigma * random.gaussian());
        if k >= recipe.count - recipe.wrong {
            // From 40 standard deviations to beyond the scene.
            world[k % 3] += 40.0 * sigma * (1.0 + 200.0 * random.uniform());
        }
        let point = ControlPoint::new(format!("P{k}"), local, world);
        if recipe.has_deviations { point.with_deviation(sigma) } else { point }
    };
    ((0..recipe.count).map(|k| point(k, random)).collect(), truth)
}

#[test]
fn gross_errors_are_named_in_any_unit() {
    let mut random = Random::new(4100);
    for (unit, offset) in [(1.0, 0.0), (1.0, 5e5), (1e-3, 0.0), (1e3, 4e6)] {
        for (scale, is_upright) in [(1.0, false), (1.0, true), (2.5, false), (2.5, true)] {
            for (count, wrong) in [(5, 1), (8, 3), (20, 8), (300, 100)] {
                for has_deviations in [true, false] {
                    let recipe = Recipe { count, wrong, scale, has_deviations, is_upright, unit, offset };
                    // Five points with four good ones leave little to measure an unknown noise by.
                    // Many points take long, and units do not depend on their number.
                    let is_long = count > 100 && (unit != 1.0 || offset != 0.0);
                    if is_long || count == 5 && !has_deviations {
                        continue;
                    }
                    let mut mistakes = 0;
                    for _ in 0..3 {
                        let (points, _) = points(&recipe, &mut random);
                        let given = if scale == 1.0 { Scale::one() } else { Scale::Unknown };
                        let vertical = is_upright.then_some(&Vertical::Z);
                        let found = georeference(&points, given, vertical).unwrap();
                        let good = |k: usize| k < count - wrong;
                        mistakes += (0..count).filter(|&k| found.points[k].is_used != good(k)).count();
                        assert!(found.is_supported());
                    }
                    // A right point in a thousand is beyond the gate.
                    let most = if has_deviations { 2 } else { 3 };
                    assert!(
                        mistakes <= most,
                        "{count} {wrong} {scale} {is_upright} {has_deviations} {unit}: {mistakes}"
                    );
                }
            }
        }
    }
}

/// Squared errors of the transform at a point far from the others, divided by the variance that the covariance says.
#[test]
fn the_covariance_holds() {
    let mut random = Random::new(4200);
    for (is_upright, scale, has_deviations) in
        [(false, 1.0, true), (true, 1.0, true), (false, 2.0, true), (true, 2.0, false), (false, 1.0, false)]
    {
        let recipe = Recipe { count: 9, wrong: 0, scale, has_deviations, is_upright, unit: 1.0, offset: 4e5 };
        let (mut sum, mut count) = (0.0, 0.0);
        for _ in 0..150 {
            let (points, truth) = points(&recipe, &mut random);
            let given = if scale == 1.0 { Scale::one() } else { Scale::Unknown };
            let found = georeference(&points, given, is_upright.then_some(&Vertical::Z)).unwrap();
            let local = [60.0, -40.0, 10.0];
            let place = truth.apply(local);
            let at = found.covariance.about(place).unwrap();
            let off = found.world_from_local.apply(local);
            for k in 0..3 {
                sum += (off[k] - place[k]).powi(2) / at.matrix[3 + k][3 + k];
                count += 1.0;
            }
        }
        let ratio: f64 = sum / count;
        assert!((0.7..1.35).contains(&ratio), "{is_upright} {scale} {has_deviations}: {ratio}");
    }
}

#[test]
fn what_does_not_determine_a_transform_is_named() {
    let at = |k: usize, p: [f64; 3]| ControlPoint::new(format!("P{k}"), p, p.map(|x| x + 100.0));
    let line: Vec<ControlPoint> = (0..4).map(|k| at(k, [k as f64, 2.0 * k as f64, 0.0])).collect();
    let message = |points: &[ControlPoint], vertical: Option<&Vertical>| {
        georeference(points, Scale::one(), vertical).unwrap_err().to_string()
    };
    assert!(
        message(&line[..2], None)
            .starts_with("2 control points, but 3 are needed: add more, or give the vertical")
    );
    assert!(message(&line, None).starts_with("the control points lie on one line"));
    assert!(message(&[], Some(&Vertical::Z)).starts_with("0 control points, but 2 are needed"));
    let two = georeference(&line[..2], Scale::one(), Some(&Vertical::Z)).unwrap();
    assert_eq!((two.redundancy, two.check()), (2, Check::None));
    let above = [at(0, [1.0, 1.0, 0.0]), at(1, [1.0, 1.0, 5.0])];
    assert!(message(&above, Some(&Vertical::Z)).contains("above each other"));
    let mut named = line.clone();
    named[3].name = "P1".to_owned();
    assert_eq!(
        georeference(&named, Scale::one(), None).unwrap_err(),
        ControlError::RepeatedName { name: "P1".to_owned(), rows: [2, 4] }
    );
    named[3].name = "P3".to_owned();
    named[2].world[1] = f64::NAN;
    assert!(message(&named, None).contains("`P2` has a coordinate that is not finite"));
    named[2] = at(2, [5.0, 1.0, 1.0]).with_deviation(0.0);
    assert!(message(&named, None).contains("standard deviation of control point `P2` is 0"));
    named[2] = at(2, [5.0, 1.0, 1.0]).with_deviation(1.0);
    assert!(message(&named, None).contains("`P0` has no standard deviation"));
}

/// A mirrored side fits no rotation: few points are used, and that is said.
#[test]
fn mirrored_points_are_not_supported() {
    let mut random = Random::new(4300);
    let points: Vec<ControlPoint> = (0..12)
        .map(|k| {
            let p: [f64; 3] = std::array::from_fn(|_| 10.0 * random.gaussian());
            ControlPoint::new(format!("P{k}"), p, [-p[0], p[1], p[2]]).with_deviation(0.01)
        })
        .collect();
    let found = georeference(&points, Scale::one(), None).unwrap();
    assert!(!found.is_supported(), "{}", found.used());
}

/// Near a line the rotation about it is weak, and the covariance says so.
#[test]
fn points_near_a_line_are_uncertain_about_it() {
    let mut random = Random::new(4400);
    let points: Vec<ControlPoint> = (0..8)
        .map(|k| {
            let p = [10.0 * k as f64, 0.05 * random.gaussian(), 0.05 * random.gaussian()];
            let world = p.map(|x| x + 0.02 * random.gaussian());
            ControlPoint::new(format!("P{k}"), p, world).with_deviation(0.02)
        })
        .collect();
    let found = georeference(&points, Scale::one(), None).unwrap();
    assert!(found.covariance.matrix[0][0].sqrt().to_degrees() > 2.0);
    assert!(found.covariance.matrix[2][2].sqrt().to_degrees() < 0.1);
}
