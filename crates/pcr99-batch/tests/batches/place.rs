//! A directory with problems to put into manifests.

use std::{fmt::Write as _, fs, num::NonZero, path::PathBuf};

use pcr99::{Similarity, random::Random};
use pcr99_batch::{Directory, Ended, Manifest, RunOptions, Settings, Summary, run};
use pcr99_cloud::{Matches, write_matches};
use pcr99_lab::{Recipe, Shape};

pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("a temporary file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Matches on the knot, as `m0.csv`, `m1.csv` …
    pub(crate) fn with_matches(self, count: u64, outliers: f64) -> Self {
        for seed in 0..count {
            let recipe = Recipe::default().with_shape(Shape::Knot).and_then(|recipe| recipe.with_points(120));
            let recipe = recipe.and_then(|recipe| recipe.with_outlier_ratio(outliers)).expect("a recipe");
            let problem = recipe.with_seed(seed).generate().expect("a problem");
            let matches = Matches { source: problem.source, target: problem.target, ..Matches::default() };
            let mut text = Vec::new();
            write_matches(&mut text, &matches).expect("a vector");
            self.write(&format!("m{seed}.csv"), text);
        }
        self
    }

    /// Views of one scene, each moved, as `c0.xyz`, `c1.xyz` …
    pub(crate) fn with_clouds(self, count: u64) -> Self {
        for seed in 0..count {
            let mut random = Random::new(seed);
            let turn = [1.0, 0.3 * seed as f64, -0.2, 0.1 * seed as f64];
            let pose =
                Similarity::from_quaternion(1.0, turn, [seed as f64, 2.0, -1.0]).expect("a similarity");
            let mut text = String::new();
            for _ in 0..2500 {
                let (x, y) = (3.0 * random.uniform(), 3.0 * random.uniform());
                let hills = 0.4 * (1.3 * x).sin() * (1.9 * y + 0.4).cos() + 0.3 * (2.9 * x - 1.4 * y).sin();
                let on_box = (x - 1.0).abs() < 0.4 && (y - 2.0).abs() < 0.3;
                let [x, y, z] = pose.apply([x, y, if on_box { 1.1 } else { hills }]);
                let _ = writeln!(text, "{x} {y} {z}");
            }
            self.write(&format!("c{seed}.xyz"), text);
        }
        self
    }

    pub(crate) fn manifest(&self, text: &str) -> Manifest {
        self.manifest_with(text, &Settings::default())
    }

    pub(crate) fn manifest_with(&self, text: &str, defaults: &Settings) -> Manifest {
        let base = self.0.path().to_path_buf();
        Manifest::parse(text.as_bytes(), "`pairs.csv`", base, defaults).expect("a manifest")
    }

    /// Runs all of it in a new directory.
    pub(crate) fn run(&self, manifest: &Manifest, name: &str, threads: usize, cache: u64) -> Summary {
        let mut directory = Directory::create(&self.path(name), manifest).expect("a new directory");
        let options = RunOptions { threads: NonZero::new(threads), cache, ..RunOptions::default() };
        let ended = run(manifest, &mut directory, &options, &|| false, &mut |_| {});
        assert_eq!(ended.expect("results"), Ended::Finished);
        directory.merge(manifest).expect("a table")
    }

    /// What must be the same whatever the way to it.
    pub(crate) fn results(&self, name: &str) -> [String; 3] {
        ["results.csv", "results.jsonl", "summary.json"].map(|file| self.read(&format!("{name}/{file}")))
    }
}

/// A manifest of `m0.csv` and so on.
pub(crate) fn matches_manifest(count: u64) -> String {
    (0..count).fold("pair_id,pairs\n".to_owned(), |text, k| format!("{text}p{k},m{k}.csv\n"))
}

/// All pairs of this number of clouds, backwards.
pub(crate) fn clouds_manifest(count: u64) -> String {
    let mut text = "pair_id,source,target\n".to_owned();
    for a in (0..count).rev() {
        for b in 0..a {
            let _ = writeln!(text, "{a}-{b},c{a}.xyz,c{b}.xyz");
        }
    }
    text
}
