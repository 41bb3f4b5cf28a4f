//! Redaction: erases content for good that a file had and no longer has.
//!
//! The document gets a record of the erased content and its author. The record replicates; every
//! peer that has it erases the content by itself (`yfs_engine::content`). Here the log is compacted
//! at once, so that neither snapshot nor records contain the content, blobs that nothing else names
//! are removed, and the store is wiped.
//!
//! Backups, exports and copies that others made are out of reach.

use std::collections::BTreeSet;

use yfs_engine::{
    content::{ContentDoc, ErasableContent, RunAuthor},
    gate::ErasableItems,
    hash::ContentHash,
    path::VPath,
    time::Millis,
};
use yfs_store::{CompactionOutcome, DocName};
use yfs_vfs::{FsCode, FsError, Op};

use super::versions::{StoredVersion, list, numbers_of_texts};
use crate::{
    History,
    error::{Result, WorkspaceError},
    fs::{ContentLocation, ResolvedFile},
    replica::conversion_notes::note_redaction,
    workspace::trash::blobs_named_beside,
};

/// How often compaction is retried while other processes compact the same document.
const MAX_ATTEMPTS: usize = 16;

/// The content to erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedactionScope {
    /// All earlier content of the file that it does not have now.
    History,
    /// The content of one version that the file does not have now.
    Version(u64),
}

/// The content that a redaction erases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedactionReport {
    /// The pieces of text, each as it was typed.
    pub pieces: Vec<String>,
    /// The number of their characters, in UTF-16 units as in Yjs.
    pub n_units: u64,
    /// The blobs.
    pub blobs: Vec<ContentHash>,
    /// Those of the blobs that stay because a row or version elsewhere names them.
    pub kept: Vec<ContentHash>,
    /// The versions that stay readable and have some of the requested content, which therefore
    /// stays: values of front matter and remembered source of markdown, which versions share.
    pub held_by: Vec<u64>,
}

/// The record of one redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedactionInfo {
    /// Its author, time and reason.
    pub author: RunAuthor,
    /// The number of erased characters, in UTF-16 units as in Yjs.
    pub n_units: u64,
    /// The number of erased blobs.
    pub n_blobs: usize,
}

impl History<'_> {
    /// Returns the content that a redaction would erase; changes nothing.
    ///
    /// # Errors
    ///
    /// Fails with `EINVAL` if there is no such version; with `EPERM` if it is the current content.
    pub fn redactable(&self, path: &VPath, scope: RedactionScope) -> Result<RedactionReport> {
        let found = self.resolve_target(path)?;
        let handle = self.state.documents.acquire(&found.id);
        let (erasable, hashes) = handle.with(|loaded| -> Result<_> {
            let mut repaired = loaded.doc.repaired()?;
            let doc = repaired.as_mut().unwrap_or(&mut loaded.doc);
            let erasable = self.erasable(doc, &found, path, scope)?;
            let hashes = hashes(doc, &erasable);
            Ok((erasable, hashes))
        })??;
        self.describe(&found, &erasable, hashes)
    }

    /// Erases content for good: from the document, from the log, and from the store's files.
    ///
    /// The text stays the same, and so does every version without any of the content. Other
    /// versions can no longer be read.
    ///
    /// # Errors
    ///
    /// Fails as [`redactable`](Self::redactable) does. If readers prevent wiping the store, it
    /// fails with [`yfs_store::StoreError::Locked`]: the content is erased then, but its bytes may
    /// still be in a file; [`compact`](crate::Maintenance::compact) wipes as well.
    pub fn redact(
        &self,
        path: &VPath,
        scope: RedactionScope,
        reason: Option<&str>,
    ) -> Result<RedactionReport> {
        self.state.check_writable()?;
        let found = self.resolve_target(path)?;
        let mut author = self.author();
        if let Some(reason) = reason {
            author = author.with_label(reason);
        }
        if matches!(found.location, ContentLocation::Blob(_)) && self.is_of_text(&found, scope)? {
            // Text from before the file became a blob is not visible to readers and counts as
            // deleted.
            let emptied = |doc: &mut ContentDoc| Ok(doc.write("", None, &author)?.update);
            self.state.annotate(&found.id, emptied)?;
        }
        // Edits that are still to be merged cannot be distinguished from content to erase.
        if found.location == ContentLocation::Text {
            self.state.annotate(&found.id, |doc| Ok(doc.repair()?))?;
        }
        note_redaction(self.state)?;
        let mut redacted = None;
        self.state.annotate(&found.id, |doc| {
            let erasable = self.erasable(doc, &found, path, scope)?;
            let hashes = hashes(doc, &erasable);
            let update = doc.redact(&erasable, &author)?;
            redacted = Some((erasable, hashes));
            Ok(update)
        })?;
        let Some((erasable, hashes)) = redacted else { return Ok(RedactionReport::default()) };
        if erasable.is_empty() {
            return Ok(RedactionReport::default());
        }
        self.state.compact_fully(&DocName::from(&found.id))?;
        // An equal blob that is put after this is new work of a writer.
        let mark = self.state.store.blob_mark()?;
        let redacted = self.describe(&found, &erasable, hashes)?;
        let gone: BTreeSet<&ContentHash> =
            redacted.blobs.iter().filter(|hash| !redacted.kept.contains(hash)).collect();
        if !gone.is_empty() {
            let any_time = Millis(i64::MAX);
            self.state.store.remove_blobs(mark, any_time, &|hash| !gone.contains(hash))?;
        }
        self.state.compaction.wipe(self.state)?;
        Ok(redacted)
    }

    /// Returns the records of redactions of a file.
    pub fn redactions(&self, path: &VPath) -> Result<Vec<RedactionInfo>> {
        let found = self.resolve_target(path)?;
        let redactions = self
            .state
            .documents
            .acquire(&found.id)
            .with(|loaded| loaded.doc.redactions().in_order())?;
        let info = redactions.into_iter().map(|redaction| RedactionInfo {
            author: redaction.author,
            n_units: redaction.n_units,
            n_blobs: redaction.blobs.len(),
        });
        Ok(info.collect())
    }

    /// Reports whether a redaction concerns the file's text rather than its blobs.
    fn is_of_text(&self, found: &ResolvedFile, scope: RedactionScope) -> Result<bool> {
        let RedactionScope::Version(number) = scope else { return Ok(true) };
        let listed =
            self.state.documents.acquire(&found.id).with(|loaded| list(&loaded.doc, found))?;
        let selected = listed.into_iter().find(|(info, _)| info.number == number);
        Ok(selected.is_some_and(|(_, stored)| matches!(stored, StoredVersion::Past(_))))
    }

    /// Finds the content that a redaction erases from a document.
    fn erasable(
        &self,
        doc: &mut ContentDoc,
        found: &ResolvedFile,
        path: &VPath,
        scope: RedactionScope,
    ) -> Result<ErasableContent> {
        let fail = |code| WorkspaceError::from(FsError::new(code, Op::Read, path));
        let shown = match &found.location {
            ContentLocation::Blob(blob) => Some(blob.hash),
            ContentLocation::Text => None,
        };
        let mut blobs = doc.blobs().versions();
        let number = match scope {
            RedactionScope::Version(number) => number,
            RedactionScope::History => {
                blobs.retain(|blob| {
                    Some(blob.hash) != shown && !doc.redactions().names_blob(blob.id)
                });
                let mut erasable = doc.erasable(None)?;
                erasable.blobs = blobs.into_iter().map(|blob| blob.id).collect();
                return Ok(with_listed_places(erasable, doc, found));
            }
        };
        let selected = list(doc, found).into_iter().find(|(info, _)| info.number == number);
        let (info, stored) = selected.ok_or_else(|| fail(FsCode::EINVAL))?;
        match stored {
            StoredVersion::Blob(blob) if Some(blob.hash) == shown => Err(fail(FsCode::EPERM)),
            StoredVersion::Blob(blob) => {
                let is_there = !doc.redactions().names_blob(blob.id);
                let blobs = is_there.then_some(blob.id).into_iter().collect();
                Ok(ErasableContent::of_blobs(blobs))
            }
            StoredVersion::Past(_) if info.current => Err(fail(FsCode::EPERM)),
            StoredVersion::Past(index) => {
                let version = doc.timeline().version(index).ok_or_else(|| fail(FsCode::EINVAL))?;
                let erasable = doc.erasable(Some(&version))?;
                Ok(with_listed_places(erasable, doc, found))
            }
        }
    }

    fn describe(
        &self,
        found: &ResolvedFile,
        erasable: &ErasableContent,
        blobs: Vec<ContentHash>,
    ) -> Result<RedactionReport> {
        let text = |piece: &ErasableItems| piece.text.clone();
        let kept = if blobs.is_empty() {
            Vec::new()
        } else {
            let named = blobs_named_beside(self.state, &found.id, &erasable.blobs)?;
            // Updates that wait for others may name any blob.
            let is_kept =
                |hash: &&ContentHash| named.as_ref().is_none_or(|named| named.contains(*hash));
            blobs.iter().filter(is_kept).copied().collect()
        };
        Ok(RedactionReport {
            pieces: join_pieces(&erasable.pieces, text),
            n_units: erasable.n_units(),
            blobs,
            kept,
            held_by: erasable.held_by.iter().map(|index| *index as u64 + 1).collect(),
        })
    }
}

impl crate::state::WorkspaceState {
    /// Compacts a document, and retries until no other process does so at the same time.
    pub(crate) fn compact_fully(&self, doc: &DocName) -> Result<()> {
        for _ in 0..MAX_ATTEMPTS {
            if self.compaction.compact_doc(self, doc)? != CompactionOutcome::Raced {
                return Ok(());
            }
        }
        Err(FsError::bare(FsCode::EBUSY, Op::Read).into())
    }
}

/// Replaces the places of versions in the timeline by those in the list of all versions.
fn with_listed_places(
    mut erasable: ErasableContent,
    doc: &ContentDoc,
    found: &ResolvedFile,
) -> ErasableContent {
    let numbers = numbers_of_texts(doc, found);
    let places = erasable.held_by.iter().filter_map(|index| numbers.get(*index));
    erasable.held_by = places.map(|number| *number as usize - 1).collect();
    erasable
}

/// Joins consecutive pieces.
fn join_pieces(pieces: &[ErasableItems], text: impl Fn(&ErasableItems) -> String) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    let mut last: Option<&ErasableItems> = None;
    for piece in pieces {
        let follows = last.is_some_and(|last| {
            last.range.client == piece.range.client && last.range.end() == piece.range.start
        });
        match joined.last_mut() {
            Some(before) if follows => before.push_str(&text(piece)),
            _ => joined.push(text(piece)),
        }
        last = Some(piece);
    }
    joined
}

fn hashes(doc: &ContentDoc, erasable: &ErasableContent) -> Vec<ContentHash> {
    let blobs = doc.blobs().versions().into_iter();
    let named = blobs.filter(|blob| erasable.blobs.contains(&blob.id)).map(|blob| blob.hash);
    let named: BTreeSet<ContentHash> = named.collect();
    named.into_iter().collect()
}
