//! A report on standard error of each message that is not JSON, as the reference server makes.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, ReadBuf};

/// Longer messages are not checked: the transport discards them.
const MAX_CHECKED_LEN: usize = 16 << 20;

/// A reader that checks the lines that pass through it.
#[derive(Debug)]
pub(crate) struct CheckedLines<R> {
    inner: R,
    line: Vec<u8>,
    report: fn(&str),
}

impl<R> CheckedLines<R> {
    /// Makes a reader that passes the reason to `report` for each line that is not JSON.
    pub(crate) fn new(inner: R, report: fn(&str)) -> Self {
        Self { inner, line: Vec::new(), report }
    }

    fn check(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end]);
            let line = std::mem::take(&mut self.line);
            if line.len() < MAX_CHECKED_LEN
                && !line.trim_ascii().is_empty()
                && let Err(error) = serde_json::from_slice::<IgnoredAny>(&line)
            {
                (self.report)(&error.to_string());
            }
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    fn extend(&mut self, bytes: &[u8]) {
        let n_free = MAX_CHECKED_LEN - self.line.len();
        self.line.extend_from_slice(&bytes[..bytes.len().min(n_free)]);
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for CheckedLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let n_before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        this.check(&buffer.filled()[n_before..]);
        Poll::Ready(Ok(()))
    }
}
