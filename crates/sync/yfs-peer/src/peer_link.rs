//! A session on a QUIC stream: frames with their length before them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::{Sink, Stream, sink, stream};
use quinn::{Connection, ConnectionError, RecvStream, SendStream, VarInt};
use tokio::{sync::Semaphore, time::timeout};
use yfs_replica::{ReplicaError, carry};

use crate::{
    peer_error::{DenialCode, PeerError},
    peer_session::PeerSession,
};

/// The time in which a new connection must open its stream.
const STREAM_WITHIN: Duration = Duration::from_secs(10);

/// How long a peer that was denied may take to read the reason.
const READ_WITHIN: Duration = Duration::from_secs(2);

/// How often the rights of both sides are checked while nothing is sent.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The length of the buffer at which a frame is read, in bytes. It grows as bytes arrive.
const READ_LEN: usize = 64 << 10;

/// The frames of this length and more share a budget of memory.
const LARGE_FRAME_LEN: usize = 512 << 10;

/// The budget of large frames of all connections, in KiB.
pub(crate) const LARGE_FRAMES_KIB: usize = 192 << 10;

/// The codes with which a connection is closed.
const ENDED: u32 = 0;
const FAULT: u32 = 1;
/// Another connection with the same peer takes its place.
pub(crate) const REPLACED: u32 = 2;

/// The reason with which a process that ends closes all connections.
pub(crate) const STOPPED: &[u8] = b"stopped";

/// Opens the stream of a connection that this side made.
pub(crate) async fn open_stream(
    connection: &Connection,
) -> Result<(SendStream, RecvStream), PeerError> {
    connection.open_bi().await.map_err(|error| gone(&error))
}

/// Waits for the stream of a connection that the peer made.
pub(crate) async fn accept_stream(
    connection: &Connection,
) -> Result<(SendStream, RecvStream), PeerError> {
    let accepted = timeout(STREAM_WITHIN, connection.accept_bi()).await;
    let accepted = accepted.map_err(|_| PeerError::Fault("it opened no stream"))?;
    accepted.map_err(|error| match is_replaced(connection) {
        true => PeerError::Denies(DenialCode::Duplicate),
        false => gone(&error),
    })
}

/// Carries a session over a stream until it ends. Calls `on_step` after every step; the connection
/// ends normally once it returns true.
pub(crate) async fn carry_session(
    session: &mut PeerSession,
    connection: &Connection,
    (send, recv): (SendStream, RecvStream),
    large_frames: Arc<Semaphore>,
    mut on_step: impl FnMut(&mut PeerSession) -> Result<bool, PeerError>,
) -> Result<(), PeerError> {
    let max_len = Arc::new(AtomicUsize::new(session.max_frame_len()));
    let frames = read_frames(recv, max_len.clone(), large_frames);
    let mut checked = Instant::now();
    let carried = carry(session, write_frames(send), frames, |session| {
        max_len.store(session.max_frame_len(), Ordering::Relaxed);
        if session.denied().is_some() {
            return Ok(true);
        }
        if checked.elapsed() >= CHECK_EVERY {
            checked = Instant::now();
            session.check_standing()?;
        }
        on_step(session)
    })
    .await;
    if let Some(code) = session.denied() {
        timeout(READ_WITHIN, connection.closed()).await.ok();
        connection.close(VarInt::from_u32(ENDED), b"denied");
        return Err(PeerError::Denies(code));
    }
    match &carried {
        Ok(()) => {
            session.remember_all()?;
            // The peer closes once it has read everything.
            timeout(READ_WITHIN, connection.closed()).await.ok();
            connection.close(VarInt::from_u32(ENDED), b"done");
        }
        Err(error) if error.is_fault() => {
            connection.close(VarInt::from_u32(FAULT), b"the peer violated the protocol");
        }
        Err(_) if is_replaced(connection) => {
            return Err(PeerError::Denies(DenialCode::Duplicate));
        }
        Err(_) => connection.close(VarInt::from_u32(ENDED), b"ended"),
    }
    carried
}

/// Reports whether the peer has closed a connection because its process ends.
pub(crate) fn is_stopped(connection: &Connection) -> bool {
    match connection.close_reason() {
        Some(ConnectionError::ApplicationClosed(close)) => {
            close.error_code == VarInt::from_u32(ENDED) && close.reason[..] == *STOPPED
        }
        _ => false,
    }
}

/// Reports whether one of the sides has closed a connection because there is another one.
fn is_replaced(connection: &Connection) -> bool {
    match connection.close_reason() {
        // While the session runs, this side closes it only if another one replaces it, or at the
        // end of the process.
        Some(ConnectionError::LocallyClosed) => true,
        Some(ConnectionError::ApplicationClosed(close)) => {
            close.error_code == VarInt::from_u32(REPLACED)
        }
        _ => false,
    }
}

fn write_frames(send: SendStream) -> impl Sink<Bytes, Error = ReplicaError> {
    sink::unfold(send, |mut send, frame: Bytes| async move {
        let len = u32::try_from(frame.len()).map_err(|_| ReplicaError::gone("too long"))?;
        let write = async {
            send.write_all(&len.to_be_bytes()).await?;
            send.write_chunk(frame).await
        };
        write.await.map_err(|error| ReplicaError::gone(error.to_string()))?;
        Ok(send)
    })
}

fn read_frames(
    recv: RecvStream,
    max_len: Arc<AtomicUsize>,
    large_frames: Arc<Semaphore>,
) -> impl Stream<Item = Result<Bytes, ReplicaError>> {
    stream::unfold(Some(recv), move |recv| {
        let (max_len, large_frames) = (max_len.clone(), large_frames.clone());
        async move {
            let mut recv = recv?;
            match read_frame(&mut recv, &max_len, &large_frames).await {
                Ok(frame) => Some((Ok(frame), Some(recv))),
                Err(error) => Some((Err(error), None)),
            }
        }
    })
}

async fn read_frame(
    recv: &mut RecvStream,
    max_len: &AtomicUsize,
    large_frames: &Semaphore,
) -> Result<Bytes, ReplicaError> {
    let mut len = [0; 4];
    let gone = |error: &dyn std::fmt::Display| ReplicaError::gone(error.to_string());
    recv.read_exact(&mut len).await.map_err(|error| gone(&error))?;
    let len = u32::from_be_bytes(len) as usize;
    if len > max_len.load(Ordering::Relaxed) {
        return Err(ReplicaError::TooMuch);
    }
    // The budget bounds what is being received. A frame is processed as soon as it is complete.
    let _budget = if len >= LARGE_FRAME_LEN {
        let n_kib = u32::try_from(len >> 10).unwrap_or(u32::MAX);
        Some(large_frames.acquire_many(n_kib).await.map_err(|error| gone(&error))?)
    } else {
        None
    };
    let mut frame = Vec::with_capacity(len.min(READ_LEN));
    while frame.len() < len {
        let chunk = recv.read_chunk(len - frame.len(), true).await.map_err(|error| gone(&error))?;
        let chunk = chunk.ok_or_else(|| ReplicaError::gone("it has gone"))?;
        frame.extend_from_slice(&chunk.bytes);
    }
    Ok(frame.into())
}

fn gone(error: &ConnectionError) -> PeerError {
    ReplicaError::gone(error.to_string()).into()
}
