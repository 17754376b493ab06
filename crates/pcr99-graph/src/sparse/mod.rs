//! Sparse symmetric positive definite systems of small dense blocks: order, structure, factor, solution and parts of the inverse.
//!
//! Unknowns come in blocks of equal size, one per vertex. [`Structure`] depends only on which blocks are not zero and serves every system of one graph;
//! [`Factor`] holds the numbers. The factorisation is multifrontal (Duff and Reid, 1983): dense elimination in `pcr99_base::kernel::elimination`, which
//! does the same operations in the same order on every CPU.

mod factor;

mod inverse;

mod order;

mod structure;

pub(crate) use factor::{Factor, System};
pub(crate) use structure::Structure;
