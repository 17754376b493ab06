//! Files in the format of g2o.
//!
//! ```text
//! VERTEX_SE3:QUAT id x y z qx qy qz qw
//! EDGE_SE3:QUAT from to x y z qx qy qz qw I11 I12 … I16 I22 … I66
//! FIX id …
//! ```
//!
//! The pose of an edge is that of `to` in the frame of `from`. The information is the upper triangle, with the translation before the rotation.
//! `VERTEX_SIM3:QUAT` and `EDGE_SIM3:QUAT` are our extension for similarities: the scale follows `qw`, and the information has 28 numbers, the last row and
//! column for the logarithm of the scale. Empty lines and lines that begin with `#` are skipped.

use std::fmt::Write as _;

use pcr99_base::Similarity;

use crate::{Error, Information, Kind, PoseGraph};

/// Tags that are read, for messages.
pub(crate) const TAGS: &str =
    "VERTEX_SE3:QUAT, EDGE_SE3:QUAT, VERTEX_SIM3:QUAT, EDGE_SIM3:QUAT or FIX, or remove the line";

/// Largest difference of the length of a quaternion from 1; it is then normalised. Files with two digits are off by 0.01.
const QUATERNION_TOLERANCE: f64 = 0.02;

/// What the rotational part of an information matrix in a file belongs to.
///
/// The two differ by a factor of 4, and files do not say which they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RotationInformation {
    /// The vector part of the quaternion, which is half of the rotation vector: as g2o defines it, and as `pcr99 register --format g2o` writes it.
    #[default]
    Quaternion,
    /// The rotation vector in radians: as GTSAM and SE-Sync read it.
    Radians,
}

impl RotationInformation {
    /// What the number of row or column `k` of a file is multiplied by.
    fn factor(self, k: usize) -> f64 {
        if self == Self::Quaternion && (3..6).contains(&k) { 0.5 } else { 1.0 }
    }
}

/// Place in [`Information`] of a row or column of a file.
fn place(k: usize) -> usize {
    if k < 6 { (k + 3) % 6 } else { k }
}

impl PoseGraph {
    /// Reads a graph from the contents of a g2o file.
    ///
    /// ```
    /// use pcr99_graph::{PoseGraph, RotationInformation};
    ///
    /// let text = "VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\nVERTEX_SE3:QUAT 1 1 0 0 0 0 0\n";
    /// let error = PoseGraph::from_g2o(text.as_bytes(), RotationInformation::Quaternion).unwrap_err();
    /// assert_eq!(error.to_string(), "line 2: `VERTEX_SE3:QUAT` needs 8 numbers, but there are 7: the line may be cut off");
    /// ```
    ///
    /// # Errors
    /// [`Error::Line`] with the line and the cause.
    pub fn from_g2o(bytes: &[u8], rotations: RotationInformation) -> Result<Self, Error> {
        let lines = || bytes.split(|&byte| byte == b'\n').enumerate().map(|(k, line)| (k + 1, line));
        let mut graph: Option<Self> = None;
        // Edges may come before their vertices.
        let mut edges = Vec::new();
        let mut fixed = Vec::new();
        for (number, line) in lines() {
            let text = std::str::from_utf8(line).map_err(|_| Error::NotText.at(number))?;
            let mut words = text.split_ascii_whitespace();
            let Some(tag) = words.next().filter(|tag| !tag.starts_with('#')) else { continue };
            let (kind, is_vertex, name) = match tag {
                "VERTEX_SE3:QUAT" => (Kind::Rigid, true, "VERTEX_SE3:QUAT"),
                "EDGE_SE3:QUAT" => (Kind::Rigid, false, "EDGE_SE3:QUAT"),
                "VERTEX_SIM3:QUAT" => (Kind::Similarity, true, "VERTEX_SIM3:QUAT"),
                "EDGE_SIM3:QUAT" => (Kind::Similarity, false, "EDGE_SIM3:QUAT"),
                "FIX" => {
                    for word in words {
                        fixed.push((number, vertex_number(word).map_err(|e| e.at(number))?));
                    }
                    continue;
                }
                _ => return Err(Error::UnknownTag { tag: shortened(tag) }.at(number)),
            };
            let graph = graph.get_or_insert_with(|| Self::new(kind));
            let read = || -> Result<Record, Error> {
                if graph.kind() != kind {
                    return Err(Error::Mixed);
                }
                Record::parse(words, name, kind, is_vertex, rotations)
            };
            let record = read().map_err(|error| error.at(number))?;
            match record.to {
                None => {
                    graph.add_vertex(record.id, Some(record.pose)).map_err(|error| error.at(number))?;
                }
                Some(to) => edges.push((number, record.id, to, record.pose, record.information)),
            }
        }
        let mut graph = graph.ok_or(Error::Empty)?;
        let find = |graph: &Self, id: u64| graph.index(id).ok_or(Error::MissingVertex(id));
        for (number, from, to, pose, information) in edges {
            let added = (|| graph.add_edge(find(&graph, from)?, find(&graph, to)?, pose, information))();
            added.map_err(|error| error.at(number))?;
            graph.set_line(number);
        }
        for (number, id) in fixed {
            find(&graph, id).and_then(|vertex| graph.fix(vertex)).map_err(|error| error.at(number))?;
        }
        Ok(graph)
    }

    /// The graph as the contents of a g2o file, with its poses. Vertices without a pose are written at the origin.
    pub fn to_g2o(&self, rotations: RotationInformation) -> String {
        let unknowns = self.kind().unknowns();
        let (vertex, edge) = match self.kind() {
            Kind::Rigid => ("VERTEX_SE3:QUAT", "EDGE_SE3:QUAT"),
            Kind::Similarity => ("VERTEX_SIM3:QUAT", "EDGE_SIM3:QUAT"),
        };
        let mut text = String::new();
        for (k, pose) in self.poses().iter().enumerate() {
            let _ = write!(text, "{vertex} {}", self.id(k));
            write_pose(&mut text, &pose.unwrap_or(Similarity::IDENTITY), self.kind());
            text.push('\n');
        }
        for &vertex in self.fixed() {
            let _ = writeln!(text, "FIX {}", self.id(vertex));
        }
        for one in self.edges() {
            let _ = write!(text, "{edge} {} {}", self.id(one.from), self.id(one.to));
            write_pose(&mut text, &one.from_to, self.kind());
            for i in 0..unknowns {
                for j in i..unknowns {
                    let factor = rotations.factor(i) * rotations.factor(j);
                    let _ = write!(text, " {:?}", one.information[place(i)][place(j)] / factor);
                }
            }
            text.push('\n');
        }
        text
    }
}

fn write_pose(text: &mut String, pose: &Similarity, kind: Kind) {
    let ([x, y, z], [qw, qx, qy, qz]) = (pose.translation(), pose.quaternion());
    // The debugging form has an exponent where the display form would have hundreds of zeros.
    let _ = write!(text, " {x:?} {y:?} {z:?} {qx:?} {qy:?} {qz:?} {qw:?}");
    if kind == Kind::Similarity {
        let _ = write!(text, " {:?}", pose.scale());
    }
}

/// The numbers of a line.
struct Record {
    id: u64,
    /// Second vertex of an edge.
    to: Option<u64>,
    pose: Similarity,
    information: Information,
}

impl Record {
    fn parse<'a>(
        words: impl Iterator<Item = &'a str> + Clone,
        tag: &'static str,
        kind: Kind,
        is_vertex: bool,
        rotations: RotationInformation,
    ) -> Result<Self, Error> {
        let unknowns = kind.unknowns();
        let ids = if is_vertex { 1 } else { 2 };
        let triangle = if is_vertex { 0 } else { unknowns * (unknowns + 1) / 2 };
        let expected = ids + unknowns + 1 + triangle;
        let found = words.clone().count();
        if found != expected {
            return Err(Error::NumberCount { tag, expected, found });
        }
        let mut words = words;
        let mut next = || words.next().unwrap_or_default();
        let id = vertex_number(next())?;
        let to = if is_vertex { None } else { Some(vertex_number(next())?) };
        let mut number = || -> Result<f64, Error> {
            let word = next();
            word.parse().map_err(|_| Error::NoNumber { word: shortened(word), what: "number" })
        };
        let mut numbers = [0.0; 7];
        for x in &mut numbers {
            *x = number()?;
        }
        let [x, y, z, qx, qy, qz, qw] = numbers;
        let scale = if kind == Kind::Similarity { number()? } else { 1.0 };
        let pose = Similarity::from_quaternion(scale, [qw, qx, qy, qz], [x, y, z]).map_err(Error::Pose)?;
        let length = (qx * qx + qy * qy + qz * qz + qw * qw).sqrt();
        if (length - 1.0).abs() > QUATERNION_TOLERANCE {
            return Err(Error::QuaternionLength(length));
        }
        let mut information = [[0.0; 7]; 7];
        if !is_vertex {
            for i in 0..unknowns {
                for j in i..unknowns {
                    let x = number()? * rotations.factor(i) * rotations.factor(j);
                    information[place(i)][place(j)] = x;
                    information[place(j)][place(i)] = x;
                }
            }
        }
        Ok(Self { id, to, pose, information })
    }
}

fn vertex_number(word: &str) -> Result<u64, Error> {
    let what = "number of a vertex (0, 1, 2, …)";
    word.parse().map_err(|_| Error::NoNumber { word: shortened(word), what })
}

/// The beginning of a word, for a message.
fn shortened(word: &str) -> String {
    let mut letters = word.chars().filter(|letter| !letter.is_control());
    let start: String = letters.by_ref().take(40).collect();
    if letters.next().is_some() { start + "…" } else { start }
}
