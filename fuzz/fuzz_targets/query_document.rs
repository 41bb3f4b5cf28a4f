//! The readers of documents and the languages of queries, in this process: a run that takes too
//! long is a finding only where the kernel would not end it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_agent::json_query::{DocumentFormat, JsonQuery, QueryDialect, run_query_here};

fuzz_target!(|input: (u8, u8, &str, &[u8])| {
    let (dialect, format, text, document) = input;
    let format =
        [DocumentFormat::Json, DocumentFormat::Csv, DocumentFormat::Tsv, DocumentFormat::Yaml]
            [usize::from(format) % 4];
    let (dialect, text) = match dialect % 2 {
        // A query of jq may loop without end: only its documents are fuzzed.
        0 => (QueryDialect::Jq, "."),
        _ => (QueryDialect::Jql, text),
    };
    let query = JsonQuery { text: text.to_owned(), dialect, format, slurp: false, raw: false };
    run_query_here(&query, document, 1 << 20).ok();
});
