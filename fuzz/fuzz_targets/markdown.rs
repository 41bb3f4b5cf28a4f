//! Runs the case `markdown`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::markdown::run(bytes));
