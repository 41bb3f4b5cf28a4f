//! Applying the workspace to the disk: names first, then contents, then permission bits and times.
//!
//! A rename never replaces an object: each target name is free, and an object in the way is parked
//! first. The mirror removes nothing that differs from the state: it moves a file out of the way,
//! checks its content, and puts it back if the content is new.

use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use smol_str::SmolStr;
use yfs::{export::link_escapes, workspace::nodes::TreeNode};
use yfs_engine::{hash::ContentHash, id::FileId, path::VPath, time::Millis};
use yfs_vfs::{
    FileKind,
    host::confined_dir::{ConfinedDir, CreationAttributes},
};

use super::{MirrorEngine, import_structure::work_of, is_absent};
use crate::{
    error::Result,
    ignores::IgnoreRules,
    merge_plan::{
        LayoutStep, MergeWinner, ObjectLocation, TargetLocation, decide_winner, parked_name,
        plan_steps,
    },
    mirror_state::{DiskStamp, EditBase, MirrorNode},
    options::TrustPolicy,
    report::NoticeReason,
    untrusted_files,
};

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

impl MirrorEngine {
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
        let mut placed: HashSet<FileId> = HashSet::new();
        let mut given: HashMap<(Option<FileId>, Vec<u8>), FileId> = HashMap::new();
        for (depth, id, object) in &objects {
            let above = object.parent.as_ref();
            let has_home = above.is_none_or(|above| {
                placed.contains(above) || !new.contains(above) && self.state.get(above).is_some()
            });
            let known = self.state.get(id).is_some();
            let leave =
                if has_home { self.disk_permission(id, object)? } else { DiskPermission::None };
            match (leave, self.host_name(id, object, &given)) {
                (DiskPermission::None, _) => {
                    if known && object.kind == FileKind::Directory {
                        placed.insert(id.clone());
                    }
                    continue;
                }
                (_, None) => {
                    let path = self.shown_path(id)?;
                    self.skip(&path, NoticeReason::BadName);
                    continue;
                }
                (leave, Some(name)) => {
                    if self.rules.folds() {
                        let fold = self.rules.fold(&name);
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
        self.run_steps(wanted, &objects)?;
        self.commit(&[])?;
        let standing: Vec<TreeNode> =
            standing.iter().filter_map(|id| objects.get(id).cloned()).collect();
        self.apply_contents(&standing)?;
        self.apply_attributes(&standing)
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
            if self.missing.contains_key(&id) || self.moved.contains(&id) {
                // The change on disk is imported first.
                self.dirty_work.insert(id);
                continue;
            }
            match object {
                None => wanted.extend(self.removal_target(&id)),
                Some(object) => {
                    let path = self.workspace.nodes().path_of(&id)?;
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
    /// gone.
    fn collect_dirty_objects(&mut self) -> Result<HashMap<FileId, Option<TreeNode>>> {
        let mut queue: Vec<FileId> = self.dirty_work.drain().collect();
        let mut found: HashMap<FileId, Option<TreeNode>> = HashMap::new();
        let mut homes: HashSet<Option<FileId>> = HashSet::new();
        while let Some(id) = queue.pop() {
            if found.contains_key(&id) {
                continue;
            }
            let object = self.object(&id)?;
            let node = self.state.get(&id);
            match (&object, node) {
                (None, None) => continue,
                (None, Some(node)) => {
                    homes.insert(node.work.parent.clone());
                    queue.extend(self.state.below(Some(&id)));
                }
                (Some(object), None) => {
                    homes.insert(object.parent.clone());
                    if object.kind == FileKind::Directory {
                        for object in self.workspace.nodes().objects(Some(&id))? {
                            found.entry(object.id.clone()).or_insert(Some(object));
                        }
                    }
                }
                (Some(object), Some(node)) => {
                    if (&node.work.parent, &node.work.name) != (&object.parent, &object.name) {
                        homes.extend([node.work.parent.clone(), object.parent.clone()]);
                    }
                }
            }
            found.insert(id, object);
        }
        // A name with a number may get the plain name now, and the reverse.
        for id in self.state.numbered(&homes) {
            let object = self.object(&id)?;
            found.entry(id).or_insert(object);
        }
        Ok(found)
    }

    fn removal_target(&mut self, id: &FileId) -> Option<TargetLocation> {
        let node = self.state.get(id)?;
        let is_directory = node.kind == FileKind::Directory;
        let path = self.state.path(id);
        if self.ignores.is_ignored(&self.root, &path, is_directory) {
            // The workspace no longer has it, and its file on disk is ignored.
            self.forget(id);
            return None;
        }
        let depth = path.components().count();
        Some(TargetLocation { id: id.clone(), place: None, depth, is_directory })
    }

    /// Returns the path of an object in the workspace, relative to the root.
    fn shown_path(&self, id: &FileId) -> Result<PathBuf> {
        let path = self.workspace.nodes().path_of(id)?.unwrap_or_else(VPath::root);
        Ok(path.as_str().trim_start_matches('/').into())
    }

    /// Decides which changes the mirror may make on disk to an object of the workspace.
    fn disk_permission(&mut self, id: &FileId, object: &TreeNode) -> Result<DiskPermission> {
        let path = self.shown_path(id)?;
        let is_dir = object.kind == FileKind::Directory;
        let is_known = self.state.get(id).is_some();
        let names = || path.components().filter_map(|name| name.as_os_str().to_str());
        if names().any(untrusted_files::is_reserved) {
            self.skip(&path, NoticeReason::Risky);
            return Ok(DiskPermission::None);
        }
        if self.ignores.is_ignored(&self.root, &path, is_dir) {
            return Ok(DiskPermission::None);
        }
        if is_known {
            let now = self.state.path(id);
            if self.ignores.is_ignored(&self.root, &now, is_dir) {
                return Ok(DiskPermission::None);
            }
        }
        if self.options.trust == TrustPolicy::Directory && untrusted_files::is_risky(names()) {
            let stands = self.state.get(id).is_some_and(|node| {
                node.work.parent == object.parent && node.work.name == object.name
            });
            let is_news = self.state.get(id).is_none_or(|node| is_other_content(node, object));
            if !is_known || is_news {
                self.skip(&path, NoticeReason::Risky);
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
            self.skip(&path, NoticeReason::Escapes);
            return Ok(DiskPermission::None);
        }
        Ok(DiskPermission::All)
    }

    /// Returns the name that an object is to have on disk. `given` has the names that other objects
    /// get in the same pass.
    fn host_name(
        &self,
        id: &FileId,
        object: &TreeNode,
        given: &HashMap<(Option<FileId>, Vec<u8>), FileId>,
    ) -> Option<OsString> {
        let node = self.state.get(id);
        let parent = object.parent.as_ref();
        let is_taken = |name: &OsStr| {
            if !self.rules.folds() {
                return false;
            }
            let key = (parent.cloned(), self.rules.fold(name));
            let is_given = given.get(&key).is_some_and(|other| other != id);
            let mut others = self.state.children(parent).filter(|node| node.id != *id);
            is_given || others.any(|node| self.rules.fold(&node.name) == key.1)
        };
        if let Some(node) = node.filter(|node| node.work.name == object.name)
            && node.name != parked_name(id)
            && (node.work.parent == object.parent || !is_taken(&node.name))
        {
            return Some(node.name.clone());
        }
        self.rules.to_host(&object.name, &is_taken)
    }

    fn run_steps(
        &mut self,
        wanted: Vec<TargetLocation>,
        objects: &HashMap<FileId, TreeNode>,
    ) -> Result<()> {
        let ordered = {
            let place = |node: &MirrorNode| ObjectLocation {
                parent: node.parent.clone(),
                name: node.name.clone(),
            };
            let stands = |id: &FileId| self.state.get(id).map(place);
            let at = |place: &ObjectLocation| {
                let there = self.state.child(place.parent.as_ref(), &place.name);
                there.map(|node| node.id.clone())
            };
            plan_steps(wanted, &stands, &at)
        };
        // Names that became free since the state was last written. The state is written before
        // another object gets one of them; otherwise, after a crash, that object would count as an
        // edit of the one that had the name.
        let mut left: HashSet<ObjectLocation> = HashSet::new();
        for step in ordered {
            if let LayoutStep::Move(_, place) | LayoutStep::Make(_, place) = &step
                && left.contains(place)
            {
                self.commit(&[])?;
                left.clear();
            }
            crate::crash_points::point("step");
            let (LayoutStep::Remove(id)
            | LayoutStep::Park(id)
            | LayoutStep::Move(id, _)
            | LayoutStep::Make(id, _)
            | LayoutStep::RemoveDirectory(id)) = &step;
            let path = match &step {
                LayoutStep::Make(_, place) => self.path_of_location(place),
                _ => self.state.path(id),
            };
            if let Some(node) = self.state.get(id) {
                left.insert(ObjectLocation {
                    parent: node.parent.clone(),
                    name: node.name.clone(),
                });
            }
            if let Err(error) = self.run_step(&step, objects) {
                self.dirty_work.extend(objects.contains_key(id).then(|| id.clone()));
                if is_absent(&error) || error.kind() == io::ErrorKind::AlreadyExists {
                    // Another program changed the disk first, and its change is imported first.
                    self.later.insert(path.clone(), true);
                    if let LayoutStep::Move(_, place) = &step {
                        self.later.insert(self.path_of_location(place), true);
                    }
                    self.count_failure(id, &path, &error);
                } else {
                    self.record_disk_failure(&path, &error);
                    self.dirty_work.remove(id);
                }
            }
        }
        // Objects whose name on disk is right agree with the workspace now.
        for (id, object) in objects {
            let Some(node) = self.state.get(id) else { continue };
            let stands = node.parent == object.parent && node.name != parked_name(id);
            let agrees = node.work.parent == object.parent && node.work.name == object.name;
            if stands && !agrees && self.host_name_is(id, object) {
                self.state.update(id, |node| {
                    (node.work.parent, node.work.name) =
                        (object.parent.clone(), object.name.clone());
                });
            }
        }
        Ok(())
    }

    /// Counts a failure, and gives up after 20 of them on an object that other programs keep
    /// changing.
    fn count_failure(&mut self, id: &FileId, path: &Path, error: &io::Error) {
        let n_times = self.failed.entry(path.to_owned()).or_default();
        *n_times += 1;
        if *n_times > 20 {
            self.dirty_work.remove(id);
            self.later.remove(path);
            let is_there = error.kind() == io::ErrorKind::AlreadyExists;
            self.skip(
                path,
                if is_there {
                    NoticeReason::InTheWay
                } else {
                    NoticeReason::Failed(error.to_string())
                },
            );
        }
    }

    fn host_name_is(&self, id: &FileId, object: &TreeNode) -> bool {
        let free = |_: &OsStr| false;
        let Some(node) = self.state.get(id) else { return false };
        node.work.name == object.name
            || self.rules.to_host(&object.name, &free).is_some_and(|name| name == node.name)
            || self.host_name(id, object, &HashMap::new()).is_some_and(|name| name == node.name)
    }

    fn path_of_location(&self, place: &ObjectLocation) -> PathBuf {
        let above = place.parent.as_ref().map(|parent| self.state.path(parent));
        above.unwrap_or_default().join(&place.name)
    }

    fn dir_of(&self, parent: Option<&FileId>) -> io::Result<ConfinedDir> {
        match parent {
            None => Ok(self.root.root()),
            Some(parent) if self.state.get(parent).is_none() => Err(io::ErrorKind::NotFound.into()),
            Some(parent) => self.root.dir(&self.state.path(parent)),
        }
    }

    fn run_step(
        &mut self,
        step: &LayoutStep,
        objects: &HashMap<FileId, TreeNode>,
    ) -> io::Result<()> {
        match step {
            LayoutStep::Remove(id) => self.remove_file(id),
            LayoutStep::RemoveDirectory(id) => self.remove_directory(id),
            LayoutStep::Park(id) => {
                let Some(node) = self.state.get(id).cloned() else { return Ok(()) };
                // If no other step moves it from there, the next pass does.
                self.dirty_work.insert(id.clone());
                let place = ObjectLocation { parent: node.parent, name: parked_name(id) };
                match self.rename(id, &place) {
                    Err(error) if is_absent(&error) => {
                        self.forget_location(id);
                        Ok(())
                    }
                    renamed => renamed,
                }
            }
            LayoutStep::Move(id, place) => {
                self.rename(id, place)?;
                self.n_done += 1;
                self.report.to_directory.moved += 1;
                Ok(())
            }
            LayoutStep::Make(id, place) => match objects.get(id) {
                Some(object) => self.create_on_disk(object, place),
                None => Ok(()),
            },
        }
    }

    /// Renames an object on disk, if it is the one in the state.
    fn rename(&mut self, id: &FileId, place: &ObjectLocation) -> io::Result<()> {
        let Some(node) = self.state.get(id).cloned() else { return Ok(()) };
        let old = self.state.path(id);
        let from = self.dir_of(node.parent.as_ref())?;
        let to = self.dir_of(place.parent.as_ref())?;
        let there = from.facts(&node.name)?.ok_or(io::ErrorKind::NotFound)?;
        if there.place != node.stamp.place || there.kind != node.kind {
            return Err(io::ErrorKind::NotFound.into());
        }
        from.rename_new(&node.name, &to, &place.name)?;
        if self.options.sync {
            to.sync()?;
        }
        // Renaming changes the change time of the inode, and nothing else.
        let facts = to.facts(&place.name)?.filter(|facts| facts.place == there.place);
        self.state.update(id, |node| {
            (node.parent, node.name) = (place.parent.clone(), place.name.clone());
            if let Some(facts) = facts
                && node.stamp.mtime_ns == DiskStamp::of(&facts).mtime_ns
                && node.stamp.size == facts.size
            {
                node.stamp.changed_ns = DiskStamp::of(&facts).changed_ns;
            }
        });
        if node.kind == FileKind::Directory {
            self.note_moved_directory(id, &old);
        }
        self.clear_skipped(&old);
        Ok(())
    }

    fn note_moved_directory(&mut self, id: &FileId, old: &Path) {
        let new = self.state.path(id);
        self.ignores.forget(old);
        self.ignores.forget(&new);
        if let Some(watch) = &mut self.watch {
            watch.forget(old);
            // It is watched again, and scanned for changes that were not reported meanwhile.
            self.dirty_disk.insert(new, true);
        }
    }

    /// Creates an object on disk, under a free name.
    fn create_on_disk(&mut self, object: &TreeNode, place: &ObjectLocation) -> io::Result<()> {
        let dir = self.dir_of(place.parent.as_ref())?;
        let path = self.path_of_location(place);
        let id = &object.id;
        let (mut hash, mut base) = (ContentHash::of(b""), EditBase::Unknown);
        let mut work = work_of(object);
        match object.kind {
            FileKind::Directory => {
                // The mode is set at once, as far as the umask allows, because after a crash the
                // next mirror takes over the directory as it is.
                dir.make_dir(&place.name, object.mode | 0o700)?;
                crate::crash_points::point("made-directory");
                dir.set_mode(&place.name, object.mode | 0o700)?;
            }
            FileKind::Symlink => {
                let text = object.link.as_deref().unwrap_or_default();
                dir.make_link(text.as_bytes(), &place.name)?;
                hash = ContentHash::of(text.as_bytes());
            }
            _ => {
                let held = match self.workspace.nodes().read_durable(id) {
                    Ok(held) => held,
                    Err(error) => {
                        self.note_unread(id, &path, &error);
                        return Ok(());
                    }
                };
                let temporary = parked_name(id);
                dir.remove_file(&temporary).ok();
                let mode = self.mode_for(&path, object.mode, 0);
                let attributes = CreationAttributes { mode, mtime: object.mtime };
                dir.make_file(&temporary, &held.data, attributes, self.options.sync)?;
                crate::crash_points::point("made");
                if let Err(error) = dir.rename_new(&temporary, &dir, &place.name) {
                    dir.remove_file(&temporary).ok();
                    return Err(error);
                }
                (hash, base) = (ContentHash::of(&held.data), EditBase::Version(held.base));
                work.version = held.version.as_str().into();
            }
        }
        if self.options.sync {
            dir.sync()?;
        }
        let facts = dir.facts(&place.name)?.ok_or(io::ErrorKind::NotFound)?;
        let stamp = DiskStamp::of(&facts);
        let (parent, name) = (place.parent.clone(), place.name.clone());
        let node =
            MirrorNode { id: id.clone(), parent, name, kind: object.kind, stamp, hash, work, base };
        self.state.put(node);
        self.note_racy(id, &stamp);
        self.n_done += 1;
        self.report.to_directory.created += 1;
        self.clear_skipped_unless_executable(&path);
        if object.kind == FileKind::Directory {
            if let Some(watch) = &mut self.watch {
                watch.watch(&path);
                self.dirty_disk.insert(path, true);
            }
        } else if IgnoreRules::is_rules(&place.name) {
            self.reread_rules(path.parent().unwrap_or(Path::new("")));
        }
        Ok(())
    }

    pub(super) fn clear_skipped_unless_executable(&mut self, path: &Path) {
        if self.report.skipped.get(path) != Some(&NoticeReason::Executable) {
            self.clear_skipped(path);
        }
    }

    /// Returns the permission bits for an object that has the bits `old`, if the workspace has
    /// `mode`.
    pub(super) fn mode_for(&mut self, path: &Path, mode: u32, old: u32) -> u32 {
        let added = mode & 0o111 & !old;
        if self.options.trust == TrustPolicy::AnyAuthor || added == 0 {
            return mode;
        }
        self.skip(path, NoticeReason::Executable);
        mode & !added
    }

    /// Removes a file or link that the workspace no longer has, if it is the one in the state.
    fn remove_file(&mut self, id: &FileId) -> io::Result<()> {
        let Some(node) = self.state.get(id).cloned() else { return Ok(()) };
        let path = self.state.path(id);
        let dir = match self.dir_of(node.parent.as_ref()) {
            Err(error) if is_absent(&error) => {
                self.forget(id);
                return Ok(());
            }
            dir => dir?,
        };
        let aside = parked_name(id);
        if node.name != aside {
            match dir.rename_new(&node.name, &dir, &aside) {
                Err(error) if is_absent(&error) => {
                    self.forget(id);
                    return Ok(());
                }
                renamed => renamed?,
            }
        }
        crate::crash_points::point("aside");
        if !self.is_recorded(&dir, &aside, &node)? {
            // The content is new: it goes back to its name, and is imported.
            dir.rename_new(&aside, &dir, &node.name)?;
            self.later.insert(path, true);
            self.racy.insert(id.clone());
            return Ok(());
        }
        match node.kind {
            FileKind::File => self.supersede(&dir, &aside, &node)?,
            _ => dir.remove_file(&aside)?,
        }
        self.n_done += 1;
        self.report.to_directory.deleted += 1;
        self.clear_skipped(&path);
        self.forget(id);
        if IgnoreRules::is_rules(&node.name) {
            self.reread_rules(path.parent().unwrap_or(Path::new("")));
        }
        Ok(())
    }

    /// Reports whether the object under a name has the bytes that the state records for a node.
    pub(super) fn is_recorded(
        &self,
        dir: &ConfinedDir,
        name: &OsStr,
        node: &MirrorNode,
    ) -> io::Result<bool> {
        let Some(facts) = dir.facts(name)? else { return Ok(false) };
        let stamp = DiskStamp::of(&facts);
        let is_same = stamp.is_same_inode(&node.stamp)
            && (stamp.size, stamp.mtime_ns) == (node.stamp.size, node.stamp.mtime_ns);
        if is_same && !self.racy.contains(&node.id) {
            return Ok(true);
        }
        let data = match facts.kind {
            FileKind::Symlink => dir.read_link(name)?,
            FileKind::File => match dir.read(name, self.options.max_file_len) {
                Ok((data, _)) => data,
                Err(_) => return Ok(false),
            },
            _ => return Ok(false),
        };
        Ok(ContentHash::of(&data) == node.hash)
    }

    /// Removes a directory that the workspace no longer has, if it is empty.
    fn remove_directory(&mut self, id: &FileId) -> io::Result<()> {
        let Some(node) = self.state.get(id).cloned() else { return Ok(()) };
        let path = self.state.path(id);
        if self.state.children(Some(id)).next().is_some() {
            // A new object in it is imported first.
            self.dirty_work.insert(id.clone());
            return Ok(());
        }
        let removed = self.dir_of(node.parent.as_ref()).and_then(|dir| dir.remove_dir(&node.name));
        match removed {
            Ok(()) => {
                self.n_done += 1;
                self.report.to_directory.deleted += 1;
                self.clear_skipped(&path);
            }
            Err(error) if is_absent(&error) => (),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                self.notify_event(&path, NoticeReason::NotEmpty);
                let back = node.work.name.as_str();
                if node.name == parked_name(id) {
                    self.restore_name(&node, back);
                }
                self.later.insert(path, true);
            }
            Err(error) => return Err(error),
        }
        self.forget(id);
        Ok(())
    }

    /// Gives a parked directory its name again, or a numbered variant.
    fn restore_name(&self, node: &MirrorNode, name: &str) {
        let Ok(dir) = self.dir_of(node.parent.as_ref()) else { return };
        for number in 0..100 {
            let name = if number == 0 { name.to_owned() } else { format!("{name} ({number})") };
            if dir.rename_new(&node.name, &dir, OsStr::new(&name)).is_ok() {
                return;
            }
        }
    }

    /// Replaces the content of files by that in the workspace.
    fn apply_contents(&mut self, standing: &[TreeNode]) -> Result<()> {
        let mut news = Vec::new();
        for object in standing.iter().filter(|object| object.kind == FileKind::File) {
            let Some(node) = self.state.get(&object.id) else { continue };
            if is_other_content(node, object) {
                news.push(object.clone());
            }
        }
        for batch in news.chunks(64) {
            self.replace(batch)?;
        }
        Ok(())
    }

    /// Applies the permission bits and times of the workspace to objects on disk.
    fn apply_attributes(&mut self, standing: &[TreeNode]) -> Result<()> {
        for object in standing {
            let Some(node) = self.state.get(&object.id).cloned() else { continue };
            let is_file = object.kind == FileKind::File;
            let mode = decide_winner(&node.work.mode, &node.stamp.mode, &object.mode)
                == MergeWinner::Work
                || node.work.mode != object.mode && node.stamp.mode != object.mode;
            let mode = mode && node.work.mode != object.mode && object.kind != FileKind::Symlink;
            let mtime = is_file
                && node.work.mtime_ms != object.mtime.0
                && node.stamp.mtime_ms() != object.mtime.0;
            if node.work.mode == object.mode && node.work.mtime_ms == object.mtime.0 {
                continue;
            }
            if mode || mtime {
                let path = self.state.path(&object.id);
                match self.set_attributes_on_disk(&path, &node, object, mode, mtime) {
                    Ok(()) => (),
                    Err(error) if is_absent(&error) => {
                        self.later.insert(path, true);
                        continue;
                    }
                    Err(error) => {
                        self.record_disk_failure(&path, &error);
                        continue;
                    }
                }
            }
            self.state.update(&object.id, |node| {
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
        let dir = self.dir_of(node.parent.as_ref())?;
        let before = dir.facts(&node.name)?.ok_or(io::ErrorKind::NotFound)?;
        if !DiskStamp::of(&before).is_same_inode(&node.stamp) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let is_dir = node.kind == FileKind::Directory;
        let new_mode = match (mode, is_dir) {
            (false, _) => node.stamp.mode,
            (true, true) => object.mode | 0o700,
            (true, false) => self.mode_for(path, object.mode, node.stamp.mode),
        };
        if mtime {
            let is_unchanged = DiskStamp::of(&before).mtime_ns == node.stamp.mtime_ns;
            let time = if is_unchanged { object.mtime } else { Millis(node.stamp.mtime_ms()) };
            dir.set_attributes(&node.name, CreationAttributes { mode: new_mode, mtime: time })?;
        } else {
            dir.set_mode(&node.name, new_mode)?;
        }
        self.n_done += 1;
        self.report.to_directory.touched += 1;
        let after = dir.facts(&node.name)?.ok_or(io::ErrorKind::NotFound)?;
        let after = DiskStamp::of(&after);
        let is_same = DiskStamp::of(&before).mtime_ns == node.stamp.mtime_ns
            && before.size == node.stamp.size
            && after.size == before.size;
        if is_same {
            self.state.update(&node.id, |node| node.stamp = after);
            self.note_racy(&node.id, &after);
        } else {
            self.later.insert(path.to_owned(), true);
        }
        Ok(())
    }
}

/// Reports whether the workspace has a different version of the content than the state.
fn is_other_content(node: &MirrorNode, object: &TreeNode) -> bool {
    let version = object.version.as_ref().map_or("", |version| version.as_str());
    object.kind == FileKind::File && node.work.version != SmolStr::new(version)
}
