//! The writing side of a connection. The connection's task writes through it, and so do tasks that
//! send one frame to a thousand connections.
//!
//! To wake a task so that it writes one small frame costs more than to write the frame. So while
//! the connection's task has no frames to write, other tasks write theirs directly. The part of a
//! frame that the network did not accept is buffered, and is written before any other frame.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use parking_lot::Mutex;
use tokio::{io::AsyncWrite, net::tcp::OwnedWriteHalf};

/// The writing side of a connection.
#[derive(Debug, Clone)]
pub(crate) struct StreamWriter(Arc<Mutex<StreamWriterState>>);

#[derive(Debug)]
struct StreamWriterState {
    half: OwnedWriteHalf,
    /// The unsent part of a frame that another task began.
    rest: Vec<u8>,
    /// Whether the connection's task has begun a frame and not ended it.
    is_midway: bool,
    /// Whether other tasks may write, because the connection's task has no frames.
    is_shared: bool,
}

/// The result of an attempt to send a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// All of it was sent.
    All,
    /// A part of it was sent: the connection's task must flush the rest.
    Part,
    /// None of it was sent: the connection's task must send it.
    Nothing,
}

impl StreamWriter {
    pub(super) fn new(half: OwnedWriteHalf) -> Self {
        let writing =
            StreamWriterState { half, rest: Vec::new(), is_midway: false, is_shared: false };
        Self(Arc::new(Mutex::new(writing)))
    }

    /// Sets whether other tasks may write. Only the connection's task calls this.
    pub(crate) fn set_shared(&self, is_shared: bool) {
        self.0.lock().is_shared = is_shared;
    }

    /// Writes a frame at once, if other tasks may write and the network accepts some of it.
    pub(crate) fn try_send(&self, frame: &[IoSlice<'_>]) -> SendOutcome {
        let mut writing = self.0.lock();
        if !writing.is_shared || writing.is_midway || !writing.rest.is_empty() {
            return SendOutcome::Nothing;
        }
        // The connection's task detects a closed connection when it reads.
        let n_written = writing.half.try_write_vectored(frame).unwrap_or(0);
        if n_written == 0 {
            return SendOutcome::Nothing;
        }
        let len: usize = frame.iter().map(|part| part.len()).sum();
        if n_written == len {
            return SendOutcome::All;
        }
        let whole = frame.iter().flat_map(|part| part.iter().copied());
        writing.rest = whole.skip(n_written).collect();
        SendOutcome::Part
    }

    /// Waits until the network accepts bytes.
    #[cfg(test)]
    pub(crate) async fn writable(&self) {
        let ready = |cx: &mut Context<'_>| {
            let writing = self.0.lock();
            writing.half.as_ref().poll_write_ready(cx)
        };
        std::future::poll_fn(ready).await.expect("it is open");
    }

    pub(super) fn poll_write(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut writing = self.0.lock();
        ready!(writing.poll_rest(cx))?;
        let n_written = ready!(Pin::new(&mut writing.half).poll_write_vectored(cx, bufs))?;
        let len: usize = bufs.iter().map(|buf| buf.len()).sum();
        writing.is_midway = n_written < len;
        Poll::Ready(Ok(n_written))
    }

    pub(super) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut writing = self.0.lock();
        ready!(writing.poll_rest(cx))?;
        Pin::new(&mut writing.half).poll_flush(cx)
    }

    pub(super) fn poll_shutdown(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut writing = self.0.lock();
        ready!(writing.poll_rest(cx))?;
        Pin::new(&mut writing.half).poll_shutdown(cx)
    }
}

impl StreamWriterState {
    /// Writes the unsent part of a frame that another task began.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.rest.is_empty() {
            let n_written = ready!(Pin::new(&mut self.half).poll_write(cx, &self.rest))?;
            if n_written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.rest.drain(..n_written);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
        sync::Semaphore,
    };

    use super::*;
    use crate::connection_stream::ConnectionStream;

    /// More bytes than any network accepts at once.
    const LARGE: usize = 64 << 20;

    async fn pair() -> (ConnectionStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let slot = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        stream.writable().await.unwrap();
        (ConnectionStream::new(stream, slot), other)
    }

    fn send(writer: &StreamWriter, parts: &[&[u8]]) -> SendOutcome {
        let parts: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        writer.try_send(&parts)
    }

    #[tokio::test]
    async fn other_tasks_write_only_while_they_may() {
        let (stream, mut other) = pair().await;
        let writer = stream.writer().clone();
        assert_eq!(send(&writer, &[b"early"]), SendOutcome::Nothing);
        writer.set_shared(true);
        assert_eq!(send(&writer, &[b"one", b" frame"]), SendOutcome::All);
        writer.set_shared(false);
        assert_eq!(send(&writer, &[b"late"]), SendOutcome::Nothing);
        drop((stream, writer));
        let mut read = String::new();
        other.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "one frame");
    }

    #[tokio::test]
    async fn an_unfinished_frame_is_finished_first() {
        let (mut stream, mut other) = pair().await;
        let writer = stream.writer().clone();
        writer.set_shared(true);
        assert_eq!(send(&writer, &[&vec![1; LARGE], &[2]]), SendOutcome::Part);
        assert_eq!(send(&writer, &[b"between"]), SendOutcome::Nothing);
        let reading = tokio::spawn(async move {
            let mut read = Vec::new();
            other.read_to_end(&mut read).await.unwrap();
            read
        });
        stream.flush().await.unwrap();
        assert_eq!(send(&writer, &[&[3]]), SendOutcome::All);
        stream.write_all(&[4]).await.unwrap();
        drop((stream, writer));
        let read = reading.await.unwrap();
        assert_eq!((read.len(), &read[LARGE..]), (LARGE + 3, &[2, 3, 4][..]));
        assert!(read[..LARGE].iter().all(|byte| *byte == 1));
    }

    #[tokio::test]
    async fn no_other_task_writes_into_an_unfinished_frame() {
        let (mut stream, mut other) = pair().await;
        let writer = stream.writer().clone();
        writer.set_shared(true);
        let n_written = stream.write(&vec![1; LARGE]).await.unwrap();
        assert!(n_written < LARGE);
        let mut read = vec![0; n_written];
        other.read_exact(&mut read).await.unwrap();
        assert_eq!(send(&writer, &[b"between"]), SendOutcome::Nothing);
        stream.write_all(&[2]).await.unwrap();
        assert_eq!(send(&writer, &[&[3]]), SendOutcome::All);
        other.read_exact(&mut read[..2]).await.unwrap();
        assert_eq!(read[..2], [2, 3]);
    }
}
