//! Tables of known places in text files.

use std::{fs, path::Path};

use super::KnownPlace;
use crate::Error;

/// The word for coordinates of the map in the column of scans.
const MAP: &str = "map";

/// Reads control points: `name, scan, x, y, z, X, Y, Z, sigma` and optionally `sigma_z`. An empty scan, or `map`, stands for the coordinates of the largest map.
///
/// # Errors
/// [`Error::Io`], and [`Error::Control`] with the line.
pub fn read_control(path: &Path) -> Result<Vec<KnownPlace>, Error> {
    let rows = rows(
        path,
        2,
        6,
        "a name, a scan (or `map`), 3 local and 3 world coordinates, and a standard deviation",
    )?;
    let place = |Row { texts, numbers, deviations }: Row| KnownPlace {
        name: texts[0].clone(),
        scan: Some(texts[1].clone()).filter(|scan| !scan.is_empty() && scan != MAP),
        local: std::array::from_fn(|axis| numbers[axis]),
        world: std::array::from_fn(|axis| numbers[3 + axis]),
        deviations,
    };
    Ok(rows.into_iter().map(place).collect())
}

/// Reads positions of scans: `scan, X, Y, Z, sigma` and optionally `sigma_z`.
///
/// # Errors
/// As [`read_control`].
pub fn read_positions(path: &Path) -> Result<Vec<KnownPlace>, Error> {
    let rows = rows(path, 1, 3, "a scan, 3 world coordinates, and a standard deviation")?;
    let place = |Row { texts, numbers, deviations }: Row| {
        KnownPlace::of_scan(&texts[0], std::array::from_fn(|axis| numbers[axis]), deviations)
    };
    Ok(rows.into_iter().map(place).collect())
}

struct Row {
    texts: Vec<String>,
    numbers: Vec<f64>,
    deviations: [f64; 3],
}

/// Rows of some texts, some numbers, and one or two standard deviations. A header and comments are skipped.
fn rows(path: &Path, texts: usize, numbers: usize, expected: &str) -> Result<Vec<Row>, Error> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let file = path.display();
    let text =
        String::from_utf8(bytes).map_err(|_| Error::Control(format!("`{file}` is not text (UTF-8)")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut rows = Vec::new();
    let mut is_first = true;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let mut cells = fields(content);
        while cells.len() > texts + numbers && cells.last().is_some_and(|cell| cell.is_empty()) {
            cells.pop();
        }
        let values: Option<Vec<f64>> =
            cells.iter().skip(texts).map(|cell| cell.parse().ok()).collect::<Option<_>>();
        let is_header = std::mem::take(&mut is_first) && values.is_none();
        let Some(values) = values.filter(|values| (numbers + 1..=numbers + 2).contains(&values.len())) else {
            if is_header {
                continue;
            }
            return Err(Error::Control(format!("`{file}`, line {line}: expected {expected}")));
        };
        let (sigma, upright) = (values[numbers], values[values.len() - 1]);
        rows.push(Row {
            texts: cells[..texts].iter().map(|&cell| cell.to_owned()).collect(),
            numbers: values[..numbers].to_vec(),
            deviations: [sigma, sigma, upright],
        });
    }
    if rows.is_empty() {
        return Err(Error::Control(format!("`{file}` has no rows: expected {expected}")));
    }
    Ok(rows)
}

/// Fields of a line: separated by semicolons, tabs or commas where there are any, else by spaces.
fn fields(line: &str) -> Vec<&str> {
    match [';', '\t', ','].into_iter().find(|c| line.contains(*c)) {
        Some(separator) => line.split(separator).map(|field| field.trim().trim_matches('"')).collect(),
        None => line.split_whitespace().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<KnownPlace>, String> {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("points.csv");
        fs::write(&path, text).expect("a file");
        read_control(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn rows_are_read_in_any_usual_form() {
        let rows = read(
            "name,scan,x,y,z,X,Y,Z,sigma\n# old\nP1, a.ply, 1,2,3, 4,5,6, 0.01\nP2,map,0,0,0,1,1,1,0.1,0.3\nP3,,0,0,0,1,1,1,0.1,\n",
        );
        let rows = rows.expect("rows");
        assert_eq!(rows[0].scan.as_deref(), Some("a.ply"));
        assert_eq!((rows[0].local, rows[0].world), ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]));
        assert_eq!((rows[1].scan.as_deref(), rows[1].deviations), (None, [0.1, 0.1, 0.3]));
        assert_eq!((rows[2].scan.as_deref(), rows[2].deviations), (None, [0.1; 3]));
        assert_eq!(read("P1 a 1 2 3 4 5 6 1").expect("rows").len(), 1);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        assert!(read("name,scan,x,y,z,X,Y,Z,sigma\n").expect_err("empty").contains("has no rows"));
        let wrong = read("name,scan,x,y,z,X,Y,Z,sigma\nP1,a,1,2,3,4,5,6\n").expect_err("no sigma");
        assert!(wrong.contains("line 2") && wrong.contains("standard deviation"), "{wrong}");
        assert!(read("P1,a,1,2,3,4,5,6,1\nP2,a,1,2,x,4,5,6,1\n").expect_err("a word").contains("line 2"));
    }
}
