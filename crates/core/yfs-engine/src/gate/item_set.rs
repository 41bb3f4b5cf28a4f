//! Which items the updates of a document bring and delete, whatever updates they are in, and their
//! content.

use std::ops::Range;

use super::{
    limits::GateLimits,
    parse::{ItemParent, StructKind, UpdateStruct, normalise, parse},
    refusal::GateRejection,
    unit_content::{UnitContent, content_of, links_at, units_of},
    update_scan::{IdRange, RootIx},
};
use crate::{
    hash::ContentHash,
    id::{ClientId, FileId, ItemId},
    lib0::write_var_uint,
};

/// The items of a document as ranges, read from its updates without the document, and the content
/// of those that are not deleted.
///
/// Two stores whose sets are equal have the same document, also if one has merged its updates and
/// the other has not.
#[derive(Debug, Default)]
pub struct ItemSet<'u> {
    items: Vec<IdRange>,
    deleted: Vec<IdRange>,
    structs: Vec<SetStruct<'u>>,
    /// Whether content was erased for good: then two documents with the same items may differ.
    has_redactions: bool,
}

/// A struct with content.
#[derive(Debug)]
struct SetStruct<'u> {
    client: ClientId,
    item: UpdateStruct<'u>,
    /// Its update.
    bytes: &'u [u8],
}

/// Encodes the content of the items that are not deleted, in order of their ids.
#[derive(Default)]
struct ContentWriter {
    out: Vec<u8>,
    /// The last item, and its right origin.
    last: Option<(ItemId, Option<ItemId>)>,
}

/// The bytes that begin what is not text. No UTF-8 has them.
const LINKS: u8 = 0xfe;
const VALUE: u8 = 0xff;

impl<'u> ItemSet<'u> {
    /// Adds the items of an update, in any order.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn add(&mut self, update: &'u [u8]) -> Result<(), GateRejection> {
        let parsed = parse(update, &GateLimits::default(), false)?;
        for run in &parsed.runs {
            for item in &parsed.structs[run.first..run.end] {
                if item.kind == StructKind::Skip {
                    continue;
                }
                let range = IdRange { client: run.client, start: item.clock, len: item.len };
                push_range(&mut self.items, range);
                if matches!(item.kind, StructKind::Gc | StructKind::Deleted) {
                    push_range(&mut self.deleted, range);
                } else {
                    self.structs.push(SetStruct { client: run.client, item: *item, bytes: update });
                }
                self.has_redactions |= item.parent == ItemParent::Root(RootIx::Redactions.name());
            }
        }
        self.deleted.extend(parsed.deletes);
        Ok(())
    }

    /// Reports whether there is no item in it.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.deleted.is_empty()
    }

    /// Returns a hash of the items of this document and of their content; `None` if that does not
    /// show what the document contains.
    pub fn hash(mut self, doc: &FileId) -> Option<ContentHash> {
        if self.has_redactions {
            return None;
        }
        let mut writer = ContentWriter::default();
        writer.out.extend_from_slice(doc.as_str().as_bytes());
        writer.out.push(0);
        for ranges in [&mut self.items, &mut self.deleted] {
            normalise(ranges);
            writer.out.extend_from_slice(&(ranges.len() as u64).to_le_bytes());
            for range in ranges {
                writer.out.extend_from_slice(&range.client.get().to_le_bytes());
                writer.out.extend_from_slice(&range.start.to_le_bytes());
                writer.out.extend_from_slice(&range.len.to_le_bytes());
            }
        }
        // Of structs that begin with the same item, the first is part of the document.
        self.structs.sort_by_key(|known| (known.client, known.item.clock));
        let mut next = None;
        for known in &self.structs {
            let (client, end) = (known.client, known.item.clock + known.item.len);
            let from = match next {
                Some((of, next)) if of == client => known.item.clock.max(next),
                _ => known.item.clock,
            };
            if from < end {
                writer.write(known, &not_among(&self.deleted, client, from..end))?;
                next = Some((client, end));
            }
        }
        Some(ContentHash::of(&writer.out))
    }
}

impl ContentWriter {
    /// Writes parts of a struct; `None` if it cannot be read.
    fn write(&mut self, known: &SetStruct<'_>, parts: &[Range<u32>]) -> Option<()> {
        if parts.is_empty() {
            return Some(());
        }
        let SetStruct { client, item, bytes } = known;
        let content = content_of(bytes, item)?;
        for part in parts {
            let links = links_at(*client, item, part.start);
            // Items that were inserted one behind another are in one struct, or in several.
            let before = self
                .last
                .filter(|(last, _)| last.client == *client && last.clock + 1 == part.start);
            let continues = before
                .is_some_and(|(last, right)| links.origin == Some(last) && links.right == right);
            if !continues {
                self.out.push(LINKS);
                links.write(&mut self.out);
            }
            let units = (part.start - item.clock) as usize..(part.end - item.clock) as usize;
            match &content {
                UnitContent::Text(text) => units_of(text, units, &mut self.out),
                UnitContent::Values(values) => {
                    for value in values.get(units)? {
                        self.out.push(VALUE);
                        write_var_uint(&mut self.out, value.len() as u64);
                        self.out.extend_from_slice(value);
                    }
                }
            }
            self.last = Some((ItemId::new(*client, part.end - 1), item.right));
        }
        Some(())
    }
}

/// Returns the parts of a client's items that are not among deleted ranges, which are sorted and
/// disjoint.
pub(super) fn not_among(deleted: &[IdRange], client: ClientId, of: Range<u32>) -> Vec<Range<u32>> {
    let first = deleted.partition_point(|range| (range.client, range.end()) <= (client, of.start));
    let (mut parts, mut from) = (Vec::new(), of.start);
    let deleted = deleted[first..].iter();
    for range in deleted.take_while(|range| range.client == client && range.start < of.end) {
        if range.start > from {
            parts.push(from..range.start);
        }
        from = from.max(range.end());
    }
    if from < of.end {
        parts.push(from..of.end);
    }
    parts
}

/// Adds a range, and joins it with the last one if it follows it.
pub(super) fn push_range(ranges: &mut Vec<IdRange>, range: IdRange) {
    match ranges.last_mut() {
        Some(last) if last.client == range.client && last.end() == range.start => {
            last.len += range.len;
        }
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use yrs::{ReadTxn, StateVector, Transact, WriteTxn, merge_updates_v1};

    use super::*;
    use crate::gate::random_edits::{apply, doc, edit, exchange};

    fn id() -> FileId {
        FileId::parse("4f7c2a9e1b3d5f0").unwrap()
    }

    fn hash(updates: &[Vec<u8>]) -> ContentHash {
        let mut set = ItemSet::default();
        updates.iter().for_each(|update| set.add(update).unwrap());
        set.hash(&id()).unwrap()
    }

    proptest! {
        /// Two peers edit and exchange some updates. The set does not depend on the order of the
        /// updates, nor on whether they were merged; and it differs without one of them, and if one
        /// has other content.
        #[test]
        fn equal_documents_have_equal_sets(
            steps in prop::collection::vec(
                (0..2_usize, any::<u8>(), any::<u32>(), any::<bool>()),
                1..40,
            ),
        ) {
            let docs = [doc(7), doc(1 << 40)];
            let mut updates = Vec::new();
            for (who, kind, at, shares) in steps {
                updates.push(edit(&docs[who], kind, at));
                if shares {
                    exchange(&docs[who], &docs[1 - who]);
                }
            }
            updates.push(edit(&docs[0], 1, 0));
            let all = hash(&updates);
            let merged = merge_updates_v1(&updates).unwrap();
            prop_assert_eq!(all, hash(std::slice::from_ref(&merged)));
            apply(&docs[0], &merged);
            let state = docs[0].transact().encode_state_as_update_v1(&StateVector::default());
            prop_assert_eq!(all, hash(&[state]));
            updates.reverse();
            prop_assert_eq!(all, hash(&updates));
            let whole = updates.remove(0);
            prop_assert_ne!(all, hash(&updates));
            let at = whole.windows(6).position(|bytes| bytes == b"longer").unwrap();
            let mut forked = whole;
            forked[at] = b'L';
            updates.insert(0, forked);
            prop_assert_ne!(all, hash(&updates));
        }
    }

    #[test]
    fn the_same_text_at_another_place_is_another_set() {
        let hashes = [3, 5].map(|at| {
            let doc = doc(7);
            hash(&[edit(&doc, 1, 0), edit(&doc, 0, at)])
        });
        assert_ne!(hashes[0], hashes[1]);
    }

    #[test]
    fn a_document_with_redactions_is_like_no_other() {
        let doc = doc(7);
        let mut set = ItemSet::default();
        let mut txn = doc.transact_mut();
        txn.get_or_insert_array(RootIx::Redactions.name());
        yrs::Array::push_back(&txn.get_or_insert_array(RootIx::Redactions.name()), &mut txn, "x");
        let update = txn.encode_update_v1();
        set.add(&update).unwrap();
        assert_eq!(set.hash(&id()), None);
    }
}
