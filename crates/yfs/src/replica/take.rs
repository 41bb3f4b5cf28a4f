//! Taking in what was logged in another store.

use std::collections::BTreeSet;

use parking_lot::MutexGuard;
use yfs_engine::{
    gate::{Refusal, inspect},
    id::FileId,
};
use yfs_store::{Batch, DocName, Seq};

use crate::{
    Workspace,
    error::{Result, WorkspaceError},
    pool::{DocHandle, Loaded},
    port::DocPort,
    shared::Shared,
};

/// The setting of the store that says that something was erased for good somewhere in it.
const REDACTIONS_SETTING: &str = "redactions";

/// What came of taking updates in.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Taken {
    /// The records that it made, so that a [`Feed`](super::Feed) need not send them back.
    pub logged: Vec<Seq>,
    /// How many updates brought something new.
    pub n_new: u64,
    /// Which documents changed, the main document not among them.
    pub changed: BTreeSet<FileId>,
    /// Which rows changed.
    pub rows: BTreeSet<FileId>,
    /// What was refused, and why; it is in quarantine.
    pub refused: Vec<(FileId, Refusal)>,
    /// Documents of which there is no file. What was sent for them was not taken.
    pub unknown: BTreeSet<FileId>,
}

/// An update that was logged in another store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Which document it is of.
    pub doc: FileId,
    /// The update.
    pub update: Vec<u8>,
    /// Whether it can hardly be known here.
    pub is_new: bool,
}

impl Workspace {
    /// Takes in updates that were logged in another store of this workspace. When it returns they are in
    /// this log.
    ///
    /// A content document that is not in memory is not loaded for it, unless the update may be known already
    /// or something was once erased for good.
    ///
    /// # Errors
    ///
    /// If the log takes nothing; then what was taken before may be taken again.
    pub fn take(&self, updates: &[Arrival]) -> Result<Taken> {
        self.shared.check_writable()?;
        let mut taken = Taken::default();
        let (mains, contents): (Vec<&Arrival>, Vec<&Arrival>) =
            updates.iter().partition(|arrival| arrival.doc == self.shared.id);
        for arrival in mains {
            self.take_main(&arrival.update, &mut taken)?;
        }
        let is_clean = self.shared.store.get_meta(REDACTIONS_SETTING)?.is_none();
        let mut unread = Vec::new();
        for Arrival { doc, update, is_new } in contents {
            let is_first =
                || Ok::<_, WorkspaceError>(self.shared.store.doc_head(&doc.into())? == Seq::ZERO);
            let may_pass =
                is_clean && (*is_new || is_first()?) && !self.shared.is_converted(doc)?;
            if !self.shared.is_file(doc) {
                taken.unknown.insert(doc.clone());
                continue;
            }
            match inspect(update, &self.shared.options.limits) {
                Err(refusal) => self.refuse(doc, update, refusal, &mut taken)?,
                Ok(inspected) => {
                    if inspected.has_conversions {
                        self.shared.note_converted([doc])?;
                    }
                    if may_pass && !inspected.has_redactions && !inspected.has_conversions {
                        unread.push((doc, update));
                    } else {
                        self.take_content(doc, update, &mut taken)?;
                    }
                }
            }
        }
        self.take_unread(&unread, &mut taken)?;
        Ok(taken)
    }

    /// Puts contents where their files' names say, of those that [`take`](Self::take) changed and that were
    /// kept in another way before: what somebody wrote meanwhile where the content was.
    ///
    /// It is for whoever others meet at. What several merge by themselves may be there twice (decision 23).
    pub fn settle(&self, taken: &Taken) -> Result<()> {
        let ids: BTreeSet<&FileId> = taken.rows.iter().chain(&taken.changed).collect();
        for id in ids {
            if self.shared.is_file(id) && self.shared.is_converted(id)? {
                match self.shared.settle_content(id) {
                    // What cannot be settled stays as it is, and is listed among the conflicts.
                    Ok(()) | Err(WorkspaceError::Content(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn take_main(&self, update: &[u8], taken: &mut Taken) -> Result<()> {
        match self.shared.receive_main(update, None) {
            Ok(Some((seq, rows))) => {
                taken.logged.push(seq);
                taken.rows.extend(rows);
                taken.n_new += 1;
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(WorkspaceError::Refused(refusal)) => {
                let id = self.shared.id.clone();
                self.refuse(&id, update, refusal, taken)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes an update into a document that is loaded for it.
    fn take_content(&self, doc: &FileId, update: &[u8], taken: &mut Taken) -> Result<()> {
        match DocPort::of_content(&self.shared, doc).receive_logged(update) {
            Ok(Some(seq)) => {
                taken.logged.push(seq);
                taken.n_new += 1;
                taken.changed.insert(doc.clone());
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(WorkspaceError::Refused(refusal)) => self.refuse(doc, update, refusal, taken),
            Err(error) => Err(error),
        }
    }

    /// Logs updates of documents without loading them; those that are in memory take them at once.
    fn take_unread(&self, unread: &[(&FileId, &Vec<u8>)], taken: &mut Taken) -> Result<()> {
        let ids: BTreeSet<&FileId> = unread.iter().map(|(doc, _)| *doc).collect();
        let handles: Vec<DocHandle> =
            ids.into_iter().map(|id| self.shared.pool.acquire(id)).collect();
        let mut loaded = BTreeSet::new();
        {
            // Who locks several documents holds the log.
            let _log = self.shared.hold_log();
            let mut locks: Vec<(&DocHandle, MutexGuard<'_, Option<Loaded>>)> = Vec::new();
            for handle in &handles {
                let slot = handle.slot();
                if slot.is_some() {
                    loaded.insert(handle.id().clone());
                } else {
                    // Whoever loads it waits until the log has the update.
                    locks.push((handle, slot));
                }
            }
            let absent = unread.iter().filter(|(doc, _)| !loaded.contains(*doc));
            let batch: Vec<(DocName, Vec<u8>)> =
                absent.map(|(doc, update)| (DocName::from(*doc), (*update).clone())).collect();
            self.log_unread(batch, taken)?;
        }
        for handle in &handles {
            if !loaded.contains(handle.id()) {
                taken.changed.insert(handle.id().clone());
                self.shared.content_arrived(handle.id());
            }
        }
        drop(handles);
        for (doc, update) in unread {
            if loaded.contains(*doc) {
                self.take_content(doc, update, taken)?;
            } else {
                // What was made to lock it is of no more use.
                self.shared.pool.close(doc);
            }
        }
        Ok(())
    }

    fn log_unread(&self, batch: Vec<(DocName, Vec<u8>)>, taken: &mut Taken) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        taken.n_new += batch.len() as u64;
        let docs: Vec<DocName> = batch.iter().map(|(doc, _)| doc.clone()).collect();
        let appended = self.shared.store.append(Batch::new(batch, self.shared.now()))?;
        taken.logged.extend((appended.first.0..=appended.last.0).map(Seq));
        self.shared.written.lock().extend(docs);
        Ok(())
    }

    fn refuse(
        &self,
        doc: &FileId,
        update: &[u8],
        refusal: Refusal,
        taken: &mut Taken,
    ) -> Result<()> {
        let (name, now) = (DocName::from(doc), self.shared.now());
        self.shared.store.quarantine(&name, update, &refusal.to_string(), now)?;
        taken.refused.push((doc.clone(), refusal));
        Ok(())
    }
}

impl Shared {
    /// Notes that files are kept in another way from now on than they were.
    pub(crate) fn note_converted<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a FileId>,
    ) -> Result<()> {
        let keys: Vec<String> = ids.into_iter().map(converted_key).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        Ok(self.store.note_first_seen(&keys, self.now())?)
    }

    /// Tells whether a file was ever kept in another way, as far as this store saw it.
    fn is_converted(&self, id: &FileId) -> Result<bool> {
        Ok(self.store.first_seen(&converted_key(id))?.is_some())
    }

    /// Notes that something was erased for good: from now on, no update is logged unread.
    pub(crate) fn note_redaction(&self) -> Result<()> {
        Ok(self.store.set_meta(REDACTIONS_SETTING, b"1")?)
    }
}

fn converted_key(id: &FileId) -> String {
    format!("converted:{id}")
}
