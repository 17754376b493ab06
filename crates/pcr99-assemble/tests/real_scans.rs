//! Real scans of several places in one bag, moved at random and shuffled, found through `PCR99_DATA`: each place becomes a map of its own. Without the data the test prints that
//! it is skipped; with `PCR99_REQUIRE_DATA=1` it fails.

#![allow(clippy::print_stderr, reason = "says that it was skipped")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use pcr99::{Similarity, random::Random};
use pcr99_assemble::{AssembleOptions, Merge, assemble};
use pcr99_cloud::{Cloud, read_points, write_cloud};

/// Files of each place.
const PLACES: [(&str, &[&str]); 4] = [
    (
        "clouds/bunny_scans",
        &["bun000.ply", "bun045.ply", "bun090.ply", "bun180.ply", "bun270.ply", "bun315.ply"],
    ),
    (
        "clouds/dragon_stand",
        &["dragonStandRight_0.ply", "dragonStandRight_24.ply", "dragonStandRight_48.ply"],
    ),
    ("scans/facade", &["0.pcd", "2.pcd", "5.pcd"]),
    ("clouds/small_gicp", &["source.ply", "target.ply"]),
];
/// Largest error of the rotation between two scans of the bunny, in degrees. It is 0.33 to 0.35, and depends a little on the motion.
const BUNNY: f64 = 0.5;

/// A scan of the bag.
struct Moved {
    place: usize,
    file: PathBuf,
    motion: Similarity,
    /// Pose of the scan in its published model, where there is one.
    truth: Option<Similarity>,
}

fn directory() -> Option<PathBuf> {
    let directory = std::env::var_os("PCR99_DATA").map(PathBuf::from);
    let is_required = std::env::var_os("PCR99_REQUIRE_DATA").is_some_and(|value| value == "1");
    assert!(directory.is_some() || !is_required, "PCR99_REQUIRE_DATA=1 but PCR99_DATA is not set");
    if directory.is_none() {
        eprintln!("skipped: set PCR99_DATA to the directory of the real data to run this test");
    }
    directory
}

/// Published poses of the scans of the bunny: `x_world = R(q)ᵀ·x + t`.
fn bunny_poses(data: &Path) -> BTreeMap<String, Similarity> {
    let text = fs::read_to_string(data.join("clouds/bunny_scans/bun.conf")).expect("bun.conf");
    let mut poses = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("bmesh ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let x: Vec<f64> = words[1..8].iter().map(|word| word.parse().expect("a number")).collect();
        let pose = Similarity::from_quaternion(1.0, [x[6], -x[3], -x[4], -x[5]], [x[0], x[1], x[2]]);
        poses.insert(words[0].to_owned(), pose.expect("a pose"));
    }
    poses
}

/// Writes the scans of all places, moved at random, and shuffles them.
fn bag(data: &Path, output: &Path, seed: u64) -> Vec<Moved> {
    let mut random = Random::new(seed);
    let poses = bunny_poses(data);
    let mut scans = Vec::new();
    for (place, (folder, files)) in PLACES.iter().enumerate() {
        for name in *files {
            let q = [random.gaussian(), random.gaussian(), random.gaussian(), random.gaussian()];
            let points = read_points(&data.join(folder).join(name)).expect("a scan");
            let size =
                points.iter().flatten().filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()));
            let t = [size * random.gaussian(), size * random.gaussian(), size * random.gaussian()];
            let motion = Similarity::from_quaternion(1.0, q, t).expect("a motion");
            let file = output.join(format!("{place}-{name}")).with_extension("ply");
            write_cloud(&file, &Cloud::new(points).moved(&motion)).expect("a file");
            scans.push(Moved { place, file, motion, truth: poses.get(*name).copied() });
        }
    }
    for k in (1..scans.len()).rev() {
        scans.swap(k, random.below(k + 1));
    }
    scans
}

fn angle_deg(a: &Similarity, b: &Similarity) -> f64 {
    let q = a.then(&b.inverse()).quaternion();
    let vector = (q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
    2.0 * libm::atan2(vector, q[0].abs()).to_degrees()
}

#[test]
fn scans_of_four_places_in_one_bag_become_four_maps() {
    let Some(data) = directory() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let bag = bag(&data, place.path(), 41);
    let files: Vec<PathBuf> = bag.iter().map(|scan| scan.file.clone()).collect();
    let mut options = AssembleOptions::default();
    options.merge = Merge::Nothing;
    let found = assemble(&files, &place.path().join("project"), &options, &|| false, &mut |_| {});
    let document = found.expect("an assembly").expect("not interrupted").document;
    assert_eq!(document.components.iter().map(|c| c.scans).collect::<Vec<_>>(), [6, 3, 3, 2]);
    for edge in document.edges.iter().filter(|edge| edge.verdict.is_admitted()) {
        assert_eq!(bag[edge.target].place, bag[edge.source].place, "{}: {}", edge.target, edge.source);
    }
    let mut largest = 0.0_f64;
    let known: Vec<(Similarity, Similarity)> = (bag.iter().zip(&document.scans))
        .filter_map(|(moved, scan)| Some((moved.motion.then(&scan.map_from_scan()?), moved.truth?)))
        .collect();
    assert_eq!(known.len(), 6);
    for (pose, truth) in &known {
        for (other, other_truth) in &known {
            let found = pose.then(&other.inverse());
            largest = largest.max(angle_deg(&found, &truth.then(&other_truth.inverse())));
        }
    }
    assert!(largest < BUNNY, "{largest}");
    // The edges of the facade differ from its map by less than 5 mm.
    let facade = bag.iter().position(|scan| scan.place == 2).and_then(|scan| document.scans[scan].component);
    let loops = document.components[facade.expect("placed")].loops_after.expect("loops");
    assert!(loops.largest < 0.005, "{}", loops.largest);
}
