//! One side of two stores that exchange what they logged. It does no I/O but the store's.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use yfs::{
    Workspace, WorkspaceError,
    replica::{FeedPiece, LogCursor, ReplicaFeed, ReplicaUpdate},
};
use yfs_engine::{
    hash::ContentHash,
    id::{FileId, WorkspaceId},
};
use yfs_store::StoreError;
use yfs_sync::{
    message::ProtocolError,
    replica::{DocumentUpdate, ReplicaMessage},
};

use crate::blob_exchange::BlobExchange;

/// How many bytes of updates one message carries; a single update may be larger.
const FRAME_LEN: usize = 256 << 10;

/// How many updates one message carries.
const MAX_UPDATES: usize = 4096;

/// How many answers wait for a peer that does not read.
const MAX_URGENT: usize = 1 << 16;

/// How many bytes of answers wait before refusals are no longer told.
const MAX_URGENT_BYTES: usize = 1 << 20;

/// How many places are remembered that the other has reached while its blobs are still on the way.
const MAX_REACHED: usize = 1 << 16;

/// How many refusals are kept in words.
const MAX_REFUSALS: usize = 100;

/// How many characters of a reason are kept or told.
const REASON_LEN: usize = 500;

/// What a guest remembers of a hub between two connections, in its own store.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubMarks {
    /// Up to where the hub's log was taken in.
    pub pulled: Option<String>,
    /// Up to where the own log was taken in by the hub.
    pub pushed: Option<String>,
}

/// What was exchanged.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExchangeProgress {
    /// Updates that were sent.
    pub n_sent: u64,
    /// Updates that were received.
    pub n_received: u64,
    /// Of those, updates that were new.
    pub n_new: u64,
    /// Bytes of all messages sent.
    pub bytes_sent: u64,
    /// Bytes of all messages received.
    pub bytes_received: u64,
    /// Blobs that were received.
    pub n_blobs: u64,
    /// Blobs that the other side lacks as well, so that some files cannot be read here.
    pub n_lacking: u64,
    /// What one side refused of the other's, in words for a person: the first hundred.
    pub refused: Vec<String>,
    /// How often one side refused something of the other's.
    pub n_refused: u64,
}

/// Why replication ends.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// The other side is no replica's.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The other side sent what makes no sense now.
    #[error("the other side said {0} out of turn")]
    OutOfTurn(&'static str),
    /// The other side has another workspace.
    #[error("the other side has the workspace {0}, not this one")]
    OtherWorkspace(WorkspaceId),
    /// A blob was sent that nobody asked for.
    #[error("a blob arrived that was not asked for")]
    Unasked,
    /// A blob's content is not what its hash says.
    #[error("the blob {0} arrived damaged")]
    BadBlob(ContentHash),
    /// The other side asks for too much at once.
    #[error("too much was asked for at once")]
    TooMuch,
    /// The other side lets nobody in, or has ended.
    #[error("the other side closed the connection: {reason}")]
    Closed {
        /// Why.
        reason: String,
        /// Whether trying again makes no sense.
        is_final: bool,
    },
    /// It could not be reached.
    #[error("cannot connect to {url}: {reason}")]
    Connect {
        /// Where, without what is secret.
        url: String,
        /// Why not.
        reason: String,
        /// Whether trying again makes no sense.
        is_final: bool,
    },
    /// Another process keeps the store in step with that server.
    #[error("another process keeps this workspace in step with {0}")]
    AlreadyFollowed(String),
    /// The workspace failed.
    #[error("the workspace failed")]
    Workspace(#[from] WorkspaceError),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// The host failed.
    #[error("the host failed")]
    Io(#[from] std::io::Error),
}

impl ReplicaError {
    /// Says that a connection ended, and that another may do better.
    pub fn gone(reason: impl Into<String>) -> Self {
        Self::Closed { reason: reason.into(), is_final: false }
    }

    /// Tells whether trying again makes no sense.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Closed { is_final, .. } | Self::Connect { is_final, .. } => *is_final,
            Self::OtherWorkspace(_) | Self::AlreadyFollowed(_) => true,
            _ => false,
        }
    }
}

/// One side of a connection.
#[derive(Debug)]
pub struct ReplicaSession {
    workspace: Workspace,
    role: SessionRole,
    feed: Option<ReplicaFeed>,
    blobs: BlobExchange,
    /// Frames that go before all others.
    urgent: VecDeque<Vec<u8>>,
    urgent_bytes: usize,
    /// What was read of the log and not sent yet.
    pieces: VecDeque<FeedPiece>,
    /// Places that the other reached, to be confirmed when the blobs are there.
    reached: VecDeque<(String, bool)>,
    /// Whether it is noted that blobs may be missing.
    is_unsettled: bool,
    /// Pages of the other's log that were taken in since it began; the first may repeat what is known.
    n_pages: u64,
    /// Whether what arrives goes on from where the last connection ended.
    is_resumed: bool,
    /// Whether all of the other's log was taken in, at some time.
    has_pulled: bool,
    /// How many places were told that the other has not confirmed.
    n_unconfirmed: u64,
    /// Up to where the other took our log in. It is remembered when the other has told of a place behind it:
    /// then a copy of the other's log from before does not know the place, and we begin anew.
    confirmed: Option<String>,
    progress: ExchangeProgress,
}

#[derive(Debug)]
enum SessionRole {
    /// Who is connected to.
    Hub { writable: bool },
    /// Who connects.
    Guest { remembered: HubMarks, is_writer: bool },
}

impl ReplicaSession {
    /// Begins the side of whoever is connected to. Updates are taken if it is `writable`.
    pub fn hub(workspace: Workspace, writable: bool) -> Self {
        Self::new(workspace, SessionRole::Hub { writable })
    }

    /// Begins the side of whoever connects.
    pub fn guest(workspace: Workspace, remembered: &HubMarks) -> Self {
        let since = remembered.pulled.as_deref().unwrap_or_default();
        let hello = ReplicaMessage::Hello { since }.encode();
        let role = SessionRole::Guest { remembered: remembered.clone(), is_writer: true };
        let mut guest = Self::new(workspace, role);
        guest.urgent_bytes += hello.len();
        guest.urgent.push_back(hello);
        guest
    }

    fn new(workspace: Workspace, role: SessionRole) -> Self {
        Self {
            workspace,
            role,
            feed: None,
            blobs: BlobExchange::default(),
            urgent: VecDeque::new(),
            urgent_bytes: 0,
            pieces: VecDeque::new(),
            reached: VecDeque::new(),
            is_unsettled: false,
            n_pages: 0,
            is_resumed: false,
            has_pulled: false,
            n_unconfirmed: 0,
            confirmed: None,
            progress: ExchangeProgress::default(),
        }
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Tells whether both have everything, as far as this side knows.
    pub fn is_done(&self) -> bool {
        self.has_pulled && self.blobs.owes_nothing() && self.has_given()
    }

    /// Tells whether the other has confirmed all that is logged here.
    fn has_given(&self) -> bool {
        if matches!(self.role, SessionRole::Guest { is_writer: false, .. }) {
            return true;
        }
        let has_news = self.feed.as_ref().is_none_or(|feed| feed.has_news().unwrap_or(true));
        !has_news && self.pieces.is_empty() && self.n_unconfirmed == 0 && self.confirmed.is_none()
    }

    /// Returns what is to be remembered for the next connection. Only guests remember.
    pub fn remembered(&self) -> Option<&HubMarks> {
        match &self.role {
            SessionRole::Guest { remembered, .. } => Some(remembered),
            SessionRole::Hub { .. } => None,
        }
    }

    /// Remembers exactly that both sides have everything, before the line is closed in order. Otherwise some
    /// of it may be sent again.
    pub fn remember_all(&mut self) -> Result<(), ReplicaError> {
        if self.is_done()
            && let (SessionRole::Guest { remembered, is_writer: true }, Some(feed)) =
                (&mut self.role, &self.feed)
        {
            remembered.pushed = Some(feed.mark()?.to_string());
        }
        Ok(())
    }

    /// Returns what was exchanged so far.
    pub fn progress(&self) -> ExchangeProgress {
        let (n_blobs, n_lacking) = (self.blobs.n_received, self.blobs.n_lacking);
        ExchangeProgress { n_blobs, n_lacking, ..self.progress.clone() }
    }

    /// Returns the next frame to send, if there is one now.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, ReplicaError> {
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

    /// Takes a frame of the other side.
    ///
    /// # Errors
    ///
    /// If the connection must end. What was taken in before stays.
    pub fn receive(&mut self, frame: &[u8]) -> Result<(), ReplicaError> {
        self.progress.bytes_received += frame.len() as u64;
        match ReplicaMessage::decode(frame)? {
            ReplicaMessage::Hello { since } => self.welcome(since),
            ReplicaMessage::Welcome { workspace, resumed, writable } => {
                self.begin(&workspace, resumed, writable)
            }
            ReplicaMessage::Updates(updates) => self.take(&updates),
            ReplicaMessage::Reached { cursor, is_end } => {
                if self.reached.len() >= MAX_REACHED {
                    return Err(ReplicaError::TooMuch);
                }
                self.reached.push_back((cursor.to_owned(), is_end));
                self.settle()
            }
            ReplicaMessage::Taken { cursor } => self.confirmed(cursor),
            ReplicaMessage::Want(hashes) => self.blobs.owe(hashes),
            ReplicaMessage::Blob { hash, is_last, data } => {
                let store = self.workspace.store().clone();
                self.blobs.receive(&*store, hash, data, is_last)?;
                self.settle()
            }
            ReplicaMessage::Lacking(hash) => {
                self.blobs.lacking(&hash);
                self.settle()
            }
            ReplicaMessage::Refused { doc, reason } => {
                self.note_refused("there", &doc, reason);
                Ok(())
            }
        }
    }

    fn welcome(&mut self, since: &str) -> Result<(), ReplicaError> {
        let SessionRole::Hub { writable } = self.role else {
            return Err(ReplicaError::OutOfTurn("hello"));
        };
        if self.feed.is_some() {
            return Err(ReplicaError::OutOfTurn("hello"));
        }
        // A place that cannot be read is none.
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
        self.want_missing()?;
        let workspace = self.workspace.id().clone();
        self.tell(&ReplicaMessage::Welcome { workspace, resumed, writable })
    }

    fn begin(
        &mut self,
        id: &WorkspaceId,
        resumed: bool,
        writable: bool,
    ) -> Result<(), ReplicaError> {
        let SessionRole::Guest { remembered, is_writer, .. } = &mut self.role else {
            return Err(ReplicaError::OutOfTurn("welcome"));
        };
        if self.feed.is_some() {
            return Err(ReplicaError::OutOfTurn("welcome"));
        }
        if id != self.workspace.id() {
            return Err(ReplicaError::OtherWorkspace(id.clone()));
        }
        *is_writer = writable;
        if !resumed {
            // The hub may have lost what it had taken from us.
            *remembered = HubMarks::default();
        }
        let since: Option<LogCursor> =
            remembered.pushed.as_deref().and_then(|since| since.parse().ok());
        self.is_resumed = resumed;
        self.want_missing()?;
        self.feed = match self.workspace.replication().feed(since.as_ref())? {
            Some(feed) => Some(feed),
            None => self.workspace.replication().feed(None)?,
        };
        Ok(())
    }

    /// Asks for what an earlier connection did not bring any more.
    fn want_missing(&mut self) -> Result<(), ReplicaError> {
        let missing = self.workspace.replication().unsettled_blobs()?;
        self.is_unsettled |= !missing.is_empty();
        self.blobs.want(missing);
        Ok(())
    }

    /// Returns what is to be sent of the log next.
    fn next_logged(&mut self) -> Result<Option<Vec<u8>>, ReplicaError> {
        let Some(feed) = &mut self.feed else { return Ok(None) };
        if matches!(self.role, SessionRole::Guest { is_writer: false, .. }) {
            return Ok(None);
        }
        let (mut n_updates, mut n_bytes) = (0, 0);
        // Pieces up to a frame's worth, or up to a place that was reached.
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
                    Some(pieces) => self.pieces.extend(pieces),
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

    fn take(&mut self, updates: &[DocumentUpdate<'_>]) -> Result<(), ReplicaError> {
        let Some(feed) = &mut self.feed else { return Err(ReplicaError::OutOfTurn("updates")) };
        self.progress.n_received += updates.len() as u64;
        if matches!(self.role, SessionRole::Hub { writable: false }) {
            return Err(ReplicaError::OutOfTurn("updates, which it may not,"));
        }
        if !self.is_unsettled && updates.iter().any(|update| update.doc == *self.workspace.id()) {
            self.workspace.replication().set_unsettled(true)?;
            self.is_unsettled = true;
        }
        // The first page may be one of which a part arrived before the line was cut.
        let is_new = self.is_resumed && self.n_pages > 0;
        let arrivals = updates.iter().map(|update| ReplicaUpdate {
            doc: update.doc.clone(),
            update: update.data.to_vec(),
            is_new: is_new && !update.is_whole,
        });
        let taken = self.workspace.replication().receive(&arrivals.collect::<Vec<_>>())?;
        feed.skip(taken.logged.iter().copied());
        self.progress.n_new += taken.n_new;
        if matches!(self.role, SessionRole::Hub { .. }) {
            self.workspace.replication().settle_contents(&taken)?;
        }
        for (doc, refusal) in &taken.refused {
            self.tell_refused(doc, &refusal.to_string())?;
        }
        for doc in &taken.unknown {
            self.tell_refused(doc, "there is no such file")?;
        }
        self.blobs.want(self.workspace.replication().wanted_blobs(&taken)?);
        Ok(())
    }

    /// Confirms what was reached, once its blobs are here.
    fn settle(&mut self) -> Result<(), ReplicaError> {
        if !self.blobs.is_settled() {
            return Ok(());
        }
        if self.is_unsettled && self.blobs.n_lacking == 0 && !self.reached.is_empty() {
            self.workspace.replication().set_unsettled(false)?;
            self.is_unsettled = false;
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
            self.tell(&ReplicaMessage::Taken { cursor: &cursor })?;
            if let (SessionRole::Hub { .. }, Some(feed)) = (&self.role, &mut self.feed) {
                feed.tell();
            }
        }
        Ok(())
    }

    /// Puts an answer before everything else. A peer that sends much and reads nothing is let go.
    fn tell(&mut self, message: &ReplicaMessage<'_>) -> Result<(), ReplicaError> {
        if self.urgent.len() >= MAX_URGENT {
            return Err(ReplicaError::TooMuch);
        }
        let frame = message.encode();
        self.urgent_bytes += frame.len();
        self.urgent.push_back(frame);
        Ok(())
    }

    /// Notes that something of the other's was refused, and tells it unless much waits for it.
    fn tell_refused(&mut self, doc: &FileId, reason: &str) -> Result<(), ReplicaError> {
        self.note_refused("here", doc, reason);
        if self.urgent_bytes >= MAX_URGENT_BYTES {
            return Ok(());
        }
        let reason: String = reason.chars().take(REASON_LEN).collect();
        self.tell(&ReplicaMessage::Refused { doc: doc.clone(), reason: &reason })
    }

    /// Keeps a refusal in words that do nothing to a terminal.
    fn note_refused(&mut self, side: &str, doc: &FileId, reason: &str) {
        self.progress.n_refused += 1;
        if self.progress.refused.len() < MAX_REFUSALS {
            let printable =
                |it: char| if it.is_control() { char::REPLACEMENT_CHARACTER } else { it };
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
