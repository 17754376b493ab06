//! Pose graphs: vertices with unknown poses, and edges that say where one vertex is seen from another.

use std::collections::HashMap;

use pcr99_base::{Similarity, eigen::symmetric_eigen};

use crate::Error;

/// Kind of the poses of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rigid motions, SE(3): six unknowns per vertex.
    Rigid,
    /// Similarities, Sim(3): seven unknowns per vertex.
    Similarity,
}

impl Kind {
    /// Number of unknowns of a pose.
    pub const fn unknowns(self) -> usize {
        match self {
            Self::Rigid => 6,
            Self::Similarity => 7,
        }
    }
}

/// Information of an edge: the inverse of the covariance of its error.
///
/// The true pose is the measured one followed on its right by a small motion. Rows and columns are the rotation vector in radians, the translation and the
/// logarithm of the scale of that motion, in the axes and units of the vertex that is seen. The upper triangle is used; rigid graphs do not use the last row and column.
pub type Information = [[f64; 7]; 7];

/// A measurement between two vertices.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Edge {
    /// Index of the vertex in whose frame the other is seen.
    pub from: usize,
    /// Index of the vertex that is seen.
    pub to: usize,
    /// Pose of `to` in the frame of `from`: maps coordinates of `to` to those of `from`.
    pub from_to: Similarity,
    /// Its information.
    pub information: Information,
    /// Relative size of its least eigenvalue, where that is not positive.
    pub(crate) indefinite: Option<f64>,
    /// Line of the file that it comes from; 0 where there is none.
    pub(crate) line: usize,
}

/// What is known of the place of one point of a vertex: a control point, or a position of a satellite receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Position {
    /// Index of the vertex.
    pub vertex: usize,
    /// The point, in coordinates of the vertex.
    pub local: [f64; 3],
    /// Its place, in coordinates of the graph.
    pub place: [f64; 3],
    /// Standard deviation of each coordinate of the place.
    pub deviations: [f64; 3],
}

/// A pose graph.
///
/// ```
/// use pcr99_base::Similarity;
/// use pcr99_graph::{Kind, PoseGraph, isotropic};
///
/// let mut graph = PoseGraph::new(Kind::Rigid);
/// let (a, b) = (graph.add_vertex(10, None)?, graph.add_vertex(20, None)?);
/// // 20 is seen one metre ahead of 10, with a standard deviation of 0.01 rad and 0.05 m.
/// graph.add_edge(a, b, Similarity::from_translation([1.0, 0.0, 0.0]), isotropic(0.01, 0.05, 1.0))?;
/// assert_eq!(graph.id(b), 20);
/// # Ok::<(), pcr99_graph::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PoseGraph {
    kind: Kind,
    ids: Vec<u64>,
    index_of: HashMap<u64, usize>,
    poses: Vec<Option<Similarity>>,
    fixed: Vec<usize>,
    edges: Vec<Edge>,
    positions: Vec<Position>,
}

/// Information of independent errors with these standard deviations: rotation in radians, translation, and logarithm of the scale.
pub fn isotropic(rotation: f64, translation: f64, scale: f64) -> Information {
    let deviation = |k: usize| match k {
        0..3 => rotation,
        3..6 => translation,
        _ => scale,
    };
    std::array::from_fn(|i| {
        std::array::from_fn(|j| if i == j { 1.0 / (deviation(i) * deviation(i)) } else { 0.0 })
    })
}

/// Smallest eigenvalue that an information matrix may have after its diagonal was scaled to 1. Rounding to six digits moves eigenvalues by 10⁻⁶.
const LEAST_EIGENVALUE: f64 = 1e-9;

impl PoseGraph {
    /// A graph without vertices.
    pub fn new(kind: Kind) -> Self {
        let (ids, poses, fixed, edges) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { kind, ids, index_of: HashMap::new(), poses, fixed, edges, positions: Vec::new() }
    }

    /// Adds a vertex with a number of the caller's choice and, where it is known, a pose to start from. Returns its index: 0, 1, 2, …
    ///
    /// # Errors
    /// [`Error::DuplicateVertex`], and [`Error::Scaled`] when a pose of a rigid graph has a scale.
    pub fn add_vertex(&mut self, id: u64, pose: Option<Similarity>) -> Result<usize, Error> {
        if let Some(pose) = &pose {
            self.check_scale(pose)?;
        }
        let index = self.ids.len();
        if self.index_of.insert(id, index).is_some_and(|before| {
            // The vertex that was there stays.
            self.index_of.insert(id, before);
            true
        }) {
            return Err(Error::DuplicateVertex(id));
        }
        self.ids.push(id);
        self.poses.push(pose);
        Ok(index)
    }

    /// Adds an edge: `to` is seen at the pose `from_to` from `from`. Both are indices.
    ///
    /// The parts of the information for the rotation and for the translation must be positive definite. The whole matrix must be, too, for the
    /// [geodesic cost](crate::Cost::Geodesic), which [`solve`](crate::solve) checks.
    ///
    /// # Errors
    /// [`Error::MissingVertex`], [`Error::SelfLoop`], [`Error::Scaled`], [`Error::NotFiniteInformation`] and [`Error::NotPositiveInformation`].
    pub fn add_edge(
        &mut self,
        from: usize,
        to: usize,
        from_to: Similarity,
        information: Information,
    ) -> Result<(), Error> {
        if let Some(missing) = [from, to].into_iter().find(|&v| v >= self.ids.len()) {
            return Err(Error::MissingVertex(missing as u64));
        }
        if from == to {
            return Err(Error::SelfLoop(self.ids[from]));
        }
        self.check_scale(&from_to)?;
        let unknowns = self.kind.unknowns();
        let information: Information = std::array::from_fn(|i| {
            std::array::from_fn(|j| if i.max(j) < unknowns { information[i.min(j)][i.max(j)] } else { 0.0 })
        });
        let indefinite = check_information(&information, self.kind.unknowns())?;
        self.edges.push(Edge { from, to, from_to, information, indefinite, line: 0 });
        Ok(())
    }

    /// Adds what is known of the place of a point of a vertex. [`anchor`](crate::anchor) ties the graph to such places; [`solve`](crate::solve) ignores them.
    ///
    /// # Errors
    /// [`Error::MissingVertex`], [`Error::NotFinitePosition`], and [`Error::NotPositive`] unless the deviations are finite and positive.
    pub fn add_position(
        &mut self,
        vertex: usize,
        local: [f64; 3],
        place: [f64; 3],
        deviations: [f64; 3],
    ) -> Result<usize, Error> {
        if vertex >= self.ids.len() {
            return Err(Error::MissingVertex(vertex as u64));
        }
        if let Some(value) = local.into_iter().chain(place).find(|x| !x.is_finite()) {
            return Err(Error::NotFinitePosition { vertex: self.ids[vertex], value });
        }
        if let Some(value) = deviations.into_iter().find(|s| !(s.is_finite() && *s > 0.0)) {
            return Err(Error::NotPositive { name: "deviation of a position", value });
        }
        self.positions.push(Position { vertex, local, place, deviations });
        Ok(self.positions.len() - 1)
    }

    /// All positions.
    pub fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// Notes the line of the file from which the last edge comes.
    pub(crate) fn set_line(&mut self, line: usize) {
        if let Some(edge) = self.edges.last_mut() {
            edge.line = line;
        }
    }

    /// Keeps a vertex at its pose; other vertices of its component are placed relative to it.
    ///
    /// # Errors
    /// [`Error::MissingVertex`], and [`Error::NoPose`] when the vertex has no pose.
    pub fn fix(&mut self, vertex: usize) -> Result<(), Error> {
        let pose = self.poses.get(vertex).ok_or(Error::MissingVertex(vertex as u64))?;
        pose.ok_or(Error::NoPose(self.ids[vertex]))?;
        if !self.fixed.contains(&vertex) {
            self.fixed.push(vertex);
        }
        Ok(())
    }

    fn check_scale(&self, pose: &Similarity) -> Result<(), Error> {
        if self.kind == Kind::Rigid && pose.scale() != 1.0 {
            Err(Error::Scaled(pose.scale()))
        } else {
            Ok(())
        }
    }

    /// Rigid motions or similarities.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The caller's number of a vertex.
    ///
    /// # Panics
    /// When there is no such index.
    pub fn id(&self, vertex: usize) -> u64 {
        self.ids[vertex]
    }

    /// Index of the vertex with the caller's number `id`.
    pub fn index(&self, id: u64) -> Option<usize> {
        self.index_of.get(&id).copied()
    }

    /// Poses to start from, of all vertices.
    pub fn poses(&self) -> &[Option<Similarity>] {
        &self.poses
    }

    /// Indices of the fixed vertices.
    pub fn fixed(&self) -> &[usize] {
        &self.fixed
    }

    /// All edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The same graph with the edges for which `keep` is true.
    #[must_use]
    pub fn with_edges(&self, keep: impl Fn(usize) -> bool) -> Self {
        let edges = self.edges.iter().enumerate().filter(|(k, _)| keep(*k)).map(|(_, edge)| edge.clone());
        Self { edges: edges.collect(), ..self.clone() }
    }

    /// The same graph with other poses to start from.
    ///
    /// # Errors
    /// [`Error::MissingVertex`] when there are too few poses, and [`Error::Scaled`].
    pub fn with_poses(mut self, poses: &[Similarity]) -> Result<Self, Error> {
        if poses.len() < self.len() {
            return Err(Error::MissingVertex(poses.len() as u64));
        }
        poses.iter().try_for_each(|pose| self.check_scale(pose))?;
        self.poses = poses[..self.len()].iter().copied().map(Some).collect();
        Ok(self)
    }

    /// Component of each vertex: vertices are in the same one when edges connect them. Components are numbered by their first vertex.
    pub fn components(&self) -> Vec<usize> {
        components(self.len(), self.edges.iter().map(|edge| (edge.from, edge.to)))
    }
}

/// Component of each of `count` vertices.
pub(crate) fn components(count: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..count).collect();
    fn root(parent: &mut [usize], mut v: usize) -> usize {
        while parent[v] != v {
            parent[v] = parent[parent[v]];
            v = parent[v];
        }
        v
    }
    for (a, b) in edges {
        let (a, b) = (root(&mut parent, a), root(&mut parent, b));
        // The smaller index is the root, so that components are numbered by their first vertex.
        parent[a.max(b)] = a.min(b);
    }
    let mut number = vec![0; count];
    let mut found = 0;
    for v in 0..count {
        let root = root(&mut parent, v);
        if root == v {
            number[v] = found;
            found += 1;
        } else {
            number[v] = number[root];
        }
    }
    number
}

/// Checks the blocks of an information matrix; `Some` least eigenvalue when they are positive definite, but the whole is not.
fn check_information(information: &Information, unknowns: usize) -> Result<Option<f64>, Error> {
    let part = || information[..unknowns].iter().flat_map(|row| &row[..unknowns]);
    if let Some(&bad) = part().find(|x| !x.is_finite()) {
        return Err(Error::NotFiniteInformation(bad));
    }
    // Most matrices are diagonally dominant, which needs no eigenvalues.
    let is_dominant = (0..unknowns).all(|i| {
        let others: f64 = (0..unknowns).filter(|&j| j != i).map(|j| information[i][j].abs()).sum();
        information[i][i] > 1.1 * others
    });
    if is_dominant {
        return Ok(None);
    }
    if let Some(bad) = (0..unknowns).map(|i| information[i][i]).find(|&x| x <= 0.0) {
        return Err(Error::NotPositiveInformation(bad));
    }
    // Roots one after the other: the product may overflow.
    let scaled = |i: usize, j: usize| {
        information[i.max(j)][i.min(j)] / information[i][i].sqrt() / information[j][j].sqrt()
    };
    let is_bad = |least: f64| least.is_nan() || least < LEAST_EIGENVALUE;
    for first in [0, 3] {
        let block: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| scaled(first + i, first + j)));
        let least = symmetric_eigen(&block).0[0];
        if is_bad(least) {
            return Err(Error::NotPositiveInformation(least));
        }
    }
    let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
    let whole: Information = std::array::from_fn(|i| {
        std::array::from_fn(|j| if i < unknowns && j < unknowns { scaled(i, j) } else { unit(i, j) })
    });
    let least = symmetric_eigen(&whole).0[0];
    Ok(is_bad(least).then_some(least))
}
