#[cfg(feature = "bunny")]
mod bunny;
mod knot;
mod solids;

use pcr99::random::Random;
use pcr99_base::vector::{cross, minus, norm};

use crate::{Error, draw::distinct_indices};

/// Shape that source points are drawn from.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Stanford Bunny, the paper's data (1839 vertices). See `data/NOTICE` for its terms.
    #[cfg(feature = "bunny")]
    Bunny,
    /// Surface of a cube.
    Cube,
    /// Surface of a sphere.
    Sphere,
    /// Tube along a trefoil knot: a curved surface without flat parts.
    Knot,
    /// Given points.
    Cloud {
        /// Name in errors and records, such as the file name.
        name: String,
        /// Points: at least three, all finite.
        points: Vec<[f64; 3]>,
    },
}

impl Shape {
    /// Names of the built-in shapes.
    pub const BUILTIN_NAMES: &[&str] = &[
        #[cfg(feature = "bunny")]
        "bunny",
        "cube",
        "sphere",
        "knot",
    ];

    /// Built-in shape of this name.
    ///
    /// ```
    /// use pcr99_lab::Shape;
    /// assert_eq!(Shape::builtin("knot"), Some(Shape::Knot));
    /// assert_eq!(Shape::builtin("teapot"), None);
    /// ```
    pub fn builtin(name: &str) -> Option<Self> {
        match name {
            #[cfg(feature = "bunny")]
            "bunny" => Some(Self::Bunny),
            "cube" => Some(Self::Cube),
            "sphere" => Some(Self::Sphere),
            "knot" => Some(Self::Knot),
            _ => None,
        }
    }

    /// Name of the shape; for built-in shapes, one of [`Shape::BUILTIN_NAMES`].
    pub fn name(&self) -> &str {
        match self {
            #[cfg(feature = "bunny")]
            Self::Bunny => "bunny",
            Self::Cube => "cube",
            Self::Sphere => "sphere",
            Self::Knot => "knot",
            Self::Cloud { name, .. } => name,
        }
    }

    /// Draws `n` points and fits them into the unit cube around the origin, `[−½, ½]³`.
    ///
    /// The bounding box of *the drawn points* is moved to the origin and scaled uniformly until its longest side is 1. The paper also scales
    /// after downsampling (Sec. VII-A).
    ///
    /// Computed shapes are sampled uniformly over their surface. The Bunny and given clouds are downsampled as in the paper: a random subset in
    /// random order. When more points are requested than the Bunny has vertices, they are drawn uniformly from its triangles.
    ///
    /// # Errors
    ///
    /// When fewer than three points are requested, or a cloud is too small or not finite, or the drawn points are collinear.
    pub fn sample(&self, n: usize, random: &mut Random) -> Result<Vec<[f64; 3]>, Error> {
        if n < 3 {
            return Err(Error::TooFewPoints { points: n });
        }
        self.check()?;
        let points = match self {
            #[cfg(feature = "bunny")]
            Self::Bunny => bunny::sample(n, random),
            Self::Cube => (0..n).map(|_| solids::on_cube(random)).collect(),
            Self::Sphere => (0..n).map(|_| solids::on_sphere(random)).collect(),
            Self::Knot => (0..n).map(|_| knot::on_tube(random)).collect(),
            Self::Cloud { name, points } if points.len() < n => {
                return Err(Error::CloudTooSmall { name: name.clone(), available: points.len(), wanted: n });
            }
            Self::Cloud { points, .. } => subset(points, n, random),
        };
        let fitted = fit(points);
        fitted.ok_or_else(|| Error::Collinear { name: self.name().to_owned(), points: n })
    }

    /// Checks that a given cloud has at least three points, all finite.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self::Cloud { name, points } = self else { return Ok(()) };
        if points.len() < 3 {
            return Err(Error::CloudTooSmall { name: name.clone(), available: points.len(), wanted: 3 });
        }
        match points.iter().position(|point| !point.iter().all(|x| x.is_finite())) {
            Some(index) => Err(Error::CloudNotFinite { name: name.clone(), index }),
            None => Ok(()),
        }
    }
}

/// Random subset of `n` points in random order; `n` must not exceed their number.
fn subset(points: &[[f64; 3]], n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    distinct_indices(points.len(), n, random).into_iter().map(|i| points[i]).collect()
}

/// Moves the centre of the bounding box to the origin and scales its longest side to 1. `None` when the points are collinear or their extent
/// overflows.
fn fit(mut points: Vec<[f64; 3]>) -> Option<Vec<[f64; 3]>> {
    let mut low = [f64::INFINITY; 3];
    let mut high = [f64::NEG_INFINITY; 3];
    for point in &points {
        for axis in 0..3 {
            low[axis] = low[axis].min(point[axis]);
            high[axis] = high[axis].max(point[axis]);
        }
    }
    let size = minus(high, low);
    let longest = size[0].max(size[1]).max(size[2]);
    if !(longest > 0.0 && longest.is_finite()) {
        return None;
    }
    let center: [f64; 3] = std::array::from_fn(|axis| low[axis] + 0.5 * size[axis]);
    for point in &mut points {
        // The clamp removes rounding errors, so that all points are exactly inside.
        *point = minus(*point, center).map(|x| (x / longest).clamp(-0.5, 0.5));
    }
    (!is_collinear(&points)).then_some(points)
}

/// Whether all points of a cloud of size 1 are within 10⁻⁹ of one line.
fn is_collinear(points: &[[f64; 3]]) -> bool {
    let from_first = || points.iter().map(|&point| minus(point, points[0]));
    let Some(axis) = from_first().max_by(|a, b| norm(*a).total_cmp(&norm(*b))) else { return true };
    from_first().all(|offset| norm(cross(axis, offset)) <= 1e-9 * norm(axis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(points: &[[f64; 3]]) -> [f64; 3] {
        std::array::from_fn(|axis| {
            let low = points.iter().map(|p| p[axis]).fold(f64::INFINITY, f64::min);
            let high = points.iter().map(|p| p[axis]).fold(f64::NEG_INFINITY, f64::max);
            assert!((low + high).abs() < 1e-15, "the box is centred on the origin");
            high - low
        })
    }

    fn cloud(points: &[[f64; 3]]) -> Shape {
        Shape::Cloud { name: "mine".to_owned(), points: points.to_vec() }
    }

    #[test]
    fn every_shape_fits_the_unit_cube_with_longest_side_one() {
        let mut shapes: Vec<Shape> =
            Shape::BUILTIN_NAMES.iter().map(|name| Shape::builtin(name).unwrap()).collect();
        shapes
            .push(cloud(&(0..5000).map(|i| [f64::from(i), f64::from(i * i % 77), 1e3]).collect::<Vec<_>>()));
        for shape in shapes {
            for (seed, n) in [(0, 3), (1, 10), (2, 1000), (3, 5000)] {
                let points = shape.sample(n, &mut Random::new(seed)).unwrap();
                assert_eq!(points.len(), n);
                assert!(points.iter().flatten().all(|x| x.abs() <= 0.5));
                let longest = sides(&points).into_iter().fold(0.0, f64::max);
                assert!((longest - 1.0).abs() < 1e-15, "{} {longest}", shape.name());
            }
        }
    }

    #[test]
    fn names_are_those_of_the_builtins() {
        for &name in Shape::BUILTIN_NAMES {
            assert_eq!(Shape::builtin(name).unwrap().name(), name);
        }
        assert_eq!(Shape::BUILTIN_NAMES.contains(&"bunny"), cfg!(feature = "bunny"));
    }

    #[test]
    fn a_cloud_keeps_its_aspect_and_gives_each_point_once() {
        let corners = [[10.0, 0.0, 1.0], [14.0, 0.0, 1.0], [10.0, 2.0, 1.0], [14.0, 2.0, 1.0]];
        let mut drawn = cloud(&corners).sample(4, &mut Random::new(5)).unwrap();
        drawn.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(drawn, [[-0.5, -0.25, 0.0], [-0.5, 0.25, 0.0], [0.5, -0.25, 0.0], [0.5, 0.25, 0.0]]);
    }

    #[test]
    fn bad_clouds_are_named_with_a_remedy() {
        let sample = |shape: &Shape, n| shape.sample(n, &mut Random::new(0)).unwrap_err().to_string();
        let square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
        assert_eq!(
            sample(&cloud(&square), 5),
            "cloud `mine` has 4 points but 5 are needed: ask for at most 4 points (at least 3), or give a larger \
             cloud"
        );
        assert!(sample(&cloud(&square[..2]), 3).contains("has 2 points but 3 are needed"));
        assert!(sample(&cloud(&square), 2).contains("at least 3 points, got 2"));
        let mut broken = square;
        broken[2][1] = f64::NAN;
        assert_eq!(
            sample(&cloud(&broken), 3),
            "point 2 (counted from 0) of cloud `mine` is not finite: remove such points first"
        );
        let line: Vec<[f64; 3]> = (0..9).map(|i| [f64::from(i), 0.1 * f64::from(i), 1.0]).collect();
        assert!(sample(&cloud(&line), 9).contains("lie on one line"));
        assert!(sample(&cloud(&[[2.0; 3]; 5]), 4).contains("lie on one line"));
        let huge = [[-1e308, 0.0, 0.0], [1e308, 0.0, 0.0], [0.0, 1.0, 0.0]];
        assert!(sample(&cloud(&huge), 3).contains("no finite extent"));
    }
}
