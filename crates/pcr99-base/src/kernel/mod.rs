//! Hot loops: plain slices in, results into the caller's buffers, no allocation per call.
//!
//! Most loops are written once and compiled twice, for the baseline of the platform and for AVX2; the CPU decides at run time. A few loops that no
//! compiler vectorises are written twice, the second time with intrinsics. Both versions do the same operations in the same order, without
//! fused multiply-add, so results do not depend on the CPU. The tests run both versions on every input and compare them to the bit with
//! a plain loop.

#[cfg(target_arch = "x86_64")]
mod bit_places;

pub mod cells;

pub mod columns;

pub mod consensus;

pub mod consistent_bits;

pub mod edges;

pub mod least_directions;

pub mod lengths;

pub mod log_ratio;

pub mod median;

pub mod near;

pub mod nearest;

pub mod nearest_point;

pub mod pair_features;

pub mod residuals;

pub mod same_plane;

pub mod savings;

pub mod similar_triangles;

pub mod slices;

pub mod star;

pub mod sums;

pub mod weighted_sum;

pub mod within;
