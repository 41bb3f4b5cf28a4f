//! Queries of JSON, tables, YAML and Parquet in jq, JQL and SQL, in a process of their own.
//!
//! A query is a program that a model wrote, perhaps on the advice of a hostile text: it may loop,
//! recurse and allocate without end, and the interpreter has no limit for that. So it runs in a
//! process with limits on memory and CPU time that the kernel enforces, without an environment,
//! and with nothing open but its pipes. What happens there cannot harm the caller. The crate
//! `yfs-query-worker` is that process; here is its caller.

mod query_process;
pub mod worker_protocol;

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::work_budget::WorkShare;

/// The command that runs queries: a program that calls
/// `yfs_query_worker::serve_json_query`.
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
    /// The share of a caller in the budget of the process; `None` for all that there is.
    pub share: Option<WorkShare>,
}

/// A query.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonQuery {
    /// The query in its language.
    pub text: String,
    /// The language.
    pub dialect: QueryDialect,
    /// What the document is.
    pub format: DocumentFormat,
    /// Whether the values of the document are one array. In JQL they are if there are several.
    pub slurp: bool,
    /// Whether texts are written as they are, and not as JSON.
    pub raw: bool,
}

/// The language of a query.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueryDialect {
    /// The language of jq.
    #[default]
    Jq,
    /// The JSON Query Language.
    Jql,
    /// SQL of SQLite, over a table `data` with a row for each value.
    Sql,
}

/// What a document is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DocumentFormat {
    /// JSON: one value, or several one after the other.
    #[default]
    Json,
    /// A table. Its delimiter, and whether its first row has the names of the columns, is found as
    /// for statistics; without names, they are `column_1` and so on. A cell is a number if JSON
    /// would write it so, null if it is empty, and otherwise text. A column is text if a number
    /// would lose zeros of it, as of the zip code `02108`.
    Csv,
    /// A table, probably with tabs between cells.
    Tsv,
    /// YAML 1.2: one document, or several.
    Yaml,
    /// Parquet: an object for each row.
    Parquet,
}

/// The limits of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonQueryLimits {
    /// The CPU time, in whole seconds.
    pub cpu_time: Duration,
    /// The time from the start of the process to its end, on a busy machine or with a slow disk.
    pub wall_time: Duration,
    /// The address space of the process, in bytes, beyond that of the program when it begins.
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

impl QueryDialect {
    /// Returns the language of a name: `jq`, `jql` or `sql`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "jq" => Some(Self::Jq),
            "jql" => Some(Self::Jql),
            "sql" => Some(Self::Sql),
            _ => None,
        }
    }
}

impl DocumentFormat {
    /// Returns the format of a name: `json`, `csv`, `tsv`, `yaml` or `parquet`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "yaml" => Some(Self::Yaml),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// Returns the format of a file by its name; JSON if the name does not say another one.
    pub fn of_name(name: &str) -> Self {
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "yaml" | "yml" => Self::Yaml,
            "parquet" => Self::Parquet,
            _ => Self::Json,
        }
    }
}

impl Default for JsonQueryLimits {
    fn default() -> Self {
        let (cpu_time, wall_time) = (Duration::from_secs(5), Duration::from_secs(60));
        Self { cpu_time, wall_time, max_memory: 1 << 30, max_output_len: 1 << 20 }
    }
}

impl JsonQueryRunner {
    /// Makes a runner of a program that serves a query when called with one argument.
    pub fn new(program: impl Into<PathBuf>, argument: &str) -> Self {
        let limits = JsonQueryLimits::default();
        Self { program: program.into(), arguments: vec![argument.to_owned()], limits, share: None }
    }
}
