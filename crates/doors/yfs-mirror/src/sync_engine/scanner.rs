//! Scanning the disk: finds what is new, changed, moved or missing compared with the state.
//!
//! A path takes precedence over an inode: a file at the path of a known file is that file, edited,
//! whatever its inode. So an editor that writes a temporary file and renames it keeps the file's
//! identity. For directories it is the reverse: an inode that appears at another path has moved,
//! with all its content.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use yfs_engine::id::FileId;
use yfs_vfs::{
    FileKind,
    confined_dir::{ConfinedDir, HostStat},
};

use super::{mirror_context::MirrorContext, sync_pass::SyncPass};
use crate::{
    backup_names::is_made_from, error::is_absent, ignores::IgnoreRules, layout_plan::parked_id,
    mirror_state::DiskStamp, report::NoticeReason, untrusted_files,
};

/// The result of a scan of the disk.
#[derive(Debug, Default)]
pub(super) struct DiskScan {
    /// New directories, each before its content.
    pub(super) directories: Vec<PathBuf>,
    /// Known objects that are in new directories now.
    pub(super) arrived: Vec<(FileId, PathBuf)>,
    /// New files and links.
    pub(super) fresh: Vec<(PathBuf, HostStat)>,
    /// Known objects whose stamp differs.
    pub(super) changed: Vec<FileId>,
}

/// Finds what is new, changed, moved or missing on disk.
pub(super) struct DiskScanner<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
    pub(super) found: DiskScan,
    /// All new paths, to report each once.
    new: HashSet<PathBuf>,
    /// Known files at whose path is now another known file.
    pub(super) displaced: BTreeMap<FileId, DiskStamp>,
}

impl<'a> DiskScanner<'a> {
    pub(super) fn new(context: &'a mut MirrorContext, pass: &'a mut SyncPass) -> Self {
        let (found, new, displaced) = Default::default();
        Self { context, pass, found, new, displaced }
    }

    /// Scans all paths on disk that may have changed.
    pub(super) fn scan_disk(mut self) -> DiskScan {
        self.found.changed.extend(self.pass.emptied.keys().cloned());
        self.collect_due_open_files();
        self.pass.disk.append(&mut self.pass.later);
        while let Some((path, all_below)) = self.pass.disk.pop_first() {
            if let Err(error) = self.scan_path(&path, all_below) {
                self.pass.record_disk_failure(self.context, &path, &error);
            }
        }
        self.follow_renames();
        let mut known = HashSet::new();
        self.found.changed.retain(|id| known.insert(id.clone()));
        self.found
    }

    /// Schedules the files whose wait is over, and notes the open files that are due to be read.
    fn collect_due_open_files(&mut self) {
        let due = self.context.open_files.take_due();
        for path in due.paths {
            if let Some(node) = self.context.state.at_path(&path) {
                self.pass.racy.insert(node.id.clone());
            }
            self.pass.disk.entry(path).or_default();
        }
        self.pass.work.extend(due.objects);
        self.found.changed.extend(due.polled);
    }

    /// Scans one path.
    fn scan_path(&mut self, path: &Path, all_below: bool) -> io::Result<()> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return self.scan_directory(Path::new(""), all_below);
        };
        if is_reserved(name) {
            if parked_id(name).is_some() && !is_hidden_above(above) {
                self.pass.strays.push(path.to_owned());
            }
            return Ok(());
        }
        // A new file in a parked directory keeps that directory from being removed, so it is
        // scanned all the same.
        if is_hidden_above(above) && self.context.state.directory(above).is_none() {
            return Ok(());
        }
        let Some(parent) = self.context.state.directory(above) else {
            // The directory is new itself, or about to be found missing.
            if !self.found.directories.iter().any(|directory| directory == above) {
                return self.scan_path(above, true);
            }
            let facts = self.context.directory.facts(path)?;
            return facts.map_or(Ok(()), |facts| self.scan_new_object(path, &facts).map(drop));
        };
        let facts = self.context.directory.facts(path)?;
        if IgnoreRules::is_rules(name) {
            let known = self.context.state.child(parent.as_ref(), name).map(|node| node.stamp);
            if known != facts.as_ref().map(DiskStamp::of) {
                self.pass.reread_rules(self.context, above);
            }
        }
        let is_ignored = facts.as_ref().is_some_and(|facts| {
            self.context.directory.is_ignored(path, facts.kind == FileKind::Directory)
        });
        self.compare_object(parent.as_ref(), path, facts, all_below, is_ignored).map(drop)
    }

    /// Compares the object at a path with the state. Reports whether the object is mirrored.
    /// `is_ignored` tells whether the ignore rules exclude it.
    fn compare_object(
        &mut self,
        parent: Option<&FileId>,
        path: &Path,
        facts: Option<HostStat>,
        all_below: bool,
        is_ignored: bool,
    ) -> io::Result<bool> {
        let name = path.file_name().unwrap_or_default();
        let known = self
            .context
            .state
            .child(parent, name)
            .map(|node| (node.id.clone(), node.kind, node.stamp));
        let Some(facts) = facts else {
            if let Some((id, ..)) = known {
                self.pass.note_missing(self.context, id);
            }
            return Ok(false);
        };
        let Some((id, kind, stamp)) = known else { return self.scan_new_object(path, &facts) };
        let now = DiskStamp::of(&facts);
        let is_dir = facts.kind == FileKind::Directory;
        if kind != facts.kind || is_dir && self.is_another_object(&id, &now) {
            // A different object took its place.
            self.pass.forget_location(self.context, &id);
            return self.scan_new_object(path, &facts);
        }
        self.pass.note_present(&id);
        if is_ignored {
            return Ok(false);
        }
        if self.context.directory.held.has_excluded(&id) {
            self.context.reporter.skip(path, NoticeReason::HeldByRules);
            return Ok(false);
        }
        if !is_dir {
            if !now.is_same_inode(&stamp) && self.is_another_object(&id, &now) {
                self.displaced.insert(id, now);
            } else if now != stamp || self.pass.racy.contains(&id) {
                self.found.changed.push(id);
            }
            return Ok(true);
        }
        if now.mode != stamp.mode || !now.is_same_inode(&stamp) {
            self.found.changed.push(id);
        }
        let is_watched = self.context.directory.is_watched(path);
        if all_below || !is_watched || !now.is_same_inode(&stamp) {
            self.scan_directory(path, true)?;
        }
        Ok(true)
    }

    /// Reports whether the state knows an inode as a different object.
    pub(super) fn is_another_object(&self, id: &FileId, now: &DiskStamp) -> bool {
        let other = self.context.state.at_place(now.place);
        other.is_some_and(|node| node.id != *id && node.stamp.is_same_inode(now))
    }

    /// Reports whether an object that the state does not have is a file that editors leave behind,
    /// and not one of the workspace.
    fn is_leftover(&mut self, path: &Path, is_dir: bool) -> bool {
        let directory = &mut self.context.directory;
        if !directory.ignores.is_leftover(&directory.root, path, is_dir) {
            return false;
        }
        let parent = path.parent().and_then(|above| self.context.state.directory(above));
        let name = path.file_name().and_then(OsStr::to_str);
        let (Some(parent), Some(name)) = (parent, name) else { return true };
        !matches!(self.context.workspace.nodes().child(parent.as_ref(), name), Ok(Some(_)))
    }

    /// Scans the content of a known directory.
    fn scan_directory(&mut self, path: &Path, all_below: bool) -> io::Result<()> {
        // The watch comes first, so that it reports changes made during the scan.
        self.context.directory.watch(path);
        let dir = match self.context.directory.root.dir(path) {
            Ok(dir) => dir,
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let Some(parent) = self.context.state.directory(path) else { return Ok(()) };
        let names: BTreeSet<OsString> = dir.names()?.into_iter().collect();
        let children = self.context.state.children(parent.as_ref());
        let gone: Vec<FileId> = children
            .filter(|child| !names.contains(&child.name))
            .map(|child| child.id.clone())
            .collect();
        gone.into_iter().for_each(|id| self.pass.note_missing(self.context, id));
        // A directory that the rules exclude is not scanned.
        let rules = self.context.directory.entry_rules(path);
        for name in names {
            let path = path.join(&name);
            if is_reserved(&name) {
                if parked_id(&name).is_some() {
                    self.pass.strays.push(path);
                }
                continue;
            }
            let facts = dir.facts(&name)?;
            let is_ignored = facts.as_ref().is_some_and(|facts| {
                let is_dir = facts.kind == FileKind::Directory;
                self.context.directory.ignores.is_entry_ignored(&rules, &path, is_dir)
            });
            let parent = parent.as_ref();
            if let Err(error) = self.compare_object(parent, &path, facts, all_below, is_ignored) {
                self.pass.record_disk_failure(self.context, &path, &error);
            }
        }
        Ok(())
    }

    /// Scans an object that the state does not have at a path: it is new, or moved. Reports whether
    /// it is mirrored.
    pub(super) fn scan_new_object(&mut self, path: &Path, facts: &HostStat) -> io::Result<bool> {
        let is_dir = facts.kind == FileKind::Directory;
        if self.context.directory.is_ignored(path, is_dir) || self.is_leftover(path, is_dir) {
            self.hold_backup(path, facts)?;
            return Ok(false);
        }
        if self.context.directory.held.excludes(path, is_dir) {
            self.context.reporter.skip(path, NoticeReason::HeldByRules);
            return Ok(false);
        }
        if self.hold_backup(path, facts)? {
            return Ok(true);
        }
        if facts.kind == FileKind::Other {
            self.context.reporter.skip(path, NoticeReason::Special);
            return Ok(false);
        }
        if !self.context.directory.root.is_here(facts) {
            self.context.reporter.skip(path, NoticeReason::OtherDevice);
            return Ok(false);
        }
        if !self.new.insert(path.to_owned()) {
            return Ok(true);
        }
        if let Some(id) = self.find_claimed(path, facts)? {
            if self.context.state.directory(path.parent().unwrap_or(Path::new(""))).is_none() {
                self.found.arrived.push((id, path.to_owned()));
                return Ok(true);
            }
            self.pass.relocate(self.context, &id, path);
            return match is_dir {
                true => self.scan_directory(path, true).map(|()| true),
                false => {
                    self.found.changed.push(id);
                    Ok(true)
                }
            };
        }
        if !is_dir {
            // The file that had the inode may have another one at its path now.
            let known = self.context.state.at_place(facts.place).map(|node| node.id.clone());
            if let Some(id) = known {
                self.pass.touch_disk(self.context.state.path(&id), false);
            }
            self.found.fresh.push((path.to_owned(), facts.clone()));
            return Ok(true);
        }
        self.scan_new_directory(path)
    }

    /// Reports whether an object that the state does not have at a path is a file that an editor
    /// put out of the way a moment ago, and may be about to create anew under its name.
    fn hold_backup(&mut self, path: &Path, facts: &HostStat) -> io::Result<bool> {
        if facts.kind != FileKind::File {
            return Ok(false);
        }
        let Some(id) = self.find_claimed(path, facts)? else { return Ok(false) };
        let name = self.context.state.get(&id).map(|node| &node.name);
        let (Some(name), Some(new)) = (name, path.file_name()) else { return Ok(false) };
        Ok(is_made_from(name, new) && self.pass.hold_backup(self.context, &id, path))
    }

    /// Scans a new directory. A directory with nothing but excluded content is excluded, too.
    fn scan_new_directory(&mut self, path: &Path) -> io::Result<bool> {
        self.context.directory.watch(path);
        let dir: ConfinedDir = match self.context.directory.root.dir(path) {
            Ok(dir) => dir,
            Err(error) if is_absent(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        let at = self.found.directories.len();
        self.found.directories.push(path.to_owned());
        let mut names = dir.names()?;
        names.sort();
        // Temporary files there belong to a mirror that died: they are handled once the directory
        // is known.
        names.retain(|name| parked_id(name).is_none());
        let mut any = names.is_empty();
        for name in names.iter().filter(|name| !is_reserved(name)) {
            if let Some(facts) = dir.facts(name)? {
                any |= self.scan_new_object(&path.join(name), &facts)?;
            }
        }
        if !any {
            self.found.directories.truncate(at);
        }
        Ok(any)
    }

    /// Returns the known object that moved to a path, if the state knows the inode there.
    fn find_claimed(&self, path: &Path, facts: &HostStat) -> io::Result<Option<FileId>> {
        let stamp = DiskStamp::of(facts);
        let Some(node) = self.context.state.at_place(facts.place) else { return Ok(None) };
        if node.kind != facts.kind || !node.stamp.is_same_inode(&stamp) {
            return Ok(None);
        }
        let old = self.context.state.path(&node.id);
        if path.starts_with(&old) && path != old {
            return Ok(None);
        }
        let is_free = match self.context.directory.facts(&old)? {
            None => true,
            // A hard link to the same file; or the same name, where the host ignores case.
            Some(there) if there.place == facts.place => {
                self.context.directory.rules.folds()
                    && old.parent() == path.parent()
                    && old.file_name().map(|name| self.context.directory.rules.fold(name))
                        == path.file_name().map(|name| self.context.directory.rules.fold(name))
            }
            Some(_) => facts.kind == FileKind::Directory,
        };
        Ok(is_free.then(|| node.id.clone()))
    }
}

/// Reports whether a name is excluded from mirroring.
fn is_reserved(name: &OsStr) -> bool {
    name.to_str().is_some_and(untrusted_files::is_reserved)
}

fn is_hidden_above(path: &Path) -> bool {
    path.components().any(|name| is_reserved(name.as_os_str()))
}
