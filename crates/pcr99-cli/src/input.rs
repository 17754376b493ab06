//! What the options name, read in and checked.

use std::{io, path::Path};

use anyhow::{Context, Result, bail, ensure};
use pcr99::{Correspondences, Positive, Scale, paper};
use pcr99_cloud::{Matches, read_indices, read_matches, read_matches_text, read_points};
use pcr99_lab::{Method, Recipe, Shape};

use crate::args::Solve;

/// A method with its parameters.
#[derive(Debug)]
pub(crate) enum Plan {
    Default(pcr99::Params),
    Paper(paper::Params),
    /// One of the methods that these are compared with, and its threshold.
    Baseline(Method, Positive),
}

impl Plan {
    /// The parameters that `solve` was given.
    pub(crate) fn of(options: &Solve) -> Result<Self> {
        match options.method {
            Method::Default => default_params(options).map(Self::Default),
            Method::Paper | Method::PaperRandom => paper_params(options).map(Self::Paper),
            method => {
                no_paper_params(options)?;
                let threshold = needed_threshold(options)?;
                let known = matches!(options.scale.0, Scale::Known(_));
                ensure!(
                    known || method.finds_scale(),
                    "method `{method}` must be told the scale: give a number for --scale, or leave out --method"
                );
                Ok(Self::Baseline(method, Positive::new("threshold", threshold).context("--threshold")?))
            }
        }
    }
}

/// Matches as they were given.
#[derive(Debug)]
pub(crate) struct Given {
    /// Checked.
    pub(crate) pairs: Correspondences,
    pub(crate) has_weights: bool,
    /// Of each match.
    pub(crate) source: Vec<[f64; 3]>,
    /// Of each match.
    pub(crate) target: Vec<[f64; 3]>,
    /// All points of source and target, where the matches are between some of them.
    pub(crate) clouds: Option<[Vec<[f64; 3]>; 2]>,
}

/// The matches that `solve` is to work on; what else there is to say goes to `note`.
pub(crate) fn matches(options: &Solve, note: impl Fn(&str)) -> Result<Given> {
    if let (Some(source), Some(target), Some(indices)) = (&options.source, &options.target, &options.indices)
    {
        for (option, path) in [("--source", source), ("--target", target), ("--indices", indices)] {
            ensure!(
                path.as_os_str() != "-",
                "{option} must name a file: only matches can come from standard input, `-`"
            );
        }
        let (a, b, pairs) = (read_points(source)?, read_points(target)?, read_indices(indices)?);
        let name = |path: &Path| path.display().to_string();
        let place = || format!("`{}` into `{}` and `{}`", name(indices), name(source), name(target));
        let matches = Correspondences::from_indices(&a, &b, &pairs).with_context(place)?;
        for (path, cloud) in [(source, &a), (target, &b)] {
            let holes = cloud.iter().filter(|p| !p.iter().all(|x| x.is_finite())).count();
            if holes > 0 {
                // A pair that used one would have been an error.
                let what = if holes == 1 { "point that is not finite" } else { "points that are not finite" };
                note(&format!(
                    "note: `{}` has {holes} {what}; no index pair uses {}",
                    name(path),
                    if holes == 1 { "it" } else { "them" }
                ));
            }
        }
        // That they exist was checked with the matches.
        let [source, target] =
            [(&a, 0), (&b, 1)].map(|(cloud, side)| pairs.iter().map(|pair| cloud[pair[side]]).collect());
        return Ok(Given { pairs: matches, has_weights: false, source, target, clouds: Some([a, b]) });
    }
    // Clap has seen to it that there is one.
    let Some(path) = &options.pairs else {
        bail!("no matches given: name a file, or `-` for standard input")
    };
    let (name, Matches { source, target, weights }) = if path.as_os_str() == "-" {
        ("standard input".to_owned(), read_matches_text(io::stdin().lock(), "standard input")?)
    } else {
        (format!("`{}`", path.display()), read_matches(path)?)
    };
    let pairs = Correspondences::new(&source, &target).with_context(|| name.clone())?;
    let has_weights = weights.is_some();
    let pairs = match weights {
        None => pairs,
        Some(weights) => pairs.with_weights(&weights).context(name)?,
    };
    Ok(Given { pairs, has_weights, source, target, clouds: None })
}

/// That no parameter of the published method was given to another.
fn no_paper_params(options: &Solve) -> Result<()> {
    let paper = &options.paper;
    let given = [
        ("--epsilon", paper.epsilon.is_some()),
        ("--grid-step", paper.grid_step.is_some()),
        ("--batch", paper.batch.is_some()),
        ("--min-inliers", paper.min_inliers.is_some()),
        ("--min-inlier-fraction", paper.min_inlier_fraction.is_some()),
        ("--hypothesis-limit", paper.hypothesis_limit.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        bail!("{option} is a parameter of the paper's methods: leave it out, or add --method paper");
    }
    Ok(())
}

/// A threshold and one scale, or none: what methods other than ours take.
fn needed_threshold(options: &Solve) -> Result<f64> {
    let method = options.method;
    if matches!(options.scale.0, Scale::Between(..)) {
        bail!(
            "method `{method}` takes no range for --scale: give a number or `unknown`, or leave out --method"
        );
    }
    options.threshold.with_context(|| {
        format!(
            "method `{method}` needs --threshold: how far a right match may be off, in target units \
             (about five standard deviations of the noise)"
        )
    })
}

/// The parameters of the default method.
fn default_params(options: &Solve) -> Result<pcr99::Params> {
    no_paper_params(options)?;
    let mut params = pcr99::Params::new().with_seed(options.seed);
    if let Some(threshold) = options.threshold {
        params = params.with_threshold(threshold).context("--threshold")?;
    }
    if let Some(threads) = options.threads {
        params = params.with_threads(usize::try_from(threads).context("--threads")?);
    }
    if let Some(mib) = options.memory_budget {
        params = params.with_memory_budget(mib.saturating_mul(1 << 20));
    }
    Ok(params)
}

/// The parameters of the published method.
fn paper_params(options: &Solve) -> Result<paper::Params> {
    let threshold = needed_threshold(options)?;
    let given = &options.paper;
    let mut params = paper::Params::new(threshold).context("--threshold")?;
    if let Some(epsilon) = given.epsilon {
        params = params.with_epsilon(epsilon).context("--epsilon")?;
    }
    if let Some(step) = given.grid_step {
        params = params.with_grid_step(step).context("--grid-step")?;
    }
    if let Some(batch) = given.batch {
        params = params.with_batch(batch).context("--batch")?;
    }
    if given.min_inliers.is_some() || given.min_inlier_fraction.is_some() {
        let usual = paper::MinInliers::default();
        let least = given.min_inliers.unwrap_or(usual.at_least());
        let fraction = given.min_inlier_fraction.unwrap_or(usual.fraction());
        params = params
            .with_min_inliers(paper::MinInliers::new(least, fraction).context("--min-inlier-fraction")?);
    }
    if let Some(limit) = given.hypothesis_limit {
        params = params.with_hypothesis_limit(limit).context("--hypothesis-limit")?;
    }
    if let Some(mib) = options.memory_budget {
        params = params.with_memory_budget(mib.saturating_mul(1 << 20));
    }
    Ok(match options.method {
        Method::PaperRandom => params.with_sampling(paper::Sampling::random(options.seed)),
        _ => params,
    })
}

/// A recipe for problems with the shape of that name, or with the points of that file.
pub(crate) fn recipe(shape: Option<&str>) -> Result<Recipe> {
    let Some(name) = shape else { return Ok(Recipe::default()) };
    let shape = match Shape::builtin(name) {
        Some(shape) => shape,
        None if name == "bunny" => bail!(
            "this build has no Bunny, whose terms do not allow commercial use: build with the feature `bunny`, \
             or use --shape knot"
        ),
        None if !Path::new(name).exists() => {
            bail!("shape `{name}` is neither built in ({}) nor a file", Shape::BUILTIN_NAMES.join(", "))
        }
        None => Shape::Cloud { name: name.to_owned(), points: read_points(Path::new(name))? },
    };
    Ok(Recipe::default().with_shape(shape)?)
}
