//! Applying the workspace to the disk: names first, then contents, then permission bits and times.
//!
//! `layout_applier` brings the names, `replace_file` the contents.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use smol_str::SmolStr;
use yfs::{export::link_escapes, workspace::nodes::TreeNode};
use yfs_engine::{hash::ContentHash, id::FileId, path::VPath, time::Millis};
use yfs_vfs::{FileKind, confined_dir::CreationAttributes};

use super::{
    layout_applier::LayoutApplier, mirror_context::MirrorContext, replace_file::FileReplacer,
    sync_pass::SyncPass,
};
use crate::{
    error::{Result, is_absent},
    ignores::IgnoreRules,
    layout_plan::{ObjectLocation, TargetLocation, parked_name},
    mirror_state::{DiskStamp, MirrorNode},
    options::TrustPolicy,
    pending_deletions::PendingDeletions,
    report::NoticeReason,
    untrusted_files,
};

/// The number of files that a pass may delete without a confirmation, however few there are.
const MAX_UNCONFIRMED: usize = 10;

/// The changes that a mirror may make on disk to an object of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiskPermission {
    /// It may change the name and the content.
    All,
    /// It leaves the object on disk as it is.
    None,
    /// It may leave or put the object at its target location, with its present content.
    Place,
}

/// The objects of the workspace that differ from the state, or may.
#[derive(Default)]
struct DirtyObjects {
    found: HashMap<FileId, Option<TreeNode>>,
    /// Objects that are still to be compared.
    queue: Vec<FileId>,
    /// The directories in which names may change.
    homes: HashSet<Option<FileId>>,
    /// The objects that are as the state has them.
    settled: Vec<FileId>,
}

/// Applies the workspace to the disk.
pub(super) struct DiskApplier<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
}

impl DiskApplier<'_> {
    /// Applies the changes of the workspace to the disk.
    pub(super) fn apply_to_disk(&mut self) -> Result<()> {
        let dirty = self.collect_dirty_objects()?;
        if dirty.is_empty() {
            return Ok(());
        }
        let mut wanted = Vec::new();
        let mut standing = Vec::new();
        let new: HashSet<FileId> = dirty.keys().cloned().collect();
        let objects = self.divide_dirty_objects(dirty, &mut wanted)?;
        // So far `wanted` has only the removals.
        if let Some(refused) = self.find_refused_deletions(&wanted, &objects)? {
            self.pass.work.extend(new);
            return Err(self.context.refuse_deletions(refused));
        }
        let mut placed: HashSet<FileId> = HashSet::new();
        let mut given: HashMap<(Option<FileId>, Vec<u8>), FileId> = HashMap::new();
        for (depth, id, object) in &objects {
            let above = object.parent.as_ref();
            let has_home = above.is_none_or(|above| {
                placed.contains(above)
                    || !new.contains(above) && self.context.state.get(above).is_some()
            });
            let known = self.context.state.get(id).is_some();
            let leave =
                if has_home { self.disk_permission(id, object)? } else { DiskPermission::None };
            match (leave, self.context.host_name(id, object, &given)) {
                (DiskPermission::None, _) => {
                    if known && object.kind == FileKind::Directory {
                        placed.insert(id.clone());
                    }
                    continue;
                }
                (_, None) => {
                    let path = self.shown_path(id)?;
                    self.context.reporter.skip(&path, NoticeReason::BadName);
                    continue;
                }
                (leave, Some(name)) => {
                    if self.context.directory.rules.folds() {
                        let fold = self.context.directory.rules.fold(&name);
                        given.insert((object.parent.clone(), fold), id.clone());
                    }
                    let place = Some(ObjectLocation { parent: object.parent.clone(), name });
                    let is_directory = object.kind == FileKind::Directory;
                    wanted.push(TargetLocation {
                        id: id.clone(),
                        place,
                        depth: *depth,
                        is_directory,
                    });
                    placed.insert(id.clone());
                    if known && leave == DiskPermission::All {
                        standing.push(id.clone());
                    }
                }
            }
        }
        let objects: HashMap<FileId, TreeNode> =
            objects.into_iter().map(|(_, id, object)| (id, object)).collect();
        if self.changes_rules(&objects, &wanted) {
            self.context.hold_rules()?;
        }
        LayoutApplier { context: self.context, pass: self.pass }.apply_layout(wanted, &objects)?;
        self.context.commit(&[])?;
        let standing: Vec<TreeNode> =
            standing.iter().filter_map(|id| objects.get(id).cloned()).collect();
        self.apply_contents(&standing)?;
        self.apply_attributes(&standing)
    }

    /// Reports whether the changes of other writers may be to files of rules.
    fn changes_rules(
        &self,
        objects: &HashMap<FileId, TreeNode>,
        removals: &[TargetLocation],
    ) -> bool {
        let is_rules = |name: &str| IgnoreRules::is_rules(OsStr::new(name));
        let is_node = |id| {
            let node = self.context.state.get(id);
            node.is_some_and(|node| IgnoreRules::is_rules(&node.name))
        };
        objects.iter().any(|(id, object)| is_rules(&object.name) || is_node(id))
            || removals.iter().any(|removal| is_node(&removal.id))
    }

    /// Returns the objects to apply, each directory before its content, and adds the removals to
    /// `wanted`. Objects that changed on disk are left for the import.
    fn divide_dirty_objects(
        &mut self,
        dirty: HashMap<FileId, Option<TreeNode>>,
        wanted: &mut Vec<TargetLocation>,
    ) -> Result<Vec<(usize, FileId, TreeNode)>> {
        let mut objects = Vec::new();
        for (id, object) in dirty {
            if self.pass.missing.contains_key(&id) || self.pass.is_moving(&id) {
                // The change on disk is imported first.
                self.pass.work.insert(id);
                continue;
            }
            match object {
                None => wanted.extend(self.removal_target(&id)?),
                Some(object) => {
                    let path = self.context.workspace.nodes().path_of(&id)?;
                    let depth = path.as_ref().map_or(0, |path| path.components().count());
                    objects.push((depth, id, object));
                }
            }
        }
        // From the top, so that a directory is known to be left alone before its content is
        // considered.
        objects.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        Ok(objects)
    }

    /// Returns the objects of the workspace to compare with the state, none for those that are
    /// gone. Objects that are as the state has them are left out, because after a start these are
    /// nearly all, unless a directory above them may have changed.
    fn collect_dirty_objects(&mut self) -> Result<HashMap<FileId, Option<TreeNode>>> {
        let mut dirty = DirtyObjects::default();
        if std::mem::take(&mut self.pass.all_work) {
            let mut n_known = 0;
            for object in self.context.workspace.nodes().objects(None)? {
                n_known += usize::from(self.context.state.get(&object.id).is_some());
                self.note_dirty(object.id.clone(), Some(object), &mut dirty)?;
            }
            if n_known < self.context.state.len() {
                // The workspace has some of them no more.
                dirty.queue.extend(self.context.state.nodes().map(|node| node.id.clone()));
            }
        }
        dirty.queue.extend(self.pass.work.drain());
        while let Some(id) = dirty.queue.pop() {
            if !dirty.found.contains_key(&id) {
                let object = self.context.workspace.object(&id)?;
                self.note_dirty(id, object, &mut dirty)?;
            }
        }
        let DirtyObjects { mut found, homes, settled, .. } = dirty;
        let mut known = found.keys().filter_map(|id| self.context.state.get(id));
        let has_directory = known.any(|node| node.kind == FileKind::Directory);
        let around = if has_directory { settled } else { Vec::new() };
        // A name with a number may get the plain name now, and the reverse.
        for id in around.into_iter().chain(self.context.state.numbered(&homes)) {
            let object = self.context.workspace.object(&id)?;
            found.entry(id).or_insert(object);
        }
        Ok(found)
    }

    /// Compares an object of the workspace, none if it is gone, with the state.
    fn note_dirty(
        &self,
        id: FileId,
        object: Option<TreeNode>,
        dirty: &mut DirtyObjects,
    ) -> Result<()> {
        if dirty.found.contains_key(&id) {
            return Ok(());
        }
        match (&object, self.context.state.get(&id)) {
            (None, None) => return Ok(()),
            (None, Some(node)) => {
                dirty.homes.insert(node.work.parent.clone());
                dirty.queue.extend(self.context.state.below(Some(&id)));
            }
            (Some(object), None) => {
                dirty.homes.insert(object.parent.clone());
                if object.kind == FileKind::Directory {
                    for object in self.context.workspace.nodes().objects(Some(&id))? {
                        dirty.found.entry(object.id.clone()).or_insert(Some(object));
                    }
                }
            }
            (Some(object), Some(node)) => {
                if self.is_settled(node, object) {
                    dirty.settled.push(id);
                    return Ok(());
                }
                if (&node.work.parent, &node.work.name) != (&object.parent, &object.name) {
                    dirty.homes.extend([node.work.parent.clone(), object.parent.clone()]);
                }
            }
        }
        dirty.found.insert(id, object);
        Ok(())
    }

    /// Reports whether an object is in the workspace as the state has it, and on disk where it
    /// belongs, so that nothing is to be applied.
    fn is_settled(&self, node: &MirrorNode, object: &TreeNode) -> bool {
        let work = &node.work;
        // Where the host folds names, those of other objects decide.
        !self.context.directory.rules.folds()
            && node.kind == object.kind
            && node.parent == object.parent
            && (&work.parent, &work.name) == (&object.parent, &object.name)
            && (work.mode, work.mtime_ms) == (object.mode, object.mtime.0)
            && !is_other_content(node, object)
            && node.name != parked_name(&node.id)
            && !self.pass.missing.contains_key(&node.id)
            && !self.pass.is_moving(&node.id)
    }

    /// Returns the removals if they are most files of the directory, and no person confirmed that.
    fn find_refused_deletions(
        &self,
        removals: &[TargetLocation],
        objects: &[(usize, FileId, TreeNode)],
    ) -> Result<Option<PendingDeletions>> {
        let files = || removals.iter().filter(|removal| !removal.is_directory);
        let n_removed = files().count();
        if self.context.options.confirm_deletions || n_removed <= MAX_UNCONFIRMED {
            return Ok(None);
        }
        let nodes = self.context.state.nodes();
        let n_files = nodes.filter(|node| node.kind != FileKind::Directory).count();
        let is_most = |n_deleted| n_deleted > MAX_UNCONFIRMED && n_deleted * 2 > n_files;
        let mut removed: HashMap<ContentHash, usize> = HashMap::new();
        for node in files().filter_map(|removal| self.context.state.get(&removal.id)) {
            *removed.entry(node.hash).or_default() += 1;
        }
        // A file whose content arrives under another id was moved.
        let mut n_deleted = n_removed;
        let mut arriving = objects.iter().filter(|(_, id, _)| self.context.state.get(id).is_none());
        while is_most(n_deleted) {
            let Some((_, _, object)) = arriving.next() else {
                let refused = PendingDeletions { n_deleted, n_files };
                let is_confirmed = refused.is_confirmed(&self.context.directory.path)?;
                return Ok((!is_confirmed).then_some(refused));
            };
            let hash = self.content_hash(object);
            if let Some(n_left) = hash.and_then(|hash| removed.get_mut(&hash))
                && *n_left > 0
            {
                *n_left -= 1;
                n_deleted -= 1;
            }
        }
        Ok(None)
    }

    /// Returns the hash of an object's content, as nodes of the state have it; none if the content
    /// cannot be read.
    fn content_hash(&self, object: &TreeNode) -> Option<ContentHash> {
        match object.kind {
            FileKind::File => {
                let held = self.context.workspace.nodes().read_durable(&object.id).ok()?;
                Some(ContentHash::of(&held.data))
            }
            FileKind::Symlink => Some(ContentHash::of(object.link.as_ref()?.as_bytes())),
            _ => None,
        }
    }

    /// Returns the removal of an object that is no longer visible in the workspace, unless it stays
    /// on disk.
    fn removal_target(&mut self, id: &FileId) -> Result<Option<TargetLocation>> {
        let Some(node) = self.context.state.get(id) else { return Ok(None) };
        let is_directory = node.kind == FileKind::Directory;
        let path = self.context.state.path(id);
        if self.context.directory.is_ignored(&path, is_directory) {
            // The workspace no longer has it, and its file on disk is ignored.
            self.pass.forget(self.context, id);
            return Ok(None);
        }
        if !self.context.workspace.still_has(id)? {
            // Nothing could restore it: what is on disk is new.
            self.pass.forget(self.context, id);
            self.pass.later.insert(path, true);
            return Ok(None);
        }
        let depth = path.components().count();
        Ok(Some(TargetLocation { id: id.clone(), place: None, depth, is_directory }))
    }

    /// Returns the path of an object in the workspace, relative to the root.
    fn shown_path(&self, id: &FileId) -> Result<PathBuf> {
        let path = self.context.workspace.nodes().path_of(id)?.unwrap_or_else(VPath::root);
        Ok(path.as_str().trim_start_matches('/').into())
    }

    /// Decides which changes the mirror may make on disk to an object of the workspace.
    fn disk_permission(&mut self, id: &FileId, object: &TreeNode) -> Result<DiskPermission> {
        let path = self.shown_path(id)?;
        let is_dir = object.kind == FileKind::Directory;
        let is_known = self.context.state.get(id).is_some();
        let names = || path.components().filter_map(|name| name.as_os_str().to_str());
        if names().any(untrusted_files::is_reserved) {
            self.context.reporter.skip(&path, NoticeReason::Risky);
            return Ok(DiskPermission::None);
        }
        if self.context.directory.is_ignored(&path, is_dir) {
            return Ok(DiskPermission::None);
        }
        if is_known {
            let now = self.context.state.path(id);
            if self.context.directory.held.has_excluded(id)
                || self.context.directory.is_ignored(&now, is_dir)
            {
                return Ok(DiskPermission::None);
            }
            if is_dir && self.context.would_include(id, &path) {
                self.context.reporter.skip(&now, NoticeReason::WouldInclude);
                return Ok(DiskPermission::None);
            }
        } else if self.context.directory.held.excludes(&path, is_dir)
            && self.context.directory.facts(&path).is_ok_and(|facts| facts.is_some())
        {
            self.context.reporter.skip(&path, NoticeReason::HeldByRules);
            return Ok(DiskPermission::None);
        }
        if self.context.options.trust == TrustPolicy::Directory
            && untrusted_files::is_risky(names())
            && (is_known || self.context.former_mode(object).is_none())
        {
            let stands = self.context.state.get(id).is_some_and(|node| {
                node.work.parent == object.parent && node.work.name == object.name
            });
            let is_news =
                self.context.state.get(id).is_none_or(|node| is_other_content(node, object));
            if !is_known || is_news {
                self.context.reporter.skip(&path, NoticeReason::Risky);
            }
            return Ok(if stands && !is_news {
                DiskPermission::Place
            } else {
                DiskPermission::None
            });
        }
        if let Some(text) = object.link.as_ref().filter(|_| !is_known)
            && link_escapes(&path.to_string_lossy(), text)
        {
            self.context.reporter.skip(&path, NoticeReason::Escapes);
            return Ok(DiskPermission::None);
        }
        Ok(DiskPermission::All)
    }

    /// Replaces the content of files by that in the workspace.
    fn apply_contents(&mut self, standing: &[TreeNode]) -> Result<()> {
        let mut news = Vec::new();
        for object in standing.iter().filter(|object| object.kind == FileKind::File) {
            let Some(node) = self.context.state.get(&object.id) else { continue };
            if is_other_content(node, object) {
                news.push(object.clone());
            }
        }
        for batch in news.chunks(64) {
            FileReplacer::new(self.context, self.pass).replace(batch)?;
        }
        Ok(())
    }

    /// Applies the permission bits and times of the workspace to objects on disk.
    fn apply_attributes(&mut self, standing: &[TreeNode]) -> Result<()> {
        for object in standing {
            let Some(node) = self.context.state.get(&object.id).cloned() else { continue };
            // What the workspace changed, unless the disk has it. What the disk changed has been
            // imported, so that the workspace has it too.
            let mode = object.kind != FileKind::Symlink
                && node.work.mode != object.mode
                && node.stamp.mode != object.mode;
            let mtime = object.kind == FileKind::File
                && node.work.mtime_ms != object.mtime.0
                && node.stamp.mtime_ms() != object.mtime.0;
            if node.work.mode == object.mode && node.work.mtime_ms == object.mtime.0 {
                continue;
            }
            if mode || mtime {
                let path = self.context.state.path(&object.id);
                match self.set_attributes_on_disk(&path, &node, object, mode, mtime) {
                    Ok(()) => (),
                    Err(error) if is_absent(&error) => {
                        self.pass.later.insert(path, true);
                        continue;
                    }
                    Err(error) => {
                        self.pass.record_disk_failure(self.context, &path, &error);
                        continue;
                    }
                }
            }
            self.context.state.update(&object.id, |node| {
                (node.work.mode, node.work.mtime_ms) = (object.mode, object.mtime.0);
            });
        }
        Ok(())
    }

    fn set_attributes_on_disk(
        &mut self,
        path: &Path,
        node: &MirrorNode,
        object: &TreeNode,
        mode: bool,
        mtime: bool,
    ) -> io::Result<()> {
        let dir = self.context.open_directory_of(node.parent.as_ref())?;
        let before = dir.facts(&node.name)?.ok_or(io::ErrorKind::NotFound)?;
        if !DiskStamp::of(&before).is_same_inode(&node.stamp) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let is_dir = node.kind == FileKind::Directory;
        let new_mode = match (mode, is_dir) {
            (false, _) => node.stamp.mode,
            (true, true) => object.mode | 0o700,
            (true, false) => self.context.mode_for(path, object.mode, node.stamp.mode),
        };
        if mtime {
            let is_unchanged = DiskStamp::of(&before).mtime_ns == node.stamp.mtime_ns;
            let time = if is_unchanged { object.mtime } else { Millis(node.stamp.mtime_ms()) };
            dir.set_attributes(&node.name, CreationAttributes { mode: new_mode, mtime: time })?;
        } else {
            dir.set_mode(&node.name, new_mode)?;
        }
        self.context.reporter.count_directory(|counts| counts.touched += 1);
        let after = dir.facts(&node.name)?.ok_or(io::ErrorKind::NotFound)?;
        let after = DiskStamp::of(&after);
        let is_same = DiskStamp::of(&before).mtime_ns == node.stamp.mtime_ns
            && before.size == node.stamp.size
            && after.size == before.size;
        if is_same {
            self.context.state.update(&node.id, |node| node.stamp = after);
            self.pass.note_racy(&node.id, &after);
        } else {
            self.pass.later.insert(path.to_owned(), true);
        }
        Ok(())
    }
}

/// Reports whether the workspace has a different version of the content than the state.
fn is_other_content(node: &MirrorNode, object: &TreeNode) -> bool {
    let version = object.version.as_ref().map_or("", |version| version.as_str());
    object.kind == FileKind::File && node.work.version != SmolStr::new(version)
}
