//! The options of a pair: what `solve` and `register` take, each as a column of the manifest.

use std::sync::Arc;

use pcr99::{Positive, Scale, paper};
use pcr99_cloud::{Refinement, RegisterParams};
use pcr99_lab::Method;

/// What a row's inputs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A file of matches, for `solve`.
    Matches,
    /// Two clouds, for `register`.
    Clouds,
}

/// The options of a pair; `None` is the default.
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
    /// What is known of the scale; default 1.
    pub scale: Option<Scale>,
    /// Inlier threshold in target units; default: from the data. For matches.
    pub threshold: Option<Positive>,
    /// How to search. For matches.
    pub method: Option<Method>,
    /// Memory of tables over pairs of matches, in MiB. For matches.
    pub memory_budget: Option<u64>,
    /// Edge of the voxels in target units; default: from the data. For clouds.
    pub voxel: Option<Positive>,
    /// How the pose is refined. For clouds.
    pub refine: Option<Refinement>,
    /// A file with the pose to start from instead of searching. For clouds.
    pub initial: Option<Arc<str>>,
    /// Seconds that the search may take.
    pub time_limit: Option<Positive>,
    /// Seed of everything random; default 0.
    pub seed: Option<u64>,
}

/// Why an option cannot be as it is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// There is no such option.
    #[error("there is no option `{name}`")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// The value is not one that it can have.
    #[error("`{name}` is `{value}`: expected {expected}")]
    Value {
        /// The option.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it can be.
        expected: String,
    },
    /// The option has no meaning for these inputs.
    #[error("`{name}` is an option for {of}, but this row has {inputs}: leave the cell empty")]
    NotForThis {
        /// The option.
        name: &'static str,
        /// What it is for.
        of: &'static str,
        /// What there is.
        inputs: &'static str,
    },
    /// The method needs what was not given.
    #[error("method `{method}` needs a `threshold`: how far a right match may be off, in target units")]
    NoThreshold {
        /// The method.
        method: Method,
    },
    /// The method must be told the scale.
    #[error("method `{method}` takes no such scale: give {expected}, or leave out the method")]
    ScaleOfMethod {
        /// The method.
        method: Method,
        /// What it takes.
        expected: &'static str,
    },
}

/// Name of each option, and what it is for; `None`: for both.
const OPTIONS: [(&str, Option<Kind>); 9] = [
    ("scale", None),
    ("threshold", Some(Kind::Matches)),
    ("method", Some(Kind::Matches)),
    ("memory_budget", Some(Kind::Matches)),
    ("voxel", Some(Kind::Clouds)),
    ("refine", Some(Kind::Clouds)),
    ("initial", Some(Kind::Clouds)),
    ("time_limit", None),
    ("seed", None),
];

impl Settings {
    /// The names of all options.
    pub const NAMES: [&'static str; OPTIONS.len()] = {
        let mut names = [""; OPTIONS.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = OPTIONS[i].0;
            i += 1;
        }
        names
    };

    /// Sets the option of that name to the value of that text.
    ///
    /// # Errors
    /// When there is no such option, or the text is not one of its values.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SettingError> {
        let Some((name, _)) = OPTIONS.into_iter().find(|(known, _)| *known == name) else {
            return Err(SettingError::Unknown { name: name.to_owned() });
        };
        let expected = |expected: &str| SettingError::Value {
            name,
            value: text.to_owned(),
            expected: expected.to_owned(),
        };
        let positive = || {
            let number = text.parse().ok().and_then(|value| Positive::new("value", value).ok());
            number.ok_or_else(|| expected("a positive number"))
        };
        // Programs that have missing values in a column of integers write the others as 3.0.
        let whole = || {
            text.strip_suffix(".0")
                .unwrap_or(text)
                .parse()
                .map_err(|_| expected("a whole number, not negative"))
        };
        match name {
            "scale" => self.scale = Some(scale(text).ok_or_else(|| expected(SCALES))?),
            "threshold" => self.threshold = Some(positive()?),
            "method" => {
                self.method =
                    Some(text.parse().map_err(|_| expected(&one_of(&Method::ALL.map(Method::name))))?)
            }
            "memory_budget" => self.memory_budget = Some(whole()?),
            "voxel" => self.voxel = Some(positive()?),
            "refine" => {
                let found = REFINEMENTS.into_iter().find(|(name, _)| *name == text);
                self.refine =
                    Some(found.ok_or_else(|| expected(&one_of(&REFINEMENTS.map(|(name, _)| name))))?.1);
            }
            "initial" => self.initial = Some(text.into()),
            "time_limit" => self.time_limit = Some(positive()?),
            _ => self.seed = Some(whole()?),
        }
        Ok(())
    }

    /// The options that are set, with their values as text that [`set`](Self::set) takes.
    pub fn cells(&self) -> Vec<(&'static str, String)> {
        let number = |value: &Option<Positive>| value.map(|value| short(value.get()));
        let refine = |how: Refinement| {
            REFINEMENTS.into_iter().find(|(_, known)| *known == how).map(|(name, _)| name.to_owned())
        };
        let values = [
            self.scale.map(scale_text),
            number(&self.threshold),
            self.method.map(|method| method.name().to_owned()),
            self.memory_budget.map(|mib| mib.to_string()),
            number(&self.voxel),
            self.refine.and_then(refine),
            self.initial.as_deref().map(str::to_owned),
            number(&self.time_limit),
            self.seed.map(|seed| seed.to_string()),
        ];
        Self::NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Those that are set here, and of `defaults` those that mean something for this `kind` and are not.
    pub(crate) fn over(self, defaults: &Self, kind: Kind) -> Self {
        let matches = kind == Kind::Matches;
        Self {
            scale: self.scale.or(defaults.scale),
            threshold: self.threshold.or(defaults.threshold.filter(|_| matches)),
            method: self.method.or(defaults.method.filter(|_| matches)),
            memory_budget: self.memory_budget.or(defaults.memory_budget.filter(|_| matches)),
            voxel: self.voxel.or(defaults.voxel.filter(|_| !matches)),
            refine: self.refine.or(defaults.refine.filter(|_| !matches)),
            initial: self.initial.or_else(|| defaults.initial.clone().filter(|_| !matches)),
            time_limit: self.time_limit.or(defaults.time_limit),
            seed: self.seed.or(defaults.seed),
        }
    }

    /// The first option that is set and means nothing for inputs of that kind.
    pub(crate) fn first_not_for(&self, kind: Kind) -> Option<(&'static str, Kind)> {
        let names: Vec<&str> = self.cells().iter().map(|(name, _)| *name).collect();
        let wrong = |(name, of): (&'static str, Option<Kind>)| match of {
            // What clouds are registered by.
            Some(Kind::Matches) if name == "method" && self.method == Some(Method::Default) => None,
            Some(of) if of != kind && names.contains(&name) => Some((name, of)),
            _ => None,
        };
        OPTIONS.into_iter().find_map(wrong)
    }

    /// Checks that all options are for inputs of that kind.
    pub(crate) fn check_kind(&self, kind: Kind) -> Result<(), SettingError> {
        let called = |kind| match kind {
            Kind::Matches => "matches",
            Kind::Clouds => "two clouds",
        };
        match self.first_not_for(kind) {
            None => Ok(()),
            Some((name, of)) => Err(SettingError::NotForThis { name, of: called(of), inputs: called(kind) }),
        }
    }

    /// Checks that the options go together.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        let method = self.method();
        if method == Method::Default {
            return Ok(());
        }
        if matches!(self.scale, Some(Scale::Between(..))) {
            return Err(SettingError::ScaleOfMethod { method, expected: "a number or `unknown`" });
        }
        if matches!(self.scale, Some(Scale::Unknown)) && !method.finds_scale() {
            return Err(SettingError::ScaleOfMethod { method, expected: "a number" });
        }
        if self.threshold.is_none() { Err(SettingError::NoThreshold { method }) } else { Ok(()) }
    }

    /// The method, or the default.
    pub(crate) fn method(&self) -> Method {
        self.method.unwrap_or(Method::Default)
    }

    /// The scale, or the default.
    pub(crate) fn scale(&self) -> Scale {
        self.scale.unwrap_or(Scale::one())
    }

    /// For the default method.
    pub(crate) fn params(&self) -> Result<pcr99::Params, pcr99::Error> {
        let mut params = pcr99::Params::new();
        if let Some(threshold) = self.threshold {
            params = params.with_threshold(threshold.get())?;
        }
        if let Some(mib) = self.memory_budget {
            params = params.with_memory_budget(mib.saturating_mul(1 << 20));
        }
        Ok(self.seed.map_or(params.clone(), |seed| params.with_seed(seed)))
    }

    /// For the published method.
    pub(crate) fn paper_params(&self, threshold: Positive) -> Result<paper::Params, pcr99::Error> {
        let mut params = paper::Params::new(threshold.get())?;
        if let Some(mib) = self.memory_budget {
            params = params.with_memory_budget(mib.saturating_mul(1 << 20));
        }
        Ok(match self.method() {
            Method::PaperRandom => params.with_sampling(paper::Sampling::random(self.seed.unwrap_or(0))),
            _ => params,
        })
    }

    /// For two clouds, but for the pose to start from.
    pub(crate) fn register_params(&self) -> Result<RegisterParams, pcr99_cloud::RegisterError> {
        let mut params = RegisterParams::new().with_scale(self.scale());
        if let Some(voxel) = self.voxel {
            params = params.with_voxel(voxel.get())?;
        }
        if let Some(refine) = self.refine {
            params = params.with_refinement(refine);
        }
        Ok(self.seed.map_or(params.clone(), |seed| params.with_seed(seed)))
    }
}

const SCALES: &str = "`unknown`, a positive number, or two of them as MIN..MAX, the smaller first";

const REFINEMENTS: [(&str, Refinement); 3] = [
    ("point-to-plane", Refinement::PointToPlane),
    ("point-to-point", Refinement::PointToPoint),
    ("none", Refinement::None),
];

fn scale(text: &str) -> Option<Scale> {
    match text.split_once("..") {
        _ if text == "unknown" => Some(Scale::Unknown),
        None => Scale::known(text.parse().ok()?).ok(),
        Some((low, high)) => Scale::between(low.parse().ok()?, high.parse().ok()?).ok(),
    }
}

fn scale_text(scale: Scale) -> String {
    match scale {
        Scale::Unknown => "unknown".to_owned(),
        Scale::Known(scale) => short(scale.get()),
        Scale::Between(low, high) => format!("{}..{}", short(low.get()), short(high.get())),
    }
}

/// The shortest text that is read back as the same number; with an exponent where it would have hundreds of zeros.
fn short(x: f64) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn one_of(names: &[&str]) -> String {
    format!("one of {}", names.join(", "))
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
            ("scale", "0", "`scale` is `0`: expected `unknown`, a positive number, or two of them"),
            ("scale", "2..1", "the smaller first"),
            ("scale", "1..", "MIN..MAX"),
            ("scale", "NaN", "a positive number"),
            ("threshold", "-1", "`threshold` is `-1`: expected a positive number"),
            ("threshold", "inf", "a positive number"),
            ("method", "magic", "one of default, paper, paper-random"),
            ("refine", "much", "one of point-to-plane, point-to-point, none"),
            ("seed", "-1", "a whole number, not negative"),
            ("seed", "1.5", "a whole number"),
            ("time_limit", "0", "a positive number"),
            ("memory_budget", "lots", "a whole number"),
            ("colour", "blue", "there is no option `colour`"),
        ] {
            let error = set(&[(name, text)]).expect_err(text).to_string();
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
                Some("give a number"),
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
                .and_then(|()| settings.check())
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

    proptest! {
        #[test]
        fn as_text_and_back(
            low in 1e-300..1e300_f64, more in 1.1..10.0_f64, seed in any::<u64>(), mib in any::<u64>(), method in 0..Method::ALL.len(),
            refine in 0..3_usize, which in 0..3, initial in "[ -~]{1,20}",
        ) {
            let scale = match which {
                0 => Scale::Unknown,
                1 => Scale::known(low).unwrap(),
                _ => Scale::between(low, low * more).unwrap(),
            };
            let number = |x| Some(Positive::new("x", x).unwrap());
            let settings = Settings {
                scale: Some(scale), threshold: number(low), method: Some(Method::ALL[method]), memory_budget: Some(mib),
                voxel: number(more), refine: Some(REFINEMENTS[refine].1), initial: Some(initial.as_str().into()),
                time_limit: number(low), seed: Some(seed),
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
