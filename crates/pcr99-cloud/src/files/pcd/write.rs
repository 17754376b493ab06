//! Writing: binary, point by point.

use std::io::{self, Write};

use crate::cloud::Cloud;
use crate::files::file::Column;
use crate::files::scalar::{ByteOrder, Scalar};
use crate::files::writing::{Real, push_real, push_triple, write_records};

/// Writes all of `cloud`.
pub(crate) fn write(out: &mut dyn Write, cloud: &Cloud, columns: &[Column]) -> io::Result<()> {
    let position = Real::of_coordinates(&cloud.points);
    // Names and bytes of each field; all of ours are of type F, the packed colour too.
    let mut fields = ["x", "y", "z"].map(|name| (name, position.size())).to_vec();
    if cloud.normals.is_some() {
        fields.extend(["normal_x", "normal_y", "normal_z"].map(|name| (name, 4)));
    }
    fields.extend(cloud.colors.iter().map(|_| ("rgb", 4)));
    fields.extend(cloud.intensities.iter().map(|_| ("intensity", 4)));
    let own = fields.into_iter().map(|(name, size)| (name.to_owned(), size, 'F'));
    let others = columns.iter().map(|column| {
        let kind = match column.stored() {
            Scalar::I8 | Scalar::I16 | Scalar::I32 => 'I',
            Scalar::U8 | Scalar::U16 | Scalar::U32 => 'U',
            _ => 'F',
        };
        (column.word(), column.stored().size(), kind)
    });
    let fields: Vec<(String, usize, char)> = own.chain(others).collect();
    let line =
        |entry: fn(&(String, usize, char)) -> String| fields.iter().map(entry).collect::<Vec<_>>().join(" ");
    let (names, sizes) = (line(|field| field.0.clone()), line(|field| field.1.to_string()));
    let (kinds, ones, count) = (line(|field| field.2.to_string()), line(|_| "1".to_owned()), cloud.len());
    let [x, y, z] = cloud.viewpoint.unwrap_or([0.0; 3]);
    write!(
        out,
        "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS {names}\nSIZE {sizes}\nTYPE {kinds}\nCOUNT {ones}\n\
         WIDTH {count}\nHEIGHT 1\nVIEWPOINT {x} {y} {z} 1 0 0 0\nPOINTS {count}\nDATA binary\n",
    )?;
    write_records(out, count, |i, record| {
        push_triple(record, &cloud.points[i], position);
        if let Some(normals) = &cloud.normals {
            push_triple(record, &normals[i], Real::Single);
        }
        if let Some(colors) = &cloud.colors {
            let [red, green, blue] = colors[i];
            record.extend_from_slice(&[blue, green, red, 0]); // 0x00RRGGBB, low byte first, as PCL has it in a float
        }
        if let Some(intensities) = &cloud.intensities {
            push_real(record, intensities[i], Real::Single);
        }
        for column in columns {
            column.stored().push(column.values[i], ByteOrder::Little, record);
        }
    })
}
