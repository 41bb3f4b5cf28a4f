//! What agents of other processes read: `yfs mcp` and `yfs tool` beside a server.
//!
//! Each server has a socket for datagrams in the directory `live.sockets` beside the store, with
//! mode 0600, while a page is open. A process with an agent sends to all of them which file it
//! reads. Nothing of it is stored, and without a socket there is nothing to send.
//!
//! A datagram is JSON: `{"workspace": …, "actor": …, "open": …, "writes": …}`.

use std::{
    convert::Infallible,
    fs::{self, Permissions},
    io,
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt},
        net::UnixDatagram as Sender,
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{net::UnixDatagram, time::sleep};
use yfs::Workspace;
use yfs_engine::{
    actor::Actor,
    id::{FileId, WorkspaceId},
};
use yfs_peer::SocketAddress;
use yfs_sync::is_printable_name;
use yfs_vfs::FileSystem;

use super::{
    LivePresence, LiveSign, WrittenRun,
    reading_guard::{ReadingReport, readings_of},
};
use crate::rooms::DocumentRooms;

/// The directory of the sockets, in that of the store.
const DIRECTORY: &str = "live.sockets";

/// The greatest length of a datagram, in bytes.
const MAX_LEN: usize = 1_024;

/// The most sockets to which a process sends.
const MAX_SERVERS: usize = 16;

/// The delay before a socket is made again after that failed.
const AGAIN: Duration = Duration::from_secs(5);

/// What an agent of another process does.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentSign {
    workspace: String,
    actor: String,
    open: String,
    writes: bool,
}

/// The servers beside a store, which show where agents of this process work.
#[derive(Debug, Clone)]
pub struct AgentSigns {
    dir: PathBuf,
    workspace: WorkspaceId,
    sender: Arc<Sender>,
}

impl AgentSigns {
    /// Finds the servers of a workspace beside its store, now and later.
    ///
    /// # Errors
    ///
    /// If the system has no socket left.
    pub fn beside(store_dir: &Path, workspace: &WorkspaceId) -> io::Result<Self> {
        let sender = Sender::unbound()?;
        sender.set_nonblocking(true)?;
        let (dir, workspace) = (store_dir.join(DIRECTORY), workspace.clone());
        Ok(Self { dir, workspace, sender: Arc::new(sender) })
    }

    /// Returns a filesystem through which an agent reads; pages show where.
    pub fn shown(&self, fs: Arc<dyn FileSystem>, actor: &Actor) -> Arc<dyn FileSystem> {
        readings_of(fs, actor, self.clone())
    }

    fn sockets(&self) -> impl Iterator<Item = String> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).take(MAX_SERVERS)
    }

    /// Sends to a socket. One of a server that was killed is removed: its name is not used again.
    fn send(&self, socket: &str, sign: &[u8]) {
        let Ok(address) = SocketAddress::of(&self.dir, socket) else { return };
        // A server that is busy misses a sign.
        let sent = self.sender.send_to(sign, address.path());
        if sent.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            fs::remove_file(self.dir.join(socket)).ok();
        }
    }
}

impl ReadingReport for AgentSigns {
    fn is_watched(&self) -> bool {
        self.sockets().next().is_some()
    }

    fn note_use(&self, actor: &Actor, file: FileId, writes: bool) {
        let (workspace, actor) = (self.workspace.to_string(), actor.to_string());
        let sign = AgentSign { workspace, actor, open: file.to_string(), writes };
        let sign = serde_json::to_vec(&sign).expect("strings are JSON");
        self.sockets().for_each(|socket| self.send(&socket, &sign));
    }
}

/// Shows the agents of other processes while the server runs and pages are open.
pub(crate) async fn receive_forever(
    live: &LivePresence,
    rooms: &DocumentRooms,
    workspace: &Workspace,
    store_dir: Option<&Path>,
) -> Infallible {
    let Some(dir) = store_dir else { return std::future::pending().await };
    let dir = dir.join(DIRECTORY);
    loop {
        rooms.wait_until_watched().await;
        let received =
            async { AgentSocket::bind(&dir)?.receive_while_watched(live, rooms, workspace).await };
        // Without a socket, pages show the agents that write.
        if received.await.is_err() {
            sleep(AGAIN).await;
        }
    }
}

/// The socket of this server, which is removed when this is dropped.
#[derive(Debug)]
struct AgentSocket {
    socket: UnixDatagram,
    path: PathBuf,
}

impl AgentSocket {
    fn bind(dir: &Path) -> io::Result<Self> {
        match fs::DirBuilder::new().mode(0o700).create(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let name = format!("{:016x}", getrandom::u64().map_err(io::Error::other)?);
        let address = SocketAddress::of(dir, &name)?;
        let socket = UnixDatagram::bind(address.path())?;
        let path = dir.join(name);
        let bound = Self { socket, path };
        fs::set_permissions(&bound.path, Permissions::from_mode(0o600))?;
        Ok(bound)
    }

    /// Receives until no page is open, which is noticed with the first sign that no page shows.
    async fn receive_while_watched(
        self,
        live: &LivePresence,
        rooms: &DocumentRooms,
        workspace: &Workspace,
    ) -> io::Result<()> {
        let mut bytes = [0; MAX_LEN];
        loop {
            let len = self.socket.recv(&mut bytes).await?;
            if !rooms.is_watched() {
                return Ok(());
            }
            if let Some(sign) = live_sign(&bytes[..len], workspace) {
                live.touch(rooms, workspace.id(), sign);
            }
        }
    }
}

impl Drop for AgentSocket {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// Reads a datagram; `None` unless it is of an agent at a file of the workspace.
fn live_sign(bytes: &[u8], workspace: &Workspace) -> Option<LiveSign> {
    let sign: AgentSign = serde_json::from_slice(bytes).ok()?;
    let (actor, open): (Actor, _) = (sign.actor.parse().ok()?, FileId::parse(&sign.open).ok()?);
    let is_here = sign.workspace == workspace.id().as_str()
        && is_printable_name(&actor.name)
        && workspace.nodes().path_of(&open).is_ok_and(|path| path.is_some());
    let written = sign.writes.then_some(WrittenRun { run: None, place: None });
    is_here.then(|| LiveSign::of_agent(&actor, open, written))
}
