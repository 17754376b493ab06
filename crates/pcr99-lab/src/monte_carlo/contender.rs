use crate::Method;

/// Who is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contender {
    /// No method at all: least squares on the matches that are known to be right. Nobody does better on average.
    TrueInliers,
    /// A method.
    Method(Method),
}

impl Contender {
    /// All of them: the reference, then the methods in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::TrueInliers).chain(Method::ALL.into_iter().map(Self::Method))
    }

    /// The one of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|contender| contender.name() == name)
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
