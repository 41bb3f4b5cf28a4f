//! Importing deletions from the disk: moves the objects into the workspace's trash, if they are
//! there as the disk last showed them.

use std::collections::HashSet;

use yfs::workspace::nodes::TreeNode;
use yfs_engine::id::FileId;
use yfs_vfs::FileKind;

use super::{mirror_context::MirrorContext, sync_pass::SyncPass};
use crate::{error::Result, report::NoticeReason};

/// Imports deletions.
pub(super) struct DeletionImporter<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
}

impl DeletionImporter<'_> {
    /// Deletes in the workspace what has been missing for the grace period.
    pub(super) fn import_deletions(&mut self) -> Result<()> {
        let due = self.pass.missing_for_good(self.context);
        if due.is_empty() {
            return Ok(());
        }
        self.context.directory.check_exists()?;
        let due = self.still_missing(due);
        let set: HashSet<&FileId> = due.iter().collect();
        let is_below_another = |id: &FileId| {
            let mut at = self.context.state.get(id).and_then(|node| node.parent.as_ref());
            while let Some(above) = at {
                if set.contains(above) {
                    return true;
                }
                at = self.context.state.get(above).and_then(|node| node.parent.as_ref());
            }
            false
        };
        let topmost: Vec<FileId> = due.iter().filter(|id| !is_below_another(id)).cloned().collect();
        for id in topmost {
            self.delete(&id)?;
        }
        Ok(())
    }

    /// Checks the paths again, and returns the objects that are still missing.
    fn still_missing(&mut self, due: Vec<FileId>) -> Vec<FileId> {
        let mut missing = Vec::with_capacity(due.len());
        for id in due {
            if self.context.state.get(&id).is_none() {
                self.pass.missing.remove(&id);
                continue;
            }
            let path = self.context.state.path(&id);
            match self.context.directory.facts(&path) {
                Ok(None) => missing.push(id),
                Ok(Some(_)) => {
                    self.pass.missing.remove(&id);
                    self.pass.later.insert(path, true);
                }
                Err(error) => self.pass.record_disk_failure(self.context, &path, &error),
            }
        }
        missing
    }

    /// Deletes an object that is gone from the disk, unless it changed in the workspace: a change
    /// wins over a deletion, because a deletion can be repeated.
    fn delete(&mut self, id: &FileId) -> Result<()> {
        match self.context.workspace.object(id)? {
            None => {
                self.pass.forget(self.context, id);
                Ok(())
            }
            Some(object) if self.is_unchanged(&object)? => {
                if let Some(node) = self.context.state.get(id) {
                    self.pass.deleted.note(self.context, node);
                }
                self.pass.trash(self.context, id)
            }
            Some(_) => {
                let path = self.context.state.path(id);
                self.context.reporter.notify_event(&path, NoticeReason::Rewritten);
                self.delete_in_part(id)
            }
        }
    }

    /// Deletes the unchanged content of a directory, and schedules the rest to be restored on disk.
    fn delete_in_part(&mut self, id: &FileId) -> Result<()> {
        let children: Vec<FileId> =
            self.context.state.children(Some(id)).map(|child| child.id.clone()).collect();
        for child in children {
            self.delete(&child)?;
        }
        let below = self.context.workspace.nodes().objects(Some(id))?;
        self.pass.work.extend(below.into_iter().map(|object| object.id));
        self.pass.work.insert(id.clone());
        self.pass.forget(self.context, id);
        Ok(())
    }

    /// Reports whether an object of the workspace, with all its content, is as the disk last showed
    /// it.
    fn is_unchanged(&self, object: &TreeNode) -> Result<bool> {
        if !self.is_as_recorded(object) {
            return Ok(false);
        }
        if object.kind != FileKind::Directory {
            return Ok(true);
        }
        let below = self.context.workspace.nodes().objects(Some(&object.id))?;
        let is_here = |node: &TreeNode| {
            self.is_as_recorded(node) && self.context.state.is_within(&node.id, &object.id)
        };
        Ok(below.iter().all(is_here))
    }

    fn is_as_recorded(&self, object: &TreeNode) -> bool {
        let Some(node) = self.context.state.get(&object.id) else { return false };
        let version = object.version.as_ref().map_or("", |version| version.as_str());
        let is_same_text = object.kind != FileKind::File || node.work.version == version;
        is_same_text && node.work.parent == object.parent && node.work.name == object.name
    }
}
