//! Who is at work without a connection to the main document: agents, and the guests of a link for a
//! part of the workspace, which never open that document.
//!
//! The server says for them which file is open, in the rooms of the main document and of the file,
//! as if they were editors on the server of another peer. Each is shown for a short time after its
//! last sign of life.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{task::block_in_place, time::sleep};
use yfs::Workspace;
use yfs_engine::{
    actor::{Actor, ActorKind},
    id::{ClientId, FileId, ItemId},
};
use yfs_peer::{PeerId, RemotePresence};
use yfs_sync::presence::{PresenceEntry, encode};
use yfs_vfs::{
    ChangeKind, ChangesOptions, FileChange, FileSystem, FsError, Op,
    guarded_fs::{AdmittedCall, FsGuard, GuardedCall},
};

use crate::rooms::DocumentRooms;

/// How long a session is shown after its last sign of life.
const SHOWN: Duration = Duration::from_secs(12);

/// How often a session that goes on is announced again: clients forget one after 30 seconds.
const RENEWAL: Duration = Duration::from_secs(5);

/// How often sessions that have ended are removed.
const SWEEP: Duration = Duration::from_secs(1);

/// The most sessions.
const MAX_SESSIONS: usize = 4_096;

/// How many changes one read of the log returns, how many of them are shown, the latest, and how
/// long a read waits. An agent is at one file, and an import is no one at work.
const PAGE: usize = 256;
const SHOWN_OF_PAGE: usize = 16;
const WAIT: Duration = Duration::from_secs(15);

/// The delay after which the rooms have got the updates of a change.
const DELAY: Duration = Duration::from_millis(50);

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
    /// The first item that the session has just written there.
    pub(crate) written: Option<ItemId>,
}

#[derive(Debug)]
struct LiveSession {
    client: u64,
    clock: u64,
    sign: LiveSign,
    touched: Duration,
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
        let mut docs = BTreeSet::from([main.clone()]);
        let session = sessions.entry(sign.key.clone()).or_insert_with(|| LiveSession {
            client: client_of(&sign.key),
            clock: 0,
            sign: sign.clone(),
            touched: now,
            announced: Duration::ZERO,
        });
        session.touched = now;
        let is_same = session.clock > 0
            && session.sign.open == sign.open
            && session.sign.color == sign.color
            && sign.written.is_none_or(|written| session.sign.written == Some(written));
        if is_same && now.saturating_sub(session.announced) < RENEWAL {
            return Some(session.client);
        }
        docs.extend(session.sign.open.clone());
        docs.extend(sign.open.clone());
        let is_same_file = session.sign.open == sign.open;
        let written = sign.written.or(session.sign.written.filter(|_| is_same_file));
        session.sign = LiveSign { written, ..sign };
        session.clock += 1;
        session.announced = now;
        let client = session.client;
        announce(&sessions, rooms, main, docs);
        Some(client)
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
                if is_over {
                    docs.insert(main.clone());
                    docs.extend(session.sign.open.clone());
                }
                !is_over
            });
            announce(&sessions, rooms, main, docs);
        }
    }

    /// Shows the agents that change files, by whichever door and in whichever process, forever.
    pub(crate) async fn follow_agents(
        &self,
        workspace: &Workspace,
        rooms: &DocumentRooms,
    ) -> Infallible {
        let fs = workspace.fs();
        loop {
            if let Ok(mut at) = fs.cursor().await {
                let options = ChangesOptions { limit: PAGE, wait: Some(WAIT) };
                while let Ok(page) = fs.changes(&at, &options).await {
                    at = page.next;
                    // The rooms send what was written first.
                    sleep(DELAY).await;
                    let late = page.events.len().saturating_sub(SHOWN_OF_PAGE);
                    for change in &page.events[late..] {
                        self.show(workspace, rooms, change);
                    }
                }
            }
            // The log was compacted, or the workspace is closed.
            sleep(SWEEP).await;
        }
    }

    fn show(&self, workspace: &Workspace, rooms: &DocumentRooms, change: &FileChange) {
        if change.kind == ChangeKind::Removed {
            return;
        }
        // What another process wrote is noticed without its author, whom the log knows.
        let logged = || {
            let mut changes = workspace.history().changes(&change.path).ok()?;
            changes.next()?.ok()?.actor
        };
        let actor = change.actor.clone().or_else(|| block_in_place(logged));
        if let Some(actor) = &actor.filter(|actor| actor.kind == ActorKind::Agent) {
            let written = rooms.written_without_member(&change.id);
            let open = Some(change.id.clone());
            self.touch(rooms, workspace.id(), LiveSign::of_agent(actor, open, written));
        }
    }
}

impl LiveSign {
    /// Makes the sign of an agent: all sessions of one actor are one.
    pub(crate) fn of_agent(actor: &Actor, open: Option<FileId>, written: Option<ItemId>) -> Self {
        let (key, name) = (format!("agent {actor}"), actor.name.to_string());
        Self { key, name, is_agent: true, color: None, open, written }
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
            return Some(json!({ "user": user, "open": open }).to_string());
        }
        // The page of a guest is in the room of its file itself.
        let is_here = self.is_agent && self.open.as_ref() == Some(doc);
        let cursor = self.written.map(|item| {
            let place = position(item);
            json!({ "anchor": place, "head": place })
        });
        is_here.then(|| json!({ "user": user, "cursor": cursor }).to_string())
    }
}

/// Describes the place before an item as a relative position of Yjs.
fn position(item: ItemId) -> Value {
    let item = json!({ "client": item.client.get(), "clock": item.clock });
    json!({ "type": null, "tname": null, "item": item, "assoc": 0 })
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

/// Shows an agent at the files that it reads. It refuses nothing.
#[derive(Debug)]
pub(crate) struct ReadingGuard {
    pub(crate) live: Arc<LivePresence>,
    pub(crate) rooms: Arc<DocumentRooms>,
    pub(crate) workspace: Workspace,
    pub(crate) actor: Actor,
}

#[async_trait]
impl FsGuard for ReadingGuard {
    async fn run_call(
        &self,
        fs: &dyn FileSystem,
        call: &GuardedCall<'_>,
        admitted: AdmittedCall<'_>,
    ) -> Result<(), FsError> {
        admitted.await?;
        let reads_one = matches!(call.op, Op::Read | Op::Write);
        let path = call.objects().into_iter().next().filter(|_| reads_one);
        if let Some(path) = path
            && let Ok(stat) = fs.stat(&path).await
        {
            let sign = LiveSign::of_agent(&self.actor, Some(stat.id), None);
            self.live.touch(&self.rooms, self.workspace.id(), sign);
        }
        Ok(())
    }
}
