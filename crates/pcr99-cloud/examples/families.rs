//! The verdict on generated scenes: `cargo run --release -p pcr99-cloud --example families -- [SEEDS] [FILTER] [all|wrong|viewpoints|initial]`.
//!
//! SEEDS is a range such as `1..20`; FILTER is a part of the families' names, or `-` for all. Right is within 15° and 6 voxels. `all`
//! prints every pair, `wrong` those that are wrong and registered; `viewpoints` gives the positions of the sensors, `initial` gives a wrong initial pose
//! (the right one on even seeds).

#![allow(clippy::print_stdout, reason = "the table is its output")]
#![allow(unreachable_pub, reason = "shared with the tests")]

#[path = "../tests/scenes/mod.rs"]
mod scenes;

use cpu_time::ProcessTime;
use pcr99::{Similarity, random::Random};
use pcr99_cloud::{PreparedCloud, RawCloud, RegisterParams, register};
use scenes::{FAMILIES, Scans};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let seeds = args.first().map_or("1..10", String::as_str);
    let (first, end) = seeds.split_once("..").expect("a range such as 1..20");
    let seeds = first.parse::<u64>().expect("a seed")..end.parse().expect("a seed");
    let filter = args.get(1).map(String::as_str).filter(|f| *f != "-").unwrap_or_default();
    let has = |word: &str| args.iter().skip(2).any(|arg| arg == word);
    println!("{:20} {:>6} {:>6} {:>6} {:>6}  median CPU", "", "right", "refus.", "WRONG", "none");
    let mut total = [0; 4];
    for (name, make) in FAMILIES.iter().filter(|(name, _)| name.contains(filter)) {
        let mut counts = [0; 4];
        let mut cpu = Vec::new();
        for seed in seeds.clone() {
            let scans = make(seed);
            let start = ProcessTime::now();
            let found = run(&scans, seed, has("viewpoints"), has("initial"));
            cpu.push(start.elapsed().as_secs_f64());
            let pose = found.target_from_source.expect("a pose");
            let off = scans.truth.map(|truth| errors(&pose, &truth, &scans.source));
            let is_right = off.is_some_and(|(degrees, apart)| degrees < 15.0 && apart < 6.0 * found.voxel);
            let kind = match (is_right, found.is_registered()) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                (false, false) => 3,
            };
            counts[kind] += 1;
            if has("all") || (has("wrong") && kind == 2) {
                let (degrees, apart) = off.unwrap_or((f64::NAN, f64::NAN));
                let a = found.assessment.expect("a pose");
                println!(
                    "  {seed:3} {} {:4} {degrees:6.1}° {:6.1} voxels; overlap {:.2} {:.2}, agree {:.2}, residual {:.3}, evidence {:.0}; {}",
                    ["right", "REFUSED", "WRONG", "none"][kind],
                    found.source.sampled,
                    apart / found.voxel,
                    a.overlap_source,
                    a.overlap_target,
                    a.normal_agreement,
                    a.residual_voxels,
                    found.matches.as_ref().map_or(0.0, |m| m.evidence.log10_nfa),
                    found.reason()
                );
            }
        }
        cpu.sort_by(f64::total_cmp);
        println!(
            "{name:20} {:6} {:6} {:6} {:6}  {:.3} s",
            counts[0],
            counts[1],
            counts[2],
            counts[3],
            cpu[cpu.len() / 2]
        );
        total.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    println!("{:20} {:6} {:6} {:6} {:6}", "all", total[0], total[1], total[2], total[3]);
}

fn run(
    scans: &Scans,
    seed: u64,
    with_viewpoints: bool,
    with_initial_pose: bool,
) -> pcr99_cloud::CloudRegistration {
    let viewpoints = scans.viewpoints.filter(|_| with_viewpoints);
    let prepare = |points: &[[f64; 3]], k: usize| {
        let raw = RawCloud::new(points).with_viewpoint(viewpoints.map(|v| v[k])).expect("a place");
        PreparedCloud::new(raw).expect("a cloud")
    };
    let (source, target) = (prepare(&scans.source, 0), prepare(&scans.target, 1));
    let mut params = RegisterParams::new();
    if with_initial_pose {
        let truth = scans.truth.unwrap_or(Similarity::IDENTITY);
        params = params.with_initial(if seed.is_multiple_of(2) {
            truth
        } else {
            wrong_initial_pose(seed, &truth, target.center())
        });
    }
    register(&source, &target, &params).expect("a registration")
}

/// A wrong initial pose: upright and near the target, but rotated by quarter turns, as a manual alignment of walls may be.
fn wrong_initial_pose(seed: u64, truth: &Similarity, center: [f64; 3]) -> Similarity {
    let mut random = Random::new(seed);
    let (c, s) = [(0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][random.below(3)];
    let turn = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]];
    let about = Similarity::new(1.0, turn, [0.0; 3]).expect("a similarity").apply(center);
    truth.then(
        &Similarity::new(1.0, turn, std::array::from_fn(|k| center[k] - about[k])).expect("a similarity"),
    )
}

/// Error of `found`: the angle in degrees, and the distance between the two positions of the points' centre.
fn errors(found: &Similarity, truth: &Similarity, points: &[[f64; 3]]) -> (f64, f64) {
    let n = points.len() as f64;
    let center = std::array::from_fn(|k| points.iter().map(|p| p[k]).sum::<f64>() / n);
    let (r, t) = (found.rotation(), truth.rotation());
    let trace: f64 = (0..3).map(|i| (0..3).map(|k| r[i][k] * t[i][k]).sum::<f64>()).sum();
    let (p, q) = (found.apply(center), truth.apply(center));
    let apart = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
    (((trace - 1.0) / 2.0).clamp(-1.0, 1.0).acos().to_degrees(), apart)
}
