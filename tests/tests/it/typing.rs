//! People type in live editors while agents write whole files that they read before.
//!
//! The editors run in Node: y-prosemirror with the schema of prosemirror-markdown, and Milkdown.
//! The document receives their updates, then an agent writes a file that it had read before the
//! typing began. All typed text must be there afterwards, in the file and in the editor, with the
//! caret behind the last typed character.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "tests say what they ran on")]

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use serde_json::{Value, json};
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{ContentBase, ContentDoc, RunAuthor, Version},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::{ContentRoot, SchemaProfile},
    rich,
    time::Millis,
};
use yfs_markdown::{schema::check, tree_equality::same};
use yfs_tests::node::{from_hex, run_script, to_hex};

/// Random blocks of markdown, the same on every run.
struct MarkdownDice(ChaCha8Rng);

impl MarkdownDice {
    fn words(&mut self, n: usize) -> String {
        const WORDS: [&str; 12] = [
            "alpha",
            "beta",
            "*gamma*",
            "delta",
            "`eps`",
            "**zeta**",
            "eta",
            "[theta](t)",
            "iota",
            "kappa",
            "lambda",
            "mu",
        ];
        (0..n).map(|_| WORDS[self.0.random_range(0..WORDS.len())]).collect::<Vec<_>>().join(" ")
    }

    fn block(&mut self) -> String {
        let (a, b, c) = (self.words(4), self.words(3), self.words(2));
        match self.0.random_range(0..9) {
            0 => format!("## {c} heading"),
            1 => format!("- {a}\n- {b}\n- {c}"),
            2 => format!("1. {a}\n   - {b}\n   - {c}\n2. {b}"),
            3 => format!("> {a}\n>\n> - {b}"),
            4 => format!("```rust\nlet {b};\nend\n```"),
            5 => format!("| {c} | two |\n|---|---|\n| {b} | x |\n| y | z |"),
            _ => format!("{a}, {b} and {c}."),
        }
    }
}

/// One person and one agent.
struct Scenario {
    doc: ContentDoc,
    base: Version,
    read: String,
    state: String,
    typing: Vec<(usize, String)>,
    dice: MarkdownDice,
    /// What the document said when everything was typed.
    typed: String,
    then: Option<Vec<u8>>,
}

fn scenario(seed: usize, profile: SchemaProfile) -> Scenario {
    let mut dice = MarkdownDice(ChaCha8Rng::seed_from_u64(seed as u64));
    let blocks: Vec<String> = (0..3 + dice.0.random_range(0..8)).map(|_| dice.block()).collect();
    let read = blocks.join("\n\n") + "\n";
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    let mut doc = ContentDoc::new(&id, ClientId::new(5).unwrap(), GateLimits::default());
    doc.set_kind(ContentRoot::Rich(profile));
    assert!(doc.write(&read, None, &author()).unwrap().update.is_some());
    let typing = (0..dice.0.random_range(1..=3)).map(|n| {
        let letter = char::from_u32(0xac00 + n as u32).unwrap();
        (dice.0.random_range(0..10_000), letter.to_string())
    });
    let typing = typing.collect();
    let (base, state) = (doc.version(), to_hex(&doc.gate().encode_state()));
    Scenario { doc, base, read, state, typing, dice, typed: String::new(), then: None }
}

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Agent, "writer"), Millis(1_000))
}

impl Scenario {
    fn line(&self) -> String {
        let then = self.then.as_deref().map(to_hex);
        let (typing, update) = (&self.typing, &self.state);
        format!("{}\n", json!({ "update": update, "client": 77, "typing": typing, "then": then }))
    }

    /// What the agent makes of the file.
    fn edited(&mut self) -> String {
        let mut blocks: Vec<String> =
            self.read.trim_end().split("\n\n").map(str::to_owned).collect();
        for _ in 0..self.dice.0.random_range(1..=4) {
            let at = self.dice.0.random_range(0..blocks.len());
            match self.dice.0.random_range(0..6) {
                0 if blocks.len() > 1 => drop(blocks.remove(at)),
                1 => blocks.insert(at, self.dice.block()),
                2 => blocks.push(self.dice.block()),
                3 => blocks[at] = self.dice.block(),
                4 => {
                    let block = blocks.remove(at);
                    blocks.insert(self.dice.0.random_range(0..=blocks.len()), block);
                }
                _ => blocks[at] = blocks[at].replacen("alpha", "omega and more", 1),
            }
        }
        blocks.join("\n\n") + "\n"
    }

    fn receive(&mut self, updates: &Value) {
        for update in updates.as_array().unwrap() {
            let update = from_hex(update.as_str().unwrap());
            self.doc.receive(&update, UpdateSource::Wire).unwrap();
        }
    }

    /// Takes in what was typed, and lets the agent write.
    fn write(&mut self, updates: &Value) {
        self.receive(updates);
        let ContentRoot::Rich(profile) = self.doc.kind() else { return };
        self.typed = self.doc.gate().read(|txn| rich::read(txn, profile)).plain_text();
        let new = self.edited();
        let base = Some(ContentBase::Version(&self.base));
        self.then = self.doc.write(&new, base, &author()).unwrap().update;
    }
}

fn run(profile: SchemaProfile, seeds: std::ops::Range<usize>) {
    let name = if profile == SchemaProfile::Gfm { "gfm" } else { "commonmark" };
    let ask = |scenarios: &[Scenario]| {
        let input: String = scenarios.iter().map(Scenario::line).collect();
        let output = run_script("editors/type.mjs", &[name], input.as_bytes());
        let output = String::from_utf8(output).unwrap();
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let mut scenarios: Vec<Scenario> = seeds.clone().map(|seed| scenario(seed, profile)).collect();
    let typed = ask(&scenarios);
    assert_eq!(typed.len(), scenarios.len());
    for (scenario, typed) in scenarios.iter_mut().zip(&typed) {
        scenario.write(&typed["updates"]);
    }
    let answers = ask(&scenarios);
    let (mut n_bytes, mut n_carets) = (0, 0);
    for ((scenario, answer), seed) in scenarios.iter_mut().zip(&answers).zip(seeds) {
        let tree = scenario.doc.gate().read(|txn| rich::read(txn, profile));
        check(&tree, profile).unwrap_or_else(|error| panic!("seed {seed}: {error} in {tree}"));
        let (said, shown) = (tree.plain_text(), answer["shown"].as_str().unwrap());
        assert_eq!(shown, said, "seed {seed}");
        for (_, letter) in &scenario.typing {
            assert!(said.contains(letter), "seed {seed}: {letter} is not in {said:?}");
        }
        let (_, last) = scenario.typing.last().unwrap();
        // A caret is bound to the character after it; if the agent deleted that one, the caret is
        // inside the deleted range.
        let stays = next_of(&scenario.typed, last) == next_of(&said, last);
        n_carets += usize::from(stays);
        let before = answer["beforeCaret"].as_str().unwrap();
        let is_there = !stays || before.ends_with(last);
        assert!(is_there, "seed {seed}: the caret is behind {before:?}");
        n_bytes += scenario.then.as_ref().map_or(0, Vec::len);
        // Yjs removes formats that cover no text, and Milkdown derives ids. Neither changes the
        // text.
        scenario.receive(&answer["afterwards"]);
        let tidied = scenario.doc.gate().read(|txn| rich::read(txn, profile));
        assert!(same(&tidied, &tree), "seed {seed}: the editor made {tidied} of {tree}");
    }
    let n = scenarios.len();
    println!("{n} of {name}, {n_carets} carets to stay, {} bytes a write", n_bytes / n);
}

/// Returns what follows a letter.
fn next_of(text: &str, letter: &str) -> Option<char> {
    text.split_once(letter)?.1.chars().next()
}

#[test]
fn nothing_typed_in_prosemirror_is_lost() {
    run(SchemaProfile::CommonMark, 0..1500);
}

#[test]
fn nothing_typed_in_milkdown_is_lost() {
    run(SchemaProfile::Gfm, 0..500);
}
