//! The frames of y-websocket, of presence and of replication: one that is read is the same when it
//! is written and read again.

use yfs_sync::{
    message::SyncMessage,
    presence,
    replica::{PING, ReplicaMessage},
};

/// Frames of each kind.
pub const SEEDS: &[&[u8]] = &[
    &[0, 0, 1, 0],
    &[0, 2, 3, 0, 0, 1],
    b"\x01\x09\x01\x07\x01\x04null..",
    b"\x02\x00\x06denied",
    &[3],
    b"\x01\x07\x01\x02{}",
    b"\x00\x01\x00",
    b"\x01\x16AAAAAAAAAAAAAAAAAAAAAA\x01\x00",
    b"\x02\x01\x16AAAAAAAAAAAAAAAAAAAAAA\x01\x02\x00\x00",
    b"\x03\x01c\x01",
    b"\x05\x01\x20................................",
    b"\x06\x20................................\x01\x02ab",
    b"\x08\x16AAAAAAAAAAAAAAAAAAAAAA\x02no",
    b"\x05\xff\xff\xff\xff\xff\xff\xff\x1f",
    &PING,
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    if let Ok(message) = SyncMessage::decode(bytes) {
        let again = message.encode();
        assert_eq!(SyncMessage::decode(&again).as_ref(), Ok(&message));
    }
    if let Ok(entries) = presence::decode(bytes) {
        let again = presence::encode(&entries);
        let again = presence::decode(&again).expect("what is written can be read");
        assert!(again.iter().zip(&entries).all(|(one, other)| {
            (one.id, one.clock, one.state) == (other.id, other.clock, other.state)
        }));
        assert_eq!(again.len(), entries.len());
    }
    if let Ok(message) = ReplicaMessage::decode(bytes) {
        let again = message.encode();
        assert_eq!(ReplicaMessage::decode(&again).as_ref(), Ok(&message));
    }
}
