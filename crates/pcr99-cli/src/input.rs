//! The files that the options name, read and checked.

use std::{io, path::Path};

use anyhow::{Context, Result, bail, ensure};
use pcr99::{Clock, Correspondences, Seconds};
use pcr99_cloud::{Matches, read_indices, read_matches, read_matches_text, read_points};
#[cfg(feature = "lab")]
use pcr99_lab::{Recipe, Shape};

use crate::args::Solve;

/// Matches as they were given.
#[derive(Debug)]
pub(crate) struct Given {
    /// The matches, checked.
    pub(crate) pairs: Correspondences,
    pub(crate) has_weights: bool,
    /// Source point of each match.
    pub(crate) source: Vec<[f64; 3]>,
    /// Target point of each match.
    pub(crate) target: Vec<[f64; 3]>,
    /// Both clouds, if the matches were given as indices into them.
    pub(crate) clouds: Option<[Vec<[f64; 3]>; 2]>,
    /// Time to read the files and to prepare the matches.
    pub(crate) seconds: Seconds,
}

/// Reads the matches of `solve`. Notes about them go to `note`.
pub(crate) fn matches(options: &Solve, note: impl Fn(&str)) -> Result<Given> {
    match (&options.source, &options.target, &options.indices, &options.pairs) {
        (Some(source), Some(target), Some(indices), _) => indexed_matches([source, target], indices, note),
        (_, _, _, Some(path)) => listed_matches(path),
        // Clap requires one of the two.
        _ => bail!("no matches given: name a file, or `-` for standard input"),
    }
}

/// Matches as pairs of indices into two clouds.
fn indexed_matches([source, target]: [&Path; 2], indices: &Path, note: impl Fn(&str)) -> Result<Given> {
    for (option, path) in [("--source", source), ("--target", target), ("--indices", indices)] {
        ensure!(path.as_os_str() != "-", "{option} must be a file: only PAIRS can be standard input, `-`");
    }
    let mut clock = Clock::start();
    let (a, b, pairs) = (read_points(source)?, read_points(target)?, read_indices(indices)?);
    clock.lap(Seconds::READING);
    let files = || format!("`{}` into `{}` and `{}`", indices.display(), source.display(), target.display());
    let matches = Correspondences::from_indices(&a, &b, &pairs).with_context(files)?;
    clock.lap(Seconds::PREPARING);
    let seconds = clock.stop();
    for (path, cloud) in [(source, &a), (target, &b)] {
        let invalid = cloud.iter().filter(|p| !p.iter().all(|x| x.is_finite())).count();
        if invalid > 0 {
            // An index pair that used one was an error above.
            let points = if invalid == 1 { "point" } else { "points" };
            note(&format!(
                "note: `{}` has {invalid} non-finite {points}; no index pair uses {}",
                path.display(),
                if invalid == 1 { "it" } else { "them" }
            ));
        }
    }
    // The indices were checked with the matches.
    let [source, target] =
        [(&a, 0), (&b, 1)].map(|(cloud, side)| pairs.iter().map(|pair| cloud[pair[side]]).collect());
    Ok(Given { pairs: matches, has_weights: false, source, target, clouds: Some([a, b]), seconds })
}

/// Matches as a table of coordinates.
pub(crate) fn listed_matches(path: &Path) -> Result<Given> {
    let mut clock = Clock::start();
    let (name, Matches { source, target, weights, standard_deviations }) = if path.as_os_str() == "-" {
        ("standard input".to_owned(), read_matches_text(io::stdin().lock(), "standard input")?)
    } else {
        (format!("`{}`", path.display()), read_matches(path)?)
    };
    clock.lap(Seconds::READING);
    let pairs = Correspondences::new(&source, &target).with_context(|| name.clone())?;
    let has_weights = weights.is_some();
    let pairs = match weights {
        None => pairs,
        Some(weights) => pairs.with_weights(&weights).with_context(|| name.clone())?,
    };
    let pairs = match standard_deviations {
        None => pairs,
        Some(deviations) => pairs.with_standard_deviations(&deviations).context(name)?,
    };
    clock.lap(Seconds::PREPARING);
    Ok(Given { pairs, has_weights, source, target, clouds: None, seconds: clock.stop() })
}

/// A recipe for problems on a built-in shape or on the points of a file.
#[cfg(feature = "lab")]
pub(crate) fn recipe(shape: Option<&str>) -> Result<Recipe> {
    let Some(name) = shape else { return Ok(Recipe::default()) };
    let shape = match Shape::builtin(name) {
        Some(shape) => shape,
        None if name == "bunny" => bail!(
            "this build does not contain the Bunny, whose licence excludes commercial use: build with the feature `bunny`, \
             or use --shape knot"
        ),
        None if !Path::new(name).exists() => {
            bail!(
                "shape `{name}` is neither a built-in shape ({}) nor a file",
                Shape::BUILTIN_NAMES.join(", ")
            )
        }
        None => Shape::Cloud { name: name.to_owned(), points: read_points(Path::new(name))? },
    };
    Ok(Recipe::default().with_shape(shape)?)
}
