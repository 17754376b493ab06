//! The network of accepted candidates: predictions along its paths, and how firmly it connects two scans.

use std::collections::{HashMap, VecDeque};

use crate::{candidate::Candidate, uncertain::Uncertain};

/// Accepted candidates between vertices.
#[derive(Debug, Clone)]
pub(crate) struct Network<'a> {
    candidates: &'a [Candidate],
    /// Vertices of each candidate: target and source.
    ends: &'a [[usize; 2]],
    /// Accepted candidates at each vertex, in the order of their numbers.
    at: Vec<Vec<usize>>,
    /// Predictions that were asked for, until something changes.
    known: HashMap<[usize; 2], Option<Uncertain>>,
}

impl<'a> Network<'a> {
    pub(crate) fn new(vertices: usize, candidates: &'a [Candidate], ends: &'a [[usize; 2]]) -> Self {
        Self { candidates, ends, at: vec![Vec::new(); vertices], known: HashMap::new() }
    }

    pub(crate) fn add(&mut self, candidate: usize) {
        for vertex in self.ends[candidate] {
            let list = &mut self.at[vertex];
            if let Err(place) = list.binary_search(&candidate) {
                list.insert(place, candidate);
            }
        }
        self.known.clear();
    }

    pub(crate) fn remove(&mut self, candidate: usize) {
        for vertex in self.ends[candidate] {
            self.at[vertex].retain(|&other| other != candidate);
        }
        self.known.clear();
    }

    /// Accepted candidates, in the order of their numbers.
    pub(crate) fn accepted(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.at.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The vertex at the other end of a candidate.
    fn across(&self, candidate: usize, vertex: usize) -> usize {
        let [target, source] = self.ends[candidate];
        if vertex == target { source } else { target }
    }

    /// The pose `target_from_source` along the path with fewest candidates; `None` when there is none.
    pub(crate) fn predicted(&mut self, target: usize, source: usize) -> Option<Uncertain> {
        if target == source {
            return Some(Uncertain::IDENTITY);
        }
        if let Some(known) = self.known.get(&[target, source]) {
            return *known;
        }
        let found = self.along_path(target, source);
        self.known.insert([target, source], found);
        found
    }

    fn along_path(&self, target: usize, source: usize) -> Option<Uncertain> {
        // From the source outwards: `source_from` is not needed, but the vertex and the candidate before each.
        let mut before: Vec<Option<usize>> = vec![None; self.at.len()];
        let mut queue = VecDeque::from([target]);
        while let Some(vertex) = queue.pop_front() {
            if vertex == source {
                break;
            }
            for &candidate in &self.at[vertex] {
                let next = self.across(candidate, vertex);
                if next != target && before[next].is_none() {
                    before[next] = Some(candidate);
                    queue.push_back(next);
                }
            }
        }
        before[source]?;
        let (mut pose, mut vertex) = (Uncertain::IDENTITY, source);
        while vertex != target {
            let candidate = before[vertex]?;
            let [to, _] = self.ends[candidate];
            let step = &self.candidates[candidate].pose;
            pose = if vertex == to { step.inverse().after(&pose) } else { step.after(&pose) };
            vertex = self.across(candidate, vertex);
        }
        Some(pose)
    }

    /// Component of each vertex, named by its first vertex.
    pub(crate) fn components(&self) -> Vec<usize> {
        let mut component = vec![usize::MAX; self.at.len()];
        for first in 0..self.at.len() {
            if component[first] != usize::MAX {
                continue;
            }
            component[first] = first;
            let mut queue = vec![first];
            while let Some(vertex) = queue.pop() {
                for &candidate in &self.at[vertex] {
                    let next = self.across(candidate, vertex);
                    if component[next] == usize::MAX {
                        component[next] = first;
                        queue.push(next);
                    }
                }
            }
        }
        component
    }

    /// How firmly the network connects two vertices: the largest flow between them, where each candidate carries its `strength`. Also returns the candidates of the
    /// smallest cuts nearest to either end.
    pub(crate) fn connection(&self, from: usize, to: usize, strength: &[usize]) -> (usize, Vec<usize>) {
        // Flow from target to source of each candidate.
        let mut flow: HashMap<usize, isize> = HashMap::new();
        let room = |flow: &HashMap<usize, isize>, candidate: usize, vertex: usize| {
            let used = flow.get(&candidate).copied().unwrap_or(0);
            let strength = strength[candidate] as isize;
            if self.ends[candidate][0] == vertex { strength - used } else { strength + used }
        };
        let mut total = 0;
        loop {
            let mut before: Vec<Option<usize>> = vec![None; self.at.len()];
            let mut queue = VecDeque::from([from]);
            while let Some(vertex) = queue.pop_front() {
                for &candidate in &self.at[vertex] {
                    let next = self.across(candidate, vertex);
                    if next != from && before[next].is_none() && room(&flow, candidate, vertex) > 0 {
                        before[next] = Some(candidate);
                        queue.push_back(next);
                    }
                }
            }
            if before[to].is_none() {
                break;
            }
            let mut path = Vec::new();
            let mut vertex = to;
            while let Some(candidate) = before[vertex].filter(|_| vertex != from) {
                vertex = self.across(candidate, vertex);
                path.push((candidate, vertex));
            }
            let least = path.iter().map(|&(h, v)| room(&flow, h, v)).min().unwrap_or(0);
            for (candidate, vertex) in path {
                let sign = if self.ends[candidate][0] == vertex { 1 } else { -1 };
                *flow.entry(candidate).or_default() += sign * least;
            }
            total += least;
        }
        // Vertices that more flow could reach from one end, and from which more could reach the other.
        let reached = |start: usize, forward: bool| {
            let mut is_in = vec![false; self.at.len()];
            is_in[start] = true;
            let mut queue = vec![start];
            while let Some(vertex) = queue.pop() {
                for &candidate in &self.at[vertex] {
                    let next = self.across(candidate, vertex);
                    let open = room(&flow, candidate, if forward { vertex } else { next }) > 0;
                    if open && !is_in[next] {
                        is_in[next] = true;
                        queue.push(next);
                    }
                }
            }
            is_in
        };
        let sides = [reached(from, true), reached(to, false)];
        let is_cut = |&h: &usize| sides.iter().any(|side| side[self.ends[h][0]] != side[self.ends[h][1]]);
        (total.max(0) as usize, self.accepted().into_iter().filter(is_cut).collect())
    }

    /// Candidates without which their component falls into two.
    pub(crate) fn bridges(&self) -> Vec<usize> {
        let all = self.accepted();
        let strength = vec![1; self.candidates.len()];
        let is_bridge = |&&h: &&usize| self.connection(self.ends[h][0], self.ends[h][1], &strength).0 == 1;
        all.iter().filter(is_bridge).copied().collect()
    }
}
