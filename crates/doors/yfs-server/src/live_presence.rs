//! Who is at work without a connection to the main document: agents, and the guests of a link for a
//! part of the workspace, which never open that document.
//!
//! The server says for them which file is open, in the rooms of the main document and of the file,
//! as if they were editors on the server of another peer. Each is shown for a short time after its
//! last sign of life.

mod agent_socket;
mod agent_watch;
mod reading_guard;

pub use self::agent_socket::AgentSigns;
pub(crate) use self::{
    agent_socket::receive_forever,
    reading_guard::{LiveReadings, readings_of},
};

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::sleep;
use yfs_engine::{
    actor::Actor,
    content::{Anchor, AnchorSide},
    id::{ClientId, FileId, ItemId},
    time::Millis,
};
use yfs_peer::{PeerId, RemotePresence};
use yfs_sync::presence::{PresenceEntry, encode};

use crate::rooms::DocumentRooms;

/// How long a session is shown after its last sign of life, and its caret after it wrote.
const SHOWN: Duration = Duration::from_secs(12);

/// How often a session that goes on is announced again: clients forget one after 30 seconds.
const RENEWAL: Duration = Duration::from_secs(5);

/// How often sessions that have ended are removed.
const SWEEP: Duration = Duration::from_secs(1);

/// The most sessions.
const MAX_SESSIONS: usize = 4_096;

/// The peer under which the rooms know these sessions. No key of a peer has these bytes.
pub(crate) const SERVER_PEER: [u8; 32] = [0; 32];

/// The sessions that the server shows.
#[derive(Debug, Default)]
pub(crate) struct LivePresence {
    sessions: Mutex<BTreeMap<String, LiveSession>>,
}

/// What a session does now.
#[derive(Debug, Clone)]
pub(crate) struct LiveSign {
    /// Identifies the session on this server.
    pub(crate) key: String,
    /// The name that others see.
    pub(crate) name: String,
    /// Whether a program is at work, not a person in a page.
    pub(crate) is_agent: bool,
    /// The color that the page of a guest has chosen, as `#rrggbb`.
    pub(crate) color: Option<String>,
    /// The file that is open.
    pub(crate) open: Option<FileId>,
    /// What the session has just written there.
    pub(crate) written: Option<WrittenRun>,
}

/// The last run of an agent in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenRun {
    /// When it began, and its entry in the log of the document.
    pub(crate) run: Option<(Millis, ItemId)>,
    /// Where it ended.
    pub(crate) place: Option<Anchor>,
}

#[derive(Debug)]
struct LiveSession {
    client: u64,
    clock: u64,
    sign: LiveSign,
    touched: Duration,
    /// The last run that it is known to have written, in any file, and when it was shown.
    newest: Option<WrittenRun>,
    wrote: Duration,
    announced: Duration,
}

impl LivePresence {
    /// Shows what a session does now. Returns its client id; `None` if there are too many sessions.
    pub(crate) fn touch(
        &self,
        rooms: &DocumentRooms,
        main: &FileId,
        sign: LiveSign,
    ) -> Option<u64> {
        let now = rooms.now();
        let mut sessions = self.sessions.lock();
        if !sessions.contains_key(&sign.key) && sessions.len() >= MAX_SESSIONS {
            return None;
        }
        let session = sessions.entry(sign.key.clone()).or_insert_with(|| LiveSession {
            client: client_of(&sign.key),
            clock: 0,
            sign: sign.clone(),
            touched: now,
            newest: None,
            wrote: now,
            announced: Duration::ZERO,
        });
        session.touched = now;
        let is_same = session.clock > 0
            && session.sign.open == sign.open
            && session.sign.color == sign.color
            && sign.written.is_none();
        if is_same && now.saturating_sub(session.announced) < RENEWAL {
            return Some(session.client);
        }
        let docs = [Some(main), session.sign.open.as_ref(), sign.open.as_ref()];
        let docs: BTreeSet<FileId> = docs.into_iter().flatten().cloned().collect();
        session.accept(sign, now);
        let client = session.client;
        announce(&sessions, rooms, main, docs);
        Some(client)
    }

    /// Reports whether a run of an agent is newer than what is known of it, as far as that is
    /// known.
    fn is_news(&self, key: &str, written: &WrittenRun) -> bool {
        let sessions = self.sessions.lock();
        let known = sessions.get(key).and_then(|session| session.newest.as_ref());
        let Some(known) = known else { return true };
        known.run < written.run || known.run == written.run && known.place != written.place
    }

    /// Removes the sessions that have ended, once a second, forever.
    pub(crate) async fn sweep_forever(&self, rooms: &DocumentRooms, main: &FileId) -> Infallible {
        loop {
            sleep(SWEEP).await;
            let now = rooms.now();
            let mut sessions = self.sessions.lock();
            let mut docs = BTreeSet::new();
            sessions.retain(|_, session| {
                let is_over = now.saturating_sub(session.touched) >= SHOWN;
                if session.end_caret(now) || is_over {
                    docs.insert(main.clone());
                    docs.extend(session.sign.open.clone());
                }
                !is_over
            });
            announce(&sessions, rooms, main, docs);
        }
    }
}

impl LiveSession {
    fn accept(&mut self, sign: LiveSign, now: Duration) {
        let is_same_file = self.sign.open == sign.open;
        let before = self.sign.written.take().filter(|_| is_same_file);
        let written = match (sign.written, before) {
            (Some(new), before) => {
                self.wrote = now;
                if new.run.is_some() {
                    self.newest = Some(new.clone());
                }
                // A change of another kind, such as a rename, leaves the caret where it is.
                let place = new.place.or(before.and_then(|before| before.place));
                Some(WrittenRun { place, ..new })
            }
            (None, before) => before,
        };
        self.sign = LiveSign { written, ..sign };
        self.clock += 1;
        self.announced = now;
    }

    /// Ends the caret a moment after the last write; reports whether that changes what is shown.
    fn end_caret(&mut self, now: Duration) -> bool {
        let is_over = now.saturating_sub(self.wrote) >= SHOWN;
        let ended = self.sign.written.take_if(|_| is_over).is_some();
        self.clock += u64::from(ended);
        ended
    }
}

impl LiveSign {
    /// Makes the sign of an agent: all sessions of one actor are one.
    pub(crate) fn of_agent(actor: &Actor, open: FileId, written: Option<WrittenRun>) -> Self {
        let (key, name) = (agent_key(actor), actor.name.to_string());
        Self { key, name, is_agent: true, color: None, open: Some(open), written }
    }

    fn user(&self) -> Value {
        let mut user = json!({ "name": self.name, "agent": self.is_agent });
        if let Some(color) = &self.color {
            user["color"] = color.as_str().into();
        }
        user
    }

    fn state_at(&self, doc: &FileId, main: &FileId) -> Option<String> {
        let user = self.user();
        if doc == main {
            let open = self.open.as_ref().map(FileId::as_str);
            let mut state = json!({ "user": user, "open": open });
            if self.written.is_some() {
                state["writes"] = true.into();
            }
            return Some(state.to_string());
        }
        // The page of a guest is in the room of its file itself.
        let is_here = self.is_agent && self.open.as_ref() == Some(doc);
        let place = self.written.as_ref().and_then(|written| written.place.as_ref());
        let cursor =
            place.and_then(position).map(|place| json!({ "anchor": place, "head": place }));
        is_here.then(|| json!({ "user": user, "cursor": cursor }).to_string())
    }
}

fn agent_key(actor: &Actor) -> String {
    format!("agent {actor}")
}

/// Describes an anchor as a relative position of Yjs.
fn position(anchor: &Anchor) -> Option<Value> {
    let (item, side) = anchor.neighbor()?;
    let assoc = if side == AnchorSide::Left { -1 } else { 0 };
    let item = json!({ "client": item.client.get(), "clock": item.clock });
    Some(json!({ "type": null, "tname": null, "item": item, "assoc": assoc }))
}

/// Returns a client id that no other session has, but by chance.
fn client_of(key: &str) -> u64 {
    let mut random = [0; 8];
    // Without a random source the id is that of the key.
    getrandom::fill(&mut random).ok();
    let hash = blake3::keyed_hash(&[7; 32], &[key.as_bytes(), &random].concat());
    let bytes = hash.as_bytes().first_chunk::<8>().copied().unwrap_or_default();
    u64::from_le_bytes(bytes) % (ClientId::LIMIT - 1) + 1
}

fn announce(
    sessions: &BTreeMap<String, LiveSession>,
    rooms: &DocumentRooms,
    main: &FileId,
    docs: BTreeSet<FileId>,
) {
    for doc in docs {
        let here = sessions.values().filter_map(|session| {
            let state = session.sign.state_at(&doc, main)?;
            Some((session.client, session.clock, state))
        });
        let here: Vec<_> = here.collect();
        let entries = here.iter().map(|(id, clock, state)| {
            let (id, clock) = (*id, *clock);
            PresenceEntry { id, clock, state }
        });
        let states = encode(&entries.collect::<Vec<_>>());
        let peer = PeerId::from_bytes(SERVER_PEER);
        rooms.receive_remote(&RemotePresence { peer, doc, states });
    }
}

#[cfg(test)]
mod tests;
