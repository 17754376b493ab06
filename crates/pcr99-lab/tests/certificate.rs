//! The probability that a larger consensus or a rival is missed is what the search accepts.
//!
//! A problem has two motions of different sizes. The search stops when the larger one, or a rival, would have been missed at most with the accepted probability.
//! Where it stops as confident without the larger motion first, it missed that. The accepted probabilities are large here, so that misses can be counted.

use pcr99::{
    Correspondences, Evidence, Params, Positive, Registration, Scale, Similarity, Solver, StopReason, assess,
    random::Random,
};
use pcr99_lab::trust::{
    FIRST_JUDGING_SEED, displacement,
    motions::{Recipe, Second},
};

/// Problems of each kind.
const PROBLEMS: u64 = 200;

/// Number of problems among [`PROBLEMS`] in which the search is confident although the larger motion is not its answer.
fn missed(recipe: Recipe, scale: Scale, accepted: f64, thresholds: f64) -> usize {
    let mut solver = Solver::new();
    let is_missed = |seed: &u64| {
        let problem = recipe.generate(Second::Independent, *seed);
        let pairs = Correspondences::new(&problem.matches.source, &problem.matches.target).expect("matches");
        let threshold = thresholds * recipe.noise[0];
        let params = Params::new().with_threads(1).with_seed(*seed).with_threshold(threshold);
        let params = params.and_then(|params| params.with_miss_probability(accepted)).expect("parameters");
        let found = solver.solve(&pairs, scale, &params).expect("valid input");
        let Some(answer) = &found.target_from_source else { return true };
        let off = displacement(answer, &problem.motions[0], &problem.first_sources());
        found.stopped_because == StopReason::Confident && off > threshold
    };
    (0..PROBLEMS).filter(is_missed).count()
}

/// The larger motion has a little more than the smaller one, so that finding the smaller one first is as likely as not.
#[test]
fn a_larger_consensus_is_missed_as_rarely_as_accepted() {
    for groups in [[120, 110], [60, 54], [40, 36]] {
        let recipe = Recipe { matches: 1000, groups, noise: [0.01; 2] };
        for scale in [Scale::one(), Scale::Unknown] {
            for (accepted, thresholds) in [(0.2, 5.0), (0.05, 5.0), (0.05, 3.5), (0.05, 8.0)] {
                let missed = missed(recipe, scale, accepted, thresholds);
                // Three standard deviations of a count with the accepted probability.
                let expected = accepted * PROBLEMS as f64;
                let most = expected + 3.0 * (expected * (1.0 - accepted)).sqrt();
                assert!(
                    (missed as f64) <= most,
                    "{groups:?} {scale:?} accepted {accepted}, {thresholds} σ: missed {missed} of {PROBLEMS}"
                );
            }
        }
    }
}

/// Number of matches of a problem, and of those that follow the larger and the smaller motion.
type Sizes = (usize, [usize; 2]);

/// Sizes of the problems with a shape.
const PLANTED: Sizes = (600, [48, 44]);
/// Standard deviation of the noise of each coordinate; the shapes are about 1 large.
const NOISE: f64 = 0.004;

/// Problems of each kind with a shape.
const SHAPED_PROBLEMS: u64 = 60;

/// Where the sources are.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// On a ball with dents.
    DentedBall,
    /// On a square, with a relief of 0.02.
    Plane,
    /// Along a strip that is 0.15 wide and 0.05 high.
    Strip,
    /// In two balls with a radius of 0.2.
    TwoClusters,
}

impl Shape {
    fn point(self, random: &mut Random) -> [f64; 3] {
        let mut centred = |width: f64| width * (random.uniform() - 0.5);
        match self {
            Self::Plane => [centred(1.0), centred(1.0), centred(0.02)],
            Self::Strip => [centred(1.0), centred(0.15), centred(0.05)],
            Self::DentedBall | Self::TwoClusters => {
                let [x, y, z] = std::array::from_fn(|_| random.gaussian());
                let length = (x * x + y * y + z * z).sqrt();
                let (radius, aside) = if matches!(self, Self::DentedBall) {
                    (0.5 - 0.1 * (3.0 * x / length).sin().abs(), 0.0)
                } else {
                    (0.2 * random.uniform().cbrt(), if random.below(2) == 0 { -0.35 } else { 0.35 })
                };
                [radius * x / length + aside, radius * y / length, radius * z / length]
            }
        }
    }
}

/// Where wrong targets are.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    /// All over the scene.
    Scattered,
    /// In four clumps with a standard deviation of 0.05.
    Clumped,
}

/// Problem with two motions of a shape.
struct Planted {
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    /// The larger motion first.
    motions: [Similarity; 2],
}

impl Planted {
    fn new((n, groups): Sizes, shape: Shape, wrong: Wrong, is_scaled: bool, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut motion = || {
            let scale = if is_scaled { 0.7 + 0.7 * random.uniform() } else { 1.0 };
            let quaternion = std::array::from_fn(|_| random.gaussian());
            let translation = std::array::from_fn(|_| 0.3 * random.gaussian());
            Similarity::from_quaternion(scale, quaternion, translation).expect("a transform")
        };
        let motions = [motion(), motion()];
        let clumps: [[f64; 3]; 4] = std::array::from_fn(|_| motions[0].apply(shape.point(&mut random)));
        let mut rows: Vec<([f64; 3], [f64; 3])> = Vec::new();
        for i in 0..n {
            let source = shape.point(&mut random);
            let (middle, spread) = if i < groups[0] {
                (motions[0].apply(source), NOISE)
            } else if i < groups[0] + groups[1] {
                (motions[1].apply(source), NOISE)
            } else {
                match wrong {
                    Wrong::Scattered => (motions[0].apply(shape.point(&mut random)), 0.2),
                    Wrong::Clumped => (clumps[random.below(4)], 0.05),
                }
            };
            rows.push((source, middle.map(|x| x + spread * random.gaussian())));
        }
        // In random order.
        for i in (1..n).rev() {
            rows.swap(i, random.below(i + 1));
        }
        let (source, target) = rows.into_iter().unzip();
        Self { source, target, motions }
    }

    /// Whether a transform moves the sources as a motion does, within `tolerance` on average.
    fn is_near(&self, found: &Similarity, motion: usize, tolerance: f64) -> bool {
        displacement(found, &self.motions[motion], &self.source) <= tolerance
    }

    /// Whether a motion is among what was found.
    fn is_found(&self, found: &Registration, motion: usize, tolerance: f64) -> bool {
        let candidates = found.candidates.iter().map(|candidate| &candidate.target_from_source);
        let rival = found.rival.iter().map(|rival| &rival.target_from_source);
        candidates.chain(rival).chain(&found.target_from_source).any(|it| self.is_near(it, motion, tolerance))
    }
}

/// How often something was missed.
#[derive(Debug, Clone, Copy, Default)]
struct Misses {
    /// Problems whose search was confident.
    confident: u64,
    /// Those of them that missed the larger motion although it has more inliers and more evidence than the answer.
    larger: u64,
    /// Those of them that are registered as the larger motion, and missed the smaller one although its evidence makes it a rival.
    rival: u64,
}

impl Misses {
    fn plus(self, other: Self) -> Self {
        Self {
            confident: self.confident + other.confident,
            larger: self.larger + other.larger,
            rival: self.rival + other.rival,
        }
    }

    /// Adds one problem.
    fn count(
        &mut self,
        problem: &Planted,
        pairs: &Correspondences,
        found: &Registration,
        threshold: Positive,
    ) {
        let (StopReason::Confident, Some(evidence)) = (found.stopped_because, found.evidence) else { return };
        self.confident += 1;
        let is_missed = |motion: usize| !problem.is_found(found, motion, threshold.get());
        let planted = |motion: usize| {
            let planted = assess(pairs, &problem.motions[motion], threshold);
            (planted.inliers.len(), planted.evidence.map_or(0.0, |evidence| evidence.log10_nfa))
        };
        if is_missed(0) {
            let (inliers, log10_nfa) = planted(0);
            self.larger += u64::from(inliers > found.inliers.len() && log10_nfa < evidence.log10_nfa);
        } else if is_missed(1) && found.is_registered() {
            self.rival += u64::from(planted(1).1 < Evidence::LARGEST_RIVAL_RATIO * evidence.log10_nfa);
        }
    }

    /// Whether so many misses would happen once in ten thousand times or more if each happened with the accepted probability.
    fn are_accepted(self, accepted: f64) -> bool {
        [self.larger, self.rival].into_iter().all(|missed| at_least(missed, self.confident, accepted) >= 1e-4)
    }
}

/// Probability that at least `k` of `n` events happen, each with probability `p`.
fn at_least(k: u64, n: u64, p: f64) -> f64 {
    let mut term = (1.0 - p).powf(n as f64);
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
    }
    1.0 - below
}

/// Solves problems of one kind.
fn misses(sizes: Sizes, shape: Shape, wrong: Wrong, scale: Scale, thresholds: f64, accepted: f64) -> Misses {
    let (mut solver, mut misses) = (Solver::new(), Misses::default());
    let threshold = Positive::new("threshold", thresholds * NOISE).expect("positive");
    for seed in FIRST_JUDGING_SEED..FIRST_JUDGING_SEED + SHAPED_PROBLEMS {
        let problem = Planted::new(sizes, shape, wrong, scale == Scale::Unknown, seed);
        let pairs = Correspondences::new(&problem.source, &problem.target).expect("matches");
        let params = Params::new().with_threads(1).with_seed(seed).with_threshold(threshold.get());
        let params = params.and_then(|params| params.with_miss_probability(accepted)).expect("parameters");
        let found = solver.solve(&pairs, scale, &params).expect("valid input");
        misses.count(&problem, &pairs, &found, threshold);
    }
    misses
}

/// Thresholds are at most two thirds of the height of the flattest shape but the plane. Wider ones let wrong matches into the larger motion, and the
/// search measures it by its evidence, not by its inliers.
#[test]
fn planted_shapes_are_missed_as_rarely_as_accepted() {
    for accepted in [0.2, 0.05] {
        let mut all = Misses::default();
        for shape in [Shape::DentedBall, Shape::Plane, Shape::Strip, Shape::TwoClusters] {
            for wrong in [Wrong::Scattered, Wrong::Clumped] {
                for (scale, thresholds) in
                    [(Scale::one(), 3.5), (Scale::one(), 8.0), (Scale::Unknown, 3.5), (Scale::Unknown, 8.0)]
                {
                    let misses = misses(PLANTED, shape, wrong, scale, thresholds, accepted);
                    let kind =
                        format!("{shape:?}, {wrong:?}, {scale:?}, {thresholds} σ, accepted {accepted}");
                    assert!(misses.are_accepted(accepted), "{kind}: {misses:?}");
                    assert!(2 * misses.confident > SHAPED_PROBLEMS, "{kind}: {misses:?}");
                    all = all.plus(misses);
                }
            }
        }
        assert!(all.are_accepted(accepted), "accepted {accepted}: {all:?}");
    }
}

/// A clique may hold all matches of a small consensus, so that its fit explains no more than the clique.
#[test]
fn small_consensuses_are_missed_as_rarely_as_accepted() {
    for accepted in [0.2, 0.05] {
        let mut all = Misses::default();
        for sizes in [(100, [12, 11]), (150, [16, 14]), (300, [20, 18])] {
            for scale in [Scale::one(), Scale::Unknown] {
                for thresholds in [3.5, 8.0] {
                    let misses =
                        misses(sizes, Shape::DentedBall, Wrong::Scattered, scale, thresholds, accepted);
                    let kind = format!("{sizes:?}, {scale:?}, {thresholds} σ, accepted {accepted}");
                    assert!(misses.are_accepted(accepted), "{kind}: {misses:?}");
                    all = all.plus(misses);
                }
            }
        }
        assert!(all.are_accepted(accepted), "accepted {accepted}: {all:?}");
    }
}
