//! The page `docs/results/accuracy.md` from the rows of `accuracy.csv`.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};

/// The first line of the CSV.
const HEADER: &str = "kind,name,seed,method,mm,degrees,nees,nees_scaled,predicted_mm,cpu_seconds";
/// Name of our method.
const OURS: &str = "pcr99";
/// NEES per degree of freedom that 95 % of errors stay below: χ² with 6 degrees of freedom.
const WITHIN_95: f64 = 12.592 / 6.0;

/// One run.
struct Run<'a> {
    kind: &'a str,
    name: &'a str,
    method: &'a str,
    mm: f64,
    degrees: f64,
    /// NEES per degree of freedom of the covariance as the method gives it; NaN where it gives none.
    nees: f64,
    /// The same with the noise from the residuals.
    scaled: f64,
    predicted_mm: f64,
    seconds: f64,
}

/// The whole page. `versions` names what was compared, when, and the processor.
pub(super) fn page(csv: &str, versions: &str) -> Result<String> {
    let runs = parse(csv)?;
    ensure!(!runs.is_empty(), "no problem was run");
    let of_kind = |kind: &str| runs.iter().filter(|run| run.kind == kind).collect::<Vec<_>>();
    let (generated, cycles, pairs) = (of_kind("generated"), of_kind("cycle"), of_kind("pair"));
    let mut page = String::from(INTRODUCTION);
    writeln!(page, "\nMeasured: {versions}.\n")?;
    writeln!(page, "{ERRORS}\n{}", errors(&generated)?)?;
    writeln!(page, "{COVARIANCES}\n{}", covariances(&generated)?)?;
    writeln!(page, "{CYCLES}\n{}", closings(&cycles)?)?;
    writeln!(page, "{PAIRS}\n{}", agreement(&pairs)?)?;
    page.truncate(page.trim_end().len());
    page.push('\n');
    Ok(page)
}

const INTRODUCTION: &str = "\
# Results: accuracy and covariance of refined poses

*For readers who want to know how accurate a pose is, and whether its covariance can be believed, beside small_gicp and Open3D.*

`PCR99_DATA=… cargo xtask compare --only accuracy` makes this page and `accuracy.csv`. Generated scenes have a known truth and Gaussian noise of 1 cm; their
two clouds are independent samples. All methods start at the same pose, which is off by a fifth of a voxel along each axis, and pair points within one voxel. CPU time is that
of one thread, from points in memory to pose. Seeds begin at 5001; constants were chosen on seeds below. `xtask/compare/accuracy.py` has every parameter.

| method | parameters |
|---|---|
| **pcr99** | `register::refine` without options; on real scans, `register` |
| **small_gicp GICP** | all points, 20 neighbours, until a step is below 10⁻⁵ rad and 10⁻⁴ voxels |
| **Open3D plane** | point-to-plane ICP, all points, 20 neighbours |
| **Open3D GICP** | generalized ICP, all points, 20 neighbours |
";

const ERRORS: &str = "\
## Error and time

Translation error at the middle of the overlap, mm rms, and mean CPU seconds.
";

const COVARIANCES: &str = "\
## Covariance

Mean normalised squared error (NEES) per degree of freedom, and in brackets the share of errors within the 95 % region. 1 and 95 % are right; a larger number is
too confident. The others have two covariances: the inverse of `H` or of the information matrix as it is, and the same times the variance of the residuals.
";

const CYCLES: &str = "\
## Cycles of real scans

Closing errors need no truth: poses around a triangle of scans should cancel, and the pose between two sensors of a car is the same in all scenes. The last
number is the root of the mean NEES per degree of freedom: observed over predicted error, 1 is right. The others start at our poses.
";

const PAIRS: &str = "\
## Agreement on real pairs

Distance between the poses to which the others converge from ours, and ours, at the middle of the overlap; and that difference in units of our
covariance (NEES per degree of freedom; 95 % of independent errors are below 2.1). All methods see the same noise, so agreement is expected to be better than that.
";

fn parse(csv: &str) -> Result<Vec<Run<'_>>> {
    let mut lines = csv.lines();
    ensure!(lines.next() == Some(HEADER), "the CSV does not begin with `{HEADER}`");
    let run = |line| {
        let fields: Vec<&str> = str::split(line, ',').collect();
        let [kind, name, _, method, numbers @ ..] = &fields[..] else {
            anyhow::bail!("not ten columns: `{line}`");
        };
        let numbers = numbers.iter().map(|x| x.parse()).collect::<Result<Vec<f64>, _>>()?;
        let [mm, degrees, nees, scaled, predicted_mm, seconds] = numbers[..] else {
            anyhow::bail!("not ten columns: `{line}`");
        };
        Ok(Run { kind, name, method, mm, degrees, nees, scaled, predicted_mm, seconds })
    };
    lines.map(|line| run(line).with_context(|| format!("`{line}`"))).collect()
}

/// Distinct names, in order of appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut list = Vec::new();
    for name in names {
        if !list.contains(&name) {
            list.push(name);
        }
    }
    list
}

fn methods<'a>(runs: &[&Run<'a>]) -> Vec<&'a str> {
    distinct(runs.iter().map(|run| run.method))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    sum / count
}

fn rms(values: impl Iterator<Item = f64>) -> f64 {
    mean(values.map(|x| x * x)).sqrt()
}

/// Three significant digits, without an exponent where it can be read without one.
fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 1000.0 => format!("{x:.1e}"),
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 0.1 || a == 0.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// A table with one row for each name and one column for each method.
fn table(runs: &[&Run], first: &str, cell: impl Fn(&[&Run]) -> String) -> Result<String> {
    let methods = methods(runs);
    let mut text =
        format!("| {first} | runs | {} |\n|---|---|{}\n", methods.join(" | "), "---|".repeat(methods.len()));
    for name in distinct(runs.iter().map(|run| run.name)) {
        let of = |method: &str| -> Vec<&Run> {
            runs.iter().filter(|run| run.name == name && run.method == method).copied().collect()
        };
        write!(text, "| {name} | {} |", of(methods[0]).len())?;
        for method in &methods {
            let runs = of(method);
            write!(text, " {} |", if runs.is_empty() { "–".to_owned() } else { cell(&runs) })?;
        }
        text.push('\n');
    }
    Ok(text)
}

fn errors(runs: &[&Run]) -> Result<String> {
    table(runs, "scene, points", |runs| {
        let (error, seconds) = (rms(runs.iter().map(|run| run.mm)), mean(runs.iter().map(|run| run.seconds)));
        format!("{} · {} s", short(error), short(seconds))
    })
}

fn covariances(runs: &[&Run]) -> Result<String> {
    // A few runs say nothing of a mean.
    let names = distinct(runs.iter().map(|run| run.name));
    let count = |name: &str| runs.iter().filter(|run| run.name == name && run.method == OURS).count();
    let most = names.iter().map(|name| count(name)).max().unwrap_or(0);
    let runs: Vec<&Run> = runs.iter().filter(|run| 2 * count(run.name) > most).copied().collect();
    table(&runs, "scene, points", |runs| {
        let told = |pick: fn(&Run) -> f64| {
            let inside = mean(runs.iter().map(|run| f64::from(u8::from(pick(run) < WITHIN_95))));
            format!("{} ({:.0} %)", short(mean(runs.iter().map(|run| pick(run)))), 100.0 * inside)
        };
        let plain = told(|run| run.nees);
        if runs.iter().all(|run| run.scaled.is_nan()) {
            plain
        } else {
            format!("{plain}, {}", told(|run| run.scaled))
        }
    })
}

fn closings(runs: &[&Run]) -> Result<String> {
    table(runs, "scans", |runs| {
        let [error, turn, predicted] =
            [|run: &Run| run.mm, |run: &Run| run.degrees, |run: &Run| run.predicted_mm]
                .map(|pick| rms(runs.iter().map(|run| pick(run))));
        let last = |run: &Run| if run.scaled.is_nan() { run.nees } else { run.scaled };
        let ratio = mean(runs.iter().map(|run| last(run))).sqrt();
        format!("{} mm, {turn:.3}°, predicted {} mm, {}", short(error), short(predicted), short(ratio))
    })
}

fn agreement(runs: &[&Run]) -> Result<String> {
    let others: Vec<&Run> = runs.iter().filter(|run| run.method != OURS).copied().collect();
    let mut text = table(&others, "pair", |runs| {
        let run = runs[0];
        format!("{} mm, {:.3}°, {}", short(run.mm), run.degrees, short(run.nees))
    })?;
    let others: Vec<&Run> = others.into_iter().filter(|run| !run.nees.is_nan()).collect();
    for method in methods(&others) {
        let of: Vec<f64> = others.iter().filter(|run| run.method == method).map(|run| run.nees).collect();
        let inside = of.iter().filter(|nees| **nees < WITHIN_95).count();
        writeln!(text, "\n{method}: {inside} of {} within our 95 % region.", of.len())?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_means_of_the_rows() {
        let csv = format!(
            "{HEADER}\n\
             generated,room,1,pcr99,3,0.1,1,nan,2,0.1\ngenerated,room,1,other,1,0.1,9,0.5,2,1\n\
             generated,room,2,pcr99,4,0.1,3,nan,2,0.3\ngenerated,room,2,other,1,0.1,1,0.5,2,1\n\
             cycle,rig,0,pcr99,2,0.1,4,nan,1,0.3\ncycle,rig,0,other,2,0.1,4,9,1,0.3\n\
             pair,milk,0,pcr99,0,0,0,nan,1,0.3\npair,milk,0,other,2,0.1,1.5,nan,1,0.3\n"
        );
        let page = page(&csv, "today").expect("a page");
        for line in [
            "| room | 2 | 3.54 · 0.20 s | 1.00 · 1.00 s |",
            "| room | 2 | 2.00 (50 %) | 5.00 (50 %), 0.50 (100 %) |",
            "| rig | 1 | 2.00 mm, 0.100°, predicted 1.00 mm, 2.00 | 2.00 mm, 0.100°, predicted 1.00 mm, 3.00 |",
            "| milk | 1 | 2.00 mm, 0.100°, 1.50 |",
            "other: 1 of 1 within our 95 % region.",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }

    #[test]
    fn the_committed_page_is_that_of_the_committed_rows() {
        let read = |name: &str| {
            let path = crate::root().expect("a root").join("docs/results").join(name);
            std::fs::read_to_string(path).expect(name)
        };
        let committed = read("accuracy.md");
        let versions = committed.lines().find_map(|line| line.strip_prefix("Measured: ")?.strip_suffix('.'));
        let page = page(&read("accuracy.csv"), versions.expect("a line of versions")).expect("a page");
        assert_eq!(page, committed, "`cargo xtask compare` writes both");
    }

    #[test]
    fn rows_that_are_none_are_named() {
        let error = page(&format!("{HEADER}\na,b\n"), "none").expect_err("two columns");
        assert!(format!("{error:#}").contains("not ten columns: `a,b`"), "{error:#}");
        assert!(page("kind\n", "none").is_err() && page(&format!("{HEADER}\n"), "none").is_err());
    }
}
