//! experiment
#![allow(clippy::print_stdout, clippy::print_stderr)]
use std::{collections::HashMap, path::{Path, PathBuf}};
use cpu_time::ProcessTime;
use pcr99::{Similarity, random::Random};
use pcr99_cloud::{PreparedCloud, RawCloud, read_points, register::trial};

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
    let seed: u64 = args.get(1).map_or(1, |s| s.parse().unwrap());
    let mutual = args.get(2).is_none_or(|s| s == "mutual");
    let factor: f64 = args.get(3).map_or(1.0, |s| s.parse().unwrap());
    let mut cache: HashMap<PathBuf, Vec<[f64;3]>> = HashMap::new();
    for row in rows(&data) {
        let raw_a = cache.entry(row.source.clone()).or_insert_with(|| read_points(&row.source).unwrap()).clone();
        let raw_b = cache.entry(row.target.clone()).or_insert_with(|| read_points(&row.target).unwrap()).clone();
        let gt = truth(&data.join("pairs").join(&row.name).join("gt.txt"));
        let m = motion(seed, 20.0 * row.voxel);
        let moved: Vec<[f64;3]> = raw_a.iter().map(|&p| m.apply(p)).collect();
        let gt = m.inverse().then(&gt);
        let start = ProcessTime::now();
        let a = PreparedCloud::new(RawCloud::new(&moved)).unwrap();
        let b = PreparedCloud::new(RawCloud::new(&raw_b)).unwrap();
        let prep = start.elapsed().as_secs_f64();
        let auto = pcr99_cloud::voxel::Density::common_voxel(a.density(), b.density());
        let t = trial(&a, &b, Some(auto * factor), mutual).unwrap();
        let cpu = start.elapsed().as_secs_f64();
        let (ca, cb) = (a.center(), b.center());
        let shift = |c: [f64;3]| Similarity::new(1.0, [[1.0,0.0,0.0],[0.0,1.0,0.0],[0.0,0.0,1.0]], c);
        let inner = shift(ca).then(&gt).then(&shift(cb.map(|x| -x)));
        let right = t.pairs.iter().filter(|p| { let x = inner.apply(t.source.points[p[0]]); let y = t.target.points[p[1]]; (0..3).map(|k| (x[k]-y[k]).powi(2)).sum::<f64>().sqrt() < 2.0 * t.voxel }).count();
        println!("{:28} voxel {:.4} ({}) sizes {:?} matches {} right {} cpu {:.3} prep {:.3} {}", row.name, t.voxel, row.voxel, t.sizes, t.pairs.len(), right, cpu, prep,
            t.seconds.iter().map(|(n, s)| format!("{n} {:.0}", s*1e3)).collect::<Vec<_>>().join(" "));
        let best = t.contenders.iter().enumerate().max_by(|x, y| x.1.assessment.score().total_cmp(&y.1.assessment.score())).map(|x| x.0);
        for (k, c) in t.contenders.iter().enumerate() {
            let (deg, off) = errors(&c.pose, &inner, [0.0; 3]);
            let ok = deg < 15.0 && off < 6.0 * row.voxel;
            let s = c.assessment;
            println!("   {}{} {:7.2}° {:6.2} vox  inl {:4} nfa {:7.1} ov {:.2} {:.2} agree {:.2} res {:.3} score {:.3}", if ok {"OK "} else {"bad"}, if Some(k)==best {"*"} else {" "}, deg, off/t.voxel, c.inliers, c.log10_nfa, s.overlap_source, s.overlap_target, s.agreement, s.residual, s.score());
        }
    }
}
