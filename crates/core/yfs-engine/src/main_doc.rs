//! The main document of a workspace: its files table, its tree and its settings, kept in step.
//!
//! All changes of a workspace's structure are bytes: [`MainDoc::receive`] applies updates from
//! others, [`MainDoc::commit`] applies updates that [`MainDoc::plan`] made. In between the caller
//! appends the bytes to its store, so that nothing is visible that is not logged.
//!
//! # Invariants
//!
//! - Table, tree and settings are functions of the document: the same on every peer that has the
//!   same updates. Neither loading nor reading writes anything.
//!
//! # Example
//!
//! ```
//! use yfs_engine::{
//!     gate::GateLimits,
//!     id::{ClientId, FileId},
//!     main_doc::MainDoc,
//!     table::{FileRow, NodeKind, RowWrite, WriterIds},
//!     time::Millis,
//! };
//!
//! let id = FileId::parse("workspace")?;
//! let [rows, cells, meta] = [1, 2, 3].map(ClientId::from_random);
//! let mut main = MainDoc::new(&id, WriterIds { rows, cells, meta }, GateLimits::default());
//!
//! let row = FileRow::new(FileId::parse("a")?, "notes.txt", None, NodeKind::File, Millis(7));
//! let update = main.plan(&[RowWrite::Create { row, derived: false }], Millis(7))?;
//! // Here the update goes into the store.
//! let changes = main.commit(&update);
//! assert_eq!(changes.ids.len(), 1);
//! assert_eq!(main.files().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod list;
mod recorded;
mod removal;
#[cfg(test)]
mod tests;
mod totals;

use std::sync::Arc;

use yrs::Any;

use crate::{
    checkpoint::CheckpointBase,
    gate::{DocRole, GateLimits, GateRejection, GatedDoc, UpdateScan, UpdateSource},
    id::{FileId, WorkspaceId},
    kind::{
        ContentRoot, DEFAULT_PROFILE, FileCategory, PROFILE_SETTING, SchemaProfile, profile_named,
    },
    ops::RowSource,
    path::VPath,
    table::{FileRow, FilesTable, RowWrite, TableError, WorkspaceSettings, WriterIds},
    time::Millis,
    tree::TreeIndex,
};

pub use self::{
    recorded::RecordedRow,
    removal::{LateChange, RemovalOrder},
    totals::VisibleTotals,
};

/// An empty update: the plan if there is nothing to do.
pub const EMPTY_UPDATE: &[u8] = &[0, 0];

/// The number of simultaneous changes above which former paths are not reported.
pub(crate) const MAX_TRACED: usize = 10_000;

/// The structure of a workspace, as one process has it.
#[derive(Debug)]
pub struct MainDoc {
    doc: GatedDoc,
    files: FilesTable,
    settings: WorkspaceSettings,
    tree: TreeIndex,
    /// The checkpoint that the others read from.
    checkpoint: Option<Arc<CheckpointBase>>,
}

/// The changes of an update.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct MainDocChanges {
    /// Rows that were added, changed or removed, each once.
    pub ids: Vec<FileId>,
    /// The former visible path of each of `ids`. Empty if there are more than 10,000.
    pub before: Vec<Option<VPath>>,
    /// Settings that were written, each once.
    pub settings: Vec<String>,
    /// Whether the update is parked, invisible, until another arrives.
    pub parked: bool,
    /// Whether the document changed, even without a visible effect.
    pub changed: bool,
    /// Updates that had been parked, and turned out to be unacceptable.
    pub refused: Vec<(Vec<u8>, GateRejection)>,
}

impl MainDoc {
    /// Makes the main document of an empty workspace. The caller then [receives](Self::receive) the
    /// stored updates.
    pub fn new(workspace: &WorkspaceId, writer: WriterIds, limits: GateLimits) -> Self {
        let mut doc = GatedDoc::new(workspace, DocRole::Main, writer.rows, limits);
        doc.protect(&[writer.cells, writer.meta]);
        Self {
            doc,
            files: FilesTable::new(writer),
            settings: WorkspaceSettings::new(writer.meta),
            tree: TreeIndex::new(workspace.clone()),
            checkpoint: None,
        }
    }

    pub(crate) fn of_parts(
        doc: GatedDoc,
        files: FilesTable,
        settings: WorkspaceSettings,
        tree: TreeIndex,
        checkpoint: Arc<CheckpointBase>,
    ) -> Self {
        Self { doc, files, settings, tree, checkpoint: Some(checkpoint) }
    }

    /// Reports whether the document reads from a checkpoint.
    pub fn is_on_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// Returns the checkpoint that the document reads from.
    pub(crate) fn checkpoint(&self) -> Option<&CheckpointBase> {
        self.checkpoint.as_deref()
    }

    /// Reports whether an update from outside would bring anything new, changing nothing.
    ///
    /// # Errors
    ///
    /// If [`receive`](Self::receive) would reject it.
    pub fn check(&self, update: &[u8], source: UpdateSource) -> Result<bool, GateRejection> {
        self.doc.check(update, source)
    }

    /// Applies an update from outside.
    ///
    /// # Errors
    ///
    /// If the gate rejected it; then nothing has changed.
    pub fn receive(
        &mut self,
        update: &[u8],
        source: UpdateSource,
    ) -> Result<MainDocChanges, GateRejection> {
        let received = self.doc.receive(update, source)?;
        let mut changes = self.absorb(&received.scans);
        changes.parked = received.parked;
        changes.changed = received.changed;
        changes.refused = received.refused;
        Ok(changes)
    }

    /// Returns the one update that makes all `writes`, in this order; [`EMPTY_UPDATE`] if there is
    /// nothing to do. Changes nothing.
    ///
    /// # Errors
    ///
    /// If one of the writes cannot be made; then none is.
    pub fn plan(&self, writes: &[RowWrite], now: Millis) -> Result<Vec<u8>, TableError> {
        self.files.plan(&self.doc, writes, now)
    }

    /// Does the same for writes that have a time each.
    ///
    /// # Errors
    ///
    /// If one of the writes cannot be made; then none is.
    pub fn plan_each(&self, writes: &[(RowWrite, Millis)]) -> Result<Vec<u8>, TableError> {
        self.files.plan_each(&self.doc, writes.iter().map(|(write, at)| (write, *at)))
    }

    /// Returns the update that gives a setting a value, or removes it. Changes nothing.
    ///
    /// # Errors
    ///
    /// If no timestamp is left for the setting.
    pub fn plan_setting(
        &self,
        key: &str,
        value: Option<&Any>,
        now: Millis,
    ) -> Result<Vec<u8>, TableError> {
        self.settings.plan(&self.doc, key, value, now)
    }

    /// Applies an update that was planned on this very state.
    ///
    /// # Panics
    ///
    /// If it was not: updates from elsewhere go through [`receive`](Self::receive).
    pub fn commit(&mut self, update: &[u8]) -> MainDocChanges {
        if update == EMPTY_UPDATE {
            return MainDocChanges::default();
        }
        let scan = self.doc.apply_own(update);
        MainDocChanges { changed: true, ..self.absorb(&[scan]) }
    }

    /// Returns the rows.
    pub fn files(&self) -> &FilesTable {
        &self.files
    }

    /// Returns the tree.
    pub fn tree(&self) -> &TreeIndex {
        &self.tree
    }

    /// Returns the number of rows that are in memory: all of them, unless the document is on a
    /// checkpoint.
    pub fn n_rows_in_memory(&self) -> usize {
        self.files.n_in_memory().max(self.tree.nodes.n_in_memory())
    }

    /// Returns the settings.
    pub fn settings(&self) -> &WorkspaceSettings {
        &self.settings
    }

    /// Returns the schema of the workspace's rich text.
    pub fn profile(&self) -> SchemaProfile {
        match self.settings.get(PROFILE_SETTING) {
            Some(Any::String(name)) => profile_named(name).unwrap_or(DEFAULT_PROFILE),
            _ => DEFAULT_PROFILE,
        }
    }

    /// Returns how the content of a file is to be kept, in the trash or not.
    pub fn content_kind(&self, id: &FileId) -> Option<ContentRoot> {
        let entry = self.files.get(id)?;
        Some(ContentRoot::of(FileCategory::of(&entry.row.name), self.profile()))
    }

    /// Returns the document itself, for reading.
    pub fn doc(&self) -> &GatedDoc {
        &self.doc
    }

    /// Sets other ids to write under, when the old ones are used up.
    pub fn set_writer(&mut self, writer: WriterIds) {
        self.doc.protect(&[writer.rows, writer.cells, writer.meta]);
        self.files.set_writer(writer);
        self.settings.set_writer(writer.meta);
    }

    /// Returns the state vector, encoded.
    pub fn state_vector(&self) -> Vec<u8> {
        self.doc.state_vector()
    }

    /// Returns the items that a peer with the encoded state vector `remote_sv` lacks.
    ///
    /// # Errors
    ///
    /// If `remote_sv` is not a state vector, or the document is poisoned.
    pub fn encode_diff(&self, remote_sv: &[u8]) -> Result<Vec<u8>, GateRejection> {
        self.doc.encode_diff(remote_sv)
    }

    /// Returns the whole document as an update, without parked structs.
    pub fn encode_state(&self) -> Vec<u8> {
        self.doc.encode_state()
    }

    fn absorb(&mut self, scans: &[UpdateScan]) -> MainDocChanges {
        let mut changes = MainDocChanges::default();
        for scan in scans {
            changes.ids.extend(self.files.absorb(&self.doc, scan));
            changes.settings.extend(self.settings.absorb(&self.doc, scan));
        }
        if scans.len() > 1 {
            changes.ids.sort_unstable();
            changes.ids.dedup();
            changes.settings.sort_unstable();
            changes.settings.dedup();
        }
        if changes.ids.len() <= MAX_TRACED {
            let mut paths = self.tree.path_resolver();
            let before = changes.ids.iter().map(|id| paths.path_of(id));
            changes.before = before.collect();
        }
        self.tree.absorb(&self.files, &changes.ids);
        changes
    }
}

impl RowSource for MainDoc {
    fn row(&self, id: &FileId) -> Option<FileRow> {
        self.files.row(id)
    }
}
