//! Runs the case `path`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::path::run(bytes));
