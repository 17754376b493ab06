//! Scans as the engine sees them.

use std::sync::Arc;

use pcr99_base::vector::dot;
use pcr99_cloud::PreparedCloud;

/// A scan of the bag.
#[derive(Debug, Clone)]
pub struct Scan {
    /// Name in messages and results.
    pub name: String,
    /// The middle of the scan, in its coordinates.
    pub center: [f64; 3],
    /// Root mean square distance of its points from the middle.
    pub radius: f64,
    /// Number of points.
    pub points: usize,
}

impl Scan {
    /// The scan with this prepared cloud.
    pub fn of(name: &str, cloud: &Arc<PreparedCloud>) -> Self {
        let points = cloud.points();
        // At most this many points say how large a scan is.
        const MOST: usize = 10_000;
        let stride = points.len().div_ceil(MOST).max(1);
        let (count, sum) =
            (points.iter().step_by(stride)).fold((0.0, 0.0), |(n, sum), &p| (n + 1.0, sum + dot(p, p)));
        let radius = (sum / f64::max(count, 1.0)).sqrt();
        Self { name: name.to_owned(), center: cloud.center(), radius, points: cloud.given() }
    }
}
