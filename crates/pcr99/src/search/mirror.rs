//! Matches of mirrored points.
//!
//! Where one side is mirrored, by a left-handed coordinate system for instance, no rotation is right. The matches near one plane still agree with some rotation, the better the larger the
//! threshold is. A mirrored transform then explains many more matches than the answer.

use super::{Problem, Solver, candidate::Candidate};

use pcr99_base::{eigen::symmetric_eigen, kernel::edges::common};

/// Largest root mean square distance of the inliers from their plane, in thresholds. A mirrored fit moves each inlier by twice its distance from the plane.
const FLAT: f64 = 1.0;
/// How many more matches a mirrored transform must explain: a factor, and a number. Points on a plane fit either way, up to a few at the threshold.
const CLEARLY_MORE: [f64; 2] = [1.25, 3.0];

impl Solver {
    /// Number of matches that a mirrored transform explains, where that is clearly more than the number of inliers of `best`.
    pub(super) fn mirrored(&mut self, problem: &Problem<'_>, best: &Candidate) -> Option<usize> {
        if thickness(problem, best) > FLAT * best.delta {
            return None;
        }
        let mut points = problem.points.clone();
        // A known vertical stays up.
        let mirrored = if problem.model.tilt.is_some() { 1 } else { 3 };
        points.a[..mirrored].iter_mut().flatten().for_each(|x| *x = -*x);
        let known = super::Model { delta: best.delta, ..problem.model };
        let start = known.fit(&points, &best.inliers, |_| 1.0)?;
        self.refiner.converge(&points, start, &known)?;
        let mut mask = Vec::new();
        self.refiner.swap_mask(&mut mask);
        let inliers = common(&mask, &mask) as usize;
        let [factor, more] = CLEARLY_MORE;
        (inliers as f64 > factor * best.inliers.len() as f64 + more).then_some(inliers)
    }
}

/// Root mean square distance of the inliers' targets from the plane that fits them best.
fn thickness(problem: &Problem<'_>, best: &Candidate) -> f64 {
    let count = best.inliers.len() as f64;
    let target = |i: u32| problem.points.target(i as usize);
    let mut mean = [0.0; 3];
    for &i in &best.inliers {
        mean = std::array::from_fn(|axis| mean[axis] + target(i)[axis] / count);
    }
    let mut spread = [[0.0; 3]; 3];
    for &i in &best.inliers {
        let p = target(i);
        for row in 0..3 {
            for column in 0..3 {
                spread[row][column] += (p[row] - mean[row]) * (p[column] - mean[column]) / count;
            }
        }
    }
    symmetric_eigen(&spread).0[0].max(0.0).sqrt()
}
