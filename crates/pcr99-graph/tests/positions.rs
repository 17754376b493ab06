//! Graphs that are tied to known places.

use pcr99_base::{Similarity, control::Undetermined, random::Random};
use pcr99_graph::{Anchored, Kind, Options, PoseGraph, Solution, anchor, isotropic, solve};

struct Case {
    graph: PoseGraph,
    solution: Solution,
    truth: Vec<Similarity>,
    /// Whether each position is a gross error.
    is_wrong: Vec<bool>,
}

/// A drifting chain of scans, ten metres apart, with control points of 2 cm near every second one.
fn case(kind: Kind, seed: u64, wrong: usize, offset: f64) -> Case {
    let mut random = Random::new(seed);
    let count = 30;
    let mut graph = PoseGraph::new(kind);
    let first = Similarity::from_quaternion(
        1.0,
        std::array::from_fn(|_| random.gaussian()),
        [offset, 10.0 * offset, 50.0],
    );
    let mut truth = vec![first.unwrap()];
    let (turn, shift) = (0.003, 0.02);
    let small = |random: &mut Random, rotation: f64, translation: f64| {
        let [x, y, z]: [f64; 3] = std::array::from_fn(|_| 0.5 * rotation * random.gaussian());
        let t = std::array::from_fn(|_| translation * random.gaussian());
        Similarity::from_quaternion(1.0, [1.0, x, y, z], t).unwrap()
    };
    for id in 0..count {
        graph.add_vertex(id, None).unwrap();
    }
    for k in 0..count as usize - 1 {
        let step = small(&mut random, 0.6, 0.5).then(&Similarity::from_translation([10.0, 0.0, 0.0]));
        let next = step.then(&truth[k]);
        truth.push(next);
        let noise = small(&mut random, turn, shift);
        graph.add_edge(k, k + 1, noise.then(&step), isotropic(turn, shift, 0.01)).unwrap();
    }
    let solution = solve(&graph, &Options::default()).unwrap();
    let mut is_wrong = Vec::new();
    for v in (0..count as usize).step_by(2) {
        let local: [f64; 3] = std::array::from_fn(|axis| [8.0, 8.0, 2.0][axis] * random.gaussian());
        let mut place = truth[v].apply(local).map(|x| x + 0.02 * random.gaussian());
        let is_off = is_wrong.iter().filter(|wrong| **wrong).count() < wrong && v % 3 == 2;
        if is_off {
            place[v % 2] += 3.0 + 20.0 * random.uniform();
        }
        is_wrong.push(is_off);
        graph.add_position(v, local, place, [0.02; 3]).unwrap();
    }
    Case { graph, solution, truth, is_wrong }
}

fn largest_error(case: &Case, anchored: &Anchored) -> f64 {
    let pairs = case.truth.iter().zip(&anchored.poses);
    let error = |(truth, found): (&Similarity, &Similarity)| {
        let (a, b) = (truth.translation(), found.translation());
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
    };
    pairs.map(error).fold(0.0, f64::max)
}

#[test]
fn a_drifting_chain_is_held_by_its_control_points() {
    for (kind, offset) in [(Kind::Rigid, 0.0), (Kind::Rigid, 5e5), (Kind::Similarity, 5e5)] {
        let (mut mistakes, mut squares, mut count) = (0, 0.0, 0.0);
        for seed in 900..912 {
            let case = case(kind, seed, 4, offset);
            let anchored = anchor(&case.graph, &Options::default(), &case.solution).unwrap();
            assert!(anchored.has_converged && anchored.loose.is_empty());
            mistakes += (anchored.is_position_used.iter().zip(&case.is_wrong))
                .filter(|(used, wrong)| *used == *wrong)
                .count();
            assert!(
                largest_error(&case, &anchored) < 0.4,
                "{kind:?} {seed}: {}",
                largest_error(&case, &anchored)
            );
            for ((found, truth), covariance) in
                anchored.poses.iter().zip(&case.truth).zip(&anchored.covariances)
            {
                let off = found.inverse().apply(truth.translation());
                squares += (0..3).map(|k| off[k] * off[k] / covariance[3 + k][3 + k]).sum::<f64>();
                count += 3.0;
            }
        }
        // Four gross errors and eleven right positions in each of twelve cases.
        assert!(mistakes <= 2, "{kind:?} {offset}: {mistakes} of 180");
        let ratio: f64 = squares / count;
        assert!(
            (0.6..1.6).contains(&ratio),
            "{kind:?} {offset}: squared errors are {ratio} times their variance"
        );
    }
}

#[test]
fn a_component_without_enough_positions_is_named() {
    let Case { mut graph, solution, .. } = case(Kind::Rigid, 950, 0, 0.0);
    let positions = graph.positions().to_vec();
    let mut bare = PoseGraph::new(Kind::Rigid);
    for id in 0..graph.len() as u64 {
        bare.add_vertex(id, None).unwrap();
    }
    for edge in graph.edges().to_vec() {
        bare.add_edge(edge.from, edge.to, edge.from_to, edge.information).unwrap();
    }
    for position in &positions[..2] {
        bare.add_position(position.vertex, position.local, position.place, position.deviations).unwrap();
    }
    let anchored = anchor(&bare, &Options::default(), &solution).unwrap();
    assert_eq!(anchored.loose[0].why, Undetermined::TooFew { found: 2, needed: 3 });
    assert_eq!(anchored.poses, solution.poses);
    assert_eq!(anchored.is_position_used, [false, false]);
    let message = graph.add_position(99, [0.0; 3], [0.0; 3], [1.0; 3]).unwrap_err().to_string();
    assert!(message.contains("vertex 99 does not exist"), "{message}");
    let message = graph.add_position(0, [0.0; 3], [f64::NAN; 3], [1.0; 3]).unwrap_err().to_string();
    assert!(message.contains("position of vertex 0"), "{message}");
    assert!(graph.add_position(0, [0.0; 3], [0.0; 3], [0.0; 3]).is_err());
}
