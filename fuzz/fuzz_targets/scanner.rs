//! What reads lib0 values never panics, and what it skips is what it reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_engine::lib0::{AnyLimits, Lib0Reader, read_any, skip_any};

fuzz_target!(|bytes: &[u8]| {
    let (mut reader, mut skipper) = (Lib0Reader::new(bytes), Lib0Reader::new(bytes));
    let read = read_any(&mut reader, AnyLimits::default());
    let skipped = skip_any(&mut skipper, AnyLimits::default());
    assert_eq!(read.is_ok(), skipped.is_ok());
    if read.is_ok() {
        assert_eq!(reader.position(), skipper.position());
    }
});
