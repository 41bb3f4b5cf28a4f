//! Known files that have the names of each other: programs exchanged or rotated them.
//!
//! A file with another inode at its path is usually the same file, which a program saved by
//! renaming a temporary file over it. It is not if its own inode has another name now, and the one
//! at its path is that of another known file: then each file goes with its inode, as directories
//! do.

use std::{collections::BTreeMap, path::PathBuf};

use yfs_engine::id::FileId;
use yfs_vfs::{FileKind, confined_dir::HostStat};

use super::scanner::DiskScanner;
use crate::{backup_names::is_made_from, mirror_state::DiskStamp};

/// Where known files are now, if it is not at their paths.
type FileMoves = BTreeMap<FileId, PathBuf>;

impl DiskScanner<'_> {
    /// Decides which files that have another known inode at their paths were renamed, and which
    /// have the content of that.
    pub(super) fn follow_renames(&mut self) {
        if self.displaced.is_empty() {
            return;
        }
        self.add_displaced();
        let displaced: Vec<FileId> = self.displaced.keys().cloned().collect();
        displaced.iter().for_each(|id| self.scan_beside(id));
        let moves = self.find_moves();
        let displaced = std::mem::take(&mut self.displaced);
        self.found.changed.extend(displaced.into_keys().chain(moves.keys().cloned()));
        self.found.fresh.retain(|(path, _)| !moves.values().any(|to| to == path));
        self.pass.relocate_all(self.context, moves);
    }

    /// Adds the files that are displaced, too, although no event named their paths yet: an exchange
    /// has two, which may come to different passes.
    fn add_displaced(&mut self) {
        let mut queue: Vec<DiskStamp> = self.displaced.values().copied().collect();
        while let Some(stamp) = queue.pop() {
            let Some(node) = self.context.state.at_place(stamp.place) else { continue };
            let path = self.context.state.path(&node.id);
            let Ok(Some(facts)) = self.context.directory.facts(&path) else { continue };
            let now = DiskStamp::of(&facts);
            if facts.kind == FileKind::File
                && !now.is_same_inode(&node.stamp)
                && self.is_another_object(&node.id, &now)
                && !self.displaced.contains_key(&node.id)
            {
                self.displaced.insert(node.id.clone(), now);
                queue.push(now);
            }
        }
    }

    /// Searches the directory of a displaced file for its inode, because the event that names it
    /// may come to a later pass. Not if a temporary file of an editor displaced it, as in each
    /// save: then the inode is gone.
    fn scan_beside(&mut self, id: &FileId) {
        let Some(node) = self.context.state.get(id).cloned() else { return };
        let Some(stamp) = self.displaced.get(id) else { return };
        let taker = self.context.state.at_place(stamp.place).map(|node| node.name.clone());
        let is_own = |stamp: &DiskStamp| stamp.is_same_inode(&node.stamp);
        let is_known = self.displaced.values().any(is_own)
            || self.found.fresh.iter().any(|(_, facts)| is_own(&DiskStamp::of(facts)));
        if is_known || taker.is_none_or(|taker| is_made_from(&node.name, &taker)) {
            return;
        }
        let path = self.context.state.path(id);
        let Ok(dir) = self.context.open_directory_of(node.parent.as_ref()) else { return };
        for name in dir.names().unwrap_or_default() {
            let path = path.with_file_name(&name);
            let Ok(Some(facts)) = dir.facts(&name) else { continue };
            if is_own(&DiskStamp::of(&facts)) && self.context.state.at_path(&path).is_none() {
                // If it cannot be scanned now, the event of its own has it scanned.
                self.scan_new_object(&path, &facts).ok();
                return;
            }
        }
    }

    /// Returns the new paths of all files that were renamed.
    fn find_moves(&self) -> FileMoves {
        let mut moves = FileMoves::new();
        for (id, stamp) in &self.displaced {
            let Some(taker) = self.context.state.at_place(stamp.place) else { continue };
            if !self.is_linked(&taker.id) {
                moves.insert(taker.id.clone(), self.context.state.path(id));
            }
        }
        let elsewhere: FileMoves = self
            .displaced
            .keys()
            .filter(|id| !moves.contains_key(*id))
            .filter_map(|id| Some((id.clone(), self.new_path(id)?)))
            .collect();
        loop {
            let n_before = moves.len();
            let places: BTreeMap<PathBuf, FileId> =
                self.displaced.keys().map(|id| (self.context.state.path(id), id.clone())).collect();
            let leaving: Vec<FileId> = moves.keys().cloned().collect();
            moves.retain(|_, to| {
                let replaced = places.get(&*to);
                replaced.is_none_or(|id| leaving.contains(id) || elsewhere.contains_key(id))
            });
            if moves.len() == n_before {
                break;
            }
        }
        let targets: Vec<PathBuf> = moves.values().cloned().collect();
        let is_replaced = |id: &FileId| targets.contains(&self.context.state.path(id));
        moves.extend(elsewhere.into_iter().filter(|(id, _)| is_replaced(id)));
        moves
    }

    /// Reports whether a file is still at its path, and so has two names.
    fn is_linked(&self, id: &FileId) -> bool {
        let Some(node) = self.context.state.get(id) else { return false };
        let there = self.context.directory.facts(&self.context.state.path(id));
        matches!(there, Ok(Some(facts)) if DiskStamp::of(&facts).is_same_inode(&node.stamp))
    }

    /// Returns the new name of a displaced file, unless that is the backup of a save.
    fn new_path(&self, id: &FileId) -> Option<PathBuf> {
        let node = self.context.state.get(id)?;
        let is_it = |facts: &HostStat| DiskStamp::of(facts).is_same_inode(&node.stamp);
        let (path, _) = self.found.fresh.iter().find(|(_, facts)| is_it(facts))?;
        let taker = self.context.state.at_place(self.displaced.get(id)?.place)?;
        // An editor puts the file out of the way, and gives its name to the new content.
        let is_save =
            is_made_from(&node.name, path.file_name()?) && is_made_from(&node.name, &taker.name);
        (!is_save).then(|| path.clone())
    }
}
