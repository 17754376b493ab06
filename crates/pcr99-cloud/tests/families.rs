//! The verdict on generated scenes: right poses are registered where the scans determine them, and wrong poses never are.
//! `examples/families.rs` prints the whole table.

#![allow(unreachable_pub, reason = "shared with the example")]

mod scenes;

use std::{sync::mpsc, thread, time::Duration};

use pcr99::Similarity;
use pcr99_cloud::{CloudRegistration, Doubt, PreparedCloud, RawCloud, RegisterParams, register};
use scenes::{ATTACKS, FAMILIES, Judgement, Scans};

fn scans(family: &str, seed: u64) -> Scans {
    let (_, make) = FAMILIES.iter().chain(&ATTACKS).find(|(name, _)| *name == family).expect("a family");
    make(seed)
}

fn run(scans: &Scans, viewpoints: bool, params: &RegisterParams) -> CloudRegistration {
    let prepare = |points: &[[f64; 3]], k: usize| {
        let viewpoint = scans.viewpoints.filter(|_| viewpoints).map(|v| v[k]);
        RawCloud::new(points).with_viewpoint(viewpoint).and_then(PreparedCloud::new).expect("a cloud")
    };
    register(&prepare(&scans.source, 0), &prepare(&scans.target, 1), params).expect("an outcome")
}

/// Largest distance between the found and the true position of a source point, in voxels.
fn off(found: &CloudRegistration, scans: &Scans) -> f64 {
    let (pose, truth) = (found.target_from_source.expect("a pose"), scans.truth.expect("one"));
    let apart = |&p: &[f64; 3]| {
        let (x, y) = (pose.apply(p), truth.apply(p));
        (0..3).map(|k| (x[k] - y[k]).powi(2)).sum::<f64>().sqrt() / found.voxel
    };
    scans.source.iter().step_by(101).map(apart).fold(0.0, f64::max)
}

#[test]
fn scans_of_one_place_are_registered() {
    for (family, seed) in [
        ("room", 3),
        ("room view", 4),
        ("object", 4),
        ("facade marked", 1),
        ("street 10 m", 2),
        ("wood 3 m", 1),
        ("street, 16 rings", 1),
    ] {
        let scans = scans(family, seed);
        let found = run(&scans, false, &RegisterParams::new());
        assert!(found.is_registered(), "{family} {seed}: {}", found.reason());
        assert!(off(&found, &scans) < 1.5, "{family} {seed}: {} voxels", off(&found, &scans));
        let fit = found.assessment.expect("one");
        assert!(fit.conflict_fraction < 0.03, "{family} {seed}: {fit:?}");
        // The reported numbers are those that were judged.
        let first = found.candidates[0];
        let evidence = found.matches.as_ref().expect("matches").evidence;
        assert_eq!((first.assessment, first.evidence), (fit, Some(evidence)), "{family} {seed}");
        assert_eq!(Some(first.target_from_source), found.target_from_source);
    }
}

/// Scans with growing noise, moved objects or few points need not be registered, but are never registered wrongly.
#[test]
fn poor_scans_are_right_or_refused() {
    for (family, seed, expected) in [
        ("people moved", 2, Some(true)),
        ("depth camera", 1, Some(true)),
        ("yard, 1 in 20", 4, Some(true)),
        ("cluttered", 4, None),
        ("depth cam., others", 2, Some(false)),
        ("depth camera", 7, None),
    ] {
        let scans = scans(family, seed);
        let found = run(&scans, false, &RegisterParams::new());
        assert!(expected.is_none_or(|e| e == found.is_registered()), "{family} {seed}: {}", found.reason());
        if found.is_registered() {
            assert!(off(&found, &scans) < 2.0, "{family} {seed}: {} voxels", off(&found, &scans));
        }
    }
}

/// A left shoe fits a right one well enough for every other test.
#[test]
fn a_mirrored_copy_is_noticed() {
    for seed in [6, 7] {
        let found = run(&scans("mirrored shoe", seed), false, &RegisterParams::new());
        assert!(!found.is_registered(), "{seed}: {:?}", found.assessment);
        let found = run(&scans("shoe", seed), false, &RegisterParams::new());
        assert!(found.is_registered(), "{seed}: {}", found.reason());
    }
}

#[test]
fn scans_of_different_places_are_not() {
    for (family, seed) in
        [("room view, others", 4), ("room view, others", 20), ("room, others", 1), ("object, others", 3)]
    {
        let found = run(&scans(family, seed), false, &RegisterParams::new());
        assert!(!found.is_registered(), "{family} {seed}: {:?}", found.assessment);
    }
}

#[test]
fn what_repeats_itself_is_ambiguous() {
    for seed in [2, 4] {
        let scans = scans("facade plain", seed);
        let found = run(&scans, false, &RegisterParams::new());
        let Some(Doubt::Ambiguous { score_ratio }) = found.doubt else { panic!("{}", found.reason()) };
        let rival = found.rival.expect("an ambiguous answer names its rival");
        assert_eq!(rival.score_ratio, score_ratio);
        // None of the judge's tests refutes it.
        let kept = rival.not_refuted_because;
        assert!(kept.explained_ratio >= 0.4 && kept.inlier_ratio >= 0.2, "{kept:?}");
        assert!(kept.contradicting_fraction <= 0.04 + 1e-12, "{kept:?}");
        assert_eq!(kept.inlier_ratio, rival.inlier_count as f64 / found.candidates[0].inlier_count as f64);
        let answer = found.target_from_source.expect("a pose");
        let between: f64 = (0..3)
            .map(|k| (answer.translation()[k] - rival.target_from_source.translation()[k]).powi(2))
            .sum();
        assert!(between.sqrt() > 4.0 * found.voxel, "the rival is another pose");
    }
}

/// Scenes that tempt to a wrong pose: mirror images, equal walls, and what repeats itself or slides.
#[test]
fn attacks_are_refused() {
    for (family, seed) in [
        ("mirrored room", 1),
        ("mirrored shoe", 2),
        ("equal rooms", 1),
        ("shelves plain", 2),
        ("tunnel plain", 1),
        ("orchard plain", 2),
    ] {
        let scans = scans(family, seed);
        let found = run(&scans, false, &RegisterParams::new());
        let pose = found.target_from_source.expect("a pose");
        let judgement = scans.judge(&pose, found.voxel, found.is_registered());
        assert_eq!(judgement, Judgement::Nothing, "{family} {seed}: {}", found.reason());
    }
}

#[test]
fn what_looks_like_an_attack_and_is_not_is_registered() {
    for (family, seed) in [("half moved", 1), ("stairs", 1), ("shoe", 2)] {
        let scans = scans(family, seed);
        let found = run(&scans, false, &RegisterParams::new());
        let pose = found.target_from_source.expect("a pose");
        let judgement = scans.judge(&pose, found.voxel, found.is_registered());
        assert_eq!(judgement, Judgement::Right, "{family} {seed}: {}", found.reason());
    }
}

/// The right poses of attacks are as their names say, and each of them brings most of the source near the target.
#[test]
fn right_poses_of_attacks_are_right() {
    for (name, make) in ATTACKS {
        let scans = make(1);
        let is_of_two_places = ["others", "mirrored", "equal"].iter().any(|word| name.contains(word));
        assert_eq!(scans.truth.is_none(), is_of_two_places, "{name}");
        assert_eq!(scans.is_ambiguous, name.contains("plain"), "{name}");
        let n = scans.target.len() as f64;
        let middle: [f64; 3] = std::array::from_fn(|k| scans.target.iter().map(|p| p[k]).sum::<f64>() / n);
        let apart_sq = |p: &[f64; 3], q: &[f64; 3]| (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>();
        let size_sq = scans.target.iter().map(|p| apart_sq(p, &middle)).sum::<f64>() / n;
        for (k, pose) in scans.truth.iter().chain(&scans.equivalent).enumerate() {
            let picked: Vec<_> = scans.source.iter().step_by(scans.source.len() / 100).collect();
            let near = picked.iter().filter(|&&&p| {
                let p = pose.apply(p);
                scans.target.iter().any(|q| apart_sq(&p, q) < 0.05_f64.powi(2) * size_sq)
            });
            let share = near.count() as f64 / picked.len() as f64;
            assert!(share > if name.starts_with("facade") { 0.2 } else { 0.6 }, "{name}, pose {k}: {share}");
        }
    }
}

#[test]
fn viewpoints_do_no_harm() {
    let scans = scans("room view", 1);
    let found = run(&scans, true, &RegisterParams::new());
    assert!(found.is_registered(), "{}", found.reason());
    assert!(off(&found, &scans) < 1.5);
}

#[test]
fn a_wrong_initial_pose_is_not_registered_and_a_right_one_is() {
    let scans = scans("room view", 2);
    let truth = scans.truth.expect("one");
    let right = run(&scans, false, &RegisterParams::new().with_initial(truth));
    assert!(right.is_registered(), "{}", right.reason());
    // A half turn about the centre of the target, under which the walls still align.
    let n = scans.target.len() as f64;
    let middle: [f64; 3] = std::array::from_fn(|k| scans.target.iter().map(|p| p[k]).sum::<f64>() / n);
    let turn = [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]];
    let half = Similarity::new(1.0, turn, [2.0 * middle[0], 2.0 * middle[1], 0.0]).expect("a similarity");
    let wrong = run(&scans, false, &RegisterParams::new().with_initial(truth.then(&half)));
    assert!(!wrong.is_registered(), "{}", wrong.reason());
}

/// Parts that are computed lazily do not deadlock: many runs with more threads than cores end, and agree.
#[test]
fn many_threads_end_and_agree() {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let scans = scans("object", 2);
        for k in 0..24 {
            // New clouds each time, so that everything is computed again.
            let found = run(&scans, false, &RegisterParams::new().with_threads(1 + k % 8));
            if sender.send((found.target_from_source, found.status)).is_err() {
                return;
            }
        }
    });
    let mut first = None;
    for k in 0..24 {
        let found = receiver.recv_timeout(Duration::from_secs(60));
        let found = found.unwrap_or_else(|_| panic!("run {k} on {} threads hangs", 1 + k % 8));
        assert_eq!(*first.get_or_insert(found), found, "run {k}");
    }
}
