//! Strays: matches with points far outside of the scene, added to a problem.
//!
//! They are wrong beyond doubt, so they must change neither the verdict nor the pose.

use pcr99_base::vector::{distance_sq, plus, times};

use super::{Matches, stream, uniform};
use crate::draw::direction;

/// Points of a stray match that lie far out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FarPoints {
    /// The source.
    Source,
    /// The target.
    Target,
    /// Both.
    Both,
}

impl FarPoints {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::Source, Self::Target, Self::Both];

    /// Name of the choice.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "sources",
            Self::Target => "targets",
            Self::Both => "both points",
        }
    }
}

/// The matches with `count` strays after them. Their far points are `times_farther` times the radius of the scene away from its middle, or
/// up to twice as near; their other points are those of random matches.
pub fn added(matches: &Matches, count: usize, far: FarPoints, times_farther: f64, seed: u64) -> Matches {
    let mut random = stream("strays", seed);
    let n = matches.source.len();
    let (mut source, mut target) = (matches.source.clone(), matches.target.clone());
    let ([source_middle, target_middle], [source_radius, target_radius]) = (
        [&matches.source, &matches.target].map(|points| middle(points)),
        [&matches.source, &matches.target].map(|points| radius(points)),
    );
    for _ in 0..count {
        let mut away = |middle, radius: f64| {
            let distance = radius * times_farther * uniform(0.5, 1.0, &mut random);
            plus(middle, times(distance, direction(&mut random)))
        };
        let (far_source, far_target) =
            (away(source_middle, source_radius), away(target_middle, target_radius));
        let (i, j) = (random.below(n), random.below(n));
        source.push(if far == FarPoints::Target { matches.source[i] } else { far_source });
        target.push(if far == FarPoints::Source { matches.target[j] } else { far_target });
    }
    Matches { source, target }
}

/// Mean of points.
fn middle(points: &[[f64; 3]]) -> [f64; 3] {
    std::array::from_fn(|axis| points.iter().map(|p| p[axis]).sum::<f64>() / points.len() as f64)
}

/// Largest distance of points from their mean.
fn radius(points: &[[f64; 3]]) -> f64 {
    let middle = middle(points);
    points.iter().map(|&p| distance_sq(p, middle)).fold(0.0, f64::max).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::noise::Family;

    #[test]
    fn the_problem_stays_and_strays_follow() {
        let matches = Family::Uniform.problem(3).matches;
        let n = matches.source.len();
        let (source_radius, target_radius) = (radius(&matches.source), radius(&matches.target));
        for far in FarPoints::ALL {
            let more = added(&matches, 40, far, 50.0, 7);
            assert_eq!((more.source.len(), more.target.len()), (n + 40, n + 40));
            assert_eq!((&more.source[..n], &more.target[..n]), (&matches.source[..], &matches.target[..]));
            let out = |points: &[[f64; 3]], middle, radius: f64| {
                let far = |p: &&[f64; 3]| distance_sq(**p, middle).sqrt() > 20.0 * radius;
                points[n..].iter().filter(far).count()
            };
            let sources = out(&more.source, middle(&matches.source), source_radius);
            let targets = out(&more.target, middle(&matches.target), target_radius);
            let expected = match far {
                FarPoints::Source => (40, 0),
                FarPoints::Target => (0, 40),
                FarPoints::Both => (40, 40),
            };
            assert_eq!((sources, targets), expected);
        }
    }

    #[test]
    fn strays_follow_from_the_seed() {
        let matches = Family::Uniform.problem(3).matches;
        let make = |seed| added(&matches, 5, FarPoints::Both, 1000.0, seed);
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }
}
