//! CPU time of a refinement of two clouds with 100 000 points.

use cpu_time::ProcessTime;
use pcr99_cloud::{
    RegisterParams,
    register::{refine, with_threads},
};

use super::{
    FIRST_SEED, prepare,
    surfaces::{Recipe, SCENES},
};

/// Number of points of each cloud.
const POINTS: usize = 100_000;

/// Prints the table. All refinements share one thread, as those of an odometry would.
pub fn print(runs: u64) {
    with_threads(1, || table(runs));
}

fn table(runs: u64) {
    println!("\nmedian CPU time of a refinement of 2 × {POINTS} points on one thread, ms, {runs} runs");
    println!("| scene | from points | a new scan, prepared map | both prepared |");
    println!("|---|---|---|---|");
    let params = RegisterParams::new().with_threads(1);
    for scene in SCENES {
        let mut times = [const { Vec::new() }; 3];
        for seed in FIRST_SEED..FIRST_SEED + runs {
            let case = Recipe::of(scene, POINTS, 0.01).case(seed);
            let begin = ProcessTime::now();
            let (scan, map) = (prepare(&case.source), prepare(&case.target));
            let prepared = begin.elapsed();
            let start = case.start(seed, scan.density().voxel());
            let milliseconds = |work: &dyn Fn()| {
                let begin = ProcessTime::now();
                work();
                1e3 * begin.elapsed().as_secs_f64()
            };
            let refined = |scan: &_| {
                refine(scan, &map, &start, &params).expect("a result");
            };
            times[0].push(1e3 * prepared.as_secs_f64() + milliseconds(&|| refined(&scan)));
            times[1].push(milliseconds(&|| refined(&prepare(&case.source))));
            times[2].push(milliseconds(&|| refined(&scan)));
        }
        let [points, scan, both] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!("| {scene} | {points:.1} | {scan:.1} | {both:.1} |");
    }
}
