//! Batches from manifest to table: on threads, in pieces elsewhere, broken off and resumed.

mod attacks;

mod manifest;

mod place;

mod results;

mod resume;
