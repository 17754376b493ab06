//! The verdict on generated scenes: `cargo run --release -p pcr99-cloud --example families -- [SEEDS] [FILTER] [all|wrong|viewpoints|initial|vertical]`.
//!
//! SEEDS is a range such as `1..20`. FILTER is `-` for the families of usual scenes, `attacks` for the families that tempt to a wrong pose, or a
//! part of the names of either. Right is within 15° and 6 voxels, and within a quarter of the distance after which the scene repeats itself; all right poses
//! of a symmetric object count. Where the scans leave the pose open, each registered pose is wrong. The column `ambig.` counts what was not
//! registered because it is ambiguous. `all` prints every pair, `wrong` those that are wrong and registered; `viewpoints` gives the positions of the sensors, `initial` gives a wrong initial pose
//! (the right one on even seeds), `vertical` the direction that is up.

#![allow(clippy::print_stdout, reason = "the table is its output")]
#![allow(unreachable_pub, reason = "shared with the tests")]

#[path = "../tests/scenes/mod.rs"]
mod scenes;

use cpu_time::ProcessTime;
use pcr99::{Similarity, Vertical, random::Random};
use pcr99_cloud::{Doubt, PreparedCloud, RawCloud, RegisterParams, register};
use scenes::{ATTACKS, FAMILIES, Family, Judgement, Scans};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let seeds = args.first().map_or("1..10", String::as_str);
    let (first, end) = seeds.split_once("..").expect("a range such as 1..20");
    let seeds = first.parse::<u64>().expect("a seed")..end.parse().expect("a seed");
    let families = chosen(args.get(1).map_or("-", String::as_str));
    let has = |word: &str| args.iter().skip(2).any(|arg| arg == word);
    println!(
        "{:20} {:>6} {:>6} {:>6} {:>6} {:>6}  median CPU",
        "", "right", "refus.", "WRONG", "none", "ambig."
    );
    let mut total = [0; 5];
    for (name, make) in families {
        let mut counts = [0; 5];
        let mut cpu = Vec::new();
        for seed in seeds.clone() {
            let scans = make(seed);
            let start = ProcessTime::now();
            let found = run(&scans, seed, has("viewpoints"), has("initial"), has("vertical"));
            cpu.push(start.elapsed().as_secs_f64());
            let pose = found.target_from_source.expect("a pose");
            let kind = match scans.judge(&pose, found.voxel, found.is_registered()) {
                Judgement::Right => 0,
                Judgement::Refused => 1,
                Judgement::Wrong => 2,
                Judgement::Nothing => 3,
            };
            counts[kind] += 1;
            counts[4] += u32::from(matches!(found.doubt, Some(Doubt::Ambiguous { .. })));
            if has("all") || (has("wrong") && kind == 2) {
                let (degrees, apart) = scans.errors(&pose).unwrap_or((f64::NAN, f64::NAN));
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
        print_row(name, counts, &format!("  {:.3} s", cpu[cpu.len() / 2]));
        total.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    print_row("all", total, "");
}

fn print_row(name: &str, [right, refused, wrong, none, ambiguous]: [u32; 5], time: &str) {
    println!("{name:20} {right:6} {refused:6} {wrong:6} {none:6} {ambiguous:6}{time}");
}

/// The families that a filter names.
fn chosen(filter: &str) -> Vec<Family> {
    match filter {
        "-" => FAMILIES.to_vec(),
        "attacks" => ATTACKS.to_vec(),
        part => FAMILIES.into_iter().chain(ATTACKS).filter(|(name, _)| name.contains(part)).collect(),
    }
}

fn run(
    scans: &Scans,
    seed: u64,
    with_viewpoints: bool,
    with_initial_pose: bool,
    with_vertical: bool,
) -> pcr99_cloud::CloudRegistration {
    let viewpoints = scans.viewpoints.filter(|_| with_viewpoints);
    let prepare = |points: &[[f64; 3]], k: usize| {
        let raw = RawCloud::new(points).with_viewpoint(viewpoints.map(|v| v[k])).expect("a place");
        PreparedCloud::new(raw).expect("a cloud")
    };
    let (source, target) = (prepare(&scans.source, 0), prepare(&scans.target, 1));
    let mut params = RegisterParams::new();
    if with_vertical {
        params = params.with_vertical(Vertical::new(scans.up, [0.0, 0.0, 1.0]).expect("a direction"));
    }
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
