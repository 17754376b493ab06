//! The points of a cloud, summed in cubic cells, and planes through eight cells at a time.
//!
//! A wall that is parallel to the grid is cut by the borders of cells, and a thin slice of its noise says nothing of where the wall is. So planes are fitted to
//! all points of the eight cells around a corner: the whole thickness of the wall is among them.

use pcr99_base::{
    kernel::least_directions::{BATCH, Moments, least_directions},
    vector::{lower_median, minus, plus, rotate, times},
};
use rayon::prelude::*;

use crate::grid::{KeyTable, for_each_key, key_of, keys_at_corner, middle_of_cell, parent_key};

/// Number of points that one task sums. Fixed, so that sums are formed in the same order on any number of threads.
const CHUNK: usize = 1 << 16;
/// Number of planes that one task fits.
const CHUNK_PLANES: usize = 256;
/// Smallest number of points of a plane. With 8, the ends of houses in a street are lost where points are sparse: 16 mm instead of 4 mm (example `accuracy`).
const PLANE_POINTS: f64 = 5.0;
/// Smallest number of standard deviations of its points that a plane must be away from the border of its cells. With fewer, the cut tails shift the plane.
const CLEARANCE: f64 = 6.0;

/// Larger cells see the same noise, and more of an edge. A plane of larger cells is not taken when the scatter of its points, squared, is more than this many times
/// that in the smaller cells.
const ROUGHER: f64 = 2.0;

/// Number of cells that decide whether the noise asks for larger ones.
const PROBES: usize = 256;

/// Number, sum and sums of products of the points in a cell, relative to its middle.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) count: f64,
    pub(super) sum: [f64; 3],
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
    /// Mean square distance of the points from their mean, along the direction in the plane in which they extend less.
    pub(super) breadth: f64,
    /// Whether the smallest cells gave it.
    pub(super) is_finest: bool,
}

impl Plane {
    pub(super) const NONE: Self =
        Self { mean: [0.0; 3], normal: [0.0; 3], sum_sq: 0.0, count: 0.0, breadth: 0.0, is_finest: false };

    /// Mean square distance of the points from the plane, without the bias of having fitted it to them.
    pub(super) fn variance(&self) -> f64 {
        self.sum_sq / (self.count - 3.0)
    }
}

/// The cells of a cloud of one size.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) size: f64,
    /// One divided by the size.
    inverse: f64,
    pub(super) table: KeyTable,
    pub(super) cells: Vec<Cell>,
}

impl Cells {
    /// No cells yet.
    fn empty(size: f64) -> Self {
        Self { size, inverse: 1.0 / size, table: KeyTable::new(), cells: Vec::new() }
    }

    /// The cells of points that are turned first.
    pub(super) fn of(points: &[[f64; 3]], turn: &[[f64; 3]; 3], size: f64) -> Self {
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
            Self { table, cells, ..Self::empty(size) }
        };
        let mut parts = points.par_chunks(CHUNK).map(part).collect::<Vec<_>>().into_iter();
        let mut all = parts.next().unwrap_or(Self::empty(size));
        for part in parts {
            for (&key, cell) in part.table.keys().iter().zip(&part.cells) {
                all.merge(key, cell);
            }
        }
        all
    }

    /// Adds points to the cell with this key, and returns its number.
    fn merge(&mut self, key: u64, cell: &Cell) -> usize {
        let number = self.table.number(key);
        if number == self.cells.len() {
            self.cells.push(Cell::default());
        }
        self.cells[number].merge(cell);
        number
    }

    /// Sorts the same points into cells of twice the size. Also returns, for each cell, the number of the larger cell that holds it.
    pub(super) fn doubled(&self) -> (Self, Vec<u32>) {
        let size = 2.0 * self.size;
        let mut doubled = Self::empty(size);
        let parents = self.table.keys().iter().zip(&self.cells).map(|(&key, cell)| {
            let parent = parent_key(key);
            let by = minus(middle_of_cell(key, self.size), middle_of_cell(parent, size));
            doubled.merge(parent, &cell.shifted(by)) as u32
        });
        let parents = parents.collect();
        (doubled, parents)
    }

    /// Approximate memory use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + size_of_val(&*self.cells)
    }

    /// Mean of the points of a cell.
    pub(super) fn mean(&self, number: usize) -> [f64; 3] {
        let Cell { count, sum, .. } = self.cells[number];
        plus(middle_of_cell(self.table.keys()[number], self.size), sum.map(|x| x / count))
    }

    /// Key of the cell of half the size that holds `point`.
    #[inline]
    pub(super) fn half_key(&self, point: [f64; 3]) -> Option<u64> {
        key_of(point, 2.0 * self.inverse)
    }

    /// Key of the corner nearest to `point`: that of the cell above it.
    #[inline]
    pub(super) fn corner_key(&self, point: [f64; 3]) -> Option<u64> {
        let half = 0.5 * self.size;
        key_of(point.map(|x| x + half), self.inverse)
    }

    /// The points of the eight cells around a corner, relative to it.
    fn around(&self, corner: u64) -> Cell {
        let half = 0.5 * self.size;
        let mut sum = Cell::default();
        for (k, key) in keys_at_corner(corner).into_iter().enumerate() {
            if let Some(number) = self.table.find(key) {
                let sign = |bit: usize| if k >> bit & 1 == 1 { -half } else { half };
                sum.merge(&self.cells[number].shifted([sign(2), sign(1), sign(0)]));
            }
        }
        sum
    }

    /// The planes of the eight cells around each of up to four corners.
    fn planes_around(&self, corners: &[u64]) -> [Plane; BATCH] {
        let mut sums = [Cell::default(); BATCH];
        sums.iter_mut().zip(corners).for_each(|(sum, &corner)| *sum = self.around(corner));
        let mut planes = planes_of(&sums);
        for (plane, &corner) in planes.iter_mut().zip(corners) {
            let half = 0.5 * self.size;
            plane.mean = plus(plane.mean, middle_of_cell(corner, self.size).map(|x| x - half));
        }
        planes
    }

    /// The plane of the eight cells around a corner.
    pub(super) fn plane(&self, corner: u64) -> Plane {
        self.planes_around(&[corner])[0]
    }

    /// The planes of the eight cells around many corners.
    pub(super) fn planes(&self, corners: &[u64]) -> Vec<Plane> {
        let part = |chunk: &[u64]| {
            let batches = chunk.chunks(BATCH).flat_map(|batch| self.planes_around(batch));
            batches.take(chunk.len()).collect::<Vec<Plane>>()
        };
        corners.par_chunks(CHUNK_PLANES).map(part).collect::<Vec<_>>().concat()
    }

    /// Whether the points around each cell lie on a plane, up to this squared scatter.
    pub(super) fn are_flat(&self, limit: f64) -> Vec<bool> {
        let corners: Vec<u64> = (0..self.cells.len())
            .map(|k| self.corner_key(self.mean(k)).unwrap_or(self.table.keys()[k]))
            .collect();
        let is_flat = |plane: &Plane| plane.count > 0.0 && plane.sum_sq <= limit * plane.count;
        self.planes(&corners).iter().map(is_flat).collect()
    }

    /// Typical squared scatter of points about their planes; `None` unless most points of a sample lie on planes well inside of their cells.
    pub(super) fn probe(&self) -> Option<f64> {
        let stride = self.cells.len().div_ceil(PROBES).max(1);
        let (mut planes, mut scatters) = (0, Vec::new());
        for (key, cell) in self.table.keys().iter().zip(&self.cells).step_by(stride) {
            let mean = plus(middle_of_cell(*key, self.size), cell.sum.map(|x| x / cell.count));
            let Some(corner) = self.corner_key(mean) else { continue };
            let plane = self.plane(corner);
            planes += usize::from(plane.count > 0.0);
            if self.is_clear(&plane) {
                scatters.push(plane.sum_sq / (plane.count - 3.0));
            }
        }
        let is_mostly_clear = 2 * scatters.len() >= planes;
        lower_median(&mut scatters).filter(|_| is_mostly_clear)
    }

    /// Takes `plane`, of these cells, where the smaller cells had none that is clear. Returns whether larger cells cannot have a better one.
    pub(super) fn take(&self, plane: &Plane, so_far: &mut Plane, is_finest: bool) -> bool {
        if so_far.count > 0.0 && plane.variance() > ROUGHER * so_far.variance() {
            return true;
        }
        let is_clear = self.is_clear(plane);
        if plane.count > 0.0 {
            *so_far = Plane { is_finest: is_finest && is_clear, ..*plane };
        }
        is_clear
    }

    /// Whether a plane lies well inside of its cells.
    pub(super) fn is_clear(&self, plane: &Plane) -> bool {
        let limit = self.size / CLEARANCE;
        plane.count > 0.0 && plane.sum_sq <= plane.count * limit * limit
    }
}

/// The planes of up to four sets of points, relative to the origin of each.
fn planes_of(sums: &[Cell; BATCH]) -> [Plane; BATCH] {
    let mut moments = Moments::EMPTY;
    for (k, sum) in sums.iter().enumerate() {
        moments.count[k] = sum.count;
        moments.sum.iter_mut().zip(sum.sum).for_each(|(to, x)| to[k] = x);
        moments.products.iter_mut().zip(sum.products).for_each(|(to, x)| to[k] = x);
    }
    let normals = least_directions(&moments);
    std::array::from_fn(|k| {
        let normal = normals.map(|axis| axis[k]);
        if sums[k].count < PLANE_POINTS || normal == [0.0; 3] {
            return Plane::NONE;
        }
        plane_along(&sums[k], normal)
    })
}

/// The plane of some points with a known normal.
fn plane_along(sum: &Cell, normal: [f64; 3]) -> Plane {
    let one = 1.0 / sum.count;
    let mean = sum.sum.map(|x| x * one);
    let [xx, yy, zz, xy, xz, yz] = sum.products.map(|x| x * one);
    let [mx, my, mz] = mean;
    let [a, b, c] = [xx - mx * mx, yy - my * my, zz - mz * mz];
    let [d, e, f] = [xy - mx * my, xz - mx * mz, yz - my * mz];
    let [x, y, z] = normal;
    let least = (x * x * a + y * y * b + z * z * c + 2.0 * (x * y * d + x * z * e + y * z * f)).max(0.0);
    // The other two eigenvalues of the covariance, from its trace and its principal minors.
    let both = (a + b + c - least).max(0.0);
    let product = a * b - d * d + a * c - e * e + b * c - f * f - least * both;
    let breadth = (0.5 * both - (0.25 * both * both - product).max(0.0).sqrt()).max(0.0);
    Plane { mean, normal, sum_sq: least * sum.count, count: sum.count, breadth, is_finest: false }
}
