//! The buffers of a request: files and arrays of doubles.

use pcr99::Correspondences;
use pcr99_cloud::{Cloud, Matches, MemoryFile};

use crate::{
    Error,
    request::{GivenCloud, GivenMatches},
};

/// The buffers that are not used yet.
pub(crate) struct Inputs(std::vec::IntoIter<Vec<u8>>);

impl Inputs {
    pub(crate) fn new(buffers: Vec<Vec<u8>>) -> Self {
        Self(buffers.into_iter())
    }

    /// The next buffer, which is `what`.
    pub(crate) fn take(&mut self, what: &str) -> Result<Vec<u8>, Error> {
        self.0.next().ok_or_else(|| Error::Input(format!("there is no buffer for {what}")))
    }

    /// The next buffer as a file.
    pub(crate) fn file(&mut self, name: &str) -> Result<MemoryFile, Error> {
        Ok(MemoryFile::new(name, self.take(&format!("`{name}`"))?))
    }

    /// The next buffer as doubles.
    fn numbers(&mut self, what: &str) -> Result<Vec<f64>, Error> {
        let bytes = self.take(what)?;
        let (whole, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(Error::Input(format!("{what}: {} bytes are no list of doubles", bytes.len())));
        }
        Ok(whole.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// The next buffer as points.
    fn points(&mut self, what: &str) -> Result<Vec<[f64; 3]>, Error> {
        let numbers = self.numbers(what)?;
        let (points, rest) = numbers.as_chunks::<3>();
        if !rest.is_empty() {
            let count = numbers.len();
            return Err(Error::Input(format!(
                "{what}: {count} numbers are no list of points, which have three coordinates each"
            )));
        }
        Ok(points.to_vec())
    }

    /// A cloud, and its name in messages.
    pub(crate) fn cloud(&mut self, given: &GivenCloud, what: &str) -> Result<(Cloud, String), Error> {
        if let Some(name) = &given.file {
            return Ok((self.file(name)?.read_cloud()?, name.clone()));
        }
        let points = self.points(what)?;
        let normals = if given.normals { Some(self.points(&format!("normals of {what}"))?) } else { None };
        Ok((Cloud { normals, ..Cloud::new(points) }, what.to_owned()))
    }

    /// Matches as they were given.
    pub(crate) fn matches(&mut self, given: &GivenMatches) -> Result<Matches, Error> {
        if let Some(name) = &given.file {
            return Ok(self.file(name)?.read_matches()?);
        }
        let (source, target) = (self.points("source")?, self.points("target")?);
        let weights = if given.weights { Some(self.numbers("weights")?) } else { None };
        let deviations =
            if given.standard_deviations { Some(self.numbers("standard_deviations")?) } else { None };
        Ok(Matches { source, target, weights, standard_deviations: deviations })
    }
}

/// Checked matches; `file` is named in messages.
pub(crate) fn pairs(matches: &Matches, file: Option<&str>) -> Result<Correspondences, Error> {
    let failed = |cause| Error::Matches { name: file.map_or(String::new(), |f| format!("`{f}`: ")), cause };
    let mut pairs = Correspondences::new(&matches.source, &matches.target).map_err(failed)?;
    if let Some(weights) = &matches.weights {
        pairs = pairs.with_weights(weights).map_err(failed)?;
    }
    if let Some(deviations) = &matches.standard_deviations {
        pairs = pairs.with_standard_deviations(deviations).map_err(failed)?;
    }
    Ok(pairs)
}
