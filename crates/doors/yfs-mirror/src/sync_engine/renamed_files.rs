//! Known files that have the names of each other: programs exchanged or rotated them.
//!
//! A file with another inode at its path is usually the same file, which a program saved by
//! renaming a temporary file over it. It is not if its own inode has another name now, and the one
//! at its path is that of another known file: then each file goes with its inode, as directories
//! do.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
};

use yfs_engine::id::FileId;
use yfs_vfs::FileKind;

use super::scanner::DiskScanner;
use crate::{backup_names::is_made_from, mirror_state::DiskStamp};

/// Where known files are now, if it is not at their paths.
type FileMoves = BTreeMap<FileId, PathBuf>;

/// What identifies an inode: device and number, and the time of its creation.
type Inode = ((u64, u64), i64);

fn inode_of(stamp: &DiskStamp) -> Inode {
    (stamp.place, stamp.created_ns)
}

impl DiskScanner<'_> {
    /// Decides which files that have another known inode at their paths were renamed, and which
    /// have the content of that.
    pub(super) fn follow_renames(&mut self) {
        if self.displaced.is_empty() {
            return;
        }
        self.add_displaced();
        self.scan_beside();
        let moves = self.find_moves();
        let displaced = std::mem::take(&mut self.displaced);
        self.found.changed.extend(displaced.into_keys().chain(moves.keys().cloned()));
        let targets: BTreeSet<&PathBuf> = moves.values().collect();
        self.found.fresh.retain(|(path, _)| !targets.contains(path));
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

    /// Searches the directories of displaced files for their inodes, each directory once, because
    /// the events that name them may come to a later pass. Not if a temporary file of an editor
    /// displaced the file, as in each save: then the inode is gone.
    fn scan_beside(&mut self) {
        let state = &self.context.state;
        let fresh = self.found.fresh.iter().map(|(_, facts)| inode_of(&DiskStamp::of(facts)));
        let known: HashSet<Inode> = self.displaced.values().map(inode_of).chain(fresh).collect();
        let mut sought: BTreeMap<Option<FileId>, HashSet<Inode>> = BTreeMap::new();
        for (id, stamp) in &self.displaced {
            let (Some(node), Some(taker)) = (state.get(id), state.at_place(stamp.place)) else {
                continue;
            };
            let inode = inode_of(&node.stamp);
            if !known.contains(&inode) && !is_made_from(&node.name, &taker.name) {
                sought.entry(node.parent.clone()).or_default().insert(inode);
            }
        }
        for (parent, inodes) in sought {
            self.scan_for(parent.as_ref(), inodes);
        }
    }

    /// Scans the new objects of a directory that are of some inodes.
    fn scan_for(&mut self, parent: Option<&FileId>, mut inodes: HashSet<Inode>) {
        let Ok(dir) = self.context.open_directory_of(parent) else { return };
        let above = parent.map_or_else(PathBuf::new, |id| self.context.state.path(id));
        for name in dir.names().unwrap_or_default() {
            let path = above.join(&name);
            let Ok(Some(facts)) = dir.facts(&name) else { continue };
            let is_new = self.context.state.at_path(&path).is_none();
            if is_new && inodes.remove(&inode_of(&DiskStamp::of(&facts))) {
                // If it cannot be scanned now, the event of its own has it scanned.
                self.scan_new_object(&path, &facts).ok();
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
        let mut fresh: HashMap<Inode, &Path> = HashMap::new();
        for (path, facts) in &self.found.fresh {
            fresh.entry(inode_of(&DiskStamp::of(facts))).or_insert(path);
        }
        let elsewhere: FileMoves = self
            .displaced
            .keys()
            .filter(|id| !moves.contains_key(*id))
            .filter_map(|id| Some((id.clone(), self.new_path(id, &fresh)?)))
            .collect();
        let of_path = |id: &FileId| (self.context.state.path(id), id.clone());
        let replaced: BTreeMap<PathBuf, FileId> = self.displaced.keys().map(of_path).collect();
        // A file that takes the name of one that is nowhere else replaced that, and so on.
        loop {
            let leaving: BTreeSet<FileId> = moves.keys().cloned().collect();
            moves.retain(|_, to| {
                let replaced = replaced.get(&*to);
                replaced.is_none_or(|id| leaving.contains(id) || elsewhere.contains_key(id))
            });
            if moves.len() == leaving.len() {
                break;
            }
        }
        let targets: BTreeSet<PathBuf> = moves.values().cloned().collect();
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
    fn new_path(&self, id: &FileId, fresh: &HashMap<Inode, &Path>) -> Option<PathBuf> {
        let node = self.context.state.get(id)?;
        let path = *fresh.get(&inode_of(&node.stamp))?;
        let taker = self.context.state.at_place(self.displaced.get(id)?.place)?;
        // An editor puts the file out of the way, and gives its name to the new content.
        let is_save =
            is_made_from(&node.name, path.file_name()?) && is_made_from(&node.name, &taker.name);
        (!is_save).then(|| path.to_owned())
    }
}
