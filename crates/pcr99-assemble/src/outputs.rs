//! Files of a project for other programs: poses and edges as tables, a trajectory and a pose graph.

use std::fmt::Write as _;

use pcr99::Similarity;
use pcr99_document::{AssembledScan, AssemblyDocument};
use pcr99_graph::{Information, Kind, PoseGraph, RotationInformation};

use crate::{Error, candidate::unit_scale, engine::Assembled, map::MapEdge, scan::Scan};

/// The document.
pub const POSES_JSON: &str = "poses.json";
/// Table of the scans.
pub const POSES_CSV: &str = "poses.csv";
/// Trajectory in the format of TUM; the timestamps are the places of the scans.
pub const POSES_TUM: &str = "poses.tum";
/// Pose graph in the format of g2o; the vertices are the places of the scans.
pub const POSES_G2O: &str = "poses.g2o";
/// Table of the pairs.
pub const EDGES_CSV: &str = "edges.csv";

/// `poses.csv`.
pub(crate) fn poses_csv(document: &AssemblyDocument) -> String {
    let mut text = String::from(
        "scan,status,component,points,edges,translation_95,rotation_95_deg,scale_95,scale,same_as,reason,note,\
         m00,m01,m02,m03,m10,m11,m12,m13,m20,m21,m22,m23\n",
    );
    for scan in &document.scans {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:?}"));
        let count = |value: Option<usize>| value.map_or(String::new(), |value| value.to_string());
        let mut cells = vec![
            cell(&scan.name),
            scan.status.as_str().to_owned(),
            count(scan.component),
            count(scan.points),
            scan.edges.to_string(),
            number(scan.accuracy.map(|a| a.translation)),
            number(scan.accuracy.map(|a| a.rotation_deg)),
            number(scan.accuracy.and_then(|a| a.scale)),
            number(scan.scale),
            cell(scan.same_as.as_deref().unwrap_or_default()),
            cell(&scan.reason),
            cell(scan.note.as_deref().unwrap_or_default()),
        ];
        cells.extend((0..12).map(|k| number(scan.transform.map(|rows| rows[k / 4][k % 4]))));
        text += &(cells.join(",") + "\n");
    }
    text
}

/// `edges.csv`.
pub(crate) fn edges_csv(document: &AssemblyDocument) -> String {
    let mut text =
        String::from("target,source,verdict,doubt,candidate,log10_nfa,overlap,residual,is_bridge,reason\n");
    for edge in &document.edges {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:?}"));
        let cells = [
            cell(&document.scans[edge.target].name),
            cell(&document.scans[edge.source].name),
            edge.verdict.as_str().to_owned(),
            edge.doubt.map_or(String::new(), |doubt| doubt.as_str().to_owned()),
            edge.candidate.map_or(String::new(), |place| place.to_string()),
            number(edge.log10_nfa),
            number(edge.overlap),
            number(edge.residual),
            edge.is_bridge.to_string(),
            cell(&edge.reason),
        ];
        text += &(cells.join(",") + "\n");
    }
    text
}

/// A text as a cell that no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    let text = format!("{guard}{text}");
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// `poses.tum`: the scans of each component after a comment. A scale is not part of the format.
pub(crate) fn poses_tum(document: &AssemblyDocument) -> String {
    let mut text = String::from("# place tx ty tz qx qy qz qw\n");
    for (number, component) in document.components.iter().enumerate() {
        let _ = writeln!(
            text,
            "# component {number}: {} scans, in the coordinates of {:?}",
            component.scans, component.held
        );
        for (place, scan) in members(document, number) {
            let Some(pose) = scan.map_from_scan() else { continue };
            let ([x, y, z], [w, qx, qy, qz]) = (pose.translation(), pose.quaternion());
            let _ = writeln!(text, "{place} {x} {y} {z} {qx} {qy} {qz} {w}");
        }
    }
    text
}

fn members(document: &AssemblyDocument, number: usize) -> impl Iterator<Item = (usize, &AssembledScan)> {
    document.scans.iter().enumerate().filter(move |(_, scan)| scan.component == Some(number))
}

/// `poses.g2o`: placed scans and admitted edges, in the coordinates of the scans as given.
pub(crate) fn poses_g2o(
    document: &AssemblyDocument,
    assembled: &Assembled,
    scans: &[Scan],
    kind: Kind,
) -> Result<String, Error> {
    let mut graph = PoseGraph::new(kind);
    let mut vertex = vec![None; document.scans.len()];
    for (place, scan) in document.scans.iter().enumerate() {
        if let Some(pose) = scan.map_from_scan() {
            let pose = unit_scale(&pose);
            vertex[place] = Some(graph.add_vertex(place as u64, Some(pose)).map_err(Error::Graph)?);
        }
    }
    for component in 0..assembled.map.held.len() {
        if let Some(held) = vertex[assembled.map.held[component]] {
            graph.fix(held).map_err(Error::Graph)?;
        }
    }
    for admitted in &assembled.admitted {
        let MapEdge { target, source, .. } = admitted.edge;
        if let (Some(to), Some(from)) = (vertex[target], vertex[source]) {
            let bend = assembled.map.bend[assembled.map.component[target]];
            let (pose, information) = given(&admitted.edge, bend, scans)?;
            graph.add_edge(to, from, pose, information).map_err(Error::Graph)?;
        }
    }
    Ok(graph.to_g2o(RotationInformation::Quaternion))
}

/// The pose and the information of an edge about the origins of the scans as given.
fn given(edge: &MapEdge, bend: f64, scans: &[Scan]) -> Result<(Similarity, Information), Error> {
    let [from, to] = [&scans[edge.source], &scans[edge.target]];
    edge.about_origins(bend, from, to).ok_or(Error::Graph(pcr99_graph::Error::Singular))
}
