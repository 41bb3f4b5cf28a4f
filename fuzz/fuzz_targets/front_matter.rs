//! Runs the case `front_matter`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::front_matter::run(bytes));
