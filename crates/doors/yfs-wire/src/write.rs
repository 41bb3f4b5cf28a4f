//! Results of writes and edits.

use serde::Serialize;
use yfs_vfs::{EditOutcome, EditOverlap, VersionToken, WriteOutcome};

/// The result of writing a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "Written"), schemars(rename = "Written"))]
pub struct WriteOutcomeJson {
    /// The path, where the answer would not say it otherwise; absent in the Node package.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(skip))]
    pub path: Option<String>,
    /// The id of the file.
    pub id: String,
    /// The version of the stored content, if the caller knows that content. Absent otherwise: the
    /// caller must read the file before it writes with a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub version: Option<String>,
    /// Whether the file may contain changes of others that the caller has not read.
    pub merged: bool,
    /// The size of the file afterwards, in bytes.
    pub size: u64,
    /// Whether the write created the file.
    pub created: bool,
    /// Ranges where this write changed text that another writer had changed since the base.
    pub overlaps: Vec<OverlapJson>,
}

/// A range that two writers changed concurrently; both changes are in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "Overlap"), schemars(rename = "Overlap"))]
pub struct OverlapJson {
    /// The offset of the range in the file after the write, in bytes.
    pub offset: u64,
    /// The length of the range, in bytes.
    pub length: u64,
    /// The other writer, if known.
    pub actor: Option<String>,
}

/// The result of replacing text in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "Edited"), schemars(rename = "Edited"))]
pub struct EditOutcomeJson {
    /// The path, where the answer would not say it otherwise; absent in the Node package.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(skip))]
    pub path: Option<String>,
    /// The number of replaced occurrences.
    pub replaced: usize,
    /// Whether the file may contain changes of others that the caller has not read.
    pub merged: bool,
    /// The version of the stored content, if the caller named the version that it edited. Absent
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub version: Option<String>,
}

impl WriteOutcomeJson {
    /// Adds the path of the file.
    #[must_use]
    pub fn at(self, path: &str) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }
}

impl From<&WriteOutcome> for WriteOutcomeJson {
    fn from(written: &WriteOutcome) -> Self {
        Self {
            path: None,
            id: written.id.to_string(),
            version: written.version.as_ref().map(VersionToken::to_string),
            merged: written.version.is_none(),
            size: written.size,
            created: written.created,
            overlaps: written.overlaps.iter().map(OverlapJson::from).collect(),
        }
    }
}

impl From<&EditOverlap> for OverlapJson {
    fn from(overlap: &EditOverlap) -> Self {
        let actor = overlap.actor.as_ref().map(ToString::to_string);
        Self { offset: overlap.offset, length: overlap.len, actor }
    }
}

impl EditOutcomeJson {
    /// Adds the path of the file.
    #[must_use]
    pub fn at(self, path: &str) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }
}

impl From<&EditOutcome> for EditOutcomeJson {
    fn from(edited: &EditOutcome) -> Self {
        let version = edited.version.as_ref().map(VersionToken::to_string);
        Self { path: None, replaced: edited.n_replaced, merged: version.is_none(), version }
    }
}
