//! Runs the case `query_document`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::query_document::run(bytes));
