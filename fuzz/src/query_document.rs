//! The readers of documents and the languages of queries, in this process: a run that takes too
//! long is a finding only where the kernel would not end it.

use yfs_agent::json_query::{DocumentFormat, JsonQuery, QueryDialect};
use yfs_query_worker::run_query_here;

use super::FuzzInput;

/// Bytes for the dialect and the format, a query, a document.
pub const SEEDS: &[&[u8]] = &[
    b"\x00\x00\x01\x00.{\"a\": [1, 2.5e300, \"\\u00e9\"]} 7 null",
    b"\x00\x01\x01\x00.a;b\n1;\"x\"\"y\n\"\n;\n",
    b"\x00\x02\x01\x00.a\tb\n007\t-0\n",
    b"\x00\x03\x01\x00.a: &x [1, {b: c}]\nd: |\n  text\n---\n- .inf\n- 0x7f\n",
    b"\x01\x00\x0d\x00\"a\"[0:1]|=\"x\"{\"a\": [1, 2, 3]}",
    b"\x01\x00\x10\x00{\"a\",\"b\"}>\"x\"<!~{\"a\": {\"b\": 1}}",
    b"\x01\x00\x15\x00..[99999999999999999:1][1, [2, [3]]]",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let mut input = FuzzInput(bytes);
    let dialect = input.take_byte();
    let format =
        [DocumentFormat::Json, DocumentFormat::Csv, DocumentFormat::Tsv, DocumentFormat::Yaml]
            [usize::from(input.take_byte()) % 4];
    let text = input.take_text();
    let (dialect, text) = match dialect % 2 {
        // A query of jq may loop without end: only its documents are fuzzed.
        0 => (QueryDialect::Jq, ".".to_owned()),
        _ => (QueryDialect::Jql, text.into_owned()),
    };
    let query = JsonQuery { text, dialect, format, slurp: false, raw: false };
    run_query_here(&query, input.0, 1 << 20).ok();
}
