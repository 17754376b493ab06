//! Control points and trajectories in text files.

use std::{fs, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use pcr99::{ControlPoint, Similarity};

/// A pose of a trajectory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimedPose {
    pub(super) time: f64,
    pub(super) pose: Similarity,
}

/// Numbers of a row of control points without its standard deviation.
const COORDINATES: usize = 6;

/// Lines with something in them, numbered from 1; comments are left out.
fn lines(path: &Path) -> Result<Vec<(usize, String)>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("`{}` is not text (UTF-8)", path.display()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines = (1..).zip(text.lines()).map(|(k, line)| (k, line.trim().to_owned()));
    Ok(lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect())
}

/// Fields of a line: separated by commas, semicolons or tabs where there are any, else by spaces.
fn fields(line: &str) -> Vec<&str> {
    let separator = [';', '\t', ','].into_iter().find(|c| line.contains(*c));
    match separator {
        Some(separator) => line.split(separator).map(|field| field.trim().trim_matches('"')).collect(),
        None => line.split_whitespace().collect(),
    }
}

fn numbers(fields: &[&str]) -> Option<Vec<f64>> {
    fields.iter().map(|field| field.parse().ok()).collect()
}

/// Reads control points: `name x y z X Y Z [sigma]`.
pub(super) fn control_points(path: &Path) -> Result<Vec<ControlPoint>> {
    let mut points = Vec::new();
    for (k, (line, text)) in lines(path)?.into_iter().enumerate() {
        let place = || format!("`{}`, line {line}", path.display());
        let mut fields = fields(&text);
        // An empty last cell has no standard deviation.
        while fields.last().is_some_and(|field| field.is_empty()) {
            fields.pop();
        }
        let count = fields.len().saturating_sub(1);
        let values = fields.get(1..).and_then(numbers);
        let Some(values) = values else {
            if k == 0 {
                continue;
            }
            bail!("{}: expected a name and {COORDINATES} or {} numbers", place(), COORDINATES + 1);
        };
        ensure!(
            (COORDINATES..=COORDINATES + 1).contains(&count),
            "{}: {count} numbers after the name, but a control point has {COORDINATES} (local and world coordinates), or {} with its standard deviation",
            place(),
            COORDINATES + 1
        );
        let point = ControlPoint::new(
            fields[0],
            [values[0], values[1], values[2]],
            [values[3], values[4], values[5]],
        );
        points.push(match values.get(COORDINATES) {
            Some(deviation) => point.with_deviation(*deviation),
            None => point,
        });
    }
    Ok(points)
}

/// Reads a trajectory in the format of TUM: `timestamp x y z qx qy qz qw`, with ascending times.
pub(super) fn trajectory(path: &Path) -> Result<Vec<TimedPose>> {
    let mut poses: Vec<TimedPose> = Vec::new();
    for (line, text) in lines(path)? {
        let place = || format!("`{}`, line {line}", path.display());
        let values = numbers(&fields(&text)).filter(|values| values.len() == 8);
        let Some(values) = values else {
            bail!("{}: expected 8 numbers, timestamp x y z qx qy qz qw", place());
        };
        let [time, x, y, z, qx, qy, qz, qw] = values[..] else { bail!("{}: expected 8 numbers", place()) };
        ensure!(time.is_finite(), "{}: the timestamp is not finite", place());
        ensure!(
            poses.last().is_none_or(|last| last.time < time),
            "{}: the timestamp {time} is not after the one before: sort the lines and remove repeated ones",
            place()
        );
        let pose = Similarity::from_quaternion(1.0, [qw, qx, qy, qz], [x, y, z]).with_context(place)?;
        poses.push(TimedPose { time, pose });
    }
    ensure!(!poses.is_empty(), "`{}` has no poses", path.display());
    Ok(poses)
}

/// Pairs of poses whose times differ by at most `tolerance`, each pose in one pair at most: the nearest ones first.
pub(super) fn paired(estimate: &[TimedPose], reference: &[TimedPose], tolerance: f64) -> Vec<[usize; 2]> {
    let mut candidates = Vec::new();
    for (i, pose) in estimate.iter().enumerate() {
        let first = reference.partition_point(|other| other.time < pose.time - tolerance);
        for (j, other) in reference
            .iter()
            .enumerate()
            .skip(first)
            .take_while(|(_, other)| other.time <= pose.time + tolerance)
        {
            candidates.push(((other.time - pose.time).abs(), i, j));
        }
    }
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let (mut seen, mut taken) = (vec![false; estimate.len()], vec![false; reference.len()]);
    let mut pairs = Vec::new();
    for (_, i, j) in candidates {
        if !seen[i] && !taken[j] {
            (seen[i], taken[j]) = (true, true);
            pairs.push([i, j]);
        }
    }
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(times: &[f64]) -> Vec<TimedPose> {
        times.iter().map(|&time| TimedPose { time, pose: Similarity::IDENTITY }).collect()
    }

    #[test]
    fn the_nearest_times_are_paired_once() {
        let (estimate, reference) = (at(&[0.0, 1.0, 1.004, 2.0, 9.0]), at(&[0.002, 1.003, 2.2, 3.0]));
        assert_eq!(paired(&estimate, &reference, 0.01), [[0, 0], [2, 1]]);
        assert_eq!(paired(&estimate, &reference, 0.5), [[0, 0], [2, 1], [3, 2]]);
        assert!(paired(&estimate, &reference, 0.0).is_empty());
    }

    #[test]
    fn fields_are_separated_in_any_usual_way() {
        assert_eq!(fields("P 1; 2;3"), ["P 1", "2", "3"]);
        assert_eq!(fields("\"P\", 1,2"), ["P", "1", "2"]);
        assert_eq!(fields("P  1\t2"), ["P  1", "2"]);
        assert_eq!(fields("P 1  2"), ["P", "1", "2"]);
    }
}
