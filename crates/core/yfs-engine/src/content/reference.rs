//! Documents of later versions of the reference implementation, which keep content in other roots.
//!
//! One version keeps each file in `Y.Text("content")`. Another keeps `Y.Array("timeline")` of
//! `Y.Map`s, and the last one is the content: text, rich text with front matter, bytes, or a sheet.
//! No marker names the version that wrote a document. If all roots of yfs are empty, these are
//! read, and a conversion moves their content to the roots that readers and editors of yfs use.

use yrs::{Any, GetString as _, Map as _, MapRef, Out, ReadTxn};

use super::{replica::ContentReplica, rich};
use crate::{
    gate::values_in,
    kind::DEFAULT_PROFILE,
    lib0::as_number,
    rich::{LiveChild, glance_in, into_nodes},
};

/// The root of one version.
pub(super) const CONTENT: &str = "content";

/// The root of the other.
pub(super) const TIMELINE: &str = "timeline";

/// The content of a document of the reference implementation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceContent {
    /// Text, which rich text and sheets are rendered to: as markdown, and as comma-separated
    /// values.
    Text(String),
    /// Bytes that are not text.
    Bytes(Vec<u8>),
}

/// A view of a document that reads roots of other programs.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceRoots<'a> {
    pub(super) replica: &'a ContentReplica,
}

impl ReferenceRoots<'_> {
    /// Returns the content that a later version of the reference implementation keeps in this
    /// document; `None` if the roots of yfs hold the content. Bytes are in no text: a reader must
    /// ask for them here.
    pub fn read(self) -> Option<ReferenceContent> {
        read_reference(self.replica)
    }

    /// Returns the content of the roots of later versions of the reference implementation, even if
    /// the roots of yfs hold content by now.
    pub fn read_later(self) -> Option<ReferenceContent> {
        read_any_reference(self.replica)
    }

    /// Returns the content of a root that an application chose: a text unchanged, a tree of an
    /// editor as markdown. Returns `None` for an empty root, or one of another kind.
    pub fn read_named(self, root: &str) -> Option<String> {
        read_named_root(self.replica, root)
    }
}

/// Reads the content that only roots of the reference implementation hold.
fn read_reference(replica: &ContentReplica) -> Option<ReferenceContent> {
    if replica.has_text() || replica.has_rich() {
        return None;
    }
    if !replica.gate.has_root(CONTENT) && !replica.gate.has_root(TIMELINE) {
        return None;
    }
    read_any_reference(replica)
}

/// Reads the content of roots of the reference implementation, even if the roots of yfs hold
/// content by now.
fn read_any_reference(replica: &ContentReplica) -> Option<ReferenceContent> {
    replica.gate.read(|txn| content_text(txn).or_else(|| last_entry(txn)))
}

/// Reads the text that only roots of the reference implementation hold.
pub(super) fn read_reference_text(replica: &ContentReplica) -> Option<String> {
    match read_reference(replica)? {
        ReferenceContent::Text(text) => Some(text),
        ReferenceContent::Bytes(_) => None,
    }
}

/// Reads a root that an application chose.
fn read_named_root(replica: &ContentReplica, root: &str) -> Option<String> {
    replica.gate.read(|txn| {
        let text = txn.get_text(root)?.get_string(txn);
        if !text.is_empty() {
            return Some(text);
        }
        let kids = glance_in(txn, &txn.get_xml_fragment(root)?, DEFAULT_PROFILE);
        Some(text_of(kids, &rich::RichMemory::default())).filter(|text| !text.is_empty())
    })
}

/// Renders a tree as markdown, in the profile that its names belong to.
fn text_of(kids: Vec<LiveChild>, memory: &rich::RichMemory) -> String {
    let profile = rich::evident_profile(&kids).unwrap_or(DEFAULT_PROFILE);
    rich::file_of(into_nodes(kids), memory, profile).text
}

fn content_text(txn: &impl ReadTxn) -> Option<ReferenceContent> {
    let text = txn.get_text(CONTENT)?.get_string(txn);
    (!text.is_empty()).then_some(ReferenceContent::Text(text))
}

fn last_entry(txn: &impl ReadTxn) -> Option<ReferenceContent> {
    let entries = txn.get_array(TIMELINE)?;
    let Out::YMap(entry) = values_in(txn, &entries).last()? else { return None };
    let text = match entry.get(txn, CONTENT) {
        Some(Out::YText(text)) => text.get_string(txn),
        Some(Out::YXmlFragment(fragment)) => {
            let memory = match entry.get(txn, rich::FRONT_MATTER) {
                Some(Out::YMap(front)) => rich::RichMemory::of_front_matter(txn, &front),
                _ => rich::RichMemory::default(),
            };
            text_of(glance_in(txn, &fragment, DEFAULT_PROFILE), &memory)
        }
        Some(Out::Any(Any::Buffer(bytes))) => match String::from_utf8(bytes.to_vec()) {
            Ok(text) => text,
            Err(error) => return Some(ReferenceContent::Bytes(error.into_bytes())),
        },
        Some(Out::Any(Any::String(text))) => text.to_string(),
        _ => sheet(txn, &entry)?,
    };
    Some(ReferenceContent::Text(text))
}

/// Returns a sheet as comma-separated values (RFC 4180, lines ended by a newline), the names of the
/// columns first.
fn sheet(txn: &impl ReadTxn, entry: &MapRef) -> Option<String> {
    let (Some(Out::YMap(columns)), Some(Out::YMap(rows))) =
        (entry.get(txn, "columns"), entry.get(txn, "rows"))
    else {
        return None;
    };
    let (columns, rows) = (in_order(txn, &columns), in_order(txn, &rows));
    let names = columns.iter().map(|(_, column)| cell(txn, column, "name"));
    let mut lines = vec![names.collect::<Vec<_>>().join(",")];
    for (_, row) in &rows {
        let cells = columns.iter().map(|(id, _)| cell(txn, row, id));
        lines.push(cells.collect::<Vec<_>>().join(","));
    }
    Some(lines.join("\n") + "\n")
}

/// Returns the members of a map that are maps, by their `order`.
fn in_order(txn: &impl ReadTxn, map: &MapRef) -> Vec<(String, MapRef)> {
    let members = map.iter(txn).filter_map(|(key, value)| match value {
        Out::YMap(member) => Some((key.to_owned(), member)),
        _ => None,
    });
    let mut members: Vec<(f64, (String, MapRef))> = members
        .map(|(key, member)| {
            let order = match member.get(txn, "order") {
                Some(Out::Any(Any::String(order))) => order.parse().ok(),
                Some(Out::Any(order)) => as_number(&order),
                _ => None,
            };
            (order.unwrap_or(f64::INFINITY), (key, member))
        })
        .collect();
    members
        .sort_by(|left, right| left.0.total_cmp(&right.0).then_with(|| left.1.0.cmp(&right.1.0)));
    members.into_iter().map(|(_, member)| member).collect()
}

fn cell(txn: &impl ReadTxn, map: &MapRef, key: &str) -> String {
    let said = match map.get(txn, key) {
        None | Some(Out::Any(Any::Null | Any::Undefined)) => String::new(),
        Some(Out::Any(Any::String(text))) => text.to_string(),
        Some(Out::YText(text)) => text.get_string(txn),
        Some(Out::Any(value)) => value.to_string(),
        // No reader of a sheet shows other types.
        Some(_) => String::new(),
    };
    match said.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", said.replace('"', "\"\"")),
        false => said,
    }
}
