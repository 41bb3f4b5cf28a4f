//! Tests of the filesystems: the contract, and what each of them does beside it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod fault;
mod host;
mod memory;
mod oracle;
mod read_only;
mod snapshot;
