//! Whole-file writes beside a user who types in real Yjs.

use std::cell::RefCell;

use proptest::prelude::*;
use serde_json::json;
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{ContentBase, ContentDoc, RunAuthor, Version},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    time::Millis,
};
use yfs_tests::node::Yjs;

use super::runner;

/// What the file holds at first: several lines, some alike.
const START: &str = "# Plan 😀\n\n- one\n- two\n- two\n\nA paragraph, naïvely written. 東京\n";

/// Marks are single characters that are never deleted, so that each can be counted.
const FIRST_MARK: u32 = 0xe000;

#[derive(Debug, Clone)]
enum Step {
    /// The user types a mark, and deletes a few characters.
    Types {
        at: f64,
        from: f64,
    },
    /// A program reads the file, and remembers what it has read.
    Reads,
    /// It writes the whole file: what it read, less a few characters, with a mark.
    Writes {
        at: f64,
        from: f64,
        n_deleted: usize,
    },
    Appends,
    Delivers {
        to_us: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = || 0.0..1.0f64;
    let step = prop_oneof![
        4 => (place(), place()).prop_map(|(at, from)| Step::Types { at, from }),
        2 => Just(Step::Reads),
        3 => (place(), place(), 0..20usize)
            .prop_map(|(at, from, n_deleted)| Step::Writes { at, from, n_deleted }),
        1 => Just(Step::Appends),
        2 => any::<bool>().prop_map(|to_us| Step::Delivers { to_us }),
    ];
    prop::collection::vec(step, 1..30)
}

struct World<'a> {
    ours: ContentDoc,
    yjs: &'a mut Yjs,
    to_us: Vec<Vec<u8>>,
    to_them: Vec<Vec<u8>>,
    read: Option<(Version, String)>,
    n_marks: u32,
}

impl<'a> World<'a> {
    fn new(yjs: &'a mut Yjs) -> Self {
        let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
        let mut ours = ContentDoc::new(&id, ClientId::new(7).unwrap(), GateLimits::default());
        let written = ours.write(START, None, &author()).unwrap();
        yjs.make("theirs", 5, false);
        yjs.apply("theirs", &written.update.unwrap());
        Self { ours, yjs, to_us: vec![], to_them: vec![], read: None, n_marks: 0 }
    }

    fn mark(&mut self) -> char {
        self.n_marks += 1;
        char::from_u32(FIRST_MARK + self.n_marks - 1).unwrap()
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Types { at, from } => self.types(at, from),
            Step::Reads => self.read = Some((self.ours.version(), self.ours.text())),
            Step::Writes { at, from, n_deleted } => {
                let mark = self.mark();
                let (base, text) = match &self.read {
                    Some((version, text)) => (Some(ContentBase::Version(version)), text.clone()),
                    None => (None, self.ours.text()),
                };
                let new = altered(&text, at, mark, from, n_deleted);
                let written = self.ours.write(&new, base, &author()).unwrap();
                self.to_them.extend(written.update);
            }
            Step::Appends => {
                let line = format!("appended {}\n", self.mark());
                let written = self.ours.append(&line, &author()).unwrap();
                assert!(self.ours.text().ends_with(&line));
                self.to_them.extend(written.update);
            }
            Step::Delivers { to_us } => self.deliver(to_us),
        }
    }

    fn types(&mut self, at: f64, from: f64) {
        let mark = self.mark().to_string();
        let text: Vec<char> = self.yjs.text("theirs").chars().collect();
        let utf16 = |end: usize| text[..end].iter().map(|char| char.len_utf16()).sum::<usize>();
        let at = index(at, text.len() + 1);
        let insert = json!({ "doc": "theirs", "at": utf16(at), "text": mark });
        let from = index(from, text.len().max(1));
        let victims = text[from..].iter().take(3).take_while(|char| !is_mark(**char)).count();
        let delete = json!({
            "doc": "theirs", "at": utf16(from), "len": utf16(from + victims) - utf16(from)
        });
        if victims > 0 {
            self.to_us.extend(self.yjs.change("delete", delete));
        }
        if at <= from || victims == 0 {
            self.to_us.extend(self.yjs.change("insert", insert));
        } else {
            let insert = json!({ "doc": "theirs", "at": utf16(from), "text": mark });
            self.to_us.extend(self.yjs.change("insert", insert));
        }
    }

    fn deliver(&mut self, to_us: bool) {
        if to_us {
            for update in self.to_us.drain(..) {
                self.ours.receive(&update, UpdateSource::Wire).unwrap();
            }
        } else {
            for update in self.to_them.drain(..) {
                assert!(!self.yjs.apply("theirs", &update));
            }
        }
    }
}

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Agent, "tester"), Millis(1_795_296_141_000))
}

fn index(place: f64, len: usize) -> usize {
    ((place * len as f64) as usize).min(len - 1)
}

fn is_mark(character: char) -> bool {
    (FIRST_MARK..FIRST_MARK + 1000).contains(&u32::from(character))
}

/// Returns the text with a mark put in at a place, and some characters taken out at another.
fn altered(text: &str, at: f64, mark: char, from: f64, n_deleted: usize) -> String {
    let n_chars = text.chars().count();
    let (at, from) = (index(at, n_chars + 1), index(from, n_chars + 1));
    let mut new = String::new();
    for (n, character) in text.chars().enumerate() {
        if n == at {
            new.push(mark);
        }
        if is_mark(character) || !(from..from + n_deleted).contains(&n) {
            new.push(character);
        }
    }
    if at == n_chars {
        new.push(mark);
    }
    new
}

#[test]
fn nobody_who_types_loses_a_character_to_whole_file_writes() {
    let yjs = RefCell::new(Yjs::start());
    let result = runner(80).run(&steps(), |steps| {
        let mut yjs = yjs.borrow_mut();
        let mut world = World::new(&mut yjs);
        for step in &steps {
            world.step(step);
        }
        world.deliver(true);
        world.deliver(false);
        let text = world.ours.text();
        prop_assert_eq!(&world.yjs.text("theirs"), &text);
        for number in 0..world.n_marks {
            let mark = char::from_u32(FIRST_MARK + number).unwrap();
            let n_times = text.chars().filter(|char| *char == mark).count();
            prop_assert_eq!(n_times, 1, "mark {} is there {} times", number, n_times);
        }
        // What was read stays readable, here and there.
        if let Some((version, read)) = &world.read {
            prop_assert_eq!(&world.ours.text_at(version).unwrap(), read);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn yjs_reads_who_wrote_what() {
    let mut yjs = Yjs::start();
    let world = World::new(&mut yjs);
    let state = world.ours.gate().encode_state();
    yjs.make("loaded", 9, false);
    assert!(!yjs.apply("loaded", &state));
    assert_eq!(yjs.text("loaded"), START);
    let log = yjs.call("array", json!({ "doc": "loaded", "root": "fs:log" }));
    let entry = &log.as_array().unwrap()[0];
    assert_eq!(entry["actor"], "agent:tester", "{entry}");
    assert_eq!(entry["at"].as_f64(), Some(1_795_296_141_000.0), "{entry}");
    assert_eq!(yjs.call("roots", json!({ "doc": "loaded" })), json!(["fs:log", "text"]));
}

#[test]
fn appends_and_edits_arrive_as_little() {
    let mut yjs = Yjs::start();
    let mut world = World::new(&mut yjs);
    let written = world.ours.append("the end\n", &author()).unwrap().update.unwrap();
    assert!(written.len() < 120, "{} bytes", written.len());
    world.yjs.apply("theirs", &written);
    let edited = world.ours.edit("naïvely", "well", false, &author()).unwrap().update.unwrap();
    assert!(edited.len() < 120, "{} bytes", edited.len());
    world.yjs.apply("theirs", &edited);
    let expected = START.replace("naïvely", "well") + "the end\n";
    assert_eq!(world.yjs.text("theirs"), expected);
}
