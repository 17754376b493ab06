//! Wrong matches that are not independent of each other: patches, hubs, permutations, repeated rows.

use pcr99::random::Random;
use pcr99_base::vector::{plus, rotate, times};

use super::clouds::{self, Cloud};
use crate::{
    Shape,
    draw::{distinct_indices, gaussian_vector, rotation},
    trust::{Matches, integer, log_uniform, uniform},
};

/// Fewest patches, hubs or distinct rows. Fewer could lie on one line.
const FEWEST_PLACES: usize = 5;
/// Largest standard deviation of the offsets in a rigid patch; clouds have a radius of about 1.
const LARGEST_RIGID_PATCH: f64 = 0.03;

/// `n` matches in patches of `least` to `most` neighbours; a share `singles` of the matches has no neighbour.
///
/// The matches of a patch lie around one source and one target, which are independent of each other.
///
/// - In half of the problems, the offsets of source and target are independent. They are 1 % to 30 % of the distance between patches.
/// - In the others, a rotation of the patch's own carries the source's offsets over, up to a jitter of 10 % to 100 % of their size. They
///   are 1 % to 10 % of the distance between patches and at most [`LARGEST_RIGID_PATCH`]: a larger rigid patch would be a right match of
///   some part of the scene.
pub(super) fn patches(n: usize, [least, most]: [usize; 2], singles: f64, random: &mut Random) -> Matches {
    let cloud = any_cloud(random);
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < n {
        let size = if random.uniform() < singles { 1 } else { integer(least, most, random) };
        sizes.push(if sizes.len() < FEWEST_PLACES { size.min(n / FEWEST_PLACES) } else { size });
    }
    let centers = Matches { source: cloud(sizes.len(), random), target: cloud(sizes.len(), random) };
    // Clouds are about as large as a unit ball. Surfaces have neighbours that are a little nearer.
    let spacing = libm::cbrt(4.0 / sizes.len() as f64);
    let [of_source, of_target] = [(); 2].map(|()| spacing * log_uniform(0.01, 0.3, random));
    let rigid_size = (spacing * log_uniform(0.01, 0.1, random)).min(LARGEST_RIGID_PATCH);
    let jitter = (integer(0, 1, random) == 1).then(|| log_uniform(0.1, 1.0, random));
    let mut matches = Matches { source: Vec::with_capacity(n), target: Vec::with_capacity(n) };
    for (i, &size) in sizes.iter().enumerate() {
        let turn = rotation(random);
        for _ in 0..size {
            let (offset, other) = (gaussian_vector(random), gaussian_vector(random));
            let (of_source, of_target) = match jitter {
                Some(jitter) => {
                    let carried = plus(rotate(&turn, offset), times(jitter, other));
                    (times(rigid_size, offset), times(rigid_size, carried))
                }
                None => (times(of_source, offset), times(of_target, other)),
            };
            matches.source.push(plus(centers.source[i], of_source));
            matches.target.push(plus(centers.target[i], of_target));
        }
    }
    let order = distinct_indices(matches.source.len(), n, random);
    pick(&matches, &order)
}

/// `n` matches, most of them scattered. One to three patches hold 2 % to 10 % each, at least eight matches. A patch is 1 % to 5 % of the scene large, and its matches follow a
/// rotation of its own, or pair its two ends at random.
pub(super) fn large_patches(n: usize, random: &mut Random) -> Matches {
    let cloud = any_cloud(random);
    let mut matches = Matches { source: cloud(n, random), target: cloud(n, random) };
    let size = ((n as f64 * uniform(0.02, 0.1, random)) as usize).max(8);
    let count = integer(1, 3, random).min(n / (4 * size)).max(1);
    for patch in 0..count {
        let (turn, extent) = (rotation(random), log_uniform(0.01, 0.05, random));
        let is_rigid = integer(0, 1, random) == 1;
        // The scattered match at the place of the patch is its centre.
        let (source, target) = (matches.source[patch * size], matches.target[patch * size]);
        for i in patch * size..((patch + 1) * size).min(n) {
            let (offset, other) = (gaussian_vector(random), gaussian_vector(random));
            let carried = if is_rigid { rotate(&turn, offset) } else { other };
            matches.source[i] = plus(source, times(extent, offset));
            matches.target[i] = plus(target, times(extent, carried));
        }
    }
    let order = distinct_indices(n, n, random);
    pick(&matches, &order)
}

/// `n` matches of scattered sources with a few targets, 2 to 20 sources each, or the reverse. Two thirds of the problems have jitter of 1 %
/// to 30 % of the distance between these targets.
pub(super) fn many_to_one(n: usize, random: &mut Random) -> Matches {
    let cloud = any_cloud(random);
    let count = (n / integer(2, 20, random)).max(FEWEST_PLACES);
    let hubs = cloud(count, random);
    let spacing = libm::cbrt(4.0 / count as f64);
    let jitter = if integer(0, 2, random) == 0 { 0.0 } else { spacing * log_uniform(0.01, 0.3, random) };
    let source = cloud(n, random);
    let target =
        (0..n).map(|_| plus(hubs[random.below(count)], times(jitter, gaussian_vector(random)))).collect();
    let matches = Matches { source, target };
    if integer(0, 1, random) == 0 { matches } else { matches.reversed() }
}

/// `n` points of one surface, matched with the same points in another order. No point is matched with itself. In a third of the problems, the
/// targets are another sample of the surface.
pub(super) fn permutation(n: usize, random: &mut Random) -> Matches {
    let seed = random.bits();
    let surface = |n: usize, random: &mut Random| match seed % 3 {
        0 => shape(&Shape::Knot, n, random),
        1 => shape(&Shape::Cube, n, random),
        // The planes are equal, whatever the number of points.
        _ => clouds::on_planes(n, &mut Random::new(seed)),
    };
    if integer(0, 2, random) == 0 {
        let points = surface(2 * n, random);
        let order = distinct_indices(2 * n, 2 * n, random);
        return Matches { source: at(&points, &order[..n]), target: at(&points, &order[n..]) };
    }
    let points = surface(n, random);
    let mut order: Vec<usize> = (0..n).collect();
    // Sattolo's shuffle makes one cycle, so that no point stays in its place.
    for i in (1..n).rev() {
        order.swap(i, random.below(i));
    }
    Matches { target: at(&points, &order), source: points }
}

/// `n` rows of which each occurs 2 to 8 times on average, in random order.
pub(super) fn repeated_rows(n: usize, random: &mut Random) -> Matches {
    let cloud = any_cloud(random);
    let count = (n / integer(2, 8, random)).max(FEWEST_PLACES);
    let rows = Matches { source: cloud(count, random), target: cloud(count, random) };
    let mut order: Vec<usize> = (0..count).collect();
    order.extend((count..n).map(|_| random.below(count)));
    let shuffled: Vec<usize> = distinct_indices(n, n, random).into_iter().map(|i| order[i]).collect();
    pick(&rows, &shuffled)
}

/// A cloud about as large as a unit ball.
fn any_cloud(random: &mut Random) -> Cloud {
    [clouds::in_ball, clouds::in_ball, clouds::on_sphere, clouds::on_planes][random.below(4)]
}

/// Points of a built-in shape, which has any number of them.
fn shape(shape: &Shape, n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    shape.sample(n, random).expect("built-in shapes have as many points as needed")
}

fn at(points: &[[f64; 3]], order: &[usize]) -> Vec<[f64; 3]> {
    order.iter().map(|&i| points[i]).collect()
}

fn pick(matches: &Matches, order: &[usize]) -> Matches {
    Matches { source: at(&matches.source, order), target: at(&matches.target, order) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::vector::{minus, norm};
    use std::collections::BTreeMap;

    fn bits(point: [f64; 3]) -> [u64; 3] {
        point.map(f64::to_bits)
    }

    fn multiplicities(points: &[[f64; 3]]) -> Vec<usize> {
        let mut count = BTreeMap::new();
        points.iter().for_each(|&p| *count.entry(bits(p)).or_insert(0) += 1);
        count.into_values().collect()
    }

    /// The match with the nearest source.
    fn neighbour(matches: &Matches, i: usize) -> usize {
        let apart = |j: &usize| norm(minus(matches.source[i], matches.source[*j]));
        let others = (0..matches.source.len()).filter(|&j| j != i);
        others.min_by(|j, k| apart(j).total_cmp(&apart(k))).expect("another match")
    }

    #[test]
    fn neighbours_in_a_patch_have_neighbouring_targets() {
        for seed in 0..20 {
            let matches = patches(400, [4, 4], 0.0, &mut Random::new(seed));
            let beside = (0..400)
                .filter(|&i| norm(minus(matches.target[i], matches.target[neighbour(&matches, i)])) < 0.5)
                .count();
            // Independent targets in a ball of radius 1 would be that near for about one in eight.
            assert!(beside > 200, "{seed}: {beside}");
        }
    }

    #[test]
    fn singles_have_none() {
        let matches = patches(400, [2, 8], 1.0, &mut Random::new(3));
        let beside = (0..400)
            .filter(|&i| norm(minus(matches.target[i], matches.target[neighbour(&matches, i)])) < 0.1)
            .count();
        assert!(beside < 40, "{beside}");
    }

    #[test]
    fn a_permutation_moves_every_point() {
        let (mut same_points, mut other_sample) = (0, 0);
        for seed in 0..30 {
            let matches = permutation(200, &mut Random::new(seed));
            assert!(matches.source.iter().zip(&matches.target).all(|(a, b)| a != b));
            let sorted = |points: &[[f64; 3]]| {
                let mut keys: Vec<[u64; 3]> = points.iter().map(|&p| bits(p)).collect();
                keys.sort_unstable();
                keys
            };
            let is_same = sorted(&matches.source) == sorted(&matches.target);
            *(if is_same { &mut same_points } else { &mut other_sample }) += 1;
        }
        assert!(same_points > 10 && other_sample > 3, "{same_points} {other_sample}");
    }

    #[test]
    fn rows_repeat_on_both_sides() {
        for seed in 0..20 {
            let matches = repeated_rows(240, &mut Random::new(seed));
            let (of_source, of_target) = (multiplicities(&matches.source), multiplicities(&matches.target));
            assert_eq!(of_source.len(), of_target.len());
            assert!((30..=120).contains(&of_source.len()), "{}", of_source.len());
        }
    }

    #[test]
    fn hubs_are_on_one_side() {
        let mut without_jitter = 0;
        for seed in 0..30 {
            let matches = many_to_one(300, &mut Random::new(seed));
            let sides = [&matches.source, &matches.target].map(|side| multiplicities(side).len());
            assert_eq!(sides.iter().max(), Some(&300), "one side is scattered");
            without_jitter += usize::from(sides.iter().min() <= Some(&150));
        }
        assert!((3..20).contains(&without_jitter), "{without_jitter}");
    }
}
