//! Real matches with a threshold of two voxels.

use pcr99::{Registration, Scale};

use crate::{
    lab::{Failure, Lab, Row, describe, params, solve},
    real::MatchFile,
};

/// Smallest number of inliers of an answer, as a share of those of a significant truth.
const SMALLEST_SHARE: f64 = 0.95;

/// Names of the rows.
const ROWS: [&str; 3] = ["real matches, wrong", "real matches, right but refused", "real matches, inliers"];

pub(crate) fn measure(lab: &mut Lab, files: Option<&[MatchFile]>) {
    let Some(files) = files else { return lab.leave_out_real_matches() };
    let [wrong, refused, inliers] = ROWS;
    if !ROWS.iter().any(|row| lab.wants(row)) {
        return;
    }
    let found = answers(lab, files, true);
    lab.row(wrong, |_| wrong_and_registered(files, &found));
    lab.row(refused, |_| {
        let refused = failures(files, &found, |file, found| file.is_right(found) && !found.is_registered());
        Row::count(refused, files.len(), "right but refused", 3)
    });
    lab.row(inliers, |_| {
        let fewer = |file: &MatchFile, found: &Registration| {
            let (possible, is_significant) = file.inliers_of_truth(&file.pairs());
            let inliers = found.target_from_source.as_ref().map_or(0, |answer| file.inliers(answer).len());
            is_significant && (inliers as f64) < SMALLEST_SHARE * possible as f64
        };
        let fewer = failures(files, &found, fewer);
        Row::count(fewer, files.len(), "have 5 % fewer inliers than the truth", 0)
    });
}

/// Answers for all files, with a threshold of two voxels or without.
pub(crate) fn answers(lab: &Lab, files: &[MatchFile], is_given: bool) -> Vec<Registration> {
    lab.each(files, |solver, file| {
        solve(solver, &file.pairs(), Scale::one(), &params(is_given.then_some(file.threshold)))
    })
}

/// The row of answers that are registered but wrong.
pub(crate) fn wrong_and_registered(files: &[MatchFile], found: &[Registration]) -> Row {
    let wrong = failures(files, found, |file, found| !file.is_right(found) && found.is_registered());
    Row::count(wrong, files.len(), "wrong and registered", 0)
}

/// Files whose answer `fails`.
pub(crate) fn failures(
    files: &[MatchFile],
    found: &[Registration],
    fails: impl Fn(&MatchFile, &Registration) -> bool,
) -> Vec<Failure> {
    let failing = files.iter().zip(found).filter(|(file, found)| fails(file, found));
    let failure = |(file, found): (&MatchFile, &Registration)| Failure {
        name: file.name.clone(),
        detail: format!(
            "{:.2}° off, truth has {}; {}",
            file.rotation_error_deg(found),
            file.inliers_of_truth(&file.pairs()).0,
            describe(found)
        ),
    };
    failing.map(failure).collect()
}
