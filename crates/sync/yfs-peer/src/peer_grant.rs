//! What the owner of a workspace grants: tickets' grants, the certificates of keys, and blocks.
//!
//! All of them are checked with the owner's public key alone, by any peer, without asking another.
//! See `docs/format/peers.md` for the bytes.

use yfs_engine::{
    id::WorkspaceId,
    lib0::{Lib0Error, write_buffer},
    time::Millis,
};
use yfs_sync::{
    wire::{Usual, WireCodec, read_wire_bytes, wire_bytes},
    wire_codec, wire_fields,
};

use crate::{
    peer_error::{DenialCode, DenialReason},
    peer_key::{KEY_LEN, PeerId, PeerSecretKey, SIGNATURE_LEN},
};

/// The length of a grant's id, in bytes.
pub(crate) const GRANT_ID_LEN: usize = 12;

/// The greatest length of the name for which a ticket was made, in bytes.
pub const MAX_LABEL_LEN: usize = 64;

/// The greatest length of a certificate, in bytes.
pub(crate) const MAX_CERTIFICATE_LEN: usize = 512;

/// The contexts of signatures: a signature made for one purpose means nothing for another.
const GRANT_CONTEXT: &[u8] = b"yfs peer grant v1\0";
const BINDING_CONTEXT: &[u8] = b"yfs peer binding v1\0";
const BLOCK_CONTEXT: &[u8] = b"yfs peer block v1\0";

/// The version of grants. A peer rejects others, so that it never grants what a later version would
/// restrict.
const GRANT_VERSION: u64 = 1;

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerRights {
    /// Receive the workspace, and pass on what others signed.
    Read,
    /// Also change it.
    Write,
}

/// The id of a grant, which the owner can block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketId([u8; GRANT_ID_LEN]);

/// What the owner grants to the holders of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketGrant {
    /// Its id.
    pub id: TicketId,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The public half of the key in the ticket.
    pub ticket_key: PeerId,
    /// What a holder may do.
    pub rights: PeerRights,
    /// When it ends; `None` if it does not.
    pub expires: Option<Millis>,
    /// Whether it admits one peer, whom the owner must admit in person.
    pub is_once: bool,
    /// For whom the ticket was made, as its issuer calls them.
    pub label: String,
}

/// A grant with the owner's signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedGrant {
    /// The grant.
    pub grant: TicketGrant,
    signature: [u8; SIGNATURE_LEN],
}

/// A grant that is bound to the key of one peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The grant.
    pub signed: SignedGrant,
    /// The peer's key.
    pub peer: PeerId,
    /// Whether the owner bound the key, or the peer itself with the key of its ticket.
    is_bound_by_owner: bool,
    binding: [u8; SIGNATURE_LEN],
}

/// What a block withdraws: the key of one peer, or all keys of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockTarget {
    /// The key of one peer.
    Peer(PeerId),
    /// A ticket, and all keys that were admitted with it.
    Ticket(TicketId),
}

/// A block with the owner's signature. It cannot be withdrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedBlock {
    /// What it withdraws.
    pub target: BlockTarget,
    /// When it was made, by the owner's clock.
    pub at: Millis,
    signature: [u8; SIGNATURE_LEN],
}

wire_fields!(TicketId { 0 });
wire_fields!(SignedGrant { grant, signature });
wire_fields!(PeerCertificate { signed, peer, is_bound_by_owner, binding });
wire_fields!(SignedBlock { target, at, signature });

impl TicketId {
    /// Makes an id from random bytes.
    pub fn from_bytes(bytes: [u8; GRANT_ID_LEN]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Display for TicketId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl TicketGrant {
    /// Signs the grant with the owner's key.
    pub fn sign(self, owner: &PeerSecretKey) -> SignedGrant {
        let signature = owner.sign(&self.signed_bytes());
        SignedGrant { grant: self, signature }
    }

    fn signed_bytes(&self) -> Vec<u8> {
        [GRANT_CONTEXT, &wire_bytes(self)].concat()
    }
}

wire_codec!(Usual, TicketGrant:
|reader| {
    if reader.var_uint()? != GRANT_VERSION {
        return Err(Lib0Error::Parts);
    }
    let (id, workspace) = (Usual::read(reader)?, Usual::read(reader)?);
    let (ticket_key, flags) = (Usual::read(reader)?, reader.u8()?);
    let expires = Some(Usual::read(reader)?).filter(|at: &Millis| at.0 > 0);
    let label = reader.string()?;
    if flags > 3 || label.len() > MAX_LABEL_LEN || label.chars().any(char::is_control) {
        return Err(Lib0Error::Parts);
    }
    let rights = if flags & 1 == 1 { PeerRights::Write } else { PeerRights::Read };
    let (is_once, label) = (flags & 2 == 2, label.to_owned());
    Ok(TicketGrant { id, workspace, ticket_key, rights, expires, is_once, label })
},
|item, out| {
    Usual::write(&GRANT_VERSION, out);
    Usual::write(&item.id, out);
    Usual::write(&item.workspace, out);
    Usual::write(&item.ticket_key, out);
    out.push(u8::from(item.rights == PeerRights::Write) | u8::from(item.is_once) << 1);
    Usual::write(&item.expires.map_or(Millis(0), |at| at.max(Millis(1))), out);
    Usual::write(&item.label.as_str(), out);
});

impl SignedGrant {
    /// Binds the grant to a peer's key, as a holder of the ticket does.
    pub fn bind(&self, ticket_key: &PeerSecretKey, peer: PeerId) -> PeerCertificate {
        self.bind_with(ticket_key, peer, false)
    }

    /// Binds the grant to a peer's key, as the owner does.
    pub(crate) fn bind_by_owner(&self, owner: &PeerSecretKey, peer: PeerId) -> PeerCertificate {
        self.bind_with(owner, peer, true)
    }

    fn bind_with(
        &self,
        key: &PeerSecretKey,
        peer: PeerId,
        is_bound_by_owner: bool,
    ) -> PeerCertificate {
        let binding = key.sign(&binding_bytes(&self.grant, peer, is_bound_by_owner));
        PeerCertificate { signed: self.clone(), peer, is_bound_by_owner, binding }
    }

    /// Reports whether the owner signed the grant.
    pub(crate) fn is_signed_by(&self, owner: PeerId) -> bool {
        owner.has_signed(&self.grant.signed_bytes(), &self.signature)
    }
}

impl PeerCertificate {
    /// Checks that the owner signed the grant for this workspace, and that the key is bound to it.
    /// A certificate of a ticket for one peer must be bound by the owner.
    pub fn check(&self, owner: PeerId, workspace: &WorkspaceId) -> Result<(), DenialCode> {
        self.check_binding(owner, workspace)?;
        let needs_owner = self.signed.grant.is_once && !self.is_bound_by_owner;
        if needs_owner { Err(DenialCode::NeedsOwner) } else { Ok(()) }
    }

    /// Checks the signatures only.
    pub(crate) fn check_binding(
        &self,
        owner: PeerId,
        workspace: &WorkspaceId,
    ) -> Result<(), DenialCode> {
        let grant = &self.signed.grant;
        let signer = if self.is_bound_by_owner { owner } else { grant.ticket_key };
        let is_valid = grant.workspace == *workspace
            && self.signed.is_signed_by(owner)
            && signer.has_signed(
                &binding_bytes(grant, self.peer, self.is_bound_by_owner),
                &self.binding,
            );
        if is_valid { Ok(()) } else { Err(DenialCode::NotAdmitted) }
    }

    /// Reports whether the certificate has expired.
    pub(crate) fn has_expired(&self, now: Millis) -> bool {
        self.signed.grant.expires.is_some_and(|expires| expires <= now)
    }

    /// Checks that its key may make changes now.
    pub fn check_write(&self, now: Millis) -> Result<(), DenialReason> {
        if self.has_expired(now) {
            Err(DenialReason::Expired)
        } else if self.signed.grant.rights == PeerRights::Read {
            Err(DenialReason::ReadOnly)
        } else {
            Ok(())
        }
    }

    /// Reports whether a block concerns this certificate.
    pub(crate) fn is_target_of(&self, block: &SignedBlock) -> bool {
        match block.target {
            BlockTarget::Peer(peer) => peer == self.peer,
            BlockTarget::Ticket(ticket) => ticket == self.signed.grant.id,
        }
    }

    /// Encodes the certificate.
    pub fn encode(&self) -> Vec<u8> {
        wire_bytes(self)
    }

    /// Decodes a certificate.
    pub fn decode(bytes: &[u8]) -> Result<Self, Lib0Error> {
        if bytes.len() > MAX_CERTIFICATE_LEN {
            return Err(Lib0Error::Parts);
        }
        read_wire_bytes(bytes)
    }
}

impl SignedBlock {
    /// Signs a block with the owner's key.
    pub fn sign(
        target: BlockTarget,
        workspace: &WorkspaceId,
        at: Millis,
        owner: &PeerSecretKey,
    ) -> Self {
        let signature = owner.sign(&block_bytes(target, workspace, at));
        Self { target, at, signature }
    }

    /// Reports whether the owner of the workspace signed it.
    pub(crate) fn is_signed_by(&self, owner: PeerId, workspace: &WorkspaceId) -> bool {
        owner.has_signed(&block_bytes(self.target, workspace, self.at), &self.signature)
    }

    /// Encodes the block.
    pub fn encode(&self) -> Vec<u8> {
        wire_bytes(self)
    }

    /// Decodes a block.
    pub fn decode(bytes: &[u8]) -> Result<Self, Lib0Error> {
        read_wire_bytes(bytes)
    }
}

wire_codec!(Usual, BlockTarget:
|reader| match reader.u8()? {
    0 => Usual::read(reader).map(BlockTarget::Peer),
    1 => Usual::read(reader).map(BlockTarget::Ticket),
    _ => Err(Lib0Error::Parts),
},
|item, out| {
    out.push(u8::from(matches!(item, BlockTarget::Ticket(_))));
    match item {
        BlockTarget::Peer(peer) => Usual::write(peer, out),
        BlockTarget::Ticket(ticket) => Usual::write(ticket, out),
    }
});

fn binding_bytes(grant: &TicketGrant, peer: PeerId, is_bound_by_owner: bool) -> Vec<u8> {
    let mut bytes = BINDING_CONTEXT.to_vec();
    write_buffer(&mut bytes, &wire_bytes(grant));
    Usual::write(&peer, &mut bytes);
    Usual::write(&is_bound_by_owner, &mut bytes);
    bytes
}

fn block_bytes(target: BlockTarget, workspace: &WorkspaceId, at: Millis) -> Vec<u8> {
    let mut bytes = BLOCK_CONTEXT.to_vec();
    Usual::write(workspace, &mut bytes);
    Usual::write(&target, &mut bytes);
    Usual::write(&at, &mut bytes);
    bytes
}

/// Makes the secret key of a ticket from the bytes in its text.
pub(crate) fn ticket_secret(seed: &[u8]) -> PeerSecretKey {
    let key: [u8; KEY_LEN] = blake3::derive_key("yfs peer ticket key v1", seed);
    PeerSecretKey::from_seed(key)
}
