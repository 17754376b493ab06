//! Descriptors in fixed point, their coordinates, and the index of them.

use crate::{
    dispatch::compiled_twice,
    kernel::pair_features::{DIMENSIONS, Descriptor},
};

/// Number of descriptors in a block, of blocks in a group, and of groups that are tested at once: the entries of a vector register.
pub const LANES: usize = 8;
/// Number of descriptors in a group.
pub const GROUP: usize = LANES * LANES;
/// Number of directions of the lower bounds.
pub const DIRECTIONS: usize = 16;
/// Number of steps of an exact distance, two dimensions each; the last one is filled with a zero.
pub(super) const STEPS: usize = DIMENSIONS.div_ceil(2);
/// Number of directions along which descriptors have bounding boxes: the first half.
pub const BOXED: usize = DIRECTIONS / 2;
/// Number of steps of a distance along half of the directions.
pub(super) const HALF: usize = BOXED / 2;
/// One unit of a descriptor in fixed point.
const UNIT: f32 = 64.0;

/// A descriptor in fixed point.
pub type Fixed = [[i16; 2]; STEPS];
/// Sixteen orthonormal vectors: for each dimension of a descriptor, its part in each direction. Vectors of zeros are allowed.
pub type Directions = [[f32; DIRECTIONS]; DIMENSIONS];
/// Coordinates along the directions.
pub type Coordinates = [i16; DIRECTIONS];
/// Eight rows of pairs: for each step the pair of the first row, of the second, and so on.
pub(super) type Rows<const N: usize> = [[i16; 2 * LANES]; N];

compiled_twice! {
    /// A descriptor in fixed point.
    pub fn fixed(descriptor: &Descriptor) -> Fixed = fixed_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
pub(super) fn fixed_lanes(descriptor: &Descriptor) -> Fixed {
    let mut fixed = [[0; 2]; STEPS];
    for (fixed, x) in fixed.as_flattened_mut().iter_mut().zip(descriptor) {
        // Rounds to nearest, since no entry is negative.
        *fixed = (x * UNIT + 0.5) as i16;
    }
    fixed
}

compiled_twice! {
    /// Coordinates of a descriptor along the directions, truncated.
    pub fn coordinates(fixed: &Fixed, directions: &Directions) -> Coordinates = coordinates_lanes
}

#[expect(clippy::inline_always, reason = "compiled a second time for AVX2")]
#[inline(always)]
pub(super) fn coordinates_lanes(fixed: &Fixed, directions: &Directions) -> Coordinates {
    let mut sums = [0.0; DIRECTIONS];
    for (&x, row) in fixed.as_flattened().iter().zip(directions) {
        let x = f32::from(x);
        sums.iter_mut().zip(row).for_each(|(sum, part)| *sum += x * part);
    }
    // Those of histograms are at most 200 · 64 · √3 < 2¹⁵ in size. Others are clamped, which brings them nearer to each other and keeps the bounds valid.
    sums.map(|sum| sum as i16)
}

/// Descriptors with their coordinates. A descriptor's number is its place in the lists.
#[derive(Debug, Clone, Default)]
pub struct Descriptors {
    pub(super) fixed: Vec<Fixed>,
    pub(super) coordinates: Vec<Coordinates>,
}

impl Descriptors {
    /// Descriptors and their coordinates along the directions.
    pub fn of(descriptors: &[Descriptor], directions: &Directions) -> Self {
        let fixed: Vec<Fixed> = descriptors.iter().map(fixed).collect();
        let coordinates = fixed.iter().map(|fixed| coordinates(fixed, directions)).collect();
        Self { fixed, coordinates }
    }

    /// Coordinates of all descriptors.
    pub fn coordinates(&self) -> &[Coordinates] {
        &self.coordinates
    }
}

/// Bounding boxes of eight parts along the first half of the directions.
#[derive(Debug, Clone)]
pub(super) struct Boxes {
    pub(super) low: Rows<HALF>,
    pub(super) high: Rows<HALF>,
    /// One bit for each part that is not empty. The boxes of empty parts are copies of another.
    pub(super) present: u32,
}

impl Boxes {
    /// Boxes of at most eight parts of this size, of which there is at least one.
    fn of(order: &[u32], coordinates: &[Coordinates], size: usize) -> Self {
        let mut boxes = Self { low: [[0; 2 * LANES]; HALF], high: [[0; 2 * LANES]; HALF], present: 0 };
        for (lane, part) in order.chunks(size).enumerate() {
            let (mut low, mut high) = ([i16::MAX; BOXED], [i16::MIN; BOXED]);
            for &number in part {
                let coordinates = &coordinates[number as usize];
                for k in 0..BOXED {
                    (low[k], high[k]) = (low[k].min(coordinates[k]), high[k].max(coordinates[k]));
                }
            }
            boxes.present |= 1 << lane;
            // Empty parts repeat the last box.
            for lane in lane..LANES {
                for k in 0..BOXED {
                    let (step, place) = (k / 2, 2 * lane + k % 2);
                    (boxes.low[step][place], boxes.high[step][place]) = (low[k], high[k]);
                }
                if order.len() > (lane + 1) * size {
                    break;
                }
            }
        }
        boxes
    }
}

/// Eight descriptors. A short block is filled with copies of its last one.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) fixed: Rows<STEPS>,
    pub(super) numbers: [u32; LANES],
}

/// Descriptors in blocks, with their coordinates and bounding boxes.
#[derive(Debug, Clone)]
pub struct Index {
    /// Boxes of eight groups each.
    pub(super) groups: Vec<Boxes>,
    /// Boxes of the blocks of each group.
    pub(super) boxes: Vec<Boxes>,
    /// Coordinates of each block along the first half of the directions, and along the second.
    pub(super) coordinates: [Vec<Rows<HALF>>; 2],
    pub(super) blocks: Vec<Block>,
}

impl Index {
    /// The index of these descriptors. `order` lists their numbers so that neighbours in the list are similar.
    pub fn of(descriptors: &Descriptors, order: &[u32]) -> Self {
        let Descriptors { fixed, coordinates } = descriptors;
        let half = |half: usize| {
            let pair = |number: usize, step: usize| {
                let first = half * BOXED + 2 * step;
                [coordinates[number][first], coordinates[number][first + 1]]
            };
            order.chunks(LANES).map(|eight| rows(eight, pair)).collect()
        };
        let block = |eight: &[u32]| Block {
            fixed: rows(eight, |number, step| fixed[number][step]),
            numbers: std::array::from_fn(|lane| eight[lane.min(eight.len() - 1)]),
        };
        let boxes = |parts: &[u32], size| Boxes::of(parts, coordinates, size);
        Self {
            groups: order.chunks(LANES * GROUP).map(|part| boxes(part, GROUP)).collect(),
            boxes: order.chunks(GROUP).map(|part| boxes(part, LANES)).collect(),
            coordinates: [half(0), half(1)],
            blocks: order.chunks(LANES).map(block).collect(),
        }
    }
}

/// Eight rows, one of each number. The last number stands for missing ones.
fn rows<const N: usize>(numbers: &[u32], pair: impl Fn(usize, usize) -> [i16; 2]) -> Rows<N> {
    let mut rows = [[0; 2 * LANES]; N];
    for lane in 0..LANES {
        let number = numbers[lane.min(numbers.len() - 1)] as usize;
        for (step, row) in rows.iter_mut().enumerate() {
            row[2 * lane..2 * lane + 2].copy_from_slice(&pair(number, step));
        }
    }
    rows
}
