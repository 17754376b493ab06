//! Two raw clouds → their pose.

mod error;
mod params;

use std::sync::Arc;
use std::time::Instant;

use pcr99::{Correspondences, Params, Registration, Scale, Similarity};

pub use error::RegisterError;
pub use params::RegisterParams;

use crate::{
    fpfh::{Descriptor, turned},
    matching::{MatchPool, NearestBothWays},
    orient::Orientation,
    prepare::{Features, Level, PreparedCloud},
    refine::Icp,
    verify::Assessment,
    voxel::Density,
};

/// A pose held against the clouds.
#[derive(Debug, Clone)]
pub struct Contender {
    /// pose
    pub pose: Similarity,
    /// inliers
    pub inliers: usize,
    /// nfa
    pub log10_nfa: f64,
    /// after icp
    pub assessment: Assessment,
}

/// experimental
#[derive(Debug)]
pub struct Trial {
    /// voxel
    pub voxel: f64,
    /// sizes
    pub sizes: [usize; 2],
    /// matches
    pub pairs: Vec<[usize; 2]>,
    /// source
    pub source: Arc<Level>,
    /// target
    pub target: Arc<Level>,
    /// reg
    pub found: Option<Registration>,
    /// contenders
    pub contenders: Vec<Contender>,
    /// seconds
    pub seconds: Vec<(&'static str, f64)>,
}

fn pool(source: &Features, target: &Features, mutual: bool) -> MatchPool {
    let mut pool = MatchPool::default();
    let flipped: Vec<Descriptor> = source.fpfh.signed.iter().map(turned).collect();
    for (a, b) in [
        (&source.fpfh.signed, &target.fpfh.signed),
        (&flipped, &target.fpfh.signed),
        (&source.fpfh.unsigned, &target.fpfh.unsigned),
    ] {
        let near = NearestBothWays::between(a, b);
        let indices = |[i, j]: [u32; 2]| [source.fpfh.points[i as usize], target.fpfh.points[j as usize]];
        if mutual {
            pool.extend(near.mutual().map(indices));
        } else {
            pool.extend(near.one_way().map(indices));
        }
    }
    pool
}

/// experimental
pub fn trial(source: &PreparedCloud, target: &PreparedCloud, voxel: Option<f64>, mutual: bool) -> Result<Trial, RegisterError> {
    let mut seconds = Vec::new();
    let mut clock = Instant::now();
    let mut lap = |name: &'static str, seconds: &mut Vec<(&'static str, f64)>| {
        seconds.push((name, clock.elapsed().as_secs_f64()));
        clock = Instant::now();
    };
    let voxel = voxel.unwrap_or_else(|| Density::common_voxel(source.density(), target.density()));
    lap("voxel", &mut seconds);
    let (a, b) = (source.level(voxel), target.level(voxel));
    lap("level", &mut seconds);
    let (fa, fb) = (source.features(voxel, Orientation::Consistent), target.features(voxel, Orientation::Consistent));
    lap("features", &mut seconds);
    let (pairs, counts) = pool(&fa, &fb, mutual).into_counted();
    lap("matching", &mut seconds);
    let matches = Correspondences::from_indices(&a.points, &b.points, &pairs)?.with_weights(&counts)?;
    let found = pcr99::solve(&matches, Scale::one(), &Params::new().with_threshold(1.5 * voxel)?.with_candidates(8)?)?;
    lap("solve", &mut seconds);
    let contenders = found
        .candidates
        .iter()
        .map(|c| {
            let icp = Icp { source: &a, target: &b, refinement: crate::Refinement::PointToPlane, with_scale: false, points: 1000 };
            let pose = icp.run(c.target_from_source, 3.0 * voxel, 1.5 * voxel, 12);
            let assessment = Assessment::of(&a, &b, &pose, voxel);
            Contender { pose, inliers: c.inlier_count, log10_nfa: c.log10_nfa, assessment }
        })
        .collect();
    lap("verify", &mut seconds);
    Ok(Trial { voxel, sizes: [a.points.len(), b.points.len()], pairs, source: a, target: b, found: Some(found), contenders, seconds })
}
