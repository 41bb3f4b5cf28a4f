//! The contracts of yfs as test suites: [`file_system`] for each
//! [`FileSystem`](yfs_vfs::FileSystem),
//! [`store`] for each [`Store`](yfs_store::Store).
//!
//! The tests of an implementation call them. [`FaultStore`] and [`FaultFs`] fail on demand, for
//! tests of code that uses a store or a filesystem.

mod fault_fs;
mod fault_store;
pub mod file_system;
pub mod store;

pub use fault_fs::{FaultFs, FaultSchedule, FsFault, fault_fs};
pub use fault_store::{FaultStore, StoreFault};
