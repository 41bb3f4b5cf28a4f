//! Which items the updates of a document bring and delete, whatever updates they are in.

use super::{
    limits::GateLimits,
    parse::{ItemParent, StructKind, normalise, parse},
    refusal::GateRejection,
    update_scan::{IdRange, RootIx},
};
use crate::{hash::ContentHash, id::FileId};

/// The items of a document as ranges, read from its updates without the document.
///
/// Two stores whose sets are equal have the same document, also if one has merged its updates and
/// the other has not: an id stands for one item for good.
#[derive(Debug, Default)]
pub struct ItemSet {
    items: Vec<IdRange>,
    deleted: Vec<IdRange>,
    /// Whether content was erased for good: then two documents with the same items may differ.
    has_redactions: bool,
}

impl ItemSet {
    /// Adds the items of an update, in any order.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn add(&mut self, update: &[u8]) -> Result<(), GateRejection> {
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

    /// Returns a hash of the items of this document; `None` if that does not show what the document
    /// contains.
    pub fn hash(mut self, doc: &FileId) -> Option<ContentHash> {
        if self.has_redactions {
            return None;
        }
        let mut bytes = doc.as_str().as_bytes().to_vec();
        bytes.push(0);
        for ranges in [&mut self.items, &mut self.deleted] {
            normalise(ranges);
            bytes.extend_from_slice(&(ranges.len() as u64).to_le_bytes());
            for range in ranges {
                bytes.extend_from_slice(&range.client.get().to_le_bytes());
                bytes.extend_from_slice(&range.start.to_le_bytes());
                bytes.extend_from_slice(&range.len.to_le_bytes());
            }
        }
        Some(ContentHash::of(&bytes))
    }
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
    use yrs::{
        ClientID, Doc, GetString, OffsetKind, Options, ReadTxn, StateVector, Text, Transact,
        Update, WriteTxn, merge_updates_v1, updates::decoder::Decode,
    };

    use super::*;

    fn id() -> FileId {
        FileId::parse("4f7c2a9e1b3d5f0").unwrap()
    }

    fn hash(updates: &[Vec<u8>]) -> ContentHash {
        let mut set = ItemSet::default();
        updates.iter().for_each(|update| set.add(update).unwrap());
        set.hash(&id()).unwrap()
    }

    fn doc(client: u64) -> Doc {
        let mut options = Options::with_client_id(ClientID::new(client));
        options.offset_kind = OffsetKind::Utf16;
        Doc::with_options(options)
    }

    /// Inserts a letter, or deletes one, and returns the update.
    fn edit(doc: &Doc, at: u32, inserts: bool) -> Vec<u8> {
        let mut txn = doc.transact_mut();
        let text = txn.get_or_insert_text("content");
        let len = text.get_string(&txn).len() as u32;
        if inserts || len == 0 {
            text.insert(&mut txn, at % (len + 1), "x");
        } else {
            text.remove_range(&mut txn, at % len, 1);
        }
        txn.encode_update_v1()
    }

    proptest! {
        /// Two peers edit and exchange some updates. The set does not depend on the order of the
        /// updates, nor on whether they were merged; and it differs without one of them.
        #[test]
        fn equal_documents_have_equal_sets(
            steps in prop::collection::vec(
                (0..2_usize, any::<u32>(), any::<bool>(), any::<bool>()),
                1..40,
            ),
        ) {
            let docs = [doc(7), doc(1 << 40)];
            let mut updates = Vec::new();
            for (who, at, inserts, shares) in steps {
                let update = edit(&docs[who], at, inserts);
                if shares {
                    let news = docs[who]
                        .transact()
                        .encode_state_as_update_v1(&docs[1 - who].transact().state_vector());
                    let news = Update::decode_v1(&news).unwrap();
                    docs[1 - who].transact_mut().apply_update(news).unwrap();
                }
                updates.push(update);
            }
            let all = hash(&updates);
            let merged = merge_updates_v1(&updates).unwrap();
            prop_assert_eq!(all, hash(std::slice::from_ref(&merged)));
            docs[0].transact_mut().apply_update(Update::decode_v1(&merged).unwrap()).unwrap();
            let state = docs[0].transact().encode_state_as_update_v1(&StateVector::default());
            prop_assert_eq!(all, hash(&[state]));
            updates.reverse();
            prop_assert_eq!(all, hash(&updates));
            updates.pop();
            prop_assert_ne!(all, hash(&updates));
        }
    }

    #[test]
    fn a_document_with_redactions_is_like_no_other() {
        let doc = doc(7);
        let mut set = ItemSet::default();
        let mut txn = doc.transact_mut();
        txn.get_or_insert_array(RootIx::Redactions.name());
        yrs::Array::push_back(&txn.get_or_insert_array(RootIx::Redactions.name()), &mut txn, "x");
        set.add(&txn.encode_update_v1()).unwrap();
        assert_eq!(set.hash(&id()), None);
    }
}
