//! The state behind a [`Workspace`](crate::Workspace), and the two ways in which it changes.
//!
//! *Structure* (rows of the main document) is conditional: a plan is made against a state, and the
//! log takes it only if that state is still the head. Where another process was faster, the plan is
//! made again. *Content* merges, so that an update is appended whatever else was logged.
//!
//! # Invariants
//!
//! - The main document changes only under `log`, and only by updates that the store has taken.
//! - Locks are taken in this order: `log`, `main`, a document of the pool. Nobody takes `log` or `main`
//!   while holding a document, nor a second document without `log`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use yfs_engine::{
    actor::Actor,
    content::ContentDoc,
    gate::Source,
    id::{ClientId, FileId, WorkspaceId},
    kind::{ContentKind, PROFILE_SETTING, Profile, profile_name},
    main_doc::{EMPTY_UPDATE, MainDoc},
    table::{NodeKind, RowWrite},
    time::Millis,
};
use yfs_store::{
    Appended, Batch, DocFact, DocName, Reload, Seq, Store, StoreError, Tail, WriterClaim,
};
use yfs_vfs::Change;

use crate::{
    cache::TextCache,
    error::{Result, WorkspaceError},
    events::{EventLog, row_events},
    live::LiveFacts,
    options::Options,
    pool::Pool,
    replay::Replay,
    replica::Mark,
    together::{Becomes, DocEdit, LockedDocs, Seen},
    updates::Followers,
};

/// How many updates of the main document a subscriber may fall behind.
pub(crate) const MAIN_BACKLOG: usize = 16_384;

/// Everything that handles on one workspace share.
pub(crate) struct Shared {
    pub(crate) id: WorkspaceId,
    pub(crate) main_name: DocName,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: Options,
    pub(crate) main: Arc<RwLock<MainDoc>>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) texts: TextCache,
    pub(crate) live: LiveFacts,
    pub(crate) events: EventLog,
    /// What was told again last. Held while it is made; `log` may be taken meanwhile.
    pub(crate) replay: Mutex<Option<Replay>>,
    /// Files whose `stat` cell lags behind, and since when.
    pub(crate) unreported: Mutex<BTreeMap<FileId, Unreported>>,
    /// Documents that this process wrote to since it last looked whether they are to be compacted.
    pub(crate) written: Mutex<BTreeSet<DocName>>,
    /// Documents of which peers erased content, and whose log may still hold it.
    pub(crate) redacted: Mutex<BTreeSet<DocName>>,
    pub(crate) main_followers: Followers,
    pub(crate) claim: Mutex<Option<WriterClaim>>,
    /// Under which client this process writes content.
    content_client: ClientId,
    log: Mutex<LogState>,
    /// The mark in the log that was handed out last.
    pub(crate) mark: Mutex<Option<Mark>>,
    closed: AtomicBool,
    /// Wakes the follower when the workspace closes.
    pub(crate) wake: (Mutex<()>, Condvar),
}

/// How far this process has read the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogState {
    /// Every record up to here has been taken in.
    tailed: Seq,
    /// The main document holds everything of its log up to here.
    main_seen: Seq,
}

/// An edit that its author has not yet written to the row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unreported {
    pub(crate) first: Millis,
    pub(crate) last: Millis,
}

/// A change of structure that has been checked and not yet made.
#[derive(Debug)]
pub(crate) struct Plan<T> {
    /// The rows to write.
    pub(crate) writes: Vec<RowWrite>,
    /// Documents that begin with it.
    pub(crate) contents: Vec<NewDoc>,
    /// Contents that change with it.
    pub(crate) edits: Vec<DocEdit>,
    /// Contents that it was made from, and that must still be so.
    pub(crate) seen: Vec<Seen>,
    /// What the caller wants to know afterwards.
    pub(crate) value: T,
}

/// Returns the name of a store's log; a store that was never written to has none.
fn log_name(store: &dyn Store) -> Option<String> {
    let name = store.get_meta(crate::workspace::LOG_KEY).ok().flatten()?;
    String::from_utf8(name).ok()
}

impl LogState {
    /// Passes over own records that directly follow what was read: nothing of others is between.
    fn pass_own(&mut self, appended: &Appended) {
        if appended.first.0 == self.tailed.0 + 1 {
            self.tailed = appended.last;
        }
    }
}

/// A document that begins with the row of its file.
#[derive(Debug, Clone)]
pub(crate) struct NewDoc {
    /// The file.
    pub(crate) id: FileId,
    /// The first update.
    pub(crate) update: Vec<u8>,
    /// The length of the text; nothing if the file holds a blob.
    pub(crate) text_size: Option<u64>,
}

impl NewDoc {
    /// Returns what a listing wants to know of it, so that nobody reads it for that.
    fn fact(&self) -> Option<(DocName, DocFact)> {
        let size = self.text_size?;
        Some((DocName::from(&self.id), DocFact { upto: Seq::ZERO, size, hash: None }))
    }
}

impl<T> Plan<T> {
    /// Makes a plan that writes rows only.
    pub(crate) fn rows(writes: Vec<RowWrite>, value: T) -> Self {
        Self { writes, contents: Vec::new(), edits: Vec::new(), seen: Vec::new(), value }
    }
}

impl Shared {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: Options,
        main: Arc<RwLock<MainDoc>>,
        pool: Arc<Pool>,
        claim: Option<WriterClaim>,
        content_client: ClientId,
        upto: Seq,
    ) -> Self {
        let id = main.read().tree().workspace().clone();
        Self {
            main_name: DocName::from(&id),
            events: EventLog::new(store.origin(), log_name(&*store)),
            replay: Mutex::new(None),
            id,
            store,
            texts: TextCache::new(options.text_budget),
            options,
            main,
            pool,
            live: LiveFacts::default(),
            unreported: Mutex::default(),
            written: Mutex::default(),
            redacted: Mutex::default(),
            main_followers: Followers::default(),
            claim: Mutex::new(claim),
            content_client,
            log: Mutex::new(LogState { tailed: upto, main_seen: upto }),
            mark: Mutex::default(),
            closed: AtomicBool::new(false),
            wake: Default::default(),
        }
    }

    /// Makes the empty document of a new file.
    pub(crate) fn new_doc(&self, id: &FileId, kind: ContentKind) -> ContentDoc {
        let mut doc = ContentDoc::new(id, self.content_client, self.options.limits);
        doc.set_kind(kind);
        doc
    }

    /// Says which schema the workspace's rich text keeps.
    pub(crate) fn set_profile(&self, profile: Profile) -> Result<()> {
        self.check_writable()?;
        let mut log = self.log.lock();
        let value = yfs_engine::Any::from(profile_name(profile));
        loop {
            self.catch_up_locked(&mut log)?;
            let update =
                self.main.read().plan_setting(PROFILE_SETTING, Some(&value), self.now())?;
            let batch = Batch::one(self.main_name.clone(), update.clone(), self.now());
            match self.store.append(batch.expecting(self.main_name.clone(), log.main_seen)) {
                Ok(appended) => {
                    log.main_seen = appended.last;
                    log.pass_own(&appended);
                    self.main.write().commit(&update);
                    self.publish_main(&update);
                    return Ok(());
                }
                Err(StoreError::HeadMoved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Tells whether there is a file of this id, in the trash or not.
    pub(crate) fn is_file(&self, id: &FileId) -> bool {
        let entry = self.main.read().files().get(id);
        entry.is_some_and(|entry| entry.row.kind == NodeKind::File)
    }

    /// Tells whether a file is in the trash or gone, once what is being logged has been taken in.
    pub(crate) fn is_trashed(&self, id: &FileId) -> bool {
        let _log = self.log.lock();
        let entry = self.main.read().files().get(id);
        entry.is_none_or(|entry| entry.row.trashed_at.is_some())
    }

    pub(crate) fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Refuses where the workspace is closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(WorkspaceError::Closed) } else { Ok(()) }
    }

    /// Refuses where the workspace is closed or not to be written.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.options.read_only { Err(WorkspaceError::ReadOnly) } else { Ok(()) }
    }

    /// Closes the workspace; tells whether it was open.
    pub(crate) fn set_closed(&self) -> bool {
        let was_open = !self.closed.swap(true, Ordering::AcqRel);
        let _guard = self.wake.0.lock();
        self.wake.1.notify_all();
        was_open
    }

    /// Takes in what others have logged since the last look.
    pub(crate) fn catch_up(&self) -> Result<bool> {
        self.catch_up_locked(&mut self.log.lock())
    }

    /// Looks first where nothing follows the log in the background.
    pub(crate) fn refresh(&self) -> Result<()> {
        self.check_open()?;
        if !self.options.follow {
            self.catch_up()?;
        }
        Ok(())
    }

    /// Returns how far the log has been taken in.
    pub(crate) fn tailed(&self) -> Seq {
        self.log.lock().tailed
    }

    fn catch_up_locked(&self, log: &mut LogState) -> Result<bool> {
        let mut any = false;
        while self.store.head()? > log.tailed {
            let own = self.store.origin();
            let tail = self.store.tail(log.tailed, &|doc, origin| {
                origin != own && (*doc == self.main_name || self.pool.holds(&FileId::from(doc)))
            })?;
            let mut events = Vec::new();
            let taken = self.take_page(&tail, &mut events);
            self.events.push(events);
            any |= taken?;
            log.tailed = tail.upto;
            log.main_seen = log.main_seen.max(tail.upto);
            if !tail.more {
                break;
            }
        }
        Ok(any)
    }

    /// Takes in what others logged, rows and contents, and tells the events that this makes. They are
    /// for when all of it is there: whoever hears of a row must find the content that came with it.
    fn take_page(&self, tail: &Tail, events: &mut Vec<Change>) -> Result<bool> {
        for reload in &tail.reload {
            self.reload(reload, events)?;
        }
        for record in &tail.records {
            if record.doc == self.main_name {
                self.take_main(&record.data, events);
            } else {
                self.pool.acquire(&FileId::from(&record.doc)).tail(record);
            }
        }
        let others = tail.touched.iter().filter(|touched| !touched.own);
        let docs: Vec<&DocName> = others.map(|touched| &touched.doc).collect();
        let ids = docs.iter().filter(|doc| ***doc != self.main_name).map(|doc| FileId::from(*doc));
        let ids: Vec<FileId> = ids.collect();
        let now = self.now();
        for id in &ids {
            self.content_changed(id, now);
        }
        self.events.add_contents(self, &ids, None, events);
        Ok(!docs.is_empty() || !tail.reload.is_empty())
    }

    /// Takes in a document part of whose log was compacted before it was read here.
    fn reload(&self, reload: &Reload, events: &mut Vec<Change>) -> Result<()> {
        if reload.doc == self.main_name {
            let loaded = self.store.load(&reload.doc)?;
            let updates = loaded.updates.iter().map(|record| &record.data);
            for update in loaded.snapshot.iter().chain(updates) {
                self.take_main(update, events);
            }
            return Ok(());
        }
        let id = FileId::from(&reload.doc);
        if self.pool.holds(&id) {
            self.pool.acquire(&id).reload(reload.upto)?;
        }
        self.content_changed(&id, self.now());
        self.events.add_contents(self, &[id], None, events);
        Ok(())
    }

    fn take_main(&self, update: &[u8], events: &mut Vec<Change>) {
        // What the gate refuses from the log it refuses in every process alike.
        let received = self.main.write().receive(update, Source::Store);
        if let Ok(changes) = received {
            events.extend(row_events(&self.main.read(), &changes, self.now()));
        }
        self.publish_main(update);
    }

    /// Forgets what was known of a content, after others changed it.
    fn content_changed(&self, id: &FileId, at: Millis) {
        self.texts.forget(id);
        self.live.changed(id, at);
    }

    pub(crate) fn publish_main(&self, update: &[u8]) {
        self.main_followers.publish(update);
    }

    /// Changes the structure, on behalf of somebody unless it is upkeep: `plan` checks and says what to write; it runs again where another
    /// process was faster. A refusal is final only when it was made against the head.
    pub(crate) fn structural<T, E: From<WorkspaceError>>(
        &self,
        by: Option<&Actor>,
        plan: impl FnMut(&MainDoc) -> Result<Plan<T>, E>,
    ) -> Result<T, E> {
        Ok(self.structural_plan(by, plan)?.value)
    }

    /// Does what [`structural`](Self::structural) does, and returns the plan that was made.
    pub(crate) fn structural_plan<T, E: From<WorkspaceError>>(
        &self,
        by: Option<&Actor>,
        mut plan: impl FnMut(&MainDoc) -> Result<Plan<T>, E>,
    ) -> Result<Plan<T>, E> {
        self.check_writable()?;
        let mut log = self.log.lock();
        loop {
            let planned = plan(&self.main.read());
            let planned = match planned {
                Ok(planned) => planned,
                Err(_) if self.catch_up_locked(&mut log)? => continue,
                Err(refusal) => return Err(refusal),
            };
            if planned.writes.is_empty() && planned.contents.is_empty() && planned.edits.is_empty()
            {
                return Ok(planned);
            }
            if self.append_plan(&mut log, by, &planned)? {
                return Ok(planned);
            }
            self.catch_up_locked(&mut log)?;
        }
    }

    /// Logs a plan and makes it; answers false where the head has moved, or a content that was read.
    fn append_plan<T>(
        &self,
        log: &mut LogState,
        by: Option<&Actor>,
        plan: &Plan<T>,
    ) -> Result<bool> {
        let now = self.now();
        // Before anything is logged: what is noted in vain does no harm.
        let kept = plan.edits.iter().filter(|edit| matches!(edit.becomes, Becomes::Kept(_)));
        self.note_converted(kept.map(|edit| &edit.id))?;
        let update = self.main.read().plan(&plan.writes, now)?;
        let mut updates = Vec::with_capacity(1 + plan.contents.len());
        if update != EMPTY_UPDATE {
            updates.push((self.main_name.clone(), update.clone()));
        }
        let contents = plan.contents.iter();
        updates.extend(contents.map(|new| (DocName::from(&new.id), new.update.clone())));
        let mut batch = Batch::new(updates, now).expecting(self.main_name.clone(), log.main_seen);
        batch.facts = plan.contents.iter().filter_map(NewDoc::fact).collect();
        let handles = plan.handles(&self.pool);
        let Some(mut docs) = LockedDocs::edit(self, &handles, plan)? else { return Ok(false) };
        let batch = docs.add_to(batch);
        if batch.updates.is_empty() {
            docs.done(None);
            return Ok(true);
        }
        let appended = match self.store.append(batch) {
            Ok(appended) => appended,
            Err(StoreError::HeadMoved { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        log.main_seen = appended.last;
        log.pass_own(&appended);
        docs.done(Some(&appended));
        self.written.lock().insert(self.main_name.clone());
        let changes = self.main.write().commit(&update);
        let mut events = row_events(&self.main.read(), &changes, now);
        let edited: Vec<FileId> = plan.edits.iter().map(|edit| edit.id.clone()).collect();
        self.events.add_contents(self, &edited, by, &mut events);
        for event in &mut events {
            event.actor = by.cloned();
        }
        self.events.push(events);
        self.publish_main(&update);
        Ok(true)
    }

    /// Takes an update of the main document from a peer: gate, log, then everybody else.
    /// Answers where it went and which rows it changed, or nothing if it was known.
    pub(crate) fn receive_main(
        &self,
        update: &[u8],
        by: Option<&Actor>,
    ) -> Result<Option<(Seq, Vec<FileId>)>> {
        self.check_writable()?;
        let _log = self.log.lock();
        if !self.main.read().check(update, Source::Wire)? {
            return Ok(None);
        }
        let seq =
            self.append(Batch::one(self.main_name.clone(), update.to_vec(), self.now()))?.last;
        let changes = self.main.write().receive(update, Source::Wire)?;
        let mut events = row_events(&self.main.read(), &changes, self.now());
        for event in &mut events {
            event.actor = by.cloned();
        }
        self.events.push(events);
        self.publish_main(update);
        Ok(Some((seq, changes.ids)))
    }

    /// Forgets what was known of a content that came from another store with its row.
    pub(crate) fn content_arrived(&self, id: &FileId) {
        self.texts.forget(id);
        self.live.forget(id);
        self.events.push_content(self, id, self.now(), None);
    }

    /// Holds the log still, so that several documents can be locked.
    pub(crate) fn hold_log(&self) -> MutexGuard<'_, LogState> {
        self.log.lock()
    }

    /// Appends to the log; answers nothing where the head of the expected document has moved.
    pub(crate) fn try_append(&self, batch: Batch) -> Result<Option<Appended>> {
        match self.store.append(batch) {
            Ok(appended) => {
                if let Some(mut log) = self.log.try_lock() {
                    log.pass_own(&appended);
                }
                Ok(Some(appended))
            }
            Err(StoreError::HeadMoved { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Appends to the log whatever its head is.
    pub(crate) fn append(&self, batch: Batch) -> Result<Appended> {
        Ok(self.store.append(batch)?)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("id", &self.id).finish_non_exhaustive()
    }
}
