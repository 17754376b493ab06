//! Places of the same make: streets of equal houses, woods on flat ground, warehouses.

use pcr99::random::Random;

use super::super::{Scans, Sensor, Solid, between, scans};
use super::{Kind, repeating};

/// Measures that all streets of equal houses in one town share.
#[derive(Clone, Copy)]
struct Town {
    parcel: f64,
    setback: f64,
    eaves: f64,
    porch: f64,
    lamps: f64,
}

impl Town {
    fn new(random: &mut Random) -> Self {
        Self {
            parcel: between(random, 6.0, 12.0),
            setback: between(random, 9.0, 13.0),
            eaves: between(random, 5.0, 8.0),
            porch: between(random, 0.8, 1.5),
            lamps: between(random, 20.0, 30.0),
        }
    }

    /// Equal houses with gaps and porches, lamps at equal distances; cars, trees and hedges anywhere.
    fn street(self, random: &mut Random) -> Vec<Solid> {
        let mut scene = vec![Solid::block([-90.0, -60.0, -1.0], [90.0, 60.0, 0.0])];
        for side in [-1.0, 1.0] {
            let mut add = |x: [f64; 2], y: [f64; 2], z: [f64; 2]| {
                let [a, b] = y.map(|y| side * y);
                scene.push(Solid::block([x[0], a.min(b), z[0]], [x[1], a.max(b), z[1]]));
            };
            let count = (80.0 / self.parcel) as i32;
            for k in -count..count {
                let x = f64::from(k) * self.parcel;
                add([x, x + self.parcel - 2.0], [self.setback, self.setback + 8.0], [0.0, self.eaves]);
                add([x + 1.0, x + 2.6], [self.setback - self.porch, self.setback], [0.0, 2.5]);
                if random.below(3) == 0 {
                    let end = x + between(random, 0.4, 0.9) * self.parcel;
                    add([x, end], [self.setback - 3.0, self.setback - 2.6], [0.0, between(random, 0.6, 1.4)]);
                }
            }
            for _ in 0..8 + random.below(8) {
                let (x, y) = (between(random, -70.0, 70.0), between(random, 4.2, 4.8));
                add([x, x + 4.3], [y, y + 1.8], [0.25, 0.9]);
                add([x + 1.0, x + 3.5], [y + 0.1, y + 1.7], [0.9, 1.5]);
            }
            for k in -3..3 {
                let foot = [(f64::from(k) + 0.25 * (1.0 + side)) * self.lamps, side * 6.8, 0.0];
                scene.push(Solid::Post { foot, radius: 0.1, height: 6.0 });
            }
            for _ in 0..6 + random.below(6) {
                let foot = [between(random, -70.0, 70.0), side * between(random, 7.2, 7.8), 0.0];
                scene.push(Solid::Post { foot, radius: between(random, 0.1, 0.25), height: 4.0 });
                let radius = between(random, 1.0, 1.8);
                scene.push(Solid::Ball { center: [foot[0], foot[1], 4.2], radius });
            }
        }
        scene
    }
}

/// Streets of equal houses, seen by a LiDAR on a car.
pub(super) fn terrace(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let town = Town::new(&mut random);
    let shift = town.parcel * between(&mut random, 0.6, 1.4);
    let places = [0.0, shift].map(|x| [x, between(&mut random, -2.0, -1.0), between(&mut random, 1.6, 1.9)]);
    let build = |random: &mut Random| town.street(random);
    repeating(seed, kind, &mut random, town.parcel, build, places.map(Sensor::rings))
}

/// A street and its mirror image.
pub(super) fn mirrored_terrace(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let scene = Town::new(&mut random).street(&mut random);
    let places = [0, 1].map(|_| [between(&mut random, -3.0, 3.0), between(&mut random, -2.0, 2.0), 1.7]);
    let source = Sensor::rings(places[0]).scan(&scene, &mut random);
    let image: Vec<Solid> = scene.iter().map(|solid| solid.mirrored(0.0)).collect();
    let target = Sensor::rings(places[1]).scan(&image, &mut random);
    scans(seed, &source, target, false, Some(places))
}

/// Trunks on flat ground.
pub(super) fn flat_wood(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let count = 80 + random.below(80);
    let (thin, thick) = (between(&mut random, 0.06, 0.15), between(&mut random, 0.2, 0.4));
    let build = |random: &mut Random| {
        let mut scene = vec![Solid::block([-60.0, -60.0, -1.0], [60.0, 60.0, 0.0])];
        while scene.len() < count {
            let foot = [between(random, -24.0, 24.0), between(random, -24.0, 24.0), 0.0];
            // The path stays free.
            if foot[1].abs() > 0.8 {
                scene.push(Solid::Post { foot, radius: between(random, thin, thick), height: 12.0 });
            }
        }
        scene
    };
    let (apart, noise) = (between(&mut random, 2.0, 5.0), between(&mut random, 0.005, 0.015));
    let sensors = [0.0, apart].map(|x| {
        let at = [x, between(&mut random, -0.3, 0.3), between(&mut random, 1.5, 1.8)];
        Sensor { elevation: [-0.6, 0.5], ..Sensor::all_round(at, 0.7, 20.0, noise) }
    });
    repeating(seed, kind, &mut random, f64::INFINITY, build, sensors)
}

/// A hall with pillars in equal bays and racks between them; pallets on the racks and on the floor, or none.
pub(super) fn warehouse(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let (bay, aisle) = (between(&mut random, 4.0, 6.0), between(&mut random, 2.5, 3.5));
    let (tall, deep) = (between(&mut random, 5.0, 7.0), between(&mut random, 0.9, 1.2));
    let (full, noise) = (between(&mut random, 0.3, 0.8), between(&mut random, 0.005, 0.015));
    let build = |random: &mut Random| {
        let mut scene = vec![Solid::block([-60.0, -3.0 * aisle, 0.0], [60.0, 3.0 * aisle, tall])];
        for (side, k) in [-1.0, 1.0].into_iter().flat_map(|side| (-5..5).map(move |k| (side, k))) {
            let (x, near, far) = (f64::from(k) * bay, side * aisle, side * (aisle + deep));
            let mut add = |x: [f64; 2], y: [f64; 2], z: [f64; 2]| {
                scene.push(Solid::block([x[0], y[0].min(y[1]), z[0]], [x[1], y[0].max(y[1]), z[1]]));
            };
            add([x - 0.1, x + 0.1], [near, near + side * 0.2], [0.0, tall]);
            for level in [1.4, 2.8] {
                add([x, x + bay], [near, far], [level, level + 0.1]);
            }
            for (level, slot) in [0.0, 1.5, 2.9].into_iter().flat_map(|z| (0..3).map(move |slot| (z, slot))) {
                if kind != Kind::Equal && random.uniform() < full {
                    let start = x + (f64::from(slot) + between(random, 0.05, 0.15)) * bay / 3.0;
                    let high = level + between(random, 0.4, 1.2);
                    let front = near + side * between(random, 0.0, 0.3) * deep;
                    add([start, start + 0.25 * bay], [front, far], [level, high]);
                }
            }
        }
        if kind != Kind::Equal {
            for _ in 0..3 + random.below(5) {
                let (x, y) = (between(random, -14.0, 14.0), 0.6 * aisle * (2.0 * random.uniform() - 1.0));
                scene.push(Solid::block([x, y - 0.4, 0.0], [x + 1.2, y + 0.4, between(random, 0.15, 1.0)]));
            }
        }
        scene
    };
    let apart = between(&mut random, 0.6, 1.4) * bay;
    let sensors = [0.0, apart].map(|x| {
        let at = [x, 0.2 * random.gaussian(), between(&mut random, 1.6, 2.0)];
        Sensor::all_round(at, 0.8, 14.0, noise)
    });
    repeating(seed, kind, &mut random, bay, build, sensors)
}
