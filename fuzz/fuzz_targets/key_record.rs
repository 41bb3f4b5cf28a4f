//! Runs the case `key_record`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::key_record::run(bytes));
