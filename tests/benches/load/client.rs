//! A cheap WebSocket client: it reads frames into one buffer, skips long ones, and parses only what
//! a scenario asks for.

use std::io;

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};
use yfs_sync::message::SyncMessage;

use crate::server::Target;

/// How much of a frame is kept; what is behind is counted only.
const KEPT: usize = 64 << 10;

const PING: u8 = 9;
const CLOSE: u8 = 8;

/// The half that sends.
pub(crate) struct Sender {
    half: OwnedWriteHalf,
    is_collab: bool,
}

/// The half that receives.
pub(crate) struct Receiver {
    reader: BufReader<OwnedReadHalf>,
    frame: Vec<u8>,
}

/// A frame that arrived, without its key.
pub(crate) struct Frame<'a> {
    /// Its beginning.
    pub(crate) bytes: &'a [u8],
    /// How long it was as a whole.
    pub(crate) len: usize,
}

/// Connects to a server; for y-websocket to one document.
pub(crate) async fn connect(target: &Target, document: &str) -> io::Result<(Sender, Receiver)> {
    let stream = TcpStream::connect(("127.0.0.1", target.port)).await?;
    stream.set_nodelay(true)?;
    let (half, mut writer) = stream.into_split();
    let path = target.path(document);
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        target.port
    );
    writer.write_all(request.as_bytes()).await?;
    let mut reader = BufReader::with_capacity(2048, half);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line == "\r\n" {
            break;
        }
    }
    let sender = Sender { half: writer, is_collab: target.is_collab };
    Ok((sender, Receiver { reader, frame: Vec::new() }))
}

impl Sender {
    /// Opens a document: shows an empty token where the protocol wants one, and says what we have.
    pub(crate) async fn join(&mut self, document: &str, state_vector: &[u8]) -> io::Result<()> {
        if self.is_collab {
            let token = [&key(document)[..], &[2, 0, 1, b'-', 5], b"4.8.0"].concat();
            self.frame(&token).await?;
        }
        self.say(document, &SyncMessage::Step1(state_vector)).await
    }

    /// Sends a message.
    pub(crate) async fn say(
        &mut self,
        document: &str,
        message: &SyncMessage<'_>,
    ) -> io::Result<()> {
        let prefix = if self.is_collab { key(document) } else { Vec::new() };
        self.frame(&message.encode_after(&prefix)).await
    }

    async fn frame(&mut self, payload: &[u8]) -> io::Result<()> {
        // Masked with zeros, which changes nothing.
        let mut frame = vec![0x82];
        match payload.len() {
            len @ ..126 => frame.push(0x80 | len as u8),
            len @ ..65_536 => {
                frame.push(0x80 | 126);
                frame.extend((len as u16).to_be_bytes());
            }
            len => {
                frame.push(0x80 | 127);
                frame.extend((len as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(payload);
        self.half.write_all(&frame).await
    }

    /// Answers that we are there.
    pub(crate) async fn pong(&mut self) -> io::Result<()> {
        self.half.write_all(&[0x8A, 0x80, 0, 0, 0, 0]).await
    }
}

impl Receiver {
    /// Waits for the next message; nothing means that a pong is due.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Frame<'_>>> {
        let mut len_of_message = 0;
        self.frame.clear();
        loop {
            let [first, second] = self.array().await?;
            let len = match second & 0x7F {
                126 => usize::from(u16::from_be_bytes(self.array().await?)),
                127 => u64::from_be_bytes(self.array().await?) as usize,
                len => usize::from(len),
            };
            let opcode = first & 0xF;
            if opcode >= CLOSE {
                self.pass(len).await?;
                match opcode {
                    PING => return Ok(None),
                    CLOSE => return Err(io::ErrorKind::ConnectionReset.into()),
                    _ => continue,
                }
            }
            len_of_message += len;
            let kept = len.min(KEPT.saturating_sub(self.frame.len()));
            let start = self.frame.len();
            self.frame.resize(start + kept, 0);
            self.reader.read_exact(&mut self.frame[start..]).await?;
            self.pass(len - kept).await?;
            if first & 0x80 != 0 {
                return Ok(Some(Frame { bytes: &self.frame, len: len_of_message }));
            }
        }
    }

    async fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).await?;
        Ok(bytes)
    }

    async fn pass(&mut self, mut len: usize) -> io::Result<()> {
        while len > 0 {
            let available = self.reader.fill_buf().await?.len();
            if available == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let passed = available.min(len);
            self.reader.consume(passed);
            len -= passed;
        }
        Ok(())
    }
}

impl Frame<'_> {
    /// Returns the message behind the key that frames have at `/collab`.
    pub(crate) fn message(&self, target: &Target) -> &[u8] {
        match (target.is_collab, self.bytes) {
            (false, bytes) => bytes,
            (true, [len, rest @ ..]) if rest.len() > usize::from(*len) => {
                &rest[usize::from(*len)..]
            }
            (true, _) => &[],
        }
    }
}

/// What a frame begins with at `/collab`; names are shorter than 128 bytes here.
fn key(document: &str) -> Vec<u8> {
    [&[document.len() as u8], document.as_bytes()].concat()
}
