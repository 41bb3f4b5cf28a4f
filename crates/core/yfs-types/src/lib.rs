//! The types that every crate of a workspace shares: ids, names, paths, times, actors, hashes, and
//! the byte encoding of Yjs.
//!
//! A filesystem backend or a store depends on these types and on nothing else of the engine, so
//! that it compiles neither a CRDT nor a markdown parser. Each type is checked when it is made:
//! every value is valid. The crate does no I/O and reads no clock or random source.
//!
//! ```
//! use yfs_types::{id::FileId, path::VPath};
//!
//! let id = FileId::parse("7f3kq0zr5m2x9ab")?;
//! let path = VPath::parse("/docs/plan.md")?;
//! assert_eq!((id.as_str(), path.to_string()), ("7f3kq0zr5m2x9ab", "/docs/plan.md".to_owned()));
//! assert!(VPath::parse("/docs/\0").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod actor;
pub mod hash;
pub mod id;
pub mod lib0;
pub mod name;
pub mod path;
pub mod step;
pub mod time;
pub mod utf16;
