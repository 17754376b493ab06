//! Draws the picture of the README from a computed result: `cargo run --example picture -- DIRECTORY`.
//!
//! It looks like the paper's Figure 1: the Bunny with 96 % outliers; inliers thick and green, outliers thin and red, in colours that colour-blind readers
//! can tell apart (M. Okabe, K. Ito 2008).

use std::{error::Error, fmt::Write as _, fs, path::PathBuf};

use pcr99::{Correspondences, Params, Scale, Similarity};
use pcr99_lab::{Errors, Recipe, ScaleChoice, Shape};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 400.0;
const INK: &str = "#1b1f24";
const SOFT: &str = "#57606a";
const SOURCE: &str = "#e69f00";
const TARGET: &str = "#0072b2";
const RIGHT: &str = "#009e73";
const WRONG: &str = "#d55e00";

fn main() -> Result<(), Box<dyn Error>> {
    let directory: PathBuf = std::env::args_os().nth(1).ok_or("name the directory to write to")?.into();
    let recipe = Recipe::default().with_shape(Shape::Bunny)?.with_points(1000)?.with_outlier_ratio(0.96)?;
    let problem = recipe.with_scale(ScaleChoice::Random)?.with_seed(11).generate()?;
    let pairs = Correspondences::new(&problem.source, &problem.target)?;
    let found = pcr99::solve(&pairs, Scale::Unknown, &Params::new())?;
    let model = found.target_from_source.ok_or("no transform")?;
    let errors = Errors::between(&model, &problem.truth);
    let scale = model.scale();

    // Both shapes are seen from the side and in the same size. The target is rotated back almost upright, so that readers recognize it.
    let view =
        Similarity::new_unchecked(0.9, [[0.94, 0.0, 0.34], [0.1, 0.96, -0.27], [-0.33, 0.29, 0.9]], [0.0; 3]);
    let tilt = Similarity::from_quaternion(1.0, [0.976, 0.0, 0.0, 0.216], [0.0; 3]).expect("a similarity");
    let back = model.inverse().then(&tilt).then(&view);
    let target_view = |p: [f64; 3]| back.apply(p);
    let source_view = |p: [f64; 3]| view.apply(p);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"14\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"#ffffff\"/>\n\
         <desc>The Stanford Bunny is a scan by the Stanford University Computer Graphics Laboratory.</desc>\n"
    );
    let at = |p: [f64; 3], x: f64, y: f64| (x + 212.0 * p[0], y - 212.0 * p[1]);
    let (left, middle, right) = (125.0, 450.0, 800.0);
    let shown = |i: usize| found.inliers.binary_search(&i).is_ok();

    for inliers in [false, true] {
        for i in (0..pairs.len()).filter(|&i| shown(i) == inliers) {
            let (x1, y1) = at(source_view(problem.source[i]), left, 210.0);
            let (x2, y2) = at(target_view(problem.target[i]), middle, 210.0);
            let (color, width, opacity) = if inliers { (RIGHT, 2.2, 0.95) } else { (WRONG, 0.4, 0.3) };
            writeln!(
                svg,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\" \
                 stroke-width=\"{width}\" stroke-opacity=\"{opacity}\"/>"
            )?;
        }
    }
    let mut dots = |points: &mut dyn Iterator<Item = (f64, f64)>, color: &str, radius: f64| {
        let _ = writeln!(svg, "<g fill=\"{color}\">");
        for (x, y) in points {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>");
        }
        svg.push_str("</g>\n");
    };
    dots(&mut problem.source.iter().map(|&p| at(source_view(p), left, 210.0)), SOURCE, 1.3);
    dots(&mut problem.target.iter().map(|&p| at(target_view(p), middle, 210.0)), TARGET, 1.3);
    dots(&mut problem.source.iter().map(|&p| at(target_view(model.apply(p)), right, 210.0)), SOURCE, 1.3);
    dots(&mut found.inliers.iter().map(|&i| at(target_view(problem.target[i]), right, 210.0)), RIGHT, 3.2);

    let captions = [
        (left, "source".to_owned(), format!("{} points", problem.source.len())),
        (
            middle,
            "target".to_owned(),
            format!("{} of {} matches wrong", pairs.len() - problem.inliers().len(), pairs.len()),
        ),
        (
            right,
            "source moved onto the target".to_owned(),
            format!(
                "{} matches agree; scale {scale:.3}, rotation error {:.2}°",
                found.inliers.len(),
                errors.rotation_deg
            ),
        ),
    ];
    for (x, title, detail) in captions {
        writeln!(svg, "<text x=\"{x}\" y=\"26\" text-anchor=\"middle\" fill=\"{INK}\">{title}</text>")?;
        writeln!(
            svg,
            "<text x=\"{x}\" y=\"386\" text-anchor=\"middle\" font-size=\"12\" fill=\"{SOFT}\">{detail}</text>"
        )?;
    }
    svg.push_str("</svg>\n");
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("registration.svg"), svg)?;
    Ok(())
}
