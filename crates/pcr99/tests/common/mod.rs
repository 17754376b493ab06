//! Problems for the tests of this crate.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use pcr99::{Similarity, random::Random};

pub struct Problem {
    pub source: Vec<[f64; 3]>,
    pub target: Vec<[f64; 3]>,
    pub truth: Similarity,
    pub inliers: Vec<usize>,
}

impl std::fmt::Debug for Problem {
    /// A short form, because proptest prints it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} matches, {} right, {:?}", self.source.len(), self.inliers.len(), self.truth)
    }
}

/// A problem of `n` matches, `right` of them right, at random positions. Points lie in the cube `[−½, ½]³`; the noise is 0.01.
pub fn problem(n: usize, right: usize, scale: f64, seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let truth = similarity(scale, &mut random);
    let point = |random: &mut Random| -> [f64; 3] { std::array::from_fn(|_| random.uniform() - 0.5) };
    let source: Vec<[f64; 3]> = (0..n).map(|_| point(&mut random)).collect();
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, random.below(i + 1));
    }
    let mut inliers = order[..right].to_vec();
    inliers.sort_unstable();
    let target = (0..n)
        .map(|i| {
            let place = if inliers.binary_search(&i).is_ok() { source[i] } else { point(&mut random) };
            truth.apply(place).map(|x| x + 0.01 * random.gaussian())
        })
        .collect();
    Problem { source, target, truth, inliers }
}

/// A similarity with a random rotation and translation and this scale.
pub fn similarity(scale: f64, random: &mut Random) -> Similarity {
    let q: [f64; 4] = std::array::from_fn(|_| random.gaussian());
    Similarity::from_quaternion(scale, q, std::array::from_fn(|_| 3.0 * random.gaussian()))
        .expect("a similarity")
}

/// Largest distance between the images of the points under two transforms.
pub fn distance(a: &Similarity, b: &Similarity, points: &[[f64; 3]]) -> f64 {
    let apart = |&p: &[f64; 3]| {
        let (p, q) = (a.apply(p), b.apply(p));
        (0..3).map(|axis| (p[axis] - q[axis]).powi(2)).sum::<f64>().sqrt()
    };
    points.iter().map(apart).fold(0.0, f64::max)
}
