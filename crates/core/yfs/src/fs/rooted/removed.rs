//! The trash of a directory.

use yfs_engine::{id::FileId, main_doc::MainDoc, ops, path::VPath, tree::FinalLink};
use yfs_vfs::Op;

use super::RootedFs;
use crate::{
    TrashEntry,
    commit::{StructureAccess, Transaction},
    error::{Result, WorkspaceError},
    fs::{WorkspaceFs, op_error},
};

impl WorkspaceFs {
    /// Restores an object from the trash to a path, as [`Trash::restore`](crate::Trash::restore)
    /// does, on behalf of the actor of this filesystem.
    ///
    /// # Errors
    ///
    /// As [`Trash::restore`](crate::Trash::restore), and with `EACCES` if the path leads out of the
    /// directory that the filesystem is confined to.
    pub fn restore_removed(&self, id: &FileId, to: &VPath) -> Result<()> {
        let by = Some(&self.author.actor);
        let author = self.content_author(&self.author);
        self.state.commit(StructureAccess::Change, by, |main| {
            let writes = ops::plan_restore(main.tree(), main, id, Some(to));
            let writes = writes.map_err(|error| op_error(error, Op::Rename, to))?;
            let plan = Transaction::rows(writes, ());
            self.check_rows(main, Op::Rename, to, &plan.main)?;
            Ok(plan.by(main, &author))
        })?;
        Ok(())
    }
}

impl RootedFs {
    /// Lists what was removed from the directory, as [`Trash::list`](crate::Trash::list) does.
    ///
    /// # Errors
    ///
    /// Fails if the log cannot be read.
    pub fn removed(&self) -> Result<Vec<TrashEntry>> {
        let mut entries = self.fs.workspace().trash().list()?;
        let main = self.fs.state().main.read();
        entries.retain(|entry| self.holds(&main, &entry.id));
        let Some(base) = main.tree().path_of(&self.directory) else { return Ok(Vec::new()) };
        let outer = |inner: &str| {
            let path = VPath::parse(inner).ok()?;
            Some(format!("/{}", path.relative_to(&base)?))
        };
        for entry in &mut entries {
            entry.original = outer(&entry.original).unwrap_or_else(|| format!("/{}", entry.name));
            entry.stranded = entry.stranded.iter().filter_map(|path| outer(path)).collect();
        }
        Ok(entries)
    }

    /// Restores what was removed from the directory, as [`Trash::restore`](crate::Trash::restore)
    /// does, and returns its path.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::NoFile`] if the directory never held the object.
    pub fn restore(&self, id: &FileId, to: Option<&VPath>) -> Result<VPath> {
        let op = Op::Rename;
        let root = VPath::root();
        let by = Some(&self.fs.author.actor);
        let author = self.fs.content_author(&self.fs.author);
        self.fs.state.commit(StructureAccess::Change, by, |main| {
            if !self.holds(main, id) {
                return Err(WorkspaceError::NoFile(id.clone()));
            }
            let to = to.map(|to| self.locate_in(main, op, to, FinalLink::No)).transpose()?;
            let writes = ops::plan_restore(main.tree(), main, id, to.as_ref());
            let writes = writes.map_err(|error| op_error(error, op, &root))?;
            let plan = Transaction::rows(writes, ());
            self.fs.check_rows(main, op, to.as_ref().unwrap_or(&root), &plan.main)?;
            Ok(plan.by(main, &author))
        })?;
        let main = self.fs.state().main.read();
        let base = main.tree().path_of(&self.directory);
        let path = base
            .zip(main.tree().path_of(id))
            .and_then(|(base, path)| VPath::parse(&format!("/{}", path.relative_to(&base)?)).ok());
        path.ok_or_else(|| WorkspaceError::NoFile(id.clone()))
    }

    /// Reports whether an object lies, or lay before it was removed, below the directory.
    fn holds(&self, main: &MainDoc, id: &FileId) -> bool {
        let node = main.tree().node(id);
        node.is_some_and(|node| node.ancestors().any(|above| above.id() == Some(&self.directory)))
    }
}
