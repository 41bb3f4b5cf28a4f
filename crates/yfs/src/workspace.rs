//! A workspace: what an application opens.

use std::{path::Path, sync::Arc};

use parking_lot::RwLock;
use yfs_engine::{
    actor::Actor,
    id::{FileId, WorkspaceId},
    kind::SchemaProfile,
    main_doc::MainDoc,
    path::VPath,
    table::WriterIds,
};
use yfs_store::{DocName, SqliteStore, Store, WriterClaim};
use yfs_vfs::ChangeAuthor;

use crate::{
    WorkspaceFs,
    clock::{IdSource, RandomIds},
    document_port::DocPort,
    documents::{DocHandle, DocumentPool},
    error::{Result, WorkspaceError},
    load_document, log_follower,
    options::WorkspaceOptions,
    session::Session,
    state::WorkspaceState,
};

pub mod anchors;
pub mod blame;
pub mod compact;
pub mod conflicts;
pub mod document;
mod history;
pub mod move_between;
pub mod nodes;
pub mod redact;
pub mod stats;
pub mod trash;
pub mod versions;

/// The key under which the store keeps the workspace's id.
pub(crate) const ID_KEY: &str = "workspace";

/// The key under which the store keeps when the workspace was made, in milliseconds as decimal digits.
pub(crate) const CREATED_KEY: &str = "created";

/// The key under which the store keeps the name of its log, which no other store has.
pub(crate) const LOG_KEY: &str = "log";

/// A tree of files that people, agents, tools and other machines change at the same time.
///
/// Clones are handles on the same workspace. [`close`](Self::close) it in the end: what was written
/// is in the log either way, but only closing reports sizes and gives client ids back.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(crate) state: Arc<WorkspaceState>,
}

impl Workspace {
    /// Makes an empty workspace in a store that holds none.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::Exists`] if the store holds a workspace.
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

    /// Opens the workspace that the store holds.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::NotFound`] if it holds none.
    pub fn open(store: Arc<dyn Store>, options: WorkspaceOptions) -> Result<Self> {
        let id = stored_id(&*store)?.ok_or(WorkspaceError::NotFound)?;
        let claim = if options.read_only { None } else { Some(store.claim_writer()?) };
        if !options.read_only && store.get_meta(LOG_KEY)?.is_none() {
            // Random whatever the options say: it tells stores apart, and is nothing that replicates.
            store.init_meta(LOG_KEY, RandomIds.file_id().as_str().as_bytes())?;
        }
        let mut main = MainDoc::new(&id, writer_ids(claim.as_ref(), &options), options.limits);
        let report = load_document::main(&*store, &DocName::from(&id), &mut main)?;
        if report.is_incomplete() {
            // What cannot be read may have been written under these ids, whose clocks would be
            // reused.
            main.set_writer(writer_ids(None, &options));
        }
        let content_client =
            claim.as_ref().map_or_else(|| options.ids.client_id(), |it| it.content);
        let limits = options.limits;
        let new_doc =
            move |id: &FileId, client| yfs_engine::content::ContentDoc::new(id, client, limits);
        let provider = options.provider.clone();
        let main = Arc::new(RwLock::new(main));
        let names = main.clone();
        // Called while documents are locked, also by threads that hold `main` already.
        let kind_of = move |id: &FileId| names.read_recursive().content_kind(id);
        let (new_doc, kind_of) = (Box::new(new_doc), Box::new(kind_of));
        let client = (content_client, options.ids.clone());
        let budget = options.doc_budget;
        let documents =
            DocumentPool::new(store.clone(), budget, provider, client, new_doc, kind_of);
        let follow = options.follow;
        let state = WorkspaceState::new(
            store,
            options,
            main,
            documents,
            claim,
            content_client,
            report.upto,
        );
        let state = Arc::new(state);
        if follow {
            log_follower::spawn(&state);
        }
        Ok(Self { state })
    }

    /// Makes a workspace in an SQLite file that does not exist yet.
    pub fn create_at(file: &Path, options: WorkspaceOptions) -> Result<Self> {
        Self::create(Arc::new(SqliteStore::create_new(file)?), options)
    }

    /// Opens the workspace in an SQLite file; to read it only, also where nothing may be written.
    pub fn open_at(file: &Path, options: WorkspaceOptions) -> Result<Self> {
        let open = if options.read_only { SqliteStore::open_read_only } else { SqliteStore::open };
        Self::open(Arc::new(open(file)?), options)
    }

    pub(crate) fn of(state: Arc<WorkspaceState>) -> Self {
        Self { state }
    }

    /// Returns the id of the workspace, which is the guid of its main document.
    pub fn id(&self) -> &WorkspaceId {
        &self.state.id
    }

    /// Returns which schema the workspace's rich text keeps.
    pub fn profile(&self) -> SchemaProfile {
        self.state.main.read().profile()
    }

    /// Returns the workspace as a filesystem, on behalf of whoever [`WorkspaceOptions::actor`] names.
    pub fn fs(&self) -> WorkspaceFs {
        self.fs_for(self.state.options.actor.clone())
    }

    /// Returns the workspace as a filesystem, on behalf of `actor`.
    pub fn fs_for(&self, actor: Actor) -> WorkspaceFs {
        WorkspaceFs::new(self.state.clone(), ChangeAuthor { actor, label: None })
    }

    /// Opens a session on behalf of `actor`: a synchronous view that remembers what was read
    /// through it.
    pub fn session(&self, actor: Actor) -> Session {
        Session::new(self.fs_for(actor))
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.state.store
    }

    /// Opens a document for a server of the sync protocol: the main document by the workspace's id,
    /// or a file's content by the file's id.
    pub fn port(&self, guid: &str) -> Result<DocPort> {
        DocPort::open(&self.state, guid)
    }

    /// Returns where an object is; nothing if it is in the trash, or unknown.
    pub fn path_of(&self, id: &FileId) -> Result<Option<VPath>> {
        self.state.refresh()?;
        Ok(self.state.main.read().tree().path_of(id))
    }

    /// Returns how many content documents are in memory, and their estimated size in bytes.
    pub fn loaded(&self) -> (usize, u64) {
        self.state.documents.usage()
    }

    /// Returns a handle that keeps a file's content document in memory (seed 001, `acquire`).
    ///
    /// # Errors
    ///
    /// As looking up a path; [`WorkspaceError::NoFile`] for what has no document.
    pub fn acquire(&self, path: &VPath) -> Result<DocHandle> {
        let id = self.file_id(path)?;
        Ok(self.state.documents.acquire(&id))
    }

    /// Returns a handle if the content document is in memory (seed 001, `peek`).
    pub fn peek(&self, path: &VPath) -> Result<Option<DocHandle>> {
        let id = self.file_id(path)?;
        Ok(self.state.documents.peek(&id))
    }

    /// Reads a file's text into the cache and returns it; the document does not stay (seed 001,
    /// `loadAndCache`).
    pub fn load_and_cache(&self, path: &VPath) -> Result<Arc<str>> {
        let id = self.file_id(path)?;
        Ok(self.state.text(&id)?.content)
    }

    /// Takes in what other processes have logged; returns whether there was anything.
    pub fn catch_up(&self) -> Result<bool> {
        self.state.check_open()?;
        self.state.catch_up()
    }

    /// Returns when everything written so far survives a power cut.
    pub fn flush(&self) -> Result<()> {
        self.state.check_open()?;
        if !self.state.options.read_only {
            // Upkeep: whether sizes can be written to rows does not decide whether work is safe.
            self.state.report_all().ok();
        }
        Ok(self.state.store.flush()?)
    }

    /// Flushes and closes the workspace, for all handles on it.
    pub fn close(self) -> Result<()> {
        close(&self.state)
    }

    fn file_id(&self, path: &VPath) -> Result<FileId> {
        self.state.refresh()?;
        Ok(self.state.resolve_file(path)?)
    }
}

impl Drop for WorkspaceState {
    fn drop(&mut self) {
        // A failure has no caller to be returned to. What was acknowledged is in the log.
        close(self).ok();
    }
}

fn close(state: &WorkspaceState) -> Result<()> {
    let is_writer = !state.options.read_only && state.check_open().is_ok();
    if is_writer {
        // Upkeep: what is not reported or compacted now is so by the next process.
        state.report_all().ok();
        state.compact_all_due().ok();
    }
    if !state.set_closed() {
        return Ok(());
    }
    // Client ids are given back only after the last append under them.
    state.close_log();
    let claim: Option<WriterClaim> = state.claim.lock().take();
    if let Some(claim) = claim {
        state.store.release_writer(claim)?;
    }
    Ok(state.store.flush()?)
}

fn stored_id(store: &dyn Store) -> Result<Option<WorkspaceId>> {
    let Some(bytes) = store.get_meta(ID_KEY)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    FileId::parse(&text).map(Some).map_err(|_| WorkspaceError::NoDocument(text.into_owned()))
}

fn writer_ids(claim: Option<&WriterClaim>, options: &WorkspaceOptions) -> WriterIds {
    match claim {
        Some(claim) => WriterIds { rows: claim.rows, cells: claim.cells, meta: claim.meta },
        None => {
            let random = || options.ids.client_id();
            WriterIds { rows: random(), cells: random(), meta: random() }
        }
    }
}
