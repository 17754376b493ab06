//! Generates the golden problems of the core crate again: `cargo run -p pcr99-lab --example golden -- DIRECTORY`.
//!
//! Four problems on the knot, each with the counts of the published method with ordered and with random samples. Run this only when these counts are
//! meant to change.

use std::{error::Error, fmt::Write as _, fs, path::PathBuf};

use pcr99::{Correspondences, Scale, paper};
use pcr99_lab::{Recipe, ScaleChoice, Shape};

fn main() -> Result<(), Box<dyn Error>> {
    let directory: PathBuf = std::env::args_os().nth(1).ok_or("name the directory to write to")?.into();
    let mut csv = String::from(
        "method,file,triples,hypotheses,inliers,s,r11,r12,r13,r21,r22,r23,r31,r32,r33,tx,ty,tz\n",
    );
    for (name, scale, choice) in
        [("unk", Scale::Unknown, ScaleChoice::Random), ("known", Scale::one(), ScaleChoice::Fixed(1.0))]
    {
        for (percent, ratio, n) in [(80, 0.8, 150), (96, 0.96, 400)] {
            let recipe =
                Recipe::default().with_shape(Shape::Knot)?.with_points(n)?.with_outlier_ratio(ratio)?;
            let problem = recipe.with_scale(choice)?.with_seed(1).generate()?;
            let file = format!("{name}_{percent}.txt");
            let row = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
            let mut text = format!("{n} {}\n", problem.truth.scale());
            for line in problem.truth.rotation().iter().chain([&problem.truth.translation()]) {
                writeln!(text, "{}", row(line))?;
            }
            for ((a, b), inlier) in problem.source.iter().zip(&problem.target).zip(&problem.is_inlier) {
                writeln!(text, "{} {} {}", row(a), row(b), u8::from(*inlier))?;
            }
            fs::write(directory.join(&file), text)?;

            let pairs = Correspondences::new(&problem.source, &problem.target)?;
            let methods = if name == "unk" { ["PCR99a", "PCR99b"] } else { ["PCR99c", "PCR99d"] };
            for (method, sampling) in
                methods.into_iter().zip([paper::Sampling::Ordered, paper::Sampling::random(0)])
            {
                let params = paper::Params::new(0.05)?.with_sampling(sampling);
                let found = paper::solve(&pairs, scale, &params)?;
                let model = found.target_from_source.ok_or("no transform")?;
                let mut numbers = vec![model.scale()];
                numbers.extend(model.rotation().into_iter().flatten().chain(model.translation()));
                let counts = [found.counters.triplets, found.counters.hypotheses, found.inliers.len() as u64];
                let counts = counts.map(|c| c.to_string()).join(",");
                writeln!(csv, "{method},{file},{counts},{}", row(&numbers).replace(' ', ","))?;
            }
        }
    }
    fs::write(directory.join("golden.csv"), csv)?;
    Ok(())
}
