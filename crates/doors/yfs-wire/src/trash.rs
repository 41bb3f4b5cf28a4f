//! The trash.

use serde::Serialize;
use yfs::{TrashEntry, workspace::trash::ExpireReport};
use yfs_types::time::Millis;

use crate::{node_kind::NodeKindJson, time::UnixMillis};

/// A node in the trash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "Trashed", rename_all = "camelCase"))]
#[cfg_attr(feature = "schema", ts(concrete(T = UnixMillis)))]
#[cfg_attr(feature = "schema", schemars(rename = "Trashed"))]
pub struct TrashEntryJson<T = UnixMillis> {
    /// The id, by which it can be restored.
    pub id: String,
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: NodeKindJson,
    /// The path where it was.
    pub original: String,
    /// The time when it was moved to the trash.
    pub trashed_at: T,
    /// The actor who moved it there, if that is recorded.
    pub trashed_by: Option<String>,
    /// The number of nodes that were below it.
    pub hidden: u64,
    /// The paths of nodes below it that other writers changed or added since.
    pub stranded: Vec<String>,
    /// Whether it is marked for deletion.
    pub purging: bool,
}

/// The answer of `GET /api/trash`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Trash"))]
pub struct TrashList {
    /// The nodes in the trash.
    pub entries: Vec<TrashEntryJson>,
}

/// The answer of `POST /api/restore`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Restored"))]
pub struct RestoredJson {
    /// The path where the node is now.
    pub path: String,
}

/// The result of deleting what was marked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "Expired"))]
pub struct ExpireReportJson {
    /// The number of deleted rows of the files table.
    pub rows: u64,
    /// The number of deleted documents.
    pub documents: u64,
    /// The bytes that the documents and blobs had.
    pub bytes: u64,
}

impl<T: From<Millis>> From<&TrashEntry> for TrashEntryJson<T> {
    fn from(entry: &TrashEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            name: entry.name.clone(),
            kind: entry.kind.into(),
            original: entry.original.clone(),
            trashed_at: entry.trashed_at.into(),
            trashed_by: entry.trashed_by.as_ref().map(ToString::to_string),
            hidden: entry.n_hidden,
            stranded: entry.stranded.clone(),
            purging: entry.purging,
        }
    }
}

impl From<ExpireReport> for ExpireReportJson {
    fn from(report: ExpireReport) -> Self {
        Self { rows: report.n_rows, documents: report.n_documents, bytes: report.n_bytes }
    }
}
