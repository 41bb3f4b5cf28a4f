//! Runs the case `scanner`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::scanner::run(bytes));
