//! Data for the page's script, as JSON: coordinates have no more digits than can be seen.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    distances::Distances,
    rotation::euler_deg,
    view::{Pose, RegistrationView},
    votes::VoteLayer,
};
use crate::{
    frame::script_json,
    numbers::{exact, shown},
};

/// Ratio of coordinates to the radius of the cloud above which coordinates are drawn relative to the middle. The graphics
/// card computes in single precision, which loses 50 / 2²⁴ of the radius: nothing that can be seen.
const FAR: f64 = 50.0;
/// Distance of the two middles, in sums of the radii, above which the clouds are drawn closer together. Farther apart, each
/// would be a dot.
const APART: f64 = 4.0;

/// Middle of a cloud, and a radius within which most of it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ball {
    middle: [f64; 3],
    radius: f64,
}

impl Ball {
    /// Computed from medians, which outlying points do not move.
    fn around(points: &[[f64; 3]]) -> Self {
        if points.is_empty() {
            return Self { middle: [0.0; 3], radius: 1.0 };
        }
        let median = |mut values: Vec<f64>| {
            let place = values.len() / 2;
            *values.select_nth_unstable_by(place, f64::total_cmp).1
        };
        let middle = std::array::from_fn(|axis| median(points.iter().map(|p| p[axis]).collect()));
        let radius = 2.0 * median(points.iter().map(|&p| distance(p, middle)).collect());
        Self { middle, radius: if radius > 0.0 { radius } else { 1.0 } }
    }

    /// Origin of the drawing: round numbers near the middle of a distant cloud, zero otherwise.
    fn origin(&self) -> [f64; 3] {
        let far = self.middle.iter().any(|x| x.abs() > FAR * self.radius);
        let step = libm::exp10(libm::floor(libm::log10(self.radius)));
        self.middle.map(|x| if far { (x / step).round() * step } else { 0.0 })
    }
}

fn distance(p: [f64; 3], q: [f64; 3]) -> f64 {
    p.iter().zip(q).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

fn minus(p: [f64; 3], q: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| p[axis] - q[axis])
}

/// Differences between the coordinates of the drawing and those of the data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// Origins of source and target, subtracted from their coordinates.
    origins: [[f64; 3]; 2],
    /// Shift of the source in the view before registration.
    before: [f64; 3],
    /// Distance of the clouds when they are drawn closer together.
    pub(crate) apart: Option<f64>,
}

impl Frame {
    pub(crate) fn of(view: &RegistrationView) -> Self {
        let balls = view.clouds.each_ref().map(|cloud| Ball::around(&cloud.points));
        let origins = balls.map(|ball| ball.origin());
        let [source, target] = balls;
        let between = minus(source.middle, target.middle);
        let (length, reach) = (distance(source.middle, target.middle), source.radius + target.radius);
        let mut before = minus(origins[0], origins[1]);
        let mut apart = None;
        if length > APART * reach {
            // In the same direction, side by side.
            let nearer = minus(between, between.map(|x| x * 1.2 * reach / length));
            before = minus(before, nearer);
            apart = Some(length);
        }
        Self { origins, before, apart }
    }

    /// Title of an axis.
    fn axis_title(&self, axis: usize) -> String {
        let name = ["x", "y", "z"][axis];
        match self.origins[1][axis] {
            0.0 => format!("{name}, target units"),
            origin if origin > 0.0 => format!("{name} − {}", shown(origin)),
            origin => format!("{name} + {}", shown(-origin)),
        }
    }
}

/// A JSON list of all coordinates, rounded to a millionth of their spread.
fn coordinates(points: impl Iterator<Item = [f64; 3]>, spread: f64) -> String {
    let decimals = (5.0 - libm::floor(libm::log10(spread))).clamp(0.0, 300.0) as usize;
    let number = |x: f64| {
        let text = format!("{x:.decimals$}");
        let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        if text == "-0" { "0".to_owned() } else { text.to_owned() }
    };
    let numbers: Vec<String> = points.flatten().map(number).collect();
    format!("[{}]", numbers.join(","))
}

/// What the script reads, except for the coordinates.
#[derive(Serialize)]
struct Rest<'a> {
    are_matches: bool,
    index: &'a [usize],
    before: [f64; 3],
    axes: [String; 3],
    bins: Option<BinsData>,
    distances: Option<&'a Distances>,
    poses: Vec<PoseData<'a>>,
    /// Where most of the votes that raised the doubt are.
    place: Option<[f64; 3]>,
}

/// The histogram; all places are log₁₀ of a residual.
#[derive(Serialize)]
struct BinsData {
    first: f64,
    width: f64,
    threshold: Option<f64>,
    label: Option<String>,
    places: Vec<f64>,
    labels: Vec<String>,
}

/// A candidate in the drawing's coordinates, and its numbers to read and to copy.
#[derive(Serialize)]
struct PoseData<'a> {
    linear: [[f64; 3]; 3],
    shift: [f64; 3],
    inliers: &'a [usize],
    counts: &'a [usize],
    read: BTreeMap<&'static str, String>,
    copy: BTreeMap<&'static str, String>,
}

/// The data for the script.
pub(crate) fn json(view: &RegistrationView, frame: &Frame) -> String {
    let spread = |cloud: usize| Ball::around(&view.clouds[cloud].points).radius;
    let relative = |cloud: usize| {
        let origin = frame.origins[cloud];
        coordinates(view.clouds[cloud].points.iter().map(|&p| minus(p, origin)), spread(cloud))
    };
    let line_end = |cloud: usize| {
        let origin = frame.origins[cloud];
        coordinates(view.lines.points.iter().map(|pair| minus(pair[cloud], origin)), spread(cloud))
    };
    let bins = view.bins.as_ref().map(|bins| {
        let (places, labels) = bins.marks().into_iter().unzip();
        let threshold = view.threshold.map(libm::log10);
        BinsData {
            first: bins.first,
            width: bins.width,
            threshold,
            label: view.threshold.map(shown),
            places,
            labels,
        }
    });
    let rest = Rest {
        are_matches: view.are_matches,
        index: &view.lines.index,
        before: frame.before,
        axes: [0, 1, 2].map(|axis| frame.axis_title(axis)),
        bins,
        distances: view.distances.as_ref(),
        poses: view.poses.iter().map(|pose| of_pose(pose, frame)).collect(),
        place: view.place.map(|place| minus(place, frame.origins[1])),
    };
    // Numbers, texts and lists: conversion cannot fail.
    let rest = serde_json::to_string(&rest).unwrap_or_default();
    let [source, target, from, to] = [relative(0), relative(1), line_end(0), line_end(1)];
    let side = |layer: &VoteLayer, cloud: usize| {
        let origin = frame.origins[cloud];
        coordinates(layer.points[cloud].iter().map(|&p| minus(p, origin)), spread(cloud))
    };
    let layer =
        |layer: &VoteLayer| format!("\"{}\":[{},{}]", layer.vote.as_str(), side(layer, 0), side(layer, 1));
    let votes: Vec<String> = view.votes.iter().map(layer).collect();
    let votes = votes.join(",");
    script_json(&format!(
        "{{\"source\":{source},\n\"target\":{target},\n\"from\":{from},\n\"to\":{to},\n\"votes\":{{{votes}}},\n\"rest\":{rest}}}"
    ))
}

fn of_pose<'a>(pose: &'a Pose, frame: &Frame) -> PoseData<'a> {
    let shift = minus(pose.model.apply(frame.origins[0]), frame.origins[1]);
    let (read, copy) = rows(pose).into_iter().map(|row| ((row.id, row.read), (row.id, row.copy))).unzip();
    PoseData { linear: pose.model.linear(), shift, inliers: &pose.inliers, counts: &pose.counts, read, copy }
}

/// A notation of a transform.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// Order and unit of the numbers.
    pub(crate) note: &'static str,
    pub(crate) read: String,
    /// The text to copy, with all digits.
    pub(crate) copy: String,
}

/// The transform in every usual notation.
pub(crate) fn rows(pose: &Pose) -> Vec<Row> {
    let model = &pose.model;
    let (q, angles) = (model.quaternion(), euler_deg(&model.rotation()));
    let list = |numbers: &[f64], number: &dyn Fn(f64) -> String| {
        numbers.iter().map(|&x| number(x)).collect::<Vec<_>>().join("  ")
    };
    let fixed = |decimals: usize| {
        move |x: f64| {
            let text = format!("{x:.decimals$}");
            // Zero has no sign.
            if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
                text.trim_start_matches('-').to_owned()
            } else {
                text
            }
        }
    };
    let row = |id, name, note, numbers: &[f64], number: &dyn Fn(f64) -> String| Row {
        id,
        name,
        note,
        read: list(numbers, number),
        copy: numbers.iter().map(|&x| exact(x)).collect::<Vec<_>>().join(" "),
    };
    let matrix = model.matrix();
    vec![
        Row {
            id: "matrix",
            name: "Matrix",
            note: "4×4, [sR t; 0 1], source to target",
            read: aligned(matrix, &|x| {
                if (1e-3..1e6).contains(&model.scale()) { fixed(6)(x) } else { format!("{x:.6e}") }
            }),
            copy: matrix.map(|row| row.map(exact).join(" ")).join("\n") + "\n",
        },
        row("quaternion", "Quaternion", "w  x  y  z, of length one", &q, &fixed(6)),
        row(
            "euler",
            "Euler angles",
            "roll  pitch  yaw in degrees; R = Rz(yaw)·Ry(pitch)·Rx(roll)",
            &angles,
            &fixed(4),
        ),
        row("translation", "Translation", "x  y  z, target units", &model.translation(), &shown),
        row("scale", "Scale", "target units per source unit", &[model.scale()], &shown),
    ]
}

fn aligned(rows: [[f64; 4]; 4], number: &dyn Fn(f64) -> String) -> String {
    let rows = rows.map(|row| row.map(number));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 4] = std::array::from_fn(width);
    let line = |row: &[String; 4]| {
        row.iter()
            .zip(widths)
            .map(|(number, width)| format!("{number:>width$}"))
            .collect::<Vec<_>>()
            .join("  ")
    };
    rows.each_ref().map(line).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_have_as_many_digits_as_can_be_seen() {
        let text = |points: &[[f64; 3]], spread| coordinates(points.iter().copied(), spread);
        assert_eq!(text(&[[1.0, -0.123_456_789, -1e-9]], 1.0), "[1,-0.12346,0]");
        assert_eq!(text(&[[1234.5678, 2.5, 0.0]], 5e5), "[1235,2,0]");
        assert_eq!(text(&[[1.5e-9, 0.0, 2e-9]], 1e-9), "[0.0000000015,0,0.000000002]");
    }

    #[test]
    fn far_coordinates_are_drawn_from_round_numbers_nearby() {
        let far: Vec<[f64; 3]> =
            (0..50).map(|k| [431_207.3 + f64::from(k % 7), 5_000_000.0 - f64::from(k), 3.0]).collect();
        let ball = Ball::around(&far);
        let origin = ball.origin();
        assert!(distance(origin, ball.middle) <= ball.radius, "{origin:?} {ball:?}");
        assert_eq!(origin.map(|x| x % 10.0), [0.0; 3]);
        let near: Vec<[f64; 3]> = (0..50).map(|k| [f64::from(k), 2.0, 3.0]).collect();
        assert_eq!(Ball::around(&near).origin(), [0.0; 3]);
        assert_eq!(Ball::around(&[]).origin(), [0.0; 3]);
    }
}
