//! Checked options of `register`.

use std::{fmt, time::Duration};

use pcr99::{Scale, Similarity};
use pcr99_base::info;
use pcr99_cloud::{
    CloudRegistration, PreparedCloud, RegisterError, RegisterParams, register::SharedStopCheck,
    register_until,
};

use crate::{
    Deadline, GivenScale, GivenVertical, PlanError, RegisterOptions, check_threads,
    deadline::time_limit,
    text::{number_text, refinement_name},
    vertical,
};

/// Largest relative difference between the scale of an initial pose and the known scale. A matrix that was written with four digits has
/// errors of this size.
const SCALE_TOLERANCE: f64 = 1e-3;

/// Parameters of a registration of two clouds, checked.
///
/// Its text describes it, for instance "scale 1, voxel from the data, refinement point-to-plane, seed 0".
#[derive(Debug, Clone, PartialEq)]
pub struct RegisterPlan {
    params: RegisterParams,
    time_limit: Option<Duration>,
}

impl RegisterPlan {
    /// Checks the options.
    ///
    /// # Errors
    /// When a value is outside its range, or when the initial pose does not agree with the scale.
    pub fn new(options: &RegisterOptions) -> Result<Self, PlanError> {
        let scale = options.scale.map_or(Ok(Scale::one()), GivenScale::checked)?;
        let time_limit = time_limit(options.time_limit)?;
        let mut params = RegisterParams::new().with_scale(scale).with_seed(options.seed.unwrap_or(0));
        if let Some(voxel) = options.voxel {
            params = params.with_voxel(voxel)?;
        }
        if let Some(refinement) = options.refine {
            params = params.with_refinement(refinement);
        }
        if let Some(candidates) = options.candidates {
            params = params.with_candidates(candidates)?;
        }
        if let Some(threads) = options.threads {
            params = params.with_threads(check_threads(threads)?);
        }
        let vertical = GivenVertical::checked(options.vertical, options.tilt)?;
        if let Some(vertical) = vertical {
            params = params.with_vertical(vertical);
        }
        if let Some(initial) = options.initial {
            check_initial(&initial, scale)?;
            vertical.map_or(Ok(()), |vertical| vertical::check_initial(&initial, &vertical))?;
            params = match options.is_local {
                true => params.with_local(initial),
                false => params.with_initial(initial),
            };
        }
        Ok(Self { params, time_limit })
    }

    /// The parameters.
    pub fn params(&self) -> &RegisterParams {
        &self.params
    }

    /// The time limit.
    pub fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    /// Starts the clock of the time limit.
    pub fn deadline(&self) -> Deadline {
        Deadline::new(self.time_limit)
    }

    /// Registers two clouds. Asks `stop` now and then whether to end; see [`Deadline::check`].
    ///
    /// # Errors
    /// As [`register_until`].
    pub fn run(
        &self,
        source: &PreparedCloud,
        target: &PreparedCloud,
        stop: SharedStopCheck<'_>,
    ) -> Result<CloudRegistration, RegisterError> {
        info!("options: {self}");
        register_until(source, target, &self.params, stop)
    }
}

impl fmt::Display for RegisterPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params = &self.params;
        let voxel = params.voxel().map_or("from the data".to_owned(), |voxel| number_text(voxel.get()));
        write!(
            f,
            "scale {}, voxel {voxel}, refinement {}, seed {}",
            GivenScale::from(params.scale()),
            refinement_name(params.refinement()),
            params.seed()
        )?;
        if params.initial().is_some() {
            let search = if params.is_local() { ", no search" } else { "" };
            write!(f, ", initial pose given{search}")?;
        }
        if let Some(vertical) = params.vertical() {
            write!(f, "{}", vertical::vertical_text(vertical))?;
        }
        match self.time_limit {
            Some(limit) => write!(f, ", time limit {} s", number_text(limit.as_secs_f64())),
            None => Ok(()),
        }
    }
}

/// Checks that an initial pose has the known scale, or one within the range.
fn check_initial(initial: &Similarity, scale: Scale) -> Result<(), PlanError> {
    let initial = initial.scale();
    match scale {
        Scale::Known(known) if (initial / known.get() - 1.0).abs() >= SCALE_TOLERANCE => {
            Err(PlanError::InitialScale { initial, scale: known.get() })
        }
        Scale::Between(low, high)
            if initial < low.get() * (1.0 - SCALE_TOLERANCE)
                || initial > high.get() * (1.0 + SCALE_TOLERANCE) =>
        {
            Err(PlanError::InitialOutsideRange { initial, low: low.get(), high: high.get() })
        }
        _ => Ok(()),
    }
}
