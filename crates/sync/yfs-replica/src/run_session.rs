//! The transport of frames. Both directions run concurrently, so that two sides that send much
//! never block each other.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{Notify, mpsc},
    task::block_in_place,
    time::{Instant, sleep_until, timeout},
};
use yfs::Workspace;
use yfs_sync::replica::PING;

use crate::replica_error::ReplicaError;

/// The number of frames that may be queued for the network.
const WAITING: usize = 4;

/// The longest wait for new records before the log is checked again: while an answer is due, and
/// while both sides rest. The end of a wait is usually the arrival of a record.
const LOOK: Duration = Duration::from_millis(200);
const LOOK_AT_REST: Duration = Duration::from_secs(1);

/// The idle time after which this side sends a ping.
const PING_AFTER: Duration = Duration::from_secs(20);

/// The silence of the peer after which the connection counts as dead. Pings do not count as an
/// answer to a side that waits for one.
pub(crate) const GONE_AFTER: Duration = Duration::from_secs(70);

/// The time in which a hub must answer the first message.
pub const WELCOME_WITHIN: Duration = Duration::from_secs(20);

/// One side of a connection that exchanges frames, without a transport.
pub trait FrameSession {
    /// The reason why the connection must end.
    type Error: From<ReplicaError>;

    /// Processes a frame of the peer.
    fn receive(&mut self, frame: &[u8]) -> Result<(), Self::Error>;

    /// Returns the next frame to send, or `None` if there is none now.
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Returns how long the peer may take for its next answer; `None` while no answer is due.
    fn patience(&self) -> Option<Duration>;

    /// Reports whether nothing is due, on both sides: only new records of the workspace, or a frame
    /// of the peer, can be the next event.
    fn is_resting(&self) -> bool {
        false
    }

    /// Returns the workspace whose new records wake the session.
    fn workspace(&self) -> &Workspace;

    /// Returns what is notified when there is a frame to send for another reason, if anything is.
    fn wake(&self) -> Option<Arc<Notify>> {
        None
    }
}

/// Carries the frames of a session until `stop` returns true after a step, or the transport ends.
///
/// # Errors
///
/// If the session must end, the transport fails or is closed, or the peer is silent:
/// [`ReplicaError::Silent`] if it does not answer the first message of a guest within 20 s, or
/// sends nothing but pings for 70 s while the session waits for an answer. A peer that does not
/// even ping for 70 s counts as gone.
pub async fn carry<S: FrameSession, E: Into<ReplicaError>>(
    session: &mut S,
    sink: impl Sink<Bytes, Error = E>,
    stream: impl Stream<Item = Result<Bytes, E>>,
    mut stop: impl FnMut(&mut S) -> Result<bool, S::Error>,
) -> Result<(), S::Error> {
    let (outgoing, mut waiting) = mpsc::channel::<Bytes>(WAITING);
    let (mut sink, mut stream) = (pin!(sink), pin!(stream));
    // The number of frames that are not sent yet, without pings.
    let n_unsent = &AtomicUsize::new(0);
    let mut writer = pin!(async move {
        while let Some(frame) = waiting.recv().await {
            let is_ping = frame[..] == PING;
            sink.send(frame).await?;
            n_unsent.fetch_sub(usize::from(!is_ping), Ordering::Relaxed);
        }
        sink.close().await
    });
    let (mut last_received, mut sent) = (Instant::now(), Instant::now());
    let mut answered = last_received;
    let mut is_idle = false;
    let mut records = session.workspace().replication().watch_records();
    while !stop(session)? {
        let patience = session.patience();
        let look = if session.is_resting() { LOOK_AT_REST } else { LOOK };
        // The peer cannot answer frames that a slow network has not taken yet.
        if patience.is_none() || n_unsent.load(Ordering::Relaxed) > 0 {
            answered = Instant::now();
        }
        let wake = session.wake();
        let answer_by = answered + patience.unwrap_or_default();
        tokio::select! {
            done = &mut writer => return done.map_err(into_error::<S, E>),
            frame = stream.next() => {
                let gone = || ReplicaError::gone("it has gone");
                let frame = frame.ok_or_else(gone)?.map_err(into_error::<S, E>)?;
                last_received = Instant::now();
                if frame[..] != PING {
                    run_blocking(|| session.receive(&frame))?;
                    // The peer was not silent while this side worked.
                    (last_received, answered) = (Instant::now(), Instant::now());
                    is_idle = false;
                }
            }
            permit = outgoing.reserve(), if !is_idle => {
                // The writer owns the receiver for as long as this loop runs.
                let Ok(permit) = permit else { continue };
                match run_blocking(|| session.next_frame())? {
                    Some(frame) => {
                        sent = Instant::now();
                        n_unsent.fetch_add(1, Ordering::Relaxed);
                        permit.send(frame.into());
                    }
                    None => is_idle = true,
                }
            }
            () = records.wait(look), if is_idle => is_idle = false,
            () = notified(wake.as_deref()), if is_idle => is_idle = false,
            () = sleep_until(sent + PING_AFTER) => {
                sent = Instant::now();
                // If the queue is full, its frames show the peer that this side is alive.
                outgoing.try_send(Bytes::from_static(&PING)).ok();
            }
            () = sleep_until(answer_by), if patience.is_some() => {
                let within = patience.unwrap_or_default();
                let peer = "the other side".to_owned();
                return Err(ReplicaError::Silent { peer, within }.into());
            }
            () = sleep_until(last_received + GONE_AFTER) => {
                return Err(ReplicaError::gone("it was silent for too long").into());
            }
        }
    }
    drop(outgoing);
    let gone = |_| ReplicaError::gone("it does not read");
    timeout(GONE_AFTER, writer).await.map_err(gone)?.map_err(into_error::<S, E>)
}

async fn notified(wake: Option<&Notify>) {
    match wake {
        Some(wake) => wake.notified().await,
        None => std::future::pending().await,
    }
}

fn into_error<S: FrameSession, E: Into<ReplicaError>>(error: E) -> S::Error {
    S::Error::from(error.into())
}

/// Runs a blocking call without blocking other tasks of the runtime, where the runtime allows it.
pub fn run_blocking<T>(call: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(call),
        _ => call(),
    }
}
