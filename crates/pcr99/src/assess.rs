//! The evidence for a transform that was found elsewhere.

use pcr99_base::{
    kernel::{consensus::Affine, residuals::squared_residuals},
    least_squares,
    vector::dot,
};

use crate::{
    Candidate, Correspondences, Counters, Doubt, Positive, Registration, Seconds, Similarity, Status,
    StopReason, evidence::Judge,
};

/// Judges a transform that was found elsewhere by the same [evidence](crate::Evidence) as those of [`solve`](crate::solve).
///
/// The inliers are the matches with a residual of at most `threshold`. The transform itself is not changed. The rotation deviation counts
/// the scale as estimated. Other candidates are not searched for, so there is no rival.
///
/// ```
/// use pcr99::{Correspondences, Positive, Similarity, Status, assess};
///
/// let source: Vec<[f64; 3]> = (0..12).map(|i| { let x = f64::from(i); [x, x * x % 7.0, x * x * x % 5.0] }).collect();
/// let target: Vec<[f64; 3]> = source.iter().map(|p| [p[0] + 1.0, p[1], p[2]]).collect();
/// let pairs = Correspondences::new(&source, &target)?;
///
/// let threshold = Positive::new("threshold", 0.01)?;
/// let right = Similarity::from_translation([1.0, 0.0, 0.0]);
/// assert_eq!(assess(&pairs, &right, threshold).status, Status::Registered);
/// let wrong = Similarity::from_translation([2.0, 0.5, 0.0]);
/// assert_eq!(assess(&pairs, &wrong, threshold).status, Status::NotReliable);
/// # Ok::<(), pcr99::Error>(())
/// ```
pub fn assess(pairs: &Correspondences, target_from_source: &Similarity, threshold: Positive) -> Registration {
    let model = pairs.inward(target_from_source);
    let delta = pairs.target_length_inward(threshold);
    let mut residuals = vec![0.0; pairs.len()];
    squared_residuals(pairs.points(), &Affine::from(&model), &mut residuals);
    let follows = |&i: &u32| residuals[i as usize] <= delta * delta;
    let inliers: Vec<u32> = (0..pairs.len() as u32).filter(follows).collect();
    let mut evidence = Judge::default().evidence(pairs, &model, &inliers, delta, None);
    // Collinear inliers leave the rotation open. A transform that is not the best fit of its own inliers is off by at least the
    // difference to that fit.
    let fitted = pairs.fit_inward(None, &inliers);
    let fixed = fitted.is_some();
    if let Some(fitted) = fitted {
        let off = angle_between(&fitted.rotation(), &model.rotation()).to_degrees();
        evidence.rotation_deviation_deg = evidence.rotation_deviation_deg.max(off);
    }
    let rmse = least_squares::rmse(pairs.points(), &inliers, &model);
    let open = Doubt::LooseRotation { deviation_deg: 180.0 };
    let mut doubt = evidence.doubt(inliers.len()).or((!fixed).then_some(open));
    // Repeated matches say nothing new, but the number of false alarms pays for each of them.
    if matches!(doubt, Some(Doubt::Chance { .. }))
        && let Some(fewer) = pairs.without_repeats()
    {
        let again = assess(&fewer, target_from_source, threshold);
        if let (None, Some(without)) = (again.doubt, again.evidence) {
            (doubt, evidence) = (None, without);
        }
    }
    let candidate = Candidate::new(*target_from_source, inliers.len(), evidence);
    Registration {
        status: if doubt.is_none() { Status::Registered } else { Status::NotReliable },
        doubt,
        target_from_source: Some(*target_from_source),
        correspondences: pairs.len(),
        inliers: inliers.into_iter().map(|i| i as usize).collect(),
        threshold: threshold.get(),
        inlier_rmse: rmse.map(|rmse| pairs.target_length_outward(rmse)),
        covariance: None,
        evidence: Some(evidence),
        candidates: vec![candidate],
        rival: None,
        stopped_because: StopReason::Exhausted,
        counters: Counters::default(),
        seconds: Seconds::default(),
    }
}

/// The angle between two rotations, in radians.
fn angle_between(one: &[[f64; 3]; 3], other: &[[f64; 3]; 3]) -> f64 {
    let trace: f64 = one.iter().zip(other).map(|(r, s)| dot(*r, *s)).sum();
    libm::acos(((trace - 1.0) / 2.0).clamp(-1.0, 1.0))
}
