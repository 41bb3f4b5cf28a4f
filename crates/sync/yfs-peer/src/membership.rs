//! What one store knows of the group of peers: its keys, the owner, its certificate, blocks and
//! contacts. Several processes use it at once; everything is read from the store when it is needed.
//!
//! # Invariants
//!
//! - The owner's key is set once, by the first share or by the ticket, and never replaced.
//! - Blocks only accumulate.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use yfs::{Workspace, clock::Clock};
use yfs_engine::{id::WorkspaceId, time::Millis};
use yfs_replica::BlobPool;
use yfs_store::Store;

use crate::{
    contact::PeerContact,
    peer_error::{DenialCode, DenialReason, PeerError},
    peer_grant::{
        BlockTarget, GRANT_ID_LEN, PeerCertificate, PeerRights, SignedBlock, TicketGrant, TicketId,
        ticket_secret,
    },
    peer_key::{PeerId, PeerSecretKey, random_seed},
    presence::PeerPresence,
    relay_name::remember_relays,
    ticket::{PeerTicket, TICKET_SEED_LEN},
};

/// The store's secrets: the key of this peer, and the key of the owner.
pub(crate) const KEY_SECRET: &str = "peer.key";
const OWNER_SECRET: &str = "peer.owner.key";

/// The setting with the public key of the owner.
const OWNER_SETTING: &str = "peer.owner";

/// The setting of the owner's store.
const FOUNDED_SETTING: &str = "peer.founded";

/// The setting with the certificate of this peer.
const CERTIFICATE_SETTING: &str = "peer.certificate";

/// The beginning of the settings with blocks, numbered from 0.
const BLOCK_SETTING: &str = "peer.block.";

/// The beginning of the settings with the peer that used a ticket for one peer.
const USED_SETTING: &str = "peer.used.";

/// The setting with the contacts, which only the process that connects writes.
const CONTACTS_SETTING: &str = "peer.contacts";

/// The setting of a store that has been in step with a peer that was up to date.
const COMPLETE_SETTING: &str = "peer.complete";

/// The beginning of the settings with what a person said of a peer.
const NOTE_SETTING: &str = "peer.note.";

/// The most blocks that are kept. The owner's store refuses to make more.
pub(crate) const MAX_BLOCKS: u64 = 4096;

/// The most contacts that are kept.
pub(crate) const MAX_CONTACTS: usize = 256;

/// The greatest length of a name that a person gives to a peer, in characters.
const MAX_NAME_LEN: usize = 64;

/// The part of a store that concerns its peers.
#[derive(Debug)]
pub struct PeerMembership {
    workspace: Workspace,
    key: PeerSecretKey,
    clock: Arc<dyn Clock>,
    /// The blocks that were read. They only accumulate.
    blocks: Mutex<Vec<SignedBlock>>,
    /// The large blobs that the connections fetch together.
    blob_pool: Arc<BlobPool>,
    /// The presence that the connections exchange.
    presence: Arc<PeerPresence>,
}

/// What a ticket is to grant.
#[derive(Debug, Clone)]
pub struct TicketRequest {
    /// What a holder may do.
    pub rights: PeerRights,
    /// When it ends; `None` if it does not.
    pub expires: Option<Millis>,
    /// Whether it admits one peer.
    pub is_once: bool,
    /// For whom it is.
    pub label: String,
}

/// What a person said of a peer: it stays in this store.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerNote {
    /// The name that a person gave to the peer.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether this peer does not connect with it.
    #[serde(default)]
    pub is_blocked: bool,
    /// Whether the peer is not listed, and not connected to, until it connects itself.
    #[serde(default)]
    pub is_forgotten: bool,
}

impl PeerMembership {
    /// Reads the membership of a workspace. Creates the key of its store if there is none.
    pub fn of(workspace: &Workspace) -> Result<Self, PeerError> {
        Self::with_clock(workspace, Arc::new(yfs::clock::SystemClock))
    }

    /// The same with a clock of the caller's.
    pub fn with_clock(workspace: &Workspace, clock: Arc<dyn Clock>) -> Result<Self, PeerError> {
        let key = read_secret(&**workspace.store(), KEY_SECRET)?;
        Ok(Self {
            workspace: workspace.clone(),
            presence: Arc::new(PeerPresence::new(key.id())),
            key,
            clock,
            blocks: Mutex::default(),
            blob_pool: Arc::new(BlobPool::of(&**workspace.store())),
        })
    }

    /// Reports whether a workspace was shared or joined. Creates no key.
    pub fn is_shared(workspace: &Workspace) -> Result<bool, PeerError> {
        Ok(workspace.store().get_meta(OWNER_SETTING)?.is_some())
    }

    /// Reports whether other peers accept the changes of this store: a workspace that is not shared
    /// has none.
    pub fn may_write(workspace: &Workspace) -> Result<bool, PeerError> {
        if !Self::is_shared(workspace)? {
            return Ok(true);
        }
        Ok(Self::of(workspace)?.certificate()?.signed.grant.rights == PeerRights::Write)
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns the large blobs that the connections fetch together.
    pub(crate) fn blob_pool(&self) -> &Arc<BlobPool> {
        &self.blob_pool
    }

    /// Returns the presence that the connections exchange.
    pub(crate) fn presence(&self) -> &Arc<PeerPresence> {
        &self.presence
    }

    /// Returns the key of this peer.
    pub(crate) fn key(&self) -> &PeerSecretKey {
        &self.key
    }

    /// Returns the id of this peer.
    pub fn id(&self) -> PeerId {
        self.key.id()
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    fn store(&self) -> &dyn Store {
        &**self.workspace.store()
    }

    fn workspace_id(&self) -> &WorkspaceId {
        self.workspace.id()
    }

    /// Returns the owner that this store trusts, if the workspace is shared.
    pub fn owner(&self) -> Result<Option<PeerId>, PeerError> {
        let stored = self.store().get_meta(OWNER_SETTING)?;
        Ok(stored.and_then(|stored| std::str::from_utf8(&stored).ok()?.parse().ok()))
    }

    /// Returns the owner's key, if this is the owner's store.
    pub(crate) fn owner_key(&self) -> Result<Option<PeerSecretKey>, PeerError> {
        let Some(owner) = self.owner()? else { return Ok(None) };
        if self.store().get_meta(FOUNDED_SETTING)?.is_none() {
            return Ok(None);
        }
        // A copy of the store has another secret.
        let key = read_secret(self.store(), OWNER_SECRET)?;
        Ok((key.id() == owner).then_some(key))
    }

    /// Reports whether this is the owner's store.
    pub fn is_owner(&self) -> Result<bool, PeerError> {
        Ok(self.owner_key()?.is_some())
    }

    /// Reports whether this store has ever been in step with its group; the owner's always is.
    pub(crate) fn is_complete(&self) -> Result<bool, PeerError> {
        Ok(self.store().get_meta(COMPLETE_SETTING)?.is_some() || self.is_owner()?)
    }

    /// Records that this store has been in step with its group.
    pub(crate) fn set_complete(&self) -> Result<(), PeerError> {
        Ok(self.store().set_meta(COMPLETE_SETTING, b"1")?)
    }

    /// Returns the certificate of this peer.
    pub fn certificate(&self) -> Result<PeerCertificate, PeerError> {
        let stored = self.store().get_meta(CERTIFICATE_SETTING)?;
        let certificate = stored.and_then(|stored| PeerCertificate::decode(&stored).ok());
        // The store may be a copy, which has another key.
        certificate.filter(|certificate| certificate.peer == self.id()).ok_or(PeerError::NotShared)
    }

    /// Stores a certificate of this peer, if it is valid.
    pub(crate) fn set_certificate(&self, certificate: &PeerCertificate) -> Result<(), PeerError> {
        let owner = self.owner()?.ok_or(PeerError::NotShared)?;
        let is_valid = certificate.peer == self.id()
            && certificate.check_binding(owner, self.workspace_id()).is_ok();
        if !is_valid {
            return Err(PeerError::Fault("a certificate that is not of this peer"));
        }
        Ok(self.store().set_meta(CERTIFICATE_SETTING, &certificate.encode())?)
    }

    /// Makes this store the owner of its workspace, unless the workspace is shared already.
    pub fn found(&self) -> Result<(), PeerError> {
        if self.owner()?.is_some() {
            return Ok(());
        }
        let owner = read_secret(self.store(), OWNER_SECRET)?;
        let owner_id = owner.id().to_string();
        let stored = self.store().init_meta(OWNER_SETTING, owner_id.as_bytes())?;
        if stored != owner_id.as_bytes() {
            return Ok(());
        }
        self.store().set_meta(FOUNDED_SETTING, b"1")?;
        let grant = TicketGrant {
            id: random_ticket_id(),
            workspace: self.workspace_id().clone(),
            ticket_key: owner.id(),
            rights: PeerRights::Write,
            expires: None,
            is_once: false,
            label: "owner".to_owned(),
        };
        self.set_certificate(&grant.sign(&owner).bind_by_owner(&owner, self.id()))
    }

    /// Signs a ticket.
    ///
    /// # Errors
    ///
    /// [`PeerError::NotOwner`] if this is not the owner's store.
    pub fn issue(
        &self,
        request: TicketRequest,
        addresses: Vec<std::net::SocketAddr>,
    ) -> Result<PeerTicket, PeerError> {
        let owner = self.owner_key()?.ok_or(PeerError::NotOwner)?;
        let mut seed = [0; TICKET_SEED_LEN];
        seed.copy_from_slice(&random_seed()[..TICKET_SEED_LEN]);
        let grant = TicketGrant {
            id: random_ticket_id(),
            workspace: self.workspace_id().clone(),
            ticket_key: ticket_secret(&seed).id(),
            rights: request.rights,
            expires: request.expires,
            is_once: request.is_once,
            label: request.label,
        };
        let signed = grant.sign(&owner);
        let relays = Vec::new();
        Ok(PeerTicket { owner: owner.id(), host: self.id(), signed, addresses, relays, seed })
    }

    /// Makes this store, a replica of the ticket's workspace, a member with the rights of a ticket.
    ///
    /// # Errors
    ///
    /// If the store belongs to another owner's group already.
    pub fn join(&self, ticket: &PeerTicket) -> Result<(), PeerError> {
        let owner = ticket.owner.to_string();
        let stored = self.store().init_meta(OWNER_SETTING, owner.as_bytes())?;
        if stored != owner.as_bytes() || ticket.signed.grant.workspace != *self.workspace_id() {
            return Err(PeerError::Denies(DenialCode::NotAdmitted));
        }
        self.set_certificate(&ticket.signed.bind(&ticket.key(), self.id()))?;
        remember_relays(&self.workspace, &ticket.relays)?;
        let host = PeerContact::unsigned(ticket.host, ticket.addresses.clone());
        self.add_contacts([host])
    }

    /// Decides whether a peer with this certificate is admitted, and returns the certificate that
    /// it should use from now on, if that is another.
    pub(crate) fn admit(
        &self,
        certificate: &PeerCertificate,
        peer: PeerId,
    ) -> Result<Result<Option<PeerCertificate>, DenialCode>, PeerError> {
        let owner = self.owner()?.ok_or(PeerError::NotShared)?;
        if certificate.peer != peer {
            return Ok(Err(DenialCode::NotAdmitted));
        }
        if let Err(code) = certificate.check_binding(owner, self.workspace_id()) {
            return Ok(Err(code));
        }
        if let Err(code) = self.check_current(certificate)? {
            return Ok(Err(code));
        }
        if certificate.check(owner, self.workspace_id()).is_ok() {
            return Ok(Ok(None));
        }
        let Some(owner_key) = self.owner_key()? else { return Ok(Err(DenialCode::NeedsOwner)) };
        let setting = format!("{USED_SETTING}{}", certificate.signed.grant.id);
        let user = self.store().init_meta(&setting, peer.to_string().as_bytes())?;
        if user != peer.to_string().as_bytes() {
            return Ok(Err(DenialCode::Used));
        }
        Ok(Ok(Some(certificate.signed.bind_by_owner(&owner_key, peer))))
    }

    /// Checks that a certificate has neither expired nor been blocked.
    pub(crate) fn check_current(
        &self,
        certificate: &PeerCertificate,
    ) -> Result<Result<(), DenialCode>, PeerError> {
        if certificate.has_expired(self.now()) {
            return Ok(Err(DenialCode::Expired));
        }
        Ok(if self.is_blocked(certificate)? { Err(DenialCode::Blocked) } else { Ok(()) })
    }

    /// Ends the presence that was not renewed, and that of peers without a current certificate.
    pub(crate) fn expire_presence(&self) {
        self.presence.expire(|certificate| matches!(self.check_current(certificate), Ok(Ok(()))));
    }

    /// Checks that the key of a certificate may make changes now.
    pub(crate) fn check_writer(
        &self,
        certificate: &PeerCertificate,
    ) -> Result<Result<(), DenialReason>, PeerError> {
        if self.is_blocked(certificate)? {
            return Ok(Err(DenialReason::Blocked));
        }
        Ok(certificate.check_write(self.now()))
    }

    /// Reports whether the owner blocked a certificate, or a person at this store the peer.
    fn is_blocked(&self, certificate: &PeerCertificate) -> Result<bool, PeerError> {
        if self.note(certificate.peer)?.is_blocked {
            return Ok(true);
        }
        Ok(self.known_blocks()?.iter().any(|block| certificate.is_target_of(block)))
    }

    /// Returns the blocks that are known, in the order in which they arrived.
    pub fn blocks(&self) -> Result<Vec<SignedBlock>, PeerError> {
        Ok(self.known_blocks()?.clone())
    }

    /// Returns the number of blocks that are known.
    pub(crate) fn n_blocks(&self) -> Result<usize, PeerError> {
        Ok(self.known_blocks()?.len())
    }

    /// Reads the blocks that were added since the last call, also by other processes.
    fn known_blocks(&self) -> Result<MutexGuard<'_, Vec<SignedBlock>>, PeerError> {
        let mut blocks = self.blocks.lock();
        while let Some(stored) =
            self.store().get_meta(&format!("{BLOCK_SETTING}{}", blocks.len()))?
        {
            let Ok(block) = SignedBlock::decode(&stored) else { break };
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// Blocks a key or a ticket for all peers.
    ///
    /// # Errors
    ///
    /// [`PeerError::NotOwner`] if this is not the owner's store.
    pub fn block(&self, target: BlockTarget) -> Result<(), PeerError> {
        let owner = self.owner_key()?.ok_or(PeerError::NotOwner)?;
        let block = SignedBlock::sign(target, self.workspace_id(), self.now(), &owner);
        self.add_block(&block).map(drop)
    }

    /// Adds a block that a peer passed on; reports whether it is new.
    pub(crate) fn add_block(&self, block: &SignedBlock) -> Result<bool, PeerError> {
        let owner = self.owner()?.ok_or(PeerError::NotShared)?;
        if !block.is_signed_by(owner, self.workspace_id()) {
            return Err(PeerError::Fault("a block that the owner did not sign"));
        }
        let known = self.blocks()?;
        if known.iter().any(|known| known.target == block.target) {
            return Ok(false);
        }
        let bytes = block.encode();
        // Another process may add one at the same time: the first free number is taken atomically.
        let mut number = known.len() as u64;
        while number < MAX_BLOCKS {
            if self.store().init_meta(&format!("{BLOCK_SETTING}{number}"), &bytes)? == bytes {
                return Ok(true);
            }
            number += 1;
        }
        Err(PeerError::Fault("more blocks than are kept"))
    }

    /// Returns the contacts of this store.
    pub fn contacts(&self) -> Result<Vec<PeerContact>, PeerError> {
        let stored = self.store().get_meta(CONTACTS_SETTING)?.unwrap_or_default();
        Ok(PeerContact::decode_list(&stored, MAX_CONTACTS).unwrap_or_default())
    }

    /// Adds or updates contacts. Only the process that connects may call it.
    pub(crate) fn add_contacts(
        &self,
        contacts: impl IntoIterator<Item = PeerContact>,
    ) -> Result<(), PeerError> {
        let mut known = self.contacts()?;
        let mut is_changed = false;
        for contact in contacts.into_iter().filter(|contact| contact.peer != self.id()) {
            match known.iter().position(|known| known.peer == contact.peer) {
                Some(at) if contact.is_newer_than(&known[at]) => known[at] = contact,
                Some(_) => continue,
                None => {
                    if known.len() >= MAX_CONTACTS {
                        self.drop_ended(&mut known)?;
                    }
                    if known.len() >= MAX_CONTACTS {
                        continue;
                    }
                    known.push(contact);
                }
            }
            is_changed = true;
        }
        if is_changed {
            self.store().set_meta(CONTACTS_SETTING, &PeerContact::encode_list(&known))?;
        }
        Ok(())
    }

    /// Removes the contacts whose certificates have expired or were blocked.
    fn drop_ended(&self, contacts: &mut Vec<PeerContact>) -> Result<(), PeerError> {
        let mut kept = Vec::with_capacity(contacts.len());
        for contact in contacts.drain(..) {
            let is_current = match contact.certificate() {
                Some(certificate) => self.check_current(certificate)?.is_ok(),
                None => true,
            };
            if is_current {
                kept.push(contact);
            }
        }
        *contacts = kept;
        Ok(())
    }

    /// Checks a contact that another peer passed on: its own signature, and its certificate.
    pub(crate) fn check_contact(&self, contact: &PeerContact) -> Result<bool, PeerError> {
        let owner = self.owner()?.ok_or(PeerError::NotShared)?;
        let Some(certificate) = contact.checked_certificate(owner, self.workspace_id()) else {
            return Ok(false);
        };
        Ok(self.check_current(certificate)?.is_ok())
    }

    /// Returns what a person said of a peer.
    pub fn note(&self, peer: PeerId) -> Result<PeerNote, PeerError> {
        let stored = self.store().get_meta(&format!("{NOTE_SETTING}{peer}"))?;
        Ok(stored.and_then(|stored| serde_json::from_slice(&stored).ok()).unwrap_or_default())
    }

    /// Changes what a person says of a peer.
    pub(crate) fn set_note(&self, peer: PeerId, note: &PeerNote) -> Result<(), PeerError> {
        let text = serde_json::to_vec(note).expect("strings and flags are JSON");
        Ok(self.store().set_meta(&format!("{NOTE_SETTING}{peer}"), &text)?)
    }

    /// Gives a name to a peer.
    pub fn rename(&self, peer: PeerId, name: &str) -> Result<(), PeerError> {
        let is_valid = !name.trim().is_empty()
            && name.chars().count() <= MAX_NAME_LEN
            && !name.chars().any(char::is_control);
        if !is_valid {
            return Err(PeerError::NoPeer(name.to_owned(), "the name is empty or too long"));
        }
        let note = PeerNote { name: Some(name.to_owned()), ..self.note(peer)? };
        self.set_note(peer, &note)
    }

    /// Returns the peer with a name, or whose id begins with these digits.
    pub(crate) fn find_peer(&self, text: &str) -> Result<PeerId, PeerError> {
        if let Ok(peer) = text.parse() {
            return Ok(peer);
        }
        let mut found = Vec::new();
        for contact in self.contacts()? {
            let is_named = self.note(contact.peer)?.name.as_deref() == Some(text)
                || contact.label() == Some(text);
            let is_prefix = text.len() >= 4 && contact.peer.to_string().starts_with(text);
            if is_named || is_prefix {
                found.push(contact.peer);
            }
        }
        match found[..] {
            [peer] => Ok(peer),
            [] => Err(PeerError::NoPeer(text.to_owned(), "no peer has this name or id")),
            _ => Err(PeerError::NoPeer(text.to_owned(), "several peers have this name or id")),
        }
    }

    /// Returns the ticket of a peer or with an id, to block all keys that it admitted.
    pub(crate) fn find_ticket(&self, text: &str) -> Option<TicketId> {
        let mut bytes = [0; GRANT_ID_LEN];
        let digits = text.as_bytes();
        if digits.len() != 2 * GRANT_ID_LEN {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| (digit as char).to_digit(16);
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Some(TicketId::from_bytes(bytes))
    }
}

fn random_ticket_id() -> TicketId {
    let mut id = [0; GRANT_ID_LEN];
    id.copy_from_slice(&random_seed()[..GRANT_ID_LEN]);
    TicketId::from_bytes(id)
}

/// Reads a secret key of a store, which is created if there is none.
fn read_secret(store: &dyn Store, name: &str) -> Result<PeerSecretKey, PeerError> {
    let seed = store.init_secret(name, &random_seed())?;
    let damaged = |_| PeerError::Io(std::io::Error::other(format!("the secret {name} is damaged")));
    Ok(PeerSecretKey::from_seed(seed.try_into().map_err(damaged)?))
}
