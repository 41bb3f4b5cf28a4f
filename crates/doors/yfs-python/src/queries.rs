//! Queries of files, each in a process of Python that does nothing else.

use std::{path::PathBuf, time::Duration};

use bytes::Bytes;
use pyo3::prelude::*;
use serde_json::{Value, json};
use yfs_agent::json_query::{
    DocumentFormat, JsonQuery, JsonQueryError, JsonQueryLimits, JsonQueryRunner, QueryDialect,
};
use yfs_query_worker::serve_json_query;
use yfs_vfs::CancellationToken;

use crate::{call::block_on, error};

/// Loads the native module whose file is the first argument, and serves one query.
const SERVE: &str = "\
import importlib.util, sys
spec = importlib.util.spec_from_file_location('yfs._native', sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.exit(module._serve_query())";

/// A query, as Python names its parts.
pub(crate) struct QueryArguments<'a> {
    pub(crate) query: String,
    pub(crate) dialect: &'a str,
    pub(crate) format: Option<&'a str>,
    pub(crate) slurp: bool,
    pub(crate) raw: bool,
}

impl QueryArguments<'_> {
    /// Returns the query of the file at a path.
    pub(crate) fn into_query(self, path: &str) -> PyResult<JsonQuery> {
        let Self { query, dialect, format, slurp, raw } = self;
        let dialect =
            QueryDialect::named(dialect).ok_or_else(|| error::invalid("a dialect", dialect))?;
        let format = match format {
            None => DocumentFormat::of_name(path),
            Some(format) => {
                DocumentFormat::named(format).ok_or_else(|| error::invalid("a format", format))?
            }
        };
        Ok(JsonQuery { text: query, dialect, format, slurp, raw })
    }
}

/// Runs one query, from standard input to standard output, and returns the exit code of the
/// process, which must do nothing else.
#[pyfunction]
#[pyo3(name = "_serve_query")]
pub(crate) fn serve_query() -> u8 {
    serve_json_query()
}

/// Returns what runs a query: this interpreter, with the native module.
pub(crate) fn runner(
    py: Python<'_>,
    cpu_time: Option<Duration>,
    max_memory: Option<u64>,
    max_output: Option<usize>,
) -> PyResult<JsonQueryRunner> {
    let program: Option<PathBuf> = py.import("sys")?.getattr("executable")?.extract()?;
    let program = program.filter(|program| !program.as_os_str().is_empty());
    let program =
        program.ok_or_else(|| error::unusable("sys.executable is not set, so no query can run"))?;
    let module: String = py.import("yfs._native")?.getattr("__file__")?.extract()?;
    let default = JsonQueryLimits::default();
    let limits = JsonQueryLimits {
        // The limit of the system is in whole seconds.
        cpu_time: cpu_time
            .map_or(default.cpu_time, |time| Duration::from_secs(time.as_secs_f64().ceil() as u64)),
        max_memory: max_memory.unwrap_or(default.max_memory),
        max_output_len: max_output.unwrap_or(default.max_output_len),
        ..default
    };
    // Without the user's modules: the process has no environment.
    let arguments = vec!["-I".to_owned(), "-c".to_owned(), SERVE.to_owned(), module];
    Ok(JsonQueryRunner { program, arguments, limits, share: None })
}

/// Runs a query over a document.
pub(crate) fn run(
    runner: &JsonQueryRunner,
    query: JsonQuery,
    document: Bytes,
) -> Result<Value, JsonQueryError> {
    let found = block_on(runner.run(query, document, &CancellationToken::new()))?;
    // Numbers such as NaN, and raw texts, are no JSON.
    let results = found.text.lines();
    let results =
        results.map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::from(line)));
    Ok(json!({ "results": results.collect::<Value>(), "truncated": found.truncated }))
}
