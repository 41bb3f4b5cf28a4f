//! Runs the case `analysis`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::analysis::run(bytes));
