//! Writing: binary, little-endian, each property in the smallest type that holds all its values exactly.

use std::io::{self, Write};

use crate::cloud::Cloud;
use crate::files::file::Column;
use crate::files::scalar::ByteOrder;
use crate::files::writing::{Real, push_real, push_triple, write_records};

/// Writes all of `cloud` but its viewpoint.
pub(crate) fn write(out: &mut dyn Write, cloud: &Cloud, columns: &[Column]) -> io::Result<()> {
    let position = Real::exact(cloud.points.as_flattened());
    let normal = cloud.normals.as_deref().map(|normals| (normals, Real::exact(normals.as_flattened())));
    let intensity = cloud.intensities.as_deref().map(|values| (values, Real::exact(values)));
    write!(out, "ply\nformat binary_little_endian 1.0\nelement vertex {}\n", cloud.len())?;
    for (real, names) in [(Some(position), ["x", "y", "z"]), (normal.map(|n| n.1), ["nx", "ny", "nz"])] {
        for name in names {
            if let Some(real) = real {
                writeln!(out, "property {} {name}", name_of(real))?;
            }
        }
    }
    if cloud.colors.is_some() {
        out.write_all(b"property uchar red\nproperty uchar green\nproperty uchar blue\n")?;
    }
    if let Some((_, real)) = intensity {
        writeln!(out, "property {} intensity", name_of(real))?;
    }
    for column in columns {
        writeln!(out, "property {} {}", column.stored().name(), column.word())?;
    }
    out.write_all(b"end_header\n")?;
    write_records(out, cloud.len(), |i, record| {
        push_triple(record, &cloud.points[i], position);
        if let Some((normals, real)) = normal {
            push_triple(record, &normals[i], real);
        }
        if let Some(colors) = &cloud.colors {
            record.extend_from_slice(&colors[i]);
        }
        if let Some((values, real)) = intensity {
            push_real(record, values[i], real);
        }
        for column in columns {
            column.stored().push(column.values[i], ByteOrder::Little, record);
        }
    })
}

fn name_of(real: Real) -> &'static str {
    match real {
        Real::Single => "float",
        Real::Double => "double",
    }
}
