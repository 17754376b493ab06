//! Index of descriptors: the directions and the order in which a search for the nearest descriptor can skip most of them.
//!
//! The directions are the principal ones of a sample of both clouds: the first eight hold more than nine tenths of the variance of 33 dimensions.
//! The order is that of a tree that halves the descriptors along the direction in which they vary most. Both decide the time of a search, never
//! its result.

use pcr99_base::kernel::nearest::{BOXED, DIRECTIONS, Descriptors, Directions, GROUP, Index, LANES};

use crate::fpfh::{DIMENSIONS, Descriptor};

/// Number of descriptors of each cloud from which the directions are computed.
const SAMPLE: usize = 128;
/// Number of steps of the iteration for the principal directions. They need not be exact.
const ITERATIONS: usize = 5;
/// Number of descriptors of a part of the tree that decide along which direction it is halved.
const LOOKED_AT: usize = 32;
/// Smallest number of descriptors for which a second thread pays off.
const WORTH_A_THREAD: usize = 2048;

/// Descriptors and their index.
#[derive(Debug, Clone)]
pub(crate) struct DescriptorIndex {
    pub(crate) descriptors: Descriptors,
    /// Numbers of the descriptors. Neighbours in the list are similar.
    pub(crate) order: Vec<u32>,
    pub(crate) index: Index,
}

impl DescriptorIndex {
    pub(crate) fn of(descriptors: &[Descriptor], directions: &Directions) -> Self {
        let descriptors = Descriptors::of(descriptors, directions);
        let item = |(number, coordinates): (u32, &[i16; DIRECTIONS])| Item {
            coordinates: std::array::from_fn(|k| coordinates[k]),
            number,
        };
        let mut items: Vec<Item> = (0..).zip(descriptors.coordinates()).map(item).collect();
        arrange(&mut items);
        let order: Vec<u32> = items.iter().map(|item| item.number).collect();
        let index = Index::of(&descriptors, &order);
        Self { descriptors, order, index }
    }
}

/// A descriptor while the tree is built, with the coordinates that bounding boxes are made of.
#[derive(Debug, Clone, Copy)]
struct Item {
    coordinates: [i16; BOXED],
    number: u32,
}

/// Halves the items along the direction in which they vary most, and so on, down to single blocks.
fn arrange(items: &mut [Item]) {
    if items.len() <= LANES {
        return;
    }
    // Parts are whole groups or whole blocks.
    let unit = if items.len() > GROUP { GROUP } else { LANES };
    let middle = (items.len() / 2).next_multiple_of(unit);
    let widest = widest(items);
    items.select_nth_unstable_by_key(middle - 1, |item| item.coordinates[widest]);
    let (lower, upper) = items.split_at_mut(middle);
    if lower.len() >= WORTH_A_THREAD {
        rayon::join(|| arrange(lower), || arrange(upper));
    } else {
        arrange(lower);
        arrange(upper);
    }
}

/// The direction in which the items vary most.
fn widest(items: &[Item]) -> usize {
    let (mut count, mut sums, mut squares) = (0.0, [0.0_f32; BOXED], [0.0_f32; BOXED]);
    for item in items.iter().step_by(items.len().div_ceil(LOOKED_AT)) {
        count += 1.0;
        for k in 0..BOXED {
            let x = f32::from(item.coordinates[k]);
            sums[k] += x;
            squares[k] += x * x;
        }
    }
    let spread = |k: usize| count * squares[k] - sums[k] * sums[k];
    (1..BOXED).fold(0, |best, k| if spread(k) > spread(best) { k } else { best })
}

type Row = [f64; DIMENSIONS];

/// The principal directions of two sets of descriptors, by orthogonal iteration.
pub(crate) fn principal_directions(sets: [&[Descriptor]; 2]) -> Directions {
    let covariance = covariance(sets);
    let mut rows: [Row; DIRECTIONS] =
        std::array::from_fn(|i| std::array::from_fn(|k| f64::from(u8::from(k % DIRECTIONS == i))));
    for _ in 0..ITERATIONS {
        for row in &mut rows {
            let mut product = [0.0; DIMENSIONS];
            covariance.iter().zip(*row).for_each(|(line, x)| add(&mut product, x, line));
            *row = product;
        }
        orthonormalise(&mut rows);
    }
    std::array::from_fn(|k| std::array::from_fn(|i| rows[i][k] as f32))
}

/// Covariance of a sample, times the size of the sample.
fn covariance(sets: [&[Descriptor]; 2]) -> [Row; DIMENSIONS] {
    let sample = || sets.into_iter().flat_map(|set| set.iter().step_by(set.len().div_ceil(SAMPLE).max(1)));
    let mut mean = [0.0; DIMENSIONS];
    sample().for_each(|descriptor| add(&mut mean, 1.0, &descriptor.map(f64::from)));
    let count = sample().count().max(1) as f64;
    let mut products = [[0.0; DIMENSIONS]; DIMENSIONS];
    for descriptor in sample() {
        let off: Row = std::array::from_fn(|k| f64::from(descriptor[k]) - mean[k] / count);
        products.iter_mut().zip(off).for_each(|(row, x)| add(row, x, &off));
    }
    products
}

/// Gram–Schmidt. A vector that depends on those before it becomes zero, which is a valid direction as well.
fn orthonormalise(rows: &mut [Row; DIRECTIONS]) {
    for i in 0..DIRECTIONS {
        let (before, rest) = rows.split_at_mut(i);
        let row = &mut rest[0];
        let length = dot(row, row).sqrt();
        // Twice: once leaves rounding errors as large as the parts that it removes.
        for _ in 0..2 {
            for other in &*before {
                let share = dot(row, other);
                add(row, -share, other);
            }
        }
        let left = dot(row, row).sqrt();
        let factor = if left > 1e-9 * length { 1.0 / left } else { 0.0 };
        row.iter_mut().for_each(|x| *x *= factor);
    }
}

/// Adds `factor` times `other`.
fn add(row: &mut Row, factor: f64, other: &Row) {
    row.iter_mut().zip(other).for_each(|(x, y)| *x += factor * y);
}

fn dot(a: &Row, b: &Row) -> f64 {
    // Four sums, which do not wait for each other.
    let mut sums = [0.0; 4];
    for (a, b) in a.chunks(4).zip(b.chunks(4)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (x, y))| *sum += x * y);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;

    fn dots(directions: &Directions) -> Vec<f64> {
        let dot = |i: usize, j: usize| {
            directions.iter().map(|row| f64::from(row[i]) * f64::from(row[j])).sum::<f64>()
        };
        (0..DIRECTIONS)
            .flat_map(|i| (0..=i).map(move |j| (i, j)))
            .map(|(i, j)| dot(i, j) - f64::from(u8::from(i == j)))
            .collect()
    }

    #[test]
    fn directions_are_orthonormal_and_hold_most_of_the_variance() {
        let mut random = Random::new(3);
        // Three large variances and thirty small ones.
        let mut descriptor =
            |_| std::array::from_fn(|k| (if k % 11 == 3 { 50.0 } else { 1.0 } * random.uniform()) as f32);
        let (a, b): (Vec<Descriptor>, Vec<Descriptor>) =
            ((0..500).map(&mut descriptor).collect(), (0..300).map(&mut descriptor).collect());
        let directions = principal_directions([&a, &b]);
        assert!(dots(&directions).iter().all(|x| x.abs() < 1e-6));
        for k in [3, 14, 25] {
            assert!(directions[k][..3].iter().map(|x| x * x).sum::<f32>() > 0.99, "{:?}", directions[k]);
        }
    }

    #[test]
    fn equal_descriptors_have_no_directions() {
        let equal = vec![[6.0; DIMENSIONS]; 9];
        let directions = principal_directions([&equal, &[]]);
        assert!(directions.iter().flatten().all(|x| *x == 0.0));
        assert_eq!(DescriptorIndex::of(&equal, &directions).order.len(), 9);
    }

    #[test]
    fn an_order_has_every_number_once() {
        let mut random = Random::new(5);
        for n in [0, 1, 8, 9, 63, 64, 65, 130, 1000, 5000] {
            let all: Vec<Descriptor> =
                (0..n).map(|_| std::array::from_fn(|_| random.uniform() as f32)).collect();
            let mut order = DescriptorIndex::of(&all, &principal_directions([&all, &[]])).order;
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..n as u32));
        }
    }
}
