//! Two scans, the poses that are right for them, and the judgement of an answer.

use pcr99::{Similarity, random::Random};

use super::{Points, moved};

/// Two scans.
#[derive(Debug, Clone)]
pub struct Scans {
    pub source: Points,
    pub target: Points,
    /// Maps the source onto the target; `None` for scans of different places.
    pub truth: Option<Similarity>,
    /// Other poses that are as right as the truth, because what was scanned is symmetric. A free rotation is given in steps of 10°.
    pub equivalent: Vec<Similarity>,
    /// Whether the scans leave the pose open although they show one place: all that they show repeats itself or slides. A registered pose
    /// is then a guess, even where it hits the truth.
    pub is_ambiguous: bool,
    /// Distance after which what was scanned repeats itself; infinite without repetition.
    pub period: f64,
    /// Positions of the sensors, when there was one for each scan.
    pub viewpoints: Option<[[f64; 3]; 2]>,
    /// The direction that is up in the source. In the target it is the z axis.
    pub up: [f64; 3],
}

/// What an answer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// A right pose was registered.
    Right,
    /// A right pose was found and not registered.
    Refused,
    /// A wrong pose was registered, or any pose of scans that leave it open.
    Wrong,
    /// Nothing was registered, and no right pose was found or there is none.
    Nothing,
}

/// Two scans, the source moved at random.
pub(super) fn scans(
    seed: u64,
    source: &[[f64; 3]],
    target: Points,
    same: bool,
    viewpoints: Option<[[f64; 3]; 2]>,
) -> Scans {
    let mut random = Random::new(seed ^ 0x5eed);
    let quaternion = std::array::from_fn(|_| random.gaussian());
    let back = Similarity::from_quaternion(1.0, quaternion, std::array::from_fn(|_| 5.0 * random.gaussian()))
        .expect("a similarity");
    Scans {
        source: moved(source, &back),
        target,
        truth: same.then(|| back.inverse()),
        equivalent: Vec::new(),
        is_ambiguous: false,
        period: f64::INFINITY,
        viewpoints: viewpoints.map(|[a, b]| [back.apply(a), b]),
        up: back.rotation().map(|row| row[2]),
    }
}

impl Scans {
    /// Scans of something that each of these motions maps onto itself, in the frame of the target.
    pub(super) fn with_symmetries(mut self, symmetries: &[Similarity]) -> Self {
        let truth = self.truth.expect("scans of one thing");
        self.equivalent = symmetries.iter().map(|symmetry| truth.then(symmetry)).collect();
        self
    }

    /// Judges a pose. It is right within 15° and 6 voxels of a right pose, and a quarter of the period.
    pub fn judge(&self, pose: &Similarity, voxel: f64, is_registered: bool) -> Judgement {
        if self.is_ambiguous {
            return if is_registered { Judgement::Wrong } else { Judgement::Nothing };
        }
        let near = (6.0 * voxel).min(0.25 * self.period);
        let is_right = self.errors(pose).is_some_and(|(degrees, apart)| degrees < 15.0 && apart < near);
        match (is_right, is_registered) {
            (true, true) => Judgement::Right,
            (true, false) => Judgement::Refused,
            (false, true) => Judgement::Wrong,
            (false, false) => Judgement::Nothing,
        }
    }

    /// Error of a pose against the right pose of the most similar rotation: the angle in degrees, and the distance between the two
    /// positions of the source's centre.
    pub fn errors(&self, pose: &Similarity) -> Option<(f64, f64)> {
        let n = self.source.len() as f64;
        let center = std::array::from_fn(|k| self.source.iter().map(|p| p[k]).sum::<f64>() / n);
        let against = |right: &Similarity| {
            let (r, t) = (pose.rotation(), right.rotation());
            let trace: f64 = (0..3).map(|i| (0..3).map(|k| r[i][k] * t[i][k]).sum::<f64>()).sum();
            let (p, q) = (pose.apply(center), right.apply(center));
            let apart = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
            (((trace - 1.0) / 2.0).clamp(-1.0, 1.0).acos().to_degrees(), apart)
        };
        self.truth.iter().chain(&self.equivalent).map(against).min_by(|a, b| a.0.total_cmp(&b.0))
    }
}
