//! Content of unnamed columns after x, y and z: decided by their number and values, and only where both are
//! unambiguous. Applies to text without a header and to `.npy` arrays.
//!
//! | columns | read as | also |
//! |---|---|---|
//! | 4 | intensity | |
//! | 6 | normal | colour |
//! | 7 | normal, intensity | colour, intensity; intensity, colour (the other way round in `.pts`) |
//! | 9 | normal, colour | colour, normal |
//! | 10 | normal, colour, intensity | colour, normal, intensity; colour, intensity, normal |
//!
//! Normals must have unit length (or be zero or NaN, for unknown), colours must be whole numbers from 0 to 255; the first
//! reading that fits is taken, and without one the columns are ignored.

use crate::cloud::Cloud;

/// How far the squared length of a normal may be off 1: normals are often written with three digits.
const SLACK: f64 = 0.02;

/// Content of one or three columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Normal,
    Color,
    Intensity,
}

impl Part {
    fn width(self) -> usize {
        if self == Self::Intensity { 1 } else { 3 }
    }
}

/// Convention for the order of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// No particular convention.
    Usual,
    /// Convention of `.pts` files: x y z intensity red green blue.
    Pts,
}

/// The readings of `extra` columns after the position, the likeliest first.
fn readings(extra: usize, habit: Habit) -> &'static [&'static [Part]] {
    use Part::{Color as C, Intensity as I, Normal as N};
    match extra {
        1 => &[&[I]],
        3 => &[&[N], &[C]],
        4 if habit == Habit::Pts => &[&[I, C], &[C, I], &[N, I]],
        4 => &[&[N, I], &[C, I], &[I, C]],
        6 => &[&[N, C], &[C, N]],
        7 => &[&[N, C, I], &[C, N, I], &[C, I, N]],
        _ => &[],
    }
}

/// Whether the columns of tables of this width can have a meaning.
pub(crate) fn is_recognised(width: usize, habit: Habit) -> bool {
    width <= 3 || !readings(width - 3, habit).is_empty()
}

/// The values of columns whose meaning is not known yet.
pub(crate) struct Unnamed {
    extra: usize,
    habit: Habit,
    /// Row by row.
    values: Vec<f64>,
    /// Whether all values so far were numbers.
    numbers: bool,
}

impl Unnamed {
    /// The names for tables of this width.
    pub(crate) fn new(width: usize, habit: Habit) -> Self {
        let extra = width.saturating_sub(3);
        Self { extra, habit, values: Vec::new(), numbers: !readings(extra, habit).is_empty() }
    }

    /// Whether further rows can change the answer.
    pub(crate) fn is_open(&self) -> bool {
        self.numbers
    }

    /// Adds a row: `value` gives the value of a column, counted from that of x, if it is a number.
    pub(crate) fn push(&mut self, value: impl Fn(usize) -> Option<f64>) {
        if !self.numbers {
            return;
        }
        for column in 3..3 + self.extra {
            match value(column) {
                Some(value) => self.values.push(value),
                None => {
                    (self.numbers, self.values) = (false, Vec::new());
                    return;
                }
            }
        }
    }

    /// Adds rows of numbers: `values` adds those of a column, counted from that of x, to a list.
    pub(crate) fn extend(&mut self, values: impl Fn(usize, &mut Vec<f64>)) {
        if !self.numbers {
            return;
        }
        let first = self.values.len();
        let mut list = Vec::new();
        for column in 0..self.extra {
            list.clear();
            values(3 + column, &mut list);
            self.values.resize(first + self.extra * list.len(), 0.0);
            let rows = self.values[first..].chunks_exact_mut(self.extra);
            rows.zip(&list).for_each(|(row, value)| row[column] = *value);
        }
    }

    /// Whether the columns hold normals: no other values have unit length.
    pub(crate) fn has_normals(&self) -> bool {
        self.reading().is_some_and(|reading| reading.contains(&Part::Normal))
    }

    /// Columns of the normals, counted from that of x.
    pub(crate) fn normal_columns(&self) -> Option<[usize; 3]> {
        let reading = self.reading()?;
        let before = reading.iter().take_while(|part| **part != Part::Normal).map(|part| part.width());
        let first = 3 + before.sum::<usize>();
        reading.contains(&Part::Normal).then_some([first, first + 1, first + 2])
    }

    /// The first reading that fits the values.
    fn reading(&self) -> Option<&'static [Part]> {
        if !self.numbers || self.values.is_empty() {
            return None;
        }
        readings(self.extra, self.habit).iter().copied().find(|reading| self.fits(reading))
    }

    /// Adds the attributes in the columns to `cloud`, whose points are the rows.
    pub(crate) fn judge(self, cloud: &mut Cloud) {
        let Some(reading) = self.reading() else { return };
        let mut first = 0;
        for part in reading {
            match part {
                Part::Normal => cloud.normals = Some(self.triples(first).collect()),
                Part::Color => {
                    cloud.colors = Some(self.triples(first).map(|c| c.map(|x| x as u8)).collect());
                }
                Part::Intensity => cloud.intensities = Some(self.rows().map(|row| row[first]).collect()),
            }
            first += part.width();
        }
    }

    fn fits(&self, reading: &[Part]) -> bool {
        let mut first = 0;
        reading.iter().all(|part| {
            let start = first;
            first += part.width();
            match part {
                Part::Normal => self.are_normals(start),
                Part::Color => self.triples(start).all(|color| color.into_iter().all(is_byte)),
                Part::Intensity => true,
            }
        })
    }

    fn are_normals(&self, first: usize) -> bool {
        let mut any = false;
        let fits = self.triples(first).all(|[x, y, z]| {
            let length_sq = x * x + y * y + z * z;
            let unit = (length_sq - 1.0).abs() <= SLACK;
            any |= unit;
            unit || length_sq == 0.0 || length_sq.is_nan()
        });
        fits && any
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.extra)
    }

    fn triples(&self, first: usize) -> impl Iterator<Item = [f64; 3]> {
        self.rows().map(move |row| [row[first], row[first + 1], row[first + 2]])
    }
}

fn is_byte(value: f64) -> bool {
    (0.0..=255.0).contains(&value) && value.fract() == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::Attribute::{self, Colors, Intensities, Normals};

    fn judged(rows: &[&[f64]]) -> Cloud {
        let mut unnamed = Unnamed::new(rows[0].len(), Habit::Usual);
        rows.iter().for_each(|row| unnamed.push(|column| Some(row[column]).filter(|x| *x != -99.0)));
        let mut cloud = Cloud::new(rows.iter().map(|row| [row[0], row[1], row[2]]).collect());
        unnamed.judge(&mut cloud);
        cloud.validate().expect("equal lengths");
        cloud
    }

    #[test]
    fn the_first_reading_that_fits() {
        let cases: [(&[f64], &[Attribute]); 12] = [
            (&[1.0, 2.0, 3.0], &[]),
            (&[1.0, 2.0, 3.0, 0.5], &[Intensities]),
            (&[1.0, 2.0, 3.0, -99.0], &[]),
            (&[1.0, 2.0, 3.0, 4.0, 5.0], &[]),
            (&[1.0, 2.0, 3.0, 0.6, -0.8, 0.0], &[Normals]),
            (&[1.0, 2.0, 3.0, 6.0, 8.0, 0.0], &[Colors]),
            (&[1.0, 2.0, 3.0, 6.0, 8.5, 0.0], &[]),
            (&[1.0, 2.0, 3.0, -1200.0, 9.0, 8.0, 7.0], &[Colors, Intensities]),
            (&[1.0, 2.0, 3.0, 9.0, 8.0, 7.0, 0.25], &[Colors, Intensities]),
            (&[1.0, 2.0, 3.0, 9.0, 8.0, 7.0, 0.0, 0.0, 1.0], &[Normals, Colors]),
            (&[1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 9.0, 8.0, 7.0, 0.5], &[Normals, Colors, Intensities]),
            (&[1.0, 2.0, 3.0, 9.0, 8.0, 7.0, 0.5, 0.0, 0.0, 1.0], &[Normals, Colors, Intensities]),
        ];
        for (row, attributes) in cases {
            let cloud = judged(&[row]);
            assert_eq!(cloud.attributes(), attributes, "{row:?}");
            let of = |list: &[Attribute], one| list.contains(&one);
            if of(attributes, Colors) && row[4] != 8.0 && row[5] != 0.0 {
                assert_eq!(cloud.colors, Some(vec![[9, 8, 7]]), "{row:?}");
            }
        }
    }

    #[test]
    fn habits_decide_where_values_do_not() {
        let row = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        for (habit, color, intensity) in [(Habit::Usual, [4, 5, 6], 7.0), (Habit::Pts, [5, 6, 7], 4.0)] {
            let mut unnamed = Unnamed::new(7, habit);
            unnamed.push(|column| Some(row[column]));
            let mut cloud = Cloud::new(vec![[1.0, 2.0, 3.0]]);
            unnamed.judge(&mut cloud);
            assert_eq!((cloud.colors, cloud.intensities), (Some(vec![color]), Some(vec![intensity])));
        }
    }

    #[test]
    fn one_row_that_does_not_fit_rules_a_reading_out() {
        let normal = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let unknown = [0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0];
        let zero = [0.0; 6];
        let long = [0.0, 0.0, 0.0, 0.0, 0.5, 1.0];
        assert_eq!(judged(&[&normal, &unknown, &zero]).attributes(), [Normals]);
        assert_eq!(judged(&[&normal, &long]).attributes(), []);
        assert_eq!(judged(&[&zero, &zero]).attributes(), [Colors]);
    }
}
