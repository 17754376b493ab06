//! Normals and descriptors agree with those of Open3D. `reference/open3d.csv` holds a sample: index, position, outward normal and FPFH of
//! some points of the dented ball. `cargo xtask compare` regenerates the file, and `docs/results/open3d-agreement.json` from all points.

#![allow(unreachable_pub, reason = "shared with an example")]

mod dented_ball;

use std::fs;

use dented_ball::DentedBall;

/// One row of the reference.
struct Reference {
    index: usize,
    point: [f64; 3],
    normal: [f64; 3],
    descriptor: Vec<f64>,
}

fn references() -> Vec<Reference> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/open3d.csv");
    let text = fs::read_to_string(path).expect("the reference");
    let row = |line: &str| {
        let values: Vec<f64> = line.split(',').map(|x| x.parse().expect("a number")).collect();
        assert_eq!(values.len(), 1 + 3 + 3 + 33, "{line}");
        Reference {
            index: values[0] as usize,
            point: std::array::from_fn(|k| values[1 + k]),
            normal: std::array::from_fn(|k| values[4 + k]),
            descriptor: values[7..].to_vec(),
        }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let product =
        |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - mean_a, y - mean_b)).sum::<f64>();
    product(&|x, y| x * y) / (product(&|x, _| x * x) * product(&|_, y| y * y)).sqrt()
}

#[test]
fn normals_and_descriptors_are_those_of_open3d() {
    let ball = DentedBall::new();
    let references = references();
    assert_eq!(references.len(), 20);
    for Reference { index, point, normal, descriptor } in references {
        for (k, (ours, theirs)) in ball.points[index].iter().zip(point).enumerate() {
            assert!((ours - theirs).abs() < 1e-8, "another cloud: point {index}, axis {k}: {ours} {theirs}");
        }
        // The chord of the angle, in degrees.
        let chord = (0..3).map(|k| (ball.normals[index][k] - normal[k]).powi(2)).sum::<f64>().sqrt();
        assert!(chord.to_degrees() < 1e-5, "normal of point {index}: {:?} {normal:?}", ball.normals[index]);
        let ours: Vec<f64> = ball.descriptors[index].iter().copied().map(f64::from).collect();
        let agreement = correlation(&ours, &descriptor);
        assert!(agreement > 0.9999, "descriptor of point {index}: correlation {agreement}");
        let off = ours.iter().zip(&descriptor).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        // Each part sums to 200. One pair in another bin of the point's own histogram changes it by about one.
        assert!(off < 1.5, "descriptor of point {index}: off by {off}");
    }
}
