//! The mirror's engine: one thread that makes one pass after another, each over the objects that
//! may have changed.
//!
//! A pass has three parts. The scanner compares the disk with the state (`scanner`). The importers
//! bring what it found into the workspace: names and directories (`import_structure`), contents
//! (`import_new_files`, `import_content`) and deletions (`import_deletions`). The applier brings
//! the workspace to the disk (`disk_applier`): names (`layout_applier`), then contents
//! (`replace_file`). Each part borrows the [`MirrorContext`], which has both sides and the state,
//! and the [`SyncPass`], which has what was observed and what is due. A later pass retries what
//! fails; `crash_recovery` completes operations that a crash interrupted.

mod crash_recovery;
mod deleted_files;
mod disk_applier;
mod disk_file_content;
mod import_content;
mod import_deletions;
mod import_new_files;
mod import_structure;
mod layout_applier;
mod locked;
mod mirror_context;
mod mirror_reporter;
mod mirrored_directory;
mod open_files;
mod renamed_files;
mod replace_file;
mod rule_keeper;
mod scanner;
mod superseded;
mod superseded_directory;
mod superseded_schedule;
mod sync_pass;
mod workspace_access;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Instant,
};

use yfs::Workspace;
use yfs_engine::id::FileId;

use self::{
    crash_recovery::CrashRecovery,
    disk_applier::DiskApplier,
    import_content::ContentImporter,
    import_deletions::DeletionImporter,
    import_new_files::NewFileImporter,
    import_structure::StructureImporter,
    mirror_context::MirrorContext,
    scanner::{DiskScan, DiskScanner},
    superseded::SupersededKeeper,
    sync_pass::SyncPass,
    workspace_access::WorkspaceAccess,
};
pub(crate) use self::{mirror_reporter::Notify, superseded_directory::SUPERSEDED};
use crate::{
    error::{MirrorError, Result},
    mirror_state::database::{CIPHER, MirrorDatabase},
    options::MirrorOptions,
    report::{MirrorReport, NoticeReason},
    watch::DirectoryWatch,
};

/// The engine of a mirror: makes passes, and collects what they are about.
pub(crate) struct MirrorEngine {
    context: MirrorContext,
    pass: SyncPass,
}

/// The result of a pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassOutcome {
    /// When the next pass is due if no message arrives.
    pub(crate) next: Option<Instant>,
    /// Whether the pass changed either side.
    pub(crate) did: bool,
}

impl MirrorEngine {
    /// Opens a directory for a workspace. Nothing is scanned yet.
    pub(crate) fn open(
        workspace: &Workspace,
        directory: &Path,
        options: MirrorOptions,
        notify: Notify,
    ) -> Result<Self> {
        let context = MirrorContext::open(workspace, directory, options, notify)?;
        Ok(Self { context, pass: SyncPass::default() })
    }

    /// Returns the directory as an absolute path without links.
    pub(crate) fn directory(&self) -> &Path {
        &self.context.directory.path
    }

    /// Returns the report so far.
    pub(crate) fn report(&self) -> &MirrorReport {
        &self.context.reporter.report
    }

    /// Returns the report, and ends the mirror.
    pub(crate) fn into_report(self) -> MirrorReport {
        self.context.reporter.report
    }

    /// Watches each directory from its next scan on.
    pub(crate) fn set_watch(&mut self, watch: DirectoryWatch) {
        self.context.directory.watch = Some(watch);
    }

    /// Reports whether the host rejected a watch.
    pub(crate) fn is_watch_incomplete(&self) -> bool {
        self.context.directory.watch.as_ref().is_some_and(|watch| watch.is_incomplete)
    }

    /// Notes that the host watches no more directories.
    pub(crate) fn note_unwatched(&mut self) {
        let skipped = &mut self.context.reporter.report.skipped;
        skipped.insert(PathBuf::new(), NoticeReason::Unwatched);
    }

    /// Makes the mirror synchronize both sides once and then end.
    pub(crate) fn set_once(&mut self) {
        self.pass.superseded.is_once = true;
    }

    /// Notes that an object on disk may have changed.
    pub(crate) fn touch_disk(&mut self, path: PathBuf, all_below: bool) {
        self.pass.touch_disk(path, all_below);
    }

    /// Notes that an object on disk may have moved, so that the host no longer watches it.
    pub(crate) fn note_moved(&mut self, path: &Path) {
        self.context.directory.note_moved(path);
    }

    /// Notes that an object in the workspace may have changed.
    pub(crate) fn touch_work(&mut self, id: FileId) {
        self.pass.work.insert(id);
    }

    /// Notes that a superseded file may have changed.
    pub(crate) fn touch_superseded(&mut self, name: &OsStr) {
        self.pass.superseded.touch(name);
    }

    /// Notes that everything may have changed.
    pub(crate) fn touch_all(&mut self) -> Result<()> {
        let Self { context, pass } = self;
        context.directory.ignores.forget(Path::new(""));
        context.reporter.clear_failures();
        pass.moved.extend(std::mem::take(&mut pass.failed_moves).into_keys());
        pass.touch_disk(PathBuf::new(), true);
        pass.all_work = true;
        pass.racy.extend(std::mem::take(&mut pass.emptied).into_keys());
        // Files that were superseded a moment ago may have changed, too.
        pass.superseded.touch_all();
        Ok(())
    }

    /// Lets objects that contended for a name try again.
    pub(crate) fn allow_contests(&mut self) {
        self.pass.n_parked.clear();
    }

    /// Reports whether no change waits for a pass.
    pub(crate) fn is_quiet(&self) -> bool {
        self.pass.is_quiet() && self.context.open_files.is_quiet()
    }

    /// Reports whether a mass deletion waits for a confirmation, and neither the confirmation nor a
    /// change of the disk makes another pass useful.
    pub(crate) fn must_wait_for_person(&self) -> Result<bool> {
        let Some(pending) = self.context.pending else { return Ok(false) };
        Ok(self.pass.is_disk_quiet() && !pending.is_confirmed(self.directory())?)
    }

    /// Completes the operations that a crash interrupted.
    pub(crate) fn recover(&mut self) -> Result<()> {
        let Self { context, pass } = self;
        CrashRecovery { context, pass }.recover()?;
        context.restore_held_rules()
    }

    /// Makes a pass: scans the objects that may have changed, and synchronizes both sides.
    pub(crate) fn pass(&mut self) -> Result<PassOutcome> {
        let n_before = self.context.reporter.n_done();
        let Self { context, pass } = self;
        context.directory.check_exists()?;
        pass.reschedule_absent();
        pass.release_backups(context);
        pass.follow_person(context)?;
        SupersededKeeper { context, pass }.check_superseded()?;
        let scan = DiskScanner::new(context, pass).scan_disk();
        CrashRecovery { context, pass }.clean_up_strays()?;
        self.import(scan)?;
        let Self { context, pass } = self;
        DiskApplier { context, pass }.apply_to_disk()?;
        context.finish_holding_rules()?;
        context.clear_pending()?;
        context.commit(&[])?;
        let did = context.reporter.n_done() != n_before;
        Ok(PassOutcome { next: pass.next_due(context), did })
    }

    /// Imports what a scan found into the workspace.
    fn import(&mut self, scan: DiskScan) -> Result<()> {
        let Self { context, pass } = self;
        let moved: Vec<PathBuf> = pass.moved.iter().map(|id| context.state.path(id)).collect();
        let new = scan.fresh.iter().map(|(path, _)| path).chain(&scan.directories).chain(&moved);
        for path in new {
            pass.moved.extend(context.find_displaced(path)?);
        }
        StructureImporter { context, pass }.import_structure(scan.directories, scan.arrived)?;
        NewFileImporter { context, pass }.import_new_files(scan.fresh)?;
        ContentImporter { context, pass }.import_changed_files(scan.changed)?;
        DeletionImporter { context, pass }.import_deletions()?;
        context.commit(&[])
    }
}

/// Reports whether a workspace has all that the mirror of a directory agreed on with it. Reads
/// neither the files nor the log.
pub(crate) fn is_proven(workspace: &Workspace, directory: &Path) -> Result<bool> {
    let host = |source| MirrorError::Host { action: "open", path: directory.to_owned(), source };
    let path = directory.canonicalize().map_err(host)?;
    let database =
        MirrorDatabase::connect(&path, workspace.id(), workspace.store().cipher(CIPHER))?;
    let (actor, name) = (MirrorOptions::default().actor, database.actor_name(None)?);
    WorkspaceAccess::new(workspace, actor, name).has_mark_of(&database)
}

#[cfg(test)]
mod tests;
