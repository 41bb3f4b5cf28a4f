//! How a workspace follows its log: [`WorkspaceCore::catch_up`] applies what others logged.

use std::sync::atomic::Ordering;

use yfs_engine::{gate::UpdateSource, id::FileId, main_doc::MainDoc, time::Millis};
use yfs_store::{AppendReceipt, DocName, ReloadNotice, Seq, TailPage};
use yfs_vfs::FileChange;

use crate::{
    change_events::{add_content_events, row_events},
    core::WorkspaceCore,
    error::Result,
    load_document,
};

impl WorkspaceCore {
    /// Applies the records that other processes have logged since the last call. Reports whether
    /// there were any.
    pub(crate) fn catch_up(&self) -> Result<bool> {
        let _tailing = self.tailing.lock();
        let mut any = self.replace_main_if_uncertain()?;
        while self.store.head()? > self.tailed() {
            let own = self.store.origin();
            let tail = self.store.tail(self.tailed(), &|doc, origin| {
                let is_known = || self.documents.has_slot(&FileId::from(doc));
                origin != own && (*doc == self.main_name || is_known())
            })?;
            let mut events = Vec::new();
            let applied = self.apply_page(&tail, &mut events);
            self.publish_changes(events);
            any |= applied?;
            self.tailed.fetch_max(tail.upto.0, Ordering::AcqRel);
            self.note_position();
            if !tail.more {
                break;
            }
        }
        // Applying records reads rows.
        any |= self.replace_main_if_uncertain()?;
        Ok(any)
    }

    /// Reports whether the main document had to be replaced. The caller holds `tailing`.
    fn replace_main_if_uncertain(&self) -> Result<bool> {
        let must_replace = self.must_replace_main();
        if must_replace {
            self.replace_main()?;
        }
        Ok(must_replace)
    }

    /// Replaces the main document by one that is loaded from the whole log. The caller holds
    /// `tailing`, so no transaction is planned from one document and applied to the other. Watchers
    /// must list again: what the document before reported since the damage may be incomplete.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The document before stays, and is still to be replaced.
    fn replace_main(&self) -> Result<()> {
        let writer = self.main.read().files().writer();
        let mut main = MainDoc::new(&self.id, writer, self.options.limits);
        let report = load_document::main(&*self.store, &self.main_name, &mut main)?;
        if report.is_incomplete() {
            // What cannot be read may have been written under these ids.
            main.set_writer(self.options.fresh_writer_ids());
        }
        let mut current = self.main.write();
        *current = main;
        self.is_main_uncertain.store(false, Ordering::Release);
        drop(current);
        self.features.iter().for_each(|feature| feature.main_replaced());
        Ok(())
    }

    /// Reports whether the main document read what is not certain, so that it must be replaced
    /// before its next use.
    pub(crate) fn must_replace_main(&self) -> bool {
        self.is_main_uncertain.load(Ordering::Acquire)
    }

    /// Applies all records that other processes logged before this call.
    ///
    /// # Cost
    ///
    /// One read of the log's head if there are none.
    pub(crate) fn refresh(&self) -> Result<()> {
        self.table_damage.check()?;
        self.refresh_damaged()
    }

    /// Does the same if records of the files table are damaged: for callers that do not take what
    /// is left for the workspace.
    pub(crate) fn refresh_damaged(&self) -> Result<()> {
        self.check_open()?;
        if self.must_replace_main() || self.store.head()? > self.tailed() {
            self.catch_up()?;
        }
        Ok(())
    }

    /// Returns the position up to which the log was applied.
    pub(crate) fn tailed(&self) -> Seq {
        Seq(self.tailed.load(Ordering::Acquire))
    }

    /// Skips this process's records that directly follow the applied position: no other records are
    /// in between.
    pub(crate) fn skip_own_records(&self, appended: &AppendReceipt) {
        let (before, last) = (appended.first.0 - 1, appended.last.0);
        // If other processes appended in between, `catch_up` reads the page instead.
        self.tailed.compare_exchange(before, last, Ordering::AcqRel, Ordering::Acquire).ok();
    }

    /// Applies the records of other processes, rows and contents, and adds the events. They are
    /// published once all of it is applied, so that a watcher of a row finds the content of the
    /// same page.
    fn apply_page(&self, tail: &TailPage, events: &mut Vec<FileChange>) -> Result<bool> {
        for reload in &tail.reload {
            self.reload(reload, events)?;
        }
        for record in &tail.records {
            if record.doc == self.main_name {
                self.apply_main_record(&record.data, events);
            } else {
                self.documents.acquire(&FileId::from(&record.doc)).tail(record);
            }
        }
        let others = tail.touched.iter().filter(|touched| !touched.own);
        let docs: Vec<&DocName> = others.map(|touched| &touched.doc).collect();
        let ids = docs.iter().filter(|doc| ***doc != self.main_name).map(|doc| FileId::from(*doc));
        let ids: Vec<FileId> = ids.collect();
        self.note_contents_of_others(&ids, self.now(), events);
        Ok(!docs.is_empty() || !tail.reload.is_empty())
    }

    /// Applies a document after compaction removed some of its records before they were tailed.
    fn reload(&self, reload: &ReloadNotice, events: &mut Vec<FileChange>) -> Result<()> {
        if reload.doc == self.main_name {
            let loaded = self.store.load(&reload.doc)?;
            let updates = loaded.updates.iter().map(|record| &record.data);
            for update in loaded.snapshot.iter().chain(updates) {
                self.apply_main_record(update, events);
            }
            return Ok(());
        }
        let id = FileId::from(&reload.doc);
        if self.documents.has_slot(&id) {
            self.documents.acquire(&id).reload(reload.upto)?;
        }
        self.note_contents_of_others(&[id], self.now(), events);
        Ok(())
    }

    fn apply_main_record(&self, update: &[u8], events: &mut Vec<FileChange>) {
        // The gate rejects the same records in every process.
        let received = self.main.write().receive(update, UpdateSource::Store);
        self.features.iter().for_each(|feature| feature.main_logged(self, update, false));
        if let Ok(changes) = received {
            events.extend(row_events(&self.main.read(), &changes, self.now()));
        }
        self.main_followers.publish(update);
    }

    /// Reports contents that others changed to the features, and adds their events.
    fn note_contents_of_others(&self, ids: &[FileId], now: Millis, events: &mut Vec<FileChange>) {
        self.features.iter().for_each(|feature| feature.contents_tailed(ids, now));
        add_content_events(&self.main, now, ids, None, events);
    }

    /// Passes events to the feature that keeps them.
    pub(crate) fn publish_changes(&self, mut events: Vec<FileChange>) {
        self.features.iter().for_each(|feature| feature.changed(&mut events));
    }

    /// Reports that the position in the log has moved.
    pub(crate) fn note_position(&self) {
        self.features.iter().for_each(|feature| feature.position_moved());
    }
}
