//! Inliers that count as independent: one per place.

use pcr99_base::Soa;

/// Marks which inliers begin a new place. Buffers are kept between calls.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// First place of each bucket of cells, and the next one of the same bucket; `NONE` ends a chain.
    buckets: Vec<u32>,
    next: Vec<u32>,
    kept: Vec<[f64; 3]>,
}

const NONE: u32 = u32::MAX;

impl Places {
    /// Calls `visit` for each of the inliers with whether it begins a new place: no target of an earlier one that does is within `radius`.
    pub(super) fn mark(
        &mut self,
        points: &Soa,
        inliers: impl ExactSizeIterator<Item = u32>,
        radius: f64,
        mut visit: impl FnMut(bool),
    ) {
        let buckets = (2 * inliers.len()).next_power_of_two().max(16);
        self.buckets.clear();
        self.buckets.resize(buckets, NONE);
        self.next.clear();
        self.kept.clear();
        let per_cell = 1.0 / radius;
        for i in inliers {
            let target = points.target(i as usize);
            let cell = target.map(|x| (x * per_cell).floor() as i64);
            let is_new = !self.is_near(target, cell, radius * radius);
            if is_new {
                let bucket = self.bucket(cell);
                self.next.push(std::mem::replace(&mut self.buckets[bucket], self.kept.len() as u32));
                self.kept.push(target);
            }
            visit(is_new);
        }
    }

    fn is_near(&self, target: [f64; 3], cell: [i64; 3], radius_sq: f64) -> bool {
        (0..27).any(|k| {
            let offsets = [k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1];
            let cell = std::array::from_fn(|axis| cell[axis].wrapping_add(offsets[axis]));
            let mut place = self.buckets[self.bucket(cell)];
            while place != NONE {
                let [dx, dy, dz] = std::array::from_fn(|axis| self.kept[place as usize][axis] - target[axis]);
                if dx * dx + dy * dy + dz * dz <= radius_sq {
                    return true;
                }
                place = self.next[place as usize];
            }
            false
        })
    }

    fn bucket(&self, [x, y, z]: [i64; 3]) -> usize {
        // Odd multipliers spread neighbouring cells; the upper bits are the best mixed.
        let hash = (x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (y as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
            ^ (z as u64).wrapping_mul(0x1656_67B1_9E37_79F9);
        (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.buckets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::background::tests::cloud;

    /// The table of cells gives the same places as comparing with every earlier one.
    #[test]
    fn places_are_those_of_the_definition() {
        let mut points = cloud(500, 1.0, 3);
        points.b[0][17] = 1e60;
        for radius in [0.01, 0.1, 0.5, 3.0] {
            let mut marks = Vec::new();
            Places::default().mark(&points, 0..500, radius, |is_new| marks.push(is_new));
            let mut kept: Vec<[f64; 3]> = Vec::new();
            for (i, mark) in marks.iter().enumerate() {
                let target = points.target(i);
                let square = |p: &[f64; 3]| (0..3).map(|k| (p[k] - target[k]).powi(2)).sum::<f64>();
                let near = kept.iter().any(|place| square(place) <= radius * radius);
                assert_eq!(*mark, !near, "{radius} {i}");
                if !near {
                    kept.push(target);
                }
            }
            assert!(kept.len() > 1);
        }
    }
}
