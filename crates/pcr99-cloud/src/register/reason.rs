//! The reason of a status, for people: the decisive evidence, where it is, and what can be done.

use super::{
    CloudRegistration, Doubt,
    relation::{direction, point},
};

/// Number of poses that a sentence describes.
const DESCRIBED: usize = 3;

/// One sentence on the status of a registration.
pub(super) fn of(found: &CloudRegistration) -> String {
    let Some(doubt) = &found.doubt else {
        return if found.rounds.is_empty() {
            "the refinement converged, the surfaces fit, and no motion is free; no other pose was looked for"
                .to_owned()
        } else {
            "matches, overlap and normals agree, and no other pose fits nearly as well".to_owned()
        };
    };
    let mut text = match doubt {
        Doubt::Ambiguous { .. } if found.poses.len() > 1 || !found.free_motions.is_empty() => {
            ambiguity(found)
        }
        doubt => doubt.to_string(),
    };
    if let Some(place) = &found.place {
        text += &format!(", most of all near {} in the target", point(place.at, found.voxel));
    }
    match remedy(doubt) {
        // Sentences with a remedy of their own have it at the end.
        Some(remedy) if !text.contains("; ") => text + "; " + remedy,
        _ => text,
    }
}

/// What fits as well as the answer.
fn ambiguity(found: &CloudRegistration) -> String {
    let free: Vec<String> = found.free_motions.iter().map(|motion| motion.sentence(found.voxel)).collect();
    let others = found.poses.len().saturating_sub(1);
    let listed = described(found);
    match (free.is_empty(), others) {
        (true, 0) => "another pose fits as well".to_owned(),
        (true, 1) => format!("another pose fits as well: the answer {listed}"),
        (true, _) => format!("{} poses fit equally well: the answer, and the answer {listed}", others + 1),
        (false, 0) => format!("the clouds fit as well after {}", free.join(" and ")),
        (false, _) => {
            format!("the clouds fit as well after {}, and with the answer {listed}", free.join(" and "))
        }
    }
}

/// The other poses by how they relate to the answer.
fn described(found: &CloudRegistration) -> String {
    let relations: Vec<_> = found.poses.iter().filter_map(|pose| pose.relation.as_ref()).collect();
    // Several turns about one axis are one phrase.
    let axis = relations.first().and_then(|relation| relation.turn).map(|turn| direction(turn.axis));
    let is_about_it = |relation: &&super::Relation| {
        let turn = relation.turn.filter(|_| relation.shift == [0.0; 3] && relation.times == 1.0);
        axis.is_some() && turn.map(|turn| direction(turn.axis)) == axis
    };
    let words: Vec<String> = match relations.first() {
        Some(first) if relations.len() > 1 && relations.iter().all(is_about_it) => {
            let angles: Vec<String> = relations.iter().map(|relation| relation.angle()).collect();
            vec![first.to_string().replacen(&first.angle(), &joined(&angles), 1)]
        }
        _ => relations.iter().take(DESCRIBED).map(ToString::to_string).collect(),
    };
    let left = if words.len() == 1 { 0 } else { relations.len() - words.len() };
    match left {
        0 => joined(&words),
        left => format!("{}, and {left} more", words.join("; ")),
    }
}

/// `a, b and c`.
fn joined(words: &[String]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        words => words.concat(),
    }
}

/// What the user can do, where the sentence of the doubt does not say it.
fn remedy(doubt: &Doubt) -> Option<&'static str> {
    Some(match doubt {
        Doubt::Ambiguous { .. } => "choose one, or refine from a rough initial pose",
        Doubt::Conflict { .. } => "if something moved there, remove it; otherwise the pose is wrong",
        Doubt::PoorFit { .. } => "the pose is probably wrong; with noisy clouds, try a coarser voxel",
        Doubt::FreeSpace { .. } => "if something moved there, remove it; otherwise check the viewpoints",
        Doubt::LittleOverlap { .. } => "use clouds that share a larger part of the scene",
        Doubt::Chance { .. } => "use clouds that share more, or try a finer voxel",
        Doubt::Underconstrained { .. } => "use clouds that include surfaces in other directions",
        Doubt::OnlyPlanes { .. } => "include what stands between the walls",
        _ => return None,
    })
}
