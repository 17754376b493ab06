//! Places that are known: control points, and positions of satellite receivers.
//!
//! A position pulls at one vertex only, so it adds to the diagonal of the system. First each component is moved to its positions as a whole, robustly. Then edges and positions are
//! minimised together. Positions with the largest residuals are left out and the rest is minimised again, until none is beyond the gate; those that the others confirm come back. A
//! position is judged by where all others and the edges expect it: `σ² + JΣJᵀ` is the covariance of its
//! error where it is not used, and `σ² − JΣJᵀ` where it is, because the poses then follow it (Baarda, 1968).

use pcr99_base::{
    Similarity, Soa,
    control::{GATE, Known, Undetermined, align},
    vector::{cross, minus, rotate},
};

use crate::{
    Cost, Error, Information, Kind, Options, PoseGraph, Position, Solution,
    cost::{Chordal, Geodesic, Model, SimilarityCost, Weights},
    covariance::of_problem,
    lie::UNIT,
    matrix::gaussian,
    optimize::{Stop, minimize},
    problem::Problem,
    solve::check,
    sparse::Factor,
};

/// Part of the largest residual from which positions are left out together. One gross error makes the residuals of its neighbours large, which are right.
const NEARLY_WORST: f64 = 0.7;
/// Largest number of rounds. Sets that settle at all do so in fewer.
const MOST_ROUNDS: usize = 60;
/// Smallest variance of a residual relative to that of its position: a vertex that only one position holds follows it fully.
const LEAST_LEFT: f64 = 1e-6;

/// The poses of a graph that is tied to known places.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Anchored {
    /// Pose of each vertex. Components that are not tied keep the poses of the solution.
    pub poses: Vec<Similarity>,
    /// Covariance of each pose, relative to the places; see [`Solution::covariances`].
    pub covariances: Vec<Information>,
    /// Whether each position was used. The others are gross errors, or belong to a component that is not tied.
    pub is_position_used: Vec<bool>,
    /// Distance of each place from where the pose puts its point, in units of the graph.
    pub residuals: Vec<f64>,
    /// The same in standard deviations of what the others expect; above [`GATE`](pcr99_base::control::GATE) it is a gross error.
    pub normalized_residuals: Vec<f64>,
    /// Components without enough positions, and why.
    pub loose: Vec<Loose>,
    /// Whether the last step was small enough.
    pub has_converged: bool,
}

/// A component that its positions do not tie.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loose {
    /// Number of the component, as in [`Solution::components`].
    pub component: usize,
    /// Why.
    pub why: Undetermined,
}

/// Half sum of squares of a position, and its derivatives by a small motion on the right of the pose.
pub(crate) fn term<const D: usize>(position: &Position, pose: &Similarity) -> (f64, [f64; D], [[f64; D]; D]) {
    let off = minus(pose.apply(position.local), position.place);
    let weight = position.deviations.map(|s| 1.0 / (s * s));
    let columns = derivatives::<D>(position, pose);
    let along = |a: &[f64; 3], b: &[f64; 3]| (0..3).map(|k| weight[k] * a[k] * b[k]).sum::<f64>();
    (
        0.5 * along(&off, &off),
        columns.map(|column| along(&column, &off)),
        columns.map(|one| columns.map(|other| along(&one, &other))),
    )
}

/// Derivatives of the moved point by rotation, translation and logarithm of the scale.
fn derivatives<const D: usize>(position: &Position, pose: &Similarity) -> [[f64; 3]; D] {
    let (rotation, scale) = (pose.rotation(), pose.scale());
    std::array::from_fn(|k| {
        let inner = match k {
            0..3 => cross(UNIT[k], position.local),
            3..6 => UNIT[k - 3],
            _ => position.local,
        };
        rotate(&rotation, inner).map(|x| scale * x)
    })
}

/// Ties a solved graph to its positions. `solution` is that of [`solve`](crate::solve) with the same options.
///
/// A component needs three positions that are not on a line, or a fixed vertex; others are left as they are, and are named in [`Anchored::loose`]. Graphs of similarities get
/// the scale of the positions.
///
/// # Errors
/// As [`solve`](crate::solve); [`Error::MissingVertex`] when the solution is that of another graph.
pub fn anchor(graph: &PoseGraph, options: &Options, solution: &Solution) -> Result<Anchored, Error> {
    check(graph, options)?;
    if solution.poses.len() != graph.len() || solution.is_used.len() != graph.edges().len() {
        return Err(Error::MissingVertex(solution.poses.len() as u64));
    }
    let weights = Weights::of_all(graph);
    match (graph.kind(), options.cost) {
        (Kind::Rigid, Cost::Chordal) => with_model::<6>(graph, options, solution, &Chordal(&weights)),
        (Kind::Rigid, Cost::Geodesic) => with_model::<6>(graph, options, solution, &Geodesic),
        (Kind::Similarity, _) => with_model::<7>(graph, options, solution, &SimilarityCost),
    }
}

fn with_model<const D: usize>(
    graph: &PoseGraph,
    options: &Options,
    solution: &Solution,
    model: &impl Model<D>,
) -> Result<Anchored, Error> {
    let Moved { mut poses, tied, loose, is_near } = moved_to_positions(graph, solution);
    let component = |k: usize| solution.components[graph.positions()[k].vertex];
    let judged: Vec<usize> = (0..graph.positions().len()).filter(|&k| tied[component(k)]).collect();
    let anchors: Vec<usize> = (0..graph.len()).filter(|&v| tied[solution.components[v]]).collect();
    let stop = Stop { tolerance: options.tolerance, most: options.most_iterations };
    let mut factor = Factor::default();
    let mut used: Vec<usize> = judged.iter().copied().filter(|&k| is_near[k]).collect();
    let mut seen = vec![used.clone()];
    let mut normalized = vec![f64::NAN; graph.positions().len()];
    let (mut covariances, mut has_converged);
    let mut round = 0;
    loop {
        // Without any position, the gauge of a component would be open.
        let held: Vec<usize> = anchors
            .iter()
            .copied()
            .filter(|&v| used.iter().any(|&k| component(k) == solution.components[v]))
            .collect();
        let problem = Problem::anchored(graph, options.gauge, |k| solution.is_used[k], &held, used.clone());
        let optimum = minimize(graph, &problem, model, poses, stop, &mut factor)?;
        (poses, has_converged) = (optimum.poses, optimum.has_converged);
        covariances = of_problem(graph, &problem, model, &poses)?;
        for &k in &judged {
            let position = &graph.positions()[k];
            let (pose, covariance) = (&poses[position.vertex], &covariances[position.vertex]);
            normalized[k] = square::<D>(position, pose, covariance, used.contains(&k)).sqrt();
        }
        round += 1;
        let worst = used.iter().map(|&k| normalized[k]).fold(0.0, f64::max);
        let next: Vec<usize> = if worst > GATE {
            let gate = GATE.max(NEARLY_WORST * worst);
            used.iter().copied().filter(|&k| normalized[k] <= gate).collect()
        } else {
            judged.iter().copied().filter(|&k| normalized[k] <= GATE).collect()
        };
        // A set that was there before would come again.
        let is_known = seen.contains(&next);
        if is_known || round >= MOST_ROUNDS || !determines(graph, solution, &next, &tied) {
            break;
        }
        seen.push(next.clone());
        used = next;
    }
    let residual = |position: &Position| {
        let off = minus(poses[position.vertex].apply(position.local), position.place);
        off.iter().map(|x| x * x).sum::<f64>().sqrt()
    };
    Ok(Anchored {
        residuals: graph.positions().iter().map(residual).collect(),
        is_position_used: (0..graph.positions().len()).map(|k| used.contains(&k)).collect(),
        poses,
        covariances,
        normalized_residuals: normalized,
        loose,
        has_converged,
    })
}

/// Whether the used positions still determine every component that was tied.
fn determines(graph: &PoseGraph, solution: &Solution, used: &[usize], tied: &[bool]) -> bool {
    let is_held = |c: usize| graph.fixed().iter().any(|&v| solution.components[v] == c);
    (0..tied.len())
        .filter(|&c| tied[c] && !is_held(c))
        .all(|c| used.iter().filter(|&&k| solution.components[graph.positions()[k].vertex] == c).count() >= 3)
}

/// The components, each moved to its positions as a whole.
struct Moved {
    poses: Vec<Similarity>,
    /// Whether each component is tied.
    tied: Vec<bool>,
    loose: Vec<Loose>,
    /// Whether each position agrees with the others, as far as the bent graph shows.
    is_near: Vec<bool>,
}

fn moved_to_positions(graph: &PoseGraph, solution: &Solution) -> Moved {
    let count = solution.components.iter().max().map_or(0, |last| last + 1);
    let scale = if graph.kind() == Kind::Rigid { Some(1.0) } else { None };
    let (mut poses, mut tied, mut loose) = (solution.poses.clone(), vec![false; count], Vec::new());
    let mut is_near = vec![true; graph.positions().len()];
    for (component, tied) in tied.iter_mut().enumerate() {
        let is_here = |v: usize| solution.components[v] == component;
        let here: Vec<&Position> = graph.positions().iter().filter(|p| is_here(p.vertex)).collect();
        if graph.fixed().iter().any(|&v| is_here(v)) {
            *tied = true;
            continue;
        }
        if here.is_empty() {
            continue;
        }
        // About the middle of the places, so that large coordinates cost no digits.
        let middle: [f64; 3] =
            std::array::from_fn(|axis| here.iter().map(|p| p.place[axis]).sum::<f64>() / here.len() as f64);
        let mut points = Soa::default();
        for position in &here {
            let at = poses[position.vertex].apply(position.local);
            for axis in 0..3 {
                points.a[axis].push(at[axis]);
                points.b[axis].push(position.place[axis] - middle[axis]);
            }
        }
        // The graph is bent, so that residuals are larger than the deviations of the places.
        match align(&points, None, &Known { scale, tilt: None }) {
            Ok(alignment) => {
                *tied = true;
                let own = (0..is_near.len()).filter(|&k| is_here(graph.positions()[k].vertex));
                own.zip(&alignment.is_used).for_each(|(k, used)| is_near[k] = *used);
                let by = alignment.transform.then(&Similarity::from_translation(middle));
                (0..graph.len()).filter(|&v| is_here(v)).for_each(|v| poses[v] = poses[v].then(&by));
            }
            Err(why) => loose.push(Loose { component, why }),
        }
    }
    Moved { poses, tied, loose, is_near }
}

/// Square of the residual of a position in units of its variance, given what the others say.
fn square<const D: usize>(
    position: &Position,
    pose: &Similarity,
    covariance: &Information,
    is_used: bool,
) -> f64 {
    let off = minus(pose.apply(position.local), position.place);
    let columns = derivatives::<D>(position, pose);
    let predicted = |row: usize, column: usize| {
        let term =
            |(k, l): (usize, usize)| columns[k][row] * covariance[k.max(l)][k.min(l)] * columns[l][column];
        (0..D).flat_map(|k| (0..D).map(move |l| (k, l))).map(term).sum::<f64>()
    };
    let sign = if is_used { -1.0 } else { 1.0 };
    let sum: [[f64; 3]; 3] = std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            let own = if row == column { position.deviations[row] * position.deviations[row] } else { 0.0 };
            let least = LEAST_LEFT * own;
            own + least + sign * predicted(row.max(column), row.min(column))
        })
    });
    // A position that alone holds its vertex cannot be judged.
    gaussian(&sum, &off).map_or(0.0, |(_, square)| square)
}
