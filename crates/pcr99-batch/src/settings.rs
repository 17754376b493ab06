//! Options of a pair: those of `solve` and `register`, each as a column of the manifest.

use std::sync::Arc;

use pcr99::Similarity;
use pcr99_cloud::Refinement;
use pcr99_plan::{
    Expected, GivenScale, GivenVertical, Method, PlanError, RegisterOptions, RegisterPlan, SolveOptions,
    SolvePlan, text,
};

/// Kind of the inputs of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A file of matches, for `solve`.
    Matches,
    /// Two clouds, for `register`.
    Clouds,
}

impl Kind {
    /// The name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::Clouds => "two clouds",
        }
    }
}

/// Options of a pair, not yet checked; `None` means the default.
///
/// ```
/// use pcr99_batch::Settings;
///
/// let mut settings = Settings::default();
/// settings.set("scale", "0.5..2")?;
/// settings.set("seed", "7")?;
/// assert_eq!(settings.cells(), [("scale", "0.5..2".to_owned()), ("seed", "7".to_owned())]);
/// assert!(settings.set("scale", "large").is_err());
/// # Ok::<(), pcr99_batch::SettingError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Scale; default 1.
    pub scale: Option<GivenScale>,
    /// Inlier threshold in target units; default: from the data. For matches.
    pub threshold: Option<f64>,
    /// Method. For matches.
    pub method: Option<Method>,
    /// Largest size of the tables over pairs of matches, in MiB. For matches.
    pub memory_budget: Option<u64>,
    /// Largest number of pairs of matches that are tried in each round of the search. For matches.
    pub effort: Option<u64>,
    /// Accepted probability of having missed a larger consensus. For matches.
    pub miss_probability: Option<f64>,
    /// Distance between targets up to which neighbouring wrong matches are alike, in target units; default: measured. For matches.
    pub correlation_length: Option<f64>,
    /// Direction that is up on each side; default: unknown.
    pub vertical: Option<GivenVertical>,
    /// Largest angle between the vertical of the target and that of the moved source, in degrees; default 0.
    pub tilt: Option<f64>,
    /// Edge of the voxels in target units; default: from the data. For clouds.
    pub voxel: Option<f64>,
    /// How the pose is refined. For clouds.
    pub refine: Option<Refinement>,
    /// File with the pose to refine and judge; see [`RegisterOptions::initial`]. For clouds.
    pub initial: Option<Arc<str>>,
    /// Largest number of candidates.
    pub candidates: Option<usize>,
    /// Time limit of the search in seconds. Reading the files does not count.
    pub time_limit: Option<f64>,
    /// Seed of the random numbers; default 0.
    pub seed: Option<u64>,
}

/// A mistake in the options of a pair.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// There is no such option.
    #[error("there is no option `{name}`")]
    Unknown {
        /// Name that was given.
        name: String,
    },
    /// The text is not a value of the option.
    #[error("`{name}` is `{value}`: {expected}")]
    Value {
        /// The option.
        name: &'static str,
        /// Text that was given.
        value: String,
        /// What the text should have been.
        expected: Expected,
    },
    /// The option has no meaning for these inputs.
    #[error("`{name}` is an option for {of}, but this row has {inputs}: leave the cell empty")]
    NotForThis {
        /// The option.
        name: &'static str,
        /// Inputs that it is for.
        of: &'static str,
        /// Inputs of the row.
        inputs: &'static str,
    },
    /// A value is outside its range, or the options do not go together.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Name of each option, and the inputs that it is for; `None`: for both.
const OPTIONS: [(&str, Option<Kind>); 15] = [
    ("scale", None),
    ("threshold", Some(Kind::Matches)),
    ("method", Some(Kind::Matches)),
    ("memory_budget", Some(Kind::Matches)),
    ("effort", Some(Kind::Matches)),
    ("miss_probability", Some(Kind::Matches)),
    ("correlation_length", Some(Kind::Matches)),
    ("vertical", None),
    ("tilt", None),
    ("voxel", Some(Kind::Clouds)),
    ("refine", Some(Kind::Clouds)),
    ("initial", Some(Kind::Clouds)),
    ("candidates", None),
    ("time_limit", None),
    ("seed", None),
];

impl Settings {
    /// Names of all options.
    pub const NAMES: [&'static str; OPTIONS.len()] = {
        let mut names = [""; OPTIONS.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = OPTIONS[i].0;
            i += 1;
        }
        names
    };

    /// Sets an option by its name to the value of a text.
    ///
    /// # Errors
    /// When there is no such option, or the text is not a value of it. Ranges are checked with the whole row.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SettingError> {
        let Some((name, _)) = OPTIONS.into_iter().find(|(known, _)| *known == name) else {
            return Err(SettingError::Unknown { name: name.to_owned() });
        };
        let wrong = |expected| SettingError::Value { name, value: text.to_owned(), expected };
        let number = || text::number(text).map_err(wrong);
        match name {
            "scale" => self.scale = Some(text.parse().map_err(wrong)?),
            "threshold" => self.threshold = Some(number()?),
            "method" => self.method = Some(text::method(text).map_err(wrong)?),
            "memory_budget" => self.memory_budget = Some(whole(text).map_err(wrong)?),
            "effort" => self.effort = Some(whole(text).map_err(wrong)?),
            "miss_probability" => self.miss_probability = Some(number()?),
            "correlation_length" => self.correlation_length = Some(number()?),
            "vertical" => self.vertical = Some(text.parse().map_err(wrong)?),
            "tilt" => self.tilt = Some(number()?),
            "voxel" => self.voxel = Some(number()?),
            "refine" => self.refine = Some(text::refinement(text).map_err(wrong)?),
            "initial" => self.initial = Some(text.into()),
            "candidates" => self.candidates = Some(whole(text).map_err(wrong)?),
            "time_limit" => self.time_limit = Some(number()?),
            _ => self.seed = Some(whole(text).map_err(wrong)?),
        }
        Ok(())
    }

    /// The options that are set, with their values as text that [`set`](Self::set) reads.
    pub fn cells(&self) -> Vec<(&'static str, String)> {
        let number = |value: Option<f64>| value.map(text::number_text);
        let values = [
            self.scale.map(|scale| scale.to_string()),
            number(self.threshold),
            self.method.map(|method| method.name().to_owned()),
            self.memory_budget.map(|mib| mib.to_string()),
            self.effort.map(|pairs| pairs.to_string()),
            number(self.miss_probability),
            number(self.correlation_length),
            self.vertical.map(|vertical| vertical.to_string()),
            number(self.tilt),
            number(self.voxel),
            self.refine.map(|refine| text::refinement_name(refine).to_owned()),
            self.initial.as_deref().map(str::to_owned),
            self.candidates.map(|count| count.to_string()),
            number(self.time_limit),
            self.seed.map(|seed| seed.to_string()),
        ];
        Self::NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// These options, completed by those of `defaults` that have a meaning for this kind of inputs and for the method of the row.
    pub(crate) fn over(self, defaults: &Self, kind: Kind) -> Self {
        let matches = kind == Kind::Matches;
        let method = self.method.or(defaults.method.filter(|_| matches));
        // Parameters of the default method; clouds are always registered by it.
        let is_default = method.is_none_or(|method| method == Method::Default);
        Self {
            scale: self.scale.or(defaults.scale),
            threshold: self.threshold.or(defaults.threshold.filter(|_| matches)),
            method,
            memory_budget: self.memory_budget.or(defaults.memory_budget.filter(|_| matches)),
            effort: self.effort.or(defaults.effort.filter(|_| matches && is_default)),
            miss_probability: self
                .miss_probability
                .or(defaults.miss_probability.filter(|_| matches && is_default)),
            correlation_length: self.correlation_length.or(defaults.correlation_length.filter(|_| matches)),
            // The tilt belongs to the vertical that it was given with.
            tilt: self.tilt.or(defaults.tilt.filter(|_| is_default && self.vertical.is_none())),
            vertical: self.vertical.or(defaults.vertical.filter(|_| is_default)),
            voxel: self.voxel.or(defaults.voxel.filter(|_| !matches)),
            refine: self.refine.or(defaults.refine.filter(|_| !matches)),
            initial: self.initial.or_else(|| defaults.initial.clone().filter(|_| !matches)),
            candidates: self.candidates.or(defaults.candidates.filter(|_| is_default)),
            time_limit: self.time_limit.or(defaults.time_limit),
            seed: self.seed.or(defaults.seed),
        }
    }

    /// The first option that is set and has no meaning for inputs of that kind.
    pub(crate) fn first_not_for(&self, kind: Kind) -> Option<(&'static str, Kind)> {
        let names: Vec<&str> = self.cells().iter().map(|(name, _)| *name).collect();
        let wrong = |(name, of): (&'static str, Option<Kind>)| match of {
            // Clouds are registered by the default method.
            Some(Kind::Matches) if name == "method" && self.method == Some(Method::Default) => None,
            Some(of) if of != kind && names.contains(&name) => Some((name, of)),
            _ => None,
        };
        OPTIONS.into_iter().find_map(wrong)
    }

    /// Checks that all options are for inputs of that kind.
    pub(crate) fn check_kind(&self, kind: Kind) -> Result<(), SettingError> {
        match self.first_not_for(kind) {
            None => Ok(()),
            Some((name, of)) => Err(SettingError::NotForThis { name, of: of.name(), inputs: kind.name() }),
        }
    }

    /// Checks the values, and that they go together. An initial pose is checked when its file is read.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), PlanError> {
        match kind {
            Kind::Matches => self.solve_plan().map(|_| ()),
            Kind::Clouds => self.register_plan(None).map(|_| ()),
        }
    }

    /// The plan for matches. Threads are those of the worker.
    pub(crate) fn solve_plan(&self) -> Result<SolvePlan, PlanError> {
        SolvePlan::new(&SolveOptions {
            scale: self.scale,
            threshold: self.threshold,
            method: self.method,
            memory_budget_mib: self.memory_budget,
            time_limit: self.time_limit,
            seed: self.seed,
            candidates: self.candidates,
            effort: self.effort,
            miss_probability: self.miss_probability,
            correlation_length: self.correlation_length,
            vertical: self.vertical,
            tilt: self.tilt,
            ..SolveOptions::default()
        })
    }

    /// The plan for clouds, with the pose that was read from the file `initial`. Threads are those of the worker.
    pub(crate) fn register_plan(&self, initial: Option<Similarity>) -> Result<RegisterPlan, PlanError> {
        RegisterPlan::new(&RegisterOptions {
            scale: self.scale,
            voxel: self.voxel,
            refine: self.refine,
            initial,
            is_local: false,
            vertical: self.vertical,
            tilt: self.tilt,
            candidates: self.candidates,
            threads: None,
            time_limit: self.time_limit,
            seed: self.seed,
        })
    }
}

/// A whole number. Programs write `3.0` in a column of integers that has missing values.
fn whole<T: std::str::FromStr>(text: &str) -> Result<T, Expected> {
    text::whole(text.strip_suffix(".0").unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(pairs: &[(&str, &str)]) -> Result<Settings, SettingError> {
        let mut settings = Settings::default();
        pairs.iter().try_for_each(|(name, text)| settings.set(name, text))?;
        Ok(settings)
    }

    #[test]
    fn values_are_checked() {
        for (name, text, expected) in [
            (
                "scale",
                "large",
                "`scale` is `large`: expected `unknown`, a positive number, or a range MIN..MAX",
            ),
            ("scale", "1..", "`scale` is `1..`: expected"),
            ("scale", "0", "`scale` must be finite and positive, got 0"),
            ("scale", "2..1", "the scale range 2..1 is empty"),
            ("threshold", "a lot", "`threshold` is `a lot`: expected a number"),
            ("threshold", "-1", "`threshold` must be finite and positive, got -1"),
            ("miss_probability", "1", "`miss_probability` must be between"),
            ("effort", "0", "`effort` must be at least 1"),
            ("method", "magic", "one of default, paper, paper-random"),
            ("refine", "much", "one of point-to-plane, point-to-point, plane-to-plane, none"),
            ("seed", "-1", "`seed` is `-1`: expected a whole number that is not negative"),
            ("seed", "1.5", "a whole number"),
            ("time_limit", "0", "`time_limit` must be finite and positive, got 0"),
            ("memory_budget", "lots", "a whole number"),
            ("colour", "blue", "there is no option `colour`"),
        ] {
            let checked = set(&[(name, text)]).and_then(|settings| Ok(settings.check(Kind::Matches)?));
            let error = checked.expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(set(&[("seed", "3.0")]).expect("three").seed, Some(3));
    }

    #[test]
    fn options_that_do_not_go_together_are_refused() {
        for (pairs, kind, expected) in [
            (&[("method", "paper")][..], Kind::Matches, Some("method `paper` needs a `threshold`")),
            (
                &[("method", "paper"), ("threshold", "1"), ("scale", "1..2")],
                Kind::Matches,
                Some("a number or `unknown`"),
            ),
            (
                &[("method", "fgr"), ("threshold", "1"), ("scale", "unknown")],
                Kind::Matches,
                Some("set `scale` to a number"),
            ),
            (&[("method", "paper"), ("threshold", "1"), ("scale", "unknown")], Kind::Matches, None),
            (
                &[("voxel", "1")],
                Kind::Matches,
                Some("`voxel` is an option for two clouds, but this row has matches"),
            ),
            (
                &[("threshold", "1")],
                Kind::Clouds,
                Some("`threshold` is an option for matches, but this row has two clouds"),
            ),
            (&[("method", "default"), ("voxel", "1")], Kind::Clouds, None),
            (&[("method", "paper"), ("threshold", "1")], Kind::Clouds, Some("leave the cell empty")),
        ] {
            let settings = set(pairs).expect("values");
            let error = settings
                .check_kind(kind)
                .and_then(|()| Ok(settings.check(kind)?))
                .err()
                .map(|error| error.to_string());
            match (expected, &error) {
                (None, None) => {}
                (Some(words), Some(error)) => assert!(error.contains(words), "{error}"),
                _ => panic!("{pairs:?}: {error:?}"),
            }
        }
    }

    #[test]
    fn a_cell_goes_before_the_default() {
        let defaults =
            set(&[("scale", "2"), ("threshold", "0.5"), ("voxel", "3"), ("seed", "9")]).expect("values");
        let row = set(&[("scale", "unknown")]).expect("values");
        assert_eq!(
            row.clone().over(&defaults, Kind::Matches),
            set(&[("scale", "unknown"), ("threshold", "0.5"), ("seed", "9")]).expect("values")
        );
        assert_eq!(
            row.over(&defaults, Kind::Clouds),
            set(&[("scale", "unknown"), ("voxel", "3"), ("seed", "9")]).expect("values")
        );
    }

    #[test]
    fn defaults_of_the_default_method_are_not_for_others() {
        let defaults =
            set(&[("effort", "10"), ("candidates", "2"), ("miss_probability", "0.1")]).expect("values");
        let row = set(&[("method", "paper"), ("threshold", "1")]).expect("values");
        assert_eq!(row.clone().over(&defaults, Kind::Matches), row);
        assert_eq!(Settings::default().over(&defaults, Kind::Matches), defaults);
        assert_eq!(
            Settings::default().over(&defaults, Kind::Clouds),
            set(&[("candidates", "2")]).expect("values")
        );
    }

    proptest! {
        #[test]
        fn as_text_and_back(
            low in 1e-300..1e300_f64, more in 1.1..10.0_f64, seed in any::<u64>(), mib in any::<u64>(), method in 0..Method::ALL.len(),
            which in 0..3, initial in "[ -~]{1,20}", count in any::<usize>(),
        ) {
            let scale = match which {
                0 => GivenScale::Unknown,
                1 => GivenScale::Known(low),
                _ => GivenScale::Range(low, low * more),
            };
            let refine = [Refinement::PointToPlane, Refinement::PointToPoint, Refinement::None][which as usize];
            let settings = Settings {
                scale: Some(scale), threshold: Some(low), method: Some(Method::ALL[method]), memory_budget: Some(mib),
                effort: Some(seed), miss_probability: Some(more), correlation_length: Some(low),
                vertical: Some(GivenVertical { source: Some([low, 0.0, -more]), target: Some([0.0, 1.0, low]) }), tilt: Some(more),
                voxel: Some(more), refine: Some(refine),
                initial: Some(initial.as_str().into()), candidates: Some(count), time_limit: Some(low), seed: Some(seed),
            };
            let cells = settings.cells();
            prop_assert_eq!(cells.len(), Settings::NAMES.len());
            let mut again = Settings::default();
            for (name, text) in &cells {
                again.set(name, text).unwrap();
            }
            prop_assert_eq!(again, settings);
        }
    }
}
