//! The datagrams between a peer and a relay (`docs/format/relay.md`).
//!
//! Each begins with its type and the *session*, 8 random bytes that the peer chose: neither side
//! accepts a datagram without the session of its partner, so that a sender who does not see the
//! traffic can forge none.
//!
//! # Invariants
//!
//! - Until a peer has proven its address, a reply is shorter than what it replies to.
//! - Decoding allocates nothing.

use std::net::{IpAddr, SocketAddr};

use yfs_engine::lib0::{Lib0Error, Lib0Reader};
use yfs_sync::{
    wire::{Usual, WireCodec},
    wire_codec, wire_fields, wire_variants,
};

use crate::peer_key::{KEY_LEN, PeerId, PeerSecretKey, SIGNATURE_LEN};

/// The context of the signature of a registration.
const REGISTER_CONTEXT: &[u8] = b"yfs relay register v1\0";

/// The context of the signature of the offer of a join code.
const OFFER_CONTEXT: &[u8] = b"yfs relay offer v1\0";

/// The length of a session and of the number of a meeting, in bytes.
pub(crate) const SESSION_LEN: usize = 8;

/// The length of the tag of a group, in bytes.
pub(crate) const GROUP_LEN: usize = 16;

/// The length of a challenge, in bytes: the time, and the code of the relay.
pub(crate) const CHALLENGE_LEN: usize = 24;

/// The length of what precedes a datagram that is passed on, in bytes.
pub(crate) const ENVELOPE_LEN: usize = 1 + SESSION_LEN + KEY_LEN;

/// The greatest length of a datagram, in bytes: what an Ethernet packet with IPv4 and UDP has.
pub(crate) const MAX_DATAGRAM_LEN: usize = 1472;

/// The length of an address, in bytes: the family, 16 bytes, the port.
const ADDRESS_LEN: usize = 19;

/// The length of the code by which a relay knows a visit that it passed on, in bytes.
pub(crate) const VISIT_CODE_LEN: usize = 16;

/// The length of a visit, in bytes.
const VISIT_LEN: usize = 8 + ADDRESS_LEN + SESSION_LEN + VISIT_CODE_LEN;

/// The length of what precedes a message of a joiner, in bytes.
pub(crate) const VISIT_HEADER_LEN: usize = 1 + SESSION_LEN + VISIT_LEN;

/// The zeros in a knock, so that it is as long as the visit that it causes.
const KNOCK_FILLER_LEN: usize = VISIT_LEN - 2 - CHALLENGE_LEN;

/// The least lengths of the first message and of a sign of life, so that replies are shorter.
const HELLO_LEN: usize = 64;
const PING_LEN: usize = 40;

/// The types that are used beside the tables of requests and replies.
const SEND: u64 = 0x04;
const PROBE: u64 = 0x0e;
const PROBE_ANSWER: u64 = 0x0f;

/// The number of a registration, chosen by the peer.
pub(crate) type RelaySession = [u8; SESSION_LEN];

/// The tag of the peers that may address each other.
pub(crate) type RelayGroup = [u8; GROUP_LEN];

/// The number of an attempt of two peers to connect directly.
pub(crate) type MeetingNumber = [u8; SESSION_LEN];

/// What a relay asks a peer to sign.
pub(crate) type RelayChallenge = [u8; CHALLENGE_LEN];

/// A datagram of a peer to a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelayRequest<'d> {
    /// Asks for a challenge.
    Hello,
    /// Registers a key for the address of the sender.
    Register {
        challenge: RelayChallenge,
        group: RelayGroup,
        peer: PeerId,
        signature: [u8; SIGNATURE_LEN],
    },
    /// Keeps the registration, and the mapping of a NAT.
    Ping,
    /// Passes a datagram on.
    Send { to: PeerId, payload: &'d [u8] },
    /// Asks that both peers learn the observed address of the other.
    Call { to: PeerId, meeting: MeetingNumber },
    /// Ends the registration, or the offer of a join code.
    Leave,
    /// Offers a join code with a number at the address of the sender.
    Offer {
        challenge: RelayChallenge,
        number: u16,
        group: RelayGroup,
        peer: PeerId,
        signature: [u8; SIGNATURE_LEN],
    },
    /// Passes a message on to the peer that offers the code with a number.
    Knock { challenge: RelayChallenge, number: u16, payload: &'d [u8] },
    /// Passes a message on to the sender of a knock.
    Answer { visit: RelayVisit, payload: &'d [u8] },
}

/// The sender of a knock, as the relay describes it to the peer that answers. The relay keeps
/// nothing of it: the code shows that the description is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RelayVisit {
    /// When the knock arrived, in milliseconds since any moment.
    pub(crate) time: u64,
    pub(crate) address: SocketAddr,
    /// The session of the sender.
    pub(crate) session: RelaySession,
    pub(crate) code: [u8; VISIT_CODE_LEN],
}

/// A datagram of a relay to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelayReply<'d> {
    /// What to sign.
    Challenge(RelayChallenge),
    /// The registration holds, and the address from which the relay receives.
    Registered { observed: SocketAddr },
    /// The registration was refused.
    Refused(RelayRefusal),
    /// The relay has no such registration: it was started again, or the address has changed.
    Unknown,
    /// A datagram of another peer.
    Received { from: PeerId, payload: &'d [u8] },
    /// The peer is not registered in this group.
    NoPeer(PeerId),
    /// Another peer sends to this address of this peer now.
    Meet { peer: PeerId, meeting: MeetingNumber, address: SocketAddr },
    /// A message for the peer that offers a code.
    Visit { visit: RelayVisit, payload: &'d [u8] },
    /// The answer of the peer that offers a code.
    Answered { payload: &'d [u8] },
}

/// Why a relay refuses a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum RelayRefusal {
    /// The challenge is not one of this relay for this address, or is too old.
    StaleChallenge,
    /// The signature is not one of the key.
    Forged,
    /// The relay serves only certain keys and groups, and this is none of them.
    NotAllowed,
    /// The relay has as many registrations as it serves.
    Full,
    /// There are too many attempts.
    Busy,
    /// Another peer offers a join code with this number.
    Taken,
    /// No peer offers a join code with this number.
    NoCode,
}

/// A datagram by which two peers find a direct path, or its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathProbe {
    pub(crate) meeting: MeetingNumber,
    pub(crate) is_answer: bool,
}

/// Returns what a peer signs to register.
fn register_bytes(
    session: &RelaySession,
    challenge: &RelayChallenge,
    group: &RelayGroup,
) -> Vec<u8> {
    [REGISTER_CONTEXT, session, challenge, group].concat()
}

/// Returns what a peer signs to offer a code.
fn offer_bytes(
    session: &RelaySession,
    challenge: &RelayChallenge,
    number: u16,
    group: &RelayGroup,
) -> Vec<u8> {
    [OFFER_CONTEXT, session, challenge, &number.to_be_bytes(), group].concat()
}

impl<'d> RelayRequest<'d> {
    /// Makes the offer of a code.
    pub(crate) fn offer(
        key: &PeerSecretKey,
        session: &RelaySession,
        challenge: RelayChallenge,
        (number, group): (u16, RelayGroup),
    ) -> Self {
        let signature = key.sign(&offer_bytes(session, &challenge, number, &group));
        Self::Offer { challenge, number, group, peer: key.id(), signature }
    }

    /// Makes the registration of a key.
    pub(crate) fn register(
        key: &PeerSecretKey,
        session: &RelaySession,
        challenge: RelayChallenge,
        group: RelayGroup,
    ) -> Self {
        let signature = key.sign(&register_bytes(session, &challenge, &group));
        Self::Register { challenge, group, peer: key.id(), signature }
    }

    /// Reports whether a registration or an offer is signed by its key. Other requests are not.
    pub(crate) fn is_signed(&self, session: &RelaySession) -> bool {
        match self {
            Self::Register { challenge, group, peer, signature } => {
                peer.has_signed(&register_bytes(session, challenge, group), signature)
            }
            Self::Offer { challenge, number, group, peer, signature } => {
                peer.has_signed(&offer_bytes(session, challenge, *number, group), signature)
            }
            _ => false,
        }
    }

    /// Encodes a datagram.
    pub(crate) fn encode(&self, session: &RelaySession) -> Vec<u8> {
        let mut out = begin(self.number(), session);
        self.write_fields(&mut out);
        out.resize(out.len().max(self.min_len()), 0);
        out
    }

    /// Decodes a datagram.
    pub(crate) fn decode(datagram: &'d [u8]) -> Option<(RelaySession, Self)> {
        let (number, session, mut reader) = read_head(datagram)?;
        let request = Self::read_fields(number, &mut reader).ok()??;
        let is_whole = match request.min_len() {
            0 => reader.is_empty(),
            min_len => datagram.len() >= min_len,
        };
        is_whole.then_some((session, request))
    }

    /// Returns the least length of a request that is filled up with zeros, or 0.
    fn min_len(&self) -> usize {
        match self {
            Self::Hello => HELLO_LEN,
            Self::Ping => PING_LEN,
            _ => 0,
        }
    }
}

wire_variants!(RelayRequest:
    0x01 => Hello(),
    0x02 => Register { challenge, group, peer, signature },
    0x03 => Ping(),
    SEND => Send { to, payload as RelayPayload },
    0x05 => Call { to, meeting as WithFiller<Usual, ADDRESS_LEN> },
    0x06 => Leave(),
    0x07 => Offer { challenge, number as BigEndian, group, peer, signature },
    0x08 => Knock {
        challenge, number as WithFiller<BigEndian, KNOCK_FILLER_LEN>, payload as RelayPayload
    },
    0x09 => Answer { visit, payload as RelayPayload },
);

impl<'d> RelayReply<'d> {
    /// Encodes a datagram.
    pub(crate) fn encode(&self, session: &RelaySession) -> Vec<u8> {
        let mut out = begin(self.number(), session);
        self.write_fields(&mut out);
        out
    }

    /// Decodes a datagram.
    pub(crate) fn decode(datagram: &'d [u8]) -> Option<(RelaySession, Self)> {
        let (number, session, mut reader) = read_head(datagram)?;
        let reply = Self::read_fields(number, &mut reader).ok()??;
        reader.is_empty().then_some((session, reply))
    }
}

wire_variants!(RelayReply:
    0x81 => Challenge(challenge),
    0x82 => Registered { observed as FixedAddress },
    0x83 => Refused(refusal),
    0x84 => Unknown(),
    0x85 => Received { from, payload as RelayPayload },
    0x86 => NoPeer(peer),
    0x87 => Meet { peer, meeting, address as FixedAddress },
    0x88 => Visit { visit, payload as RelayPayload },
    0x89 => Answered { payload as RelayPayload },
);

impl RelayReply<'_> {
    /// Returns the reply, unless it has a datagram or a message of another peer.
    pub(crate) fn without_payload(self) -> Option<RelayReply<'static>> {
        Some(match self {
            Self::Received { .. } | Self::Visit { .. } | Self::Answered { .. } => return None,
            Self::Challenge(challenge) => RelayReply::Challenge(challenge),
            Self::Registered { observed } => RelayReply::Registered { observed },
            Self::Refused(refusal) => RelayReply::Refused(refusal),
            Self::Unknown => RelayReply::Unknown,
            Self::NoPeer(peer) => RelayReply::NoPeer(peer),
            Self::Meet { peer, meeting, address } => RelayReply::Meet { peer, meeting, address },
        })
    }
}

impl RelayRefusal {
    /// All refusals, by their number on the wire.
    const ALL: [Self; 7] = [
        Self::StaleChallenge,
        Self::Forged,
        Self::NotAllowed,
        Self::Full,
        Self::Busy,
        Self::Taken,
        Self::NoCode,
    ];

    /// Returns the reason as a text.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::StaleChallenge => "its challenge has expired",
            Self::Forged => "it finds the signature invalid",
            Self::NotAllowed => "it serves only certain keys and workspaces, and not this one",
            Self::Full => "it has as many peers as it serves",
            Self::Busy => "it has too many attempts to register",
            Self::Taken => "another peer offers a code with this number",
            Self::NoCode => "no peer offers a code with this number",
        }
    }
}

// An unknown number refuses as well.
wire_codec!(Usual, RelayRefusal:
|reader| {
    let number = usize::from(reader.u8()?);
    Ok(RelayRefusal::ALL.get(number).copied().unwrap_or(RelayRefusal::Busy))
},
|item, out| {
    out.push(RelayRefusal::ALL.iter().position(|known| known == item).unwrap_or_default() as u8);
});

wire_fields!(RelayVisit { time as BigEndian, address as FixedAddress, session, code });

impl PathProbe {
    /// Encodes a datagram.
    pub(crate) fn encode(&self) -> Vec<u8> {
        begin(if self.is_answer { PROBE_ANSWER } else { PROBE }, &self.meeting)
    }

    /// Decodes a datagram. A packet of QUIC is longer than a probe.
    pub(crate) fn decode(datagram: &[u8]) -> Option<Self> {
        let (number, meeting, reader) = read_head(datagram)?;
        let is_probe = matches!(number, PROBE | PROBE_ANSWER) && reader.is_empty();
        is_probe.then_some(Self { meeting, is_answer: number == PROBE_ANSWER })
    }
}

/// Begins a datagram with its type, which is one byte, and the session.
fn begin(number: u64, session: &RelaySession) -> Vec<u8> {
    let mut out = Vec::with_capacity(MAX_DATAGRAM_LEN);
    out.push(number as u8);
    Usual::write(session, &mut out);
    out
}

fn read_head(datagram: &[u8]) -> Option<(u64, RelaySession, Lib0Reader<'_>)> {
    let mut reader = Lib0Reader::new(datagram);
    let number = u64::from(reader.u8().ok()?);
    Some((number, Usual::read(&mut reader).ok()?, reader))
}

/// Writes what precedes a datagram that is passed on to a peer.
pub(crate) fn write_envelope(out: &mut Vec<u8>, session: &RelaySession, to: PeerId) {
    out.push(SEND as u8);
    Usual::write(session, out);
    Usual::write(&to, out);
}

/// All bytes up to the end, which are some, and not too many for a datagram.
struct RelayPayload;

wire_codec!(RelayPayload, &'a [u8]:
    |reader| {
        let payload = reader.take(reader.remaining())?;
        let fits = !payload.is_empty() && reader.position() <= MAX_DATAGRAM_LEN;
        if fits { Ok(payload) } else { Err(Lib0Error::Parts) }
    },
    |item, out| out.extend_from_slice(item));

/// A value, and so many zeros, so that a reply is not longer.
struct WithFiller<C, const N: usize>(C);

wire_codec!({T, C: WireCodec<'a, T>, const N: usize} WithFiller<C, N>, T:
|reader| {
    let value = C::read(reader)?;
    reader.take(N)?;
    Ok(value)
},
|item, out| {
    C::write(item, out);
    out.extend([0; N]);
});

/// A number of fixed length.
struct BigEndian;

wire_codec!(BigEndian, u16:
    |reader| Usual::read(reader).map(u16::from_be_bytes),
    |item, out| out.extend(item.to_be_bytes()));
wire_codec!(BigEndian, u64:
    |reader| Usual::read(reader).map(u64::from_be_bytes),
    |item, out| out.extend(item.to_be_bytes()));

/// The address of one machine: the family, 16 bytes, the port.
struct FixedAddress;

wire_codec!(FixedAddress, SocketAddr:
|reader| {
    let family = reader.u8()?;
    let ip: [u8; 16] = Usual::read(reader)?;
    let ip = match (family, ip) {
        (4, [a, b, c, d, ..]) => IpAddr::from([a, b, c, d]),
        (6, ip) => IpAddr::from(ip),
        _ => return Err(Lib0Error::Parts),
    };
    let port: u16 = BigEndian::read(reader)?;
    if port > 0 { Ok(SocketAddr::new(ip, port)) } else { Err(Lib0Error::Parts) }
},
|item, out| {
    match item.ip().to_canonical() {
        IpAddr::V4(ip) => out.extend([&[4][..], &ip.octets(), &[0; 12]].concat()),
        IpAddr::V6(ip) => out.extend([&[6][..], &ip.octets()].concat()),
    }
    BigEndian::write(&item.port(), out);
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SESSION: RelaySession = [7; SESSION_LEN];

    fn key(seed: u8) -> PeerSecretKey {
        PeerSecretKey::from_seed([seed; KEY_LEN])
    }

    fn requests(payload: &[u8]) -> Vec<RelayRequest<'_>> {
        vec![
            RelayRequest::Hello,
            RelayRequest::register(&key(1), &SESSION, [2; CHALLENGE_LEN], [3; GROUP_LEN]),
            RelayRequest::Ping,
            RelayRequest::Send { to: key(2).id(), payload },
            RelayRequest::Call { to: key(2).id(), meeting: [4; SESSION_LEN] },
            RelayRequest::Leave,
            RelayRequest::offer(&key(1), &SESSION, [2; CHALLENGE_LEN], (4711, [3; GROUP_LEN])),
            RelayRequest::Knock { challenge: [2; CHALLENGE_LEN], number: 4711, payload },
            RelayRequest::Answer { visit: visit(), payload },
        ]
    }

    fn visit() -> RelayVisit {
        let address = SocketAddr::from(([203, 0, 113, 9], 4711));
        RelayVisit { time: 12345, address, session: [8; SESSION_LEN], code: [9; VISIT_CODE_LEN] }
    }

    fn replies(payload: &[u8]) -> Vec<RelayReply<'_>> {
        let address = SocketAddr::from(([203, 0, 113, 9], 4711));
        let peer = key(3).id();
        vec![
            RelayReply::Challenge([5; CHALLENGE_LEN]),
            RelayReply::Registered { observed: address },
            RelayReply::Registered { observed: SocketAddr::from(([1, 2, 3, 4, 5, 6, 7, 8], 9)) },
            RelayReply::Refused(RelayRefusal::Full),
            RelayReply::Unknown,
            RelayReply::Received { from: peer, payload },
            RelayReply::NoPeer(peer),
            RelayReply::Meet { peer, meeting: [6; SESSION_LEN], address },
            RelayReply::Visit { visit: visit(), payload },
            RelayReply::Answered { payload },
            RelayReply::Refused(RelayRefusal::Taken),
            RelayReply::Refused(RelayRefusal::NoCode),
        ]
    }

    #[test]
    fn datagrams_are_decoded_as_they_were_encoded() {
        for request in requests(b"packet") {
            let bytes = request.encode(&SESSION);
            assert_eq!(RelayRequest::decode(&bytes), Some((SESSION, request)));
        }
        for reply in replies(b"packet") {
            let bytes = reply.encode(&SESSION);
            assert_eq!(RelayReply::decode(&bytes), Some((SESSION, reply)));
        }
        for is_answer in [false, true] {
            let probe = PathProbe { meeting: [8; SESSION_LEN], is_answer };
            assert_eq!(PathProbe::decode(&probe.encode()), Some(probe));
        }
    }

    #[test]
    fn replies_to_strangers_are_shorter_than_what_they_reply_to() {
        let challenge = RelayReply::Challenge([0; CHALLENGE_LEN]).encode(&SESSION).len();
        assert!(challenge < HELLO_LEN);
        let registered = replies(b"")[1].encode(&SESSION).len();
        let refused = replies(b"")[3].encode(&SESSION).len();
        assert!(registered.max(refused) < requests(b"")[1].encode(&SESSION).len());
        assert!(registered < PING_LEN);
        let unknown = RelayReply::Unknown.encode(&SESSION).len();
        assert!(requests(b"x")[2..5].iter().all(|known| known.encode(&SESSION).len() > unknown));
        // And each requires its length.
        for request in [RelayRequest::Hello, RelayRequest::Ping] {
            let datagram = request.encode(&SESSION);
            assert_eq!(RelayRequest::decode(&datagram[..datagram.len() - 1]), None);
        }
        let call = requests(b"")[4].encode(&SESSION);
        assert_eq!(RelayRequest::decode(&call[..call.len() - 1]), None);
        assert_eq!(replies(b"")[7].encode(&SESSION).len(), call.len());
        // What is passed on is no longer than what caused it.
        let [knock, answer] = [7, 8].map(|at| requests(b"x")[at].encode(&SESSION).len());
        let [visit, answered] = [8, 9].map(|at| replies(b"x")[at].encode(&SESSION).len());
        assert!(visit <= knock && answered <= answer);
        assert!(refused < knock && refused < requests(b"")[6].encode(&SESSION).len());
    }

    #[test]
    fn a_signature_holds_for_one_session_challenge_and_group() {
        let honest = RelayRequest::register(&key(1), &SESSION, [2; CHALLENGE_LEN], [3; GROUP_LEN]);
        assert!(honest.is_signed(&SESSION));
        assert!(!honest.is_signed(&[8; SESSION_LEN]));
        let RelayRequest::Register { challenge, group, peer, signature } = honest else {
            panic!("it is a registration")
        };
        let changed = [
            RelayRequest::Register { challenge: [9; CHALLENGE_LEN], group, peer, signature },
            RelayRequest::Register { challenge, group: [9; GROUP_LEN], peer, signature },
            RelayRequest::Register { challenge, group, peer: key(2).id(), signature },
        ];
        assert!(changed.iter().all(|changed| !changed.is_signed(&SESSION)));
        // Nor does it hold for an offer, and one of an offer holds for one number.
        let (number, group) = (4711, [3; GROUP_LEN]);
        let forged = RelayRequest::Offer { challenge, number, group, peer, signature };
        assert!(!forged.is_signed(&SESSION));
        let honest = RelayRequest::offer(&key(1), &SESSION, challenge, (number, group));
        assert!(honest.is_signed(&SESSION));
        let RelayRequest::Offer { peer, signature, .. } = honest else { panic!("it is an offer") };
        for (number, group) in [(4712, group), (number, [9; GROUP_LEN])] {
            let changed = RelayRequest::Offer { challenge, number, group, peer, signature };
            assert!(!changed.is_signed(&SESSION));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_decode_to_what_encodes_to_them_or_to_nothing(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            kind in prop::sample::select(vec![
                1u8, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 129, 130, 131, 132, 133, 136, 137,
            ]),
        ) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Some((session, RelayRequest::Send { to, payload })) =
                RelayRequest::decode(&bytes)
            {
                prop_assert_eq!(&RelayRequest::Send { to, payload }.encode(&session), &bytes);
            }
            RelayReply::decode(&bytes);
            PathProbe::decode(&bytes);
        }
    }
}
