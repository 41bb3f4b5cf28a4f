//! Many documents over one connection, as Hocuspocus 4 frames them (`docs/format/hocuspocus.md`).
//!
//! Every frame begins with a *key*: the name of the document, followed by a NUL and the number of a
//! session if one connection opens a document more than once. A response carries the key of its
//! request. A key must be opened with a token before the hub accepts other frames for it. Earlier
//! frames are dropped. This loses no data, because a client sends its whole state after it was
//! admitted.

use std::{collections::BTreeMap, time::Duration};

use yfs_engine::lib0::{Lib0Error, Lib0Reader, write_string, write_var_uint};

use crate::{
    frame::SharedFrame,
    hub::{DocumentWithPresence, HubAnswer, HubSession, PeerAccess},
    message::{ProtocolError, SyncMessage},
    presence::PresenceConnection,
    sync_document::SyncError,
};

/// The greatest length of a key, in bytes.
const MAX_KEY_LEN: usize = 512;

/// The greatest length of a token, in bytes.
const MAX_TOKEN_LEN: usize = 16 << 10;

/// The most documents that one connection may have open.
pub const MAX_DOCUMENTS: usize = 1024;

const SYNC: u64 = 0;
const AWARENESS: u64 = 1;
const AUTH: u64 = 2;
const QUERY_AWARENESS: u64 = 3;
const SYNC_REPLY: u64 = 4;
const STATELESS: u64 = 5;
const CLOSE: u64 = 7;
const SYNC_STATUS: u64 = 8;

const TOKEN: u64 = 0;
const DENIED: u64 = 1;
const AUTHENTICATED: u64 = 2;

/// A frame that asks whether the peer is alive. It has no key.
pub const PING: [u8; 1] = [9];

/// The response to [`PING`].
pub(crate) const PONG: [u8; 1] = [10];

/// A document opened under one key of one connection. Dropping it leaves the document's room.
pub trait CollabDocument: DocumentWithPresence {
    /// Returns the connection in the document's presence room.
    fn connection(&self) -> PresenceConnection;

    /// Sends an awareness update to all connections of the document, including the peer's.
    fn broadcast_presence(&self, update: &[u8]);

    /// Takes over the presence of `previous`, which this one replaces and which is dropped next.
    fn take_over_presence(&self, previous: &Self);
}

/// The owner of the documents, which decides about access to them.
pub trait DocumentOpener {
    /// The opened document.
    type Document: CollabDocument;

    /// Opens a document for a key. From then on the owner of the connection sends the changes of
    /// other peers with this key.
    ///
    /// # Errors
    ///
    /// The reason of a rejection, as text for the peer.
    fn open(&mut self, request: &OpenRequest<'_>) -> Result<(Self::Document, PeerAccess), String>;
}

/// A peer's request to open a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRequest<'a> {
    /// The key that the peer uses for the document.
    pub key: &'a str,
    /// The name of the document.
    pub name: &'a str,
    /// The peer's credential; empty if it has none.
    pub token: &'a str,
}

/// One connection, on the hub's side.
#[derive(Debug)]
pub struct CollabSession<S> {
    open: BTreeMap<String, (HubSession, S)>,
}

impl<S> Default for CollabSession<S> {
    fn default() -> Self {
        Self { open: BTreeMap::new() }
    }
}

impl<S: CollabDocument> CollabSession<S> {
    /// Processes a frame, and returns the frames to send in response.
    ///
    /// If a document rejects a message, only that document's part of the connection ends.
    ///
    /// # Errors
    ///
    /// If the connection must end: the peer sent an invalid frame, or a document failed.
    pub fn receive<D: DocumentOpener<Document = S>>(
        &mut self,
        opener: &mut D,
        frame: &[u8],
        now: Duration,
    ) -> Result<Vec<SharedFrame>, SyncError> {
        if frame == PING {
            return Ok(vec![PONG.to_vec().into()]);
        }
        if frame == PONG {
            return Ok(Vec::new());
        }
        let mut reader = Lib0Reader::new(frame);
        let key = reader.string()?;
        if key.len() > MAX_KEY_LEN {
            return Err(Lib0Error::Parts.into());
        }
        let message = &frame[reader.position()..];
        match reader.var_uint()? {
            AUTH => match reader.var_uint()? {
                TOKEN => self.open_document(opener, key, reader.string()?),
                // Only hubs send the other types.
                other => Err(ProtocolError::UnknownType(other).into()),
            },
            SYNC | AWARENESS | QUERY_AWARENESS => self.process_message(key, message, now),
            // Like Sync, between hubs; its sender expects no SyncStep1 in response.
            SYNC_REPLY => {
                let message = [&[SYNC as u8], &frame[reader.position()..]].concat();
                if let Some((session, _)) = self.open.get_mut(key) {
                    session.note_asked();
                }
                let mut frames = self.process_message(key, &message, now)?;
                frames.truncate(1);
                Ok(frames)
            }
            CLOSE => {
                self.open.remove(key);
                Ok(Vec::new())
            }
            // The hub ignores stateless messages: it handles documents only.
            STATELESS => Ok(Vec::new()),
            other => Err(ProtocolError::UnknownType(other).into()),
        }
    }

    /// Ends the part of each key for which `reason` returns a reason, because its token no longer
    /// grants access. Returns the frames that report it. Each close follows a denial, because a
    /// provider reports a close alone as code 1000, a normal end.
    pub fn close_documents(
        &mut self,
        mut reason: impl FnMut(&str) -> Option<String>,
    ) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        self.open.retain(|key, _| {
            let Some(reason) = reason(key) else { return true };
            frames.extend([denied(key, &reason), close(key, &reason)]);
            false
        });
        frames
    }

    /// Returns the document of a frame that requests missing updates, the only expensive request;
    /// `None` for other frames.
    pub fn requested_document(&self, frame: &[u8]) -> Option<&S> {
        let mut reader = Lib0Reader::new(frame);
        let key = reader.string().ok()?;
        let is_step_1 = SyncMessage::is_step_1(&frame[reader.position()..]);
        self.open.get(key).filter(|_| is_step_1).map(|(_, document)| document)
    }

    /// Reports whether a key is open.
    pub fn is_open(&self, key: &str) -> bool {
        self.open.contains_key(key)
    }

    /// Returns the number of open documents.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Reports whether no document is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    fn open_document<D: DocumentOpener<Document = S>>(
        &mut self,
        opener: &mut D,
        key: &str,
        token: &str,
    ) -> Result<Vec<SharedFrame>, SyncError> {
        if token.len() > MAX_TOKEN_LEN {
            return Err(Lib0Error::Parts.into());
        }
        if !self.open.contains_key(key) && self.open.len() >= MAX_DOCUMENTS {
            return Ok(vec![denied(key, "too many documents on one connection").into()]);
        }
        let (document, access) = match opener.open(&OpenRequest { key, name: name_of(key), token })
        {
            Ok(opened) => opened,
            Err(reason) => {
                self.open.remove(key);
                return Ok(vec![denied(key, &reason).into()]);
            }
        };
        // A provider with a new token does not sync again. The old document is dropped only after
        // the new one is open, so that no update is lost between the two.
        if let Some((_, previous)) = self.open.get(key) {
            document.take_over_presence(previous);
        }
        let mut session = HubSession::with_prefix(document.connection(), access, prefix(key));
        let mut frames = vec![authenticated(key, access).into(), session.ask(&document)?];
        frames.extend(session.presence(&document).map(Into::into));
        self.open.insert(key.to_owned(), (session, document));
        Ok(frames)
    }

    /// Processes a message in the document's session.
    fn process_message(
        &mut self,
        key: &str,
        message: &[u8],
        now: Duration,
    ) -> Result<Vec<SharedFrame>, SyncError> {
        let Some((session, document)) = self.open.get_mut(key) else { return Ok(Vec::new()) };
        match session.receive(document, message, now) {
            Ok(HubAnswer { mut frames, broadcast, applied }) => {
                if let Some(update) = broadcast {
                    document.broadcast_presence(&update);
                }
                frames.extend(applied.map(|applied| status(key, applied).into()));
                Ok(frames)
            }
            Err(failed @ SyncError::Failed(_)) => Err(failed),
            Err(error) => {
                self.open.remove(key);
                Ok(vec![status(key, false).into(), close(key, &error.reason()).into()])
            }
        }
    }
}

/// Returns the request of a frame that asks to open a document, `None` for other frames.
pub fn request(frame: &[u8]) -> Option<OpenRequest<'_>> {
    let mut reader = Lib0Reader::new(frame);
    let key = reader.string().ok()?;
    let is_token = reader.var_uint() == Ok(AUTH) && reader.var_uint() == Ok(TOKEN);
    let token = reader.string().ok().filter(|token| is_token && token.len() <= MAX_TOKEN_LEN)?;
    (key.len() <= MAX_KEY_LEN).then(|| OpenRequest { key, name: name_of(key), token })
}

/// Returns the name of the document in a key.
fn name_of(key: &str) -> &str {
    key.split_once('\0').map_or(key, |(name, _)| name)
}

/// Returns the beginning of every frame with this key.
pub fn prefix(key: &str) -> Vec<u8> {
    let mut frame = Vec::with_capacity(key.len() + 2);
    write_string(&mut frame, key);
    frame
}

/// Encodes the frame that ends one document's part of the connection.
pub fn close(key: &str, reason: &str) -> Vec<u8> {
    let mut frame = start(key, &[CLOSE]);
    write_string(&mut frame, reason);
    frame
}

fn denied(key: &str, reason: &str) -> Vec<u8> {
    let mut frame = start(key, &[AUTH, DENIED]);
    write_string(&mut frame, reason);
    frame
}

fn authenticated(key: &str, access: PeerAccess) -> Vec<u8> {
    let mut frame = start(key, &[AUTH, AUTHENTICATED]);
    let scope = match access {
        PeerAccess::ReadWrite => "read-write",
        PeerAccess::ReadOnly => "readonly",
    };
    write_string(&mut frame, scope);
    frame
}

fn status(key: &str, applied: bool) -> Vec<u8> {
    start(key, &[SYNC_STATUS, u64::from(applied)])
}

fn start(key: &str, kinds: &[u64]) -> Vec<u8> {
    let mut frame = prefix(key);
    for kind in kinds {
        write_var_uint(&mut frame, *kind);
    }
    frame
}

#[cfg(test)]
mod tests;
