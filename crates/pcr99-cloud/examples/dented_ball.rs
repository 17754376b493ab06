//! Writes a small cloud with its normals and descriptors as `.npy`, which `cargo xtask compare` compares with Open3D: `cargo run -p
//! pcr99-cloud --example dented_ball -- DIRECTORY`.

#![allow(unreachable_pub, reason = "shared with the tests")]

#[path = "../tests/dented_ball/mod.rs"]
mod dented_ball;

use std::{fs, io, path::Path};

use dented_ball::{DentedBall, FEATURE_RADIUS, NORMAL_RADIUS};

fn main() -> io::Result<()> {
    let directory = std::env::args().nth(1).expect("the directory to write to");
    let directory = Path::new(&directory);
    let ball = DentedBall::new();
    write(&directory.join("points.npy"), &ball.points)?;
    write(&directory.join("normals.npy"), &ball.normals)?;
    let descriptors: Vec<[f64; 33]> = ball.descriptors.iter().map(|d| d.map(f64::from)).collect();
    write(&directory.join("descriptors.npy"), &descriptors)?;
    write(&directory.join("radii.npy"), &[[NORMAL_RADIUS, FEATURE_RADIUS]])
}

/// Version 1 of the format: a header padded to 64 bytes, then the rows.
fn write<const N: usize>(path: &Path, rows: &[[f64; N]]) -> io::Result<()> {
    let shape = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {N}), }}", rows.len());
    // Ten bytes come before, one line end after.
    let header = format!("{shape:<width$}\n", width = (11 + shape.len()).next_multiple_of(64) - 11);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).expect("a short header").to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(rows.iter().flatten().flat_map(|x| x.to_le_bytes()));
    fs::write(path, bytes)
}
