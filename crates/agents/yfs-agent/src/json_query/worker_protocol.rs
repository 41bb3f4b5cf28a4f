//! What the process of a query reads first, and how it ends.

use serde::{Deserialize, Serialize};

use super::JsonQuery;

/// The exit code of a query with all its results.
pub const EXIT_DONE: u8 = 0;

/// The exit code of a query that failed; standard error says why.
pub const EXIT_FAILED: u8 = 1;

/// The exit code of a query with more results than the limit.
pub const EXIT_TRUNCATED: u8 = 3;

/// The first line of the input.
#[derive(Debug, Serialize, Deserialize)]
pub struct QueryRequest {
    /// The query.
    pub query: JsonQuery,
    /// The limit of its CPU time, in seconds.
    pub cpu_seconds: u64,
    /// The limit of its address space beyond that of the process, in bytes.
    pub max_memory: u64,
    /// The length at which its results are cut, in bytes.
    pub max_output_len: usize,
}
