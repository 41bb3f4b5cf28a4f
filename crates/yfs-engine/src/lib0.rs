//! lib0, the byte encoding of Yjs: variable-length integers, strings, and `Any` values.
//!
//! [`Lib0Reader`] is for bytes that anybody may have sent: it checks every length against the bytes that
//! are left before anything is allocated, checks UTF-8, and never recurses. The writing functions
//! produce what JavaScript's lib0 produces, so that our bytes cannot be told from a browser's.

mod any;
mod read;
mod view;
mod write;

pub use any::{AnyLimits, as_number, read_any, skip_any};
pub use read::{Lib0Error, Lib0Reader};
pub use view::{ArrayItems, ObjectMembers, ValueView};
pub(crate) use write::write_number;
pub use write::{write_any, write_buffer, write_string, write_var_int, write_var_uint};

#[cfg(test)]
mod tests;
