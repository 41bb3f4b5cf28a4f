//! A workspace: the main type of this crate.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use parking_lot::RwLock;
use yfs_engine::{
    actor::Actor,
    id::{FileId, WorkspaceId},
    kind::SchemaProfile,
    main_doc::MainDoc,
    table::WriterIds,
};
use yfs_store::{DocHead, DocName, OpenOptions, SqliteStore, Store, WriterClaim};
use yfs_vfs::ChangeAuthor;

use crate::{
    Replication, WorkspaceFs,
    checkpoint::{CheckpointHome, OpenedMain},
    clock::{IdSource, RandomIds},
    documents::DocumentPool,
    error::{Result, WorkspaceError},
    load_document, log_follower,
    options::WorkspaceOptions,
    session::Session,
    state::WorkspaceState,
    store_keys::{CREATED_KEY, ID_KEY, LOG_KEY},
    workspace::damage::{note_if_unreadable, note_table_damage},
};

pub mod anchors;
pub mod blame;
mod blob_conflicts;
pub mod change_list;
pub mod compact;
pub mod past;

pub(crate) mod conflict_report;
pub mod conflicts;
pub mod damage;
pub mod damaged_blobs;
pub mod document;
mod history;
pub(crate) mod left_copies;
pub(crate) mod log_compaction;
pub mod lost_contents;
mod lost_words;
pub(crate) mod merge_records;
pub mod misplaced;
pub(crate) mod move_between;
pub mod nodes;
pub mod noted_imports;
pub mod parked;
pub mod redact;
pub mod removals;
mod row_changes;
pub mod stats;
pub mod trash;
pub mod undo;
pub mod version_thinning;
pub mod versions;
pub mod word_conflicts;

pub use self::{
    compact::Maintenance, document::Documents, history::History, nodes::Nodes, trash::Trash,
};

/// A tree of files that people, agents, tools and other machines change at the same time.
///
/// Clones are handles of the same workspace. An application should [`close`](Self::close) it at the
/// end: written changes are in the log either way, but only closing reports sizes and releases
/// client ids.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(crate) state: Arc<WorkspaceState>,
}

impl Workspace {
    /// Creates an empty workspace in a store that contains none.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::Exists`] if the store contains a workspace.
    pub fn create(store: Arc<dyn Store>, options: WorkspaceOptions) -> Result<Self> {
        let id = options.ids.file_id();
        let stored = store.init_meta(ID_KEY, id.as_str().as_bytes())?;
        if stored != id.as_str().as_bytes() {
            return Err(WorkspaceError::Exists);
        }
        let now = options.clock.now().0.to_string();
        store.init_meta(CREATED_KEY, now.as_bytes())?;
        let profile = options.profile;
        let workspace = Self::open(store, options)?;
        workspace.state.set_profile(profile)?;
        Ok(workspace)
    }

    /// Opens the workspace in a store. Two open workspaces on one store need two handles on it:
    /// each takes the records of its handle for its own, and does not apply them again.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::NotFound`] if the store contains none.
    pub fn open(store: Arc<dyn Store>, options: WorkspaceOptions) -> Result<Self> {
        let id = stored_id(&*store)?.ok_or(WorkspaceError::NotFound)?;
        let claim = if options.read_only { None } else { Some(store.claim_writer()?) };
        if !options.read_only && store.get_meta(LOG_KEY)?.is_none() {
            // Random even with other options: it distinguishes stores, and is never replicated.
            store.init_meta(LOG_KEY, RandomIds.file_id().as_str().as_bytes())?;
        }
        let checkpoint = CheckpointHome::of(&store, &id, options.limits);
        let writer = || writer_ids(claim.as_ref(), &options);
        let opened = checkpoint.as_ref().map(|home| home.open(writer())).transpose()?.flatten();
        let OpenedMain { mut main, report, n_tail } = match opened {
            Some(opened) => opened,
            None => load_main(&*store, MainDoc::new(&id, writer(), options.limits))?,
        };
        if report.is_incomplete() || damage::was_set_aside(&*store, &id)? {
            // Unreadable records may have been written under these ids, whose clocks would be
            // reused.
            main.set_writer(options.fresh_writer_ids());
        }
        let content_client =
            claim.as_ref().map_or_else(|| options.ids.client_id(), |claim| claim.content);
        let limits = options.limits;
        let new_doc =
            move |id: &FileId, client| yfs_engine::content::ContentDoc::new(id, client, limits);
        let provider = options.provider.clone();
        let main = Arc::new(RwLock::new(main));
        let names = main.clone();
        // Called while documents are locked, also by threads that have locked `main` already.
        let kind_of = move |id: &FileId| names.read_recursive().content_kind(id);
        let (new_doc, kind_of) = (Box::new(new_doc), Box::new(kind_of));
        let client = (content_client, options.ids.clone());
        let budget = options.doc_budget;
        let documents =
            DocumentPool::new(store.clone(), budget, provider, client, new_doc, kind_of);
        let follow = options.follow;
        if let Some(home) = &checkpoint {
            home.note_uncovered(n_tail);
        }
        let upto = report.upto;
        let is_damaged = report.n_damaged > 0;
        let is_without_records = report.head == DocHead::ZERO;
        let main = (main, upto);
        let state = WorkspaceState::new(store, options, main, documents, claim, checkpoint);
        let state = Arc::new(state);
        if is_damaged {
            note_table_damage(&state)?;
        }
        if is_without_records {
            note_if_unreadable(&state)?;
        }
        if follow {
            log_follower::spawn(state.core());
        }
        Ok(Self { state })
    }

    /// Creates a workspace in an SQLite file that does not exist yet.
    pub fn create_at(file: &Path, options: WorkspaceOptions) -> Result<Self> {
        Self::create(create_store(file, &options)?, options)
    }

    /// Opens the workspace in an SQLite file; with `read_only`, also in a directory that cannot be
    /// written.
    pub fn open_at(file: &Path, options: WorkspaceOptions) -> Result<Self> {
        let opening = OpenOptions { read_only: options.read_only, ..OpenOptions::default() };
        let store = SqliteStore::open_with_key(file, opening, options.key.as_deref())?;
        Self::open(Arc::new(store), options)
    }

    pub(crate) fn of(state: Arc<WorkspaceState>) -> Self {
        Self { state }
    }

    /// Returns the id of the workspace, which is the guid of its main document.
    pub fn id(&self) -> &WorkspaceId {
        &self.state.id
    }

    /// Returns the schema of the workspace's rich text.
    pub fn profile(&self) -> SchemaProfile {
        self.state.main.read().profile()
    }

    /// Returns the workspace as a filesystem, on behalf of [`WorkspaceOptions::actor`].
    pub fn fs(&self) -> WorkspaceFs {
        self.fs_for(self.state.options.actor.clone())
    }

    /// Returns the workspace as a filesystem, on behalf of `actor`.
    pub fn fs_for(&self, actor: Actor) -> WorkspaceFs {
        let step = self.state.options.step.clone();
        WorkspaceFs::new(self.state.clone(), ChangeAuthor { actor, label: None, step })
    }

    /// Opens a session on behalf of `actor`: a synchronous view that remembers the content that was
    /// read through it.
    pub fn session(&self, actor: Actor) -> Session {
        Session::new(self.fs_for(actor))
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.state.store
    }

    /// Returns the history of files: versions, authors, anchors, redaction.
    pub fn history(&self) -> History<'_> {
        History { state: &self.state }
    }

    /// Returns the trash: removed objects that can be restored.
    pub fn trash(&self) -> Trash<'_> {
        Trash { state: &self.state }
    }

    /// Returns files, directories and links by their ids.
    pub fn nodes(&self) -> Nodes<'_> {
        Nodes { state: &self.state }
    }

    /// Returns the content documents, for editors and servers.
    pub fn documents(&self) -> Documents<'_> {
        Documents { state: &self.state }
    }

    /// Returns the exchange of the log with other stores of this workspace.
    pub fn replication(&self) -> Replication<'_> {
        Replication { state: &self.state }
    }

    /// Returns the upkeep: sizes, compaction, quarantine, repairs.
    pub fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { state: &self.state }
    }

    /// Applies the records that other processes have logged; reports whether there were any.
    pub fn catch_up(&self) -> Result<bool> {
        self.state.check_open()?;
        self.state.catch_up()
    }

    /// Syncs the store; everything written so far survives a power cut once it returns.
    pub fn flush(&self) -> Result<()> {
        self.state.check_open()?;
        if !self.state.options.read_only {
            // Upkeep: an error here must not make the flush fail.
            self.state.reports.report_all(&self.state).ok();
        }
        Ok(self.state.store.flush()?)
    }

    /// Flushes and closes the workspace, for all handles on it.
    pub fn close(self) -> Result<()> {
        close(&self.state)
    }
}

impl Drop for WorkspaceState {
    fn drop(&mut self) {
        // There is no caller to return an error to. Acknowledged changes are in the log.
        close(self).ok();
    }
}

fn close(state: &WorkspaceState) -> Result<()> {
    let is_writer = !state.options.read_only && state.check_open().is_ok();
    if is_writer {
        state.features.iter().for_each(|feature| feature.closing(state));
        if !state.is_short_of_memory.load(Ordering::Relaxed) {
            state.features.iter().for_each(|feature| feature.last_upkeep(state));
        }
    }
    if !state.set_closed() {
        return Ok(());
    }
    // Client ids are released only after the last append under them.
    state.close_log();
    let claim: Option<WriterClaim> = state.claim.lock().take();
    if let Some(claim) = claim {
        state.store.release_writer(claim)?;
    }
    Ok(state.store.flush()?)
}

/// Loads the main document from the log.
fn load_main(store: &dyn Store, mut main: MainDoc) -> Result<OpenedMain> {
    let name = DocName::from(main.tree().workspace());
    let report = load_document::main(store, &name, &mut main)?;
    // A checkpoint would have saved reading all rows.
    let n_tail = if report.is_incomplete() { 0 } else { main.files().len() as u64 };
    Ok(OpenedMain { main, report, n_tail })
}

/// Creates the store in a file that does not exist yet, encrypted if the options have a key.
pub(crate) fn create_store(file: &Path, options: &WorkspaceOptions) -> Result<Arc<SqliteStore>> {
    let creating = OpenOptions { create: true, create_new: true, ..OpenOptions::default() };
    Ok(Arc::new(SqliteStore::open_with_key(file, creating, options.key.as_deref())?))
}

fn stored_id(store: &dyn Store) -> Result<Option<WorkspaceId>> {
    let Some(bytes) = store.get_meta(ID_KEY)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    FileId::parse(&text).map(Some).map_err(|_| WorkspaceError::NoDocument(text.into_owned()))
}

fn writer_ids(claim: Option<&WriterClaim>, options: &WorkspaceOptions) -> WriterIds {
    match claim {
        Some(claim) => WriterIds { rows: claim.rows, cells: claim.cells, meta: claim.meta },
        None => options.fresh_writer_ids(),
    }
}
