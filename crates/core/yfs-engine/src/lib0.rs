//! lib0, the byte encoding of Yjs: variable-length integers, strings, and `Any` values.
//!
//! [`Lib0Reader`] is for untrusted bytes: it checks every length against the remaining bytes before
//! it allocates, checks UTF-8, and never recurses. The writing functions produce the same bytes as
//! JavaScript's lib0, so that peers cannot distinguish yfs from a browser.

mod any;
mod view;
mod write;

pub use any::{AnyLimits, as_number, read_any, skip_any};
pub use view::{ArrayItems, ObjectMembers, ValueView};
pub use write::write_any;
pub(crate) use write::write_number;
pub use yfs_types::lib0::{
    Lib0Error, Lib0Reader, write_buffer, write_string, write_var_int, write_var_uint,
};

#[cfg(test)]
mod tests;
