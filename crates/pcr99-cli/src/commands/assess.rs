//! `pcr99 assess`: the verdict of matches on a transform from a file.

use std::mem;

use anyhow::Result;
use pcr99_base::info;
use pcr99_document::{Document, Inputs};
use pcr99_page::RegistrationView;
use pcr99_plan::{AssessPlan, Assessed, Solvers};

use super::apply;
use crate::{
    Outcome,
    args::{Args, Assess},
    input::{self, Given},
    output::{self, Sink, counted, stage_times},
    page::{self, PageFile},
    say,
    watch::{Busy, Watch},
};

/// Name of the method in documents.
const METHOD: &str = "assess";

pub(super) fn run(options: &Assess, args: &Args) -> Result<Outcome> {
    let sink = Sink::new(options.printed.output.as_deref())?;
    let page = PageFile::with_head(options.page.as_deref(), &[("--output", &sink)], &options.head)?;
    // A document that says that its transform is not reliable is what this command is for.
    let transform = apply::transform(&options.transform, true)?;
    let plan = AssessPlan::new(&transform, &options.options())?;
    let deadline = plan.deadline();
    let given = read(options, args)?;
    let watch = Watch::start(deadline, args.quiet);
    let mut assessed = plan.run(&given.pairs, &mut Solvers::new(), &|| watch.check())?;
    drop(watch);
    let found = &mut assessed.found;
    found.seconds = mem::take(&mut found.seconds).preceded_by(&given.seconds);
    info!("time: {}", stage_times(&found.seconds));
    let result = match options.printed.json {
        true => {
            let inputs = Inputs::matches(&page::path_text(&options.pairs));
            Document::of_matches(METHOD, found).with_inputs(Some(inputs)).to_json()
        }
        false => output::match_summary(METHOD, found),
    };
    if !args.quiet {
        note_better(&assessed);
    }
    if let Some(page) = page {
        let view = RegistrationView::of_matches(&assessed.found, METHOD, &given.source, &given.target);
        let name = page::name(&options.pairs);
        page.write(args, [view.with_title(if name == "-" { "standard input" } else { &name })])?;
    }
    sink.write(|out| out.write_all(result.as_bytes()))?;
    Ok(match &assessed.searched {
        Some(searched) if super::outcome(searched) == Outcome::Interrupted => Outcome::Interrupted,
        _ => super::outcome(&assessed.found),
    })
}

fn read(options: &Assess, args: &Args) -> Result<Given> {
    let is_typed = options.pairs.as_os_str() == "-";
    let _reading = Busy::start("reading the matches".to_owned(), args.quiet || is_typed);
    input::listed_matches(&options.pairs)
}

/// Says that the matches support another transform.
fn note_better(assessed: &Assessed) {
    if let Some(better) = assessed.better() {
        let inliers = counted(better.inliers.len() as u64, "inlier", "inliers");
        say(&format!("note: the matches support another transform, with {inliers}; `pcr99 solve` prints it"));
    }
}
