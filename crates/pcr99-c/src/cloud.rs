//! Clouds: prepared once, registered and refined many times.

use std::{ffi::c_void, sync::Arc};

use ::pcr99_cloud::{PreparedCloud, RawCloud, register::with_threads, verify::Assessment, voxel::Density};
use pcr99::{Positive, Similarity};
use pcr99_document::Document;
use pcr99_plan::{RegisterPlan, check_threads};

use crate::{
    failure::{Failure, guarded, pcr99_code},
    handle::{pcr99_cloud, pcr99_result},
    options::{pcr99_register_options, pcr99_register_options_default},
    points::{matrix, pcr99_points, values},
    stop::{Stop, pcr99_stop_check},
};

/// Prepares a cloud. Non-finite and duplicate points are removed.
///
/// `normals` may be null; otherwise it has one normal for each point. `viewpoint`, the position of the sensor, has three numbers or is null. `threads` is the
/// maximum number of threads; 0 is the number of cores. Free the cloud with `pcr99_cloud_free`.
///
/// # Safety
/// Pointers are null, or point to what their types say. The memory that the points describe must be readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_cloud_new(
    points: *const pcr99_points,
    normals: *const pcr99_points,
    viewpoint: *const f64,
    threads: u64,
    cloud: *mut pcr99_cloud,
) -> pcr99_code {
    guarded(|| {
        if cloud.is_null() {
            return Err(Failure::null("cloud"));
        }
        // SAFETY: as promised by the caller.
        let points = unsafe { points.as_ref() }.ok_or_else(|| Failure::null("points"))?;
        // SAFETY: as promised by the caller.
        let points = unsafe { points.read("points") }?;
        // SAFETY: as promised by the caller.
        let normals = match unsafe { normals.as_ref() } {
            // SAFETY: as promised by the caller.
            Some(normals) => Some(unsafe { normals.read("normals") }?),
            None => None,
        };
        // SAFETY: as promised by the caller.
        let viewpoint = unsafe { values(viewpoint, 3, "viewpoint") }?.map(|v| [v[0], v[1], v[2]]);
        let threads = match threads {
            0 => 0,
            asked => check_threads(usize::try_from(asked).unwrap_or(usize::MAX))?,
        };
        let raw = RawCloud::new(points).with_viewpoint(viewpoint)?.with_normals(normals.as_deref())?;
        let prepared = with_threads(threads, || PreparedCloud::new(raw))?;
        // SAFETY: checked above; it may be written.
        unsafe { cloud.write_unaligned(pcr99_cloud::of(prepared)) };
        Ok(())
    })
}

/// Frees a cloud. The handle 0 is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn pcr99_cloud_free(cloud: pcr99_cloud) -> pcr99_code {
    guarded(|| cloud.free())
}

/// Source and target of a call.
fn both(source: pcr99_cloud, target: pcr99_cloud) -> Result<[Arc<PreparedCloud>; 2], Failure> {
    Ok([source.get()?, target.get()?])
}

/// Runs a registration. With a local pose, nothing is searched.
///
/// # Safety
/// As `pcr99_register`.
unsafe fn run(
    [source, target]: [pcr99_cloud; 2],
    local: Option<Similarity>,
    options: *const pcr99_register_options,
    stop: pcr99_stop_check,
    user: *mut c_void,
    result: *mut pcr99_result,
) -> Result<(), Failure> {
    if result.is_null() {
        return Err(Failure::null("result"));
    }
    let [source, target] = both(source, target)?;
    // SAFETY: as promised by the caller.
    let options = unsafe { options.as_ref() }.copied().unwrap_or_else(|| pcr99_register_options_default());
    // SAFETY: as promised by the caller.
    let plan = RegisterPlan::new(&unsafe { options.read(local) }?)?;
    let stop = Stop::new(stop, user, plan.deadline());
    let found = plan.run(&source, &target, &|| stop.ask())?;
    // SAFETY: checked above; it may be written.
    unsafe { result.write_unaligned(pcr99_result::of(Document::of_clouds(&found))) };
    Ok(())
}

/// Finds the transform `b = s·R·a + t` that aligns the source with the target, without given matches.
///
/// `options` may be null (the defaults), and so may `stop`. Free the result with `pcr99_result_free`.
///
/// # Safety
/// Pointers are null, or point to what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_register(
    source: pcr99_cloud,
    target: pcr99_cloud,
    options: *const pcr99_register_options,
    stop: pcr99_stop_check,
    user: *mut c_void,
    result: *mut pcr99_result,
) -> pcr99_code {
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { run([source, target], None, options, stop, user, result) })
}

/// Refines a given pose without a search. The pose must be right to about three voxels.
///
/// `initial` has the sixteen numbers of the matrix `[sR t; 0 1]`, row by row. The rest is as in `pcr99_register`; `options.initial` is not used.
///
/// # Safety
/// As `pcr99_register`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_refine(
    source: pcr99_cloud,
    target: pcr99_cloud,
    initial: *const f64,
    options: *const pcr99_register_options,
    stop: pcr99_stop_check,
    user: *mut c_void,
    result: *mut pcr99_result,
) -> pcr99_code {
    guarded(|| {
        // SAFETY: as promised by the caller.
        let initial = unsafe { matrix(initial, "initial") }?;
        // SAFETY: as promised by the caller.
        unsafe { run([source, target], Some(initial), options, stop, user, result) }
    })
}

/// How well two clouds fit under a transform.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pcr99_fit {
    /// Fraction of the source points that have target points near them.
    pub overlap_source: f64,
    /// Fraction of the target points that have source points near them.
    pub overlap_target: f64,
    /// Fraction of the overlapping points whose normals agree within 30°.
    pub normal_agreement: f64,
    /// Mean distance of the overlapping points from the tangent plane of the other cloud, in voxels.
    pub residual_voxels: f64,
    /// Fraction of the points that lie a few voxels beside a surface that the other cloud saw there, among the points that can tell.
    pub conflict_fraction: f64,
    /// Fraction of all points that overlap, agree and lie on no large plane.
    pub off_plane_fraction: f64,
}

/// Edge of the voxels for two clouds and a scale, in target units.
fn common_voxel(source: &PreparedCloud, target: &PreparedCloud, scale: f64) -> f64 {
    Density::common_voxel(&source.density().scaled(scale), target.density())
}

/// Measures how well two clouds fit under a given transform, without a verdict.
///
/// `voxel` is the edge of the voxels in target units; 0 chooses it from the data.
///
/// # Safety
/// As `pcr99_register`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_verify(
    source: pcr99_cloud,
    target: pcr99_cloud,
    transform: *const f64,
    voxel: f64,
    fit: *mut pcr99_fit,
) -> pcr99_code {
    guarded(|| {
        if fit.is_null() {
            return Err(Failure::null("fit"));
        }
        let [source, target] = both(source, target)?;
        // SAFETY: as promised by the caller.
        let pose = unsafe { matrix(transform, "transform") }?;
        let voxel = match voxel {
            0.0 => common_voxel(&source, &target, pose.scale()),
            given => Positive::new("voxel", given)?.get(),
        };
        // Prepared clouds are relative to their centres.
        let shift = |by: [f64; 3]| Similarity::from_translation(by);
        let inner = shift(source.center()).then(&pose).then(&shift(target.center().map(|x| -x)));
        let (moving, fixed) = (source.sampled(voxel / pose.scale()), target.sampled(voxel));
        let measured = Assessment::of(&moving, &fixed, &inner, voxel);
        let measured = pcr99_fit {
            overlap_source: measured.overlap_source,
            overlap_target: measured.overlap_target,
            normal_agreement: measured.normal_agreement,
            residual_voxels: measured.residual_voxels,
            conflict_fraction: measured.conflict_fraction,
            off_plane_fraction: measured.off_plane_fraction,
        };
        // SAFETY: checked above; it may be written.
        unsafe { fit.write_unaligned(measured) };
        Ok(())
    })
}

/// The edge of the voxels that `pcr99_register` uses by default, in target units.
///
/// # Safety
/// As `pcr99_register`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_suggest_voxel(
    source: pcr99_cloud,
    target: pcr99_cloud,
    scale: f64,
    voxel: *mut f64,
) -> pcr99_code {
    guarded(|| {
        if voxel.is_null() {
            return Err(Failure::null("voxel"));
        }
        let [source, target] = both(source, target)?;
        let suggested = common_voxel(&source, &target, Positive::new("scale", scale)?.get());
        // SAFETY: as promised by the caller.
        unsafe { voxel.write_unaligned(suggested) };
        Ok(())
    })
}
