//! `pcr99 info`: what is in cloud files.

use std::{fmt::Write as _, path::Path};

use anyhow::Result;
use pcr99_cloud::{CloudInfo, cloud_info, unit_hint};
use serde_json::{Value, json};

use crate::{
    Outcome,
    args::Info,
    output::{Sink, shown},
    page::path_text,
    watch::Busy,
};

pub(super) fn run(options: &Info, quiet: bool) -> Result<Outcome> {
    let sink = Sink::new(options.output.as_deref())?;
    let mut files = Vec::new();
    for path in &options.files {
        let _busy = Busy::start(format!("reading `{}`", path.display()), quiet);
        files.push((path.as_path(), cloud_info(path)?));
    }
    let hints = hints(&files);
    let text = if options.json {
        let clouds: Vec<Value> = files.iter().map(|(path, info)| document(path, info)).collect();
        let document = json!({ "schema": 1, "clouds": clouds, "warnings": hints });
        format!("{document:#}\n")
    } else {
        let mut text: String = files.iter().map(|(path, info)| summary(path, info)).collect();
        hints.iter().for_each(|hint| text += &format!("warning: {hint}\n"));
        text
    };
    sink.write(|out| out.write_all(text.as_bytes()))?;
    Ok(Outcome::Done)
}

/// Sentences about files whose units may differ from those of the first.
fn hints(files: &[(&Path, CloudInfo)]) -> Vec<String> {
    let [(first, cloud), others @ ..] = files else { return Vec::new() };
    let hint = |(path, other): &(&Path, CloudInfo)| {
        let hint = unit_hint(cloud.bounds?, other.bounds?)?;
        Some(format!("`{}` and `{}`: {hint}", first.display(), path.display()))
    };
    others.iter().filter_map(hint).collect()
}

/// A description for people.
fn summary(path: &Path, info: &CloudInfo) -> String {
    let mut text = String::new();
    let missing =
        if info.missing > 0 { format!(", {} without coordinates", info.missing) } else { String::new() };
    let _ = writeln!(text, "{}: {}, {} points{missing}", path.display(), info.format, info.points);
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    let triple = |place: [f64; 3]| place.map(shown).join(" ");
    if let Some([low, high]) = info.bounds {
        line("from", triple(low));
        line("to", triple(high));
        line("extent", [0, 1, 2].map(|k| shown(high[k] - low[k])).join(" × "));
    }
    if let Some(spacing) = info.spacing {
        line("spacing", format!("{} (median distance to the nearest point)", shown(spacing)));
    }
    if let Some(step) = info.step {
        line("step", format!("{} (smallest difference of coordinates)", shown(step)));
    }
    if let Some(place) = info.viewpoint {
        line("viewpoint", triple(place));
    }
    if let Some(system) = &info.coordinate_system {
        let start: String = system.chars().filter(|c| !c.is_control()).take(60).collect();
        line("coordinates", start);
    }
    for (name, range) in &info.attributes {
        let range = range.map_or(String::new(), |[low, high]| format!(", {} to {}", shown(low), shown(high)));
        line("attribute", format!("{}{range}", plain(name)));
    }
    for (number, scan) in info.scans.iter().enumerate() {
        let name = scan.name.as_deref().map_or(String::new(), |name| format!(" `{}`", plain(name)));
        let step = scan.step.map_or(String::new(), |(step, is_single)| {
            format!(", step {}{}", shown(step), if is_single { " (single precision)" } else { "" })
        });
        line(
            "scan",
            format!("{number}{name}, {} points, sensor at {}{step}", scan.points, triple(scan.position)),
        );
    }
    info.others.iter().for_each(|other| line("also", other.clone()));
    info.warnings.iter().for_each(|warning| line("warning", warning.clone()));
    text
}

/// A name from a file, on one line.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// A description as JSON.
fn document(path: &Path, info: &CloudInfo) -> Value {
    let attributes: Vec<Value> =
        info.attributes.iter().map(|(name, range)| json!({ "name": name, "range": range })).collect();
    let scans: Vec<Value> = info
        .scans
        .iter()
        .map(|scan| {
            json!({
                "name": scan.name, "points": scan.points, "position": scan.position, "quaternion": scan.quaternion,
                "step": scan.step.map(|(step, _)| step),
            })
        })
        .collect();
    json!({
        "file": path_text(path),
        "format": info.format,
        "points": info.points,
        "missing": info.missing,
        "bounds": info.bounds,
        "spacing": info.spacing,
        "step": info.step,
        "viewpoint": info.viewpoint,
        "coordinate_system": info.coordinate_system,
        "attributes": attributes,
        "scans": scans,
        "others": info.others,
        "warnings": info.warnings,
    })
}
