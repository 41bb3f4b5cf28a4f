//! Live editors open what we write, and write nothing.
//!
//! An editor deletes from the shared document what its schema cannot build, and adds what the
//! schema requires; all peers receive both. So each document that we write is opened in a live
//! editor: y-prosemirror with the schema of prosemirror-markdown, and Milkdown with its plugin for
//! Yjs, each on two versions of prosemirror-model (1.25.12 began to check the types of
//! attributes). They run under jsdom, not in a real browser.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "tests say what they ran on")]

use serde_json::{Value, json};
use yfs_engine::{id::ClientId, rich::encode};
use yfs_markdown::{
    front_matter::split,
    parse::parse,
    schema::SchemaProfile,
    tree::{MarkdownNode, TextMark, TreeElement},
};
use yfs_tests::{
    markdown,
    node::{run_script, to_hex},
    read_fixture,
};

/// A document and where it came from.
struct Document {
    id: String,
    tree: TreeElement,
}

/// What an editor made of one.
struct Opened {
    id: String,
    /// What it wrote on opening; null if nothing.
    on_opening: Value,
    /// What is left of a letter that was typed and taken back; null if nothing.
    on_typing: Value,
    shown: String,
}

fn name_of(profile: SchemaProfile) -> &'static str {
    match profile {
        SchemaProfile::CommonMark => "commonmark",
        SchemaProfile::Gfm => "gfm",
    }
}

/// Opens them all in one run.
fn open(documents: &[Document], profile: SchemaProfile, model: &str) -> Vec<Opened> {
    let client = ClientId::new(7).unwrap();
    let line = |document: &Document| {
        let update = to_hex(&encode(&document.tree, client));
        format!("{}\n", json!({ "id": document.id, "update": update }))
    };
    let input: String = documents.iter().map(line).collect();
    let output = run_script("editors/open.mjs", &[name_of(profile), model], input.as_bytes());
    let output = String::from_utf8(output).unwrap();
    let mut lines: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut last = lines.pop().unwrap();
    assert_eq!(last["errors"].take(), json!([]), "an editor complained");
    assert_eq!(lines.len(), documents.len(), "the editor did not open all");
    println!("{} documents in {profile:?}, {}", lines.len(), last["versions"]);
    let opened = lines.into_iter().map(|mut line| Opened {
        id: line["id"].as_str().unwrap().to_owned(),
        on_opening: line["opened"].take(),
        on_typing: line["typed"].take(),
        shown: line["shown"].as_str().unwrap().to_owned(),
    });
    opened.collect()
}

/// What editors derive from it is full of traps: ids of headings, labels of items, cells of rows.
const ODDITIES: &str = "\
# \u{a0}No\u{a0}break \u{85}next\u{feff} \u{feff}mark\u{2003}wide

## İstanbul ΟΔΟΣ ǅ ﬁ ẞ

### ![alt](a.png)

### <b>x</b> `y`  z[^1] \\#

### <b>x</b> `y`  z[^1] \\#

#### &#32; &nbsp;

Text of a paragraph.

7) seven
8) eight

   more
   0. zero
- [ ] open
  - [x] done
-
- - nested

| head | only |
|:-----|------|

|a|
|-|
||

[^1]: note
";

/// The examples of the specifications, files that people wrote, and oddities.
fn documents(profile: SchemaProfile) -> Vec<Document> {
    let examples = read_fixture(&format!("markdown/{}.jsonl", name_of(profile)));
    let examples = String::from_utf8(examples).unwrap();
    let examples = examples.lines().map(|line| {
        let example: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| example[name].as_str().unwrap().to_owned();
        Document { id: text("id"), tree: parse(&text("md"), profile) }
    });
    let files = markdown::of_repository().into_iter().chain(markdown::of_node_packages());
    let files = files.map(|file| {
        let id = file.path.display().to_string();
        Document { id, tree: parse(split(&file.text).body, profile) }
    });
    let oddities = Document { id: "oddities".to_owned(), tree: parse(ODDITIES, profile) };
    examples.chain(files).chain([oddities]).collect()
}

fn check(profile: SchemaProfile, model: &str) {
    let documents = documents(profile);
    let opened = open(&documents, profile, model);
    let mut failures = Vec::new();
    for (document, opened) in documents.iter().zip(&opened) {
        assert_eq!(document.id, opened.id);
        for (what, wrote) in [("opening", &opened.on_opening), ("typing", &opened.on_typing)] {
            if !wrote.is_null() {
                failures.push(format!("{} on {what}: {}", opened.id, difference(wrote)));
            }
        }
        if opened.shown != shown(&document.tree) {
            failures.push(format!("{} shows {:?}", opened.id, opened.shown));
        }
    }
    assert!(failures.is_empty(), "{} of them:\n{}", failures.len(), failures.join("\n"));
}

/// Where what an editor wrote begins to differ, and a little of both.
fn difference(wrote: &Value) -> String {
    let [before, after] = ["before", "after"].map(|key| wrote[key].as_str().unwrap());
    let n_same = before.chars().zip(after.chars()).take_while(|(before, after)| before == after);
    let n_skipped = n_same.count().saturating_sub(40);
    let part = |text: &str| text.chars().skip(n_skipped).take(160).collect::<String>();
    format!("{:?} became {:?}", part(before), part(after))
}

/// The text as an editor counts it: a break of Milkdown is a line break.
fn shown(element: &TreeElement) -> String {
    let child = |child: &MarkdownNode| match child {
        MarkdownNode::Text(run) => run.text.clone(),
        MarkdownNode::Element(element) if element.name == "hardbreak" => "\n".to_owned(),
        MarkdownNode::Element(element) => shown(element),
    };
    element.children.iter().map(child).collect()
}

#[test]
fn y_prosemirror_writes_nothing() {
    check(SchemaProfile::CommonMark, "pinned");
}

#[test]
fn y_prosemirror_writes_nothing_with_the_newest_model() {
    check(SchemaProfile::CommonMark, "newest");
}

#[test]
fn milkdown_writes_nothing() {
    check(SchemaProfile::Gfm, "pinned");
}

#[test]
fn milkdown_writes_nothing_with_the_newest_model() {
    check(SchemaProfile::Gfm, "newest");
}

/// What would go unnoticed if the editors were not really there.
#[test]
fn what_editors_delete_is_noticed() {
    let text = |marks| vec![MarkdownNode::text("some text", marks)];
    let document = |id: &str, block: TreeElement| Document {
        id: id.to_owned(),
        tree: TreeElement::new("doc").with_children(vec![block.into()]),
    };
    for (profile, model, n_deleted) in
        [(SchemaProfile::CommonMark, "pinned", 2), (SchemaProfile::Gfm, "newest", 3)]
    {
        let opened = open(
            &[
                document("sound", TreeElement::new("paragraph").with_children(text(vec![]))),
                document("unknown", TreeElement::new("box").with_children(text(vec![]))),
                document(
                    "mark",
                    TreeElement::new("paragraph")
                        .with_children(text(vec![TextMark::new("sparkle")])),
                ),
                document(
                    "type",
                    TreeElement::new("heading").with("level", "2").with_children(text(vec![])),
                ),
            ],
            profile,
            model,
        );
        let deleted = opened.iter().filter(|document| !document.on_opening.is_null());
        let deleted: Vec<&str> = deleted.map(|document| document.id.as_str()).collect();
        assert_eq!(deleted, ["unknown", "mark", "type"][..n_deleted]);
    }
}
