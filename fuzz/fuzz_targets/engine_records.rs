//! Runs the case `engine_records`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::engine_records::run(bytes));
