//! Versions, authors, anchors and redactions.

use serde::Serialize;
use yfs::workspace::{
    anchors::ResolvedFileAnchor,
    blame::{BlameLine, BlameShare},
    change_list::HistoryEntry,
    redact::{RedactionInfo, RedactionReport},
    versions::VersionInfo,
};
use yfs_types::{hash::ContentHash, time::Millis};

use crate::{node_kind::NodeKindJson, time::UnixMillis};

/// A version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "Version", concrete(T = UnixMillis)))]
#[cfg_attr(feature = "schema", schemars(rename = "Version"))]
pub struct VersionJson<T = UnixMillis> {
    /// The number, from 1.
    pub number: u64,
    /// The time of the first change of the version.
    pub at: T,
    /// The author, if known.
    pub actor: Option<String>,
    /// The label of the author's session.
    pub label: Option<String>,
    /// The names that users gave to the version.
    pub names: Vec<String>,
    /// Whether content of the version was erased.
    pub redacted: bool,
    /// Whether it is the current content.
    pub current: bool,
}

/// The answer of `GET /api/versions/{path}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Versions"))]
pub struct VersionList {
    /// The path of the file.
    pub path: String,
    /// The versions, oldest first.
    pub versions: Vec<VersionJson>,
}

/// The answer of `GET /api/blame/{path}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Blame"))]
pub struct BlameList {
    /// The path of the file.
    pub path: String,
    /// The lines of the file.
    pub lines: Vec<BlameLineJson>,
}

/// The answer of `GET /api/log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Log"))]
pub struct LogList {
    /// The changes, the latest first.
    pub entries: Vec<LogEntryJson>,
}

/// A change of a file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "LogEntry", concrete(T = UnixMillis)))]
#[cfg_attr(feature = "schema", schemars(rename = "LogEntry"))]
pub struct LogEntryJson<T = UnixMillis> {
    /// The time of the change, by the clock of its author.
    pub at: T,
    /// The present path; of what is in the trash, the former one.
    pub path: String,
    /// The id of the node, which moves and renames keep.
    pub id: String,
    /// The kind of the node.
    pub kind: NodeKindJson,
    /// What happened: `created`, `edited`, `renamed`, `moved`, `mode`, `restored` or `deleted`.
    pub change: String,
    /// The author, if known.
    pub actor: Option<String>,
    /// The label of the author's session.
    pub label: Option<String>,
    /// The number of the version, if it changed a content.
    pub version: Option<u64>,
    /// The path before a rename or move, with the present names of the directories.
    pub from: Option<String>,
}

impl<T: From<Millis>> From<&HistoryEntry> for LogEntryJson<T> {
    fn from(entry: &HistoryEntry) -> Self {
        Self {
            at: entry.at.into(),
            path: entry.path.to_string(),
            id: entry.id.to_string(),
            kind: entry.kind.into(),
            change: entry.change.as_str().to_owned(),
            actor: entry.actor.as_ref().map(ToString::to_string),
            label: entry.label.as_ref().map(ToString::to_string),
            version: entry.version,
            from: entry.paths.as_ref().map(|paths| paths[0].to_string()),
        }
    }
}

/// A line of a file and its author: the one that edited it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "BlameLine", concrete(T = UnixMillis)))]
#[cfg_attr(feature = "schema", schemars(rename = "BlameLine"))]
pub struct BlameLineJson<T = UnixMillis> {
    /// The number of the line, from 1.
    pub line: usize,
    /// The text of the line.
    pub text: String,
    /// The author, if known.
    pub actor: Option<String>,
    /// The time of the author's edit.
    pub at: Option<T>,
    /// The version that contains the edit.
    pub version: Option<u64>,
    /// All authors of the line.
    pub shares: Vec<BlameShareJson<T>>,
    /// The parts of the text in their order, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", ts(skip))]
    pub parts: Vec<BlamePartJson>,
}

/// A part of a line that one author wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "BlamePart"))]
pub struct BlamePartJson {
    /// The index of the author's share; null if no author is recorded.
    pub share: Option<usize>,
    /// The number of characters.
    pub chars: usize,
}

impl<T> BlameLineJson<T> {
    /// Returns the line with the parts of its text.
    #[must_use]
    pub fn with_parts(mut self, line: &BlameLine) -> Self {
        let parts = line.parts.iter();
        self.parts =
            parts.map(|part| BlamePartJson { share: part.share, chars: part.n_chars }).collect();
        self
    }
}

/// A share that one author has in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "BlameShare", concrete(T = UnixMillis)))]
#[cfg_attr(feature = "schema", schemars(rename = "BlameShare"))]
pub struct BlameShareJson<T = UnixMillis> {
    /// The author, if known.
    pub actor: Option<String>,
    /// The time when the author wrote it.
    pub at: Option<T>,
    /// The label of the author's session.
    pub label: Option<String>,
    /// The version that contains the change.
    pub version: Option<u64>,
    /// The number of characters, the end of a line not counted; 0 for an edit that left none.
    pub chars: usize,
}

/// The present position of an anchor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "Anchored"))]
pub struct AnchorJson {
    /// The path of the file.
    pub path: String,
    /// The offset in bytes.
    pub offset: usize,
    /// The number of the line, from 1.
    pub line: usize,
    /// Whether the anchored character still exists.
    pub exact: bool,
}

/// What a redaction erases, or erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "Redacted", rename_all = "camelCase"))]
pub struct RedactionReportJson {
    /// The pieces of text, each as it was typed.
    pub pieces: Vec<String>,
    /// The number of characters of the pieces, in UTF-16 code units as Yjs counts.
    pub chars: u64,
    /// The hashes of the blobs that are erased.
    pub blobs: Vec<String>,
    /// The hashes of the blobs that stay because another file or version needs them.
    pub kept: Vec<String>,
    /// The versions that stay readable and contain some of the text, which therefore stays.
    pub held_by: Vec<u64>,
}

/// A record of a redaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "Redaction", concrete(T = UnixMillis)))]
pub struct RedactionJson<T = UnixMillis> {
    /// The author of the redaction.
    pub actor: String,
    /// The time of the redaction.
    pub at: T,
    /// The reason that the author gave.
    pub reason: Option<String>,
    /// The number of erased characters, in UTF-16 code units.
    pub chars: u64,
    /// The number of erased blobs.
    pub blobs: usize,
}

impl<T: From<Millis>> From<&VersionInfo> for VersionJson<T> {
    fn from(version: &VersionInfo) -> Self {
        Self {
            number: version.number,
            at: version.at.into(),
            actor: version.actor.as_ref().map(ToString::to_string),
            label: version.label.as_ref().map(ToString::to_string),
            names: version.names.iter().map(ToString::to_string).collect(),
            redacted: version.redacted,
            current: version.current,
        }
    }
}

impl<T: From<Millis>> From<&BlameLine> for BlameLineJson<T> {
    fn from(line: &BlameLine) -> Self {
        Self {
            line: line.number,
            text: line.text.clone(),
            actor: line.actor.as_ref().map(ToString::to_string),
            at: line.at.map(T::from),
            version: line.version,
            shares: line.shares.iter().map(BlameShareJson::from).collect(),
            parts: Vec::new(),
        }
    }
}

impl<T: From<Millis>> From<&BlameShare> for BlameShareJson<T> {
    fn from(share: &BlameShare) -> Self {
        Self {
            actor: share.actor.as_ref().map(ToString::to_string),
            at: share.at.map(T::from),
            label: share.label.as_ref().map(ToString::to_string),
            version: share.version,
            chars: share.n_chars,
        }
    }
}

impl From<&ResolvedFileAnchor> for AnchorJson {
    fn from(resolved: &ResolvedFileAnchor) -> Self {
        let path = resolved.path.to_string();
        Self { path, offset: resolved.offset, line: resolved.line, exact: resolved.exact }
    }
}

impl From<&RedactionReport> for RedactionReportJson {
    fn from(report: &RedactionReport) -> Self {
        let hashes = |hashes: &[ContentHash]| hashes.iter().map(ToString::to_string).collect();
        Self {
            chars: report.n_units,
            blobs: hashes(&report.blobs),
            kept: hashes(&report.kept),
            pieces: report.pieces.clone(),
            held_by: report.held_by.clone(),
        }
    }
}

impl<T: From<Millis>> From<&RedactionInfo> for RedactionJson<T> {
    fn from(redaction: &RedactionInfo) -> Self {
        let author = &redaction.author;
        Self {
            actor: author.actor.to_string(),
            at: author.at.into(),
            reason: author.label.as_ref().map(ToString::to_string),
            chars: redaction.n_units,
            blobs: redaction.n_blobs,
        }
    }
}
