//! Voxel sampling: the centroid of the points in each cubic cell, and the choice of the cell size.

use std::sync::OnceLock;

use pcr99::random::Random;
use rayon::prelude::*;

use pcr99_base::vector::{lower_median, plus};

use crate::grid::{KeyTable, for_each_key};

/// Number of points that one task bins. Fixed, so that sums are formed in the same order on any number of threads.
const CHUNK: usize = 1 << 16;
/// Larger clouds are sampled to this many points to choose the voxel.
const SAMPLE: usize = 1 << 15;
/// Number of cells that a cloud should fill: enough for descriptors to tell places apart, few enough to match all with all.
const ENOUGH: usize = 5000;
/// Smallest mean number of points in a cell. With fewer, neighbouring points fall into cells of their own, and the pattern of the scan
/// stays in the sample.
const POINTS_PER_CELL: usize = 2;
/// Smallest number of cells of a small cloud beside a large one. With fewer, its shape is lost.
const FEW: usize = 1000;

/// Centroids of the points in each voxel.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VoxelSample {
    /// One centroid for each occupied voxel, in the order of the voxels' coordinates.
    pub points: Vec<[f64; 3]>,
    /// Number of points in each voxel.
    pub counts: Vec<u32>,
    /// Sum of the normals in each voxel; empty without normals.
    pub normals: Vec<[f64; 3]>,
    /// Number of points more than a million voxels from the origin. They are in no voxel.
    pub strays: usize,
}

/// Sum and number of the points in a cell.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    sum: [f64; 3],
    count: u32,
}

impl Cell {
    fn add(&mut self, sum: [f64; 3], count: u32) {
        self.sum = plus(self.sum, sum);
        self.count += count;
    }
}

/// The cells of some points.
struct Cells {
    table: KeyTable,
    cells: Vec<Cell>,
    /// Sum of the normals in each cell; empty without normals.
    normals: Vec<[f64; 3]>,
    strays: usize,
}

impl Cells {
    const fn none() -> Self {
        Self { table: KeyTable::new(), cells: Vec::new(), normals: Vec::new(), strays: 0 }
    }

    /// Number of the cell with this key.
    fn number(&mut self, key: u64, with_normals: bool) -> usize {
        let number = self.table.number(key);
        if number == self.cells.len() {
            self.cells.push(Cell::default());
            if with_normals {
                self.normals.push([0.0; 3]);
            }
        }
        number
    }

    /// Sorts points into cells.
    fn of(points: &[[f64; 3]], normals: Option<&[[f64; 3]]>, inverse: f64) -> Self {
        let mut this = Self::none();
        for_each_key(points, inverse, |k, key| {
            let Some(key) = key else {
                this.strays += 1;
                return;
            };
            let number = this.number(key, normals.is_some());
            this.cells[number].add(points[k], 1);
            if let Some(normals) = normals {
                let is_finite = normals[k].iter().all(|x| x.is_finite());
                let normal = if is_finite { normals[k] } else { [0.0; 3] };
                this.normals[number] = plus(this.normals[number], normal);
            }
        });
        this
    }

    /// Adds the cells of later points.
    fn merge(&mut self, other: &Self) {
        self.strays += other.strays;
        for (k, (&key, cell)) in other.table.keys().iter().zip(&other.cells).enumerate() {
            let number = self.number(key, !other.normals.is_empty());
            self.cells[number].add(cell.sum, cell.count);
            if let Some(&normal) = other.normals.get(k) {
                self.normals[number] = plus(self.normals[number], normal);
            }
        }
    }
}

impl VoxelSample {
    /// Samples `points` with cubic voxels whose edges are `voxel` long.
    pub fn of(points: &[[f64; 3]], voxel: f64) -> Self {
        Self::with_normals(points, None, voxel)
    }

    /// Samples `points` and sums their normals; there must be one normal for each point.
    pub fn with_normals(points: &[[f64; 3]], normals: Option<&[[f64; 3]]>, voxel: f64) -> Self {
        let bin = |(number, chunk): (usize, &[[f64; 3]])| {
            let start = number * CHUNK;
            Cells::of(chunk, normals.map(|normals| &normals[start..start + chunk.len()]), 1.0 / voxel)
        };
        let mut parts = points.par_chunks(CHUNK).enumerate().map(bin).collect::<Vec<_>>().into_iter();
        let mut all = parts.next().unwrap_or_else(Cells::none);
        parts.for_each(|part| all.merge(&part));
        let mut order: Vec<(u64, u32)> = all.table.keys().iter().copied().zip(0..).collect();
        order.sort_unstable();
        let numbers = || order.iter().map(|&(_, number)| number as usize);
        let centroid = |Cell { sum, count }: Cell| sum.map(|x| x / f64::from(count));
        Self {
            points: numbers().map(|number| centroid(all.cells[number])).collect(),
            counts: numbers().map(|number| all.cells[number].count).collect(),
            normals: match normals {
                Some(_) => numbers().map(|number| all.normals[number]).collect(),
                None => Vec::new(),
            },
            strays: all.strays,
        }
    }
}

/// Lower median on each axis: the centre of most points, whatever strays there are. Larger clouds are sampled first.
pub fn middle(points: &[[f64; 3]]) -> [f64; 3] {
    middle_of(&spread_sample(points))
}

/// Lower median on each axis.
pub(crate) fn middle_of(sample: &[[f64; 3]]) -> [f64; 3] {
    std::array::from_fn(|axis| {
        lower_median(&mut sample.iter().map(|p| p[axis]).collect::<Vec<_>>()).unwrap_or(0.0)
    })
}

/// At most `SAMPLE` points: one at random of each stretch of equal length.
pub(crate) fn spread_sample(points: &[[f64; 3]]) -> Vec<[f64; 3]> {
    if points.len() <= SAMPLE {
        return points.to_vec();
    }
    let mut random = Random::new(0);
    let bound = |k: usize| (k as u64 * points.len() as u64 / SAMPLE as u64) as usize;
    (0..SAMPLE).map(|k| points[bound(k) + random.below(bound(k + 1) - bound(k))]).collect()
}

/// Density of a cloud: the number of cells that it fills, for every cell size. It decides the voxel size.
#[derive(Debug, Clone)]
pub struct Density {
    sample: Vec<[f64; 3]>,
    points: usize,
    extent: f64,
    /// Computed when first needed; a given voxel size does not need it.
    voxel: OnceLock<f64>,
}

impl Density {
    /// Memory of the sample, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.sample)
    }

    /// Measures distinct points, which are relative to their [`middle`].
    pub fn of(points: &[[f64; 3]]) -> Self {
        Self::of_sample(spread_sample(points), points.len())
    }

    /// Measures a sample of this many points.
    pub(crate) fn of_sample(sample: Vec<[f64; 3]>, points: usize) -> Self {
        let mut reach: Vec<f64> =
            sample.iter().map(|p| p.iter().fold(0.0, |m: f64, x| m.max(x.abs()))).collect();
        // Nine tenths of the points: far strays do not count.
        let tenth = reach.len().saturating_sub(1) * 9 / 10;
        let extent =
            if reach.is_empty() { 0.0 } else { 2.0 * *reach.select_nth_unstable_by(tenth, f64::total_cmp).1 };
        Self { sample, points, extent, voxel: OnceLock::new() }
    }

    /// The density of the cloud with all lengths multiplied by `scale`.
    #[must_use]
    pub fn scaled(&self, scale: f64) -> Self {
        Self {
            sample: self.sample.iter().map(|p| p.map(|x| scale * x)).collect(),
            points: self.points,
            extent: scale * self.extent,
            voxel: OnceLock::from(scale * self.voxel()),
        }
    }

    /// Edge of a cube around the origin that holds nine tenths of the points.
    pub fn extent(&self) -> f64 {
        self.extent
    }

    /// Voxel size that suits this cloud alone: about 5000 cells, with at least two points in each on average.
    pub fn voxel(&self) -> f64 {
        *self.voxel.get_or_init(|| self.voxel_for(ENOUGH.min(self.points / POINTS_PER_CELL).max(1)))
    }

    /// Number of cells of this size that the cloud fills.
    pub fn cells(&self, voxel: f64) -> usize {
        cells_of(&self.sample, voxel)
    }

    /// Size of the cells of which the cloud fills about `wanted`. The number of cells falls roughly with the square of their size; a
    /// bracket ensures convergence where it does not.
    fn voxel_for(&self, wanted: usize) -> f64 {
        if self.extent <= 0.0 {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut voxel = self.extent / (wanted as f64).sqrt();
        for _ in 0..24 {
            let cells = self.cells(voxel);
            if cells.abs_diff(wanted) * 32 <= wanted {
                break;
            }
            if cells > wanted {
                low = voxel;
            } else {
                high = voxel;
            }
            let guess = voxel * (cells.max(1) as f64 / wanted as f64).sqrt();
            voxel = match (low < guess, guess < high) {
                (true, true) => guess,
                _ if high.is_infinite() => 2.0 * low,
                _ => 0.5 * (low + high),
            };
        }
        voxel
    }

    /// Voxel size for a pair of clouds in the same units.
    ///
    /// It is the coarser of the two sizes, so that neither cloud is sampled finer than it was measured. When a small cloud would fill fewer
    /// than 1000 cells of that size, the voxel is finer, as far as the points of both clouds allow and the large cloud does not fill more
    /// than 20 000.
    pub fn common_voxel(a: &Self, b: &Self) -> f64 {
        let coarser = a.voxel().max(b.voxel());
        let small = if a.voxel() <= b.voxel() { a } else { b };
        let large = if a.voxel() <= b.voxel() { b } else { a };
        if small.cells(coarser) >= FEW || small.points < POINTS_PER_CELL * FEW {
            return coarser;
        }
        let many = (4 * ENOUGH).min(large.points / POINTS_PER_CELL).max(1);
        small.voxel_for(FEW).max(large.voxel_for(many)).min(coarser)
    }
}

/// Number of cells of this size that the points fill, without strays.
pub(crate) fn cells_of(points: &[[f64; 3]], voxel: f64) -> usize {
    let mut table = KeyTable::new();
    for_each_key(points, 1.0 / voxel, |_, key| {
        key.map(|key| table.number(key));
    });
    table.keys().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit square of `n × n` points.
    fn square(n: usize) -> Vec<[f64; 3]> {
        let at = |k: usize| (k as f64 + 0.5) / n as f64 - 0.5;
        (0..n * n).map(|k| [at(k % n), at(k / n), 0.1]).collect()
    }

    #[test]
    fn centroids_are_means_of_their_cells() {
        let sample =
            VoxelSample::of(&[[0.1, 0.1, 0.1], [0.3, 0.3, 0.5], [1.5, 0.0, 0.0], [1e9, 0.0, 0.0]], 1.0);
        assert_eq!(sample.points.len(), 2);
        assert!((sample.points[0][2] - 0.3).abs() < 1e-15 && sample.points[1] == [1.5, 0.0, 0.0]);
        assert_eq!((sample.counts, sample.strays), (vec![2, 1], 1));
        assert_eq!(VoxelSample::of(&[], 1.0).points.len(), 0);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let points = square(400);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| VoxelSample::of(&points, 0.013))
        };
        let one = with(1);
        assert_eq!(one, with(3));
        assert_eq!(one.counts.iter().sum::<u32>(), 160_000);
    }

    #[test]
    fn a_dense_cloud_gets_some_thousand_cells_in_any_unit() {
        let cloud = square(400);
        let voxel = Density::of(&cloud).voxel();
        let cells = VoxelSample::of(&cloud, voxel).points.len();
        assert!((4000..6500).contains(&cells), "{cells}");
        let large: Vec<[f64; 3]> = cloud.iter().map(|p| p.map(|x| x * 1024.0)).collect();
        assert_eq!(Density::of(&large).voxel(), 1024.0 * voxel);
    }

    #[test]
    fn a_sparse_cloud_is_not_sampled_finer_than_its_points() {
        let spacing = 1.0 / 50.0;
        let voxel = Density::of(&square(50)).voxel();
        assert!(voxel > spacing && voxel < 2.0 * spacing, "{voxel}");
        let common = Density::common_voxel(&Density::of(&square(50)), &Density::of(&square(400)));
        assert_eq!(common, voxel);
    }

    #[test]
    fn a_small_cloud_beside_a_large_one_is_seen_finely() {
        let small: Vec<[f64; 3]> = square(200).iter().map(|p| p.map(|x| 0.2 * x)).collect();
        let (small, large) = (Density::of(&small), Density::of(&square(600)));
        let voxel = Density::common_voxel(&small, &large);
        assert!(voxel < 0.7 * large.voxel() && voxel > small.voxel());
    }

    #[test]
    fn strays_do_not_move_the_middle_or_the_size() {
        let mut cloud = square(100);
        let before = Density::of(&cloud).voxel();
        cloud.push([1e30, 0.0, 0.0]);
        assert!(middle(&cloud)[0].abs() < 0.02);
        assert!((Density::of(&cloud).voxel() / before - 1.0).abs() < 0.1);
    }
}
