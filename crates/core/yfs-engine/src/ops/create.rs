//! Makes files, directories and links.

use super::{OpCode, OpError, OpReason, check_name, resolve_free};
use crate::{
    id::FileId,
    name::NodeName,
    path::VPath,
    table::{FileRow, NodeKind, RowWrite},
    time::Millis,
    tree::{FinalLink, LookupError, NodeRef, PathTarget, TreeIndex},
};

/// The options for a new file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CreateOptions {
    /// Fail if the path exists already, even as a link to nothing (`O_EXCL`).
    pub create_new: bool,
    /// Make the directories that are missing on the way.
    pub parents: bool,
    /// Permission bits.
    pub mode: Option<u32>,
}

/// The options for a new directory.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryPlanOptions {
    /// Make missing directories on the way, and accept an existing directory.
    pub recursive: bool,
    /// Permission bits.
    pub mode: Option<u32>,
}

/// The plan of a new node.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatePlan {
    /// The new or existing node.
    pub id: FileId,
    /// Whether it existed already. Then there is nothing to write.
    pub existed: bool,
    /// The rows to write.
    pub writes: Vec<RowWrite>,
}

/// Plans a file at `path`, or finds the existing one.
///
/// A link at the end is followed, to nothing as well, unless a new file is required.
pub fn plan_create_file(
    tree: &TreeIndex,
    path: &VPath,
    id: FileId,
    now: Millis,
    options: CreateOptions,
) -> Result<CreatePlan, OpError> {
    let follow = if options.create_new { FinalLink::No } else { FinalLink::Yes };
    let (parent, name, mut writes) = match tree.place(path, follow) {
        Ok(PathTarget::Taken(node)) => return existing_file(node, path, options),
        Ok(PathTarget::Free { parent, name }) => {
            (parent.id().cloned(), check_name(&name, path)?, vec![])
        }
        Err(LookupError::NotFound { .. }) if options.parents => missing_parents(tree, path, now)?,
        Err(error) => return Err(error.into()),
    };
    let mut row = new_row(id.clone(), &name, parent, NodeKind::File, now);
    row.mode = options.mode;
    writes.push(RowWrite::Create { row, derived: false });
    Ok(CreatePlan { id, existed: false, writes })
}

/// Plans a directory at `path`. A link at the end is not followed.
pub fn plan_mkdir(
    tree: &TreeIndex,
    path: &VPath,
    now: Millis,
    options: DirectoryPlanOptions,
) -> Result<Option<CreatePlan>, OpError> {
    let (parent, names) = if options.recursive {
        let (directory, names) = split_existing(tree, path)?;
        if names.is_empty() {
            let there = directory.id().map(|id| CreatePlan {
                id: id.clone(),
                existed: true,
                writes: vec![],
            });
            return Ok(there);
        }
        (directory, names)
    } else {
        let (parent, name) = resolve_free(tree, path, FinalLink::No)?;
        (parent, vec![name])
    };
    let mut writes = Vec::new();
    let id = make_directories(tree, parent.id().cloned(), &names, now, &mut writes);
    let Some(id) = id else { return Err(OpError::invalid(OpReason::Root, path)) };
    set_mode(&mut writes, &id, options.mode);
    Ok(Some(CreatePlan { id, existed: false, writes }))
}

fn existing_file(
    node: NodeRef<'_>,
    path: &VPath,
    options: CreateOptions,
) -> Result<CreatePlan, OpError> {
    let code = if options.create_new { OpCode::Exists } else { OpCode::IsADirectory };
    match node.id().filter(|_| !options.create_new && !node.is_directory()) {
        Some(id) => Ok(CreatePlan { id: id.clone(), existed: true, writes: Vec::new() }),
        None => Err(OpError::new(code, path)),
    }
}

/// Plans the missing directories above a file.
fn missing_parents(
    tree: &TreeIndex,
    path: &VPath,
    now: Millis,
) -> Result<(Option<FileId>, NodeName, Vec<RowWrite>), OpError> {
    let not_found = || OpError::new(OpCode::NotFound, path);
    let (directory, name) = (path.parent().ok_or_else(not_found)?, path.file_name());
    let name = check_name(name.ok_or_else(not_found)?, path)?;
    let (existing, missing) = split_existing(tree, &directory)?;
    if missing.is_empty() {
        // The directory exists, so it is a link at the end that leads nowhere.
        return Err(not_found());
    }
    let mut writes = Vec::new();
    let parent = make_directories(tree, existing.id().cloned(), &missing, now, &mut writes);
    Ok((parent, name, writes))
}

/// Splits a path into the longest existing part, which must be a directory, and the names of the
/// rest.
fn split_existing<'a>(
    tree: &'a TreeIndex,
    path: &VPath,
) -> Result<(NodeRef<'a>, Vec<NodeName>), OpError> {
    let mut missing = Vec::new();
    let mut at = path.clone();
    let existing = loop {
        match tree.resolve(&at, FinalLink::Yes) {
            Ok(node) => break node,
            Err(LookupError::NotFound { .. }) => (),
            Err(error) => return Err(error.into()),
        }
        let (Some(name), Some(parent)) = (at.file_name(), at.parent()) else {
            return Err(OpError::new(OpCode::NotFound, path));
        };
        missing.push((check_name(name, &at)?, at.clone()));
        at = parent;
    };
    missing.reverse();
    if !existing.is_directory() {
        let code = if missing.is_empty() { OpCode::Exists } else { OpCode::NotADirectory };
        return Err(OpError::new(code, &at));
    }
    if let Some((first, at)) = missing.first() {
        // A link that leads nowhere is in the way; and `/.id` only finds nodes by id.
        if tree.child(existing, first.as_str()).is_some() {
            let code = if missing.len() > 1 { OpCode::NotFound } else { OpCode::Exists };
            return Err(OpError::new(code, at));
        }
        if existing.is_root() && first.as_str() == ".id" && missing.len() > 1 {
            return Err(OpError::new(OpCode::NotFound, at));
        }
    }
    Ok((existing, missing.into_iter().map(|(name, _)| name).collect()))
}

/// Plans directories within each other, and returns the id of the innermost.
pub(super) fn make_directories(
    tree: &TreeIndex,
    parent: Option<FileId>,
    names: &[NodeName],
    now: Millis,
    writes: &mut Vec<RowWrite>,
) -> Option<FileId> {
    names.iter().fold(parent, |parent, name| {
        // One that is there already is an orphan that waits for the directory made just before.
        let (id, there) = tree.directory_id_for_creation(parent.as_ref(), name);
        if there.is_none() {
            let row = new_row(id.clone(), name, parent, NodeKind::Directory, now);
            writes.push(RowWrite::Create { row, derived: true });
        }
        Some(id)
    })
}

/// Plans the missing directories above `to`, the destination of an existing node. Returns the id of
/// the innermost and the last component of `to`.
pub(super) fn make_directories_above(
    tree: &TreeIndex,
    source: NodeRef<'_>,
    to: &VPath,
    now: Millis,
    writes: &mut Vec<RowWrite>,
) -> Result<(FileId, NodeName), OpError> {
    let missing = || OpError::new(OpCode::NotFound, to);
    let (above, name) = to.parent().zip(to.file_name()).ok_or_else(missing)?;
    let name = check_name(name, to)?;
    let (directory, names) = split_existing(tree, &above)?;
    if names.is_empty() {
        // The directory exists, so it is the name that leads nowhere.
        return Err(missing());
    }
    if directory.is_within(source) {
        return Err(OpError::invalid(OpReason::IntoItself, to));
    }
    let id =
        make_directories(tree, directory.id().cloned(), &names, now, writes).ok_or_else(missing)?;
    if source.id() == Some(&id) {
        return Err(OpError::invalid(OpReason::IntoItself, to));
    }
    Ok((id, name))
}

/// Sets permission bits of the directory that was planned last.
pub(super) fn set_mode(writes: &mut [RowWrite], id: &FileId, mode: Option<u32>) {
    if let Some(RowWrite::Create { row, .. }) = writes.last_mut()
        && row.id == *id
    {
        row.mode = mode;
    }
}

/// Returns the row of a new node.
pub(super) fn new_row(
    id: FileId,
    name: &NodeName,
    parent: Option<FileId>,
    kind: NodeKind,
    now: Millis,
) -> FileRow {
    FileRow::new(id, name.as_str(), parent, kind, now)
}
