//! `pcr99 simulate`: matches with a known transform.

use anyhow::{Result, bail, ensure};
use pcr99_cloud::{Matches, write_matches};
use pcr99_lab::ScaleChoice;

use crate::{Outcome, args::Simulate, input, output::Sink, watch::Busy};

pub(super) fn run(options: &Simulate, quiet: bool) -> Result<Outcome> {
    let matches = Sink::new(options.output.as_deref())?;
    let truth = options.truth.as_deref().map(|path| Sink::new(Some(path))).transpose()?;
    let same = truth.as_ref().is_some_and(|truth| truth.is_same_file(&matches));
    ensure!(!same, "--output and --truth name the same file: give each its own");
    let scale = match options.scale.as_str() {
        "random" => ScaleChoice::Random,
        number => match number.parse() {
            Ok(scale) => ScaleChoice::Fixed(scale),
            Err(_) => bail!("`scale` is `{number}`: expected a positive number or `random`"),
        },
    };
    let recipe = input::recipe(options.shape.as_deref())?
        .with_points(options.points)?
        .with_outlier_ratio(options.outliers)?
        .with_noise(options.noise)?
        .with_scale(scale)?
        .with_outlier_center(options.outlier_center.into())
        .with_seed(options.seed);
    let _busy = Busy::start("generating the problem".to_owned(), quiet);
    let problem = recipe.generate()?;

    let document = problem.truth_document().to_json();
    let table = Matches { source: problem.source, target: problem.target, ..Matches::default() };
    matches.write(|mut out| write_matches(&mut out, &table))?;
    if let Some(truth) = truth {
        truth.write(|out| out.write_all(document.as_bytes()))?;
    }
    Ok(Outcome::Done)
}
