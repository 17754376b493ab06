use pcr99::Similarity;
use pcr99_base::vector::{cross, dot};
use serde::{Deserialize, Serialize};

use crate::{Error, OutlierCenter, Problem};

/// Version of the document.
pub const SCHEMA: u32 = 1;

/// Truth of a problem, as `pcr99 simulate --truth` writes it.
///
/// Numbers read back equal to the last bit. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Version of the document: [`SCHEMA`].
    pub schema: u32,
    /// Scale `s`.
    pub scale: f64,
    /// Rotation `R`, row by row.
    pub rotation: [[f64; 3]; 3],
    /// Translation `t`, in target units.
    pub translation: [f64; 3],
    /// Matrix `[sR t; 0 1]`, target from source, row by row.
    pub transform: [[f64; 4]; 4],
    /// Indices of the inliers, counted from 0, ascending.
    pub inliers: Vec<usize>,
    /// Standard deviation `σ` of the noise of each target coordinate.
    pub noise: f64,
    /// Seed of the problem.
    pub seed: u64,
    /// Name of the shape.
    pub shape: String,
    /// Number of matches.
    pub points: usize,
    /// Outlier ratio; `round(outlier_ratio·points)` matches are outliers.
    pub outlier_ratio: f64,
    /// Position of the ball of outliers: `"centred"` or `"offset"`.
    pub outlier_center: OutlierCenter,
}

impl Problem {
    /// Truth as a document.
    pub fn truth_document(&self) -> Truth {
        Truth {
            schema: SCHEMA,
            scale: self.truth.scale(),
            rotation: self.truth.rotation(),
            translation: self.truth.translation(),
            transform: self.truth.matrix(),
            inliers: self.inliers(),
            noise: self.noise,
            seed: self.seed,
            shape: self.shape_name.clone(),
            points: self.source.len(),
            outlier_ratio: self.outlier_ratio,
            outlier_center: self.outlier_center,
        }
    }
}

impl Truth {
    /// True transform, target from source.
    pub fn similarity(&self) -> Similarity {
        Similarity::new_unchecked(self.scale, self.rotation, self.translation)
    }

    /// Document as JSON text: one field per line, with a newline at the end.
    pub fn to_json(&self) -> String {
        let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(self) else {
            unreachable!("a struct of numbers and strings is a JSON object");
        };
        let lines: Vec<String> =
            fields.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }

    /// Reads a document and checks it.
    ///
    /// # Errors
    ///
    /// Text that is not JSON, a missing field, another schema, or fields that contradict each other.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        // The schema is checked first, because another version may have other fields.
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let syntax = |error: serde_json::Error| Error::TruthSyntax { message: error.to_string() };
        let Version { schema } = serde_json::from_str(text).map_err(syntax)?;
        if schema != SCHEMA {
            return Err(Error::TruthSchema { found: schema });
        }
        let truth: Self = serde_json::from_str(text).map_err(syntax)?;
        truth.check()?;
        Ok(truth)
    }

    fn check(&self) -> Result<(), Error> {
        let invalid = |field, cause| Err(Error::TruthInvalid { field, cause });
        // JSON has neither NaN nor infinities: only signs and relations remain to be checked.
        if self.scale <= 0.0 {
            return invalid("scale", "it must be above 0");
        }
        if !is_rotation(&self.rotation) {
            return invalid("rotation", "it must be a rotation: orthonormal rows, determinant +1");
        }
        let expected = self.similarity().matrix();
        let largest = expected.as_flattened().iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let mut pairs = expected.as_flattened().iter().zip(self.transform.as_flattened());
        if !pairs.all(|(a, b)| (a - b).abs() <= 1e-9 * largest) {
            return invalid(
                "transform",
                "it must be [sR t; 0 1] of the fields scale, rotation and translation",
            );
        }
        if !self.inliers.is_sorted_by(|a, b| a < b) || self.inliers.last().is_some_and(|&i| i >= self.points)
        {
            return invalid("inliers", "they must be ascending indices below the number of points");
        }
        if self.noise < 0.0 {
            return invalid("noise", "it must be at least 0");
        }
        if !(0.0..=1.0).contains(&self.outlier_ratio) {
            return invalid("outlier_ratio", "it must be from 0 to 1");
        }
        Ok(())
    }
}

/// Whether the matrix is a rotation to 10⁻⁶. Documents that were written with six digits pass.
fn is_rotation(rows: &[[f64; 3]; 3]) -> bool {
    let orthonormal =
        (0..3).all(|i| (0..3).all(|j| (dot(rows[i], rows[j]) - f64::from(u8::from(i == j))).abs() < 1e-6));
    orthonormal && dot(rows[0], cross(rows[1], rows[2])) > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recipe, ScaleChoice, Shape};

    fn problem() -> Problem {
        let recipe = Recipe::default().with_shape(Shape::Sphere).unwrap().with_points(50).unwrap();
        let recipe = recipe.with_outlier_ratio(0.9).unwrap().with_scale(ScaleChoice::Random).unwrap();
        recipe.with_outlier_center(OutlierCenter::Offset).with_seed(u64::MAX).generate().unwrap()
    }

    #[test]
    fn fields_are_those_of_the_interface() {
        let text = problem().truth_document().to_json();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "schema",
                "scale",
                "rotation",
                "translation",
                "transform",
                "inliers",
                "noise",
                "seed",
                "shape",
                "points",
                "outlier_ratio",
                "outlier_center"
            ]
        );
        assert_eq!((&value["schema"], &value["seed"]), (&1.into(), &u64::MAX.into()));
        assert_eq!((&value["shape"], &value["outlier_center"]), (&"sphere".into(), &"offset".into()));
        assert_eq!(value["inliers"].as_array().unwrap().len(), 5);
        assert_eq!(text.lines().count(), 14);
    }

    #[test]
    fn reads_back_equal_to_the_last_bit() {
        for seed in 0..200 {
            let mut truth = problem().truth_document();
            let recipe = Recipe::default().with_shape(Shape::Knot).unwrap().with_seed(seed);
            truth.scale = recipe.with_scale(ScaleChoice::Random).unwrap().generate().unwrap().truth.scale();
            truth.transform = truth.similarity().matrix();
            assert_eq!(Truth::from_json(&truth.to_json()).unwrap(), truth);
        }
        assert_eq!(problem().truth_document().similarity(), problem().truth);
    }

    #[test]
    fn wrong_documents_are_refused_with_a_cause() {
        let good = problem().truth_document();
        let message = |text: &str| Truth::from_json(text).unwrap_err().to_string();
        assert!(message("sx sy sz").starts_with("not a truth document: expected value at line 1 column 1"));
        assert!(message("{}").contains("missing field `schema`"));
        assert!(message("{\"schema\": 1}").contains("missing field `scale`"));
        assert_eq!(
            message("{\"schema\": 2}"),
            "the truth document has schema 2, this version reads schema 1: generate the problem again"
        );
        let changed = |change: &dyn Fn(&mut Truth)| {
            let mut truth = good.clone();
            change(&mut truth);
            message(&truth.to_json())
        };
        assert!(changed(&|truth| truth.scale = -1.0).contains("`scale`"));
        assert!(changed(&|truth| truth.rotation[0] = [0.0; 3]).contains("`rotation`"));
        assert!(changed(&|truth| truth.rotation.swap(0, 1)).contains("determinant +1"));
        assert!(changed(&|truth| truth.transform[1][3] += 0.5).contains("`transform`"));
        assert!(changed(&|truth| truth.inliers[0] = 50).contains("ascending indices"));
        assert!(changed(&|truth| truth.points = 3).contains("below the number of points"));
        assert!(changed(&|truth| truth.noise = -0.1).contains("`noise`"));
        assert!(changed(&|truth| truth.outlier_ratio = 1.5).contains("`outlier_ratio`"));
        assert!(changed(&|truth| truth.scale = f64::NAN).contains("not a truth document"));
    }
}
