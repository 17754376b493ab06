//! Two clouds, prepared for the last stage: sizes of cells, and patches.

use std::{cmp::Ordering, sync::Arc};

use pcr99::Similarity;
use pcr99_base::rotation_of;

use super::surface::{Patch, Surface};
use crate::refine::Refinement;

/// Mean number of points of a cell. With 4, planes of a sparse street are larger than the gaps between its houses: 18 mm instead of 4 mm with 15 000 points
/// (example `accuracy`). With 1, most planes have too few points.
const CELL_POINTS: f64 = 2.0;
/// Number of cells of a dense cloud. With 12 000, a street of 100 000 points is off by 1.9 mm instead of 0.3 mm (example `accuracy`).
const DENSE_CELLS: f64 = 20_000.0;
/// Mean number of points of a cell of a very dense cloud: more points pay only with smaller cells.
const DENSE_POINTS: f64 = 12.0;
/// Largest number of cells.
const MOST_CELLS: f64 = 80_000.0;
/// Quaternions of the rotations of the two clouds before their points are sorted into cells. Walls and levelled scans are then not parallel to the cells, nor
/// the cells of one cloud to those of the other, so that what the borders of cells do to planes has no common direction.
const TURNS: [[f64; 4]; 2] = [[1.0, 0.31, -0.17, 0.23], [1.0, -0.13, 0.29, -0.37]];
/// Edge of a block over which scores are summed, in the largest cells of patches.
const BLOCK: f64 = 3.0;

/// Size of cells for a cloud of this many points, of which there is a sample of `cells` voxels.
///
/// Cells have two points on average, as if the surface were cut evenly, and up to twelve in dense clouds. More cells are no more accurate on surfaces that are flat
/// over a cell, because all points are used in any case.
///
/// With `is_fine`, dense clouds have two points in a cell as well, up to the largest number of cells: where only small relief holds a direction.
pub fn cell_size(voxel: f64, cells: usize, points: usize, is_fine: bool) -> f64 {
    let points = points as f64;
    let dense = if is_fine { MOST_CELLS } else { (points / DENSE_POINTS).clamp(DENSE_CELLS, MOST_CELLS) };
    let wanted = (points / CELL_POINTS).min(dense);
    voxel * (cells as f64 / wanted).sqrt()
}

/// Why cells are not smaller where the noise of the points hides planes.
pub const NOISY: &str = "in smaller ones the noise of the points hides the planes";

/// Why cells of [`cell_size`] are not smaller for a cloud of this many points.
pub fn why_no_smaller(points: usize, is_fine: bool) -> &'static str {
    match (points as f64 / CELL_POINTS).total_cmp(&DENSE_CELLS) {
        Ordering::Greater if !is_fine => "more and smaller ones hardly make it more accurate",
        _ => "smaller ones would have too few points for planes",
    }
}

/// The power of √2 that is nearest to a positive size, so that clouds keep cells of few sizes for many partners.
pub fn rounded_size(size: f64) -> f64 {
    // Sign and mantissa are cleared.
    let power = f64::from_bits(size.to_bits() & 0x7FF0_0000_0000_0000).max(f64::MIN_POSITIVE);
    // The borders are 2^(1/4) and 2^(3/4).
    match size / power {
        ratio if ratio < 1.189_207 => power,
        ratio if ratio < 1.681_793 => std::f64::consts::SQRT_2 * power,
        _ => 2.0 * power,
    }
}

/// Rotations from the coordinates of the moving and of the fixed cloud to those of their patches.
fn turns() -> [Similarity; 2] {
    TURNS.map(|quaternion| Similarity::new_unchecked(1.0, rotation_of(quaternion), [0.0; 3]))
}

/// Sums the points of a cloud in cells of this size and of larger ones. Side 0 is the moving cloud, and side 1 the fixed one.
pub fn surface(points: &[[f64; 3]], side: usize, size: f64) -> Surface {
    Surface::of(points, &turns()[side].rotation(), size)
}

/// Two clouds, prepared for the last stage.
#[derive(Debug)]
pub struct Surfaces {
    /// The moving and the fixed one.
    pub(super) surfaces: [Arc<Surface>; 2],
    pub(super) patches: [Vec<Patch>; 2],
    /// Level of the smallest patches.
    first: usize,
    pub(super) turns: [Similarity; 2],
    /// Edge of the blocks over which scores are summed, in fixed units.
    pub(super) block: f64,
}

impl Surfaces {
    /// The patches of two surfaces with cells of about the same size. Where a surface is flat, cells are merged, except for [`Refinement::PointToPoint`].
    pub fn new(surfaces: [Arc<Surface>; 2], kind: Refinement) -> Self {
        // Cells of equal size, so that what planes miss of a curved surface cancels.
        let first = surfaces[0].first().max(surfaces[1].first());
        // Means of large cells are too coarse to be paired as points.
        let coarse = match kind {
            Refinement::PointToPoint => first,
            _ => surfaces[0].coarse(first).max(surfaces[1].coarse(first)),
        };
        let block = BLOCK * surfaces[1].size(coarse);
        let patches = surfaces.each_ref().map(|surface| surface.patches(first, coarse));
        Self { surfaces, patches, first, turns: turns(), block }
    }

    /// Edge of the smallest cells, in fixed units.
    pub(crate) fn cell(&self) -> f64 {
        self.surfaces[1].size(self.first)
    }

    /// Whether the smallest cells are larger than the density of the points allows.
    pub(crate) fn are_noisy(&self) -> bool {
        self.first > 0
    }
}
