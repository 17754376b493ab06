//! `pcr99 solve`: matches in a file → transform.

use anyhow::Result;
use pcr99::{Registration, Status};
use pcr99_cloud::document;
use pcr99_page::RegistrationView;
use pcr99_plan::{SolvePlan, Solvers};

use crate::{
    Outcome,
    args::{Args, Format, Solve},
    input::{self, Given},
    output::{self, Sink},
    page::{self, PageFile},
    say,
    terminal::{Matches, Scene, Terminal, picture},
    watch::{Busy, Watch},
};

pub(super) fn run(options: &Solve, args: &Args) -> Result<Outcome> {
    let sink = Sink::new(options.output.as_deref())?;
    let page = PageFile::new(options.page.as_deref(), &[("--output", &sink)])?;
    let plan = SolvePlan::new(&options.options())?;
    let note = |line: &str| {
        if !args.quiet {
            say(line)
        }
    };
    // No progress line while somebody types the matches.
    let is_typed = options.pairs.as_deref().is_some_and(|path| path.as_os_str() == "-");
    let reading = Busy::start("reading the matches".to_owned(), args.quiet || is_typed);
    let given = input::matches(options, note)?;
    drop(reading);
    let pairs = &given.pairs;
    let method = plan.method().name();
    if given.has_weights && !plan.uses_weights() {
        note(&format!("note: method `{method}` does not use the weights of the matches"));
    }
    let watch = Watch::start(plan.deadline(), args.quiet);
    if args.verbose {
        say(&format!("{} matches; {plan}", pairs.len()));
    }
    let found = plan.run(pairs, &mut Solvers::new(), &|| watch.check())?;
    drop(watch);

    let document = match options.format() {
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
