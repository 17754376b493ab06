//! Closing errors of cycles of real scans, which need no truth.

use std::path::{Path, PathBuf};

use pcr99::{Covariance, Similarity};
use pcr99_cloud::{PreparedCloud, RawCloud, RegisterParams, read_points, register};

use super::{difference, nees};

type Edge = (Similarity, Covariance);

/// The registered pose between two scans.
fn edge(source: &PreparedCloud, target: &PreparedCloud) -> Option<Edge> {
    let found = register(source, target, &RegisterParams::new()).expect("a result");
    Some((found.target_from_source.filter(|_| found.is_registered())?, found.covariance?))
}

/// Sum of covariances, each brought to `frame` and about `center`.
fn sum(parts: &[(&Covariance, Similarity)], center: [f64; 3]) -> Covariance {
    let mut parts =
        parts.iter().map(|(covariance, frame)| covariance.in_frame(frame).about(center).expect("finite"));
    let first = parts.next().expect("one");
    parts.fold(first, |mut all, part| {
        for (row, other) in all.matrix.iter_mut().zip(&part.matrix) {
            row.iter_mut().zip(other).for_each(|(x, y)| *x += y);
        }
        all
    })
}

/// One line of the table.
#[derive(Default)]
struct Line {
    cycles: usize,
    nees: f64,
    degrees_sq: f64,
    length_sq: f64,
    predicted_sq: f64,
}

impl Line {
    fn add(&mut self, error: [f64; 6], covariance: &Covariance) {
        let square = |k: usize| error[k..k + 3].iter().map(|x| x * x).sum::<f64>();
        self.cycles += 1;
        self.nees += nees(error, covariance) / 6.0;
        self.degrees_sq += square(0) * 1_f64.to_degrees().powi(2);
        self.length_sq += square(3);
        self.predicted_sq += (3..6).map(|k| covariance.matrix[k][k]).sum::<f64>();
    }

    fn print(&self, name: &str) {
        let mean = |sum: f64| (sum / self.cycles.max(1) as f64).sqrt();
        println!(
            "| {name} | {} | {:.4} | {:.2} | {:.2} | {:.2} |",
            self.cycles,
            mean(self.degrees_sq),
            1e3 * mean(self.length_sq),
            1e3 * mean(self.predicted_sq),
            mean(self.nees)
        );
    }
}

/// Triangles of the scans in these files.
fn triangles(name: &str, files: &[PathBuf]) {
    let clouds: Vec<PreparedCloud> = files.iter().map(|file| cloud(file)).collect();
    let count = clouds.len();
    let pair = |i: usize, j: usize| if i < j { edge(&clouds[i], &clouds[j]) } else { None };
    let edges: Vec<Vec<Option<Edge>>> =
        (0..count).map(|i| (0..count).map(|j| pair(i, j)).collect()).collect();
    let mut line = Line::default();
    for i in 0..count {
        for j in i + 1..count {
            for k in j + 1..count {
                let (Some((ij, a)), Some((jk, b)), Some((ik, c))) =
                    (&edges[i][j], &edges[j][k], &edges[i][k])
                else {
                    continue;
                };
                // Both ways from i to k, compared in the coordinates of k.
                let center = c.center;
                let total = sum(&[(a, *jk), (b, Similarity::IDENTITY), (c, Similarity::IDENTITY)], center);
                line.add(difference(&ij.then(jk), ik, center), &total);
            }
        }
    }
    line.print(name);
}

fn cloud(file: &Path) -> PreparedCloud {
    PreparedCloud::new(RawCloud::new(read_points(file).expect("a cloud"))).expect("a usable cloud")
}

/// The pose between two sensors of one car is the same in all scenes.
fn rig(data: &Path) {
    let names = ["left", "right", "top"];
    let mut line = Line::default();
    for (from, to) in [(0, 1), (0, 2), (1, 2)] {
        let edges: Vec<Edge> = (1..=3)
            .filter_map(|scene| {
                let file = |k: usize| data.join(format!("scans/rig/scene{scene}/{}.pcd", names[k]));
                edge(&cloud(&file(from)), &cloud(&file(to)))
            })
            .collect();
        for i in 0..edges.len() {
            for j in i + 1..edges.len() {
                let ((a, of_a), (b, of_b)) = (&edges[i], &edges[j]);
                let center = of_b.center;
                let total = sum(&[(of_a, Similarity::IDENTITY), (of_b, Similarity::IDENTITY)], center);
                line.add(difference(a, b, center), &total);
            }
        }
    }
    line.print("rig");
}

/// Prints the table.
pub fn print() {
    let Some(data) = std::env::var_os("PCR99_DATA").map(PathBuf::from) else {
        println!("\nno cycles: PCR99_DATA does not name the directory of the data");
        return;
    };
    println!(
        "\nclosing errors of cycles; the last column is the root of NEES per degree of freedom (1 is right)"
    );
    println!("| scans | cycles | degrees rms | mm rms | predicted mm rms | observed / predicted |");
    println!("|---|---|---|---|---|---|");
    let files = |name: &str, count: usize, ending: &str| -> Vec<PathBuf> {
        (0..count).map(|k| data.join(format!("scans/{name}/{k}.{ending}"))).collect()
    };
    triangles("facade", &files("facade", 7, "pcd"));
    triangles("kitchen", &files("kitchen", 6, "ply"));
    rig(&data);
}
