//! One WebSocket connection to one document, by the y-websocket protocol.
//!
//! The session ends when the client goes, sends what is refused, or falls too far behind: a slow
//! reader is dropped, an update never.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::ws::{CloseFrame, Message as Frame, WebSocket},
};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use yfs::DocPort;
use yfs_sync::{
    SyncError,
    collab::Seat as _,
    hub::{Access, HubSession},
};

use crate::rooms::{Rooms, Seat};

/// Too far behind: come back and start over.
const TRY_AGAIN_LATER: u16 = 1013;

/// Why a connection ends.
#[derive(Debug)]
pub(crate) struct Ending {
    code: u16,
    reason: String,
}

struct Session {
    socket: WebSocket,
    hub: HubSession,
    updates: Receiver<Arc<[u8]>>,
    /// Before `seat`, which closes the room if nobody listens to it any more.
    presence: Receiver<Bytes>,
    seat: Seat,
}

/// Serves a connection until it ends.
pub(crate) async fn run(socket: WebSocket, port: DocPort, rooms: Arc<Rooms>) {
    let (seat, presence) = rooms.enter(port);
    let hub = HubSession::new(seat.connection(), Access::ReadWrite);
    // Subscribed before any state is taken, so that nothing falls between.
    let updates = seat.port.subscribe();
    let mut session = Session { socket, hub, seat, updates, presence };
    let Err(ending) = session.serve().await else { return };
    ending.send(&mut session.socket).await;
}

impl Session {
    /// Serves until the client leaves (`Ok`) or has to leave.
    async fn serve(&mut self) -> Result<(), Ending> {
        loop {
            tokio::select! {
                frame = self.socket.recv() => match frame {
                    Some(Ok(Frame::Binary(bytes))) => self.receive(&bytes).await?,
                    Some(Ok(Frame::Close(_)) | Err(_)) | None => return Ok(()),
                    // Pings are answered by the library; text is nothing that we know.
                    Some(Ok(_)) => (),
                },
                update = self.updates.recv() => match update {
                    Ok(update) => self.send(self.hub.update(&update)).await,
                    Err(RecvError::Lagged(_)) => return Err(Ending::behind()),
                    Err(RecvError::Closed) => return Err(Ending::closed()),
                },
                presence = self.presence.recv() => match presence {
                    Ok(message) => self.send(message).await,
                    // Presence renews itself.
                    Err(RecvError::Lagged(_)) => (),
                    Err(RecvError::Closed) => return Err(Ending::closed()),
                },
            }
        }
    }

    async fn receive(&mut self, message: &[u8]) -> Result<(), Ending> {
        let now = self.seat.now();
        let answer = self.hub.receive(&mut self.seat, message, now)?;
        for frame in answer.frames {
            self.send(frame).await;
        }
        if let Some(update) = answer.relay {
            self.seat.relay(&update);
        }
        Ok(())
    }

    /// Sends a frame. A failure shows as the end of the stream at the next `recv`.
    async fn send(&mut self, frame: impl Into<Bytes>) {
        self.socket.send(Frame::Binary(frame.into())).await.ok();
    }
}

impl Ending {
    pub(crate) fn behind() -> Self {
        Self { code: TRY_AGAIN_LATER, reason: "fell too far behind".to_owned() }
    }

    pub(crate) fn closed() -> Self {
        Self { code: TRY_AGAIN_LATER, reason: "the workspace was closed".to_owned() }
    }

    /// Tells the client, which may be gone already.
    pub(crate) async fn send(self, socket: &mut WebSocket) {
        let frame = CloseFrame { code: self.code, reason: self.reason.as_str().into() };
        socket.send(Frame::Close(Some(frame))).await.ok();
    }
}

impl From<SyncError> for Ending {
    fn from(error: SyncError) -> Self {
        Self { code: error.code(), reason: short(error.reason()) }
    }
}

/// Cuts a reason to what fits into a close frame (123 bytes, RFC 6455 section 5.5).
fn short(mut reason: String) -> String {
    let mut end = reason.len().min(123);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason.truncate(end);
    reason
}
