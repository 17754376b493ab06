use pcr99::Similarity;
use pcr99_base::vector::{plus, times};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Shape,
    draw::{Purpose, direction, distinct_indices, gaussian_vector, in_unit_ball, rotation},
};

/// Largest number of matches. 10⁸ matches take about 10 GB while they are generated.
pub const MOST_POINTS: usize = 100_000_000;

/// Largest `‖t‖`, in target units; see [`Recipe`].
const LONGEST_TRANSLATION: f64 = 3.0;

/// Choice of the true scale `s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScaleChoice {
    /// Uniform in `(1, 5)`, as in the paper's problems with unknown scale.
    Random,
    /// This scale, finite and above zero. The paper's problems with known scale have 1.
    Fixed(f64),
}

/// Position of the ball that the outliers are drawn from. Its diameter is `√3·s`, the diagonal of the transformed unit cube.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutlierCenter {
    /// Around `t`, the image of the centre of the source box: the outliers surround the inliers. This is the paper's protocol. It favours
    /// local methods, because the mean of the outliers is close to the translation.
    Centred,
    /// Moved from `t` in a random direction by half the diameter, so that the mean of the outliers is misleading.
    Offset,
}

impl OutlierCenter {
    /// All choices.
    pub const ALL: [Self; 2] = [Self::Centred, Self::Offset];

    /// Name in options and documents: `centred` or `offset`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Centred => "centred",
            Self::Offset => "offset",
        }
    }
}

/// Choices for a problem. Every value is checked when it is set. The default is the paper's problem with known scale and 99 % outliers.
///
/// | choice | default | |
/// |---|---|---|
/// | shape | Bunny with the feature `bunny`, else the knot | [`Shape`] |
/// | points `n` | 1000 | from 3 to [`MOST_POINTS`] |
/// | outlier ratio `r` | 0.99 | from 0 to 1; exactly `round(r·n)` targets are replaced |
/// | noise `σ` | 0.01 | of each coordinate, in target units, whatever the scale |
/// | scale `s` | fixed, 1 | [`ScaleChoice`] |
/// | outlier centre | centred | [`OutlierCenter`] |
/// | seed | 0 | |
///
/// The rotation is uniform on SO(3). The translation has a uniform direction and a length uniform in
/// `[0, 3)`, also when `s` is not 1; the paper does not say how long it is.
///
/// With the same seed and shape, a change of one choice leaves the rest of the problem unchanged:
///
/// - other noise: same points, transform and outliers, and the same noise up to its size;
/// - higher outlier ratio: more targets are replaced, all others stay;
/// - other scale or centre: same rotation, translation and choice of outliers.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    shape: Shape,
    points: usize,
    outlier_ratio: f64,
    noise: f64,
    scale: ScaleChoice,
    outlier_center: OutlierCenter,
    seed: u64,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            #[cfg(feature = "bunny")]
            shape: Shape::Bunny,
            #[cfg(not(feature = "bunny"))]
            shape: Shape::Knot,
            points: 1000,
            outlier_ratio: 0.99,
            noise: 0.01,
            scale: ScaleChoice::Fixed(1.0),
            outlier_center: OutlierCenter::Centred,
            seed: 0,
        }
    }
}

impl Recipe {
    /// Takes the source points from `shape`.
    ///
    /// # Errors
    ///
    /// When a cloud has fewer than three points, or a point that is not finite. [`Recipe::generate`] checks that it has as many points as
    /// requested.
    pub fn with_shape(self, shape: Shape) -> Result<Self, Error> {
        shape.check()?;
        Ok(Self { shape, ..self })
    }

    /// Sets the number of matches `n`.
    ///
    /// # Errors
    ///
    /// When it is below 3 or above [`MOST_POINTS`].
    pub fn with_points(self, points: usize) -> Result<Self, Error> {
        match points {
            0..3 => Err(Error::TooFewPoints { points }),
            3..=MOST_POINTS => Ok(Self { points, ..self }),
            _ => Err(Error::TooManyPoints { points }),
        }
    }

    /// Sets the outlier ratio `r`.
    ///
    /// # Errors
    ///
    /// When it is not between 0 and 1.
    pub fn with_outlier_ratio(self, outlier_ratio: f64) -> Result<Self, Error> {
        if (0.0..=1.0).contains(&outlier_ratio) {
            Ok(Self { outlier_ratio, ..self })
        } else {
            Err(Error::OutlierRatio { value: outlier_ratio })
        }
    }

    /// Sets the standard deviation `σ` of each target coordinate.
    ///
    /// # Errors
    ///
    /// When it is negative or not finite.
    pub fn with_noise(self, noise: f64) -> Result<Self, Error> {
        if noise.is_finite() && noise >= 0.0 {
            Ok(Self { noise, ..self })
        } else {
            Err(Error::Noise { value: noise })
        }
    }

    /// Sets the choice of the true scale.
    ///
    /// # Errors
    ///
    /// When a fixed scale is not finite and positive.
    pub fn with_scale(self, scale: ScaleChoice) -> Result<Self, Error> {
        match scale {
            ScaleChoice::Fixed(value) if !(value.is_finite() && value > 0.0) => Err(Error::Scale { value }),
            _ => Ok(Self { scale, ..self }),
        }
    }

    /// Sets the position of the ball of outliers.
    pub fn with_outlier_center(self, outlier_center: OutlierCenter) -> Self {
        Self { outlier_center, ..self }
    }

    /// Sets the seed. Each seed gives another problem.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Shape of the source points.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of matches `n`.
    pub const fn points(&self) -> usize {
        self.points
    }

    /// Outlier ratio `r`.
    pub const fn outlier_ratio(&self) -> f64 {
        self.outlier_ratio
    }

    /// Number of outliers: `r·n`, rounded to the nearest integer, halves up.
    pub fn outliers(&self) -> usize {
        (self.outlier_ratio * self.points as f64).round() as usize
    }

    /// Standard deviation `σ` of each target coordinate.
    pub const fn noise(&self) -> f64 {
        self.noise
    }

    /// Choice of the true scale.
    pub const fn scale(&self) -> ScaleChoice {
        self.scale
    }

    /// Position of the ball of outliers.
    pub const fn outlier_center(&self) -> OutlierCenter {
        self.outlier_center
    }

    /// The seed.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Generates the problem: `b_i = s·R·a_i + t + e_i` with normal `e_i` (Eq. 1), then replaces a random choice of targets by points that
    /// are uniform in a ball (Sec. VII-A). The order of the matches carries no information.
    ///
    /// # Errors
    ///
    /// When a given cloud has fewer points than requested, or the drawn points are collinear.
    pub fn generate(&self) -> Result<Problem, Error> {
        let source = self.shape.sample(self.points, &mut Purpose::Points.stream(self.seed))?;
        let truth = self.draw_truth();

        // Noise and outliers are drawn for every match, needed or not, so that a higher ratio leaves the other matches unchanged.
        let mut noise = Purpose::Noise.stream(self.seed);
        let mut target: Vec<[f64; 3]> = source
            .iter()
            .map(|&a| plus(truth.apply(a), times(self.noise, gaussian_vector(&mut noise))))
            .collect();

        let radius = self.ball_radius(&truth);
        let center = self.ball_center(&truth);
        let mut ball = Purpose::OutlierPoints.stream(self.seed);
        let replacements: Vec<[f64; 3]> =
            (0..self.points).map(|_| plus(center, times(radius, in_unit_ball(&mut ball)))).collect();

        let mut choice = Purpose::OutlierChoice.stream(self.seed);
        let order = distinct_indices(self.points, self.points, &mut choice);
        let mut is_inlier = vec![true; self.points];
        for &i in &order[..self.outliers()] {
            is_inlier[i] = false;
            target[i] = replacements[i];
        }

        Ok(Problem {
            source,
            target,
            truth,
            is_inlier,
            noise: self.noise,
            seed: self.seed,
            shape_name: self.shape.name().to_owned(),
            outlier_ratio: self.outlier_ratio,
            outlier_center: self.outlier_center,
        })
    }

    fn draw_truth(&self) -> Similarity {
        let scale = match self.scale {
            ScaleChoice::Fixed(scale) => scale,
            ScaleChoice::Random => open_unit(&mut Purpose::Scale.stream(self.seed)) * 4.0 + 1.0,
        };
        let rotation = rotation(&mut Purpose::Rotation.stream(self.seed));
        let mut random = Purpose::Translation.stream(self.seed);
        let length = LONGEST_TRANSLATION * random.uniform();
        Similarity::new_unchecked(scale, rotation, times(length, direction(&mut random)))
    }

    /// Radius of the ball of outliers: half of `√3·s`.
    fn ball_radius(&self, truth: &Similarity) -> f64 {
        0.5 * 3.0_f64.sqrt() * truth.scale()
    }

    fn ball_center(&self, truth: &Similarity) -> [f64; 3] {
        match self.outlier_center {
            OutlierCenter::Centred => truth.translation(),
            OutlierCenter::Offset => {
                let away = direction(&mut Purpose::OutlierCenter.stream(self.seed));
                plus(truth.translation(), times(self.ball_radius(truth), away))
            }
        }
    }
}

/// Uniform in `(0, 1)`. [`pcr99::random::Random::uniform`] may give 0.
fn open_unit(random: &mut pcr99::random::Random) -> f64 {
    loop {
        let value = random.uniform();
        if value > 0.0 {
            return value;
        }
    }
}

/// Matches `(a_i, b_i)` and the true similarity of the inliers.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Source points `a_i`, in the cube `[−½, ½]³`.
    pub source: Vec<[f64; 3]>,
    /// Target points `b_i`; row `i` matches source row `i`.
    pub target: Vec<[f64; 3]>,
    /// True transform, target from source: `b = s·R·a + t`.
    pub truth: Similarity,
    /// For each match, whether it is an inlier: its target was not replaced.
    pub is_inlier: Vec<bool>,
    /// Standard deviation `σ` of the noise of each target coordinate.
    pub noise: f64,
    /// Seed of the problem.
    pub seed: u64,
    /// Name of the shape.
    pub shape_name: String,
    /// Requested outlier ratio.
    pub outlier_ratio: f64,
    /// Position of the ball of outliers.
    pub outlier_center: OutlierCenter,
}

impl Problem {
    /// Indices of the inliers, counted from 0, ascending.
    pub fn inliers(&self) -> Vec<usize> {
        (0..self.is_inlier.len()).filter(|&i| self.is_inlier[i]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99_base::vector::{minus, norm};
    use proptest::prelude::*;

    fn knot() -> Recipe {
        Recipe::default().with_shape(Shape::Knot).unwrap()
    }

    #[test]
    fn defaults_are_the_known_scale_problem_of_the_paper() {
        let recipe = Recipe::default();
        assert_eq!(recipe.shape().name(), if cfg!(feature = "bunny") { "bunny" } else { "knot" });
        assert_eq!((recipe.points(), recipe.outliers(), recipe.seed()), (1000, 990, 0));
        assert_eq!((recipe.outlier_ratio(), recipe.noise()), (0.99, 0.01));
        assert_eq!(recipe.scale(), ScaleChoice::Fixed(1.0));
        assert_eq!(recipe.outlier_center(), OutlierCenter::Centred);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn outliers_are_as_many_as_asked_and_inside_their_ball(
            n in 3_usize..300, ratio in 0.0..=1.0, scale in 0.01..50.0, seed: u64, offset: bool,
        ) {
            let center = OutlierCenter::ALL[usize::from(offset)];
            let recipe = knot().with_points(n).unwrap().with_outlier_ratio(ratio).unwrap()
                .with_scale(ScaleChoice::Fixed(scale)).unwrap().with_outlier_center(center).with_seed(seed);
            let problem = recipe.generate().unwrap();
            prop_assert_eq!(problem.source.len(), n);
            prop_assert_eq!(problem.target.len(), n);
            prop_assert_eq!(n - problem.inliers().len(), (ratio * n as f64).round() as usize);
            prop_assert_eq!(problem.truth.scale(), scale);
            prop_assert!(norm(problem.truth.translation()) < 3.0);
            let radius = 3.0_f64.sqrt() / 2.0 * scale;
            let center = recipe.ball_center(&problem.truth);
            let moved = norm(minus(center, problem.truth.translation()));
            let expected = if offset { radius } else { 0.0 };
            prop_assert!((moved - expected).abs() < 1e-12, "{moved} {expected}");
            for i in (0..n).filter(|&i| !problem.is_inlier[i]) {
                prop_assert!(norm(minus(problem.target[i], center)) <= radius + 1e-12);
            }
        }
    }

    #[test]
    fn inliers_differ_from_the_truth_by_the_noise() {
        for (noise, seed) in [(0.01, 1), (0.2, 2), (0.0, 3)] {
            let recipe = knot().with_points(20_000).unwrap().with_outlier_ratio(0.5).unwrap();
            let recipe = recipe.with_scale(ScaleChoice::Random).unwrap().with_noise(noise).unwrap();
            let problem = recipe.with_seed(seed).generate().unwrap();
            let residual = |&i: &usize| minus(problem.truth.apply(problem.source[i]), problem.target[i]);
            let squares: f64 = problem.inliers().iter().map(|i| norm(residual(i)) * norm(residual(i))).sum();
            let rms = (squares / 10_000.0).sqrt();
            // Relative standard deviation 1/√(2·30 000) = 0.4 %.
            assert!((rms - noise * 3.0_f64.sqrt()).abs() <= 0.02 * noise * 3.0_f64.sqrt(), "{rms}");
        }
    }

    /// Outliers are uniform in the ball around the chosen centre.
    #[test]
    fn outliers_fill_the_ball_around_their_centre() {
        for center in OutlierCenter::ALL {
            let recipe = knot().with_points(20_000).unwrap().with_outlier_ratio(1.0).unwrap();
            let recipe = recipe.with_outlier_center(center).with_seed(4);
            let problem = recipe.generate().unwrap();
            let mean = problem.target.iter().fold([0.0; 3], |sum, b| plus(sum, times(1.0 / 20_000.0, *b)));
            let from_truth = norm(minus(mean, problem.truth.translation()));
            let expected = if center == OutlierCenter::Offset { 0.866 } else { 0.0 };
            assert!((from_truth - expected).abs() < 0.015, "{center:?} {from_truth}");
        }
    }

    #[test]
    fn choices_are_independent_of_each_other() {
        let base = knot().with_outlier_ratio(0.5).unwrap().with_seed(11);
        let problem = base.generate().unwrap();

        let noisy = base.clone().with_noise(0.1).unwrap().generate().unwrap();
        assert_eq!(
            (&noisy.source, noisy.truth, &noisy.is_inlier),
            (&problem.source, problem.truth, &problem.is_inlier)
        );
        assert_ne!(noisy.target, problem.target);

        // More outliers: none of the old ones is changed, and no remaining inlier.
        let more = base.clone().with_outlier_ratio(0.9).unwrap().generate().unwrap();
        assert_eq!((&more.source, more.truth), (&problem.source, problem.truth));
        for i in 0..1000 {
            assert!(problem.is_inlier[i] || !more.is_inlier[i]);
            assert_eq!(more.is_inlier[i] == problem.is_inlier[i], more.target[i] == problem.target[i]);
        }

        let scaled = base.clone().with_scale(ScaleChoice::Random).unwrap().generate().unwrap();
        assert_eq!(scaled.truth.rotation(), problem.truth.rotation());
        assert_eq!(scaled.truth.translation(), problem.truth.translation());
        assert_eq!((&scaled.source, &scaled.is_inlier), (&problem.source, &problem.is_inlier));

        let cube = base.with_shape(Shape::Cube).unwrap().generate().unwrap();
        assert_eq!((cube.truth, &cube.is_inlier), (problem.truth, &problem.is_inlier));
        assert_ne!(cube.source, problem.source);
    }

    #[test]
    fn random_scales_are_uniform_between_one_and_five() {
        let recipe = knot().with_points(3).unwrap().with_scale(ScaleChoice::Random).unwrap();
        let scales: Vec<f64> =
            (0..2000).map(|seed| recipe.clone().with_seed(seed).generate().unwrap().truth.scale()).collect();
        assert!(scales.iter().all(|&s| s > 1.0 && s < 5.0));
        let below_two = scales.iter().filter(|&&s| s < 2.0).count();
        assert!(below_two.abs_diff(500) < 90, "{below_two}");
    }

    /// Outliers are as frequent at the front as at the back.
    #[test]
    fn outliers_are_spread_over_the_order() {
        let recipe = knot().with_points(10).unwrap().with_outlier_ratio(0.7).unwrap();
        let mut hits = [0_u32; 10];
        for seed in 0..1000 {
            let problem = recipe.clone().with_seed(seed).generate().unwrap();
            problem.inliers().iter().for_each(|&i| hits[i] += 1);
        }
        assert!(hits.iter().all(|hit| hit.abs_diff(300) < 70), "{hits:?}");
    }

    #[test]
    fn same_seed_same_bits_other_seed_other_problem() {
        let problem = knot().generate().unwrap();
        assert_eq!(problem, knot().generate().unwrap());
        let other = knot().with_seed(1).generate().unwrap();
        assert!(other.source != problem.source && other.truth != problem.truth);
        assert!(other.target != problem.target && other.is_inlier != problem.is_inlier);
    }

    /// Records of earlier versions stay comparable only while these numbers hold.
    #[test]
    fn streams_have_not_changed() {
        let problem = knot().with_scale(ScaleChoice::Random).unwrap().with_seed(42).generate().unwrap();
        assert_eq!(problem.source[0], [0.09549947564893214, -0.00020898519805844952, -0.09596521315322196]);
        assert_eq!(problem.target[0], [-0.5750093262575197, -1.7938732112163407, 2.6848784181970164]);
        assert_eq!(problem.truth.scale(), 4.836685002872825);
        let first_row = [0.33661503429368456, -0.6403695956810032, 0.6903746081764669];
        assert_eq!(problem.truth.rotation()[0], first_row);
        let translation = [0.9058821452607865, -1.6260138912983302, -0.9440222824911696];
        assert_eq!(problem.truth.translation(), translation);
        assert_eq!(problem.inliers(), [16, 235, 401, 452, 519, 547, 719, 763, 768, 776]);
        assert_eq!(problem.target[16], [1.3364758413164357, -2.1625087760395862, 0.14039826467452723]);
    }

    #[test]
    fn bad_values_are_refused_with_a_remedy() {
        let message = |result: Result<Recipe, Error>| result.unwrap_err().to_string();
        assert_eq!(message(knot().with_points(2)), "a problem needs at least 3 points, got 2: ask for more");
        assert!(knot().with_points(MOST_POINTS).is_ok());
        assert_eq!(
            message(knot().with_points(usize::MAX)),
            format!("a problem may have at most 100000000 points, got {}: ask for fewer", usize::MAX)
        );
        assert_eq!(
            message(knot().with_outlier_ratio(99.0)),
            "the outlier ratio must be from 0 to 1, got 99: write 99 % as 0.99"
        );
        assert!(message(knot().with_outlier_ratio(-0.1)).contains("got -0.1"));
        assert!(message(knot().with_outlier_ratio(f64::NAN)).contains("got NaN"));
        for bad in [-0.01, f64::NAN, f64::INFINITY] {
            let expected = format!("at least 0, got {bad}: use 0 for none");
            assert!(message(knot().with_noise(bad)).ends_with(&expected));
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let expected = format!("finite and above 0, got {bad}: use 1 for a rigid motion");
            assert!(message(knot().with_scale(ScaleChoice::Fixed(bad))).ends_with(&expected));
        }
        let pair = Shape::Cloud { name: "pair".to_owned(), points: vec![[0.0; 3], [1.0; 3]] };
        assert!(message(knot().with_shape(pair)).contains("cloud `pair` has 2 points but 3 are needed"));
        let points = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let small = knot().with_shape(Shape::Cloud { name: "small".to_owned(), points }).unwrap();
        let error = small.generate().unwrap_err().to_string();
        assert!(
            error.contains("cloud `small` has 3 points but 1000 are needed: ask for at most 3"),
            "{error}"
        );
    }

    #[test]
    fn extremes_work() {
        let all_right = knot().with_outlier_ratio(0.0).unwrap().generate().unwrap();
        assert_eq!(all_right.inliers().len(), 1000);
        let all_wrong = knot().with_outlier_ratio(1.0).unwrap().generate().unwrap();
        assert!(all_wrong.inliers().is_empty());
        let large = Recipe::default().with_points(5000).unwrap().generate().unwrap();
        assert_eq!(large.inliers().len(), 50);
    }
}
