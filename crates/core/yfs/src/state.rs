//! The state that all handles of one workspace share, and how it follows the log.
//!
//! [`commit`](crate::commit) changes it; [`WorkspaceState::catch_up`] applies what other processes
//! logged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::{Condvar, Mutex, RwLock};
use yfs_engine::{
    content::{ContentDoc, RunAuthor},
    gate::UpdateSource,
    id::{FileId, WorkspaceId},
    kind::{ContentRoot, PROFILE_SETTING, SchemaProfile, profile_name},
    main_doc::MainDoc,
    step::StepId,
    table::NodeKind,
    time::Millis,
};
use yfs_store::{
    AppendReceipt, DocName, ReloadNotice, Seq, Store, TailPage, WipePacer, WriterClaim,
};
use yfs_vfs::FileChange;

use crate::{
    cache::TextCache,
    change_replay::ChangeReplay,
    checkpoint::CheckpointHome,
    commit::{MainChange, StructureAccess, Transaction},
    documents::DocumentPool,
    error::{Result, WorkspaceError},
    events::{EventLog, row_events},
    heavy_writes::HeavyWrites,
    live_facts::LiveFacts,
    options::WorkspaceOptions,
    replica::{LogMark, OpenSettlements},
    search::SearchIndexHome,
    store_keys::LOG_KEY,
    subscription::SubscriberList,
    workspace::{damage::TableDamage, parked::ParkedChanges},
};

/// The number of updates of the main document that a subscriber may fall behind.
pub(crate) const MAIN_BACKLOG: usize = 16_384;

/// The shortest time between two wipes that peers cause, in milliseconds.
const WIPE_GAP_MS: i64 = 60_000;

/// The state that all handles of one workspace share.
pub(crate) struct WorkspaceState {
    pub(crate) id: WorkspaceId,
    pub(crate) main_name: DocName,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: WorkspaceOptions,
    pub(crate) main: Arc<RwLock<MainDoc>>,
    pub(crate) documents: Arc<DocumentPool>,
    pub(crate) heavy_writes: HeavyWrites,
    pub(crate) texts: TextCache,
    pub(crate) live: LiveFacts,
    pub(crate) events: EventLog,
    /// The changes that were replayed last. Locked while they are read from the log.
    pub(crate) replay: Mutex<Option<ChangeReplay>>,
    /// Whether the end leaves compaction and checkpoints to the next process.
    pub(crate) is_short_of_memory: AtomicBool,
    /// Files whose `stat` cell is outdated, with the time of the first unreported edit.
    pub(crate) unreported: Mutex<BTreeMap<FileId, UnreportedEdit>>,
    /// Documents that this process wrote to since it last checked whether they are due for
    /// compaction.
    pub(crate) written: Mutex<BTreeSet<DocName>>,
    /// Documents from which peers redacted content that the log may still contain.
    pub(crate) redacted: Mutex<BTreeSet<DocName>>,
    /// Limits the rate of the wipes that redactions by peers cause.
    pub(crate) wipe_pacer: Mutex<WipePacer>,
    /// Changes of what waits in documents that the store does not have yet.
    pub(crate) parked: Mutex<ParkedChanges>,
    pub(crate) main_followers: SubscriberList,
    pub(crate) claim: Mutex<Option<WriterClaim>>,
    /// The checkpoint of the main document, if the store has a place for one.
    pub(crate) checkpoint: Option<CheckpointHome>,
    /// The index for search, if there is one.
    pub(crate) search: Option<SearchIndexHome>,
    /// Locked by transactions that depend on rows: for writing by those that change rows, for
    /// reading by those that were planned from them.
    pub(crate) structure: RwLock<()>,
    /// Whether updates may be appended.
    pub(crate) is_log_open: RwLock<bool>,
    /// Locked by the thread that applies records of other processes, and by a transaction from
    /// before its rows are logged until they are applied.
    pub(crate) tailing: Mutex<()>,
    /// Every record of other processes up to this position was applied.
    tailed: AtomicU64,
    /// The last mark of the log that was given to a replica.
    pub(crate) mark: Mutex<Option<LogMark>>,
    /// The exchanges that wait for blobs.
    pub(crate) settlements: Mutex<OpenSettlements>,
    pub(crate) table_damage: TableDamage,
    closed: AtomicBool,
    /// Wakes the follower when the workspace closes.
    pub(crate) wake: (Mutex<()>, Condvar),
}

/// An edit that its author has not yet written to the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnreportedEdit {
    pub(crate) first: Millis,
    pub(crate) last: Millis,
    /// Whether the row's time was set since. The content is then settled, and the row is kept.
    pub(crate) is_time_set: bool,
}

/// Returns the name of a store's log; a store that was never written to has none.
fn log_name(store: &dyn Store) -> Option<String> {
    let name = store.get_meta(LOG_KEY).ok().flatten()?;
    String::from_utf8(name).ok()
}

impl WorkspaceState {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: WorkspaceOptions,
        main: Arc<RwLock<MainDoc>>,
        documents: Arc<DocumentPool>,
        claim: Option<WriterClaim>,
        checkpoint: Option<CheckpointHome>,
        upto: Seq,
    ) -> Self {
        let id = main.read().tree().workspace().clone();
        Self {
            main_name: DocName::from(&id),
            events: EventLog::new(store.origin(), log_name(&*store)),
            replay: Mutex::new(None),
            id,
            search: SearchIndexHome::of(&store, &options),
            store,
            heavy_writes: HeavyWrites::default(),
            texts: TextCache::new(options.text_budget),
            options,
            main,
            documents,
            live: LiveFacts::default(),
            is_short_of_memory: AtomicBool::new(false),
            unreported: Mutex::default(),
            written: Mutex::default(),
            redacted: Mutex::default(),
            wipe_pacer: Mutex::new(WipePacer::new(WIPE_GAP_MS)),
            parked: Mutex::default(),
            main_followers: SubscriberList::default(),
            claim: Mutex::new(claim),
            checkpoint,
            structure: RwLock::default(),
            is_log_open: RwLock::new(true),
            tailing: Mutex::default(),
            tailed: AtomicU64::new(upto.0),
            mark: Mutex::default(),
            settlements: Mutex::default(),
            table_damage: TableDamage::default(),
            closed: AtomicBool::new(false),
            wake: Default::default(),
        }
    }

    /// Makes the empty document of a new file.
    pub(crate) fn new_doc(&self, id: &FileId, kind: ContentRoot) -> ContentDoc {
        let mut doc = ContentDoc::new(id, self.documents.client(), self.options.limits);
        doc.set_kind(kind);
        doc
    }

    /// Sets the schema of the workspace's rich text.
    pub(crate) fn set_profile(&self, profile: SchemaProfile) -> Result<()> {
        let value = yfs_engine::Any::from(profile_name(profile));
        self.commit(StructureAccess::Change, None, |main| {
            let update = main.plan_setting(PROFILE_SETTING, Some(&value), self.now())?;
            Ok(Transaction { main: MainChange::Local(update), ..Transaction::of(()) })
        })?;
        Ok(())
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
        let was_open = !self.closed.swap(true, Ordering::AcqRel);
        let _guard = self.wake.0.lock();
        self.wake.1.notify_all();
        was_open
    }

    /// Applies the records that other processes have logged since the last call. Reports whether
    /// there were any.
    pub(crate) fn catch_up(&self) -> Result<bool> {
        let _tailing = self.tailing.lock();
        let mut any = self.replace_main_if_uncertain()?;
        while self.store.head()? > self.tailed() {
            let own = self.store.origin();
            let tail = self.store.tail(self.tailed(), &|doc, origin| {
                let is_known = || self.documents.has_slot(&FileId::from(doc));
                origin != own && (*doc == self.main_name || is_known())
            })?;
            let mut events = Vec::new();
            let applied = self.apply_page(&tail, &mut events);
            self.events.push(events);
            any |= applied?;
            self.tailed.fetch_max(tail.upto.0, Ordering::AcqRel);
            self.events.note_records();
            if !tail.more {
                break;
            }
        }
        // Applying records reads rows.
        any |= self.replace_main_if_uncertain()?;
        Ok(any)
    }

    /// Reports whether the main document had to be replaced. The caller holds `tailing`.
    fn replace_main_if_uncertain(&self) -> Result<bool> {
        let must_replace = self.must_replace_main();
        if must_replace {
            self.replace_main()?;
        }
        Ok(must_replace)
    }

    /// Applies all records that other processes logged before this call.
    ///
    /// # Cost
    ///
    /// One read of the log's head if there are none.
    pub(crate) fn refresh(&self) -> Result<()> {
        self.table_damage.check()?;
        self.refresh_damaged()
    }

    /// Does the same if records of the files table are damaged: for callers that do not take what
    /// is left for the workspace.
    pub(crate) fn refresh_damaged(&self) -> Result<()> {
        self.check_open()?;
        if self.must_replace_main() || self.store.head()? > self.tailed() {
            self.catch_up()?;
        }
        Ok(())
    }

    /// Returns the position up to which the log was applied.
    pub(crate) fn tailed(&self) -> Seq {
        Seq(self.tailed.load(Ordering::Acquire))
    }

    /// Skips this process's records that directly follow the applied position: no other records are
    /// in between.
    pub(crate) fn skip_own_records(&self, appended: &AppendReceipt) {
        let (before, last) = (appended.first.0 - 1, appended.last.0);
        // If other processes appended in between, `catch_up` reads the page instead.
        self.tailed.compare_exchange(before, last, Ordering::AcqRel, Ordering::Acquire).ok();
    }

    /// Applies the records of other processes, rows and contents, and adds the events. They are
    /// published once all of it is applied, so that a watcher of a row finds the content of the
    /// same page.
    fn apply_page(&self, tail: &TailPage, events: &mut Vec<FileChange>) -> Result<bool> {
        for reload in &tail.reload {
            self.reload(reload, events)?;
        }
        for record in &tail.records {
            if record.doc == self.main_name {
                self.apply_main_record(&record.data, events);
            } else {
                self.documents.acquire(&FileId::from(&record.doc)).tail(record);
            }
        }
        let others = tail.touched.iter().filter(|touched| !touched.own);
        let docs: Vec<&DocName> = others.map(|touched| &touched.doc).collect();
        let ids = docs.iter().filter(|doc| ***doc != self.main_name).map(|doc| FileId::from(*doc));
        let ids: Vec<FileId> = ids.collect();
        let now = self.now();
        for id in &ids {
            self.forget_content(id, now);
        }
        self.events.add_contents(&self.main, self.now(), &ids, None, events);
        Ok(!docs.is_empty() || !tail.reload.is_empty())
    }

    /// Applies a document after compaction removed some of its records before they were tailed.
    fn reload(&self, reload: &ReloadNotice, events: &mut Vec<FileChange>) -> Result<()> {
        if reload.doc == self.main_name {
            let loaded = self.store.load(&reload.doc)?;
            let updates = loaded.updates.iter().map(|record| &record.data);
            for update in loaded.snapshot.iter().chain(updates) {
                self.apply_main_record(update, events);
            }
            return Ok(());
        }
        let id = FileId::from(&reload.doc);
        if self.documents.has_slot(&id) {
            self.documents.acquire(&id).reload(reload.upto)?;
        }
        self.forget_content(&id, self.now());
        self.events.add_contents(&self.main, self.now(), &[id], None, events);
        Ok(())
    }

    fn apply_main_record(&self, update: &[u8], events: &mut Vec<FileChange>) {
        // The gate rejects the same records in every process.
        let received = self.main.write().receive(update, UpdateSource::Store);
        self.note_uncovered(update);
        if let Ok(changes) = received {
            events.extend(row_events(&self.main.read(), &changes, self.now()));
        }
        self.main_followers.publish(update);
    }

    /// Forgets what is cached of a content, after others changed it.
    fn forget_content(&self, id: &FileId, at: Millis) {
        self.texts.forget(id);
        self.live.record_change(id, at);
    }
}

impl fmt::Debug for WorkspaceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkspaceState").field("id", &self.id).finish_non_exhaustive()
    }
}
