//! Codes of doubts, and what each means to a user.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Why an answer is not registered: one word for programs.
///
/// The same codes serve matches and clouds; [`pcr99::Doubt`] and [`pcr99_cloud::Doubt`] say which occur where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DoubtCode {
    /// No transform was found that matches support.
    NoConsensus,
    /// The caller ended the search before a transform was found.
    Stopped,
    /// Chance alone could make as many matches agree.
    Chance,
    /// The inliers are at too few places.
    FewPlaces,
    /// The inliers leave the rotation about one axis uncertain.
    LooseRotation,
    /// Other transforms explain as much.
    Ambiguous,
    /// A mirrored transform explains clearly more matches, or the mirror image of a cloud fits clearly better.
    Mirrored,
    /// The search ended before it looked for another transform.
    Unfinished,
    /// The overlapping surfaces are too far apart, or their normals disagree.
    PoorFit,
    /// The clouds overlap too little.
    LittleOverlap,
    /// One cloud has a surface where the other saw another one, a little above or below it.
    Conflict,
    /// Little but large planes aligns.
    OnlyPlanes,
    /// The search found a pose that fits better than the initial pose of the caller.
    BetterPoseFound,
    /// The overlapping surfaces can slide or turn on each other.
    Underconstrained,
    /// One cloud lies where the sensor of the other saw free space.
    FreeSpace,
    /// One cloud is much smaller than the other.
    SizeMismatch,
    /// The refinement of a given pose did not converge.
    NotConverged,
}

impl DoubtCode {
    /// All codes.
    pub const ALL: [Self; 17] = [
        Self::NoConsensus,
        Self::Stopped,
        Self::Chance,
        Self::FewPlaces,
        Self::LooseRotation,
        Self::Ambiguous,
        Self::Mirrored,
        Self::Unfinished,
        Self::PoorFit,
        Self::LittleOverlap,
        Self::Conflict,
        Self::OnlyPlanes,
        Self::BetterPoseFound,
        Self::Underconstrained,
        Self::FreeSpace,
        Self::SizeMismatch,
        Self::NotConverged,
    ];

    /// The word in documents, for instance `few_places`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoConsensus => "no_consensus",
            Self::Stopped => "stopped",
            Self::Chance => "chance",
            Self::FewPlaces => "few_places",
            Self::LooseRotation => "loose_rotation",
            Self::Ambiguous => "ambiguous",
            Self::Mirrored => "mirrored",
            Self::Unfinished => "unfinished",
            Self::PoorFit => "poor_fit",
            Self::LittleOverlap => "little_overlap",
            Self::Conflict => "conflict",
            Self::OnlyPlanes => "only_planes",
            Self::BetterPoseFound => "better_pose_found",
            Self::Underconstrained => "underconstrained",
            Self::FreeSpace => "free_space",
            Self::SizeMismatch => "size_mismatch",
            Self::NotConverged => "not_converged",
        }
    }

    /// What the doubt means: one short sentence without the numbers of a particular registration.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::NoConsensus => "No transform was found that several matches agree on.",
            Self::Stopped => "The search was ended before it found a transform.",
            Self::Chance => "Wrong matches alone could agree this well by chance.",
            Self::FewPlaces => {
                "The inliers are close together, so one wrongly matched patch could explain all of them."
            }
            Self::LooseRotation => "The inliers do not determine the rotation about one axis.",
            Self::Ambiguous => "Other transforms explain the data as well, and nothing refutes them.",
            Self::Mirrored => "A mirror image fits clearly better than this transform.",
            Self::Unfinished => {
                "The search was ended before a second transform with as much evidence was ruled out."
            }
            Self::PoorFit => {
                "Where the clouds overlap, their surfaces are too far apart or their normals disagree."
            }
            Self::LittleOverlap => "Too small a part of the clouds lies on each other to confirm the pose.",
            Self::Conflict => {
                "The clouds contradict each other: one has a surface where the other saw a different one."
            }
            Self::OnlyPlanes => {
                "Only floors, walls or other large planes align. Many places have such planes, so they do not identify this one."
            }
            Self::BetterPoseFound => "The search found a pose that fits better than the initial pose.",
            Self::Underconstrained => {
                "The overlapping surfaces form one plane, cylinder or sphere, so they can slide or turn on each other."
            }
            Self::FreeSpace => "Many points of one cloud lie where the sensor of the other saw through.",
            Self::SizeMismatch => {
                "One cloud is so small beside the other that its place in it cannot be told."
            }
            Self::NotConverged => "The refinement of the given pose did not converge.",
        }
    }

    /// What the user can do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::NoConsensus => {
                "Check that both inputs show the same place, in the same unit or with an unknown scale, and that the threshold is not \
                 too small."
            }
            Self::Stopped => "Allow more time, or give fewer matches or a larger voxel.",
            Self::Chance => "Provide more matches, or matches of better quality.",
            Self::FewPlaces => "Provide matches that are spread over the whole object or scene.",
            Self::LooseRotation => "Provide matches farther away from that axis.",
            Self::Ambiguous => {
                "Compare the candidates. Where the scene is symmetric or repeats itself, a larger part of it decides, or a refinement from \
                 a rough initial pose."
            }
            Self::Mirrored => {
                "Check that both sides have the same handedness: exchange two axes of one, or change the sign of one."
            }
            Self::Unfinished => "Allow more time, effort or memory. The transform may well be right.",
            Self::PoorFit => {
                "Check that both clouds show the same place. The pose is probably wrong; with noisy clouds, try a larger voxel."
            }
            Self::LittleOverlap => "Provide clouds that share a larger part of the scene.",
            Self::Conflict => {
                "Check whether the pose is wrong, or whether the scene changed between the two clouds."
            }
            Self::OnlyPlanes => {
                "Provide clouds whose common part contains furniture, vegetation or other structure beside the planes."
            }
            Self::BetterPoseFound => "Compare the initial pose with the pose that was found.",
            Self::Underconstrained => {
                "Provide clouds whose common part has surfaces in several directions, or fix the free direction by other means."
            }
            Self::FreeSpace => "Check the viewpoints of the clouds. If they are right, the pose is wrong.",
            Self::SizeMismatch => {
                "Check the units, or give the scale; cut the larger cloud to the area in question."
            }
            Self::NotConverged => "Give a better initial pose, or let `register` search for the pose.",
        }
    }
}

impl fmt::Display for DoubtCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The inverse of [`DoubtCode::as_str`].
impl FromStr for DoubtCode {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|code| code.as_str() == word);
        found.ok_or_else(|| Error::field("doubt", format!("`{word}` is not a known doubt")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_word_and_its_own_text() {
        for (place, code) in DoubtCode::ALL.into_iter().enumerate() {
            assert_eq!(code.as_str().parse::<DoubtCode>().expect("a code"), code);
            assert_eq!(serde_json::to_value(code).expect("JSON"), code.as_str());
            assert!(code.meaning().ends_with('.') && code.advice().ends_with('.'), "{code}");
            for other in &DoubtCode::ALL[place + 1..] {
                assert!(code.as_str() != other.as_str() && code.meaning() != other.meaning());
            }
        }
        assert!(
            "slides".parse::<DoubtCode>().unwrap_err().to_string().contains("`slides` is not a known doubt")
        );
    }

    /// Every doubt of the method has a code here.
    #[test]
    fn codes_of_the_method_are_known() {
        for code in pcr99::Doubt::CODES {
            assert!(code.parse::<DoubtCode>().is_ok(), "{code}");
        }
    }
}
