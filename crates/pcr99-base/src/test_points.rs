//! Random matches for the tests of this crate and of the crates that use it.

use crate::{Soa, random::Random};

/// `n` random matches in `[−1, 1]³`. Every second one follows a common transform with noise; about a tenth of the points on either side
/// coincide with an earlier one.
pub fn random(n: usize, seed: u64) -> Soa {
    let mut random = Random::new(seed);
    let mut points = Soa::default();
    for i in 0..n {
        for axis in 0..3 {
            let a = 2.0 * random.uniform() - 1.0;
            let b =
                if i % 2 == 0 { 0.7 * a + 0.01 * random.gaussian() } else { 2.0 * random.uniform() - 1.0 };
            points.a[axis].push(a);
            points.b[axis].push(b);
        }
        for columns in [&mut points.a, &mut points.b] {
            if i > 0 && random.below(10) == 0 {
                let twin = random.below(i);
                columns.iter_mut().for_each(|column| column[i] = column[twin]);
            }
        }
    }
    points
}
