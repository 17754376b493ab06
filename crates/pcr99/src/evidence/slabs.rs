//! Numbers sorted into slabs of equal width, so that those of an interval are found without a search.

use std::ops::Range;

/// Slabs of equal width, about as many as there are numbers. Buffers are kept between calls.
#[derive(Debug, Default)]
pub(super) struct Slabs {
    first: f64,
    per_unit: f64,
    /// Place of the first number of each slab, and their number at the end.
    starts: Vec<u32>,
    sorted: Vec<u32>,
}

/// Largest number of places of a slab whose numbers are sorted by exchanges of neighbours.
const FEW: usize = 16;

impl Slabs {
    /// Sorts the indices in `order`, of which there are some, by the slab of their number in `column`.
    pub(super) fn divide(&mut self, column: &[f64], order: &mut Vec<u32>) {
        let Self { starts, sorted, .. } = self;
        let count = order.len();
        let (first, last) = order
            .iter()
            .map(|&i| column[i as usize])
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let per_unit = count as f64 / (last - first);
        (self.first, self.per_unit) = (first, if per_unit.is_finite() { per_unit } else { 0.0 });
        let slab = |i: u32| slab(column[i as usize], self.first, self.per_unit, count);
        starts.clear();
        starts.resize(count + 1, 0);
        order.iter().for_each(|&i| starts[slab(i) + 1] += 1);
        for k in 0..count {
            starts[k + 1] += starts[k];
        }
        sorted.clear();
        sorted.resize(count, 0);
        for &i in &*order {
            let place = &mut starts[slab(i)];
            sorted[*place as usize] = i;
            *place += 1;
        }
        // Each start has moved to that of the next slab.
        starts.copy_within(..count, 1);
        starts[0] = 0;
        std::mem::swap(order, sorted);
    }

    /// Sorts the indices in `order`, of which there are some, by their number in `column`, equal ones by index.
    pub(super) fn sort(&mut self, column: &[f64], order: &mut Vec<u32>) {
        self.divide(column, order);
        let by_number = |i: &u32, j: &u32| column[*i as usize].total_cmp(&column[*j as usize]).then(i.cmp(j));
        for slab in self.starts.windows(2).map(|slab| slab[0] as usize..slab[1] as usize) {
            if slab.len() > FEW {
                order[slab].sort_unstable_by(by_number);
            } else {
                for end in slab.start + 1..slab.end {
                    let mut k = end;
                    while k > slab.start && by_number(&order[k], &order[k - 1]).is_lt() {
                        order.swap(k, k - 1);
                        k -= 1;
                    }
                }
            }
        }
    }

    /// Places of the numbers between `low` and `high`, and of some beyond.
    #[inline]
    pub(super) fn between(&self, low: f64, high: f64) -> Range<usize> {
        let slab = |x: f64| slab(x, self.first, self.per_unit, self.starts.len() - 1);
        self.starts[slab(low)] as usize..self.starts[slab(high) + 1] as usize
    }
}

#[inline]
fn slab(x: f64, first: f64, per_unit: f64, count: usize) -> usize {
    // A conversion to an integer takes negative numbers to zero.
    (((x - first) * per_unit) as usize).min(count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn slabs_hold_all_numbers_of_an_interval() {
        let mut random = Random::new(3);
        for count in [1, 2, 5, 64, 300] {
            for spread in [0.0, 1e-300, 1.0, 1e300] {
                let column: Vec<f64> =
                    (0..2 * count).map(|_| spread * (random.uniform() - 0.5).powi(3)).collect();
                let mut order: Vec<u32> = (0..count as u32).map(|k| 2 * k + 1).collect();
                let mut plain = order.clone();
                let mut slabs = Slabs::default();
                slabs.divide(&column, &mut order);
                for _ in 0..100 {
                    let low = spread * (random.uniform() - 0.6);
                    let high = low + spread * random.uniform();
                    let held = slabs.between(low, high);
                    let is_within = |i: &u32| (low..=high).contains(&column[*i as usize]);
                    let within = |some: &[u32]| some.iter().filter(|i| is_within(i)).count();
                    assert_eq!(within(&order[held]), within(&order));
                }
                slabs.sort(&column, &mut order);
                plain.sort_by(|i, j| column[*i as usize].total_cmp(&column[*j as usize]).then(i.cmp(j)));
                assert_eq!(order, plain);
            }
        }
    }
}
