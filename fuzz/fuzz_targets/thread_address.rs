//! Runs the case `thread_address`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::thread_address::run(bytes));
