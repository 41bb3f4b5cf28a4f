//! Content by reference: the array `fs:blobs` of a content document.
//!
//! Content that is not text is kept in the store by its hash; the document only lists its versions.
//! Each version names the versions that its writer knew and replaced. So concurrent versions are
//! recognized, and neither is lost.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use yrs::{Any, Array as _, Number, WriteTxn as _};

use super::{
    ContentError, RunAuthor, log,
    replica::{ContentReplica, LocalChange},
};
use crate::{
    actor::Actor,
    gate::{RootIx, read_state_vector},
    hash::ContentHash,
    id::{ClientId, ItemId},
    lib0::as_number,
    step::StepId,
    time::Millis,
};

/// The greatest number of replaced versions that an entry names.
const MAX_REPLACED: usize = 64;

/// The maximum length of the state vector in an entry, in bytes. A longer one is left out.
const MAX_KNEW_LEN: usize = 4096;

/// The greatest length of a MIME type that we read, in bytes.
const MAX_MIME_LEN: usize = 255;

/// One version of content that is kept by reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobVersion {
    /// The item that lists it.
    pub id: ItemId,
    /// The hash of the content.
    pub hash: ContentHash,
    /// The size of the content in bytes.
    pub size: u64,
    /// The MIME type, if its writer knew.
    pub mime: Option<SmolStr>,
    /// When it was written.
    pub at: Millis,
    /// On whose behalf.
    pub actor: Option<Actor>,
    /// The label of the change.
    pub label: Option<SmolStr>,
    /// The step that the change is part of.
    pub step: Option<StepId>,
    /// The versions that its writer saw and replaced.
    pub replaces: Vec<ItemId>,
    /// The encoded state vector of the document before, if it had text.
    ///
    /// Invariant: it can be read.
    pub(super) knew: Option<Vec<u8>>,
}

/// Content that is to be listed as a new version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBlob {
    /// The hash of the content.
    pub hash: ContentHash,
    /// The size of the content in bytes.
    pub size: u64,
    /// The MIME type, if it is known.
    pub mime: Option<SmolStr>,
}

/// The versions of content that one document keeps by reference.
#[derive(Debug, Default)]
pub struct BlobVersions {
    versions: BTreeMap<ItemId, BlobVersion>,
}

impl BlobVersions {
    /// Adds an element of `fs:blobs`. Elements that are not versions are ignored.
    pub(super) fn insert(&mut self, id: ItemId, value: &Any) {
        if let Some(version) = parse(id, value) {
            self.versions.insert(id, version);
        }
    }

    /// Lists a new version, which replaces all current ones.
    pub(super) fn add(
        &mut self,
        replica: &mut ContentReplica,
        blob: &NewBlob,
        author: &RunAuthor,
    ) -> Result<LocalChange, ContentError> {
        let has_text = replica.has_text() || replica.has_rich();
        let knew = has_text.then(|| replica.gate.state_vector());
        let value = to_any(blob, author, &self.heads(), knew);
        let (id, element) = (replica.next_item(), value.clone());
        let ((), change) = replica.edit(|txn| {
            let array = txn.get_or_insert_array(RootIx::Blobs.name());
            array.push_back(txn, element);
        });
        replica.gate.health()?;
        self.insert(id, &value);
        Ok(change)
    }

    /// Removes deleted versions.
    pub(super) fn remove(&mut self, client: ClientId, start: u32, end: u32) {
        let is_gone = |id: &ItemId| id.client == client && (start..end).contains(&id.clock);
        self.versions.retain(|id, _| !is_gone(id));
    }

    /// Returns the versions, oldest first: each behind those that it replaces.
    pub fn versions(&self) -> Vec<BlobVersion> {
        // A version is one level above the highest that it replaces. A cycle, which only a
        // malicious peer can make, ends where a version would be visited twice.
        let mut levels: BTreeMap<ItemId, usize> = BTreeMap::new();
        for _ in 0..self.versions.len() {
            let mut settled = true;
            for version in self.versions.values() {
                let level = |id: &ItemId| levels.get(id).map_or(0, |level| level + 1);
                let above = version.replaces.iter().map(level).max().unwrap_or(0);
                let known = self.versions.len().min(above);
                settled &= levels.insert(version.id, known) == Some(known);
            }
            if settled {
                break;
            }
        }
        let mut versions: Vec<_> = self.versions.values().cloned().collect();
        versions.sort_by_key(|version| (levels[&version.id], version.at, version.id));
        versions
    }

    /// Returns the versions that no other replaces, the latest last. More than one is a conflict.
    pub fn heads(&self) -> Vec<BlobVersion> {
        let is_replaced = |version: &BlobVersion| {
            let mut others = self.versions.values().filter(|other| other.id != version.id);
            others.any(|other| other.replaces.contains(&version.id))
        };
        let mut heads: Vec<_> =
            self.versions.values().filter(|version| !is_replaced(version)).cloned().collect();
        heads.sort_by_key(|version| (version.at, version.id));
        heads
    }
}

/// Returns the element that lists a version.
fn to_any(
    blob: &NewBlob,
    author: &RunAuthor,
    replaced: &[BlobVersion],
    knew: Option<Vec<u8>>,
) -> Any {
    let size = Any::Number(Number::Float(blob.size as f64));
    let of_blob = [("hash", Any::from(blob.hash.to_string())), ("size", size)];
    let mime = blob.mime.as_ref().map(|mime| ("mime", Any::from(mime.as_str())));
    let latest = replaced.iter().rev().take(MAX_REPLACED);
    let latest = latest.map(|version| Any::from(write_id(version.id)));
    let latest = (!replaced.is_empty()).then(|| ("prev", Any::Array(latest.collect())));
    let knew = knew.filter(|knew| knew.len() <= MAX_KNEW_LEN);
    let knew = knew.map(|knew| ("knew", Any::Buffer(knew.into())));
    log::value(author, of_blob.into_iter().chain(mime).chain(latest).chain(knew))
}

fn parse(id: ItemId, value: &Any) -> Option<BlobVersion> {
    let Any::Map(members) = value else { return None };
    let text = |name| match members.get(name)? {
        Any::String(text) => Some(&**text),
        _ => None,
    };
    let number = |name| as_number(members.get(name)?);
    let size = number("size").filter(|size| (0.0..=9_007_199_254_740_991.0).contains(size))?;
    let replaces = match members.get("prev") {
        Some(Any::Array(ids)) => {
            let ids = ids.iter().filter_map(|id| match id {
                Any::String(id) => read_id(id),
                _ => None,
            });
            ids.collect()
        }
        _ => Vec::new(),
    };
    let (actor, label, step) = match log::parse_author(members) {
        Some(by) => (Some(by.actor), by.label, by.step),
        None => (None, None, None),
    };
    Some(BlobVersion {
        id,
        hash: text("hash")?.parse().ok()?,
        size: size as u64,
        mime: text("mime").filter(|mime| mime.len() <= MAX_MIME_LEN).map(SmolStr::new),
        at: Millis::from_f64(number("at").unwrap_or(0.0)),
        actor,
        label,
        step,
        replaces,
        knew: match members.get("knew") {
            Some(Any::Buffer(knew)) if is_vector(knew) => Some(knew.to_vec()),
            _ => None,
        },
    })
}

/// Reports whether bytes of a peer are a state vector that may be used.
fn is_vector(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_KNEW_LEN && read_state_vector(bytes).is_ok()
}

/// Writes the id of an item as text.
pub(super) fn write_id(id: ItemId) -> String {
    format!("{}:{}", id.client, id.clock)
}

/// Reads the id of an item.
pub(super) fn read_id(text: &str) -> Option<ItemId> {
    let (client, clock) = text.split_once(':')?;
    Some(ItemId::new(ClientId::new(client.parse().ok()?).ok()?, clock.parse().ok()?))
}
