use std::fmt;

use pcr99_baselines::Method;
use serde::{Deserialize, Serialize};

use super::{Estimator, Key};
use crate::OutlierCenter;

/// Settings of a benchmark, which runs every method on every problem. [`Plan::new`](super::Plan::new) checks them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Methods, in any order. Methods that need a known scale skip problems with unknown scale.
    #[serde(with = "names")]
    pub methods: Vec<Method>,
    /// Scale modes.
    pub scales: Vec<ScaleMode>,
    /// Numbers of matches and outlier ratios.
    pub sizes: Vec<Size>,
    /// Number of problems of each size and scale mode.
    pub runs: u64,
    /// Standard deviation `σ` of the noise of each target coordinate. The threshold of every method is `5σ`.
    pub noise: f64,
    /// Name of the shape.
    pub shape: String,
    /// Digest of the points of a given cloud; `None` for built-in shapes.
    #[serde(default)]
    pub shape_digest: Option<String>,
    /// Position of the ball of outliers.
    pub outlier_center: OutlierCenter,
    /// Seed of all problems.
    pub seed: u64,
    /// CPU time after which a search is stopped, in seconds.
    pub time_limit: f64,
    /// Where the clock of each run starts. A [`Plan`](super::Plan) always starts it at raw arrays.
    #[serde(default)]
    pub timed_from: TimedFrom,
}

/// Where the clock of a run starts. It ends with the verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimedFrom {
    /// Matches that have been checked and normalised, as in records of earlier versions.
    #[default]
    CheckedMatches,
    /// Arrays of points, so that checking and normalising them counts.
    RawArrays,
}

impl TimedFrom {
    /// The words for tables.
    pub const fn words(self) -> &'static str {
        match self {
            Self::CheckedMatches => "from checked matches to the verdict",
            Self::RawArrays => "from raw arrays to the verdict",
        }
    }
}

/// Number of matches and outlier ratio of a problem.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Size {
    /// Number of matches `n`.
    pub points: usize,
    /// Outlier ratio, below 1.
    pub outlier_ratio: f64,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "of {} matches with an outlier ratio of {}", self.points, self.outlier_ratio)
    }
}

/// Whether the methods know the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScaleMode {
    /// The scale is random between 1 and 5, and unknown to the methods (Sec. VII-A).
    Unknown,
    /// The scale is 1, and known to the methods (Sec. VII-B).
    Known,
}

impl ScaleMode {
    /// Both modes, in the paper's order.
    pub const ALL: [Self; 2] = [Self::Unknown, Self::Known];

    /// Name in options and documents: `unknown` or `known`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Known => "known",
        }
    }
}

impl fmt::Display for ScaleMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Outlier ratios of the paper's evaluation. The paper does not list them; 5500 runs, 500 for each ratio, make eleven.
const PAPER_RATIOS: [f64; 11] = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.96, 0.97, 0.98, 0.99];

impl Configuration {
    /// The paper's evaluation: 500 runs, eleven outlier ratios, time limit 100 s.
    pub fn paper() -> Self {
        Self {
            methods: Method::ALL.to_vec(),
            scales: ScaleMode::ALL.to_vec(),
            sizes: Size::grid(&[1000], &PAPER_RATIOS),
            runs: 500,
            noise: 0.01,
            shape: if cfg!(feature = "bunny") { "bunny" } else { "knot" }.to_owned(),
            shape_digest: None,
            outlier_center: OutlierCenter::Centred,
            seed: 0,
            time_limit: 100.0,
            timed_from: TimedFrom::RawArrays,
        }
    }

    /// Short version that takes minutes: 25 runs, seven outlier ratios, time limit 10 s.
    pub fn quick() -> Self {
        let sizes = Size::grid(&[1000], &[0.0, 0.4, 0.8, 0.9, 0.95, 0.98, 0.99]);
        Self { sizes, runs: 25, time_limit: 10.0, ..Self::paper() }
    }

    /// Limits of the default method: up to a million matches and up to 99.9 % outliers.
    pub fn limits() -> Self {
        let growth = Size::grid(
            &[100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000],
            &[0.5, 0.9, 0.95, 0.99],
        );
        let limit = Size::grid(
            &[1000, 10_000, 100_000],
            &[0.991, 0.992, 0.993, 0.994, 0.995, 0.996, 0.997, 0.998, 0.999],
        );
        let sizes = [growth, limit].concat();
        Self { methods: vec![Method::Default], sizes, runs: 20, time_limit: 10.0, ..Self::paper() }
    }

    /// Estimators in a scale mode, the reference first. Empty when no method can solve such problems.
    pub fn estimators(&self, scale: ScaleMode) -> Vec<Estimator> {
        let able = |method: &&Method| scale == ScaleMode::Known || method.finds_scale();
        let methods: Vec<&Method> = self.methods.iter().filter(able).collect();
        let reference = (!methods.is_empty()).then_some(Estimator::TrueInliers);
        reference.into_iter().chain(methods.into_iter().map(|method| Estimator::Method(*method))).collect()
    }

    /// Number of records of the complete benchmark.
    pub fn records(&self) -> u64 {
        let each: u64 = self.scales.iter().map(|&scale| self.estimators(scale).len() as u64).sum();
        self.runs.saturating_mul(self.sizes.len() as u64).saturating_mul(each)
    }

    /// Whether a record belongs to this configuration.
    pub(super) fn has(&self, key: &Key) -> bool {
        let estimators = self.estimators(key.scale());
        self.scales.contains(&key.scale())
            && estimators.iter().any(|estimator| estimator.name() == key.estimator())
            && self.sizes.contains(&key.size())
            && key.run() < self.runs
    }

    /// First setting in which two configurations differ: its name, our value and the other value.
    pub(super) fn difference(&self, other: &Self) -> Option<(String, String, String)> {
        let fields = |configuration: &Self| match serde_json::to_value(configuration) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => unreachable!("a struct is a JSON object"),
        };
        let (ours, theirs) = (fields(self), fields(other));
        let differs = |(name, value): (&String, &serde_json::Value)| {
            let other = theirs.get(name)?;
            (value != other).then(|| (name.clone(), shortened(value), shortened(other)))
        };
        ours.iter().find_map(differs)
    }
}

fn shortened(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 80 { text } else { text.chars().take(77).chain("...".chars()).collect() }
}

impl Size {
    /// All combinations of numbers of matches and outlier ratios.
    pub fn grid(points: &[usize], ratios: &[f64]) -> Vec<Self> {
        let row = |&points| ratios.iter().map(move |&outlier_ratio| Self { points, outlier_ratio });
        points.iter().flat_map(row).collect()
    }
}

/// Serialization of methods by name.
mod names {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use pcr99_baselines::Method;

    pub(super) fn serialize<S: Serializer>(methods: &[Method], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(methods.iter().map(|method| method.name()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Method>, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().map(|name| name.parse().map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_runs_5500_problems_in_each_mode() {
        let paper = Configuration::paper();
        assert_eq!(paper.sizes.len() as u64 * paper.runs, 5500);
        assert_eq!(paper.methods, Method::ALL);
    }

    #[test]
    fn reads_back_equal_and_says_what_differs() {
        let all = [Configuration::paper(), Configuration::quick(), Configuration::limits()];
        for configuration in &all {
            let text = serde_json::to_string(configuration).unwrap();
            let back: Configuration = serde_json::from_str(&text).unwrap();
            assert_eq!(&back, configuration);
            assert_eq!(back.difference(configuration), None);
        }
        let other = Configuration { noise: 0.02, ..Configuration::paper() };
        let (name, ours, theirs) = other.difference(&Configuration::paper()).unwrap();
        assert_eq!((name.as_str(), ours.as_str(), theirs.as_str()), ("noise", "0.02", "0.01"));
        let (name, ..) = all[0].difference(&all[1]).unwrap();
        assert_eq!(name, "sizes");
    }

    /// Records of earlier versions can be drawn, but not continued with another clock.
    #[test]
    fn the_clock_of_earlier_records_is_another_one() {
        let paper = Configuration::paper();
        let text = serde_json::to_string(&paper).unwrap().replace(",\"timed_from\":\"raw_arrays\"", "");
        let earlier: Configuration = serde_json::from_str(&text).unwrap();
        assert_eq!(earlier.timed_from, TimedFrom::CheckedMatches);
        let (name, ours, theirs) = paper.difference(&earlier).unwrap();
        assert_eq!(
            (name.as_str(), ours.as_str(), theirs.as_str()),
            ("timed_from", "\"raw_arrays\"", "\"checked_matches\"")
        );
    }

    #[test]
    fn a_method_of_another_version_is_named() {
        let text = serde_json::to_string(&Configuration::paper()).unwrap().replace("paper-random", "alchemy");
        let error = serde_json::from_str::<Configuration>(&text).unwrap_err().to_string();
        assert!(error.contains("there is no method `alchemy`"), "{error}");
    }
}
