//! Matches that made an earlier version say something untrue, found through `PCR99_ATTACKS` (a directory with `matches/*.npy`, rows
//! `sx sy sz tx ty tz`). Without the directory the tests print that they are skipped; with `PCR99_REQUIRE_DATA=1` they fail.

use std::{fs, path::PathBuf};

use pcr99::{Correspondences, Params, Registration, Scale, Similarity};
use pcr99_base::vector::{minus, norm};
use pcr99_lab::{metrics::rotation_error_deg, trust::displacement};

/// Data of a file of the attacks, without its header; `None` without the directory.
#[expect(clippy::print_stderr, reason = "says that it is skipped")]
fn read(name: &str) -> Option<Vec<u8>> {
    let Some(directory) = std::env::var_os("PCR99_ATTACKS").map(PathBuf::from) else {
        assert!(
            std::env::var_os("PCR99_REQUIRE_DATA").is_none_or(|v| v != "1"),
            "PCR99_REQUIRE_DATA=1 but PCR99_ATTACKS is not set"
        );
        eprintln!("skipped: set PCR99_ATTACKS to the directory of the attacks to run this test");
        return None;
    };
    let path = directory.join("matches").join(format!("{name}.npy"));
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    assert!(bytes.starts_with(b"\x93NUMPY\x01"), "`{name}` is an NPY file of version 1");
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let text = String::from_utf8_lossy(&bytes[10..10 + header]).into_owned();
    let is_plain =
        text.contains("'fortran_order': False") && (text.contains("'<f8'") || text.contains("'<i8'"));
    assert!(is_plain, "{text}");
    Some(bytes[10 + header..].to_vec())
}

/// Numbers of a file.
fn numbers(name: &str) -> Option<Vec<f64>> {
    let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    Some(read(name)?.chunks_exact(8).map(number).collect())
}

/// Matches of a file, and the answer for them.
struct Solved {
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    pairs: Correspondences,
    found: Registration,
}

/// The answer for a file with known scale, with or without a threshold.
fn solve(name: &str, threshold: Option<f64>) -> Option<Solved> {
    let numbers = numbers(name)?;
    let rows = numbers.chunks_exact(6);
    let (source, target): (Vec<[f64; 3]>, Vec<[f64; 3]>) =
        rows.map(|row| ([row[0], row[1], row[2]], [row[3], row[4], row[5]])).unzip();
    let pairs = Correspondences::new(&source, &target).expect("valid matches");
    let params = threshold.map_or(Ok(Params::new()), |threshold| Params::new().with_threshold(threshold));
    let found = pcr99::solve(&pairs, Scale::one(), &params.expect("a positive threshold"));
    Some(Solved { source, target, pairs, found: found.expect("valid input") })
}

impl Solved {
    fn fit(&self, rows: &[usize]) -> Similarity {
        self.pairs.fit(Scale::one(), rows).expect("many matches")
    }

    /// Distance between the answer and the fit on `rows`, in standard deviations of that fit.
    fn distance_to_fit(&self, answer: &Similarity, rows: &[usize]) -> f64 {
        let fit = self.fit(rows);
        let residual = |&i: &usize| norm(minus(fit.apply(self.source[i]), self.target[i]));
        let square: f64 = rows.iter().map(|i| residual(i) * residual(i)).sum();
        let (k, freedoms) = (rows.len() as f64, 6.0);
        let noise = (square / (3.0 * k - freedoms)).sqrt();
        let sources: Vec<[f64; 3]> = rows.iter().map(|&i| self.source[i]).collect();
        displacement(answer, &fit, &sources) / (noise * (freedoms / k).sqrt())
    }

    /// Asserts that the answer is the motion of `rows` alone, or is not registered and names its rival.
    ///
    /// An answer within one standard deviation of the fit has an error of at most about 1.5 times that of the fit: √(1 + 1) = 1.4.
    fn assert_alone_or_rival_named(&self, rows: &[usize]) {
        let answer = self.found.target_from_source.as_ref().expect("a transform");
        let distance = self.distance_to_fit(answer, rows);
        let is_named = !self.found.is_registered() && self.found.rival.is_some();
        assert!(
            distance <= 1.0 || is_named,
            "{distance:.1} standard deviations off; {}",
            self.found.reason()
        );
    }
}

fn assert_not_registered(name: &str, threshold: Option<f64>) {
    let Some(solved) = solve(name, threshold) else { return };
    assert!(!solved.found.is_registered(), "{}", solved.found.reason());
}

#[test]
fn noise_of_an_object_and_a_plane() {
    assert_not_registered("noise_object_and_plane_2000", None);
}

#[test]
fn noise_of_a_core_and_a_halo() {
    assert_not_registered("noise_core_and_halo_1000", None);
}

#[test]
fn noise_on_a_turned_lattice() {
    assert_not_registered("noise_turned_lattice_1000", None);
}

#[test]
fn noise_in_pairs_of_neighbours() {
    assert_not_registered("noise_pairs_of_neighbours_300", None);
}

#[test]
fn noise_in_patches_of_six() {
    assert_not_registered("noise_patches_of_6_24000", Some(0.06));
}

#[test]
fn the_larger_consensus_comes_before_a_tighter_one() {
    let name = "smaller_consensus_130_before_500_rows_0_499_are_the_larger";
    let Some(solved) = solve(name, Some(0.05)) else { return };
    let (larger, smaller): (Vec<usize>, Vec<usize>) = ((0..500).collect(), (500..630).collect());
    let answer = solved.found.target_from_source.as_ref().expect("a transform");
    let distance = solved.distance_to_fit(answer, &larger);
    assert!(distance <= 1.0, "{distance:.1} standard deviations off; {}", solved.found.reason());
    if solved.found.is_registered() {
        // The second motion is tight, so that its fit is known to a fraction of the threshold.
        let rival = solved.found.rival.as_ref().expect("the smaller consensus is the rival");
        let sources: Vec<[f64; 3]> = smaller.iter().map(|&i| solved.source[i]).collect();
        let off = displacement(&rival.target_from_source, &solved.fit(&smaller), &sources);
        assert!(off < 0.05, "the rival is off by {off}");
    }
}

#[test]
fn a_shift_of_2_5_thresholds_is_not_blended_in() {
    let Some(solved) = solve("blend_rows_0_99_right_100_189_shifted_2.5_thresholds", None) else { return };
    solved.assert_alone_or_rival_named(&(0..100).collect::<Vec<_>>());
}

#[test]
fn a_facade_is_not_off_by_a_period() {
    let Some(solved) = solve("facade_rows_0_59_right_60_113_one_period_off", None) else { return };
    solved.assert_alone_or_rival_named(&(0..60).collect::<Vec<_>>());
}

#[test]
fn the_threshold_is_not_widened() {
    let Some(solved) = solve("widened_20000_seed1", None) else { return };
    let row = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes")) as usize;
    let bytes = read("widened_20000_seed1_right_rows").expect("it lies beside the matches");
    let right: Vec<usize> = bytes.chunks_exact(8).map(row).collect();
    assert_eq!(right.len(), 20);
    let r = numbers("widened_20000_seed1_R").expect("it lies beside the matches");
    let truth = [[r[0], r[1], r[2]], [r[3], r[4], r[5]], [r[6], r[7], r[8]]];
    let answer = solved.found.target_from_source.as_ref().expect("a transform");
    let error = rotation_error_deg(&answer.rotation(), &truth);
    let of_fit = rotation_error_deg(&solved.fit(&right).rotation(), &truth);
    assert!(error <= 1.5 * of_fit, "{error:.2}° off, the fit {of_fit:.2}°; {}", solved.found.reason());
}
