//! Frames over a wire: both directions at once, so that two sides that send much never wait for each other.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::mpsc,
    task::block_in_place,
    time::{Instant, sleep_until},
};
use yfs_sync::replica::PING;

use crate::replica_session::{ReplicaError, ReplicaSession};

/// How many frames wait for the network.
const WAITING: usize = 4;

/// How long news are waited for at most before the log is looked at again.
const LOOK: Duration = Duration::from_millis(200);

/// After how long a silence of ours we say that we are there.
const PING_AFTER: Duration = Duration::from_secs(20);

/// After how long a silence of the other side's it is gone.
const GONE_AFTER: Duration = Duration::from_secs(70);

/// Carries the frames of a session until `stop` says so after a step, or the wire ends.
///
/// # Errors
///
/// If the session must end, the other side falls silent, or the wire breaks or is closed.
pub async fn carry<E: Into<ReplicaError>>(
    session: &mut ReplicaSession,
    sink: impl Sink<Bytes, Error = E>,
    stream: impl Stream<Item = Result<Bytes, E>>,
    mut stop: impl FnMut(&ReplicaSession) -> Result<bool, ReplicaError>,
) -> Result<(), ReplicaError> {
    let (outgoing, mut waiting) = mpsc::channel::<Bytes>(WAITING);
    let (mut sink, mut stream) = (pin!(sink), pin!(stream));
    let mut writer = pin!(async move {
        while let Some(frame) = waiting.recv().await {
            sink.send(frame).await?;
        }
        sink.close().await
    });
    let (mut heard, mut sent) = (Instant::now(), Instant::now());
    let mut is_idle = false;
    while !stop(session)? {
        tokio::select! {
            done = &mut writer => return done.map_err(Into::into),
            frame = stream.next() => {
                let gone = || ReplicaError::gone("it has gone");
                let frame = frame.ok_or_else(gone)?.map_err(Into::into)?;
                heard = Instant::now();
                if frame[..] != PING {
                    apart(|| session.receive(&frame))?;
                    is_idle = false;
                }
            }
            permit = outgoing.reserve(), if !is_idle => {
                // The writer holds the other end as long as we do.
                let Ok(permit) = permit else { continue };
                match apart(|| session.next_frame())? {
                    Some(frame) => {
                        sent = Instant::now();
                        permit.send(frame.into());
                    }
                    None => is_idle = true,
                }
            }
            () = session.workspace().replication().wait_for_records(LOOK), if is_idle => is_idle = false,
            () = sleep_until(sent + PING_AFTER) => {
                sent = Instant::now();
                // Where frames wait, the other side hears of us anyway.
                outgoing.try_send(Bytes::from_static(&PING)).ok();
            }
            () = sleep_until(heard + GONE_AFTER) => {
                return Err(ReplicaError::gone("it was silent for too long"));
            }
        }
    }
    drop(outgoing);
    writer.await.map_err(Into::into)
}

/// Runs what blocks without holding up what else the runtime does, where it can.
pub(crate) fn apart<T>(call: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(call),
        _ => call(),
    }
}
