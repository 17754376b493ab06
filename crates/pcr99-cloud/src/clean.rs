//! Cleaning: non-finite and duplicate points are removed.

use crate::grid::hash_of;

/// The points that remain, in their original order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cleaned {
    /// Finite points, no two equal.
    pub points: Vec<[f64; 3]>,
    /// Index of each of them in the cloud as given.
    pub indices: Vec<u32>,
    /// Number of removed points with a NaN or infinite coordinate.
    pub not_finite: usize,
    /// Number of removed points with the coordinates of an earlier point.
    pub duplicates: usize,
}

impl Cleaned {
    /// Removes non-finite and duplicate points.
    ///
    /// Points after the first 2³² − 2 are ignored.
    pub fn of(points: &[[f64; 3]]) -> Self {
        let points = &points[..points.len().min(u32::MAX as usize - 1)];
        let mut cleaned = Self {
            points: Vec::with_capacity(points.len()),
            indices: Vec::with_capacity(points.len()),
            not_finite: 0,
            duplicates: 0,
        };
        const FREE: u32 = u32::MAX;
        let slots = (2 * points.len()).next_power_of_two().max(2);
        let mut table = vec![FREE; slots];
        for (index, point) in points.iter().enumerate() {
            if !point.iter().all(|x| x.is_finite()) {
                cleaned.not_finite += 1;
                continue;
            }
            // −0 equals 0.
            let point = point.map(|x| x + 0.0);
            let mut slot = hash_of(point.map(f64::to_bits)) as usize & (slots - 1);
            loop {
                let there = table[slot];
                if there == FREE {
                    table[slot] = cleaned.points.len() as u32;
                    cleaned.points.push(point);
                    cleaned.indices.push(index as u32);
                    break;
                }
                if cleaned.points[there as usize] == point {
                    cleaned.duplicates += 1;
                    break;
                }
                slot = (slot + 1) & (slots - 1);
            }
        }
        cleaned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_place_or_not_new_is_counted() {
        let nan = f64::NAN;
        let raw = [[1.0, 2.0, 3.0], [nan, 0.0, 0.0], [0.0, -0.0, 0.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]];
        let cleaned = Cleaned::of(&raw);
        assert_eq!(cleaned.points, [[1.0, 2.0, 3.0], [0.0; 3]]);
        assert_eq!(cleaned.indices, [0, 2]);
        assert_eq!((cleaned.not_finite, cleaned.duplicates), (1, 2));
        assert_eq!(Cleaned::of(&[]).points.len(), 0);
    }

    #[test]
    fn many_points_keep_their_order() {
        let raw: Vec<[f64; 3]> = (0..5000).map(|i| [f64::from(i % 2500), 0.5, -1.0]).collect();
        let cleaned = Cleaned::of(&raw);
        assert_eq!((cleaned.points.len(), cleaned.duplicates), (2500, 2500));
        assert!(cleaned.points.iter().enumerate().all(|(i, p)| p[0] == i as f64));
    }
}
