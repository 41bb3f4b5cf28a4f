//! The core of a workspace: its documents, its log, and the locks on both.
//!
//! It knows no feature. [`commit`](crate::commit) changes it, and [`tail`](crate::tail) applies
//! what others logged; both report what happened to the features that are attached
//! ([`WorkspaceFeature`]). A feature has state of its own and gets the core as an argument, so that
//! the core owns the features and no feature owns the core.
//!
//! # Invariants
//!
//! - Locks are taken in this order: structure, tailing, main document, content document, and last
//!   those of features, under which none of the core is taken. A thread that has locked a document
//!   takes none of the first three, except for reading the main document recursively.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, RwLock};
use yfs_engine::{
    content::{ContentDoc, RunAuthor},
    id::{FileId, WorkspaceId},
    kind::ContentRoot,
    main_doc::MainDoc,
    step::StepId,
    table::NodeKind,
    time::Millis,
};
use yfs_store::{DocHead, DocName, Seq, Store};

use crate::{
    documents::DocumentPool,
    error::{Result, WorkspaceError},
    feature::WorkspaceFeature,
    freed_memory::return_freed_memory,
    options::WorkspaceOptions,
    subscription::SubscriberList,
    workspace::damage::TableDamage,
};

/// The bytes of documents that stay in memory while a workspace rests, used or not.
const RESTING_DOCUMENT_BYTES: u64 = 4 << 20;

/// What every feature of a workspace stands on.
pub(crate) struct WorkspaceCore {
    pub(crate) id: WorkspaceId,
    pub(crate) main_name: DocName,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: WorkspaceOptions,
    pub(crate) main: Arc<RwLock<MainDoc>>,
    pub(crate) documents: Arc<DocumentPool>,
    pub(crate) main_followers: SubscriberList,
    pub(crate) table_damage: TableDamage,
    /// Whether the main document read from a damaged checkpoint what is not certain, so that it is
    /// to be loaded from the log before its next use.
    pub(crate) is_main_uncertain: Arc<AtomicBool>,
    /// Locked by transactions that depend on rows: for writing by those that change rows, for
    /// reading by those that were planned from them.
    pub(crate) structure: RwLock<()>,
    /// Whether updates may be appended.
    pub(crate) is_log_open: RwLock<bool>,
    /// Locked by the thread that applies records of other processes, and by a transaction from
    /// before its rows are logged until they are applied.
    pub(crate) tailing: Mutex<()>,
    /// Every record of other processes up to this position was applied.
    pub(crate) tailed: AtomicU64,
    closed: AtomicBool,
    /// In the order in which they are called.
    pub(crate) features: Vec<Arc<dyn WorkspaceFeature>>,
}

impl WorkspaceCore {
    /// Makes the core on a main document that has the records of the log up to a position.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: WorkspaceOptions,
        (main, upto): (Arc<RwLock<MainDoc>>, Seq),
        documents: Arc<DocumentPool>,
        is_main_uncertain: Arc<AtomicBool>,
        features: Vec<Arc<dyn WorkspaceFeature>>,
    ) -> Self {
        let id = main.read().tree().workspace().clone();
        Self {
            main_name: DocName::from(&id),
            id,
            store,
            options,
            main,
            documents,
            main_followers: SubscriberList::default(),
            table_damage: TableDamage::default(),
            is_main_uncertain,
            structure: RwLock::default(),
            is_log_open: RwLock::new(true),
            tailing: Mutex::default(),
            tailed: AtomicU64::new(upto.0),
            closed: AtomicBool::new(false),
            features,
        }
    }

    /// Makes the empty document of a new file.
    pub(crate) fn new_doc(&self, id: &FileId, kind: ContentRoot) -> ContentDoc {
        let mut doc = ContentDoc::new(id, self.documents.client(), self.options.limits);
        doc.set_kind(kind);
        doc
    }

    /// Reports whether a file has this id, in the trash or not.
    pub(crate) fn is_file(&self, id: &FileId) -> bool {
        let entry = self.main.read().files().get(id);
        entry.is_some_and(|entry| entry.row.kind == NodeKind::File)
    }

    pub(crate) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Returns the author of changes that are made now on behalf of
    /// [`WorkspaceOptions::actor`](crate::WorkspaceOptions::actor).
    pub(crate) fn author_now(&self) -> RunAuthor {
        let step = self.options.step.clone();
        RunAuthor { step, ..RunAuthor::new(self.options.actor.clone(), self.now()) }
    }

    /// Makes the id of a step that begins now.
    pub(crate) fn new_step(&self) -> StepId {
        StepId::new(self.now(), self.options.ids.client_id().get())
    }

    /// Fails if the workspace is closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(WorkspaceError::Closed) } else { Ok(()) }
    }

    /// Fails if the workspace is closed or read-only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.options.read_only { Err(WorkspaceError::ReadOnly) } else { Ok(()) }
    }

    /// Closes the workspace and reports whether it was open.
    pub(crate) fn set_closed(&self) -> bool {
        !self.closed.swap(true, Ordering::AcqRel)
    }

    /// Returns the head of a document whose last record this handle appended.
    pub(crate) fn own_head(&self, seq: Seq) -> DocHead {
        DocHead { seq, origin: self.store.origin() }
    }

    /// Does the upkeep that is due while the log is idle. Each part runs even if another fails.
    pub(crate) fn upkeep(&self) -> Result<()> {
        let mut done = Ok(());
        for feature in &self.features {
            done = done.and(feature.upkeep(self));
        }
        done
    }

    /// Gives back memory that was needed for what has just happened: an exchange of a whole
    /// workspace, or a directory that was written.
    pub(crate) fn rest(&self) {
        self.features.iter().for_each(|feature| feature.rest(self));
        self.unload_idle_documents();
        self.store.release_memory();
        return_freed_memory();
    }

    pub(crate) fn unload_idle_documents(&self) -> bool {
        self.documents.unload_idle(RESTING_DOCUMENT_BYTES)
    }
}

impl fmt::Debug for WorkspaceCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkspaceCore").field("id", &self.id).finish_non_exhaustive()
    }
}
