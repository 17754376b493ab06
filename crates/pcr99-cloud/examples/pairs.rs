//! The table of real pairs: `PCR99_DATA=… cargo run --release -p pcr99-cloud --example pairs -- [MODE] [SEEDS] [FILTER]`.
//!
//! MODE is one of
//! * `moved` (default): each source moved at random, nothing given but the points; seed 0 does not move it;
//! * `swapped`: source and target exchanged; the table has the difference from the inverse;
//! * `thinned`: one in eight of each source's points is left, with noise of a fifth of a voxel;
//! * `scaled`: each source also scaled by 0.2 to 5, and the scale unknown;
//! * `unrelated`: a source of one scene, brought to the size of a target of another; none of them may be registered.
//!
//! SEEDS is a list such as `1,2,3`; FILTER is a part of the pairs' names.

#![allow(clippy::print_stdout, reason = "the table is its output")]
#![allow(unreachable_pub, reason = "shared with the tests")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use common::{Row, errors, motion, moved, rows};
use cpu_time::ProcessTime;
use pcr99::{Scale, Similarity, random::Random};
use pcr99_cloud::{CloudRegistration, PreparedCloud, RawCloud, RegisterParams, read_points, register, voxel};

type Points = Vec<[f64; 3]>;

/// Clouds that were read.
#[derive(Default)]
struct Files(HashMap<PathBuf, Points>);

impl Files {
    fn read(&mut self, path: &Path) -> Points {
        self.0.entry(path.to_path_buf()).or_insert_with(|| read_points(path).expect("a cloud")).clone()
    }
}

fn main() {
    let data =
        PathBuf::from(std::env::var_os("PCR99_DATA").expect("PCR99_DATA names the directory of the data"));
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mode = args.first().map_or("moved", String::as_str);
    let seeds: Vec<u64> = args
        .get(1)
        .map_or("1", String::as_str)
        .split(',')
        .map(|seed| seed.parse().expect("a seed"))
        .collect();
    let filter = args.get(2).cloned().unwrap_or_default();
    let mut list = if mode == "unrelated" { unrelated(&rows(&data)) } else { rows(&data) };
    list.retain(|row| row.name.contains(&filter));
    let mut files = Files::default();
    for seed in seeds {
        let mut table = Table::default();
        for row in &list {
            let (source, target) = (files.read(&row.source), files.read(&row.target));
            table.add(row, run(mode, seed, row, &source, &target));
        }
        table.summary(seed);
    }
}

/// Every source with targets of other scenes: one in seven of all such pairs.
fn unrelated(all: &[Row]) -> Vec<Row> {
    // 3DMatch and 3DLoMatch show the same kitchen.
    let scene = |row: &Row| match row.name.split('_').next() {
        Some("3dlomatch") => "3dmatch".to_owned(),
        name => name.unwrap_or_default().to_owned(),
    };
    let mut list = Vec::new();
    for a in all {
        for b in all.iter().filter(|b| scene(a) != scene(b)) {
            let name = format!("{} | {}", a.name, b.name);
            let (source, target) = (a.source.clone(), b.target.clone());
            list.push(Row { name, source, target, voxel: b.voxel, truth: motion(0, 0.0) });
        }
    }
    list.into_iter().step_by(7).collect()
}

struct Run {
    found: CloudRegistration,
    degrees: f64,
    /// In voxels of the pair's row.
    apart: f64,
    scale: f64,
    is_right: bool,
    cpu: f64,
}

fn run(mode: &str, seed: u64, row: &Row, source: &Points, target: &Points) -> Run {
    let mut change = motion(seed, 20.0 * row.voxel);
    let mut params = RegisterParams::new();
    let mut factor = 1.0;
    if mode == "scaled" {
        // From 0.2 to 5, evenly in the logarithm, another for each pair and seed.
        let spread = (row.name.bytes().map(u64::from).sum::<u64>() * 7 + seed * 13) % 17;
        factor = 0.2 * 25_f64.powf(spread as f64 / 16.0);
        params = params.with_scale(Scale::Unknown);
    }
    if mode == "unrelated" {
        factor = extent(target) / extent(source);
    }
    change = Similarity::new(factor, change.rotation(), change.translation()).expect("a similarity");
    let mut source = moved(source, &change);
    if mode == "thinned" {
        let mut random = Random::new(seed);
        source =
            source.iter().step_by(8).map(|p| p.map(|x| x + 0.2 * row.voxel * random.gaussian())).collect();
    }
    let truth = change.inverse().then(&row.truth);
    let start = ProcessTime::now();
    let prepare = |points: &Points| PreparedCloud::new(RawCloud::new(points)).expect("a cloud");
    let (source, target) = (prepare(&source), prepare(target));
    let found = register(&source, &target, &params).expect("a registration");
    let cpu = start.elapsed().as_secs_f64();
    let pose = found.target_from_source.expect("a pose");
    let truth = match mode {
        "swapped" => {
            register(&target, &source, &params).expect("one").target_from_source.expect("a pose").inverse()
        }
        _ => truth,
    };
    let (degrees, apart) = errors(&pose, &truth, source.center());
    let apart = apart / row.voxel;
    let close = if mode == "swapped" { degrees < 0.5 && apart < 0.5 } else { degrees < 15.0 && apart < 6.0 };
    let scale = pose.scale() / truth.scale();
    let is_right = mode != "unrelated" && close && (0.9..1.1).contains(&scale);
    Run { found, degrees, apart, scale, is_right, cpu }
}

fn extent(points: &Points) -> f64 {
    let finite: Points = points.iter().copied().filter(|p| p.iter().all(|x| x.is_finite())).collect();
    let middle = voxel::middle(&finite);
    let centred: Points = finite.iter().map(|p| std::array::from_fn(|k| p[k] - middle[k])).collect();
    voxel::Density::of(&centred).extent()
}

#[derive(Default)]
struct Table {
    all: usize,
    right: usize,
    right_and_registered: usize,
    wrong_but_registered: usize,
    cpu: Vec<f64>,
}

impl Table {
    fn add(&mut self, row: &Row, run: Run) {
        let registered = run.found.is_registered();
        self.all += 1;
        self.right += usize::from(run.is_right);
        self.right_and_registered += usize::from(run.is_right && registered);
        self.wrong_but_registered += usize::from(!run.is_right && registered);
        self.cpu.push(run.cpu);
        let stages: Vec<String> =
            run.found.seconds.stages.iter().map(|(stage, s)| format!("{stage} {:.0}", 1e3 * s)).collect();
        println!(
            "{} {:12} {:28} {:7.2}° {:7.2} voxels, scale off ×{:.4}; voxel {:.4}, CPU {:.3} s; {} [{} ms]",
            if run.is_right { "right" } else { "WRONG" },
            run.found.status.as_str(),
            row.name,
            run.degrees,
            run.apart,
            run.scale,
            run.found.voxel,
            run.cpu,
            run.found.reason(),
            stages.join(", ")
        );
    }

    fn summary(mut self, seed: u64) {
        self.cpu.sort_by(f64::total_cmp);
        println!(
            "seed {seed}: {} pairs, {} right, {} right and registered, {} wrong but registered; CPU median {:.3} s, worst {:.3} s",
            self.all,
            self.right,
            self.right_and_registered,
            self.wrong_but_registered,
            self.cpu[self.cpu.len() / 2],
            self.cpu[self.cpu.len() - 1]
        );
    }
}
