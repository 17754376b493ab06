//! The stages of the default method, for benchmarks.

use super::{Problem, Solver, candidate::Candidate, edges::Wanted, polish, round::FIRST_CONTRAST};
use crate::{
    Correspondences, Positive, Scale,
    evidence::{Background, Judge},
};

/// A problem whose stages can be run one by one. Each stage uses the results of the earlier ones.
#[derive(Debug)]
pub struct SearchStages<'a> {
    problem: Problem<'a>,
    solver: Solver,
    size: usize,
    /// The transform that the first few right matches give.
    start: crate::Similarity,
    best: Candidate,
}

impl<'a> SearchStages<'a> {
    /// Prepares the stages on a subset of `size` matches. `right` are indices of right matches.
    ///
    /// # Panics
    /// When the right matches give no candidate.
    pub fn new(
        pairs: &'a Correspondences,
        scale: Scale,
        threshold: Positive,
        size: usize,
        right: &[u32],
    ) -> Self {
        let background = Background::of_matches(pairs);
        let problem = Problem::new(pairs, scale, pairs.target_length_inward(threshold), background);
        let mut solver = Solver::new();
        let start = problem.model.fit(problem.points, &right[..5.min(right.len())], |_| 1.0).expect("a fit");
        let best = solver
            .refiner
            .refine(problem.points, start, &problem.model, &mut solver.judge)
            .expect("a candidate");
        let mut stages = Self { problem, solver, size, start, best };
        stages.subset();
        stages.edges();
        stages.pairs();
        stages
    }

    /// Draws the random subset and copies its points; returns its size.
    pub fn subset(&mut self) -> usize {
        let Self { problem, solver, size, .. } = self;
        solver.order.reset(problem.points.len(), 0, None);
        let members = solver.order.first(*size);
        solver.subset.assign(problem.points, members, problem.model.known_scale.unwrap_or(1.0));
        solver.subset.len()
    }

    /// Builds the consistency graphs of the subset.
    pub fn edges(&mut self) {
        let Self { problem, solver, .. } = self;
        match problem.model.known_scale {
            Some(_) => solver.edges.build_known(&solver.subset, problem.tau, None),
            None => solver.edges.build_unknown(&solver.subset, problem.tau, None, 0.01, None),
        }
    }

    /// Finds the pairs with many common neighbours; returns their number.
    pub fn pairs(&mut self) -> usize {
        let wanted = Wanted { contrast: FIRST_CONTRAST, to_beat: None };
        self.solver.edges.supported_pairs(1..self.size / 2 + 1, wanted, &mut self.solver.pairs);
        self.solver.pairs.len()
    }

    /// Grows up to `count` pairs to cliques; returns how many have at least five members.
    pub fn cliques(&mut self, count: usize) -> usize {
        let Solver { clique, edges, pairs, .. } = &mut self.solver;
        pairs.iter().take(count).filter(|pair| clique.grow(edges, pair, 5)).count()
    }

    /// Refines a fit of five right matches on all matches; returns the number of inliers.
    pub fn refine(&mut self) -> usize {
        let Solver { refiner, judge, .. } = &mut self.solver;
        let refined = refiner.refine(self.problem.points, self.start, &self.problem.model, judge);
        refined.map_or(0, |candidate| candidate.inliers.len())
    }

    /// Computes the complete evidence for the refined transform; returns `log10_nfa`.
    pub fn evidence(&mut self, pairs: &Correspondences) -> f64 {
        let (model, known) = (&self.best.model, &self.problem.model);
        Judge::default().evidence(pairs, model, &self.best.inliers, known.delta, known.known_scale).log10_nfa
    }

    /// Fits the refined transform with weights; returns its scale, or 0 where weights are not needed.
    pub fn polish(&self) -> f64 {
        let polished = polish::polish(self.problem.points, &self.best, &self.problem.model, &[]);
        polished.map_or(0.0, |model| model.scale())
    }
}
