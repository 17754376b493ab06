//! Feature `nalgebra`: [`Similarity3`] and [`Isometry3`].

use nalgebra::{Isometry3, Matrix3, Rotation3, Similarity3, Translation3, UnitQuaternion};

use crate::{Similarity, SimilarityError};

/// Exact in scale and translation; the rotation is rounded to a unit quaternion.
impl From<Similarity> for Similarity3<f64> {
    fn from(model: Similarity) -> Self {
        Self::from_isometry(isometry(&model), model.scale())
    }
}

/// Refused unless the scale is exactly 1: an isometry has none.
impl TryFrom<Similarity> for Isometry3<f64> {
    type Error = SimilarityError;

    fn try_from(model: Similarity) -> Result<Self, SimilarityError> {
        if model.scale() == 1.0 {
            Ok(isometry(&model))
        } else {
            Err(SimilarityError::NotRigid(model.scale()))
        }
    }
}

/// Refused when the scale is not positive or a number is not finite.
impl TryFrom<Similarity3<f64>> for Similarity {
    type Error = SimilarityError;

    fn try_from(model: Similarity3<f64>) -> Result<Self, SimilarityError> {
        parts(&model.isometry, model.scaling())
    }
}

/// Refused when a number is not finite.
impl TryFrom<Isometry3<f64>> for Similarity {
    type Error = SimilarityError;

    fn try_from(model: Isometry3<f64>) -> Result<Self, SimilarityError> {
        parts(&model, 1.0)
    }
}

fn isometry(model: &Similarity) -> Isometry3<f64> {
    let [x, y, z] = model.rotation();
    let matrix = Matrix3::new(x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]);
    let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(matrix));
    Isometry3::from_parts(Translation3::from(model.translation()), rotation)
}

fn parts(isometry: &Isometry3<f64>, scale: f64) -> Result<Similarity, SimilarityError> {
    let rotation = isometry.rotation.to_rotation_matrix();
    // nalgebra's arrays are columns.
    let rows = crate::vector::transpose(&rotation.matrix().data.0);
    Similarity::new(scale, rows, isometry.translation.vector.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Point3;

    fn model(scale: f64) -> Similarity {
        Similarity::from_quaternion(scale, [0.3, -0.8, 0.5, 0.2], [5.0, -3.0, 8.0]).expect("a similarity")
    }

    #[test]
    fn both_move_points_to_the_same_place() {
        let (ours, p) = (model(2.5), [0.25, -1.0, 8.0]);
        let theirs = Similarity3::from(ours);
        let moved = theirs.transform_point(&Point3::from(p));
        assert!(ours.apply(p).iter().zip(moved.iter()).all(|(a, b)| (a - b).abs() < 1e-12));
        let back = Similarity::try_from(theirs).expect("a similarity");
        assert!(back.apply(p).iter().zip(ours.apply(p)).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn an_isometry_has_no_scale() {
        assert_eq!(Isometry3::try_from(model(2.0)), Err(SimilarityError::NotRigid(2.0)));
        let rigid = Isometry3::try_from(model(1.0)).expect("scale 1");
        let back = Similarity::try_from(rigid).expect("a similarity");
        assert_eq!((back.scale(), back.translation()), (1.0, [5.0, -3.0, 8.0]));
    }

    #[test]
    fn transforms_that_are_no_similarity_are_refused() {
        let mirrored = Similarity3::from_isometry(Isometry3::identity(), -1.0);
        assert_eq!(Similarity::try_from(mirrored), Err(SimilarityError::Scale(-1.0)));
        let nowhere = Isometry3::translation(f64::NAN, 0.0, 0.0);
        assert!(matches!(Similarity::try_from(nowhere), Err(SimilarityError::Translation(_))));
    }
}
