//! Feature `serde`: a transform as `scale`, `rotation` (row by row) and `translation`. Reading checks them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::Similarity;

#[derive(Serialize, Deserialize)]
#[serde(rename = "Similarity", deny_unknown_fields)]
struct Parts {
    scale: f64,
    rotation: [[f64; 3]; 3],
    translation: [f64; 3],
}

impl Serialize for Similarity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = Parts { scale: self.scale(), rotation: self.rotation(), translation: self.translation() };
        parts.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Similarity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Parts { scale, rotation, translation } = Parts::deserialize(deserializer)?;
        Self::new(scale, rotation, translation).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transform_comes_back_to_the_bit() {
        let model = Similarity::from_quaternion(0.1, [0.3, -0.8, 0.5, 0.2], [1e7, -1.0 / 3.0, 1e-300]);
        let model = model.expect("a similarity");
        let text = serde_json::to_string(&model).expect("text");
        assert!(text.starts_with(r#"{"scale":0.1,"rotation":[["#), "{text}");
        assert_eq!(serde_json::from_str::<Similarity>(&text).expect("a similarity"), model);
    }

    #[test]
    fn what_is_no_transform_is_refused() {
        let unit = "[[1,0,0],[0,1,0],[0,0,1]]";
        for (text, message) in [
            (format!(r#"{{"scale":0,"rotation":{unit},"translation":[0,0,0]}}"#), "finite and positive"),
            (format!(r#"{{"scale":1,"rotation":{unit}}}"#), "missing field `translation`"),
            (
                r#"{"scale":1,"rotation":[[1,0,0],[0,1,0],[0,0,-1]],"translation":[0,0,0]}"#.to_owned(),
                "reflection",
            ),
        ] {
            let error = serde_json::from_str::<Similarity>(&text).expect_err(&text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
