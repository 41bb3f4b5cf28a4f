//! The frames that wait to be sent over one connection.
//!
//! The queue is bounded in bytes. A connection that reads too slowly is closed; its updates are
//! never dropped. Presence may be dropped, because clients renew it every 15 seconds.
//!
//! If the queue is empty, a frame is written directly, and the connection's task is not woken.

use std::{
    collections::VecDeque,
    io::IoSlice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::body::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use yfs_sync::SharedFrame;

use crate::{
    close_reason::CloseReason,
    connection_stream::{SendOutcome, StreamWriter},
    metrics::ServerMetrics,
};

/// How many bytes may be queued. A first state does not count: it is sent directly.
const MAX_BYTES: usize = 16 << 20;

/// How many bytes may be queued before presence is dropped.
const MAX_BYTES_LOSSY: usize = 256 << 10;

/// The memory that a frame takes beside its bytes.
const OVERHEAD: usize = 64;

/// The greatest length of a frame that is written directly, in bytes.
const MAX_LEN_AT_ONCE: usize = 16 << 10;

/// The greatest number of frames that are written directly; more are written in one batch.
const MAX_FRAMES_AT_ONCE: usize = 2;

/// The first byte of a whole binary message (RFC 6455, section 5.2).
const WHOLE_BINARY: u8 = 0x82;

/// The queue of one connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionOutbox {
    queue: Mutex<OutboxQueue>,
    /// The connection's writer, and the counters of its traffic; `None` in tests.
    connection: Option<(StreamWriter, Arc<ServerMetrics>)>,
    /// Whether the server must ping the client.
    is_probed: AtomicBool,
    /// Wakes the connection's task; notified by additions to the queue and by probes.
    filled: Notify,
}

#[derive(Debug, Default)]
struct OutboxQueue {
    frames: VecDeque<OutgoingFrame>,
    bytes: usize,
    /// Whether a frame was written in part.
    is_unflushed: bool,
    ending: Option<CloseReason>,
}

/// A frame: a prefix of one connection, and a body that many connections share.
#[derive(Debug, Clone)]
pub(crate) struct OutgoingFrame {
    prefix: Arc<[u8]>,
    body: Bytes,
}

impl OutgoingFrame {
    pub(crate) fn new(prefix: &Arc<[u8]>, body: &Bytes) -> Self {
        Self { prefix: prefix.clone(), body: body.clone() }
    }

    /// Returns its two parts.
    pub(crate) fn into_parts(self) -> (Arc<[u8]>, Bytes) {
        (self.prefix, self.body)
    }

    /// Returns the whole frame.
    pub(crate) fn into_frame(self) -> Bytes {
        if self.prefix.is_empty() { self.body } else { [&*self.prefix, &self.body].concat().into() }
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.prefix.len() + self.body.len()
    }

    fn cost(&self) -> usize {
        self.len() + OVERHEAD
    }

    /// Writes the frame as one message, if the writer accepts it at once.
    fn try_send(&self, writer: &StreamWriter) -> SendOutcome {
        let len = self.len();
        let (long, short) = ((len as u16).to_be_bytes(), len as u8);
        let header = [WHOLE_BINARY, if len < 126 { short } else { 126 }, long[0], long[1]];
        let header = if len < 126 { &header[..2] } else { &header };
        writer.try_send(&[header, &self.prefix, &self.body].map(IoSlice::new))
    }
}

impl From<Bytes> for OutgoingFrame {
    fn from(body: Bytes) -> Self {
        Self { prefix: Arc::default(), body }
    }
}

impl From<Vec<u8>> for OutgoingFrame {
    fn from(body: Vec<u8>) -> Self {
        Bytes::from(body).into()
    }
}

impl From<SharedFrame> for OutgoingFrame {
    fn from(frame: SharedFrame) -> Self {
        match frame.into_parts() {
            (head, Some(body)) => Self { prefix: head.into(), body: Bytes::from_owner(body) },
            (head, None) => head.into(),
        }
    }
}

impl ConnectionOutbox {
    /// Makes the outbox of a connection.
    pub(crate) fn of(writer: StreamWriter, metrics: Arc<ServerMetrics>) -> Arc<Self> {
        Arc::new(Self { connection: Some((writer, metrics)), ..Self::default() })
    }

    /// Queues frames that must arrive. If the queue is full, the connection ends.
    pub(crate) fn push(
        &self,
        frames: impl IntoIterator<Item = OutgoingFrame, IntoIter: ExactSizeIterator>,
    ) {
        let frames = frames.into_iter();
        let mut queue = self.queue.lock();
        // A frame that is not sent at once holds back those behind it.
        let mut is_sent = frames.len() <= MAX_FRAMES_AT_ONCE;
        let unsent = frames.filter(|frame| {
            is_sent = is_sent && self.try_send(&mut queue, frame);
            !is_sent
        });
        let frames: Vec<OutgoingFrame> = unsent.collect();
        if frames.is_empty() && !queue.is_unflushed {
            return;
        }
        for frame in frames {
            if queue.ending.is_some() {
                return;
            }
            if !queue.frames.is_empty() && queue.bytes + frame.cost() > MAX_BYTES {
                *queue =
                    OutboxQueue { ending: Some(CloseReason::behind()), ..OutboxQueue::default() };
            } else {
                queue.add(frame);
            }
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// Queues a frame whose content is sent again later, unless the queue is long.
    pub(crate) fn push_lossy(&self, frame: OutgoingFrame) {
        let mut queue = self.queue.lock();
        if queue.ending.is_some() || queue.bytes > MAX_BYTES_LOSSY {
            return;
        }
        if !self.try_send(&mut queue, &frame) {
            queue.add(frame);
        } else if !queue.is_unflushed {
            return;
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// Writes a frame directly, if the queue is empty. Reports whether it did.
    fn try_send(&self, queue: &mut OutboxQueue, frame: &OutgoingFrame) -> bool {
        let Some((writer, metrics)) = &self.connection else { return false };
        if !queue.is_empty() || frame.len() > MAX_LEN_AT_ONCE {
            return false;
        }
        let sent = frame.try_send(writer);
        queue.is_unflushed = sent == SendOutcome::Part;
        if sent != SendOutcome::Nothing {
            metrics.frames.inc();
            metrics.sent_bytes.inc_by(frame.len() as u64);
        }
        sent != SendOutcome::Nothing
    }

    /// Ends the connection.
    pub(crate) fn end(&self, ending: CloseReason) {
        *self.queue.lock() = OutboxQueue { ending: Some(ending), ..OutboxQueue::default() };
        self.filled.notify_one();
    }

    /// Makes the connection ping its client: another connection uses a client id of this one.
    pub(crate) fn probe(&self) {
        self.is_probed.store(true, Ordering::Release);
        self.filled.notify_one();
    }

    /// Reports whether a [probe](Self::probe) was requested since the last call.
    pub(crate) fn take_probe(&self) -> bool {
        self.is_probed.swap(false, Ordering::AcqRel)
    }

    /// Waits until there are frames to send, and returns them. Fails with the reason when the
    /// connection ends. Without frames, the caller must flush a partly written frame, or
    /// [probe](Self::take_probe) the client.
    pub(crate) async fn take(&self) -> Result<VecDeque<OutgoingFrame>, CloseReason> {
        loop {
            {
                let mut queue = self.queue.lock();
                if let Some((writer, _)) = &self.connection {
                    writer.set_shared(queue.is_empty());
                }
                if let Some(ending) = queue.ending.take() {
                    return Err(ending);
                }
                if !queue.is_empty() || self.is_probed.load(Ordering::Acquire) {
                    return Ok(std::mem::take(&mut *queue).frames);
                }
            }
            self.filled.notified().await;
        }
    }
}

impl OutboxQueue {
    fn is_empty(&self) -> bool {
        self.frames.is_empty() && !self.is_unflushed && self.ending.is_none()
    }

    fn add(&mut self, frame: OutgoingFrame) {
        self.bytes += frame.cost();
        self.frames.push_back(frame);
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        net::{TcpListener, TcpStream},
        sync::Semaphore,
    };

    use super::*;
    use crate::connection_stream::ConnectionStream;

    fn frame(len: usize) -> OutgoingFrame {
        OutgoingFrame::new(&Arc::default(), &Bytes::from(vec![0; len]))
    }

    #[tokio::test]
    async fn frames_keep_their_order_and_prefix() {
        let outbox = ConnectionOutbox::default();
        let prefix: Arc<[u8]> = Arc::from(&b"key"[..]);
        outbox.push([frame(3)]);
        outbox.push_lossy(OutgoingFrame::new(&prefix, &Bytes::from_static(b" body")));
        let frames = outbox.take().await.unwrap().into_iter().map(OutgoingFrame::into_frame);
        assert_eq!(frames.collect::<Vec<_>>(), [&b"\0\0\0"[..], b"key body"]);
    }

    /// A short frame was sent before a long one, which is never sent at once.
    #[tokio::test]
    async fn a_frame_that_is_sent_at_once_passes_no_other() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _other = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        stream.writable().await.unwrap();
        let slot = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        let stream = ConnectionStream::new(stream, slot);
        let outbox = ConnectionOutbox::of(stream.writer().clone(), Arc::default());
        stream.writer().set_shared(true);
        outbox.push([frame(MAX_LEN_AT_ONCE + 1), frame(1)]);
        let lens: Vec<usize> =
            outbox.take().await.unwrap().iter().map(OutgoingFrame::len).collect();
        assert_eq!(lens, [MAX_LEN_AT_ONCE + 1, 1]);
    }

    #[tokio::test]
    async fn a_slow_reader_loses_presence_first_and_then_the_connection() {
        let outbox = ConnectionOutbox::default();
        outbox.push([frame(MAX_BYTES_LOSSY)]);
        outbox.push_lossy(frame(1));
        assert_eq!(outbox.take().await.unwrap().len(), 1);
        // One frame may be of any length; the bound is on the frames behind it.
        outbox.push([frame(2 * MAX_BYTES)]);
        assert_eq!(outbox.take().await.unwrap().len(), 1);
        for _ in 0..40 {
            outbox.push([frame(MAX_BYTES / 32)]);
        }
        assert!(outbox.queue.lock().bytes <= MAX_BYTES);
        assert_eq!(outbox.take().await.unwrap_err().code(), CloseReason::behind().code());
    }
}
