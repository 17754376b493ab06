//! Patches: the points of a cloud, summed in cubic cells, and planes through eight cells at a time.
//!
//! A wall that is parallel to the grid is cut by the borders of cells, and a thin slice of its noise says nothing of where the wall is. So patches count by
//! their points, and planes are fitted to all points of the eight cells around a corner: the whole thickness of the wall is among them.

use pcr99_base::{
    kernel::least_directions::{Moments, least_directions},
    vector::{distance_sq, dot, lower_median, minus, plus, rotate, times},
};
use rayon::prelude::*;

use crate::grid::{KeyTable, for_each_key, key_of, keys_at_corner, middle_of_cell, parent_key};

/// Number of points that one task sums. Fixed, so that sums are formed in the same order on any number of threads.
const CHUNK: usize = 1 << 16;
/// Smallest number of points of a plane.
const PLANE_POINTS: f64 = 8.0;
/// Smallest number of standard deviations of its points that a plane must be away from the border of its cells. With fewer, the cut tails shift the plane.
const CLEARANCE: f64 = 6.0;

/// Number, sum and sums of products of the points in a cell, relative to its middle.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    count: f64,
    sum: [f64; 3],
    /// Sums of xx, yy, zz, xy, xz and yz.
    products: [f64; 6],
}

impl Cell {
    fn add(&mut self, [x, y, z]: [f64; 3]) {
        self.count += 1.0;
        self.sum = plus(self.sum, [x, y, z]);
        let products = [x * x, y * y, z * z, x * y, x * z, y * z];
        self.products.iter_mut().zip(products).for_each(|(sum, x)| *sum += x);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum = plus(self.sum, other.sum);
        self.products.iter_mut().zip(other.products).for_each(|(sum, x)| *sum += x);
    }

    /// Returns the sums of the same points after all of them are moved by `by`.
    fn shifted(&self, by: [f64; 3]) -> Self {
        let Self { count, sum, products: [xx, yy, zz, xy, xz, yz] } = *self;
        let product =
            |i: usize, j: usize, old: f64| old + by[i] * sum[j] + by[j] * sum[i] + count * by[i] * by[j];
        let products = [
            product(0, 0, xx),
            product(1, 1, yy),
            product(2, 2, zz),
            product(0, 1, xy),
            product(0, 2, xz),
            product(1, 2, yz),
        ];
        Self { count, sum: plus(sum, times(count, by)), products }
    }
}

/// A plane fitted to points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plane {
    /// Mean of the points.
    pub(super) mean: [f64; 3],
    /// Unit normal.
    pub(super) normal: [f64; 3],
    /// Sum of the squared distances of the points from the plane.
    pub(super) sum_sq: f64,
    /// Number of points; 0 where there is no plane.
    pub(super) count: f64,
    /// Whether the smallest cells gave it.
    pub(super) is_finest: bool,
}

impl Plane {
    pub(super) const NONE: Self =
        Self { mean: [0.0; 3], normal: [0.0; 3], sum_sq: 0.0, count: 0.0, is_finest: false };
}

/// The cells of a cloud of one size.
#[derive(Debug)]
struct Cells {
    size: f64,
    table: KeyTable,
    cells: Vec<Cell>,
}

impl Cells {
    fn of(points: &[[f64; 3]], turn: &[[f64; 3]; 3], size: f64) -> Self {
        let part = |chunk: &[[f64; 3]]| {
            let chunk: Vec<[f64; 3]> = chunk.iter().map(|&p| rotate(turn, p)).collect();
            let (mut table, mut cells) = (KeyTable::new(), Vec::<Cell>::new());
            // Neighbours in the list are often in the same cell.
            let (mut last, mut number, mut middle) = (u64::MAX, 0, [0.0; 3]);
            for_each_key(&chunk, 1.0 / size, |k, key| {
                // Strays are a million cells away and have no neighbours.
                let Some(key) = key else { return };
                if key != last {
                    (last, number, middle) = (key, table.number(key), middle_of_cell(key, size));
                    if number == cells.len() {
                        cells.push(Cell::default());
                    }
                }
                cells[number].add(minus(chunk[k], middle));
            });
            Self { size, table, cells }
        };
        let mut parts = points.par_chunks(CHUNK).map(part).collect::<Vec<_>>().into_iter();
        let mut all = parts.next().unwrap_or(Self { size, table: KeyTable::new(), cells: Vec::new() });
        for part in parts {
            for (&key, cell) in part.table.keys().iter().zip(&part.cells) {
                all.merge(key, cell);
            }
        }
        all
    }

    fn merge(&mut self, key: u64, cell: &Cell) {
        let number = self.table.number(key);
        if number == self.cells.len() {
            self.cells.push(Cell::default());
        }
        self.cells[number].merge(cell);
    }

    /// The same points in cells of twice the size.
    fn doubled(&self) -> Self {
        let size = 2.0 * self.size;
        let mut doubled = Self { size, table: KeyTable::new(), cells: Vec::new() };
        for (&key, cell) in self.table.keys().iter().zip(&self.cells) {
            let parent = parent_key(key);
            let by = minus(middle_of_cell(key, self.size), middle_of_cell(parent, size));
            doubled.merge(parent, &cell.shifted(by));
        }
        doubled
    }

    /// The points of the eight cells around the corner nearest to `point`, relative to that corner, and the corner.
    fn around(&self, point: [f64; 3]) -> Option<(Cell, [f64; 3])> {
        let half = 0.5 * self.size;
        let key = key_of(point.map(|x| x + half), 1.0 / self.size)?;
        let mut sum = Cell::default();
        for (k, key) in keys_at_corner(key).into_iter().enumerate() {
            if let Some(number) = self.table.find(key) {
                let sign = |bit: usize| if k >> bit & 1 == 1 { -half } else { half };
                sum.merge(&self.cells[number].shifted([sign(2), sign(1), sign(0)]));
            }
        }
        Some((sum, middle_of_cell(key, self.size).map(|x| x - half)))
    }

    /// The plane of the eight cells around the corner nearest to `point`.
    fn plane(&self, point: [f64; 3]) -> Plane {
        self.around(point).map_or(Plane::NONE, |(sum, corner)| Self::plane_of(&sum, corner))
    }

    /// The plane of some points, which are relative to `corner`.
    fn plane_of(sum: &Cell, corner: [f64; 3]) -> Plane {
        if sum.count < PLANE_POINTS {
            return Plane::NONE;
        }
        let mut moments = Moments::EMPTY;
        moments.count[0] = sum.count;
        moments.sum.iter_mut().zip(sum.sum).for_each(|(to, x)| to[0] = x);
        moments.products.iter_mut().zip(sum.products).for_each(|(to, x)| to[0] = x);
        let normal = least_directions(&moments).map(|axis| axis[0]);
        if normal == [0.0; 3] {
            return Plane::NONE;
        }
        let mean = sum.sum.map(|x| x / sum.count);
        let [xx, yy, zz, xy, xz, yz] = sum.products;
        let [x, y, z] = normal;
        let squares = x * x * xx + y * y * yy + z * z * zz + 2.0 * (x * y * xy + x * z * xz + y * z * yz);
        let offset = dot(normal, mean);
        Plane {
            mean: plus(mean, corner),
            normal,
            sum_sq: (squares - sum.count * offset * offset).max(0.0),
            count: sum.count,
            is_finest: false,
        }
    }

    /// Typical squared scatter of points about their planes; `None` unless most points of a sample lie on planes well inside of their cells.
    fn probe(&self) -> Option<f64> {
        let stride = self.cells.len().div_ceil(PROBES).max(1);
        let (mut planes, mut scatters) = (0, Vec::new());
        for (key, cell) in self.table.keys().iter().zip(&self.cells).step_by(stride) {
            let plane = self.plane(plus(middle_of_cell(*key, self.size), cell.sum.map(|x| x / cell.count)));
            planes += usize::from(plane.count > 0.0);
            if self.is_clear(&plane) {
                scatters.push(plane.sum_sq / (plane.count - 3.0));
            }
        }
        let is_mostly_clear = 2 * scatters.len() >= planes;
        lower_median(&mut scatters).filter(|_| is_mostly_clear)
    }

    /// Whether a plane lies well inside of its cells.
    fn is_clear(&self, plane: &Plane) -> bool {
        let limit = self.size / CLEARANCE;
        plane.count > 0.0 && plane.sum_sq <= plane.count * limit * limit
    }
}

/// A patch: the points of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patch {
    /// Their mean.
    pub(super) at: [f64; 3],
    /// Their number.
    pub(super) count: f64,
    /// Mean of the points in the eight cells around them. Whether they belong to the other cloud is decided by it: a thin slice of a noisy wall would be
    /// taken for something else.
    pub(super) middle: [f64; 3],
    /// Number of those points.
    pub(super) around: f64,
    /// Level of the cell.
    level: usize,
}

/// The cells of a cloud, of several sizes (levels), each twice the one before.
#[derive(Debug)]
pub(super) struct Surface {
    levels: Vec<Cells>,
    /// Typical squared scatter of points about the planes of the smallest cells.
    scatter: f64,
}

/// Number of levels that are tried for a plane. Where points are too sparse or too noisy, the next size is tried.
const TRIED: usize = 3;
/// Cells are not doubled to fewer than this because of noise.
const FEWEST: usize = 200;
/// Number of cells that decide whether the noise asks for larger ones.
const PROBES: usize = 256;
/// Largest number of cells of the level whose flat cells are patches as a whole.
const COARSE_CELLS: usize = 6000;
/// A cell is flat where the squared scatter is at most this many times that of the smallest cells, …
const FLAT: f64 = 1.5;
/// … or the scatter is at most this fraction of the cell.
const FLAT_SHARE: f64 = 0.02;

impl Surface {
    /// Sums `points`, turned by `turn`, in cells of at least this size; larger where the noise asks for it.
    pub(super) fn of(points: &[[f64; 3]], turn: &[[f64; 3]; 3], size: f64) -> Self {
        let mut finest = Cells::of(points, turn, size);
        let mut probe = finest.probe();
        if probe.is_none() {
            let mut coarser = finest.doubled();
            while coarser.cells.len() > FEWEST && probe.is_none() {
                probe = coarser.probe();
                if probe.is_none() {
                    coarser = coarser.doubled();
                }
            }
            // Where the surface itself is rough, no size is clear.
            if probe.is_some() {
                finest = coarser;
            }
        }
        Self { levels: vec![finest], scatter: probe.unwrap_or(0.0) }
    }

    /// Makes the cells larger until they have at least about this size.
    pub(super) fn coarsen(&mut self, size: f64) {
        while self.size() < 0.7 * size {
            self.levels = vec![self.levels[0].doubled()];
        }
    }

    /// Adds larger cells. Returns the lowest level with few cells.
    pub(super) fn grow(&mut self) -> usize {
        while self.levels[self.levels.len() - 1].cells.len() > COARSE_CELLS {
            self.levels.push(self.levels[self.levels.len() - 1].doubled());
        }
        self.levels.len() - 1
    }

    /// Adds larger cells until those of level `coarse` have the larger ones that planes need.
    pub(super) fn grow_to(&mut self, coarse: usize) {
        while self.levels.len() < coarse + TRIED {
            self.levels.push(self.levels[self.levels.len() - 1].doubled());
        }
    }

    /// Edge of the smallest cells.
    pub(super) fn size(&self) -> f64 {
        self.levels[0].size
    }

    /// The patches: cells of level `coarse` where the surface is flat, and smaller ones elsewhere.
    pub(super) fn patches(&self, coarse: usize) -> Vec<Patch> {
        let mut patches = Vec::new();
        // Whether the cells of the level above are done.
        let mut done: Vec<bool> = Vec::new();
        for level in (0..=coarse).rev() {
            let cells = &self.levels[level];
            let limit = (FLAT * self.scatter).max((FLAT_SHARE * cells.size) * (FLAT_SHARE * cells.size));
            let patch = |(key, cell): (&u64, &Cell)| {
                let above = self.levels.get(level + 1).filter(|_| level < coarse);
                let parent = above.and_then(|above| above.table.find(parent_key(*key)));
                if parent.is_some_and(|parent| done[parent]) {
                    return (true, None);
                }
                let at = plus(middle_of_cell(*key, cells.size), cell.sum.map(|x| x / cell.count));
                let Some((sum, corner)) = cells.around(at) else { return (true, None) };
                if level > 0 {
                    let plane = Cells::plane_of(&sum, corner);
                    if plane.count == 0.0 || plane.sum_sq > limit * plane.count {
                        return (false, None);
                    }
                }
                let middle = plus(corner, sum.sum.map(|x| x / sum.count));
                (true, Some(Patch { at, count: cell.count, middle, around: sum.count, level }))
            };
            let list: Vec<(bool, Option<Patch>)> =
                cells.table.keys().par_iter().zip(&cells.cells[..]).with_min_len(1024).map(patch).collect();
            patches.extend(list.iter().filter_map(|(_, patch)| *patch));
            done = list.into_iter().map(|(done, _)| done).collect();
        }
        patches
    }

    /// The plane near `point` for a patch: of the smallest cells, at least as large as its own, that have enough points and lie clearly on both sides of it.
    pub(super) fn plane(&self, point: [f64; 3], patch: &Patch) -> Plane {
        let mut last = Plane::NONE;
        for (k, cells) in self.levels[patch.level..].iter().take(TRIED).enumerate() {
            let plane = cells.plane(point);
            if cells.is_clear(&plane) {
                return Plane { is_finest: k == 0, ..plane };
            }
            if plane.count > 0.0 {
                last = plane;
            }
        }
        last
    }

    /// Normal of a patch of this cloud; zero where it has none.
    pub(super) fn normal(&self, patch: &Patch) -> [f64; 3] {
        self.plane(patch.at, patch).normal
    }

    /// The mean of the points of the cell, of those around the corner nearest to `point`, whose mean is nearest; without a normal.
    pub(super) fn nearest(&self, point: [f64; 3], patch: &Patch) -> Plane {
        let Cells { size, table, cells } = &self.levels[patch.level];
        let Some(key) = key_of(point.map(|x| x + 0.5 * size), 1.0 / size) else { return Plane::NONE };
        let mean = |key: u64| {
            let cell = &cells[table.find(key)?];
            Some((plus(middle_of_cell(key, *size), cell.sum.map(|x| x / cell.count)), cell.count))
        };
        let nearer = |a: &([f64; 3], f64), b: &([f64; 3], f64)| {
            distance_sq(a.0, point).total_cmp(&distance_sq(b.0, point))
        };
        let found = keys_at_corner(key).into_iter().filter_map(mean).min_by(nearer);
        found.map_or(Plane::NONE, |(mean, count)| Plane { mean, count, ..Plane::NONE })
    }

    /// A number that is the same for two points only if they have the same plane; `plane` is that of one of them.
    pub(super) fn plane_key(&self, point: [f64; 3], patch: &Patch, plane: &Plane) -> u64 {
        let size = self.levels[patch.level].size;
        let key = match plane.is_finest {
            true => key_of(point.map(|x| x + 0.5 * size), 1.0 / size),
            // The corners of all sizes of cells that are nearest to a point depend on its half cell.
            false => key_of(point, 2.0 / size),
        };
        key.unwrap_or(u64::MAX)
    }
}
