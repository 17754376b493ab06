//! Symmetric objects and scenes that repeat themselves: the poses that fit equally well, and how they relate.

#![allow(unreachable_pub, reason = "shared with other tests")]

mod solids;

use pcr99::{Similarity, random::Random};
use pcr99_cloud::{
    CloudRegistration, Doubt, PreparedCloud, RawCloud, RegisterParams, register,
    register::{FreeMotion, Vote, refine, votes},
};
use solids::*;

const POINTS: usize = 25_000;
const NOISE: f64 = 0.003;

fn prepared(points: &[[f64; 3]]) -> PreparedCloud {
    PreparedCloud::new(RawCloud::new(points)).expect("a cloud")
}

/// Two independent samples; the source is moved by the inverse of the truth.
fn pair(source: &[Piece], target: &[Piece], seed: u64) -> (CloudRegistration, Similarity) {
    let truth = motion(seed, 1.0, 1.0);
    let target = sampled(target, POINTS, NOISE, 2 * seed);
    let source = moved(&sampled(source, POINTS, NOISE, 2 * seed + 1), &truth.inverse());
    let found = register(&prepared(&source), &prepared(&target), &RegisterParams::new()).expect("an outcome");
    (found, truth)
}

fn run(pieces: &[Piece], seed: u64) -> (CloudRegistration, Similarity) {
    pair(pieces, pieces, seed)
}

/// Largest distance between the images of the corners of a box of this half size about a centre.
fn apart(a: &Similarity, b: &Similarity, center: [f64; 3], half: f64) -> f64 {
    let corner =
        |bits: u32| std::array::from_fn(|k| center[k] + if bits >> k & 1 == 1 { half } else { -half });
    let distance = |bits| {
        let (p, q) = (a.apply(corner(bits)), b.apply(corner(bits)));
        (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt()
    };
    (0..8).map(distance).fold(0.0, f64::max)
}

/// Rotation by an angle about an axis through a point.
fn turn(axis: [f64; 3], degrees: f64, through: [f64; 3]) -> Similarity {
    let (sine, cosine) = (0.5 * degrees.to_radians()).sin_cos();
    let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [x, y, z] = axis.map(|x| sine * x / length);
    let about = Similarity::from_quaternion(1.0, [cosine, x, y, z], [0.0; 3]).expect("a rotation");
    let back = about.apply(through);
    about.then(&Similarity::from_translation(std::array::from_fn(|k| through[k] - back[k])))
}

/// All motions of a regular prism with its foot around the origin onto itself.
fn of_prism(sides: u32, height: f64) -> Vec<Similarity> {
    let middle = [0.0, 0.0, 0.5 * height];
    let step = 360.0 / f64::from(sides);
    let turns = (0..sides).map(|k| turn([0.0, 0.0, 1.0], step * f64::from(k), middle));
    let flips = (0..sides).map(|k| {
        let (sine, cosine) = (0.5 * (step * f64::from(k)).to_radians()).sin_cos();
        turn([cosine, sine, 0.0], 180.0, middle)
    });
    turns.chain(flips).collect()
}

/// All rotations of a cube about its centre.
fn of_cube(center: [f64; 3]) -> Vec<Similarity> {
    let mut all = vec![Similarity::IDENTITY];
    let quarters = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]].map(|axis| turn(axis, 90.0, center));
    let mut k = 0;
    while k < all.len() {
        for quarter in &quarters {
            let next = all[k].then(quarter);
            if all.iter().all(|known| apart(known, &next, center, 1.0) > 0.1) {
                all.push(next);
            }
        }
        k += 1;
    }
    all
}

/// The found poses are the truth followed by these motions, each once.
fn assert_set(name: &str, found: &CloudRegistration, truth: &Similarity, motions: &[Similarity]) {
    assert_eq!(found.doubt.map(|doubt| doubt.code()), Some("ambiguous"), "{name}: {}", found.reason());
    let poses: Vec<String> =
        found.poses.iter().map(|p| p.relation.map_or(String::new(), |r| r.to_string())).collect();
    assert_eq!(found.poses.len(), motions.len(), "{name}: {poses:#?}");
    assert_eq!(Some(found.poses[0].target_from_source), found.target_from_source);
    let mut seen = Vec::new();
    for (place, pose) in found.poses.iter().enumerate() {
        let of = |motion: &Similarity| {
            apart(&pose.target_from_source, &truth.then(motion), truth.inverse().apply([0.0, 0.0, 0.5]), 0.7)
        };
        let best =
            (0..motions.len()).min_by(|&a, &b| of(&motions[a]).total_cmp(&of(&motions[b]))).expect("one");
        let off = of(&motions[best]) / found.voxel;
        assert!(off < 1.0, "{name}, pose {place}: {off} voxels");
        seen.push(best);
        assert_eq!(pose.relation.is_none(), place == 0);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), motions.len(), "{name}: a pose is there twice");
}

#[test]
fn symmetric_objects_have_their_set_of_poses() {
    let quarter = |k: u32| turn([0.0, 0.0, 1.0], 90.0 * f64::from(k), [0.0; 3]);
    let table_turns: Vec<Similarity> = (0..4).map(quarter).collect();
    let mut brick_turns = vec![Similarity::IDENTITY];
    brick_turns.extend(
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|axis| turn(axis, 180.0, [1.0, 0.5, 0.3])),
    );
    let angle_turns = [Similarity::IDENTITY, turn([1.0, 1.0, 0.0], 180.0, [0.0, 0.0, 0.15])];
    let shapes: [(&str, Vec<Piece>, Vec<Similarity>); 7] = [
        ("table", table(1.2, 0.7), table_turns),
        ("brick", block([0.0; 3], [2.0, 1.0, 0.6]), brick_turns),
        ("angle", angle(1.2, 1.2, 0.3), angle_turns.to_vec()),
        ("cube", block([0.0; 3], [1.0; 3]), of_cube([0.5; 3])),
        ("prism 3", prism(3, 0.6, 1.0), of_prism(3, 1.0)),
        ("prism 5", prism(5, 0.6, 1.0), of_prism(5, 1.0)),
        ("prism 7", prism(7, 0.6, 0.8), of_prism(7, 0.8)),
    ];
    for (k, (name, pieces, motions)) in (0..).zip(&shapes) {
        let (found, truth) = run(pieces, 31 + k);
        assert!(!found.is_registered() && found.free_motions.is_empty(), "{name}: {}", found.reason());
        assert_set(name, &found, &truth, motions);
    }
    let (found, _) = run(&shapes[0].1, 41);
    let reason = found.reason();
    assert!(reason.starts_with("4 poses fit equally well: the answer, and the answer turned by 90°, 180° and 270° about the axis (0, 0, 1) through ("), "{reason}");
}

#[test]
fn round_objects_name_their_axis() {
    for seed in [51, 52] {
        let (found, truth) = run(&cylinder([0.4, -0.3, 0.0], 0.5, 1.2), seed);
        assert_eq!(found.doubt.map(|doubt| doubt.code()), Some("ambiguous"), "{}", found.reason());
        let [FreeMotion::Turn { axis, through, .. }] = found.free_motions[..] else {
            panic!("{:?}", found.free_motions)
        };
        assert!(
            axis[2] > 0.999 && (through[0] - 0.4).hypot(through[1] + 0.3) < 0.5 * found.voxel,
            "{axis:?} {through:?}"
        );
        // Upside down.
        let [_, flipped] = &found.poses[..] else { panic!("{}", found.reason()) };
        let relation = flipped.relation.expect("one");
        let turn = relation.turn.expect("a turn");
        assert!((turn.degrees - 180.0).abs() < 1.0 && turn.axis[2].abs() < 0.02, "{relation}");
        assert!(
            found.reason().contains("any turn about the axis (0, 0, 1) through (0.4"),
            "{}",
            found.reason()
        );
        let top = found.target_from_source.expect("a pose").apply(truth.inverse().apply([0.4, -0.3, 1.2]));
        assert!((top[0] - 0.4).hypot(top[1] + 0.3) < found.voxel, "the axis stays: {top:?}");

        let (found, _) = run(&[Piece::Ball([1.0, 2.0, 3.0], 1.0)], seed);
        let [FreeMotion::Rotation { about, .. }] = found.free_motions[..] else {
            panic!("{:?}", found.free_motions)
        };
        assert!((0..3).all(|k| (about[k] - [1.0, 2.0, 3.0][k]).abs() < 0.2 * found.voxel), "{about:?}");
        assert_eq!((found.doubt.map(|doubt| doubt.code()), found.poses.len()), (Some("ambiguous"), 1));
    }
}

#[test]
fn surfaces_that_slide_name_their_directions() {
    let (found, _) = run(&[Piece::Flat([0.0; 3], [3.0, 0.0, 0.0], [0.0, 2.0, 0.0])], 61);
    assert_eq!(found.doubt.map(|doubt| doubt.code()), Some("ambiguous"), "{}", found.reason());
    let shifts = found
        .free_motions
        .iter()
        .filter(|m| matches!(m, FreeMotion::Shift { along, .. } if along[2].abs() < 0.01));
    assert_eq!(shifts.count(), 2, "{:?}", found.free_motions);
    assert!(found.free_motions.iter().any(|m| matches!(m, FreeMotion::Turn { axis, .. } if axis[2] > 0.999)));
    let (found, _) = run(&[Piece::Wall([0.0; 3], 0.4, 2.0)], 62);
    let kinds: Vec<&str> = found.free_motions.iter().map(FreeMotion::kind).collect();
    assert_eq!(kinds, ["turn", "shift"], "{}", found.reason());
}

/// A part that is a few patches tells poses apart, so they are not equally good.
#[test]
fn a_small_part_decides() {
    let with = |mut pieces: Vec<Piece>, part: Vec<Piece>| {
        pieces.extend(part);
        pieces
    };
    let shapes = [
        ("mug", with(cylinder([0.0; 3], 0.5, 1.2), block([0.48, -0.06, 0.2], [0.75, 0.06, 0.75]))),
        ("marked prism", with(prism(6, 0.6, 1.0), block([0.5, -0.08, 0.6], [0.78, 0.08, 0.76]))),
        ("table with a box", with(table(1.2, 0.7), block([0.2, 0.3, 0.7], [0.36, 0.46, 0.9]))),
        (
            "brick with a knob",
            with(block([0.0; 3], [2.0, 1.0, 0.6]), block([0.2, 0.2, 0.6], [0.4, 0.4, 0.85])),
        ),
    ];
    for (k, (name, pieces)) in (0..).zip(&shapes) {
        for seed in [71 + k, 81 + k] {
            let (found, truth) = run(pieces, seed);
            let pose = found.target_from_source.expect("a pose");
            let off = apart(&pose, &truth, truth.inverse().apply([0.3, 0.0, 0.5]), 0.7) / found.voxel;
            assert_ne!(
                found.doubt.map(|doubt| doubt.code()),
                Some("ambiguous"),
                "{name} {seed}: {}",
                found.reason()
            );
            assert!(!found.is_registered() || off < 1.0, "{name} {seed}: {off} voxels");
        }
    }
}

/// A room with its furniture, seen from inside and shifted along x.
fn room(furniture: &[[f64; 6]], x: f64) -> Vec<Piece> {
    let mut pieces = block([x, 0.0, 0.0], [x + 4.0, 3.0, 2.5]);
    for &[a, b, c, d, e, f] in furniture {
        pieces.extend(block([x + a, b, c], [x + d, e, f]));
    }
    pieces
}

fn furniture(seed: u64) -> Vec<[f64; 6]> {
    let mut random = Random::new(seed);
    let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
    (0..6)
        .map(|_| {
            let (x, y) = (between(0.2, 3.0), between(0.2, 2.0));
            [x, y, 0.0, x + between(0.3, 0.9), y + between(0.3, 0.9), between(0.4, 1.8)]
        })
        .collect()
}

#[test]
fn equal_rooms_are_shifted() {
    for seed in [91, 92] {
        let furniture = furniture(seed);
        let mut both = room(&furniture, 0.0);
        both.extend(room(&furniture, 4.6));
        let (found, truth) = pair(&room(&furniture, 0.0), &both, seed);
        let motions = [Similarity::IDENTITY, Similarity::from_translation([4.6, 0.0, 0.0])];
        assert_set("equal rooms", &found, &truth, &motions);
        let relation = found.poses[1].relation.expect("one").to_string();
        assert!(relation.starts_with("shifted by 4.6") && relation.contains("along ("), "{relation}");
    }
}

#[test]
fn equal_doors_are_shifted_by_their_distance() {
    // Niches every 1.5 m in a long wall; the source is a part of the corridor with three of them.
    let corridor = |first: i32, last: i32| {
        let (low, high) = (1.5 * f64::from(first), 1.5 * f64::from(last));
        let flat = |corner: [f64; 3], u: [f64; 3], v: [f64; 3]| Piece::Flat(corner, u, v);
        let along = [high - low, 0.0, 0.0];
        let mut pieces = vec![
            flat([low, 0.0, 0.0], along, [0.0, 2.0, 0.0]),
            flat([low, 2.0, 0.0], along, [0.0, 0.0, 2.5]),
        ];
        for k in first..last {
            let x = 1.5 * f64::from(k);
            pieces.extend([
                flat([x, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 2.5]),
                flat([x + 1.3, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 0.0, 2.5]),
                flat([x + 0.5, -0.3, 0.0], [0.8, 0.0, 0.0], [0.0, 0.0, 2.0]),
                flat([x + 0.5, -0.3, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 2.0]),
                flat([x + 1.3, -0.3, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 2.0]),
                flat([x + 0.5, -0.3, 2.0], [0.8, 0.0, 0.0], [0.0, 0.3, 0.0]),
                flat([x + 0.5, 0.0, 2.0], [0.8, 0.0, 0.0], [0.0, 0.0, 0.5]),
            ]);
        }
        pieces
    };
    for seed in [95, 96] {
        let (found, _) = pair(&corridor(2, 5), &corridor(0, 6), seed);
        assert_eq!(found.doubt.map(|doubt| doubt.code()), Some("ambiguous"), "{}", found.reason());
        assert!(found.poses.len() >= 4, "{}", found.reason());
        for pose in &found.poses[1..] {
            let relation = pose.relation.expect("one");
            let doors = relation.shift[0] / 1.5;
            assert!(relation.turn.is_none() && relation.shift[1].abs() < found.voxel, "{relation}");
            assert!((doors - doors.round()).abs() < found.voxel, "{relation}");
        }
    }
}

/// A reason names the place where the votes that decided are, and the result has all votes.
#[test]
fn a_reason_says_where() {
    let ground = |raised: bool, seed: u64| -> Points {
        let mut random = Random::new(seed);
        let mut points = Vec::new();
        for _ in 0..40_000 {
            let (x, y) = (6.0 * random.uniform(), 6.0 * random.uniform());
            let up = if raised && (3.0..5.8).contains(&x) && (0.5..3.3).contains(&y) { 0.25 } else { 0.0 };
            let z = 0.5 * (0.9 * x).sin() * (1.3 * y + 0.4).cos() + 0.35 * (2.1 * x - 1.4 * y).sin();
            points.push([x + 100.0, y - 50.0, z + up + 0.003 * random.gaussian()]);
        }
        points
    };
    let (source, target) = (prepared(&ground(true, 101)), prepared(&ground(false, 102)));
    let params = RegisterParams::new().with_voxel(0.08).expect("a size");
    let found = refine(&source, &target, &Similarity::IDENTITY, &params).expect("a result");
    assert!(matches!(found.doubt, Some(Doubt::Conflict { .. })), "{}", found.reason());
    let place = found.place.expect("a place");
    let [x, y, z] = place.at;
    assert!((103.0..105.8).contains(&x) && (-49.5..-46.7).contains(&y), "{place:?}");
    assert!(place.share > 0.02 && place.share < 1.0 && place.radius > 2.0 * found.voxel, "{place:?}");
    let reason = found.reason();
    let (_, said) = reason.split_once(", most of all near (").unwrap_or_else(|| panic!("{reason}"));
    let (said, remedy) = said.split_once(") in the target; ").unwrap_or_else(|| panic!("{reason}"));
    let said: Vec<f64> = said.split(", ").map(|number| number.parse().expect("a number")).collect();
    assert!(said.iter().zip([x, y, z]).all(|(a, b)| (a - b).abs() < 0.1 * found.voxel), "{reason}");
    assert!(remedy.starts_with("if something moved there, remove it"), "{reason}");
    let against = found.votes.iter().filter(|vote| vote.vote == Vote::Against);
    assert!(against.clone().count() > 20);
    for vote in against {
        let [x, y, _] = vote.point;
        assert!((102.7..106.0).contains(&x) && (-49.8..-46.4).contains(&y), "{vote:?}");
    }
    // The same votes can be counted again from the pose alone.
    let pose = found.target_from_source.expect("a pose");
    let again = votes(&source, &target, &pose, found.voxel, false);
    assert_eq!(again.len(), found.votes.len());
    let differing = again.iter().zip(&found.votes).filter(|(a, b)| a.vote != b.vote).count();
    assert!(differing * 20 < again.len(), "{differing} of {}", again.len());
}

/// An initial pose of a symmetric object is one of several, not a worse one than the search finds.
#[test]
fn an_initial_pose_that_is_one_of_several_is_ambiguous() {
    let pieces = table(1.2, 0.7);
    let truth = motion(111, 1.0, 1.0);
    let target = prepared(&sampled(&pieces, POINTS, NOISE, 222));
    let source = prepared(&moved(&sampled(&pieces, POINTS, NOISE, 223), &truth.inverse()));
    let start = truth.then(&turn([0.0, 0.0, 1.0], 91.0, [0.0; 3]));
    let found = register(&source, &target, &RegisterParams::new().with_initial(start)).expect("an outcome");
    assert_eq!(found.doubt.map(|doubt| doubt.code()), Some("ambiguous"), "{}", found.reason());
    assert_eq!(found.poses.len(), 4, "{}", found.reason());
    let answer = found.target_from_source.expect("a pose");
    assert!(
        apart(&answer, &start, truth.inverse().apply([0.0, 0.0, 0.5]), 0.5) < 0.05,
        "the one near the initial pose"
    );
}
