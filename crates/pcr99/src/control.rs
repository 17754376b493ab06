//! Georeferencing: the transform that maps a few control points to their known places in the world.
//!
//! Control points are few and some may be grossly wrong: a slip of the pen, two names exchanged, a target that was moved. The transform is found from those that agree
//! ([`pcr99_base::control`]), and the others are named. What the points cannot show is said: three points determine a rigid motion, but nothing checks them.

mod points;

use std::collections::HashMap;

use pcr99_base::{
    Soa,
    control::{Alignment, Known, Undetermined, align, align_all},
    eigen::symmetric_eigen,
    vector::{minus, norm, rotate, transpose},
};

pub use self::points::{Check, ControlError, ControlPoint, ControlResidual, Georeference};

use crate::{Covariance, FreeDirection, Positive, Scale, Similarity, Vertical};

/// Largest factor by which few degrees of freedom enlarge the covariance.
const MOST_UNSURE: f64 = 3.0;
/// Standard deviation of a rotation, in radians, from which it is undetermined: that of any angle.
const ANY_ANGLE: f64 = 1.8;

/// Finds the transform that maps control points to their places, robustly.
///
/// ```
/// use pcr99::{ControlPoint, Scale, georeference};
///
/// let local = [[0.0, 0.0, 0.0], [10.0, 0.0, 1.0], [10.0, 8.0, 0.0], [0.0, 8.0, 2.0], [5.0, 4.0, 6.0], [2.0, 7.0, 3.0]];
/// let points: Vec<ControlPoint> = (1..).zip(local).map(|(k, [x, y, z])| {
///     // The fifth has a slip of the pen.
///     let slip = if k == 5 { 1.0 } else { 0.0 };
///     ControlPoint::new(format!("P{k}"), [x, y, z], [500_000.0 - y, 4_000_000.0 + x + slip, 100.0 + z]).with_deviation(0.01)
/// }).collect();
/// let found = georeference(&points, Scale::one(), None)?;
/// let wrong: Vec<&str> = found.points.iter().filter(|p| !p.is_used).map(|p| p.name.as_str()).collect();
/// assert_eq!(wrong, ["P5"]);
/// assert!((found.world_from_local.translation()[1] - 4_000_000.0).abs() < 0.01);
/// # Ok::<(), pcr99::ControlError>(())
/// ```
///
/// # Errors
/// [`ControlError`].
pub fn georeference(
    points: &[ControlPoint],
    scale: Scale,
    vertical: Option<&Vertical>,
) -> Result<Georeference, ControlError> {
    let deviations = check(points)?;
    placed(points, deviations.as_deref(), scale, vertical, align)
}

/// Finds the transform of points that are all right, such as the positions of two trajectories at the same times. Names may repeat, and standard deviations do not count.
///
/// # Errors
/// [`ControlError`].
pub fn fit_points(
    points: &[ControlPoint],
    scale: Scale,
    vertical: Option<&Vertical>,
) -> Result<Georeference, ControlError> {
    if let Some(bad) =
        points.iter().find(|point| !point.local.iter().chain(&point.world).all(|x| x.is_finite()))
    {
        return Err(ControlError::NotFinite { name: bad.name.clone() });
    }
    placed(points, None, scale, vertical, |points, _, known| align_all(points, known))
}

/// The transform that `align` finds.
fn placed(
    points: &[ControlPoint],
    deviations: Option<&[f64]>,
    scale: Scale,
    vertical: Option<&Vertical>,
    align: impl Fn(&Soa, Option<&[f64]>, &Known) -> Result<Alignment, Undetermined>,
) -> Result<Georeference, ControlError> {
    let frame = Frame::of(points, vertical);
    let tilt = vertical.map(Vertical::tilt);
    let with = |scale: Option<f64>| {
        let known = Known { scale, tilt };
        let found = align(&frame.points, deviations, &known);
        found.map(|found| (found, known)).map_err(|why| match why {
            Undetermined::TooFew { found, needed } => ControlError::TooFew { found, needed },
            Undetermined::OnALine => ControlError::OnALine { is_upright: vertical.is_some() },
            Undetermined::AtOnePlace => ControlError::AtOnePlace,
        })
    };
    let (found, known) = match scale {
        Scale::Known(scale) => with(Some(scale.get()))?,
        Scale::Unknown => with(None)?,
        Scale::Between(low, high) => {
            let free = with(None)?;
            let bounded = free.0.transform.scale().clamp(low.get(), high.get());
            if bounded == free.0.transform.scale() { free } else { with(Some(bounded))? }
        }
    };
    let world_from_local = frame.outward(&found.transform);
    let weights: Vec<f64> = match deviations {
        Some(deviations) => deviations.iter().map(|s| 1.0 / (s * s)).collect(),
        None => vec![1.0; points.len()],
    };
    let residuals: Vec<ControlResidual> = points
        .iter()
        .zip(&found.is_used)
        .enumerate()
        .map(|(i, (point, is_used))| ControlResidual {
            name: point.name.clone(),
            residual: frame.residual(&found.transform, i),
            distance: found.residuals[i],
            is_used: *is_used,
        })
        .collect();
    let used: Vec<usize> = (0..points.len()).filter(|&i| found.is_used[i]).collect();
    let sum: f64 = used.iter().map(|&i| weights[i] * found.residuals[i] * found.residuals[i]).sum();
    let redundancy = found.redundancy.max(1) as f64;
    let student = if redundancy > 2.0 { redundancy / (redundancy - 2.0) } else { f64::INFINITY };
    // Given deviations are taken as they are, unless the residuals are larger.
    let variance = match deviations {
        Some(_) => (sum / redundancy).max(1.0),
        None => sum / redundancy * student.min(MOST_UNSURE),
    };
    let covariance = frame.covariance(&found.transform, &used, &weights, variance, &known);
    let squares: f64 = used.iter().map(|&i| found.residuals[i] * found.residuals[i]).sum();
    Ok(Georeference {
        world_from_local,
        covariance,
        points: residuals,
        rmse: (squares / used.len().max(1) as f64).sqrt(),
        redundancy: found.redundancy,
        fewest: known.fewest(),
    })
}

/// Checks the points; their standard deviations, if they have any.
fn check(points: &[ControlPoint]) -> Result<Option<Vec<f64>>, ControlError> {
    let mut rows = HashMap::new();
    for (row, point) in (1..).zip(points) {
        let name = || point.name.clone();
        if let Some(first) = rows.insert(&point.name, row) {
            return Err(ControlError::RepeatedName { name: name(), rows: [first, row] });
        }
        if !point.local.iter().chain(&point.world).all(|x| x.is_finite()) {
            return Err(ControlError::NotFinite { name: name() });
        }
        if let Some(value) = point.deviation
            && Positive::new("deviation", value).is_err()
        {
            return Err(ControlError::BadDeviation { name: name(), value });
        }
    }
    if points.iter().all(|point| point.deviation.is_none()) {
        return Ok(None);
    }
    let deviation = |point: &ControlPoint| {
        point.deviation.ok_or_else(|| ControlError::MissingDeviation { name: point.name.clone() })
    };
    points.iter().map(deviation).collect::<Result<_, _>>().map(Some)
}

/// Coordinates about the means of both sides, with the vertical as the third axis where it is known.
struct Frame {
    points: Soa,
    centers: [[f64; 3]; 2],
    uprights: [[[f64; 3]; 3]; 2],
}

impl Frame {
    fn of(points: &[ControlPoint], vertical: Option<&Vertical>) -> Self {
        let unturned = Similarity::IDENTITY.rotation();
        let uprights = vertical.map_or([unturned; 2], Vertical::uprights);
        let count = points.len().max(1) as f64;
        let mean = |side: &dyn Fn(&ControlPoint) -> [f64; 3]| -> [f64; 3] {
            // About the first, so that the sum of large coordinates loses no digits.
            let first = points.first().map_or([0.0; 3], side);
            std::array::from_fn(|k| {
                first[k] + points.iter().map(|point| side(point)[k] - first[k]).sum::<f64>() / count
            })
        };
        let centers = [mean(&|point| point.local), mean(&|point| point.world)];
        let mut soa = Soa::default();
        for point in points {
            let a = rotate(&uprights[0], minus(point.local, centers[0]));
            let b = rotate(&uprights[1], minus(point.world, centers[1]));
            for axis in 0..3 {
                soa.a[axis].push(a[axis]);
                soa.b[axis].push(b[axis]);
            }
        }
        Self { points: soa, centers, uprights }
    }

    /// A transform between these coordinates as one between those of the caller.
    fn outward(&self, inner: &Similarity) -> Similarity {
        let part = |rotation, translation| Similarity::new_unchecked(1.0, rotation, translation);
        let unturned = Similarity::IDENTITY.rotation();
        part(unturned, self.centers[0].map(|x| -x))
            .then(&part(self.uprights[0], [0.0; 3]))
            .then(inner)
            .then(&part(transpose(&self.uprights[1]), self.centers[1]))
    }

    /// What is left over at point `i`, in the axes of the world.
    fn residual(&self, inner: &Similarity, i: usize) -> [f64; 3] {
        rotate(
            &transpose(&self.uprights[1]),
            minus(self.points.target(i), inner.apply(self.points.source(i))),
        )
    }

    fn covariance(
        &self,
        inner: &Similarity,
        used: &[usize],
        weights: &[f64],
        variance: f64,
        known: &Known,
    ) -> Covariance {
        let moved: Vec<[f64; 3]> = used.iter().map(|&i| inner.apply(self.points.source(i))).collect();
        let total: f64 = used.iter().map(|&i| weights[i]).sum();
        let mean = |value: &dyn Fn(usize) -> f64| {
            used.iter().enumerate().map(|(k, &i)| weights[i] * value(k)).sum::<f64>() / total
        };
        let center: [f64; 3] = std::array::from_fn(|axis| mean(&|k| moved[k][axis]));
        let lever = mean(&|k| norm(minus(moved[k], center)).powi(2)).sqrt();
        let size = if known.scale.is_some() { 6 } else { 7 };
        let mut a = [[0.0; 7]; 7];
        for (p, &i) in moved.iter().zip(used) {
            let [x, y, z] = minus(*p, center).map(|x| x / lever);
            let rows = [
                [0.0, z, -y, 1.0, 0.0, 0.0, x],
                [-z, 0.0, x, 0.0, 1.0, 0.0, y],
                [y, -x, 0.0, 0.0, 0.0, 1.0, z],
            ];
            for row in rows {
                for k in 0..7 {
                    for l in 0..7 {
                        a[k][l] += weights[i] * row[k] * row[l] / variance.max(f64::MIN_POSITIVE);
                    }
                }
            }
        }
        let tilt = known.tilt.filter(|tilt| !tilt.is_none());
        if let Some(tilt) = tilt {
            // The vertical was measured with the standard deviation of half of the largest tilt.
            let information = 1.0 / (0.5 * tilt.radians() * lever).powi(2);
            (a[0][0], a[1][1]) = (a[0][0] + information, a[1][1] + information);
        }
        let is_fixed = |k: usize| k >= size || (k < 2 && known.tilt.is_some_and(|tilt| tilt.is_none()));
        for fixed in (0..7).filter(|k| is_fixed(*k)) {
            (0..7).for_each(|k| (a[k][fixed], a[fixed][k]) = (0.0, 0.0));
            a[fixed][fixed] = total / variance.max(f64::MIN_POSITIVE);
        }
        let (values, vectors) = symmetric_eigen(&a);
        let most = ANY_ANGLE * lever;
        let (mut full, mut free) = ([[0.0; 7]; 7], Vec::new());
        for (value, vector) in values.iter().zip(&vectors) {
            let is_held = *value > 0.0 && 1.0 / value <= most * most;
            let own = if is_held { 1.0 / value } else { most * most };
            if !is_held {
                let axis = [vector[0], vector[1], vector[2]];
                let length = norm(axis).max(f64::MIN_POSITIVE);
                free.push(FreeDirection::Turning(axis.map(|x| x / length)));
            }
            for k in 0..7 {
                for l in 0..7 {
                    full[k][l] += own * vector[k] * vector[l];
                }
            }
        }
        let unit = |k: usize| if (3..6).contains(&k) { 1.0 } else { 1.0 / lever };
        let element = |i: usize, j: usize| {
            if is_fixed(i) || is_fixed(j) { 0.0 } else { full[i.max(j)][i.min(j)] * unit(i) * unit(j) }
        };
        let matrix = (0..size).map(|i| (0..size).map(|j| element(i, j)).collect()).collect();
        let frame = Similarity::new_unchecked(1.0, transpose(&self.uprights[1]), self.centers[1]);
        Covariance::new(matrix, center, lever, free).in_frame(&frame)
    }
}
