//! A small picture below the summary, on terminals that can show it.

use std::{fmt::Write as _, io::IsTerminal};

use pcr99::Similarity;

/// Columns and lines of a panel; each character has 2 × 4 dots. Three panels fit into 80 columns.
const PANEL: [usize; 2] = [24, 10];
/// Columns of the picture: three panels and the space between them.
const WIDTH: usize = 78;
/// Number of bars of the residual histogram.
const BARS: usize = 48;
/// Largest number of points drawn of each cloud; a panel has 1920 dots.
const MOST_POINTS: usize = 3000;

/// A terminal that can show a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminal {
    with_color: bool,
}

/// Properties of the output that decide whether a picture can be shown.
struct Surroundings<'a> {
    /// Whether both standard output and standard error are terminals.
    is_terminal: bool,
    columns: Option<usize>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Terminal {
    /// The terminal that the program writes to, if it can show a picture.
    pub(crate) fn here() -> Option<Self> {
        Self::of(&Surroundings {
            is_terminal: std::io::stdout().is_terminal() && std::io::stderr().is_terminal(),
            columns: terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)),
            variable: &|name| std::env::var(name).ok(),
        })
    }

    fn of(around: &Surroundings<'_>) -> Option<Self> {
        let set = |name: &str| (around.variable)(name).filter(|value| !value.is_empty());
        // The first variable that is set decides, as POSIX says.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name)).unwrap_or_default();
        let has_signs = locale.to_uppercase().replace('-', "").contains("UTF8");
        let is_dumb = set("TERM").is_none_or(|term| term == "dumb");
        let is_wide = around.columns.is_none_or(|columns| columns >= WIDTH);
        (around.is_terminal && has_signs && !is_dumb && is_wide)
            .then(|| Self { with_color: set("NO_COLOR").is_none() })
    }

    fn painted(self, text: &str, color: Color) -> String {
        if self.with_color { format!("\x1b[{}m{text}\x1b[0m", color as u8) } else { text.to_owned() }
    }
}

/// Colours by their ANSI codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Color {
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Dim = 2,
}

/// Points and matches to draw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) source: &'a [[f64; 3]],
    pub(crate) target: &'a [[f64; 3]],
    pub(crate) model: &'a Similarity,
    /// Source and target point of each match.
    pub(crate) matches: Matches<'a>,
    /// Indices of the inliers, ascending.
    pub(crate) inliers: &'a [usize],
    pub(crate) threshold: Option<f64>,
    /// Whether source and target are points of matches, most of which may be outliers.
    pub(crate) are_matches: bool,
}

/// Matches as two lists or as one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Matches<'a> {
    Apart(&'a [[f64; 3]], &'a [[f64; 3]]),
    Together(&'a [[[f64; 3]; 2]]),
}

impl Matches<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Apart(source, _) => source.len(),
            Self::Together(pairs) => pairs.len(),
        }
    }

    fn get(&self, i: usize) -> [[f64; 3]; 2] {
        match self {
            Self::Apart(source, target) => [source[i], target[i]],
            Self::Together(pairs) => pairs[i],
        }
    }
}

/// Three panels (source, target, both), a histogram of the residuals, and the transform in words.
pub(crate) fn picture(terminal: Terminal, scene: &Scene<'_>) -> String {
    let every = |points: &[[f64; 3]]| points.len().div_ceil(MOST_POINTS).max(1);
    let finite = |p: &[f64; 3]| p.iter().all(|x| x.is_finite());
    let some = |points: &[[f64; 3]]| -> Vec<[f64; 3]> {
        points.iter().step_by(every(points)).copied().filter(finite).collect()
    };
    let (source, target) = (some(scene.source), some(scene.target));
    let moved: Vec<[f64; 3]> = source.iter().map(|&p| scene.model.apply(p)).collect();
    let agreeing = |side: usize| -> Vec<[f64; 3]> {
        let stride = scene.inliers.len().div_ceil(MOST_POINTS).max(1);
        scene.inliers.iter().step_by(stride).map(|&i| scene.matches.get(i)[side]).collect()
    };
    let axes = broad_side(&moved);
    let panel = |layers: &[(&[[f64; 3]], Color)], axes| Panel::of(layers, axes).lines(terminal);
    let (from, to) = (agreeing(0), agreeing(1));
    // Targets of outliers would hide the result.
    let ground: &[[f64; 3]] = if scene.are_matches { &[] } else { &target };
    let panels = [
        panel(&[(&source, Color::Yellow), (&from, Color::Green)], broad_side(&source)),
        panel(&[(&target, Color::Blue), (&to, Color::Green)], axes),
        panel(&[(ground, Color::Blue), (&moved, Color::Yellow), (&to, Color::Green)], axes),
    ];
    let mut text = String::from("\n");
    let titles = ["source", "target", "source on target"];
    let heads: Vec<String> = titles.iter().map(|title| format!("{title:<0$}", PANEL[0])).collect();
    let _ = writeln!(text, "  {}", terminal.painted(heads.join("  ").trim_end(), Color::Dim));
    for line in 0..PANEL[1] {
        let parts: Vec<&str> = panels.iter().map(|panel| panel[line].as_str()).collect();
        let _ = writeln!(text, "  {}", parts.join("  ").trim_end());
    }
    text += &residuals(terminal, scene);
    let _ = writeln!(text, "\n  {}", in_words(scene.model));
    text
}

/// The two axes with the largest spread, drawn rightwards and upwards.
fn broad_side(points: &[[f64; 3]]) -> [usize; 2] {
    let spread = |axis: usize| {
        let mut values: Vec<f64> = points.iter().map(|p| p[axis]).collect();
        values.sort_by(f64::total_cmp);
        let at = |part: f64| values.get((part * values.len() as f64) as usize).copied().unwrap_or(0.0);
        at(0.95) - at(0.05)
    };
    let spreads = [0, 1, 2].map(spread);
    let thin = (1..3).fold(0, |thin, axis| if spreads[axis] < spreads[thin] { axis } else { thin });
    match thin {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    }
}

/// Dots of a panel, and the colour of each character: that of its last layer.
struct Panel {
    dots: Vec<u8>,
    colors: Vec<Option<Color>>,
}

impl Panel {
    fn of(layers: &[(&[[f64; 3]], Color)], [right, up]: [usize; 2]) -> Self {
        let [columns, lines] = PANEL;
        let mut panel = Self { dots: vec![0; columns * lines], colors: vec![None; columns * lines] };
        let all = || layers.iter().flat_map(|(points, _)| points.iter());
        // From the 1st to the 99th percentile, so that one stray point does not shrink the rest to a dot.
        let range = |axis: usize| {
            let mut values: Vec<f64> = all().map(|p| p[axis]).collect();
            values.sort_by(f64::total_cmp);
            let at = |part: f64| {
                values.get((part * (values.len() as f64 - 1.0)).round() as usize).copied().unwrap_or(0.0)
            };
            [at(0.01), at(0.99)]
        };
        let (across, upwards) = (range(right), range(up));
        let [wide, high] = [2 * columns - 1, 4 * lines - 1].map(|dots| dots as f64);
        let unit = ((across[1] - across[0]) / wide).max((upwards[1] - upwards[0]) / high);
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let middle = |[low, high]: [f64; 2]| 0.5 * (low + high);
        for (points, color) in layers {
            for point in *points {
                let x = (0.5 * wide + (point[right] - middle(across)) / unit).round();
                let y = (0.5 * high - (point[up] - middle(upwards)) / unit).round();
                if (0.0..=wide).contains(&x) && (0.0..=high).contains(&y) {
                    let (x, y) = (x as usize, y as usize);
                    let place = y / 4 * columns + x / 2;
                    // Bits of a Braille character: three rows of two dots first, then the fourth row.
                    panel.dots[place] |=
                        [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]][y % 4][x % 2];
                    panel.colors[place] = Some(*color);
                }
            }
        }
        panel
    }

    fn lines(&self, terminal: Terminal) -> Vec<String> {
        let sign = |dots: u8| char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ');
        let cells: Vec<(char, Option<Color>)> = self
            .dots
            .iter()
            .zip(&self.colors)
            .map(|(&dots, &color)| (if dots == 0 { ' ' } else { sign(dots) }, color))
            .collect();
        let line = |cells: &[(char, Option<Color>)]| {
            let runs = cells.chunk_by(|a, b| a.1 == b.1);
            runs.map(|run| {
                let text: String = run.iter().map(|(sign, _)| *sign).collect();
                run[0].1.map_or(text.clone(), |color| terminal.painted(&text, color))
            })
            .collect()
        };
        cells.chunks(PANEL[0]).map(line).collect()
    }
}

/// Histogram of the residuals of the matches on a logarithmic axis, with the threshold.
fn residuals(terminal: Terminal, scene: &Scene<'_>) -> String {
    let Some(threshold) = scene.threshold.filter(|t| *t > 0.0) else { return String::new() };
    let residual = |i: usize| {
        let [a, b] = scene.matches.get(i);
        scene.model.apply(a).iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
    };
    let residuals: Vec<f64> = (0..scene.matches.len()).map(residual).filter(|r| r.is_finite()).collect();
    let high = residuals.iter().copied().fold(2.0 * threshold, f64::max);
    let low = residuals.iter().copied().filter(|r| *r > 0.0).fold(0.5 * threshold, f64::min).max(1e-5 * high);
    let place = |r: f64| ((r.max(low) / low).log10() / (high / low).log10() * BARS as f64) as usize;
    let edge = place(threshold).clamp(1, BARS - 1);
    let mut counts = [0_usize; BARS];
    for r in residuals {
        // Rounding must not move a residual to the other side of the threshold.
        let bar = place(r).min(BARS - 1);
        counts[if r <= threshold { bar.min(edge - 1) } else { bar.max(edge) }] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let bar = |count: usize| match count {
        0 => ' ',
        // Logarithmic, so that a few inliers are visible beside many outliers.
        count => {
            let height = 1.0 + 7.0 * (count as f64).ln() / most.ln().max(1e-9);
            ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][(height.min(8.0) as usize).max(1) - 1]
        }
    };
    let [right, wrong] = [&counts[..edge], &counts[edge..]]
        .map(|part| part.iter().map(|&count| bar(count)).collect::<String>());
    let mut text = String::from("\n");
    let _ = writeln!(
        text,
        "  {}  {}┊{}",
        terminal.painted("residuals", Color::Dim),
        terminal.painted(&right, Color::Green),
        wrong.trim_end()
    );
    let [first, mark, last] = [low, threshold, high].map(two_digits);
    let before = edge.saturating_sub(mark.len() / 2).max(first.len() + 1);
    let scale = format!("{first:<before$}{mark}");
    let room = (BARS + 1).saturating_sub(last.len()).max(scale.len() + 1);
    let _ = writeln!(text, "  {}", terminal.painted(&format!("{:11}{scale:<room$}{last}", ""), Color::Dim));
    text
}

/// A number with two significant digits.
fn two_digits(x: f64) -> String {
    let short = format!("{x:.1e}");
    match short.parse::<f64>() {
        Ok(rounded) if (1e-4..1e6).contains(&rounded) => crate::output::shown(rounded),
        _ => short,
    }
}

/// A transform in words.
fn in_words(model: &Similarity) -> String {
    let r = model.rotation();
    let axis = [r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]];
    let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    let degrees = length.atan2(r[0][0] + r[1][1] + r[2][2] - 1.0).to_degrees();
    let listed = |v: [f64; 3], digits: usize| v.map(|x| format!("{:.digits$}", x + 0.0)).join(", ");
    let turn = if degrees < 5e-4 {
        "no rotation".to_owned()
    } else if length > 1e-6 {
        format!("rotation by {degrees:.2}° about ({})", listed(axis.map(|x| x / length), 3))
    } else {
        "rotation by 180°".to_owned()
    };
    let shift = model.translation().map(crate::output::shown).join(", ");
    format!("{turn}, scale {},\n  translation ({shift})", crate::output::shown(model.scale()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Terminal = Terminal { with_color: false };

    fn terminal(variables: &[(&str, &str)], columns: usize, is_terminal: bool) -> Option<Terminal> {
        let variable =
            |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        Terminal::of(&Surroundings { is_terminal, columns: Some(columns), variable: &variable })
    }

    #[test]
    fn only_where_it_can_be_seen() {
        let usual = [("TERM", "xterm-256color"), ("LANG", "en_US.UTF-8")];
        assert_eq!(terminal(&usual, 80, true), Some(Terminal { with_color: true }));
        assert_eq!(terminal(&usual, 80, false), None, "a pipe");
        assert_eq!(terminal(&usual, 60, true), None, "too narrow");
        assert_eq!(terminal(&[("TERM", "dumb"), ("LANG", "C.utf8")], 80, true), None);
        assert_eq!(terminal(&[("TERM", "xterm"), ("LANG", "en_US.UTF-8"), ("LC_ALL", "C")], 80, true), None);
        assert_eq!(
            terminal(&[("TERM", "xterm"), ("LC_CTYPE", "C.utf8"), ("NO_COLOR", "1")], 80, true),
            Some(PLAIN)
        );
    }

    #[test]
    fn a_ring_looks_like_a_ring() {
        let ring: Vec<[f64; 3]> =
            (0..200).map(|k| f64::from(k) * 0.0314).map(|a| [a.cos(), a.sin(), 0.001 * a]).collect();
        let lines = Panel::of(&[(&ring, Color::Blue)], broad_side(&ring)).lines(PLAIN);
        assert_eq!(lines.len(), PANEL[1]);
        let widths: Vec<usize> = lines.iter().map(|line| line.trim().chars().count()).collect();
        assert!(widths[0] < widths[4] && widths[9] < widths[5], "{lines:#?}");
        let inner = lines[5].trim();
        assert!(inner.chars().filter(|c| *c == ' ').count() > 10, "hollow: {inner}");
    }

    #[test]
    fn residuals_are_on_their_side_and_nothing_is_too_wide() {
        let source: Vec<[f64; 3]> =
            (0..40).map(|k| [f64::from(k % 7), f64::from(k % 5), f64::from(k)]).collect();
        let model = Similarity::IDENTITY;
        let target: Vec<[f64; 3]> = source
            .iter()
            .enumerate()
            .map(|(k, p)| if k < 10 { [p[0] + 0.01, p[1], p[2]] } else { [p[0] + 5.0, p[1], p[2]] })
            .collect();
        let inliers: Vec<usize> = (0..10).collect();
        let scene = Scene {
            source: &source,
            target: &target,
            model: &model,
            matches: Matches::Apart(&source, &target),
            inliers: &inliers,
            threshold: Some(0.05),
            are_matches: true,
        };
        let drawn = picture(PLAIN, &scene);
        assert!(drawn.lines().all(|line| line.chars().count() <= WIDTH), "{drawn}");
        assert!(!drawn.contains('\x1b'));
        let bars = drawn.lines().find(|line| line.contains('┊')).expect("residuals");
        let (right, wrong) = bars.split_once('┊').expect("a threshold");
        assert!(right.contains(['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']) && wrong.ends_with('█'), "{bars}");
        assert!(drawn.trim_end().ends_with("no rotation, scale 1,\n  translation (0, 0, 0)"), "{drawn}");
        assert!(picture(Terminal { with_color: true }, &scene).contains("\x1b[32m"));
    }

    #[test]
    fn a_transform_in_words() {
        let quarter =
            Similarity::from_quaternion(2.0, [1.0, 0.0, 0.0, 1.0], [1.0, 0.0, -3.5]).expect("a similarity");
        assert_eq!(
            in_words(&quarter),
            "rotation by 90.00° about (0.000, 0.000, 1.000), scale 2,\n  translation (1, 0, -3.5)"
        );
        let half = Similarity::from_quaternion(1.0, [0.0, 0.0, 0.0, 1.0], [0.0; 3]).expect("a similarity");
        assert!(in_words(&half).starts_with("rotation by 180°"), "{}", in_words(&half));
    }
}
