//! The state of a workspace: sizes, conflicts, documents, refused updates.

use serde::Serialize;
use yfs::workspace::{
    conflicts::ConflictReport,
    document::{DocumentInfo, ProfileReport},
    stats::WorkspaceStats,
    word_conflicts::WordConflict,
};
use yfs_engine::kind::{ContentRoot, FileCategory, profile_name};
use yfs_store::QuarantinedUpdate;
use yfs_types::time::Millis;

use crate::time::UnixMillis;

/// A conflict that a person should decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS), ts(rename = "Conflict"))]
#[cfg_attr(feature = "schema", schemars(rename = "Conflict"))]
pub struct ConflictJson {
    /// The kind of conflict, such as `name`, `late` or `unsettled`.
    pub kind: &'static str,
    /// The id of the node.
    pub id: String,
    /// The path of the node.
    pub path: String,
    /// The explanation.
    pub detail: String,
}

/// The answer of `GET /api/conflicts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Conflicts"))]
pub struct ConflictList {
    /// The conflicts.
    pub conflicts: Vec<ConflictJson>,
}

/// The answer of `GET /api/conflicts/{path}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WordConflicts"))]
pub struct WordConflictList {
    /// The path of the file.
    pub path: String,
    /// The places with words of several writers.
    pub places: Vec<WordConflictJson>,
}

/// A place of a text with words of several writers who did not know of each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WordConflict"))]
pub struct WordConflictJson {
    /// The number of the line, from 1.
    pub line: usize,
    /// The text of the line.
    pub text: String,
    /// The words, in the order of the text. One alone mixes the changes of its writers: it can be
    /// accepted, or edited.
    pub words: Vec<ConflictWordJson>,
}

/// A word of a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ConflictWord"))]
pub struct ConflictWordJson {
    /// The word.
    pub text: String,
    /// Its writers, if they are recorded.
    pub actors: Vec<String>,
}

/// What an editor needs to open a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "DocumentInfo"))]
pub struct DocumentInfoJson {
    /// The guid of the file's Yjs document, which is the file's id.
    pub guid: String,
    /// The category that the file's name gives it.
    #[cfg_attr(feature = "schema", ts(type = "'text' | 'rich-text'"))]
    pub category: &'static str,
    /// The schema of rich text; null for other content.
    #[cfg_attr(feature = "schema", ts(type = "'gfm' | 'commonmark' | null"))]
    pub profile: Option<&'static str>,
    /// The root that an editor binds to; null if the document does not contain the content.
    #[cfg_attr(feature = "schema", ts(type = "'text' | 'richtext' | null"))]
    pub root: Option<&'static str>,
}

/// The report of a conversion to another schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "ProfileReport"))]
pub struct ProfileReportJson {
    /// The number of files with rich text.
    pub files: u64,
    /// The number of files that were converted.
    pub converted: u64,
}

/// The size of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "WorkspaceStats", rename_all = "camelCase"))]
pub struct WorkspaceStatsJson {
    /// The id of the workspace, which is the guid of its main document.
    pub id: String,
    /// The number of files.
    pub files: u64,
    /// The number of directories.
    pub directories: u64,
    /// The number of nodes in the trash.
    pub trashed: u64,
    /// The number of updates that wait for others.
    pub parked: u64,
    /// The number of documents in memory.
    pub open_documents: u64,
}

/// An update that the workspace rejected; equal ones are listed once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "Quarantined", rename_all = "camelCase"))]
#[cfg_attr(feature = "schema", ts(concrete(T = UnixMillis)))]
pub struct QuarantinedJson<T = UnixMillis> {
    /// The number by which it is shown and dropped.
    pub number: u64,
    /// The guid of the document that the update is for.
    pub doc: String,
    /// The path of the document's file, where it was asked for and is known.
    pub path: Option<String>,
    /// The time when it was first rejected.
    pub first_at: T,
    /// The time when it was last rejected.
    pub last_at: T,
    /// The number of times that it was rejected.
    pub times: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether the bytes were kept.
    pub kept: bool,
    /// The reason.
    pub reason: String,
}

impl From<&ConflictReport> for ConflictJson {
    fn from(conflict: &ConflictReport) -> Self {
        Self {
            kind: conflict.kind.as_str(),
            id: conflict.id.to_string(),
            path: conflict.path.clone(),
            detail: conflict.detail.clone(),
        }
    }
}

impl From<&WordConflict> for WordConflictJson {
    fn from(conflict: &WordConflict) -> Self {
        let words = conflict.words.iter().map(|word| ConflictWordJson {
            text: word.text.clone(),
            actors: word.actors.iter().map(ToString::to_string).collect(),
        });
        Self { line: conflict.line, text: conflict.text.clone(), words: words.collect() }
    }
}

impl From<&DocumentInfo> for DocumentInfoJson {
    fn from(info: &DocumentInfo) -> Self {
        let profile = match info.kind {
            Some(ContentRoot::Rich(profile)) => Some(profile_name(profile)),
            _ => None,
        };
        let category = match info.category {
            FileCategory::RichText => "rich-text",
            FileCategory::Text => "text",
        };
        Self { guid: info.guid.to_string(), category, profile, root: info.root() }
    }
}

impl From<ProfileReport> for ProfileReportJson {
    fn from(report: ProfileReport) -> Self {
        Self { files: report.n_files, converted: report.n_converted }
    }
}

impl From<&WorkspaceStats> for WorkspaceStatsJson {
    fn from(stats: &WorkspaceStats) -> Self {
        Self {
            id: stats.id.to_string(),
            files: stats.n_files,
            directories: stats.n_directories,
            trashed: stats.n_trashed,
            parked: stats.n_parked,
            open_documents: stats.n_open,
        }
    }
}

impl<T: From<Millis>> QuarantinedJson<T> {
    /// Describes a rejected update of the document at a path.
    pub fn new(update: &QuarantinedUpdate, path: Option<String>) -> Self {
        Self {
            number: update.number,
            doc: update.doc.to_string(),
            path,
            first_at: update.first_at.into(),
            last_at: update.last_at.into(),
            times: update.n_times,
            bytes: update.len,
            kept: update.is_kept,
            reason: update.reason.clone(),
        }
    }
}
