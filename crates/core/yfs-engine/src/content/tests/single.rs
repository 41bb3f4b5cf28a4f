//! The text of a document that was written once.

use super::*;
use crate::{
    content::single_text,
    kind::{ContentRoot, DEFAULT_PROFILE},
};

const KINDS: [ContentRoot; 2] = [ContentRoot::Text, ContentRoot::Rich(DEFAULT_PROFILE)];

/// Returns what documents say that consist of the update, under a plain and a rich name.
fn texts_of(update: &[u8]) -> [String; 2] {
    KINDS.map(|kind| {
        let mut doc = doc(9);
        doc.set_kind(kind);
        doc.receive(update, UpdateSource::Store).unwrap();
        doc.text()
    })
}

proptest! {
    #[test]
    fn it_is_what_the_document_says(text in awkward_text(), again in any::<bool>()) {
        for kind in KINDS {
            let mut doc = doc(1);
            doc.set_kind(kind);
            let Some(update) = doc.write(&text, None, &author("first")).unwrap().update else {
                continue;
            };
            let single = single_text(&update);
            let is_plain = kind == ContentRoot::Text;
            prop_assert_eq!(single, (is_plain && !text.is_empty()).then_some(text.as_str()));
            for says in texts_of(&update).iter().filter(|_| single.is_some()) {
                prop_assert_eq!(says, &text);
            }
            if again {
                let more = doc.write("another", None, &author("first")).unwrap().update;
                prop_assert_eq!(more.as_deref().and_then(single_text), None);
            }
        }
    }

    /// The first write is encoded by hand; an append goes through yrs.
    #[test]
    fn a_first_write_is_the_update_that_yrs_would_write(
        text in awkward_text(), next in awkward_text(),
    ) {
        prop_assume!(!text.is_empty());
        let (mut written, mut appended) = (doc(1), doc(1));
        let by_hand = written.write(&text, None, &author("first")).unwrap().update.unwrap();
        let by_yrs = appended.append(&text, &author("first")).unwrap().update.unwrap();
        // Only the order of the members of the entry is random.
        prop_assert_eq!(by_hand.len(), by_yrs.len());
        let is_text = |update: &[u8]| update[update.len() - text.len() - 1..].to_vec();
        prop_assert_eq!(is_text(&by_hand), is_text(&by_yrs));
        for (update, says) in [(&by_hand, &written), (&by_yrs, &appended)] {
            let mut reader = doc(2);
            reader.receive(update, UpdateSource::Wire).unwrap();
            prop_assert_eq!(reader.text(), says.text());
            prop_assert_eq!(reader.log().entries(), written.log().entries());
            prop_assert_eq!(reader.version(), appended.version());
        }
        prop_assert_eq!(written.text(), text.as_str());
        // yrs applies the first update before the next change.
        for doc in [&mut written, &mut appended] {
            let update = doc.write(&next, None, &author("second")).unwrap().update;
            prop_assert_eq!(update.is_none(), next == text);
            prop_assert_eq!(doc.text(), next.as_str());
        }
        sync(&mut replica(3, &written), &mut written);
        prop_assert_eq!(written.gate().state_vector(), appended.gate().state_vector());
    }

    /// What stock clients write is read as documents read it, or not at all.
    #[test]
    fn it_is_what_a_document_of_a_stock_client_says(
        parts in proptest::collection::vec((awkward_text(), 0_u32..4, any::<[bool; 2]>()), 1..4)
    ) {
        let stock = Doc::with_options(Options {
            client_id: ClientID::new(77), offset_kind: OffsetKind::Utf16, ..Options::default()
        });
        let text = stock.get_or_insert_text("text");
        let other = stock.get_or_insert_text("other");
        let mut txn = stock.transact_mut();
        for (part, at, [is_other, removes]) in parts {
            let root = if is_other { &other } else { &text };
            let at = at.min(root.len(&txn));
            root.insert(&mut txn, at, &part);
            if removes {
                let len = root.len(&txn);
                root.remove_range(&mut txn, 0, len);
            }
        }
        let update = txn.encode_update_v1();
        if let Some(single) = single_text(&update) {
            for says in texts_of(&update) {
                prop_assert_eq!(says, single);
            }
        }
    }
}
