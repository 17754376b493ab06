//! Draws how time and memory of the default method grow: measures now and writes `time-n.svg` and `time-outliers.svg`.
//! `cargo run --release -p pcr99-lab --features bunny --example growth -- DIRECTORY`
//!
//! Times are medians over a few problems, on one thread, by the wall clock, from arrays of points to the verdict. Memory is the peak of the whole process, problems included.

#![allow(clippy::print_stdout, reason = "progress of a long measurement")]

use std::{error::Error, fmt::Write as _, fs, path::PathBuf, time::Instant};

use pcr99::{Correspondences, Params, Scale, Solver, paper};
use pcr99_lab::{Recipe, ScaleChoice};

const MODES: [(&str, Scale, ScaleChoice); 2] = [
    ("known scale", Scale::one(), ScaleChoice::Fixed(1.0)),
    ("unknown scale", Scale::Unknown, ScaleChoice::Random),
];

/// A line in a chart: its name, colour and points.
struct Line {
    name: String,
    color: &'static str,
    points: Vec<(f64, f64)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory: PathBuf = std::env::args_os().nth(1).ok_or("name the directory to write to")?.into();
    let colors = ["#0969da", "#d9730d", "#6a7480"];
    let mut points: [Vec<(f64, f64)>; 3] = Default::default();
    for n in [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000] {
        for ((name, scale, choice), points) in MODES.into_iter().zip(&mut points) {
            let seconds = median_seconds(n, 0.99, scale, choice, if n > 100_000 { 5 } else { 11 }, false)?;
            println!("{name}, n = {n}: {:.2} ms", 1e3 * seconds);
            points.push((n as f64, 1e3 * seconds));
        }
        points[2].push((n as f64, peak_mib()));
    }
    let names = ["known scale: ms", "unknown scale: ms", "peak memory: MiB"];
    let by_n: Vec<Line> = names
        .into_iter()
        .zip(colors)
        .zip(points)
        .map(|((name, color), points)| Line { name: name.into(), color, points })
        .collect();
    let x_of_n = |n: f64| n.log10();
    let svg = chart("99 % outliers: time and memory by number of matches", "matches", &by_n, x_of_n, |n| {
        if n < 1e6 { format!("{} 000", n / 1e3) } else { "1 million".to_owned() }
    });
    fs::write(directory.join("time-n.svg"), svg)?;

    let mut by_ratio = Vec::new();
    for ((name, scale, choice), colors) in
        MODES.into_iter().zip([["#0969da", "#79b8ff"], ["#d9730d", "#f0b57a"]])
    {
        for (method, color) in ["default", "paper"].into_iter().zip(colors) {
            let mut points = Vec::new();
            for right in [1.0, 0.5, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01] {
                let seconds = median_seconds(1000, 1.0 - right, scale, choice, 31, method == "paper")?;
                println!("{name}, {method}, {right} right: {:.3} ms", 1e3 * seconds);
                points.push((right, 1e3 * seconds));
            }
            by_ratio.push(Line { name: format!("{name}, {method}: ms"), color, points });
        }
    }
    let x_of_right = |right: f64| -right.log10();
    let svg = chart("1000 matches: time by outlier ratio", "outlier ratio", &by_ratio, x_of_right, |right| {
        format!("{} %", (1000.0 * (1.0 - right)).round() / 10.0)
    });
    fs::write(directory.join("time-outliers.svg"), svg)?;
    Ok(())
}

fn median_seconds(
    n: usize,
    ratio: f64,
    scale: Scale,
    choice: ScaleChoice,
    runs: u64,
    paper: bool,
) -> Result<f64, Box<dyn Error>> {
    let (mut solver, mut paper_solver) = (Solver::new(), paper::Solver::new());
    let (mut seconds, mut pairs) = (Vec::new(), None);
    for seed in 0..runs {
        let recipe = Recipe::default().with_points(n)?.with_outlier_ratio(ratio)?.with_scale(choice)?;
        let problem = recipe.with_seed(seed).generate()?;
        let start = Instant::now();
        let matches = match pairs.take() {
            Some(earlier) => Correspondences::new_reusing(earlier, &problem.source, &problem.target)?,
            None => Correspondences::new(&problem.source, &problem.target)?,
        };
        if paper {
            paper_solver.solve(&matches, scale, &paper::Params::new(0.05)?)?;
        } else {
            solver.solve(&matches, scale, &Params::new().with_threshold(0.05)?.with_threads(1))?;
        }
        pairs = Some(matches);
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

/// Largest resident memory of this process so far, in MiB; 0 where the system does not report it.
fn peak_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok())
        .map_or(0.0, |kib| kib / 1024.0)
}

/// A chart with logarithmic axes.
fn chart(
    title: &str,
    x_name: &str,
    lines: &[Line],
    x_of: impl Fn(f64) -> f64,
    label: impl Fn(f64) -> String,
) -> String {
    let (width, height, left, right, top, bottom) = (760.0, 420.0, 70.0, 190.0, 46.0, 52.0);
    let all = || lines.iter().flat_map(|line| line.points.iter().copied()).filter(|(_, y)| *y > 0.0);
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)))
    };
    let (x_low, x_high) = range(&mut all().map(|(x, _)| x_of(x)));
    let (y_low, y_high) = range(&mut all().map(|(_, y)| y.log10()));
    let (y_low, y_high) = (y_low.floor(), y_high.ceil());
    let place = |x: f64, y: f64| {
        let u = (x_of(x) - x_low) / (x_high - x_low);
        let v = (y.log10() - y_low) / (y_high - y_low);
        (left + u * (width - left - right), height - bottom - v * (height - top - bottom))
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\" \
         fill=\"#1b1f24\">\n<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#ffffff\"/>\n\
         <text x=\"{left}\" y=\"26\" font-size=\"14\">{title}</text>\n"
    );
    for power in y_low as i32..=y_high as i32 {
        let y = place(lines[0].points[0].0, 10_f64.powi(power)).1;
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#d8dee4\"/>",
            width - right
        );
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            y + 4.0,
            10_f64.powi(power)
        );
    }
    let mut last = f64::MIN;
    for &(x, _) in &lines[0].points {
        let at = place(x, 10_f64.powf(y_low)).0;
        if at - last > 44.0 {
            last = at;
            let _ = writeln!(
                svg,
                "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                height - bottom + 18.0,
                label(x)
            );
        }
    }
    let middle = left + (width - left - right) / 2.0;
    let _ =
        writeln!(svg, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{x_name}</text>", height - 12.0);
    for (k, line) in lines.iter().enumerate() {
        let points: Vec<String> =
            line.points.iter().map(|&(x, y)| place(x, y)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
            points.join(" "),
            line.color
        );
        let y = top + 18.0 + 20.0 * k as f64;
        let x = width - right + 14.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"3\" fill=\"{}\"/>",
            y - 5.0,
            line.color
        );
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\">{}</text>", x + 18.0, line.name);
    }
    svg.push_str("</svg>\n");
    svg
}
