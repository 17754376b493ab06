//! Clouds with known truth for measurements of accuracy: surfaces that are sampled at random, twice, with Gaussian noise.
#![allow(dead_code, reason = "each test that includes this uses a part of it")]

use std::f64::consts::TAU;

use pcr99::{Covariance, Similarity, random::Random};
use pcr99_base::vector::{minus, multiply, transpose};
use pcr99_cloud::voxel::Density;

pub mod odd;

pub type Points = Vec<[f64; 3]>;

/// A surface to sample.
#[derive(Debug, Clone)]
pub enum Surface {
    /// Parallelograms: a corner and two edges.
    Quads(Vec<[[f64; 3]; 3]>),
    /// Hills over a square of this edge: waves `[height, x, y, phase]`.
    Field(f64, Vec<[f64; 4]>),
    /// A ball whose radius varies with the direction: waves `[height, x, y, z, phase]`.
    Object(Vec<[f64; 5]>),
}

/// The scenes that are measured.
pub const SCENES: [&str; 6] = ["room", "hall", "field", "street", "corridor", "object"];

fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * random.uniform()
}

/// The six faces of a box, turned about the vertical.
fn block(quads: &mut Vec<[[f64; 3]; 3]>, low: [f64; 3], high: [f64; 3], angle: f64) {
    let (c, s) = (angle.cos(), angle.sin());
    let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * (low[k] + high[k]));
    let turn = |v: [f64; 3]| [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]];
    let size: [f64; 3] = std::array::from_fn(|k| high[k] - low[k]);
    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        for side in [-0.5, 0.5] {
            let mut corner = size.map(|x| -0.5 * x);
            corner[axis] = side * size[axis];
            let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
            a[u] = size[u];
            b[v] = size[v];
            let corner = turn(corner);
            quads.push([std::array::from_fn(|k| middle[k] + corner[k]), turn(a), turn(b)]);
        }
    }
}

/// One of [`SCENES`].
pub fn scene(name: &str, random: &mut Random) -> Surface {
    let mut quads = Vec::new();
    match name {
        "room" => {
            block(&mut quads, [0.0; 3], [8.0, 5.0, 2.7], 0.0);
            for _ in 0..10 {
                let (x, y) = (between(random, 0.8, 7.2), between(random, 0.8, 4.2));
                let half: [f64; 3] = std::array::from_fn(|_| between(random, 0.15, 0.6));
                let angle = between(random, 0.0, 3.0);
                block(
                    &mut quads,
                    [x - half[0], y - half[1], 0.0],
                    [x + half[0], y + half[1], 2.0 * half[2]],
                    angle,
                );
            }
        }
        "hall" => {
            block(&mut quads, [0.0; 3], [30.0, 18.0, 7.0], 0.0);
            for k in 0..8 {
                let (x, y) = (3.5 + 7.0 * f64::from(k % 4), 5.0 + 8.0 * f64::from(k / 4));
                let half = between(random, 0.3, 0.5);
                block(
                    &mut quads,
                    [x - half, y - half, 0.0],
                    [x + half, y + half, 7.0],
                    between(random, 0.0, 1.5),
                );
            }
        }
        "street" => {
            quads.push([[-40.0, -12.0, 0.0], [80.0, 0.0, 0.0], [0.0, 24.0, 0.0]]);
            for side in [-1.0, 1.0] {
                let mut x = -40.0;
                while x < 36.0 {
                    let long = between(random, 5.0, 12.0);
                    let near = between(random, 9.0, 11.5);
                    let (y0, y1) = (side * near, side * 12.0);
                    block(
                        &mut quads,
                        [x, y0.min(y1), 0.0],
                        [x + long, y0.max(y1), between(random, 4.0, 9.0)],
                        0.0,
                    );
                    x += long + between(random, 0.5, 2.0);
                }
                for _ in 0..6 {
                    let (x, y) = (between(random, -36.0, 32.0), side * between(random, 5.0, 6.0));
                    block(
                        &mut quads,
                        [x, y - 0.9, 0.3],
                        [x + 4.2, y + 0.9, 1.4],
                        between(random, -0.05, 0.05),
                    );
                }
            }
        }
        "corridor" => {
            block(&mut quads, [0.0; 3], [40.0, 2.2, 2.6], 0.0);
            // Open at both ends.
            quads.drain(0..2);
            for k in 0..10 {
                let x = 1.5 + 3.8 * f64::from(k) + between(random, -0.5, 0.5);
                let y = if random.below(2) == 0 { 0.0 } else { 2.2 };
                block(&mut quads, [x, y - 0.06, 0.0], [x + 0.9, y + 0.06, 2.0], 0.0);
            }
        }
        "field" => {
            let wave = |_| {
                let (length, way) = (between(random, 3.0, 12.0), between(random, 0.0, TAU));
                [0.04 * length, TAU / length * way.cos(), TAU / length * way.sin(), between(random, 0.0, TAU)]
            };
            return Surface::Field(20.0, (0..10).map(wave).collect());
        }
        "object" => {
            let wave = |_| {
                let way: [f64; 3] = std::array::from_fn(|_| 4.0 * random.gaussian());
                [0.04, way[0], way[1], way[2], between(random, 0.0, TAU)]
            };
            return Surface::Object((0..8).map(wave).collect());
        }
        _ => panic!("no scene {name}"),
    }
    Surface::Quads(quads)
}

impl Surface {
    /// Random points of the surface between these fractions of its x axis, with noise.
    pub fn sample(&self, random: &mut Random, count: usize, noise: f64, from: f64, to: f64) -> Points {
        let mut points = Vec::with_capacity(count);
        let noisy = |random: &mut Random, p: [f64; 3]| p.map(|x| x + noise * random.gaussian());
        match self {
            Self::Quads(quads) => {
                let low = quads.iter().map(|q| q[0][0]).fold(f64::INFINITY, f64::min);
                let high =
                    quads.iter().map(|q| q[0][0] + q[1][0].max(0.0) + q[2][0].max(0.0)).fold(low, f64::max);
                let (from, to) = (low + from * (high - low), low + to * (high - low));
                let mut sums = Vec::new();
                let mut sum = 0.0;
                for [_, [ux, uy, uz], [vx, vy, vz]] in quads {
                    let n = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
                    sum += n.iter().map(|x| x * x).sum::<f64>().sqrt();
                    sums.push(sum);
                }
                while points.len() < count {
                    let pick = sum * random.uniform();
                    let [p, u, v] = &quads[sums.partition_point(|s| *s < pick).min(quads.len() - 1)];
                    let (a, b) = (random.uniform(), random.uniform());
                    let at: [f64; 3] = std::array::from_fn(|k| p[k] + a * u[k] + b * v[k]);
                    if (from..=to).contains(&at[0]) {
                        points.push(noisy(random, at));
                    }
                }
            }
            Self::Field(edge, waves) => {
                while points.len() < count {
                    let (x, y) = (edge * between(random, from, to), edge * random.uniform());
                    let z = waves.iter().map(|[h, u, v, p]| h * (u * x + v * y + p).sin()).sum();
                    points.push(noisy(random, [x, y, z]));
                }
            }
            Self::Object(waves) => {
                while points.len() < count {
                    let way: [f64; 3] = std::array::from_fn(|_| random.gaussian());
                    let length = way.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let [x, y, z] = way.map(|x| x / length);
                    if (from..=to).contains(&(0.5 + 0.5 * x)) {
                        let radius: f64 = 1.0
                            + waves
                                .iter()
                                .map(|[h, u, v, w, p]| h * (u * x + v * y + w * z + p).sin())
                                .sum::<f64>();
                        points.push(noisy(random, [x, y, z].map(|x| radius * x)));
                    }
                }
            }
        }
        points
    }
}

/// Two clouds of one scene.
#[derive(Debug, Clone)]
pub struct Case {
    pub source: Points,
    pub target: Points,
    /// Maps source to target.
    pub truth: Similarity,
}

impl Case {
    /// The truth, off by about a fifth of a voxel.
    pub fn start(&self, seed: u64, voxel: f64) -> Similarity {
        let mut random = Random::new(seed);
        let extent = Density::of(&self.target).extent();
        let quaternion = [1.0, 0.0, 0.0, 0.0].map(|x| x + 0.1 * voxel / extent * random.gaussian());
        let shift = std::array::from_fn(|_| 0.2 * voxel * random.gaussian());
        self.truth.then(&Similarity::from_quaternion(1.0, quaternion, shift).expect("a similarity"))
    }
}

/// The motion `(ω, t)` about `center` by which `found` differs from `truth`, in target coordinates.
pub fn difference(found: &Similarity, truth: &Similarity, center: [f64; 3]) -> [f64; 6] {
    let r = multiply(&found.rotation(), &transpose(&truth.rotation()));
    let t = minus(found.apply(truth.inverse().apply(center)), center);
    let half = |a: usize, b: usize| 0.5 * (r[a][b] - r[b][a]);
    [half(2, 1), half(0, 2), half(1, 0), t[0], t[1], t[2]]
}

/// `eᵀ·C⁻¹·e`.
pub fn nees(error: [f64; 6], covariance: &Covariance) -> f64 {
    let information = covariance.information();
    (0..6).map(|i| (0..6).map(|j| error[i] * information[i][j] * error[j]).sum::<f64>()).sum()
}

/// What a case is made of.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    pub scene: &'static str,
    /// Number of points of source and target.
    pub points: [usize; 2],
    /// Standard deviation of each coordinate.
    pub noise: f64,
    /// Fraction of the scene that both see.
    pub overlap: f64,
    /// Fraction of additional points that are uniform in the box of the cloud.
    pub strays: f64,
}

impl Recipe {
    pub fn of(scene: &'static str, points: usize, noise: f64) -> Self {
        Self { scene, points: [points; 2], noise, overlap: 1.0, strays: 0.0 }
    }

    /// The case with this seed; the source is moved at random.
    pub fn case(&self, seed: u64) -> Case {
        let mut random = Random::new(seed);
        let surface = scene(self.scene, &mut random);
        // Each cloud sees `share` of the scene, and `overlap` of that is common.
        let share = 1.0 / (2.0 - self.overlap);
        let mut look = |count: usize, from: f64, to: f64| {
            let mut points = surface.sample(&mut random, count, self.noise, from, to);
            let bound = |pick: fn(f64, f64) -> f64, start: f64| -> [f64; 3] {
                points.iter().fold([start; 3], |m, p| std::array::from_fn(|k| pick(m[k], p[k])))
            };
            let (low, high) = (bound(f64::min, f64::INFINITY), bound(f64::max, f64::NEG_INFINITY));
            for _ in 0..(self.strays * count as f64) as usize {
                points.push(std::array::from_fn(|k| between(&mut random, low[k], high[k])));
            }
            points
        };
        let source = look(self.points[0], 0.0, share);
        let target = look(self.points[1], 1.0 - share, 1.0);
        let quaternion = std::array::from_fn(|_| random.gaussian());
        let shift = std::array::from_fn(|_| 5.0 * random.gaussian());
        let back = Similarity::from_quaternion(1.0, quaternion, shift).expect("a similarity");
        // In one of three cases, walls are parallel to the axes of both clouds.
        let turn = match seed % 3 {
            0 => Similarity::IDENTITY,
            _ => Similarity::from_quaternion(1.0, std::array::from_fn(|_| random.gaussian()), [0.0; 3])
                .expect("one"),
        };
        let back = if seed.is_multiple_of(3) { Similarity::from_translation(shift) } else { back };
        Case {
            source: source.iter().map(|&p| back.apply(p)).collect(),
            target: target.iter().map(|&p| turn.apply(p)).collect(),
            truth: back.inverse().then(&turn),
        }
    }
}
