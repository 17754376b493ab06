//! `pcr99 georeference`: a cloud or a trajectory tied to the world by control points.

mod read;

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use pcr99::{ControlPoint, Covariance, Georeference, Scale, Similarity, Vertical, fit_points, georeference};
use pcr99_document::{g2o_edge, kitti_line, tum_line};
use pcr99_plan::{GivenVertical, SolveOptions, SolvePlan};
use serde_json::{Value, json};

use super::moved;
use crate::{
    Outcome,
    args::{self, Format, both_sides},
    output::{Sink, matrix, shown},
    say,
    watch::Busy,
};

/// Largest difference in time of two poses that belong together, in seconds, where none is given: half of the step of a camera with 50 pictures per second.
const TIME_TOLERANCE: f64 = 0.01;

pub(super) fn run(options: &args::Georeference, quiet: bool) -> Result<Outcome> {
    // The rules of scale and vertical are those of `solve`.
    let plan = SolvePlan::new(&SolveOptions {
        scale: Some(options.scale),
        vertical: both_sides(&options.vertical),
        tilt: options.tilt,
        ..SolveOptions::default()
    })?;
    let sink = Sink::new(options.printed.output.as_deref())?;
    let residuals = options.residuals.as_deref().map(|path| Sink::new(Some(path))).transpose()?;
    if let (Some(cloud), Some(output)) = (&options.cloud, &options.write_moved) {
        moved::check(cloud, output, options.force)?;
    }
    let case = match (&options.trajectory, &options.reference) {
        (Some(trajectory), Some(reference)) => {
            let tolerance = options.time_tolerance.unwrap_or(TIME_TOLERANCE);
            ensure!(
                tolerance.is_finite() && tolerance >= 0.0,
                "`time-tolerance` must be a finite number and at least 0, got {tolerance}"
            );
            aligned(
                &read::trajectory(trajectory)?,
                &read::trajectory(reference)?,
                tolerance,
                plan.scale(),
                plan.vertical(),
            )?
        }
        _ => {
            let path = options.points.as_ref().context("control points are missing")?;
            let points = read::control_points(path)?;
            let found = georeference(&points, plan.scale(), plan.vertical())
                .with_context(|| format!("`{}`", path.display()))?;
            Case::of_points(&points, &found)
        }
    };
    if let Some(sink) = residuals {
        sink.write(|out| out.write_all(case.residuals.as_bytes()))?;
    }
    let text = case.printed(options.printed.format(), &both_sides(&options.vertical))?;
    sink.write(|out| out.write_all(text.as_bytes()))?;
    let Some(output) = options.write_moved.as_deref().filter(|_| case.is_supported || options.force) else {
        return Ok(if case.is_supported { Outcome::Done } else { Outcome::NotReliable });
    };
    if let Some(cloud) = &options.cloud {
        let busy = Busy::start(format!("moving `{}`", cloud.display()), quiet);
        let written = moved::write(cloud, output, &case.transform)?;
        drop(busy);
        if !quiet {
            written.say_all();
        }
    } else if let Some(trajectory) = &options.trajectory {
        let mut text = String::new();
        for pose in read::trajectory(trajectory)? {
            // Poses of a trajectory stay rigid: the scale changes their positions.
            let moved = pose.pose.then(&case.transform);
            let rigid = Similarity::new_unchecked(1.0, moved.rotation(), moved.translation());
            text += &tum_line(&rigid, pose.time)?;
        }
        Sink::new(Some(output))?.write(|out| out.write_all(text.as_bytes()))?;
    } else if !quiet {
        say("note: nothing was moved: give the cloud with --cloud");
    }
    Ok(if case.is_supported { Outcome::Done } else { Outcome::NotReliable })
}

/// What was found, in the forms in which it is printed.
struct Case {
    transform: Similarity,
    /// Covariance, for control points only: errors of the poses of a trajectory are not independent.
    covariance: Option<Covariance>,
    summary: Vec<String>,
    document: Value,
    /// CSV of the residuals.
    residuals: String,
    is_supported: bool,
}

impl Case {
    fn of_points(points: &[ControlPoint], found: &Georeference) -> Self {
        let (used, all) = (found.used(), found.points.len());
        let mut residuals = String::from("name,dx,dy,dz,distance,used\n");
        let mut rows = Vec::new();
        let mut lines = vec![
            format!("control points  {all}, {used} used, {} left out", all - used),
            format!("rmse            {}", shown(found.rmse)),
            format!("redundancy      {}: {}", found.redundancy, found.check()),
        ];
        let width = points.iter().map(|point| point.name.chars().count()).max().unwrap_or(0);
        for point in &found.points {
            let [x, y, z] = point.residual;
            let used = if point.is_used { "yes" } else { "no" };
            let name = if point.name.contains([',', '"']) {
                format!("\"{}\"", point.name.replace('"', "\"\""))
            } else {
                point.name.clone()
            };
            let _ = writeln!(residuals, "{name},{x:?},{y:?},{z:?},{:?},{used}", point.distance);
            rows.push(json!({ "name": point.name, "residual": point.residual, "distance": point.distance, "used": point.is_used }));
            let gross = if point.is_used { "" } else { "  GROSS ERROR, left out" };
            lines.push(format!("  {:<width$}  off by {}{gross}", point.name, shown(point.distance)));
        }
        if !found.is_supported() {
            lines.push("NOT RELIABLE: no more than half of the points agree: check names, columns, units, and whether one side is mirrored".to_owned());
        }
        let document = json!({
            "points": rows, "used": used, "rmse": found.rmse, "redundancy": found.redundancy,
            "check": found.check().to_string(), "reliable": found.is_supported(),
        });
        Self {
            transform: found.world_from_local,
            covariance: Some(found.covariance.clone()),
            summary: lines,
            document,
            residuals,
            is_supported: found.is_supported(),
        }
    }

    fn printed(&self, format: Format, vertical: &Option<GivenVertical>) -> Result<String> {
        Ok(match format {
            Format::Matrix => matrix(&self.transform),
            Format::Tum => tum_line(&self.transform, 0.0)?,
            Format::Kitti => kitti_line(&self.transform)?,
            Format::G2o => {
                let covariance = self.covariance.as_ref().context(
                    "two trajectories have no covariance, because the errors of their poses are not independent: use another --format",
                )?;
                g2o_edge(&self.transform, covariance, 0, 1)?
            }
            Format::Json => {
                let mut document = self.document.clone();
                document["schema"] = json!(1);
                document["command"] = json!("georeference");
                document["transform"] = json!(self.transform.matrix());
                document["scale"] = json!(self.transform.scale());
                document["vertical"] = json!(vertical.map(|vertical| vertical.to_string()));
                if let Some(covariance) = &self.covariance {
                    document["covariance"] = json!(covariance.matrix);
                    document["covariance_center"] = json!(covariance.center);
                    document["accuracy"] = json!(covariance.accuracy().to_string());
                }
                format!("{document:#}\n")
            }
            Format::Summary => {
                let mut text = self.summary.join("\n") + "\n";
                if let Some(covariance) = &self.covariance {
                    let _ = writeln!(text, "accuracy        {}", covariance.accuracy());
                }
                let _ = writeln!(text, "scale           {}", shown(self.transform.scale()));
                text += "transform\n";
                text += &matrix(&self.transform);
                text
            }
        })
    }
}

/// Aligns the positions of two trajectories, paired by time, with all pairs.
fn aligned(
    estimate: &[read::TimedPose],
    reference: &[read::TimedPose],
    tolerance: f64,
    scale: Scale,
    vertical: Option<&Vertical>,
) -> Result<Case> {
    let pairs = read::paired(estimate, reference, tolerance);
    ensure!(
        !pairs.is_empty(),
        "no times of the two trajectories are within {tolerance} s of each other: they cover {} to {} s and {} to {} s; check their clocks, or raise --time-tolerance",
        estimate[0].time,
        estimate[estimate.len() - 1].time,
        reference[0].time,
        reference[reference.len() - 1].time
    );
    let points: Vec<ControlPoint> = pairs
        .iter()
        .map(|&[i, j]| {
            ControlPoint::new(
                estimate[i].time.to_string(),
                estimate[i].pose.translation(),
                reference[j].pose.translation(),
            )
        })
        .collect();
    let found = fit_points(&points, scale, vertical)?;
    let mut errors: Vec<f64> = found.points.iter().map(|point| point.distance).collect();
    errors.sort_by(f64::total_cmp);
    let count = errors.len();
    let median = 0.5 * (errors[(count - 1) / 2] + errors[count / 2]);
    let mean = errors.iter().sum::<f64>() / count as f64;
    let (least, most) = (errors[0], errors[count - 1]);
    let mut residuals = String::from("timestamp,dx,dy,dz,distance\n");
    for point in &found.points {
        let [x, y, z] = point.residual;
        let _ = writeln!(residuals, "{},{x:?},{y:?},{z:?},{:?}", point.name, point.distance);
    }
    let summary = vec![
        format!(
            "poses           {} and {}, {count} pairs within {tolerance} s",
            estimate.len(),
            reference.len()
        ),
        format!(
            "ATE             rmse {}, mean {}, median {}, min {}, max {}",
            shown(found.rmse),
            shown(mean),
            shown(median),
            shown(least),
            shown(most)
        ),
    ];
    let document = json!({
        "pairs": count, "time_tolerance": tolerance, "reliable": true,
        "ate": { "rmse": found.rmse, "mean": mean, "median": median, "min": least, "max": most },
    });
    Ok(Case {
        transform: found.world_from_local,
        covariance: None,
        summary,
        document,
        residuals,
        is_supported: true,
    })
}
