use pcr99::{Positive, Scale, random::Random};
use pcr99_baselines::Method;

use super::{Configuration, Error, Estimator, Key, ScaleMode, Size, TimedFrom};
use crate::{Recipe, ScaleChoice, Shape};

/// Largest number of runs. It keeps the number of records below 2⁶⁴.
pub const MOST_RUNS: u64 = 1_000_000;

/// Inlier threshold of every method, in standard deviations of the noise, as in the paper.
const THRESHOLD_IN_SIGMA: f64 = 5.0;

/// Checked configuration: the list of problems, and the estimators that solve each.
#[derive(Debug, Clone)]
pub struct Plan {
    configuration: Configuration,
    /// Choices that all problems share; size, scale and seed differ.
    recipe: Recipe,
    threshold: Positive,
}

/// One problem of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// Whether the methods know the scale.
    pub scale: ScaleMode,
    /// Number of matches and outlier ratio.
    pub size: Size,
    /// Number of the run, counted from 0.
    pub run: u64,
}

impl Case {
    /// Key of the record of `estimator` on this problem.
    pub fn key(&self, estimator: Estimator) -> Key {
        Key::new(estimator.name(), self.scale, self.size, self.run)
    }
}

impl Plan {
    /// Checks a configuration. `shape` is the shape that its name stands for.
    ///
    /// # Errors
    /// When a setting is invalid, or the shape has too few points.
    pub fn new(configuration: Configuration, shape: Shape) -> Result<Self, Error> {
        let mut configuration = Configuration {
            shape: shape.name().to_owned(),
            shape_digest: digest(&shape),
            timed_from: TimedFrom::RawArrays,
            ..configuration
        };
        let Configuration { methods, scales, sizes, runs, noise, time_limit, .. } = &mut configuration;
        *methods = sorted("methods", "method", methods, |a, b| place(*a).cmp(&place(*b)))?;
        *scales = sorted("scale modes", "scale mode", scales, Ord::cmp)?;
        let by_size =
            |a: &Size, b: &Size| a.points.cmp(&b.points).then(a.outlier_ratio.total_cmp(&b.outlier_ratio));
        for Size { outlier_ratio, .. } in sizes.iter_mut() {
            // Turns -0 into 0, which would be another key.
            *outlier_ratio += 0.0;
            if !(0.0..1.0).contains(outlier_ratio) {
                return Err(Error::Ratio { value: *outlier_ratio });
            }
        }
        *sizes = sorted("outlier ratios", "a size", sizes, by_size)?;
        match *runs {
            0 => return Err(Error::NoRuns),
            1..=MOST_RUNS => {}
            runs => return Err(Error::TooManyRuns { runs }),
        }
        if !(noise.is_finite() && *noise > 0.0) {
            return Err(Error::Noise { value: *noise });
        }
        if time_limit.is_nan() || *time_limit <= 0.0 {
            return Err(Error::TimeLimit { value: *time_limit });
        }
        if *scales == [ScaleMode::Unknown] && !methods.iter().any(|method| method.finds_scale()) {
            return Err(Error::NoMethodFindsScale);
        }
        let threshold = Positive::new("threshold", THRESHOLD_IN_SIGMA * *noise)?;
        let recipe = Recipe::default()
            .with_shape(shape)?
            .with_noise(*noise)?
            .with_outlier_center(configuration.outlier_center);
        let plan = Self { configuration, recipe, threshold };
        for &size in &plan.configuration.sizes {
            let case = Case { scale: ScaleMode::Known, size, run: 0 };
            let recipe = plan.recipe(&case)?;
            // Finds a cloud that is too small now, not after an hour.
            if matches!(recipe.shape(), Shape::Cloud { .. }) {
                recipe.generate()?;
            }
        }
        Ok(plan)
    }

    /// Configuration, with sorted lists.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// All problems. The run changes most slowly, so that an unfinished benchmark has about as many runs of each size.
    pub fn cases(&self) -> impl Iterator<Item = Case> {
        let Configuration { scales, sizes, runs, .. } = &self.configuration;
        (0..*runs).flat_map(move |run| {
            sizes.iter().flat_map(move |&size| scales.iter().map(move |&scale| Case { scale, size, run }))
        })
    }

    /// Estimators of a problem, in order. Each run starts with another method, so that no method always comes first.
    pub fn estimators(&self, case: &Case) -> Vec<Estimator> {
        let mut order = self.configuration.estimators(case.scale);
        if let [_, methods @ ..] = &mut order[..] {
            let first = case.run % methods.len() as u64;
            methods.rotate_left(first as usize);
        }
        order
    }

    /// Seed of a problem: equal for all methods and both scale modes, otherwise unrelated. It is below 2⁵³, so that every JSON reader keeps it
    /// exactly.
    pub fn seed(&self, case: &Case) -> u64 {
        let parts = [case.size.points as u64, case.size.outlier_ratio.to_bits(), case.run];
        let mixed = parts.iter().fold(self.configuration.seed, |seed, part| {
            // The second number, because the first one seeds the streams of a problem.
            let mut random = Random::new(seed ^ part.rotate_left(32));
            random.bits();
            random.bits()
        });
        mixed >> 11
    }

    /// Recipe of a problem.
    ///
    /// # Errors
    /// When the number of points is too small or too large.
    pub fn recipe(&self, case: &Case) -> Result<Recipe, Error> {
        let choice = match case.scale {
            ScaleMode::Known => ScaleChoice::Fixed(1.0),
            ScaleMode::Unknown => ScaleChoice::Random,
        };
        let recipe = self.recipe.clone().with_points(case.size.points)?;
        let recipe = recipe.with_outlier_ratio(case.size.outlier_ratio)?.with_scale(choice)?;
        Ok(recipe.with_seed(self.seed(case)))
    }

    /// Scale as the methods get it.
    pub(super) fn scale(case: &Case) -> Scale {
        match case.scale {
            ScaleMode::Known => Scale::one(),
            ScaleMode::Unknown => Scale::Unknown,
        }
    }

    /// Inlier threshold of every method: `5σ`.
    pub fn threshold(&self) -> Positive {
        self.threshold
    }
}

/// Place of a method in the order of figures and tables.
fn place(method: Method) -> usize {
    Method::ALL.iter().position(|&other| other == method).unwrap_or(Method::ALL.len())
}

/// Digest of the points of a given cloud: FNV-1a over their bits.
fn digest(shape: &Shape) -> Option<String> {
    let Shape::Cloud { points, .. } = shape else { return None };
    let bytes = points.as_flattened().iter().flat_map(|x| x.to_bits().to_le_bytes());
    let digest = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    Some(format!("{digest:016x}"))
}

fn sorted<T: Clone + PartialEq + std::fmt::Display>(
    all: &'static str,
    one: &'static str,
    values: &[T],
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Result<Vec<T>, Error> {
    let mut values = values.to_vec();
    values.sort_by(order);
    if values.is_empty() {
        return Err(Error::None { what: all });
    }
    match values.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::Twice { what: one, value: pair[0].to_string() }),
        None => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::OutlierCenter;

    fn small() -> Configuration {
        Configuration {
            sizes: Size::grid(&[30, 50], &[0.5, 0.0, 0.25]),
            runs: 3,
            outlier_center: OutlierCenter::Offset,
            ..Configuration::quick()
        }
    }

    fn plan(configuration: Configuration) -> Result<Plan, Error> {
        Plan::new(configuration, Shape::Knot)
    }

    #[test]
    fn every_run_is_there_once_and_the_run_changes_last() {
        let plan = plan(small()).unwrap();
        let cases: Vec<Case> = plan.cases().collect();
        assert_eq!(cases.len(), 3 * 6 * 2);
        assert!(cases.is_sorted_by_key(|case| case.run));
        let keys: Vec<Key> = cases
            .iter()
            .flat_map(|case| plan.estimators(case).into_iter().map(|estimator| case.key(estimator)))
            .collect();
        assert_eq!(keys.len() as u64, plan.configuration().records());
        assert!(keys.iter().all(|key| plan.configuration().has(key)));
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    }

    /// All methods see the same problems; no two problems are the same.
    #[test]
    fn seeds_depend_on_size_and_run_only() {
        let plan = plan(small()).unwrap();
        let mut seen = HashSet::new();
        for case in plan.cases() {
            let other = Case { scale: ScaleMode::Known, ..case };
            assert_eq!(plan.seed(&case), plan.seed(&other));
            assert!(plan.seed(&case) < 1 << 53);
            seen.insert(plan.seed(&case));
        }
        assert_eq!(seen.len(), 3 * 6);
        let reseeded = self::plan(Configuration { seed: 1, ..small() }).unwrap();
        assert!(reseeded.cases().all(|case| !seen.contains(&reseeded.seed(&case))));
    }

    #[test]
    fn each_method_comes_first_in_turn() {
        let plan = plan(small()).unwrap();
        let known = |run| Case { scale: ScaleMode::Known, size: plan.configuration().sizes[0], run };
        let (first, second) = (plan.estimators(&known(0)), plan.estimators(&known(1)));
        assert_eq!((first[0], second[0]), (Estimator::TrueInliers, Estimator::TrueInliers));
        assert_eq!((first[2], first[1]), (second[1], *second.last().unwrap()));
    }

    #[test]
    fn methods_that_need_the_scale_are_left_out_where_it_is_unknown() {
        let plan = plan(small()).unwrap();
        for case in plan.cases().take(2) {
            let missing = |method: &&Method| !plan.estimators(&case).contains(&Estimator::Method(**method));
            let missing: Vec<&Method> = Method::ALL.iter().filter(missing).collect();
            let expected: Vec<&Method> = match case.scale {
                ScaleMode::Known => Vec::new(),
                ScaleMode::Unknown => Method::ALL.iter().filter(|method| !method.finds_scale()).collect(),
            };
            assert_eq!(missing, expected);
        }
    }

    #[test]
    fn order_of_lists_does_not_matter() {
        let mut turned = small();
        turned.methods.reverse();
        turned.scales.reverse();
        turned.sizes.reverse();
        assert_eq!(plan(turned).unwrap().configuration(), plan(small()).unwrap().configuration());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let message = |change: &dyn Fn(&mut Configuration)| {
            let mut configuration = small();
            change(&mut configuration);
            plan(configuration).unwrap_err().to_string()
        };
        let ratio = |value: f64| move |c: &mut Configuration| c.sizes[0].outlier_ratio = value;
        for value in [1.0, -0.1, f64::NAN, 99.0] {
            assert!(message(&ratio(value)).contains("below 1"), "{value}");
        }
        assert!(message(&|c| c.runs = 0).contains("at least one run"));
        assert!(message(&|c| c.runs = MOST_RUNS + 1).contains("at most 1000000"));
        assert!(message(&|c| c.noise = 0.0).contains("noise"));
        assert!(message(&|c| c.time_limit = 0.0).contains("time limit"));
        assert!(message(&|c| c.methods.clear()).contains("no methods"));
        assert!(message(&|c| c.methods.push(Method::Paper)).contains("twice"));
        assert!(message(&|c| c.sizes[1] = c.sizes[0]).contains("twice"));
        assert!(message(&|c| c.sizes[0].points = 2).contains("at least 3 points"));
    }

    #[test]
    fn a_cloud_that_is_too_small_is_refused_at_once_and_others_are_told_apart() {
        let cloud = |n: i32, z: f64| Shape::Cloud {
            name: "c".to_owned(),
            points: (0..n).map(|i| [f64::from(i), f64::from(i * i % 7), z]).collect(),
        };
        assert!(Plan::new(small(), cloud(40, 0.0)).unwrap_err().to_string().contains("40 points but 50"));
        let digest = |shape| Plan::new(small(), shape).unwrap().configuration().shape_digest.clone();
        assert_eq!(digest(cloud(60, 0.0)), digest(cloud(60, 0.0)));
        assert_ne!(digest(cloud(60, 0.0)), digest(cloud(60, 1.0)));
        assert_eq!(digest(Shape::Knot), None);
    }
}
