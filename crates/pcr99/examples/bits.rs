//! Prints a checksum of every bit of the results on generated matches: `cargo run --example bits`.
//!
//! The lines are the same on every platform, with and without vector instructions. `cargo xtask wasm` compares them.

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use pcr99::{Correspondences, Params, Registration, Scale, paper, random::Random};

/// Standard deviation of the right matches; the points are in a unit cube.
const NOISE: f64 = 0.005;

fn main() -> Result<(), pcr99::Error> {
    for (n, outliers) in [(12, 0.3), (50, 0.5), (300, 0.9), (1000, 0.97), (1500, 0.99)] {
        for (name, scale) in [("known", Scale::one()), ("unknown", Scale::Unknown)] {
            let pairs = matches(n, outliers, name == "unknown")?;
            let given = pcr99::solve(&pairs, scale, &Params::new().with_threshold(5.0 * NOISE)?)?;
            print(&format!("{name} {n} {outliers}, threshold given"), given);
            let estimated = pcr99::solve(&pairs, scale, &Params::new())?;
            print(&format!("{name} {n} {outliers}, threshold estimated"), estimated);
            if n <= 300 {
                let published = paper::solve(&pairs, scale, &paper::Params::new(5.0 * NOISE)?)?;
                print(&format!("{name} {n} {outliers}, published method"), published);
            }
        }
    }
    Ok(())
}

/// Matches in a unit cube, of which a share is wrong. The others follow a turn about z, a translation and, if wanted, a scale.
fn matches(n: usize, outliers: f64, is_scaled: bool) -> Result<Correspondences, pcr99::Error> {
    let mut random = Random::new(n as u64);
    let (sine, cosine) = (0.6, 0.8);
    let scale = if is_scaled { 1.7 } else { 1.0 };
    let wrong = (outliers * n as f64) as usize;
    let (mut source, mut target) = (Vec::new(), Vec::new());
    for i in 0..n {
        let point = |random: &mut Random| -> [f64; 3] { std::array::from_fn(|_| random.uniform()) };
        let from = point(&mut random);
        let [x, y, z] = if i < wrong { point(&mut random) } else { from };
        let noise: [f64; 3] = std::array::from_fn(|_| NOISE * random.gaussian());
        source.push(from);
        target.push([
            scale * (cosine * x - sine * y) + 3.0 + noise[0],
            scale * (sine * x + cosine * y) - 1.0 + noise[1],
            scale * z + noise[2],
        ]);
    }
    Correspondences::new(&source, &target)
}

/// Prints the checksum of a result without its times. Numbers print with as many digits as make them unique.
fn print(name: &str, mut found: Registration) {
    found.seconds = Default::default();
    let text = format!("{found:?}");
    // FNV-1a.
    let checksum = text
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    println!("{name}: {}, {} inliers, {checksum:016x}", found.status, found.inliers.len());
}
