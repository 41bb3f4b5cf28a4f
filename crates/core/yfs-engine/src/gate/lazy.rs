//! A yrs document that is made when it is first needed.
//!
//! The files table is read directly from the updates, so that a process that lists a directory, or
//! renames one file, never needs the yrs document: only syncing with a peer, compaction, and the
//! order of rows with equal timestamps do. Decoding 100,000 rows costs yrs as much as all other
//! work of opening a workspace.
//!
//! A content document whose first update this process built waits as well: a file that was just
//! written or imported is read from the written text, and most are never edited while they are in
//! memory.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

use yrs::{
    ClientID, Doc, OffsetKind, Options, Transact, Update, WriteTxn, updates::decoder::Decode,
};

use super::{
    base_items::{LoggedUpdates, from_log},
    limits::GateLimits,
    parse::{ParsedUpdate, StructKind},
    rewrite::must_rewrite,
    role::DocRole,
    stored_state::UnmadeUpdates,
    update_scan::IdRange,
};
use crate::id::{ClientId, FileId};

/// The number of waiting updates at which the document is made.
const MAX_WAITING: usize = 1 << 12;

/// A yrs document, and the updates to make it from.
#[derive(Debug)]
pub(super) struct LazyDoc {
    guid: FileId,
    role: DocRole,
    client: ClientId,
    waiting: Vec<Box<[u8]>>,
    /// Has all updates, instead of `waiting`.
    source: Option<(Arc<dyn LoggedUpdates>, GateLimits)>,
    made: OnceLock<BuiltDoc>,
}

/// The document, or an empty one in its place with the failure.
#[derive(Debug)]
struct BuiltDoc {
    doc: Doc,
    failure: Option<String>,
}

impl LazyDoc {
    pub(super) fn new(guid: &FileId, role: DocRole, client: ClientId) -> Self {
        let (waiting, made) = (Vec::new(), OnceLock::new());
        Self { guid: guid.clone(), role, client, waiting, source: None, made }
    }

    /// Makes a main document whose updates are in the log.
    pub(super) fn on_base(
        guid: &FileId,
        client: ClientId,
        limits: GateLimits,
        source: Arc<dyn LoggedUpdates>,
    ) -> Self {
        Self { source: Some((source, limits)), ..Self::new(guid, DocRole::Main, client) }
    }

    /// Returns the guid of the document.
    pub(super) fn guid(&self) -> &FileId {
        &self.guid
    }

    /// Makes an empty document with the settings of this one.
    pub(super) fn emptied(&self) -> Self {
        Self::new(&self.guid, self.role, self.client)
    }

    /// Returns the document; an empty one if yrs failed.
    pub(super) fn get(&self) -> &Doc {
        &self.made().doc
    }

    /// Returns the updates of a document that is still to be made; `None` if it is made, or they
    /// cannot be read.
    pub(super) fn unmade_updates(&self) -> Option<UnmadeUpdates<'_>> {
        if self.made.get().is_some() {
            return None;
        }
        Some(match &self.source {
            Some((source, _)) => Box::new(source.updates().ok()?.into_iter().map(Cow::Owned)),
            None => Box::new(self.waiting.iter().map(|update| Cow::Borrowed(&**update))),
        })
    }

    /// Returns the failure of yrs, if it is known to have failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.made.get()?.failure.as_deref()
    }

    /// Reports whether an update that is [plain](is_plain) can be kept until the document is made.
    pub(super) fn may_postpone(&self) -> bool {
        let has_room = self.source.is_some() || self.waiting.len() < MAX_WAITING;
        self.role == DocRole::Main && self.made.get().is_none() && has_room
    }

    /// Keeps an update, which was resolved, until the document is made.
    pub(super) fn postpone(&mut self, update: &[u8]) {
        if self.source.is_none() {
            self.waiting.push(update.into());
        }
    }

    /// Makes the document, if it is still to be made.
    pub(super) fn make(&mut self) {
        self.made();
        self.waiting = Vec::new();
    }

    /// Keeps the first update of the document, which this process built, until the document is
    /// made. Returns false if the update must be applied now.
    pub(super) fn begin(&mut self, update: &[u8]) -> bool {
        let may_wait = self.made.get().is_none() && self.waiting.is_empty();
        if may_wait {
            self.waiting.push(update.into());
        }
        may_wait
    }

    /// Puts an empty document in the place of this one.
    pub(super) fn empty(&mut self) {
        let doc = empty(self.guid.as_str(), self.role, ClientId::from_random(0));
        self.made = OnceLock::from(BuiltDoc { doc, failure: None });
        self.waiting = Vec::new();
    }

    /// Reports whether the document is still to be made.
    pub(super) fn is_waiting(&self) -> bool {
        self.made.get().is_none()
    }

    /// Takes the document out, made.
    ///
    /// # Errors
    ///
    /// Returns the failure of yrs.
    pub(super) fn into_made(self) -> Result<Doc, String> {
        self.made();
        let made = self.made.into_inner().expect("it was just made");
        made.failure.map_or(Ok(made.doc), Err)
    }

    fn made(&self) -> &BuiltDoc {
        self.made.get_or_init(|| {
            let made = match &self.source {
                Some((source, limits)) => {
                    from_log(&self.guid, self.client, *limits, source.as_ref())
                }
                None => {
                    let doc = empty(self.guid.as_str(), self.role, self.client);
                    let updates = decode(self.waiting.iter().map(AsRef::as_ref));
                    updates.and_then(|updates| apply(&doc, updates)).map(|_| doc)
                }
            };
            match made {
                Ok(doc) => BuiltDoc { doc, failure: None },
                Err(failure) => {
                    let doc = empty(self.guid.as_str(), self.role, ClientId::from_random(0));
                    BuiltDoc { doc, failure: Some(failure) }
                }
            }
        })
    }
}

/// Reports whether an update holds only structs that yrs reads and integrates as the gate does:
/// values in lists. Other structs may delete more than they list, or be rejected by yrs alone.
pub(super) fn is_plain(parsed: &ParsedUpdate<'_>) -> bool {
    !must_rewrite(parsed) && has_only_values(parsed)
}

/// Reports whether all structs are values in lists, deleted ones among them.
pub(super) fn has_only_values(parsed: &ParsedUpdate<'_>) -> bool {
    let is_value = |kind| matches!(kind, StructKind::Any | StructKind::Deleted | StructKind::Gc);
    parsed.structs.iter().all(|item| item.key.is_none() && is_value(item.kind))
}

/// Lets yrs decode updates.
///
/// # Errors
///
/// Returns the error of yrs as text.
pub(super) fn decode<'a>(updates: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Update>, String> {
    let decode = || updates.map(Update::decode_v1).collect::<Result<_, _>>();
    catch_unwind(AssertUnwindSafe(decode))
        .map_err(|panic| message(panic.as_ref()))?
        .map_err(|error| error.to_string())
}

/// Lets yrs apply updates in one transaction. Reports whether that changed anything, and returns
/// the deletions.
///
/// # Errors
///
/// Returns the error of yrs as text. The document must not be used again.
pub(super) fn apply(doc: &Doc, updates: Vec<Update>) -> Result<(bool, Vec<IdRange>), String> {
    let mut txn = doc.transact_mut();
    let applied = catch_unwind(AssertUnwindSafe(|| {
        for update in updates {
            txn.apply_update(update).map_err(|error| error.to_string())?;
        }
        if txn.prune_pending().is_some() {
            return Err("a complete update was left incomplete".to_owned());
        }
        let changed = txn.has_changes();
        txn.commit();
        let deleted = txn.delete_set().iter().flat_map(|(client, ranges)| {
            let client = ClientId::new(client.get()).expect("yrs masks client ids to 53 bits");
            ranges.iter().map(move |range| IdRange {
                client,
                start: range.start,
                len: range.end - range.start,
            })
        });
        Ok((changed, deleted.collect()))
    }));
    let reason = match applied {
        Ok(Ok(changed)) => return Ok(changed),
        Ok(Err(reason)) => reason,
        Err(panic) => message(panic.as_ref()),
    };
    // Dropping the transaction would commit it, and that may panic while unwinding. So the document
    // is leaked with its lock held.
    std::mem::forget(txn);
    Err(reason)
}

fn empty(guid: &str, role: DocRole, client: ClientId) -> Doc {
    Doc::with_options(Options {
        client_id: ClientID::new(client.get()),
        guid: guid.into(),
        collection_id: None,
        offset_kind: OffsetKind::Utf16,
        skip_gc: role == DocRole::Content,
        auto_load: false,
        should_load: true,
        cleanup_formatting: false,
    })
}

pub(super) fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
