//! The messages between peers, beside those of replication (`docs/format/peers.md`).
//!
//! Their types begin at 64, so that one byte distinguishes them. Decoding is strict and never
//! allocates more than the frame.

use yfs_engine::{
    id::{FileId, WorkspaceId},
    lib0::{Lib0Error, Lib0Reader, write_buffer, write_string, write_var_uint},
};

use crate::{
    contact::PeerContact,
    peer_error::DenialCode,
    peer_grant::{PeerCertificate, SignedBlock, read_array},
    peer_key::{PeerId, SIGNATURE_LEN},
};

/// The version of the protocol.
pub(crate) const PEER_VERSION: u64 = 2;

/// The first type of these messages.
const FIRST_TYPE: u8 = 64;

/// The most blocks in one message.
const MAX_BLOCKS_IN_MESSAGE: u64 = 4096;

/// The most contacts in one message.
pub(crate) const MAX_CONTACTS_IN_MESSAGE: usize = 64;

const HELLO: u64 = 64;
const ADMITTED: u64 = 65;
const DENIED: u64 = 66;
const BLOCKS: u64 = 67;
const CONTACTS: u64 = 68;
const SIGNED: u64 = 69;
const CARRIED: u64 = 70;
const CARRY_SINCE: u64 = 71;
const CARRY_REACHED: u64 = 72;
const PRESENCE: u64 = 73;
const PRESENCE_WITHDRAWN: u64 = 74;

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
        let message = match reader.var_uint()? {
            HELLO => {
                if reader.var_uint()? != PEER_VERSION {
                    return Err(Lib0Error::Parts);
                }
                let workspace = FileId::parse(reader.string()?).map_err(|_| Lib0Error::Parts)?;
                let certificate = read_certificate(&mut reader)?;
                Self::Hello { workspace, certificate, is_complete: read_flag(&mut reader)? }
            }
            ADMITTED => {
                let certificate = read_certificate(&mut reader)?;
                let has_renewed = read_flag(&mut reader)?;
                let renewed = has_renewed.then(|| read_certificate(&mut reader)).transpose()?;
                let renewed = renewed.map(Box::new);
                Self::Admitted { certificate, renewed, is_complete: read_flag(&mut reader)? }
            }
            DENIED => Self::Denied(DenialCode::of_number(reader.var_uint()?)),
            BLOCKS => {
                let n_blocks = reader.var_uint()?;
                if n_blocks > MAX_BLOCKS_IN_MESSAGE {
                    return Err(Lib0Error::Parts);
                }
                let blocks = (0..n_blocks).map(|_| SignedBlock::decode(reader.buffer()?));
                Self::Blocks(blocks.collect::<Result<_, _>>()?)
            }
            CONTACTS => {
                let list = reader.buffer()?;
                Self::Contacts(PeerContact::decode_list(list, MAX_CONTACTS_IN_MESSAGE)?)
            }
            SIGNED => Self::Signed { signature: read_array(&mut reader)?, frame: reader.buffer()? },
            CARRIED => Self::Carried {
                certificate: read_certificate(&mut reader)?,
                signature: read_array(&mut reader)?,
                frame: reader.buffer()?,
            },
            CARRY_SINCE => {
                Self::CarrySince { epoch: reader.var_uint()?, position: reader.var_uint()? }
            }
            CARRY_REACHED => {
                Self::CarryReached { epoch: reader.var_uint()?, position: reader.var_uint()? }
            }
            PRESENCE => Self::Presence {
                certificate: Box::new(read_certificate(&mut reader)?),
                signature: read_array(&mut reader)?,
                frame: reader.buffer()?,
            },
            PRESENCE_WITHDRAWN => {
                Self::PresenceWithdrawn { peer: PeerId::from_bytes(read_array(&mut reader)?) }
            }
            _ => return Err(Lib0Error::Parts),
        };
        if reader.is_empty() { Ok(message) } else { Err(Lib0Error::Parts) }
    }

    /// Encodes a frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Hello { workspace, certificate, is_complete } => {
                write_var_uint(&mut out, HELLO);
                write_var_uint(&mut out, PEER_VERSION);
                write_string(&mut out, workspace.as_str());
                write_buffer(&mut out, &certificate.encode());
                out.push(u8::from(*is_complete));
            }
            Self::Admitted { certificate, renewed, is_complete } => {
                write_var_uint(&mut out, ADMITTED);
                write_buffer(&mut out, &certificate.encode());
                out.push(u8::from(renewed.is_some()));
                if let Some(renewed) = renewed {
                    write_buffer(&mut out, &renewed.encode());
                }
                out.push(u8::from(*is_complete));
            }
            Self::Denied(code) => {
                write_var_uint(&mut out, DENIED);
                write_var_uint(&mut out, code.number());
            }
            Self::Blocks(blocks) => {
                write_var_uint(&mut out, BLOCKS);
                write_var_uint(&mut out, blocks.len() as u64);
                for block in blocks {
                    write_buffer(&mut out, &block.encode());
                }
            }
            Self::Contacts(contacts) => {
                write_var_uint(&mut out, CONTACTS);
                write_buffer(&mut out, &PeerContact::encode_list(contacts));
            }
            Self::Signed { signature, frame } => {
                write_var_uint(&mut out, SIGNED);
                out.extend_from_slice(signature);
                write_buffer(&mut out, frame);
            }
            Self::Carried { certificate, signature, frame } => {
                write_var_uint(&mut out, CARRIED);
                write_buffer(&mut out, &certificate.encode());
                out.extend_from_slice(signature);
                write_buffer(&mut out, frame);
            }
            Self::CarrySince { epoch, position } => {
                write_var_uint(&mut out, CARRY_SINCE);
                write_var_uint(&mut out, *epoch);
                write_var_uint(&mut out, *position);
            }
            Self::CarryReached { epoch, position } => {
                write_var_uint(&mut out, CARRY_REACHED);
                write_var_uint(&mut out, *epoch);
                write_var_uint(&mut out, *position);
            }
            Self::Presence { certificate, signature, frame } => {
                write_var_uint(&mut out, PRESENCE);
                write_buffer(&mut out, &certificate.encode());
                out.extend_from_slice(signature);
                write_buffer(&mut out, frame);
            }
            Self::PresenceWithdrawn { peer } => {
                write_var_uint(&mut out, PRESENCE_WITHDRAWN);
                out.extend_from_slice(peer.as_bytes());
            }
        }
        out
    }
}

fn read_flag(reader: &mut Lib0Reader<'_>) -> Result<bool, Lib0Error> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Lib0Error::Parts),
    }
}

fn read_certificate(reader: &mut Lib0Reader<'_>) -> Result<PeerCertificate, Lib0Error> {
    PeerCertificate::decode(reader.buffer()?)
}
