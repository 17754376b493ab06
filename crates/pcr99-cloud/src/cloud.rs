//! Clouds: points and their attributes.

use std::fmt;

use pcr99::Similarity;

/// Points of a scan or a model, with their attributes.
///
/// All lists that are present have one entry for each point, in the same order. The readers of this crate guarantee it;
/// [`validate`](Self::validate) checks it for a cloud made by hand. Points may be missing, with NaN or infinite coordinates, as in
/// organised scans where the sensor saw nothing. [`without_missing`](Self::without_missing) removes them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cloud {
    /// Positions, in the unit of the file.
    pub points: Vec<[f64; 3]>,
    /// Normals of unit length; zero or NaN where unknown.
    pub normals: Option<Vec<[f64; 3]>>,
    /// Red, green and blue, eight bits each. All formats that are written have eight; sixteen (LAS) are rounded down.
    pub colors: Option<Vec<[u8; 3]>>,
    /// Strength of the return, in the unit of the sensor.
    pub intensities: Option<Vec<f64>>,
    /// Position of the sensor, in the coordinates of the points, where it is known.
    pub viewpoint: Option<[f64; 3]>,
}

/// An attribute of a cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Attribute {
    /// [`Cloud::normals`].
    Normals,
    /// [`Cloud::colors`].
    Colors,
    /// [`Cloud::intensities`].
    Intensities,
    /// [`Cloud::viewpoint`].
    Viewpoint,
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normals => "normals",
            Self::Colors => "colours",
            Self::Intensities => "intensities",
            Self::Viewpoint => "viewpoint",
        })
    }
}

/// A list of a cloud has more or fewer entries than there are points.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found} {attribute} for {points} points: give one for each point, or none")]
pub struct UnequalLengths {
    /// The attribute.
    pub attribute: Attribute,
    /// Length of its list.
    pub found: usize,
    /// Number of points.
    pub points: usize,
}

impl Cloud {
    /// A cloud of points without attributes.
    pub fn new(points: Vec<[f64; 3]>) -> Self {
        Self { points, ..Self::default() }
    }

    /// Applies a transform to points, normals and viewpoint. Missing points stay missing.
    pub fn moved(mut self, transform: &Similarity) -> Self {
        let turn = transform.rotation();
        let turned = |n: [f64; 3]| turn.map(|row| row[0] * n[0] + row[1] * n[1] + row[2] * n[2]);
        self.points.iter_mut().for_each(|point| *point = transform.apply(*point));
        self.normals.iter_mut().flatten().for_each(|normal| *normal = turned(*normal));
        self.viewpoint = self.viewpoint.map(|place| transform.apply(place));
        self
    }

    /// Number of points, missing ones included.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Checks that all lists have the same length.
    ///
    /// # Errors
    /// Names the first list, in the order of the fields, whose length differs.
    pub fn validate(&self) -> Result<(), UnequalLengths> {
        let lengths = [
            (Attribute::Normals, self.normals.as_ref().map(Vec::len)),
            (Attribute::Colors, self.colors.as_ref().map(Vec::len)),
            (Attribute::Intensities, self.intensities.as_ref().map(Vec::len)),
        ];
        let points = self.len();
        for (attribute, found) in lengths {
            if let Some(found) = found.filter(|&found| found != points) {
                return Err(UnequalLengths { attribute, found, points });
            }
        }
        Ok(())
    }

    /// The attributes that are present, in the order of the fields.
    pub fn attributes(&self) -> Vec<Attribute> {
        let known = [
            (Attribute::Normals, self.normals.is_some()),
            (Attribute::Colors, self.colors.is_some()),
            (Attribute::Intensities, self.intensities.is_some()),
            (Attribute::Viewpoint, self.viewpoint.is_some()),
        ];
        known.into_iter().filter(|(_, known)| *known).map(|(attribute, _)| attribute).collect()
    }

    /// Number of points with a NaN or infinite coordinate.
    pub fn count_missing(&self) -> usize {
        self.points.iter().filter(|point| is_missing(point)).count()
    }

    /// Removes points with a NaN or infinite coordinate and returns their number. The others keep their order. Attributes are not checked.
    pub fn without_missing(mut self) -> (Self, usize) {
        let missing = self.count_missing();
        if missing > 0 {
            let keep: Vec<bool> = self.points.iter().map(|point| !is_missing(point)).collect();
            retain(&mut self.points, &keep);
            self.normals.iter_mut().for_each(|list| retain(list, &keep));
            self.colors.iter_mut().for_each(|list| retain(list, &keep));
            self.intensities.iter_mut().for_each(|list| retain(list, &keep));
        }
        (self, missing)
    }
}

impl From<Vec<[f64; 3]>> for Cloud {
    fn from(points: Vec<[f64; 3]>) -> Self {
        Self::new(points)
    }
}

fn is_missing(point: &[f64; 3]) -> bool {
    !point.iter().all(|x| x.is_finite())
}

/// Keeps the entries whose flag is set, and those that have no flag.
fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    list.retain(|_| flags.next().copied().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud() -> Cloud {
        Cloud {
            points: vec![[0.0; 3], [f64::NAN, 1.0, 1.0], [2.0; 3], [3.0, f64::INFINITY, 3.0]],
            normals: Some([0.0, 1.0, 2.0, 3.0].map(|x| [x; 3]).to_vec()),
            colors: Some([0, 1, 2, 3].map(|x| [x; 3]).to_vec()),
            intensities: Some(vec![0.0, 1.0, f64::NAN, 3.0]),
            viewpoint: Some([9.0; 3]),
        }
    }

    #[test]
    fn missing_points_go_with_all_that_is_known_of_them() {
        let (kept, missing) = cloud().without_missing();
        assert_eq!(missing, 2);
        assert_eq!(kept.points, [[0.0; 3], [2.0; 3]]);
        assert_eq!(kept.normals, Some(vec![[0.0; 3], [2.0; 3]]));
        assert_eq!(kept.colors, Some(vec![[0; 3], [2; 3]]));
        assert_eq!(kept.intensities.as_ref().map(Vec::len), Some(2));
        assert_eq!(kept.viewpoint, Some([9.0; 3]));
        assert_eq!(kept.clone().without_missing().1, 0);
        assert_eq!(kept.validate(), Ok(()));
    }

    #[test]
    fn lists_of_unequal_length_are_named() {
        assert_eq!(cloud().validate(), Ok(()));
        let short = Cloud { colors: Some(vec![[0; 3]; 3]), ..cloud() };
        let error = short.validate().expect_err("three colours");
        assert_eq!(error.to_string(), "3 colours for 4 points: give one for each point, or none");
        let names: Vec<String> = cloud().attributes().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["normals", "colours", "intensities", "viewpoint"]);
        assert!(Cloud::from(vec![[0.0; 3]]).attributes().is_empty());
    }
}
