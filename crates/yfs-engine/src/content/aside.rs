//! Words that arrived in a block which another client had deleted.
//!
//! Yjs deletes all content of a deleted block, also content that the deleting client had never
//! received. An update lists the items that its writer deleted; so items that are deleted on
//! arrival and on no list are work that would vanish without a trace. Its items keep their content.
//! They are recorded in the root `Y.Array("fs:aside")`, so that it can be shown and put back.

use std::sync::Arc;

use hashbrown::HashSet;
use yrs::{
    Any, Array as _, IdSet, Out, ReadTxn as _, WriteTxn as _, updates::encoder::Encode as _,
};

use super::{
    ContentDoc, ContentError, RunAuthor, Version,
    anchor::text_around,
    convert::is_by_rule,
    redact::{to_ranges, to_set},
    version::read_deletes,
};
use crate::{
    gate::{IdRange, UpdateScan},
    id::ItemId,
    lib0::Lib0Reader,
    rich::ROOT,
};

/// The root that lists the content that was set aside.
const ASIDE: &str = "fs:aside";

/// The member that names the items.
const RANGES: &str = "ranges";

impl ContentDoc {
    /// Returns the words that were typed into blocks which another client deleted at the same time,
    /// and that were not put back.
    pub fn set_aside(&self) -> Vec<String> {
        let mut items = self.recorded_aside();
        items.merge_with(self.stranded.clone());
        // Content that was erased since is not shown.
        let remains = self.gate.remains(&to_ranges(&items)).unwrap_or_default();
        let mut words: Vec<String> = Vec::new();
        let mut last: Option<IdRange> = None;
        for piece in remains {
            let range = piece.range;
            let goes_on =
                last.is_some_and(|last| last.client == range.client && last.end() == range.start);
            match words.last_mut().filter(|_| goes_on) {
                Some(word) => word.push_str(&piece.text),
                None => words.push(piece.text),
            }
            last = Some(range);
        }
        words.retain(|word| !word.trim().is_empty());
        words
    }

    /// Puts the words that were [set aside](Self::set_aside) into paragraphs at the end of the
    /// file. Returns `None` if there are none.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn put_back(&mut self, author: &RunAuthor) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        let words = self.set_aside();
        if words.is_empty() {
            return Ok(None);
        }
        let mut text = self.text();
        for word in words {
            text.truncate(text.trim_end_matches('\n').len());
            text.push_str(if text.is_empty() { "" } else { "\n\n" });
            text.push_str(word.trim());
            text.push('\n');
        }
        let written = self.write(&text, None, author)?.update;
        self.stranded = IdSet::new();
        let cleared = self.transact_with(None, |txn| {
            if let Some(array) = txn.get_array(ASIDE) {
                let len = array.len(txn);
                array.remove_range(txn, 0, len);
            }
        })?;
        super::convert::merged(written.into_iter().chain(cleared).collect())
    }

    /// Records words that arrived in deleted blocks, and returns the update; `None` if there are no
    /// such words.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn record_aside(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        let stranded = std::mem::take(&mut self.stranded);
        let new = stranded.diff(&self.recorded_aside());
        if new.is_empty() {
            return Ok(None);
        }
        let ranges = (RANGES.to_owned(), Any::Buffer(new.encode_v1().into()));
        let element = Any::Map(Arc::new([ranges].into_iter().collect()));
        self.transact_with(None, |txn| {
            let array = txn.get_or_insert_array(ASIDE);
            array.insert(txn, 0, element);
        })
    }

    /// Notes items that an update brought, or that it deleted without listing them.
    pub(super) fn note_stranded(&mut self, before: &Version, scans: &[UpdateScan]) {
        let now = self.version();
        let mut lost = now.snapshot().delete_set.diff(&before.snapshot().delete_set);
        lost.diff_with(&to_set(
            &scans.iter().flat_map(|scan| scan.deleted.clone()).collect::<Vec<_>>(),
        ));
        if lost.is_empty() {
            return;
        }
        let mut lost = self.gate.parts_in(&to_ranges(&lost), &[ROOT]);
        lost.retain(|range| !is_by_rule(range.client));
        // The next settlement merges content that a settlement deleted.
        let merged: HashSet<IdRange> = self.settled_away(&lost).into_iter().collect();
        let stranded: Vec<IdRange> = self.gate.read(|txn| {
            let is_text = |range: &IdRange| {
                text_around(txn, ItemId::new(range.client, range.start)).is_some()
            };
            lost.into_iter().filter(|range| !merged.contains(range) && is_text(range)).collect()
        });
        self.stranded.merge_with(to_set(&stranded));
    }

    fn recorded_aside(&self) -> IdSet {
        let mut all = IdSet::new();
        if !self.gate.has_root(ASIDE) {
            return all;
        }
        self.gate.read(|txn| {
            let Some(array) = txn.get_array(ASIDE) else { return };
            for element in array.iter(txn) {
                let Out::Any(Any::Map(members)) = element else { continue };
                let Some(Any::Buffer(bytes)) = members.get(RANGES) else { continue };
                if let Ok(ranges) = read_deletes(&mut Lib0Reader::new(bytes)) {
                    all.merge_with(ranges);
                }
            }
        });
        all
    }
}
