//! Choices among drawn candidates.

use super::*;
use crate::uncertain::{Rest, Uncertain};
use pcr99::Similarity;
use pcr99_base::random::Random;

const VOXEL: f64 = 0.1;
const RADIUS: f64 = 3.0;

fn drawn(random: &mut Random) -> Similarity {
    let q = [random.gaussian(), random.gaussian(), random.gaussian(), random.gaussian()];
    let t = [9.0 * random.gaussian(), 9.0 * random.gaussian(), 9.0 * random.gaussian()];
    Similarity::from_quaternion(1.0, q, t).expect("a pose")
}

/// Scans with drawn poses, and candidates between them.
struct Bag {
    random: Random,
    truth: Vec<Similarity>,
    candidates: Vec<Candidate>,
    pairs: usize,
}

impl Bag {
    fn new(seed: u64, scans: usize) -> Self {
        let mut random = Random::new(seed);
        let truth = (0..scans).map(|_| drawn(&mut random)).collect();
        Self { random, truth, candidates: Vec::new(), pairs: 0 }
    }

    fn right(&mut self, target: usize, source: usize) -> Similarity {
        let pose = self.truth[source].then(&self.truth[target].inverse());
        let mut small = || 0.02 * self.random.gaussian();
        let q = [1.0, 0.1 * small(), 0.1 * small(), 0.1 * small()];
        let noise = Similarity::from_quaternion(1.0, q, [small(), small(), small()]).expect("a motion");
        noise.then(&pose)
    }

    /// Adds a pair with these candidates. Returns the number of the first candidate.
    fn pair(&mut self, target: usize, source: usize, is_registered: bool, poses: &[Similarity]) -> usize {
        let first = self.candidates.len();
        for (place, pose) in poses.iter().enumerate() {
            self.candidates.push(Candidate {
                pair: self.pairs,
                target,
                source,
                place,
                pose: Uncertain::isotropic(*pose, 0.5 * VOXEL, RADIUS),
                refined: None,
                is_registered: is_registered && place == 0,
                log10_nfa: -20.0,
                voxel: VOXEL,
                rest: Rest { middle: [0.0; 3], lever: RADIUS },
            });
        }
        self.pairs += 1;
        first
    }

    fn right_pair(&mut self, target: usize, source: usize, is_registered: bool) -> usize {
        let pose = self.right(target, source);
        self.pair(target, source, is_registered, &[pose])
    }

    fn wrong_pair(&mut self, target: usize, source: usize, is_registered: bool) -> usize {
        let pose = drawn(&mut self.random);
        self.pair(target, source, is_registered, &[pose])
    }

    fn chosen(&self) -> (Vec<usize>, Vec<Fate>) {
        let ends: Vec<[usize; 2]> = self.candidates.iter().map(|h| [h.target, h.source]).collect();
        let radii = vec![RADIUS; self.candidates.len()];
        let (network, fates) = choose(self.truth.len(), &self.candidates, &ends, &radii, &[]);
        (network.components(), fates)
    }
}

#[test]
fn cycles_throw_out_a_registered_pair() {
    for seed in 0..20 {
        let mut bag = Bag::new(seed, 7);
        for k in 0..7 {
            bag.right_pair(k, (k + 1) % 7, true);
            bag.right_pair(k, (k + 2) % 7, true);
        }
        let wrong = bag.wrong_pair(0, 3, true);
        let (components, fates) = bag.chosen();
        assert_eq!(components, vec![0; 7]);
        assert_eq!(fates[wrong], Fate::Contradicted, "{seed}");
        assert!(fates[..wrong].iter().all(|fate| *fate == Fate::Registered), "{seed}: {fates:?}");
    }
}

#[test]
fn what_nothing_settles_is_left_out() {
    let mut bag = Bag::new(3, 3);
    bag.right_pair(0, 1, true);
    bag.right_pair(1, 2, true);
    bag.wrong_pair(0, 2, true);
    let (components, fates) = bag.chosen();
    assert_eq!(components, [0, 1, 2]);
    assert_eq!(fates, [Fate::Contested; 3]);
}

#[test]
fn a_larger_bundle_wins_against_the_pair_that_came_first() {
    for seed in 0..20 {
        let mut bag = Bag::new(seed, 6);
        // Two triangles, a wrong pair between them that is found first, and three right ones.
        for [a, b] in [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]] {
            bag.right_pair(a, b, true);
        }
        let wrong = bag.wrong_pair(0, 3, true);
        bag.candidates[wrong].log10_nfa = -900.0;
        let right = [[0, 4], [1, 5], [2, 3]].map(|[a, b]| bag.right_pair(a, b, true));
        let (components, fates) = bag.chosen();
        assert_eq!(components, vec![0; 6], "{seed}: {fates:?}");
        assert_eq!(fates[wrong], Fate::Contradicted, "{seed}: {fates:?}");
        assert!(right.iter().all(|&h| fates[h] == Fate::Registered), "{seed}: {fates:?}");
    }
}

#[test]
fn two_independent_cycles_admit_refused_candidates() {
    for seed in 0..20 {
        for votes in [2, 3] {
            let mut bag = Bag::new(100 + seed, 5);
            for [a, b] in [[0, 1], [1, 2], [2, 3], [0, 2], [1, 3]] {
                bag.right_pair(a, b, true);
            }
            let mut right = Vec::new();
            for target in 0..4 {
                let others: Vec<Similarity> = (0..4).map(|_| drawn(&mut bag.random)).collect();
                let mut poses = others;
                if target < votes {
                    // The right pose is the third candidate.
                    poses[2] = bag.right(target, 4);
                }
                let first = bag.pair(target, 4, false, &poses);
                right.extend((target < votes).then_some(first + 2));
            }
            let (components, fates) = bag.chosen();
            let is_connected = components[4] == 0;
            assert_eq!(is_connected, votes == 3, "{seed} {votes}: {fates:?}");
            for (h, fate) in fates.iter().enumerate() {
                let expected = match (bag.candidates[h].is_registered, is_connected && right.contains(&h)) {
                    (true, _) => Fate::Registered,
                    (false, true) => Fate::Supported,
                    (false, false) => Fate::Refused,
                };
                assert_eq!(*fate, expected, "{seed} {votes} {h}");
            }
        }
    }
}

#[test]
fn a_second_pose_with_many_votes_forbids_a_guess() {
    let mut bag = Bag::new(8, 6);
    for [a, b] in [[0, 1], [1, 2], [2, 3], [0, 2], [1, 3], [3, 4], [2, 4], [0, 4]] {
        bag.right_pair(a, b, true);
    }
    // Where the last scan would be if it were seen one bay farther.
    let there = bag.truth[5].then(&Similarity::from_translation([2.0, 0.0, 0.0]));
    for target in 0..5 {
        let right = bag.right(target, 5);
        let shifted = there.then(&bag.truth[target].inverse());
        let poses = if target < 3 { [right, shifted] } else { [shifted, right] };
        bag.pair(target, 5, false, &poses);
    }
    assert_eq!(bag.chosen().0, [0, 0, 0, 0, 0, 5]);
}
