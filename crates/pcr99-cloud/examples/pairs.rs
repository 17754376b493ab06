//! experiment
#![allow(clippy::print_stdout, clippy::print_stderr)]
use std::{collections::HashMap, path::{Path, PathBuf}};
use cpu_time::ProcessTime;
use pcr99::{Similarity, random::Random};
use pcr99_cloud::{PreparedCloud, RawCloud, RegisterParams, read_points, register};

struct Row { name: String, source: PathBuf, target: PathBuf, voxel: f64 }
fn rows(data: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(data.join("pairs.csv")).expect("pairs.csv");
    text.lines().skip(1).map(|l| { let f: Vec<&str> = l.split(',').collect(); Row { name: f[0].into(), source: data.join(f[1]), target: data.join(f[2]), voxel: f[3].parse().unwrap() } }).collect()
}
fn truth(path: &Path) -> Similarity {
    let m: Vec<f64> = std::fs::read_to_string(path).unwrap().split_whitespace().map(|x| x.parse().unwrap()).collect();
    let s = (m[0]*m[0]+m[1]*m[1]+m[2]*m[2]).sqrt();
    let r = |k: usize| [m[4*k]/s, m[4*k+1]/s, m[4*k+2]/s];
    Similarity::new(s, [r(0), r(1), r(2)], [m[3], m[7], m[11]])
}
fn motion(seed: u64, size: f64) -> Similarity {
    if seed == 0 { return Similarity::new(1.0, [[1.0,0.0,0.0],[0.0,1.0,0.0],[0.0,0.0,1.0]], [0.0;3]); }
    let mut g = Random::new(seed);
    let q = std::array::from_fn(|_| g.gaussian());
    Similarity::from_quaternion(1.0, q, std::array::from_fn(|_| size * g.gaussian()))
}
fn errors(found: &Similarity, truth: &Similarity, c: [f64;3]) -> (f64, f64) {
    let (r, t) = (found.rotation(), truth.rotation());
    let trace: f64 = (0..3).map(|i| (0..3).map(|k| r[i][k]*t[i][k]).sum::<f64>()).sum();
    let (p, q) = (found.apply(c), truth.apply(c));
    (((trace-1.0)/2.0).clamp(-1.0,1.0).acos().to_degrees(), (0..3).map(|k| (p[k]-q[k]).powi(2)).sum::<f64>().sqrt())
}
fn main() {
    let data = PathBuf::from(std::env::var_os("PCR99_DATA").unwrap());
    let args: Vec<String> = std::env::args().collect();
    let seeds: Vec<u64> = args.get(1).map_or(vec![1], |s| s.split(',').map(|x| x.parse().unwrap()).collect());
    let negative = args.get(2).is_some_and(|s| s == "negative");
    let mut cache: HashMap<PathBuf, Vec<[f64;3]>> = HashMap::new();
    let mut list = rows(&data);
    if negative {
        // unrelated: source of one scene, target of another, brought to the same size
        let all = rows(&data);
        let group = |r: &Row| r.name.split('_').next().unwrap().to_owned();
        list = Vec::new();
        for a in &all { for b in &all { if group(a) < group(b) { list.push(Row { name: format!("{} | {}", a.name, b.name), source: a.source.clone(), target: b.target.clone(), voxel: b.voxel }); } } }
        let mut seen = std::collections::HashSet::new();
        list.retain(|r| seen.insert((r.source.clone(), r.target.clone())));
        let every = args.get(3).map_or(5, |s| s.parse().unwrap());
        list = list.into_iter().enumerate().filter(|(i, _)| i % every == 0).map(|x| x.1).collect();
    }
    for seed in seeds {
    let (mut good, mut cpus) = (0, Vec::new());
    for row in &list {
        let raw_a = cache.entry(row.source.clone()).or_insert_with(|| read_points(&row.source).unwrap()).clone();
        let raw_b = cache.entry(row.target.clone()).or_insert_with(|| read_points(&row.target).unwrap()).clone();
        let gt = if negative { motion(0, 0.0) } else { truth(&data.join("pairs").join(&row.name).join("gt.txt")) };
        let mut m = motion(seed, 20.0 * row.voxel);
        if negative {
            let ext = |p: &Vec<[f64;3]>| { let p: Vec<[f64;3]> = p.iter().copied().filter(|x| x.iter().all(|y| y.is_finite())).collect(); let c = pcr99_cloud::voxel::middle(&p); pcr99_cloud::voxel::Density::of(&p.iter().map(|x| std::array::from_fn(|k| x[k]-c[k])).collect::<Vec<_>>()).extent() };
            let s = ext(&raw_b) / ext(&raw_a);
            m = Similarity::new(s, m.rotation(), m.translation());
        }
        let moved: Vec<[f64;3]> = raw_a.iter().map(|&p| m.apply(p)).collect();
        let gt = m.inverse().then(&gt);
        let start = ProcessTime::now();
        let a = PreparedCloud::new(RawCloud::new(&moved)).unwrap();
        let b = PreparedCloud::new(RawCloud::new(&raw_b)).unwrap();
        let prep = start.elapsed().as_secs_f64();
        let t = register(&a, &b, &RegisterParams::new()).unwrap();
        let cpu = start.elapsed().as_secs_f64();
        cpus.push(cpu);
        let (deg, off) = t.target_from_source.map_or((180.0, 1e9), |p| errors(&p, &gt, a.center()));
        let ok = !negative && deg < 15.0 && off < 6.0 * row.voxel;
        good += usize::from(ok && t.is_registered());
        println!("{} {:12} {:28} {:7.2}° {:6.2} vox {} voxel {:.4} cpu {:.3} prep {:.3} {}", if ok {"OK "} else {"BAD"}, t.status.as_str(), row.name, deg, off / row.voxel, t.reason, t.voxel, cpu, prep,
            t.seconds.stages.iter().map(|(n, s)| format!("{n} {:.0}", s*1e3)).collect::<Vec<_>>().join(" "));
    }
    cpus.sort_by(f64::total_cmp);
    println!("seed {seed}: {good} of {} right and registered; CPU median {:.3} s, worst {:.3} s", list.len(), cpus[cpus.len()/2], cpus[cpus.len()-1]);
    }
}
