//! Tests of words that are typed into blocks which others join or move.

use proptest::prelude::*;
use rand::{SeedableRng as _, rngs::ChaCha8Rng};
use yfs_markdown::schema::SchemaProfile;
use yrs::{
    Any, ReadTxn as _, Text as _, TransactionMut, XmlElementPrelim, XmlFragment as _,
    XmlTextPrelim, XmlTextRef,
};

use super::{
    super::{ContentDoc, RunAuthor},
    aside::{RICH, replica, type_behind, write},
};
use crate::{
    actor::{Actor, ActorKind},
    gate::{UpdateSource, writers},
    rich::{LiveChild, ROOT, live},
    time::Millis,
};

const FILE: &str = "First block.\n\nSecond block, of a few words.\n\nThird block.\n";

/// A change of the blocks, as stock editors make it: they insert the text of a block anew, and
/// delete the block.
#[derive(Debug, Clone, Copy)]
enum BlockChange {
    /// The block that begins at an index is put behind the one before.
    Join(usize),
    /// The block before one is put in front of its text.
    JoinForward(usize),
    /// A block is moved to the end.
    Move(usize),
}

/// Receives an update as a server does, and returns all updates that it would send.
fn receive(doc: &mut ContentDoc, update: &[u8]) -> Vec<Vec<u8>> {
    let received = doc.receive(update, UpdateSource::Wire).expect("an update");
    if !received.brought_new {
        return Vec::new();
    }
    let carried = doc.carry_moved_words().expect("carried");
    let aside = doc.edit_registers().record_aside().expect("recorded");
    [Some(update.to_vec()), carried, aside].into_iter().flatten().collect()
}

/// Receives an update of an editor, and marks whose it is.
fn receive_from(doc: &mut ContentDoc, update: &[u8], name: &str, at: Millis) -> Vec<Vec<u8>> {
    let author = RunAuthor::new(Actor::new(ActorKind::Agent, name), at);
    let first = writers(update).expect("an update").first().copied();
    let mark = doc.edit_registers().plan_typing_mark(first, &author);
    let mut sent = receive(doc, update);
    let mark = mark.map(|mark| doc.edit_registers().add_typing_mark(&mark).expect("added"));
    sent.extend(mark.flatten());
    sent
}

/// Returns the texts of the blocks.
fn blocks(txn: &TransactionMut<'_>) -> Vec<(XmlTextRef, String)> {
    let text = |kid: LiveChild| {
        let LiveChild::Element(element) = kid else { return None };
        let Some(LiveChild::Text(text)) = element.kids.first() else { return None };
        Some((text.slots[0].handle.clone(), text.slots[0].text.clone()))
    };
    live(txn, SchemaProfile::Gfm).into_iter().filter_map(text).collect()
}

/// Changes the blocks of an editor; returns `None` if it has too few.
fn change(doc: &mut ContentDoc, change: BlockChange) -> Option<Vec<u8>> {
    let (_, update) = doc.replica.gate.edit(|txn| {
        let blocks = blocks(txn);
        let fragment = txn.get_xml_fragment(ROOT).expect("it is rich");
        match change {
            BlockChange::Join(at) if at > 0 && at < blocks.len() => {
                let (left, text) = &blocks[at - 1];
                left.insert(txn, text.encode_utf16().count() as u32, &blocks[at].1);
                fragment.remove_range(txn, at as u32, 1);
            }
            BlockChange::JoinForward(at) if at > 0 && at < blocks.len() => {
                blocks[at].0.insert(txn, 0, &blocks[at - 1].1);
                fragment.remove_range(txn, at as u32 - 1, 1);
            }
            BlockChange::Move(at) if at + 1 < blocks.len() => {
                fragment.remove_range(txn, at as u32, 1);
                let text = XmlTextPrelim::new(blocks[at].1.as_str());
                let block = XmlElementPrelim::new("paragraph", [text.into()]);
                fragment.insert(txn, blocks.len() as u32 - 1, block);
            }
            _ => {}
        }
    });
    doc.forget();
    update
}

#[test]
fn a_word_typed_into_a_block_that_others_join_or_move_follows_it() {
    let changes = [BlockChange::Join(1), BlockChange::JoinForward(2), BlockChange::Move(1)];
    let texts = [
        "First block.Second block, of a wordthatstays few words.\n\nThird block.\n",
        "First block.\n\nSecond block, of a wordthatstays few words.Third block.\n",
        "First block.\n\nThird block.\n\nSecond block, of a wordthatstays few words.\n",
    ];
    for (block_change, expected) in changes.into_iter().zip(texts) {
        for order in ["typed", "moved", "letters"] {
            let mut server = replica(1, RICH, &[]);
            write(&mut server, FILE);
            let (mut ana, mut ben) = (replica(2, RICH, &[&server]), replica(3, RICH, &[&server]));
            let mut updates = match order {
                "letters" => {
                    let mut behind = "of a ".to_owned();
                    let letters = "wordthatstays ".chars().map(|letter| {
                        let update = type_behind(&mut ana, &behind, &letter.to_string());
                        behind.push(letter);
                        update
                    });
                    letters.collect()
                }
                _ => vec![type_behind(&mut ana, "of a ", "wordthatstays ")],
            };
            let moved = change(&mut ben, block_change).expect("an update");
            updates.insert(if order == "typed" { 1 } else { 0 }, moved);
            let mut sent = Vec::new();
            for update in &updates {
                sent.extend(receive(&mut server, update));
            }
            assert_eq!(server.text(), expected, "{block_change:?} {order}");
            assert!(server.set_aside().is_empty());
            for update in &sent {
                ben.receive(update, UpdateSource::Wire).expect("an update");
                ana.receive(update, UpdateSource::Wire).expect("an update");
            }
            assert_eq!((ana.text(), ben.text()), (expected.into(), expected.into()));
            assert!(replica(9, RICH, &[&server]).set_aside().is_empty());
        }
    }
}

/// The text of the block is inserted in pieces, with a mark between.
#[test]
fn a_word_follows_a_block_with_marks() {
    let mut server = replica(1, RICH, &[]);
    write(&mut server, "First block.\n\nSecond **bold** block of words.\n");
    let (mut ana, mut ben) = (replica(2, RICH, &[&server]), replica(3, RICH, &[&server]));
    let typed = type_behind(&mut ana, " block of ", "wordthatstays ");
    let (_, joined) = ben.replica.gate.edit(|txn| {
        let (left, text) = blocks(txn).swap_remove(0);
        let mut at = text.len() as u32;
        for (piece, mark) in [
            ("Second ", Any::Null),
            ("bold", Any::from(std::collections::HashMap::<String, Any>::new())),
            (" block of words.", Any::Null),
        ] {
            let marks = [("strong".into(), mark)].into_iter().collect();
            left.insert_with_attributes(txn, at, piece, marks);
            at += piece.len() as u32;
        }
        txn.get_xml_fragment(ROOT).expect("it is rich").remove_range(txn, 1, 1);
    });
    for update in [&joined.expect("an update"), &typed] {
        receive(&mut server, update);
    }
    assert_eq!(server.text(), "First block.Second **bold** block of wordthatstays words.\n");
    assert!(server.set_aside().is_empty());
}

/// Our own writers: a save moves the block.
#[test]
fn a_word_typed_into_a_block_that_a_save_moves_follows_it() {
    for is_local in [false, true] {
        let mut server = replica(1, RICH, &[]);
        write(&mut server, FILE);
        let mut ana = replica(2, RICH, &[&server]);
        let typed = type_behind(&mut ana, "of a ", "wordthatstays ");
        let moved = "First block.\n\nThird block.\n\nSecond block, of a few words.\n";
        if is_local {
            write(&mut server, moved);
        } else {
            let mut ben = replica(3, RICH, &[&server]);
            let update = write(&mut ben, moved);
            receive(&mut server, &update);
        }
        receive(&mut server, &typed);
        assert_eq!(server.text(), moved.replace("few", "wordthatstays few"), "{is_local}");
        assert!(server.set_aside().is_empty());
    }
}

/// A block that is deleted, and an equal one that was there before: they are two.
#[test]
fn a_word_does_not_follow_a_block_that_is_only_equal() {
    let mut server = replica(1, RICH, &[]);
    write(&mut server, "Equal block.\n\nBetween.\n\nEqual block.\n");
    let (mut ana, mut ben) = (replica(2, RICH, &[&server]), replica(3, RICH, &[&server]));
    let typed = type_behind(&mut ana, "Equal ", "wordthatgoes ");
    let deleted = write(&mut ben, "Between.\n\nEqual block.\n");
    for update in [&deleted, &typed] {
        receive(&mut server, update);
    }
    assert_eq!(server.text(), "Between.\n\nEqual block.\n");
    assert_eq!(server.set_aside(), ["wordthatgoes "]);
}

/// What became of the words that were typed.
#[derive(Debug, Default)]
struct Outcome {
    n_words: usize,
    n_aside: usize,
    /// Words that are missing, or there twice.
    wrong: Vec<String>,
    texts: Vec<String>,
}

/// Four editors type at one or two servers, which exchange what they have now and then; one of them
/// changes blocks. A single server may restart instead of an exchange.
fn play(seed: u64, n_servers: usize, restarts: bool) -> Outcome {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut first = replica(1, RICH, &[]);
    let text: Vec<String> = (0..6).map(|at| format!("Block{at} has some words.")).collect();
    write(&mut first, &(text.join("\n\n") + "\n"));
    let mut servers: Vec<ContentDoc> =
        (0..n_servers).map(|n| replica(20 + n as u64, RICH, &[&first])).collect();
    let mut editors: Vec<ContentDoc> =
        (0..4).map(|n| replica(40 + n as u64, RICH, &[&first])).collect();
    let mut pending: Vec<Vec<Vec<u8>>> = vec![Vec::new(); editors.len()];
    let mut words = Vec::new();
    for step in 0..60_u64 {
        let (who, kind) = (rng.random_range(0..editors.len()), rng.random_range(0..10));
        match kind {
            0..4 => {
                let (word, block) = (format!("w{step}w "), rng.random_range(0..6));
                let anchor = format!("Block{block} ");
                if !editors[who].text().contains(&anchor) {
                    continue;
                }
                let update = type_behind(&mut editors[who], &anchor, &word);
                pending[who].push(update);
                words.push(word.trim().to_owned());
            }
            4..6 if who == 0 => {
                let at = rng.random_range(0..6);
                let block_change = match rng.random_range(0..3) {
                    0 => BlockChange::Join(at),
                    1 => BlockChange::JoinForward(at),
                    _ => BlockChange::Move(at),
                };
                pending[who].extend(change(&mut editors[who], block_change));
            }
            6..9 => {
                let server = &mut servers[who % n_servers];
                deliver(server, &mut editors[who], &mut pending[who], step);
            }
            _ if restarts => servers = vec![replica(100 + step, RICH, &[&servers[0]])],
            _ => exchange(&mut servers),
        }
    }
    for step in 60..62 {
        for (who, editor) in editors.iter_mut().enumerate() {
            deliver(&mut servers[who % n_servers], editor, &mut pending[who], step);
        }
        exchange(&mut servers);
        exchange(&mut servers);
    }
    let mut outcome = Outcome { n_words: words.len(), ..Outcome::default() };
    let last = servers.len() - 1;
    let (text, aside) = (servers[last].text(), servers[last].set_aside().join("\n"));
    for word in words {
        let (n_there, n_aside) = (text.matches(&word).count(), aside.matches(&word).count());
        outcome.n_aside += usize::from(n_there == 0);
        if n_there > 1 || n_there + n_aside == 0 {
            outcome.wrong.push(format!("{word}: {n_there} in the file, {n_aside} aside"));
        }
    }
    outcome.texts = servers.iter().map(ContentDoc::text).collect();
    outcome
}

/// Sends what an editor typed, one update after the other, and what it lacks. Three seconds pass
/// with each step.
fn deliver(
    server: &mut ContentDoc,
    editor: &mut ContentDoc,
    pending: &mut Vec<Vec<u8>>,
    step: u64,
) {
    let name = editor.client().to_string();
    for update in pending.drain(..) {
        receive_from(server, &update, &name, Millis(1_000 + step as i64 * 3_000));
    }
    let lacks = server.gate().encode_diff(&editor.gate().state_vector()).expect("a diff");
    editor.receive(&lacks, UpdateSource::Store).expect("an update");
}

fn exchange(servers: &mut [ContentDoc]) {
    let [one, other] = servers else { return };
    let to_other = one.gate().encode_diff(&other.gate().state_vector()).expect("a diff");
    let to_one = other.gate().encode_diff(&one.gate().state_vector()).expect("a diff");
    receive(other, &to_other);
    receive(one, &to_one);
}

proptest! {
    /// Each word is in the file once, or set aside.
    #[test]
    fn words_beside_moves_are_never_lost_or_doubled(
        seed: u64,
        n_servers in 1..3_usize,
        restarts: bool,
    ) {
        let restarts = restarts && n_servers == 1;
        let outcome = play(seed, n_servers, restarts);
        prop_assert!(outcome.wrong.is_empty(), "{:?}", outcome);
        prop_assert!(outcome.texts.iter().all(|text| *text == outcome.texts[0]), "{:?}", outcome);
    }
}

/// How many words leave the file, of those typed while others join and move blocks.
#[test]
fn few_words_leave_the_file_when_blocks_move() {
    check_few_leave(false, 50);
}

/// As before, but the server restarts about six times. It knows moves from its log then, if no
/// other change of the same text was made in the same run of typing.
#[test]
fn few_words_leave_the_file_when_the_server_restarts() {
    check_few_leave(true, 20);
}

/// Fails if more than one of `share` words leaves the file.
fn check_few_leave(restarts: bool, share: usize) {
    let (mut n_words, mut n_aside) = (0, 0);
    for seed in 0..200 {
        let outcome = play(seed, 1, restarts);
        n_words += outcome.n_words;
        n_aside += outcome.n_aside;
    }
    assert!(n_aside * share < n_words, "{n_aside} of {n_words}");
}

/// A server that restarted since a block moved, and a word that arrives in it then.
#[test]
fn a_word_follows_a_block_that_moved_before_a_restart() {
    for block_change in [BlockChange::Join(1), BlockChange::JoinForward(2), BlockChange::Move(1)] {
        for is_marked_again in [false, true] {
            let mut server = replica(1, RICH, &[]);
            write(&mut server, FILE);
            let mut ana = replica(2, RICH, &[&server]);
            let mut ben = replica(3, RICH, &[&server]);
            let typed = type_behind(&mut ana, "of a ", "wordthatstays ");
            let moved = change(&mut ben, block_change).expect("an update");
            receive_from(&mut server, &moved, "ben", Millis(2_000));
            if is_marked_again {
                let more = type_behind(&mut ben, "First", "ly");
                receive_from(&mut server, &more, "ben", Millis(900_000));
            }
            let mut server = replica(4, RICH, &[&server]);
            receive_from(&mut server, &typed, "ana", Millis(990_000));
            let text = server.text();
            assert!(text.contains("of a wordthatstays few"), "{block_change:?}: {text}");
            assert_eq!(text.matches("wordthatstays").count(), 1, "{block_change:?}: {text}");
            assert!(server.set_aside().is_empty(), "{block_change:?}");
        }
    }
}

/// As before, but the block was deleted, and an equal one was always there.
#[test]
fn a_word_does_not_follow_an_equal_block_after_a_restart() {
    let mut server = replica(1, RICH, &[]);
    write(&mut server, "Equal block.\n\nBetween.\n\nEqual block.\n");
    let (mut ana, mut ben) = (replica(2, RICH, &[&server]), replica(3, RICH, &[&server]));
    let typed = type_behind(&mut ana, "Equal ", "wordthatgoes ");
    let deleted = write(&mut ben, "Between.\n\nEqual block.\n");
    receive_from(&mut server, &deleted, "ben", Millis(2_000));
    let mut server = replica(4, RICH, &[&server]);
    receive_from(&mut server, &typed, "ana", Millis(990_000));
    assert_eq!(server.text(), "Between.\n\nEqual block.\n");
    assert_eq!(server.set_aside(), ["wordthatgoes "]);
}
