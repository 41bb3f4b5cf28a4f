//! Contacts: who is in the group, and where. A peer signs its own contact, and others pass it on.

use std::net::SocketAddr;

use yfs_engine::{
    id::WorkspaceId,
    lib0::{Lib0Error, Lib0Reader, write_buffer, write_string, write_var_uint},
    time::Millis,
};

use crate::{
    peer_grant::{PeerCertificate, read_array},
    peer_key::{PeerId, PeerSecretKey, SIGNATURE_LEN},
    ticket::{read_addresses, write_addresses},
};

/// The context of the signature of a contact.
const CONTACT_CONTEXT: &[u8] = b"yfs peer contact v1\0";

/// A peer of the group, and its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerContact {
    /// The peer.
    pub peer: PeerId,
    /// The addresses at which it listens.
    pub addresses: Vec<SocketAddr>,
    /// What the peer signed; `None` for the host in a ticket, until it is met.
    signed: Option<ContactProof>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ContactProof {
    certificate: PeerCertificate,
    /// When the peer signed it, by its own clock: the latest counts.
    at: Millis,
    signature: [u8; SIGNATURE_LEN],
}

impl PeerContact {
    /// Makes the contact of this peer.
    pub fn sign(
        key: &PeerSecretKey,
        certificate: PeerCertificate,
        addresses: Vec<SocketAddr>,
        at: Millis,
    ) -> Self {
        let signature = key.sign(&signed_bytes(&certificate, &addresses, at));
        let signed = Some(ContactProof { certificate, at, signature });
        Self { peer: key.id(), addresses, signed }
    }

    /// Makes a contact from a ticket.
    pub(crate) fn unsigned(peer: PeerId, addresses: Vec<SocketAddr>) -> Self {
        Self { peer, addresses, signed: None }
    }

    /// Returns the certificate that the peer had when it signed the contact.
    pub fn certificate(&self) -> Option<&PeerCertificate> {
        self.signed.as_ref().map(|signed| &signed.certificate)
    }

    /// Returns the name for which the peer's ticket was made.
    pub(crate) fn label(&self) -> Option<&str> {
        let label = &self.certificate()?.signed.grant.label;
        Some(label.as_str()).filter(|label| !label.is_empty())
    }

    /// Reports whether the contact replaces another of the same peer.
    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        let at = |contact: &Self| contact.signed.as_ref().map(|signed| signed.at);
        at(self) > at(other)
    }

    /// Returns the certificate, if the peer signed the contact and the owner the certificate.
    pub(crate) fn checked_certificate(
        &self,
        owner: PeerId,
        workspace: &WorkspaceId,
    ) -> Option<&PeerCertificate> {
        let ContactProof { certificate, at, signature } = self.signed.as_ref()?;
        let bytes = signed_bytes(certificate, &self.addresses, *at);
        let is_valid = certificate.peer == self.peer
            && certificate.check(owner, workspace).is_ok()
            && self.peer.has_signed(&bytes, signature);
        is_valid.then_some(certificate)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.peer.as_bytes());
        write_addresses(out, &self.addresses);
        out.push(u8::from(self.signed.is_some()));
        if let Some(ContactProof { certificate, at, signature }) = &self.signed {
            write_buffer(out, &certificate.encode());
            write_var_uint(out, u64::try_from(at.0).unwrap_or(0));
            out.extend_from_slice(signature);
        }
    }

    fn read(reader: &mut Lib0Reader<'_>) -> Result<Self, Lib0Error> {
        let peer = PeerId::from_bytes(read_array(reader)?);
        let addresses = read_addresses(reader)?;
        let signed = match reader.u8()? {
            0 => None,
            1 => Some(ContactProof {
                certificate: PeerCertificate::decode(reader.buffer()?)?,
                at: Millis(i64::try_from(reader.var_uint()?).map_err(|_| Lib0Error::Parts)?),
                signature: read_array(reader)?,
            }),
            _ => return Err(Lib0Error::Parts),
        };
        Ok(Self { peer, addresses, signed })
    }

    /// Encodes a list.
    pub(crate) fn encode_list(contacts: &[Self]) -> Vec<u8> {
        let mut out = Vec::new();
        write_var_uint(&mut out, contacts.len() as u64);
        for contact in contacts {
            contact.write(&mut out);
        }
        out
    }

    /// Decodes a list of at most `max` contacts.
    pub(crate) fn decode_list(bytes: &[u8], max: usize) -> Result<Vec<Self>, Lib0Error> {
        let mut reader = Lib0Reader::new(bytes);
        let n_contacts = reader.var_uint()?;
        if n_contacts > max as u64 {
            return Err(Lib0Error::Parts);
        }
        let contacts =
            (0..n_contacts).map(|_| Self::read(&mut reader)).collect::<Result<_, _>>()?;
        if reader.is_empty() { Ok(contacts) } else { Err(Lib0Error::Parts) }
    }
}

fn signed_bytes(certificate: &PeerCertificate, addresses: &[SocketAddr], at: Millis) -> Vec<u8> {
    let mut bytes = CONTACT_CONTEXT.to_vec();
    write_string(&mut bytes, certificate.signed.grant.workspace.as_str());
    write_buffer(&mut bytes, &certificate.encode());
    write_addresses(&mut bytes, addresses);
    write_var_uint(&mut bytes, u64::try_from(at.0).unwrap_or(0));
    bytes
}
