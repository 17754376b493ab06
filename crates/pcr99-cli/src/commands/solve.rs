//! `pcr99 solve`: matches in a file → transform.

use anyhow::Result;
use pcr99::paper;

use crate::{
    Outcome,
    args::{Args, Format, Solve},
    input, output,
    output::Sink,
    watch::Watch,
};

#[expect(clippy::print_stderr, reason = "notes for the user")]
pub(super) fn run(options: &Solve, args: &Args) -> Result<Outcome> {
    let sink = Sink::new(options.output.as_deref())?;
    let params = input::paper_params(options)?;
    let (pairs, has_weights) = input::matches(options)?;
    let method = options.method.name();
    if has_weights && !args.quiet {
        eprintln!("note: method `{method}` does not use the weights of the matches");
    }
    if args.verbose {
        eprintln!("{} matches; {params:?}", pairs.len());
    }
    let watch = Watch::start(options.time_limit, args.quiet)?;
    let found = paper::Solver::new().solve_until(&pairs, options.scale.0, &params, &|| watch.check())?;
    drop(watch);

    let document = match if options.json { Format::Json } else { options.format } {
        Format::Json => format!("{:#}\n", output::json(method, pairs.len(), &found)),
        Format::Summary => output::summary(method, pairs.len(), &found),
        Format::Matrix => {
            if !found.is_registered() && !args.quiet {
                eprintln!("warning: {} (exit status 1)", found.status.as_str().replace('_', " "));
            }
            found.target_from_source.as_ref().map_or(String::new(), output::matrix)
        }
    };
    sink.write(|out| out.write_all(document.as_bytes()))?;
    Ok(super::outcome(&found))
}
