//! Tests are lists of entries, one a line: `dir d`, `file a x in=d`, where `a` is the id and `x`
//! the stored name (the id, if left out; `+` is a space). Then come the other fields: `in=` the
//! parent, `at=` when it was made, `moved=` when the parent was written, `prev=` the parents before
//! (`-` is the root), `trashed=` and `touched=` when it was trashed and last changed, `link=`,
//! `purged`.

mod bounds;
mod cases;
mod lazy;
mod lookup;
mod model;
mod random;

use std::collections::BTreeMap;

use expect_test::Expect;
use smol_str::SmolStr;
use yrs::Any;

use super::*;
use crate::{
    path::VPath,
    table::{FileRow, NodeKind, PURGE_KEY, RowHistory},
    time::Millis,
};

impl TreeIndex {
    /// Inserts or updates an entry.
    pub(crate) fn upsert(&mut self, entry: &RowHistory) {
        self.upsert_row(entry);
        self.update_cycles_and_names();
    }

    /// Removes an entry. Its children show at the root.
    pub(crate) fn remove(&mut self, id: &FileId) {
        self.remove_row(id);
        self.update_cycles_and_names();
    }

    /// Applies a batch: for each id its entry, or `None` if it was removed.
    ///
    /// The result is that of single calls; the cost of names that many siblings share and of cycles
    /// is paid once.
    pub(crate) fn apply<'a>(
        &mut self,
        changes: impl IntoIterator<Item = (&'a FileId, Option<&'a RowHistory>)>,
    ) {
        for (id, entry) in changes {
            match entry {
                Some(entry) => self.upsert_row(entry),
                None => self.remove_row(id),
            }
        }
        self.update_cycles_and_names();
    }
}

/// Shows the tree of some entries, its trash and its conflicts.
#[track_caller]
fn check(script: &str, expected: Expect) {
    let entries = parse(script);
    let tree = build(&entries);
    expected.assert_eq(&show(&tree));
    let backwards = build(&entries.iter().rev().cloned().collect::<Vec<RowHistory>>());
    assert_eq!(show(&tree), show(&backwards), "the order of arrival matters");
    model::compare(&tree, &entries);
}

pub(crate) fn build(entries: &[RowHistory]) -> TreeIndex {
    let mut tree = TreeIndex::new(id("w"));
    for entry in entries {
        tree.upsert(entry);
    }
    tree
}

fn show(tree: &TreeIndex) -> String {
    let mut lines: Vec<String> = tree.root().walk().map(|node| show_node(&node)).collect();
    for item in tree.trash() {
        let hidden = tree.node(&item.id).map_or(0, |node| node.n_hidden());
        let stranded = if item.stranded.is_empty() {
            String::new()
        } else {
            format!(", stranded {:?}", item.stranded)
        };
        lines.push(format!("trash: {} of {} hides {hidden}{stranded}", item.id, item.original));
    }
    lines.extend(tree.conflicts(Millis(1000)).iter().map(|conflict| format!("{conflict:?}")));
    lines.join("\n")
}

fn show_node(node: &NodeRef<'_>) -> String {
    let slash = if node.is_directory() { "/" } else { "" };
    format!("{}{slash} = {}", node.path(), node.id().unwrap())
}

pub(crate) fn id(text: &str) -> FileId {
    FileId::parse(text).unwrap()
}

fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

pub(crate) fn parse(script: &str) -> Vec<RowHistory> {
    let lines = script.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty());
    lines.map(parse_entry).collect()
}

fn parse_entry(line: &str) -> RowHistory {
    let mut words = line.split_whitespace().peekable();
    let kind = match words.next().unwrap() {
        "dir" => NodeKind::Directory,
        "file" => NodeKind::File,
        other => panic!("neither dir nor file: {other}"),
    };
    let key = words.next().unwrap();
    let named = words.next_if(|word| !word.contains('=') && *word != "purged");
    let name = named.unwrap_or(key).replace('+', " ");
    let mut entry = entry(key, &name, kind);
    for word in words {
        let (field, value) = word.split_once('=').unwrap_or((word, ""));
        let parent = |value: &str| (value != "-").then(|| id(value));
        match field {
            "in" => entry.row.parent = parent(value),
            "at" => entry.row.created_at = Millis(value.parse().unwrap()),
            "moved" => entry.parent_ts = value.parse().unwrap(),
            "prev" => entry.prev_parents = value.split(',').map(parent).collect(),
            "touched" => entry.structural_ts = value.parse().unwrap(),
            "link" => entry.row.link = Some(value.into()),
            "purged" => entry.row.meta = Some(purged()),
            "trashed" => {
                entry.trashed_ts = value.parse().unwrap();
                entry.row.trashed_at = Some(Millis::from_f64(entry.trashed_ts));
            }
            other => panic!("no such field: {other}"),
        }
    }
    entry
}

fn purged() -> Any {
    let meta = BTreeMap::from([(PURGE_KEY.to_owned(), Any::from("p1"))]);
    Any::Map(Arc::new(meta.into_iter().collect()))
}

pub(crate) fn entry(key: &str, name: &str, kind: NodeKind) -> RowHistory {
    RowHistory {
        row: FileRow {
            id: id(key),
            name: SmolStr::new(name),
            parent: None,
            kind,
            size: 0,
            created_at: Millis(1),
            updated_at: Millis(1),
            trashed_at: None,
            mode: None,
            link: None,
            blob: None,
            meta: None,
        },
        parent_ts: 1.0,
        prev_parents: Vec::new(),
        structural_ts: 1.0,
        trashed_ts: 1.0,
        derived: false,
    }
}
