//! `/dav` of a served workspace: credentials, foreign pages, hostile requests, and the test suite
//! litmus. `crates/doors/yfs-dav/tests` has the methods.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    env,
    io::{Read, Write, stderr},
    net::TcpStream,
    path::PathBuf,
    process::Command,
};

use yfs_tests::{
    command::{Server, ok},
    http::{Answer, Client},
    served::Served,
};

/// Returns the value of `Authorization` for HTTP Basic.
fn basic(user: &str, password: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let pair = format!("{user}:{password}");
    let groups = pair.as_bytes().chunks(3).flat_map(|group| {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        (0..4).map(move |at| match at <= group.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]),
            false => '=',
        })
    });
    format!("Basic {}", groups.collect::<String>())
}

fn with_basic(client: &Client, user: &str, request: (&str, &str), body: &[u8]) -> Answer {
    let anonymous = Client { token: None, ..client.clone() };
    let credentials = basic(user, client.token.as_deref().unwrap_or_default());
    let headers = [("Authorization", credentials.as_str()), ("Depth", "1")];
    anonymous.send(request.0, request.1, &headers, body)
}

#[test]
fn a_token_is_the_password_of_any_user() {
    assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    let served = Served::start(&[("docs/a.txt", "in\n"), ("out.txt", "out\n")]);
    let anonymous = Client { token: None, ..served.client.clone() };
    for method in ["GET", "PROPFIND", "OPTIONS", "PUT", "LOCK"] {
        let answer = anonymous.send(method, "/dav/out.txt", &[], b"x");
        assert_eq!(answer.status, 401, "{method}");
        assert!(answer.header("www-authenticate").starts_with("Basic realm="), "{answer:?}");
    }
    let wrong = Client { token: Some("yfs_wrong".to_owned()), ..served.client.clone() };
    assert_eq!(with_basic(&wrong, "ana", ("GET", "/dav/out.txt"), b"").status, 401);
    for user in ["ana", "", "anything"] {
        let read = with_basic(&served.client, user, ("GET", "/dav/out.txt"), b"");
        assert_eq!((read.status, read.text()), (200, "out\n"));
    }
    // The same by Bearer, which other clients send.
    assert_eq!(served.client.get("/dav/out.txt").text(), "out\n");

    let reader = served.with_token(&["--read", "--for", "human:ben"]);
    for (method, body) in [("PUT", &b"x"[..]), ("PUT", b""), ("DELETE", b""), ("LOCK", b"x")] {
        assert_eq!(with_basic(&reader, "ana", (method, "/dav/out.txt"), body).status, 403);
    }
    assert_eq!(with_basic(&reader, "ana", ("GET", "/dav/out.txt"), b"").status, 200);

    // The author of a change is who the token names, and no user name changes that.
    let ben = served.with_token(&["--for", "human:ben"]);
    assert_eq!(with_basic(&ben, "ana", ("PUT", "/dav/new.txt"), b"by ben\n").status, 201);
    assert!(ok(served.dir(), &["blame", "/new.txt"]).contains("ben"));
}

/// File managers open the root first, and walk down.
#[test]
fn a_token_for_a_directory_shows_the_way_to_it() {
    let served = Served::start(&[("docs/a/in.txt", "in\n"), ("docs/out.txt", "o"), ("b.txt", "b")]);
    let client = served.with_token(&["--path", "/docs/a"]);
    let hrefs = |path: &str| {
        let listed = with_basic(&client, "ana", ("PROPFIND", path), b"");
        assert_eq!(listed.status, 207, "{path}");
        let text = listed.text().to_owned();
        let hrefs = text.split("<D:response><D:href>").skip(1);
        hrefs.map(|rest| rest.split('<').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(hrefs("/dav/"), ["/dav/", "/dav/docs/"]);
    assert_eq!(hrefs("/dav/docs"), ["/dav/docs/", "/dav/docs/a/"]);
    assert_eq!(hrefs("/dav/docs/a/"), ["/dav/docs/a/", "/dav/docs/a/in.txt"]);
    for (request, status) in [
        (("GET", "/dav/docs/a/in.txt"), 200),
        (("PUT", "/dav/docs/a/new.txt"), 201),
        (("GET", "/dav/b.txt"), 403),
        (("GET", "/dav/none.txt"), 403),
        (("GET", "/dav/docs/out.txt"), 403),
        (("PUT", "/dav/b.txt"), 403),
        (("PUT", "/dav/docs/new.txt"), 403),
        (("DELETE", "/dav/docs/out.txt"), 403),
        (("GET", "/dav/docs/a/../../b.txt"), 400),
    ] {
        let answer = with_basic(&client, "ana", request, b"x");
        assert_eq!(answer.status, status, "{request:?}: {answer:?}");
    }
    let away = [("Destination", "/dav/taken.txt")];
    assert_eq!(client.send("COPY", "/dav/docs/a/in.txt", &away, b"").status, 403);
    let taken = [("Destination", "/dav/docs/a/taken.txt")];
    assert_eq!(client.send("COPY", "/dav/b.txt", &taken, b"").status, 403);
}

#[test]
fn an_open_server_takes_the_user_name_for_the_author() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), 0);
    let client = Client { port: server.port(), token: None };
    assert_eq!(with_basic(&client, "ana", ("PUT", "/dav/a.txt"), b"by ana\n").status, 201);
    assert_eq!(client.send("PUT", "/dav/b.txt", &[], b"b").status, 201);
    assert!(ok(dir.path(), &["blame", "/a.txt"]).contains("ana"));
    // Locks are of a user.
    let lock = b"<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope><D:locktype>\
                 <D:write/></D:locktype></D:lockinfo>";
    let anonymous = basic("ana", "");
    let headers = [("Authorization", anonymous.as_str()), ("Depth", "0")];
    let locked = client.send("LOCK", "/dav/a.txt", &headers, lock);
    assert_eq!(locked.status, 200);
    let token = format!("({})", locked.header("lock-token"));
    let write = |user: &str| {
        let credentials = basic(user, "");
        let headers = [("Authorization", credentials.as_str()), ("If", &token)];
        client.send("PUT", "/dav/a.txt", &headers, b"x").status
    };
    assert_eq!((write("ben"), write("ana")), (423, 204));
}

/// A website must not reach a server of its visitor's machine, which needs no token.
#[test]
fn pages_of_other_origins_do_not_reach_an_open_server() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), 0);
    let client = Client { port: server.port(), token: None };
    assert_eq!(client.send("PUT", "/dav/a.txt", &[], b"a").status, 201);
    let foreign = ("Origin", "https://evil.example");
    for method in ["OPTIONS", "GET", "PUT", "DELETE", "PROPFIND", "MOVE", "LOCK"] {
        for headers in [&[foreign][..], &[foreign, ("Access-Control-Request-Method", "PUT")]] {
            let answer = client.send(method, "/dav/a.txt", headers, b"x");
            assert_eq!(answer.status, 403, "{method}");
            assert_eq!(answer.header("access-control-allow-origin"), "");
        }
    }
    let cross = [("Sec-Fetch-Site", "cross-site")];
    assert_eq!(client.send("PUT", "/dav/a.txt", &cross, b"x").status, 403);
    // DNS rebinding: the page's own name leads here.
    let head = "PUT /dav/a.txt HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1\r\n\
                Connection: close\r\n\r\nx";
    assert!(exchange(&client, head.as_bytes()).starts_with("HTTP/1.1 403"));
    assert_eq!(client.get("/dav/a.txt").text(), "a");
}

/// Sends bytes, and returns what comes back.
fn exchange(client: &Client, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", client.port)).unwrap();
    // The server may refuse before it has read all.
    stream.write_all(request).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn hostile_requests_are_refused_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), 0);
    let client = Client { port: server.port(), token: None };
    assert_eq!(client.send("PUT", "/dav/a.txt", &[], b"a").status, 201);
    let long = format!("(<{}>)", "x".repeat(20 << 10));
    for (request, headers, status) in [
        (("GET", "/dav/../a.txt"), &[][..], 400),
        (("GET", "/dav/%2e%2e/a.txt"), &[], 400),
        (("GET", "/dav/x%2f..%2fa.txt"), &[], 400),
        (("GET", "/dav/a.txt%00"), &[], 400),
        (("PUT", "/dav/%ff"), &[], 400),
        (("PROPFIND", "/dav/"), &[("Depth", "infinity")], 403),
        (("PROPFIND", "/dav/"), &[], 403),
        (("COPY", "/dav/a.txt"), &[("Destination", "http://evil.example/dav/b.txt")], 502),
        (("MOVE", "/dav/a.txt"), &[("Destination", "/dav/../../etc/passwd")], 400),
        (("PUT", "/dav/a.txt"), &[("If", long.as_str())], 400),
        (("BREW", "/dav/a.txt"), &[], 405),
    ] {
        let answer = client.send(request.0, request.1, headers, b"");
        assert_eq!(answer.status, status, "{request:?} {answer:?}");
    }
    let name = "x".repeat(256);
    assert_eq!(client.send("PUT", &format!("/dav/{name}"), &[], b"x").status, 400);
    let bomb = format!("<a>{}</a>", "x".repeat(300 << 10));
    assert_eq!(client.send("PROPPATCH", "/dav/a.txt", &[], bomb.as_bytes()).status, 413);
    let headers = format!("If: (<{}>)\r\nConnection: close", "x".repeat(1 << 20));
    let head = format!("DELETE /dav/a.txt HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n");
    let answer = exchange(&client, head.as_bytes());
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert_eq!(client.get("/dav/a.txt").text(), "a");
    assert_eq!(client.get("/healthz").status, 200);
}

/// A long content goes to a file of the host and is written from there, also over another.
#[test]
fn long_contents_are_written() {
    let served = Served::start(&[("a.txt", "text")]);
    let content: Vec<u8> = (0..9_000_000_u32).map(|at| (at % 251) as u8).collect();
    for status in [201, 204] {
        let written = served.client.send("PUT", "/dav/long.bin", &[], &content);
        assert_eq!(written.status, status);
        assert!(served.client.get("/dav/long.bin").body == content);
    }
    let part = [("Range", "bytes=5000000-5000009")];
    let part = served.client.send("GET", "/dav/long.bin", &part, b"");
    assert_eq!((part.status, &*part.body), (206, &content[5_000_000..5_000_010]));
    // The last version that it read is a base, and bytes do not merge.
    ok(served.dir(), &["write", "/long.bin", "--content", "short"]);
    assert_eq!(served.client.send("PUT", "/dav/long.bin", &[], &content).status, 204);
    assert!(served.client.get("/dav/long.bin").body == content);
}

/// The test suite for servers of WebDAV, of Debian's package `litmus`.
#[test]
fn litmus_passes() {
    let path = env::var_os("PATH").unwrap_or_default();
    let has_litmus = |dir: PathBuf| dir.join("litmus").is_file();
    if !env::split_paths(&path).any(has_litmus) {
        // Not by a macro: its output is kept from the log of a test that passes.
        let reason = "litmus was left out: it is not on the PATH (Debian has it as `litmus`)";
        writeln!(stderr(), "{reason}").expect("stderr can be written");
        return;
    }
    let served = Served::start(&[]);
    let log = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{}/dav/", served.server.port());
    let mut litmus = Command::new("litmus");
    litmus.args(["--keep-going", &url, "ana", served.client.token.as_deref().unwrap()]);
    let output = litmus.current_dir(log.path()).output().unwrap();
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let summaries: Vec<_> = report.lines().filter(|line| line.contains("summary for")).collect();
    assert_eq!(summaries.len(), 5, "{report}");
    for summary in summaries {
        assert!(summary.contains(" 0 failed. 100.0%"), "{report}");
    }
}
