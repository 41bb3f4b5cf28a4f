//! Versions, anchors and changes of documents, as they come off a wire or out of a log: one that is
//! read is the same when it is written and read again.

use yfs_engine::{
    content::{Anchor, Version},
    gate::StateChange,
};

/// Records of each kind; the others reject them.
pub const SEEDS: &[&[u8]] = &[
    // A version: deletions of a client, then clocks.
    &[1, 5, 1, 2, 3, 1, 5, 9],
    // An anchor beside an item, at the end of a root, and without a side.
    &[0, 5, 9, 0],
    b"\x01\x04text\x40",
    &[2, 5, 9],
    // A change: an added range, a deleted range.
    &[1, 5, 0, 9, 1, 6, 3, 2],
    &[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1, 1],
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    if let Ok(version) = Version::decode(bytes) {
        assert_eq!(Version::decode(&version.encode()).as_ref(), Ok(&version));
    }
    if let Ok(anchor) = Anchor::decode(bytes) {
        assert_eq!(Anchor::decode(&anchor.encode()).as_ref(), Ok(&anchor));
    }
    if let Ok(change) = StateChange::decode(bytes) {
        assert_eq!(StateChange::decode(&change.encode()).as_ref(), Ok(&change));
    }
}
