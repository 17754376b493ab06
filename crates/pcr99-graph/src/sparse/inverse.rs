//! Blocks on the diagonal of the inverse (Erisman and Tinney, 1975), from the root of the elimination tree to the leaves.

use pcr99_base::kernel::elimination::subtract_product;

use super::{factor::Factor, structure::Structure};

impl Factor {
    /// The blocks on the diagonal of the inverse of the system, row by row, in the order of vertices.
    ///
    /// The inverse at the rows of a group is known from its parent. With `L = [A; B]` for the columns of the group, `Y = B·A⁻¹` and `Z` that
    /// part of the inverse, the new parts are `−Z·Y` and `(A·Aᵀ)⁻¹ + Yᵀ·Z·Y`.
    pub(crate) fn inverse_diagonal(&self, structure: &Structure) -> Vec<f64> {
        let block = self.block;
        let mut diagonal = vec![0.0; structure.count() * block * block];
        // Inverses at all rows of the groups whose children are not done yet, and their rows.
        let mut waiting: Vec<(Vec<f64>, usize, u32)> = Vec::new();
        let mut place = vec![0_usize; structure.count()];
        for (index, group) in structure.groups.iter().enumerate().rev() {
            let (pivots, size) = (group.pivots() * block, group.size() * block);
            let below = size - pivots;
            let numbers = &self.numbers[self.begins[index]..][..pivots * size];
            // `Z`, from the parent, which is the last one that waits.
            let mut known = vec![0.0; below * below];
            if below > 0
                && let Some((parent_inverse, parent, left)) = waiting.last_mut()
            {
                let parent_group = &structure.groups[*parent];
                (parent_group.first..parent_group.end).zip(0..).for_each(|(row, k)| place[row as usize] = k);
                let after = parent_group.pivots();
                parent_group.rows.iter().zip(after..).for_each(|(&row, k)| place[row as usize] = k);
                let parent_size = parent_group.size() * block;
                for (j, &column) in group.rows.iter().enumerate() {
                    for c in 0..block {
                        let from = &parent_inverse[(place[column as usize] * block + c) * parent_size..]
                            [..parent_size];
                        let to = &mut known[(j * block + c) * below..][..below];
                        for (&row, to) in group.rows.iter().zip(to.chunks_exact_mut(block)) {
                            to.copy_from_slice(&from[place[row as usize] * block..][..block]);
                        }
                    }
                }
                *left -= 1;
                if *left == 0 {
                    waiting.pop();
                }
            }
            let inverse = group_inverse(numbers, &known, pivots, size);
            for k in 0..group.pivots() {
                let vertex = structure.vertex_of[group.first as usize + k] as usize;
                let to = &mut diagonal[vertex * block * block..][..block * block];
                for r in 0..block {
                    for c in 0..block {
                        // One half is used, so that the block is symmetric to the bit.
                        let (low, high) = (k * block + r.min(c), k * block + r.max(c));
                        to[r * block + c] = inverse[low * size + high];
                    }
                }
            }
            if group.children > 0 {
                waiting.push((inverse, index, group.children));
            }
        }
        diagonal
    }
}

/// The inverse at all rows of a group, column by column, from the columns of its factor and the inverse at the rows below.
fn group_inverse(numbers: &[f64], known: &[f64], pivots: usize, size: usize) -> Vec<f64> {
    let below = size - pivots;
    // A⁻¹, lower triangle, column by column.
    let mut lower = vec![0.0; pivots * pivots];
    for column in 0..pivots {
        lower[column * pivots + column] = 1.0 / numbers[column * size + column];
        for row in column + 1..pivots {
            let sum: f64 = (column..row).map(|k| numbers[k * size + row] * lower[column * pivots + k]).sum();
            lower[column * pivots + row] = -sum / numbers[row * size + row];
        }
    }
    // A⁻ᵀ, column by column: element (row, column) is that of A⁻¹ at (column, row).
    let transposed: Vec<f64> =
        (0..pivots * pivots).map(|k| lower[(k % pivots) * pivots + k / pivots]).collect();
    let rows_below: Vec<f64> = (0..pivots)
        .flat_map(|column| numbers[column * size + pivots..(column + 1) * size].iter().copied())
        .collect();
    // −Y = −B·A⁻¹ = −B·(A⁻ᵀ)ᵀ.
    let mut minus_y = vec![0.0; below * pivots];
    subtract_product(
        (&mut minus_y, below.max(1)),
        (&rows_below, below.max(1)),
        (&transposed, pivots),
        below,
        pivots,
        pivots,
    );
    // −Yᵀ, to multiply by it from the right.
    let minus_y_transposed: Vec<f64> =
        (0..pivots * below).map(|k| minus_y[(k % pivots) * below + k / pivots]).collect();
    let mut inverse = vec![0.0; size * size];
    // Z·(−Y): subtracting Z·(Yᵀ)ᵀ, with the sign turned at the end.
    let mut cross = vec![0.0; below * pivots];
    subtract_product(
        (&mut cross, below.max(1)),
        (known, below.max(1)),
        (&minus_y_transposed, pivots),
        below,
        pivots,
        below,
    );
    cross.iter_mut().for_each(|x| *x = -*x);
    // A⁻ᵀ·A⁻¹ + Yᵀ·Z·Y = A⁻ᵀ·A⁻¹ + (−Yᵀ)·(−Z·Y).
    let mut own = vec![0.0; pivots * pivots];
    subtract_product(
        (&mut own, pivots),
        (&transposed, pivots),
        (&transposed, pivots),
        pivots,
        pivots,
        pivots,
    );
    let cross_transposed: Vec<f64> =
        (0..pivots * below).map(|k| cross[(k % pivots) * below + k / pivots]).collect();
    subtract_product(
        (&mut own, pivots),
        (&minus_y_transposed, pivots),
        (&cross_transposed, pivots),
        pivots,
        pivots,
        below,
    );
    for column in 0..pivots {
        for row in 0..pivots {
            inverse[column * size + row] = -own[column * pivots + row];
        }
        for row in 0..below {
            let x = cross[column * below + row];
            inverse[column * size + pivots + row] = x;
            inverse[(pivots + row) * size + column] = x;
        }
    }
    for column in 0..below {
        inverse[(pivots + column) * size + pivots..][..below]
            .copy_from_slice(&known[column * below..][..below]);
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::super::{Factor, Structure, factor::tests::random_system};

    #[test]
    fn blocks_are_those_of_the_inverse() {
        for (count, extra, block) in [(1, 0, 6), (30, 0, 3), (50, 25, 6), (40, 300, 7)] {
            let sample = random_system(count, extra, block, 11);
            let structure = Structure::new(count, &sample.pairs);
            let mut factor = Factor::default();
            assert!(factor.compute(&structure, &sample.system(block)));
            let blocks = factor.inverse_diagonal(&structure);
            for vertex in 0..count {
                for c in 0..block {
                    let mut x = vec![0.0; count * block];
                    x[vertex * block + c] = 1.0;
                    factor.solve(&structure, &mut x);
                    for r in 0..block {
                        let (found, expected) =
                            (blocks[(vertex * block + r) * block + c], x[vertex * block + r]);
                        assert!((found - expected).abs() < 1e-14, "{vertex} {r} {c}: {found} {expected}");
                    }
                }
            }
        }
    }
}
