//! What is long and alike along its length: corridors, tunnels, stairs, facades.

use std::f64::consts::FRAC_PI_2;

use pcr99::random::Random;

use super::super::{Scans, Sensor, Solid, between, families::house_front, scans};
use super::{Kind, repeating};

/// Boxes at irregular places along both walls.
fn boxes(random: &mut Random, count: usize, wall: f64, floor: f64) -> Vec<Solid> {
    let mut solids = Vec::new();
    for _ in 0..count {
        let (x, side) = (between(random, -20.0, 20.0), if random.below(2) == 0 { -1.0 } else { 1.0 });
        let (long, deep, tall) =
            (between(random, 0.2, 1.0), between(random, 0.1, 0.4), between(random, 0.3, 1.6));
        let z = floor + if random.below(3) == 0 { between(random, 0.5, 1.2) } else { 0.0 };
        let (a, b) = (side * wall, side * (wall - deep));
        solids.push(Solid::block([x, a.min(b), z], [x + long, a.max(b), z + tall]));
    }
    solids
}

/// Two places on the axis of a passage.
fn along(random: &mut Random, apart: [f64; 2], width: f64, up: [f64; 2]) -> [[f64; 3]; 2] {
    let apart = between(random, apart[0], apart[1]);
    [-0.5 * apart, 0.5 * apart].map(|x| [x, 0.1 * width * random.gaussian(), between(random, up[0], up[1])])
}

/// A corridor with bare walls, or with doors at equal distances and things along the walls.
pub(super) fn corridor(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let (half, tall) = (between(&mut random, 0.8, 1.4), between(&mut random, 2.3, 3.0));
    let step = between(&mut random, 2.0, 4.0);
    let (count, noise) = (12 + random.below(12), between(&mut random, 0.003, 0.01));
    let build = |random: &mut Random| {
        let mut scene = vec![Solid::block([-40.0, -half, 0.0], [40.0, half, tall])];
        if kind != Kind::Equal {
            for k in -8..8 {
                let x = f64::from(k) * step;
                for side in [-half, half] {
                    scene.push(Solid::block([x, side - 0.08, 0.0], [x + 0.9, side + 0.08, 2.0]));
                }
            }
            scene.extend(boxes(random, count, half, 0.0));
        }
        scene
    };
    let sensors =
        along(&mut random, [1.5, 4.0], half, [1.2, 1.7]).map(|at| Sensor::all_round(at, 0.8, 9.0, noise));
    repeating(seed, kind, &mut random, step, build, sensors)
}

/// A round tunnel with a floor, smooth or with ribs at equal distances; cabinets along the walls where places differ.
pub(super) fn tunnel(seed: u64, kind: Kind, has_ribs: bool) -> Scans {
    let mut random = Random::new(seed);
    let radius = between(&mut random, 1.8, 3.5);
    let step = between(&mut random, 1.5, 3.5);
    let (deep, wide) = (between(&mut random, 0.1, 0.25), between(&mut random, 0.15, 0.4));
    let floor = -between(&mut random, 0.4, 0.7) * radius;
    let (count, noise) = (12 + random.below(12), between(&mut random, 0.003, 0.01));
    let build = |random: &mut Random| {
        let mut scene = vec![
            Solid::Tunnel { radius, reach: [-60.0, 60.0] },
            Solid::block([-60.0, -5.0, floor - 2.0], [60.0, 5.0, floor]),
        ];
        if has_ribs {
            scene.extend((-10..10).map(|k| {
                let x = f64::from(k) * step;
                Solid::Tunnel { radius: radius - deep, reach: [x, x + wide] }
            }));
        }
        if kind != Kind::Equal {
            scene.extend(boxes(random, count, (radius * radius - floor * floor).sqrt(), floor));
        }
        scene
    };
    let sensors = along(&mut random, [2.0, 5.0], radius, [floor + 1.3, floor + 1.7])
        .map(|at| Sensor::all_round(at, 0.8, 12.0, noise));
    repeating(seed, kind, &mut random, step, build, sensors)
}

/// Stairs between two walls. All in view are equal steps, or the flight ends at landings.
pub(super) fn stairs(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let (tread, rise) = (between(&mut random, 0.25, 0.32), between(&mut random, 0.15, 0.19));
    let half = between(&mut random, 0.6, 1.1);
    let steps = if kind == Kind::Equal { 60 } else { 8 + random.below(5) as i32 };
    let noise = between(&mut random, 0.002, 0.006);
    let (low, high) = (-steps / 2, steps - steps / 2);
    let build = |_: &mut Random| {
        let mut scene = vec![
            Solid::block([-20.0, -half - 0.2, -20.0], [20.0, -half, 20.0]),
            Solid::block([-20.0, half, -20.0], [20.0, half + 0.2, 20.0]),
            Solid::block([-20.0, -half, -20.0], [20.0, half, f64::from(low) * rise]),
        ];
        scene.extend((low..high).map(|k| {
            let (x, z) = (f64::from(k) * tread, f64::from(k + 1) * rise);
            Solid::block([x, -half, z - 20.0], [20.0, half, z])
        }));
        scene
    };
    let shift = f64::from(1 + random.below(3) as u32) + between(&mut random, -0.2, 0.2);
    let range = if kind == Kind::Equal { 3.2 } else { 6.0 };
    let sensors = [0.0, shift].map(|k| {
        let (x, y) = (k * tread, 0.15 * half * random.gaussian());
        let at = [x, y, k * rise + between(&mut random, 1.3, 1.7)];
        Sensor::all_round(at, 0.8, range, noise)
    });
    repeating(seed, kind, &mut random, tread.hypot(rise), build, sensors)
}

/// A view of a facade from the street.
fn front(x: f64, away: f64, noise: f64) -> Sensor {
    let camera = Sensor::camera([x, -away, 1.6], FRAC_PI_2, 0.95, [-0.35, 0.8], noise);
    Sensor { steps: [0.008, 0.008], range: [0.5, 16.0], ..camera }
}

/// Length of the house that `house_front` made.
fn length(house: &[Solid]) -> f64 {
    match house[1] {
        Solid::Block { half, .. } => 2.0 * half[0],
        _ => unreachable!("the house is its second solid"),
    }
}

/// A facade with equal windows and balconies here and there; the views share a third to a half.
pub(super) fn facade_shifted(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let house = house_front(&mut random, 14, true);
    let (away, noise) = (between(&mut random, 7.0, 10.0), between(&mut random, 0.004, 0.015));
    let x = between(&mut random, 10.0, 13.0);
    let sensors = [front(x, away, noise), front(x + between(&mut random, 10.0, 14.0), away, noise)];
    let period = length(&house) / 14.0;
    repeating(seed, Kind::Same, &mut random, period, |_| house.clone(), sensors)
}

/// A facade with equal windows. One view shows its left end, the other one its right end: the number of windows between them is open.
pub(super) fn facade_ends(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let house = house_front(&mut random, 8, false);
    let (away, noise) = (between(&mut random, 7.0, 10.0), between(&mut random, 0.004, 0.015));
    let end = between(&mut random, 0.25, 0.3) * length(&house);
    let sensors = [front(end, away, noise), front(length(&house) - end, away, noise)];
    let source = sensors[0].scan(&house, &mut random);
    let target = sensors[1].scan(&house, &mut random);
    let pair = scans(seed, &source, target, true, Some(sensors.map(|sensor| sensor.at)));
    Scans { is_ambiguous: true, ..pair }
}
