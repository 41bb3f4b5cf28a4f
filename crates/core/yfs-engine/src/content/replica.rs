//! The Yjs replica of one content document: what the body and all registers read and write.
//!
//! It knows the roots of text, but no register and no cache of content. It keeps only what every
//! part needs: the client that writes, the current version, and the plain text.

use std::sync::OnceLock;

use yrs::{
    Any, Array as _, Assoc, GetString as _, IdSet, IndexedSequence as _, ReadTxn, Snapshot,
    Text as _, TransactionMut, WriteTxn as _,
    types::text::YChange,
    updates::encoder::{Encoder as _, EncoderV1},
};

use super::{
    CONVERSIONS, ContentError, TEXT, Version,
    diff::{TextComparison, diff, diff_chars, utf16_len},
    item_sets::{to_ranges, to_set, up_to},
    writer_ids::WriterIds,
};
use crate::{
    gate::{
        DocRole, GateLimits, GateRejection, GatedDoc, IdRange, ReceiveOutcome, RecordedChange,
        RootIx, UpdateSource, byte_offset, deleted_by,
    },
    id::{ClientId, FileId, ItemId},
    rich::ROOT,
};

/// A replica of one content document.
#[derive(Debug)]
pub(super) struct ContentReplica {
    pub(super) gate: GatedDoc,
    id: FileId,
    client: ClientId,
    /// The ids under which its client writes text.
    pub(super) ids: WriterIds,
    limits: GateLimits,
    /// The current version, computed on first use.
    version: OnceLock<Version>,
    /// The current plain text, read on first use: yrs walks all items for it, also deleted ones.
    plain_text: OnceLock<String>,
}

/// The changes of one transaction of this process.
#[derive(Debug)]
#[must_use = "the caches of the body and the registers must follow"]
pub(super) struct LocalChange {
    /// The update, or `None` if the transaction changed nothing.
    pub(super) update: Option<Vec<u8>>,
    /// The items that it deleted; `None` if they are unknown.
    pub(super) deleted: Option<Vec<IdRange>>,
}

impl ContentReplica {
    /// Makes the empty replica of a file, which `client` edits.
    pub(super) fn new(id: &FileId, client: ClientId, limits: GateLimits) -> Self {
        Self {
            gate: GatedDoc::new(id, DocRole::Content, client, limits),
            id: id.clone(),
            client,
            ids: WriterIds::of(client),
            limits,
            version: OnceLock::new(),
            plain_text: OnceLock::new(),
        }
    }

    /// Applies an update from a peer.
    pub(super) fn receive(
        &mut self,
        update: &[u8],
        source: UpdateSource,
    ) -> Result<ReceiveOutcome, GateRejection> {
        let known = self.plain_text.take();
        if known.is_some() {
            self.gate.record_text_changes();
        }
        let received = self.gate.receive(update, source);
        self.drop_caches();
        if let (Some(text), Some(changes)) = (known, self.gate.take_text_changes())
            && let Some(text) = with_changes(text, &changes)
        {
            self.keep_plain_text(text);
        }
        received
    }

    /// Edits the document in one transaction.
    pub(super) fn edit<R>(
        &mut self,
        edit: impl FnOnce(&mut TransactionMut<'_>) -> R,
    ) -> (R, LocalChange) {
        let (result, update) = self.gate.edit(edit);
        (result, self.note_change(update))
    }

    /// Puts an element at the front of an array, and returns its item.
    pub(super) fn push_element(
        &mut self,
        root: RootIx,
        value: &Any,
    ) -> Result<(ItemId, LocalChange), ContentError> {
        let (id, element) = (self.next_item(), value.clone());
        let ((), change) = self.edit(|txn| push_front(txn, root, element));
        self.gate.health()?;
        Ok((id, change))
    }

    /// Writes the first update of an empty document, which yrs applies later.
    pub(super) fn begin_with(&mut self, update: Vec<u8>) -> Result<LocalChange, GateRejection> {
        self.gate.begin_with(&update)?;
        Ok(self.note_change(Some(update)))
    }

    /// Writes the first update of an empty document like [`begin_with`](Self::begin_with), after
    /// which its plain text is `text`.
    pub(super) fn begin_with_text(
        &mut self,
        update: Vec<u8>,
        text: &str,
    ) -> Result<LocalChange, GateRejection> {
        let change = self.begin_with(update)?;
        self.plain_text = OnceLock::from(text.to_owned());
        Ok(change)
    }

    /// Drops what was computed from the document, which was changed in another way.
    pub(super) fn drop_caches(&mut self) {
        self.version.take();
        self.plain_text.take();
    }

    fn note_change(&mut self, update: Option<Vec<u8>>) -> LocalChange {
        self.drop_caches();
        let deleted = update.as_deref().map_or(Ok(Vec::new()), deleted_by).ok();
        LocalChange { update, deleted }
    }

    pub(super) fn id(&self) -> &FileId {
        &self.id
    }

    pub(super) fn client(&self) -> ClientId {
        self.client
    }

    pub(super) fn limits(&self) -> GateLimits {
        self.limits
    }

    /// Returns the id of the next item of this client.
    pub(super) fn next_item(&self) -> ItemId {
        ItemId::new(self.client, self.gate.clock_of(self.client))
    }

    /// Returns the first item of an array; `None` if it has no living one.
    pub(super) fn front_of(&self, root: RootIx) -> Option<ItemId> {
        self.gate.read(|txn| {
            let array = txn.get_array(root.name())?;
            let front = array.sticky_index(txn, 0, Assoc::After)?;
            let id = front.id()?;
            Some(ItemId::new(ClientId::new(id.client.get()).ok()?, id.clock))
        })
    }

    /// Reports whether the document ever had an item.
    pub(super) fn has_items(&self) -> bool {
        self.gate.items().has_items()
    }

    /// Returns the current version of the document.
    pub(super) fn version(&self) -> Version {
        let read = || Version::of_document(&self.id, self.gate.snapshot());
        self.version.get_or_init(read).clone()
    }

    /// Rejects a version that has items which the document lacks.
    pub(super) fn check_clocks(&self, version: &Version) -> Result<(), ContentError> {
        for (client, wanted) in version.clocks() {
            let known = self.gate.clock_of(client);
            if known < wanted {
                return Err(ContentError::UnknownVersion { client, wanted, known });
            }
        }
        Ok(())
    }

    pub(super) fn has_text(&self) -> bool {
        self.gate.has_root(TEXT)
    }

    pub(super) fn has_rich(&self) -> bool {
        self.gate.has_root(ROOT)
    }

    /// Returns how a save of this document is compared with what its writer had read: by whole
    /// words, but by characters once it was converted. Another conversion may have made a copy of a
    /// word, and then a word that was replaced in the copy comes back (decision 23); its characters
    /// do not.
    pub(super) fn save_comparison(&self) -> TextComparison {
        if self.gate.has_root(CONVERSIONS) { diff_chars } else { diff }
    }

    /// Returns a copy that writes under another client id.
    pub(super) fn copy_as(&self, client: ClientId) -> Result<Self, GateRejection> {
        let mut copy = Self::new(&self.id, client, self.limits);
        copy.receive(&self.gate.encode_state(), UpdateSource::Store)?;
        Ok(copy)
    }

    /// Copies the document, for computations that must not change it.
    pub(super) fn copy(&self) -> Result<GatedDoc, GateRejection> {
        self.of_state(&self.gate.encode_state())
    }

    /// Returns the document at a version that it knows, even if parts of it were erased.
    pub(super) fn fork(&self, version: &Version) -> Result<GatedDoc, ContentError> {
        let state = state_at(&mut self.copy()?, version)?;
        Ok(self.of_state(&state)?)
    }

    /// Returns the document at a version, like [`fork`](Self::fork), without copying all of it.
    pub(super) fn fork_in_place(&mut self, version: &Version) -> Result<GatedDoc, ContentError> {
        // A version from elsewhere may cut through a character, which would damage the document.
        if !version.was_taken_from(&self.id) {
            return self.fork(version);
        }
        let state = state_at(&mut self.gate, version)?;
        Ok(self.of_state(&state)?)
    }

    fn of_state(&self, state: &[u8]) -> Result<GatedDoc, GateRejection> {
        let mut doc = GatedDoc::new(&self.id, DocRole::Content, self.client, self.limits);
        doc.receive(state, UpdateSource::Store)?;
        Ok(doc)
    }

    /// Returns a version without those of the `redacted` items that were deleted since.
    pub(super) fn without_redacted_items(&self, version: &Version, redacted: &IdSet) -> Version {
        if redacted.is_empty() {
            return version.clone();
        }
        let erased = self.gate.items().deleted_among(&to_ranges(redacted));
        let mut deleted = version.snapshot().delete_set.clone();
        deleted.merge_with(up_to(&to_set(&erased), version));
        Version::noted(Snapshot::new(version.snapshot().state_map.clone(), deleted))
    }

    /// Returns the items that lived in a root at a version, those of its types included.
    pub(super) fn items_at(&self, version: &Version, is_rich: bool) -> IdSet {
        let mut all = IdSet::new();
        for (client, clock) in version.clocks() {
            all.range_mut(yrs::ClientID::new(client.get())).insert(0..clock);
        }
        all.diff_with(&version.snapshot().delete_set);
        to_set(
            &self.gate.items().parts_in(&to_ranges(&all), if is_rich { &[ROOT] } else { &[TEXT] }),
        )
    }

    /// Returns the plain text, whichever root is current.
    pub(super) fn plain_text(&self) -> &str {
        self.plain_text.get_or_init(|| self.read_plain_text())
    }

    /// Returns the plain text if it was read since the last change, and forgets it.
    pub(super) fn take_plain_text(&mut self) -> Option<String> {
        self.plain_text.take()
    }

    /// Reports whether the plain text is known without reading it from the document.
    #[cfg(test)]
    pub(super) fn knows_plain_text(&self) -> bool {
        self.plain_text.get().is_some()
    }

    /// Keeps the plain text that an edit resulted in. A document with other content between the
    /// letters reads its text again.
    pub(super) fn keep_plain_text(&mut self, text: String) {
        if self.plain_len_utf16() == utf16_len(&text) {
            debug_assert_eq!(text, self.read_plain_text());
            self.plain_text = OnceLock::from(text);
        }
    }

    fn read_plain_text(&self) -> String {
        self.gate
            .read(|txn| txn.get_text(TEXT).map(|text| text.get_string(txn)))
            .unwrap_or_default()
    }

    /// Returns the length of plain text in UTF-16 code units, without reading it.
    pub(super) fn plain_len_utf16(&self) -> u32 {
        self.gate.read(|txn| txn.get_text(TEXT).map_or(0, |text| text.len(txn)))
    }
}

/// Returns a text after changes, each beside those before it; `None` if a character was cut.
fn with_changes(mut text: String, changes: &[RecordedChange]) -> Option<String> {
    for RecordedChange { at, delete, insert } in changes {
        let start = byte_offset(&text, *at)?;
        let end = start + byte_offset(&text[start..], *delete)?;
        text.replace_range(start..end, insert);
    }
    Some(text)
}

/// Returns the state of a document at a version, as an update.
fn state_at(gate: &mut GatedDoc, version: &Version) -> Result<Vec<u8>, ContentError> {
    let (encoded, _) = gate.edit(|txn| {
        let mut encoder = EncoderV1::new();
        // yrs 0.28.1 encodes a block wrongly if the version has only a part of it. So blocks are
        // cut first, which only a comparison does.
        let text = txn.get_or_insert_text(TEXT);
        let now = txn.snapshot();
        text.diff_range(txn, Some(&now), Some(version.snapshot()), YChange::identity);
        let encoded = txn.encode_state_from_snapshot(version.snapshot(), &mut encoder);
        encoded.map(|()| encoder.to_vec())
    });
    encoded.map_err(|_| ContentError::NotText)
}

/// Puts an element at the front of an array, which yrs finds without walking the array.
pub(super) fn push_front(txn: &mut TransactionMut<'_>, root: RootIx, value: Any) {
    let array = txn.get_or_insert_array(root.name());
    array.insert(txn, 0, value);
}
