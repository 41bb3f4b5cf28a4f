//! Requests to a running server, one connection each.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(600);

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Whom to ask, and with which token.
#[derive(Debug, Clone)]
pub struct Client {
    /// The port of this machine.
    pub port: u16,
    /// The token, if one is shown.
    pub token: Option<String>,
}

impl Client {
    /// Makes a request.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer as HTTP/1.1 wants it.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut reader = BufReader::new(self.start(method, path, headers, body));
        let (status, headers) = head(&mut reader);
        let mut body = Vec::new();
        if headers.get("transfer-encoding").is_some_and(|encoding| encoding == "chunked") {
            while let Some(chunk) = chunk(&mut reader) {
                body.extend(chunk);
            }
        } else {
            reader.read_to_end(&mut body).expect("the server answers");
        }
        Answer { status, headers, body }
    }

    /// Makes a request without a body or headers of its own.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// Makes a request whose answer goes on, and returns its chunks.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses.
    pub fn follow(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> impl Iterator<Item = String> + use<> {
        let mut reader = BufReader::new(self.start("GET", path, headers, b""));
        let (status, _) = head(&mut reader);
        assert_eq!(status, 200, "{path}");
        std::iter::from_fn(move || chunk(&mut reader))
            .map(|chunk| String::from_utf8(chunk).expect("events are UTF-8"))
    }

    fn start(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit that is not zero");
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", self.port);
        request += &format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if let Some(token) = &self.token {
            request += &format!("Authorization: Bearer {token}\r\n");
        }
        request += "\r\n";
        stream.write_all(request.as_bytes()).expect("the server reads");
        // One that has refused need not read on.
        stream.write_all(body).ok();
        stream
    }
}

impl Answer {
    /// Returns the body as text.
    ///
    /// # Panics
    ///
    /// Panics if it is not UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }

    /// Returns the body as JSON.
    ///
    /// # Panics
    ///
    /// Panics if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns a header, or nothing as the empty text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

fn head(reader: &mut impl BufRead) -> (u16, BTreeMap<String, String>) {
    let mut lines = reader.lines().map(|line| line.expect("the server answers"));
    let status = lines.next().expect("an answer has a status");
    let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
    let headers = lines.take_while(|line| !line.is_empty()).map(|line| {
        let (name, value) = line.split_once(':').expect("a header has a colon");
        (name.to_lowercase(), value.trim().to_owned())
    });
    (status.expect("a status is a number"), headers.collect())
}

fn chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let len = usize::from_str_radix(line.trim(), 16).ok().filter(|len| *len > 0)?;
    let mut chunk = vec![0; len + 2];
    reader.read_exact(&mut chunk).ok()?;
    chunk.truncate(len);
    Some(chunk)
}
