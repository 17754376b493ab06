//! `pcr99 graph`: the poses of a pose graph.

use std::{
    fs,
    io::{self, Read as _},
    path::Path,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use pcr99_graph::{Cost, Kind, Options, PoseGraph, RotationInformation, Solution, Start, Trust, solve};

use crate::{
    Outcome,
    args::{Args, CostOption, Graph, RotationInformationOption, TrustOption},
    output::{Sink, milliseconds, shown},
    watch::Busy,
};

pub(super) fn run(options: &Graph, args: &Args) -> Result<Outcome> {
    let start = Instant::now();
    let rotations = match options.rotation_information {
        RotationInformationOption::Quaternion => RotationInformation::Quaternion,
        RotationInformationOption::Radians => RotationInformation::Radians,
    };
    // Checked before any work is done for them.
    let sink = |path: &Option<_>| path.as_deref().map(|path| Sink::new(Some(path))).transpose();
    let sinks = [sink(&options.output)?, sink(&options.rejected)?, sink(&options.deviations)?];
    for (k, one) in sinks.iter().enumerate() {
        let same = |other: &Option<Sink>| matches!((one, other), (Some(a), Some(b)) if a.is_same_file(b));
        ensure!(
            !sinks[k + 1..].iter().any(same),
            "two outputs are the same file: name another file for one of them"
        );
    }
    let [output, rejected, deviations] = sinks;
    let name = options.input.display().to_string();
    let busy = Busy::start(format!("solving `{name}`"), args.quiet);
    let bytes = read(&options.input)?;
    let graph = PoseGraph::from_g2o(&bytes, rotations).with_context(|| format!("`{name}`"))?;
    let given = given(options, &graph)?;
    let solution = solve(&graph, &given).with_context(|| format!("`{name}`"))?;
    let written = graph.with_edges(|k| solution.is_used[k]).with_poses(&solution.poses)?;
    if let Some(sink) = output {
        let text = written.to_g2o(rotations);
        sink.write(|out| out.write_all(text.as_bytes()))?;
    }
    if let Some(sink) = rejected {
        sink.write(|out| {
            writeln!(out, "from,to")?;
            let all = graph.edges().iter().zip(&solution.is_used);
            for (edge, _) in all.filter(|(_, used)| !**used) {
                writeln!(out, "{},{}", graph.id(edge.from), graph.id(edge.to))?;
            }
            Ok(())
        })?;
    }
    if let Some(sink) = deviations {
        let text = deviations_table(&graph, &solution, &given)?;
        sink.write(|out| out.write_all(text.as_bytes()))?;
    }
    drop(busy);
    let summary = summary(&graph, &solution, options, start.elapsed().as_secs_f64());
    Sink::new(None)?.write(|out| out.write_all(summary.as_bytes()))?;
    Ok(if solution.has_converged { Outcome::Done } else { Outcome::NotReliable })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(bytes);
    }
    fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))
}

fn given(options: &Graph, graph: &PoseGraph) -> Result<Options> {
    let mut given = Options::default();
    given.cost = match options.cost {
        CostOption::Geodesic => Cost::Geodesic,
        CostOption::Chordal => Cost::Chordal,
    };
    given.start = if options.from_poses { Start::Poses } else { Start::Edges };
    given.robust = options.robust.then_some(match options.trust {
        TrustOption::Odometry => Trust::Odometry,
        TrustOption::Nothing => Trust::Nothing,
    });
    if let Some(id) = options.gauge {
        let message = || format!("--gauge {id}: there is no vertex with this number");
        given.gauge = Some(graph.index(id).with_context(message)?);
    }
    Ok(given)
}

/// Standard deviations of all poses, one row each.
fn deviations_table(graph: &PoseGraph, solution: &Solution, given: &Options) -> Result<String> {
    let covariances = solution.covariances(graph, given)?;
    let unknowns = graph.kind().unknowns();
    let mut text = String::from("vertex,wx_rad,wy_rad,wz_rad,x,y,z");
    text += if graph.kind() == Kind::Similarity { ",ln_scale\n" } else { "\n" };
    for (vertex, covariance) in covariances.iter().enumerate() {
        text += &graph.id(vertex).to_string();
        for (k, row) in covariance.iter().enumerate().take(unknowns) {
            text += &format!(",{:?}", row[k].max(0.0).sqrt());
        }
        text.push('\n');
    }
    Ok(text)
}

fn summary(graph: &PoseGraph, solution: &Solution, options: &Graph, seconds: f64) -> String {
    let mut lines = vec![format!("vertices    {}", graph.len())];
    let unused = solution.is_used.iter().filter(|used| !**used).count();
    let edges = graph.edges().len();
    lines.push(if options.robust {
        format!("edges       {edges}, {} used, {unused} left out", edges - unused)
    } else {
        format!("edges       {edges}")
    });
    let components = solution.components.iter().max().map_or(0, |last| last + 1);
    if components > 1 {
        lines.push(format!("components  {components}: no used edge connects them"));
    }
    lines.push(format!("cost        {}", shown(solution.cost)));
    let steps = solution.iterations;
    let end = if solution.has_converged { "converged" } else { "NOT CONVERGED" };
    lines.push(format!("iterations  {steps}, {end}"));
    lines.push(format!("memory      {:.1} MB for the sparse factor", solution.factor_bytes as f64 / 1e6));
    lines.push(format!("time        {} ms", milliseconds(seconds)));
    lines.join("\n") + "\n"
}
