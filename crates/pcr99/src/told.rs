//! What a result says to a listener, see [`pcr99_base::logging`].

use pcr99_base::{
    debug, info,
    logging::{Scope, scope},
    text::{counted, motion, percent, shown},
};

use crate::{Candidate, Evidence, Positive, Registration};

impl Evidence {
    /// Expected number of false alarms, as a power of ten.
    pub fn false_alarms(&self) -> String {
        if self.log10_nfa == f64::NEG_INFINITY {
            "no false alarms expected".to_owned()
        } else {
            format!("10^{:.1} false alarms expected", self.log10_nfa)
        }
    }

    /// Number of places of the inliers, in words.
    pub fn places(&self) -> String {
        match self.inlier_places {
            1 => "at 1 place".to_owned(),
            // Counting stops here.
            many @ Self::MOST_COUNTED.. => format!("at {many} or more distinct places"),
            some => format!("at {some} distinct places"),
        }
    }
}

impl Registration {
    /// Whether the threshold is smaller than the `given` one by more than rounding: a larger one could not tell the matches apart.
    pub fn has_reduced(&self, given: Positive) -> bool {
        self.threshold < (1.0 - 1e-9) * given.get()
    }

    /// Tells a listener of the crate `log` what was found: at level info the threshold, the rival and the verdict, at level debug the candidates. `given` is the
    /// threshold of the caller. The default method tells its results by itself. As a step of other work, such as a registration of clouds, only the verdict is told.
    pub fn tell(&self, given: Option<Positive>) {
        if scope() == Scope::Step {
            debug!("these matches alone: {}", self.verdict());
            return;
        }
        let origin = || match given {
            Some(given) if self.has_reduced(given) => {
                format!("reduced from the given {}", shown(given.get()))
            }
            Some(_) => "as given".to_owned(),
            None => "estimated from the data".to_owned(),
        };
        info!("threshold {} ({})", shown(self.threshold), origin());
        for (rank, candidate) in (1..).zip(&self.candidates) {
            debug!("candidate {rank}: {}", candidate.line());
        }
        if let Some(rival) = &self.rival {
            info!(
                "rival: {} inliers, {} of the evidence of the answer; {}",
                rival.inlier_count,
                percent(rival.evidence_ratio),
                motion(&rival.target_from_source)
            );
        }
        info!("{}", self.verdict());
    }

    /// The doubt, or what speaks for the answer.
    fn verdict(&self) -> String {
        match self.doubt {
            Some(doubt) => format!("doubt `{}`: {}", doubt.code(), self.reason()),
            None => format!("no doubt: {}", self.reason()),
        }
    }
}

impl Candidate {
    fn line(&self) -> String {
        format!(
            "{}, {}, inliers {}, rotation uncertain by {:.2}°; {}",
            counted(self.inlier_count as u64, "inlier", "inliers"),
            self.evidence.false_alarms(),
            self.evidence.places(),
            self.evidence.rotation_deviation_deg,
            motion(&self.target_from_source)
        )
    }
}
