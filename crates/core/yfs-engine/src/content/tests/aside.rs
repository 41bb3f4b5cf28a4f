//! Tests of words in blocks that are deleted.

use proptest::prelude::*;
use yfs_markdown::schema::SchemaProfile;
use yrs::{Text as _, WriteTxn as _};

use super::super::{ContentBase, ContentDoc, RunAuthor, TEXT};
use crate::{
    actor::{Actor, ActorKind},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::ContentRoot,
    rich::{LiveChild, live},
    time::Millis,
};

pub(super) const RICH: ContentRoot = ContentRoot::Rich(SchemaProfile::Gfm);

pub(super) fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Agent, "test"), Millis(1_000))
}

pub(super) fn replica(client: u64, kind: ContentRoot, others: &[&ContentDoc]) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").expect("an id");
    let mut doc =
        ContentDoc::new(&id, ClientId::new(client).expect("53 bits"), GateLimits::default());
    doc.set_kind(kind);
    for other in others {
        doc.receive(&other.gate().encode_state(), UpdateSource::Store).expect("an update");
    }
    doc
}

pub(super) fn write(doc: &mut ContentDoc, text: &str) -> Vec<u8> {
    let written = doc.write(text, None, &author()).expect("it can be written");
    written.update.expect("it changes the text")
}

/// Types into the first block that holds some text, behind that.
pub(super) fn type_behind(doc: &mut ContentDoc, anchor: &str, text: &str) -> Vec<u8> {
    let is_rich = doc.conversion().current_root() == RICH;
    let plain = doc.replica.plain_text().to_owned();
    let (_, update) = doc.replica.gate.edit(|txn| {
        if !is_rich {
            let at = plain.find(anchor).expect("it is there") + anchor.len();
            return txn.get_or_insert_text(TEXT).insert(txn, at as u32, text);
        }
        for kid in live(txn, SchemaProfile::Gfm) {
            let LiveChild::Element(element) = kid else { continue };
            let Some(LiveChild::Text(texts)) = element.kids.first() else { continue };
            if let Some(at) = texts.slots[0].text.find(anchor) {
                let end = (at + anchor.len()) as u32;
                return texts.slots[0].handle.insert(txn, end, text);
            }
        }
        panic!("{anchor:?} is not there");
    });
    doc.forget();
    update.expect("words were typed")
}

const FILE: &str = "First block.\n\nSecond block, of a few words.\n\nThird block.\n";

/// An agent reads while a person is in the middle of a word, moves the block, and writes.
#[test]
fn a_word_that_was_begun_before_its_block_moved_stays_whole() {
    for kind in [RICH, ContentRoot::Text] {
        let mut server = replica(1, kind, &[]);
        write(&mut server, FILE);
        let mut human = replica(2, kind, &[&server]);
        let update = type_behind(&mut human, "Second ", "qk");
        server.receive(&update, UpdateSource::Wire).expect("an update");
        let (base, read) = (server.version(), server.text());
        for (behind, text) in [("qk", "z"), ("qkz", "pa1q03mkq ")] {
            let update = type_behind(&mut human, behind, text);
            server.receive(&update, UpdateSource::Wire).expect("an update");
        }
        let block = "Second qkblock, of a few words.\n\n";
        let moved = read.replace(block, "") + "\n" + block.trim_end() + "\n";
        let written = server.write(&moved, Some(ContentBase::Version(&base)), &author());
        assert!(!written.expect("it can be written").overlaps.is_empty());
        let text = server.text();
        assert_eq!(text.matches("qkzpa1q03mkq").count(), 1, "{text:?}");
        assert!(text.ends_with("Second qkblock, of a few words.\n"), "{text:?}");
    }
}

#[test]
fn a_word_that_was_typed_into_a_deleted_block_is_set_aside() {
    for typed_first in [false, true] {
        let mut server = replica(1, RICH, &[]);
        write(&mut server, FILE);
        let (mut ana, mut ben) = (replica(2, RICH, &[&server]), replica(3, RICH, &[&server]));
        let typed = type_behind(&mut ana, "of a ", "wordthatgoes ");
        let deleted = write(&mut ben, "First block.\n\nThird block.\n");
        let updates = if typed_first { [&typed, &deleted] } else { [&deleted, &typed] };
        for update in updates {
            server.receive(update, UpdateSource::Wire).expect("an update");
        }
        assert!(!server.text().contains("wordthatgoes"));
        assert_eq!(server.set_aside(), ["wordthatgoes "]);
        assert!(server.conversion().needs_repair());
        assert!(server.repair().expect("it can be recorded").is_some());
        assert!(!server.conversion().needs_repair());
        let mut other = replica(9, RICH, &[&server]);
        assert_eq!(other.set_aside(), ["wordthatgoes "]);
        assert!(other.put_back(&author()).expect("it can be put back").is_some());
        assert_eq!(other.text(), "First block.\n\nThird block.\n\nwordthatgoes\n");
        assert!(other.set_aside().is_empty());
    }
}

#[test]
fn nothing_is_set_aside_of_what_its_reader_deleted() {
    let mut server = replica(1, RICH, &[]);
    write(&mut server, FILE);
    let mut ana = replica(2, RICH, &[&server]);
    let typed = type_behind(&mut ana, "of a ", "word ");
    server.receive(&typed, UpdateSource::Wire).expect("an update");
    let mut ben = replica(3, RICH, &[&server]);
    let deleted = write(&mut ben, "First block.\n\nThird block.\n");
    server.receive(&deleted, UpdateSource::Wire).expect("an update");
    let again = write(&mut ben, FILE);
    server.receive(&again, UpdateSource::Wire).expect("an update");
    assert!(server.set_aside().is_empty());
    assert!(!server.conversion().needs_repair());
}

proptest! {
    /// Several clients type and delete blocks; all typed text is in the file, was deleted by a
    /// client that had it, or is set aside.
    #[test]
    fn typing_beside_deletions_of_blocks_is_never_lost(
        steps in proptest::collection::vec((0..3_usize, 0..8_usize, any::<bool>()), 1..24),
    ) {
        let mut server = replica(1, RICH, &[]);
        let blocks: Vec<String> = (0..8).map(|at| format!("Block{at} word.")).collect();
        write(&mut server, &(blocks.join("\n\n") + "\n"));
        let mut docs: Vec<_> = (0..3).map(|n| replica(10 + n, RICH, &[&server])).collect();
        let (mut typed, mut gone) = (Vec::new(), Vec::new());
        for (number, (who, block, deletes)) in steps.into_iter().enumerate() {
            let doc = &mut docs[who];
            let anchor = format!("Block{block} ");
            let text = doc.text();
            let Some(line) = text.lines().find(|line| line.contains(&anchor)) else { continue };
            let update = if deletes {
                gone.push(line.to_owned());
                let rest: Vec<&str> =
                    text.split("\n\n").filter(|block| !block.contains(&anchor)).collect();
                write(doc, &(rest.join("\n\n").trim_end().to_owned() + "\n"))
            } else {
                typed.push(format!("w{number}w"));
                type_behind(doc, &anchor, &format!("w{number}w "))
            };
            server.receive(&update, UpdateSource::Wire).expect("an update");
        }
        server.repair().expect("it can be recorded");
        let stored = replica(99, RICH, &[&server]);
        let (text, aside) = (stored.text(), stored.set_aside().join("\n"));
        for word in typed {
            let n_there = text.matches(&word).count() + aside.matches(&word).count();
            let was_deleted = gone.iter().any(|line| line.contains(&word));
            let is_kept = n_there == 1 || was_deleted && n_there == 0;
            prop_assert!(is_kept, "{} {} {}", word, text, aside);
        }
    }
}
