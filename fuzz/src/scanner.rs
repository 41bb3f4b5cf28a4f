//! What reads lib0 values never panics, and what it skips is what it reads.

use yfs_engine::lib0::{AnyLimits, Lib0Reader, read_any, skip_any};

/// Values of lib0: a map with an array, a string, numbers, bytes; a claim of many elements.
pub const SEEDS: &[&[u8]] = &[
    b"\x76\x03\x01a\x75\x02\x7d\x05\x77\x01x\x01b\x7b\x40\x09\x21\xfb\x54\x44\x2d\x18\x01c\x74\
      \x02\x01\x02",
    b"\x75\xff\xff\xff\xff\x0f\x7e",
    b"\x75\x01\x75\x01\x75\x01\x75\x01\x75\x01\x7f",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let (mut reader, mut skipper) = (Lib0Reader::new(bytes), Lib0Reader::new(bytes));
    let read = read_any(&mut reader, AnyLimits::default());
    let skipped = skip_any(&mut skipper, AnyLimits::default());
    assert_eq!(read.is_ok(), skipped.is_ok());
    if read.is_ok() {
        assert_eq!(reader.position(), skipper.position());
    }
}
