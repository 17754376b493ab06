//! Residuals: what patches are from the planes of the other cloud.

use pcr99::Similarity;
use pcr99_base::vector::{dot, minus, rotate, times};

use super::{
    AXES,
    cells::Plane,
    prepared::Surfaces,
    surface::{Patch, Surface},
    weights::Measures,
};
use crate::refine::Refinement;

/// Number of the eight cells around a corner that a surface fills.
const FILLED: f64 = 4.0;
/// Smallest breadth of the points of a plane, as a fraction of the distance at which it is used.
const NARROW: f64 = 0.03;
/// Number of points that a typical variance counts as, when that of a plane is estimated. Planes of few points would otherwise seem exact by chance.
const PRIOR_POINTS: f64 = 8.0;
/// Variance of points about their plane, in typical ones, beyond which it is the shape that the plane misses. It does not average out over the points of a patch,
/// nor along an edge: the edges of a corridor turned it about its axis by three times the predicted deviation (example `accuracy`).
const SHAPE: f64 = 2.0;
/// Standard deviation below which points count as exact, in cells. Residuals of an exact copy are rounding errors.
pub(super) const FINEST: f64 = 1e-6;

/// One patch and the plane that it was last compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pairing {
    pub(super) patch: Patch,
    /// Normal of the patch in its own cloud; zero where it is not needed.
    pub(super) own: [f64; 3],
    /// Key of the place of `plane`.
    pub(super) key: u64,
    pub(super) plane: Plane,
}

/// A residual with its derivative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Residual {
    /// Where, in fixed coordinates.
    pub(super) at: [f64; 3],
    /// Direction of the residual, in fixed coordinates.
    pub(super) normal: [f64; 3],
    pub(super) value: f64,
    /// Squared distance between patch and plane that decides whether they belong together.
    pub(super) apart_sq: f64,
    /// Variance with which it is compared.
    pub(super) expected: f64,
    /// Weight before Tukey's.
    pub(super) weight: f64,
    /// Scatter of the points about their plane, squared.
    pub(super) variance: f64,
}

/// The comparison of patches with planes under one pose.
pub(super) struct Comparison<'a> {
    surfaces: [&'a Surface; 2],
    kind: Refinement,
    /// Edge of the smallest cells of the fixed cloud.
    cell: f64,
    pose: Similarity,
    back: Similarity,
    /// Typical squared scatter of points about their planes, in fixed units.
    typical: f64,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(prepared: &'a Surfaces, measures: &Measures, pose: &Similarity) -> Self {
        let cell = prepared.cell();
        let finest = FINEST * cell;
        let typical = measures.typical.max(finest * finest);
        let surfaces = [&*prepared.surfaces[0], &*prepared.surfaces[1]];
        Self { surfaces, kind: measures.kind, cell, pose: *pose, back: pose.inverse(), typical }
    }

    /// Where a patch is, in the coordinates of the other cloud. Side 0 has the patches of the moving cloud.
    pub(super) fn place(&self, side: usize, patch: &Patch) -> [f64; 3] {
        if side == 0 { self.pose.apply(patch.at) } else { self.back.apply(patch.at) }
    }

    /// The patches with their planes, without those that have none.
    pub(super) fn pairings(&self, side: usize, patches: &[Patch]) -> Vec<Pairing> {
        let places: Vec<([f64; 3], usize)> =
            patches.iter().map(|patch| (self.place(side, patch), patch.level)).collect();
        let surface = self.surfaces[1 - side];
        let planes = match self.kind {
            Refinement::PointToPoint => {
                places.iter().map(|&(place, level)| surface.nearest(place, level)).collect()
            }
            _ => surface.planes(&places),
        };
        let pairing = |((patch, &(place, level)), plane): ((&Patch, &([f64; 3], usize)), &Plane)| {
            let own = match self.kind {
                Refinement::PlaneToPlane => self.surfaces[side].plane(patch.at, level).normal,
                _ => [0.0; 3],
            };
            let key = surface.plane_key(place, level, plane);
            Pairing { patch: *patch, own, key, plane: *plane }
        };
        let all = patches.iter().zip(&places).zip(&planes).filter(|(_, plane)| plane.count > 0.0);
        all.map(pairing).collect()
    }

    /// The plane near the place, where it is another one than that of the pairing.
    #[inline]
    pub(super) fn other_plane(&self, side: usize, pairing: &Pairing, place: [f64; 3]) -> Option<Plane> {
        let surface = self.surfaces[1 - side];
        let level = pairing.patch.level;
        if self.kind == Refinement::PointToPoint {
            Some(surface.nearest(place, level))
        } else if surface.plane_key(place, level, &pairing.plane) != pairing.key {
            Some(surface.plane(place, level))
        } else {
            None
        }
    }

    /// Finds the plane near the place, unless it is known.
    #[inline]
    pub(super) fn update(&self, side: usize, pairing: &mut Pairing, place: [f64; 3]) {
        if let Some(plane) = self.other_plane(side, pairing, place) {
            pairing.plane = plane;
            pairing.key = self.surfaces[1 - side].plane_key(place, pairing.patch.level, &plane);
        }
    }

    /// Calls `found` with the residuals of the patch of a pairing from a plane: one for point-to-plane, three for the other kinds, none without a plane.
    #[inline]
    pub(super) fn residuals(
        &self,
        side: usize,
        Pairing { patch, own, .. }: &Pairing,
        plane: &Plane,
        place: [f64; 3],
        mut found: impl FnMut(Residual),
    ) {
        if plane.count == 0.0 {
            return;
        }
        let unit = if side == 0 { 1.0 } else { self.pose.scale() };
        let scatter = unit * unit * plane.sum_sq;
        let variance = (scatter + PRIOR_POINTS * self.typical) / (plane.count - 3.0 + PRIOR_POINTS);
        // From the plane to the patch, in the coordinates of the plane.
        let apart = minus(place, plane.mean);
        let across = dot(plane.normal, apart);
        // What a plane says of a place falls with the distance from the middle of its points: a narrow strip at the border of a cloud could be tilted.
        let aside = (dot(apart, apart) - across * across).max(0.0);
        let known =
            plane.count / (1.0 + aside / (plane.breadth + NARROW * NARROW * aside).max(f64::MIN_POSITIVE));
        let shape = (variance - SHAPE * self.typical).max(0.0);
        // The patch has its share of what the points around it say.
        let weight = patch.count / (variance * (1.0 + FILLED * patch.count / known) + patch.count * shape);
        let turned = |v: [f64; 3]| rotate(&self.pose.rotation(), v);
        let (at, normal) = match side {
            0 => (place, plane.normal),
            _ => (patch.at, turned(plane.normal)),
        };
        let apart_sq = unit * unit * across * across;
        let residual = |direction: [f64; 3], value: f64, weight: f64| Residual {
            at,
            normal: direction,
            value,
            apart_sq,
            expected: variance,
            weight,
            variance,
        };
        // From the plane to the patch for side 0, and back for side 1, in fixed coordinates.
        let way = || if side == 0 { apart } else { turned(times(-unit, apart)) };
        match self.kind {
            Refinement::PointToPoint => {
                let way = way();
                let third = dot(way, way) / 3.0;
                let weight = patch.count / self.typical;
                for axis in AXES {
                    let expected = self.typical;
                    let residual = residual(axis, dot(axis, way), weight);
                    found(Residual { apart_sq: third, expected, variance: third, ..residual });
                }
            }
            Refinement::PlaneToPlane => {
                // Weight of the normal direction is that of point-to-plane; along the planes, a patch is up to a cell from the mean of its partner.
                let other = if side == 0 { turned(*own) } else { *own };
                let along = self.cell * self.cell / variance;
                let spread = |i: usize, j: usize| {
                    let one = f64::from(u8::from(i == j));
                    let flat = |n: [f64; 3]| along * (one - n[i] * n[j]) + n[i] * n[j];
                    0.5 * (flat(normal) + flat(other))
                };
                let rows = inverse_root(&std::array::from_fn(|i| std::array::from_fn(|j| spread(i, j))));
                let way = way();
                rows.into_iter().flatten().for_each(|row| found(residual(row, dot(row, way), weight)));
            }
            _ => found(residual(normal, if side == 0 { across } else { -unit * across }, weight)),
        }
    }
}

/// Rows `r` with `Σ r·rᵀ = C⁻¹`, by the Cholesky decomposition of `C`; `None` unless it is positive definite.
fn inverse_root(c: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let a = c[0][0].sqrt();
    let (b, d) = (c[1][0] / a, c[2][0] / a);
    let e = (c[1][1] - b * b).sqrt();
    let f = (c[2][1] - d * b) / e;
    let g = (c[2][2] - d * d - f * f).sqrt();
    // Inverse of the lower triangle [[a, 0, 0], [b, e, 0], [d, f, g]].
    let rows = [
        [1.0 / a, 0.0, 0.0],
        [-b / (a * e), 1.0 / e, 0.0],
        [(b * f - d * e) / (a * e * g), -f / (e * g), 1.0 / g],
    ];
    rows.iter().flatten().all(|x| x.is_finite()).then_some(rows)
}
