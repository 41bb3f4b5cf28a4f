//! One WebSocket connection to any number of documents, by the Hocuspocus protocol.
//!
//! Each open document has a task that follows it, and puts what others do there into the connection's
//! outbox. The outbox is short: while the client does not read, the followers wait, fall behind, and
//! the connection ends. An update is never dropped.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::ws::{Message as Frame, WebSocket},
};
use tokio::{
    sync::{
        broadcast::{self, error::RecvError},
        mpsc,
    },
    task::block_in_place,
    time::{Instant, sleep_until},
};
use yfs::WorkspaceError;
use yfs_sync::{
    collab::{Collab, Desk, PING, Request, prefix},
    hub::Access,
    message::Message,
};

use crate::{rooms::Seat, serve::App, session::Ending};

/// How many frames wait for a client that reads slowly.
const OUTBOX: usize = 16;

/// After how long a silence we ask whether the client is there; it goes away after 30 seconds.
const SILENCE: Duration = Duration::from_secs(12);

/// What the followers have for the client: a frame, or the reason to end.
type Outgoing = Result<Bytes, Ending>;

/// Opens documents for one connection.
#[derive(Debug)]
struct Documents {
    app: App,
    outbox: mpsc::Sender<Outgoing>,
}

/// What a follower listens to. It ends with the connection, or when it has said why that must end.
#[derive(Debug)]
struct Follower {
    prefix: Vec<u8>,
    updates: broadcast::Receiver<Arc<[u8]>>,
    presence: broadcast::Receiver<Bytes>,
    outbox: mpsc::Sender<Outgoing>,
}

/// Serves a connection until it ends.
pub(crate) async fn run(mut socket: WebSocket, app: App) {
    // Our own sender keeps it open.
    let (outbox, mut outgoing) = mpsc::channel(OUTBOX);
    let mut documents = Documents { app, outbox };
    let Err(ending) = serve(&mut socket, &mut documents, &mut outgoing).await else { return };
    ending.send(&mut socket).await;
}

/// Serves until the client leaves (`Ok`) or has to leave.
async fn serve(
    socket: &mut WebSocket,
    documents: &mut Documents,
    outgoing: &mut mpsc::Receiver<Outgoing>,
) -> Result<(), Ending> {
    let mut collab = Collab::default();
    let mut sent = Instant::now();
    loop {
        // A failure to send shows as the end of the stream at the next `recv`.
        tokio::select! {
            frame = socket.recv() => match frame {
                Some(Ok(Frame::Binary(bytes))) => {
                    let now = documents.app.rooms.now();
                    for frame in collab.receive(documents, &bytes, now)? {
                        socket.send(Frame::Binary(frame.into())).await.ok();
                        sent = Instant::now();
                    }
                }
                Some(Ok(Frame::Close(_)) | Err(_)) | None => return Ok(()),
                Some(Ok(_)) => (),
            },
            Some(frame) = outgoing.recv() => {
                socket.send(Frame::Binary(frame?)).await.ok();
                sent = Instant::now();
            }
            () = sleep_until(sent + SILENCE) => {
                socket.send(Frame::Binary(Bytes::from_static(&PING))).await.ok();
                sent = Instant::now();
            }
        }
    }
}

impl Desk for Documents {
    type Seat = Seat;

    fn open(&mut self, request: &Request<'_>) -> Result<(Seat, Access), String> {
        let port = block_in_place(|| self.app.workspace.port(request.name));
        let port = port.map_err(|error: WorkspaceError| error.to_string())?;
        let (seat, presence) = self.app.rooms.enter(port);
        // Subscribed before any state is taken, so that nothing falls between.
        let follower = Follower {
            prefix: prefix(request.key),
            updates: seat.port.subscribe(),
            presence,
            outbox: self.outbox.clone(),
        };
        let follower = tokio::spawn(follower.run()).abort_handle();
        Ok((seat.followed_by(follower), Access::ReadWrite))
    }
}

impl Follower {
    async fn run(mut self) {
        loop {
            let outgoing = tokio::select! {
                update = self.updates.recv() => match update {
                    Ok(update) => Ok(Message::Update(&update).encode_after(&self.prefix).into()),
                    Err(RecvError::Lagged(_)) => Err(Ending::behind()),
                    Err(RecvError::Closed) => Err(Ending::closed()),
                },
                presence = self.presence.recv() => match presence {
                    Ok(message) => Ok([&self.prefix[..], &message].concat().into()),
                    // Presence renews itself.
                    Err(RecvError::Lagged(_)) => continue,
                    Err(RecvError::Closed) => Err(Ending::closed()),
                },
            };
            let is_last = outgoing.is_err();
            if self.outbox.send(outgoing).await.is_err() || is_last {
                return;
            }
        }
    }
}
