//! A connection's stream with its limits: a client must not stall reads forever, nor send much
//! before it is authenticated.
//!
//! The stream holds the connection's slot, so that a connection that was upgraded to a WebSocket
//! counts as long as it is open. Writes go through a [`StreamWriter`], which the task that sends an
//! update to a thousand connections uses as well.

mod writer;

pub(crate) use self::writer::{SendOutcome, StreamWriter};

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, tcp::OwnedReadHalf},
    sync::OwnedSemaphorePermit,
    time::{Sleep, sleep},
};

/// How long the client may accept no bytes before the connection ends.
const STALL_LIMIT: Duration = Duration::from_secs(60);

/// How many bytes a WebSocket may send before a document is opened over it. The token is in the
/// first few hundred bytes; a token longer than 16 KiB is refused.
pub(crate) const UNAUTHENTICATED_BYTES: u64 = 1 << 20;

/// A connection's stream.
#[derive(Debug)]
pub(crate) struct ConnectionStream {
    reader: OwnedReadHalf,
    writer: StreamWriter,
    /// How many bytes may still be read; `None` for any number.
    allowance: Option<u64>,
    /// Runs while the client accepts no bytes.
    stalled: Option<Pin<Box<Sleep>>>,
    _slot: OwnedSemaphorePermit,
}

impl ConnectionStream {
    pub(crate) fn new(stream: TcpStream, slot: OwnedSemaphorePermit) -> Self {
        let (reader, writer) = stream.into_split();
        Self {
            reader,
            writer: StreamWriter::new(writer),
            allowance: None,
            stalled: None,
            _slot: slot,
        }
    }

    /// Returns the writing side.
    pub(crate) fn writer(&self) -> &StreamWriter {
        &self.writer
    }

    /// Sets how many bytes may be read from now on; `None` for any number.
    pub(crate) fn allow(&mut self, allowance: Option<u64>) {
        self.allowance = allowance;
    }

    /// Returns the result of a write, or an error if it has been pending for too long.
    fn unless_stalled<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL_LIMIT)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for ConnectionStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buf))?;
        let n_read = (buf.filled().len() - before) as u64;
        if let Some(allowance) = &mut self.allowance {
            let Some(rest) = allowance.checked_sub(n_read) else {
                return Poll::Ready(Err(io::ErrorKind::PermissionDenied.into()));
            };
            *allowance = rest;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ConnectionStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.writer.poll_write(cx, &[io::IoSlice::new(buf)]);
        self.unless_stalled(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.writer.poll_write(cx, bufs);
        self.unless_stalled(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.writer.poll_flush(cx);
        self.unless_stalled(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer.poll_shutdown(cx)
    }
}
