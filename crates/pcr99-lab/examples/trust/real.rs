//! Real match files with known truth.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pcr99::{Correspondences, Positive, Registration, Scale, Similarity};
use pcr99_base::vector::{minus, norm};
use pcr99_lab::metrics::rotation_error_deg;

/// Largest rotation error of a right answer, in degrees.
const LARGEST_ROTATION_ERROR: f64 = 15.0;
/// Largest error of a right answer at the centroid of the sources, in voxels.
const LARGEST_CENTROID_ERROR: f64 = 6.0;

/// A file of matches with its truth.
pub(crate) struct MatchFile {
    /// Pair and kind of matches.
    pub(crate) name: String,
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    /// Target from source.
    pub(crate) truth: Similarity,
    /// Threshold that is right for this file: two voxels, or what the data's description says.
    pub(crate) threshold: f64,
}

impl MatchFile {
    /// All files of the pairs in `pairs.csv`, with a threshold of two voxels.
    ///
    /// The error is a message for the user.
    pub(crate) fn all(data: &Path) -> Result<Vec<Self>, String> {
        let table = fs::read_to_string(data.join("pairs.csv"));
        let table = table.map_err(|error| format!("PCR99_DATA: `pairs.csv` cannot be read: {error}"))?;
        let mut files = Vec::new();
        for line in table.lines().skip(1) {
            let mut fields = line.split(',');
            let name = fields.next().expect("a name");
            let voxel: f64 = fields.nth(2).and_then(|field| field.parse().ok()).expect("a voxel size");
            let directory = data.join("pairs").join(name);
            files.extend(match_files(&directory).iter().map(|path| Self::read(path, 2.0 * voxel)));
        }
        Ok(files)
    }

    /// Reads one file; its truth lies beside it.
    pub(crate) fn read(path: &Path, threshold: f64) -> Self {
        let directory = path.parent().expect("a directory");
        let (source, target) = rows(path).into_iter().unzip();
        let name = |path: &Path| path.file_stem().map_or(String::new(), |name| name.to_string_lossy().into());
        Self {
            name: format!("{}/{}", name(directory), name(path)),
            source,
            target,
            truth: truth(&directory.join("gt.txt")),
            threshold,
        }
    }

    /// The matches.
    pub(crate) fn pairs(&self) -> Correspondences {
        Correspondences::new(&self.source, &self.target).expect("valid matches")
    }

    /// Whether an answer is right: within 15°, and within six voxels at the centroid of the sources.
    pub(crate) fn is_right(&self, found: &Registration) -> bool {
        found.target_from_source.as_ref().is_some_and(|answer| {
            let n = self.source.len() as f64;
            let centroid = std::array::from_fn(|k| self.source.iter().map(|p| p[k]).sum::<f64>() / n);
            let off = norm(minus(answer.apply(centroid), self.truth.apply(centroid)));
            rotation_error_deg(&answer.rotation(), &self.truth.rotation()) < LARGEST_ROTATION_ERROR
                && off < LARGEST_CENTROID_ERROR * self.threshold / 2.0
        })
    }

    /// Rotation error of an answer in degrees; 180 without one.
    pub(crate) fn rotation_error_deg(&self, found: &Registration) -> f64 {
        let error = |answer: &Similarity| rotation_error_deg(&answer.rotation(), &self.truth.rotation());
        found.target_from_source.as_ref().map_or(180.0, error)
    }

    /// Inliers of the truth at the threshold, after it was refitted to them, and whether they are significant.
    pub(crate) fn inliers_of_truth(&self, pairs: &Correspondences) -> (usize, bool) {
        let (mut model, mut best) = (self.truth, (0, self.truth));
        for _ in 0..10 {
            let inliers = self.inliers(&model);
            if inliers.len() > best.0 {
                best = (inliers.len(), model);
            }
            match pairs.fit(Scale::one(), &inliers) {
                Some(refitted) => model = refitted,
                None => break,
            }
        }
        let threshold = Positive::new("threshold", self.threshold).expect("a positive threshold");
        (best.0, pcr99::assess(pairs, &best.1, threshold).is_registered())
    }

    /// Matches within the threshold of a transform.
    pub(crate) fn inliers(&self, model: &Similarity) -> Vec<usize> {
        let residual = |i: usize| norm(minus(model.apply(self.source[i]), self.target[i]));
        (0..self.source.len()).filter(|&i| residual(i) <= self.threshold).collect()
    }
}

/// Files `corr_*` of a directory, in order.
fn match_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory of the data");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("corr_")));
    files.sort();
    files
}

/// Rows `sx,sy,sz,tx,ty,tz` after a header.
fn rows(path: &Path) -> Vec<([f64; 3], [f64; 3])> {
    let text = fs::read_to_string(path).expect("a file of matches");
    let row = |line: &str| {
        let numbers: Vec<f64> =
            line.split(',').map(|field| field.trim().parse().expect("a number")).collect();
        ([numbers[0], numbers[1], numbers[2]], [numbers[3], numbers[4], numbers[5]])
    };
    text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(row).collect()
}

/// A 4×4 matrix `[sR t; 0 1]`.
fn truth(path: &Path) -> Similarity {
    let text = fs::read_to_string(path).expect("gt.txt");
    let m: Vec<f64> = text.split_whitespace().map(|field| field.parse().expect("a number")).collect();
    let scale = norm([m[0], m[1], m[2]]);
    let row = |k: usize| [m[4 * k] / scale, m[4 * k + 1] / scale, m[4 * k + 2] / scale];
    Similarity::new(scale, [row(0), row(1), row(2)], [m[3], m[7], m[11]]).expect("a similarity")
}
