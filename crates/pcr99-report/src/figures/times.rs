//! Median times of all methods by outlier ratio, from the table `times.csv` of a benchmark.

use pcr99_lab::monte_carlo::{Estimator, ScaleMode};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, VPos},
};

use super::{
    lines::{mark, swatch},
    panel::{Axis, Panel, SMALL, text},
    svg,
};
use crate::palette::style_of;

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    scale: ScaleMode,
    estimator: Estimator,
    /// Median times by column; `None` for empty cells.
    milliseconds: Vec<Option<f64>>,
}

/// The figure as an SVG document; `None` when the text is not such a table.
pub(crate) fn picture(csv: &str) -> Option<String> {
    let mut lines = csv.lines();
    let heads: Vec<&str> = lines.next()?.split(',').collect();
    let ratios = heads.strip_prefix(["scale", "method"].as_slice())?;
    let row = |line: &str| {
        let mut cells = line.split(',');
        let scale = cells.next()?;
        let scale = ScaleMode::ALL.into_iter().find(|mode| mode.name() == scale)?;
        let title = cells.next()?;
        let estimator = Estimator::all().find(|estimator| estimator.title() == title)?;
        Some(Row { scale, estimator, milliseconds: cells.map(|cell| cell.parse().ok()).collect() })
    };
    let rows: Vec<Row> = lines.map(row).collect::<Option<_>>()?;
    if ratios.is_empty() || rows.is_empty() || rows.iter().any(|row| row.milliseconds.len() != ratios.len()) {
        return None;
    }
    Some(draw(ratios, &rows))
}

fn draw(ratios: &[&str], rows: &[Row]) -> String {
    let (left, gap, width, height, column) = (60.0, 62.0, 430.0, 330.0, 150.0);
    let estimators: Vec<Estimator> =
        Estimator::all().filter(|estimator| rows.iter().any(|row| row.estimator == *estimator)).collect();
    let modes: Vec<ScaleMode> =
        ScaleMode::ALL.into_iter().filter(|mode| rows.iter().any(|row| row.scale == *mode)).collect();
    let whole = left + modes.len() as f64 * (width + gap);
    let per_line = ((whole - left) / column) as usize;
    let top = 44.0 + 20.0 * estimators.len().div_ceil(per_line) as f64 + 34.0;
    let title = "Median CPU time of every method by outlier ratio";
    let axis = Axis::around(rows.iter().flat_map(|row| row.milliseconds.iter().flatten().copied()));
    svg([whole as u32, (top + height + 62.0) as u32], title, |canvas| {
        text(canvas, title, (left as i32, 12), 17, HPos::Left, VPos::Top)?;
        for (k, &estimator) in estimators.iter().enumerate() {
            let (x, y) = (left + column * (k % per_line) as f64, 52.0 + 20.0 * (k / per_line) as f64);
            swatch(canvas, estimator.title(), style_of(estimator), (x as i32, y as i32))?;
        }
        for (k, mode) in modes.iter().enumerate() {
            let panel = Panel { canvas, left: left + k as f64 * (width + gap), top, width, height, axis };
            panel.draw_axis(&format!("{} scale: milliseconds", mode.name()))?;
            let place = |column: usize| (column as f64 + 0.5) / ratios.len() as f64;
            for (column, ratio) in ratios.iter().enumerate() {
                panel.draw_below(place(column), ratio, true)?;
            }
            for row in rows.iter().filter(|row| row.scale == *mode) {
                let style = style_of(row.estimator);
                let (r, g, b) = style.rgb;
                let color = RGBColor(r, g, b);
                let known =
                    row.milliseconds.iter().enumerate().filter_map(|(column, ms)| ms.map(|ms| (column, ms)));
                let pixels: Vec<(i32, i32)> = known.map(|(column, ms)| panel.at(place(column), ms)).collect();
                let width = if row.estimator == Estimator::DEFAULT { 5 } else { 2 };
                canvas.draw(&PathElement::new(pixels.clone(), color.stroke_width(width)))?;
                for pixel in pixels {
                    mark(canvas, pixel, color, style.filled)?;
                }
            }
        }
        let words = "outlier ratio; 1000 matches, one thread, all methods compiled. Table I counts failures";
        let below = ((whole / 2.0) as i32, (top + height + 52.0) as i32);
        text(canvas, words, below, SMALL, HPos::Center, VPos::Bottom)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_becomes_lines_and_anything_else_nothing() {
        let table = "scale,method,0 %,99 %\nunknown,ours,0.1,15\nunknown,RANSAC,0.2,\nknown,ours,0.1,1.3\n";
        let svg = picture(table).expect("a picture");
        assert!(svg.contains("RANSAC") && svg.contains("known scale: milliseconds") && svg.contains("99 %"));
        for other in [
            "",
            "a,b\n",
            "scale,method\n",
            "scale,method,0 %\nunknown,nobody,1\n",
            "scale,method,0 %\nknown,ours,1,2\n",
        ] {
            assert_eq!(picture(other), None, "{other}");
        }
    }
}
