//! Contacts: who is in the group, and where. A peer signs its own contact, and others pass it on.

use std::net::SocketAddr;

use yfs_engine::{
    id::WorkspaceId,
    lib0::{Lib0Error, Lib0Reader, write_buffer},
    time::Millis,
};
use yfs_sync::{
    wire::{EachAs, InBuffer, MaybeAs, Usual, WireCodec},
    wire_fields,
};

use crate::{
    peer_grant::{MAX_CERTIFICATE_LEN, PeerCertificate},
    peer_key::{PeerId, PeerSecretKey, SIGNATURE_LEN},
    ticket::PeerAddresses,
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

wire_fields!(ContactProof { certificate as InBuffer<Usual, MAX_CERTIFICATE_LEN>, at, signature });
wire_fields!(PeerContact { peer, addresses as PeerAddresses, signed as MaybeAs<Usual> });

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

    /// Encodes a list.
    pub(crate) fn encode_list(contacts: &[Self]) -> Vec<u8> {
        let mut out = Vec::new();
        EachAs::<Usual>::write(&contacts.to_vec(), &mut out);
        out
    }

    /// Decodes a list of at most `max` contacts.
    pub(crate) fn decode_list(bytes: &[u8], max: usize) -> Result<Vec<Self>, Lib0Error> {
        let mut reader = Lib0Reader::new(bytes);
        let contacts: Vec<Self> = EachAs::<Usual>::read(&mut reader)?;
        if contacts.len() <= max && reader.is_empty() {
            Ok(contacts)
        } else {
            Err(Lib0Error::Parts)
        }
    }
}

fn signed_bytes(certificate: &PeerCertificate, addresses: &[SocketAddr], at: Millis) -> Vec<u8> {
    let mut bytes = CONTACT_CONTEXT.to_vec();
    Usual::write(&certificate.signed.grant.workspace, &mut bytes);
    write_buffer(&mut bytes, &certificate.encode());
    PeerAddresses::write(&addresses.to_vec(), &mut bytes);
    Usual::write(&at, &mut bytes);
    bytes
}
