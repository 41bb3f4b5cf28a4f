//! One side of an exchange of logs between two stores. It does no I/O except the store's.

mod sender;
mod split_piece;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use yfs::{
    Workspace,
    replica::{BlobSettlement, FeedPiece, LogCursor, LogSummary, ReplicaFeed, ReplicaUpdate},
};
use yfs_engine::{
    id::{FileId, WorkspaceId},
    lib0::Lib0Error,
};
use yfs_sync::replica::{DocumentUpdate, ReplicaMessage};

use self::split_piece::split_piece;
use crate::{
    blob_exchange::BlobExchange,
    blob_pool::BlobPool,
    exchange_marks::HubMarks,
    memory_guard::MemoryGuard,
    replica_error::ReplicaError,
    run_session::{FrameSession, GONE_AFTER, WELCOME_WITHIN},
};

/// The size of updates at which a message is full, in bytes; a single update may be larger.
const FRAME_LEN: usize = 256 << 10;

/// The most updates in one message.
const MAX_UPDATES: usize = 4096;

/// The most responses queued for a peer that does not read.
const MAX_URGENT: usize = 1 << 16;

/// The size of queued responses above which rejections are no longer reported, in bytes.
const MAX_URGENT_BYTES: usize = 1 << 20;

/// The most positions that the peer has reached while their blobs are still being received.
const MAX_REACHED: usize = 1 << 16;

/// The most rejections whose text is kept.
const MAX_REFUSALS: usize = 100;

/// The length at which a reason is truncated, in characters.
const REASON_LEN: usize = 500;

/// The default of the greatest size of a replica's main document, in bytes: a million files at 256
/// bytes each. In memory, it takes some four times as much.
pub const DEFAULT_MAIN_LIMIT: u64 = 1 << 28;

/// Counters of an exchange.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExchangeProgress {
    /// The number of updates sent.
    pub n_sent: u64,
    /// The number of updates received.
    pub n_received: u64,
    /// The number of received updates that were new.
    pub n_new: u64,
    /// The size of all messages sent, in bytes.
    pub bytes_sent: u64,
    /// The size of all messages received, in bytes.
    pub bytes_received: u64,
    /// The number of blobs received.
    pub n_blobs: u64,
    /// The number of blobs that the peer lacks as well, so that some files cannot be read here.
    pub n_lacking: u64,
    /// The first 100 rejections by either side, as text for a person.
    pub refused: Vec<String>,
    /// The number of rejections by either side.
    pub n_refused: u64,
    /// The number of documents whose updates this side put in quarantine, each time.
    pub n_quarantined: u64,
    /// The guids of documents whose changes here the hub does not accept, because this side may not
    /// write. Complete at the end of an exchange.
    pub unsent: BTreeSet<String>,
    /// The first 256 documents for which the peer sent other content under ids that items have here
    /// ([`Replication::forks`](yfs::Replication::forks)).
    pub forked: BTreeSet<FileId>,
    /// The files whose contents or rows changed here.
    /// [`RemoteServer`](crate::client::RemoteServer) sets it at the end of an exchange.
    pub changed: BTreeSet<FileId>,
}

/// What one side of an exchange does beside the usual.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Whether this side keeps its changes to itself: a guest as if the hub did not allow it to
    /// write; a hub sends only the positions of its log.
    pub keeps_changes: bool,
    /// Whether this side merges late edits of contents that were moved between roots. Only one
    /// replica of a workspace may do so: the hub, unless another is chosen.
    pub settles_contents: bool,
    /// Whether the caller checks each message with updates, and passes on only those whose author
    /// may write: they are accepted also from a peer that may not write itself.
    pub are_updates_checked: bool,
    /// The greatest size of the main document in the store, in bytes. The connection ends with
    /// [`ReplicaError::MainTooLarge`] before a message is stored that could exceed it. The default
    /// of a guest is [`DEFAULT_MAIN_LIMIT`]; a hub has no limit.
    pub main_limit: Option<u64>,
}

/// One side of a connection.
#[derive(Debug)]
pub struct ReplicaSession {
    workspace: Workspace,
    role: SessionRole,
    feed: Option<ReplicaFeed>,
    /// The summary of this log, once the peer gets everything that it does not have.
    summary: SummaryExchange,
    blobs: BlobExchange,
    /// Frames that are sent before all others.
    urgent: VecDeque<Vec<u8>>,
    urgent_bytes: usize,
    /// Parts of the log that were read and not sent yet.
    pieces: VecDeque<FeedPiece>,
    /// Positions that the peer has reached, to confirm when the blobs have arrived.
    reached: VecDeque<(String, bool)>,
    /// Whether blobs are missing.
    settlement: BlobSettlement,
    /// The number of pages of the peer's log received on this connection; the first may repeat
    /// known updates.
    n_pages: u64,
    /// Whether the peer's updates continue from the end of the last connection.
    is_resumed: bool,
    /// Whether the end of the peer's log has been reached.
    has_pulled: bool,
    /// The number of positions that were sent and that the peer has not confirmed.
    n_unconfirmed: u64,
    /// The position in this log that the peer confirmed. It is stored only after the peer has sent
    /// a later position of its own log: an older copy of the peer's log then does not have that
    /// position, and the exchange starts from the beginning.
    confirmed: Option<String>,
    progress: ExchangeProgress,
    /// The files whose contents or rows changed here since they were returned last.
    changed: BTreeSet<FileId>,
    options: SessionOptions,
    /// The peer that vouches for the updates that are being received.
    sender: Option<String>,
    /// At least the size of the main document in the store; `None` before it is needed.
    main_bytes: Option<u64>,
    /// The limit of the memory that updates may take, if there is one.
    memory: Option<MemoryGuard>,
}

#[derive(Debug)]
enum SessionRole {
    /// The side that waits for the first message.
    Hub { writable: bool },
    /// The side that begins.
    Guest { remembered: HubMarks, is_writer: bool },
}

/// How far two sides are that find out what both have.
#[derive(Debug, Default)]
enum SummaryExchange {
    /// The peer does not exchange summaries, or both were exchanged.
    #[default]
    None,
    /// A hub continues from a position. A guest that has none in its own log may still ask.
    Offered,
    /// A hub waits for that of its guest.
    AwaitGuest,
    /// A guest has sent its own and waits for that of the hub.
    AwaitHub(LogSummary),
}

impl ReplicaSession {
    /// Makes the side that waits for the first message. It accepts updates if it is `writable`.
    pub fn hub(workspace: Workspace, writable: bool) -> Self {
        Self::new(workspace, SessionRole::Hub { writable })
    }

    /// Makes the side that begins, and stores the marks.
    pub fn guest(workspace: Workspace, remembered: &HubMarks) -> Self {
        let since = remembered.pulled.as_deref().unwrap_or_default();
        let hello = ReplicaMessage::Hello { since, summarizes: true }.encode();
        let role = SessionRole::Guest { remembered: remembered.clone(), is_writer: true };
        let mut guest = Self::new(workspace, role);
        guest.urgent_bytes += hello.len();
        guest.urgent.push_back(hello);
        guest
    }

    /// Changes the options, before the first message.
    #[must_use]
    pub fn with_options(mut self, change: impl FnOnce(&mut SessionOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Sets how much memory the updates of the peer may add to this process, in bytes. The
    /// connection ends with [`ReplicaError::OutOfMemory`] before they take more. There is no
    /// default: the memory of a process that serves many peers is not that of one.
    ///
    /// Each message, and each update in it, counts 256 bytes besides. So a peer that sends small
    /// ones without end is stopped by [`ReplicaError::TooManyMessages`], also if they are known or
    /// rejected, and take no memory.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.memory = Some(MemoryGuard::new(bytes));
        self
    }

    /// Fetches large blobs in parts, together with the other sessions of a pool. The peer must
    /// know the messages for that, which servers before this version do not.
    #[must_use]
    pub fn with_blob_pool(mut self, pool: &Arc<BlobPool>) -> Self {
        self.blobs.set_link(pool.link());
        self
    }

    fn new(workspace: Workspace, role: SessionRole) -> Self {
        let settlement = workspace.replication().begin_settlement();
        let is_guest = matches!(role, SessionRole::Guest { .. });
        Self {
            workspace,
            options: SessionOptions {
                keeps_changes: false,
                settles_contents: !is_guest,
                are_updates_checked: false,
                main_limit: is_guest.then_some(DEFAULT_MAIN_LIMIT),
            },
            role,
            feed: None,
            summary: SummaryExchange::None,
            blobs: BlobExchange::default(),
            urgent: VecDeque::new(),
            urgent_bytes: 0,
            pieces: VecDeque::new(),
            reached: VecDeque::new(),
            settlement,
            n_pages: 0,
            is_resumed: false,
            has_pulled: false,
            n_unconfirmed: 0,
            confirmed: None,
            progress: ExchangeProgress::default(),
            changed: BTreeSet::new(),
            sender: None,
            main_bytes: None,
            memory: None,
        }
    }

    /// Reports whether the first two messages were exchanged, so that updates may follow.
    pub fn has_begun(&self) -> bool {
        self.feed.is_some()
    }

    /// Reports whether both sides have everything, as far as this side knows.
    pub fn is_done(&self) -> bool {
        // A guest that may not write sends no positions of its log.
        let expects_log = !matches!(self.role, SessionRole::Hub { writable: false });
        (self.has_pulled || !expects_log) && self.blobs.has_sent_all() && self.has_given()
    }

    /// Reports whether the peer still has to say what it has.
    fn awaits_summary(&self) -> bool {
        matches!(self.summary, SummaryExchange::AwaitGuest | SummaryExchange::AwaitHub(_))
    }

    /// Reports whether the peer has confirmed everything in this log.
    fn has_given(&self) -> bool {
        if matches!(self.role, SessionRole::Guest { is_writer: false, .. }) {
            return true;
        }
        if self.awaits_summary() {
            return false;
        }
        let has_news = self.feed.as_ref().is_none_or(|feed| feed.has_news().unwrap_or(true));
        !has_news && self.pieces.is_empty() && self.n_unconfirmed == 0 && self.confirmed.is_none()
    }

    /// Returns the state to store for the next connection; `None` for a hub.
    pub fn remembered(&self) -> Option<&HubMarks> {
        match &self.role {
            SessionRole::Guest { remembered, .. } => Some(remembered),
            SessionRole::Hub { .. } => None,
        }
    }

    /// Records that the peer has everything, before the connection is closed normally; or, if this
    /// side may not write, which documents have changes that stay here. Without this call some
    /// updates may be sent again.
    pub fn remember_all(&mut self) -> Result<(), ReplicaError> {
        if !self.is_done() {
            return Ok(());
        }
        let (SessionRole::Guest { remembered, is_writer }, Some(feed)) =
            (&mut self.role, &mut self.feed)
        else {
            return Ok(());
        };
        if *is_writer {
            remembered.pushed = Some(feed.mark()?.to_string());
            (remembered.checked, remembered.unsent) = (None, BTreeSet::new());
            return Ok(());
        }
        while let Some(pieces) = feed.next_piece()? {
            for piece in pieces {
                // A document that was compacted here may have no change but those of the hub.
                if let FeedPiece::Update { doc, is_whole: false, .. } = piece {
                    remembered.unsent.insert(doc.to_string());
                }
            }
        }
        remembered.checked = Some(feed.mark()?.to_string());
        Ok(())
    }

    /// Returns the counters of the exchange so far.
    pub fn progress(&self) -> ExchangeProgress {
        let (n_blobs, n_lacking) = (self.blobs.n_received, self.blobs.n_lacking());
        let unsent = match &self.role {
            SessionRole::Guest { remembered, is_writer: false } => remembered.unsent.clone(),
            _ => BTreeSet::new(),
        };
        ExchangeProgress { n_blobs, n_lacking, unsent, ..self.progress.clone() }
    }

    /// Reports whether everything that the peer sent so far has arrived, with its blobs.
    pub fn has_arrived(&self) -> bool {
        self.has_pulled && self.reached.is_empty()
    }

    /// Returns the files whose contents or rows changed here since the last call.
    pub fn take_changed(&mut self) -> BTreeSet<FileId> {
        std::mem::take(&mut self.changed)
    }

    /// Returns the next frame to send, or `None` if there is none now.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, ReplicaError> {
        if self.feed.is_some() && self.settlement.must_search() {
            self.request_missing_blobs()?;
        }
        if !self.reached.is_empty() {
            // Another session of the pool may have received the last blob.
            self.settle()?;
        }
        let frame = match self.urgent.pop_front() {
            Some(frame) => {
                self.urgent_bytes -= frame.len();
                Some(frame)
            }
            None => match self.blobs.next_frame(&**self.workspace.store())? {
                Some(frame) => Some(frame),
                None => self.next_logged()?,
            },
        };
        self.progress.bytes_sent += frame.as_ref().map_or(0, Vec::len) as u64;
        Ok(frame)
    }

    /// Processes a frame of the peer.
    ///
    /// # Errors
    ///
    /// If the connection must end. Everything processed before stays.
    pub fn receive(&mut self, frame: &[u8]) -> Result<(), ReplicaError> {
        self.progress.bytes_received += frame.len() as u64;
        let message = ReplicaMessage::decode(frame)?;
        self.count_message(&message)?;
        match message {
            ReplicaMessage::Hello { since, summarizes } => self.handle_welcome(since, summarizes),
            ReplicaMessage::Welcome { workspace, resumed, writable, summarizes } => {
                let sends_all = self.begin(&workspace, resumed, writable)?;
                if summarizes && (sends_all || !resumed) { self.send_summary() } else { Ok(()) }
            }
            ReplicaMessage::Summary(summary) => self.compare_summaries(summary),
            ReplicaMessage::Updates(updates) => self.apply_updates(&updates),
            ReplicaMessage::Reached { cursor, is_end } => {
                if self.reached.len() >= MAX_REACHED {
                    return Err(ReplicaError::TooMuch);
                }
                self.reached.push_back((cursor.to_owned(), is_end));
                self.settle()
            }
            ReplicaMessage::Taken { cursor } => self.confirmed(cursor),
            ReplicaMessage::Want(hashes) => self.blobs.queue_requested(hashes),
            ReplicaMessage::Blob { hash, is_last, data } => {
                let store = self.workspace.store().clone();
                self.blobs.receive(&*store, hash, data, is_last)?;
                self.settle()
            }
            ReplicaMessage::Have(hash) => {
                let store = self.workspace.store().clone();
                self.blobs.regained(&*store, hash)
            }
            ReplicaMessage::WantTree(hash) => self.blobs.queue_tree(hash),
            ReplicaMessage::WantPart { hash, index } => self.blobs.queue_part(hash, index),
            ReplicaMessage::Tree { hash, parts } => self.blobs.receive_tree(hash, parts),
            ReplicaMessage::Part { hash, index, data } => {
                let store = self.workspace.store().clone();
                self.blobs.receive_part(&*store, hash, index, data)?;
                self.settle()
            }
            ReplicaMessage::Lacking(hash) => {
                self.blobs.lacking(&hash);
                self.settle()
            }
            ReplicaMessage::Refused { doc, reason } => {
                self.record_rejection("there", &doc, reason);
                Ok(())
            }
        }
    }

    /// Counts a message of the peer against the limit of memory.
    fn count_message(&mut self, message: &ReplicaMessage<'_>) -> Result<(), ReplicaError> {
        // A connection that lasts starts over whenever both sides have everything.
        let is_done = self.has_pulled && self.is_done();
        let Some(memory) = &mut self.memory else { return Ok(()) };
        if is_done {
            memory.forget_items();
        }
        let n_updates = match message {
            ReplicaMessage::Updates(updates) => updates.len() as u64,
            _ => 0,
        };
        memory.count_items(1 + n_updates)
    }

    fn handle_welcome(&mut self, since: &str, summarizes: bool) -> Result<(), ReplicaError> {
        let SessionRole::Hub { writable } = self.role else {
            return Err(ReplicaError::OutOfTurn("hello"));
        };
        if self.feed.is_some() {
            return Err(ReplicaError::OutOfTurn("hello"));
        }
        // A position that cannot be parsed counts as missing.
        let cursor: Option<LogCursor> = since.parse().ok();
        let feed = match &cursor {
            Some(cursor) => self.workspace.replication().feed(Some(cursor))?,
            None => None,
        };
        let resumed = feed.is_some();
        self.feed = match feed {
            Some(feed) => Some(feed),
            None => self.workspace.replication().feed(None)?,
        };
        self.is_resumed = resumed;
        if summarizes {
            self.summary =
                if resumed { SummaryExchange::Offered } else { SummaryExchange::AwaitGuest };
        }
        self.request_missing_blobs()?;
        let workspace = self.workspace.id().clone();
        let welcome = ReplicaMessage::Welcome { workspace, resumed, writable, summarizes: true };
        self.send_message(&welcome)
    }

    /// Sends the summary of a guest's log.
    fn send_summary(&mut self) -> Result<(), ReplicaError> {
        let own = self.workspace.replication().summarize(None)?;
        self.send_message(&ReplicaMessage::Summary(&own.to_bytes()))?;
        self.summary = SummaryExchange::AwaitHub(own);
        Ok(())
    }

    /// Finds out what the peer need not get, by its summary. The hub answers with its own.
    fn compare_summaries(&mut self, theirs: &[u8]) -> Result<(), ReplicaError> {
        let malformed = || ReplicaError::Protocol(Lib0Error::Parts.into());
        let theirs = LogSummary::from_bytes(theirs).ok_or_else(malformed)?;
        let own = match std::mem::take(&mut self.summary) {
            SummaryExchange::None => return Err(ReplicaError::OutOfTurn("summary")),
            SummaryExchange::AwaitHub(own) => own,
            SummaryExchange::Offered | SummaryExchange::AwaitGuest => {
                // A new replica has nothing that could be equal, and needs no summary either.
                let own = match theirs.is_empty() {
                    true => LogSummary::empty(),
                    false => self.workspace.replication().summarize(Some(&theirs))?,
                };
                self.send_message(&ReplicaMessage::Summary(&own.to_bytes()))?;
                own
            }
        };
        if let Some(feed) = &mut self.feed {
            feed.skip_equal(&own, &theirs);
        }
        Ok(())
    }

    /// Begins the exchange of a guest. Returns whether it sends its whole log.
    fn begin(
        &mut self,
        id: &WorkspaceId,
        resumed: bool,
        writable: bool,
    ) -> Result<bool, ReplicaError> {
        let SessionRole::Guest { remembered, is_writer, .. } = &mut self.role else {
            return Err(ReplicaError::OutOfTurn("welcome"));
        };
        if self.feed.is_some() {
            return Err(ReplicaError::OutOfTurn("welcome"));
        }
        if id != self.workspace.id() {
            return Err(ReplicaError::OtherWorkspace(id.clone()));
        }
        let writable = writable && !self.options.keeps_changes;
        *is_writer = writable;
        // Before this was recorded, a guest that may not write did not check its log.
        let has_unchecked_log = remembered.pulled.is_some() && remembered.checked.is_none();
        if !resumed {
            // The hub may have lost updates that it had confirmed.
            (remembered.pulled, remembered.pushed) = (None, None);
        }
        let since = remembered.pushed.as_deref();
        let since = if writable { since } else { remembered.checked.as_deref().or(since) };
        let skips_log = !writable && has_unchecked_log && since.is_none();
        let since: Option<LogCursor> = since.and_then(|since| since.parse().ok());
        self.is_resumed = resumed;
        self.request_missing_blobs()?;
        let since = since.as_ref();
        let known =
            since.map(|since| self.workspace.replication().feed(Some(since))).transpose()?;
        let known = known.flatten();
        let sends_all = writable && known.is_none();
        self.feed = match known {
            Some(feed) => Some(feed),
            None => self.workspace.replication().feed(None)?,
        };
        if let Some(feed) = self.feed.as_mut().filter(|_| skips_log) {
            while feed.next_piece()?.is_some() {}
        }
        Ok(sends_all)
    }

    /// Requests the blobs that other connections did not deliver.
    fn request_missing_blobs(&mut self) -> Result<(), ReplicaError> {
        let missing = self.settlement.search()?;
        self.blobs.request(missing);
        Ok(())
    }

    /// Returns the next frame with updates or a position of the log.
    fn next_logged(&mut self) -> Result<Option<Vec<u8>>, ReplicaError> {
        if self.awaits_summary() {
            return Ok(None);
        }
        let Some(feed) = &mut self.feed else { return Ok(None) };
        if matches!(self.role, SessionRole::Guest { is_writer: false, .. }) {
            return Ok(None);
        }
        let (mut n_updates, mut n_bytes) = (0, 0);
        // Collect updates up to the size of a frame, or up to the next position.
        loop {
            match self.pieces.get(n_updates) {
                Some(FeedPiece::Update { update, .. }) => {
                    n_bytes += update.len();
                    n_updates += 1;
                    if n_bytes >= FRAME_LEN || n_updates >= MAX_UPDATES {
                        break;
                    }
                }
                Some(FeedPiece::Reached { .. }) => break,
                None => match feed.next_piece()? {
                    Some(mut pieces) => {
                        // Only a hub that keeps its changes to itself gets here without sending.
                        let is_sent = |piece: &FeedPiece| {
                            !self.options.keeps_changes
                                || matches!(piece, FeedPiece::Reached { .. })
                        };
                        pieces.retain(is_sent);
                        let workspace = self.workspace.id();
                        let parts =
                            pieces.into_iter().flat_map(|piece| split_piece(workspace, piece));
                        self.pieces.extend(parts);
                    }
                    None => break,
                },
            }
        }
        if n_updates == 0 {
            self.n_unconfirmed += u64::from(!self.pieces.is_empty());
            return Ok(self.pieces.pop_front().map(|piece| match piece {
                FeedPiece::Reached { cursor, is_end } => {
                    ReplicaMessage::Reached { cursor: &cursor.to_string(), is_end }.encode()
                }
                FeedPiece::Update { .. } => unreachable!("updates were counted"),
            }));
        }
        self.progress.n_sent += n_updates as u64;
        let pieces: Vec<FeedPiece> = self.pieces.drain(..n_updates).collect();
        let updates = pieces.iter().filter_map(|piece| match piece {
            FeedPiece::Update { doc, update, is_whole } => {
                Some(DocumentUpdate { doc: doc.clone(), is_whole: *is_whole, data: update })
            }
            FeedPiece::Reached { .. } => None,
        });
        Ok(Some(ReplicaMessage::Updates(updates.collect()).encode()))
    }

    fn apply_updates(&mut self, updates: &[DocumentUpdate<'_>]) -> Result<(), ReplicaError> {
        if self.feed.is_none() {
            return Err(ReplicaError::OutOfTurn("updates"));
        }
        self.progress.n_received += updates.len() as u64;
        if matches!(self.role, SessionRole::Hub { writable: false })
            && !self.options.are_updates_checked
        {
            return Err(ReplicaError::OutOfTurn("updates, which it may not,"));
        }
        self.check_main_limit(updates)?;
        if let Some(memory) = &mut self.memory {
            let n_bytes = updates.iter().map(|update| update.data.len() as u64).sum();
            if let Err(error) = memory.count(n_bytes) {
                self.workspace.maintenance().note_short_of_memory();
                return Err(error);
            }
        }
        if updates.iter().any(|update| update.doc == *self.workspace.id()) {
            self.settlement.wait()?;
        }
        // A part of the first page may have arrived before the last connection was cut.
        let is_new = self.is_resumed && self.n_pages > 0;
        let arrivals = updates.iter().map(|update| ReplicaUpdate {
            doc: update.doc.clone(),
            update: update.data.to_vec(),
            is_new: is_new && !update.is_whole,
        });
        let arrivals: Vec<ReplicaUpdate> = arrivals.collect();
        let sender = self.sender.as_deref();
        let taken = self.workspace.replication().receive_from(sender, &arrivals)?;
        self.note_forked(&taken);
        if let Some(feed) = &mut self.feed {
            feed.skip_records(taken.logged.iter().copied());
        }
        self.progress.n_new += taken.n_new;
        if self.options.settles_contents {
            self.workspace.replication().settle_contents(&taken)?;
        }
        self.changed.extend(taken.changed.iter().chain(&taken.rows).cloned());
        self.progress.n_quarantined += taken.refused.len() as u64;
        for (doc, refusal) in &taken.refused {
            self.send_rejection(doc, &refusal.to_string())?;
        }
        for doc in &taken.unknown {
            self.send_rejection(doc, "there is no such file")?;
        }
        self.blobs.request(self.workspace.replication().missing_blobs_of(&taken)?);
        Ok(())
    }

    /// Checks that updates leave the main document, which is always in memory, within its limit.
    fn check_main_limit(&mut self, updates: &[DocumentUpdate<'_>]) -> Result<(), ReplicaError> {
        let Some(limit) = self.options.main_limit else { return Ok(()) };
        let of_main = updates.iter().filter(|update| update.doc == *self.workspace.id());
        let received: u64 = of_main.map(|update| update.data.len() as u64).sum();
        if received == 0 {
            return Ok(());
        }
        let fits = |bytes: &u64| bytes.saturating_add(received) <= limit;
        let stored = match self.main_bytes.filter(fits) {
            Some(bytes) => bytes,
            // Known updates were counted, and the document may have been compacted.
            None => self.workspace.replication().main_bytes()?,
        };
        if !fits(&stored) {
            return Err(ReplicaError::MainTooLarge { limit, stored, received });
        }
        self.main_bytes = Some(stored.saturating_add(received));
        Ok(())
    }

    /// Confirms the positions that the peer reached, once their blobs have arrived.
    fn settle(&mut self) -> Result<(), ReplicaError> {
        if !self.blobs.is_settled() {
            return Ok(());
        }
        let has_all = self.blobs.n_lacking() == 0 && !self.reached.is_empty();
        if has_all && self.settlement.is_waiting() {
            self.settlement.settle()?;
        }
        while let Some((cursor, is_end)) = self.reached.pop_front() {
            self.n_pages += 1;
            self.is_resumed |= is_end;
            self.has_pulled |= is_end;
            if let SessionRole::Guest { remembered, .. } = &mut self.role {
                remembered.pulled = Some(cursor.clone());
                if let Some(confirmed) = self.confirmed.take() {
                    remembered.pushed = Some(confirmed);
                }
            }
            self.send_message(&ReplicaMessage::Taken { cursor: &cursor })?;
            if let (SessionRole::Hub { .. }, Some(feed)) = (&self.role, &mut self.feed) {
                feed.request_cursor();
            }
        }
        Ok(())
    }

    /// Queues a response before all other frames. Fails if the peer sends much and reads nothing.
    fn send_message(&mut self, message: &ReplicaMessage<'_>) -> Result<(), ReplicaError> {
        if self.urgent.len() >= MAX_URGENT {
            return Err(ReplicaError::TooMuch);
        }
        let frame = message.encode();
        self.urgent_bytes += frame.len();
        self.urgent.push_back(frame);
        Ok(())
    }

    /// Records a rejection, and reports it to the peer unless too many bytes are queued.
    fn send_rejection(&mut self, doc: &FileId, reason: &str) -> Result<(), ReplicaError> {
        self.record_rejection("here", doc, reason);
        if self.urgent_bytes >= MAX_URGENT_BYTES {
            return Ok(());
        }
        let reason: String = reason.chars().take(REASON_LEN).collect();
        self.send_message(&ReplicaMessage::Refused { doc: doc.clone(), reason: &reason })
    }

    /// Records the text of a rejection, with control characters replaced to protect terminals.
    fn record_rejection(&mut self, side: &str, doc: &FileId, reason: &str) {
        self.progress.n_refused += 1;
        if self.progress.refused.len() < MAX_REFUSALS {
            let printable =
                |char: char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char };
            let reason: String = reason.chars().take(REASON_LEN).map(printable).collect();
            self.progress.refused.push(format!("{side}: {doc}: {reason}"));
        }
    }

    fn confirmed(&mut self, cursor: &str) -> Result<(), ReplicaError> {
        let left = self.n_unconfirmed.checked_sub(1);
        self.n_unconfirmed = left.ok_or(ReplicaError::OutOfTurn("taken"))?;
        if matches!(self.role, SessionRole::Guest { .. }) {
            self.confirmed = Some(cursor.to_owned());
        }
        Ok(())
    }
}

impl FrameSession for ReplicaSession {
    type Error = ReplicaError;

    fn receive(&mut self, frame: &[u8]) -> Result<(), ReplicaError> {
        self.receive(frame)
    }

    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, ReplicaError> {
        self.next_frame()
    }

    /// A hub waits for its guests.
    fn patience(&self) -> Option<Duration> {
        match self.role {
            SessionRole::Hub { .. } => None,
            SessionRole::Guest { .. } if self.feed.is_none() => Some(WELCOME_WITHIN),
            SessionRole::Guest { .. } => (!self.is_done()).then_some(GONE_AFTER),
        }
    }

    fn workspace(&self) -> &Workspace {
        &self.workspace
    }
}
