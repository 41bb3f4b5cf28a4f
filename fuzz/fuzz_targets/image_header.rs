//! Runs the case `image_header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::image_header::run(bytes));
