//! Programs that each change one word of a markdown file, while a person types into all of its
//! blocks: each word is changed in the block that it is in.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yrs::{
    GetString, ReadTxn as _, Text as _, Transact as _, TransactionMut, Update, WriteTxn as _,
    XmlFragment as _, XmlOut, XmlTextRef, updates::decoder::Decode as _,
};

use super::{author, doc, raw};
use crate::{
    content::{ContentBase, ContentDoc, Version},
    gate::UpdateSource,
    kind::{ContentRoot, SchemaProfile},
};

const N_SAVES: usize = 20;

const WORDS: [&str; 6] = ["river", "stone", "cloud", "maple", "candle", "lantern"];

/// Returns a file in which all lines have words in common.
fn body(word: impl Fn(usize) -> String) -> String {
    let lines = (0..N_SAVES).map(|n| {
        let [a, b, c] = [n, n + 2, n + 3].map(|n| WORDS[n % 6]);
        let line = format!("{a} {} {b} {c}", word(n));
        match n % 6 {
            0 => line,
            1 => format!("- {line}"),
            2 => format!("{line}\n"),
            3 => format!("> {line}\n"),
            4 => format!("## {line}"),
            _ => format!("1. {line}"),
        }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// A person in an editor.
struct Typist {
    doc: yrs::Doc,
    n_typed: usize,
}

impl Typist {
    /// Types a word before a word of some block.
    fn type_word(&mut self, server: &mut ContentDoc, random: &mut ChaCha8Rng) {
        self.n_typed += 1;
        let word = format!("ty{:06}p ", self.n_typed);
        self.change_texts(server, |txn, texts| {
            let text = &texts[random.random_range(0..texts.len())];
            let written = text.get_string(txn);
            let starts: Vec<usize> = std::iter::once(0)
                .chain(written.match_indices(' ').map(|(at, _)| at + 1))
                .collect();
            let at = starts[random.random_range(0..starts.len())];
            text.insert(txn, at as u32, &word);
        });
    }

    /// Types a character at the end of a block.
    fn type_at_end(&self, server: &mut ContentDoc, block: usize, typed: char) {
        self.change_texts(server, |txn, texts| {
            let len = texts[block].len(txn);
            texts[block].insert(txn, len, &typed.to_string());
        });
    }

    /// Changes the texts of what the server has now.
    fn change_texts(
        &self,
        server: &mut ContentDoc,
        change: impl FnOnce(&mut TransactionMut<'_>, &[XmlTextRef]),
    ) {
        let state = Update::decode_v1(&server.gate().encode_state()).unwrap();
        self.doc.transact_mut().apply_update(state).unwrap();
        let before = self.doc.transact().state_vector();
        {
            let mut txn = self.doc.transact_mut();
            let root = txn.get_or_insert_xml_fragment("richtext");
            let texts: Vec<XmlTextRef> = root
                .successors(&txn)
                .filter_map(|node| if let XmlOut::Text(text) = node { Some(text) } else { None })
                .collect();
            change(&mut txn, &texts);
        }
        let update = self.doc.transact().encode_diff_v1(&before);
        server.receive(&update, UpdateSource::Wire).unwrap();
    }
}

/// Returns the words of a text that no writer typed.
fn words(text: &str) -> Vec<&str> {
    let is_typed = |word: &&str| word.starts_with("ty") && word.len() == 9;
    text.split_whitespace().filter(|word| !is_typed(word)).collect()
}

/// Plays saves of texts that were read some steps ago.
fn play(seed: u64, by_text: bool) -> Result<(), String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut server = doc(1);
    server.set_kind(ContentRoot::Rich(SchemaProfile::Gfm));
    let first = body(|n| format!("old{n:03}x"));
    server.write(&first, None, &author("first")).unwrap().update.unwrap();
    let mut typist = Typist { doc: raw(9), n_typed: 0 };
    let mut due: Vec<usize> = (0..N_SAVES).collect();
    let mut saved = BTreeSet::new();
    let mut read: Vec<(Version, String)> = vec![(server.version(), server.text())];
    while !due.is_empty() {
        if random.random_range(0..3) > 0 {
            typist.type_word(&mut server, &mut random);
        } else {
            let back = random.random_range(0..read.len().min(12));
            let (version, text) = read[read.len() - 1 - back].clone();
            let mut new = text.clone();
            for _ in 0..random.random_range(1..4).min(due.len()) {
                let n = due.swap_remove(random.random_range(0..due.len()));
                new = new.replace(&format!("old{n:03}x"), &format!("new{n:03}x"));
                saved.insert(n);
            }
            let base = match by_text {
                true => ContentBase::Text(&text),
                false => ContentBase::Version(&version),
            };
            let before = server.text();
            drop(server.write(&new, Some(base), &author("program")).unwrap().update);
            let name = |n| if saved.contains(&n) { "new" } else { "old" };
            let expected = body(|n| format!("{}{n:03}x", name(n)));
            if words(&server.text()) != words(&expected) {
                let after = server.text();
                return Err(format!(
                    "seed {seed}, by text {by_text}\nread\n{text}\nsaved\n{new}\nover\n{before}\n\
                     is\n{after}"
                ));
            }
        }
        read.push((server.version(), server.text()));
    }
    let (found, expected) = (server.text(), body(|n| format!("new{n:03}x")));
    let n_typed = (1..=typist.n_typed)
        .filter(|n| server.text().matches(&format!("ty{n:06}p")).count() == 1)
        .count();
    if words(&found) == words(&expected) && n_typed == typist.n_typed {
        return Ok(());
    }
    Err(format!("seed {seed}, by text {by_text}: {n_typed} typed\n{found}"))
}

#[test]
fn a_word_is_changed_in_its_block() {
    let failed: Vec<String> = (0..40)
        .flat_map(|seed| [play(seed, false), play(seed, true)])
        .filter_map(Result::err)
        .collect();
    assert!(failed.is_empty(), "{} of 120: {}", failed.len(), failed.join("\n"));
}

/// Plays a person who types at the end of a block, one character at a time, while programs save
/// texts that they read some steps ago, in which they change words of the same blocks.
fn play_at_end(seed: u64, by_text: bool) -> Result<(), String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut server = doc(1);
    server.set_kind(ContentRoot::Rich(SchemaProfile::Gfm));
    drop(server.write(&body(|n| format!("old{n:03}x")), None, &author("first")).unwrap());
    let typist = Typist { doc: raw(9), n_typed: 0 };
    let block = random.random_range(0..N_SAVES);
    let typed = (0..12).fold(String::new(), |typed, n| typed + &format!(" ty{n}p"));
    let mut read = vec![(server.version(), server.text())];
    let mut n_saves = 0;
    for character in typed.chars() {
        typist.type_at_end(&mut server, block, character);
        read.push((server.version(), server.text()));
        if random.random_range(0..3) == 0 {
            let back = random.random_range(0..read.len().min(4));
            let (version, text) = &read[read.len() - 1 - back];
            let base =
                if by_text { ContentBase::Text(text) } else { ContentBase::Version(version) };
            let n = [block, random.random_range(0..N_SAVES)][n_saves % 2];
            n_saves += 1;
            let new = text.replacen(&format!("{n:03}x"), &format!("{n:03}x{n_saves}"), 1);
            drop(server.write(&new, Some(base), &author("program")).unwrap());
            read.push((server.version(), server.text()));
        }
    }
    // A blank that a program has read at the end of a block is written as an entity.
    let lines = server.text().replace("&#32;", " ");
    match lines.lines().any(|line| line.ends_with(&typed)) {
        true => Ok(()),
        false => Err(format!("seed {seed}, by text {by_text}: {typed:?} in\n{lines}")),
    }
}

/// The file does not show the blank at the end, so a save does not mean to remove it.
#[test]
fn the_blanks_that_a_person_types_stay_beside_saves() {
    let failed: Vec<String> = (0..40)
        .flat_map(|seed| [play_at_end(seed, false), play_at_end(seed, true)])
        .filter_map(Result::err)
        .collect();
    assert!(failed.is_empty(), "{} of 80: {}", failed.len(), failed[0]);
}
