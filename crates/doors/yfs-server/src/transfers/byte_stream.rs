//! A body that a thread writes while it is sent. Little of it is in memory at a time.

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use futures::stream;
use tokio::{sync::mpsc, task::spawn_blocking};

/// The pieces that wait for the connection.
const MAX_WAITING: usize = 4;

/// The length of a piece, in bytes.
const PIECE_LEN: usize = 256 << 10;

/// The end of a body to which it is written.
pub(super) struct BodyWriter(mpsc::Sender<io::Result<Bytes>>);

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a body that a function writes on a thread of its own. If it fails, the body is cut, so
/// that no client takes a part for the whole. It ends at its next piece when the client is gone.
pub(super) fn body_written_by(
    write: impl FnOnce(&mut io::BufWriter<BodyWriter>) -> io::Result<()> + Send + 'static,
) -> Body {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    let failed = sender.clone();
    spawn_blocking(move || {
        let mut writer = io::BufWriter::with_capacity(PIECE_LEN, BodyWriter(sender));
        if let Err(error) = write(&mut writer).and_then(|()| writer.flush()) {
            // The client may be gone.
            failed.blocking_send(Err(error)).ok();
        }
    });
    Body::from_stream(stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|piece| (piece, receiver))
    }))
}
