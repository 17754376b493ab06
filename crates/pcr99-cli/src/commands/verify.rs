//! `pcr99 verify`: the verdict of two clouds on a transform from a file.

use anyhow::Result;
use pcr99::{Clock, Seconds};
use pcr99_base::info;
use pcr99_cloud::{Cloud, register::with_threads};
use pcr99_document::{Document, Inputs};
use pcr99_page::RegistrationView;
use pcr99_plan::{Verified, VerifyPlan};

use super::{apply, register};
use crate::{
    Outcome,
    args::{Args, Verify},
    output::{self, Sink, percent, shown, stage_times},
    page::{self, PageFile},
    say,
    watch::Watch,
};

/// Name of the method in documents.
const METHOD: &str = "verify";

pub(super) fn run(options: &Verify, args: &Args) -> Result<Outcome> {
    register::keep_freed_memory();
    let sink = Sink::new(options.printed.output.as_deref())?;
    let page = PageFile::with_head(options.page.as_deref(), &[("--output", &sink)], &options.head)?;
    // A document that says that its transform is not reliable is what this command is for.
    let transform = apply::transform(&options.transform, true)?;
    let plan = VerifyPlan::new(&transform, &options.options())?;
    let threads = plan.params().threads();
    let (verified, clouds) = with_threads(threads, || judge(&plan, options, args))?;
    let result = match options.printed.json {
        true => {
            let [source, target] = [&options.source, &options.target].map(|path| page::path_text(path));
            let document = Document::of_clouds(&verified.found).with_method(METHOD);
            document.with_inputs(Some(Inputs::clouds(&source, &target))).to_json()
        }
        false => output::cloud_summary(&verified.found),
    };
    if !args.quiet {
        notes(&verified).iter().for_each(|line| say(line));
    }
    if let Some(page) = page {
        let view = RegistrationView::of_clouds(&verified.found, &clouds[0].points, &clouds[1].points)
            .with_names(&page::name(&options.source), &page::name(&options.target));
        drop(clouds);
        page.write(args, [view])?;
    }
    sink.write(|out| out.write_all(result.as_bytes()))?;
    Ok(match (verified.is_interrupted(), verified.found.is_registered()) {
        (true, _) => Outcome::Interrupted,
        (_, true) => Outcome::Done,
        (_, false) => Outcome::NotReliable,
    })
}

/// Reads the clouds and judges the transform. Returns them, empty unless a page shows them.
fn judge(plan: &VerifyPlan, options: &Verify, args: &Args) -> Result<(Verified, [Cloud; 2])> {
    let mut clock = Clock::start();
    let deadline = plan.deadline();
    let paths = [options.source.as_path(), options.target.as_path()];
    let mut clouds = register::read_both(paths, args.quiet)?;
    clock.lap(Seconds::READING);
    let watch = Watch::start(deadline, args.quiet);
    let viewpoints = [options.source_viewpoint, options.target_viewpoint];
    let [source, target] =
        register::prepared_both(&mut clouds, options.page.is_some(), viewpoints, paths, args.quiet)?;
    clock.lap(Seconds::PREPARING);
    let input = clock.stop();
    let mut verified = plan.run(&source, &target, &|| watch.check())?;
    drop(watch);
    verified.found.seconds = verified.found.seconds.preceded_by(&input);
    info!("time: {}", stage_times(&verified.found.seconds));
    Ok((verified, clouds))
}

/// What the clouds say besides the verdict.
fn notes(verified: &Verified) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(better) = verified.better() {
        let fit = &better.assessment;
        notes.push(format!(
            "note: the search found another pose, with an overlap of {} of the source and {} of the target; `pcr99 register` judges it",
            percent(fit.overlap_source),
            percent(fit.overlap_target)
        ));
    }
    if let Some(length) = verified.correction() {
        notes.push(format!(
            "note: refinement moves the points by {}, more than the accuracy of the refined pose; `pcr99 refine` prints it",
            shown(length)
        ));
    }
    notes
}
