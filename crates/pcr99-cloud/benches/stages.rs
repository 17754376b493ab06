//! Time of each stage of the registration of two clouds, and of the whole: `cargo bench -p pcr99-cloud --bench stages`.
//!
//! The clouds are two views of a generated room with known truth, sampled with the voxel that the registration chooses.

#![allow(missing_docs, reason = "criterion's macros make undocumented items")]
#![allow(unreachable_pub, reason = "shared with the tests")]

#[path = "../tests/scenes/mod.rs"]
mod scenes;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use pcr99::{Correspondences, Params, Scale, Similarity, Solver};
use pcr99_cloud::{
    PreparedCloud, RawCloud, Refinement, RegisterParams,
    fpfh::Fpfh,
    matching::{MatchPool, NearestBothWays},
    neighbors::Neighbors,
    normals,
    orient::Orientation,
    prepare::SampledCloud,
    refine::Icp,
    register,
    verify::Assessment,
    voxel::{Density, VoxelSample},
};
use scenes::{FAMILIES, Scans};

/// Radius of normals, in voxels, as in the registration.
const NORMAL_RADIUS: f64 = 2.0;
/// Radius of descriptors, in voxels, as in the registration.
const FEATURE_RADIUS: f64 = 5.0;
/// Inlier threshold of matches, in voxels, as in the registration.
const THRESHOLD: f64 = 1.5;

fn scans() -> Scans {
    let (_, make) = FAMILIES.iter().find(|(name, _)| *name == "room view").expect("a family of that name");
    make(1)
}

fn prepared(points: &[[f64; 3]]) -> PreparedCloud {
    PreparedCloud::new(RawCloud::new(points)).expect("a cloud")
}

/// The true pose between the clouds' centres, to which their samples are relative.
fn inner_truth(scans: &Scans, source: &PreparedCloud, target: &PreparedCloud) -> Similarity {
    let shift = |by: [f64; 3]| {
        Similarity::new(1.0, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], by).expect("a shift")
    };
    let truth = scans.truth.expect("two views of the same room");
    shift(source.center()).then(&truth).then(&shift(target.center().map(|x| -x)))
}

/// Mutual nearest neighbours of the signed descriptors, as correspondences of the sampled points.
fn matches(clouds: [&PreparedCloud; 2], voxel: f64) -> Correspondences {
    let [source, target] = clouds.map(|cloud| cloud.features(voxel, Orientation::Consistent));
    let near = NearestBothWays::between(&source.fpfh.signed, &target.fpfh.signed);
    let mut pool = MatchPool::default();
    pool.extend(near.mutual().map(|[i, j]| [source.fpfh.points[i as usize], target.fpfh.points[j as usize]]));
    let [source, target] = clouds.map(|cloud| cloud.sampled(voxel));
    Correspondences::from_indices(&source.points, &target.points, &pool.into_pairs(4000)).expect("matches")
}

fn descriptors(criterion: &mut Criterion) {
    let scans = scans();
    let cloud = prepared(&scans.source);
    let voxel = Density::common_voxel(cloud.density(), prepared(&scans.target).density());
    let sampled = cloud.sampled(voxel);
    let radius = FEATURE_RADIUS * voxel;
    let neighbors = Neighbors::within(&sampled.tree, &sampled.points, radius);
    criterion.bench_function("prepare", |b| b.iter(|| prepared(black_box(&scans.source))));
    criterion.bench_function("voxel", |b| b.iter(|| VoxelSample::of(black_box(cloud.points()), voxel)));
    criterion.bench_function("normals", |b| {
        b.iter(|| normals::estimate(black_box(&sampled.points), &sampled.tree, NORMAL_RADIUS * voxel));
    });
    criterion.bench_function("neighbors", |b| {
        b.iter(|| Neighbors::within(&sampled.tree, black_box(&sampled.points), radius));
    });
    criterion.bench_function("fpfh", |b| {
        b.iter(|| Fpfh::of(black_box(&sampled.points), sampled.normals(), &neighbors, radius));
    });
}

fn poses(criterion: &mut Criterion) {
    let scans = scans();
    let (source, target) = (prepared(&scans.source), prepared(&scans.target));
    let voxel = Density::common_voxel(source.density(), target.density());
    let features = [&source, &target].map(|cloud| cloud.features(voxel, Orientation::Consistent));
    criterion.bench_function("matching", |b| {
        b.iter(|| NearestBothWays::between(black_box(&features[0].fpfh.signed), &features[1].fpfh.signed));
    });

    let pairs = matches([&source, &target], voxel);
    let params = Params::new().with_threshold(THRESHOLD * voxel).expect("a threshold");
    criterion.bench_function("solve", |b| {
        let mut solver = Solver::new();
        b.iter(|| solver.solve(black_box(&pairs), Scale::one(), &params).expect("a result"));
    });

    let truth = inner_truth(&scans, &source, &target);
    let sampled: [std::sync::Arc<SampledCloud>; 2] = [&source, &target].map(|cloud| cloud.sampled(voxel));
    criterion.bench_function("verify", |b| {
        b.iter(|| Assessment::of(&sampled[0], &sampled[1], black_box(&truth), voxel));
    });
    let icp = Icp {
        source: &sampled[0],
        target: &sampled[1],
        refinement: Refinement::PointToPlane,
        with_scale: false,
        up: None,
        faces: true,
        points: 1000,
    };
    criterion.bench_function("refine", |b| {
        b.iter(|| icp.run(black_box(truth), THRESHOLD * voxel, THRESHOLD * voxel, 10));
    });
}

fn whole(criterion: &mut Criterion) {
    let scans = scans();
    criterion.bench_function("register", |b| {
        b.iter(|| {
            let (source, target) = (prepared(black_box(&scans.source)), prepared(&scans.target));
            register(&source, &target, &RegisterParams::new()).expect("a result")
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = descriptors, poses, whole
}
criterion_main!(benches);
