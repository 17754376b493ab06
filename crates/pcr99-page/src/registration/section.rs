//! What the template of a registration asks for.

use super::{
    data::{self, Frame, Row},
    view::{MOST_INLIERS, Pose, RegistrationView, false_alarms},
    votes::VoteLayer,
};
use crate::{
    numbers::{duration, grouped, percent, shown},
    status::Mark,
};

/// Shown where there is no value.
const NONE: &str = "–";

/// One registration on a page.
pub(super) struct Section<'a> {
    pub(super) place: usize,
    pub(super) view: &'a RegistrationView,
    pub(super) mark: Mark,
    /// JSON for the script.
    pub(super) data: String,
    frame: Frame,
}

/// A 3-D view.
pub(super) struct Panel {
    pub(super) class: &'static str,
    pub(super) name: &'static str,
    pub(super) what: &'static str,
}

/// A candidate in words.
pub(super) struct PoseText {
    pub(super) place: usize,
    /// Beside the switch.
    pub(super) short: String,
    /// Name of the switch, for those who cannot see it.
    pub(super) label: String,
    /// In the table.
    pub(super) name: String,
    pub(super) inliers: String,
    pub(super) false_alarms: String,
    pub(super) overlap: String,
    pub(super) scale: String,
    pub(super) rotated: String,
}

/// Times in words.
pub(super) struct Times {
    pub(super) total: String,
    /// Name, time, and the length of the bar in percent.
    pub(super) stages: Vec<(String, String, String)>,
}

impl<'a> Section<'a> {
    pub(super) fn new(place: usize, view: &'a RegistrationView) -> Self {
        let frame = Frame::of(view);
        let data = data::json(view, &frame);
        Self { place, view, mark: Mark::of(view.status), data, frame }
    }

    pub(super) fn has_controls(&self) -> bool {
        self.view.has_points || self.view.poses.len() > 1
    }

    /// Whether a section through both clouds is drawn. Matched points form no surface.
    pub(super) fn has_cut(&self) -> bool {
        self.view.has_points && !self.view.are_matches && !self.view.poses.is_empty()
    }

    pub(super) fn layers(&self) -> &'static [&'static str] {
        if self.view.lines.total > 0 {
            &["source", "target", "inliers", "outliers"]
        } else {
            &["source", "target"]
        }
    }

    /// Layers of votes: name, meaning, number of points, and whether it is on at first.
    pub(super) fn votes(&self) -> Vec<(&'static str, &'static str, String, bool)> {
        let told =
            |layer: &VoteLayer| (layer.vote.as_str(), layer.meaning(), grouped(layer.count()), layer.is_on);
        self.view.votes.iter().map(told).collect()
    }

    /// The poses that fit as well as the answer: numbers of candidates and how they relate to it; then the motions by any amount.
    pub(super) fn equivalent(&self) -> Vec<(String, String)> {
        let poses = self.view.poses.iter().enumerate().filter_map(|(place, pose)| {
            let relation = pose.relation.clone()?;
            Some(((place + 1).to_string(), relation))
        });
        let free = self.view.free_motions.iter().map(|motion| (String::new(), motion.clone()));
        poses.chain(free).collect()
    }

    pub(super) fn panels(&self) -> Vec<Panel> {
        let what = if self.view.are_matches { "the matches as given" } else { "source and target as given" };
        let mut panels = vec![Panel { class: "before", name: "Before", what }];
        if !self.view.poses.is_empty() {
            let name = if self.view.is_registered() { "After" } else { "After the best candidate" };
            panels.push(Panel { class: "after", name, what: "the source moved onto the target" });
        }
        panels
    }

    /// How much of the data is drawn, and where.
    pub(super) fn caption(&self) -> String {
        let view = self.view;
        let mut parts = Vec::new();
        let thinned: Vec<String> = view
            .clouds
            .iter()
            .zip(["source", "target"])
            .filter(|(cloud, _)| cloud.points.len() < cloud.total)
            .map(|(cloud, name)| {
                format!("{} of {} {name} points", grouped(cloud.points.len()), grouped(cloud.total))
            })
            .collect();
        if !thinned.is_empty() {
            parts.push(format!("The views show a random sample: {}.", thinned.join(" and ")));
        }
        let [outliers, drawn] = view.lines.outliers;
        if drawn < outliers {
            parts.push(format!("{} of {} outliers are drawn.", grouped(drawn), grouped(outliers)));
        }
        let inliers = view.lines.total - outliers;
        if inliers > MOST_INLIERS {
            parts.push(format!("{} of {} inliers are drawn.", grouped(MOST_INLIERS), grouped(inliers)));
        }
        if let Some(apart) = self.frame.apart {
            parts.push(format!(
                "Before registration the clouds are {} apart; they are drawn closer.",
                shown(apart)
            ));
        }
        if !view.votes.is_empty() {
            let mut text = "Votes are those of points of both clouds on the ".to_owned();
            text += if view.is_registered() { "answer" } else { "best candidate" };
            text += "; they are drawn after registration.";
            if view.place.is_some() {
                text += " An arrow marks where most of the votes are that raised the doubt.";
            }
            parts.push(text);
        }
        if view.are_matches {
            parts.push(
                "Side by side, the source is drawn beside the target and not at its own place.".to_owned(),
            );
        }
        parts.join(" ")
    }

    /// The transform of the answer in every notation.
    pub(super) fn transform(&self) -> Option<Vec<Row>> {
        self.view.poses.first().map(data::rows)
    }

    pub(super) fn threshold(&self) -> Option<String> {
        self.view.threshold.map(shown)
    }

    pub(super) fn with_overlap(&self) -> bool {
        self.view.poses.iter().any(|pose| pose.overlap.is_some())
    }

    pub(super) fn poses(&self) -> Vec<PoseText> {
        self.view.poses.iter().enumerate().map(|(place, pose)| self.pose(place, pose)).collect()
    }

    fn pose(&self, place: usize, pose: &Pose) -> PoseText {
        let number = place + 1;
        let note = match place {
            0 if self.view.is_registered() => Some("the answer"),
            0 => Some("best candidate"),
            _ if pose.relation.is_some() => Some("fits as well"),
            _ if pose.is_rival => Some("rival"),
            _ => None,
        };
        let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
        let overlap = |[source, target]: [f64; 2]| format!("{} / {}", percent(source), percent(target));
        PoseText {
            place,
            short: match (place, note) {
                (0, Some(note)) => note.to_owned(),
                (_, Some(note)) => format!("{number} ({note})"),
                (_, None) => number.to_string(),
            },
            label: match (place, note) {
                (0, Some(note)) => note.to_owned(),
                (_, Some(note)) => format!("candidate {number}, {note}"),
                (_, None) => format!("candidate {number}"),
            },
            name: note.map_or(number.to_string(), |note| format!("{number}, {note}")),
            inliers: grouped(pose.inlier_count),
            false_alarms: or_none(pose.log10_nfa.map(false_alarms)),
            overlap: or_none(pose.overlap.map(overlap)),
            scale: shown(pose.model.scale()),
            rotated: or_none((place > 0).then(|| format!("{:.1}°", pose.rotated_deg))),
        }
    }

    pub(super) fn about_candidates(&self) -> &'static str {
        if self.view.poses.len() == 1 {
            "No other transform was found that matches support."
        } else {
            "Other transforms that some matches support. “Rotated by” is the angle to the answer's rotation. Many expected false \
             alarms mean that chance alone explains the candidate."
        }
    }

    pub(super) fn times(&self) -> Option<Times> {
        let seconds = self.view.seconds.as_ref()?;
        let longest = seconds.stages().iter().map(|(_, time)| *time).fold(f64::MIN_POSITIVE, f64::max);
        let stage = |(name, time): &(String, f64)| {
            let share = 100.0 * (time / longest).clamp(0.0, 1.0);
            (name.clone(), duration(*time), format!("{share:.1}"))
        };
        Some(Times { total: duration(seconds.total()), stages: seconds.stages().iter().map(stage).collect() })
    }
}
