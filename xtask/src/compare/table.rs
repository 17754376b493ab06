//! The page `docs/results/clouds.md` from the rows of `clouds.csv`.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};

/// The first line of the CSV.
const HEADER: &str = "pair,voxel,seed,method,right,status,degrees,voxels_off,cpu_seconds";
/// Name of our method at the voxel size of the others.
const AT_VOXEL: &str = "pcr99 --voxel";
/// Prefix of the names of our methods.
const OURS: &str = "pcr99";

/// One registration.
struct Run<'a> {
    pair: &'a str,
    seed: u32,
    method: &'a str,
    is_right: bool,
    /// Status of our result; always false for the others, which have none.
    is_registered: bool,
    seconds: f64,
}

/// The whole page. `versions` names what was compared, and the processor.
pub(super) fn page(csv: &str, versions: &str) -> Result<String> {
    let runs = parse(csv)?;
    ensure!(!runs.is_empty(), "no pair was registered: is there one of that name?");
    let (still, moved): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|run| run.seed == 0);
    let methods = distinct(moved.iter().map(|run| run.method));
    let mut page = String::from(INTRODUCTION);
    writeln!(page, "\nVersions: {versions}.\n")?;
    writeln!(page, "## Findings\n\n{}", findings(&moved, &methods)?)?;
    writeln!(page, "## All pairs\n\n{}", totals(&moved, &still, &methods)?)?;
    writeln!(page, "## Each pair\n\n{}", each(&moved, &methods)?)?;
    page.truncate(page.trim_end().len());
    page.push('\n');
    Ok(page)
}

const INTRODUCTION: &str = "\
# Results: real clouds, compared with Open3D and KISS-Matcher

*For readers who want to know how often `pcr99 register` is right, and how long it takes, on real scans.*

`PCR99_DATA=… cargo xtask compare` makes this page and `clouds.csv`. Every method registers each pair of scans, one after the other, in
one run on one CPU. The source is first moved by a random rotation and translation, a different one for each pair and seed. So no method gains
from clouds that are already aligned. A pair counts once for each seed; unmoved clouds are counted separately. A pose is right when its rotation is within 15° of the
truth, and the centroid of the source is within 6 voxels of its place, in the voxel size of the pair.

| method | parameters |
|---|---|
| **pcr99** | `pcr99 register source.npy target.npy` with one thread and no other option; it chooses its own voxel |
| **pcr99 --voxel** | the same at the voxel size of the other methods |
| **Open3D RANSAC** | voxel sampling, normals (2 voxels, 30 neighbours), FPFH (5 voxels, 100 neighbours), mutual matches, 1.5 voxels, edge ratio 0.9, 100 000 iterations and confidence 0.999 (the defaults), then point-to-plane ICP on the samples within 1.5 voxels |
| **Open3D FGR** | the same with FGR (0.5 voxels) instead of RANSAC |
| **KISS-Matcher** | its defaults at that voxel size, then the same ICP; it rejects small voxels, so clouds are scaled to a voxel of 0.3 |

CPU time is user and system time of all threads, from points to refined pose. The other libraries start with the points in memory, without imports
and conversions. Ours is the whole program, with its start and the reading of two files. `xtask/compare/clouds.py` has every parameter.
";

fn parse(csv: &str) -> Result<Vec<Run<'_>>> {
    let mut lines = csv.lines();
    ensure!(lines.next() == Some(HEADER), "the CSV does not begin with `{HEADER}`");
    let run = |line| {
        let fields: Vec<&str> = str::split(line, ',').collect();
        let [pair, _, seed, method, right, status, _, _, seconds] = fields[..] else {
            anyhow::bail!("not nine columns: `{line}`");
        };
        let is_registered = status == "registered";
        let (seed, seconds) = (seed.parse()?, seconds.parse()?);
        Ok(Run { pair, seed, method, is_right: right == "1", is_registered, seconds })
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

fn of<'a, 'b>(runs: &'b [Run<'a>], method: &str) -> Vec<&'b Run<'a>> {
    runs.iter().filter(|run| run.method == method).collect()
}

fn right(runs: &[&Run]) -> usize {
    runs.iter().filter(|run| run.is_right).count()
}

fn wrong_but_registered(runs: &[&Run]) -> usize {
    runs.iter().filter(|run| run.is_registered && !run.is_right).count()
}

fn median_seconds(runs: &[&Run]) -> f64 {
    median(runs.iter().map(|run| run.seconds).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The fewest right poses of any seed.
fn worst_seed(runs: &[&Run]) -> usize {
    let seeds = runs.iter().map(|run| run.seed).max().unwrap_or(0);
    let of_seed = |seed| runs.iter().filter(|run| run.seed == seed && run.is_right).count();
    (1..=seeds).map(of_seed).min().unwrap_or(0)
}

/// The main results as a list of sentences.
fn findings(moved: &[Run], methods: &[&str]) -> Result<String> {
    let mut text = String::new();
    let all = of(moved, methods[0]).len();
    for &method in methods.iter().filter(|method| method.starts_with(OURS)) {
        let runs = of(moved, method);
        let (right, wrong) = (right(&runs), wrong_but_registered(&runs));
        let registered = runs.iter().filter(|run| run.is_right && run.is_registered).count();
        writeln!(
            text,
            "- `{method}` is right in {right} of {all} and registers {registered} of these. It registers {wrong} wrong poses."
        )?;
    }
    writeln!(text, "- The other methods give no verdict.")?;
    let ours = of(moved, AT_VOXEL);
    for &method in methods.iter().filter(|method| !method.starts_with(OURS)) {
        let theirs = of(moved, method);
        let times = median_seconds(&theirs) / median_seconds(&ours);
        // Rows are in the same order for each method.
        let ratios = theirs.iter().zip(&ours).map(|(theirs, ours)| theirs.seconds / ours.seconds).collect();
        writeln!(
            text,
            "- {method} is right in {} of {all}. Its median CPU time is {times:.1} times that of `{AT_VOXEL}`; run by run the median ratio is {:.1}.",
            right(&theirs),
            median(ratios)
        )?;
    }
    Ok(text)
}

fn totals(moved: &[Run], still: &[Run], methods: &[&str]) -> Result<String> {
    let mut text = String::from(
        "| method | right | in the worst seed | right and registered | wrong but registered | unmoved: right | median CPU s | largest |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for &method in methods {
        let (runs, unmoved) = (of(moved, method), of(still, method));
        let (registered, wrong) = if method.starts_with(OURS) {
            let registered = runs.iter().filter(|run| run.is_right && run.is_registered).count();
            (registered.to_string(), wrong_but_registered(&runs).to_string())
        } else {
            ("–".to_owned(), "–".to_owned())
        };
        let largest = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
        writeln!(
            text,
            "| {method} | {} of {} | {} of {} | {registered} | {wrong} | {} of {} | {:.2} | {largest:.2} |",
            right(&runs),
            runs.len(),
            worst_seed(&runs),
            unmoved.len(),
            right(&unmoved),
            unmoved.len(),
            median_seconds(&runs),
        )?;
    }
    Ok(text)
}

fn each(moved: &[Run], methods: &[&str]) -> Result<String> {
    let seeds = moved.iter().map(|run| run.seed).max().unwrap_or(0);
    let mut text = format!(
        "Number of right poses of {seeds} seeds, and median CPU seconds.\n\n| pair | {} |\n",
        methods.join(" | ")
    );
    writeln!(text, "|---|{}", "---|".repeat(methods.len()))?;
    for pair in distinct(moved.iter().map(|run| run.pair)) {
        write!(text, "| {pair} |")?;
        for &method in methods {
            let mut runs = of(moved, method);
            runs.retain(|run| run.pair == pair);
            write!(text, " {} · {:.2} |", right(&runs), median_seconds(&runs))?;
        }
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_what_the_rows_say() {
        let csv = format!(
            "{HEADER}\n\
             a,0.5,0,pcr99 --voxel,1,registered,0.1,0.1,0.9\na,0.5,0,KISS-Matcher,0,,90,7,0.9\n\
             a,0.5,1,pcr99 --voxel,1,registered,0.1,0.1,0.2\na,0.5,1,KISS-Matcher,1,,1,1,0.3\n\
             a,0.5,2,pcr99 --voxel,0,registered,20,9,0.4\na,0.5,2,KISS-Matcher,0,,nan,nan,0.6\n"
        );
        let page = page(&csv, "none").expect("a page");
        assert!(
            page.contains("| pcr99 --voxel | 1 of 2 | 0 of 1 | 1 | 1 | 1 of 1 | 0.30 | 0.40 |"),
            "{page}"
        );
        assert!(page.contains("| KISS-Matcher | 1 of 2 | 0 of 1 | – | – | 0 of 1 | 0.45 | 0.60 |"), "{page}");
        assert!(page.contains("| a | 1 · 0.30 | 1 · 0.45 |"), "{page}");
        assert!(
            page.contains("is right in 1 of 2 and registers 1 of these. It registers 1 wrong poses."),
            "{page}"
        );
        assert!(page.contains("Its median CPU time is 1.5 times that of"), "{page}");
    }

    #[test]
    fn the_committed_page_is_that_of_the_committed_rows() {
        let read = |name: &str| {
            let path = crate::root().expect("a root").join("docs/results").join(name);
            std::fs::read_to_string(path).expect(name)
        };
        let committed = read("clouds.md");
        let versions = committed.lines().find_map(|line| line.strip_prefix("Versions: ")?.strip_suffix('.'));
        let page = page(&read("clouds.csv"), versions.expect("a line of versions")).expect("a page");
        assert_eq!(page, committed, "`cargo xtask compare` writes both");
    }

    #[test]
    fn rows_that_are_none_are_named() {
        let error = page(&format!("{HEADER}\na,b\n"), "none").expect_err("two columns");
        assert!(format!("{error:#}").contains("not nine columns: `a,b`"), "{error:#}");
        assert!(page("pair\n", "none").is_err());
        assert!(page(&format!("{HEADER}\n"), "none").is_err());
    }
}
