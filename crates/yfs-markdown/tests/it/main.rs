//! All tests of the crate from outside, in one program.

mod golden;
mod hostile;
mod json;

mod bounds;
mod editors;
mod random;
mod source;
mod write;
