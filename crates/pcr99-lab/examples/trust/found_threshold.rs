//! No threshold given: real matches, and generated ones with six kinds of noise.

use std::path::Path;

use pcr99::{Registration, Scale};
use pcr99_lab::trust::{displacement, inlier_noise::Kind};

use crate::{
    given_threshold::{answers, failures, wrong_and_registered},
    lab::{Failure, Lab, Row, checked, describe, median, params, solve},
    real::MatchFile,
};

/// Standard deviations of the noise, of the scene's side of 1.
const NOISES: [f64; 4] = [0.001, 0.01, 0.03, 0.1];
/// Largest error of an answer, as a multiple of that of the fit on the true inliers: medians.
const LARGEST_ERROR: f64 = 1.15;
/// Range of the threshold found, as a multiple of five standard deviations of normal noise.
const THRESHOLDS: [f64; 2] = [0.6, 1.7];

/// Names of the rows about real matches.
const ROWS: [&str; 3] =
    ["real matches, wrong", "real matches, right and registered", "real matches, rotation error"];

pub(crate) fn measure(lab: &mut Lab, data: Option<&Path>, files: Option<&[MatchFile]>) {
    match (data, files) {
        (Some(data), Some(files)) => {
            real_matches(lab, files);
            lab.row("wrongtime99, unknown scale", |lab| trajectory(lab, data));
            lab.row("sift_oneway_far, unknown scale", |lab| reconstruction(lab, data));
        }
        _ => lab.leave_out_real_matches(),
    }
    for kind in Kind::ALL {
        for noise in NOISES {
            lab.row(&format!("noise: {}, σ = {noise}", kind.name()), |lab| generated(lab, kind, noise));
        }
    }
}

fn real_matches(lab: &mut Lab, files: &[MatchFile]) {
    if !ROWS.iter().any(|row| lab.wants(row)) {
        return;
    }
    let [wrong, right, error] = ROWS;
    let found = answers(lab, files, false);
    lab.row(wrong, |_| wrong_and_registered(files, &found));
    lab.row(right, |_| {
        let missing = failures(files, &found, |file, found| !(file.is_right(found) && found.is_registered()));
        let right = files.len() - missing.len();
        Row {
            measured: format!("{right} of {} right and registered", files.len()),
            required: "at least 45".to_owned(),
            is_met: Some(right >= 45),
            failures: missing,
        }
    });
    lab.row(error, |lab| {
        let given = answers(lab, files, true);
        let middle = |found: &[Registration]| {
            median(files.iter().zip(found).map(|(file, found)| file.rotation_error_deg(found)))
        };
        let (without, with) = (middle(&found), middle(&given));
        Row {
            measured: format!("median {without:.3}°, {with:.3}° with two voxels: {:.2}", without / with),
            required: "at most 1.2".to_owned(),
            is_met: Some(without <= 1.2 * with),
            failures: Vec::new(),
        }
    });
}

/// The answer for one file with unknown scale and without threshold.
fn unknown_scale(lab: &Lab, file: MatchFile) -> (MatchFile, Registration) {
    let found = lab.each(std::slice::from_ref(&file), |solver, file| {
        solve(solver, &file.pairs(), Scale::Unknown, &params(None))
    });
    (file, found.into_iter().next().expect("one answer"))
}

fn trajectory(lab: &Lab, data: &Path) -> Row {
    let path = data.join("pairs/traj_fr2_desk_orb_mono/corr_wrongtime99.csv");
    let (file, found) = unknown_scale(lab, MatchFile::read(&path, 0.05));
    let scale = found.target_from_source.map_or(0.0, |answer| answer.scale());
    let off = scale / file.truth.scale() - 1.0;
    Row {
        measured: format!("{}, scale {scale:.4} is {:+.2} % off", found.status, 100.0 * off),
        required: "registered, within 0.5 %".to_owned(),
        is_met: Some(found.is_registered() && off.abs() <= 0.005),
        failures: Vec::new(),
    }
}

fn reconstruction(lab: &Lab, data: &Path) -> Row {
    let path = data.join("pairs/sfm_sceaux/corr_sift_oneway_far.csv");
    let (file, found) = unknown_scale(lab, MatchFile::read(&path, 0.084));
    let ratio = found.threshold / file.threshold;
    Row {
        measured: format!(
            "threshold {:.4}, {ratio:.2} of {}; {}",
            found.threshold, file.threshold, found.status
        ),
        required: "0.5 to 2".to_owned(),
        is_met: Some((0.5..=2.0).contains(&ratio)),
        failures: Vec::new(),
    }
}

/// Result of one generated problem.
struct Outcome {
    error: f64,
    error_of_fit: f64,
    threshold: f64,
    seed: u64,
    detail: String,
}

/// Half of the matches are right. The medians of the errors are compared; with normal noise, each threshold counts.
fn generated(lab: &Lab, kind: Kind, noise: f64) -> Row {
    let outcomes = lab.each(&lab.seeds(50), |solver, &seed| outcome(solver, kind, noise, seed));
    let error = median(outcomes.iter().map(|outcome| outcome.error));
    let ratio = error / median(outcomes.iter().map(|outcome| outcome.error_of_fit));
    let mut thresholds: Vec<f64> = outcomes.iter().map(|outcome| outcome.threshold / (5.0 * noise)).collect();
    thresholds.sort_by(f64::total_cmp);
    let (least, most) = (thresholds[0], thresholds[thresholds.len() - 1]);
    let is_inside = |threshold: f64| (THRESHOLDS[0]..=THRESHOLDS[1]).contains(&threshold);
    let (limits, outside): (String, Vec<&Outcome>) = if kind == Kind::Gaussian {
        let outside = outcomes.iter().filter(|outcome| !is_inside(outcome.threshold / (5.0 * noise)));
        (format!(", δ/5σ {} to {}", THRESHOLDS[0], THRESHOLDS[1]), outside.collect())
    } else {
        (
            String::new(),
            outcomes.iter().filter(|outcome| outcome.error > 5.0 * outcome.error_of_fit).collect(),
        )
    };
    let is_met = ratio <= LARGEST_ERROR && (kind != Kind::Gaussian || outside.is_empty());
    let failure =
        |outcome: &&Outcome| Failure { name: outcome.seed.to_string(), detail: outcome.detail.clone() };
    Row {
        measured: format!("error {ratio:.3} of the fit, δ/5σ {least:.2} to {most:.2}"),
        required: format!("at most {LARGEST_ERROR}{limits}"),
        is_met: Some(is_met),
        failures: outside.iter().map(failure).collect(),
    }
}

fn outcome(solver: &mut pcr99::Solver, kind: Kind, noise: f64, seed: u64) -> Outcome {
    let problem = kind.problem(noise, 1000, 500, seed);
    let pairs = checked(&problem.matches);
    let found = solve(solver, &pairs, Scale::one(), &params(None));
    let sources = problem.inlier_sources();
    let fit = pairs.fit(Scale::one(), &problem.inliers).expect("many right matches");
    let error_of = |answer| displacement(&answer, &problem.truth, &sources);
    let (error, error_of_fit) = (found.target_from_source.map_or(f64::INFINITY, error_of), error_of(fit));
    let detail = format!("error {:.2} of the fit; {}", error / error_of_fit, describe(&found));
    Outcome { error, error_of_fit, threshold: found.threshold, seed, detail }
}
