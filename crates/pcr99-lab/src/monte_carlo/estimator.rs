use pcr99_baselines::Method;

/// An estimator that the benchmark compares: a method, or the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// The reference: least squares on the matches that are known to be right. No method does better on average.
    TrueInliers,
    /// A method.
    Method(Method),
}

impl Estimator {
    /// The default method of this project.
    pub const DEFAULT: Self = Self::Method(Method::Default);

    /// PCR-99 as published.
    pub const PAPER: Self = Self::Method(Method::Paper);

    /// All of them: the reference, then the methods in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::TrueInliers).chain(Method::ALL.into_iter().map(Self::Method))
    }

    /// The one of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|estimator| estimator.name() == name)
    }

    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TrueInliers => "true-inliers",
            Self::Method(method) => method.name(),
        }
    }

    /// The name in figures and tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::TrueInliers => "fit on true inliers",
            Self::Method(method) => method.title(),
        }
    }
}
