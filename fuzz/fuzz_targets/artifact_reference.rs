//! Runs the case `artifact_reference`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::artifact_reference::run(bytes));
