//! The random subset of the matches that one round of the search looks at.

use pcr99_base::{
    Soa,
    kernel::{consensus::Coarse, edges::Columns},
};

use crate::random::Random;

/// A random order of the matches, of which each round takes the first ones. With weights, the heaviest come first.
#[derive(Debug, Default)]
pub(super) struct Order {
    order: Vec<u32>,
    shuffled: usize,
    random: Option<Random>,
}

impl Order {
    pub(super) fn reset(&mut self, n: usize, seed: u64, weights: Option<&[f64]>) {
        self.order.clear();
        self.order.extend(0..n as u32);
        self.shuffled = 0;
        self.random = Some(Random::new(seed));
        if let Some(weights) = weights {
            self.first(n);
            // A stable sort keeps equal weights in random order.
            self.order.sort_by(|&i, &j| weights[j as usize].total_cmp(&weights[i as usize]));
        }
    }

    /// The first `count` matches of the order, shuffled as far as needed (Fisher–Yates).
    pub(super) fn first(&mut self, count: usize) -> &[u32] {
        if let Some(random) = &mut self.random {
            while self.shuffled < count {
                let other = self.shuffled + random.below(self.order.len() - self.shuffled);
                self.order.swap(self.shuffled, other);
                self.shuffled += 1;
            }
        }
        &self.order[..count]
    }
}

/// The matches of one round, in the forms that the stages need.
#[derive(Debug, Default)]
pub(super) struct Subset {
    /// Indices of the matches.
    pub(super) members: Vec<u32>,
    /// Double precision, for fits and evidence.
    pub(super) points: Soa,
    /// Single precision, for counting inliers.
    pub(super) coarse: Coarse,
    /// Single precision, padded to whole words, the source multiplied by the known scale, for the consistency graph.
    pub(super) columns: Columns,
}

impl Subset {
    pub(super) fn assign(&mut self, all: &Soa, members: &[u32], source_scale: f64) {
        self.members.clear();
        self.members.extend_from_slice(members);
        self.points.assign_permuted(all, members);
        self.coarse.assign(&self.points);
        gather_columns(all, members, source_scale, &mut self.columns);
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }
}

/// Copies matches in single precision, padded to whole words, the source multiplied by `source_scale`.
pub(super) fn gather_columns(all: &Soa, members: &[u32], source_scale: f64, columns: &mut Columns) {
    let padded = members.len().div_ceil(64) * 64;
    let sides = [(&mut columns.a, &all.a, source_scale), (&mut columns.b, &all.b, 1.0)];
    for (to, from, scale) in sides {
        for (to, from) in to.iter_mut().zip(from) {
            // A point too far off for single precision is consistent with nothing.
            let coarse = |x: f64| if x.abs() < 1e9 { x as f32 } else { f32::NAN };
            to.resize(padded, f32::NAN);
            let (first, rest) = to.split_at_mut(members.len());
            first.iter_mut().zip(members).for_each(|(to, &i)| *to = coarse(from[i as usize] * scale));
            rest.fill(f32::NAN);
        }
    }
}
