//! The registers of a document, and the view through which this process writes them.

use super::{
    ContentError, ErasableContent, NewBlob, RunAuthor,
    aside::StrandedWords,
    blobs::BlobVersions,
    convert::ConversionHistory,
    label::VersionLabels,
    log::AuthorLog,
    moved_words::CarriedWords,
    redact::RedactionRecords,
    replica::{ContentReplica, LocalChange},
    rich::RichCache,
    timeline::Timeline,
};
use crate::{
    gate::{RootIx, UpdateScan},
    id::{ClientId, ItemId},
};

/// What a document holds beside its text. No register knows another.
#[derive(Debug, Default)]
pub(super) struct ContentRegisters {
    pub(super) log: AuthorLog,
    pub(super) blobs: BlobVersions,
    pub(super) labels: VersionLabels,
    pub(super) redactions: RedactionRecords,
    pub(super) aside: StrandedWords,
}

/// A view of a document that writes its registers.
///
/// Each call is one transaction and drops the caches that depend on it. The update that it returns
/// must be logged and sent; it is `None` if nothing changed. Each call fails with
/// [`ContentError::Refused`] if the document cannot be edited at all.
#[derive(Debug)]
pub struct RegisterEditor<'a> {
    pub(super) replica: &'a mut ContentReplica,
    pub(super) registers: &'a mut ContentRegisters,
    pub(super) rich: &'a mut RichCache,
    pub(super) conversions: &'a mut ConversionHistory,
}

impl ContentRegisters {
    /// Returns the timeline of the document.
    pub(super) fn timeline<'a>(
        &'a self,
        replica: &'a ContentReplica,
        conversions: &'a ConversionHistory,
    ) -> Timeline<'a> {
        let Self { log, labels, redactions, .. } = self;
        Timeline { replica, log, labels, redactions, conversions }
    }

    /// Adds and removes the elements that an update of a peer inserted and deleted.
    pub(super) fn absorb(&mut self, scan: &UpdateScan) {
        for (element, value) in scan.values() {
            let (id, value) = (element.id, value.to_any());
            match element.root {
                RootIx::Log => self.log.insert(id, &value),
                RootIx::Blobs => self.blobs.insert(id, &value),
                RootIx::Labels => self.labels.insert(id, &value),
                RootIx::Redactions => self.redactions.insert(id, &value),
                _ => {}
            }
        }
        for range in &scan.deleted {
            self.log.remove(range.client, range.start, range.end());
            self.blobs.remove(range.client, range.start, range.end());
            self.labels.remove(range.client, range.start, range.end());
        }
    }
}

impl RegisterEditor<'_> {
    /// Records on whose behalf another client writes, from a clock on.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`].
    pub fn attribute(
        &mut self,
        client: ClientId,
        from: u32,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.commit(|replica, registers| registers.log.attribute(replica, client, from, author))
    }

    /// Lists a new version of content that is kept by reference. It replaces all current ones.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`].
    pub fn add_blob_version(
        &mut self,
        blob: &NewBlob,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.commit(|replica, registers| registers.blobs.add(replica, blob, author))
    }

    /// Labels the current version; with `blob`, the given version of a blob.
    ///
    /// # Errors
    ///
    /// [`ContentError::BadLabel`] if the name is empty, too long or several lines;
    /// [`ContentError::Refused`].
    pub fn add_label(
        &mut self,
        name: &str,
        blob: Option<ItemId>,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.commit(|replica, registers| {
            let note = registers.log.note_of(replica);
            registers.labels.add(replica, name, blob, author, &note)
        })
    }

    /// Removes all labels with a name; does nothing if there are none.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`].
    pub fn remove_label(&mut self, name: &str) -> Result<Option<Vec<u8>>, ContentError> {
        self.commit(|replica, registers| registers.labels.remove_named(replica, name))
    }

    /// Records words that arrived in deleted blocks. Returns `None` if all are recorded.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`].
    pub fn record_aside(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        if !self.registers.aside.has_unrecorded() {
            return Ok(None);
        }
        self.commit(|replica, registers| registers.aside.record(replica))
    }

    /// Records that words followed their block.
    pub(super) fn record_carried(
        &mut self,
        words: &CarriedWords,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.commit(|replica, registers| registers.aside.record_carried(replica, words))
    }

    /// Removes the words that were set aside, because they were put back.
    pub(super) fn clear_aside(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        self.commit(|replica, registers| registers.aside.clear(replica))
    }

    /// Adds a record of content to erase. It erases nothing yet.
    pub(super) fn add_redaction(
        &mut self,
        erasable: &ErasableContent,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.commit(|replica, registers| registers.redactions.add(replica, erasable, author))
    }

    /// Makes one change, drops the caches that depend on it, and returns the update.
    pub(super) fn commit(
        &mut self,
        write: impl FnOnce(
            &mut ContentReplica,
            &mut ContentRegisters,
        ) -> Result<LocalChange, ContentError>,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.replica.gate.health()?;
        let change = write(self.replica, self.registers).inspect_err(|_| {
            self.replica.drop_caches();
            self.rich.clear();
            self.conversions.forget();
        })?;
        self.conversions.forget();
        self.rich.note_change(change.deleted);
        Ok(change.update)
    }
}
