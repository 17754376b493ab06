//! Which blocks of the factor are not zero, and which columns are eliminated together.

use super::order::minimum_degree;

/// A group of neighbouring columns with the same rows below them, eliminated as one dense matrix (a supernode).
#[derive(Debug)]
pub(super) struct Group {
    /// First column, and the one after the last.
    pub(super) first: u32,
    pub(super) end: u32,
    /// Rows below the columns, ascending.
    pub(super) rows: Vec<u32>,
    /// Number of groups whose Schur complement is added to this one; they are the last ones that were eliminated and not yet used.
    pub(super) children: u32,
    /// Entries of the system in these columns.
    pub(super) entries: Vec<Entry>,
}

impl Group {
    pub(super) fn pivots(&self) -> usize {
        (self.end - self.first) as usize
    }

    /// Number of block rows of the dense matrix.
    pub(super) fn size(&self) -> usize {
        self.pivots() + self.rows.len()
    }
}

/// A block of the system below the diagonal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Which of the pairs.
    pub(super) pair: u32,
    /// Place in the dense matrix of the group.
    pub(super) row: u32,
    pub(super) column: u32,
    /// Whether the block of the pair is to be transposed: its second vertex is eliminated first.
    pub(super) is_transposed: bool,
}

/// The structure of all systems with blocks at the same places.
#[derive(Debug)]
pub(crate) struct Structure {
    /// Vertex of each column.
    pub(super) vertex_of: Vec<u32>,
    /// Column of each vertex.
    pub(super) column_of: Vec<u32>,
    pub(super) groups: Vec<Group>,
    /// Group of each column.
    pub(super) group_of: Vec<u32>,
}

/// Groups of at most this many columns are joined whatever zeros that adds: below it, the bookkeeping costs more than the arithmetic. In vertices.
const SMALL: usize = 3;
/// Largest fraction of zeros that joining may add to a group. Between 0.05 and 0.3 the time on spheres and tori is within 10 % of the best.
const ZEROS: f64 = 0.15;

impl Structure {
    /// The structure for `count` vertices and blocks at these pairs of different vertices. A pair may occur several times.
    pub(crate) fn new(count: usize, pairs: &[(u32, u32)]) -> Self {
        let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); count];
        for &(a, b) in pairs {
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        let order = minimum_degree(neighbours.clone());
        let order = postordered(&neighbours, &order);
        let mut column_of = vec![0; count];
        order.iter().enumerate().for_each(|(column, &vertex)| column_of[vertex as usize] = column as u32);
        let mut groups = groups(&rows_below(&neighbours, &order, &column_of));
        place_entries(&mut groups, pairs, &column_of);
        let mut group_of = vec![0; count];
        for (k, group) in groups.iter().enumerate() {
            (group.first..group.end).for_each(|column| group_of[column as usize] = k as u32);
        }
        Self { vertex_of: order, column_of, groups, group_of }
    }

    /// Number of vertices.
    pub(crate) fn count(&self) -> usize {
        self.vertex_of.len()
    }
}

/// Parent of each column in the elimination tree (Liu, 1986), or `u32::MAX`.
fn parents(neighbours: &[Vec<u32>], order: &[u32], column_of: &[u32]) -> Vec<u32> {
    let count = order.len();
    let (mut parent, mut ancestor) = (vec![u32::MAX; count], vec![u32::MAX; count]);
    for column in 0..count as u32 {
        for &neighbour in &neighbours[order[column as usize] as usize] {
            let mut k = column_of[neighbour as usize];
            while k < column {
                // With path compression.
                let up = std::mem::replace(&mut ancestor[k as usize], column);
                if up == u32::MAX {
                    parent[k as usize] = column;
                    break;
                }
                if up == column {
                    break;
                }
                k = up;
            }
        }
    }
    parent
}

/// The same elimination tree in an order in which every subtree is contiguous and ends with its root.
fn postordered(neighbours: &[Vec<u32>], order: &[u32]) -> Vec<u32> {
    let count = order.len();
    let mut column_of = vec![0; count];
    order.iter().enumerate().for_each(|(column, &vertex)| column_of[vertex as usize] = column as u32);
    let parent = parents(neighbours, order, &column_of);
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut stack = Vec::new();
    for column in (0..count as u32).rev() {
        match parent[column as usize] {
            u32::MAX => stack.push((column, false)),
            up => children[up as usize].push(column),
        }
    }
    let mut result = Vec::with_capacity(count);
    while let Some((column, is_done)) = stack.pop() {
        if is_done {
            result.push(order[column as usize]);
        } else {
            stack.push((column, true));
            stack.extend(children[column as usize].iter().map(|&child| (child, false)));
        }
    }
    result
}

/// The rows of the factor below each column, ascending.
fn rows_below(neighbours: &[Vec<u32>], order: &[u32], column_of: &[u32]) -> Vec<Vec<u32>> {
    let count = order.len();
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut stamp = vec![u32::MAX; count];
    for column in 0..count as u32 {
        let mut rows = Vec::new();
        stamp[column as usize] = column;
        let own = neighbours[order[column as usize] as usize].iter().map(|&v| column_of[v as usize]);
        let inherited =
            children[column as usize].iter().flat_map(|&child| below[child as usize].iter().copied());
        for row in own.chain(inherited) {
            if row > column && stamp[row as usize] != column {
                stamp[row as usize] = column;
                rows.push(row);
            }
        }
        rows.sort_unstable();
        if let Some(&parent) = rows.first() {
            children[parent as usize].push(column);
        }
        below[column as usize] = rows;
    }
    below
}

/// Joins columns to groups.
fn groups(below: &[Vec<u32>]) -> Vec<Group> {
    struct Joined {
        first: u32,
        zeros: usize,
    }
    let mut joined: Vec<Joined> = Vec::new();
    for column in 0..below.len() as u32 {
        let rows = below[column as usize].len();
        let mut next = Joined { first: column, zeros: 0 };
        // The group before is a child of this column when its first row below is this column.
        while let Some(child) = joined.last() {
            let last = next.first - 1;
            if below[last as usize].first() != Some(&next.first) {
                break;
            }
            let child_columns = (next.first - child.first) as usize;
            let columns = (column + 1 - child.first) as usize;
            // All columns of the child get the rows of this group.
            let before = below[last as usize].len();
            let now = (column + 1 - next.first) as usize + rows;
            let zeros = child.zeros + next.zeros + child_columns * (now - before);
            let blocks = columns * (columns + 1) / 2 + columns * rows;
            if zeros > 0 && columns > SMALL && zeros as f64 > ZEROS * blocks as f64 {
                break;
            }
            next = Joined { first: child.first, zeros };
            joined.pop();
        }
        joined.push(next);
    }
    let ends = joined.iter().skip(1).map(|next| next.first).chain([below.len() as u32]);
    let mut groups: Vec<Group> = (joined.iter().zip(ends))
        .map(|(group, end)| {
            let rows = below[end as usize - 1].clone();
            Group { first: group.first, end, rows, children: 0, entries: Vec::new() }
        })
        .collect();
    let mut group_of = vec![0; below.len()];
    for (k, group) in groups.iter().enumerate() {
        (group.first..group.end).for_each(|column| group_of[column as usize] = k);
    }
    for k in 0..groups.len() {
        if let Some(&row) = groups[k].rows.first() {
            groups[group_of[row as usize]].children += 1;
        }
    }
    groups
}

/// Notes where in the groups each pair goes.
fn place_entries(groups: &mut [Group], pairs: &[(u32, u32)], column_of: &[u32]) {
    let mut by_column: Vec<Vec<(u32, u32, bool)>> = vec![Vec::new(); column_of.len()];
    for (pair, &(a, b)) in pairs.iter().enumerate() {
        let (a, b) = (column_of[a as usize], column_of[b as usize]);
        // The block of a pair has the rows of its first vertex, so it lies below the diagonal when the first is eliminated later.
        by_column[a.min(b) as usize].push((a.max(b), pair as u32, a < b));
    }
    for group in groups {
        for column in group.first..group.end {
            for &(row, pair, is_transposed) in &by_column[column as usize] {
                let place = if row < group.end {
                    row - group.first
                } else {
                    let below = group
                        .rows
                        .binary_search(&row)
                        .unwrap_or_else(|_| unreachable!("rows hold all entries"));
                    group.end - group.first + below as u32
                };
                group.entries.push(Entry { pair, row: place, column: column - group.first, is_transposed });
            }
        }
    }
}
