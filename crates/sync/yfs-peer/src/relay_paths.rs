//! The addresses that stand for peers behind a relay.
//!
//! QUIC knows peers by addresses. A peer behind a relay gets an address of 240.0.0.0/8, which is
//! reserved (RFC 1112): no packet comes from such an address or is sent to one.
//!
//! # Invariants
//!
//! - At most [`MAX_PATHS`] addresses are kept, whatever a relay sends. Beyond it, the one that was
//!   not used for the longest time ends.
//! - An address is not given to another peer before 2^24 later ones were.

use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

use crate::peer_key::PeerId;

/// The first byte of the addresses.
const FIRST_BYTE: u8 = 240;

/// The port of the addresses.
const PORT: u16 = 4690;

/// The most addresses.
pub(crate) const MAX_PATHS: usize = 256;

/// The numbers of the addresses: three bytes.
const NUMBERS: u32 = 1 << 24;

/// The number of a relay of this peer.
pub(crate) type RelayIndex = usize;

/// The addresses of the peers behind relays.
#[derive(Debug, Default)]
pub(crate) struct RelayedPaths {
    by_number: BTreeMap<u32, (RelayIndex, PeerId)>,
    by_peer: HashMap<(RelayIndex, PeerId), RelayedPath>,
    next: u32,
    n_uses: u64,
}

#[derive(Debug, Clone, Copy)]
struct RelayedPath {
    number: u32,
    last_use: u64,
}

impl RelayedPaths {
    /// Returns the address of a peer behind a relay.
    pub(crate) fn address_of(&mut self, relay: RelayIndex, peer: PeerId) -> SocketAddr {
        self.n_uses += 1;
        if let Some(path) = self.by_peer.get_mut(&(relay, peer)) {
            path.last_use = self.n_uses;
            return address_of_number(path.number);
        }
        if self.by_peer.len() >= MAX_PATHS {
            let oldest = self.by_peer.iter().min_by_key(|(_, path)| path.last_use);
            if let Some((oldest, number)) = oldest.map(|(key, path)| (*key, path.number)) {
                self.by_peer.remove(&oldest);
                self.by_number.remove(&number);
            }
        }
        let number = self.next;
        self.next = (self.next + 1) % NUMBERS;
        self.by_number.insert(number, (relay, peer));
        let path = RelayedPath { number, last_use: self.n_uses };
        self.by_peer.insert((relay, peer), path);
        address_of_number(number)
    }

    /// Returns the relay and the peer of an address, and counts a use.
    pub(crate) fn target_of(&mut self, address: SocketAddr) -> Option<(RelayIndex, PeerId)> {
        let target = *self.by_number.get(&number_of(address)?)?;
        self.n_uses += 1;
        if let Some(path) = self.by_peer.get_mut(&target) {
            path.last_use = self.n_uses;
        }
        Some(target)
    }
}

/// Reports whether an address stands for a peer behind a relay.
pub(crate) fn is_relayed(address: SocketAddr) -> bool {
    number_of(address).is_some()
}

fn address_of_number(number: u32) -> SocketAddr {
    let [_, a, b, c] = number.to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(FIRST_BYTE, a, b, c), PORT))
}

fn number_of(address: SocketAddr) -> Option<u32> {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) if ip.octets()[0] == FIRST_BYTE => Some(u32::from(ip) % NUMBERS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer_key::PeerSecretKey;

    fn peer(seed: u16) -> PeerId {
        let mut bytes = [0; 32];
        bytes[..2].copy_from_slice(&seed.to_be_bytes());
        PeerSecretKey::from_seed(bytes).id()
    }

    #[test]
    fn an_address_stands_for_one_peer_behind_one_relay() {
        let mut paths = RelayedPaths::default();
        let first = paths.address_of(0, peer(1));
        assert_eq!(paths.address_of(0, peer(1)), first);
        assert_ne!(paths.address_of(1, peer(1)), first);
        assert_ne!(paths.address_of(0, peer(2)), first);
        assert_eq!(paths.target_of(first), Some((0, peer(1))));
        // As a socket of IPv6 has it.
        let IpAddr::V4(ip) = first.ip() else { panic!("it is one of IPv4") };
        let mapped = SocketAddr::new(IpAddr::V6(ip.to_ipv6_mapped()), first.port());
        assert_eq!(paths.target_of(mapped), Some((0, peer(1))));
        assert!(is_relayed(mapped));
        assert!(!is_relayed(SocketAddr::from(([239, 0, 0, 1], PORT))));
    }

    #[test]
    fn a_relay_that_names_many_peers_takes_bounded_memory_and_no_path_in_use() {
        let mut paths = RelayedPaths::default();
        let used = paths.address_of(0, peer(0));
        for seed in 1..1000 {
            paths.address_of(0, peer(seed));
            assert_eq!(paths.target_of(used), Some((0, peer(0))));
        }
        assert_eq!(paths.by_peer.len(), MAX_PATHS);
        assert_eq!(paths.by_number.len(), MAX_PATHS);
    }
}
