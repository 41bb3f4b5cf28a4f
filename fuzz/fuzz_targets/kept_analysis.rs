//! Runs the case `kept_analysis`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::kept_analysis::run(bytes));
