//! What a search does to eight rows at once, and plain loops that do it.

use super::index::{BOXED, Block, Boxes, Coordinates, Fixed, HALF, LANES, Rows};

/// A descriptor whose nearest is searched for.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) fixed: &'a Fixed,
    pub(super) coordinates: &'a Coordinates,
}

/// A query, and what is done to eight rows at once.
pub(super) trait Lanes<'a> {
    fn new(query: Query<'a>) -> Self;
    /// Squared distances to boxes.
    fn to_boxes(&self, boxes: &Boxes, out: &mut [i32; LANES]);
    /// Adds to `sums` the squared distances along half of the directions.
    fn along(&self, half: usize, rows: &Rows<HALF>, sums: &mut [i32; LANES]);
    /// Exact squared distances.
    fn distances_sq(&self, block: &Block) -> [i32; LANES];
    /// One bit for each number that is at most `most`.
    fn at_most(numbers: &[i32; LANES], most: i32) -> u32;
    /// Writes `first` plus the place of each bit to `list`; returns their number. The entries after them are overwritten.
    fn write(bits: u32, first: u32, list: &mut [u32; LANES]) -> usize;
}

/// Plain loops.
pub(super) struct Plain<'a>(Query<'a>);

impl<'a> Lanes<'a> for Plain<'a> {
    fn new(query: Query<'a>) -> Self {
        Self(query)
    }

    fn to_boxes(&self, boxes: &Boxes, out: &mut [i32; LANES]) {
        for (lane, sum) in out.iter_mut().enumerate() {
            *sum = 0;
            for (direction, &x) in self.0.coordinates[..BOXED].iter().enumerate() {
                let (step, place) = (direction / 2, 2 * lane + direction % 2);
                let [x, low, high] = [x, boxes.low[step][place], boxes.high[step][place]].map(i32::from);
                let gap = (low - x).max(x - high).clamp(0, i32::from(i16::MAX));
                *sum = sum.wrapping_add(gap * gap);
            }
        }
    }

    fn along(&self, half: usize, rows: &Rows<HALF>, sums: &mut [i32; LANES]) {
        let coordinates = &self.0.coordinates[half * BOXED..];
        for (lane, sum) in sums.iter_mut().enumerate() {
            for step in 0..HALF {
                for part in 0..2 {
                    let x = rows[step][2 * lane + part].saturating_sub(coordinates[2 * step + part]);
                    *sum = sum.wrapping_add(i32::from(x) * i32::from(x));
                }
            }
        }
    }

    fn distances_sq(&self, block: &Block) -> [i32; LANES] {
        std::array::from_fn(|lane| {
            let row = block.fixed.map(|row| [row[2 * lane], row[2 * lane + 1]]);
            let pairs = row.as_flattened().iter().zip(self.0.fixed.as_flattened());
            let differences = pairs.map(|(x, y)| i32::from(x.wrapping_sub(*y)));
            // Numbers that are no histograms may overflow, which is no reason to panic.
            differences.fold(0, |sum: i32, x| sum.wrapping_add(x.wrapping_mul(x)))
        })
    }

    fn at_most(numbers: &[i32; LANES], most: i32) -> u32 {
        numbers.iter().enumerate().fold(0, |bits, (lane, &x)| bits | u32::from(x <= most) << lane)
    }

    fn write(bits: u32, first: u32, list: &mut [u32; LANES]) -> usize {
        let mut count = 0;
        for lane in (0..LANES as u32).filter(|lane| bits >> lane & 1 != 0) {
            list[count] = first + lane;
            count += 1;
        }
        count
    }
}
