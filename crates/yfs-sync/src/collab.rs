//! Many documents over one connection, as Hocuspocus 4 frames them (`docs/format/hocuspocus.md`).
//!
//! Every frame begins with a *key*: the name of the document, and behind a NUL the number of a
//! session where one connection opens a document more than once. Answers carry the key of what they
//! answer. A key must be opened with a token before anything else is heard under it: what comes
//! earlier is dropped, which loses nothing, since a client offers all that it has once it is in.

use std::{collections::BTreeMap, time::Duration};

use yfs_engine::lib0::{Lib0Error, Lib0Reader, write_string, write_var_uint};

use crate::{
    frame::SharedFrame,
    hub::{CollabLocation, HubAnswer, HubSession, PeerAccess},
    message::{ProtocolError, SyncMessage},
    presence::PresenceConnection,
    sync_document::SyncError,
};

/// How long a key may be, in bytes.
const MAX_KEY_LEN: usize = 512;

/// How long a token may be, in bytes.
const MAX_TOKEN_LEN: usize = 16 << 10;

/// How many documents one connection may have open.
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

/// A frame that asks whether the other is still there. It has no key.
pub const PING: [u8; 1] = [9];

/// The answer to [`PING`].
pub const PONG: [u8; 1] = [10];

/// A document that was opened for one key of one connection. Dropping it leaves it.
pub trait CollabDocument: CollabLocation {
    /// Returns the connection in the document's room.
    fn connection(&self) -> PresenceConnection;

    /// Tells everybody at the document, the peer included, of an awareness update.
    fn relay(&self, update: &[u8]);

    /// Takes over the presence of the seat that this one replaces, which is dropped next.
    fn succeed(&self, previous: &Self);
}

/// Whoever knows the documents and who may open them.
pub trait DocumentOpener {
    /// What it opens.
    type Seat: CollabDocument;

    /// Opens a document for a key. What others do there is sent with this key from then on, by
    /// whoever holds the connection.
    ///
    /// # Errors
    ///
    /// Why not, in words for the peer.
    fn open(&mut self, request: &OpenRequest<'_>) -> Result<(Self::Seat, PeerAccess), String>;
}

/// A peer's wish to open a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRequest<'a> {
    /// The key under which the peer speaks of it.
    pub key: &'a str,
    /// The name of the document.
    pub name: &'a str,
    /// What shows that the peer may; empty if it has nothing.
    pub token: &'a str,
}

/// One connection, as the hub sees it.
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
    /// Takes a frame, and returns the frames to be sent.
    ///
    /// What one document refuses ends that document's part and nothing else.
    ///
    /// # Errors
    ///
    /// If the connection must end: it sent what is not a frame, or a document failed.
    pub fn receive<D: DocumentOpener<Seat = S>>(
        &mut self,
        desk: &mut D,
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
                TOKEN => self.admit(desk, key, reader.string()?),
                // Only hubs send the others.
                other => Err(ProtocolError::UnknownType(other).into()),
            },
            SYNC | AWARENESS | QUERY_AWARENESS => self.pass(key, message, now),
            // As Sync, between hubs; whoever sends it wants no SyncStep1.
            SYNC_REPLY => {
                let message = [&[SYNC as u8], &frame[reader.position()..]].concat();
                let mut frames = self.pass(key, &message, now)?;
                frames.truncate(1);
                Ok(frames)
            }
            CLOSE => {
                self.open.remove(key);
                Ok(Vec::new())
            }
            // Nobody here has anything to say beside the documents.
            STATELESS => Ok(Vec::new()),
            other => Err(ProtocolError::UnknownType(other).into()),
        }
    }

    /// Ends the part of each key to which the token no longer gives a right, for a reason, and
    /// returns the frames that say so: a provider reports a bare close as code 1000, a normal end.
    pub fn expel(&mut self, mut reason: impl FnMut(&str) -> Option<String>) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        self.open.retain(|key, _| {
            let Some(reason) = reason(key) else { return true };
            frames.extend([denied(key, &reason), close(key, &reason)]);
            false
        });
        frames
    }

    /// Returns the document that a frame asks for what its sender lacks, which is the one question
    /// that costs.
    pub fn asked(&self, frame: &[u8]) -> Option<&S> {
        let mut reader = Lib0Reader::new(frame);
        let key = reader.string().ok()?;
        let is_step_1 = SyncMessage::is_step_1(&frame[reader.position()..]);
        self.open.get(key).filter(|_| is_step_1).map(|(_, seat)| seat)
    }

    /// Tells whether a key is open.
    pub fn is_open(&self, key: &str) -> bool {
        self.open.contains_key(key)
    }

    /// Returns how many documents are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Tells whether no document is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    fn admit<D: DocumentOpener<Seat = S>>(
        &mut self,
        desk: &mut D,
        key: &str,
        token: &str,
    ) -> Result<Vec<SharedFrame>, SyncError> {
        if token.len() > MAX_TOKEN_LEN {
            return Err(Lib0Error::Parts.into());
        }
        if !self.open.contains_key(key) && self.open.len() >= MAX_DOCUMENTS {
            return Ok(vec![denied(key, "too many documents on one connection").into()]);
        }
        let (seat, access) = match desk.open(&OpenRequest { key, name: name_of(key), token }) {
            Ok(opened) => opened,
            Err(reason) => {
                self.open.remove(key);
                return Ok(vec![denied(key, &reason).into()]);
            }
        };
        // A provider with a new token does not sync again. Its old seat is left only now, so that
        // no update falls between the two.
        if let Some((_, previous)) = self.open.get(key) {
            seat.succeed(previous);
        }
        let session = HubSession::with_prefix(seat.connection(), access, prefix(key));
        let mut frames = vec![authenticated(key, access).into()];
        frames.extend(session.presence(&seat).map(Into::into));
        self.open.insert(key.to_owned(), (session, seat));
        Ok(frames)
    }

    /// Passes a message on to the document's session.
    fn pass(
        &mut self,
        key: &str,
        message: &[u8],
        now: Duration,
    ) -> Result<Vec<SharedFrame>, SyncError> {
        let Some((session, seat)) = self.open.get_mut(key) else { return Ok(Vec::new()) };
        match session.receive(seat, message, now) {
            Ok(HubAnswer { mut frames, relay, applied }) => {
                if let Some(update) = relay {
                    seat.relay(&update);
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

/// Returns what a frame asks to open, if it asks for that.
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

/// Writes what a frame of this key begins with.
pub fn prefix(key: &str) -> Vec<u8> {
    let mut frame = Vec::with_capacity(key.len() + 2);
    write_string(&mut frame, key);
    frame
}

/// Writes the frame that ends one document's part of the connection.
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
