//! Replicas that change the same words without knowing of each other.

use proptest::prelude::*;
use yfs_markdown::schema::SchemaProfile;
use yrs::{ReadTxn as _, Text as _};

use crate::{
    actor::{Actor, ActorKind},
    content::{ContentBase, ContentDoc, RunAuthor, choose_word},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::ContentRoot,
    time::Millis,
};

const KINDS: [ContentRoot; 2] = [ContentRoot::Text, ContentRoot::Rich(SchemaProfile::Gfm)];

fn replica(client: u64, kind: ContentRoot) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").expect("an id");
    let client = ClientId::new(client).expect("53 bits");
    let mut doc = ContentDoc::new(&id, client, GateLimits::default());
    doc.set_kind(kind);
    doc
}

fn write(doc: &mut ContentDoc, text: &str) {
    let author = RunAuthor::new(Actor::new(ActorKind::Human, "test"), Millis(1_000));
    assert!(doc.write(text, None, &author).is_ok());
}

/// Replicas of a file that one of them made.
fn replicas(n: u64, kind: ContentRoot, base: &str) -> Vec<ContentDoc> {
    let mut docs: Vec<ContentDoc> = (0..n).map(|index| replica(10 + index, kind)).collect();
    write(&mut docs[0], base);
    let state = docs[0].gate().encode_state();
    for doc in &mut docs[1..] {
        doc.receive(&state, UpdateSource::Store).expect("an update");
    }
    docs
}

/// Exchanges all states, in one order or the other, as replicas do that separate what arrives.
fn exchange(docs: &mut [ContentDoc], is_reversed: bool) {
    for _ in 0..3 {
        let mut states: Vec<Vec<u8>> = docs.iter().map(|doc| doc.gate().encode_state()).collect();
        if is_reversed {
            states.reverse();
        }
        for doc in docs.iter_mut() {
            for state in &states {
                doc.receive(state, UpdateSource::Store).expect("an update");
                doc.separate_words().expect("a usable document");
            }
        }
    }
}

/// Writes the texts apart, merges them, and returns the file and the words in conflict.
fn merged(base: &str, texts: &[&str], kind: ContentRoot) -> (String, Vec<Vec<String>>) {
    let mut results = Vec::new();
    for is_reversed in [false, true] {
        let mut docs = replicas(texts.len() as u64, kind, base);
        for (doc, text) in docs.iter_mut().zip(texts) {
            write(doc, text);
        }
        exchange(&mut docs, is_reversed);
        for doc in &mut docs {
            let words = doc.separated_words().expect("a usable document");
            results.push((doc.text(), words.into_iter().map(|group| group.words).collect()));
        }
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
    results.swap_remove(0)
}

#[test]
fn a_word_that_two_change_is_there_as_both_wrote_it() {
    for kind in KINDS {
        let (text, words) = merged("timeout 30 s\n", &["timeout 45 s\n", "timeout 60 s\n"], kind);
        assert_eq!(text, "timeout 45 60 s\n");
        assert_eq!(words, [["45", "60"]]);
        let (text, words) = merged("a 1.2.3 b\n", &["a 1.3.0 b\n", "a 2.0.0 b\n"], kind);
        assert_eq!((text.as_str(), words.len()), ("a 1.3.0 2.0.0 b\n", 1));
        let (text, words) = merged("at -5 C\n", &["at 5 C\n", "at -6 C\n"], kind);
        assert_eq!(text, "at 5 -6 C\n");
        assert_eq!(words, [["5", "-6"]]);
        let (text, words) = merged("up 5% p\n", &["up 6 p\n", "up 7% p\n"], kind);
        assert_eq!(words.len(), 1, "{text}");
        assert!(["up 6 7% p\n", "up 7% 6 p\n"].contains(&text.as_str()), "{text}");
        let (text, words) =
            merged("time 30 s\n", &["time 45 s\n", "time 60 s\n", "time 90 s\n"], kind);
        assert_eq!(text.split(' ').collect::<Vec<_>>().len(), 5, "{text}");
        assert_eq!(words[0].len(), 3);
    }
    let (text, words) = merged(
        "{\"v\": \"1.2.3\"}\n",
        &["{\"v\": \"1.3.0\"}\n", "{\"v\": \"2.0.0\"}\n"],
        ContentRoot::Text,
    );
    assert_eq!(text, "{\"v\": \"1.3.0 2.0.0\"}\n");
    assert_eq!(words.len(), 1);
}

#[test]
fn a_word_that_two_change_alike_is_there_once() {
    for kind in KINDS {
        let (text, words) = merged("timeout 30 s\n", &["timeout 45 s\n", "timeout 45 s\n"], kind);
        assert_eq!((text.as_str(), words.len()), ("timeout 45 s\n", 0));
    }
}

#[test]
fn different_words_are_merged() {
    for kind in KINDS {
        let base = "the quick brown fox\n";
        let (text, words) = merged(base, &["the slow brown fox\n", "the quick red fox\n"], kind);
        assert_eq!((text.as_str(), words.len()), ("the slow red fox\n", 0));
    }
}

#[test]
fn a_longer_change_over_a_shorter_one_is_separated() {
    for kind in KINDS {
        let (text, _) = merged("timeout 30 s\n", &["limit 60 s\n", "timeout 45 s\n"], kind);
        for word in text.split_whitespace() {
            assert!(["limit", "60", "45", "s", "timeout"].contains(&word), "{text}");
        }
    }
}

#[test]
fn a_conflict_ends_with_one_of_the_words() {
    for kind in KINDS {
        let mut docs = replicas(2, kind, "timeout 30 s\n");
        write(&mut docs[0], "timeout 45 s\n");
        write(&mut docs[1], "timeout 60 s\n");
        exchange(&mut docs, false);
        write(&mut docs[0], "timeout 60 s\n");
        exchange(&mut docs, false);
        for doc in &mut docs {
            assert_eq!(doc.text(), "timeout 60 s\n");
            assert_eq!(doc.separated_words().expect("a usable document"), []);
        }
    }
}

/// A writer of the same store saves what it had read before the other one saved. It is the same
/// conflict as between replicas, listed until one of the words is kept.
#[test]
fn a_stale_save_in_one_store_is_a_conflict_as_well() {
    for kind in KINDS {
        let mut doc = replicas(1, kind, "timeout 30 s\n").remove(0);
        let read = doc.version();
        write(&mut doc, "timeout 45 s\n");
        let author = RunAuthor::new(Actor::new(ActorKind::Human, "stale"), Millis(2_000));
        let base = Some(ContentBase::Version(&read));
        let written = doc.write("timeout 60 s\n", base, &author).expect("written");
        let text = doc.text();
        let overlap = &written.overlaps[0];
        assert_eq!((overlap.inserted.as_str(), overlap.theirs.as_str()), ("60", "45"));
        if kind == ContentRoot::Text {
            assert_eq!(&text[overlap.at..overlap.at + 2], "60");
        }
        assert!(["timeout 45 60 s\n", "timeout 60 45 s\n"].contains(&&*text), "{text}");
        let groups = doc.separated_words().expect("a usable document");
        assert_eq!(groups.len(), 1, "{groups:?}");
        // A peer that gets the update finds the same.
        let mut peer = replica(20, kind);
        peer.receive(&doc.gate().encode_state(), UpdateSource::Store).expect("an update");
        assert_eq!((peer.text(), peer.separated_words()), (text, Ok(groups)));
        assert_eq!(peer.separate_words(), Ok(None));

        let _ = doc.keep_word(0, &author).expect("kept");
        assert_eq!(doc.separated_words(), Ok(vec![]));
        assert!(["timeout 45 s\n", "timeout 60 s\n"].contains(&&*doc.text()));
    }
}

/// A person who deletes the blank between the words has decided. No replica writes an update for it
/// again, which the others would answer for ever.
#[test]
fn a_blank_that_an_editor_deleted_does_not_come_back() {
    let mut docs = replicas(2, ContentRoot::Text, "timeout 30 s\n");
    write(&mut docs[0], "timeout 45 s\n");
    write(&mut docs[1], "timeout 60 s\n");
    exchange(&mut docs, false);
    let (_, update) = docs[0].replica.gate.edit(|txn| {
        let root = txn.get_text("text").expect("it is there");
        root.remove_range(txn, "timeout 45".len() as u32, 1);
    });
    docs[0].forget();
    docs[1].receive(&update.expect("an update"), UpdateSource::Wire).expect("accepted");
    for doc in &mut docs {
        assert_eq!(doc.separate_words(), Ok(None));
        assert_eq!(doc.text(), "timeout 4560 s\n");
        assert_eq!(doc.separated_words(), Ok(vec![]));
    }
}

/// One group is decided, the others stay; words that are all kept are no conflict any more.
#[test]
fn one_group_of_words_is_decided_at_a_time() {
    for kind in KINDS {
        let mut docs = replicas(2, kind, "# t 30\n\n- a 30 b\n");
        write(&mut docs[0], "# t 45\n\n- a 45 b\n");
        write(&mut docs[1], "# t 60\n\n- a 60 b\n");
        exchange(&mut docs, true);
        let author = RunAuthor::new(Actor::new(ActorKind::Human, "test"), Millis(2_000));
        let doc = &mut docs[0];
        let groups = doc.separated_words().expect("a usable document");
        let [first, second] = groups.as_slice() else { panic!("{groups:?}") };
        let all = second.words.join(" ");
        let nothing = choose_word(doc, 0, &["other".to_owned()], Some(0), &author);
        assert_eq!(nothing, Ok(vec![]));
        choose_word(doc, 1, &second.words, None, &author).expect("kept");
        let left = doc.separated_words().expect("a usable document");
        assert_eq!(left.as_slice(), std::slice::from_ref(first));
        choose_word(doc, 0, &first.words, Some(1), &author).expect("kept");
        assert_eq!(doc.separated_words(), Ok(vec![]));
        assert_eq!(doc.text(), format!("# t {}\n\n- a {all} b\n", first.words[1]));
        assert_eq!(doc.separate_words(), Ok(None));
    }
}

/// What a peer calls a separator may stand anywhere: nothing is kept that is not there.
#[test]
fn words_are_kept_only_where_the_text_has_them() {
    for kind in KINDS {
        let mut docs = replicas(2, kind, "# t 30\n\n- a 30 b\n");
        write(&mut docs[0], "# t 45\n\n- a 45 b\n");
        write(&mut docs[1], "# t 60\n\n- a 60 b\n");
        exchange(&mut docs, true);
        let author = RunAuthor::new(Actor::new(ActorKind::Human, "test"), Millis(2_000));
        docs[0].keep_word(1, &author).expect("kept").expect("an update");
        let text = docs[0].text();
        assert!(["# t 45\n\n- a 45 b\n", "# t 60\n\n- a 60 b\n"].contains(&&*text), "{text}");
    }
}

/// A number or a word that no other word of the line equals.
fn base_word(index: usize) -> impl Strategy<Value = String> {
    prop_oneof![Just(format!("1.{index}")), Just(format!("{index}0")), Just(format!("a{index}"))]
}

/// A line of words, and what writers make of it: each word as it was, or a number.
fn line_and_changes() -> impl Strategy<Value = (Vec<String>, Vec<Vec<Option<String>>>)> {
    let line = (1..6_usize).prop_flat_map(|len| (0..len).map(base_word).collect::<Vec<_>>());
    line.prop_flat_map(|base| {
        let change = proptest::option::weighted(0.4, "[2-9]{2,3}(\\.[7-9])?");
        let changes = proptest::collection::vec(change, base.len());
        (Just(base), proptest::collection::vec(changes, 2..4))
    })
}

proptest! {
    #![proptest_config(crate::tests::property_config(200))]

    /// Each number in the merged text is one that stood in the base or that a writer wrote.
    #[test]
    fn no_number_is_a_mixture((base, changes) in line_and_changes(), rich in any::<bool>()) {
        let line = |words: Vec<&str>| words.join(" ") + "\n";
        let texts: Vec<String> = changes
            .iter()
            .map(|changes| {
                let words = base.iter().zip(changes);
                line(words.map(|(word, change)| change.as_ref().unwrap_or(word).as_str()).collect())
            })
            .collect();
        let base = line(base.iter().map(String::as_str).collect());
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (text, _) = merged(&base, &texts, KINDS[usize::from(rich)]);
        let known: Vec<&str> =
            texts.iter().chain([&base.as_str()]).flat_map(|text| text.split_whitespace()).collect();
        // A blank at the end of a paragraph is written as an entity.
        for word in text.replace("&#32;", " ").split_whitespace() {
            prop_assert!(known.contains(&word), "{word} in {text:?} of {base:?} and {texts:?}");
        }
    }
}
