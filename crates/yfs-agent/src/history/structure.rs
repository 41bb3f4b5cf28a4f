//! Taking back what the history of contents does not list: moves, new directories, links.
//!
//! The history of a workspace knows the contents of files. What a session did to the tree is in its
//! audit records, with the ids of the objects, so each change is taken back where the object is
//! now, and only if nothing of others' work is in the way.

use std::io;

use yfs::{Session, Workspace};
use yfs_types::{actor::Actor, id::FileId, path::VPath};
use yfs_vfs::{FileKind, FsCode, FsError, MoveOptions, Op, RemoveOptions, WalkOptions};

use super::{UndoneChange, UndoneResult};
use crate::audit::{
    AuditOutcome, AuditQuery, AuditRecord, AuditedFile, audit_directory_of, select_audit_records,
};

/// A change of the tree that a session made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructureChange {
    /// When it was made, in milliseconds since 1970.
    pub at_ms: i64,
    /// The actor, as `kind:name`.
    pub actor: String,
    /// The path that the object got.
    pub path: VPath,
    /// What was done.
    pub kind: StructureChangeKind,
}

/// The kind of a change of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StructureChangeKind {
    /// An object was moved or renamed.
    Moved {
        /// The object.
        id: FileId,
        /// Its former path.
        from: VPath,
    },
    /// A directory or a link was created, or a tree was copied.
    Created {
        /// The object.
        id: FileId,
        /// Whether it came with what is in it.
        is_copy: bool,
    },
    /// A mode or metadata was set. The former value is not known.
    Attribute,
}

impl StructureChangeKind {
    /// Returns the word for the change.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Moved { .. } => "moved",
            Self::Created { .. } => "created",
            Self::Attribute => "attribute",
        }
    }
}

/// Returns the changes of the tree by a session, the latest first, as far as the audit records
/// beside the workspace's store have them.
///
/// # Errors
///
/// Fails if the records cannot be listed.
pub fn structure_changes(workspace: &Workspace, session: &str) -> io::Result<Vec<StructureChange>> {
    let Some(directory) = audit_directory_of(workspace) else { return Ok(Vec::new()) };
    let session = Some(session.to_owned());
    let query = AuditQuery { session, limit: Some(usize::MAX), ..AuditQuery::default() };
    let records = match select_audit_records(&directory, &query) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        selected => selected?.records,
    };
    Ok(records.iter().rev().flat_map(changes_of).collect())
}

/// Returns the changes of the tree in one record, the latest first.
fn changes_of(record: &AuditRecord) -> Vec<StructureChange> {
    let Some(op) = record.operation.as_deref().filter(|_| record.outcome == AuditOutcome::Done)
    else {
        return Vec::new();
    };
    let change = |file: &AuditedFile, kind| {
        let path = file.path.parse().ok()?;
        Some(StructureChange { at_ms: record.at_ms, actor: record.actor.clone(), path, kind })
    };
    let is_attribute = [Op::Chmod, Op::SetMetadata].iter().any(|of| op == of.as_str());
    if is_attribute {
        let changes = record.files.iter();
        return changes.filter_map(|file| change(file, StructureChangeKind::Attribute)).collect();
    }
    let is_move = op == Op::Rename.as_str();
    let is_copy = op == Op::Cp.as_str();
    let created = |(position, file): (usize, &AuditedFile)| {
        let id = FileId::parse(file.object.as_deref()?).ok()?;
        let kind = match record.files.first().filter(|_| is_move && position == 1) {
            Some(from) => StructureChangeKind::Moved { id, from: from.path.parse().ok()? },
            // A new file of a copy is in the history of contents.
            None if is_copy && position == 1 && file.after.is_some() => return None,
            None => StructureChangeKind::Created { id, is_copy: is_copy && position == 1 },
        };
        change(file, kind)
    };
    // The operands come first, then the directories that were created for them, deepest first.
    record.files.iter().enumerate().filter_map(created).collect()
}

/// Takes changes of the tree back, in the order given, on behalf of an actor. Changes of which
/// nothing is left are not in the result.
pub fn undo_structure(
    workspace: &Workspace,
    actor: Actor,
    changes: &[StructureChange],
) -> Vec<UndoneChange> {
    let session = workspace.session(actor).labelled(yfs::workspace::undo::UNDO_LABEL);
    let undone = changes.iter().filter_map(|change| {
        let (path, result) = undo_one(workspace, &session, change)?;
        Some(UndoneChange { path, change: change.kind.as_str(), result })
    });
    undone.collect()
}

/// Takes one change back. Returns the object's path and the result, unless nothing is left of it.
fn undo_one(
    workspace: &Workspace,
    session: &Session,
    change: &StructureChange,
) -> Option<(VPath, UndoneResult)> {
    let id = match &change.kind {
        StructureChangeKind::Attribute => {
            let reason = "the mode or metadata from before is not recorded".to_owned();
            let is_there = session.lstat(&change.path).is_ok();
            return is_there.then(|| (change.path.clone(), UndoneResult::Kept(reason)));
        }
        StructureChangeKind::Moved { id, .. } | StructureChangeKind::Created { id, .. } => id,
    };
    // What is in the trash needs no more.
    let path = workspace.nodes().path_of(id).ok()??;
    let kept = |reason: &str| Some((path.clone(), UndoneResult::Kept(reason.to_owned())));
    let failed = |error: FsError| Some((path.clone(), UndoneResult::Kept(error.to_string())));
    match &change.kind {
        StructureChangeKind::Moved { from, .. } if path == *from => None,
        StructureChangeKind::Moved { .. } if path != change.path => {
            kept("it was moved again since")
        }
        StructureChangeKind::Moved { from, .. } => {
            let options = MoveOptions { replace: false, parents: false };
            match session.mv(&path, from, &options) {
                Ok(()) => Some((path.clone(), UndoneResult::MovedBack { to: from.clone() })),
                Err(error) if error.code == FsCode::EEXIST => {
                    kept(&format!("there is another {from}"))
                }
                Err(error) if error.code == FsCode::ENOENT => {
                    kept(&format!("the directory of {from} is gone"))
                }
                Err(error) => failed(error),
            }
        }
        StructureChangeKind::Created { is_copy, .. } => {
            let recursive = *is_copy && has_only_directories(session, &path);
            match session.rm(&path, &RemoveOptions { recursive, force: false }) {
                Ok(()) => Some((path.clone(), UndoneResult::Removed)),
                Err(error) if error.code == FsCode::ENOTEMPTY => kept("it is not empty"),
                Err(error) => failed(error),
            }
        }
        StructureChangeKind::Attribute => None,
    }
}

/// Reports whether a tree has no files.
fn has_only_directories(session: &Session, path: &VPath) -> bool {
    let walked = session.walk(path, &WalkOptions::default());
    walked.is_ok_and(|found| found.iter().all(|found| found.entry.kind == FileKind::Directory))
}
