//! Tables and figures from records made up for the purpose.

use pcr99_lab::monte_carlo::{
    Configuration, Estimator, Header, Machine, Outcome, Record, ScaleMode, Session, Size, Stored, TimedFrom,
};
use pcr99_report::{Error, Report, Summary, published};

const MODES: [ScaleMode; 2] = [ScaleMode::Known, ScaleMode::Unknown];

fn record(method: &str, scale: ScaleMode, size: Size, run: u64) -> Record {
    Record {
        method: method.to_owned(),
        scale,
        points: size.points,
        outlier_ratio: size.outlier_ratio,
        run,
        seed: run,
        rotation_deg: Some(0.5),
        translation: Some(0.01),
        scale_error: Some(0.0),
        status: Outcome::Registered,
        inliers: 10,
        log10_nfa: Some(-5.0),
        stopped_because: Some("confident".to_owned()),
        cpu_seconds: Some(0.001),
        wall_seconds: 0.002,
        error: None,
    }
}

fn at(outlier_ratio: f64) -> Size {
    Size { points: 1000, outlier_ratio }
}

fn stored(records: Vec<Record>, shape: &str) -> Stored {
    let session = Session {
        program: "pcr99 0".to_owned(),
        commit: Some("abc <b>".to_owned()),
        compiler: None,
        optimised: true,
        machine: Machine {
            cpu: Some("A & B".to_owned()),
            cores: Some(2),
            system: "os".to_owned(),
            architecture: "a".to_owned(),
        },
        jobs: 1,
    };
    let configuration = Configuration { shape: shape.to_owned(), runs: 4, ..Configuration::paper() };
    Stored { header: Header { schema: 1, configuration, threshold: 0.05, sessions: vec![session] }, records }
}

/// Four runs at 98 and at 99 %; at 99 %, known scale, PCR-99 takes 10 ms, ours 2 ms, RANSAC 1, 2, 3 and 4 s; and RANSAC fails in one
/// way each.
fn example() -> Vec<Record> {
    let mut records = Vec::new();
    for scale in MODES {
        for ratio in [0.98, 0.99] {
            for run in 0..4 {
                let seconds = [
                    ("true-inliers", 1e-6),
                    ("paper", 0.01),
                    ("default", 0.002),
                    ("ransac", 1.0 + run as f64),
                ];
                for (method, seconds) in seconds {
                    let mut record = record(method, scale, at(ratio), run);
                    record.cpu_seconds = Some(seconds);
                    if method == "ransac" && scale == ScaleMode::Known && ratio == 0.99 {
                        match run {
                            0 => (record.rotation_deg, record.status) = (Some(5.0), Outcome::NotReliable),
                            1 => record.rotation_deg = Some(7.0),
                            2 => record.rotation_deg = Some(170.0),
                            _ => {
                                record.status = Outcome::NoSolution;
                                record.stopped_because = Some("time_limit".to_owned());
                                (record.rotation_deg, record.translation, record.scale_error) =
                                    (None, None, None);
                            }
                        }
                    }
                    records.push(record);
                }
            }
        }
    }
    records
}

fn row<'a>(report: &'a Report, table: &str, scale: &str, method: &str) -> Vec<&'a str> {
    let table = report.tables().iter().find(|other| other.name == table).expect("a table");
    let own =
        |row: &&Vec<Option<String>>| row[0].as_deref() == Some(scale) && row[1].as_deref() == Some(method);
    let row = table.rows.iter().find(own).unwrap_or_else(|| panic!("{scale} {method}: {table:?}"));
    row[2..].iter().map(|cell| cell.as_deref().unwrap_or("")).collect()
}

#[test]
fn large_errors_are_counted_beside_the_papers() {
    let report = Report::new(&stored(example(), "knot")).expect("records");
    // Runs, > 5°, > 10°, not registered, registered but > 10°, time limit, the paper's.
    assert_eq!(row(&report, "table1", "known", "RANSAC"), ["8", "3", "2", "2", "1", "1", "", ""]);
    assert_eq!(row(&report, "table1", "known", "PCR-99"), ["8", "0", "0", "0", "0", "0", "4", "0"]);
    assert_eq!(row(&report, "table1", "unknown", "PCR-99"), ["8", "0", "0", "0", "0", "0", "0", "0"]);
    assert_eq!(row(&report, "table1", "unknown", "RANSAC"), ["8", "0", "0", "0", "0", "0", "", ""]);
}

#[test]
fn speedups_are_medians_on_the_same_problems() {
    let mut records = example();
    let report = Report::new(&stored(records.clone(), "knot")).expect("records");
    // Median and 95 % in ms, errors above 10°, then how many times the time of PCR-99, the paper's, of ours.
    assert_eq!(row(&report, "table2", "known", "RANSAC"), ["2500", "3850", "2 of 4", "250", "", "1250"]);
    assert_eq!(row(&report, "table2", "known", "PCR-99"), ["10.0", "10.0", "0 of 4", "", "", "5.0"]);
    assert_eq!(row(&report, "table2", "known", "ours"), ["2.00", "2.00", "0 of 4", "0.20", "", ""]);
    // A problem that PCR-99 has not met does not count.
    records.retain(|r| r.method != "paper" || r.run == 0 || r.outlier_ratio < 0.99);
    let report = Report::new(&stored(records, "knot")).expect("records");
    assert_eq!(row(&report, "table2", "known", "RANSAC")[3], "100");
}

#[test]
fn the_papers_numbers_are_those_of_its_tables() {
    assert_eq!(published::large_errors(ScaleMode::Known, "vocra"), Some((16, 16)));
    assert_eq!(published::large_errors(ScaleMode::Unknown, "trivoc"), None);
    assert_eq!(published::speedup(ScaleMode::Known, "ransic"), Some("162"));
    assert_eq!(published::speedup(ScaleMode::Unknown, "paper-random"), Some("1.6"));
    assert_eq!(published::speedup(ScaleMode::Known, "paper"), None);
}

#[test]
fn order_of_the_records_does_not_matter() {
    let mut records = example();
    let summary = Summary::of(&records);
    records.reverse();
    assert_eq!(Summary::of(&records), summary);
    let cell = summary.cells.iter().find(|cell| cell.method == "ransac" && cell.outlier_ratio == 0.99);
    assert_eq!(cell.expect("a cell").scale, ScaleMode::Unknown, "first the unknown scale, as in the paper");
    assert_eq!(summary.cells.len(), 16);
}

#[test]
fn captions_say_what_the_clock_covers() {
    let mut stored = stored(example(), "knot");
    for (from, words) in [
        (TimedFrom::RawArrays, "from raw arrays to the verdict"),
        (TimedFrom::CheckedMatches, "from checked matches to the verdict"),
    ] {
        stored.header.configuration.timed_from = from;
        let report = Report::new(&stored).expect("records");
        let timed = report
            .tables()
            .iter()
            .filter(|table| table.columns.iter().any(|c| c.contains("ms")) || table.name == "times");
        let captions: Vec<&String> = timed.map(|table| &table.caption).collect();
        assert!(
            captions.len() == 2 && captions.iter().all(|caption| caption.contains(words)),
            "{captions:?}"
        );
        assert!(report.to_html().contains(words));
    }
}

#[test]
fn markdown_and_csv_hold_the_same() {
    let report = Report::new(&stored(example(), "knot")).expect("records");
    for table in report.tables() {
        let (markdown, csv) = (table.to_markdown(), table.to_csv());
        assert_eq!(csv.lines().count(), table.rows.len() + 1);
        let columns = |line: &str| line.matches(',').count() - 2 * line.matches("\"").count() / 2;
        assert!(csv.lines().skip(1).all(|line| columns(line) + 1 == table.columns.len()), "{csv}");
        assert_eq!(markdown.lines().filter(|line| line.starts_with("| ")).count(), table.rows.len() + 2);
        assert!(markdown.contains(&table.caption));
    }
    let csv = report.tables()[0].to_csv();
    assert!(csv.contains("known,RANSAC,8,3,2,2,1,1,,\n"), "{csv}");
    assert!(csv.starts_with("scale,method,runs,"), "{csv}");
    assert!(csv.contains("\"registered, but > 10°\""), "{csv}");
}

#[test]
fn documents_are_written_whole_and_names_are_escaped() {
    let place = tempfile::tempdir().expect("a directory");
    let hostile = "<script>alert(1)</script> & \"x\"";
    let written =
        Report::new(&stored(example(), hostile)).expect("records").write(place.path()).expect("files");
    let name = |path: &std::path::PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut names: Vec<String> = written.iter().map(name).collect();
    names.sort();
    let there = std::fs::read_dir(place.path()).expect("a directory").count();
    assert_eq!(there, names.len(), "no temporary file is left");
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).expect("a file");
    let page = read("figures.html");
    assert!(!page.contains("<script>alert") && !page.contains("abc <b>"));
    assert!(page.contains("&#60;script&#62;alert(1)&#60;/script&#62; &#38; &#34;x&#34;"));
    assert!(page.contains("A &#38; B, 2 threads"));
    assert!(page.contains("Incomplete: "), "more runs were planned");
    assert!(page.contains("id=\"plot-figure2\"") && page.contains("id=\"plot-figure3\""));
    assert!(page.contains("prefers-color-scheme: dark"));
    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).expect("JSON");
    assert_eq!(summary["header"]["configuration"]["shape"], hostile);

    // The scale is no error where it is known: one panel less.
    let (figure2, figure3) = (read("figure2.svg"), read("figure3.svg"));
    assert!(figure2.contains("scale error") && !figure3.contains("scale error"));
    for svg in [figure2, figure3] {
        for word in
            ["rotation error, degrees", "translation error", "CPU time, milliseconds", "RANSAC", "99 %"]
        {
            assert!(svg.contains(word), "{word}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}

#[test]
fn several_sizes_are_drawn_as_lines_with_the_limit() {
    let mut records = Vec::new();
    for scale in MODES {
        for size in [
            Size::grid(&[100, 1000, 2000, 10_000], &[0.9, 0.99]),
            Size::grid(&[1000], &[0.992, 0.995, 0.999]),
        ]
        .concat()
        {
            for run in 0..4 {
                let mut record = record("default", scale, size, run);
                if size.outlier_ratio > 0.992 {
                    record.status = Outcome::NotReliable;
                }
                records.push(record);
            }
        }
    }
    let place = tempfile::tempdir().expect("a directory");
    let report = Report::new(&stored(records, "knot")).expect("records");
    report.write(place.path()).expect("files");
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).expect("a file");
    let (growth, limit) = (read("growth.svg"), read("limit.svg"));
    assert!(growth.contains("90 % outliers") && growth.contains("known scale: solved"));
    // Only n = 1000 has enough ratios for a line.
    assert!(limit.contains("1000 matches") && !limit.contains("2000 matches"));
    assert!(
        read("limits.csv").contains("known,ours,1000,99.5 %,5,8,4,0,0,1.00,1.00\n"),
        "{}",
        read("limits.csv")
    );
    let page = read("figures.html");
    assert!(page.contains("plot-growth-0") && page.contains("plot-limit-1"));
    assert!(page.contains("limit of the evidence"));
}

#[test]
fn nothing_cannot_be_reported() {
    assert!(matches!(Report::new(&stored(Vec::new(), "knot")), Err(Error::NoRecords)));
    // One record of one method is enough.
    let one = vec![record(Estimator::DEFAULT.name(), ScaleMode::Known, at(0.99), 0)];
    assert_eq!(Report::new(&stored(one, "knot")).expect("a report").tables().len(), 3);
}
