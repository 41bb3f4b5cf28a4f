//! The WebSocket of an attacker: it writes frames byte by byte, and answers nothing by itself.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(600);

/// The opcodes of frames (RFC 6455 section 5.2).
pub const CONTINUATION: u8 = 0;
/// A binary message begins.
pub const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;

/// A connection that became a WebSocket.
#[derive(Debug)]
pub struct Socket {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    protocol: Option<String>,
}

/// What a server sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A message.
    Message(Vec<u8>),
    /// The end, with code and reason.
    Closed(u16, String),
    /// The end, without a word.
    Gone,
}

impl Socket {
    /// Opens a WebSocket; `headers` are whole lines.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer, or not with 101.
    pub fn open(port: u16, path: &str, headers: &[&str]) -> Self {
        let mut writer = connect(port);
        let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
        );
        writer.write_all(head.as_bytes()).expect("the server listens");
        let mut reader = BufReader::new(writer.try_clone().expect("a socket can be shared"));
        let mut protocol = None;
        for number in 0.. {
            let mut line = String::new();
            reader.read_line(&mut line).expect("the server answers");
            assert!(number > 0 || line.starts_with("HTTP/1.1 101"), "{path}: {line}");
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("sec-websocket-protocol: ") {
                protocol = Some(value.to_owned());
            }
            // The answer to the sample key of RFC 6455.
            if let Some(accept) = line.strip_prefix("sec-websocket-accept: ") {
                assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
            }
        }
        Self { reader, writer, protocol }
    }

    /// Returns the sub-protocol that the server chose.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// Sends a message. If the server has closed the connection, the next receive reports it.
    pub fn send(&mut self, message: &[u8]) {
        self.frame(0x80 | BINARY, message.len() as u64, message).ok();
    }

    /// Sends a frame: its first byte, the length that it claims to have, and the payload, which may
    /// be shorter.
    ///
    /// # Errors
    ///
    /// If the server has closed the connection.
    pub fn frame(&mut self, first: u8, len: u64, payload: &[u8]) -> io::Result<()> {
        // Masked with zeros, which changes nothing.
        let mut frame = vec![first, 0x80 | 127];
        frame.extend(len.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(payload);
        self.writer.write_all(&frame)
    }

    /// Waits for what the server sends.
    pub fn receive(&mut self) -> Received {
        self.try_receive().unwrap_or(Received::Gone)
    }

    /// Waits for a message that `is_it`, passing over others.
    ///
    /// # Panics
    ///
    /// Panics if the connection ends before.
    pub fn wait_for(&mut self, mut is_it: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
        loop {
            match self.receive() {
                Received::Message(message) if is_it(&message) => return message,
                Received::Message(_) => (),
                end => panic!("waited in vain: {end:?}"),
            }
        }
    }

    /// Reads to the end, and returns the close code; nothing where there was none.
    pub fn end(&mut self) -> Option<u16> {
        loop {
            match self.receive() {
                Received::Message(_) => (),
                Received::Closed(code, _) => return Some(code),
                Received::Gone => return None,
            }
        }
    }

    fn try_receive(&mut self) -> io::Result<Received> {
        let mut message = Vec::new();
        loop {
            let [first, second] = self.array()?;
            let len = match second & 0x7F {
                126 => u64::from(u16::from_be_bytes(self.array()?)),
                127 => u64::from_be_bytes(self.array()?),
                len => u64::from(len),
            };
            let start = message.len();
            let n_read = (&mut self.reader).take(len).read_to_end(&mut message)?;
            if n_read as u64 != len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match first & 0xF {
                CLOSE => {
                    let code = match message[start..] {
                        [high, low, ..] => u16::from_be_bytes([high, low]),
                        _ => 1005,
                    };
                    let reason = message.get(start + 2..).unwrap_or_default();
                    return Ok(Received::Closed(code, String::from_utf8_lossy(reason).into()));
                }
                PING.. => message.truncate(start),
                _ if first & 0x80 != 0 => return Ok(Received::Message(message)),
                _ => (),
            }
        }
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Connects to a server, and says nothing.
///
/// # Panics
///
/// Panics if no server listens on the port.
pub fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a socket has options");
    stream.set_write_timeout(Some(LIMIT)).expect("a socket has options");
    stream
}
