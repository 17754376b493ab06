//! Hot loops: plain slices in, results into the caller's buffers, no allocation per call.
//!
//! Most loops are written once. On x86-64 they are compiled twice, for the baseline and for AVX2, and the CPU decides at run time. On aarch64 they are
//! compiled for NEON, and on WebAssembly for simd128 where the module is compiled with it. A few loops that no compiler vectorises well for AVX2 are written
//! twice, the second time with intrinsics; the other platforms use the first version. The loops of stars are written a third time, for AVX-512. All versions do the same operations in the same order, without
//! fused multiply-add, so results do not depend on the CPU. The tests run all versions on every input and compare them to the bit with
//! a plain loop.

#[cfg(target_arch = "x86_64")]
mod bit_places;

pub mod cells;

pub mod columns;

pub mod consensus;

pub mod consistent_bits;

pub mod edges;

pub mod elimination;

pub mod least_directions;

pub mod lengths;

pub mod log_ratio;

pub mod median;

pub mod near;

pub mod nearest;

pub mod nearest_point;

mod pack;

pub mod pair_features;

pub mod residuals;

pub mod same_plane;

pub mod savings;

pub mod similar_triangles;

pub mod slices;

pub mod star;

pub mod sums;

pub mod upright;

pub mod weighted_sum;

pub mod within;
