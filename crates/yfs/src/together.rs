//! Changes of contents that are logged with rows, as one: what moving or copying over a file makes,
//! and a write that makes a text of a blob or a blob of a text.
//!
//! A plan says what each content is to become. Its documents are locked, edited, and stay locked
//! while the log takes rows and contents in one batch; only then is anything shown to anybody. If the
//! log does not take the batch, the documents that were edited are dropped and read again.
//!
//! # Invariants
//!
//! - Whoever locks several documents holds `log`, so that no two wait for each other.
//! - No document that was edited is unlocked before its update is logged or it is dropped.
//!
//! # Cost
//!
//! All documents of a plan are in memory at once, whatever the budget of the pool.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use parking_lot::MutexGuard;
use yfs_engine::{
    content::{Author, ContentDoc, NewBlob},
    id::FileId,
    kind::ContentKind,
};
use yfs_store::{Appended, Batch, DocFact, DocName, Seq};

use crate::{
    cache::Text,
    error::Result,
    pool::{DocHandle, Loaded, Pool},
    shared::{Plan, Shared},
};

/// A change of what a file holds. The plan writes its row as well: kind, size and time.
#[derive(Debug)]
pub(crate) struct DocEdit {
    /// The file.
    pub(crate) id: FileId,
    /// What it is to hold.
    pub(crate) becomes: Becomes,
    /// Who does it.
    pub(crate) author: Author,
    /// The last record of its document once it is made.
    head: OnceLock<Seq>,
}

/// What a file is to hold.
#[derive(Debug)]
pub(crate) enum Becomes {
    /// A text, as the least edit of what is there.
    Text(Arc<str>),
    /// Bytes that are in the store.
    Blob(NewBlob),
    /// What it holds, kept in another way.
    Kept(ContentKind),
}

/// A content that a plan was made from.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Whose content.
    pub(crate) id: FileId,
    /// The last record that was in it.
    pub(crate) head: Seq,
    /// Whether the plan moves the file over another.
    pub(crate) goes: bool,
}

/// The documents of a plan, locked.
pub(crate) struct LockedDocs<'a> {
    shared: &'a Shared,
    /// In order of their ids.
    docs: Vec<LockedDoc<'a>>,
}

struct LockedDoc<'a> {
    handle: &'a DocHandle,
    slot: MutexGuard<'a, Option<Loaded>>,
    /// As what the plan was made from it.
    seen: Option<&'a Seen>,
    /// What the plan says that it is to hold.
    target: Option<&'a DocEdit>,
    /// What was done to it and is not logged.
    edited: Option<Edited>,
}

struct Edited {
    update: Vec<u8>,
    /// The text afterwards.
    content: Arc<str>,
    /// Where the update stands in its batch.
    place: u64,
}

impl DocEdit {
    /// Says what a file is to hold.
    pub(crate) fn new(id: &FileId, becomes: Becomes, author: Author) -> Self {
        Self { id: id.clone(), becomes, author, head: OnceLock::new() }
    }

    /// Returns the last record of the document, once the edit is made.
    pub(crate) fn head(&self) -> Option<Seq> {
        self.head.get().copied()
    }

    fn make(&self, doc: &mut ContentDoc) -> Result<Option<Vec<u8>>> {
        Ok(match &self.becomes {
            Becomes::Text(text) => doc.write(text, None, &self.author)?.update,
            Becomes::Blob(blob) => doc.add_blob_version(blob, &self.author)?,
            Becomes::Kept(kind) => {
                doc.set_kind(*kind);
                doc.convert()?
            }
        })
    }
}

impl<T> Plan<T> {
    /// Returns handles on the documents that the plan reads or edits, in order of their ids.
    pub(crate) fn handles(&self, pool: &Arc<Pool>) -> Vec<DocHandle> {
        let edited = self.edits.iter().map(|edit| &edit.id);
        let ids: BTreeSet<&FileId> = edited.chain(self.seen.iter().map(|seen| &seen.id)).collect();
        ids.into_iter().map(|id| pool.acquire(id)).collect()
    }
}

impl<'a> LockedDocs<'a> {
    /// Locks and edits the documents of a plan; the caller holds `log`. Answers nothing where the
    /// plan was made from a text that has changed since.
    pub(crate) fn edit<T>(
        shared: &'a Shared,
        handles: &'a [DocHandle],
        plan: &'a Plan<T>,
    ) -> Result<Option<Self>> {
        let docs = handles.iter().map(LockedDoc::lock).collect::<Result<Vec<_>>>()?;
        let mut locked = Self { shared, docs };
        for seen in &plan.seen {
            let doc = locked.doc(&seen.id);
            doc.seen = Some(seen);
            if doc.loaded().head != seen.head {
                shared.texts.forget(&seen.id);
                return Ok(None);
            }
        }
        for edit in &plan.edits {
            let doc = locked.doc(&edit.id);
            doc.target = Some(edit);
            let update = match edit.make(&mut doc.loaded().doc) {
                Ok(update) => update,
                Err(error) => {
                    // A conversion that came before what was refused is not in the log.
                    if doc.loaded().doc.was_converted() {
                        *doc.slot = None;
                    }
                    return Err(error);
                }
            };
            let Some(update) = update else { continue };
            let content = doc.loaded().doc.text().into();
            doc.edited = Some(Edited { update, content, place: 0 });
        }
        Ok(Some(locked))
    }

    /// Adds the edits to the batch that holds the rows, and the condition that nobody changes what
    /// was read.
    pub(crate) fn add_to(&mut self, mut batch: Batch) -> Batch {
        for doc in &mut self.docs {
            let name = DocName::from(doc.handle.id());
            let (seen, head) = (doc.loaded().seen, doc.loaded().head);
            batch = match doc.seen {
                Some(_) => batch.expecting(name.clone(), seen),
                None => batch.watching(name.clone(), seen),
            };
            if let Some(edited) = &mut doc.edited {
                edited.place = batch.updates.len() as u64;
                let size = edited.content.len() as u64;
                batch.facts.push((name.clone(), DocFact { upto: head, size, hash: None }));
                batch.updates.push((name, edited.update.clone()));
            }
        }
        batch
    }

    /// Shows what was logged to everybody; with nothing, there was nothing to log.
    pub(crate) fn done(mut self, appended: Option<&Appended>) {
        for doc in &mut self.docs {
            let id = doc.handle.id();
            let mut is_overtaken = false;
            if let (Some(edited), Some(appended)) = (doc.edited.take(), appended) {
                let head = Seq(appended.first.0 + edited.place);
                doc.handle.charge(&edited.update);
                doc.handle.publish(&edited.update);
                is_overtaken = doc.handle.logged(&mut doc.slot, head, appended);
                if is_overtaken {
                    self.shared.texts.forget(id);
                    self.shared.live.forget(id);
                } else {
                    self.shared.live.set_size(id, edited.content.len() as u64);
                    self.shared.texts.put(id, &Text { content: edited.content, head });
                }
                self.shared.written.lock().insert(DocName::from(id));
            }
            if let Some(target) = doc.target {
                self.shared.settle_time(id);
                // A plan is made once. An overtaken document holds changes that its writer never read.
                if let Some(loaded) = doc.slot.as_ref().filter(|_| !is_overtaken) {
                    target.head.set(loaded.head).ok();
                }
            }
            let goes = doc.seen.is_some_and(|seen| seen.goes);
            if let (Some(appended), Some(loaded)) = (appended.filter(|_| goes), &mut *doc.slot) {
                loaded.moved_over = Some(appended.last);
            }
        }
    }

    fn doc(&mut self, id: &FileId) -> &mut LockedDoc<'a> {
        let found = self.docs.binary_search_by(|doc| doc.handle.id().cmp(id));
        &mut self.docs[found.expect("`Plan::handles` has them all")]
    }
}

impl<'a> LockedDoc<'a> {
    fn lock(handle: &'a DocHandle) -> Result<Self> {
        let slot = handle.locked()?;
        Ok(Self { handle, slot, seen: None, target: None, edited: None })
    }

    fn loaded(&mut self) -> &mut Loaded {
        self.slot.as_mut().expect("`locked` loads")
    }
}

impl Drop for LockedDoc<'_> {
    fn drop(&mut self) {
        // The document is ahead of the log: drop it, the log decides.
        if self.edited.is_some() {
            *self.slot = None;
        }
    }
}
