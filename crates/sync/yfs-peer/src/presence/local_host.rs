//! The side of the socket of presence that belongs to the process that connects the peers.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt};
use tokio::{
    net::{UnixListener, UnixSocket, UnixStream, unix::OwnedWriteHalf},
    sync::Notify,
    task::{JoinHandle, JoinSet},
    time::timeout,
};
use yfs_replica::run_blocking;
use yfs_sync::presence::encode;

use crate::{
    membership::PeerMembership,
    peer_error::PeerError,
    presence::{
        PresenceSigner,
        local_channel::{
            ALL_SENT, SOCKET, SocketAddress, decode_frame, encode_frame, frames, write,
        },
        presence_table::{NextPresence, PresenceLinkNumber},
        signed_presence::PresenceFrame,
    },
};

/// The most servers at once.
const MAX_SERVERS: usize = 16;

/// The time in which a server must name its workspace.
const NAMED_WITHIN: Duration = Duration::from_secs(5);

/// The socket, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct LocalPresenceHost {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl LocalPresenceHost {
    /// Listens beside the store. The caller holds the lock of the directory, so that no other
    /// process does.
    pub(crate) fn start(dir: &Path, member: &Arc<PeerMembership>) -> io::Result<Self> {
        let address = SocketAddress::of(dir, SOCKET)?;
        match fs::remove_file(address.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixSocket::new_stream()?;
        socket.bind(address.path())?;
        // No process can connect before this one listens.
        fs::set_permissions(address.path(), Permissions::from_mode(0o600))?;
        let owner = fs::metadata(address.path())?.uid();
        let listener = socket.listen(8)?;
        let task = tokio::spawn(accept_all(listener, owner, member.clone()));
        let path = dir.join(SOCKET);
        Ok(Self { path, task })
    }
}

impl Drop for LocalPresenceHost {
    fn drop(&mut self) {
        self.task.abort();
        // The next process replaces one that remains.
        fs::remove_file(&self.path).ok();
    }
}

async fn accept_all(listener: UnixListener, owner: u32, member: Arc<PeerMembership>) {
    // They end with this task.
    let mut servers = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if servers.len() < MAX_SERVERS => {
                let Ok((stream, _)) = accepted else {
                    // The process has no descriptor left, for example.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                if stream.peer_cred().is_ok_and(|other| [owner, 0].contains(&other.uid())) {
                    let member = member.clone();
                    servers.spawn(async move { serve(stream, &member).await.ok() });
                }
            }
            Some(_) = servers.join_next() => {}
        }
    }
}

/// Exchanges presence with a server until it ends.
async fn serve(stream: UnixStream, member: &PeerMembership) -> Result<(), PeerError> {
    let (read, write_half) = stream.into_split();
    let mut received = pin!(frames(read));
    let first = timeout(NAMED_WITHIN, received.next()).await.ok().flatten();
    let workspace = member.workspace().id().as_str().as_bytes();
    if first.and_then(Result::ok).is_none_or(|named| named != workspace) {
        return Ok(());
    }
    let presence = member.presence();
    let server = LocalServer::default();
    let number = presence.state.lock().table.join(presence.own, true, server.wake.clone());
    let ended = tokio::select! {
        ended = receive_all(received, member, number, &server) => ended,
        ended = send_all(write_half, member, number, &server) => ended,
    };
    with_signer(member, |signer| presence.remove_server(number, signer))?;
    ended
}

/// What the two directions of a connection with a server share.
#[derive(Default)]
struct LocalServer {
    /// Wakes the direction that sends.
    wake: Arc<Notify>,
    /// Whether the server asks for the end of what is known.
    asks_for_end: AtomicBool,
}

async fn receive_all(
    mut received: impl Stream<Item = io::Result<Vec<u8>>> + Unpin,
    member: &PeerMembership,
    number: PresenceLinkNumber,
    server: &LocalServer,
) -> Result<(), PeerError> {
    while let Some(frame) = received.next().await {
        let frame = frame?;
        if frame == ALL_SENT {
            server.asks_for_end.store(true, Ordering::Relaxed);
            server.wake.notify_one();
            continue;
        }
        let (_, doc, states) = decode_frame(&frame).map_err(io::Error::other)?;
        with_signer(member, |signer| {
            member.presence().set_editors(number, &doc, &states, signer);
        })?;
    }
    Ok(())
}

async fn send_all(
    mut half: OwnedWriteHalf,
    member: &PeerMembership,
    number: PresenceLinkNumber,
    server: &LocalServer,
) -> Result<(), PeerError> {
    loop {
        let next = member.presence().state.lock().table.next(number, |_| true);
        let Some(next) = next else {
            if server.asks_for_end.swap(false, Ordering::Relaxed) {
                write(&mut half, ALL_SENT).await?;
            } else {
                server.wake.notified().await;
            }
            continue;
        };
        if let NextPresence::Record((peer, doc), message) = next {
            let frame = message.as_ref().map(|message| PresenceFrame::decode(&message.frame));
            let states = frame
                .and_then(Result::ok)
                .map_or_else(|| encode(&[]), |frame| frame.states.to_vec());
            write(&mut half, &encode_frame(Some(peer), &doc, &states)).await?;
        }
    }
}

fn with_signer<T>(
    member: &PeerMembership,
    call: impl FnOnce(PresenceSigner<'_>) -> T,
) -> Result<T, PeerError> {
    run_blocking(|| {
        let certificate = member.certificate()?;
        let signer =
            PresenceSigner { key: member.key(), certificate: &certificate, now: member.now() };
        Ok(call(signer))
    })
}
