//! Reasons why a pose of two clouds is not registered: a code for programs and a sentence for people.

use std::fmt;

use super::judge::limits;

/// The first test that a pose failed, with the number that decided.
///
/// [`code`](Self::code) is the word in documents; [`Display`](fmt::Display) is the sentence for people: what happened, the decisive
/// number with its limit, and what to do where something can be done.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Doubt {
    /// No pose was found that the matches support.
    NoConsensus,
    /// The caller stopped the search before a pose was found.
    Stopped,
    /// As many matches could agree by chance.
    Chance {
        /// log₁₀ of the number of false alarms.
        log10_nfa: f64,
    },
    /// The overlapping surfaces are too far apart, or their normals disagree.
    PoorFit {
        /// Mean distance of overlapping points from the tangent plane of the other cloud, in voxels.
        residual_voxels: f64,
        /// Fraction of overlapping points whose normals agree within 30°.
        normal_agreement: f64,
    },
    /// The clouds overlap too little.
    LittleOverlap {
        /// The larger of the two overlaps, as a fraction of its cloud.
        overlap: f64,
    },
    /// One cloud has a surface where the other saw another one, a few voxels above or below it.
    Conflict {
        /// [`Assessment::conflict_fraction`](crate::verify::Assessment::conflict_fraction).
        fraction: f64,
    },
    /// Little but large planes (floors, walls) aligns. Other places have such planes, too.
    OnlyPlanes {
        /// [`Assessment::off_plane_fraction`](crate::verify::Assessment::off_plane_fraction).
        off_plane_fraction: f64,
    },
    /// Other poses explain the clouds as well, and nothing refutes them. The result's [`poses`](super::CloudRegistration::poses) and
    /// [`free_motions`](super::CloudRegistration::free_motions) list them.
    Ambiguous {
        /// Score of the best of them divided by the score of the answer.
        score_ratio: f64,
    },
    /// The search found a pose that fits better than the pose of the caller. The result's
    /// [`rival`](super::CloudRegistration::rival) describes it.
    BetterPoseFound {
        /// Score of the pose that was found divided by the score of the initial pose; above 1.
        score_ratio: f64,
    },
    /// The overlapping surfaces hold the pose too weakly in some direction. Where the clouds fit as well after any such motion, the doubt of a
    /// registration is [`Ambiguous`](Self::Ambiguous) instead.
    Underconstrained {
        /// Smallest eigenvalue of the mean information of a point, see [`Icp::rigidity`](crate::refine::Icp::rigidity).
        rigidity: f64,
    },
    /// The mirror image of one cloud fits clearly better: one of the clouds is mirrored, or shows a mirrored copy, as a left and a right shoe.
    Mirrored {
        /// How clearly, in standard deviations of the difference between two equal fits.
        clearness: f64,
    },
    /// One cloud lies where the sensor of the other saw free space.
    FreeSpace {
        /// Fraction of its points in the view of that sensor that do.
        fraction: f64,
    },
    /// The refinement of a given pose, without a search, did not converge.
    NotConverged {
        /// Number of steps.
        steps: usize,
    },
    /// One cloud is so much smaller than the other that its place cannot be told.
    SizeMismatch {
        /// Extent of the larger cloud divided by that of the smaller.
        ratio: f64,
    },
}

impl Doubt {
    /// The word used in documents, for instance `little_overlap`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoConsensus => "no_consensus",
            Self::Stopped => "stopped",
            Self::Chance { .. } => "chance",
            Self::PoorFit { .. } => "poor_fit",
            Self::LittleOverlap { .. } => "little_overlap",
            Self::Conflict { .. } => "conflict",
            Self::OnlyPlanes { .. } => "only_planes",
            Self::Ambiguous { .. } => "ambiguous",
            Self::BetterPoseFound { .. } => "better_pose_found",
            Self::Underconstrained { .. } => "underconstrained",
            Self::Mirrored { .. } => "mirrored",
            Self::FreeSpace { .. } => "free_space",
            Self::NotConverged { .. } => "not_converged",
            Self::SizeMismatch { .. } => "size_mismatch",
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoConsensus => f.write_str(
                "no pose was found: the clouds have too few matches in common; check that they overlap and have the same unit",
            ),
            Self::Stopped => f.write_str("the search was stopped before a pose was found; allow more time"),
            Self::Chance { log10_nfa } => write!(
                f,
                "as many matches could agree by chance: 10^{log10_nfa:.1} false alarms are expected, and at most 10^{:.0} are accepted",
                limits::LOG10_NFA
            ),
            Self::PoorFit { residual_voxels, normal_agreement } => write!(
                f,
                "the surfaces do not fit: they are {residual_voxels:.2} voxels apart (limit {}), and {} of the normals agree (at least {})",
                limits::RESIDUAL_VOXELS,
                Percent(normal_agreement),
                Percent(limits::NORMAL_AGREEMENT)
            ),
            Self::LittleOverlap { overlap } => write!(
                f,
                "the clouds overlap too little: {} of one cloud and less of the other (at least {} needed)",
                Percent(overlap),
                Percent(limits::OVERLAP)
            ),
            Self::Conflict { fraction } => write!(
                f,
                "the clouds conflict: {} of the points that can tell lie beside a surface that the other cloud saw (limit {})",
                Percent(fraction),
                Percent(limits::CONFLICT_FRACTION)
            ),
            Self::OnlyPlanes { off_plane_fraction } => write!(
                f,
                "only large planes align; just {:.1} % of the points match elsewhere, too few to identify the place",
                100.0 * off_plane_fraction
            ),
            Self::Ambiguous { score_ratio } if score_ratio < 0.995 => write!(
                f,
                "another pose fits {} as well, and nothing tells the two apart; the scene may be symmetric or repetitive",
                Percent(score_ratio)
            ),
            Self::Ambiguous { .. } => f.write_str(
                "another pose fits at least as well, and nothing tells the two apart; the scene may be symmetric or repetitive",
            ),
            Self::BetterPoseFound { score_ratio } => write!(
                f,
                "the search found a pose that fits better than the given one: its score is {score_ratio:.2} times as high"
            ),
            Self::Underconstrained { .. } => f.write_str(
                "the overlapping surfaces can slide or turn on each other (one plane, cylinder or sphere), so the pose is undetermined",
            ),
            Self::NotConverged { steps } => write!(
                f,
                "the refinement did not converge within {steps} steps; the initial pose may be too far off: `register` searches for the pose"
            ),
            Self::Mirrored { clearness } => write!(
                f,
                "the mirror image of one cloud fits better, by {clearness:.1} standard deviations (limit {:.0}); check that neither cloud is mirrored",
                limits::CLEARLY_MIRRORED
            ),
            Self::FreeSpace { fraction } => write!(
                f,
                "{} of the points lie where the other sensor saw free space (limit {})",
                Percent(fraction),
                Percent(limits::FREE_SPACE_FRACTION)
            ),
            Self::SizeMismatch { ratio } => {
                write!(f, "after scaling, one cloud is {ratio:.0} times as large as the other; check the units and the scale")
            }
        }
    }
}

/// The test that came closest to refuting a rival. All of them failed, or the rival would not be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefutationTest {
    /// A rival is refuted when it explains less than 40 % of what the answer explains.
    ExplainsAsMuch,
    /// A rival is refuted when it has less than a fifth of the answer's matches.
    AsManyMatches,
    /// A rival is refuted when more than 4 % of the points contradict it and not the answer.
    NoContradictingPoints,
}

/// What kept a rival from being refuted: the numbers of the judge's three tests, none of which it failed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NotRefuted {
    /// The test that came closest to refuting the rival.
    pub closest: RefutationTest,
    /// Weight of the points that the rival explains divided by that of the answer. Below 0.4 the rival is refuted.
    pub explained_ratio: f64,
    /// Inlier count of the rival divided by that of the answer. Below 0.2 the rival is refuted.
    pub inlier_ratio: f64,
    /// Fraction of the points that contradict the rival and not the answer, less twice the fraction that contradicts the answer and not
    /// the rival; at least 0. Above 0.04 the rival is refuted.
    pub contradicting_fraction: f64,
}

impl NotRefuted {
    /// The word used in documents: `explains_as_much`, `as_many_matches` or `no_contradicting_points`.
    pub const fn code(&self) -> &'static str {
        match self.closest {
            RefutationTest::ExplainsAsMuch => "explains_as_much",
            RefutationTest::AsManyMatches => "as_many_matches",
            RefutationTest::NoContradictingPoints => "no_contradicting_points",
        }
    }
}

impl fmt::Display for NotRefuted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it explains {} as much as the answer (below {} refutes it), has {} as many inliers (below {}), \
             and {:.1} % of the points contradict it alone (above {})",
            Percent(self.explained_ratio),
            Percent(limits::RIVAL_EXPLAINED),
            Percent(self.inlier_ratio),
            Percent(limits::RIVAL_INLIERS),
            100.0 * self.contradicting_fraction,
            Percent(limits::TELLING_FRACTION)
        )
    }
}

/// A fraction shown as a whole percentage.
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} %", 100.0 * self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_give_the_decisive_number_and_its_limit() {
        let said = |doubt: Doubt| doubt.to_string();
        assert_eq!(
            said(Doubt::OnlyPlanes { off_plane_fraction: 0.025 }),
            "only large planes align; just 2.5 % of the points match elsewhere, too few to identify the place"
        );
        assert_eq!(
            said(Doubt::PoorFit { residual_voxels: 0.41, normal_agreement: 0.55 }),
            "the surfaces do not fit: they are 0.41 voxels apart (limit 0.35), and 55 % of the normals agree (at least 60 %)"
        );
        let chance = said(Doubt::Chance { log10_nfa: -2.34 });
        assert!(chance.contains("10^-2.3 false alarms") && chance.contains("10^-6"), "{chance}");
        assert!(said(Doubt::Ambiguous { score_ratio: 0.87 }).starts_with("another pose fits 87 % as well"));
        assert!(
            said(Doubt::Ambiguous { score_ratio: 1.3 }).starts_with("another pose fits at least as well")
        );
    }

    #[test]
    fn what_kept_a_rival_names_all_three_tests() {
        let kept = NotRefuted {
            closest: RefutationTest::AsManyMatches,
            explained_ratio: 0.92,
            inlier_ratio: 0.35,
            contradicting_fraction: 0.012,
        };
        assert_eq!(kept.code(), "as_many_matches");
        assert_eq!(
            kept.to_string(),
            "it explains 92 % as much as the answer (below 40 % refutes it), has 35 % as many inliers (below 20 %), \
             and 1.2 % of the points contradict it alone (above 4 %)"
        );
    }
}
