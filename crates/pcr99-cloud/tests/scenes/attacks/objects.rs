//! Symmetric objects, and objects with their mirror images. All are seen from several sides and from above.

use std::f64::consts::{PI, TAU};

use pcr99::{Similarity, random::Random};

use super::super::{
    Points, Scans, Sensor, Solid, between,
    families::{around, thing},
    fused, scans,
};

/// Views from three or four sides.
fn views(random: &mut Random, scene: &[Solid]) -> Points {
    let (first, count) = (between(random, 0.0, TAU), 3 + random.below(2));
    let noise = between(random, 0.001, 0.004);
    let sensors: Vec<Sensor> = (0..count)
        .map(|k| {
            let angle = first + TAU * (k as f64 + between(random, -0.1, 0.1)) / count as f64;
            Sensor { noise, ..around(angle, between(random, 0.9, 1.6), between(random, 2.5, 3.5)) }
        })
        .collect();
    fused(&sensors, scene, random)
}

/// Two scans of one object, whose symmetries are given.
fn symmetric(seed: u64, random: &mut Random, scene: &[Solid], symmetries: &[Similarity]) -> Scans {
    let source = views(random, scene);
    let target = views(random, scene);
    scans(seed, &source, target, true, None).with_symmetries(symmetries)
}

/// The rotation about the vertical through the origin.
fn turn(angle: f64) -> Similarity {
    let (s, c) = angle.sin_cos();
    Similarity::new(1.0, [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.0; 3]).expect("a similarity")
}

/// Turns in equal steps of a whole turn, without the first, which changes nothing.
fn turns(count: u32) -> Vec<Similarity> {
    (1..count).map(|k| turn(TAU * f64::from(k) / f64::from(count))).collect()
}

/// The half turn about the horizontal at this height.
fn upside_down(up: f64) -> Similarity {
    let rotation = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]];
    Similarity::new(1.0, rotation, [0.0, 0.0, 2.0 * up]).expect("a similarity")
}

pub(super) fn cylinder(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let (radius, height) = (between(&mut random, 0.2, 0.5), between(&mut random, 0.4, 1.2));
    let mut symmetries = turns(36);
    let flip = upside_down(0.5 * height);
    symmetries.push(flip);
    symmetries.extend(turns(36).iter().map(|turn| flip.then(turn)));
    let scene = [Solid::Post { foot: [0.0; 3], radius, height }];
    symmetric(seed, &mut random, &scene, &symmetries)
}

/// A box with edges of three lengths.
pub(super) fn square_box(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let edge = between(&mut random, 0.15, 0.3);
    let second = edge * between(&mut random, 1.25, 1.6);
    let half = [edge, second, second * between(&mut random, 1.25, 1.6)];
    let scene = [Solid::Block { center: [0.0; 3], half, turn: [1.0, 0.0] }];
    let flip = upside_down(0.0);
    symmetric(seed, &mut random, &scene, &[turn(PI), flip, flip.then(&turn(PI))])
}

/// A square table with four legs.
pub(super) fn table(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let (half, tall) = (between(&mut random, 0.35, 0.6), between(&mut random, 0.5, 0.8));
    let (leg, thick) = (between(&mut random, 0.03, 0.07), between(&mut random, 0.03, 0.08));
    let inset = half - leg - between(&mut random, 0.0, 0.1);
    let mut scene = vec![Solid::block([-half, -half, tall - thick], [half, half, tall])];
    for [x, y] in [[-inset, -inset], [-inset, inset], [inset, -inset], [inset, inset]] {
        scene.push(Solid::block([x - leg, y - leg, 0.0], [x + leg, y + leg, tall - thick]));
    }
    symmetric(seed, &mut random, &scene, &turns(4))
}

/// Discs of several radii on each other.
fn vessel(random: &mut Random) -> Vec<Solid> {
    let mut up = 0.0;
    let mut scene = Vec::new();
    for _ in 0..4 + random.below(4) {
        let (radius, height) = (between(random, 0.12, 0.4), between(random, 0.08, 0.25));
        scene.push(Solid::Post { foot: [0.0, 0.0, up], radius, height });
        up += height;
    }
    scene
}

/// A vase without a mark: its rotation about the axis is free.
pub(super) fn vase(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let scene = vessel(&mut random);
    symmetric(seed, &mut random, &scene, &turns(36))
}

/// A vase with a handle, which decides the rotation.
pub(super) fn cup(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let mut scene = vessel(&mut random);
    let (out, thick) = (between(&mut random, 0.5, 0.65), between(&mut random, 0.04, 0.08));
    let (low, high) = (between(&mut random, 0.05, 0.15), between(&mut random, 0.3, 0.5));
    for z in [low, high] {
        scene.push(Solid::block([0.0, -thick, z], [out, thick, z + 2.0 * thick]));
    }
    scene.push(Solid::block([out - thick, -thick, low], [out + thick, thick, high + 2.0 * thick]));
    symmetric(seed, &mut random, &scene, &[])
}

/// A shoe: a sole that bends to one side, with a toe, a heel and a shaft.
fn shoe(random: &mut Random) -> Vec<Solid> {
    let (bend, toe) = (between(random, 0.2, 0.35), between(random, 0.12, 0.18));
    let mut scene: Vec<Solid> = (0..8)
        .map(|k| {
            let s = f64::from(k) / 7.0;
            Solid::Ball { center: [s - 0.5, bend * s * s, 0.0], radius: 0.11 + (toe - 0.11) * s }
        })
        .collect();
    let (shaft, tall) = (between(random, 0.1, 0.14), between(random, 0.3, 0.5));
    scene.push(Solid::Post { foot: [-0.45, 0.0, 0.0], radius: shaft, height: tall });
    scene.push(Solid::block([-0.6, -0.1, -0.2], [-0.4, 0.1, -0.05]));
    let tongue = between(random, 0.06, 0.1);
    scene.push(Solid::Ball { center: [-0.15, 0.15 * bend, 0.12], radius: tongue });
    scene
}

/// Two scans of one object, or of an object and its mirror image.
fn perhaps_mirrored(seed: u64, random: &mut Random, scene: &[Solid], is_mirrored: bool) -> Scans {
    let source = views(random, scene);
    let image: Vec<Solid> = scene.iter().map(|solid| solid.mirrored(0.0)).collect();
    let target = views(random, if is_mirrored { &image } else { scene });
    scans(seed, &source, target, !is_mirrored, None)
}

/// The same shoe twice, or the left one and the right one.
pub(super) fn shoes(seed: u64, is_mirrored: bool) -> Scans {
    let mut random = Random::new(seed);
    let scene = shoe(&mut random);
    perhaps_mirrored(seed, &mut random, &scene, is_mirrored)
}

pub(super) fn mirrored_object(seed: u64) -> Scans {
    let mut random = Random::new(seed);
    let scene = thing(&mut random, [0.0; 3], 1.0);
    perhaps_mirrored(seed, &mut random, &scene, true)
}
