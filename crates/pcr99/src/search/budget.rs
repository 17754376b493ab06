//! How many pairs a search may try.

use super::Params;

/// Pairs tried in each round by default, at most.
pub(super) const DEFAULT_EFFORT: u64 = 100_000;
/// Pairs tried in each round, at most, while the threshold is not known yet, and where a candidate stands out but is not registered: this many, or a tenth of
/// the effort where that is more. Both are limits on cost.
const LIMITED_EFFORT: u64 = 10_000;
/// Pairs tried at most for some transform to return, where there is no consensus.
const LAST_RESORT: u64 = 200;
/// Number of matches on which a refinement costs as much as trying a pair without one. Where the matches of a plane or a street agree by chance, nearly every pair is
/// refined.
const MATCHES_PER_PAIR: usize = 2048;
/// Smallest part of a chunk, in pairs. Where a consensus exists, the first chunk of a subset shows it within some hundreds.
const SMALLEST_PART: u64 = 2048;

/// How much a search may try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// All that the caller allows.
    Full,
    /// A part of that, for each threshold that is tried while none is known.
    Limited,
}

/// The pairs that may still be tried in a round, and those of the present chunk.
#[derive(Debug)]
pub(super) struct Budget {
    /// Pairs for each round, and for a round in doubt.
    per_round: u64,
    in_doubt: u64,
    round: u64,
    chunk: u64,
    /// Whether some pairs were not tried because a bound was reached.
    pub(super) was_short: bool,
}

impl Budget {
    pub(super) fn new(effort: Effort, params: &Params) -> Self {
        let limited = LIMITED_EFFORT.max(params.effort() / 10);
        let per_round = match effort {
            Effort::Full => params.effort(),
            Effort::Limited => params.effort().min(limited),
        };
        Self { per_round, in_doubt: limited, round: per_round, chunk: 0, was_short: false }
    }

    /// Starts a round.
    pub(super) fn start_round(&mut self) {
        self.round = self.per_round;
    }

    /// Allows only a few more pairs in this round, for any transform to return.
    pub(super) fn start_last_resort(&mut self) {
        self.round = LAST_RESORT;
    }

    /// Starts a chunk, which holds a `share` of the pairs left: it gets twice its share, since most chunks need less. The budget thus lasts for the pairs of
    /// high contrast in all chunks. Where a candidate is in doubt, local structure repeats and gives endless pairs to try, so the budget is reduced.
    pub(super) fn start_chunk(&mut self, share: f64, is_in_doubt: bool) {
        if is_in_doubt {
            self.round = self.round.min(self.in_doubt);
        }
        let part = (2.0 * share * self.round as f64).ceil() as u64;
        self.chunk = part.max(SMALLEST_PART).min(self.round);
    }

    /// Takes one pair from the budget; false when none is left for this chunk.
    pub(super) fn spend(&mut self) -> bool {
        if self.chunk == 0 {
            self.was_short = true;
            return false;
        }
        self.chunk -= 1;
        self.round -= 1;
        true
    }

    /// Takes the cost of a refinement on `matches` from the budget: many matches take as long as many pairs.
    pub(super) fn charge(&mut self, matches: usize) {
        let cost = (matches / MATCHES_PER_PAIR) as u64;
        self.chunk = self.chunk.saturating_sub(cost);
        self.round = self.round.saturating_sub(cost);
    }

    /// Whether all pairs of the chunk could be tried.
    pub(super) fn covers_chunk(&self) -> bool {
        self.chunk > 0
    }

    /// Whether nothing is left for this round.
    pub(super) fn is_spent(&mut self) -> bool {
        self.was_short |= self.round == 0;
        self.round == 0
    }
}
