//! Every kind of content in every kind of list, read by all that reads a document.
//!
//! Of text with characters of two UTF-16 units in an array or among XML children, the iterators of
//! yrs never find the end.

use std::collections::BTreeSet;

use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{AnchorSide, ContentDoc, RunAuthor, compact},
    gate::{
        DocRole, GateLimits, GateRejection, GatedDoc, IdRange, UpdateBuilder, UpdateSource,
        find_misplaced, inspect, merge,
    },
    id::{ClientId, FileId, ItemId},
    kind::{ContentRoot, SchemaProfile},
    lib0::{write_string, write_var_uint},
    time::Millis,
};

/// The client that writes the lists, and the one that fills them.
const BUILDER: u64 = 600;
const AUTHOR: u64 = 700;

/// A kind of list: its name, the roots and types around it, and the document that it is in.
pub(crate) struct ListKind {
    pub(crate) name: &'static str,
    role: DocRole,
    root: &'static str,
    /// The types from the root to the list, as the format numbers them.
    types: &'static [u8],
}

const ARRAY: u8 = 0;
const MAP: u8 = 1;
const TEXT: u8 = 2;
const XML_ELEMENT: u8 = 3;
const XML_FRAGMENT: u8 = 4;
const XML_TEXT: u8 = 6;

pub(crate) fn lists() -> Vec<ListKind> {
    let list = |name, role, root, types| ListKind { name, role, root, types };
    let of_file = |name, root, types| list(name, DocRole::Content, root, types);
    vec![
        of_file("text", "text", &[]),
        of_file("richtext", "richtext", &[]),
        of_file("frontmatter", "frontmatter", &[]),
        of_file("markdown-source", "markdown-source", &[]),
        of_file("fs:conv", "fs:conv", &[]),
        of_file("fs:aside", "fs:aside", &[]),
        of_file("fs:log", "fs:log", &[]),
        of_file("fs:blobs", "fs:blobs", &[]),
        of_file("fs:labels", "fs:labels", &[]),
        of_file("fs:redactions", "fs:redactions", &[]),
        of_file("timeline", "timeline", &[]),
        of_file("content", "content", &[]),
        of_file("a root of an application", "app", &[]),
        of_file("an element", "richtext", &[XML_ELEMENT]),
        of_file("an element in an element", "richtext", &[XML_ELEMENT, XML_ELEMENT]),
        of_file("an XML text", "richtext", &[XML_ELEMENT, XML_TEXT]),
        of_file("an array", "app", &[ARRAY]),
        of_file("a map", "app", &[MAP]),
        of_file("a text", "app", &[TEXT]),
        of_file("a fragment", "app", &[XML_FRAGMENT]),
        of_file("a fragment in a timeline", "timeline", &[MAP, XML_FRAGMENT]),
        list("table:files", DocRole::Main, "table:files", &[]),
        list("fs:cells", DocRole::Main, "fs:cells", &[]),
        list("fs:meta", DocRole::Main, "fs:meta", &[]),
        list("an array of a main document", DocRole::Main, "app", &[ARRAY]),
        list("a fragment of a main document", DocRole::Main, "app", &[XML_FRAGMENT]),
    ]
}

/// A kind of content: its name, the number of its kind, its bytes.
fn contents() -> Vec<(&'static str, u8, Vec<u8>)> {
    let text = |text: &str| {
        let mut out = Vec::new();
        write_string(&mut out, text);
        out
    };
    let named = |number: u8, name: &str| [vec![number], text(name)].concat();
    vec![
        ("deleted", 1, vec![2]),
        ("JSON", 2, [vec![1], text("1")].concat()),
        ("bytes", 3, text("\u{1}\u{2}")),
        ("text", 4, text("ab")),
        ("text of 2 bytes", 4, text("éé")),
        ("text of 3 bytes", 4, text("中文")),
        ("text of 4 bytes", 4, text("😀")),
        ("mixed text", 4, text("a😀b")),
        ("embed", 5, text("{\"image\":\"😀\"}")),
        ("mark", 6, [text("strong"), text("{}")].concat()),
        ("array", 7, vec![ARRAY]),
        ("map", 7, vec![MAP]),
        ("shared text", 7, vec![TEXT]),
        ("element", 7, named(XML_ELEMENT, "paragraph")),
        ("fragment", 7, vec![XML_FRAGMENT]),
        ("XML text", 7, vec![XML_TEXT]),
        ("value", 8, [vec![1, 119], text("a😀b")].concat()),
        ("document", 9, [text("guid"), vec![118, 0]].concat()),
    ]
}

/// Builds the list, if it is in types.
fn list_of(kind: &ListKind) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let number = |out: &mut Vec<u8>, number: u64| write_var_uint(out, number);
    for first in [1, kind.types.len() as u64, BUILDER, 0] {
        number(&mut out, first);
    }
    for (clock, of_type) in kind.types.iter().enumerate() {
        // A fragment of a timeline is an entry of the map that is the newest entry.
        let is_entry = clock > 0 && kind.types[clock - 1] == MAP;
        out.push(if is_entry { 0x27 } else { 0x07 });
        if clock == 0 {
            number(&mut out, 1);
            write_string(&mut out, kind.root);
        } else {
            number(&mut out, 0);
            number(&mut out, BUILDER);
            number(&mut out, clock as u64 - 1);
        }
        if is_entry {
            write_string(&mut out, "content");
        }
        out.push(*of_type);
        if *of_type == XML_ELEMENT {
            write_string(&mut out, "paragraph");
        }
    }
    number(&mut out, 0);
    (!kind.types.is_empty()).then_some(out)
}

/// Puts content into the list.
fn fill(kind: &ListKind, (number, content): (u8, &[u8]), key: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    for first in [1, 1, AUTHOR, 0] {
        write_var_uint(&mut out, first);
    }
    out.push(if key.is_some() { 0x20 | number } else { number });
    match kind.types.len() {
        0 => {
            write_var_uint(&mut out, 1);
            write_string(&mut out, kind.root);
        }
        n_types => {
            write_var_uint(&mut out, 0);
            write_var_uint(&mut out, BUILDER);
            write_var_uint(&mut out, n_types as u64 - 1);
        }
    }
    key.iter().for_each(|key| write_string(&mut out, key));
    out.extend_from_slice(content);
    write_var_uint(&mut out, 0);
    out
}

/// Fills one kind of list with everything, and prints what a peer may not put there.
pub(crate) fn run(name: &str) {
    let kind = lists().into_iter().find(|list| list.name == name).unwrap();
    let (mut elements, mut entries) = (BTreeSet::new(), BTreeSet::new());
    for (content, number, bytes) in contents() {
        for (key, refused) in [(None, &mut elements), (Some("key"), &mut entries)] {
            let update = fill(&kind, (number, &bytes), key);
            let is_refused = match kind.role {
                DocRole::Content => read_file(&kind, &update),
                DocRole::Main => read_main(&kind, &update),
            };
            if is_refused {
                refused.insert(content);
            }
        }
    }
    let shown = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    println!("\n<{}> elements: {}", kind.name, shown(elements));
    println!("<{}> entries: {}", kind.name, shown(entries));
}

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Human, "ana"), Millis(1_795_296_141_108))
}

/// Returns a document in which a person wrote, in one of the two forms.
fn written(content: ContentRoot) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    let client = ClientId::new((1 << 51) + 1).unwrap();
    let mut doc = ContentDoc::new(&id, client, GateLimits::default());
    doc.set_kind(content);
    let _update = doc.write("kept 😀 words\n", None, &author()).unwrap();
    doc
}

/// Reports whether a message is refused.
fn check_message(received: Result<(), GateRejection>) -> bool {
    match received {
        Ok(()) => false,
        Err(GateRejection::WrongContent { .. }) => true,
        Err(refusal) => panic!("{refusal}"),
    }
}

/// Gives content to a document as a peer and from a log, and reads all of it. Reports whether the
/// peer was refused.
fn read_file(kind: &ListKind, update: &[u8]) -> bool {
    let mut is_refused = false;
    for form in [ContentRoot::Text, ContentRoot::Rich(SchemaProfile::Gfm)] {
        let mut doc = written(form);
        let before = doc.text();
        let state = doc.gate().encode_state();
        let list = list_of(kind);
        if let Some(list) = &list {
            doc.receive(list, UpdateSource::Wire).unwrap();
        }
        is_refused = check_message(doc.receive(update, UpdateSource::Wire).map(drop));
        assert_eq!(doc.gate().without_misplaced(update).unwrap().is_some(), is_refused);
        read_all(&mut doc);

        // The log has it.
        let log: Vec<&[u8]> = [&state[..]].into_iter().chain(list.as_deref()).collect();
        let log = [log, vec![update]].concat();
        let mut doc = written(form);
        let mut misplaced: Vec<IdRange> = Vec::new();
        for logged in &log[1..] {
            misplaced.extend(doc.receive(logged, UpdateSource::Store).unwrap().misplaced);
        }
        assert_eq!(!misplaced.is_empty(), is_refused);
        assert!(doc.gate().clock_of(ClientId::new(AUTHOR).unwrap()) > 0);
        assert_eq!(find_misplaced(DocRole::Content, log.iter().copied()), misplaced);
        if is_refused && list.is_none() {
            assert_eq!(doc.text(), before, "what does not belong there is not read");
        }
        let mut deletion = UpdateBuilder::new();
        deletion.delete(ItemId::new(ClientId::new(AUTHOR).unwrap(), 0));
        let mut deleted = written(form);
        for logged in log[1..].iter().copied().chain([&deletion.finish()[..]]) {
            deleted.receive(logged, UpdateSource::Store).unwrap();
        }
        read_all(&mut deleted);
        read_all(&mut doc);

        let updates: Vec<Vec<u8>> = log.iter().map(|update| update.to_vec()).collect();
        let compacted = compact(None, &updates).unwrap();
        assert!(compacted.absorbed.iter().all(|absorbed| *absorbed));
        let state = [compacted.state.as_slice()];
        assert_eq!(find_misplaced(DocRole::Content, state.into_iter()), []);
        if list.is_none() {
            let inspected = inspect(update, &GateLimits::default()).unwrap();
            assert_eq!(inspected.is_misplaced, is_refused);
        }
    }
    is_refused
}

/// As [`read_file`], of a main document.
fn read_main(kind: &ListKind, update: &[u8]) -> bool {
    let guid = FileId::parse("guid").unwrap();
    let client = ClientId::new(7).unwrap();
    let new_doc = || GatedDoc::new(&guid, DocRole::Main, client, GateLimits::default());
    let mut doc = new_doc();
    let list = list_of(kind);
    if let Some(list) = &list {
        doc.receive(list, UpdateSource::Wire).unwrap();
    }
    let is_refused = check_message(doc.receive(update, UpdateSource::Wire).map(drop));
    let mut logged = new_doc();
    for update in list.iter().map(Vec::as_slice).chain([update]) {
        logged.receive(update, UpdateSource::Store).unwrap();
    }
    let updates: Vec<Vec<u8>> = list.into_iter().chain([update.to_vec()]).collect();
    let merged = merge(DocRole::Main, None, &updates).unwrap();
    assert_eq!(!merged.misplaced.is_empty(), is_refused);
    super::attacks::use_it(&mut doc, DocRole::Main);
    super::attacks::use_it(&mut logged, DocRole::Main);
    is_refused
}

/// Reads a document in every way, and edits it.
fn read_all(doc: &mut ContentDoc) {
    for kind in [ContentRoot::Text, ContentRoot::Rich(SchemaProfile::Gfm)] {
        doc.set_kind(kind);
        let text = doc.text();
        let _is_empty = doc.is_empty();
        let conversion = doc.conversion();
        let _flags = (conversion.current_root(), conversion.is_only_text());
        let _flags = (conversion.needs_conversion(), conversion.needs_repair());
        let _flags = (conversion.evident_profile(), conversion.is_doubled());
        let version = doc.version();
        let _past = doc.text_at(&version);
        let _blame = doc.blame();
        if let Ok(anchor) = doc.anchor(0, AnchorSide::Right) {
            let _resolved = doc.resolve(&anchor);
        }
        for index in 0..doc.timeline().versions().len() {
            let past = doc.timeline().version(index);
            let _text = past.map(|past| doc.text_at(&past));
        }
        let _lists = (doc.blobs().versions().len(), doc.labels().in_order());
        let _erased = doc.redactions().erased();
        let _erasable = doc.erasable(None);
        let _words = (doc.set_aside(), doc.separated_words());
        let _reference = (doc.reference().read(), doc.reference().read_later());
        for root in ["text", "richtext", "content", "timeline", "app"] {
            let _text = doc.reference().read_named(root);
        }
        let _repaired = doc.repaired().map(|repaired| repaired.map(|repaired| repaired.text()));
        let _converted = doc.convert();
        let _written = doc.write(&format!("{text}more 😀\n"), None, &author());
        let _written = doc.write("other\n", None, &author());
        let _appended = doc.append("end 😀\n", &author());
        let _edited = doc.edit("other", "another", false, &author());
        let _label = doc.edit_registers().add_label("a", None, &author());
        let _label = doc.edit_registers().remove_label("a");
        let _aside = doc.edit_registers().record_aside();
        let _back = doc.put_back(&author());
        let _undoubled = doc.undouble(&author());
        let _repaired = doc.repair();
        doc.gate().health().unwrap();
        let state = doc.gate().encode_state();
        assert_eq!(compact(None, std::slice::from_ref(&state)).unwrap().absorbed, [true]);
    }
}
