//! Pairs of real clouds in the directory `PCR99_DATA`: `pairs.csv` names the files, `pairs/<pair>/gt.txt` holds the truth.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pcr99::{Similarity, random::Random};

/// One row of `pairs.csv`.
pub struct Row {
    /// Name of the pair.
    pub name: String,
    /// File of the source.
    pub source: PathBuf,
    /// File of the target.
    pub target: PathBuf,
    /// Voxel in which errors are measured.
    pub voxel: f64,
    /// Maps source to target.
    pub truth: Similarity,
}

/// All pairs.
pub fn rows(data: &Path) -> Vec<Row> {
    let table = fs::read_to_string(data.join("pairs.csv")).expect("pairs.csv");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        Row {
            name: fields[0].to_owned(),
            source: data.join(fields[1]),
            target: data.join(fields[2]),
            voxel: fields[3].parse().expect("a voxel size"),
            truth: truth(&data.join("pairs").join(fields[0]).join("gt.txt")),
        }
    };
    table.lines().skip(1).map(row).collect()
}

/// 4×4, `[sR t; 0 1]`.
fn truth(path: &Path) -> Similarity {
    let text = fs::read_to_string(path).expect("gt.txt");
    let m: Vec<f64> = text.split_whitespace().map(|x| x.parse().expect("a number")).collect();
    let scale = (m[0] * m[0] + m[1] * m[1] + m[2] * m[2]).sqrt();
    let row = |k: usize| [m[4 * k] / scale, m[4 * k + 1] / scale, m[4 * k + 2] / scale];
    Similarity::new(scale, [row(0), row(1), row(2)], [m[3], m[7], m[11]]).expect("a similarity")
}

/// A random motion: any rotation, a shift of some `size`; seed 0 is no motion.
pub fn motion(seed: u64, size: f64) -> Similarity {
    if seed == 0 {
        return Similarity::IDENTITY;
    }
    let mut random = Random::new(seed);
    let quaternion = std::array::from_fn(|_| random.gaussian());
    Similarity::from_quaternion(1.0, quaternion, std::array::from_fn(|_| size * random.gaussian()))
        .expect("a similarity")
}

/// `points` moved.
pub fn moved(points: &[[f64; 3]], motion: &Similarity) -> Vec<[f64; 3]> {
    points.iter().map(|&p| motion.apply(p)).collect()
}

/// Error of `found`: the angle in degrees, and the distance between the two positions of `center`.
pub fn errors(found: &Similarity, truth: &Similarity, center: [f64; 3]) -> (f64, f64) {
    let (r, t) = (found.rotation(), truth.rotation());
    let trace: f64 = (0..3).map(|i| (0..3).map(|k| r[i][k] * t[i][k]).sum::<f64>()).sum();
    let (p, q) = (found.apply(center), truth.apply(center));
    let apart = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
    (((trace - 1.0) / 2.0).clamp(-1.0, 1.0).acos().to_degrees(), apart)
}
