//! `pcr99 demo`: a built-in problem with 99 % outliers, with known and with unknown scale.

use std::fmt::Write as _;

use anyhow::Result;
use pcr99::{Clock, Correspondences, Registration, Seconds, Similarity};
use pcr99_base::info;
use pcr99_lab::{Errors, Problem, ScaleChoice};
use pcr99_page::RegistrationView;
use pcr99_plan::{GivenScale, SolveOptions, SolvePlan, Solvers};

use crate::{
    Outcome,
    args::{Args, Demo},
    input,
    output::{Sink, milliseconds, searched, shown, stage_times, verdict},
    page::{self, PageFile},
    say,
    terminal::{Matches, Scene, Terminal, picture},
    watch::Watch,
};

/// Standard deviation of the noise, as in the paper's experiments. The shape fits into a unit cube.
const NOISE: f64 = 0.01;
/// Inlier threshold of the paper's experiments: five standard deviations of the noise.
const THRESHOLD: f64 = 5.0 * NOISE;

pub(super) fn run(options: &Demo, args: &Args) -> Result<Outcome> {
    let page = PageFile::new(options.page.as_deref(), &[])?;
    let terminal = Terminal::here().filter(|_| !args.quiet);
    let recipe = input::recipe(options.shape.as_deref())?
        .with_points(options.points)?
        .with_outlier_ratio(options.outliers)?
        .with_noise(NOISE)?
        .with_seed(options.seed);
    let problems = [
        ("known scale", GivenScale::Known(1.0), ScaleChoice::Fixed(1.0)),
        ("unknown scale", GivenScale::Unknown, ScaleChoice::Random),
    ];
    let (mut solvers, mut views, mut worst) = (Solvers::new(), Vec::new(), Outcome::Done);
    for (title, scale, choice) in problems {
        let problem = recipe.clone().with_scale(choice)?.generate()?;
        let found = solve(&problem, scale, options, args, &mut solvers)?;
        Sink::new(None)?.write(|out| out.write_all(report(title, &problem, &found).as_bytes()))?;
        if let (Some(terminal), Some(model)) = (terminal, &found.target_from_source) {
            say(&picture(terminal, &scene(&problem, &found, model)));
        }
        if page.is_some() {
            views.push(view(title, &problem, &found));
        }
        match super::outcome(&found) {
            Outcome::Done => {}
            other => worst = other,
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
    if !args.quiet {
        say("To solve your own matches:  pcr99 solve matches.csv --scale unknown");
    }
    Ok(worst)
}

fn solve(
    problem: &Problem,
    scale: GivenScale,
    options: &Demo,
    args: &Args,
    solvers: &mut Solvers,
) -> Result<Registration> {
    let plan = SolvePlan::new(&SolveOptions {
        scale: Some(scale),
        threshold: Some(THRESHOLD),
        time_limit: options.time_limit,
        ..SolveOptions::default()
    })?;
    let mut clock = Clock::start();
    let pairs = Correspondences::new(&problem.source, &problem.target)?;
    clock.lap(Seconds::PREPARING);
    let preparing = clock.stop();
    let watch = Watch::start(plan.deadline(), args.quiet);
    let mut found = plan.run(&pairs, solvers, &|| watch.check())?;
    drop(watch);
    found.seconds = found.seconds.preceded_by(&preparing);
    info!("time: {}", stage_times(&found.seconds));
    Ok(found)
}

/// The scene of a small picture below the report.
fn scene<'a>(problem: &'a Problem, found: &'a Registration, model: &'a Similarity) -> Scene<'a> {
    Scene {
        source: &problem.source,
        target: &problem.target,
        model,
        matches: Matches::Apart(&problem.source, &problem.target),
        inliers: &found.inliers,
        threshold: Some(found.threshold),
        are_matches: true,
    }
}

/// What the page shows.
fn view(title: &str, problem: &Problem, found: &Registration) -> RegistrationView {
    let view = RegistrationView::of_matches(found, "default", &problem.source, &problem.target)
        .with_title(title)
        .with_names(&problem.shape_name, "the same shape, moved, with noise and outliers");
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
        "{title}: {n} matches on the shape `{}`, {} outliers ({} %), noise {}, threshold {}",
        problem.shape_name,
        n - right.len(),
        shown(100.0 * problem.outlier_ratio),
        problem.noise,
        shown(found.threshold)
    );
    let _ = writeln!(text, "  {}", verdict(found));
    if !right.is_empty() && !found.inliers.is_empty() {
        let recovered = found.inliers.iter().filter(|i| right.binary_search(i).is_ok()).count();
        let _ = writeln!(text, "  {recovered} of the {} correct matches are among them", right.len());
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
