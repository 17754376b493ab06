//! Every method under its name.

use std::{fmt, str::FromStr, time::Instant};

use pcr99::{
    Correspondences, Counters, Params, Positive, Registration, Scale, Seconds, assess, paper, random::Random,
    stop::StopCheck,
};

use crate::{
    Error,
    baseline::{Baseline, EitherScale, Found, KnownScale, Prepared},
    daniel::Daniel,
    fgr::Fgr,
    gnc_tls::GncTls,
    icos::Icos,
    ransac::Ransac,
    ransic::Ransic,
    teaser::Teaser,
    trivoc::TriVoc,
    vocra::Vocra,
    vodrac::Vodrac,
};

/// A method by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Ours.
    Default,
    /// PCR-99 as published.
    Paper,
    /// PCR-99 with random samples: the paper's ablation, "no S/O".
    PaperRandom,
    /// Two random triples that agree with each other.
    Ransic,
    /// A random triple that grows to seven compatible matches.
    Icos,
    /// One match at random, then two more that fit it, until two such triples agree.
    Daniel,
    /// Three levels of voting on the graph of consistent lengths.
    TriVoc,
    /// Two matches at random, votes for the third.
    Vodrac,
    /// Votes, then rotations that agree.
    Vocra,
    /// Three matches at random, again and again.
    Ransac,
    /// Weighted least squares with weights that become 0 or 1.
    GncTls,
    /// Scale, largest clique, rotation, translation.
    Teaser,
    /// Gauss–Newton with a cost that narrows.
    Fgr,
}

/// What is said of a method.
struct About {
    name: &'static str,
    title: &'static str,
    finds_scale: bool,
}

impl Method {
    /// All of them: ours, then those of the paper in its order, then others.
    pub const ALL: [Self; 13] = [
        Self::Default,
        Self::Paper,
        Self::PaperRandom,
        Self::Ransic,
        Self::Icos,
        Self::Daniel,
        Self::TriVoc,
        Self::Vodrac,
        Self::Vocra,
        Self::Ransac,
        Self::GncTls,
        Self::Teaser,
        Self::Fgr,
    ];

    const fn about(self) -> About {
        let (name, title, finds_scale) = match self {
            Self::Default => ("default", "ours", true),
            Self::Paper => ("paper", "PCR-99", true),
            Self::PaperRandom => ("paper-random", "PCR-99 (no S/O)", true),
            Self::Ransic => ("ransic", "RANSIC", true),
            Self::Icos => ("icos", "ICOS", true),
            Self::Daniel => ("daniel", "DANIEL", false),
            Self::TriVoc => ("trivoc", "TriVoC", false),
            Self::Vodrac => ("vodrac", "VODRAC", false),
            Self::Vocra => ("vocra", "VOCRA", false),
            Self::Ransac => ("ransac", "RANSAC", true),
            Self::GncTls => ("gnc-tls", "GNC-TLS", true),
            Self::Teaser => ("teaser", "TEASER", true),
            Self::Fgr => ("fgr", "FGR", false),
        };
        About { name, title, finds_scale }
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The name in options and documents.
    pub const fn name(self) -> &'static str {
        self.about().name
    }

    /// The name in figures and tables.
    pub const fn title(self) -> &'static str {
        self.about().title
    }

    /// Whether it can find an unknown scale; else it must be told.
    pub const fn finds_scale(self) -> bool {
        self.about().finds_scale
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| Error::UnknownMethod { name: name.to_owned() })
    }
}

/// Solves one problem after the other by any method, in the same memory, on one thread.
#[derive(Debug, Default)]
pub struct Solvers {
    default: pcr99::Solver,
    paper: paper::Solver,
    ransic: Ransic,
    icos: Icos,
    daniel: Daniel,
    trivoc: TriVoc,
    vodrac: Vodrac,
    vocra: Vocra,
    ransac: Ransac,
    gnc_tls: GncTls,
    teaser: Teaser,
    fgr: Fgr,
}

impl Solvers {
    /// Solvers that hold no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers `pairs` by `method`, asking `stop` now and then whether to end. What comes back is judged by the same evidence
    /// for every method.
    ///
    /// # Errors
    /// When the method cannot find an unknown scale, takes no range of scales, or has not enough memory.
    pub fn solve(
        &mut self,
        method: Method,
        pairs: &Correspondences,
        scale: Scale,
        threshold: Positive,
        seed: u64,
        stop: StopCheck<'_>,
    ) -> Result<Registration, Error> {
        let ask = Ask { method, pairs, scale, threshold, seed, stop };
        match method {
            Method::Ransic => ask.either(&mut self.ransic),
            Method::Icos => ask.either(&mut self.icos),
            Method::Daniel => ask.known(&mut self.daniel),
            Method::TriVoc => ask.known(&mut self.trivoc),
            Method::Vodrac => ask.known(&mut self.vodrac),
            Method::Vocra => ask.known(&mut self.vocra),
            Method::Ransac => ask.either(&mut self.ransac),
            Method::GncTls => ask.either(&mut self.gnc_tls),
            Method::Teaser => ask.either(&mut self.teaser),
            Method::Fgr => ask.known(&mut self.fgr),
            Method::Default => {
                let params = Params::new().with_threshold(threshold.get())?.with_threads(1).with_seed(seed);
                Ok(self.solve_default(pairs, scale, &params, stop)?)
            }
            Method::Paper | Method::PaperRandom => {
                let mut params = paper::Params::new(threshold.get())?;
                if method == Method::PaperRandom {
                    params = params.with_sampling(paper::Sampling::random(seed));
                }
                Ok(self.solve_paper(pairs, scale, &params, stop)?)
            }
        }
    }

    /// Registers `pairs` by the default method with any of its parameters.
    ///
    /// # Errors
    /// As [`pcr99::Solver::solve_until`].
    pub fn solve_default(
        &mut self,
        pairs: &Correspondences,
        scale: Scale,
        params: &Params,
        stop: StopCheck<'_>,
    ) -> Result<Registration, pcr99::Error> {
        self.default.solve_until(pairs, scale, params, stop)
    }

    /// Registers `pairs` by the published method with any of its parameters.
    ///
    /// # Errors
    /// As [`paper::Solver::solve_until`].
    pub fn solve_paper(
        &mut self,
        pairs: &Correspondences,
        scale: Scale,
        params: &paper::Params,
        stop: StopCheck<'_>,
    ) -> Result<Registration, pcr99::Error> {
        self.paper.solve_until(pairs, scale, params, stop)
    }
}

/// What a baseline is asked.
struct Ask<'a> {
    method: Method,
    pairs: &'a Correspondences,
    scale: Scale,
    threshold: Positive,
    seed: u64,
    stop: StopCheck<'a>,
}

impl Ask<'_> {
    /// Of a method that can find the scale.
    fn either(&self, baseline: &mut impl Baseline<Scale = EitherScale>) -> Result<Registration, Error> {
        let told = match self.scale {
            Scale::Known(_) => EitherScale::Known,
            Scale::Unknown => EitherScale::Unknown,
            Scale::Between(..) => return Err(Error::ScaleRange),
        };
        self.run(baseline, told)
    }

    /// Of a method that must be told the scale.
    fn known(&self, baseline: &mut impl Baseline<Scale = KnownScale>) -> Result<Registration, Error> {
        match self.scale {
            Scale::Known(_) => self.run(baseline, KnownScale),
            Scale::Unknown | Scale::Between(..) => Err(Error::ScaleNeeded { method: self.method.name() }),
        }
    }

    fn run<B: Baseline>(&self, baseline: &mut B, told: B::Scale) -> Result<Registration, Error> {
        let start = Instant::now();
        baseline.reserve(self.method.name(), self.pairs.len())?;
        let prepared = Prepared::new(self.pairs, self.scale, self.threshold);
        let found = baseline.find(&prepared.matches(), told, &mut Random::new(self.seed), self.stop);
        let Found { model, samples, hypotheses, stopped_because } = found;
        let mut judged = match model {
            Some(model) => assess(self.pairs, &prepared.outward(&model), self.threshold),
            None => {
                let (n, threshold) = (self.pairs.len(), self.threshold.get());
                Registration::no_solution(n, threshold, stopped_because, Counters::default())
            }
        };
        judged.stopped_because = stopped_because;
        (judged.counters.triplets, judged.counters.hypotheses) = (samples, hypotheses);
        judged.seconds = Seconds::new(start.elapsed().as_secs_f64(), Vec::new());
        Ok(judged)
    }
}
