//! One WebSocket: sending without waiting for ever, noticing who is gone, ending with a reason.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::ws::{CloseFrame, Message as Frame, WebSocket},
};
use futures::SinkExt;
use tokio::time::{Instant, timeout};
use yfs_sync::SyncError;

use crate::metrics::{Ending as EndingLabel, Metrics};

/// How long the network may take to accept what is sent.
const SEND_LIMIT: Duration = Duration::from_secs(60);

/// After how long a silence of ours the client is asked whether it is there.
const PING_AFTER: Duration = Duration::from_secs(20);

/// After how long a silence of the client's it is gone. It answers pings at least.
const GONE_AFTER: Duration = Duration::from_secs(70);

/// How often it is looked at the time.
const TICK: Duration = Duration::from_secs(5);

/// Come back, and start over.
const TRY_AGAIN_LATER: u16 = 1013;

/// Why a connection ends.
#[derive(Debug)]
pub(crate) struct Ending {
    code: u16,
    reason: String,
}

/// A WebSocket.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: WebSocket,
    metrics: Arc<Metrics>,
    heard: Instant,
    sent: Instant,
}

/// What a connection brings.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A message.
    Message(Bytes),
    /// The end.
    Gone,
}

impl Wire {
    pub(crate) fn new(socket: WebSocket, metrics: Arc<Metrics>) -> Self {
        let now = Instant::now();
        metrics.connections.inc();
        Self { socket, metrics, heard: now, sent: now }
    }

    /// Waits for a message.
    pub(crate) async fn hear(&mut self) -> Heard {
        loop {
            let frame = self.socket.recv().await;
            self.heard = Instant::now();
            match frame {
                Some(Ok(Frame::Binary(bytes))) => {
                    self.metrics.received_bytes.inc_by(bytes.len() as u64);
                    return Heard::Message(bytes);
                }
                Some(Ok(Frame::Close(_)) | Err(_)) | None => return Heard::Gone,
                // Pings are answered by the library; text is nothing that we know.
                Some(Ok(_)) => (),
            }
        }
    }

    /// Sends frames in one go. A connection that has gone shows at the next [`hear`](Self::hear).
    ///
    /// # Errors
    ///
    /// If the network takes them too slowly.
    pub(crate) async fn send(
        &mut self,
        frames: impl IntoIterator<Item = Bytes>,
    ) -> Result<(), Ending> {
        let (mut n_frames, mut n_bytes) = (0, 0);
        let socket = &mut self.socket;
        let sending = async {
            for frame in frames {
                n_frames += 1;
                n_bytes += frame.len() as u64;
                socket.feed(Frame::Binary(frame)).await?;
            }
            socket.flush().await
        };
        let done = timeout(SEND_LIMIT, sending).await;
        self.metrics.frames.inc_by(n_frames);
        self.metrics.sent_bytes.inc_by(n_bytes);
        self.sent = Instant::now();
        done.map(drop).map_err(|_| Ending::behind())
    }

    /// Returns when it is time to [`tick`](Self::tick).
    pub(crate) fn next_tick(&self) -> Instant {
        Instant::now() + TICK
    }

    /// Lets time pass.
    ///
    /// # Errors
    ///
    /// If the client has gone without a word.
    pub(crate) async fn tick(&mut self) -> Result<(), Ending> {
        let now = Instant::now();
        if now - self.heard >= GONE_AFTER {
            return Err(Ending::silent());
        }
        if now - self.sent >= PING_AFTER {
            self.sent = now;
            let ping = self.socket.send(Frame::Ping(Bytes::new()));
            timeout(SEND_LIMIT, ping).await.map_err(|_| Ending::behind())?.ok();
        }
        Ok(())
    }

    /// Tells the client why the connection ends.
    pub(crate) async fn end(mut self, ending: Ending) {
        let code = u32::from(ending.code);
        self.metrics.endings.get_or_create(&EndingLabel { code }).inc();
        let frame = CloseFrame { code: ending.code, reason: ending.reason.as_str().into() };
        // It may be gone already, or not read.
        timeout(TICK, self.socket.send(Frame::Close(Some(frame)))).await.ok();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.metrics.connections.dec();
    }
}

impl Ending {
    /// The client reads more slowly than others write.
    pub(crate) fn behind() -> Self {
        Self { code: TRY_AGAIN_LATER, reason: "fell too far behind".to_owned() }
    }

    /// The workspace was closed.
    pub(crate) fn closed() -> Self {
        Self { code: TRY_AGAIN_LATER, reason: "the workspace was closed".to_owned() }
    }

    /// Too many want something at once.
    pub(crate) fn busy() -> Self {
        Self { code: TRY_AGAIN_LATER, reason: "too many are joining, try again".to_owned() }
    }

    /// The client says nothing, not even that it is there.
    fn silent() -> Self {
        Self { code: 1001, reason: "silent for too long".to_owned() }
    }

    /// Nobody said who they are.
    pub(crate) fn unauthorized(reason: impl Into<String>) -> Self {
        Self { code: 4401, reason: short(reason.into()) }
    }

    /// The grant does not reach that far.
    pub(crate) fn forbidden(reason: impl Into<String>) -> Self {
        Self { code: 4403, reason: short(reason.into()) }
    }

    /// There is no such document.
    pub(crate) fn not_found(reason: impl Into<String>) -> Self {
        Self { code: 4404, reason: short(reason.into()) }
    }

    /// Returns the close code.
    #[cfg(test)]
    pub(crate) fn code(&self) -> u16 {
        self.code
    }

    /// Returns what the client is told.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
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
