//! Archives written by `NumPy`, with known values.

use std::path::Path;

use pcr99_cloud::{Matches, read_matches};

/// `stored.npz` is from `numpy.savez`, `compressed.npz` from `numpy.savez_compressed` (`NumPy` 2.4), with
/// `src` of type float64, `dst` of type float32 in column order, and `weights` of type int64.
#[test]
fn archives_of_numpy() {
    let source = vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.5], [-7.0, 0.1, 1e-300], [1.0 / 3.0, 2.0 / 3.0, 0.0]];
    let target = source.iter().map(|&[x, y, z]| [z, y, x].map(|value: f64| f64::from((2.0 * value) as f32)));
    let expected = Matches {
        target: target.collect(),
        source: source.clone(),
        weights: Some(vec![1.0, 2.0, 3.0, 4.0]),
        standard_deviations: None,
    };
    for name in ["stored.npz", "compressed.npz"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        assert_eq!(read_matches(&path).expect(name), expected, "{name}");
    }
}
