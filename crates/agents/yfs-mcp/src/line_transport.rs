//! Messages as lines. Each request is answered.

use std::{collections::HashSet, io, pin::Pin, sync::Arc};

use parking_lot::Mutex;
use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
        ServerJsonRpcMessage,
    },
    transport::Transport,
};
use serde::Serialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Mutex as AsyncMutex,
};

use crate::{
    envelope_scan::EnvelopeScan,
    message_check::{CheckedMessage, MessageRefusal, check_message},
};

/// The most bytes of one message.
const MAX_MESSAGE_LEN: usize = 16 << 20;

type PendingWrite = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// A connection on which each message is a line.
pub(crate) struct LineTransport<R, W> {
    input: BufReader<R>,
    /// The line that is read. What was read stays here if a read is given up.
    line: Vec<u8>,
    /// The scan of a line above the limit, which is not kept, until its end.
    too_long: Option<EnvelopeScan>,
    /// Held while a message is written; `None` after the end.
    output: Arc<AsyncMutex<Option<W>>>,
    /// The answers to messages that the protocol does not see, written before the next is read.
    answering: Option<PendingWrite>,
    /// The requests without an answer.
    in_flight: Arc<Mutex<HashSet<RequestId>>>,
    has_begun: bool,
    report: fn(&str),
}

/// A line that was read.
enum LineRead {
    /// It stands in the field `line`.
    Whole,
    /// It was above the limit.
    TooLong(Option<RequestId>),
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    /// Makes the transport, which passes the reason to `report` for each line that is not JSON.
    pub(crate) fn new(input: R, output: W, report: fn(&str)) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            too_long: None,
            output: Arc::new(AsyncMutex::new(Some(output))),
            answering: None,
            in_flight: Arc::default(),
            has_begun: false,
            report,
        }
    }

    /// Reads a line. The last one may have no line end.
    async fn next_line(&mut self) -> Option<LineRead> {
        loop {
            let available = self.input.fill_buf().await.ok()?;
            let is_end = available.is_empty();
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = &available[..newline.unwrap_or(available.len())];
            if let Some(scan) = &mut self.too_long {
                scan.feed(taken);
            } else if self.line.len() + taken.len() > MAX_MESSAGE_LEN {
                let mut scan = EnvelopeScan::of(&std::mem::take(&mut self.line));
                scan.feed(taken);
                self.too_long = Some(scan);
            } else {
                self.line.extend_from_slice(taken);
            }
            let n_taken = taken.len() + usize::from(newline.is_some());
            self.input.consume(n_taken);
            if newline.is_none() && !is_end {
                continue;
            }
            return match self.too_long.take() {
                Some(scan) => Some(LineRead::TooLong(scan.request_id())),
                None if is_end && self.line.is_empty() => None,
                None => Some(LineRead::Whole),
            };
        }
    }

    /// Decides on a line.
    fn check_line(&mut self, read: LineRead) -> CheckedMessage {
        let id = match read {
            LineRead::Whole => return self.check_text(),
            LineRead::TooLong(id) => id,
        };
        CheckedMessage::Refused(vec![MessageRefusal::too_long(id, MAX_MESSAGE_LEN)])
    }

    fn check_text(&mut self) -> CheckedMessage {
        let checked = check_message(&self.line);
        self.line.clear();
        let CheckedMessage::Readable(message) = &checked else { return checked };
        match &**message {
            JsonRpcMessage::Request(request) => {
                if !self.in_flight.lock().insert(request.id.clone()) {
                    let refusal = MessageRefusal::reused_id(request.id.clone());
                    return CheckedMessage::Refused(vec![refusal]);
                }
                self.has_begun |= !matches!(request.request, ClientRequest::PingRequest(_));
            }
            // Before a session begins, these belong to nothing, and would end the server.
            _ if !self.has_begun => return CheckedMessage::Ignored,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // A request that was cancelled is not answered.
                    self.in_flight.lock().remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => (),
        }
        checked
    }

    fn answer(&mut self, refusals: &[MessageRefusal]) {
        for reason in refusals.iter().filter_map(MessageRefusal::parse_error) {
            (self.report)(reason);
        }
        let answers: Vec<_> = refusals.iter().map(MessageRefusal::answer).collect();
        let lines = answers.iter().map(line_of).collect::<Result<Vec<_>, _>>();
        let lines = lines.map(|lines| lines.concat());
        self.answering = Some(Box::pin(write_lines(self.output.clone(), lines)));
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.in_flight.lock().remove(id);
        }
        write_lines(self.output.clone(), line_of(&message))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(answering) = &mut self.answering {
                let written = answering.await;
                self.answering = None;
                written.ok()?;
            }
            let read = self.next_line().await?;
            match self.check_line(read) {
                CheckedMessage::Readable(message) => return Some(*message),
                CheckedMessage::Refused(refusals) => self.answer(&refusals),
                CheckedMessage::Ignored => (),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}

fn line_of(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

async fn write_lines<W: AsyncWrite + Unpin>(
    output: Arc<AsyncMutex<Option<W>>>,
    lines: serde_json::Result<Vec<u8>>,
) -> io::Result<()> {
    let lines = lines?;
    let mut output = output.lock().await;
    let output = output.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    output.write_all(&lines).await?;
    output.flush().await
}

#[cfg(test)]
mod tests;
