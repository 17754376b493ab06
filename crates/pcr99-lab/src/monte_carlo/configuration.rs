use std::fmt;

use pcr99_baselines::Method;
use serde::{Deserialize, Serialize};

use super::{Estimator, Key};
use crate::OutlierCenter;

/// What is to be done: every method on every problem. Becomes a [`Plan`](super::Plan) when it is checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Methods, in any order; one that needs a known scale is left out where the scale is unknown.
    #[serde(with = "names")]
    pub methods: Vec<Method>,
    /// Whether the methods are told the scale.
    pub scales: Vec<ScaleMode>,
    /// Numbers of matches and shares of wrong ones.
    pub sizes: Vec<Size>,
    /// Problems of each size and scale mode.
    pub runs: u64,
    /// Standard deviation `σ` of the noise of a target coordinate; the threshold of every method is `5σ`.
    pub noise: f64,
    /// Name of the shape.
    pub shape: String,
    /// Tells the points of a given cloud from others; `None` for built-in shapes.
    #[serde(default)]
    pub shape_digest: Option<String>,
    /// Where the wrong targets lie.
    pub outlier_center: OutlierCenter,
    /// Seed of all problems.
    pub seed: u64,
    /// Seconds of CPU time after which a search is stopped.
    pub time_limit: f64,
}

/// How large and how hard a problem is.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Size {
    /// Number of matches `n`.
    pub points: usize,
    /// Share of wrong ones, below 1.
    pub outlier_ratio: f64,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "of {} matches with an outlier ratio of {}", self.points, self.outlier_ratio)
    }
}

/// Whether the methods are told the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScaleMode {
    /// It is random, between 1 and 5, and has to be found (Sec. VII-A).
    Unknown,
    /// It is 1, and known (Sec. VII-B).
    Known,
}

impl ScaleMode {
    /// Both, in the paper's order.
    pub const ALL: [Self; 2] = [Self::Unknown, Self::Known];

    /// The name in options and documents: `unknown` or `known`.
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

/// The outlier ratios of the paper are not listed there; its 5500 runs in all, at 500 each, are eleven.
const PAPER_RATIOS: [f64; 11] = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.96, 0.97, 0.98, 0.99];

impl Configuration {
    /// The paper's evaluation: 500 runs, eleven outlier ratios, 100 s.
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
        }
    }

    /// The same in minutes: 25 runs, seven ratios, 10 s.
    pub fn quick() -> Self {
        let sizes = Size::grid(&[1000], &[0.0, 0.4, 0.8, 0.9, 0.95, 0.98, 0.99]);
        Self { sizes, runs: 25, time_limit: 10.0, ..Self::paper() }
    }

    /// How far our method reaches: up to a million matches, and up to 99.9 % wrong ones.
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

    /// Who solves the problems of a scale mode: the reference first; nobody when no method can.
    pub fn estimators(&self, scale: ScaleMode) -> Vec<Estimator> {
        let able = |method: &&Method| scale == ScaleMode::Known || method.finds_scale();
        let methods: Vec<&Method> = self.methods.iter().filter(able).collect();
        let reference = (!methods.is_empty()).then_some(Estimator::TrueInliers);
        reference.into_iter().chain(methods.into_iter().map(|method| Estimator::Method(*method))).collect()
    }

    /// Number of records when all is done.
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

    /// The first setting in which two configurations differ, with both values, for messages.
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
    /// Every number of matches with every ratio.
    pub fn grid(points: &[usize], ratios: &[f64]) -> Vec<Self> {
        let row = |&points| ratios.iter().map(move |&outlier_ratio| Self { points, outlier_ratio });
        points.iter().flat_map(row).collect()
    }
}

/// Methods by their names.
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

    #[test]
    fn a_method_of_another_version_is_named() {
        let text = serde_json::to_string(&Configuration::paper()).unwrap().replace("paper-random", "alchemy");
        let error = serde_json::from_str::<Configuration>(&text).unwrap_err().to_string();
        assert!(error.contains("there is no method `alchemy`"), "{error}");
    }
}
