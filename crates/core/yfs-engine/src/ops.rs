//! Planning of operations on the tree: the rows to write to the table, or the error.
//!
//! Each function reads the tree, checks all preconditions, and returns the rows to write. It
//! changes nothing, so a rejected call changes nothing. The caller writes all of a plan in one
//! transaction, so peers see an operation whole. Times and ids are arguments.
//!
//! Paths are resolved once, as POSIX does it: links on the way are followed; each operation
//! documents whether it follows a link at the end.

mod attributes;
mod copy;
mod create;
mod rename;
#[cfg(test)]
mod tests;
mod trash;

use thiserror::Error;

pub use self::{
    attributes::{plan_chmod, plan_meta, plan_touch},
    copy::{CopyPlan, TreeCopyOptions, plan_copy},
    create::{CreateOptions, CreatePlan, DirectoryPlanOptions, plan_create_file, plan_mkdir},
    rename::{MovePlan, RenameOptions, plan_move},
    trash::{
        ExpirePlan, keep_names_of_others, plan_expire, plan_purge, plan_restore, plan_trash,
        removal, replacement, trashed_by,
    },
};
use crate::{
    id::FileId,
    name::{NameError, NodeName},
    path::VPath,
    table::{FileRow, FilesTable},
    tree::{FinalLink, LookupError, NodeRef, PathTarget, TreeIndex},
};

/// A source of rows, for data that the tree does not keep.
pub trait RowSource {
    /// Returns the effective row of an id.
    fn row(&self, id: &FileId) -> Option<FileRow>;
}

impl RowSource for FilesTable {
    fn row(&self, id: &FileId) -> Option<FileRow> {
        self.get(id).map(|entry| entry.row)
    }
}

/// The error of an operation, and the path that it is about. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{code}: {path}")]
pub struct OpError {
    /// The error.
    pub code: OpCode,
    /// The path that it is about.
    pub path: VPath,
}

/// The errors of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpCode {
    /// There is no such file or directory. POSIX: `ENOENT`.
    #[error("no such file or directory")]
    NotFound,
    /// The path exists already. POSIX: `EEXIST`.
    #[error("file exists")]
    Exists,
    /// It should be a directory. POSIX: `ENOTDIR`.
    #[error("not a directory")]
    NotADirectory,
    /// It should not be a directory. POSIX: `EISDIR`.
    #[error("is a directory")]
    IsADirectory,
    /// The directory is not empty. POSIX: `ENOTEMPTY`.
    #[error("directory not empty")]
    NotEmpty,
    /// A name or path is too long. POSIX: `ENAMETOOLONG`.
    #[error("name too long")]
    NameTooLong,
    /// Too many links are followed. POSIX: `ELOOP`.
    #[error("too many levels of symbolic links")]
    Loop,
    /// The arguments are invalid. POSIX: `EINVAL`.
    #[error("invalid argument, {0}")]
    Invalid(OpReason),
}

/// The reason why arguments are invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpReason {
    /// The name is empty, `.` or `..`, or holds `/`, `\` or NUL.
    #[error("invalid name")]
    Name,
    /// The root can be neither moved, nor removed, nor changed.
    #[error("the root cannot be changed")]
    Root,
    /// A directory cannot be moved or copied to below itself.
    #[error("the destination is inside the source")]
    IntoItself,
    /// Source and destination are the same.
    #[error("source and destination are the same")]
    SameFile,
    /// Only nodes in the trash can be restored or purged.
    #[error("not in the trash")]
    NotTrashed,
    /// The metadata is not a JSON object, or would set a member that yfs itself keeps there.
    #[error("invalid metadata")]
    Meta,
}

impl OpError {
    /// Makes an error about a path.
    pub fn new(code: OpCode, path: &VPath) -> Self {
        Self { code, path: path.clone() }
    }

    fn invalid(reason: OpReason, path: &VPath) -> Self {
        Self::new(OpCode::Invalid(reason), path)
    }

    /// Makes an error about a node without a path.
    fn about(code: OpCode, id: &FileId) -> Self {
        Self { code, path: VPath::root().join(".id").join(id.as_str()) }
    }
}

impl From<LookupError> for OpError {
    fn from(error: LookupError) -> Self {
        let (code, path) = match error {
            LookupError::NotFound { at } => (OpCode::NotFound, at),
            LookupError::NotADirectory { at } => (OpCode::NotADirectory, at),
            LookupError::Loop { at } => (OpCode::Loop, at),
            LookupError::TooLong { at } => (OpCode::NameTooLong, at),
        };
        Self { code, path }
    }
}

/// Checks a name that is to be stored.
pub fn check_name(name: &str, path: &VPath) -> Result<NodeName, OpError> {
    NodeName::new(name).map_err(|error| match error {
        NameError::TooLong(_) => OpError::new(OpCode::NameTooLong, path),
        _ => OpError::invalid(OpReason::Name, path),
    })
}

/// Finds a node that has a row, so anything but the root.
fn resolve_row<'a>(
    tree: &'a TreeIndex,
    path: &VPath,
    follow: FinalLink,
) -> Result<(NodeRef<'a>, &'a FileId), OpError> {
    let node = tree.resolve(path, follow)?;
    let id = node.id().ok_or_else(|| OpError::invalid(OpReason::Root, path))?;
    Ok((node, id))
}

/// Finds the directory and name for a new node at a free path.
fn resolve_free<'a>(
    tree: &'a TreeIndex,
    path: &VPath,
    follow: FinalLink,
) -> Result<(NodeRef<'a>, NodeName), OpError> {
    match tree.place(path, follow)? {
        PathTarget::Taken(_) => Err(OpError::new(OpCode::Exists, path)),
        PathTarget::Free { parent, name } => Ok((parent, check_name(&name, path)?)),
    }
}
