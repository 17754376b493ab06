//! The transform from all inliers (Algorithm 1, line 23), by Horn's least squares.

pub(super) use pcr99_base::least_squares::{fit as refit, rmse};
