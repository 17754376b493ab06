//! The joint choice: which candidates are accepted, once all pairs are known.
//!
//! 1. Registered candidates are accepted in the order of their support, that is of the triangles that close. One that disagrees with what is accepted is a conflict.
//! 2. Conflicts are settled by the firmness of both sides: the side with twice the support of the other stays. Where neither has it, neither stays: a map is not bridged
//!    by a guess.
//! 3. Refused candidates between two components vote on their relative pose. Enough of them that agree, more than chance would make agree and more than for any other
//!    pose, connect the components.
//! 4. Refused candidates within a component are accepted where they agree with it.

use std::collections::BTreeMap;

use crate::{candidate::Candidate, network::Network};

/// Largest disagreement of right poses, in units of what their covariances lead one to expect.
pub(crate) const GATE: f64 = 3.5;
/// A side of a conflict stays when it has this many times the support of the other.
const CLEARLY: usize = 2;
/// Fewest pairs whose refused candidates connect two components: each then closes two independent cycles with the others.
const FEWEST_VOTES: usize = 3;
/// log₁₀ of the probability that a wrong candidate agrees with a given one by chance, when both have the vertical right, as wrong ones mostly have: a tenth of the circle times
/// a tenth of the extent in two directions.
const LOG10_CHANCE: f64 = -3.0;
/// Largest log₁₀ of the expected number of such groups that chance makes.
const LOG10_FALSE_GROUPS: f64 = -3.0;

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Refused alone, and not supported by others.
    Refused,
    /// Registered alone and accepted.
    Registered,
    /// Refused alone, but cycles through other pairs support it.
    Supported,
    /// Registered alone, but the other pairs contradict it.
    Contradicted,
    /// Registered alone, but in a conflict that cannot be settled.
    Contested,
}

/// Chooses candidates. `fixed` are accepted before all others. `ends` are the vertices of each candidate, target and source; `radii` is the extent of the source of each.
pub(crate) fn choose<'a>(
    vertices: usize,
    candidates: &'a [Candidate],
    ends: &'a [[usize; 2]],
    radii: &'a [f64],
    fixed: &[(usize, Fate)],
) -> (Network<'a>, Vec<Fate>) {
    let supports = support(candidates, ends, radii);
    let mut choice = Choice {
        network: Network::new(vertices, candidates, ends),
        candidates,
        ends,
        radii,
        strength: supports.iter().map(|support| 1 + support).collect(),
        fates: vec![Fate::Refused; candidates.len()],
    };
    fixed.iter().for_each(|&(h, fate)| choice.accept(h, fate));
    let conflicts = choice.accept_registered();
    choice.settle(conflicts);
    while choice.connect() {}
    choice.accept_supported();
    (choice.network, choice.fates)
}

/// Number of triangles of registered candidates that close with each registered candidate.
fn support(candidates: &[Candidate], ends: &[[usize; 2]], radii: &[f64]) -> Vec<usize> {
    let mut at: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (h, [target, source]) in ends.iter().enumerate().filter(|(h, _)| candidates[*h].is_registered) {
        at.entry(*target).or_default().push((*source, h));
        at.entry(*source).or_default().push((*target, h));
    }
    let pose = |h: usize, from: usize| {
        let own = &candidates[h].pose;
        if ends[h][1] == from { *own } else { own.inverse() }
    };
    (0..candidates.len())
        .map(|h| {
            let [target, source] = ends[h];
            let (Some(here), Some(there)) = (at.get(&source), at.get(&target)) else { return 0 };
            if !candidates[h].is_registered {
                return 0;
            }
            let closes = |&(middle, first): &(usize, usize)| {
                let second = there.iter().filter(|(other, second)| *other == middle && *second != h);
                let mut chains = second.map(|&(_, second)| pose(second, middle).after(&pose(first, source)));
                first != h
                    && middle != target
                    && chains.any(|chain| chain.disagreement(&candidates[h].pose, radii[h]) <= GATE)
            };
            here.iter().filter(|step| closes(step)).count()
        })
        .collect()
}

struct Choice<'a> {
    network: Network<'a>,
    candidates: &'a [Candidate],
    ends: &'a [[usize; 2]],
    radii: &'a [f64],
    /// Weight of each candidate in conflicts.
    strength: Vec<usize>,
    fates: Vec<Fate>,
}

impl Choice<'_> {
    fn accept(&mut self, candidate: usize, fate: Fate) {
        self.network.add(candidate);
        self.fates[candidate] = fate;
    }

    /// Whether a candidate agrees with what is accepted; `None` when nothing connects its ends.
    fn agrees(&mut self, candidate: usize) -> Option<bool> {
        let [target, source] = self.ends[candidate];
        let predicted = self.network.predicted(target, source)?;
        Some(predicted.disagreement(&self.candidates[candidate].pose, self.radii[candidate]) <= GATE)
    }

    /// Step 1. Returns the conflicts.
    fn accept_registered(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.candidates.len())
            .filter(|&h| self.candidates[h].is_registered && self.fates[h] == Fate::Refused)
            .collect();
        order.sort_by(|&a, &b| {
            let evidence = |h: usize| self.candidates[h].log10_nfa;
            self.strength[b].cmp(&self.strength[a]).then(evidence(a).total_cmp(&evidence(b))).then(a.cmp(&b))
        });
        let mut conflicts = Vec::new();
        for h in order {
            match self.agrees(h) {
                Some(false) => conflicts.push(h),
                _ => self.accept(h, Fate::Registered),
            }
        }
        conflicts
    }

    /// Step 2.
    fn settle(&mut self, mut conflicts: Vec<usize>) {
        while let Some(&h) = conflicts.first() {
            match self.agrees(h) {
                None => {
                    // What contradicted it is gone. It was part of a conflict that could not be settled.
                    self.fates[h] = Fate::Contested;
                    conflicts.remove(0);
                    continue;
                }
                Some(true) => {
                    self.accept(h, Fate::Registered);
                    conflicts.remove(0);
                    continue;
                }
                Some(false) => {}
            }
            let side = self.same_side(h, &conflicts);
            let [target, source] = self.ends[h];
            let (map, cut) = self.network.connection(target, source, &self.strength);
            let against: usize = side.iter().map(|&other| self.strength[other]).sum();
            conflicts.retain(|other| !side.contains(other));
            if map >= CLEARLY * against {
                side.iter().for_each(|&other| self.fates[other] = Fate::Contradicted);
                continue;
            }
            let is_clear = against >= CLEARLY * map;
            for &other in &cut {
                self.network.remove(other);
                self.fates[other] = if is_clear { Fate::Contradicted } else { Fate::Contested };
            }
            for &other in &side {
                match is_clear {
                    true => self.accept(other, Fate::Registered),
                    false => self.fates[other] = Fate::Contested,
                }
            }
        }
    }

    /// Conflicts that say the same as `h`: with it accepted instead of what contradicts it, they would agree.
    fn same_side(&mut self, h: usize, conflicts: &[usize]) -> Vec<usize> {
        let mut side = Vec::new();
        for &other in conflicts {
            if other == h || self.agree_across(h, other) {
                side.push(other);
            }
        }
        side
    }

    /// Whether `other` agrees with the way through `h` from one side of it to the other.
    fn agree_across(&mut self, h: usize, other: usize) -> bool {
        let ([a, b], [c, d]) = (self.ends[h], self.ends[other]);
        let own = self.candidates[h].pose;
        let [straight, crossed] = [
            (self.network.predicted(c, a), own, self.network.predicted(b, d)),
            (self.network.predicted(c, b), own.inverse(), self.network.predicted(a, d)),
        ]
        .map(|way| match way {
            (Some(last), middle, Some(first)) => Some(last.after(&middle).after(&first)),
            _ => None,
        });
        let pose = &self.candidates[other].pose;
        let radius = self.radii[other];
        [straight, crossed].into_iter().flatten().any(|way| way.disagreement(pose, radius) <= GATE)
    }

    /// Step 3: connects the two components that most candidates connect. Returns whether there were any.
    fn connect(&mut self) -> bool {
        let component = self.network.components();
        let mut between: BTreeMap<[usize; 2], Vec<usize>> = BTreeMap::new();
        for (h, [target, source]) in self.ends.iter().enumerate() {
            let (a, b) = (component[*target], component[*source]);
            if a != b && self.fates[h] == Fate::Refused {
                between.entry([a.min(b), a.max(b)]).or_default().push(h);
            }
        }
        let mut best: Option<(usize, Vec<usize>)> = None;
        for voters in between.into_values() {
            if let Some(group) = self.elected(&voters)
                && best.as_ref().is_none_or(|(votes, _)| group.0 > *votes)
            {
                best = Some(group);
            }
        }
        let Some((_, group)) = best else { return false };
        group.iter().for_each(|&h| self.accept(h, Fate::Supported));
        true
    }

    /// The largest group of candidates that agree on the pose between two components, with the number of its pairs; `None` when chance explains it or when another
    /// group is not much smaller.
    fn elected(&mut self, voters: &[usize]) -> Option<(usize, Vec<usize>)> {
        let pairs = |group: &[usize], candidates: &[Candidate]| {
            let mut pairs: Vec<usize> = group.iter().map(|&h| candidates[h].pair).collect();
            pairs.sort_unstable();
            pairs.dedup();
            pairs.len()
        };
        if pairs(voters, self.candidates) < FEWEST_VOTES {
            return None;
        }
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::with_capacity(voters.len());
        for &h in voters {
            let mut group = Vec::new();
            for &other in voters {
                let is_other_pair = self.candidates[other].pair != self.candidates[h].pair;
                if other == h || (is_other_pair && self.agree_across(h, other)) {
                    group.push(other);
                }
            }
            groups.push((pairs(&group, self.candidates), group));
        }
        let best = (0..groups.len()).reduce(|best, k| if groups[k].0 > groups[best].0 { k } else { best })?;
        let (votes, group) = groups[best].clone();
        let is_rival = |(h, (_, other)): (usize, &(usize, Vec<usize>))| {
            !group.contains(&voters[h]) && other.iter().all(|h| !group.contains(h))
        };
        let rival = groups
            .iter()
            .enumerate()
            .filter(|&(h, other)| is_rival((h, other)))
            .map(|(_, other)| other.0)
            .max();
        let is_chance =
            log10_choose(voters.len(), votes) + LOG10_CHANCE * (votes - 1) as f64 > LOG10_FALSE_GROUPS;
        let is_ambiguous = rival.is_some_and(|rival| votes < CLEARLY * rival);
        (votes >= FEWEST_VOTES && !is_chance && !is_ambiguous).then_some((votes, group))
    }

    /// Step 4.
    fn accept_supported(&mut self) {
        let connected: Vec<usize> =
            self.network.accepted().iter().map(|&h| self.candidates[h].pair).collect();
        let mut agreeing = Vec::new();
        for h in 0..self.candidates.len() {
            let is_open = self.fates[h] == Fate::Refused && !connected.contains(&self.candidates[h].pair);
            if is_open && self.agrees(h) == Some(true) {
                agreeing.push(h);
            }
        }
        // The first of a pair is its best candidate.
        let mut taken = Vec::new();
        for h in agreeing {
            if !taken.contains(&self.candidates[h].pair) {
                taken.push(self.candidates[h].pair);
                self.accept(h, Fate::Supported);
            }
        }
    }
}

/// log₁₀ of the number of ways to choose `k` of `n`.
fn log10_choose(n: usize, k: usize) -> f64 {
    (0..k).map(|i| libm::log10((n - i) as f64 / (k - i) as f64)).sum()
}

#[cfg(test)]
mod tests;
