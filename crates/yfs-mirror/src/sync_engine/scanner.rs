//! Scanning the disk: finds what is new, changed, moved or missing compared with the state.
//!
//! A path takes precedence over an inode: a file at the path of a known file is that file, edited,
//! whatever its inode. So an editor that writes a temporary file and renames it keeps the file's
//! identity. For directories it is the reverse: an inode that appears at another path has moved,
//! with all its content.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use yfs_engine::id::FileId;
use yfs_vfs::{FileKind, host::HostStat, host::confined_dir::ConfinedDir};

use super::MirrorEngine;
use crate::{
    error::Result,
    ignores::IgnoreRules,
    merge_plan::{parked_id, parked_name},
    mirror_state::{DiskStamp, MirrorNode},
    report::NoticeReason,
    untrusted_files,
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
    /// All new paths, to report each once.
    new: HashSet<PathBuf>,
}

impl MirrorEngine {
    /// Scans all paths on disk that may have changed.
    pub(super) fn scan_disk(&mut self) -> Result<DiskScan> {
        let mut seen = DiskScan::default();
        let mut emptied: Vec<FileId> = self.emptied.keys().cloned().collect();
        seen.changed.append(&mut emptied);
        seen.changed.append(&mut self.take_held_back());
        self.dirty_disk.append(&mut std::mem::take(&mut self.later));
        while let Some((path, all_below)) = self.dirty_disk.pop_first() {
            if let Err(error) = self.look(&path, all_below, &mut seen) {
                self.record_disk_failure(&path, &error);
            }
        }
        let mut known = HashSet::new();
        seen.changed.retain(|id| known.insert(id.clone()));
        Ok(seen)
    }

    /// Returns the node at a path.
    pub(super) fn known(&self, path: &Path) -> Option<&MirrorNode> {
        let parent = self.state.directory(path.parent()?)?;
        self.state.child(parent.as_ref(), path.file_name()?)
    }

    /// Scans one path.
    fn look(&mut self, path: &Path, all_below: bool, seen: &mut DiskScan) -> io::Result<()> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return self.look_into(Path::new(""), all_below, seen).map(drop);
        };
        if is_reserved(name) {
            if parked_id(name).is_some() && !is_hidden_above(above) {
                self.strays.push(path.to_owned());
            }
            return Ok(());
        }
        // A new file in a parked directory keeps that directory from being removed, so it is
        // scanned all the same.
        if is_hidden_above(above) && self.state.directory(above).is_none() {
            return Ok(());
        }
        let Some(parent) = self.state.directory(above) else {
            // The directory is new itself, or about to be found missing.
            if !seen.directories.iter().any(|directory| directory == above) {
                return self.look(above, true, seen);
            }
            let facts = self.facts(path)?;
            return facts.map_or(Ok(()), |facts| self.look_at_new(path, &facts, seen).map(drop));
        };
        let facts = self.facts(path)?;
        if IgnoreRules::is_rules(name) {
            let known = self.state.child(parent.as_ref(), name).map(|node| node.stamp);
            if known != facts.as_ref().map(DiskStamp::of) {
                self.reread_rules(above);
            }
        }
        self.compare(parent.as_ref(), path, name, facts, all_below, seen).map(drop)
    }

    /// Handles changed rules: paths below the directory may be included or excluded now, on both
    /// sides.
    pub(super) fn reread_rules(&mut self, dir: &Path) {
        self.ignores.forget(dir);
        self.dirty_disk.insert(dir.to_owned(), true);
        let Some(directory) = self.state.directory(dir) else { return };
        // What cannot be listed now is listed in the next full scan.
        let below = self.workspace.nodes().objects(directory.as_ref()).unwrap_or_default();
        self.dirty_work.extend(below.into_iter().map(|object| object.id));
    }

    /// Compares the object at a path with the state. Reports whether the object is mirrored.
    fn compare(
        &mut self,
        parent: Option<&FileId>,
        path: &Path,
        name: &OsStr,
        facts: Option<HostStat>,
        all_below: bool,
        seen: &mut DiskScan,
    ) -> io::Result<bool> {
        let known =
            self.state.child(parent, name).map(|node| (node.id.clone(), node.kind, node.stamp));
        let Some(facts) = facts else {
            if let Some((id, ..)) = known {
                self.lose(id);
            }
            return Ok(false);
        };
        let Some((id, kind, stamp)) = known else { return self.look_at_new(path, &facts, seen) };
        let now = DiskStamp::of(&facts);
        let is_dir = facts.kind == FileKind::Directory;
        if kind != facts.kind || is_dir && self.is_another(&id, &now) {
            // A different object took its place.
            self.forget_location(&id);
            return self.look_at_new(path, &facts, seen);
        }
        self.missing.remove(&id);
        if self.ignores.is_ignored(&self.root, path, is_dir) {
            return Ok(false);
        }
        if !is_dir {
            if now != stamp || self.racy.contains(&id) {
                seen.changed.push(id);
            }
            return Ok(true);
        }
        if now.mode != stamp.mode || !now.is_same_inode(&stamp) {
            seen.changed.push(id);
        }
        let is_watched = self.watch.as_ref().is_none_or(|watch| watch.is_watched(path));
        if all_below || !is_watched || !now.is_same_inode(&stamp) {
            self.look_into(path, true, seen)?;
        }
        Ok(true)
    }

    /// Reports whether the state knows an inode as a different object.
    fn is_another(&self, id: &FileId, now: &DiskStamp) -> bool {
        let other = self.state.at_place(now.place);
        other.is_some_and(|node| node.id != *id && node.stamp.is_same_inode(now))
    }

    /// Scans the content of a known directory.
    fn look_into(&mut self, path: &Path, all_below: bool, seen: &mut DiskScan) -> io::Result<()> {
        // The watch comes first, so that it reports changes made during the scan.
        if let Some(watch) = &mut self.watch {
            watch.watch(path);
        }
        let dir = match self.root.dir(path) {
            Ok(dir) => dir,
            Err(error) if super::is_absent(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let Some(parent) = self.state.directory(path) else { return Ok(()) };
        let names: HashSet<OsString> = dir.names()?.into_iter().collect();
        let children = self.state.children(parent.as_ref());
        let gone: Vec<FileId> = children
            .filter(|child| !names.contains(&child.name))
            .map(|child| child.id.clone())
            .collect();
        gone.into_iter().for_each(|id| self.lose(id));
        for name in names {
            let path = path.join(&name);
            if is_reserved(&name) {
                if parked_id(&name).is_some() {
                    self.strays.push(path);
                }
                continue;
            }
            let facts = dir.facts(&name)?;
            if let Err(error) = self.compare(parent.as_ref(), &path, &name, facts, all_below, seen)
            {
                self.record_disk_failure(&path, &error);
            }
        }
        Ok(())
    }

    /// Scans an object that the state does not have at a path: it is new, or moved. Reports whether
    /// it is mirrored.
    fn look_at_new(
        &mut self,
        path: &Path,
        facts: &HostStat,
        seen: &mut DiskScan,
    ) -> io::Result<bool> {
        let is_dir = facts.kind == FileKind::Directory;
        if self.ignores.is_ignored(&self.root, path, is_dir) {
            return Ok(false);
        }
        if facts.kind == FileKind::Other {
            self.skip(path, NoticeReason::Special);
            return Ok(false);
        }
        if !self.root.is_here(facts) {
            self.skip(path, NoticeReason::OtherDevice);
            return Ok(false);
        }
        if !seen.new.insert(path.to_owned()) {
            return Ok(true);
        }
        if let Some(id) = self.claimed(path, facts)? {
            if self.state.directory(path.parent().unwrap_or(Path::new(""))).is_none() {
                seen.arrived.push((id, path.to_owned()));
                return Ok(true);
            }
            self.relocate(&id, path);
            return match is_dir {
                true => self.look_into(path, true, seen).map(|()| true),
                false => {
                    seen.changed.push(id);
                    Ok(true)
                }
            };
        }
        if !is_dir {
            seen.fresh.push((path.to_owned(), facts.clone()));
            return Ok(true);
        }
        self.look_into_new(path, seen)
    }

    /// Scans a new directory. A directory with nothing but excluded content is excluded, too.
    fn look_into_new(&mut self, path: &Path, seen: &mut DiskScan) -> io::Result<bool> {
        if let Some(watch) = &mut self.watch {
            watch.watch(path);
        }
        let dir: ConfinedDir = match self.root.dir(path) {
            Ok(dir) => dir,
            Err(error) if super::is_absent(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        let at = seen.directories.len();
        seen.directories.push(path.to_owned());
        let mut names = dir.names()?;
        // Temporary files there belong to a mirror that died: they are handled once the directory
        // is known.
        names.retain(|name| parked_id(name).is_none());
        let mut any = names.is_empty();
        for name in names.iter().filter(|name| !is_reserved(name)) {
            if let Some(facts) = dir.facts(name)? {
                any |= self.look_at_new(&path.join(name), &facts, seen)?;
            }
        }
        if !any {
            seen.directories.truncate(at);
        }
        Ok(any)
    }

    /// Returns the known object that moved to a path, if the state knows the inode there.
    fn claimed(&self, path: &Path, facts: &HostStat) -> io::Result<Option<FileId>> {
        let stamp = DiskStamp::of(facts);
        let Some(node) = self.state.at_place(facts.place) else { return Ok(None) };
        if node.kind != facts.kind || !node.stamp.is_same_inode(&stamp) {
            return Ok(None);
        }
        let old = self.state.path(&node.id);
        if path.starts_with(&old) && path != old {
            return Ok(None);
        }
        let is_free = match self.facts(&old)? {
            None => true,
            // A hard link to the same file; or the same name, where the host ignores case.
            Some(there) if there.place == facts.place => {
                self.rules.folds()
                    && old.parent() == path.parent()
                    && old.file_name().map(|name| self.rules.fold(name))
                        == path.file_name().map(|name| self.rules.fold(name))
            }
            Some(_) => facts.kind == FileKind::Directory,
        };
        Ok(is_free.then(|| node.id.clone()))
    }

    /// Notes that an object is at another path on disk.
    pub(super) fn relocate(&mut self, id: &FileId, path: &Path) {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Some(parent) = self.state.directory(above) else { return };
        let old = self.state.path(id);
        if let Some(watch) = &mut self.watch {
            watch.forget(&old);
        }
        self.ignores.forget(&old);
        self.ignores.forget(path);
        self.state.update(id, |node| (node.parent, node.name) = (parent, name.to_owned()));
        self.missing.remove(id);
        self.moved.insert(id.clone());
        // A different object may have the old path now.
        self.dirty_disk.insert(old, true);
    }

    /// Notes that an object is not at its path. It may appear elsewhere, or come back.
    ///
    /// An excluded object does not count as missing: it stays in the workspace.
    pub(super) fn lose(&mut self, id: FileId) {
        let is_dir = self.state.get(&id).is_some_and(|node| node.kind == FileKind::Directory);
        if self.ignores.is_ignored(&self.root, &self.state.path(&id), is_dir) {
            return;
        }
        self.missing.entry(id).or_insert_with(Instant::now);
    }

    /// Notes that a different object took the place of an object.
    pub(super) fn forget_location(&mut self, id: &FileId) {
        let old = self.state.path(id);
        if let Some(watch) = &mut self.watch {
            watch.forget(&old);
        }
        self.state.update(id, |node| node.name = parked_name(id));
        self.lose(id.clone());
    }
}

/// Reports whether a name is excluded from mirroring.
fn is_reserved(name: &OsStr) -> bool {
    name.to_str().is_some_and(untrusted_files::is_reserved)
}

fn is_hidden_above(path: &Path) -> bool {
    path.components().any(|name| is_reserved(name.as_os_str()))
}
