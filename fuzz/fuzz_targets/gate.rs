//! Runs the case `gate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::gate::run(bytes));
