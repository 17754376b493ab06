use pcr99_baselines::Method;

/// An estimator that the benchmark compares: a method, or the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// Reference: least squares on the true inliers. No method does better on average.
    TrueInliers,
    /// A method.
    Method(Method),
}

impl Estimator {
    /// The default method of this project.
    pub const DEFAULT: Self = Self::Method(Method::Default);

    /// PCR-99 as published.
    pub const PAPER: Self = Self::Method(Method::Paper);

    /// All estimators: the reference, then the methods in the order of figures and tables.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::TrueInliers).chain(Method::ALL.into_iter().map(Self::Method))
    }

    /// Estimator of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|estimator| estimator.name() == name)
    }

    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TrueInliers => "true-inliers",
            Self::Method(method) => method.name(),
        }
    }

    /// Name in figures and tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::TrueInliers => "fit on true inliers",
            Self::Method(method) => method.title(),
        }
    }
}
