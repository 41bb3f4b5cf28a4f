//! Queries of JSON in the language of jq, in a process of their own.
//!
//! A query is a program that a model wrote, perhaps on the advice of a hostile text: it may loop,
//! recurse and allocate without end, and the interpreter has no limit for that. So it runs in a
//! process with limits on memory and CPU time that the kernel enforces, without an environment,
//! and with nothing open but its pipes. What happens there cannot harm the caller.

mod query_process;
mod query_worker;

use std::{path::PathBuf, time::Duration};

use thiserror::Error;

pub use self::query_worker::serve_json_query;

/// The command that runs queries: a program that calls [`serve_json_query`].
///
/// Mostly the embedding program itself, under an argument of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonQueryRunner {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The limits of each query.
    pub limits: JsonQueryLimits,
}

/// The limits of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonQueryLimits {
    /// The CPU time, in whole seconds.
    pub cpu_time: Duration,
    /// The address space of the process, in bytes.
    pub max_memory: u64,
    /// The results, in bytes; more are cut.
    pub max_output_len: usize,
}

/// The results of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonQueryOutput {
    /// The results as JSON, one per line.
    pub text: String,
    /// Whether there were more.
    pub truncated: bool,
}

/// The reason why a query has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JsonQueryError {
    /// The query or the document is malformed, or the query failed.
    #[error("{0}")]
    Failed(String),
    /// The query exceeded its time, its memory or the depth of recursion.
    #[error("the query was ended: it took too much time or memory, or recursed too deeply")]
    Exceeded,
    /// The caller cancelled it.
    #[error("the query was cancelled")]
    Cancelled,
    /// The process could not be started or used.
    #[error("cannot run the query")]
    Process(#[source] std::io::Error),
}

impl Default for JsonQueryLimits {
    fn default() -> Self {
        Self { cpu_time: Duration::from_secs(5), max_memory: 1 << 30, max_output_len: 1 << 20 }
    }
}

impl JsonQueryRunner {
    /// Makes a runner of a program that serves a query when called with one argument.
    pub fn new(program: impl Into<PathBuf>, argument: &str) -> Self {
        let limits = JsonQueryLimits::default();
        Self { program: program.into(), arguments: vec![argument.to_owned()], limits }
    }
}
