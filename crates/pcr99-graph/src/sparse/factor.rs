//! The Cholesky factor of a system, and solutions.

use pcr99_base::kernel::elimination::eliminate;

use super::structure::Structure;

/// The numbers of a symmetric system: one block per vertex on the diagonal, and one per pair of the structure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct System<'a> {
    /// Rows and columns of a block.
    pub(crate) size: usize,
    /// Blocks on the diagonal, row by row, in the order of vertices. Their lower triangle is read.
    pub(crate) diagonal: &'a [f64],
    /// Blocks of the pairs, row by row: rows of the first vertex, columns of the second.
    pub(crate) pairs: &'a [f64],
    /// Factor on the diagonal of each block: 1 + damping.
    pub(crate) diagonal_factor: f64,
    /// Number that is added to the diagonal.
    pub(crate) shift: f64,
}

/// The Cholesky factor of a system.
#[derive(Debug, Default)]
pub(crate) struct Factor {
    /// Block size.
    pub(super) block: usize,
    /// The columns of each group, one after the other; in a group, column by column.
    pub(super) numbers: Vec<f64>,
    /// Where each group begins.
    pub(super) begins: Vec<usize>,
    // Memory of the elimination.
    front: Vec<f64>,
    complements: Vec<f64>,
}

impl Factor {
    /// Factors a system again, in the same memory. Returns `false` when it is not positive definite.
    pub(crate) fn compute(&mut self, structure: &Structure, system: &System<'_>) -> bool {
        let block = system.size;
        self.block = block;
        self.begins.clear();
        self.numbers.clear();
        self.complements.clear();
        let mut open: Vec<u32> = Vec::new();
        let mut place = vec![0_u32; structure.count()];
        for (index, group) in structure.groups.iter().enumerate() {
            let (pivots, size) = (group.pivots() * block, group.size() * block);
            self.front.clear();
            self.front.resize(size * size, 0.0);
            assemble(&mut self.front, structure, index, system);
            if group.children > 0 {
                (group.first..group.end).zip(0..).for_each(|(row, k)| place[row as usize] = k);
                group
                    .rows
                    .iter()
                    .zip(group.end - group.first..)
                    .for_each(|(&row, k)| place[row as usize] = k);
            }
            for _ in 0..group.children {
                let rows = &structure.groups[open.pop().unwrap_or_default() as usize].rows;
                let below = rows.len() * block;
                let begin = self.complements.len() - below * below;
                let places: Vec<u32> = rows.iter().map(|&row| place[row as usize]).collect();
                extend_add(&mut self.front, size, &self.complements[begin..], &places, block);
                self.complements.truncate(begin);
            }
            if !eliminate(&mut self.front, size, pivots) {
                return false;
            }
            self.begins.push(self.numbers.len());
            self.numbers.extend_from_slice(&self.front[..pivots * size]);
            if size > pivots {
                for column in pivots..size {
                    self.complements
                        .extend_from_slice(&self.front[column * size + pivots..(column + 1) * size]);
                }
                open.push(index as u32);
            }
        }
        true
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<f64>() * (self.numbers.capacity() + self.front.capacity() + self.complements.capacity())
    }

    /// `B·A⁻¹·Bᵀ` for the matrix `A` of the system and a matrix `B` with few blocks, which are given with their vertices. `scratch` has as many zeros as `D` vectors, before
    /// and after.
    ///
    /// Only the columns above these vertices in the elimination tree are touched.
    pub(crate) fn quadratic<const D: usize>(
        &self,
        structure: &Structure,
        blocks: &[(u32, [[f64; D]; D])],
        scratch: &mut [f64],
    ) -> [[f64; D]; D] {
        let mut path: Vec<u32> = Vec::new();
        for &(vertex, block) in blocks {
            let column = structure.column_of[vertex as usize];
            for (r, row) in block.iter().enumerate() {
                (0..D).for_each(|c| scratch[(column as usize * D + c) * D + r] += row[c]);
            }
            let mut group = Some(structure.group_of[column as usize]);
            while let Some(index) = group {
                path.push(index);
                group = structure.groups[index as usize]
                    .rows
                    .first()
                    .map(|&row| structure.group_of[row as usize]);
            }
        }
        path.sort_unstable();
        path.dedup();
        let mut product = [[0.0; D]; D];
        for &index in &path {
            let (group, begin) = (&structure.groups[index as usize], self.begins[index as usize]);
            let (pivots, size) = (group.pivots() * D, group.size() * D);
            let first = group.first as usize * D;
            for column in 0..pivots {
                let numbers = &self.numbers[begin + column * size..][..size];
                let value: [f64; D] =
                    std::array::from_fn(|r| scratch[(first + column) * D + r] / numbers[column]);
                (0..D).for_each(|r| scratch[(first + column) * D + r] = 0.0);
                if value == [0.0; D] {
                    continue;
                }
                for i in 0..D {
                    for j in 0..D {
                        product[i][j] += value[i] * value[j];
                    }
                }
                let mut subtract = |row: usize, number: f64| {
                    let to = &mut scratch[row * D..][..D];
                    to.iter_mut().zip(&value).for_each(|(x, v)| *x -= number * v);
                };
                (column + 1..pivots).for_each(|row| subtract(first + row, numbers[row]));
                for (&row, numbers) in group.rows.iter().zip(numbers[pivots..].chunks_exact(D)) {
                    numbers
                        .iter()
                        .enumerate()
                        .for_each(|(c, &number)| subtract(row as usize * D + c, number));
                }
            }
        }
        product
    }

    /// Solves the system for a right-hand side in the order of vertices; the solution replaces it.
    pub(crate) fn solve(&self, structure: &Structure, x: &mut [f64]) {
        let block = self.block;
        let mut permuted = vec![0.0; x.len()];
        for (column, &vertex) in structure.vertex_of.iter().enumerate() {
            permuted[column * block..][..block].copy_from_slice(&x[vertex as usize * block..][..block]);
        }
        let mut below = Vec::new();
        for (group, &begin) in structure.groups.iter().zip(&self.begins) {
            let (pivots, size) = (group.pivots() * block, group.size() * block);
            let own = &mut permuted[group.first as usize * block..][..pivots];
            below.clear();
            below.resize(size - pivots, 0.0);
            for column in 0..pivots {
                let numbers = &self.numbers[begin + column * size..][..size];
                let value = own[column] / numbers[column];
                own[column] = value;
                own[column + 1..].iter_mut().zip(&numbers[column + 1..]).for_each(|(y, l)| *y -= value * l);
                below.iter_mut().zip(&numbers[pivots..]).for_each(|(y, l)| *y -= value * l);
            }
            for (&row, add) in group.rows.iter().zip(below.chunks_exact(block)) {
                let target = &mut permuted[row as usize * block..][..block];
                target.iter_mut().zip(add).for_each(|(y, a)| *y += a);
            }
        }
        for (group, &begin) in structure.groups.iter().zip(&self.begins).rev() {
            let (pivots, size) = (group.pivots() * block, group.size() * block);
            below.clear();
            for &row in &group.rows {
                below.extend_from_slice(&permuted[row as usize * block..][..block]);
            }
            let own = &mut permuted[group.first as usize * block..][..pivots];
            for column in (0..pivots).rev() {
                let numbers = &self.numbers[begin + column * size..][..size];
                let inside = dot(&own[column + 1..], &numbers[column + 1..pivots]);
                own[column] = (own[column] - inside - dot(&below, &numbers[pivots..])) / numbers[column];
            }
        }
        for (column, &vertex) in structure.vertex_of.iter().enumerate() {
            x[vertex as usize * block..][..block].copy_from_slice(&permuted[column * block..][..block]);
        }
    }
}

/// Sum of products with four partial sums, which a compiler can keep in one vector.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, a1) = a.as_chunks::<4>();
    let (b4, b1) = b.as_chunks::<4>();
    for (x, y) in a4.iter().zip(b4) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = a1.iter().zip(b1).map(|(x, y)| x * y).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

/// Writes the entries of the system into the dense matrix of a group.
fn assemble(front: &mut [f64], structure: &Structure, index: usize, system: &System<'_>) {
    let group = &structure.groups[index];
    let block = system.size;
    let size = group.size() * block;
    for column in 0..group.pivots() {
        let vertex = structure.vertex_of[group.first as usize + column] as usize;
        let numbers = &system.diagonal[vertex * block * block..][..block * block];
        let corner = column * block * (size + 1);
        for c in 0..block {
            for r in c..block {
                front[corner + c * size + r] = numbers[r * block + c];
            }
            let own = &mut front[corner + c * size + c];
            *own = *own * system.diagonal_factor + system.shift;
        }
    }
    for entry in &group.entries {
        let numbers = &system.pairs[entry.pair as usize * block * block..][..block * block];
        let corner = entry.column as usize * block * size + entry.row as usize * block;
        for c in 0..block {
            let target = &mut front[corner + c * size..][..block];
            for (r, x) in target.iter_mut().enumerate() {
                *x += if entry.is_transposed { numbers[c * block + r] } else { numbers[r * block + c] };
            }
        }
    }
}

/// Adds the Schur complement of a child, whose block rows go to `places`, ascending.
fn extend_add(front: &mut [f64], size: usize, complement: &[f64], places: &[u32], block: usize) {
    let below = places.len() * block;
    for (j, &to) in places.iter().enumerate() {
        for c in 0..block {
            let from = &complement[(j * block + c) * below..][..below];
            let target = &mut front[(to as usize * block + c) * size..][..size];
            for (&row, numbers) in places[j..].iter().zip(from[j * block..].chunks_exact(block)) {
                let target = &mut target[row as usize * block..][..block];
                target.iter_mut().zip(numbers).for_each(|(x, y)| *x += y);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use pcr99_base::random::Random;

    /// A random graph with a diagonally dominant system, as blocks and as a dense matrix.
    pub(crate) fn random_system(count: usize, extra: usize, block: usize, seed: u64) -> Sample {
        let mut random = Random::new(seed);
        let mut pairs: Vec<(u32, u32)> = (1..count).map(|v| (v as u32, random.below(v) as u32)).collect();
        while pairs.len() < count - 1 + extra {
            let (a, b) = (random.below(count) as u32, random.below(count) as u32);
            if a != b {
                pairs.push((a, b));
            }
        }
        let size = count * block;
        let mut dense = vec![vec![0.0; size]; size];
        let mut blocks = Vec::new();
        for &(a, b) in &pairs {
            for r in 0..block {
                for c in 0..block {
                    let x = random.gaussian();
                    blocks.push(x);
                    dense[a as usize * block + r][b as usize * block + c] += x;
                    dense[b as usize * block + c][a as usize * block + r] += x;
                }
            }
        }
        let mut diagonal = vec![0.0; count * block * block];
        for v in 0..count {
            for k in 0..block {
                let sum: f64 = dense[v * block + k].iter().map(|x| x.abs()).sum();
                diagonal[(v * block + k) * block + k] = sum + 1.0;
                dense[v * block + k][v * block + k] = sum + 1.0;
            }
        }
        Sample { pairs, diagonal, blocks, dense }
    }

    pub(crate) struct Sample {
        pub(crate) pairs: Vec<(u32, u32)>,
        pub(crate) diagonal: Vec<f64>,
        pub(crate) blocks: Vec<f64>,
        pub(crate) dense: Vec<Vec<f64>>,
    }

    impl Sample {
        pub(crate) fn system(&self, size: usize) -> System<'_> {
            System { size, diagonal: &self.diagonal, pairs: &self.blocks, diagonal_factor: 1.0, shift: 0.0 }
        }
    }

    #[test]
    fn solutions_solve() {
        for (count, extra, block) in
            [(1, 0, 6), (2, 0, 1), (40, 0, 3), (60, 30, 6), (90, 200, 7), (50, 900, 2)]
        {
            let sample = random_system(count, extra, block, count as u64);
            let structure = Structure::new(count, &sample.pairs);
            let mut factor = Factor::default();
            assert!(factor.compute(&structure, &sample.system(block)));
            let truth: Vec<f64> = (0..count * block).map(|k| (k as f64).sin()).collect();
            let mut x: Vec<f64> =
                sample.dense.iter().map(|row| row.iter().zip(&truth).map(|(a, b)| a * b).sum()).collect();
            factor.solve(&structure, &mut x);
            for (x, truth) in x.iter().zip(&truth) {
                assert!((x - truth).abs() < 1e-12, "{count} {extra} {block}: {x} {truth}");
            }
        }
    }

    #[test]
    fn quadratic_forms_are_those_of_solutions() {
        let sample = random_system(60, 40, 6, 9);
        let structure = Structure::new(60, &sample.pairs);
        let mut factor = Factor::default();
        assert!(factor.compute(&structure, &sample.system(6)));
        let mut random = Random::new(3);
        let mut block = || std::array::from_fn(|_| std::array::from_fn(|_| random.gaussian()));
        let blocks: [(u32, [[f64; 6]; 6]); 2] = [(7, block()), (51, block())];
        let mut scratch = vec![0.0; 60 * 36];
        let found = factor.quadratic(&structure, &blocks, &mut scratch);
        assert!(scratch.iter().all(|x| *x == 0.0));
        let row = |i: usize| -> Vec<f64> {
            let mut row = vec![0.0; 360];
            blocks.iter().for_each(|(v, b)| row[*v as usize * 6..][..6].copy_from_slice(&b[i]));
            row
        };
        for (i, found) in found.iter().enumerate() {
            let mut x = row(i);
            factor.solve(&structure, &mut x);
            for (j, found) in found.iter().enumerate() {
                let expected: f64 = x.iter().zip(row(j)).map(|(a, b)| a * b).sum();
                assert!((found - expected).abs() < 1e-12, "{i} {j}");
            }
        }
    }

    #[test]
    fn a_system_that_is_not_positive_is_noticed() {
        let mut sample = random_system(20, 10, 3, 5);
        let structure = Structure::new(20, &sample.pairs);
        let mut factor = Factor::default();
        let shifted = System { shift: -1e3, ..sample.system(3) };
        assert!(!factor.compute(&structure, &shifted));
        sample.diagonal[4] = f64::NAN;
        let broken = sample.diagonal[9 * 7 + 4];
        assert!(broken.is_finite());
        sample.diagonal[0] = f64::NAN;
        assert!(!factor.compute(&structure, &sample.system(3)));
    }
}
