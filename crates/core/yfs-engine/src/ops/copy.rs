//! Copies files and whole directories.

use smol_str::SmolStr;

use super::{
    OpCode, OpError, OpReason, RowSource, check_name,
    create::{make_directories, make_directories_above, new_row, set_mode},
};
use crate::{
    id::FileId,
    name::NodeName,
    path::VPath,
    table::{NodeKind, RowChanges, RowWrite},
    time::Millis,
    tree::{DirectoryChildren, FinalLink, LookupError, NodeRef, PathTarget, TreeIndex},
};

/// The options of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeCopyOptions {
    /// Copy directories with all their content.
    pub recursive: bool,
    /// Make the directories that are missing above the destination.
    pub parents: bool,
}

/// The plan of a copy.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct CopyPlan {
    /// The rows to write.
    pub writes: Vec<RowWrite>,
    /// The files whose content is to be copied, each from the first to the second.
    pub contents: Vec<(FileId, FileId)>,
}

/// The destination of a copy.
enum CopyTarget<'a> {
    /// Over or into an existing node.
    Existing(NodeRef<'a>),
    /// To a new name in a directory.
    New(Option<FileId>, NodeName),
}

/// One copy in progress.
struct TreeCopier<'a, 'b> {
    tree: &'a TreeIndex,
    rows: &'b dyn RowSource,
    new_ids: &'b mut dyn FnMut() -> FileId,
    now: Millis,
    plan: CopyPlan,
    /// Directories that are being copied: their remaining children, and the destination.
    open: Vec<(DirectoryChildren<'a>, CopyParent<'a>)>,
}

/// The directory that copies go into.
enum CopyParent<'a> {
    Existing(NodeRef<'a>),
    New(FileId),
}

/// Plans to copy `from` to `to`, which is the new path itself, not the directory to copy into.
///
/// Links at the end of `from` and below it are copied as links; one at the end of `to` is followed.
/// A file over a file overwrites its content; a directory over a directory merges into it. Copies
/// keep display names, permission bits and the time of the last change, and get no metadata. New
/// directories get derived ids.
pub fn plan_copy(
    tree: &TreeIndex,
    rows: &dyn RowSource,
    (from, to): (&VPath, &VPath),
    now: Millis,
    new_ids: &mut dyn FnMut() -> FileId,
    options: TreeCopyOptions,
) -> Result<CopyPlan, OpError> {
    let source = tree.resolve(from, FinalLink::No)?;
    if source.is_directory() && !options.recursive {
        return Err(OpError::new(OpCode::IsADirectory, from));
    }
    let mut plan = CopyPlan::default();
    let place = match tree.place(to, FinalLink::Yes) {
        Err(LookupError::NotFound { .. }) if options.parents => None,
        place => Some(place?),
    };
    let target = match place {
        None => {
            let (parent, name) = make_directories_above(tree, source, to, now, &mut plan.writes)?;
            CopyTarget::New(Some(parent), name)
        }
        Some(PathTarget::Taken(target)) if target == source && !source.is_directory() => {
            return Err(OpError::invalid(OpReason::SameFile, to));
        }
        Some(PathTarget::Taken(target)) if target.is_within(source) => {
            return Err(OpError::invalid(OpReason::IntoItself, to));
        }
        Some(PathTarget::Taken(target)) => CopyTarget::Existing(target),
        Some(PathTarget::Free { parent, .. }) if parent.is_within(source) => {
            return Err(OpError::invalid(OpReason::IntoItself, to));
        }
        Some(PathTarget::Free { parent, name }) => {
            CopyTarget::New(parent.id().cloned(), check_name(&name, to)?)
        }
    };
    let mut copier = TreeCopier { tree, rows, new_ids, now, plan, open: Vec::new() };
    copier.copy(source, target, to)?;
    while let Some((children, into)) = copier.open.last_mut() {
        let Some((name, child)) = children.next() else {
            copier.open.pop();
            continue;
        };
        let target = match into {
            CopyParent::Existing(directory) => match tree.child(*directory, name) {
                Some(there) => CopyTarget::Existing(there),
                None => CopyTarget::New(directory.id().cloned(), check_name(name, to)?),
            },
            CopyParent::New(directory) => {
                CopyTarget::New(Some(directory.clone()), check_name(name, to)?)
            }
        };
        copier.copy(child, target, to)?;
    }
    Ok(copier.plan)
}

impl<'a> TreeCopier<'a, '_> {
    /// Copies one node; its children are copied later.
    fn copy(
        &mut self,
        source: NodeRef<'a>,
        target: CopyTarget<'a>,
        to: &VPath,
    ) -> Result<(), OpError> {
        match target {
            CopyTarget::Existing(target) => {
                let fail = |code| Err(OpError::new(code, &target.path()));
                match (source.is_directory(), target.is_directory()) {
                    (true, false) => return fail(OpCode::NotADirectory),
                    (false, true) => return fail(OpCode::IsADirectory),
                    (true, true) => {
                        self.open.push((source.children(), CopyParent::Existing(target)));
                    }
                    (false, false) if source == target => {
                        return Err(OpError::invalid(OpReason::SameFile, to));
                    }
                    (false, false) => self.overwrite(source, target)?,
                }
            }
            CopyTarget::New(parent, name) if source.is_directory() => {
                let (tree, writes) = (self.tree, &mut self.plan.writes);
                let id = make_directories(tree, parent, &[name], self.now, writes);
                let mode = source.id().and_then(|id| self.rows.row(id)?.mode);
                let id = id.ok_or_else(|| OpError::invalid(OpReason::Root, to))?;
                set_mode(&mut self.plan.writes, &id, mode);
                self.open.push((source.children(), CopyParent::New(id)));
            }
            CopyTarget::New(parent, name) => self.create(source, parent, &name, to)?,
        }
        Ok(())
    }

    fn create(
        &mut self,
        source: NodeRef<'a>,
        parent: Option<FileId>,
        name: &NodeName,
        to: &VPath,
    ) -> Result<(), OpError> {
        let old = source.id().and_then(|id| self.rows.row(id));
        let old = old.ok_or_else(|| OpError::new(OpCode::NotFound, to))?;
        let mut row = new_row((self.new_ids)(), name, parent, NodeKind::File, self.now);
        row.size = old.size;
        row.updated_at = old.updated_at;
        row.mode = old.mode;
        row.blob = old.blob;
        row.link = old.link;
        if row.link.is_none() {
            self.plan.contents.push((old.id, row.id.clone()));
        }
        self.plan.writes.push(RowWrite::Create { row, derived: false });
        Ok(())
    }

    /// Copies a file or link over another. A file does not become a link, nor a link a file.
    fn overwrite(&mut self, source: NodeRef<'a>, target: NodeRef<'a>) -> Result<(), OpError> {
        let missing = || OpError::new(OpCode::NotFound, &source.path());
        let old = source.id().and_then(|id| self.rows.row(id)).ok_or_else(missing)?;
        let id = target.id().ok_or_else(missing)?.clone();
        if source.link().is_some() != target.link().is_some() {
            return Err(OpError::new(OpCode::Exists, &target.path()));
        }
        let mut changes = RowChanges { updated_at: Some(old.updated_at), ..RowChanges::default() };
        if let Some(link) = source.link() {
            changes.link = Some(Some(SmolStr::new(link)));
        } else {
            changes.mode = Some(old.mode);
            self.plan.contents.push((old.id, id.clone()));
        }
        self.plan.writes.push(RowWrite::Update { id, changes });
        Ok(())
    }
}
