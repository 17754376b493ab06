//! Result documents, read field by field.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pcr99_document::{
    Accuracy, CloudCounts, CloudDocument, Counters, Document as ResultDocument, Evidence, Fit, FreeMotion,
    Inputs, Kind, MatchDocument, Matrix, NotRefuted, Relation,
};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    arrays::{array, indices},
    error::Failure,
};

/// Fields of [`Evidence`] in the order of the Python class.
type EvidenceFields = (f64, usize, f64, f64);
/// Fields of [`Fit`] in the order of the Python class.
pub(crate) type FitFields = (f64, f64, f64, f64, f64, f64);
/// Fields of a candidate: transform, number of inliers, evidence and fit.
type CandidateFields<'py> = (Bound<'py, PyArray2<f64>>, usize, Option<EvidenceFields>, Option<FitFields>);
/// Fields of a rival: those of a candidate, ratio of evidence, ratio of scores, and why it was not refuted.
type RivalFields<'py> = (CandidateFields<'py>, Option<f64>, Option<f64>, Option<(String, String)>);
/// Three coordinates.
type Point = (f64, f64, f64);
/// Fields of [`Relation`] in the order of the Python class.
type RelationFields = (String, Option<f64>, Option<Point>, Option<Point>, Point, f64);
/// Fields of a pose that fits as well: those of a candidate, and its relation to the answer.
type EquivalentFields<'py> = (CandidateFields<'py>, Option<RelationFields>);
/// Fields of [`FreeMotion`] in the order of the Python class.
type FreeMotionFields = (String, String, Option<Point>, Option<Point>, Option<Point>);
/// Fields of [`CloudCounts`] in the order of the Python class.
type CloudFields = (usize, usize, usize, usize);

/// Sentence, translation, weakest direction, rotation, scale and what is not determined, in the order of the Python class.
type AccuracyFields = (String, f64, (f64, f64, f64), f64, Option<f64>, Vec<String>);

/// A square matrix as an array.
fn square<'py>(py: Python<'py>, rows: &[Vec<f64>]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    rows.concat().into_pyarray(py).reshape([rows.len(), rows.len()])
}

/// The document of a registration.
#[pyclass(frozen, module = "pcr99._core")]
#[derive(Debug)]
pub(crate) struct Document(pub(crate) ResultDocument);

impl Document {
    fn matches(&self) -> Option<&MatchDocument> {
        match &self.0 {
            ResultDocument::Matches(document) => Some(document),
            ResultDocument::Clouds(_) => None,
        }
    }

    fn cloud(&self) -> Option<&CloudDocument> {
        match &self.0 {
            ResultDocument::Clouds(document) => Some(document),
            ResultDocument::Matches(_) => None,
        }
    }
}

#[pymethods]
impl Document {
    /// Reads a document.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        ResultDocument::from_json(text).map(Self).map_err(|error| Failure::from(error).raised(py))
    }

    /// Text of the document, one line per field.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Whether two documents are equal apart from their times and input files.
    fn is_same(&self, other: &Self) -> bool {
        let bare = |document: &ResultDocument| document.clone().with_seconds(None).with_inputs(None);
        bare(&self.0) == bare(&other.0)
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            Kind::Matches => "matches",
            Kind::Clouds => "clouds",
        }
    }

    /// Names of the input files by role.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(Inputs { pairs, source, target, .. }) = self.0.inputs() else { return Ok(None) };
        let files = PyDict::new(py);
        for (role, file) in [("pairs", pairs), ("source", source), ("target", target)] {
            if let Some(file) = file {
                files.set_item(role, file)?;
            }
        }
        Ok(Some(files))
    }

    #[getter]
    fn method(&self) -> &str {
        self.0.method()
    }

    #[getter]
    fn status(&self) -> &'static str {
        self.0.status().as_str()
    }

    #[getter]
    fn doubt(&self) -> Option<&'static str> {
        self.0.doubt().map(|doubt| doubt.as_str())
    }

    #[getter]
    fn reason(&self) -> &str {
        self.0.reason()
    }

    #[getter]
    fn transform<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.0.transform().map(|matrix| matrix_array(py, matrix)).transpose()
    }

    #[getter]
    fn scale(&self) -> Option<f64> {
        match &self.0 {
            ResultDocument::Matches(document) => document.scale,
            ResultDocument::Clouds(document) => document.scale,
        }
    }

    #[getter]
    fn rotation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let rotation = match &self.0 {
            ResultDocument::Matches(document) => document.rotation,
            ResultDocument::Clouds(document) => document.rotation,
        };
        rotation.map(|rotation| array(py, rotation.to_vec())).transpose()
    }

    #[getter]
    fn translation<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let translation = match &self.0 {
            ResultDocument::Matches(document) => document.translation,
            ResultDocument::Clouds(document) => document.translation,
        };
        translation.map(|translation| PyArray1::from_slice(py, &translation))
    }

    #[getter]
    fn correspondences(&self) -> usize {
        self.0.correspondences()
    }

    #[getter]
    fn inliers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        indices(py, self.0.inliers().iter().copied())
    }

    #[getter]
    fn threshold(&self) -> Option<f64> {
        self.0.threshold()
    }

    #[getter]
    fn inlier_rmse(&self) -> Option<f64> {
        self.matches().and_then(|document| document.inlier_rmse)
    }

    #[getter]
    fn evidence(&self) -> Option<EvidenceFields> {
        self.0.evidence().map(evidence_fields)
    }

    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> PyResult<Vec<CandidateFields<'py>>> {
        match &self.0 {
            ResultDocument::Matches(document) => {
                let fields = document
                    .candidates
                    .iter()
                    .map(|c| (&c.transform, c.inlier_count, Some(&c.evidence), None));
                fields.map(|fields| candidate_fields(py, fields)).collect()
            }
            ResultDocument::Clouds(document) => {
                let fields = document
                    .candidates
                    .iter()
                    .map(|c| (&c.transform, c.inlier_count, c.evidence.as_ref(), Some(&c.fit)));
                fields.map(|fields| candidate_fields(py, fields)).collect()
            }
        }
    }

    #[getter]
    fn rival<'py>(&self, py: Python<'py>) -> PyResult<Option<RivalFields<'py>>> {
        let because = |because: &Option<NotRefuted>| {
            because.as_ref().map(|because| (because.code.clone(), because.sentence.clone()))
        };
        Ok(match &self.0 {
            ResultDocument::Matches(MatchDocument { rival: Some(rival), .. }) => {
                let fields = (&rival.transform, rival.inlier_count, Some(&rival.evidence), None);
                let because = because(&rival.not_refuted_because);
                Some((candidate_fields(py, fields)?, Some(rival.evidence_ratio), None, because))
            }
            ResultDocument::Clouds(CloudDocument { rival: Some(rival), .. }) => {
                let fields =
                    (&rival.transform, rival.inlier_count, rival.evidence.as_ref(), Some(&rival.fit));
                let because = because(&rival.not_refuted_because);
                Some((candidate_fields(py, fields)?, None, Some(rival.score_ratio), because))
            }
            _ => None,
        })
    }

    /// Poses that fit equally well, the answer first.
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> PyResult<Vec<EquivalentFields<'py>>> {
        let Some(document) = self.cloud() else { return Ok(Vec::new()) };
        let fields = document.poses.iter().map(|pose| {
            let candidate =
                candidate_fields(py, (&pose.transform, pose.inlier_count, None, Some(&pose.fit)))?;
            Ok((candidate, pose.relation.as_ref().map(relation_fields)))
        });
        fields.collect()
    }

    /// Motions after which clouds fit as well.
    #[getter]
    fn free_motions(&self) -> Vec<FreeMotionFields> {
        let fields = |motion: &FreeMotion| {
            let FreeMotion { kind, sentence, axis, through, along, .. } = motion;
            (kind.clone(), sentence.clone(), axis.map(point), through.map(point), along.map(point))
        };
        self.cloud().map_or(Vec::new(), |document| document.free_motions.iter().map(fields).collect())
    }

    /// Where most of the votes that raised the doubt are.
    #[getter]
    fn place(&self) -> Option<(Point, f64, f64)> {
        self.cloud()?.place.map(|place| (point(place.at), place.radius, place.share))
    }

    #[getter]
    fn stopped_because(&self) -> Option<&'static str> {
        self.0.stopped_because().map(|reason| reason.as_str())
    }

    #[getter]
    fn counters(&self) -> Option<(u64, u64, u64)> {
        let counters = match &self.0 {
            ResultDocument::Matches(document) => Some(document.counters),
            ResultDocument::Clouds(document) => document.counters,
        };
        counters.map(|Counters { pairs, hypotheses, triplets, .. }| (pairs, hypotheses, triplets))
    }

    /// Times by stage; empty for a document of a batch.
    #[getter]
    fn seconds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let times = PyDict::new(py);
        if let Some(seconds) = self.0.seconds() {
            times.set_item("total", seconds.total())?;
            seconds.stages().iter().try_for_each(|(stage, time)| times.set_item(stage, time))?;
        }
        Ok(times)
    }

    #[getter]
    fn fit(&self) -> Option<FitFields> {
        self.0.fit().map(fit_fields)
    }

    #[getter]
    fn rmse(&self) -> Option<f64> {
        self.cloud().and_then(|document| document.rmse)
    }

    #[getter]
    fn accuracy(&self) -> Option<AccuracyFields> {
        self.0.accuracy().map(|told| {
            let Accuracy { sentence, translation, weakest, rotation_deg, scale, undetermined, .. } = told;
            let weakest = (weakest[0], weakest[1], weakest[2]);
            (sentence.clone(), *translation, weakest, *rotation_deg, *scale, undetermined.clone())
        })
    }

    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.0.accuracy().map(|accuracy| square(py, &accuracy.covariance)).transpose()
    }

    #[getter]
    fn information<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.0.accuracy().map(|accuracy| square(py, &accuracy.information)).transpose()
    }

    #[getter]
    fn information_center<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.0.accuracy().map(|accuracy| PyArray1::from_slice(py, &accuracy.center))
    }

    /// The covariance about another point.
    fn covariance_about<'py>(
        &self,
        py: Python<'py>,
        point: [f64; 3],
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let Some(accuracy) = self.0.accuracy() else { return Ok(None) };
        let about = accuracy.covariance().about(point);
        let about = about.map_err(|error| Failure::Value(error.to_string()).raised(py))?;
        square(py, &about.matrix).map(Some)
    }

    /// The covariance in the convention of GTSAM's `Pose3`.
    fn pose_covariance<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let (Some(accuracy), Some(pose)) = (self.0.accuracy(), self.0.target_from_source()) else {
            return Ok(None);
        };
        let of_pose = accuracy.covariance().of_pose(&pose);
        let of_pose = of_pose.map_err(|error| Failure::Value(error.to_string()).raised(py))?;
        square(py, &of_pose.map(|row| row.to_vec())).map(Some)
    }

    fn to_tum(&self, py: Python<'_>, timestamp: f64) -> PyResult<String> {
        self.0.to_tum(timestamp).map_err(|error| Failure::Value(error.to_string()).raised(py))
    }

    fn to_kitti(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_kitti().map_err(|error| Failure::Value(error.to_string()).raised(py))
    }

    fn to_g2o(&self, py: Python<'_>, target_vertex: u64, source_vertex: u64) -> PyResult<String> {
        let written = self.0.to_g2o(target_vertex, source_vertex);
        written.map_err(|error| Failure::Value(error.to_string()).raised(py))
    }

    #[getter]
    fn voxel(&self) -> Option<f64> {
        self.cloud().map(|document| document.voxel)
    }

    #[getter]
    fn clouds(&self) -> Option<(CloudFields, CloudFields)> {
        let counts =
            |counts: &CloudCounts| (counts.points, counts.not_finite, counts.duplicates, counts.sampled);
        self.cloud().map(|document| (counts(&document.clouds.source), counts(&document.clouds.target)))
    }
}

fn point([x, y, z]: [f64; 3]) -> Point {
    (x, y, z)
}

fn relation_fields(relation: &Relation) -> RelationFields {
    let Relation { sentence, degrees, axis, through, shift, times, .. } = relation;
    (sentence.clone(), *degrees, axis.map(point), through.map(point), point(*shift), *times)
}

fn evidence_fields(evidence: &Evidence) -> EvidenceFields {
    (
        evidence.log10_nfa,
        evidence.inlier_places,
        evidence.rotation_deviation_deg,
        evidence.rival_evidence_ratio,
    )
}

/// Fields of a fit as the package takes them.
pub(crate) fn fit_fields(fit: &Fit) -> FitFields {
    (
        fit.overlap_source,
        fit.overlap_target,
        fit.normal_agreement,
        fit.residual_voxels,
        fit.conflict_fraction,
        fit.off_plane_fraction,
    )
}

fn candidate_fields<'py>(
    py: Python<'py>,
    (transform, inlier_count, evidence, fit): (&Matrix, usize, Option<&Evidence>, Option<&Fit>),
) -> PyResult<CandidateFields<'py>> {
    Ok((matrix_array(py, transform)?, inlier_count, evidence.map(evidence_fields), fit.map(fit_fields)))
}

fn matrix_array<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    array(py, matrix.to_vec())
}
