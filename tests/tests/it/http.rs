//! The files of a served workspace over HTTP, for clients with and without rights.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, io::Write, net::TcpStream, thread};

use serde_json::{Value, json};
use yfs_tests::{
    command::ok,
    http::{Answer, Client},
    served::{Served, send_json as post},
};

#[test]
fn files_are_resources_with_versions() {
    let served = Served::start(&[("a.txt", "one\ntwo\nthree\n")]);
    let client = &served.client;
    let read = client.get("/api/files/a.txt");
    assert_eq!((read.status, read.text()), (200, "one\ntwo\nthree\n"));
    assert_eq!(read.header("content-type"), "text/plain; charset=utf-8");
    let tag = read.header("etag").to_owned();
    let cached = client.send("GET", "/api/files/a.txt", &[("If-None-Match", &tag)], b"");
    assert_eq!((cached.status, cached.body.len()), (304, 0));
    let part = client.send("GET", "/api/files/a.txt", &[("Range", "bytes=4-6")], b"");
    assert_eq!((part.status, part.text()), (206, "two"));
    assert_eq!(part.header("content-range"), "bytes 4-6/14");
    let beyond = client.send("GET", "/api/files/a.txt", &[("Range", "bytes=99-")], b"");
    assert_eq!((beyond.status, beyond.header("content-range")), (416, "bytes */14"));
    let head = client.send("HEAD", "/api/files/a.txt", &[], b"");
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, "14", 0));

    // Another client changes another line. A write with the old tag is refused, or merged on
    // request.
    ok(served.dir(), &["edit", "/a.txt", "--old", "one", "--new", "ONE"]);
    let known = [("If-Match", tag.as_str())];
    let mine = b"one\ntwo\nTHREE\n";
    let refused = client.send("PUT", "/api/files/a.txt", &known, mine);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (412, Some("ESTALE")));
    assert_eq!(refused.header("content-type"), "application/problem+json");
    let merged = client.send("PUT", "/api/files/a.txt?conflict=merge", &known, mine);
    assert_eq!((merged.status, &merged.json()["created"]), (200, &json!(false)));
    assert_eq!((merged.header("etag"), &merged.json()["merged"]), ("", &json!(true)));
    let now = client.get("/api/files/a.txt");
    assert_eq!(now.text(), "ONE\ntwo\nTHREE\n");
    // The tag of what was read is good for the next write, and that of the answer for the one
    // after.
    let mut tag = now.header("etag").to_owned();
    for text in ["almost\n", "done\n"] {
        let next = [("If-Match", tag.as_str())];
        let stored = client.send("PUT", "/api/files/a.txt", &next, text.as_bytes());
        assert_eq!((stored.status, &stored.json()["merged"]), (200, &json!(false)));
        tag = stored.header("etag").to_owned();
    }
    assert_eq!(ok(served.dir(), &["cat", "/a.txt"]), "done\n");
}

/// A client that thinks for long comes back when its version is no longer in the log.
#[test]
fn a_tag_that_compaction_has_passed_merges_over_http_and_by_command() {
    let served = Served::start(&[("a.txt", "one\ntwo\nthree\n")]);
    let client = &served.client;
    let tag = client.get("/api/files/a.txt").header("etag").to_owned();
    for n in 0..6 {
        ok(served.dir(), &["append", "/a.txt", "--content", &format!("ana {n}\n")]);
    }
    ok(served.dir(), &["admin", "compact"]);
    let known = [("If-Match", tag.as_str())];
    let mine = b"one\ntwo\nTHREE\n";
    let refused = client.send("PUT", "/api/files/a.txt", &known, mine);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (412, Some("ESTALE")));
    let merged = client.send("PUT", "/api/files/a.txt?conflict=merge", &known, mine);
    assert_eq!(merged.status, 200, "{merged:?}");
    let expected = |first: &str| {
        let lines: String = (0..6).map(|n| format!("ana {n}\n")).collect();
        format!("{first}\ntwo\nTHREE\n{lines}")
    };
    assert_eq!(client.get("/api/files/a.txt").text(), expected("one"));
    // The same version, by the command, after another compaction.
    ok(served.dir(), &["admin", "compact"]);
    let version = tag.trim_matches('"').split(':').next().unwrap_or_default();
    let stale = "ONE\ntwo\nthree\n";
    ok(served.dir(), &["write", "/a.txt", "--base-version", version, "--content", stale]);
    assert_eq!(client.get("/api/files/a.txt").text(), expected("ONE"));
}

/// RFC 9110, section 9.3.4: a tag says that what was sent is what is stored. A client that saves
/// again with the tag that it was given never deletes what another wrote and it has not read.
#[test]
fn a_client_that_saves_again_with_its_tag_deletes_nothing_that_it_has_not_read() {
    let text = "one\ntwo\nthree\n";
    let saves: [(&str, &str, &[u8]); 4] = [
        ("PUT", "?conflict=merge", b"one\ntwo\nTHREE\n"),
        ("PATCH", "", br#"{"old": "three", "new": "THREE"}"#),
        ("POST", "", b"four\n"),
        // It sends what it has read, and Ana's line is not in it.
        ("PUT", "?conflict=merge", text.as_bytes()),
    ];
    for (method, query, body) in saves {
        let served = Served::start(&[("a.txt", text)]);
        let client = &served.client;
        let read = client.get("/api/files/a.txt").header("etag").to_owned();
        ok(served.dir(), &["edit", "/a.txt", "--old", "one", "--new", "one\nAna: important"]);
        let path = format!("/api/files/a.txt{query}");
        let json = ("Content-Type", "application/json");
        // PATCH and POST work on what is there, without saying what they have read.
        let known = [("If-Match", read.as_str()), json];
        let headers = if method == "PUT" { &known[..] } else { &known[1..] };
        let saved = client.send(method, &path, headers, body);
        assert_eq!(saved.status, 200, "{method}: {saved:?}");
        assert_eq!((saved.header("etag"), &saved.json()["version"]), ("", &Value::Null));
        assert_eq!(saved.json()["merged"], true, "{method}");
        // It saves again, with what it has: the tag of what it read.
        for conflict in ["refuse", "merge"] {
            let path = format!("/api/files/a.txt?conflict={conflict}");
            let again = client.send("PUT", &path, &known, b"one\ntwo\nagain\n");
            let expected = if conflict == "refuse" { 412 } else { 200 };
            assert_eq!(again.status, expected, "{method}, {conflict}: {again:?}");
            let now = client.get("/api/files/a.txt");
            assert!(now.text().contains("Ana: important"), "{method}, {conflict}: {}", now.text());
        }
    }
}

#[test]
fn files_are_made_moved_copied_and_removed() {
    let served = Served::start(&[("a.txt", "text")]);
    let client = &served.client;
    let new = [("If-None-Match", "*")];
    let made = client.send("PUT", "/api/files/deep/er/b.txt", &new, b"b");
    assert_eq!((made.status, &made.json()["size"]), (201, &json!(1)));
    assert_eq!(client.send("PUT", "/api/files/deep/er/b.txt", &new, b"c").status, 409);
    assert_eq!(client.send("PUT", "/api/files/none", &[("If-Match", "*")], b"c").status, 404);
    assert_eq!(client.send("POST", "/api/files/deep/er/b.txt", &[], b"+").status, 200);
    let edit = json!({ "old": "b+", "new": "edited" });
    let edited = post(client, "PATCH", "/api/files/deep/er/b.txt", &edit);
    assert_eq!((edited.status, &edited.json()["replaced"]), (200, &json!(1)));
    assert_eq!(post(client, "PATCH", "/api/files/deep/er/b.txt", &edit).status, 400);
    let moved = json!({ "from": "/deep/er/b.txt", "to": "/c/d.txt" });
    assert_eq!(post(client, "POST", "/api/move", &moved).status, 204);
    let copy = json!({ "from": "/c", "to": "/e", "recursive": true });
    assert_eq!(post(client, "POST", "/api/copy", &copy).status, 201);
    assert_eq!(post(client, "POST", "/api/mkdir", &json!({ "path": "/f" })).status, 201);
    assert_eq!(post(client, "POST", "/api/mkdir", &json!({ "path": "/f" })).status, 409);
    let link = json!({ "path": "/f/l", "target": "../c/d.txt" });
    assert_eq!(post(client, "POST", "/api/symlink", &link).status, 201);
    assert_eq!(client.get("/api/files/f/l").text(), "edited");
    assert_eq!(client.get("/api/stat/f/l").json()["kind"], "symlink");
    let listed = client.get("/api/files/?recursive=true").json();
    let paths: Vec<&str> = listed["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        ["/a.txt", "/c", "/c/d.txt", "/deep", "/deep/er", "/e", "/e/d.txt", "/f", "/f/l"]
    );

    // What is removed is in the trash, and comes back.
    assert_eq!(client.send("DELETE", "/api/files/c", &[], b"").status, 409);
    assert_eq!(client.send("DELETE", "/api/files/c?recursive=true", &[], b"").status, 204);
    assert_eq!(client.get("/api/files/c/d.txt").status, 404);
    let trash = client.get("/api/trash").json();
    let restore = json!({ "id": trash["entries"][0]["id"] });
    let restored = post(client, "POST", "/api/restore", &restore);
    assert_eq!((restored.status, restored.json()), (200, json!({ "path": "/c" })));
    assert_eq!(client.get("/api/files/c/d.txt").text(), "edited");
    let versions = client.get("/api/versions/c/d.txt").json();
    let first = versions["versions"][0]["number"].as_u64().unwrap();
    assert_eq!(client.get(&format!("/api/files/c/d.txt?version={first}")).status, 200);

    // Bytes that are no text come back as they were, whole and in part.
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_eq!(client.send("PUT", "/api/files/image.png", &[], &bytes).status, 201);
    let read = client.get("/api/files/image.png");
    assert!(read.body == bytes && read.header("content-type") == "image/png");
    let part = client.send("GET", "/api/files/image.png", &[("Range", "bytes=-5")], b"");
    assert_eq!(part.body, bytes[bytes.len() - 5..]);
    let blob = client.send("POST", "/api/blobs", &[], &bytes).json();
    let path = format!("/api/blobs/{}", blob["hash"].as_str().unwrap());
    assert_eq!(client.get(&path).body, bytes);
    assert_eq!(client.send("PUT", &path, &[], b"other").status, 400);
    assert_eq!(client.get("/api/blobs/nonsense").status, 400);
}

#[test]
fn a_token_opens_what_it_is_for_and_nothing_else() {
    let served = Served::start(&[("docs/in.txt", "in"), ("out.txt", "out")]);
    let anonymous = Client { token: None, ..served.client.clone() };
    for path in
        ["/api/files/out.txt", "/api/tree", "/events", "/metrics", "/api/trash", "/api/peers"]
    {
        let answer = anonymous.get(path);
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, "Bearer"), "{path}");
    }
    assert_eq!(anonymous.get("/healthz").text(), "ok");
    let stranger = Client { token: Some("yfs_e30.AAAA".to_owned()), ..anonymous.clone() };
    assert_eq!(stranger.get("/api/files/out.txt").status, 401);
    let in_query = format!("/api/files/out.txt?token={}", served.client.token.as_deref().unwrap());
    assert_eq!(anonymous.get(&in_query).text(), "out");

    let reader = served.with_token(&["--read"]);
    assert_eq!(reader.get("/api/files/out.txt").text(), "out");
    for (method, path) in
        [("PUT", "out.txt"), ("POST", "out.txt"), ("DELETE", "out.txt"), ("PUT", "new")]
    {
        let answer = reader.send(method, &format!("/api/files/{path}"), &[], b"x");
        assert_eq!(answer.status, 403, "{method} {path}");
    }
    assert_eq!(reader.send("POST", "/api/blobs", &[], b"x").status, 403);

    let docs = served.with_token(&["--path", "/docs"]);
    assert_eq!(docs.get("/api/files/docs/in.txt").text(), "in");
    assert_eq!(docs.send("PUT", "/api/files/docs/new.txt", &[], b"x").status, 201);
    for path in [
        "/api/files/out.txt",
        "/api/files/docs/../out.txt",
        "/api/files/docs/%2e%2e/out.txt",
        "/api/files/docs%2f..%2fout.txt",
        "/api/files//out.txt",
        "/api/files/",
        "/api/stat/out.txt",
        "/api/versions/out.txt",
        "/api/peers",
        "/metrics",
    ] {
        assert_eq!(docs.get(path).status, 403, "{path}");
    }
    let tree = docs.get("/api/tree").json();
    let paths = tree["entries"].as_array().unwrap().iter().map(|entry| entry["path"].clone());
    assert_eq!(paths.collect::<Vec<Value>>(), ["/docs/in.txt", "/docs/new.txt"]);
    let escape = json!({ "from": "/docs/in.txt", "to": "/stolen.txt" });
    for path in ["/api/move", "/api/copy"] {
        assert_eq!(post(&docs, "POST", path, &escape).status, 403);
    }

    // A token that was taken back is worth nothing.
    let shown = ok(served.dir(), &["token", "show", docs.token.as_deref().unwrap(), "--json"]);
    let id: Value = serde_json::from_str(&shown).unwrap();
    ok(served.dir(), &["token", "revoke", id["id"].as_str().unwrap()]);
    assert_eq!(docs.get("/api/files/docs/in.txt").status, 401);
    assert_eq!(served.client.get("/api/files/out.txt").status, 200);
    // Nothing that was refused has happened.
    assert_eq!(
        ok(served.dir(), &["find", "/"]),
        "/\n/docs\n/docs/in.txt\n/docs/new.txt\n/out.txt\n"
    );
}

#[test]
fn changes_are_told_as_they_happen() {
    let served = Served::start(&[("a.txt", "text"), ("docs/b.txt", "text")]);
    let agent = served.with_token(&["--for", "agent:scribe"]);
    let docs = served.with_token(&["--read", "--path", "/docs"]);
    let mut all = events(&served.client, &[]);
    let mut below = events(&docs, &[]);
    assert_eq!(agent.send("PUT", "/api/files/a.txt", &[], b"changed").status, 200);
    let event = all.next().unwrap();
    let expected = ("changed", "/a.txt", Some("agent:scribe"));
    let words = |data: &Value| {
        let word = |key: &str| data[key].as_str().map(str::to_owned);
        (word("type").unwrap(), word("path").unwrap(), word("actor"))
    };
    let (kind, path, actor) = words(&event.data);
    assert_eq!((kind.as_str(), path.as_str(), actor.as_deref()), expected);
    // A change by another process arrives as well; a change outside the directory does not.
    ok(served.dir(), &["mv", "/a.txt", "/docs/c.txt"]);
    let moved = all.find(|event| event.data["type"] == "moved").unwrap();
    assert_eq!(
        (&moved.data["path"], &moved.data["from"]),
        (&json!("/docs/c.txt"), &json!("/a.txt"))
    );
    let seen = below.next().unwrap();
    assert_eq!(
        (&seen.data["type"], &seen.data["path"]),
        (&json!("created"), &json!("/docs/c.txt"))
    );
    // A client that was away goes on where it was; one from another time begins anew.
    let id = moved.id.unwrap();
    agent.send("PUT", "/api/files/docs/new.txt", &[], b"new");
    let mut again = events(&served.client, &[("Last-Event-ID", &id)]);
    assert!(again.any(|event| event.data["path"] == "/docs/new.txt"));
    let mut lost = events(&served.client, &[("Last-Event-ID", "0-17")]);
    assert_eq!(lost.next().unwrap().name, "reset");
}

/// The paths of all routes, as the source has them.
fn routes() -> Vec<String> {
    let mut paths = Vec::new();
    let dir = yfs_tests::root().join("crates/doors/yfs-server/src");
    for file in ["routes.rs", "files.rs", "threads.rs", "artifacts.rs", "transfers.rs"] {
        let source = fs::read_to_string(dir.join(file)).unwrap();
        let routes = source.split(".route(\"").skip(1);
        paths.extend(routes.map(|rest| rest.split('"').next().unwrap().to_owned()));
    }
    assert!(paths.len() > 20, "{paths:?}");
    paths
}

/// A path for a route, with what its parameters may be.
fn filled(route: &str) -> String {
    route
        .replace("{*path}", "a.txt")
        .replace("{hash}", "x")
        .replace("{guid}", "x")
        .replace("{id}", "x")
}

#[test]
fn every_route_that_is_served_is_described() {
    let served = Served::start(&[("a.txt", "text")]);
    let described = served.client.get("/openapi.json").json();
    for route in routes() {
        // A route says which methods it knows when it is asked for another.
        let answer = served.client.send("BREW", &filled(&route), &[], b"");
        assert_eq!(answer.status, 405, "{route}");
        let name = match route.as_str() {
            "/api/files" | "/api/files/" => "/api/files/{path}".to_owned(),
            "/api/stat/" => "/api/stat/{path}".to_owned(),
            "/api/threads/{id}/files/" => "/api/threads/{id}/files".to_owned(),
            route => route.replace("{*path}", "{path}"),
        };
        let methods = answer.header("allow").split(',').map(str::trim);
        for method in methods.filter(|method| *method != "HEAD") {
            let operation = &described["paths"][&name][method.to_lowercase()];
            assert!(operation.is_object(), "{method} {route} is not described");
        }
    }
}

#[test]
fn lines_are_found_below_what_a_token_covers() {
    let files =
        [("docs/a.txt", "one\nA Needle\n"), ("docs/b.md", "needle\n"), ("out.txt", "needle\n")];
    let served = Served::start(&files);
    let found = |client: &Client, query: &str| {
        let answer = client.get(&format!("/api/search?{query}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let files = answer.json()["files"].as_array().unwrap().clone();
        let lines = files.iter().flat_map(|file| {
            let lines = file["lines"].as_array().unwrap().clone();
            lines
                .into_iter()
                .map(|line| format!("{}:{}", file["path"].as_str().unwrap(), line["line"]))
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(found(&served.client, "pattern=needle"), ["/docs/b.md:1", "/out.txt:1"]);
    let all = ["/docs/a.txt:2", "/docs/b.md:1", "/out.txt:1"];
    assert_eq!(found(&served.client, "pattern=needle&ignore_case=true"), all);
    assert_eq!(found(&served.client, "pattern=%5EA%20N&regex=true"), ["/docs/a.txt:2"]);
    assert_eq!(found(&served.client, "pattern=needle&path=/docs"), ["/docs/b.md:1"]);
    assert_eq!(found(&served.client, "pattern=needle&limit=1").len(), 1);
    let docs = served.with_token(&["--path", "/docs", "--read"]);
    assert_eq!(found(&docs, "pattern=needle"), ["/docs/b.md:1"]);
    for (query, status) in [
        ("pattern=needle&path=/out.txt", 403),
        ("pattern=needle&path=/docs/../out.txt", 403),
        ("pattern=", 400),
        ("pattern=(&regex=true", 400),
        ("", 400),
    ] {
        assert_eq!(docs.get(&format!("/api/search?{query}")).status, status, "{query}");
    }
    let anonymous = Client { token: None, ..served.client.clone() };
    assert_eq!(anonymous.get("/api/search?pattern=needle").status, 401);
    // Files that are not text are named, those that the token covers.
    for path in ["docs/a.bin", "out.bin"] {
        let put = served.client.send("PUT", &format!("/api/files/{path}"), &[], b"needle\0");
        assert_eq!(put.status, 201, "{path}");
    }
    for (client, named) in
        [(&served.client, json!(["/docs/a.bin", "/out.bin"])), (&docs, json!(["/docs/a.bin"]))]
    {
        let totals = client.get("/api/search?pattern=needle").json()["totals"].clone();
        let n_named = named.as_array().unwrap().len();
        assert_eq!((&totals["binary"], &totals["binary_paths"]), (&json!(n_named), &named));
    }
}

#[test]
fn a_listing_is_sent_again_only_if_it_changed() {
    let served = Served::start(&[("a.txt", "one")]);
    let listing = served.client.get("/api/tree");
    let etag = listing.header("etag").to_owned();
    let known = [("If-None-Match", etag.as_str())];
    let again = served.client.send("GET", "/api/tree", &known, b"");
    assert_eq!((again.status, again.text()), (304, ""));
    assert_eq!(served.client.send("PUT", "/api/files/b.txt", &[], b"two").status, 201);
    let changed = served.client.send("GET", "/api/tree", &known, b"");
    assert_eq!((changed.status, changed.header("etag") == etag), (200, false));
}

#[test]
fn the_log_lists_changes_that_the_token_covers() {
    let served = Served::start(&[("docs/a.txt", "one"), ("out.txt", "one")]);
    let listed = |client: &Client, query: &str| {
        let answer = client.get(&format!("/api/log{query}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let entries = answer.json()["entries"].as_array().unwrap().clone();
        let lines = entries.iter().map(|entry| {
            format!("{} {}", entry["change"].as_str().unwrap(), entry["path"].as_str().unwrap())
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(served.client.send("PUT", "/api/files/docs/a.txt", &[], b"two").status, 200);
    assert_eq!(served.client.send("DELETE", "/api/files/out.txt", &[], b"").status, 204);
    let latest = ["deleted /out.txt", "edited /docs/a.txt"];
    assert_eq!(listed(&served.client, "?limit=2"), latest);
    assert_eq!(listed(&served.client, "").len(), 5);
    let of_docs = ["edited /docs/a.txt", "created /docs/a.txt", "created /docs"];
    assert_eq!(listed(&served.client, "?path=/docs"), of_docs);
    let docs = served.with_token(&["--path", "/docs", "--read"]);
    assert_eq!(listed(&docs, ""), of_docs);
    for query in ["?path=/out.txt", "?path=/", "?path=/docs/../out.txt"] {
        assert_eq!(docs.get(&format!("/api/log{query}")).status, 403, "{query}");
    }
    assert_eq!(docs.get("/api/log?limit=x").status, 400);
    let anonymous = Client { token: None, ..served.client.clone() };
    assert_eq!(anonymous.get("/api/log").status, 401);

    // The name that a file had elsewhere is sent only to those who may see that place.
    assert_eq!(served.client.send("PUT", "/api/files/secret.txt", &[], b"x").status, 201);
    let moved = json!({ "from": "/secret.txt", "to": "/docs/b.txt" }).to_string();
    let is_json = [("Content-Type", "application/json")];
    let answer = served.client.send("POST", "/api/move", &is_json, moved.as_bytes());
    assert!(answer.status < 300, "{}", answer.text());
    for (client, from) in [(&served.client, json!("/secret.txt")), (&docs, Value::Null)] {
        let latest = client.get("/api/log?limit=1").json()["entries"][0].clone();
        assert_eq!((&latest["change"], &latest["from"]), (&json!("moved"), &from));
    }
}

/// A page of this machine on another port may use whatever a socket of it may.
#[test]
fn every_route_answers_pages_of_allowed_origins() {
    let served = Served::start(&[("a.txt", "text")]);
    let anonymous = Client { token: None, ..served.client.clone() };
    let origin = ("Origin", "http://localhost:5173");
    let allowed = |answer: &Answer| answer.header("access-control-allow-origin") == origin.1;
    for route in routes().iter().map(String::as_str).chain(["/api", "/nothing"]) {
        let path = filled(route);
        // Browsers ask before they send what a form could not.
        for method in ["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD"] {
            let asked = [
                origin,
                ("Access-Control-Request-Method", method),
                ("Access-Control-Request-Headers", "authorization,last-event-id,x-request-id"),
                ("Access-Control-Request-Private-Network", "true"),
            ];
            let answer = anonymous.send("OPTIONS", &path, &asked, b"");
            assert!(answer.status < 300 && allowed(&answer), "{method} {route}: {answer:?}");
            assert_eq!(answer.header("access-control-allow-methods"), method, "{route}");
            let headers = answer.header("access-control-allow-headers");
            assert!(headers.contains("last-event-id") && headers.contains("x-request-id"));
            assert_eq!(answer.header("access-control-allow-private-network"), "true", "{route}");
            // What is refused is shown to the page as well.
            let answer = anonymous.send(method, &path, &[origin], b"{}");
            assert!(allowed(&answer), "{method} {route}: {answer:?}");
        }
        let elsewhere = [("Origin", "https://evil.example")];
        assert_eq!(anonymous.send("OPTIONS", &path, &elsewhere, b"").status, 403, "{route}");
    }
}

#[test]
fn everything_that_is_described_is_served() {
    let served = Served::start(&[("a.txt", "text")]);
    let described = served.client.get("/openapi.json").json();
    assert_eq!(described["openapi"], "3.1.0");
    let paths = described["paths"].as_object().unwrap();
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            if method == "parameters" {
                continue;
            }
            assert!(operation["responses"].is_object(), "{method} {path}");
            // Whatever is described is there: it knows the method, whatever else it says.
            let asked = path.replace("/assets/{path}", "/assets/icon.svg");
            let asked = filled(&asked.replace("{path}", "{*path}"));
            let anonymous = Client { token: None, ..served.client.clone() };
            let status = anonymous.send(&method.to_uppercase(), &asked, &[], b"").status;
            assert!(![404, 405].contains(&status), "{method} {path}: {status}");
        }
    }
    let metrics = served.client.get("/metrics");
    assert!(metrics.text().contains("yfs_requests_total{status=\"200\"}"), "{}", metrics.text());
    for line in served.client.get("/").text().lines().filter_map(|line| line.get(11..)) {
        let path = line.split_whitespace().next().unwrap_or_default();
        assert!(path.is_empty() || paths.contains_key(path), "{path} is not described");
    }
    assert_eq!(served.server.interrupt(), Some(0));
}

/// An event.
struct Event {
    name: String,
    id: Option<String>,
    data: Value,
}

fn events(client: &Client, headers: &[(&str, &str)]) -> impl Iterator<Item = Event> + use<> {
    client.follow("/events", headers).filter_map(|chunk| {
        let field = |name: &str| {
            let line = chunk.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim_start_matches(':').trim().to_owned())
        };
        let data = serde_json::from_str(&field("data")?).unwrap();
        Some(Event { name: field("event")?, id: field("id"), data })
    })
}

#[test]
fn a_misspelled_parameter_is_a_problem_and_not_a_default() {
    let served = Served::start(&[("a.txt", "text")]);
    let wrong_query = served.client.send("DELETE", "/api/files/a.txt?recursiv=true", &[], b"");
    let json = [("content-type", "application/json")];
    let wrong_body = br#"{"old": "text", "new": "other", "every": true}"#;
    let wrong_body = served.client.send("PATCH", "/api/files/a.txt", &json, wrong_body);
    for (answer, status, name) in [(wrong_query, 400, "recursiv"), (wrong_body, 422, "every")] {
        assert_eq!(answer.status, status);
        let problem = answer.json();
        assert!(problem["detail"].as_str().unwrap().contains(name), "{problem}");
    }
    assert_eq!(served.client.get("/api/files/a.txt").status, 200);
    assert_eq!(served.server.interrupt(), Some(0));
}

/// The server answered before it had read the body, and closed the connection: the client, which
/// was still sending, saw a reset and no answer.
#[test]
fn a_body_that_is_too_long_is_answered_and_not_cut() {
    let served = Served::start(&[("a.txt", "one\n")]);
    let client = &served.client;
    let body = format!(r#"{{"path":"{}"}}"#, "/a".repeat(6 << 20));
    let headers = [("Content-Type", "application/json")];
    for route in ["/api/mkdir", "/api/move", "/api/glob"] {
        let answer = client.send("POST", route, &headers, body.as_bytes());
        assert!((400..500).contains(&answer.status), "{route}: {}", answer.text());
    }
    let answer = client.send("POST", "/api/mkdir", &headers, body.as_bytes());
    assert_eq!(answer.status, 413, "{}", answer.text());
}

/// Each was held whole until it was written.
#[test]
fn long_bodies_are_written_and_appended_without_being_held() {
    const LEN: usize = 48 << 20;
    let served = Served::start(&[("a.txt", "one\n")]);
    let client = &served.client;
    let mut content = vec![0; LEN];
    content[LEN - 7..].copy_from_slice(b"the end");
    let put = |name: &str| client.send("PUT", &format!("/api/files/{name}"), &[], &content);
    let made = thread::scope(|scope| {
        let names = ["0.bin", "1.bin", "2.bin", "3.bin", "6.bin", "7.bin"];
        let puts: Vec<_> = names.map(|name| scope.spawn(move || put(name))).into();
        puts.into_iter().map(|put| put.join().unwrap()).collect::<Vec<_>>()
    });
    for made in &made {
        let size = made.json()["size"].as_u64();
        assert_eq!((made.status, size), (201, Some(LEN as u64)), "{}", made.text());
    }

    // A version that another client replaced is refused, and nothing changes.
    let tag = made[0].header("etag").to_owned();
    let appended = client.send("POST", "/api/files/0.bin", &[], &content);
    assert_eq!((appended.status, &appended.json()["size"]), (200, &json!(2 * LEN)));
    let known = [("If-Match", tag.as_str())];
    let refused = client.send("PUT", "/api/files/0.bin", &known, &content);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (412, Some("ESTALE")));
    let memory = served.server.peak_memory();
    assert!(memory < 280 << 20, "the server took {} MB", memory >> 20);
    let stored = client.send("GET", "/api/files/0.bin", &[("Range", "bytes=-7")], b"");
    let range = format!("bytes {}-{}/{}", 2 * LEN - 7, 2 * LEN - 1, 2 * LEN);
    assert_eq!((stored.header("content-range"), stored.text()), (range.as_str(), "the end"));
    let known = [("If-Match", made[1].header("etag"))];
    let replaced = client.send("PUT", "/api/files/1.bin", &known, &content[1..]);
    assert_eq!((replaced.status, &replaced.json()["size"]), (200, &json!(LEN - 1)));

    // A client may write no more with a long body than with a short one.
    let elsewhere = served.with_token(&["--path", "/docs"]);
    let outside = elsewhere.send("PUT", "/api/files/4.bin", &[], &content);
    assert_eq!(outside.status, 403, "{}", outside.text());

    // Of a body that ends early, nothing is kept.
    for name in ["2.bin", "5.bin"] {
        let mut stream = TcpStream::connect(("127.0.0.1", client.port)).unwrap();
        let token = client.token.as_deref().unwrap();
        let head = format!(
            "PUT /api/files/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {LEN}\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&vec![b'x'; LEN / 2]).unwrap();
    }
    let dir = served.dir().to_owned();
    assert_eq!(served.server.interrupt(), Some(0));
    let listed = ok(&dir, &["ls", "-l"]);
    assert!(listed.contains("2.bin") && !listed.contains("4.bin") && !listed.contains("5.bin"));
    let kept = ok(&dir, &["cat", "2.bin"]);
    assert_eq!((kept.len(), kept.contains('x')), (LEN, false));
}
