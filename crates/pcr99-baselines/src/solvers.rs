//! All methods by name.

use std::{fmt, str::FromStr};

use pcr99::{
    Correspondences, Counters, Params, Positive, Registration, Scale, assess, paper, random::Random,
    stop::StopCheck,
};
use pcr99_base::clock::Clock;

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

/// Name of a registration method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Default method of `pcr99`.
    Default,
    /// PCR-99 as published.
    Paper,
    /// PCR-99 with random samples: the paper's ablation without sample ordering.
    PaperRandom,
    /// RANSIC: random triples until two agree.
    Ransic,
    /// ICOS: random triples that grow to seven compatible matches.
    Icos,
    /// DANIEL: a random match, then two more that are consistent with it, until two such triples agree.
    Daniel,
    /// TriVoC: three levels of voting on the graph of length-consistent matches.
    TriVoc,
    /// VODRAC: two random matches, and votes for the third.
    Vodrac,
    /// VOCRA: votes, then averaging of rotations.
    Vocra,
    /// RANSAC: random triples.
    Ransac,
    /// GNC-TLS: truncated least squares by graduated non-convexity.
    GncTls,
    /// TEASER: scale, largest clique, rotation, translation.
    Teaser,
    /// FGR: Gauss–Newton steps with a robust cost that narrows.
    Fgr,
}

/// Properties of a method.
struct About {
    name: &'static str,
    title: &'static str,
    finds_scale: bool,
}

impl Method {
    /// All methods: ours, then those of the paper in its order, then others.
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

    /// List of all names, for messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Name in options and documents.
    pub const fn name(self) -> &'static str {
        self.about().name
    }

    /// Name in figures and tables.
    pub const fn title(self) -> &'static str {
        self.about().title
    }

    /// Whether the method can find an unknown scale. The others need a known scale.
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

/// Solvers of all methods, on one thread. They reuse their memory from problem to problem.
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
    /// Creates solvers without allocating memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers `pairs` by `method`. Calls `stop` regularly, which can end the search. Answers of all methods are judged by the same evidence.
    ///
    /// # Errors
    /// When the method needs a known scale, does not take a range of scales or matches that differ in noise, or needs too much memory.
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

/// Problem for a baseline.
struct Ask<'a> {
    method: Method,
    pairs: &'a Correspondences,
    scale: Scale,
    threshold: Positive,
    seed: u64,
    stop: StopCheck<'a>,
}

impl Ask<'_> {
    /// Runs a method that can find the scale.
    fn either(&self, baseline: &mut impl Baseline<Scale = EitherScale>) -> Result<Registration, Error> {
        let told = match self.scale {
            Scale::Known(_) => EitherScale::Known,
            Scale::Unknown => EitherScale::Unknown,
            Scale::Between(..) => return Err(Error::ScaleRange),
        };
        self.run(baseline, told)
    }

    /// Runs a method that needs a known scale.
    fn known(&self, baseline: &mut impl Baseline<Scale = KnownScale>) -> Result<Registration, Error> {
        match self.scale {
            Scale::Known(_) => self.run(baseline, KnownScale),
            Scale::Unknown | Scale::Between(..) => Err(Error::ScaleNeeded { method: self.method.name() }),
        }
    }

    fn run<B: Baseline>(&self, baseline: &mut B, told: B::Scale) -> Result<Registration, Error> {
        if self.pairs.differ_in_noise() {
            return Err(Error::StandardDeviations { method: self.method.name() });
        }
        if self.pairs.vertical().is_some() {
            return Err(Error::Vertical { method: self.method.name() });
        }
        let mut clock = Clock::start();
        baseline.reserve(self.method.name(), self.pairs.len())?;
        let prepared = Prepared::new(self.pairs, self.scale, self.threshold);
        let found = baseline.find(&prepared.matches(), told, &mut Random::new(self.seed), self.stop);
        let Found { model, samples, hypotheses, stopped_because } = found;
        clock.lap("search");
        let mut judged = match model {
            Some(model) => assess(self.pairs, &prepared.outward(&model), self.threshold),
            None => {
                let (n, threshold) = (self.pairs.len(), self.threshold.get());
                Registration::no_solution(n, threshold, stopped_because, Counters::default())
            }
        };
        judged.stopped_because = stopped_because;
        (judged.counters.triplets, judged.counters.hypotheses) = (samples, hypotheses);
        clock.lap("evidence");
        judged.seconds = clock.stop();
        Ok(judged)
    }
}
