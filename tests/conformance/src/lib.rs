//! The contracts of yfs as test suites: [`file_system`] for each
//! [`FileSystem`](yfs_vfs::FileSystem),
//! [`store`] for each [`Store`](yfs_store::Store).
//!
//! The tests of an implementation call them.

pub mod file_system;
pub mod store;
