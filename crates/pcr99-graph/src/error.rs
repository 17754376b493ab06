//! Why a graph cannot be read, built or solved.

/// Why a graph is not valid or cannot be solved.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A line of a g2o file is not valid.
    #[error("line {line}: {cause}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        cause: Box<Error>,
    },
    /// The tag at the beginning of a line is not known.
    #[error("`{tag}` is not supported: use {}", crate::g2o::TAGS)]
    UnknownTag {
        /// The tag.
        tag: String,
    },
    /// A line has too few or too many numbers.
    #[error("`{tag}` needs {expected} numbers, but there are {found}: the line may be cut off")]
    NumberCount {
        /// The tag.
        tag: &'static str,
        /// How many it needs.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A word is no number.
    #[error("`{word}` is no {what}")]
    NoNumber {
        /// The word.
        word: String,
        /// What was expected.
        what: &'static str,
    },
    /// The file is not text.
    #[error("the bytes are not text (UTF-8): this may not be a g2o file")]
    NotText,
    /// A file has rigid motions and similarities.
    #[error("the file has vertices or edges of both SE3 and SIM3: give all of them a scale, or none")]
    Mixed,
    /// Two vertices have the same number.
    #[error("vertex {0} exists already: remove one of the two")]
    DuplicateVertex(u64),
    /// An edge or a fixed vertex names a vertex that does not exist.
    #[error("vertex {0} does not exist: add a line for it, or correct the number")]
    MissingVertex(u64),
    /// An edge leads from a vertex to itself.
    #[error("the edge leads from vertex {0} to itself: remove it")]
    SelfLoop(u64),
    /// A number of a pose is not finite, or its quaternion or scale is not valid.
    #[error("the pose is not valid: {0}")]
    Pose(pcr99_base::SimilarityError),
    /// A quaternion is far from length 1.
    #[error("the quaternion has the length {0}, not 1: its order is x y z w")]
    QuaternionLength(f64),
    /// A rigid graph was given a scale.
    #[error(
        "the pose has the scale {0}, but a graph of rigid motions has none: make a graph of similarities"
    )]
    Scaled(f64),
    /// An information matrix has NaN or infinite numbers.
    #[error("the information matrix has the number {0}, which is not finite")]
    NotFiniteInformation(f64),
    /// An information matrix is not positive definite.
    #[error(
        "the information matrix is not positive definite: its eigenvalue of least relative size is {0:.3e}; give every direction a positive information"
    )]
    NotPositiveInformation(f64),
    /// The parts of an information matrix for rotation and translation are positive definite, but the whole is not.
    #[error(
        "the information matrix of the edge from {from} to {to} is not positive definite, although its parts for the rotation and the translation are (its eigenvalue of least relative size is {least:.3e}): correct it, or use the chordal cost, which does not need the whole"
    )]
    IndefiniteInformation {
        /// Number of the first vertex.
        from: u64,
        /// Number of the second vertex.
        to: u64,
        /// Least eigenvalue after its diagonal was scaled to 1.
        least: f64,
    },
    /// There is no vertex.
    #[error("the graph has no vertices: nothing can be optimised")]
    Empty,
    /// The start was to be the given poses, but a vertex has none.
    #[error("vertex {0} has no pose to start from: start from the edges instead")]
    NoPose(u64),
    /// An option does not fit the graph.
    #[error(
        "the chordal cost is defined for rigid motions only: use the geodesic cost for a graph with scales"
    )]
    ChordalSimilarity,
    /// A number of an option is not valid.
    #[error("`{name}` must be finite and positive, got {value}")]
    NotPositive {
        /// Name of the option.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// A coordinate of a position is NaN or infinite.
    #[error("a position of vertex {vertex} has the coordinate {value}, which is not finite: remove it")]
    NotFinitePosition {
        /// Number of the vertex.
        vertex: u64,
        /// The coordinate.
        value: f64,
    },
    /// The system cannot be solved in double precision.
    #[error(
        "the system of equations cannot be solved in double precision: the information matrices differ too much in size"
    )]
    Singular,
}

impl Error {
    /// The same error with the line where it is.
    pub(crate) fn at(self, line: usize) -> Self {
        Self::Line { line, cause: Box::new(self) }
    }
}
