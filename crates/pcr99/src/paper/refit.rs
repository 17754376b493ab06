//! The transform from all inliers (Algorithm 1, line 23). The paper says "Horn" again, and here it is his least squares.

pub(super) use pcr99_base::least_squares::{fit as refit, rmse};
