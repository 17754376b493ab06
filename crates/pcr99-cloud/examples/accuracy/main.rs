//! dev
#![allow(clippy::print_stdout, reason = "the tables are its output")]
#![allow(unreachable_pub, reason = "shared with the tests")]
#[path = "../../tests/surfaces/mod.rs"]
mod surfaces;

use cpu_time::ProcessTime;
use pcr99::{Similarity, random::Random};
use pcr99_base::vector::{cross, dot, minus, plus, rotate, solve_positive, transpose, multiply};
use pcr99_cloud::{PreparedCloud, RawCloud, RegisterParams, register, refine::finish::Finish, voxel::Density, tree::KdTree, normals};
use surfaces::{Recipe, SCENES};

/// (rotation vector, translation at c) of found∘truth⁻¹ about c in target frame
fn error(found: &Similarity, truth: &Similarity, c: [f64; 3]) -> [f64; 7] {
    let r = multiply(&found.rotation(), &transpose(&truth.rotation()));
    let w = [0.5 * (r[2][1] - r[1][2]), 0.5 * (r[0][2] - r[2][0]), 0.5 * (r[1][0] - r[0][1])];
    let t = minus(found.apply(truth.inverse().apply(c)), c);
    [w[0], w[1], w[2], t[0], t[1], t[2], (found.scale() / truth.scale()).ln()]
}

/// plain ICP on all points both ways from the truth: k-NN normals.
fn reference(source: &[[f64; 3]], target: &[[f64; 3]], start: &Similarity, radius: f64) -> Similarity {
    let (ts, tt) = (KdTree::new(source), KdTree::new(target));
    let (ns, nt) = (normals::estimate(source, &ts, radius), normals::estimate(target, &tt, radius));
    let mut pose = *start;
    let gate = 2.0 * radius;
    for _ in 0..15 {
        let mut a = [[0.0; 6]; 6];
        let mut b = [0.0; 6];
        let mut add = |p: [f64; 3], r: f64, n: [f64; 3]| {
            let w = (1.0 - (r / gate).powi(2)).powi(2);
            let t = cross(p, n);
            let row = [t[0], t[1], t[2], n[0], n[1], n[2]];
            for i in 0..6 { b[i] -= w * row[i] * r; for j in 0..6 { a[i][j] += w * row[i] * row[j]; } }
        };
        for &p in source {
            let p = pose.apply(p);
            if let Some(near) = tt.nearest(p, gate) {
                let n = nt[near.index];
                if n != [0.0; 3] { add(p, dot(n, minus(p, target[near.index])), n); }
            }
        }
        let back = pose.inverse();
        for &q in target {
            if let Some(near) = ts.nearest(back.apply(q), gate) {
                let n = rotate(&pose.rotation(), ns[near.index]);
                if n != [0.0; 3] { add(q, dot(n, minus(pose.apply(source[near.index]), q)), n); }
            }
        }
        let Some(x) = solve_positive(&a, b) else { break };
        let q = [1.0, 0.5 * x[0], 0.5 * x[1], 0.5 * x[2]];
        pose = pose.then(&Similarity::from_quaternion(1.0, q, [x[3], x[4], x[5]]).expect("one"));
        if x.iter().all(|x| x.abs() < 1e-6) { break }
    }
    pose
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mode = args[0].as_str();
    let points: usize = args[1].parse().unwrap();
    let noise: f64 = args[2].parse().unwrap();
    let runs: u64 = args[3].parse().unwrap();
    let overlap: f64 = args.get(4).map_or(1.0, |x| x.parse().unwrap());
    let perturb: f64 = args.get(5).map_or(0.005, |x| x.parse().unwrap());
    let only = args.get(6).cloned().unwrap_or_default();
    for name in SCENES.into_iter().filter(|s| s.contains(&only)) {
        let recipe = Recipe { overlap, ..Recipe::of(name, points, noise) };
        let (mut sum, mut sum_ref, mut nees, mut inside, mut rot, mut cpu) = (0.0, 0.0, vec![], 0, 0.0, 0.0);
        let mut info = String::new();
        for seed in 1..=runs {
            let case = recipe.case(seed);
            let mut random = Random::new(seed);
            let size = Density::of(&case.target).extent();
            let start = case.truth.then(&Similarity::from_quaternion(1.0,
                [1.0, perturb / size * random.gaussian(), perturb / size * random.gaussian(), perturb / size * random.gaussian()],
                std::array::from_fn(|_| perturb * random.gaussian())).unwrap());
            let voxel = Density::of(&case.target).voxel();
            let begun = ProcessTime::now();
            let cells = pcr99_cloud::voxel::VoxelSample::of(&case.target, 0.5 * voxel).points.len() as f64;
            let cell = std::env::var("PPC").map_or_else(|_| pcr99_cloud::refine::finish::cell_size(0.5 * voxel, cells as usize, points), |x| 0.5 * voxel * (x.parse::<f64>().unwrap() * cells / points as f64).sqrt());
            let b2 = ProcessTime::now();
            let mut finish = Finish::new(&case.source, &case.target, cell, &start, match std::env::var("KIND").as_deref() { Ok("point") => pcr99_cloud::Refinement::PointToPoint, Ok("gicp") => pcr99_cloud::Refinement::PlaneToPlane, _ => pcr99_cloud::Refinement::PointToPlane }, std::env::var_os("SCALE").is_some());
            let t_new = b2.elapsed().as_secs_f64();
            let found = finish.run(&start, voxel);
            let t_run = b2.elapsed().as_secs_f64() - t_new;
            let cov = found.covariance.clone();
            let t_cov = b2.elapsed().as_secs_f64() - t_new - t_run;
            cpu += begun.elapsed().as_secs_f64();
            if seed == 1 { info = format!("voxel {voxel:.3} cell0 {cell:.3} cell {:.3} steps {} {} pairs {} blocks {:?}; new {:.1} run {:.1} cov {:.1} ms", finish.cell(), found.steps, found.is_settled, found.pairs, cov.as_ref().map(|c| c.free.iter().map(ToString::to_string).collect::<Vec<_>>()), 1e3*t_new, 1e3*t_run, 1e3*t_cov); }
            if let Some(cov) = cov {
                let e = error(&found.pose, &case.truth, cov.center);
                let m: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| cov.matrix[i][j]));
                let e6: [f64; 6] = std::array::from_fn(|i| e[i]);
                let x = solve_positive(&m, e6);
                let n = x.map_or(f64::NAN, |x| (0..6).map(|i| x[i] * e6[i]).sum::<f64>());
                nees.push(n / 6.0);
                if std::env::var_os("V").is_some() { println!("   seed {seed}: t {:.2?} w·l {:.2?} nees {:.2} cell {:.3} typical {:.4}", [e[3],e[4],e[5]].map(|x|1e3*x), [e[0],e[1],e[2]].map(|x|1e3*x*cov.lever), n/6.0, finish.cell(), finish.scatter()); }
                inside += usize::from(n < 12.592);
                sum += dot([e[3], e[4], e[5]], [e[3], e[4], e[5]]);
                rot += dot([e[0], e[1], e[2]], [e[0], e[1], e[2]]) * cov.lever * cov.lever;
                if mode == "ref" {
                    let r = reference(&case.source, &case.target, &case.truth, args.get(7).map_or(1.5 * voxel, |x| x.parse().unwrap()));
                    let e = error(&r, &case.truth, cov.center);
                    sum_ref += dot([e[3], e[4], e[5]], [e[3], e[4], e[5]]);
                }
            }
        }
        let mean = nees.iter().sum::<f64>() / nees.len() as f64;
        nees.sort_by(f64::total_cmp);
        println!("{name:9} mm {:.3} rot·lever {:.3} ref {:.3}; NEES/dof {mean:.2} median {:.2} inside {:.0}% of {}; cpu {:.3} [{info}]", 1e3 * (sum / runs as f64).sqrt(), 1e3 * (rot / runs as f64).sqrt(), 1e3 * (sum_ref / runs as f64).sqrt(), nees[nees.len() / 2], 100.0 * inside as f64 / runs as f64, nees.len(), cpu / runs as f64);
    }
    let _ = (plus([0.0; 3], [0.0; 3]), PreparedCloud::new(RawCloud::new(&[][..])).is_ok(), RegisterParams::new(), register as fn(&_, &_, &_) -> _);
}
