//! Words that arrived in a block which another client had deleted.
//!
//! Yjs deletes all content of a deleted block, also content that the deleting client had never
//! received. An update lists the items that its writer deleted; so items that are deleted on
//! arrival and on no list are work that would vanish without a trace. Its items keep their content.
//! They are recorded in the root `Y.Array("fs:aside")`, so that it can be shown and put back. Words
//! whose block was joined with its neighbor or moved follow it instead ([`MovedTexts`]).

use std::sync::Arc;

use hashbrown::HashSet;
use yrs::{
    Any, Array as _, IdSet, Out, ReadTxn as _, WriteTxn as _, updates::encoder::Encode as _,
};

use super::{
    ContentError, Version,
    convert::made_since,
    item_places::text_around,
    item_sets::{to_ranges, to_set},
    moved_words::{CarriedWords, MovedTexts},
    replica::{ContentReplica, LocalChange},
    rule_client::is_rule_client,
    version::read_deletes,
};
use crate::{
    gate::{IdRange, UpdateScan, values_in},
    id::ItemId,
    lib0::Lib0Reader,
    rich::ROOT,
};

/// The root that lists the content that was set aside.
const ASIDE: &str = "fs:aside";

/// The member that names the items.
const RANGES: &str = "ranges";

/// The member that names the items whose words followed their block.
const CARRIED: &str = "carried";

/// The words that were set aside: the recorded ones are in the document, others are found here.
#[derive(Debug, Default)]
pub(super) struct StrandedWords {
    /// The items that arrived in deleted blocks and are not recorded yet.
    found: IdSet,
    moved: MovedTexts,
}

impl StrandedWords {
    /// Reports whether there are words that are not recorded yet.
    pub(super) fn has_unrecorded(&self) -> bool {
        !self.found.is_empty()
    }

    /// Returns the words that were set aside and not put back.
    pub(super) fn words(&self, replica: &ContentReplica) -> Vec<String> {
        let mut items = read_recorded(replica, RANGES);
        items.merge_with(self.found.clone());
        items.diff_with(&read_recorded(replica, CARRIED));
        // Content that was erased since is not shown.
        let remains = replica.gate.remains(&to_ranges(&items)).unwrap_or_default();
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

    /// Removes all words, because they were put back.
    pub(super) fn clear(
        &mut self,
        replica: &mut ContentReplica,
    ) -> Result<LocalChange, ContentError> {
        self.found = IdSet::new();
        let ((), change) = replica.edit(|txn| {
            let Some(array) = txn.get_array(ASIDE) else { return };
            // The others may hide what another replica records later.
            let is_words = |element: &Out| {
                let Out::Any(Any::Map(members)) = element else { return true };
                !members.contains_key(CARRIED)
            };
            let elements = values_in(txn, &array).enumerate();
            let words: Vec<_> = elements.filter(|(_, element)| is_words(element)).collect();
            for (index, _) in words.into_iter().rev() {
                array.remove(txn, index as u32);
            }
        });
        replica.gate.health()?;
        Ok(change)
    }

    /// Records the words that were found.
    pub(super) fn record(
        &mut self,
        replica: &mut ContentReplica,
    ) -> Result<LocalChange, ContentError> {
        let found = std::mem::take(&mut self.found);
        push_recorded(replica, RANGES, &found)
    }

    /// Records that the words of some items followed their block.
    pub(super) fn record_carried(
        &mut self,
        replica: &mut ContentReplica,
        words: &CarriedWords,
    ) -> Result<LocalChange, ContentError> {
        self.found.diff_with(&words.from);
        self.moved.note_carried(words);
        push_recorded(replica, CARRIED, &words.from)
    }

    /// Returns the insertion of those words that were found and whose block was moved.
    pub(super) fn carry(
        &self,
        replica: &ContentReplica,
    ) -> Result<Option<CarriedWords>, ContentError> {
        self.moved.carry(replica, &self.found)
    }

    /// Notes the texts that a change moved.
    ///
    /// # Errors
    ///
    /// If the document cannot be read.
    pub(super) fn note_moves(
        &mut self,
        replica: &mut ContentReplica,
        before: &Version,
        deleted: &[IdRange],
        inserted: &[IdRange],
    ) -> Result<(), ContentError> {
        self.moved.note_moves(replica, before, deleted, inserted)
    }

    /// Returns the texts that the words are in whose moves should be looked for in the log.
    pub(super) fn take_unknown_texts(&mut self, replica: &ContentReplica) -> Vec<ItemId> {
        match self.found.is_empty() {
            true => Vec::new(),
            false => self.moved.take_unknown(replica, &self.found),
        }
    }

    /// Notes the texts that were moved between two past states of the document.
    ///
    /// # Errors
    ///
    /// If the document cannot be read.
    pub(super) fn note_past_moves(
        &mut self,
        replica: &mut ContentReplica,
        before: &Version,
        after: &Version,
    ) -> Result<(), ContentError> {
        let mut deleted = after.snapshot().delete_set.diff(&before.snapshot().delete_set);
        // Words that arrived later were no part of the text.
        deleted.diff_with(&self.found);
        deleted.diff_with(&read_recorded(replica, RANGES));
        deleted.diff_with(&read_recorded(replica, CARRIED));
        let inserted: Vec<IdRange> = made_since(after, before).collect();
        self.note_moves(replica, before, &to_ranges(&deleted), &inserted)
    }

    /// Notes texts that updates brought, or that they deleted, without listing their deletion.
    /// `find_merged` returns those items that the next settlement merges.
    pub(super) fn note_arrival(
        &mut self,
        replica: &ContentReplica,
        before: &Version,
        scans: &[UpdateScan],
        find_merged: impl FnOnce(&[IdRange]) -> Vec<IdRange>,
    ) {
        let now = replica.version();
        let mut lost = now.snapshot().delete_set.diff(&before.snapshot().delete_set);
        let listed: Vec<IdRange> = scans.iter().flat_map(|scan| scan.deleted.clone()).collect();
        lost.diff_with(&to_set(&listed));
        if lost.is_empty() {
            return;
        }
        let mut lost = replica.gate.items().parts_in(&to_ranges(&lost), &[ROOT]);
        lost.retain(|range| !is_rule_client(range.client));
        let merged: HashSet<IdRange> = find_merged(&lost).into_iter().collect();
        let texts: Vec<IdRange> = replica.gate.read(|txn| {
            let is_text = |range: &IdRange| {
                text_around(txn, ItemId::new(range.client, range.start)).is_some()
            };
            lost.into_iter().filter(|range| !merged.contains(range) && is_text(range)).collect()
        });
        self.found.merge_with(to_set(&texts));
    }
}

/// Appends words to a text, each as a paragraph.
pub(super) fn append_paragraphs(text: &mut String, words: &[String]) {
    for word in words {
        text.truncate(text.trim_end_matches('\n').len());
        text.push_str(if text.is_empty() { "" } else { "\n\n" });
        text.push_str(word.trim());
        text.push('\n');
    }
}

fn push_recorded(
    replica: &mut ContentReplica,
    member: &str,
    items: &IdSet,
) -> Result<LocalChange, ContentError> {
    let new = items.diff(&read_recorded(replica, member));
    if new.is_empty() {
        return Ok(LocalChange { update: None, deleted: Some(Vec::new()) });
    }
    let ranges = (member.to_owned(), Any::Buffer(new.encode_v1().into()));
    let element = Any::Map(Arc::new([ranges].into_iter().collect()));
    let ((), change) = replica.edit(|txn| {
        let array = txn.get_or_insert_array(ASIDE);
        array.insert(txn, 0, element);
    });
    replica.gate.health()?;
    Ok(change)
}

/// Returns the items that elements name in a member.
fn read_recorded(replica: &ContentReplica, member: &str) -> IdSet {
    let mut all = IdSet::new();
    if !replica.gate.has_root(ASIDE) {
        return all;
    }
    replica.gate.read(|txn| {
        let Some(array) = txn.get_array(ASIDE) else { return };
        for element in values_in(txn, &array) {
            let Out::Any(Any::Map(members)) = element else { continue };
            let Some(Any::Buffer(bytes)) = members.get(member) else { continue };
            if let Ok(ranges) = read_deletes(&mut Lib0Reader::new(bytes)) {
                all.merge_with(ranges);
            }
        }
    });
    all
}
