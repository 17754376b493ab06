//! Invariance of the results under motion of either set, order of the matches, units, offsets and CPU features.

mod common;

use common::{Problem, distance, problem, similarity};
use pcr99::{
    Correspondences, Registration, Scale, Similarity,
    paper::{self, Params, Sampling},
    random::Random,
};
use proptest::prelude::*;

/// Solves a problem with the scale `known`, or an unknown scale.
fn solve(p: &Problem, known: Option<f64>, threshold: f64, sampling: Sampling) -> Registration {
    let pairs = Correspondences::new(&p.source, &p.target).unwrap();
    let scale = known.map_or(Scale::Unknown, |s| Scale::known(s).unwrap());
    paper::solve(&pairs, scale, &Params::new(threshold).unwrap().with_sampling(sampling)).unwrap()
}

fn moved(p: &Problem, source_motion: &Similarity, target_motion: &Similarity) -> Problem {
    Problem {
        source: p.source.iter().map(|&x| source_motion.apply(x)).collect(),
        target: p.target.iter().map(|&x| target_motion.apply(x)).collect(),
        truth: source_motion.inverse().then(&p.truth).then(target_motion),
        inliers: p.inliers.clone(),
    }
}

fn a_problem() -> impl Strategy<Value = (Problem, bool, Sampling)> {
    let sampling = prop_oneof![Just(Sampling::Ordered), Just(Sampling::random(3))];
    (60_usize..250, any::<u64>(), any::<bool>(), sampling)
        .prop_map(|(n, seed, known, sampling)| (problem(n, n / 4, 1.0, seed), known, sampling))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rigid_motion_of_either_set((p, known, sampling) in a_problem(), seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let motions = [similarity(1.0, &mut random), similarity(1.0, &mut random)];
        let known = known.then_some(1.0);
        let (before, after) = (solve(&p, known, 0.05, sampling), solve(&moved(&p, &motions[0], &motions[1]), known, 0.05, sampling));
        prop_assert_eq!(&before.inliers, &after.inliers);
        let back = motions[0].then(&after.target_from_source.unwrap()).then(&motions[1].inverse());
        prop_assert!(distance(&back, &before.target_from_source.unwrap(), &p.source) < 1e-9);
    }

    /// Random samples are drawn by position, so this holds for ordered samples only.
    #[test]
    fn order_of_the_matches((p, known, _) in a_problem(), seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let mut order: Vec<usize> = (0..p.source.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
        let shuffled = Problem {
            source: order.iter().map(|&i| p.source[i]).collect(),
            target: order.iter().map(|&i| p.target[i]).collect(),
            truth: p.truth,
            inliers: Vec::new(),
        };
        let known = known.then_some(1.0);
        let (before, after) = (solve(&p, known, 0.05, Sampling::Ordered), solve(&shuffled, known, 0.05, Sampling::Ordered));
        let mut same: Vec<usize> = after.inliers.iter().map(|&i| order[i]).collect();
        same.sort_unstable();
        prop_assert_eq!(&before.inliers, &same);
        prop_assert_eq!(before.counters, after.counters);
        prop_assert!(distance(&before.target_from_source.unwrap(), &after.target_from_source.unwrap(), &p.source) < 1e-9);
    }

    #[test]
    fn units_and_offsets(
        (p, known, sampling) in a_problem(), unit in prop_oneof![Just(1e6), Just(1e-6), Just(1.0), Just(1e-150), Just(1e150)],
        target_unit in prop_oneof![Just(1e6), Just(1e-6), Just(1.0)], offset in prop_oneof![Just(0.0), Just(1e7)],
    ) {
        let none = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        // Offsets of 10⁷ units, as in UTM coordinates.
        let source_motion = Similarity::new(unit, none, [offset * unit, -offset * unit, 0.5 * offset * unit]).expect("a similarity");
        let target_motion = Similarity::new(target_unit, none, [-offset * target_unit, offset * target_unit, 0.0]).expect("a similarity");
        let other = moved(&p, &source_motion, &target_motion);
        let before = solve(&p, known.then_some(1.0), 0.05, sampling);
        let after = solve(&other, known.then_some(target_unit / unit), 0.05 * target_unit, sampling);
        prop_assert_eq!(&before.inliers, &after.inliers);
        let (found, truth) = (after.target_from_source.unwrap(), before.target_from_source.unwrap());
        for (&moved, &original) in other.source.iter().zip(&p.source) {
            let (got, wanted) = (found.apply(moved), target_motion.apply(truth.apply(original)));
            let error = (0..3).map(|axis| (got[axis] - wanted[axis]).abs()).fold(0.0, f64::max);
            // With the offset, coordinates are rounded to 2·10⁻⁹ of the unit.
            prop_assert!(error < 1e-7 * target_unit, "{error}");
        }
    }

    /// Units that are powers of two change no bit.
    #[test]
    fn powers_of_two_change_no_bit((p, known, sampling) in a_problem(), power in -300..300_i32) {
        let factor = 2_f64.powi(power);
        let scaled = Problem {
            source: p.source.iter().map(|a| a.map(|x| x * factor)).collect(),
            target: p.target.iter().map(|b| b.map(|x| x * factor)).collect(),
            truth: p.truth,
            inliers: Vec::new(),
        };
        let known = known.then_some(1.0);
        let (before, after) = (solve(&p, known, 0.05, sampling), solve(&scaled, known, 0.05 * factor, sampling));
        prop_assert_eq!((before.inliers, before.counters), (after.inliers, after.counters));
        prop_assert_eq!(
            before.target_from_source.unwrap().rotation(), after.target_from_source.unwrap().rotation()
        );
    }
}

/// Prints the bits of results. The test below runs it with another set of CPU features.
#[test]
#[expect(clippy::print_stdout, reason = "read by the test below")]
fn bits_of_results() {
    let mut words = Vec::new();
    for (seed, scale) in [(1, 1.0), (2, 3.7)] {
        let p = problem(400, 40, scale, seed);
        for known in [None, Some(scale)] {
            for sampling in [Sampling::Ordered, Sampling::random(5)] {
                let found = solve(&p, known, 0.05, sampling);
                let matrix = found.target_from_source.unwrap().matrix();
                words.extend(matrix.iter().flatten().map(|x| format!("{:x}", x.to_bits())));
                words.push(format!("{:?}", found.counters));
            }
            let pairs = Correspondences::new(&p.source, &p.target).unwrap();
            let scale = known.map_or(Scale::Unknown, |s| Scale::known(s).unwrap());
            let found = pcr99::solve(&pairs, scale, &pcr99::Params::new()).unwrap();
            let matrix = found.target_from_source.unwrap().matrix();
            words.extend(matrix.iter().flatten().map(|x| format!("{:x}", x.to_bits())));
            words.push(format!("{:?} {:x?}", found.counters, found.evidence.unwrap().log10_nfa.to_bits()));
        }
    }
    println!("bits: {}", words.join(" "));
}

/// Results are the same bits when the C library uses no fused multiply-add and AVX2, because nothing depends on it.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
fn the_c_library_does_not_matter() {
    let bits = |tunables: &str| {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["bits_of_results", "--exact", "--nocapture"])
            .env("GLIBC_TUNABLES", tunables)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .find_map(|line| line.split_once("bits: ").map(|(_, bits)| bits.to_owned()))
            .expect("bits")
    };
    let usual = bits("");
    assert!(usual.len() > 1000);
    assert_eq!(usual, bits("glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4"));
}
