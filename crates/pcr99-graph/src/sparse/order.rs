//! Order of elimination with little fill: approximate minimum degree (Amestoy, Davis and Duff, 1996).

/// No vertex or bucket.
const NONE: u32 = u32::MAX;

/// Vertices in the order in which to eliminate them. `neighbours[v]` lists each neighbour of `v` once, without `v`.
pub(crate) fn minimum_degree(mut neighbours: Vec<Vec<u32>>) -> Vec<u32> {
    let count = neighbours.len();
    // Eliminated vertices become elements: cliques of the vertices that remain.
    let mut elements_of: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut is_dead_element = vec![false; count];
    let mut degree: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let mut buckets = Buckets::new(&degree);
    let mut is_eliminated = vec![false; count];
    let mut stamp = vec![0_u32; count];
    let mut outside = vec![(0_u32, 0_usize); count];
    let mut order = Vec::with_capacity(count);
    for round in 1..=count as u32 {
        let pivot = buckets.pop_least();
        let p = pivot as usize;
        is_eliminated[p] = true;
        order.push(pivot);
        // The new element: all that the pivot was connected to, directly or through elements, which it absorbs.
        stamp[p] = round;
        let mut element: Vec<u32> = Vec::with_capacity(degree[p]);
        let absorbed = std::mem::take(&mut elements_of[p]);
        let direct = std::mem::take(&mut neighbours[p]);
        let through = absorbed.iter().flat_map(|&e| members[e as usize].iter());
        for &v in direct.iter().chain(through) {
            if !is_eliminated[v as usize] && stamp[v as usize] != round {
                stamp[v as usize] = round;
                element.push(v);
            }
        }
        for &e in &absorbed {
            is_dead_element[e as usize] = true;
            members[e as usize] = Vec::new();
        }
        element.sort_unstable();
        // How many members of each other element are not in the new one.
        for &v in &element {
            for &e in elements_of[v as usize].iter().filter(|&&e| !is_dead_element[e as usize]) {
                let (seen, left) = &mut outside[e as usize];
                if *seen != round {
                    (*seen, *left) = (round, members[e as usize].len());
                }
                *left -= 1;
            }
        }
        let remaining = count - order.len();
        for &v in &element {
            let i = v as usize;
            elements_of[i].retain(|&e| {
                let e = e as usize;
                if !is_dead_element[e] && outside[e] == (round, 0) {
                    // Contained in the new element.
                    is_dead_element[e] = true;
                    members[e] = Vec::new();
                }
                !is_dead_element[e]
            });
            neighbours[i].retain(|&u| stamp[u as usize] != round && !is_eliminated[u as usize]);
            let elsewhere: usize = elements_of[i].iter().map(|&e| outside[e as usize].1).sum();
            elements_of[i].push(pivot);
            let inside = element.len() - 1;
            let bound = (neighbours[i].len() + inside + elsewhere).min(degree[i] + inside).min(remaining - 1);
            buckets.remove(v, degree[i]);
            degree[i] = bound;
            buckets.insert(v, bound);
        }
        members[p] = element;
    }
    order
}

/// Vertices by degree, in doubly linked lists.
struct Buckets {
    first: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    least: usize,
}

impl Buckets {
    fn new(degree: &[usize]) -> Self {
        let count = degree.len();
        let mut buckets = Self {
            first: vec![NONE; count.max(1)],
            next: vec![NONE; count],
            previous: vec![NONE; count],
            least: 0,
        };
        // Backwards, so that the first vertices come first.
        (0..count).rev().for_each(|v| buckets.insert(v as u32, degree[v]));
        buckets
    }

    fn insert(&mut self, vertex: u32, degree: usize) {
        let after = self.first[degree];
        self.next[vertex as usize] = after;
        self.previous[vertex as usize] = NONE;
        if after != NONE {
            self.previous[after as usize] = vertex;
        }
        self.first[degree] = vertex;
        self.least = self.least.min(degree);
    }

    fn remove(&mut self, vertex: u32, degree: usize) {
        let (before, after) = (self.previous[vertex as usize], self.next[vertex as usize]);
        if before == NONE {
            self.first[degree] = after;
        } else {
            self.next[before as usize] = after;
        }
        if after != NONE {
            self.previous[after as usize] = before;
        }
    }

    /// Takes a vertex of the least degree; there must be one.
    fn pop_least(&mut self) -> u32 {
        while self.first[self.least] == NONE {
            self.least += 1;
        }
        let vertex = self.first[self.least];
        self.remove(vertex, self.least);
        vertex
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of entries below the diagonal of the factor, by elimination on a dense pattern.
    fn fill(neighbours: &[Vec<u32>], order: &[u32]) -> usize {
        let count = order.len();
        let mut place = vec![0; count];
        order.iter().enumerate().for_each(|(k, &v)| place[v as usize] = k);
        let mut pattern = vec![vec![false; count]; count];
        for (v, list) in neighbours.iter().enumerate() {
            list.iter().for_each(|&u| pattern[place[v]][place[u as usize]] = true);
        }
        let mut entries = 0;
        for k in 0..count {
            let below: Vec<usize> = (k + 1..count).filter(|&i| pattern[k][i]).collect();
            entries += below.len();
            for &i in &below {
                below.iter().filter(|&&j| j != i).for_each(|&j| pattern[i][j] = true);
            }
        }
        entries
    }

    fn grid(side: usize) -> Vec<Vec<u32>> {
        let at = |x: usize, y: usize| (y * side + x) as u32;
        let mut neighbours = vec![Vec::new(); side * side];
        for y in 0..side {
            for x in 0..side {
                for (u, v) in [(x + 1, y), (x, y + 1)] {
                    if u < side && v < side {
                        neighbours[at(x, y) as usize].push(at(u, v));
                        neighbours[at(u, v) as usize].push(at(x, y));
                    }
                }
            }
        }
        neighbours
    }

    #[test]
    fn a_grid_fills_little() {
        let neighbours = grid(20);
        let order = minimum_degree(neighbours.clone());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..400).collect::<Vec<u32>>());
        let natural: Vec<u32> = (0..400).collect();
        let (natural, least) = (fill(&neighbours, &natural), fill(&neighbours, &order));
        // Nested dissection needs about 3000 entries here.
        assert!(least < 3500 && natural > 7000, "{least} of {natural}");
    }

    #[test]
    fn a_tree_fills_nothing() {
        let mut neighbours = vec![Vec::new(); 100];
        for v in 1..100_u32 {
            let parent = (v * 7919) % v;
            neighbours[v as usize].push(parent);
            neighbours[parent as usize].push(v);
        }
        let order = minimum_degree(neighbours.clone());
        assert_eq!(fill(&neighbours, &order), 99);
        assert_eq!(minimum_degree(vec![]), Vec::<u32>::new());
        assert_eq!(minimum_degree(vec![vec![], vec![]]).len(), 2);
    }
}
