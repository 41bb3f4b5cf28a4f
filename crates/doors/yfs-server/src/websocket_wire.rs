//! One WebSocket: bounded sends, detection of dead connections, and close reasons.

use std::{io::ErrorKind, sync::Arc, time::Duration};

use axum::body::Bytes;
use futures::{SinkExt, StreamExt};
use tokio::time::{Instant, error::Elapsed, sleep, timeout};
use tokio_tungstenite::tungstenite::{
    self, Message,
    protocol::{
        CloseFrame,
        frame::{
            Frame,
            coding::{Data, OpCode},
        },
    },
};

use crate::{
    close_reason::CloseReason,
    connection_stream::UNAUTHENTICATED_BYTES,
    document_access::AdmittedConnection,
    metrics::{CloseCodeLabel as EndingLabel, ServerMetrics},
    rooms::{ConnectionOutbox, OutgoingFrame},
    upgrade::Socket,
};

/// How long the network may take to accept a send.
const SEND_LIMIT: Duration = Duration::from_secs(60);

/// After how long without a send the server pings the client.
const PING_AFTER: Duration = Duration::from_secs(20);

/// After how long without a message or pong the client counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(70);

/// How long a client may take to answer a probe when another connection uses its client id.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// How often the time is checked.
pub(crate) const TICK: Duration = Duration::from_secs(5);

/// How many bytes of a message are sent at a time. A longer message is never copied as a whole.
const PART_LEN: usize = 16 << 10;

/// The size of an answer, in bytes, from which the permit is held while it is sent.
const LARGE: usize = 1 << 20;

/// For how long the permit is held at most. A few slow readers could otherwise block other clients.
const MAX_PERMIT_TIME: Duration = Duration::from_secs(1);

/// A WebSocket.
#[derive(Debug)]
pub(crate) struct WebsocketWire {
    socket: Socket,
    metrics: Arc<ServerMetrics>,
    received_at: Instant,
    sent: Instant,
    /// When a probe was sent that is not answered yet.
    probed: Option<Instant>,
}

/// An event of a connection.
#[derive(Debug)]
pub(crate) enum IncomingEvent {
    /// A message.
    Message(Bytes),
    /// The client closed the connection.
    Gone,
    /// A violation, for which the server must close the connection.
    Fault(CloseReason),
}

impl WebsocketWire {
    pub(crate) fn new(mut socket: Socket, metrics: Arc<ServerMetrics>) -> Self {
        let now = Instant::now();
        metrics.connections.inc();
        socket.get_mut().allow(Some(UNAUTHENTICATED_BYTES));
        Self { socket, metrics, received_at: now, sent: now, probed: None }
    }

    /// Lifts the limit on what an unauthenticated client may send.
    pub(crate) fn lift_limits(&mut self) {
        self.socket.get_mut().allow(None);
    }

    /// Makes the outbox for frames from other tasks.
    pub(crate) fn outbox(&self) -> Arc<ConnectionOutbox> {
        ConnectionOutbox::of(self.socket.get_ref().writer().clone(), self.metrics.clone())
    }

    /// Waits for a message.
    pub(crate) async fn receive(&mut self) -> IncomingEvent {
        loop {
            let frame = self.socket.next().await;
            self.received_at = Instant::now();
            self.probed = None;
            match frame {
                Some(Ok(Message::Binary(bytes))) => {
                    self.metrics.received_bytes.inc_by(bytes.len() as u64);
                    return IncomingEvent::Message(bytes);
                }
                Some(Ok(Message::Close(_))) | None => return IncomingEvent::Gone,
                Some(Err(error)) => return IncomingEvent::of_error(&error),
                // The library answers pings; text messages are not part of the protocols.
                Some(Ok(_)) => (),
            }
        }
    }

    /// Sends frames in one write. A broken connection shows at the next [`receive`](Self::receive).
    ///
    /// # Errors
    ///
    /// If the network accepts them too slowly: then a message may have been sent in part, and the
    /// connection must end.
    pub(crate) async fn send(
        &mut self,
        frames: impl IntoIterator<Item = impl Into<OutgoingFrame>>,
    ) -> Result<(), CloseReason> {
        self.reserve_writer();
        let (mut n_frames, mut n_bytes) = (0, 0);
        let socket = &mut self.socket;
        let sending = async {
            for frame in frames {
                let frame = frame.into();
                n_frames += 1;
                n_bytes += frame.len() as u64;
                feed(socket, frame).await?;
            }
            socket.flush().await
        };
        let done = timeout(SEND_LIMIT, sending).await;
        self.metrics.frames.inc_by(n_frames);
        self.metrics.sent_bytes.inc_by(n_bytes);
        self.sent = Instant::now();
        unless_too_slow(done)
    }

    /// Sends the answer to a message. The permit is held while much of the answer is unsent, which
    /// bounds the number of states in memory, but only for a limited time: a slow reader must not
    /// block other clients.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub(crate) async fn answer(
        &mut self,
        frames: Vec<yfs_sync::SharedFrame>,
        admitted: Option<AdmittedConnection>,
    ) -> Result<(), CloseReason> {
        let frames: Vec<OutgoingFrame> = frames.into_iter().map(Into::into).collect();
        let n_bytes: usize = frames.iter().map(OutgoingFrame::len).sum();
        let mut admitted = admitted.filter(|_| n_bytes >= LARGE);
        let sending = self.send(frames);
        let mut sending = std::pin::pin!(sending);
        tokio::select! {
            sent = &mut sending => return sent,
            () = sleep(MAX_PERMIT_TIME), if admitted.is_some() => admitted = None,
        }
        drop(admitted);
        sending.await
    }

    /// Returns the time since the last send.
    pub(crate) fn silence(&self) -> Duration {
        self.sent.elapsed()
    }

    /// Checks the timeouts, and pings the client if it is due.
    ///
    /// # Errors
    ///
    /// If the client has not answered in time.
    pub(crate) async fn tick(&mut self) -> Result<(), CloseReason> {
        let now = Instant::now();
        let is_unanswered = self.probed.is_some_and(|probed| now - probed >= PROBE_LIMIT);
        if is_unanswered || now - self.received_at >= GONE_AFTER {
            return Err(CloseReason::silent());
        }
        if now - self.sent >= PING_AFTER {
            self.ping().await?;
        }
        Ok(())
    }

    /// Pings the client, and closes the connection soon if it does not answer: another connection
    /// uses the same client id, as after an unnoticed change of the network.
    ///
    /// # Errors
    ///
    /// As [`tick`](Self::tick).
    pub(crate) async fn probe(&mut self) -> Result<(), CloseReason> {
        if self.probed.is_none() {
            self.probed = Some(Instant::now());
            self.ping().await?;
        }
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), CloseReason> {
        self.sent = Instant::now();
        self.reserve_writer();
        let ping = self.socket.send(Message::Ping(Bytes::new()));
        unless_too_slow(timeout(SEND_LIMIT, ping).await)
    }

    /// Keeps other tasks from writing until the outbox is awaited again.
    fn reserve_writer(&self) {
        self.socket.get_ref().writer().set_shared(false);
    }

    /// Sends the client the reason why the connection ends.
    pub(crate) async fn end(mut self, ending: CloseReason) {
        self.reserve_writer();
        let code = u32::from(ending.code);
        self.metrics.endings.get_or_create(&EndingLabel { code }).inc();
        let frame = CloseFrame { code: ending.code.into(), reason: ending.reason.as_str().into() };
        // The client may be gone already, or not read.
        let closing = async {
            self.socket.send(Message::Close(Some(frame))).await.ok();
            // The server reads on until the client has closed as well: a connection that is dropped
            // with unread bytes is reset, and the client does not get the reason.
            while let Some(Ok(_)) = self.socket.next().await {}
        };
        timeout(TICK, closing).await.ok();
    }
}

/// Returns an error if a send took too long, by its own limit or that of the stream.
fn unless_too_slow(
    sent: Result<Result<(), tungstenite::Error>, Elapsed>,
) -> Result<(), CloseReason> {
    match sent {
        Ok(Err(tungstenite::Error::Io(error))) if error.kind() == ErrorKind::TimedOut => {
            Err(CloseReason::behind())
        }
        Err(_) => Err(CloseReason::behind()),
        Ok(_) => Ok(()),
    }
}

/// Sends a message, in parts if it is long.
async fn feed(socket: &mut Socket, frame: OutgoingFrame) -> Result<(), tungstenite::Error> {
    if frame.len() <= PART_LEN {
        return socket.feed(Message::Binary(frame.into_frame())).await;
    }
    let (prefix, body) = frame.into_parts();
    let mut kind = Data::Binary;
    if !prefix.is_empty() {
        let part = Frame::message(Bytes::from_owner(prefix), OpCode::Data(kind), body.is_empty());
        socket.send(Message::Frame(part)).await?;
        kind = Data::Continue;
    }
    let mut at = 0;
    while at < body.len() {
        let end = body.len().min(at + PART_LEN);
        let is_last = end == body.len();
        let part = Frame::message(body.slice(at..end), OpCode::Data(kind), is_last);
        socket.send(Message::Frame(part)).await?;
        (kind, at) = (Data::Continue, end);
    }
    Ok(())
}

impl IncomingEvent {
    fn of_error(error: &tungstenite::Error) -> Self {
        match error {
            tungstenite::Error::Capacity(_) => Self::Fault(CloseReason::too_large()),
            tungstenite::Error::Protocol(
                tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
            ) => Self::Gone,
            tungstenite::Error::Protocol(_) => Self::Fault(CloseReason::malformed()),
            tungstenite::Error::Io(error) if error.kind() == ErrorKind::PermissionDenied => {
                Self::Fault(CloseReason::unauthorized("much was sent and no document opened"))
            }
            _ => Self::Gone,
        }
    }
}

impl Drop for WebsocketWire {
    fn drop(&mut self) {
        self.metrics.connections.dec();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::{
        io::AsyncReadExt,
        net::{TcpListener, TcpStream},
        sync::Semaphore,
    };
    use tokio_tungstenite::{WebSocketStream, tungstenite::protocol::Role};

    use super::*;
    use crate::{close_reason::TRY_AGAIN_LATER, connection_stream::ConnectionStream};

    /// A connection, and its remote end.
    async fn pair() -> (WebsocketWire, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let slot = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        let line = ConnectionStream::new(stream, slot);
        let socket = WebSocketStream::from_raw_socket(line, Role::Server, None).await;
        (WebsocketWire::new(socket, Arc::default()), other)
    }

    #[tokio::test]
    async fn a_silent_client_is_pinged_and_then_disconnected() {
        let (mut wire, mut other) = pair().await;
        wire.tick().await.unwrap();
        assert!(other.read_u8().now_or_never().is_none());
        wire.sent -= PING_AFTER;
        wire.tick().await.unwrap();
        assert_eq!(other.read_u16().await.unwrap(), 0x8900);
        wire.received_at -= GONE_AFTER;
        assert_eq!(wire.tick().await.unwrap_err().code(), 1001);
    }

    #[tokio::test]
    async fn a_probed_client_must_answer_soon() {
        use tokio::io::AsyncWriteExt;
        let (mut wire, mut other) = pair().await;
        for answers in [true, false] {
            wire.probe().await.unwrap();
            assert_eq!(other.read_u16().await.unwrap(), 0x8900);
            // A second probe while one is pending sends no second ping.
            wire.probe().await.unwrap();
            if answers {
                // A pong, and an empty message, masked with zeros.
                other.write_all(&[0x8A, 0x80, 0, 0, 0, 0, 0x82, 0x80, 0, 0, 0, 0]).await.unwrap();
                assert!(matches!(wire.receive().await, IncomingEvent::Message(_)));
            } else {
                wire.tick().await.unwrap();
                wire.probed = wire.probed.map(|probed| probed - PROBE_LIMIT);
            }
            assert_eq!(wire.tick().await.is_ok(), answers);
        }
        assert!(other.read_u8().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_long_message_is_sent_in_parts() {
        let (mut wire, mut other) = pair().await;
        let message: Vec<u8> = (0..2 * PART_LEN + 1).map(|at| at as u8).collect();
        let short = Bytes::from_static(b"short");
        let headed = OutgoingFrame::new(&Arc::from(&b"head"[..]), &message.clone().into());
        wire.send([message.clone().into(), short.clone().into(), headed]).await.unwrap();
        let (mut kinds, mut whole) = (Vec::new(), Vec::new());
        while whole.len() < 2 * message.len() + short.len() + 4 {
            kinds.push(other.read_u8().await.unwrap());
            let len = match other.read_u8().await.unwrap() {
                126 => usize::from(other.read_u16().await.unwrap()),
                len => usize::from(len),
            };
            let start = whole.len();
            whole.resize(start + len, 0);
            other.read_exact(&mut whole[start..]).await.unwrap();
        }
        // Binary, continued, continued and ended; a message of its own; one whose beginning is a
        // part.
        assert_eq!(kinds, [0x02, 0x00, 0x80, 0x82, 0x02, 0x00, 0x00, 0x80]);
        assert!(whole == [&message[..], &short, b"head", &message].concat());
    }

    /// The rest of the message was left out, and the next one began in the middle of it.
    #[tokio::test(start_paused = true)]
    async fn a_message_that_is_sent_in_part_ends_the_connection() {
        let (mut wire, _other) = pair().await;
        let long = Bytes::from(vec![7; 64 << 20]);
        assert_eq!(wire.send([long]).await.unwrap_err().code(), TRY_AGAIN_LATER);
    }

    #[tokio::test]
    async fn a_frame_is_written_directly_while_the_task_waits() {
        let (mut wire, mut other) = pair().await;
        wire.socket.get_ref().writer().writable().await;
        let outbox = wire.outbox();
        let frame = |len| OutgoingFrame::new(&Arc::from(&b"k"[..]), &Bytes::from(vec![7; len]));
        outbox.push([frame(1)]);
        assert_eq!(outbox.take().await.unwrap().len(), 1);
        assert!(outbox.take().now_or_never().is_none());
        outbox.push([frame(2), frame(300)]);
        outbox.push_lossy(frame(0));
        let mut read = vec![0; 5 + 305 + 3];
        other.read_exact(&mut read).await.unwrap();
        assert_eq!(read[..9], [0x82, 3, b'k', 7, 7, 0x82, 126, 1, 45]);
        assert_eq!(read[310..], [0x82, 1, b'k']);
        assert_eq!((wire.metrics.frames.get(), wire.metrics.sent_bytes.get()), (3, 305));
        // While the task sends frames of its own, others wait in order.
        wire.send([Bytes::from_static(b"own")]).await.unwrap();
        outbox.push([frame(4)]);
        outbox.push([frame(PART_LEN)]);
        let frames = outbox.take().await.unwrap().into_iter().map(OutgoingFrame::into_frame);
        assert_eq!(frames.map(|frame| frame.len()).collect::<Vec<_>>(), [5, PART_LEN + 1]);
    }

    #[tokio::test]
    async fn bytes_of_an_unauthenticated_client_are_limited() {
        use tokio::io::AsyncWriteExt;
        let (mut wire, mut other) = pair().await;
        // An empty message that is masked with zeros.
        let message = [0x82, 0x80, 0, 0, 0, 0];
        wire.socket.get_mut().allow(Some(message.len() as u64));
        other.write_all(&message).await.unwrap();
        assert!(matches!(wire.receive().await, IncomingEvent::Message(_)));
        other.write_all(&message).await.unwrap();
        let IncomingEvent::Fault(ending) = wire.receive().await else { panic!("no fault") };
        assert_eq!(ending.code(), 4401);
        let (mut wire, mut other) = pair().await;
        wire.lift_limits();
        other.write_all(&message).await.unwrap();
        assert!(matches!(wire.receive().await, IncomingEvent::Message(_)));
    }
}
