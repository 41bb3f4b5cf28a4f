//! A path that was read is read again as itself, and resolving stays inside the tree.

use yfs_engine::path::VPath;

use super::FuzzInput;

/// A path, and one that is resolved from it.
pub const SEEDS: &[&[u8]] =
    &[b"\x05\x00/a//b../../../c/./d", b"\x01\x00//x", b"\x08\x00/a/../..x\x00", b"\x00\x00"];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let mut input = FuzzInput(bytes);
    let Ok(path) = VPath::parse(&input.take_text()) else { return };
    assert_eq!(VPath::parse(path.as_str()).as_ref(), Ok(&path));
    if let Ok(resolved) = path.resolve(&input.rest_as_text()) {
        assert!(resolved.as_str().starts_with('/'));
        assert!(!resolved.components().any(|name| name == "." || name == ".." || name.is_empty()));
    }
}
