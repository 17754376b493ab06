//! The graph of an assembly as a drawing: scans on circles, one circle for each map, and the edges between them.

use std::fmt::Write as _;

use pcr99_document::{AssemblyDocument, EdgeVerdict};

use crate::frame::escaped_html;

/// Distance between two neighbours on a circle.
const STEP: f64 = 46.0;
/// Radius of a scan.
const DOT: f64 = 7.0;
/// Distance of the middle of a label from the edge of its scan.
const LABEL: f64 = 12.0;
/// Distance of the baseline of a label below its middle.
const BASELINE: f64 = 4.0;
/// Width at which a new row of circles begins.
const WIDTH: f64 = 1100.0;

/// The drawing.
pub(super) fn svg(document: &AssemblyDocument) -> String {
    let groups = groups(document);
    let mut places = vec![[0.0; 2]; document.scans.len()];
    // Labels are outside of the circles, where no edge is.
    let mut labels = places.clone();
    let ([mut x, mut y], mut row, mut width) = ([0.0, 0.0], 0.0_f64, 0.0_f64);
    for group in &groups {
        let radius = radius(group.len());
        let size = 2.0 * (radius + STEP);
        if x > 0.0 && x + size > WIDTH {
            (x, y, row) = (0.0, y + row, 0.0);
        }
        for (k, &scan) in group.iter().enumerate() {
            let angle = std::f64::consts::TAU * k as f64 / group.len() as f64;
            let [cx, cy] = [x + radius + STEP, y + radius + STEP];
            let way = [libm::sin(angle), -libm::cos(angle)];
            places[scan] = [cx + radius * way[0], cy + radius * way[1]];
            let beyond = radius + DOT + LABEL;
            labels[scan] = [cx + beyond * way[0], cy + beyond * way[1]];
        }
        (x, row) = (x + size, row.max(size));
        width = width.max(x);
    }
    let mut text = format!(
        "<svg class=\"network\" viewBox=\"0 0 {width:.0} {:.0}\" style=\"max-width:{width:.0}px\" role=\"img\" aria-label=\"Scans and the pairs between them\">\n",
        y + row
    );
    let mut order: Vec<usize> = (0..document.edges.len()).collect();
    // What is admitted is drawn over what is not.
    order.sort_by_key(|&k| std::cmp::Reverse(document.edges[k].verdict));
    for edge in order.into_iter().map(|k| &document.edges[k]) {
        if matches!(edge.verdict, EdgeVerdict::Refused | EdgeVerdict::Failed) {
            continue;
        }
        let [a, b] = [places[edge.target], places[edge.source]];
        let name = |scan: usize| escaped_html(&document.scans[scan].name);
        let class = edge.verdict.as_str();
        let bridge = if edge.is_bridge { " bridge" } else { "" };
        let _ = writeln!(
            text,
            "<line class=\"{class}{bridge}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"><title>{} – {}: {}</title></line>",
            a[0],
            a[1],
            b[0],
            b[1],
            name(edge.target),
            name(edge.source),
            class
        );
    }
    for (scan, ([x, y], [lx, ly])) in places.iter().zip(&labels).enumerate() {
        let status = document.scans[scan].status.as_str();
        let name = escaped_html(&document.scans[scan].name);
        let _ = writeln!(
            text,
            "<g class=\"{status}\"><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{DOT}\"><title>{name}</title></circle><text x=\"{lx:.1}\" y=\"{:.1}\">{scan}</text></g>",
            ly + BASELINE
        );
    }
    text + "</svg>\n"
}

/// Scans of each map, then those that are in none.
fn groups(document: &AssemblyDocument) -> Vec<Vec<usize>> {
    let of = |component: Option<usize>| {
        (0..document.scans.len())
            .filter(|&scan| document.scans[scan].component == component)
            .collect::<Vec<_>>()
    };
    let maps = (0..document.components.len()).map(|number| of(Some(number)));
    maps.chain([of(None)]).filter(|group| !group.is_empty()).collect()
}

fn radius(scans: usize) -> f64 {
    if scans == 1 { 0.0 } else { (STEP * scans as f64 / std::f64::consts::TAU).max(0.5 * STEP) }
}
