//! Surfaces: the cells of a cloud in several sizes, the patches that they make, and the planes near a place.

use std::sync::{OnceLock, PoisonError, RwLock};

use pcr99_base::vector::distance_sq;

use super::cells::{Cells, Plane};
use crate::grid::{KeyTable, keys_at_corner};

/// Number of levels that are tried for a plane. Where points are too sparse or too noisy, the next size is tried.
const TRIED: usize = 3;
/// Cells are not doubled to fewer than this because of noise.
const FEWEST: usize = 200;
/// Cells are doubled until there are at most this many.
const LAST_CELLS: usize = 8;
/// Largest number of cells of the level whose flat cells are patches as a whole.
const COARSE_CELLS: usize = 6000;
/// Largest squared scatter of a flat cell, relative to that of the smallest cells.
const FLAT: f64 = 1.5;
/// Scatter below which a cell is flat in any case, as a fraction of its size.
const FLAT_SHARE: f64 = 0.02;

/// A patch: the points of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patch {
    /// Their mean.
    pub(super) at: [f64; 3],
    /// Their number.
    pub(super) count: f64,
    /// Level of the cell.
    pub(super) level: usize,
}

/// The cells of one size.
#[derive(Debug)]
struct Level {
    cells: Cells,
    /// Number of the cell of the next level that holds each cell; empty for the last level.
    parents: Vec<u32>,
    /// Whether the points around each cell lie on a plane. Measured when first needed.
    flat: OnceLock<Vec<bool>>,
    /// The planes that were needed, kept because neighbouring patches share them, and because a prepared cloud is compared more than once.
    planes: RwLock<Planes>,
}

/// Planes around corners, by the keys of the corners.
#[derive(Debug)]
struct Planes {
    corners: KeyTable,
    planes: Vec<Plane>,
}

impl Level {
    fn new(cells: Cells, parents: Vec<u32>) -> Self {
        let planes = RwLock::new(Planes { corners: KeyTable::new(), planes: Vec::new() });
        Self { cells, parents, flat: OnceLock::new(), planes }
    }

    /// The plane around a corner.
    fn plane(&self, corner: u64) -> Plane {
        let known = self.planes.read().unwrap_or_else(PoisonError::into_inner);
        known.corners.find(corner).map_or_else(|| self.cells.plane(corner), |number| known.planes[number])
    }

    /// Calls `found` with a number that goes with each corner, and the plane around that corner.
    fn planes<T: Copy>(&self, corners: &[(T, u64)], mut found: impl FnMut(T, &Plane)) {
        let mut missing = KeyTable::new();
        let mut later = Vec::new();
        let known = self.planes.read().unwrap_or_else(PoisonError::into_inner);
        for &(item, corner) in corners {
            match known.corners.find(corner) {
                Some(number) => found(item, &known.planes[number]),
                None => later.push((item, missing.number(corner))),
            }
        }
        drop(known);
        if later.is_empty() {
            return;
        }
        // No lock is held here: while a thread waits for the others, it may take up another task that needs the same planes.
        let planes = self.cells.planes(missing.keys());
        later.into_iter().for_each(|(item, number)| found(item, &planes[number]));
        let mut known = self.planes.write().unwrap_or_else(PoisonError::into_inner);
        for (&corner, plane) in missing.keys().iter().zip(planes) {
            // Another thread may have been faster.
            if known.corners.number(corner) == known.planes.len() {
                known.planes.push(plane);
            }
        }
    }
}

/// The cells of a cloud, of several sizes (levels), each twice the one before.
#[derive(Debug)]
pub struct Surface {
    levels: Vec<Level>,
    /// Lowest level whose planes are well inside of their cells.
    first: usize,
    /// Typical squared scatter of points about the planes of that level.
    scatter: f64,
}

impl Surface {
    /// Sums `points`, turned by `turn`, in cells of this size and of larger ones.
    pub(super) fn of(points: &[[f64; 3]], turn: &[[f64; 3]; 3], size: f64) -> Self {
        let mut levels: Vec<Level> = Vec::new();
        let mut cells = Cells::of(points, turn, size);
        while cells.cells.len() > LAST_CELLS {
            let (doubled, parents) = cells.doubled();
            levels.push(Level::new(cells, parents));
            cells = doubled;
        }
        levels.push(Level::new(cells, Vec::new()));
        let is_tried = |(k, level): &(usize, &Level)| *k == 0 || level.cells.cells.len() > FEWEST;
        let probes = levels.iter().enumerate().take_while(is_tried);
        // Where the surface itself is rough, no size is clear.
        let (first, scatter) =
            probes.filter_map(|(k, level)| Some((k, level.cells.probe()?))).next().unwrap_or((0, 0.0));
        Self { levels, first, scatter }
    }

    /// Approximate memory use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let level = |level: &Level| {
            let flat = level.flat.get().map_or(0, |flat| size_of_val(&**flat));
            let known = level.planes.read().unwrap_or_else(PoisonError::into_inner);
            let planes = known.corners.bytes() + size_of_val(&*known.planes);
            level.cells.bytes() + size_of_val(&*level.parents) + flat + planes
        };
        self.levels.iter().map(level).sum()
    }

    /// Lowest level that the noise allows.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// Lowest level, from `first` on, with few cells.
    pub(super) fn coarse(&self, first: usize) -> usize {
        let is_small = |level: &Level| level.cells.cells.len() <= COARSE_CELLS;
        let last = self.levels.len() - 1;
        (first..last).find(|&k| is_small(&self.levels[k])).unwrap_or(last)
    }

    /// Edge of the cells of a level.
    pub(super) fn size(&self, level: usize) -> f64 {
        self.level(level).size
    }

    fn level(&self, level: usize) -> &Cells {
        &self.levels[level.min(self.levels.len() - 1)].cells
    }

    /// Whether the points around each cell of a level lie on a plane.
    fn are_flat(&self, level: usize) -> &[bool] {
        let Level { cells, flat, .. } = &self.levels[level];
        let share = FLAT_SHARE * cells.size;
        flat.get_or_init(|| cells.are_flat((FLAT * self.scatter).max(share * share)))
    }

    /// The patches: cells of level `coarse` where the surface is flat, and smaller ones, down to level `first`, elsewhere.
    pub(super) fn patches(&self, first: usize, coarse: usize) -> Vec<Patch> {
        let mut patches = Vec::new();
        let last = self.levels.len() - 1;
        let first = first.min(last);
        // Whether the cells of the level above are done.
        let mut done: Vec<bool> = Vec::new();
        for k in (first..=coarse.min(last)).rev() {
            let Level { cells, parents, .. } = &self.levels[k];
            let flat: &[bool] = if k == first { &[] } else { self.are_flat(k) };
            let mut next = vec![true; cells.cells.len()];
            for (number, cell) in cells.cells.iter().enumerate() {
                if done.is_empty() || !done[parents[number] as usize] {
                    if k == first || flat[number] {
                        patches.push(Patch { at: cells.mean(number), count: cell.count, level: k });
                    } else {
                        next[number] = false;
                    }
                }
            }
            done = next;
        }
        patches
    }

    /// The plane near each of some places for the patch that is there.
    pub(super) fn planes(&self, places: &[([f64; 3], usize)]) -> Vec<Plane> {
        let mut planes = vec![Plane::NONE; places.len()];
        let mut open: Vec<u32> = (0..places.len() as u32).collect();
        for tried in 0..TRIED {
            // The corners near the places, by level.
            let mut corners = vec![Vec::new(); self.levels.len()];
            for i in open.drain(..) {
                let (place, level) = places[i as usize];
                let Some(Level { cells, .. }) = self.levels.get(level + tried) else { continue };
                if let Some(corner) = cells.corner_key(place) {
                    corners[level + tried].push((i, corner));
                }
            }
            for (level, corners) in self.levels.iter().zip(&corners) {
                level.planes(corners, |i, plane| {
                    if !level.cells.take(plane, &mut planes[i as usize], tried == 0) {
                        open.push(i);
                    }
                });
            }
        }
        planes
    }

    /// The plane near `point` for a patch of this level: of the smallest cells, at least as large as its own, that have enough points and lie clearly on both
    /// sides of it.
    pub(super) fn plane(&self, point: [f64; 3], level: usize) -> Plane {
        let mut plane = Plane::NONE;
        for (k, level) in self.levels.iter().skip(level).take(TRIED).enumerate() {
            let Some(corner) = level.cells.corner_key(point) else { break };
            if level.cells.take(&level.plane(corner), &mut plane, k == 0) {
                break;
            }
        }
        plane
    }

    /// The mean of the points of the cell, of those around the corner nearest to `point`, whose mean is nearest; without a normal.
    pub(super) fn nearest(&self, point: [f64; 3], level: usize) -> Plane {
        let cells = self.level(level);
        let Some(corner) = cells.corner_key(point) else { return Plane::NONE };
        let mean = |key: u64| {
            let number = cells.table.find(key)?;
            Some((cells.mean(number), cells.cells[number].count))
        };
        let nearer = |a: &([f64; 3], f64), b: &([f64; 3], f64)| {
            distance_sq(a.0, point).total_cmp(&distance_sq(b.0, point))
        };
        let found = keys_at_corner(corner).into_iter().filter_map(mean).min_by(nearer);
        found.map_or(Plane::NONE, |(mean, count)| Plane { mean, count, ..Plane::NONE })
    }

    /// A number that is the same for two points only if they have the same plane; `plane` is that of one of them.
    #[inline]
    pub(super) fn plane_key(&self, point: [f64; 3], level: usize, plane: &Plane) -> u64 {
        let cells = self.level(level);
        let key = match plane.is_finest {
            true => cells.corner_key(point),
            // The corners of all sizes of cells that are nearest to a point depend on its half cell.
            false => cells.half_key(point),
        };
        key.unwrap_or(u64::MAX)
    }
}
