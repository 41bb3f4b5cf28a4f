//! Copying files and whole folders.

use smol_str::SmolStr;

use super::{
    OpCode, OpError, OpReason, RowSource, check_name,
    create::{make_folders, make_folders_above, new_row, set_mode},
};
use crate::{
    id::FileId,
    name::NodeName,
    path::VPath,
    table::{NodeKind, RowChanges, RowWrite},
    time::Millis,
    tree::{DirectoryChildren, FinalLink, LookupError, NodeRef, PathTarget, TreeIndex},
};

/// How to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeCopyOptions {
    /// Copy folders with all that is in them.
    pub recursive: bool,
    /// Make the folders that are missing above the destination.
    pub parents: bool,
}

/// What to do to copy something.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct CopyPlan {
    /// The rows to write.
    pub writes: Vec<RowWrite>,
    /// The files whose content is to be copied, each from the first to the second.
    pub contents: Vec<(FileId, FileId)>,
}

/// Where a copy goes.
enum CopyTarget<'a> {
    /// Over or into what is there.
    Existing(NodeRef<'a>),
    /// To a new name in a folder.
    New(Option<FileId>, NodeName),
}

/// One copy on its way.
struct TreeCopier<'a, 'b> {
    tree: &'a TreeIndex,
    rows: &'b dyn RowSource,
    new_ids: &'b mut dyn FnMut() -> FileId,
    now: Millis,
    plan: CopyPlan,
    /// Folders that are being copied: what is still to come from each, and where it goes.
    open: Vec<(DirectoryChildren<'a>, CopyParent<'a>)>,
}

/// The folder that copies go into.
enum CopyParent<'a> {
    Existing(NodeRef<'a>),
    New(FileId),
}

/// Plans to copy `from` to `to`, which is the new path itself, not the folder to copy into.
///
/// Links at the end of `from` and below it are copied as links; one at the end of `to` is followed.
/// A file over a file overwrites its content; a folder over a folder merges into it. Copies keep
/// display names, permission bits and the time of the last change, and get no metadata. New
/// folders get derived ids.
pub fn plan_copy(
    tree: &TreeIndex,
    rows: &dyn RowSource,
    (from, to): (&VPath, &VPath),
    now: Millis,
    new_ids: &mut dyn FnMut() -> FileId,
    options: TreeCopyOptions,
) -> Result<CopyPlan, OpError> {
    let source = tree.resolve(from, FinalLink::No)?;
    if source.is_folder() && !options.recursive {
        return Err(OpError::new(OpCode::IsADirectory, from));
    }
    let mut plan = CopyPlan::default();
    let place = match tree.place(to, FinalLink::Yes) {
        Err(LookupError::NotFound { .. }) if options.parents => None,
        place => Some(place?),
    };
    let target = match place {
        None => {
            let (parent, name) = make_folders_above(tree, source, to, now, &mut plan.writes)?;
            CopyTarget::New(Some(parent), name)
        }
        Some(PathTarget::Taken(target)) if target == source && !source.is_folder() => {
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
            CopyParent::Existing(folder) => match tree.child(*folder, name) {
                Some(there) => CopyTarget::Existing(there),
                None => CopyTarget::New(folder.id().cloned(), check_name(name, to)?),
            },
            CopyParent::New(folder) => CopyTarget::New(Some(folder.clone()), check_name(name, to)?),
        };
        copier.copy(child, target, to)?;
    }
    Ok(copier.plan)
}

impl<'a> TreeCopier<'a, '_> {
    /// Copies one node; what is in it stays to be done.
    fn copy(
        &mut self,
        source: NodeRef<'a>,
        target: CopyTarget<'a>,
        to: &VPath,
    ) -> Result<(), OpError> {
        match target {
            CopyTarget::Existing(target) => {
                let fail = |code| Err(OpError::new(code, &target.path()));
                match (source.is_folder(), target.is_folder()) {
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
            CopyTarget::New(parent, name) if source.is_folder() => {
                let (tree, writes) = (self.tree, &mut self.plan.writes);
                let id = make_folders(tree, parent, &[name], self.now, writes);
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

    /// Copies a file or link over another. One does not become the other.
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
