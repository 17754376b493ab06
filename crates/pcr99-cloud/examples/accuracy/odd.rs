//! Covariances of scenes that are unlike those of the other tables.

use pcr99::{Scale, Similarity};
use pcr99_cloud::{RegisterParams, register::refine, voxel::Density};

use super::{
    FIRST_SEED, prepare,
    surfaces::{
        difference,
        odd::{ODD, case},
    },
};

/// Prints the table; `only` is a part of the names.
pub fn print(runs: u64, only: Option<&str>) {
    println!(
        "\nodd scenes: error over its unit, NEES per degree of freedom and share of the errors within the 95 % region, {runs} runs"
    );
    println!(
        "| scene | unknowns | error rms | predicted | mean | median | within 95 % | with free directions |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for name in ODD.into_iter().filter(|name| only.is_none_or(|only| name.contains(only))) {
        let with_scale = name.contains("scale");
        let (mut all, mut squares, mut predicted, mut free) = (Vec::new(), 0.0, 0.0, 0);
        for seed in FIRST_SEED..FIRST_SEED + runs {
            let (case, unit) = case(name, seed);
            let (source, target) = (prepare(&case.source), prepare(&case.target));
            let initial = case.start(seed, Density::common_voxel(source.density(), target.density()));
            let scale = if with_scale { Scale::Unknown } else { Scale::one() };
            let found = refine(&source, &target, &initial, &RegisterParams::new().with_scale(scale))
                .expect("a result");
            let Some(covariance) = &found.covariance else { continue };
            let pose = found.target_from_source.expect("a pose");
            let mut error = difference(&rigid(&pose), &rigid(&case.truth), covariance.center).to_vec();
            let at = case.truth.inverse().apply(covariance.center);
            let moved = pose.apply(at);
            (0..3).for_each(|k| error[3 + k] = moved[k] - covariance.center[k]);
            if with_scale {
                error.push((pose.scale() / case.truth.scale()).ln());
            }
            let information = covariance.information();
            let size = error.len();
            let nees: f64 = (0..size)
                .map(|i| (0..size).map(|j| error[i] * information[i][j] * error[j]).sum::<f64>())
                .sum();
            free += usize::from(!covariance.free.is_empty());
            if covariance.free.is_empty() {
                squares += error[3..6].iter().map(|x| x * x).sum::<f64>() / (unit * unit);
                predicted += (3..6).map(|k| covariance.matrix[k][k]).sum::<f64>() / (unit * unit);
            }
            all.push(nees / size as f64);
        }
        all.sort_by(f64::total_cmp);
        let held = (all.len() - free).max(1) as f64;
        let limit = if with_scale { 14.067 / 7.0 } else { 12.592 / 6.0 };
        println!(
            "| {name} | {} | {:.3} | {:.3} | {:.2} | {:.2} | {:.1} % | {free} |",
            if with_scale { 7 } else { 6 },
            1e3 * (squares / held).sqrt(),
            1e3 * (predicted / held).sqrt(),
            all.iter().sum::<f64>() / all.len() as f64,
            all[all.len() / 2],
            100.0 * all.iter().filter(|nees| **nees < limit).count() as f64 / all.len() as f64,
        );
    }
}

/// A motion without its scale. Only its rotation is compared.
fn rigid(pose: &Similarity) -> Similarity {
    Similarity::new(1.0, pose.rotation(), [0.0; 3]).expect("a rotation")
}
