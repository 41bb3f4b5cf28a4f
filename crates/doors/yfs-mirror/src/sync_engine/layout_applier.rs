//! Applying names to the disk: creating, moving and removing objects.
//!
//! A rename never replaces an object: each target name is free, and an object in the way is parked
//! first. The mirror removes nothing that differs from the state: it moves a file out of the way,
//! checks its content, and puts it back if the content is new.

use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    io,
    path::Path,
};

use yfs::workspace::nodes::TreeNode;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::{
    FileKind,
    confined_dir::{ConfinedDir, CreationAttributes},
};

use super::{
    import_structure::work_of, mirror_context::MirrorContext, superseded::SupersededKeeper,
    sync_pass::SyncPass,
};
use crate::{
    error::{Result, is_absent},
    ignores::IgnoreRules,
    layout_plan::{LayoutStep, ObjectLocation, TargetLocation, parked_name, plan_steps},
    mirror_state::{DiskStamp, EditBase, MirrorNode},
    report::NoticeReason,
};

/// The number of attempts on an object that other programs keep changing.
const MAX_CONTESTED: u32 = 20;

/// The number of names to try for an object that returns to a directory.
const MAX_NUMBERED: u32 = 1_000;

/// Applies names, and creates and removes objects.
pub(super) struct LayoutApplier<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
}

impl LayoutApplier<'_> {
    /// Brings objects to their names on disk: creates, moves and removes them.
    pub(super) fn apply_layout(
        &mut self,
        wanted: Vec<TargetLocation>,
        objects: &HashMap<FileId, TreeNode>,
    ) -> Result<()> {
        let ordered = {
            let place = |node: &MirrorNode| ObjectLocation {
                parent: node.parent.clone(),
                name: node.name.clone(),
            };
            let stands = |id: &FileId| self.context.state.get(id).map(place);
            let at = |place: &ObjectLocation| {
                let there = self.context.state.child(place.parent.as_ref(), &place.name);
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
                self.context.commit(&[])?;
                left.clear();
            }
            crate::crash_points::point("step");
            let (LayoutStep::Remove(id)
            | LayoutStep::Park(id)
            | LayoutStep::Move(id, _)
            | LayoutStep::Make(id, _)
            | LayoutStep::RemoveDirectory(id)) = &step;
            let path = match &step {
                LayoutStep::Make(_, place) => self.context.path_of_location(place),
                _ => self.context.state.path(id),
            };
            if let Some(node) = self.context.state.get(id) {
                left.insert(ObjectLocation {
                    parent: node.parent.clone(),
                    name: node.name.clone(),
                });
            }
            if let Err(error) = self.run_step(&step, objects) {
                self.pass.work.extend(objects.contains_key(id).then(|| id.clone()));
                self.record_failed_step(&step, id, &path, &error);
            }
        }
        self.note_agreed_names(objects);
        Ok(())
    }

    /// Records that objects whose name on disk is right agree with the workspace.
    fn note_agreed_names(&mut self, objects: &HashMap<FileId, TreeNode>) {
        for (id, object) in objects {
            let Some(node) = self.context.state.get(id) else { continue };
            let stands = node.parent == object.parent && node.name != parked_name(id);
            let agrees = node.work.parent == object.parent && node.work.name == object.name;
            if stands && !agrees && self.host_name_is(id, object) {
                self.context.state.update(id, |node| {
                    (node.work.parent, node.work.name) =
                        (object.parent.clone(), object.name.clone());
                });
            }
        }
    }

    /// Schedules a step that failed for another attempt, or gives up.
    fn record_failed_step(
        &mut self,
        step: &LayoutStep,
        id: &FileId,
        path: &Path,
        error: &io::Error,
    ) {
        if is_absent(error) || error.kind() == io::ErrorKind::AlreadyExists {
            // Another program changed the disk first, and its change is imported first.
            self.pass.later.insert(path.to_owned(), true);
            if let LayoutStep::Move(_, place) = step {
                self.pass.later.insert(self.context.path_of_location(place), true);
            }
            self.count_failure(id, path, error);
        } else {
            self.pass.record_disk_failure(self.context, path, error);
            self.pass.work.remove(id);
        }
    }

    /// Counts a failure, and gives up after 20 of them on an object that other programs keep
    /// changing.
    fn count_failure(&mut self, id: &FileId, path: &Path, error: &io::Error) {
        if self.context.reporter.count_failure(path) > MAX_CONTESTED {
            self.pass.work.remove(id);
            self.pass.later.remove(path);
            self.restore_parked(id);
            let is_there = error.kind() == io::ErrorKind::AlreadyExists;
            self.context.reporter.skip(
                path,
                if is_there {
                    NoticeReason::InTheWay
                } else {
                    NoticeReason::Failed(error.to_string())
                },
            );
        }
    }

    /// Gives an object that cannot get its name another one, so that no temporary name stays.
    fn restore_parked(&mut self, id: &FileId) {
        let Some(node) = self.context.state.get(id).cloned() else { return };
        if node.name != parked_name(id) {
            return;
        }
        let restored = self
            .context
            .open_directory_of(node.parent.as_ref())
            .and_then(|dir| self.restore_name(&dir, &node.name, &node));
        if let Ok(name) = restored {
            self.context.state.update(id, |node| node.name = name);
        }
    }

    fn host_name_is(&self, id: &FileId, object: &TreeNode) -> bool {
        let free = |_: &OsStr| false;
        let Some(node) = self.context.state.get(id) else { return false };
        node.work.name == object.name
            || self
                .context
                .directory
                .rules
                .to_host(&object.name, &free)
                .is_some_and(|name| name == node.name)
            || self
                .context
                .host_name(id, object, &HashMap::new())
                .is_some_and(|name| name == node.name)
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
                let Some(node) = self.context.state.get(id).cloned() else { return Ok(()) };
                let n_parked = self.pass.n_parked.entry(id.clone()).or_default();
                *n_parked += 1;
                if *n_parked > MAX_CONTESTED {
                    // Two objects that contend for one name would take turns for ever.
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                // If no other step moves it from there, the next pass does.
                self.pass.work.insert(id.clone());
                let place = ObjectLocation { parent: node.parent, name: parked_name(id) };
                match self.rename(id, &place) {
                    Err(error) if is_absent(&error) => {
                        self.pass.forget_location(self.context, id);
                        Ok(())
                    }
                    renamed => renamed,
                }
            }
            LayoutStep::Move(id, place) => {
                self.rename(id, place)?;
                self.context.reporter.count_directory(|counts| counts.moved += 1);
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
        let Some(node) = self.context.state.get(id).cloned() else { return Ok(()) };
        let old = self.context.state.path(id);
        let from = self.context.open_directory_of(node.parent.as_ref())?;
        let to = self.context.open_directory_of(place.parent.as_ref())?;
        let there = from.facts(&node.name)?.ok_or(io::ErrorKind::NotFound)?;
        if there.place != node.stamp.place || there.kind != node.kind {
            return Err(io::ErrorKind::NotFound.into());
        }
        from.rename_new(&node.name, &to, &place.name)?;
        if self.context.options.sync {
            to.sync()?;
        }
        // Renaming changes the change time of the inode, and nothing else.
        let facts = to.facts(&place.name)?.filter(|facts| facts.place == there.place);
        self.context.state.update(id, |node| {
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
        self.context.reporter.clear_skipped(&old);
        Ok(())
    }

    fn note_moved_directory(&mut self, id: &FileId, old: &Path) {
        let new = self.context.state.path(id);
        self.context.directory.held.rename(old, &new);
        self.context.directory.ignores.forget(old);
        self.context.directory.ignores.forget(&new);
        if self.context.directory.watch.is_some() {
            self.context.directory.unwatch(old);
            // It is watched again, and scanned for changes that were not reported meanwhile.
            self.pass.disk.insert(new, true);
        }
    }

    /// Creates an object on disk, under a free name.
    fn create_on_disk(&mut self, object: &TreeNode, place: &ObjectLocation) -> io::Result<()> {
        let dir = self.context.open_directory_of(place.parent.as_ref())?;
        let path = self.context.path_of_location(place);
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
                let held = match self.context.workspace.nodes().read_durable(id) {
                    Ok(held) => held,
                    Err(error) => {
                        self.pass.note_unread(self.context, id, &path, &error);
                        return Ok(());
                    }
                };
                let temporary = parked_name(id);
                dir.remove_file(&temporary).ok();
                // What was executable in this directory is so again.
                let old = self.context.former_mode(object).unwrap_or_default();
                let mode = self.context.mode_for(&path, object.mode, old);
                let attributes = CreationAttributes { mode, mtime: object.mtime };
                dir.make_file(&temporary, &held.data, attributes, self.context.options.sync)?;
                crate::crash_points::point("made");
                if let Err(error) = dir.rename_new(&temporary, &dir, &place.name) {
                    dir.remove_file(&temporary).ok();
                    return Err(error);
                }
                (hash, base) = (ContentHash::of(&held.data), EditBase::Version(held.base));
                work.version = held.version.as_str().into();
            }
        }
        if self.context.options.sync {
            dir.sync()?;
        }
        let facts = dir.facts(&place.name)?.ok_or(io::ErrorKind::NotFound)?;
        let stamp = DiskStamp::of(&facts);
        let (parent, name) = (place.parent.clone(), place.name.clone());
        let node =
            MirrorNode { id: id.clone(), parent, name, kind: object.kind, stamp, hash, work, base };
        self.context.state.put(node);
        self.pass.note_racy(id, &stamp);
        self.context.reporter.count_directory(|counts| counts.created += 1);
        self.context.reporter.clear_skipped_unless_executable(&path);
        if object.kind == FileKind::Directory {
            if self.context.directory.watch.is_some() {
                self.context.directory.watch(&path);
                self.pass.disk.insert(path, true);
            }
        } else if IgnoreRules::is_rules(&place.name) {
            self.pass.reread_rules(self.context, path.parent().unwrap_or(Path::new("")));
        }
        Ok(())
    }

    /// Removes a file or link that the workspace no longer has, if it is the one in the state.
    fn remove_file(&mut self, id: &FileId) -> io::Result<()> {
        let Some(node) = self.context.state.get(id).cloned() else { return Ok(()) };
        let path = self.context.state.path(id);
        let dir = match self.context.open_directory_of(node.parent.as_ref()) {
            Err(error) if is_absent(&error) => {
                self.pass.forget(self.context, id);
                return Ok(());
            }
            dir => dir?,
        };
        let aside = parked_name(id);
        if node.name != aside {
            match dir.rename_new(&node.name, &dir, &aside) {
                Err(error) if is_absent(&error) => {
                    self.pass.forget(self.context, id);
                    return Ok(());
                }
                renamed => renamed?,
            }
        }
        crate::crash_points::point("aside");
        if !self.pass.is_recorded(&self.context.options, &dir, &aside, &node)? {
            // The content is new: it goes back to its name, and is imported.
            let name = self.restore_name(&dir, &aside, &node)?;
            self.context.state.update(id, |node| node.name = name);
            self.pass.later.insert(self.context.state.path(id), true);
            self.pass.racy.insert(id.clone());
            return Ok(());
        }
        match node.kind {
            FileKind::File => self.keeper().supersede(&dir, &aside, &node)?,
            _ => dir.remove_file(&aside)?,
        }
        self.context.reporter.count_directory(|counts| counts.deleted += 1);
        self.context.reporter.clear_skipped(&path);
        self.pass.forget(self.context, id);
        if IgnoreRules::is_rules(&node.name) {
            self.pass.reread_rules(self.context, path.parent().unwrap_or(Path::new("")));
        }
        Ok(())
    }

    fn keeper(&mut self) -> SupersededKeeper<'_> {
        SupersededKeeper { context: self.context, pass: self.pass }
    }

    /// Removes a directory that the workspace no longer has, if it is empty.
    fn remove_directory(&mut self, id: &FileId) -> io::Result<()> {
        let Some(node) = self.context.state.get(id).cloned() else { return Ok(()) };
        let path = self.context.state.path(id);
        if self.context.state.children(Some(id)).next().is_some() {
            // A new object in it is imported first.
            self.pass.work.insert(id.clone());
            return Ok(());
        }
        let removed = self
            .context
            .open_directory_of(node.parent.as_ref())
            .and_then(|dir| dir.remove_dir(&node.name));
        match removed {
            Ok(()) => {
                self.context.reporter.count_directory(|counts| counts.deleted += 1);
                self.context.reporter.clear_skipped(&path);
            }
            Err(error) if is_absent(&error) => (),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                self.context.reporter.notify_event(&path, NoticeReason::NotEmpty);
                if node.name == parked_name(id) {
                    let dir = self.context.open_directory_of(node.parent.as_ref())?;
                    self.restore_name(&dir, &node.name, &node)?;
                }
                self.pass.later.insert(path, true);
            }
            Err(error) => return Err(error),
        }
        self.pass.forget(self.context, id);
        Ok(())
    }

    /// Gives an object that is `aside` its name again, or a numbered variant if another object took
    /// the name. Returns the name that it has now.
    fn restore_name(
        &self,
        dir: &ConfinedDir,
        aside: &OsStr,
        node: &MirrorNode,
    ) -> io::Result<OsString> {
        let was_parked = node.name == parked_name(&node.id);
        // An object that was parked before has no other name on disk that the state knows.
        let name = match was_parked {
            false => node.name.to_string_lossy().into_owned(),
            true => node.work.name.to_string(),
        };
        for number in 0..MAX_NUMBERED {
            let name = match number {
                0 if !was_parked => node.name.clone(),
                0 => name.clone().into(),
                _ => format!("{name} ({number})").into(),
            };
            match dir.rename_new(aside, dir, &name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
                renamed => return renamed.map(|()| name),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}
