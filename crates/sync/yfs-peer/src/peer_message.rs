//! The messages between peers, beside those of replication (`docs/format/peers.md`).
//!
//! Their types begin at 64, so that one byte distinguishes them. Decoding is strict and never
//! allocates more than the frame.

use yfs_engine::{
    id::WorkspaceId,
    lib0::{Lib0Error, Lib0Reader, write_var_uint},
};
use yfs_sync::{
    wire::{BoxAs, EachAs, InBuffer, MaybeAs, Usual},
    wire_codec, wire_variants,
};

use crate::{
    contact::PeerContact,
    peer_error::DenialCode,
    peer_grant::{MAX_CERTIFICATE_LEN, PeerCertificate, SignedBlock},
    peer_key::{PeerId, SIGNATURE_LEN},
};

/// The version of the protocol.
pub(crate) const PEER_VERSION: u64 = 2;

/// The first type of these messages.
const FIRST_TYPE: u8 = 64;

/// The most blocks in one message.
const MAX_BLOCKS_IN_MESSAGE: usize = 4096;

/// The most contacts in one message.
pub(crate) const MAX_CONTACTS_IN_MESSAGE: usize = 64;

/// The number of the first message, which has the version before its fields.
const HELLO: u64 = 64;

/// A certificate in a message.
type Certificate = InBuffer<Usual, MAX_CERTIFICATE_LEN>;

/// A list of contacts in a message.
type Contacts = InBuffer<EachAs<Usual>, { usize::MAX }>;

wire_variants!(PeerMessage:
    HELLO => Hello { workspace, certificate as Certificate, is_complete },
    65 => Admitted {
        certificate as Certificate, renewed as MaybeAs<BoxAs<Certificate>>, is_complete
    },
    66 => Denied(code),
    67 => Blocks(blocks as EachAs<InBuffer<Usual, { usize::MAX }>>),
    68 => Contacts(contacts as Contacts),
    69 => Signed { signature, frame },
    70 => Carried { certificate as Certificate, signature, frame },
    71 => CarrySince { epoch, position },
    72 => CarryReached { epoch, position },
    73 => Presence { certificate as BoxAs<Certificate>, signature, frame },
    74 => PresenceWithdrawn { peer },
);

/// A message between peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PeerMessage<'a> {
    /// The first message, of the peer that connects, and whether it has ever been in step.
    Hello { workspace: WorkspaceId, certificate: PeerCertificate, is_complete: bool },
    /// The response: the peer is admitted. It should use the other certificate from now on.
    Admitted {
        certificate: PeerCertificate,
        renewed: Option<Box<PeerCertificate>>,
        is_complete: bool,
    },
    /// The other response.
    Denied(DenialCode),
    /// The blocks that the sender knows.
    Blocks(Vec<SignedBlock>),
    /// Contacts that the sender knows.
    Contacts(Vec<PeerContact>),
    /// A message of replication with updates that the sender vouches for.
    Signed { signature: [u8; SIGNATURE_LEN], frame: &'a [u8] },
    /// The same of another peer.
    Carried { certificate: PeerCertificate, signature: [u8; SIGNATURE_LEN], frame: &'a [u8] },
    /// The position in the receiver's list of carried messages from which to continue.
    CarrySince { epoch: u64, position: u64 },
    /// The sender has sent its list of carried messages up to a position.
    CarryReached { epoch: u64, position: u64 },
    /// The editors at a document on the servers of a peer, which has signed the frame.
    Presence { certificate: Box<PeerCertificate>, signature: [u8; SIGNATURE_LEN], frame: &'a [u8] },
    /// A peer is out of the sender's reach, with all its editors.
    PresenceWithdrawn { peer: PeerId },
}

/// Reports whether a frame is a message of this module.
pub(crate) fn is_peer_frame(frame: &[u8]) -> bool {
    frame.first().is_some_and(|first| *first >= FIRST_TYPE)
}

impl<'a> PeerMessage<'a> {
    /// Decodes a frame.
    pub(crate) fn decode(frame: &'a [u8]) -> Result<Self, Lib0Error> {
        let mut reader = Lib0Reader::new(frame);
        let number = reader.var_uint()?;
        if number == HELLO && reader.var_uint()? != PEER_VERSION {
            return Err(Lib0Error::Parts);
        }
        let message = Self::read_fields(number, &mut reader)?.filter(|_| reader.is_empty());
        let is_short = |message: &Self| match message {
            Self::Blocks(blocks) => blocks.len() <= MAX_BLOCKS_IN_MESSAGE,
            Self::Contacts(contacts) => contacts.len() <= MAX_CONTACTS_IN_MESSAGE,
            _ => true,
        };
        message.filter(is_short).ok_or(Lib0Error::Parts)
    }

    /// Encodes a frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_var_uint(&mut out, self.number());
        if self.number() == HELLO {
            write_var_uint(&mut out, PEER_VERSION);
        }
        self.write_fields(&mut out);
        out
    }
}

wire_codec!(Usual, DenialCode:
    |reader| reader.var_uint().map(DenialCode::of_number),
    |item, out| write_var_uint(out, item.number()));
