//! The record of what agents did.
//!
//! Two writers make [`AuditRecord`]s: the catalog, one for each call of a tool, and [`AuditedFs`],
//! one for each operation that changes the filesystem. A session with a sink puts an `AuditedFs`
//! below every tool, so a tool cannot change a file without a record.

mod audit_directory;
mod audited_fs;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::{
    audit_directory::{
        AuditDirectoryLimits, DirectoryAuditSink, SelectedRecords, select_audit_records,
    },
    audited_fs::{AuditOrigin, AuditedFs, FileAudit},
};

/// One call of a tool, or one operation of a filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditRecord {
    /// When it began, in milliseconds since 1970.
    pub at_ms: i64,
    /// The actor, as `kind:name`.
    pub actor: String,
    /// The session.
    pub session: String,
    /// The caller's id of the call.
    pub call_id: Option<String>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// The operation of the filesystem; absent in the record of the call as a whole.
    pub operation: Option<String>,
    /// The BLAKE3 digest of the arguments as JSON, in hexadecimal; absent for an operation.
    pub arguments_digest: Option<String>,
    /// The result.
    pub outcome: AuditOutcome,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// The files that were read or changed, or that the operation was to change.
    pub files: Vec<AuditedFile>,
}

/// The result of a call or an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum AuditOutcome {
    /// It succeeded.
    Done,
    /// It failed.
    Failed {
        /// The error code or the beginning of the message.
        reason: String,
    },
    /// The caller dropped it before its end; it may or may not have taken effect.
    Abandoned,
}

/// A path in a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedFile {
    /// The path.
    pub path: String,
    /// The version before, if there was a file.
    pub before: Option<String>,
    /// The version afterwards, if there is a file.
    pub after: Option<String>,
}

/// A selection of records. An absent member selects all.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    /// Records of this session.
    pub session: Option<String>,
    /// Records of this actor, as `kind:name`.
    pub actor: Option<String>,
    /// Records of this tool.
    pub tool: Option<String>,
    /// Records with this file, or with one below this directory.
    pub below: Option<String>,
    /// Records that began at or after this time, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Records that began before this time.
    pub until_ms: Option<i64>,
    /// Records that failed, or that did not.
    pub failed: Option<bool>,
    /// The greatest number of records: the latest are returned.
    pub limit: Option<usize>,
}

/// A receiver of records.
///
/// Recording happens while a call runs, so it must be quick. An implementation that cannot store a
/// record counts it; it never fails the call, whose effect is there already.
pub trait AuditSink: Send + Sync + fmt::Debug {
    /// Stores a record.
    fn record(&self, record: AuditRecord);
}

impl AuditRecord {
    /// Reports whether the query selects the record.
    pub fn is_selected_by(&self, query: &AuditQuery) -> bool {
        let is_below = |directory: &str| {
            let inside = |path: &str| {
                let rest = path.strip_prefix(directory.trim_end_matches('/'));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            self.files.iter().any(|file| inside(&file.path))
        };
        let is_failed = self.outcome != AuditOutcome::Done;
        query.session.as_ref().is_none_or(|session| *session == self.session)
            && query.actor.as_ref().is_none_or(|actor| *actor == self.actor)
            && query.tool.as_ref().is_none_or(|tool| Some(tool) == self.tool.as_ref())
            && query.below.as_deref().is_none_or(is_below)
            && query.since_ms.is_none_or(|since| self.at_ms >= since)
            && query.until_ms.is_none_or(|until| self.at_ms < until)
            && query.failed.is_none_or(|failed| failed == is_failed)
    }
}
