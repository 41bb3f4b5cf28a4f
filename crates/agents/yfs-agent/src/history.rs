//! The past of files, as far as a backend keeps it.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use smol_str::SmolStr;
use yfs_types::{actor::Actor, path::VPath, time::Millis};
use yfs_vfs::FsError;

/// A version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFileVersion {
    /// Its number, counted from 1, the oldest.
    pub number: u64,
    /// When it was made.
    pub at: Millis,
    /// Its author, if known.
    pub actor: Option<Actor>,
    /// The label of the change: a session, a tool call.
    pub label: Option<SmolStr>,
    /// Whether it is the current content.
    pub current: bool,
}

/// The changes of one kind of a session in one file, after they were undone or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneChange {
    /// The file's path.
    pub path: VPath,
    /// The kind of the changes: `created`, `edited`, `renamed`, `moved`, `mode`, `restored` or
    /// `deleted`.
    pub change: &'static str,
    /// What undoing it did, or why it was not undone.
    pub result: UndoneResult,
}

/// What undoing a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndoneResult {
    /// The content was changed back; if `kept_others`, with later changes by others in it.
    Reverted {
        /// Whether later changes by others were kept.
        kept_others: bool,
    },
    /// The file, which the change had created, was moved to the trash.
    Removed,
    /// The file, which the change had removed, was restored.
    Restored,
    /// The file, which the change had renamed or moved, was moved back to this path.
    MovedBack(VPath),
    /// The permission bits were set back.
    ModeRestored,
    /// Nothing of the change was left.
    Nothing,
    /// The change stands, for this reason.
    Kept(String),
}

/// The past of the files of a filesystem.
///
/// It knows no permissions: a tool first accesses the path through the session's filesystem.
#[async_trait]
pub trait FileHistory: Send + Sync + fmt::Debug {
    /// Lists the versions of a file, oldest first.
    async fn list_versions(&self, path: &VPath) -> Result<Vec<PastFileVersion>, FsError>;

    /// Returns the content of a version. `EINVAL` if there is none with this number.
    async fn version_content(&self, path: &VPath, number: u64) -> Result<Bytes, FsError>;

    /// Returns the paths that a session of `actor` changed and that undoing it would change.
    async fn session_paths(&self, actor: &Actor, session: &str) -> Result<Vec<VPath>, FsError>;

    /// Undoes the changes of a session of `actor`, the latest first. What others changed later
    /// stays. Returns one entry for all that was done alike with one file.
    async fn undo_session(
        &self,
        actor: &Actor,
        session: &str,
    ) -> Result<Vec<UndoneChange>, FsError>;
}

impl UndoneResult {
    /// Returns the name of the result, as the packages have it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Reverted { .. } => "reverted",
            Self::Removed => "removed",
            Self::Restored => "restored",
            Self::MovedBack(_) => "moved_back",
            Self::ModeRestored => "mode_restored",
            Self::Nothing => "nothing",
            Self::Kept(_) => "kept",
        }
    }

    /// Reports whether later changes by others were kept.
    pub fn kept_others(&self) -> bool {
        matches!(self, Self::Reverted { kept_others: true })
    }

    /// Returns why the change stands, if it does.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Kept(reason) => Some(reason),
            _ => None,
        }
    }
}

/// Returns the label of the changes of a tool call: the session, then the call.
pub(crate) fn change_label(session: &str, call_id: Option<&str>) -> SmolStr {
    match call_id {
        Some(call_id) => smol_str::format_smolstr!("{session} {call_id}"),
        None => SmolStr::new(session),
    }
}

/// Reports whether a label is that of a change of a session: the session's id, and after a space
/// the id of the call.
pub fn is_label_of_session(label: &str, session: &str) -> bool {
    label.strip_prefix(session).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}
