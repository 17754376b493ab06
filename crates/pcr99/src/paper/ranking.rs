//! Ranking numbers (Sec. V-B): 1 for the match with the highest score, `n` for the lowest.

/// The matches in order of rank. Ranks count from 1 as in the paper, indices from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ranking {
    order: Vec<u32>,
}

impl Ranking {
    /// Ranks matches by score, the highest first, ties by index (decision 14).
    pub(super) fn by_descending(scores: &[f64]) -> Self {
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        // A stable sort keeps ties in order of index.
        order.sort_by(|&i, &j| scores[j as usize].total_cmp(&scores[i as usize]));
        Self { order }
    }

    /// The matches, best first.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// The match with a rank from 1 to `n`.
    #[cfg(test)]
    pub(super) fn index_of_rank(&self, rank: usize) -> usize {
        self.order[rank - 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decision 14.
    #[test]
    fn ties_go_by_index() {
        let ranking = Ranking::by_descending(&[1.0, 3.0, 1.0, 3.0, 2.0]);
        assert_eq!(ranking.order(), [1, 3, 4, 0, 2]);
        assert_eq!(ranking.index_of_rank(1), 1);
    }
}
