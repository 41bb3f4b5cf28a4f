//! The process that runs one query, for [`yfs_agent::json_query`].
//!
//! It reads a line of JSON with the query and its limits, then the document, and writes the
//! results. Its exit code says how it ended.
//!
//! ```
//! use yfs_agent::json_query::JsonQuery;
//! use yfs_query_worker::run_query_here;
//!
//! let query = JsonQuery { text: ".[] | .gauge".to_owned(), ..JsonQuery::default() };
//! let results = run_query_here(&query, br#"[{"gauge": "g1"}, {"gauge": "g2"}]"#, 1 << 20)?;
//! assert_eq!(results, b"\"g1\"\n\"g2\"\n");
//! # Ok::<(), String>(())
//! ```

mod arenas;
mod documents;
mod jql;
#[cfg(feature = "parquet")]
mod parquet_rows;
mod sql;

use std::{
    borrow::Cow,
    io::{self, BufRead, Write},
};

use jaq_core::{
    Compiler, Ctx, Vars, data,
    load::{self, Arena, File, Loader, import},
    unwrap_valr,
};
use jaq_json::{Val, write};
use rustix::process::{Resource, Rlimit, setrlimit};
use yfs_agent::json_query::{
    DocumentFormat, JsonQuery, QueryDialect,
    worker_protocol::{EXIT_DONE, EXIT_FAILED, EXIT_TRUNCATED, QueryRequest},
};
use yfs_analysis::decode_text;

use crate::{
    documents::{dialect_of, read_document},
    jql::run_jql,
    sql::run_sql,
};

/// A writer that stops at a limit.
struct BoundedWriter<W> {
    inner: W,
    n_left: usize,
}

impl<W: Write> Write for BoundedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.n_left == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let n_written = self.inner.write(&bytes[..bytes.len().min(self.n_left)])?;
        self.n_left -= n_written;
        Ok(n_written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Runs one query, from standard input to standard output, and returns the exit code of the
/// process. The process must do nothing else: it limits itself for good.
pub fn serve_json_query() -> u8 {
    match serve(&mut io::stdin().lock(), io::stdout().lock()) {
        Ok(code) => code,
        Err(reason) => {
            // Without a reader there is no one to report to.
            io::stderr().write_all(reason.as_bytes()).ok();
            EXIT_FAILED
        }
    }
}

fn serve(input: &mut impl BufRead, output: impl Write) -> Result<u8, String> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| error.to_string())?;
    let request: QueryRequest = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    let limit = |resource, value| {
        let limit = Rlimit { current: Some(value), maximum: Some(value) };
        setrlimit(resource, limit).map_err(|error| format!("cannot limit the query: {error}"))
    };
    // A panic is caught where a library may have one, and its message is none for the caller.
    std::panic::set_hook(Box::new(|_| ()));
    arenas::use_one_arena();
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, request.cpu_seconds.max(1))?;
    limit(Resource::As, request.max_memory.saturating_add(address_space()))?;
    let mut document = Vec::new();
    input.read_to_end(&mut document).map_err(|error| error.to_string())?;
    let mut output = BoundedWriter { inner: output, n_left: request.max_output_len };
    run(&request.query, &document, &mut output)
}

/// Returns the address space that this process has already, in bytes; 0 where the system does not
/// say. An interpreter that embeds this crate reserves more than a query needs.
fn address_space() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kilobytes = size.and_then(|size| size.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes.saturating_mul(1 << 10))
}

/// Returns the text about a query that cannot be run.
fn malformed(reasons: impl Iterator<Item = String>) -> String {
    format!("the query is malformed: {}", reasons.collect::<Vec<_>>().join("; "))
}

fn load_failure(errors: &load::Errors<&str, ()>) -> String {
    let found = |text: &str| match text.trim() {
        "" => "the end of the query".to_owned(),
        text => format!("{:?}", text.chars().take(40).collect::<String>()),
    };
    let reasons = errors.iter().flat_map(|(_, error)| -> Vec<String> {
        match error {
            load::Error::Io(errors) => {
                errors.iter().map(|(path, reason)| format!("{path}: {reason}")).collect()
            }
            load::Error::Lex(errors) => errors
                .iter()
                .map(|(wanted, at)| format!("expected {} at {}", wanted.as_str(), found(at)))
                .collect(),
            load::Error::Parse(errors) => errors
                .iter()
                .map(|(wanted, at)| format!("expected {} at {}", wanted.as_str(), found(at)))
                .collect(),
        }
    });
    malformed(reasons)
}

/// Runs one query in this process, without limits on time and memory; returns the results, cut at
/// `max_output_len`. For tests, and for queries that the caller has written.
///
/// # Errors
///
/// Returns the reason why the query failed.
pub fn run_query_here(
    query: &JsonQuery,
    document: &[u8],
    max_output_len: usize,
) -> Result<Vec<u8>, String> {
    let mut results = Vec::new();
    let mut output = BoundedWriter { inner: &mut results, n_left: max_output_len };
    run(query, document, &mut output)?;
    Ok(results)
}

fn run(query: &JsonQuery, document: &[u8], output: &mut impl Write) -> Result<u8, String> {
    let dialect = dialect_of(query.format, document);
    let document = &*decoded(query.format, document)?;
    let values = read_document(query.format, dialect, document);
    let mut output = ResultWriter { output, raw: query.raw };
    let written = match query.dialect {
        QueryDialect::Jq => run_jq(query, values, &mut output),
        QueryDialect::Sql => run_sql(&query.text, values, |row| output.write(row)),
        QueryDialect::Jql => {
            let mut values: Vec<Val> = values.collect::<Result<_, _>>()?;
            let is_one = values.len() == 1 && !query.slurp;
            let value = match values.pop().filter(|_| is_one) {
                Some(value) => value,
                None => read_document(query.format, dialect, document).collect::<Result<_, _>>()?,
            };
            run_jql(&query.text, &value)
                .map_err(QueryEnd::from)
                .and_then(|found| output.write(&found))
        }
    };
    match written.and_then(|()| output.output.flush().map_err(QueryEnd::from)) {
        Ok(()) => Ok(EXIT_DONE),
        Err(QueryEnd::Full) => Ok(EXIT_TRUNCATED),
        Err(QueryEnd::Failed(reason)) => Err(reason),
    }
}

/// Returns a document of text in UTF-8, decoded as statistics decode it.
fn decoded(format: DocumentFormat, document: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let is_utf8 = || !document.contains(&0) && std::str::from_utf8(document).is_ok();
    if format == DocumentFormat::Parquet || is_utf8() {
        return Ok(Cow::Borrowed(document));
    }
    match decode_text(document) {
        Some(Cow::Borrowed(text)) => Ok(Cow::Borrowed(text.as_bytes())),
        Some(Cow::Owned(text)) => Ok(Cow::Owned(text.into_bytes())),
        None => Err("the document is not text in a known encoding".to_owned()),
    }
}

fn run_jq(
    query: &JsonQuery,
    values: impl Iterator<Item = Result<Val, String>>,
    output: &mut ResultWriter<'_, impl Write>,
) -> Result<(), QueryEnd> {
    let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let arena = Arena::default();
    let program = File { code: query.text.as_str(), path: () };
    let modules = Loader::new(defs).load(&arena, program);
    let modules = modules.map_err(|errors| load_failure(&errors))?;
    // Without this, a query that imports a file would run with a variable too few.
    let imported = import(&modules, |_| Err("module loading not supported".to_owned()));
    imported.map_err(|errors| load_failure(&errors))?;
    let filter = Compiler::default().with_funs(funs).compile(modules);
    let filter = filter.map_err(|errors| {
        let undefined = errors.iter().flat_map(|(_, errors)| errors);
        let reasons = undefined.map(|(name, kind)| format!("undefined {} {name}", kind.as_str()));
        malformed(reasons)
    })?;
    let mut run_over = |value: Val| {
        let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
        for result in filter.id.run((context, value)).map(unwrap_valr) {
            output.write(&result.map_err(|error| error.to_string())?)?;
        }
        Ok(())
    };
    if query.slurp {
        return run_over(values.collect::<Result<Val, String>>()?);
    }
    for value in values {
        run_over(value?)?;
    }
    Ok(())
}

/// Why a query ended before its last result.
enum QueryEnd {
    /// The results have the greatest length.
    Full,
    /// The query failed, for this reason.
    Failed(String),
}

impl From<String> for QueryEnd {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl From<io::Error> for QueryEnd {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull => Self::Full,
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// A writer of results, one per line.
struct ResultWriter<'a, W> {
    output: &'a mut W,
    raw: bool,
}

impl<W: Write> ResultWriter<'_, W> {
    fn write(&mut self, result: &Val) -> Result<(), QueryEnd> {
        match result {
            Val::TStr(text) if self.raw => self.output.write_all(text)?,
            result => write::write(&mut self.output, &write::Pp::default(), 0, result)?,
        }
        Ok(self.output.write_all(b"\n")?)
    }
}
