//! The records of keys of encrypted stores: one that is read is written as the same bytes, and none
//! asks for an excessive cost.

use yfs_store::{KeyKind, KeyRecord};

/// The length of a record without its checksum, in bytes.
const UNCHECKED_LEN: usize = 125;

/// What a record is without its magic, length and checksum.
pub const SEEDS: &[&[u8]] = &[
    b"\x01\x00\x00\x01\x00\x03\x00\x00\x00\x01\x00\x00\x00salt",
    b"\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00salt",
    b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    check(bytes);
    // A random input never has the right checksum.
    let mut record = b"yfskey01".to_vec();
    record.extend_from_slice(bytes);
    record.resize(UNCHECKED_LEN, 7);
    let checksum = blake3::hash(&record);
    record.extend_from_slice(&checksum.as_bytes()[..8]);
    check(&record);
}

fn check(bytes: &[u8]) {
    let Ok(record) = KeyRecord::decode(bytes) else { return };
    assert_eq!(record.encode(), bytes);
    if let KeyKind::Passphrase(cost) = record.kind() {
        assert!(cost.memory_kib <= 1 << 20 && cost.n_passes <= 64);
    }
}
