//! Surfaces of simple solids, sampled evenly: objects seen from all sides.
#![allow(dead_code, reason = "each test that includes this uses a part of it")]

use pcr99::{Similarity, random::Random};

pub type Points = Vec<[f64; 3]>;

const TAU: f64 = std::f64::consts::TAU;

/// A piece of surface.
#[derive(Debug, Clone)]
pub enum Piece {
    /// A parallelogram: a corner and two sides.
    Flat([f64; 3], [f64; 3], [f64; 3]),
    /// A triangle: a corner and two sides.
    Corner([f64; 3], [f64; 3], [f64; 3]),
    /// The wall of an upright cylinder: centre of the foot, radius, height.
    Wall([f64; 3], f64, f64),
    /// A level disc: centre, radius.
    Disc([f64; 3], f64),
    /// A sphere: centre, radius.
    Ball([f64; 3], f64),
}

impl Piece {
    fn area(&self) -> f64 {
        let across = |u: &[f64; 3], v: &[f64; 3]| {
            let c = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            c.iter().map(|x| x * x).sum::<f64>().sqrt()
        };
        match self {
            Self::Flat(_, u, v) => across(u, v),
            Self::Corner(_, u, v) => 0.5 * across(u, v),
            Self::Wall(_, radius, height) => TAU * radius * height,
            Self::Disc(_, radius) => 0.5 * TAU * radius * radius,
            Self::Ball(_, radius) => 2.0 * TAU * radius * radius,
        }
    }

    fn point(&self, random: &mut Random) -> [f64; 3] {
        let (a, b) = (random.uniform(), random.uniform());
        let at = |p: &[f64; 3], a: f64, u: &[f64; 3], b: f64, v: &[f64; 3]| {
            std::array::from_fn(|k| p[k] + a * u[k] + b * v[k])
        };
        match self {
            Self::Flat(p, u, v) => at(p, a, u, b, v),
            Self::Corner(p, u, v) if a + b > 1.0 => at(p, 1.0 - a, u, 1.0 - b, v),
            Self::Corner(p, u, v) => at(p, a, u, b, v),
            Self::Wall(p, radius, height) => {
                let (sine, cosine) = (TAU * a).sin_cos();
                [p[0] + radius * cosine, p[1] + radius * sine, p[2] + height * b]
            }
            Self::Disc(p, radius) => {
                let (sine, cosine) = (TAU * a).sin_cos();
                let r = radius * b.sqrt();
                [p[0] + r * cosine, p[1] + r * sine, p[2]]
            }
            Self::Ball(p, radius) => {
                let v: [f64; 3] = std::array::from_fn(|_| random.gaussian());
                let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
                std::array::from_fn(|k| p[k] + radius * v[k] / length)
            }
        }
    }
}

/// Points on all of these, evenly.
pub fn sampled(pieces: &[Piece], points: usize, noise: f64, seed: u64) -> Points {
    let mut random = Random::new(seed);
    let areas: Vec<f64> = pieces.iter().map(Piece::area).collect();
    let all: f64 = areas.iter().sum();
    let point = |_| {
        let mut left = all * random.uniform();
        let mut chosen = pieces.len() - 1;
        for (k, area) in areas.iter().enumerate() {
            left -= area;
            if left < 0.0 {
                chosen = k;
                break;
            }
        }
        pieces[chosen].point(&mut random).map(|x| x + noise * random.gaussian())
    };
    (0..points).map(point).collect()
}

/// The surface of a box between two corners.
pub fn block(low: [f64; 3], high: [f64; 3]) -> Vec<Piece> {
    let side = |k: usize| {
        let mut v = [0.0; 3];
        v[k] = high[k] - low[k];
        v
    };
    let mut pieces = Vec::new();
    for k in 0..3 {
        for end in [low, high] {
            let mut corner = low;
            corner[k] = end[k];
            pieces.push(Piece::Flat(corner, side((k + 1) % 3), side((k + 2) % 3)));
        }
    }
    pieces
}

/// A closed upright cylinder.
pub fn cylinder(foot: [f64; 3], radius: f64, height: f64) -> Vec<Piece> {
    let lid = [foot[0], foot[1], foot[2] + height];
    vec![Piece::Wall(foot, radius, height), Piece::Disc(foot, radius), Piece::Disc(lid, radius)]
}

/// A closed upright prism over a regular polygon.
pub fn prism(sides: usize, radius: f64, height: f64) -> Vec<Piece> {
    let corner = |k: usize| {
        let (sine, cosine) = (TAU * k as f64 / sides as f64).sin_cos();
        [radius * cosine, radius * sine, 0.0]
    };
    let mut pieces = Vec::new();
    for k in 0..sides {
        let (p, q) = (corner(k), corner(k + 1));
        let along = std::array::from_fn(|i| q[i] - p[i]);
        pieces.push(Piece::Flat(p, along, [0.0, 0.0, height]));
        for z in [0.0, height] {
            pieces.push(Piece::Corner([0.0, 0.0, z], p, q));
        }
    }
    pieces
}

/// A square table with four legs; its middle is above the origin.
pub fn table(side: f64, height: f64) -> Vec<Piece> {
    let (half, leg) = (0.5 * side, 0.06 * side);
    let mut pieces = block([-half, -half, height - 0.05 * side], [half, half, height]);
    for [x, y] in [[-half, -half], [half - leg, -half], [-half, half - leg], [half - leg, half - leg]] {
        pieces.extend(block([x, y, 0.0], [x + leg, y + leg, height - 0.05 * side]));
    }
    pieces
}

/// An L of two bars.
pub fn angle(long: f64, short: f64, thick: f64) -> Vec<Piece> {
    let outline = [[0.0, 0.0], [long, 0.0], [long, thick], [thick, thick], [thick, short], [0.0, short]];
    let wall = |k: usize| {
        let ([x, y], [u, v]) = (outline[k], outline[(k + 1) % 6]);
        Piece::Flat([x, y, 0.0], [u - x, v - y, 0.0], [0.0, 0.0, thick])
    };
    let mut pieces: Vec<Piece> = (0..6).map(wall).collect();
    for z in [0.0, thick] {
        pieces.push(Piece::Flat([0.0, 0.0, z], [long, 0.0, 0.0], [0.0, thick, 0.0]));
        pieces.push(Piece::Flat([0.0, thick, z], [thick, 0.0, 0.0], [0.0, short - thick, 0.0]));
    }
    pieces
}

/// A random motion.
pub fn motion(seed: u64, scale: f64, shift: f64) -> Similarity {
    let mut random = Random::new(seed);
    let quaternion = std::array::from_fn(|_| random.gaussian());
    Similarity::from_quaternion(scale, quaternion, std::array::from_fn(|_| shift * random.gaussian()))
        .expect("a similarity")
}

pub fn moved(points: &[[f64; 3]], motion: &Similarity) -> Points {
    points.iter().map(|&p| motion.apply(p)).collect()
}
