//! The transform of a document in the formats of other programs.

use std::fmt::Write as _;

use pcr99::{Covariance, Similarity};

use crate::Document;

/// Largest difference of a scale from 1 that these formats ignore.
const RIGID: f64 = 1e-9;

/// Why a transform cannot be written in a format.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// There is no transform.
    #[error("there is no transform to write: {reason}")]
    Nothing {
        /// The reason of the document.
        reason: String,
    },
    /// The transform has a scale, which the format cannot hold.
    #[error(
        "the transform has the scale {scale}, and {format} holds rigid motions only: use the matrix or JSON instead"
    )]
    Scaled {
        /// The scale.
        scale: f64,
        /// Name of the format.
        format: &'static str,
    },
    /// There is no covariance, or it is not finite at the origin of the source.
    #[error(
        "the document has no covariance, which an edge of a pose graph needs: run the registration again"
    )]
    NoCovariance,
}

impl Document {
    /// One line of a trajectory in the format of TUM: `timestamp tx ty tz qx qy qz qw`.
    ///
    /// # Errors
    /// Without a transform, and when its scale is not 1.
    pub fn to_tum(&self, timestamp: f64) -> Result<String, FormatError> {
        tum_line(&self.pose()?, timestamp)
    }

    /// One line of a trajectory in the format of KITTI: the first three rows of the 4×4 matrix.
    ///
    /// # Errors
    /// Without a transform, and when its scale is not 1.
    pub fn to_kitti(&self) -> Result<String, FormatError> {
        kitti_line(&self.pose()?)
    }

    /// An edge of a pose graph in the format of g2o, from the vertex of the target to that of the source: `EDGE_SE3:QUAT`, with the information of the pose.
    ///
    /// # Errors
    /// Without a transform, without a covariance, and when the scale is not 1.
    pub fn to_g2o(&self, target_vertex: u64, source_vertex: u64) -> Result<String, FormatError> {
        let pose = self.pose()?;
        rigid(&pose, "the format of g2o")?;
        let accuracy = self.accuracy().ok_or(FormatError::NoCovariance)?;
        g2o_edge(&pose, &accuracy.covariance(), target_vertex, source_vertex)
    }

    /// The transform, if there is one.
    fn pose(&self) -> Result<Similarity, FormatError> {
        self.target_from_source().ok_or_else(|| FormatError::Nothing { reason: self.reason().to_owned() })
    }
}

/// One line of a trajectory in the format of TUM: `timestamp tx ty tz qx qy qz qw`.
///
/// # Errors
/// When the scale is not 1.
pub fn tum_line(pose: &Similarity, timestamp: f64) -> Result<String, FormatError> {
    rigid(pose, "the format of TUM")?;
    Ok(format!("{timestamp} {}\n", position_and_quaternion(pose)))
}

/// One line of a trajectory in the format of KITTI: the first three rows of the 4×4 matrix.
///
/// # Errors
/// When the scale is not 1.
pub fn kitti_line(pose: &Similarity) -> Result<String, FormatError> {
    rigid(pose, "the format of KITTI")?;
    let numbers: Vec<String> = pose.matrix()[..3].iter().flatten().map(f64::to_string).collect();
    Ok(numbers.join(" ") + "\n")
}

/// An edge of a pose graph in the format of g2o: `EDGE_SE3:QUAT`, with the information of the pose.
///
/// # Errors
/// When the scale is not 1, or the covariance is not finite at the origin of the source.
pub fn g2o_edge(
    pose: &Similarity,
    covariance: &Covariance,
    target_vertex: u64,
    source_vertex: u64,
) -> Result<String, FormatError> {
    rigid(pose, "the format of g2o")?;
    let information = covariance.g2o_information(pose).map_err(|_| FormatError::NoCovariance)?;
    let mut line = format!("EDGE_SE3:QUAT {target_vertex} {source_vertex} {}", position_and_quaternion(pose));
    for (k, row) in information.iter().enumerate() {
        for x in &row[k..] {
            let _ = write!(line, " {x}");
        }
    }
    Ok(line + "\n")
}

/// Checks that a transform has no scale.
fn rigid(pose: &Similarity, format: &'static str) -> Result<(), FormatError> {
    let scale = pose.scale();
    if (scale - 1.0).abs() > RIGID { Err(FormatError::Scaled { scale, format }) } else { Ok(()) }
}

/// `tx ty tz qx qy qz qw`.
fn position_and_quaternion(pose: &Similarity) -> String {
    let ([x, y, z], [qw, qx, qy, qz]) = (pose.translation(), pose.quaternion());
    format!("{x} {y} {z} {qx} {qy} {qz} {qw}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::{Correspondences, Params, Scale, solve};

    fn document(scale: f64) -> Document {
        let points: Vec<[f64; 3]> = (0..40)
            .map(|k| {
                let x = f64::from(k);
                [x, x * x % 7.0, x * x * x % 11.0]
            })
            .collect();
        let truth = Similarity::from_quaternion(scale, [0.9, 0.1, 0.2, 0.3], [4.0, 5.0, 6.0]).expect("one");
        let moved: Vec<[f64; 3]> = (points.iter())
            .map(|p| {
                let q = truth.apply(*p);
                [q[0] + 0.01 * (37.0 * p[2]).sin(), q[1] + 0.01 * (31.0 * p[0]).sin(), q[2]]
            })
            .collect();
        let pairs = Correspondences::new(&points, &moved).expect("matches");
        let given = if scale == 1.0 { Scale::one() } else { Scale::Unknown };
        let found = solve(&pairs, given, &Params::new()).expect("a result").with_covariance(&pairs, given);
        Document::of_matches("default", &found)
    }

    #[test]
    fn poses_are_read_back() {
        let document = document(1.0);
        let pose = document.target_from_source().expect("a transform");
        let numbers = |text: &str| -> Vec<f64> {
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
        };
        let tum = numbers(&document.to_tum(12.5).expect("rigid"));
        let [time, x, y, z, qx, qy, qz, qw] = tum[..] else { panic!("{tum:?}") };
        assert_eq!((time, [x, y, z]), (12.5, pose.translation()));
        let back = Similarity::from_quaternion(1.0, [qw, qx, qy, qz], [x, y, z]).expect("a pose");
        for (a, b) in back.matrix().as_flattened().iter().zip(pose.matrix().as_flattened()) {
            assert!((a - b).abs() < 1e-12);
        }
        assert_eq!(numbers(&document.to_kitti().expect("rigid")), pose.matrix().as_flattened()[..12]);
        let edge = document.to_g2o(0, 1).expect("rigid, with a covariance");
        assert!(edge.starts_with("EDGE_SE3:QUAT 0 1 "), "{edge}");
        let edge = numbers(&edge);
        assert_eq!(edge.len(), 2 + 7 + 21);
        // The first entry of each row is on the diagonal.
        for place in [0, 6, 11, 15, 18, 20] {
            assert!(edge[9 + place] > 0.0);
        }
    }

    #[test]
    fn a_scale_does_not_fit() {
        let document = document(2.0);
        for written in [document.to_tum(0.0), document.to_kitti(), document.to_g2o(0, 1)] {
            let Err(error) = written else { panic!("a scale was lost") };
            assert!(error.to_string().contains("rigid motions only: use the matrix or JSON"), "{error}");
        }
    }
}
