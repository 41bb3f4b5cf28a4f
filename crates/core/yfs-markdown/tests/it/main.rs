//! All tests of the crate from outside, in one program.

mod golden;
mod hostile;
mod json;
mod keystrokes;

mod bounds;
mod editors;
mod lists;
mod random;
mod similar;
mod source;
mod write;
