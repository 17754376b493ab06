//! Accuracy of the refinement and of its covariance: `cargo run --release -p pcr99-cloud --example accuracy -- [TABLE] [RUNS]`.
//!
//! TABLE is one of
//! * `error`: translation errors on generated scenes, beside those of an ICP on all points, both ways, that starts at the truth;
//! * `covariance`: normalised squared errors (NEES) of the covariance on generated scenes, per degree of freedom;
//! * `odd`: the same for what scenes of the other tables do not have: stairs, poles, a ball, rings of a LiDAR, other distributions, units and places;
//! * `time`: CPU time of a refinement;
//! * `cycles`: closing errors of triangles of real scans, beside those that the covariances predict; `PCR99_DATA` names the directory of the data;
//! * `all` (default).
//!
//! RUNS is the number of seeds. They begin at 5001; seeds below were used to choose constants.
//!
//! `case …` and `pair …` are one problem for `cargo xtask compare`, see `exchange.rs`.

#![allow(clippy::print_stdout, reason = "the tables are its output")]
#![allow(unreachable_pub, reason = "shared with the tests")]

mod cycles;
mod exchange;
mod odd;
#[path = "../../tests/surfaces/mod.rs"]
mod surfaces;
mod time;

use cpu_time::ProcessTime;
use pcr99::Similarity;
use pcr99_base::vector::{cross, dot, minus, rotate, solve_positive};
use pcr99_cloud::{
    CloudRegistration, PreparedCloud, RawCloud, RegisterParams, normals, register, register::refine,
    tree::KdTree, voxel::Density,
};

use surfaces::{Case, Recipe, difference, nees};

/// Seeds below this one were used to choose constants.
const FIRST_SEED: u64 = 5001;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let table = args.first().map_or("all", String::as_str);
    match table {
        "case" => return exchange::generated(&args[1..]),
        "pair" => return exchange::real(&args[1..]),
        _ => {}
    }
    let runs = args.get(1).map(|runs| runs.parse().expect("a number of runs"));
    if ["error", "all"].contains(&table) {
        errors(runs.unwrap_or(10));
    }
    if ["covariance", "all"].contains(&table) {
        covariances(runs.unwrap_or(200));
    }
    if ["odd", "all"].contains(&table) {
        odd::print(runs.unwrap_or(50), args.get(2).map(String::as_str));
    }
    if ["time", "all"].contains(&table) {
        time::print(runs.unwrap_or(20));
    }
    if ["cycles", "all"].contains(&table) {
        cycles::print();
    }
}

fn prepare(points: &[[f64; 3]]) -> PreparedCloud {
    PreparedCloud::new(RawCloud::new(points)).expect("a cloud")
}

/// The refinement of a case, its start, and the CPU time from points to pose.
fn refined(case: &Case, seed: u64) -> (CloudRegistration, Similarity, f64) {
    let voxel = Density::common_voxel(prepare(&case.source).density(), prepare(&case.target).density());
    let initial = case.start(seed, voxel);
    let begin = ProcessTime::now();
    let (source, target) = (prepare(&case.source), prepare(&case.target));
    let found = refine(&source, &target, &initial, &RegisterParams::new()).expect("a result");
    (found, initial, begin.elapsed().as_secs_f64())
}

/// The registration of two clouds, and the CPU time from points to pose.
fn registered(source: &[[f64; 3]], target: &[[f64; 3]]) -> (CloudRegistration, f64) {
    let begin = ProcessTime::now();
    let found = register(&prepare(source), &prepare(target), &RegisterParams::new()).expect("a result");
    (found, begin.elapsed().as_secs_f64())
}

/// Point-to-plane ICP on all points, both ways, from the truth.
fn reference(case: &Case) -> Similarity {
    let Case { source, target, truth } = case;
    let trees = [KdTree::new(source), KdTree::new(target)];
    // Radius of about 20 neighbours.
    let radius = |points: &[[f64; 3]]| {
        let density = Density::of(points);
        let cells = density.cells(density.voxel()) as f64;
        density.voxel() * (20.0 / std::f64::consts::PI * cells / points.len() as f64).sqrt()
    };
    let radius = radius(source).max(radius(target));
    let normals =
        [normals::estimate(source, &trees[0], radius), normals::estimate(target, &trees[1], radius)];
    let mut pose = *truth;
    let gate = 2.0 * radius;
    for _ in 0..15 {
        let (mut matrix, mut right) = ([[0.0; 6]; 6], [0.0; 6]);
        let mut add = |p: [f64; 3], residual: f64, n: [f64; 3]| {
            let weight = (1.0 - (residual / gate).powi(2)).powi(2);
            let turn = cross(p, n);
            let row = [turn[0], turn[1], turn[2], n[0], n[1], n[2]];
            for i in 0..6 {
                right[i] -= weight * row[i] * residual;
                for j in 0..6 {
                    matrix[i][j] += weight * row[i] * row[j];
                }
            }
        };
        for &p in source {
            let p = pose.apply(p);
            if let Some(near) = trees[1].nearest(p, gate).filter(|near| normals[1][near.index] != [0.0; 3]) {
                add(p, dot(normals[1][near.index], minus(p, target[near.index])), normals[1][near.index]);
            }
        }
        let back = pose.inverse();
        for &q in target {
            let near = trees[0].nearest(back.apply(q), gate);
            if let Some(near) = near.filter(|near| normals[0][near.index] != [0.0; 3]) {
                let n = rotate(&pose.rotation(), normals[0][near.index]);
                add(q, dot(n, minus(pose.apply(source[near.index]), q)), n);
            }
        }
        let Some(x) = solve_positive(&matrix, right) else { break };
        let quaternion = [1.0, 0.5 * x[0], 0.5 * x[1], 0.5 * x[2]];
        pose =
            pose.then(&Similarity::from_quaternion(1.0, quaternion, [x[3], x[4], x[5]]).expect("a motion"));
        if x.iter().all(|x| x.abs() < 1e-7) {
            break;
        }
    }
    pose
}

fn errors(runs: u64) {
    println!(
        "translation error at the middle of the overlap, mm rms, {runs} runs; noise 1 cm unless said otherwise"
    );
    println!(
        "| scene | points | noise, m | overlap | error | ICP on all points from the truth | ratio | CPU, s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut recipes = Vec::new();
    for scene in ["room", "hall", "field", "street", "object"] {
        recipes.extend([15_000, 100_000, 600_000].map(|points| Recipe::of(scene, points, 0.01)));
        recipes.push(Recipe { overlap: 0.4, ..Recipe::of(scene, 100_000, 0.01) });
        recipes.push(Recipe { points: [15_000, 150_000], ..Recipe::of(scene, 0, 0.01) });
        recipes.push(Recipe::of(scene, 50_000, 0.0));
    }
    recipes.extend(["room", "hall"].map(|scene| Recipe::of(scene, 100_000, 0.1)));
    for recipe in recipes {
        let (mut ours, mut theirs, mut cpu) = (0.0, 0.0, 0.0);
        let runs = if recipe.points[0] > 300_000 { runs.div_ceil(3) } else { runs };
        for seed in FIRST_SEED..FIRST_SEED + runs {
            let case = recipe.case(seed);
            let (found, _, seconds) = refined(&case, seed);
            cpu += seconds;
            let center = found.covariance.map_or([0.0; 3], |covariance| covariance.center);
            let square = |pose: &Similarity| {
                let [.., x, y, z] = difference(pose, &case.truth, center);
                x * x + y * y + z * z
            };
            ours += square(&found.target_from_source.expect("a pose"));
            theirs += square(&reference(&case));
        }
        let mm = |sum: f64| 1e3 * (sum / runs as f64).sqrt();
        println!(
            "| {} | {:?} | {} | {} | {:.3} | {:.3} | {:.2} | {:.3} |",
            recipe.scene,
            recipe.points,
            recipe.noise,
            recipe.overlap,
            mm(ours),
            mm(theirs),
            mm(ours) / mm(theirs).max(1e-3),
            cpu / runs as f64
        );
    }
}

fn covariances(runs: u64) {
    println!(
        "\nNEES per degree of freedom (1 is right) and share of the errors within the 95 % region, {runs} runs"
    );
    println!("| scene | points | overlap | strays | mean | median | within 95 % | with free directions |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut recipes: Vec<Recipe> = surfaces::SCENES.map(|scene| Recipe::of(scene, 15_000, 0.01)).to_vec();
    recipes.extend(["room", "field"].map(|scene| Recipe::of(scene, 60_000, 0.01)));
    recipes.push(Recipe { points: [10_000, 60_000], ..Recipe::of("room", 0, 0.01) });
    recipes.push(Recipe { strays: 0.1, ..Recipe::of("room", 20_000, 0.01) });
    recipes.push(Recipe { overlap: 0.4, ..Recipe::of("room", 20_000, 0.01) });
    for recipe in recipes {
        let (mut all, mut free) = (Vec::new(), 0);
        for seed in FIRST_SEED..FIRST_SEED + runs {
            let case = recipe.case(seed);
            let (found, ..) = refined(&case, seed);
            let Some(covariance) = &found.covariance else { continue };
            free += usize::from(!covariance.free.is_empty());
            let pose = found.target_from_source.expect("a pose");
            all.push(nees(difference(&pose, &case.truth, covariance.center), covariance));
        }
        all.sort_by(f64::total_cmp);
        // 95 % of χ² with 6 degrees of freedom.
        let inside = all.iter().filter(|nees| **nees < 12.592).count() as f64 / all.len() as f64;
        println!(
            "| {} | {:?} | {} | {} | {:.2} | {:.2} | {:.1} % | {free} |",
            recipe.scene,
            recipe.points,
            recipe.overlap,
            recipe.strays,
            all.iter().sum::<f64>() / all.len() as f64 / 6.0,
            all[all.len() / 2] / 6.0,
            100.0 * inside
        );
    }
}
