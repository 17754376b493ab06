//! `pcr99 solve`: the transform from a file of matches.

use anyhow::Result;
use pcr99::{Doubt, Registration};
use pcr99_base::info;
use pcr99_document::{Document, Inputs};
use pcr99_page::RegistrationView;
use pcr99_plan::{Deadline, GivenScale, SolvePlan, Solvers};

use crate::{
    Outcome,
    args::{Args, Format, Solve},
    input::{self, Given},
    output::{self, Sink, stage_times},
    page::{self, PageFile},
    say,
    terminal::{Matches, Scene, Terminal, picture},
    watch::{Busy, Watch},
};

pub(super) fn run(options: &Solve, args: &Args) -> Result<Outcome> {
    let sink = Sink::new(options.printed.output.as_deref())?;
    let page = PageFile::with_head(options.page.as_deref(), &[("--output", &sink)], &options.head)?;
    let plan = SolvePlan::new(&options.options())?;
    // The time limit holds for reading and preparing, too.
    let deadline = plan.deadline();
    let given = read(options, args)?;
    let (found, method) = (search(&plan, deadline, &given, args)?, plan.method().name());
    let result = match options.printed.format() {
        Format::Summary => output::match_summary(method, &found),
        format => {
            let document = Document::of_matches(method, &found).with_inputs(Some(inputs(options)));
            output::printed(&document, format, args.quiet)?
        }
    };
    if !args.quiet {
        notes(options, &plan, &found).iter().for_each(|line| say(line));
    }
    if let Some(page) = page {
        page.write(args, [view(options, method, &given, &found)])?;
    }
    sink.write(|out| out.write_all(result.as_bytes()))?;
    let is_summary = options.printed.is_summary_on_screen();
    if let Some(terminal) = Terminal::here().filter(|_| is_summary && !args.quiet) {
        show(terminal, &given, &found);
        say(&page::next_command(args, options.page.as_deref()));
    }
    Ok(super::outcome(&found))
}

fn read(options: &Solve, args: &Args) -> Result<Given> {
    // No progress line while somebody types the matches.
    let is_typed = options.pairs.as_deref().is_some_and(|path| path.as_os_str() == "-");
    let _reading = Busy::start("reading the matches".to_owned(), args.quiet || is_typed);
    input::matches(options, |line| {
        if !args.quiet {
            say(line);
        }
    })
}

fn search(plan: &SolvePlan, deadline: Deadline, given: &Given, args: &Args) -> Result<Registration> {
    if given.has_weights && !plan.uses_weights() && !args.quiet {
        say(&format!("note: method `{}` does not use the weights of the matches", plan.method()));
    }
    let watch = Watch::start(deadline, args.quiet);
    let mut found = plan.run(&given.pairs, &mut Solvers::new(), &|| watch.check())?;
    drop(watch);
    found.seconds = found.seconds.preceded_by(&given.seconds);
    info!("time: {}", stage_times(&found.seconds));
    Ok(found)
}

/// What the caller should know about the result: a threshold that was reduced, and a scale that may be wrong.
fn notes(options: &Solve, plan: &SolvePlan, found: &Registration) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(given) = plan.threshold().filter(|given| found.has_reduced(*given)) {
        notes.push(format!(
            "note: the threshold {} was reduced to {}, because a larger one could not tell the matches apart",
            output::shown(given.get()),
            output::shown(found.threshold)
        ));
    }
    // A document is for programs, which know the scale that they gave.
    let is_for_people = options.printed.format() != Format::Json;
    if let (GivenScale::Known(scale), Some(Doubt::Chance { .. }), true) =
        (options.scale, found.doubt, is_for_people)
    {
        let scale = output::shown(scale);
        notes.push(format!("note: the scale was taken to be {scale}; if it may differ, add --scale unknown"));
    }
    notes
}

/// The files, as a document names them.
fn inputs(options: &Solve) -> Inputs {
    let text = page::path_text;
    match (&options.source, &options.target, &options.indices, &options.pairs) {
        (Some(source), Some(target), Some(indices), _) => {
            Inputs::clouds(&text(source), &text(target)).with_pairs(&text(indices))
        }
        (_, _, _, pairs) => Inputs::matches(&pairs.as_deref().map_or(String::new(), text)),
    }
}

/// Draws a small picture below the summary.
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
