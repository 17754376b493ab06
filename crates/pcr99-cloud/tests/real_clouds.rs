//! Real clouds with known truth, found through `PCR99_DATA`: a few pairs of each kind, moved at random, are registered correctly, and
//! unrelated clouds are not registered. `examples/pairs.rs` prints the whole table. Without the data the test prints that it is skipped;
//! with `PCR99_REQUIRE_DATA=1` it fails.

#![allow(clippy::print_stderr, reason = "says that it is skipped")]
#![allow(unreachable_pub, reason = "shared with the example")]

mod common;

use std::path::PathBuf;

use common::{Row, errors, motion, moved, rows};
use pcr99::{Scale, Similarity, Status};
use pcr99_cloud::{PreparedCloud, RawCloud, RegisterParams, read_points, register};

fn data() -> Option<PathBuf> {
    let directory = std::env::var_os("PCR99_DATA").map(PathBuf::from);
    if directory.is_none() {
        assert!(
            std::env::var_os("PCR99_REQUIRE_DATA").is_none_or(|v| v != "1"),
            "PCR99_REQUIRE_DATA=1 but PCR99_DATA is not set"
        );
        eprintln!("skipped: set PCR99_DATA to the directory of the real data to run this test");
    }
    directory
}

/// A statue from the side, a room with little overlap, a street.
const PAIRS: [&str; 4] =
    ["bunny_bun090_to_bun000", "dragon_48_to_24", "3dmatch_redkitchen_5_to_0", "kitti_turboreg_010"];

fn picked(data: &std::path::Path) -> Vec<Row> {
    rows(data).into_iter().filter(|row| PAIRS.contains(&row.name.as_str())).collect()
}

fn prepared(points: &[[f64; 3]]) -> PreparedCloud {
    PreparedCloud::new(RawCloud::new(points)).expect("a cloud")
}

#[test]
fn real_pairs_are_registered_right_and_inversely() {
    let Some(data) = data() else { return };
    for row in picked(&data) {
        let change = motion(11, 20.0 * row.voxel);
        let source = moved(&read_points(&row.source).expect("a cloud"), &change);
        let (source, target) = (prepared(&source), prepared(&read_points(&row.target).expect("a cloud")));
        let found = register(&source, &target, &RegisterParams::new()).expect("an outcome");
        assert_eq!(found.status, Status::Registered, "{}: {}", row.name, found.reason());
        let pose = found.target_from_source.expect("a pose");
        let (degrees, apart) = errors(&pose, &change.inverse().then(&row.truth), source.center());
        assert!(degrees < 3.0 && apart < 2.0 * row.voxel, "{}: {degrees}° {apart}", row.name);
        let back = register(&target, &source, &RegisterParams::new()).expect("an outcome");
        let (degrees, apart) =
            errors(&pose, &back.target_from_source.expect("a pose").inverse(), source.center());
        assert!(degrees < 0.01 && apart < 0.01 * row.voxel, "{}: {degrees}° {apart}", row.name);
    }
}

#[test]
fn a_scaled_copy_of_a_real_pair_is_registered() {
    let Some(data) = data() else { return };
    let rows = picked(&data);
    let row = rows.iter().find(|row| row.name == "dragon_48_to_24").expect("the pair");
    let turn = motion(12, 20.0 * row.voxel);
    let change = Similarity::new(3.0, turn.rotation(), turn.translation()).expect("a similarity");
    let source = moved(&read_points(&row.source).expect("a cloud"), &change);
    let (source, target) = (prepared(&source), prepared(&read_points(&row.target).expect("a cloud")));
    let found =
        register(&source, &target, &RegisterParams::new().with_scale(Scale::Unknown)).expect("an outcome");
    assert_eq!(found.status, Status::Registered, "{}", found.reason());
    let (pose, truth) = (found.target_from_source.expect("a pose"), change.inverse().then(&row.truth));
    let (degrees, apart) = errors(&pose, &truth, source.center());
    assert!(degrees < 1.0 && apart < row.voxel, "{degrees}° {apart}");
    assert!((pose.scale() / truth.scale() - 1.0).abs() < 0.01);
}

#[test]
fn a_dragon_is_not_found_in_a_kitchen() {
    let Some(data) = data() else { return };
    let rows = rows(&data);
    let find = |name: &str| rows.iter().find(|row| row.name == name).expect("the pair");
    let dragon = read_points(&find("dragon_24_to_0").target).expect("a cloud");
    let kitchen = read_points(&find("3dmatch_redkitchen_5_to_0").source).expect("a cloud");
    // As it is, and as large as the kitchen.
    for factor in [1.0, 15.0] {
        let change =
            Similarity::from_quaternion(factor, [1.0, 0.0, 0.0, 0.0], [0.0; 3]).expect("a similarity");
        let dragon = prepared(&moved(&dragon, &change));
        let found = register(&dragon, &prepared(&kitchen), &RegisterParams::new()).expect("an outcome");
        assert_ne!(found.status, Status::Registered, "{factor}");
    }
}
