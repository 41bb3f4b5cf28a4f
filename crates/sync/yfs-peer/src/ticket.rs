//! The text that invites a peer: what is granted, the key that proves it, and where to knock.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use yfs_engine::lib0::{Lib0Error, write_string, write_var_uint};
use yfs_sync::{
    wire::{Usual, read_wire_bytes, wire_bytes},
    wire_codec, wire_fields,
};

use crate::{
    peer_error::PeerError,
    peer_grant::{SignedGrant, ticket_secret},
    peer_key::{PeerId, PeerSecretKey},
    relay_name::{MAX_RELAYS, RelayName},
};

/// The prefix of every ticket, so that scanners for leaked secrets can find tickets.
const PREFIX: &str = "yfspeer_";

/// The greatest length of a ticket, in bytes.
const MAX_TICKET_LEN: usize = 2 << 10;

/// The most addresses of one peer.
pub(crate) const MAX_ADDRESSES: usize = 8;

/// The length of the secret in a ticket, in bytes.
pub(crate) const TICKET_SEED_LEN: usize = 16;

/// The length of the checksum, in bytes. It finds errors of copying.
const CHECKSUM_LEN: usize = 4;

/// An invitation to a workspace. Any holder of its text can join, so it is as secret as a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerTicket {
    /// The public key of the workspace's owner, which the new peer trusts from now on.
    pub owner: PeerId,
    /// The peer to connect to.
    pub host: PeerId,
    /// What it grants.
    pub signed: SignedGrant,
    /// The addresses of the host.
    pub addresses: Vec<SocketAddr>,
    /// The relays of the host.
    pub relays: Vec<RelayName>,
    pub(crate) seed: [u8; TICKET_SEED_LEN],
}

impl PeerTicket {
    /// Returns the key with which a holder proves that it has the ticket.
    pub(crate) fn key(&self) -> PeerSecretKey {
        ticket_secret(&self.seed)
    }
}

impl fmt::Display for PeerTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = wire_bytes(self);
        let checksum = blake3::hash(&out);
        out.extend_from_slice(&checksum.as_bytes()[..CHECKSUM_LEN]);
        write!(f, "{PREFIX}{}", URL_SAFE_NO_PAD.encode(out))
    }
}

impl fmt::Debug for PeerTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("PeerTicket");
        out.field("grant", &self.signed.grant).field("host", &self.host).finish_non_exhaustive()
    }
}

impl FromStr for PeerTicket {
    type Err = PeerError;

    fn from_str(text: &str) -> Result<Self, PeerError> {
        let text = text.trim();
        let encoded = text.strip_prefix(PREFIX).filter(|_| text.len() <= MAX_TICKET_LEN);
        let bytes = encoded.and_then(|encoded| URL_SAFE_NO_PAD.decode(encoded).ok());
        let bytes = bytes.ok_or(PeerError::BadTicket)?;
        let at = bytes.len().checked_sub(CHECKSUM_LEN).ok_or(PeerError::BadTicket)?;
        let (bytes, checksum) = bytes.split_at(at);
        if blake3::hash(bytes).as_bytes()[..CHECKSUM_LEN] != *checksum {
            return Err(PeerError::BadTicket);
        }
        let ticket: Self = read_wire_bytes(bytes).map_err(|_| PeerError::BadTicket)?;
        let is_whole = ticket.signed.is_signed_by(ticket.owner)
            && ticket.key().id() == ticket.signed.grant.ticket_key;
        if is_whole { Ok(ticket) } else { Err(PeerError::BadTicket) }
    }
}

wire_fields!(PeerTicket {
    owner, host, seed, signed, addresses as PeerAddresses, relays as LastRelays
});

/// At most [`MAX_RELAYS`] relays; nothing if there are none, as in tickets before relays.
struct LastRelays;

wire_codec!(LastRelays, Vec<RelayName>:
|reader| {
    if reader.is_empty() {
        return Ok(Vec::new());
    }
    let n_relays = reader.var_uint()?;
    if n_relays == 0 || n_relays > MAX_RELAYS as u64 {
        return Err(Lib0Error::Parts);
    }
    (0..n_relays).map(|_| reader.string()?.parse().map_err(|_| Lib0Error::Parts)).collect()
},
|item, out| {
    let relays = &item[..item.len().min(MAX_RELAYS)];
    if !relays.is_empty() {
        write_var_uint(out, relays.len() as u64);
        relays.iter().for_each(|relay| write_string(out, &relay.to_string()));
    }
});

/// At most [`MAX_ADDRESSES`] addresses. A port of zero is invalid.
pub(crate) struct PeerAddresses;

wire_codec!(PeerAddresses, Vec<SocketAddr>:
|reader| {
    let n_addresses = reader.var_uint()?;
    if n_addresses > MAX_ADDRESSES as u64 {
        return Err(Lib0Error::Parts);
    }
    let read = |_| {
        let ip = match reader.u8()? {
            4 => Usual::read(reader).map(|ip: [u8; 4]| IpAddr::from(ip))?,
            6 => Usual::read(reader).map(|ip: [u8; 16]| IpAddr::from(ip))?,
            _ => return Err(Lib0Error::Parts),
        };
        match u16::from_be_bytes(Usual::read(reader)?) {
            0 => Err(Lib0Error::Parts),
            port => Ok(SocketAddr::new(ip, port)),
        }
    };
    (0..n_addresses).map(read).collect()
},
|item, out| {
    let addresses = &item[..item.len().min(MAX_ADDRESSES)];
    write_var_uint(out, addresses.len() as u64);
    for address in addresses {
        match address.ip() {
            IpAddr::V4(ip) => out.extend([&[4][..], &ip.octets()].concat()),
            IpAddr::V6(ip) => out.extend([&[6][..], &ip.octets()].concat()),
        }
        out.extend_from_slice(&address.port().to_be_bytes());
    }
});

#[cfg(test)]
mod tests {
    use yfs_engine::lib0::Lib0Reader;
    use yfs_sync::wire::WireCodec;

    use super::*;

    fn read_bytes(bytes: &[u8]) -> Result<Vec<RelayName>, Lib0Error> {
        LastRelays::read(&mut Lib0Reader::new(bytes))
    }

    #[test]
    fn relays_are_few_and_have_names() {
        let names = |n| vec!["relay.example:4690".parse::<RelayName>().unwrap(); n];
        let written = |n| {
            let mut out = Vec::new();
            LastRelays::write(&names(n), &mut out);
            out
        };
        // A ticket without relays has the bytes of those that were made before there were any.
        assert!(written(0).is_empty());
        assert_eq!(read_bytes(&written(0)).unwrap(), []);
        assert_eq!(read_bytes(&written(2)).unwrap(), names(2));
        assert_eq!(read_bytes(&written(9)).unwrap(), names(MAX_RELAYS));
        let one_more = [&[5][..], &written(1)[1..].repeat(5)].concat();
        for bytes in [&one_more[..], &[0], &[5], &[1, 0], &[1, 3, b':', b'1', b'2'], &[1, 200]] {
            assert!(read_bytes(bytes).is_err(), "{bytes:?}");
        }
    }
}
