//! Edges are judged again with the map: pairs that overlap there are refined from the map's pose, and refused where the clouds then do not fit.

use std::sync::Arc;

use pcr99::Status;
use pcr99_base::logging;
use pcr99_cloud::{PreparedCloud, RegisterParams, register::refine, verify::Assessment};
use rayon::prelude::*;

use crate::{
    candidate::{allowed, rest_of, unit_scale},
    choose::GATE,
    map::{Map, MapEdge},
    scan::Scan,
    uncertain::{Uncertain, centered, covariance_of, uncentered},
};

/// Smallest overlap of either scan for which a pair is refined with the map's pose.
const OVERLAP: f64 = 0.15;

/// A pair to be judged with the map.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rejudged {
    pub(crate) target: usize,
    pub(crate) source: usize,
    /// Edge of a voxel, in units of the target.
    pub(crate) voxel: f64,
}

/// Gets the prepared cloud of a scan.
pub(crate) type Clouds<'a> = &'a (dyn Fn(usize) -> Result<Arc<PreparedCloud>, String> + Sync);

/// Refines pairs from the map's poses. `None` for a pair that does not overlap, whose clouds do not fit, or that moves farther than the map is uncertain.
pub(crate) fn rejudged(
    pairs: &[Rejudged],
    map: &Map,
    scans: &[Scan],
    params: &RegisterParams,
    clouds: Clouds<'_>,
) -> Vec<Option<MapEdge>> {
    pairs.par_iter().map(|pair| one(pair, map, scans, params, clouds)).collect()
}

fn one(
    pair: &Rejudged,
    map: &Map,
    scans: &[Scan],
    params: &RegisterParams,
    clouds: Clouds<'_>,
) -> Option<MapEdge> {
    let Rejudged { target, source, voxel } = *pair;
    let start = map.between(target, source)?;
    let [from, to] = [&scans[source], &scans[target]];
    let distance = pcr99_base::vector::norm(start.translation());
    // The farthest points of a scan are hardly more than three times as far away as they are on average.
    if distance > 3.0 * (start.scale() * from.radius + to.radius) {
        return None;
    }
    let (cloud, other) = (clouds(source).ok()?, clouds(target).ok()?);
    let fit = Assessment::of(&cloud.sampled(voxel / start.scale()), &other.sampled(voxel), &start, voxel);
    if fit.overlap_source.max(fit.overlap_target) < OVERLAP {
        return None;
    }
    let initial = uncentered(&start, from.center, to.center);
    let params = params.clone().with_voxel(voxel).ok()?;
    let found = logging::silent(|| refine(&cloud, &other, &initial, &params)).ok()?;
    if found.status != Status::Registered {
        return None;
    }
    let given = unit_scale(&found.target_from_source?);
    let pose = centered(&given, from.center, to.center);
    let told = found.covariance.as_ref()?;
    let covariance = covariance_of(told, &given, from.center).ok()?;
    let rest = rest_of(told, &given, from);
    let voxel = voxel / pose.scale();
    let here = allowed(pose, Some(&covariance), voxel, &rest);
    let there = Uncertain::isotropic(start, voxel, from.radius);
    (here.disagreement(&there, from.radius) <= GATE).then_some(MapEdge {
        target,
        source,
        pose,
        covariance,
        voxel,
        rest,
    })
}
