//! Families of scenes, with one member for each seed.

use std::f64::consts::TAU;

use pcr99::{Similarity, random::Random};

use super::{Points, Scans, Sensor, Solid, between, fused, height, scans};

/// Name of a family, and the function that makes its member with a seed.
pub type Family = (&'static str, fn(u64) -> Scans);

/// All families.
pub const FAMILIES: [Family; 29] = [
    ("room", |seed| room_scans(seed, true)),
    ("room, others", |seed| room_scans(seed, false)),
    ("room view", |seed| room_views(seed, true)),
    ("room view, others", |seed| room_views(seed, false)),
    ("room fused", |seed| room_fused(seed, true)),
    ("room fused, others", |seed| room_fused(seed, false)),
    ("object", |seed| objects(seed, true)),
    ("object, others", |seed| objects(seed, false)),
    ("object in room", object_in_room),
    ("facade plain", |seed| facade(seed, Facade::Plain)),
    ("facade marked", |seed| facade(seed, Facade::Marked)),
    ("facade, others", |seed| facade(seed, Facade::Others)),
    ("corridor", corridor),
    ("terrain", |seed| terrain(seed, true)),
    ("terrain, others", |seed| terrain(seed, false)),
    ("street 2 m", |seed| street(seed, Some(2.0))),
    ("street 10 m", |seed| street(seed, Some(10.0))),
    ("street 25 m", |seed| street(seed, Some(25.0))),
    ("street, others", |seed| street(seed, None)),
    ("wood 3 m", |seed| wood(seed, Some(3.0))),
    ("wood, others", |seed| wood(seed, None)),
    ("yard", |seed| yard(seed, true)),
    ("yard, others", |seed| yard(seed, false)),
    ("people moved", people_moved),
    ("cluttered", cluttered),
    ("depth camera", |seed| depth_cameras(seed, true)),
    ("depth cam., others", |seed| depth_cameras(seed, false)),
    ("street, 16 rings", few_rings),
    ("yard, 1 in 20", uneven),
];

/// Width, depth and height of a room, and the room with its furniture.
pub(super) fn room(random: &mut Random) -> ([f64; 3], Vec<Solid>) {
    let size = [between(random, 4.0, 9.0), between(random, 3.0, 6.0), between(random, 2.4, 3.0)];
    let mut solids = vec![Solid::block([0.0; 3], size)];
    solids.extend(furniture(random, size));
    (size, solids)
}

/// Boxes, posts and balls in a room.
pub(super) fn furniture(random: &mut Random, size: [f64; 3]) -> Vec<Solid> {
    let mut solids = Vec::new();
    let along = |random: &mut Random, half: [f64; 2]| {
        // Most furniture stands against a wall.
        let (x, y) =
            (between(random, half[0], size[0] - half[0]), between(random, half[1], size[1] - half[1]));
        match random.below(6) {
            0 => [half[0] + 0.02, y],
            1 => [size[0] - half[0] - 0.02, y],
            2 => [x, half[1] + 0.02],
            3 => [x, size[1] - half[1] - 0.02],
            _ => [x, y],
        }
    };
    for _ in 0..8 + random.below(6) {
        let half = [between(random, 0.1, 0.6), between(random, 0.1, 0.5), between(random, 0.1, 0.7)];
        let [x, y] = along(random, [half[0], half[1]]);
        let lifted = if random.below(4) == 0 { between(random, 0.0, 1.0) } else { 0.0 };
        let center = [x, y, (half[2] + lifted).min(size[2] - half[2] - 0.05)];
        let angle: f64 = if random.below(3) == 0 { between(random, 0.0, 3.0) } else { 0.0 };
        solids.push(Solid::Block { center, half, turn: [angle.cos(), angle.sin()] });
    }
    for _ in 0..random.below(4) {
        let radius = between(random, 0.08, 0.3);
        let [x, y] = along(random, [radius, radius]);
        solids.push(Solid::Post { foot: [x, y, 0.0], radius, height: between(random, 0.4, 1.9) });
    }
    for _ in 0..random.below(3) {
        let radius = between(random, 0.1, 0.35);
        let [x, y] = along(random, [radius, radius]);
        solids.push(Solid::Ball { center: [x, y, between(random, radius, 1.8)], radius });
    }
    solids
}

/// A free place at eye height in a part of the room.
pub(super) fn place(
    random: &mut Random,
    scene: &[Solid],
    size: [f64; 3],
    low: [f64; 2],
    high: [f64; 2],
) -> [f64; 3] {
    let free = |at: [f64; 3]| {
        scene[1..].iter().all(|solid| match solid {
            Solid::Block { center, half, .. } => {
                (at[0] - center[0]).hypot(at[1] - center[1]) > half[0].hypot(half[1]) + 0.15
            }
            Solid::Ball { center: c, radius } | Solid::Post { foot: c, radius, .. } => {
                (at[0] - c[0]).hypot(at[1] - c[1]) > radius + 0.15
            }
            Solid::Ground(_) | Solid::Tunnel { .. } => true,
        })
    };
    let mut at = [0.0; 3];
    for _ in 0..50 {
        let share = |k: usize, random: &mut Random| size[k] * between(random, low[k], high[k]);
        at = [share(0, random), share(1, random), between(random, 1.2, 1.7)];
        if free(at) {
            break;
        }
    }
    at
}

fn room_scans(seed: u64, same: bool) -> Scans {
    let mut random = Random::new(seed);
    let (size, scene) = room(&mut random);
    let at = place(&mut random, &scene, size, [0.15, 0.15], [0.45, 0.85]);
    let source = Sensor::all_round(at, 0.8, 50.0, 0.005).scan(&scene, &mut random);
    let (size, scene) = if same { (size, scene) } else { room(&mut random) };
    let to = place(&mut random, &scene, size, [0.55, 0.15], [0.85, 0.85]);
    let target = Sensor::all_round(to, 0.8, 50.0, 0.005).scan(&scene, &mut random);
    scans(seed, &source, target, same, Some([at, to]))
}

/// People move between the two scans.
fn people_moved(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let (size, scene) = room(&mut random);
    let with_people = |random: &mut Random| {
        let mut peopled = scene.clone();
        for _ in 0..2 {
            let [x, y, _] = place(random, &scene, size, [0.1, 0.1], [0.9, 0.9]);
            peopled.push(Solid::Post { foot: [x, y, 0.0], radius: 0.22, height: 1.7 });
        }
        peopled
    };
    let look = |random: &mut Random, low: [f64; 2], high: [f64; 2]| {
        let peopled = with_people(random);
        let at = place(random, &peopled, size, low, high);
        (at, Sensor::all_round(at, 0.8, 50.0, 0.005).scan(&peopled, random))
    };
    let (at, source) = look(&mut random, [0.15, 0.15], [0.45, 0.85]);
    let (to, target) = look(&mut random, [0.55, 0.15], [0.85, 0.85]);
    scans(seed, &source, target, true, Some([at, to]))
}

/// A sixth of the points are uniform in the room.
fn cluttered(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let (size, scene) = room(&mut random);
    let look = |random: &mut Random, low: [f64; 2], high: [f64; 2]| {
        let at = place(random, &scene, size, low, high);
        let mut points = Sensor::all_round(at, 0.8, 50.0, 0.005).scan(&scene, random);
        for _ in 0..points.len() / 5 {
            points.push(std::array::from_fn(|k| size[k] * random.uniform()));
        }
        points
    };
    let source = look(&mut random, [0.15, 0.15], [0.45, 0.85]);
    let target = look(&mut random, [0.55, 0.15], [0.85, 0.85]);
    scans(seed, &source, target, true, None)
}

/// One view each, with noise that grows with the square of the distance: 2.5 mm at 1 m, 4 cm at 4 m.
fn depth_cameras(seed: u64, same: bool) -> Scans {
    let mut random = Random::new(seed);
    let (size, scene) = room(&mut random);
    let look = |random: &mut Random, scene: &[Solid], size: [f64; 3], heading: f64| {
        let at = place(random, scene, size, [0.1, 0.1], [0.4, 0.4]);
        let camera = Sensor::camera(at, heading, 0.55, [-0.6, 0.3], 0.0);
        (at, Sensor { growing: 0.0025, range: [0.3, 5.0], ..camera }.scan(scene, random))
    };
    let heading = between(&mut random, 0.3, 1.2);
    let (at, source) = look(&mut random, &scene, size, heading);
    let (size, scene) = if same { (size, scene) } else { room(&mut random) };
    let turned = heading + between(&mut random, -0.3, 0.3);
    let (to, target) = look(&mut random, &scene, size, turned);
    scans(seed, &source, target, same, Some([at, to]))
}

fn room_views(seed: u64, same: bool) -> Scans {
    let mut random = Random::new(seed);
    let (size, scene) = room(&mut random);
    let look = |random: &mut Random, scene: &[Solid], size: [f64; 3], heading: f64| {
        let at = place(random, scene, size, [0.1, 0.1], [0.5, 0.5]);
        let half_width = between(random, 0.5, 0.9);
        let camera = Sensor::camera(at, heading, half_width, [-0.7, 0.5], 0.005);
        (at, camera.scan(scene, random))
    };
    let heading = between(&mut random, 0.0, 1.3);
    let (at, source) = look(&mut random, &scene, size, heading);
    let (size, scene) = if same { (size, scene) } else { room(&mut random) };
    let turned = heading + between(&mut random, -0.7, 0.7);
    let (to, target) = look(&mut random, &scene, size, turned);
    scans(seed, &source, target, same, Some([at, to]))
}

/// A depth camera carried about: several views of the same corner, fused.
fn room_fused(seed: u64, same: bool) -> Scans {
    let mut random = Random::new(seed);
    let (size, scene) = room(&mut random);
    let views = |random: &mut Random, scene: &[Solid], size: [f64; 3], heading: f64| {
        let cameras: Vec<Sensor> = (0..4)
            .map(|k| {
                let at = place(random, scene, size, [0.15, 0.15], [0.6, 0.6]);
                let camera = Sensor::camera(at, heading + 0.15 * f64::from(k), 0.5, [-0.6, 0.3], 0.01);
                Sensor { steps: [0.012, 0.012], range: [0.3, 3.5], ..camera }
            })
            .collect();
        fused(&cameras, scene, random)
    };
    let heading = between(&mut random, 0.0, 1.3);
    let source = views(&mut random, &scene, size, heading);
    let (size, scene) = if same { (size, scene) } else { room(&mut random) };
    let turned = heading + between(&mut random, -0.5, 0.5);
    let target = views(&mut random, &scene, size, turned);
    scans(seed, &source, target, same, None)
}

/// An object of several parts that touch.
pub(super) fn thing(random: &mut Random, at: [f64; 3], size: f64) -> Vec<Solid> {
    let mut solids = Vec::new();
    let mut center = at;
    for _ in 0..5 + random.below(3) {
        let r = size * between(random, 0.15, 0.4);
        solids.push(match random.below(3) {
            0 => Solid::Ball { center, radius: r },
            1 => Solid::Post {
                foot: [center[0], center[1], center[2] - r],
                radius: r * between(random, 0.3, 0.8),
                height: 2.0 * r,
            },
            _ => {
                let angle = between(random, 0.0, 3.0);
                let half = std::array::from_fn(|_| r * between(random, 0.4, 1.0));
                Solid::Block { center, half, turn: [angle.cos(), angle.sin()] }
            }
        });
        let step: [f64; 3] = std::array::from_fn(|_| 0.6 * r * random.gaussian());
        center = std::array::from_fn(|k| center[k] + step[k]);
    }
    solids
}

pub(super) fn around(angle: f64, up: f64, distance: f64) -> Sensor {
    let at = [distance * angle.cos(), distance * angle.sin(), up];
    let camera = Sensor::camera(at, angle + std::f64::consts::PI, 0.5, [-0.8, 0.4], 0.002);
    Sensor { steps: [0.006, 0.006], ..camera }
}

fn objects(seed: u64, same: bool) -> Scans {
    let mut random = Random::new(seed);
    let scene = thing(&mut random, [0.0; 3], 1.0);
    let angle = between(&mut random, 0.0, 6.0);
    let first = around(angle, 0.5, 3.0);
    let source = first.scan(&scene, &mut random);
    let scene = if same { scene } else { thing(&mut random, [0.0; 3], 1.0) };
    let second = around(angle + between(&mut random, 0.4, 1.2), between(&mut random, 0.0, 1.0), 3.0);
    let target = second.scan(&scene, &mut random);
    scans(seed, &source, target, same, Some([first.at, second.at]))
}

/// A model of an object, seen from all sides, and a scan of the room that it stands in.
fn object_in_room(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let (size, mut scene) = room(&mut random);
    let model = thing(&mut random, [0.0; 3], 0.5);
    let sensors: Vec<Sensor> = (0..6).map(|k| around(f64::from(k) * 1.05, 0.8, 2.5)).collect();
    let source = fused(&sensors, &model, &mut random);
    let at = place(&mut random, &scene, size, [0.4, 0.4], [0.6, 0.6]);
    let stand = [at[0], at[1], 0.6];
    scene.extend(model.into_iter().map(|solid| solid.shifted(stand)));
    let from = place(&mut random, &scene, size, [0.1, 0.1], [0.3, 0.3]);
    let heading = (stand[1] - from[1]).atan2(stand[0] - from[0]);
    let camera = Sensor::camera(from, heading, 0.5, [-0.8, 0.3], 0.003);
    let target = Sensor { steps: [0.004, 0.004], ..camera }.scan(&scene, &mut random);
    let shift = Similarity::from_translation(stand);
    let mut pair = scans(seed, &source, target, true, None);
    pair.truth = pair.truth.map(|truth| truth.then(&shift));
    pair
}

#[derive(Clone, Copy, PartialEq)]
enum Facade {
    Plain,
    Marked,
    Others,
}

/// A wall with windows in equal rows; marked ones have balconies and a porch here and there.
pub(super) fn house_front(random: &mut Random, columns: u32, marked: bool) -> Vec<Solid> {
    let rows = 4;
    let (wide, tall) = (between(random, 2.4, 3.6), between(random, 2.8, 3.4));
    let (window, sill) = (between(random, 0.9, 1.4), between(random, 0.7, 1.0));
    let lintel = sill + between(random, 1.2, 1.6);
    let length = f64::from(columns) * wide;
    let recess = between(random, 0.15, 0.35);
    let mut solids = vec![
        Solid::block([-30.0, -40.0, -1.0], [length + 30.0, 0.0, 0.0]),
        Solid::block([0.0, recess, 0.0], [length, 10.0, f64::from(rows) * tall]),
    ];
    for column in 0..=columns {
        let x = f64::from(column) * wide;
        let edge = 0.5 * (wide - window);
        let (low, high) = ((x - edge).max(0.0), (x + edge).min(length));
        solids.push(Solid::block([low, 0.0, 0.0], [high, recess, f64::from(rows) * tall]));
    }
    for row in 0..=rows {
        let z = f64::from(row) * tall;
        let (low, high) = ((z - tall + lintel).max(0.0), (z + sill).min(f64::from(rows) * tall));
        solids.push(Solid::block([0.0, 0.0, low], [length, recess, high]));
    }
    if marked {
        for column in 0..columns {
            for row in 1..rows {
                if random.below(4) == 0 {
                    let (x, z) = (f64::from(column) * wide + 0.5 * wide, f64::from(row) * tall);
                    solids.push(Solid::block([x - 0.9, -1.0, z], [x + 0.9, 0.0, z + 1.0]));
                }
            }
        }
        for _ in 0..3 {
            let x = between(random, 3.0, length - 3.0);
            solids.push(Solid::block([x - 1.0, -1.2, 0.0], [x + 1.0, 0.0, 2.6]));
        }
    }
    solids
}

fn facade(seed: u64, kind: Facade) -> Scans {
    let mut random = Random::new(seed);
    let scene = house_front(&mut random, 14, kind != Facade::Plain);
    let first = [between(&mut random, 12.0, 15.0), -between(&mut random, 7.0, 10.0), 1.6];
    let look = |at: [f64; 3], scene: &[Solid], random: &mut Random| {
        let camera = Sensor::camera(at, std::f64::consts::FRAC_PI_2, 0.95, [-0.35, 0.8], 0.01);
        Sensor { steps: [0.008, 0.008], range: [0.5, 16.0], ..camera }.scan(scene, random)
    };
    let source = look(first, &scene, &mut random);
    let scene = if kind == Facade::Others { house_front(&mut random, 14, true) } else { scene };
    let second = [first[0] + between(&mut random, 4.0, 10.0), first[1] + random.gaussian(), 1.7];
    let target = look(second, &scene, &mut random);
    scans(seed, &source, target, kind != Facade::Others, Some([first, second]))
}

/// A corridor with doors and lamps at equal distances.
fn corridor(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let (width, step) = (between(&mut random, 1.8, 2.6), between(&mut random, 2.5, 4.0));
    let mut scene = vec![Solid::block([0.0; 3], [60.0, width, 2.6])];
    for k in 0..(58.0 / step) as u32 {
        let x = 0.7 + f64::from(k) * step;
        for y in [0.0, width] {
            scene.push(Solid::block([x, y - 0.08, 0.0], [x + 0.9, y + 0.08, 2.0]));
        }
        scene.push(Solid::block([x + 1.2, 0.4 * width, 2.5], [x + 1.8, 0.6 * width, 2.6]));
    }
    let (first, second) =
        ([25.0, 0.5 * width, 1.4], [25.0 + between(&mut random, 3.0, 7.0), 0.45 * width, 1.5]);
    let source = Sensor::all_round(first, 0.8, 9.0, 0.008).scan(&scene, &mut random);
    let target = Sensor::all_round(second, 0.8, 9.0, 0.008).scan(&scene, &mut random);
    scans(seed, &source, target, true, Some([first, second]))
}

pub(super) fn hills(random: &mut Random, tallest: f64, length: f64) -> Vec<[f64; 4]> {
    (0..10)
        .map(|_| {
            let wave = TAU / between(random, 0.25 * length, length);
            let way = between(random, 0.0, TAU);
            let height = tallest * 0.5 / (wave * length);
            [height, wave * way.cos(), wave * way.sin(), between(random, 0.0, TAU)]
        })
        .collect()
}

/// Aerial tiles of a landscape with houses.
fn terrain(seed: u64, same: bool) -> Scans {
    let mut random = Random::new(seed);
    let land = |random: &mut Random| {
        let waves = hills(random, 15.0, 120.0);
        let houses: Vec<[f64; 5]> = (0..30)
            .map(|_| {
                let (x, y) = (between(random, 0.0, 400.0), between(random, 0.0, 200.0));
                let (a, b) = (between(random, 4.0, 10.0), between(random, 4.0, 8.0));
                [x, y, a, b, height(&waves, x, y) + between(random, 3.0, 9.0)]
            })
            .collect();
        (waves, houses)
    };
    let tile =
        |random: &mut Random, (waves, houses): &(Vec<[f64; 4]>, Vec<[f64; 5]>), low: f64, high: f64| {
            let point = |_| {
                let (x, y) = (between(random, low, high), between(random, 0.0, 200.0));
                let roof = houses.iter().find(|h| (x - h[0]).abs() < h[2] && (y - h[1]).abs() < h[3]);
                let z = roof.map_or_else(|| height(waves, x, y), |h| h[4]);
                [x, y, z + 0.05 * random.gaussian()]
            };
            (0..40_000).map(point).collect::<Points>()
        };
    let first = land(&mut random);
    let source = tile(&mut random, &first, 0.0, 220.0);
    let second = if same { first } else { land(&mut random) };
    let low = between(&mut random, 80.0, 150.0);
    let target = tile(&mut random, &second, low, low + 220.0);
    scans(seed, &source, target, same, None)
}

/// A road with houses, cars, posts and trees.
fn road(random: &mut Random) -> Vec<Solid> {
    let mut scene = vec![Solid::block([-150.0, -60.0, -1.0], [150.0, 60.0, 0.0])];
    for side in [-1.0, 1.0] {
        let mut x = -120.0;
        while x < 120.0 {
            let long = between(random, 7.0, 22.0);
            if random.below(5) > 0 {
                let (near, deep) = (between(random, 10.0, 17.0), between(random, 6.0, 12.0));
                let (y0, y1) = (side * near, side * (near + deep));
                let tall = between(random, 4.0, 14.0);
                scene.push(Solid::block([x, y0.min(y1), 0.0], [x + long - 1.5, y0.max(y1), tall]));
            }
            x += long;
        }
        for _ in 0..20 {
            let (x, y) = (between(random, -120.0, 120.0), side * between(random, 5.2, 6.4));
            scene.push(Solid::block([x, y - 0.9, 0.25], [x + 4.3, y + 0.9, 0.9]));
            scene.push(Solid::block([x + 1.0, y - 0.8, 0.9], [x + 3.5, y + 0.8, 1.5]));
        }
        for _ in 0..14 {
            let foot = [between(random, -120.0, 120.0), side * between(random, 8.0, 9.5), 0.0];
            scene.push(Solid::Post { foot, radius: between(random, 0.08, 0.25), height: 6.0 });
            if random.below(2) == 0 {
                let radius = between(random, 1.0, 2.2);
                scene.push(Solid::Ball { center: [foot[0], foot[1], 4.5], radius });
            }
        }
    }
    scene
}

fn street(seed: u64, apart: Option<f64>) -> Scans {
    let mut random = Random::new(seed);
    let scene = road(&mut random);
    let (first, second) = ([0.0, -1.5, 1.7], [apart.unwrap_or(0.0), -1.2, 1.75]);
    let source = Sensor::rings(first).scan(&scene, &mut random);
    let scene = if apart.is_some() { scene } else { road(&mut random) };
    let target = Sensor::rings(second).scan(&scene, &mut random);
    scans(seed, &source, target, apart.is_some(), Some([first, second]))
}

/// A LiDAR with few rings: points lie a third of a degree apart along them, and two degrees across.
fn few_rings(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let scene = road(&mut random);
    let (first, second) = ([0.0, -1.5, 1.7], [4.0, -1.2, 1.75]);
    let look = |at, random: &mut Random| Sensor::some_rings(at, 16, [-15.0, 15.0]).scan(&scene, random);
    let source = look(first, &mut random);
    let target = look(second, &mut random);
    scans(seed, &source, target, true, Some([first, second]))
}

/// One of the scans has only one point in twenty.
fn uneven(seed: u64) -> Scans {
    let mut scans = yard(seed, true);
    scans.target = scans.target.into_iter().step_by(20).collect();
    scans
}

/// Tree trunks on a slope.
fn wood(seed: u64, apart: Option<f64>) -> Scans {
    let mut random = Random::new(seed);
    let grow = |random: &mut Random| {
        let waves = hills(random, 3.0, 30.0);
        let mut scene: Vec<Solid> = (0..120)
            .map(|_| {
                let (x, y) = (between(random, -25.0, 25.0), between(random, -25.0, 25.0));
                let foot = [x, y, height(&waves, x, y) - 0.2];
                Solid::Post { foot, radius: between(random, 0.1, 0.4), height: between(random, 4.0, 12.0) }
            })
            .collect();
        scene.insert(0, Solid::Ground(waves.clone()));
        (waves, scene)
    };
    let look = |random: &mut Random, (waves, scene): &(Vec<[f64; 4]>, Vec<Solid>), x: f64| {
        let at = [x, 0.3, height(waves, x, 0.3) + 1.7];
        let sensor = Sensor { elevation: [-0.6, 0.5], ..Sensor::all_round(at, 0.7, 22.0, 0.01) };
        (at, sensor.scan(scene, random))
    };
    let first = grow(&mut random);
    let (at, source) = look(&mut random, &first, 0.0);
    let second = if apart.is_some() { first } else { grow(&mut random) };
    let (to, target) = look(&mut random, &second, apart.unwrap_or(0.0));
    scans(seed, &source, target, apart.is_some(), Some([at, to]))
}

/// Walls, sheds and heaps around a yard, seen by a scanner on a tripod.
fn yard(seed: u64, same: bool) -> Scans {
    let mut random = Random::new(seed);
    let build = |random: &mut Random| {
        let mut scene = vec![Solid::block([-60.0, -60.0, -1.0], [60.0, 60.0, 0.0])];
        for _ in 0..16 {
            let (way, far) = (between(random, 0.0, TAU), between(random, 5.0, 22.0));
            let center = [far * way.cos(), far * way.sin()];
            let half = [between(random, 0.5, 4.0), between(random, 0.3, 3.0), between(random, 0.4, 3.0)];
            let angle = between(random, 0.0, 3.0);
            let center = [center[0], center[1], half[2]];
            scene.push(Solid::Block { center, half, turn: [angle.cos(), angle.sin()] });
        }
        for _ in 0..6 {
            let (way, far) = (between(random, 0.0, TAU), between(random, 4.0, 20.0));
            let radius = between(random, 0.5, 1.5);
            scene.push(Solid::Ball { center: [far * way.cos(), far * way.sin(), 0.3 * radius], radius });
        }
        scene
    };
    let first = build(&mut random);
    let at = [between(&mut random, -1.5, 1.5), between(&mut random, -1.5, 1.5), 1.6];
    let sensor = |at| Sensor { elevation: [-0.9, 0.5], ..Sensor::all_round(at, 0.7, 30.0, 0.01) };
    let source = sensor(at).scan(&first, &mut random);
    let second = if same { first } else { build(&mut random) };
    let to = [at[0] + between(&mut random, 2.0, 5.0), at[1] + random.gaussian(), 1.6];
    let target = sensor(to).scan(&second, &mut random);
    scans(seed, &source, target, same, Some([at, to]))
}
