//! `pcr99 demo`: the paper's problem on built-in data, with known and with unknown scale.

use std::fmt::Write as _;

use anyhow::Result;
use pcr99::{Correspondences, Registration};
use pcr99_lab::{Errors, Problem, ScaleChoice};
use pcr99_page::RegistrationView;
use pcr99_plan::{GivenScale, SolveOptions, SolvePlan, Solvers};

use crate::{
    Outcome,
    args::{Args, Demo},
    input,
    output::{Sink, milliseconds, searched, shown, verdict},
    page::{self, PageFile},
    say,
    terminal::{Matches, Scene, Terminal, picture},
    watch::Watch,
};

/// The noise of the problem, and the threshold of the paper's experiments: five standard deviations.
const NOISE: f64 = 0.01;
const THRESHOLD: f64 = 5.0 * NOISE;

pub(super) fn run(options: &Demo, args: &Args) -> Result<Outcome> {
    let quiet = args.quiet;
    let page = PageFile::new(options.page.as_deref(), &[])?;
    let terminal = Terminal::here().filter(|_| !quiet);
    let mut views = Vec::new();
    let recipe = input::recipe(options.shape.as_deref())?
        .with_points(options.points)?
        .with_outlier_ratio(options.outliers)?
        .with_noise(NOISE)?
        .with_seed(options.seed);
    let sink = Sink::new(None)?;
    let mut solvers = Solvers::new();
    let mut worst = Outcome::Done;
    let problems = [
        ("known scale", GivenScale::Known(1.0), ScaleChoice::Fixed(1.0)),
        ("unknown scale", GivenScale::Unknown, ScaleChoice::Random),
    ];
    for (title, scale, choice) in problems {
        let problem = recipe.clone().with_scale(choice)?.generate()?;
        let pairs = Correspondences::new(&problem.source, &problem.target)?;
        let plan = SolvePlan::new(&SolveOptions {
            scale: Some(scale),
            threshold: Some(THRESHOLD),
            time_limit: options.time_limit,
            ..SolveOptions::default()
        })?;
        let watch = Watch::start(plan.deadline(), quiet);
        let found = plan.run(&pairs, &mut solvers, &|| watch.check())?;
        drop(watch);
        sink.write(|out| out.write_all(report(title, &problem, &found).as_bytes()))?;
        if let (Some(terminal), Some(model)) = (terminal, &found.target_from_source) {
            let scene = Scene {
                source: &problem.source,
                target: &problem.target,
                model,
                matches: Matches::Apart(&problem.source, &problem.target),
                inliers: &found.inliers,
                threshold: Some(found.threshold),
                are_matches: true,
            };
            say(&picture(terminal, &scene));
        }
        if page.is_some() {
            views.push(view(title, &problem, &found));
        }
        match super::outcome(&found) {
            Outcome::Interrupted => worst = Outcome::Interrupted,
            Outcome::NotReliable => worst = Outcome::NotReliable,
            Outcome::Done => {}
        }
        if worst == Outcome::Interrupted {
            break;
        }
    }
    if let Some(page) = page {
        page.write(args, views)?;
    }
    if worst == Outcome::Interrupted {
        return Ok(worst);
    }
    if terminal.is_some() {
        say(&page::next_command(args, options.page.as_deref()));
    }
    if !quiet {
        say("Try it on your own matches:  pcr99 solve matches.csv --scale unknown");
    }
    Ok(worst)
}

/// What the page shows.
fn view(title: &str, problem: &Problem, found: &Registration) -> RegistrationView {
    let view = RegistrationView::of_matches(found, "default", &problem.source, &problem.target)
        .with_title(title)
        .with_names(&problem.shape_name, "the same, moved, with noise and wrong matches");
    match &found.target_from_source {
        None => view,
        Some(estimate) => {
            let errors = Errors::between(estimate, &problem.truth);
            view.with_fact("rotation error", &format!("{:.3}°", errors.rotation_deg))
                .with_fact("translation error", &format!("{:.6}", errors.translation))
        }
    }
}

fn report(title: &str, problem: &Problem, found: &Registration) -> String {
    let (n, right) = (problem.source.len(), problem.inliers());
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{title}: {n} matches on the shape `{}`, {} of them wrong ({} %), noise {}",
        problem.shape_name,
        n - right.len(),
        shown(100.0 * problem.outlier_ratio),
        problem.noise
    );
    let _ = writeln!(text, "  {}", verdict(found));
    if !right.is_empty() && !found.inliers.is_empty() {
        let recovered = found.inliers.iter().filter(|i| right.binary_search(i).is_ok()).count();
        let _ = writeln!(text, "  {recovered} of the {} right matches are among them", right.len());
    }
    if let Some(estimate) = &found.target_from_source {
        let errors = Errors::between(estimate, &problem.truth);
        let row = |name: &str, truth: String, estimate: String, error: String| {
            let line = format!("  {name:<12} {truth:>32} {estimate:>32}   {error}");
            format!("{}\n", line.trim_end())
        };
        text += row("", "truth".into(), "estimate".into(), "error".into()).as_str();
        let scale = |s: f64| format!("{s:.6}");
        text += &row(
            "scale",
            scale(problem.truth.scale()),
            scale(estimate.scale()),
            format!("{:.6}", errors.scale),
        );
        let (true_rows, rows) = (problem.truth.rotation(), estimate.rotation());
        for axis in 0..3 {
            let error = if axis == 0 { format!("{:.3}°", errors.rotation_deg) } else { String::new() };
            text += &row(["rotation", "", ""][axis], triple(true_rows[axis]), triple(rows[axis]), error);
        }
        let translations = (triple(problem.truth.translation()), triple(estimate.translation()));
        text += &row("translation", translations.0, translations.1, format!("{:.6}", errors.translation));
    }
    let _ = writeln!(text, "  {}, {} ms\n", searched(found), milliseconds(found.seconds.total));
    text
}

fn triple(v: [f64; 3]) -> String {
    v.map(|x| format!("{x:>10.6}")).join(" ")
}
