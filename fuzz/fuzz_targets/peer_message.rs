//! Runs the case `peer_message`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yfs_fuzz::peer_message::run(bytes));
