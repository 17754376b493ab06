//! Things at equal distances: trees, vines, shelves, cars.

use pcr99::random::Random;

use super::super::{Scans, Sensor, Solid, between, families::hills, height};
use super::{Kind, repeating};

/// How much the members of a lattice differ from each other.
#[derive(Clone, Copy)]
struct Irregular {
    /// Standard deviation of positions, as a fraction of the spacing.
    shift: f64,
    /// Relative standard deviation of sizes.
    size: f64,
    /// Fraction of members that are missing.
    missing: f64,
    /// Height of hills, in metres.
    hills: f64,
}

impl Irregular {
    fn new(random: &mut Random, kind: Kind, hills: f64) -> Self {
        let is_equal = kind == Kind::Equal;
        let mut up_to =
            |low: f64, high: f64| if is_equal { 0.0 } else { low + (high - low) * random.uniform() };
        Self {
            shift: up_to(0.02, 0.08),
            size: up_to(0.05, 0.2),
            missing: up_to(0.0, 0.1),
            hills: up_to(0.2, 1.0) * hills,
        }
    }

    fn vary(self, random: &mut Random, size: f64) -> f64 {
        size * (1.0 + self.size * random.gaussian()).max(0.4)
    }

    /// The ground, which is flat without hills, and positions on a lattice. No sensor in the gaps beside the origin sees an edge of it.
    fn plant(self, random: &mut Random, spacing: [f64; 2], range: f64) -> (Vec<Solid>, Vec<[f64; 3]>) {
        let waves = if self.hills > 0.0 { hills(random, self.hills, 30.0) } else { Vec::new() };
        let ground = if waves.is_empty() {
            Solid::block([-60.0, -60.0, -1.0], [60.0, 60.0, 0.0])
        } else {
            Solid::Ground(waves.clone())
        };
        let [columns, rows] = spacing.map(|apart| (range / apart) as i32 + 3);
        let mut feet = Vec::new();
        for column in -columns..=columns {
            for row in -rows..=rows {
                let x = spacing[0] * (f64::from(column) + self.shift * random.gaussian());
                let y = spacing[1] * (f64::from(row) + self.shift * random.gaussian());
                if random.uniform() >= self.missing {
                    feet.push([x, y, height(&waves, x, y) - 0.05]);
                }
            }
        }
        (vec![ground], feet)
    }
}

/// Two places in the gaps of a lattice, one to two units apart.
fn gaps(random: &mut Random, spacing: [f64; 2], up: f64) -> [[f64; 3]; 2] {
    let mut near = |units: f64| {
        let x = (0.5 + 0.1 * random.gaussian()) * spacing[0];
        [x, (0.5 + units + 0.15 * random.gaussian()) * spacing[1], up + between(random, 1.4, 1.8)]
    };
    let first = near(0.0);
    let units = if first[0] > 0.5 * spacing[0] { 1.0 } else { -1.0 };
    [first, near(units)]
}

fn outdoors(at: [f64; 3], range: f64, noise: f64) -> Sensor {
    Sensor { elevation: [-0.6, 0.5], ..Sensor::all_round(at, 0.7, range, noise) }
}

/// Trees with round crowns.
pub(super) fn orchard(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let irregular = Irregular::new(&mut random, kind, 1.0);
    let rows = between(&mut random, 3.5, 5.5);
    let trees = if random.below(3) == 0 { rows } else { between(&mut random, 2.8, 4.5) };
    let (trunk, crown) = (between(&mut random, 1.0, 1.8), between(&mut random, 0.22, 0.32) * rows.min(trees));
    let noise = between(&mut random, 0.005, 0.02);
    let build = |random: &mut Random| {
        let (mut scene, feet) = irregular.plant(random, [rows, trees], 17.0);
        for foot in feet {
            let (tall, radius) = (irregular.vary(random, trunk), irregular.vary(random, crown));
            scene.push(Solid::Post { foot, radius: irregular.vary(random, 0.1), height: tall });
            let center = [foot[0], foot[1], foot[2] + tall + 0.6 * radius];
            scene.push(Solid::Ball { center, radius });
        }
        scene
    };
    let sensors = gaps(&mut random, [rows, trees], 0.3).map(|at| outdoors(at, 17.0, noise));
    repeating(seed, kind, &mut random, rows.min(trees), build, sensors)
}

/// Trunks that were planted in rows.
pub(super) fn plantation(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let irregular = Irregular::new(&mut random, kind, 2.0);
    let spacing = [between(&mut random, 2.0, 3.0), between(&mut random, 1.8, 2.6)];
    let (radius, noise) = (between(&mut random, 0.08, 0.18), between(&mut random, 0.005, 0.015));
    let build = |random: &mut Random| {
        let (mut scene, feet) = irregular.plant(random, spacing, 12.0);
        scene.extend(feet.into_iter().map(|foot| Solid::Post {
            foot,
            radius: irregular.vary(random, radius),
            height: 9.0,
        }));
        scene
    };
    let sensors = gaps(&mut random, spacing, 0.5).map(|at| outdoors(at, 12.0, noise));
    repeating(seed, kind, &mut random, spacing[0].min(spacing[1]), build, sensors)
}

/// Rows of vines: stocks, posts and foliage between the posts.
pub(super) fn vineyard(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let irregular = Irregular::new(&mut random, kind, 0.5);
    let (rows, stocks) = (between(&mut random, 1.8, 2.6), between(&mut random, 0.9, 1.3));
    let (between_posts, noise) = (4 + random.below(2), between(&mut random, 0.005, 0.015));
    let build = |random: &mut Random| {
        let (mut scene, feet) = irregular.plant(random, [rows, stocks], 9.0);
        for (k, [x, y, z]) in feet.into_iter().enumerate() {
            if k % between_posts == 0 {
                scene.push(Solid::Post { foot: [x, y + 0.5 * stocks, z], radius: 0.05, height: 1.9 });
            }
            scene.push(Solid::Post { foot: [x, y, z], radius: irregular.vary(random, 0.04), height: 0.9 });
            let thick = irregular.vary(random, 0.15);
            let (low, high) = (z + 0.75, z + 0.75 + irregular.vary(random, 0.6));
            scene.push(Solid::block(
                [x - thick, y - 0.45 * stocks, low],
                [x + thick, y + 0.45 * stocks, high],
            ));
        }
        scene
    };
    let sensors = gaps(&mut random, [rows, 2.0 * stocks], 0.2).map(|at| outdoors(at, 9.0, noise));
    repeating(seed, kind, &mut random, stocks, build, sensors)
}

/// An aisle between shelves of equal units. Their content is the same in all units, or not.
pub(super) fn shelves(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let (unit, deep) = (between(&mut random, 0.9, 1.4), between(&mut random, 0.35, 0.6));
    let (aisle, levels) = (between(&mut random, 1.6, 2.6), 4 + random.below(2));
    let rise = between(&mut random, 0.38, 0.48);
    let content = Random::new(random.bits());
    let (full, noise) = (between(&mut random, 0.3, 0.9), between(&mut random, 0.002, 0.008));
    let build = |random: &mut Random| {
        let (near, far) = (0.5 * aisle, 0.5 * aisle + deep);
        let mut scene = vec![Solid::block([-far, -30.0, 0.0], [far, 30.0, 3.2])];
        for side in [-1.0, 1.0] {
            let mut add = |x: [f64; 2], y: [f64; 2], z: [f64; 2]| {
                let [a, b] = x.map(|x| side * x);
                scene.push(Solid::block([a.min(b), y[0], z[0]], [a.max(b), y[1], z[1]]));
            };
            for level in 0..levels {
                let z = 0.1 + level as f64 * rise;
                add([near, far], [-30.0, 30.0], [z - 0.03, z]);
            }
            for k in -9..9 {
                let y = f64::from(k) * unit;
                add([near, far], [y - 0.02, y + 0.02], [0.0, 0.1 + levels as f64 * rise]);
                let mut equal = content.clone();
                let random = if kind == Kind::Equal { &mut equal } else { &mut *random };
                for level in 0..levels {
                    let z = 0.1 + level as f64 * rise;
                    for slot in 0..2 {
                        let (tall, wide) =
                            (between(random, 0.3, 0.9) * rise, between(random, 0.2, 0.48) * unit);
                        let front = near + between(random, 0.0, 0.6) * deep;
                        let start = y + (0.02 + 0.5 * f64::from(slot)) * unit;
                        if random.uniform() < full {
                            add([front, far], [start, start + wide], [z, z + tall]);
                        }
                    }
                }
            }
        }
        scene
    };
    let mut at = |y: f64| [0.1 * aisle * random.gaussian(), y, between(&mut random, 1.2, 1.7)];
    let first = at(0.0);
    let second = at(unit * 1.3);
    let sensors = [first, second].map(|at| Sensor::all_round(at, 0.8, 5.5 * unit, noise));
    repeating(seed, kind, &mut random, unit, build, sensors)
}

/// A car park: equal cars in four rows of bays, some of them empty. Without irregularities all bays are taken.
pub(super) fn parking(seed: u64, kind: Kind) -> Scans {
    let mut random = Random::new(seed);
    let (bay, lane) = (between(&mut random, 2.4, 2.8), between(&mut random, 5.5, 7.0));
    let [long, wide, hood, roof] = [
        between(&mut random, 3.8, 4.6),
        between(&mut random, 1.7, 1.9),
        between(&mut random, 0.8, 1.0),
        between(&mut random, 1.4, 1.7),
    ];
    let (empty, careless) = if kind == Kind::Equal {
        (0.0, 0.0)
    } else {
        (between(&mut random, 0.1, 0.3), between(&mut random, 0.03, 0.15))
    };
    let noise = between(&mut random, 0.005, 0.02);
    let build = |random: &mut Random| {
        let mut scene = vec![Solid::block([-60.0, -60.0, -1.0], [60.0, 60.0, 0.0])];
        for (side, row) in [(-1.0, 0.0), (1.0, 0.0), (-1.0, 1.0), (1.0, 1.0)] {
            for k in -9..=9 {
                if random.uniform() < empty {
                    continue;
                }
                let x = side * (0.5 * lane + (row + 0.5) * (long + 0.4)) + careless * random.gaussian();
                let y = f64::from(k) * bay + careless * random.gaussian();
                let angle = 0.2 * careless * random.gaussian();
                let turn = [angle.cos(), angle.sin()];
                let (body, cabin) = (0.5 * (hood - 0.25), 0.5 * (roof - hood));
                let center = [x, y, 0.25 + body];
                scene.push(Solid::Block { center, half: [0.5 * long, 0.5 * wide, body], turn });
                let center = [x + 0.08 * side * long, y, hood + cabin];
                scene.push(Solid::Block { center, half: [0.28 * long, 0.45 * wide, cabin], turn });
            }
        }
        for k in -3..=3 {
            for side in [-1.0, 1.0] {
                let foot = [side * (0.5 * lane + long + 0.4), (f64::from(k) + 0.5) * 3.0 * bay, 0.0];
                scene.push(Solid::Post { foot, radius: 0.08, height: 5.0 });
            }
        }
        scene
    };
    let mut at = |y: f64| [0.1 * lane * random.gaussian(), y, between(&mut random, 1.6, 2.0)];
    let first = at(0.0);
    let second = at(bay * 1.4);
    let sensors = [first, second].map(|at| outdoors(at, 17.0, noise));
    repeating(seed, kind, &mut random, bay, build, sensors)
}
