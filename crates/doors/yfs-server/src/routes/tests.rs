//! Every route: those whose answers last end with the grant of their request.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};
use yfs::{Workspace, WorkspaceOptions, clock::Clock};
use yfs_agent::work_budget::{WorkBudget, WorkCost, WorkLimits};
use yfs_engine::{path::VPath, time::Millis};
use yfs_store::MemoryStore;
use yfs_vfs::{FileSystem, WriteOptions};

use crate::{
    access::{AccessGrant, TokenKeys},
    serve::{ServeOptions, Server},
};

/// The sources that add routes.
const SOURCES: [&str; 6] = [
    include_str!("../routes.rs"),
    include_str!("../files.rs"),
    include_str!("../threads.rs"),
    include_str!("../artifacts.rs"),
    include_str!("../dav.rs"),
    include_str!("../transfers.rs"),
];

/// How the answer of a route lasts, and how it is opened.
#[derive(Debug, Clone, Copy)]
enum LastingAnswer {
    /// Server-sent events.
    Events,
    /// The notifications of a session of MCP, for which a session is opened.
    McpNotifications,
    /// A WebSocket, which is closed.
    Socket,
    /// A WebSocket of Hocuspocus, in which the document is closed.
    Collab,
}

/// The routes whose answers last. A route that is not listed must answer at once.
const LASTING: [(&str, LastingAnswer); 5] = [
    ("/events", LastingAnswer::Events),
    ("/mcp", LastingAnswer::McpNotifications),
    ("/sync/{guid}", LastingAnswer::Socket),
    ("/collab", LastingAnswer::Collab),
    ("/replicate", LastingAnswer::Socket),
];

/// A clock that stands still until it is set.
#[derive(Debug, Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::Relaxed))
    }
}

/// A running server with one file.
struct RunningServer {
    address: SocketAddr,
    keys: TokenKeys,
    clock: Arc<SetClock>,
    guid: String,
}

/// An open answer, after its head.
type OpenAnswer = BufReader<TcpStream>;

impl RunningServer {
    async fn start() -> Self {
        Self::with_budget(WorkBudget::of_process()).await
    }

    async fn with_budget(work: Arc<WorkBudget>) -> Self {
        let clock = Arc::new(SetClock(AtomicI64::new(1_000_000)));
        let options = WorkspaceOptions { clock: clock.clone(), ..WorkspaceOptions::default() };
        let workspace = Workspace::create(Arc::new(MemoryStore::new()), options).unwrap();
        let path = VPath::parse("/a.txt").unwrap();
        let made = workspace.fs().write(&path, "text".into(), &WriteOptions::default()).await;
        let guid = made.unwrap().id.to_string();
        let keys = TokenKeys::of(workspace.store().clone()).with_clock(clock.clone());
        let recheck = Duration::from_millis(1);
        let options = ServeOptions { port: 0, recheck, work, ..ServeOptions::default() };
        let server = Server::bind(&options).await.unwrap();
        let address = server.address();
        tokio::spawn(server.run(workspace, std::future::pending()));
        Self { address, keys, clock, guid }
    }

    fn grant(&self, id: &str, expires: Option<Millis>) -> (AccessGrant, String) {
        let owner = AccessGrant::owner("human:ana".parse().unwrap());
        let grant = AccessGrant { id: id.to_owned(), expires, ..owner };
        let token = self.keys.issue(&grant).unwrap();
        (grant, token)
    }

    /// Sends a request, and returns its status, its headers and the answer.
    async fn request(&self, head: &str, token: &str, body: &str) -> (u16, String, OpenAnswer) {
        let mut answer = BufReader::new(self.send(head, token, body).await);
        let mut lines = String::new();
        while !lines.ends_with("\r\n\r\n") {
            assert_ne!(answer.read_line(&mut lines).await.unwrap(), 0, "{head}: {lines}");
        }
        let status = lines.split(' ').nth(1).unwrap().parse().unwrap();
        (status, lines.to_lowercase(), answer)
    }

    /// Sends a request, and does not wait for the answer.
    async fn send(&self, head: &str, token: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!(
            "{head}\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\
             Accept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\n\r\n{body}",
            self.address,
            body.len(),
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn open(&self, route: &str, kind: LastingAnswer, token: &str) -> OpenAnswer {
        let path = route.replace("{guid}", &self.guid);
        let socket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                      Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
        let head = format!("GET {path} HTTP/1.1");
        let (head, expected) = match kind {
            LastingAnswer::Events => (head, 200),
            LastingAnswer::McpNotifications => {
                let id = self.initialize(token).await;
                (format!("{head}\r\nMcp-Session-Id: {id}"), 200)
            }
            LastingAnswer::Socket | LastingAnswer::Collab => (format!("{head}\r\n{socket}"), 101),
        };
        let (status, headers, mut answer) = self.request(&head, token, "").await;
        assert_eq!(status, expected, "{route}: {headers}");
        if matches!(kind, LastingAnswer::Collab) {
            self.authenticate(&mut answer, token).await;
        }
        answer
    }

    async fn initialize(&self, token: &str) -> String {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
            "protocolVersion":"2025-06-18","capabilities":{},
            "clientInfo":{"name":"test","version":"1"}}}"#;
        let (status, headers, _) = self.request("POST /mcp HTTP/1.1", token, body).await;
        assert_eq!(status, 200, "{headers}");
        let id = headers.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.unwrap().to_owned()
    }

    /// Sends the message of Hocuspocus with the token of a document.
    async fn authenticate(&self, answer: &mut OpenAnswer, token: &str) {
        let mut message = Vec::new();
        for text in [&self.guid, "\x02\x00", token] {
            if !text.starts_with('\x02') {
                yfs_engine::lib0::write_var_uint(&mut message, text.len() as u64);
            }
            message.extend(text.as_bytes());
        }
        let mut frame = vec![0x82, 0x80 | 126];
        frame.extend(u16::try_from(message.len()).unwrap().to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(message);
        answer.get_mut().write_all(&frame).await.unwrap();
    }
}

/// Waits until an answer has ended: its connection, its chunks, or its document.
async fn read_to_end(mut answer: OpenAnswer, kind: LastingAnswer) {
    let mut seen = Vec::<u8>::new();
    let ended: &[u8] = match kind {
        LastingAnswer::Events | LastingAnswer::McpNotifications => b"0\r\n\r\n",
        // The reason of the close frame.
        LastingAnswer::Socket => b"the token ",
        LastingAnswer::Collab => b"the token was revoked",
    };
    while !seen.windows(ended.len()).any(|window| window == ended) {
        let mut buffer = [0; 4096];
        match answer.read(&mut buffer).await.unwrap_or(0) {
            0 => return,
            len => seen.extend(&buffer[..len]),
        }
    }
}

/// Returns the routes of the sources.
fn routes() -> Vec<String> {
    let routes = SOURCES.iter().flat_map(|source| source.split(".route(\"").skip(1));
    routes.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_last_end_when_their_token_is_revoked() {
    let server = RunningServer::start().await;
    for (route, kind) in LASTING {
        let (grant, token) = server.grant(route, None);
        let answer = server.open(route, kind, &token).await;
        server.keys.revoke(&grant.id).unwrap();
        read_to_end(answer, kind).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_last_end_when_their_token_expires() {
    let server = RunningServer::start().await;
    for (route, kind) in LASTING {
        let at = server.clock.now().0 + 1;
        let (_, token) = server.grant(route, Some(Millis(at)));
        let answer = server.open(route, kind, &token).await;
        server.clock.0.store(at, Ordering::Relaxed);
        read_to_end(answer, kind).await;
    }
}

/// A new route whose answer lasts is added to `LASTING`, or this fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_other_routes_answer_at_once() {
    let server = RunningServer::start().await;
    let (_, token) = server.grant("all", None);
    let routes = routes();
    assert!(routes.len() > 40, "{routes:?}");
    for (route, _) in LASTING {
        assert!(routes.iter().any(|known| known == route), "{route} is no route");
    }
    for route in routes.iter().filter(|route| LASTING.iter().all(|(known, _)| known != route)) {
        let path = route.replace("{*path}", "a.txt").replace("{id}", "t").replace("{hash}", "h");
        for method in ["GET", "POST", "PUT", "DELETE"] {
            // Its answer comes, but the file of the other requests should stay.
            if method == "DELETE" && ["/api/files/a.txt", "/dav/a.txt"].contains(&&*path) {
                continue;
            }
            let head = format!("{method} {path} HTTP/1.1");
            let (status, headers, _) = server.request(&head, &token, "{}").await;
            let is_whole = headers.contains("\ncontent-length: ") || status == 204;
            assert!(is_whole && status != 426, "{method} {route} lasts: {headers}");
        }
    }
}

/// A token for a directory gets the same answer whether or not a file outside exists, also through
/// links.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_route_says_what_exists_outside_of_a_token() {
    let server = RunningServer::start().await;
    let (owner, all) = server.grant("all", None);
    for (head, body) in [
        ("PUT /api/files/private/known.txt HTTP/1.1", "secret"),
        ("PUT /api/files/docs/a.txt HTTP/1.1", "text"),
        ("POST /api/symlink HTTP/1.1", r#"{"target":"../private","path":"/docs/out"}"#),
    ] {
        let (status, headers, _) = server.request(head, &all, body).await;
        assert_eq!(status, 201, "{head}: {headers}");
    }
    let path = VPath::parse("/docs").unwrap();
    let token = server.keys.issue(&AccessGrant { id: "docs".into(), path, ..owner }).unwrap();
    for route in [
        "/api/files",
        "/api/stat",
        "/api/versions",
        "/api/blame",
        "/api/conflicts",
        "/api/log?path=",
        "/api/stats?path=",
        "/api/search?pattern=x&path=",
        "/api/artifacts?root=",
    ] {
        for directory in ["/private", "/docs/out"] {
            for name in ["known.txt", "other.txt"] {
                let head = format!("GET {route}{directory}/{name} HTTP/1.1");
                let (status, _, _) = server.request(&head, &token, "").await;
                assert_eq!(status, 403, "{head}");
            }
        }
    }
}

/// The requests of heavy work, with their bodies.
const HEAVY: [(&str, &str); 9] = [
    ("GET /api/stats?path=/a.txt", ""),
    ("POST /api/context", "{}"),
    ("GET /api/files/a.txt?thumbnail=10x10", ""),
    ("GET /api/threads/t/files/a.png?thumbnail=10x10", ""),
    ("GET /api/artifacts", ""),
    ("POST /api/artifacts?call=1", "a result"),
    ("GET /api/artifacts/shared/none.txt", ""),
    ("GET /api/artifact-references/shared/none.txt", ""),
    (
        "POST /mcp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "file_stats", "arguments": {"path": "/a.txt"}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}}}}"#,
    ),
];

/// The headers of a request of MCP without a session.
const MCP_HEADERS: &str =
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: file_stats";

/// All heavy work of a server draws on one budget, and a client that hangs up takes back what it
/// asked for: with the budget used up, each request waits, and is gone when its client is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_ends_its_work() {
    let budget = WorkBudget::new(WorkLimits { max_running: 1, max_mib: 4096 });
    let server = RunningServer::with_budget(budget.clone()).await;
    let (_, token) = server.grant("one", None);
    let mut waiting = budget.n_waiting();
    for (head, body) in HEAVY {
        let held = budget.admit(WorkCost::ANALYSIS).await;
        let extra = if head == "POST /mcp" { format!("\r\n{MCP_HEADERS}") } else { String::new() };
        let stream = server.send(&format!("{head} HTTP/1.1{extra}"), &token, body).await;
        waiting.wait_for(|n_waiting| *n_waiting == 1).await.unwrap();
        drop(stream);
        waiting.wait_for(|n_waiting| *n_waiting == 0).await.unwrap();
        drop(held);
    }
}
