//! Feature `glam`: [`DAffine3`] and [`DMat4`].

use glam::{DAffine3, DMat3, DMat4, DVec3};

use crate::{Similarity, SimilarityError, vector::transpose};

/// Exact up to the product of scale and rotation.
impl From<Similarity> for DAffine3 {
    fn from(model: Similarity) -> Self {
        // glam's arrays are columns.
        let linear = DMat3::from_cols_array_2d(&transpose(&model.linear()));
        Self { matrix3: linear, translation: DVec3::from(model.translation()) }
    }
}

/// Exact up to the product of scale and rotation.
impl From<Similarity> for DMat4 {
    fn from(model: Similarity) -> Self {
        Self::from_cols_array_2d(&model.matrix()).transpose()
    }
}

/// Refused unless the linear part is a rotation times a positive scale.
impl TryFrom<DAffine3> for Similarity {
    type Error = SimilarityError;

    fn try_from(model: DAffine3) -> Result<Self, SimilarityError> {
        Self::try_from(DMat4::from(model))
    }
}

/// Refused unless the matrix is `[sR t; 0 1]` with a rotation `R` and a positive scale `s`.
impl TryFrom<DMat4> for Similarity {
    type Error = SimilarityError;

    fn try_from(model: DMat4) -> Result<Self, SimilarityError> {
        Self::from_matrix(&model.transpose().to_cols_array_2d())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_move_points_to_the_same_place() {
        let ours =
            Similarity::from_quaternion(2.5, [0.3, -0.8, 0.5, 0.2], [5.0, -3.0, 8.0]).expect("a similarity");
        let p = [0.25, -1.0, 8.0];
        let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        let affine = DAffine3::from(ours);
        assert!(close(ours.apply(p), affine.transform_point3(DVec3::from(p)).into()));
        assert!(close(ours.apply(p), DMat4::from(ours).transform_point3(DVec3::from(p)).into()));
        for back in [Similarity::try_from(affine), Similarity::try_from(DMat4::from(ours))] {
            assert!(close(back.expect("a similarity").apply(p), ours.apply(p)));
        }
    }

    #[test]
    fn transforms_that_are_no_similarity_are_refused() {
        let sheared = DAffine3::from_scale(DVec3::new(1.0, 1.0, 1.1));
        assert!(matches!(Similarity::try_from(sheared), Err(SimilarityError::NotOrthonormal(_))));
        let mirrored = DAffine3::from_scale(DVec3::new(1.0, 1.0, -1.0));
        assert_eq!(Similarity::try_from(mirrored), Err(SimilarityError::Reflection));
        assert!(matches!(Similarity::try_from(DMat4::ZERO), Err(SimilarityError::LastRow(_))));
    }
}
