//! The signed messages that a peer without the right to write keeps, so that it can pass them on.
//!
//! A peer that may write vouches for all that it accepted, with its own signature. One that may
//! only read can't: it passes on what others signed, unchanged. The list only grows.

use yfs::Workspace;
use yfs_engine::lib0::{Lib0Error, Lib0Reader, write_buffer};
use yfs_store::StoreError;
use yfs_sync::wire::{Usual, WireCodec};

use crate::{peer_error::PeerError, peer_grant::PeerCertificate, peer_key::SIGNATURE_LEN};

/// The setting with the random name of the list.
const EPOCH_SETTING: &str = "peer.carry.epoch";

/// The beginning of the settings with the messages, numbered from 0.
const ENTRY_SETTING: &str = "peer.carry.entry.";

/// The beginning of the settings that name the messages that are in the list.
const KNOWN_SETTING: &str = "peer.carry.known.";

/// The setting with a number that the list has at least.
const LEN_SETTING: &str = "peer.carry.len";

/// The beginning of the settings with the positions in the lists of others.
const POSITION_SETTING: &str = "peer.carried.";

/// A message with updates, and who vouches for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CarriedBatch {
    pub(crate) certificate: PeerCertificate,
    pub(crate) signature: [u8; SIGNATURE_LEN],
    pub(crate) frame: Vec<u8>,
}

/// The list of one store.
#[derive(Debug)]
pub(crate) struct CarriedList {
    workspace: Workspace,
    epoch: u64,
}

impl CarriedBatch {
    /// Returns the name of the message: what differs between two messages of any signers.
    pub(crate) fn id(&self) -> [u8; 32] {
        *blake3::hash(&self.signature).as_bytes()
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.frame.len() + 1024);
        write_buffer(&mut out, &self.certificate.encode());
        out.extend_from_slice(&self.signature);
        out.extend_from_slice(&self.frame);
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, Lib0Error> {
        let mut reader = Lib0Reader::new(bytes);
        let certificate = PeerCertificate::decode(reader.buffer()?)?;
        let signature = Usual::read(&mut reader)?;
        let frame = reader.take(reader.remaining())?.to_vec();
        Ok(Self { certificate, signature, frame })
    }
}

impl CarriedList {
    /// Opens the list of a store, which is created if there is none.
    pub(crate) fn of(workspace: &Workspace) -> Result<Self, PeerError> {
        let random = getrandom::u64().expect("the operating system has a random source") >> 11;
        let epoch = workspace.store().init_meta(EPOCH_SETTING, random.to_string().as_bytes())?;
        let epoch = std::str::from_utf8(&epoch).ok().and_then(|text| text.parse().ok());
        Ok(Self { workspace: workspace.clone(), epoch: epoch.unwrap_or_default() })
    }

    /// Returns the name of the list.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Appends a message unless the list has it.
    pub(crate) fn append(&self, batch: &CarriedBatch) -> Result<(), StoreError> {
        let store = self.workspace.store();
        let known: String = batch.id()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let known = format!("{KNOWN_SETTING}{known}");
        if store.get_meta(&known)?.is_some() {
            return Ok(());
        }
        let bytes = batch.encode();
        let mut number = self.len()?;
        // Several connections may append at the same time.
        while store.init_meta(&format!("{ENTRY_SETTING}{number}"), &bytes)? != bytes {
            number += 1;
        }
        store.set_meta(LEN_SETTING, (number + 1).to_string().as_bytes())?;
        store.set_meta(&known, b"1")
    }

    /// Returns the number of messages, or a little less.
    fn len(&self) -> Result<u64, StoreError> {
        let stored = self.workspace.store().get_meta(LEN_SETTING)?;
        let text = stored.and_then(|stored| String::from_utf8(stored).ok());
        Ok(text.and_then(|text| text.parse().ok()).unwrap_or_default())
    }

    /// Returns the message at a position, if there is one.
    pub(crate) fn get(&self, position: u64) -> Result<Option<CarriedBatch>, StoreError> {
        let stored = self.workspace.store().get_meta(&format!("{ENTRY_SETTING}{position}"))?;
        Ok(stored.and_then(|stored| CarriedBatch::decode(&stored).ok()))
    }

    /// Returns the position in the list of a peer up to which this store has its messages, with the
    /// name of that list.
    pub(crate) fn position_of(&self, peer: &str) -> Result<(u64, u64), StoreError> {
        let stored = self.workspace.store().get_meta(&format!("{POSITION_SETTING}{peer}"))?;
        let text = stored.and_then(|stored| String::from_utf8(stored).ok()).unwrap_or_default();
        let parse = || {
            let (epoch, position) = text.split_once(' ')?;
            Some((epoch.parse().ok()?, position.parse().ok()?))
        };
        Ok(parse().unwrap_or_default())
    }

    /// Sets that position.
    pub(crate) fn set_position_of(
        &self,
        peer: &str,
        epoch: u64,
        position: u64,
    ) -> Result<(), StoreError> {
        let text = format!("{epoch} {position}");
        self.workspace.store().set_meta(&format!("{POSITION_SETTING}{peer}"), text.as_bytes())
    }
}
