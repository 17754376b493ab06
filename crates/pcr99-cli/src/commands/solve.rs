//! `pcr99 solve`: matches in a file → transform.

use anyhow::{Result, anyhow};
use pcr99::{Error, Registration, Scale, Solver, Status, paper};
use pcr99_cloud::document;
use pcr99_lab::Solvers;
use pcr99_page::RegistrationView;

use crate::{
    Outcome,
    args::{Args, Format, Solve},
    input::{self, Given, Plan},
    output::{self, Sink},
    page::{self, PageFile},
    say,
    terminal::{Matches, Scene, Terminal, picture},
    watch::{Busy, Watch},
};

pub(super) fn run(options: &Solve, args: &Args) -> Result<Outcome> {
    let sink = Sink::new(options.output.as_deref())?;
    let page = PageFile::new(options.page.as_deref(), &[("--output", &sink)])?;
    let plan = Plan::of(options)?;
    let note = |line: &str| {
        if !args.quiet {
            say(line)
        }
    };
    // What somebody may be typing is not to be disturbed.
    let is_typed = options.pairs.as_deref().is_some_and(|path| path.as_os_str() == "-");
    let reading = Busy::start("reading the matches".to_owned(), args.quiet || is_typed);
    let given = input::matches(options, note)?;
    drop(reading);
    let pairs = &given.pairs;
    let method = options.method.name();
    if given.has_weights && !matches!(plan, Plan::Default(_)) {
        note(&format!("note: method `{method}` does not use the weights of the matches"));
    }
    let watch = Watch::start(options.time_limit, args.quiet);
    if args.verbose {
        say(&described(options, &plan, pairs.len()));
    }
    let (scale, stop) = (options.scale.0, || watch.check());
    let found = match &plan {
        Plan::Default(params) => {
            Solver::new().solve_until(pairs, scale, params, &stop).map_err(with_remedy)?
        }
        Plan::Paper(params) => {
            paper::Solver::new().solve_until(pairs, scale, params, &stop).map_err(with_remedy)?
        }
        Plan::Baseline(method, threshold) => {
            Solvers::new().solve(*method, pairs, scale, *threshold, options.seed, &stop)?
        }
    };
    drop(watch);

    let document = match if options.json { Format::Json } else { options.format } {
        Format::Json => document::to_text(&document::of_matches(method, pairs.len(), &found)),
        Format::Summary => output::summary(method, &found),
        Format::Matrix => {
            if !found.is_registered() && !args.quiet {
                say(match found.status {
                    Status::NoSolution => "warning: no solution, so that there is no matrix to print",
                    _ => "warning: NOT RELIABLE: the matrix is only the best guess",
                });
            }
            found.target_from_source.as_ref().map_or(String::new(), output::matrix)
        }
    };
    if let Some(page) = page {
        page.write(args, [view(options, method, &given, &found)])?;
    }
    sink.write(|out| out.write_all(document.as_bytes()))?;
    let is_summary = !options.json && options.format == Format::Summary && options.output.is_none();
    if let Some(terminal) = Terminal::here().filter(|_| is_summary && !args.quiet) {
        show(terminal, &given, &found);
        say(&page::next_command(args, options.page.as_deref()));
    }
    Ok(super::outcome(&found))
}

/// A small picture below the summary.
fn show(terminal: Terminal, given: &Given, found: &Registration) {
    let Some(model) = &found.target_from_source else { return };
    let (source, target) =
        given.clouds.as_ref().map_or((&given.source, &given.target), |[source, target]| (source, target));
    let scene = Scene {
        source,
        target,
        model,
        matches: Matches::Apart(&given.source, &given.target),
        inliers: &found.inliers,
        threshold: Some(found.threshold),
        are_matches: given.clouds.is_none(),
    };
    say(&picture(terminal, &scene));
}

/// What the page shows.
fn view(options: &Solve, method: &str, given: &Given, found: &Registration) -> RegistrationView {
    let view = RegistrationView::of_matches(found, method, &given.source, &given.target);
    match (&given.clouds, &options.source, &options.target) {
        (Some([a, b]), Some(source), Some(target)) => {
            view.with_clouds(a, b).with_names(&page::name(source), &page::name(target))
        }
        _ => {
            let name = options.pairs.as_deref().map_or(String::new(), page::name);
            view.with_title(if name == "-" { "standard input" } else { &name })
        }
    }
}

/// The library knows the remedy, and we the options for it.
fn with_remedy(error: Error) -> anyhow::Error {
    match error {
        Error::TooMuchMemory { needed_mib, .. } => {
            anyhow!("{error} (--memory-budget {needed_mib}, or --method paper-random, which keeps no tables)")
        }
        Error::OutOfMemory { .. } => anyhow!("{error} (--method paper-random)"),
        _ => error.into(),
    }
}

/// What the search is about to do, for `--verbose`.
fn described(options: &Solve, plan: &Plan, matches: usize) -> String {
    let scale = match options.scale.0 {
        Scale::Unknown => "unknown".to_owned(),
        Scale::Known(scale) => scale.get().to_string(),
        Scale::Between(low, high) => format!("{} to {}", low.get(), high.get()),
    };
    let start = format!("{matches} matches; method {}, scale {scale}", options.method.name());
    match plan {
        Plan::Default(params) => {
            let threshold =
                params.threshold().map_or("from the data".to_owned(), |delta| delta.get().to_string());
            format!("{start}, threshold {threshold}, seed {}", params.seed())
        }
        Plan::Paper(params) => format!(
            "{start}, threshold {}, epsilon {}, grid step {}; {} inliers are enough, looked at every {} hypotheses",
            params.inlier_threshold().get(),
            params.epsilon().get(),
            params.grid_step().get(),
            params.min_inliers().of(matches),
            params.batch(),
        ),
        Plan::Baseline(_, threshold) => {
            format!("{start}, threshold {}, seed {}", threshold.get(), options.seed)
        }
    }
}
