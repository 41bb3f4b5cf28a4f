//! Recovery after a crash: determines from the disk which operations the last mirror completed.

use std::{ffi::OsStr, io, path::Path, sync::Arc};

use smol_str::SmolStr;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::{FileKind, VersionBase as WriteBase, VersionToken, host::confined_dir::ConfinedDir};

use super::MirrorEngine;
use crate::{
    error::Result,
    merge_plan::{parked_id, parked_name},
    mirror_state::{DiskStamp, EditBase, MirrorNode, database::WriteIntent},
};

impl MirrorEngine {
    /// Completes or drops the recorded intents, and notes interrupted moves.
    pub(crate) fn recover(&mut self) -> Result<()> {
        self.recover_superseded()?;
        let intents = self.database.intents()?;
        let settled: Vec<FileId> = intents.iter().map(|(id, _)| id.clone()).collect();
        for (id, intent) in intents {
            let Some(node) = self.state.get(&id).cloned() else { continue };
            match intent {
                WriteIntent::Ingest { hash, bytes, written } => {
                    self.recover_ingest(&node, hash, bytes, written)?;
                }
                WriteIntent::Replace { hash, version, base, .. } => {
                    self.recover_replace(&node, hash, &version, base)?;
                }
                WriteIntent::Overwrite { version, base, old, new } => {
                    self.recover_overwrite(&node, &version, base, (&old, &new))?;
                }
            }
        }
        self.commit(&settled)?;
        let moved = self.state.nodes().filter(|node| {
            let is_aside = node.name == parked_name(&node.id);
            !is_aside && (node.parent != node.work.parent || self.is_renamed(node))
        });
        self.moved = moved.map(|node| node.id.clone()).collect();
        Ok(())
    }

    /// Reports whether a name on disk differs from the name that the workspace was last known to
    /// have.
    fn is_renamed(&self, node: &MirrorNode) -> bool {
        let path = self.state.path(&node.id);
        let shown = self.work_name(node.parent.as_ref(), &path).ok().flatten();
        let spelt = self.rules.to_host(&node.work.name, &|_| false);
        shown.as_ref() != Some(&node.work.name) && spelt.as_ref() != Some(&node.name)
    }

    /// Determines whether an edit reached the workspace.
    fn recover_ingest(
        &mut self,
        node: &MirrorNode,
        hash: ContentHash,
        bytes: Arc<[u8]>,
        written: u64,
    ) -> Result<()> {
        if self.object(&node.id)?.is_none() || node.hash == hash {
            return Ok(());
        }
        if self.workspace.nodes().n_written_by(&node.id, &self.actor).is_ok_and(|now| now > written)
        {
            self.state.update(&node.id, |node| {
                (node.hash, node.base) = (hash, EditBase::Bytes(bytes));
                // The next scan compares the disk with these bytes.
                node.stamp.mtime_ns = 0;
                node.work.version = SmolStr::default();
            });
        }
        Ok(())
    }

    /// Determines whether a file got its new bytes.
    fn recover_replace(
        &mut self,
        node: &MirrorNode,
        hash: ContentHash,
        version: &str,
        base: VersionToken,
    ) -> Result<()> {
        let path = self.state.path(&node.id);
        let above = path.parent().unwrap_or(Path::new(""));
        let Ok(dir) = self.root.dir(above) else { return Ok(()) };
        let here = self.hash_at(&dir, &node.name);
        let aside = self.hash_at(&dir, &parked_name(&node.id));
        // The temporary file is created before the intent is recorded, and removed when the two
        // have been exchanged.
        let is_done = here == Some(hash) || aside != Some(hash);
        if !is_done {
            dir.remove_file(&parked_name(&node.id)).ok();
            return Ok(());
        }
        let is_stray =
            aside.is_some() && self.supersede(&dir, &parked_name(&node.id), node).is_err();
        if is_stray {
            // The host rejects the move, so the file is handled like other strays.
            self.strays.push(above.join(parked_name(&node.id)));
        }
        self.state.update(&node.id, |node| {
            (node.hash, node.base) = (hash, EditBase::Version(base));
            node.work.version = version.into();
            node.stamp.mtime_ns = 0;
        });
        Ok(())
    }

    fn hash_at(&self, dir: &ConfinedDir, name: &OsStr) -> Option<ContentHash> {
        let (data, _) = dir.read(name, self.options.max_file_len).ok()?;
        Some(ContentHash::of(&data))
    }

    /// Handles temporary files and directories that no operation uses any more.
    pub(super) fn clean_up_strays(&mut self) -> Result<()> {
        for path in std::mem::take(&mut self.strays) {
            let name = path.file_name().unwrap_or(OsStr::new(""));
            let Some(id) = parked_id(name) else { continue };
            if self.known(&path).is_some() {
                self.dirty_work.insert(id);
                continue;
            }
            let taken = self.clean_up_stray(&id, &path)?;
            if let Err(error) = taken {
                self.record_disk_failure(&path, &error);
            }
        }
        Ok(())
    }

    fn clean_up_stray(&mut self, id: &FileId, path: &Path) -> Result<io::Result<()>> {
        let (above, name) =
            (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or(OsStr::new("")));
        let dir = match self.root.dir(above) {
            Ok(dir) => dir,
            Err(error) => return Ok(Err(error)),
        };
        let facts = match dir.facts(name) {
            Ok(Some(facts)) => facts,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        let node = self.state.get(id).cloned();
        let old = node.as_ref().map(|node| self.facts(&self.state.path(&node.id)));
        let is_away = matches!(old, Some(Ok(None)));
        if let (Some(node), true) = (&node, is_away)
            && node.kind == facts.kind
            && node.stamp.is_same_inode(&DiskStamp::of(&facts))
        {
            // It was parked, and the state was not written afterwards.
            let parent = self.state.directory(above).flatten();
            self.state.update(id, |node| (node.parent, node.name) = (parent, name.to_owned()));
            self.missing.remove(id);
            self.dirty_work.insert(id.clone());
            return Ok(Ok(()));
        }
        if facts.kind == FileKind::Symlink {
            return Ok(dir.remove_file(name));
        }
        if facts.kind != FileKind::File {
            return Ok(self.rename_to_recovered(&dir, name, above));
        }
        let (data, _) = match dir.read(name, self.options.max_file_len) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let hash = ContentHash::of(&data);
        let is_known = node.is_some_and(|node| node.hash == hash)
            || self.workspace.nodes().read_durable(id).is_ok_and(|held| held.data == data)
            || self.workspace.nodes().find_base(id, &data).is_ok_and(|base| base.is_some());
        if is_known {
            return Ok(dir.remove_file(name));
        }
        Ok(self.rename_to_recovered(&dir, name, above))
    }

    /// Renames a file whose bytes are in no version to a free name in a directory of the mirror,
    /// where the next scan finds and imports it.
    pub(super) fn rename_to_recovered(
        &mut self,
        dir: &ConfinedDir,
        name: &OsStr,
        above: &Path,
    ) -> io::Result<()> {
        let to = self.root.dir(above)?;
        for number in 1..1_000 {
            let new = format!("recovered ({number})");
            match dir.rename_new(name, &to, OsStr::new(&new)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
                renamed => {
                    self.later.insert(above.join(new), true);
                    return renamed;
                }
            }
        }
        Ok(())
    }
}

/// Converts a base to the option of a write.
pub(super) fn base_of(base: &EditBase) -> Option<WriteBase> {
    match base {
        EditBase::Version(token) => Some(WriteBase::Version(token.clone())),
        EditBase::Bytes(bytes) => Some(WriteBase::Content(bytes.to_vec().into())),
        EditBase::Unknown => None,
    }
}
