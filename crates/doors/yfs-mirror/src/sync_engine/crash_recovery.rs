//! Recovery after a crash: determines from the disk which operations the last mirror completed.

use std::{ffi::OsStr, io, path::Path, sync::Arc};

use smol_str::SmolStr;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::{FileKind, VersionToken, confined_dir::ConfinedDir};

use super::{
    locked::LockedFileMerger, mirror_context::MirrorContext, superseded::SupersededKeeper,
    sync_pass::SyncPass,
};
use crate::{
    error::Result,
    layout_plan::{parked_id, parked_name},
    mirror_state::{DiskStamp, EditBase, MirrorNode, database::WriteIntent},
};

/// Completes what a mirror that died had begun.
pub(super) struct CrashRecovery<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
}

impl CrashRecovery<'_> {
    /// Completes or drops the recorded intents, and notes interrupted moves.
    pub(super) fn recover(&mut self) -> Result<()> {
        let intents = self.context.database.intents()?;
        if !self.context.check_proven()? {
            for (id, intent) in &intents {
                let Some(node) = self.context.state.get(id).cloned() else { continue };
                if let WriteIntent::Overwrite { version, base, old, new } = intent {
                    self.locked().recover_overwrite(&node, version, base.clone(), (old, new))?;
                }
            }
            self.context.forget_agreement();
        }
        self.keeper().recover_superseded()?;
        let settled: Vec<FileId> = intents.iter().map(|(id, _)| id.clone()).collect();
        for (id, intent) in intents {
            let Some(node) = self.context.state.get(&id).cloned() else { continue };
            match intent {
                WriteIntent::Ingest { hash, bytes, written } => {
                    self.recover_ingest(&node, hash, bytes, written)?;
                }
                WriteIntent::Replace { hash, version, base, .. } => {
                    self.recover_replace(&node, hash, &version, base)?;
                }
                WriteIntent::Overwrite { version, base, old, new } => {
                    self.locked().recover_overwrite(&node, &version, base, (&old, &new))?;
                }
            }
        }
        self.context.commit(&settled)?;
        let moved = self.context.state.nodes().filter(|node| {
            let is_aside = node.name == parked_name(&node.id);
            !is_aside && (node.parent != node.work.parent || self.is_renamed(node))
        });
        self.pass.moved = moved.map(|node| node.id.clone()).collect();
        Ok(())
    }

    fn keeper(&mut self) -> SupersededKeeper<'_> {
        SupersededKeeper { context: self.context, pass: self.pass }
    }

    fn locked(&mut self) -> LockedFileMerger<'_> {
        LockedFileMerger { context: self.context, pass: self.pass }
    }

    /// Reports whether a name on disk differs from the name that the workspace was last known to
    /// have.
    fn is_renamed(&self, node: &MirrorNode) -> bool {
        let path = self.context.state.path(&node.id);
        let shown = self.context.work_name(node.parent.as_ref(), &path).ok().flatten();
        let spelt = self.context.directory.rules.to_host(&node.work.name, &|_| false);
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
        // The workspace may have deleted the file since: then it is in the trash.
        if !self.context.workspace.still_has(&node.id)? || node.hash == hash {
            return Ok(());
        }
        if self.context.workspace.n_written(&node.id).is_ok_and(|now| now > written) {
            self.context.state.update(&node.id, |node| {
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
        let path = self.context.state.path(&node.id);
        let above = path.parent().unwrap_or(Path::new(""));
        let Ok(dir) = self.context.directory.root.dir(above) else { return Ok(()) };
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
            aside.is_some() && self.keeper().supersede(&dir, &parked_name(&node.id), node).is_err();
        if is_stray {
            // The host rejects the move, so the file is handled like other strays.
            self.pass.strays.push(above.join(parked_name(&node.id)));
        }
        self.context.state.update(&node.id, |node| {
            (node.hash, node.base) = (hash, EditBase::Version(base));
            node.work.version = version.into();
            node.stamp.mtime_ns = 0;
        });
        Ok(())
    }

    fn hash_at(&self, dir: &ConfinedDir, name: &OsStr) -> Option<ContentHash> {
        let (data, _) = dir.read(name, self.context.options.max_file_len).ok()?;
        Some(ContentHash::of(&data))
    }

    /// Handles temporary files and directories that no operation uses any more.
    pub(super) fn clean_up_strays(&mut self) -> Result<()> {
        for path in std::mem::take(&mut self.pass.strays) {
            let name = path.file_name().unwrap_or(OsStr::new(""));
            let Some(id) = parked_id(name) else { continue };
            if self.context.state.at_path(&path).is_some() {
                self.pass.work.insert(id);
                continue;
            }
            let taken = self.clean_up_stray(&id, &path)?;
            if let Err(error) = taken {
                self.pass.record_disk_failure(self.context, &path, &error);
            }
        }
        Ok(())
    }

    fn clean_up_stray(&mut self, id: &FileId, path: &Path) -> Result<io::Result<()>> {
        let (above, name) =
            (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or(OsStr::new("")));
        let dir = match self.context.directory.root.dir(above) {
            Ok(dir) => dir,
            Err(error) => return Ok(Err(error)),
        };
        let facts = match dir.facts(name) {
            Ok(Some(facts)) => facts,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        let node = self.context.state.get(id).cloned();
        let old = node
            .as_ref()
            .map(|node| self.context.directory.facts(&self.context.state.path(&node.id)));
        let is_away = matches!(old, Some(Ok(None)));
        if let (Some(node), true) = (&node, is_away)
            && node.kind == facts.kind
            && node.stamp.is_same_inode(&DiskStamp::of(&facts))
        {
            // It was parked, and the state was not written afterwards.
            let parent = self.context.state.directory(above).flatten();
            self.context
                .state
                .update(id, |node| (node.parent, node.name) = (parent, name.to_owned()));
            self.pass.missing.remove(id);
            self.pass.work.insert(id.clone());
            return Ok(Ok(()));
        }
        if facts.kind == FileKind::Symlink {
            return Ok(dir.remove_file(name));
        }
        if facts.kind != FileKind::File {
            return Ok(self.pass.rename_to_recovered(
                &self.context.directory.root,
                &dir,
                name,
                above,
            ));
        }
        let (data, _) = match dir.read(name, self.context.options.max_file_len) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let hash = ContentHash::of(&data);
        // A mirror that died while it wrote the file left its beginning. An exchanged file that
        // a program is writing anew may look the same, so that one must be whole.
        let is_exchanged =
            node.as_ref().is_some_and(|node| node.stamp.is_same_inode(&DiskStamp::of(&facts)));
        let held = self.context.workspace.nodes().read_durable(id);
        let is_held = |held: &[u8]| held == data || (!is_exchanged && held.starts_with(&data));
        let is_known = node.is_some_and(|node| node.hash == hash)
            || (data.is_empty() && !is_exchanged)
            || held.is_ok_and(|held| is_held(&held.data))
            || self.context.workspace.nodes().find_base(id, &data).is_ok_and(|base| base.is_some());
        if is_known {
            return Ok(dir.remove_file(name));
        }
        Ok(self.pass.rename_to_recovered(&self.context.directory.root, &dir, name, above))
    }
}
