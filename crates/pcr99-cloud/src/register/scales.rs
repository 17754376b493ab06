//! Unknown scale: descriptors at voxel sizes in several ratios, each of which implies a scale.
//!
//! Each cloud alone gets the voxel at which it fills about 5000 cells. The ratio of the two voxels is the first scale. Two clouds that
//! share only a part of a scene differ in extent by more than the scale, so ratios around the first are tried, nearest first. Descriptors
//! tolerate voxels that are off by 10 % to 20 %, so steps of a third of an octave leave no gap. Once a ratio yields a scale that the clouds
//! confirm, everything is searched again with voxels of exactly that ratio.

use pcr99::Scale;

use super::{
    RegisterError, RoundKind, Task,
    look::Aim,
    search::{Candidate, Effort},
};

/// Step between ratios: the cube root of two.
const STEP: f64 = 1.259_921_049_894_873_2;
/// Number of steps to either side of the first ratio.
const STEPS: i32 = 4;
/// Range of scales searched with one ratio: from the ratio divided by this to the ratio times this.
const REACH: f64 = 1.35;
/// The search for a ratio ends with a candidate whose log₁₀ of the number of false alarms is below this, and that meets the next two limits.
const CLEAR_EVIDENCE: f64 = -20.0;
/// Largest distance of the surfaces of such a candidate, in voxels.
const CLEAR_RESIDUAL: f64 = 0.35;
/// Smallest fraction of its normals that agree.
const CLEAR_AGREEMENT: f64 = 0.65;

impl Task<'_> {
    /// Searches for the scale.
    pub(super) fn search_scales(&mut self) -> Result<Aim, RegisterError> {
        let (moving, fixed) = (self.pair.moving.density().voxel(), self.pair.fixed.density().voxel());
        let bounds = match self.scale {
            Scale::Between(low, high) => [low.get(), high.get()],
            _ => [0.0, f64::INFINITY],
        };
        let mut best: Option<Candidate> = None;
        for step in (0..=2 * STEPS).map(|k| if k % 2 == 0 { k / 2 } else { -(k + 1) / 2 }) {
            // The coarser of the two voxels is made coarser still, so that neither cloud is sampled beyond its density.
            let coarser = STEP.powi(step.abs());
            let (moving, fixed) =
                if step > 0 { (moving, fixed * coarser) } else { (moving * coarser, fixed) };
            let ratio = fixed / moving;
            let low = (ratio / REACH).max(bounds[0]);
            let high = (ratio * REACH).min(bounds[1]);
            let Ok(range) = Scale::between(low, high) else { continue };
            if self.is_stopped() {
                break;
            }
            let sampled = self.pair.sampled(moving, fixed);
            self.clock.lap("voxels");
            let attempt = self.pair.attempt(
                &sampled,
                range,
                Effort::Mutual,
                self.params,
                self.stop,
                &mut self.clock,
            )?;
            let new = attempt
                .as_ref()
                .map(|a| a.candidates(&sampled, true, self.params.refinement()))
                .unwrap_or_default();
            for candidate in new {
                if best.as_ref().is_none_or(|best| candidate.merit() > best.merit()) {
                    best = Some(candidate);
                }
            }
            self.add_round(self.round(RoundKind::Scale, &sampled, attempt.as_ref(), best.as_ref()));
            self.clock.lap("verify");
            let clear = best.as_ref().is_some_and(|best| {
                best.log10_nfa() < CLEAR_EVIDENCE
                    && best.votes.assessment.residual_voxels < CLEAR_RESIDUAL
                    && best.votes.assessment.normal_agreement > CLEAR_AGREEMENT
            });
            if clear {
                break;
            }
        }
        let scale = best.map_or(fixed / moving, |best| best.pose.scale()).clamp(bounds[0], bounds[1]);
        let range = around(scale, self.scale)?;
        self.tell_scale(scale, range);
        Ok(Aim { scale, range, given: None })
    }
}

/// Range of scales around this one, within `bounds`.
pub(super) fn around(scale: f64, bounds: Scale) -> Result<Scale, RegisterError> {
    let (low, high) = (scale / REACH, scale * REACH);
    Ok(match bounds {
        Scale::Between(least, most) => {
            Scale::between(low.clamp(least.get(), most.get()), high.clamp(least.get(), most.get()))?
        }
        _ => Scale::between(low, high)?,
    })
}
