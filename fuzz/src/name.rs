//! A name that was read is read again as itself, and its parts are all of it.

use yfs_engine::name::{NodeName, split_extension};

/// Names.
pub const SEEDS: &[&[u8]] = &[b"a.tar.gz", b".hidden", b"..", b"a/b", b"caf\xc3\xa9.", b"\x00"];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let (stem, extension) = split_extension(text);
    assert_eq!(format!("{stem}{extension}"), text);
    if let Ok(name) = NodeName::new(text) {
        assert_eq!(NodeName::new(name.as_str()).as_ref(), Ok(&name));
    }
}
