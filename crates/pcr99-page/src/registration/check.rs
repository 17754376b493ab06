//! Whether given points are those of a document.

use pcr99_document::{CloudCounts, CloudDocument, Document, MatchDocument};

use crate::Error;

/// Largest relative difference of the inliers' root mean square residual. A larger one comes from other points.
const SAME_RESIDUAL: f64 = 1e-6;
/// Largest difference relative to the coordinates, for residuals that consist of rounding only.
const ROUNDING: f64 = 1e-9;

/// Checks that a document can have been made from these points.
pub(crate) fn check(document: &Document, source: &[[f64; 3]], target: &[[f64; 3]]) -> Result<(), Error> {
    match document {
        Document::Matches(matches) => {
            let (n, m, expected) = (source.len(), target.len(), matches.correspondences);
            if [n, m] != [expected; 2] {
                return Err(other_points(format!(
                    "it was made from {expected} matches, but these are {n} source and {m} target points; give both sides of each match"
                )));
            }
            check_residuals(document, matches, source, target)
        }
        Document::Clouds(CloudDocument { clouds, .. }) => {
            check_count("source", &clouds.source, source.len())?;
            check_count("target", &clouds.target, target.len())
        }
    }
}

/// Checks that the inliers have the residuals that the document says.
fn check_residuals(
    document: &Document,
    matches: &MatchDocument,
    source: &[[f64; 3]],
    target: &[[f64; 3]],
) -> Result<(), Error> {
    let (Some(model), Some(expected)) = (document.target_from_source(), matches.inlier_rmse) else {
        return Ok(());
    };
    let (mut sum, mut largest) = (0.0, 0.0_f64);
    for &i in &matches.inliers {
        for (x, y) in model.apply(source[i]).into_iter().zip(target[i]) {
            sum += (x - y) * (x - y);
            largest = largest.max(x.abs()).max(y.abs());
        }
    }
    let rmse = (sum / matches.inliers.len().max(1) as f64).sqrt();
    // A comparison that NaN does not pass.
    if (rmse - expected).abs() <= SAME_RESIDUAL * expected + ROUNDING * largest {
        return Ok(());
    }
    Err(other_points(format!(
        "the RMSE of the inliers is {rmse} with these points and {expected} in the document; they have changed since"
    )))
}

/// Points as given, or after non-finite and duplicate ones were removed.
fn check_count(name: &str, cloud: &CloudCounts, points: usize) -> Result<(), Error> {
    let used = cloud.points.saturating_sub(cloud.not_finite.saturating_add(cloud.duplicates));
    if [cloud.points, used].contains(&points) {
        return Ok(());
    }
    Err(other_points(format!("its {name} had {} points, and this one has {points}", cloud.points)))
}

fn other_points(why: String) -> Error {
    Error::OtherPoints { why }
}
