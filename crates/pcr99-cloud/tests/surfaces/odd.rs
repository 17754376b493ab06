//! Clouds unlike those of [`SCENES`](super::SCENES), for attacks on the covariance.

use std::f64::consts::{PI, TAU};

use pcr99::{Similarity, random::Random};
use pcr99_base::vector::{cross, dot, minus, plus, times};

use super::{Case, Points, Recipe, Surface, between, block, scene};

/// The names of the cases.
pub const ODD: [&str; 14] = [
    "stairs",
    "trees",
    "ball in a room",
    "rings",
    "rings of a corridor",
    "moved boxes",
    "half of a room",
    "a density that falls",
    "outliers in the noise",
    "noise along rays",
    "millimetres",
    "UTM",
    "room, scale unknown",
    "field, scale unknown",
];

/// The case of this name, and the length of a metre in its unit.
pub fn case(name: &str, seed: u64) -> (Case, f64) {
    let mut random = Random::new(seed ^ 0x5EED_0DD5);
    let room = |points: usize| Recipe::of("room", points, 0.01).case(seed);
    let pair = |random: &mut Random, surface: &Surface| {
        let clouds = [0, 1].map(|_| surface.sample(random, 15_000, 0.01, 0.0, 1.0));
        moved(random, clouds)
    };
    match name {
        "stairs" => (pair(&mut random, &stairs()), 1.0),
        "trees" => {
            let trees = trees(&mut random);
            (pair(&mut random, &trees), 1.0)
        }
        "ball in a room" => {
            let mut quads = Vec::new();
            block(&mut quads, [0.0; 3], [5.0, 4.0, 2.7], 0.0);
            let walls = Surface::Quads(quads);
            let clouds = [0, 1].map(|_| {
                let mut points = walls.sample(&mut random, 12_000, 0.01, 0.0, 1.0);
                let ball = Surface::Object(Vec::new()).sample(&mut random, 6000, 0.01, 0.0, 1.0);
                points.extend(ball.into_iter().map(|p| plus(p, [2.5, 2.0, 1.4])));
                points
            });
            (moved(&mut random, clouds), 1.0)
        }
        "rings" => (rings(&mut random, "street", [[0.0, 0.5, 1.8], [3.0, -0.5, 1.8]]), 1.0),
        "rings of a corridor" => (rings(&mut random, "corridor", [[18.0, 1.0, 1.3], [21.0, 1.3, 1.3]]), 1.0),
        "moved boxes" => {
            let surfaces = [0, 1].map(|k| moved_boxes(seed, k));
            let clouds = surfaces.map(|surface| surface.sample(&mut random, 15_000, 0.01, 0.0, 1.0));
            (moved(&mut random, clouds), 1.0)
        }
        "half of a room" => (Recipe { overlap: 0.5, ..Recipe::of("room", 15_000, 0.01) }.case(seed), 1.0),
        "a density that falls" => {
            let mut case = room(60_000);
            for points in [&mut case.source, &mut case.target] {
                let from = points[0];
                points.retain(|p| {
                    let away = minus(*p, from);
                    random.uniform() < 1.0 / (1.0 + 2.0 * dot(away, away))
                });
            }
            (case, 1.0)
        }
        "outliers in the noise" => {
            let mut case = room(15_000);
            for p in case.source.iter_mut().chain(&mut case.target) {
                if random.uniform() < 0.1 {
                    *p = p.map(|x| x + 0.05 * random.gaussian());
                }
            }
            (case, 1.0)
        }
        "noise along rays" => {
            let surface = scene("room", &mut random);
            let clouds = [[2.0, 2.5, 1.5], [6.0, 2.0, 1.5]].map(|sensor| {
                let mut points = surface.sample(&mut random, 15_000, 0.0, 0.0, 1.0);
                // 4 mm for each metre.
                points
                    .iter_mut()
                    .for_each(|p| *p = plus(*p, times(0.004 * random.gaussian(), minus(*p, sensor))));
                points
            });
            (moved(&mut random, clouds), 1.0)
        }
        "millimetres" => (scaled(room(15_000), 1000.0, [0.0; 3]), 1000.0),
        "UTM" => (scaled(room(15_000), 1.0, [500_000.0, 5_400_000.0, 300.0]), 1.0),
        "room, scale unknown" => (room(15_000), 1.0),
        "field, scale unknown" => (Recipe::of("field", 15_000, 0.01).case(seed), 1.0),
        _ => panic!("no case {name}"),
    }
}

/// The clouds of one scene, of which the source is moved at random.
fn moved(random: &mut Random, [source, target]: [Points; 2]) -> Case {
    let quaternion = std::array::from_fn(|_| random.gaussian());
    let truth = Similarity::from_quaternion(1.0, quaternion, [1.0, -2.0, 0.5]).expect("a similarity");
    let back = truth.inverse();
    Case { source: source.into_iter().map(|p| back.apply(p)).collect(), target, truth }
}

/// The case in another unit, and somewhere else.
fn scaled(case: Case, unit: f64, place: [f64; 3]) -> Case {
    let change =
        Similarity::new(unit, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], place).expect("one");
    let Case { source, target, truth } = case;
    let all = |points: Points| points.into_iter().map(|p| change.apply(p)).collect();
    Case { source: all(source), target: all(target), truth: change.inverse().then(&truth).then(&change) }
}

/// Steps between two walls.
fn stairs() -> Surface {
    let mut quads = Vec::new();
    for k in 0..16 {
        let (x, z) = (0.28 * f64::from(k), 0.17 * f64::from(k));
        quads.push([[x, 0.0, z], [0.28, 0.0, 0.0], [0.0, 1.2, 0.0]]);
        quads.push([[x, 0.0, z], [0.0, 1.2, 0.0], [0.0, 0.0, 0.17]]);
    }
    for y in [0.0, 1.2] {
        quads.push([[0.0, y, 0.0], [4.48, 0.0, 2.72], [0.0, 0.0, 2.0]]);
    }
    Surface::Quads(quads)
}

/// Trunks on uneven ground: prisms with twelve sides.
fn trees(random: &mut Random) -> Surface {
    let mut quads = vec![[[0.0, 0.0, 0.0], [20.0, 0.0, 0.6], [0.0, 20.0, -0.4]]];
    for _ in 0..25 {
        let (x, y) = (between(random, 1.0, 19.0), between(random, 1.0, 19.0));
        let radius = between(random, 0.1, 0.35);
        let lean = [between(random, -0.4, 0.4), between(random, -0.4, 0.4), 6.0];
        for k in 0..12 {
            let corner =
                |k: f64| [x + radius * (TAU * k / 12.0).cos(), y + radius * (TAU * k / 12.0).sin(), 0.0];
            let from = corner(f64::from(k));
            quads.push([from, minus(corner(f64::from(k) + 1.0), from), lean]);
        }
    }
    Surface::Quads(quads)
}

/// A room in which three of ten boxes are elsewhere in each cloud.
fn moved_boxes(seed: u64, cloud: u64) -> Surface {
    let mut quads = Vec::new();
    block(&mut quads, [0.0; 3], [8.0, 5.0, 2.7], 0.0);
    let (mut fixed, mut own) = (Random::new(seed), Random::new(7000 + 2 * seed + cloud));
    for k in 0..10 {
        let random = if k < 7 { &mut fixed } else { &mut own };
        let (x, y) = (between(random, 0.8, 7.2), between(random, 0.8, 4.2));
        let half: [f64; 3] = std::array::from_fn(|_| between(random, 0.15, 0.6));
        let angle = between(random, 0.0, 3.0);
        block(&mut quads, [x - half[0], y - half[1], 0.0], [x + half[0], y + half[1], 2.0 * half[2]], angle);
    }
    Surface::Quads(quads)
}

/// What a LiDAR with 32 rings sees of a scene of quads from two places, with noise along the rays.
fn rings(random: &mut Random, name: &'static str, sensors: [[f64; 3]; 2]) -> Case {
    let Surface::Quads(quads) = scene(name, random) else { panic!("no quads") };
    let faces: Vec<[[f64; 3]; 4]> = quads.iter().map(|&[p, u, v]| [p, u, v, cross(u, v)]).collect();
    let clouds = sensors.map(|sensor| {
        let first = TAU * random.uniform();
        let mut points = Vec::new();
        for ring in 0..32 {
            let up = (-25.0 + 40.0 * f64::from(ring) / 31.0) * PI / 180.0;
            for k in 0..900 {
                let azimuth = first + TAU * f64::from(k) / 900.0;
                let ray = [up.cos() * azimuth.cos(), up.cos() * azimuth.sin(), up.sin()];
                let hits = faces.iter().filter_map(|[p, u, v, n]| {
                    let way = dot(*n, ray);
                    let length = dot(*n, minus(*p, sensor)) / way;
                    let at = minus(plus(sensor, times(length, ray)), *p);
                    let (nn, uu, vv) = (dot(*n, *n), cross(at, *v), cross(*u, at));
                    let (a, b) = (dot(uu, *n) / nn, dot(vv, *n) / nn);
                    let is_hit = length > 0.3 && (0.0..=1.0).contains(&a) && (0.0..=1.0).contains(&b);
                    is_hit.then_some(length)
                });
                let length = hits.fold(f64::INFINITY, f64::min);
                if length < 80.0 {
                    points.push(plus(sensor, times(length + 0.015 * random.gaussian(), ray)));
                }
            }
        }
        points
    });
    moved(random, clouds)
}
