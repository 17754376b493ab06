//! Optional features: points and transforms of other crates, serialisation.

#[cfg(any(feature = "nalgebra", feature = "glam", feature = "serde"))]
const SOURCE: [[f64; 3]; 5] =
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [1.0, 1.0, 1.0]];

/// Points of nalgebra go in, a transform of nalgebra comes out.
#[cfg(feature = "nalgebra")]
#[test]
fn nalgebra() {
    use nalgebra::{Point3, Similarity3, Vector3};
    use pcr99::{Correspondences, Scale};

    let truth = Similarity3::new(Vector3::new(1.0, -2.0, 3.0), Vector3::new(0.3, 0.2, -0.1), 2.0);
    let source = SOURCE.map(Point3::from);
    let target = source.map(|p| truth * p);
    let pairs = Correspondences::from_points(source, target).expect("matches");
    let found = pairs.fit(Scale::Unknown, &[0, 1, 2, 3, 4]).expect("a transform");
    let error = Similarity3::from(found).to_homogeneous() - truth.to_homogeneous();
    assert!(error.amax() < 1e-12, "{error}");
}

/// Points of glam go in, a transform of glam comes out.
#[cfg(feature = "glam")]
#[test]
fn glam() {
    use glam::{DAffine3, DQuat, DVec3};
    use pcr99::{Correspondences, Scale};

    let turn = DQuat::from_euler(glam::EulerRot::XYZ, 0.3, 0.2, -0.1);
    let truth =
        DAffine3::from_scale_rotation_translation(DVec3::splat(2.0), turn, DVec3::new(1.0, -2.0, 3.0));
    let source = SOURCE.map(DVec3::from);
    let target = source.map(|p| truth.transform_point3(p));
    let pairs = Correspondences::from_points(source, target).expect("matches");
    let found = pairs.fit(Scale::Unknown, &[0, 1, 2, 3, 4]).expect("a transform");
    assert!(DAffine3::from(found).abs_diff_eq(truth, 1e-12), "{found:?}");
}

/// The transform of a result survives JSON.
#[cfg(feature = "serde")]
#[test]
fn serde() {
    use pcr99::{Correspondences, Scale, Similarity};

    let target = SOURCE.map(|[x, y, z]| [0.3 - y, x / 3.0, z + 7.0]);
    let pairs = Correspondences::from_points(SOURCE, target).expect("matches");
    let found = pairs.fit(Scale::Unknown, &[0, 1, 2, 3, 4]).expect("a transform");
    let text = serde_json::to_value(found).expect("JSON");
    assert_eq!(serde_json::from_value::<Similarity>(text).expect("a transform"), found);
}

/// Candidates and doubts survive JSON; the name of a doubt there is its code.
#[cfg(feature = "serde")]
#[test]
fn results_in_json() {
    use pcr99::{Candidate, Doubt, Evidence, Similarity, Status, StopReason};

    let doubts = [
        Doubt::Chance { log10_nfa: 0.25 },
        Doubt::FewPlaces { places: 2 },
        Doubt::LooseRotation { deviation_deg: 7.5 },
        Doubt::Ambiguous { evidence_ratio: 0.75 },
        Doubt::Unfinished { because: StopReason::Interrupted },
        Doubt::NoConsensus { correspondences: 9 },
        Doubt::Stopped { correspondences: 9, because: StopReason::TimeLimit },
    ];
    for doubt in doubts {
        let value = serde_json::to_value(doubt).expect("JSON");
        assert_eq!(value["code"], doubt.code());
        assert_eq!(serde_json::from_value::<Doubt>(value).expect("a doubt"), doubt);
    }
    let transform = Similarity::from_quaternion(2.0, [1.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.3]).expect("valid");
    let candidate = Candidate::new(transform, 12, Evidence::new(-30.5, 11, 0.5, 0.0));
    let value = serde_json::to_value(candidate).expect("JSON");
    assert_eq!(serde_json::from_value::<Candidate>(value).expect("a candidate"), candidate);
    for status in Status::ALL {
        assert_eq!(serde_json::to_value(status).expect("JSON"), status.as_str());
    }
    for reason in StopReason::ALL {
        assert_eq!(serde_json::to_value(reason).expect("JSON"), reason.as_str());
    }
}
