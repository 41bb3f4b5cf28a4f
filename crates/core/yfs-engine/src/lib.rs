//! The collaborative filesystem as CRDTs: the state of a workspace, without any I/O.
//!
//! A workspace is a main document that holds the files table, and one document per file. This crate
//! reads and writes those documents, settles conflicts, and shows the result as a tree of files. It
//! is a functional core: it does no I/O, spawns nothing, and reads no clock, environment or random
//! source. Times, ids and client ids come in as arguments, so that every behavior replays from a
//! seed and the same code runs beside an editor in a browser.
//!
//! Modules in the order in which one should read them: the vocabulary ([`id`], [`name`], [`path`],
//! [`time`], [`actor`], [`hash`], [`kind`]), then how bytes are decoded and checked ([`lib0`],
//! [`gate`]), then their meaning.
//!
//! ```
//! use yfs_engine::{
//!     actor::Actor,
//!     content::{ContentDoc, RunAuthor},
//!     gate::{GateLimits, UpdateSource},
//!     id::{ClientId, FileId},
//!     time::Millis,
//! };
//!
//! let id = FileId::parse("7f3kq0zr5m2x9ab")?;
//! let ada = RunAuthor::new("human:ada".parse::<Actor>()?, Millis(0));
//! let mut here = ContentDoc::new(&id, ClientId::from_random(1), GateLimits::default());
//! let mut there = ContentDoc::new(&id, ClientId::from_random(2), GateLimits::default());
//! let update = here.append("Hello", &ada)?.update.expect("the text was not empty");
//! there.receive(&update, UpdateSource::Wire)?;
//! assert_eq!(there.text(), "Hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod checkpoint;
pub mod content;
pub mod gate;
pub mod kind;
pub mod lib0;
pub mod main_doc;
pub mod ops;
pub mod rich;
#[cfg(test)]
mod steps;
pub mod table;
#[cfg(test)]
mod tests;
pub mod tree;

pub use yfs_types::{actor, hash, id, name, path, step, time};
pub use yrs::{Any, Number};
