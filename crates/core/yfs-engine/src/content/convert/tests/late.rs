//! Random tests: one process converts to and fro, and editors type into the root that they saw
//! last.

use proptest::prelude::*;
use yrs::{Assoc, GetString as _, IndexedSequence as _, ReadTxn as _, StickyIndex, Text as _};

use super::{RICH, replica, write};
use crate::{
    content::{ContentDoc, TEXT},
    gate::UpdateSource,
    id::ItemId,
    kind::ContentRoot,
    rich::{LiveChild, ROOT, TextSlot, live},
};

#[derive(Debug, Clone)]
enum Step {
    /// An editor types a word, or the first half of one.
    Type { who: usize, place: usize, is_half: bool },
    /// An editor types the second half behind the first.
    Finish(usize),
    /// An editor deletes a word that it typed.
    Delete(usize),
    /// An editor receives the updates of the server.
    Merge(usize),
    /// An editor shows the form that it knows to be current.
    Bind(usize),
    /// The server receives one of an editor's updates that it lacks.
    Send(usize, usize),
    /// The server converts.
    Convert,
    /// The server merges late work.
    Settle,
    /// Another client writes a word into the file.
    Append(usize),
    /// Another client removes a block of the file while it is text.
    Remove(usize),
}
use Step::*;

fn step() -> impl Strategy<Value = Step> {
    let who = || 0..3_usize;
    prop_oneof![
        6 => (who(), 0..40_usize, any::<bool>())
            .prop_map(|(who, place, is_half)| Type { who, place, is_half }),
        3 => who().prop_map(Finish),
        1 => who().prop_map(Delete),
        2 => who().prop_map(Merge),
        2 => who().prop_map(Bind),
        5 => (who(), 0..3_usize).prop_map(|(who, which)| Send(who, which)),
        3 => Just(Convert),
        2 => Just(Settle),
        1 => (0..9_usize).prop_map(Append),
        1 => (0..9_usize).prop_map(Remove),
    ]
}

/// The position of an editor: in the root `text`, or in one `Y.XmlText`.
#[derive(Debug, Clone)]
enum Caret {
    Plain(StickyIndex),
    Rich(ItemId, StickyIndex),
}

struct Editor {
    doc: ContentDoc,
    is_rich: bool,
    /// Its updates that the server lacks.
    waiting: Vec<Vec<u8>>,
    /// A word that was begun, its place, and the text behind it.
    begun: Option<(usize, Caret, String)>,
    typed: Vec<usize>,
}

struct Word {
    is_begun: bool,
    is_finished: bool,
    may_be_gone: bool,
}

struct World {
    server: ContentDoc,
    editors: Vec<Editor>,
    words: Vec<Word>,
}

fn half(number: usize) -> String {
    format!("x{number}a")
}

fn other_half(number: usize) -> String {
    format!("b{number}x")
}

const BLOCKS: [&str; 5] = [
    "# Alpha beta",
    "gamma **delta** epsilon",
    "- zeta\n- eta theta\n- iota",
    "kappa lambda mu",
    "nu xi omicron",
];

impl World {
    fn new(first: ContentRoot) -> Self {
        let mut server = replica(1, first, &[]);
        write(&mut server, &(BLOCKS.join("\n\n") + "\n"));
        let editors = (0..3).map(|index| Editor {
            doc: replica(100 + index, first, &[&server]),
            is_rich: first == RICH,
            waiting: Vec::new(),
            begun: None,
            typed: Vec::new(),
        });
        let editors = editors.collect();
        Self { server, editors, words: Vec::new() }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Type { who, place, is_half } => self.type_word(who, place, is_half),
            Finish(who) => self.finish_word(who),
            Delete(who) => self.delete_word(who),
            Merge(who) => {
                let state = self.server.gate().encode_state();
                self.editors[who].doc.receive(&state, UpdateSource::Store).expect("an update");
            }
            Bind(who) => {
                let editor = &mut self.editors[who];
                editor.is_rich = editor.doc.conversion().current_root() == RICH;
                editor.begun = None;
            }
            Send(who, which) => {
                let waiting = &mut self.editors[who].waiting;
                if !waiting.is_empty() {
                    let update = waiting.remove(which % waiting.len());
                    self.server.receive(&update, UpdateSource::Store).expect("an update");
                }
            }
            Convert => {
                let kind = if self.server.conversion().current_root() == RICH {
                    ContentRoot::Text
                } else {
                    RICH
                };
                self.server.set_kind(kind);
                self.server.convert().expect("it can be converted");
            }
            Settle => {
                self.server.repair().expect("it can be settled");
                assert!(!self.server.conversion().needs_repair());
            }
            Append(place) => self.append(place),
            Remove(place) => self.remove(place),
        }
    }

    fn type_word(&mut self, who: usize, place: usize, is_half: bool) {
        let number = self.words.len();
        let editor = &mut self.editors[who];
        let first = half(number);
        let text = if is_half { first.clone() } else { first.clone() + &other_half(number) };
        let (caret, update) = if editor.is_rich {
            let texts = texts(&editor.doc);
            if texts.is_empty() {
                return;
            }
            let (id, handle, said) = texts[place % texts.len()].clone();
            let (sticky, update) = editor.doc.replica.gate.edit(|txn| {
                let at = boundary(&said, place);
                handle.insert(txn, at, &text);
                let end = at + text.len() as u32;
                handle.sticky_index(txn, end, Assoc::Before)
            });
            (sticky.map(|sticky| Caret::Rich(id, sticky)), update)
        } else {
            let (sticky, update) = editor.doc.replica.gate.edit(|txn| {
                let root = txn.get_text(TEXT).expect("it is there");
                let at = boundary(&root.get_string(txn), place * 7);
                root.insert(txn, at, &text);
                root.sticky_index(txn, at + text.len() as u32, Assoc::Before)
            });
            (sticky.map(Caret::Plain), update)
        };
        editor.doc.forget();
        editor.waiting.extend(update);
        editor.typed.push(number);
        if is_half {
            editor.begun = caret.map(|caret| {
                let behind = behind(&editor.doc, &caret, &first);
                (number, caret, behind)
            });
        }
        self.words.push(Word { is_begun: true, is_finished: !is_half, may_be_gone: false });
    }

    fn finish_word(&mut self, who: usize) {
        let editor = &mut self.editors[who];
        let Some((number, caret, behind_then)) = editor.begun.take() else { return };
        // Yjs inserts behind deleted text at a caret, so words of others may stand in between.
        if behind(&editor.doc, &caret, &half(number)) != behind_then {
            return;
        }
        let text = other_half(number);
        let found = match &caret {
            Caret::Plain(_) => None,
            Caret::Rich(id, _) => {
                let found = texts(&editor.doc).into_iter().find(|(own, ..)| own == id);
                let Some((_, handle, _)) = found else { return };
                Some(handle)
            }
        };
        let (is_made, update) = editor.doc.replica.gate.edit(|txn| {
            let (Caret::Plain(sticky) | Caret::Rich(_, sticky)) = &caret;
            let Some(offset) = sticky.get_offset(txn) else { return false };
            match &found {
                Some(handle) => handle.insert(txn, offset.index, &text),
                None => txn.get_text(TEXT).expect("it is there").insert(txn, offset.index, &text),
            }
            true
        });
        editor.doc.forget();
        editor.waiting.extend(update);
        self.words[number].is_finished = is_made;
    }

    fn delete_word(&mut self, who: usize) {
        let editor = &mut self.editors[who];
        let Some(number) = editor.typed.pop() else { return };
        editor.begun = None;
        let text = match self.words[number].is_finished {
            true => half(number) + &other_half(number),
            false => half(number),
        };
        let len = text.len() as u32;
        let update = if editor.is_rich {
            let texts = texts(&editor.doc);
            let (_, update) = editor.doc.replica.gate.edit(|txn| {
                for (_, handle, said) in &texts {
                    if let Some(at) = said.find(&text) {
                        handle.remove_range(txn, at as u32, len);
                    }
                }
            });
            update
        } else {
            let (_, update) = editor.doc.replica.gate.edit(|txn| {
                let root = txn.get_text(TEXT).expect("it is there");
                if let Some(at) = root.get_string(txn).find(&text) {
                    root.remove_range(txn, at as u32, len);
                }
            });
            update
        };
        editor.doc.forget();
        if update.is_some() {
            editor.waiting.extend(update);
            self.words[number].may_be_gone = true;
        }
    }

    fn append(&mut self, place: usize) {
        let number = self.words.len();
        let text = self.server.text();
        let mut lines: Vec<&str> = text.split('\n').collect();
        let word = half(number) + &other_half(number);
        let at = place % lines.len();
        let line = format!("{} {word}", lines[at]);
        if lines[at].is_empty() {
            return;
        }
        lines[at] = &line;
        let new = lines.join("\n");
        write(&mut self.server, &new);
        self.words.push(Word { is_begun: true, is_finished: true, may_be_gone: false });
    }

    fn remove(&mut self, place: usize) {
        if self.server.conversion().current_root() != ContentRoot::Text {
            return;
        }
        let text = self.server.text();
        let mut blocks: Vec<&str> = text.split("\n\n").collect();
        if blocks.len() < 3 {
            return;
        }
        let gone = blocks.remove(place % blocks.len());
        for (number, word) in self.words.iter_mut().enumerate() {
            word.may_be_gone |= gone.contains(&half(number));
        }
        let new = blocks.join("\n\n");
        write(&mut self.server, &new);
    }

    fn finish(mut self) -> Result<(), TestCaseError> {
        for editor in &mut self.editors {
            for update in std::mem::take(&mut editor.waiting) {
                self.server.receive(&update, UpdateSource::Store).expect("an update");
            }
        }
        self.server.repair().expect("it can be settled");
        prop_assert!(!self.server.conversion().needs_repair());
        let text = self.server.text();
        for (number, word) in self.words.iter().enumerate().filter(|(_, word)| word.is_begun) {
            let whole = match word.is_finished {
                true => half(number) + &other_half(number),
                false => half(number),
            };
            let n_there = text.matches(&whole).count();
            match word.may_be_gone {
                true => {
                    prop_assert!(
                        n_there <= 1,
                        "{} is there {} times in {:?}",
                        whole,
                        n_there,
                        text
                    );
                }
                false => prop_assert_eq!(n_there, 1, "{:?} in {:?}", whole, text),
            }
        }
        let stored = replica(999, self.server.kind(), &[&self.server]);
        prop_assert_eq!(stored.text(), text);
        prop_assert!(
            !stored.conversion().needs_repair() && !stored.conversion().needs_conversion()
        );
        Ok(())
    }
}

/// Returns a place behind a blank: text that several editors type there does not come between the
/// halves of a word.
fn boundary(text: &str, place: usize) -> u32 {
    let places: Vec<usize> = text.match_indices(' ').map(|(at, _)| at + 1).collect();
    if places.is_empty() { 0 } else { places[place % places.len()] as u32 }
}

/// Returns the text behind a word where it was typed.
fn behind(doc: &ContentDoc, caret: &Caret, word: &str) -> String {
    let said = match caret {
        Caret::Plain(_) => doc.replica.plain_text().to_owned(),
        Caret::Rich(id, _) => {
            let found = texts(doc).into_iter().find(|(own, ..)| own == id);
            found.map(|(_, _, said)| said).unwrap_or_default()
        }
    };
    let at = said.find(word).map_or(said.len(), |at| at + word.len());
    said[at..].chars().take(4).collect()
}

pub(super) fn texts(doc: &ContentDoc) -> Vec<(ItemId, yrs::XmlTextRef, String)> {
    fn collect(kids: &[LiveChild], found: &mut Vec<(ItemId, yrs::XmlTextRef, String)>) {
        for kid in kids {
            match kid {
                LiveChild::Element(element) => collect(&element.kids, found),
                LiveChild::Text(text) => {
                    let slot = |slot: &TextSlot| (slot.id, slot.handle.clone(), slot.text.clone());
                    found.extend(text.slots.iter().map(slot));
                }
            }
        }
    }
    let mut found = Vec::new();
    if doc.gate().has_root(ROOT) {
        doc.gate()
            .read(|txn| collect(&live(txn, yfs_markdown::schema::SchemaProfile::Gfm), &mut found));
    }
    found
}

fn run(first: ContentRoot, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut world = World::new(first);
    for step in steps {
        world.step(step);
    }
    world.finish()
}

fn type_one(who: usize, place: usize) -> Step {
    Type { who, place, is_half: false }
}

/// An offline client types while another renames the file there and back.
#[test]
fn what_was_typed_before_a_rename_there_and_back_is_in_the_file() {
    for first in [RICH, ContentRoot::Text] {
        for steps in [
            &[type_one(0, 3), Convert, Convert][..],
            &[type_one(0, 3), Convert, Append(2), Convert],
            &[type_one(0, 3), Convert, Send(0, 0), Convert],
            &[Convert, type_one(0, 3), Send(0, 0), type_one(0, 7), Convert, type_one(0, 11)],
            &[
                Convert,
                Append(2),
                type_one(0, 3),
                Send(0, 0),
                Settle,
                Append(4),
                type_one(0, 7),
                Convert,
                type_one(0, 1),
            ],
            &[
                Convert,
                Merge(0),
                Bind(0),
                type_one(0, 3),
                Convert,
                type_one(0, 5),
                Convert,
                Convert,
                type_one(0, 7),
            ],
            &[type_one(0, 3), Convert, Remove(0), Remove(0), Convert],
            &[
                Convert,
                Remove(7),
                Type { who: 2, place: 23, is_half: true },
                Send(2, 0),
                Finish(2),
                Convert,
            ],
            &[
                Convert,
                Convert,
                type_one(1, 36),
                type_one(0, 36),
                Convert,
                Send(1, 0),
                Settle,
                Remove(1),
                Delete(1),
            ],
        ] {
            run(first, steps).unwrap_or_else(|error| panic!("{error} in {first:?} {steps:?}"));
        }
    }
}

/// Two clients type at one place, and one deletes its text after both were merged: only letters of
/// its own word are deleted.
#[test]
fn a_word_beside_a_deleted_one_keeps_its_letters() {
    run_both(&[
        Convert,
        Append(2),
        Merge(2),
        Convert,
        type_one(0, 0),
        type_one(1, 31),
        Send(1, 0),
        Bind(2),
        type_one(2, 0),
        Send(2, 0),
        Delete(1),
        Convert,
    ]);
}

/// A client goes on with a word in a block that is gone, and had deleted the word before it.
#[test]
fn a_word_behind_a_deleted_one_stays_whole() {
    run_both(&[
        Convert,
        type_one(1, 23),
        Send(1, 0),
        Convert,
        Delete(1),
        Type { who: 1, place: 23, is_half: true },
        type_one(0, 0),
        Convert,
        Finish(1),
        Remove(2),
        Send(1, 1),
        Convert,
    ]);
}

/// Two words that begin alike stand beside each other; one is deleted in the other root. The
/// settlement kept its first letter and deleted that of the other word, so what was typed between
/// the two stood behind the first letter.
#[test]
fn a_deleted_copy_takes_no_letter_of_the_next_word() {
    run_both(&[
        type_one(2, 3),
        type_one(2, 0),
        type_one(2, 0),
        type_one(2, 0),
        Convert,
        Type { who: 2, place: 10, is_half: true },
        Convert,
        type_one(2, 0),
        Convert,
        Convert,
        type_one(1, 10),
        Send(1, 0),
        type_one(1, 0),
        Convert,
        Delete(1),
        Merge(1),
        Send(1, 0),
        Send(1, 0),
        Bind(1),
        Delete(1),
        type_one(0, 0),
        Send(2, 0),
        Send(1, 0),
        Convert,
    ]);
}

fn run_both(steps: &[Step]) {
    for first in [RICH, ContentRoot::Text] {
        run(first, steps).unwrap_or_else(|error| panic!("{error} in {first:?} {steps:?}"));
    }
}

proptest! {
    #[test]
    fn what_anybody_typed_is_there_once_where_one_process_converts(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        run(RICH, &steps)?;
        run(ContentRoot::Text, &steps)?;
    }
}
