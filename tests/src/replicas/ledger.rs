//! A record of all writes and of what each writer had received before: the expected final state of
//! a simulation.
//!
//! *Fields* (I4): the last value of a field must come from an operation that no other operation on
//! the field had seen. *Texts* (I9): text that a writer wrote and no writer deleted is there
//! exactly once. Texts are made of marks, single characters that are each written by one
//! operation; copying writes them again, into another document.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use yfs_engine::{
    id::FileId,
    table::{FileRow, NodeKind, PURGE_KEY, REMOVAL_KEYS},
};

/// Whose work is known: the clock by client.
pub type Clocks = HashMap<u64, u32>;

/// The smallest character that is a mark.
const FIRST_MARK: u32 = 0x4e00;

/// An operation on a field.
#[derive(Debug, Clone)]
struct FieldOp {
    value: String,
    /// What its author knew.
    known: Clocks,
    /// What it wrote.
    made: Clocks,
    /// The line that did it, for people.
    line: String,
}

/// What is known of a mark in a document.
#[derive(Debug, Clone, Default)]
struct Mark {
    n_written: usize,
    deleted: bool,
    /// A copy was written over it that holds it as well.
    loose: bool,
}

/// Who wrote what.
#[derive(Debug, Default)]
pub struct Ledger {
    fields: BTreeMap<(FileId, &'static str), Vec<FieldOp>>,
    marks: BTreeMap<(FileId, char), Mark>,
    docs: BTreeSet<FileId>,
    n_marks: u32,
    /// Whether a peer took part that writes whole rows, and so may undo the work of others.
    pub has_plain: bool,
}

impl Ledger {
    /// Makes a mark that no operation has written yet.
    pub fn new_mark(&mut self) -> char {
        self.n_marks += 1;
        let first = if self.n_marks.is_multiple_of(3) { 0x2_0000 } else { FIRST_MARK };
        char::from_u32(first + self.n_marks % 0x4000).expect("there are characters here")
    }

    /// Notes what an operation did to a row.
    pub fn note_row(
        &mut self,
        old: Option<&FileRow>,
        new: &FileRow,
        known: &Clocks,
        made: &Clocks,
        line: &str,
    ) {
        let old = old.map(fields);
        for (number, (field, value)) in fields(new).into_iter().enumerate() {
            if old.as_ref().is_some_and(|old| old[number].1 == value) {
                continue;
            }
            let op =
                FieldOp { value, known: known.clone(), made: made.clone(), line: line.to_owned() };
            self.fields.entry((new.id.clone(), field)).or_default().push(op);
        }
    }

    /// Notes what an operation did to a text. `before` is nothing where the document was not shown.
    pub fn note_text(&mut self, id: &FileId, before: Option<&[u8]>, after: &[u8], copies: bool) {
        let is_new = self.docs.insert(id.clone());
        let before = match before {
            Some(before) => count(before),
            None if is_new => BTreeMap::new(),
            // It came out of the trash.
            None => return,
        };
        let after = count(after);
        for (mark, n_after) in &after {
            let n_before = before.get(mark).copied().unwrap_or(0);
            let known = self.marks.entry((id.clone(), *mark)).or_default();
            known.n_written += n_after.saturating_sub(n_before);
            known.loose |= copies && n_before > 0;
        }
        for (mark, n_before) in &before {
            if after.get(mark).copied().unwrap_or(0) < *n_before {
                self.marks.entry((id.clone(), *mark)).or_default().deleted = true;
            }
        }
    }

    /// Notes what was written over a blob, under which there may have been any text.
    pub fn note_uncovered(&mut self, id: &FileId, after: &[u8]) {
        let after = count(after);
        let known = self.marks.range_mut((id.clone(), '\0')..=(id.clone(), char::MAX));
        for ((_, mark), what) in known {
            what.deleted |= !after.contains_key(mark);
        }
        for (mark, n_after) in after {
            let known = self.marks.entry((id.clone(), mark)).or_default();
            known.n_written += n_after;
            known.loose = true;
        }
    }

    /// Returns the fields whose last value comes from an operation that another one had seen.
    pub fn lost_fields(&self, rows: &BTreeMap<FileId, FileRow>) -> Vec<String> {
        let mut lost = Vec::new();
        for ((id, field), ops) in &self.fields {
            let Some(row) = rows.get(id) else { continue };
            let values = fields(row);
            let (_, value) = values.iter().find(|(name, _)| name == field).expect("a field");
            let superseded =
                |ix: usize| ops[ix + 1..].iter().any(|later| covers(&later.known, &ops[ix].made));
            let maximal: Vec<&FieldOp> =
                (0..ops.len()).filter(|ix| !superseded(*ix)).map(|ix| &ops[ix]).collect();
            if maximal.iter().all(|op| op.value != *value) {
                let meant = maximal.iter().map(|op| format!("\n  {} by {}", op.value, op.line));
                let meant = meant.collect::<String>();
                lost.push(format!("{id} {field} is {value}, but was meant to be{meant}"));
            }
        }
        lost
    }

    /// Returns the marks of a document that are missing or there too often. A mark that is missing
    /// from the text may be among the words that were set `aside`.
    pub fn wrong_marks(&self, id: &FileId, text: &str, aside: &str) -> Vec<String> {
        let found = count(text.as_bytes());
        let aside = count(aside.as_bytes());
        let known = self.marks.range((id.clone(), '\0')..=(id.clone(), char::MAX));
        let mut wrong = Vec::new();
        for ((_, mark), what) in known {
            let n_found = found.get(mark).copied().unwrap_or(0);
            let is_wanted = !what.deleted && what.n_written > 0 && !aside.contains_key(mark);
            let least = usize::from(is_wanted);
            let most = if what.loose { usize::MAX } else { what.n_written };
            if !(least..=most).contains(&n_found) {
                wrong.push(format!("{id}: {mark} is there {n_found} times: {what:?}"));
            }
        }
        for mark in found.keys().filter(|mark| !self.marks.contains_key(&(id.clone(), **mark))) {
            wrong.push(format!("{id}: no operation wrote {mark} here"));
        }
        wrong
    }
}

/// Returns the marks of a text, as far as it is one.
pub fn count(text: &[u8]) -> BTreeMap<char, usize> {
    let mut counted = BTreeMap::new();
    let text = str::from_utf8(text).unwrap_or_default();
    for char in text.chars().filter(|char| u32::from(*char) >= FIRST_MARK) {
        *counted.entry(char).or_insert(0) += 1;
    }
    counted
}

fn covers(known: &Clocks, made: &Clocks) -> bool {
    made.iter().all(|(client, clock)| known.get(client).is_some_and(|known| known >= clock))
}

/// The member of a row's `meta` that holds the metadata of applications.
const CUSTOM_KEY: &str = "custom";

/// The fields of a row that merge by themselves. The parts of `meta` do (decision 66), and so do
/// the members of the metadata of applications, which are those that the moves set.
fn fields(row: &FileRow) -> [(&'static str, String); 11] {
    let is_folder = row.kind == NodeKind::Directory;
    let parts: BTreeMap<String, String> = match &row.meta {
        Some(yrs::Any::Map(members)) => {
            members.iter().map(|(name, value)| (name.clone(), canonical(value))).collect()
        }
        _ => BTreeMap::new(),
    };
    let part = |is_of: &dyn Fn(&str) -> bool| {
        let members: BTreeMap<_, _> = parts.iter().filter(|(name, _)| is_of(name)).collect();
        format!("{members:?}")
    };
    let custom = match &row.meta {
        Some(yrs::Any::Map(members)) => members.get(CUSTOM_KEY),
        _ => None,
    };
    let member = |name: &str| match custom {
        Some(yrs::Any::Map(members)) => members.get(name).map_or_else(String::new, canonical),
        _ => String::new(),
    };
    [
        ("name", row.name.to_string()),
        ("parent", format!("{:?}", row.parent)),
        ("trashed", format!("{:?}", row.trashed_at)),
        ("stat", format!("{} {}", row.size, if is_folder { 0 } else { row.updated_at.0 })),
        ("mode", format!("{:?}", row.mode)),
        ("blob", format!("{:?}", row.blob)),
        ("removal", part(&|name| REMOVAL_KEYS.contains(&name))),
        ("purge", part(&|name| name == PURGE_KEY)),
        ("k0", member("k0")),
        ("k1", member("k1")),
        ("k2", member("k2")),
    ]
}

/// Writes a value with its members in order.
fn canonical(value: &yrs::Any) -> String {
    match value {
        yrs::Any::Map(members) => {
            let members: BTreeMap<&String, String> =
                members.iter().map(|(name, value)| (name, canonical(value))).collect();
            format!("{members:?}")
        }
        value => value.to_string(),
    }
}
