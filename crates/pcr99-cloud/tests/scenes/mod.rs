//! Scenes of simple solids and sensors that scan them: clouds with known truth.
//!
//! A sensor casts a ray in each of its directions and sees the first surface, so hidden surfaces are missing as in a real scan.
#![allow(dead_code, unused_imports, reason = "each test that includes this uses a part of it")]

mod attacks;
mod families;
mod scans;

use pcr99::{Similarity, random::Random};

pub use attacks::ATTACKS;
pub use families::{FAMILIES, Family};
use scans::scans;
pub use scans::{Judgement, Scans};

pub type Points = Vec<[f64; 3]>;

/// A solid. Boxes and posts stand upright.
#[derive(Debug, Clone)]
pub enum Solid {
    /// A box, rotated about the vertical by the angle with this cosine and sine. Seen from inside it is a room.
    Block {
        center: [f64; 3],
        half: [f64; 3],
        turn: [f64; 2],
    },
    Ball {
        center: [f64; 3],
        radius: f64,
    },
    /// An upright cylinder with a lid.
    Post {
        foot: [f64; 3],
        radius: f64,
        height: f64,
    },
    /// Hills: waves `[height, x, y, phase]`.
    Ground(Vec<[f64; 4]>),
    /// A round tunnel about the x axis, or a ring in it: all that is farther than the radius from the axis, between two x. Seen from inside.
    Tunnel {
        radius: f64,
        reach: [f64; 2],
    },
}

impl Solid {
    /// The box between two corners.
    pub fn block(low: [f64; 3], high: [f64; 3]) -> Self {
        let center = std::array::from_fn(|k| 0.5 * (low[k] + high[k]));
        let half = std::array::from_fn(|k| 0.5 * (high[k] - low[k]));
        Self::Block { center, half, turn: [1.0, 0.0] }
    }

    /// The solid elsewhere. Ground and tunnels stay.
    pub fn shifted(self, by: [f64; 3]) -> Self {
        match self {
            Self::Block { center, half, turn } => Self::Block { center: plus(center, by), half, turn },
            Self::Ball { center, radius } => Self::Ball { center: plus(center, by), radius },
            Self::Post { foot, radius, height } => Self::Post { foot: plus(foot, by), radius, height },
            Self::Ground(_) | Self::Tunnel { .. } => self,
        }
    }

    /// The mirror image at the plane with this x.
    pub fn mirrored(&self, plane: f64) -> Self {
        let image = |[x, y, z]: [f64; 3]| [2.0 * plane - x, y, z];
        match *self {
            Self::Block { center, half, turn: [c, s] } => {
                Self::Block { center: image(center), half, turn: [c, -s] }
            }
            Self::Ball { center, radius } => Self::Ball { center: image(center), radius },
            Self::Post { foot, radius, height } => Self::Post { foot: image(foot), radius, height },
            Self::Ground(ref waves) => Self::Ground(
                waves.iter().map(|&[h, x, y, phase]| [h, -x, y, phase + 2.0 * x * plane]).collect(),
            ),
            Self::Tunnel { radius, reach: [low, high] } => {
                Self::Tunnel { radius, reach: [2.0 * plane - high, 2.0 * plane - low] }
            }
        }
    }

    /// Distance along the ray to the surface, if it is between `least` and `most`.
    fn hit(&self, from: [f64; 3], along: [f64; 3], least: f64, most: f64) -> Option<f64> {
        let inside = |t: f64| (t > least && t < most).then_some(t);
        match self {
            Self::Block { center, half, turn: [c, s] } => {
                let local = |v: [f64; 3]| [c * v[0] + s * v[1], c * v[1] - s * v[0], v[2]];
                let (o, d) = (local(minus(from, *center)), local(along));
                let (mut near, mut far) = (f64::NEG_INFINITY, f64::INFINITY);
                for k in 0..3 {
                    let (a, b) = ((-half[k] - o[k]) / d[k], (half[k] - o[k]) / d[k]);
                    near = near.max(a.min(b));
                    far = far.min(a.max(b));
                }
                if near > far {
                    return None;
                }
                inside(near).or_else(|| if near <= least { inside(far) } else { None })
            }
            Self::Ball { center, radius } => {
                let o = minus(from, *center);
                let (b, c) = (dot(o, along), dot(o, o) - radius * radius);
                let root = (b * b - c >= 0.0).then(|| (b * b - c).sqrt())?;
                inside(-b - root)
            }
            Self::Post { foot, radius, height } => {
                let o = minus(from, *foot);
                let a = along[0] * along[0] + along[1] * along[1];
                let b = o[0] * along[0] + o[1] * along[1];
                let c = o[0] * o[0] + o[1] * o[1] - radius * radius;
                let side = (b * b - a * c >= 0.0).then(|| (-b - (b * b - a * c).sqrt()) / a);
                let side = side.filter(|t| (0.0..*height).contains(&(o[2] + t * along[2])));
                let lid = Some((height - o[2]) / along[2]).filter(|t| {
                    let (x, y) = (o[0] + t * along[0], o[1] + t * along[1]);
                    x * x + y * y < radius * radius
                });
                side.and_then(inside).into_iter().chain(lid.and_then(inside)).reduce(f64::min)
            }
            Self::Ground(waves) => {
                let above = |t: f64| {
                    let p: [f64; 3] = std::array::from_fn(|k| from[k] + t * along[k]);
                    p[2] - height(waves, p[0], p[1])
                };
                let (mut t, mut step) = (least, 0.0);
                while t < most {
                    let gap = above(t);
                    if gap < 0.0 {
                        let (mut low, mut high) = (t - step, t);
                        for _ in 0..30 {
                            let middle = 0.5 * (low + high);
                            if above(middle) < 0.0 { high = middle } else { low = middle }
                        }
                        return inside(high);
                    }
                    step = (0.4 * gap).max(0.02 + 0.002 * t);
                    t += step;
                }
                None
            }
            Self::Tunnel { radius, reach } => {
                let across = along[1] * along[1] + along[2] * along[2];
                let b = from[1] * along[1] + from[2] * along[2];
                let c = from[1] * from[1] + from[2] * from[2] - radius * radius;
                let wall = (-b + (b * b - across * c).max(0.0).sqrt()) / across;
                let (p, q) = ((reach[0] - from[0]) / along[0], (reach[1] - from[0]) / along[0]);
                let t = wall.max(p.min(q));
                if t <= p.max(q) { inside(t) } else { None }
            }
        }
    }
}

/// Height of hills.
pub fn height(waves: &[[f64; 4]], x: f64, y: f64) -> f64 {
    waves.iter().map(|w| w[0] * (w[1] * x + w[2] * y + w[3]).sin()).sum()
}

/// A sensor at one place.
#[derive(Debug, Clone)]
pub struct Sensor {
    pub at: [f64; 3],
    /// Centre and half width of the view, in radians.
    pub heading: f64,
    pub half_width: f64,
    /// Lowest and highest elevation, in radians.
    pub elevation: [f64; 2],
    /// Angles between rays, in azimuth and elevation, in radians.
    pub steps: [f64; 2],
    pub range: [f64; 2],
    /// Standard deviation of the range.
    pub noise: f64,
    /// Increase of the standard deviation for each unit of range squared, as of depth cameras.
    pub growing: f64,
}

impl Sensor {
    /// A tripod scanner with a full circle of view.
    pub fn all_round(at: [f64; 3], step_deg: f64, range: f64, noise: f64) -> Self {
        let step = step_deg.to_radians();
        let pi = std::f64::consts::PI;
        Self {
            at,
            heading: 0.0,
            half_width: pi,
            elevation: [-1.3, 1.5],
            steps: [step, step],
            range: [0.05, range],
            noise,
            growing: 0.0,
        }
    }

    /// A camera that looks to one side.
    pub fn camera(at: [f64; 3], heading: f64, half_width: f64, elevation: [f64; 2], noise: f64) -> Self {
        Self { heading, half_width, elevation, ..Self::all_round(at, 0.4, 100.0, noise) }
    }

    /// A spinning LiDAR with 64 rings.
    pub fn rings(at: [f64; 3]) -> Self {
        Self::some_rings(at, 64, [-24.8, 2.0])
    }

    /// A spinning LiDAR with this many rings between two elevations in degrees.
    pub fn some_rings(at: [f64; 3], rings: u32, elevation: [f64; 2]) -> Self {
        let [low, high] = elevation.map(f64::to_radians);
        Self {
            elevation: [low, high],
            steps: [0.35_f64.to_radians(), (high - low) / f64::from(rings - 1)],
            range: [2.5, 80.0],
            ..Self::all_round(at, 1.0, 80.0, 0.02)
        }
    }

    /// The points that the sensor sees. The random numbers decide its first direction.
    pub fn scan(&self, scene: &[Solid], random: &mut Random) -> Points {
        let (turned, raised) = (random.uniform(), random.uniform());
        let columns = (2.0 * self.half_width / self.steps[0]) as usize;
        let rows = ((self.elevation[1] - self.elevation[0]) / self.steps[1]) as usize + 1;
        let mut seen = Vec::new();
        for column in 0..columns {
            let azimuth = self.heading - self.half_width + (column as f64 + turned) * self.steps[0];
            for row in 0..rows {
                let elevation = self.elevation[0] + (row as f64 + 0.2 * raised) * self.steps[1];
                let (c, s) = (elevation.cos(), elevation.sin());
                let along = [c * azimuth.cos(), c * azimuth.sin(), s];
                let mut nearest = self.range[1];
                let mut is_seen = false;
                for solid in scene {
                    if let Some(t) = solid.hit(self.at, along, self.range[0], nearest) {
                        (nearest, is_seen) = (t, true);
                    }
                }
                if is_seen {
                    let noise = self.noise + self.growing * nearest * nearest;
                    let t = nearest + noise * random.gaussian();
                    seen.push(std::array::from_fn(|k| self.at[k] + t * along[k]));
                }
            }
        }
        seen
    }
}

/// Fused scans of several sensors.
pub fn fused(sensors: &[Sensor], scene: &[Solid], random: &mut Random) -> Points {
    sensors.iter().flat_map(|sensor| sensor.scan(scene, random)).collect()
}

pub fn moved(points: &[[f64; 3]], motion: &Similarity) -> Points {
    points.iter().map(|&p| motion.apply(p)).collect()
}

pub fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * random.uniform()
}

fn plus(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| u[k] + v[k])
}

fn minus(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| u[k] - v[k])
}

fn dot(u: [f64; 3], v: [f64; 3]) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}
