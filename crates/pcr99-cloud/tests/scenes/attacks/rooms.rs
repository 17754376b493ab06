//! Rooms that tempt: mirror images, moved furniture, equal walls.

use pcr99::random::Random;

use super::super::{
    Scans, Sensor, Solid, between,
    families::{furniture, place, room},
    scans,
};

/// Scanner on a tripod, with noise of 2 to 10 mm.
fn tripod(at: [f64; 3], random: &mut Random) -> Sensor {
    Sensor::all_round(at, 0.8, 50.0, between(random, 0.002, 0.01))
}

/// Two rooms of one size, each scanned from its half.
fn two_rooms(seed: u64, random: &mut Random, size: [f64; 3], scenes: [&[Solid]; 2], same: bool) -> Scans {
    let at = place(random, scenes[0], size, [0.15, 0.15], [0.45, 0.85]);
    let source = tripod(at, random).scan(scenes[0], random);
    let to = place(random, scenes[1], size, [0.55, 0.15], [0.85, 0.85]);
    let target = tripod(to, random).scan(scenes[1], random);
    scans(seed, &source, target, same, Some([at, to]))
}

fn mirrored(scene: &[Solid], size: [f64; 3]) -> Vec<Solid> {
    scene.iter().map(|solid| solid.mirrored(0.5 * size[0])).collect()
}

/// A room and its mirror image.
pub(super) fn mirrored_room(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let (size, scene) = room(&mut random);
    let image = mirrored(&scene, size);
    two_rooms(seed, &mut random, size, [&scene, &image], false)
}

/// Part of a room, and the same part of its mirror image.
pub(super) fn mirrored_view(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let (size, scene) = room(&mut random);
    let heading = between(&mut random, 0.2, 1.3);
    let mut look = |scene: &[Solid], low: [f64; 2], high: [f64; 2], heading: f64| {
        let at = place(&mut random, scene, size, low, high);
        let half_width = between(&mut random, 0.6, 0.9);
        let noise = between(&mut random, 0.002, 0.01);
        let turned = heading + between(&mut random, -0.3, 0.3);
        (at, Sensor::camera(at, turned, half_width, [-0.7, 0.5], noise).scan(scene, &mut random))
    };
    let (at, source) = look(&scene, [0.1, 0.1], [0.4, 0.5], heading);
    let image = mirrored(&scene, size);
    let (to, target) = look(&image, [0.6, 0.1], [0.9, 0.5], std::f64::consts::PI - heading);
    scans(seed, &source, target, false, Some([at, to]))
}

/// A room without furniture, whose walls are not symmetric: a shaft in one corner, a door, a radiator and a beam.
fn walls(random: &mut Random) -> ([f64; 3], Vec<Solid>) {
    let [x, y, z] = [between(random, 4.0, 8.0), between(random, 3.0, 5.5), between(random, 2.4, 3.0)];
    let shaft = [between(random, 0.3, 0.9), between(random, 0.3, 0.9)];
    let door = between(random, 0.1, 0.4) * x;
    let radiator = between(random, 0.5, 0.7) * y;
    let beam = between(random, 0.55, 0.8) * x;
    let solids = vec![
        Solid::block([0.0; 3], [x, y, z]),
        Solid::block([x - shaft[0], y - shaft[1], 0.0], [x, y, z]),
        Solid::block([door, y - 0.06, 0.0], [door + 0.9, y, 2.05]),
        Solid::block([0.0, radiator - 0.5, 0.1], [0.12, radiator + 0.5, 0.7]),
        Solid::block([beam, 0.0, z - 0.25], [beam + 0.3, y, z]),
    ];
    ([x, y, z], solids)
}

/// Volume of the box around a piece of furniture.
fn bulk(solid: &Solid) -> f64 {
    match solid {
        Solid::Block { half, .. } => 8.0 * half[0] * half[1] * half[2],
        Solid::Ball { radius, .. } => 8.0 * radius.powi(3),
        Solid::Post { radius, height, .. } => 4.0 * radius * radius * height,
        Solid::Ground(_) | Solid::Tunnel { .. } => 0.0,
    }
}

/// Horizontal position of a piece of furniture.
fn position(solid: &Solid) -> [f64; 2] {
    match solid {
        Solid::Block { center: c, .. } | Solid::Ball { center: c, .. } | Solid::Post { foot: c, .. } => {
            [c[0], c[1]]
        }
        Solid::Ground(_) | Solid::Tunnel { .. } => [0.0; 2],
    }
}

/// Two scans of one room; of each two pieces of furniture that are next in bulk, the smaller one has another position in the second scan.
fn half(
    seed: u64,
    random: &mut Random,
    (size, walls): ([f64; 3], Vec<Solid>),
    position_after: impl Fn(&mut Random, &Solid) -> [f64; 2],
) -> Scans {
    let mut pieces = furniture(random, size);
    pieces.sort_by(|a, b| bulk(b).total_cmp(&bulk(a)));
    let before = [walls.clone(), pieces.clone()].concat();
    let mut after = walls;
    for (rank, piece) in pieces.into_iter().enumerate() {
        if rank % 2 == 0 {
            after.push(piece);
        } else {
            let (from, to) = (position(&piece), position_after(random, &piece));
            after.push(piece.shifted([to[0] - from[0], to[1] - from[1], 0.0]));
        }
    }
    two_rooms(seed, random, size, [&before, &after], true)
}

/// Half of the furniture is elsewhere in the second scan.
pub(super) fn half_moved(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let (size, walls) = walls(&mut random);
    let elsewhere = |random: &mut Random, _: &Solid| {
        [between(random, 0.1, 0.9) * size[0], between(random, 0.1, 0.9) * size[1]]
    };
    half(seed, &mut random, (size, walls), elsewhere)
}

/// Half of the furniture is turned by 180° about the centre of the room. The walls are not symmetric, or a box that looks the same after the
/// turn; there the larger pieces decide, which stay.
pub(super) fn half_turned(seed: u64, has_marked_walls: bool) -> Scans {
    let mut random = Random::new(seed);
    let (size, mut walls) = walls(&mut random);
    if !has_marked_walls {
        walls.truncate(1);
    }
    let opposite = |_: &mut Random, piece: &Solid| {
        let [x, y] = position(piece);
        [size[0] - x, size[1] - y]
    };
    half(seed, &mut random, (size, walls), opposite)
}

/// What two rooms with equal walls have in them.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Content {
    Other,
    /// A bed and a wardrobe at the same places, and other things.
    SameBed,
    /// The second room is built as the mirror image of the first, with the bed and the wardrobe; other things are not mirrored.
    Mirrored,
}

/// Two rooms with the same walls and other furniture.
pub(super) fn equal_rooms(seed: u64, content: Content) -> Scans {
    let mut random = Random::new(seed);
    let (size, mut built) = walls(&mut random);
    if content != Content::Other {
        let bed = [between(&mut random, 0.45, 0.8), 1.0, between(&mut random, 0.2, 0.3)];
        let y = between(&mut random, 1.0, size[1] - 1.2);
        built.push(Solid::block(
            [size[0] - 2.0 * bed[1], y - bed[0], 0.0],
            [size[0], y + bed[0], 2.0 * bed[2]],
        ));
        let wide = between(&mut random, 0.8, 1.6);
        built.push(Solid::block([0.3, 0.0, 0.0], [0.3 + wide, 0.6, 2.0]));
    }
    let mut furnished = |built: &[Solid]| [built, &furniture(&mut random, size)].concat();
    let first = furnished(&built);
    let second =
        if content == Content::Mirrored { furnished(&mirrored(&built, size)) } else { furnished(&built) };
    two_rooms(seed, &mut random, size, [&first, &second], false)
}

/// Two floors of an office: the same walls and pillars, the same kind of desks and cupboards at other places.
pub(super) fn equal_floors(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let size = [between(&mut random, 13.0, 20.0), between(&mut random, 9.0, 13.0), 2.8];
    let core = [between(&mut random, 2.0, 4.0), between(&mut random, 1.5, 3.0)];
    let start = [between(&mut random, 0.3, 0.55) * size[0], between(&mut random, 0.3, 0.6) * size[1]];
    let mut built = vec![
        Solid::block([0.0; 3], size),
        Solid::block([start[0], start[1], 0.0], [start[0] + core[0], start[1] + core[1], size[2]]),
    ];
    let bay = between(&mut random, 3.5, 5.0);
    for k in 1..(size[0] / bay) as u32 + 1 {
        for y in [0.0, size[1]] {
            let x = f64::from(k) * bay;
            built.push(Solid::block([x - 0.2, y - 0.25, 0.0], [x + 0.2, y + 0.25, size[2]]));
        }
    }
    let count = 8 + random.below(8);
    let furnished = |random: &mut Random| {
        let mut scene = built.clone();
        for _ in 0..count {
            let [x, y, _] = place(random, &scene[..2], size, [0.08, 0.1], [0.92, 0.9]);
            let (half, up) =
                if random.below(2) == 0 { ([0.8, 0.4], [0.68, 0.74]) } else { ([0.6, 0.22], [0.0, 1.6]) };
            let turn = if random.below(2) == 0 { [1.0, 0.0] } else { [0.0, 1.0] };
            let (middle, tall) = (0.5 * (up[0] + up[1]), 0.5 * (up[1] - up[0]));
            scene.push(Solid::Block { center: [x, y, middle], half: [half[0], half[1], tall], turn });
        }
        scene
    };
    let (first, second) = (furnished(&mut random), furnished(&mut random));
    two_rooms(seed, &mut random, size, [&first, &second], false)
}
