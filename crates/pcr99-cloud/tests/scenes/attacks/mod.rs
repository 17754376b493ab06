//! Families of scenes that tempt to a wrong pose: mirror images, what repeats itself, what is symmetric, and places that look alike.

mod alike;
mod lattices;
mod objects;
mod passages;
mod rooms;

use pcr99::random::Random;

use super::{Family, Scans, Sensor, Solid, scans};
use rooms::Content;

/// What the two scans of a repeating scene show.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// One place with small irregularities, which decide.
    Same,
    /// One place whose parts are all equal: nothing decides.
    Equal,
    /// Two places of the same make.
    Others,
}

/// All attacks. Those with `others`, `mirrored` or `equal` in their names have no right pose; those with `plain` leave it open.
pub const ATTACKS: [Family; 50] = [
    ("mirrored room", rooms::mirrored_room),
    ("mirrored room view", rooms::mirrored_view),
    ("half moved", rooms::half_moved),
    ("half turned", |seed| rooms::half_turned(seed, true)),
    ("half turned, box", |seed| rooms::half_turned(seed, false)),
    ("equal rooms", |seed| rooms::equal_rooms(seed, Content::Other)),
    ("equal hotel rooms", |seed| rooms::equal_rooms(seed, Content::SameBed)),
    ("mirrored hotel rooms", |seed| rooms::equal_rooms(seed, Content::Mirrored)),
    ("equal floors", rooms::equal_floors),
    ("orchard", |seed| lattices::orchard(seed, Kind::Same)),
    ("orchard plain", |seed| lattices::orchard(seed, Kind::Equal)),
    ("orchard, others", |seed| lattices::orchard(seed, Kind::Others)),
    ("vineyard", |seed| lattices::vineyard(seed, Kind::Same)),
    ("vineyard, others", |seed| lattices::vineyard(seed, Kind::Others)),
    ("plantation", |seed| lattices::plantation(seed, Kind::Same)),
    ("plantation plain", |seed| lattices::plantation(seed, Kind::Equal)),
    ("plantation, others", |seed| lattices::plantation(seed, Kind::Others)),
    ("shelves", |seed| lattices::shelves(seed, Kind::Same)),
    ("shelves plain", |seed| lattices::shelves(seed, Kind::Equal)),
    ("shelves, others", |seed| lattices::shelves(seed, Kind::Others)),
    ("parking", |seed| lattices::parking(seed, Kind::Same)),
    ("parking plain", |seed| lattices::parking(seed, Kind::Equal)),
    ("parking, others", |seed| lattices::parking(seed, Kind::Others)),
    ("corridor marked", |seed| passages::corridor(seed, Kind::Same)),
    ("corridor plain", |seed| passages::corridor(seed, Kind::Equal)),
    ("corridor, others", |seed| passages::corridor(seed, Kind::Others)),
    ("tunnel marked", |seed| passages::tunnel(seed, Kind::Same, true)),
    ("tunnel plain", |seed| passages::tunnel(seed, Kind::Equal, false)),
    ("tunnel plain, ribs", |seed| passages::tunnel(seed, Kind::Equal, true)),
    ("tunnel, others", |seed| passages::tunnel(seed, Kind::Others, true)),
    ("stairs", |seed| passages::stairs(seed, Kind::Same)),
    ("stairs plain", |seed| passages::stairs(seed, Kind::Equal)),
    ("facade shifted", passages::facade_shifted),
    ("facade plain, ends", passages::facade_ends),
    ("cylinder", objects::cylinder),
    ("box", objects::square_box),
    ("table", objects::table),
    ("vase", objects::vase),
    ("cup", objects::cup),
    ("shoe", |seed| objects::shoes(seed, false)),
    ("mirrored shoe", |seed| objects::shoes(seed, true)),
    ("mirrored object", objects::mirrored_object),
    ("terrace", |seed| alike::terrace(seed, Kind::Same)),
    ("terrace, others", |seed| alike::terrace(seed, Kind::Others)),
    ("mirrored terrace", alike::mirrored_terrace),
    ("flat wood", |seed| alike::flat_wood(seed, Kind::Same)),
    ("flat wood, others", |seed| alike::flat_wood(seed, Kind::Others)),
    ("warehouse", |seed| alike::warehouse(seed, Kind::Same)),
    ("warehouse, others", |seed| alike::warehouse(seed, Kind::Others)),
    ("warehouse plain", |seed| alike::warehouse(seed, Kind::Equal)),
];

/// Two scans of a scene that repeats itself after `period`, from two places.
fn repeating(
    seed: u64,
    kind: Kind,
    random: &mut Random,
    period: f64,
    build: impl Fn(&mut Random) -> Vec<Solid>,
    sensors: [Sensor; 2],
) -> Scans {
    let scene = build(random);
    let source = sensors[0].scan(&scene, random);
    let scene = if kind == Kind::Others { build(random) } else { scene };
    let target = sensors[1].scan(&scene, random);
    let viewpoints = sensors.map(|sensor| sensor.at);
    let pair = scans(seed, &source, target, kind != Kind::Others, Some(viewpoints));
    Scans { is_ambiguous: kind == Kind::Equal, period, ..pair }
}
