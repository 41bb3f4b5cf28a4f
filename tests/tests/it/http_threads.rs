//! Threads and their files over HTTP, for clients with and without rights.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use serde_json::{Value, json};
use yfs_tests::{
    command::ok,
    http::Client,
    served::{Served, send_json as send},
};

/// A picture of 3 by 2 pixels.
const BMP: [u8; 78] = picture();

const fn picture() -> [u8; 78] {
    let mut bytes = [0; 78];
    let head = [
        b'B', b'M', 78, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1,
        0, 24,
    ];
    let mut at = 0;
    while at < head.len() {
        bytes[at] = head[at];
        at += 1;
    }
    bytes
}

fn paths(listing: &Value) -> Vec<&str> {
    let entries = listing["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["path"].as_str().unwrap()).collect()
}

fn ids(client: &Client, path: &str) -> Vec<String> {
    let answer = client.get(path);
    assert_eq!(answer.status, 200, "{answer:?}");
    let threads = answer.json()["threads"].as_array().unwrap().clone();
    threads.iter().map(|thread| thread["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn threads_are_created_listed_forked_archived_and_restored() {
    let served = Served::start(&[]);
    let client = &served.client;
    assert_eq!(ids(client, "/api/threads"), [""; 0]);
    let new = json!({ "id": "tides 7" });
    let made = send(client, "POST", "/api/threads", &new);
    assert_eq!((made.status, &made.json()["path"]), (201, &json!("/threads/tides 7")));
    let again = send(client, "POST", "/api/threads", &new);
    assert_eq!((again.status, &again.json()["code"]), (409, &json!("EEXIST")));
    let accepted =
        send(client, "POST", "/api/threads", &json!({ "id": "tides 7", "if_missing": true }));
    assert_eq!(accepted.status, 200);
    for bad in ["", "..", "a/b", "a*"] {
        let refused = send(client, "POST", "/api/threads", &json!({ "id": bad }));
        assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("EINVAL")), "{bad}");
    }
    let note = "/api/threads/tides%207/files/notes/a.md";
    assert_eq!(client.send("PUT", note, &[], b"# Tides\n").status, 201);
    let stats = client.get("/api/threads/tides%207/stats").json();
    assert_eq!(stats, json!({ "id": "tides 7", "files": 1, "directories": 1, "bytes": 8 }));

    let fork = json!({ "to": "tides-8" });
    let forked = send(client, "POST", "/api/threads/tides%207/fork", &fork);
    assert_eq!((forked.status, &forked.json()["forked_from"]), (201, &json!("tides 7")));
    assert_eq!(client.send("PUT", note, &[], b"# Ebb\n").status, 200);
    assert_eq!(client.get("/api/threads/tides-8/files/notes/a.md").text(), "# Tides\n");
    let missing = send(client, "POST", "/api/threads/none/fork", &json!({ "to": "x" }));
    assert_eq!((missing.status, &missing.json()["code"]), (404, &json!("ENOENT")));

    let archived = client.send("POST", "/api/threads/tides-8/archive", &[], b"");
    assert!(archived.json()["archived"].is_i64(), "{archived:?}");
    assert_eq!(ids(client, "/api/threads"), ["tides 7"]);
    assert_eq!(ids(client, "/api/threads?archived=true"), ["tides 7", "tides-8"]);
    let read_only = client.send("PUT", "/api/threads/tides-8/files/x", &[], b"x");
    assert_eq!((read_only.status, &read_only.json()["code"]), (403, &json!("EROFS")));
    let writable = client.send("POST", "/api/threads/tides-8/unarchive", &[], b"");
    assert_eq!((writable.status, &writable.json()["archived"]), (200, &Value::Null));

    assert_eq!(client.send("DELETE", "/api/threads/tides-8", &[], b"").status, 204);
    assert_eq!(client.get("/api/threads/tides-8").status, 404);
    assert_eq!(client.get("/api/threads/tides-8/files/notes/a.md").status, 404);
    let restored = client.send("POST", "/api/threads/tides-8/restore", &[], b"");
    assert_eq!((restored.status, &restored.json()["files"]), (200, &json!(1)));
    // The command has the same threads, and the same description of one.
    let shown = ok(served.dir(), &["thread", "show", "tides-8", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let described = client.get("/api/threads/tides-8").json();
    assert_eq!(shown["directory"], described["directory"]);
    assert_eq!(
        shown.as_object().unwrap().keys().collect::<Vec<_>>(),
        described.as_object().unwrap().keys().collect::<Vec<_>>()
    );
    assert_eq!(served.server.interrupt(), Some(0));
}

#[test]
fn retention_deletes_threads_that_a_token_manages_and_a_dry_run_none() {
    let served = Served::start(&[]);
    let owner = &served.client;
    let template = "namespace=%7Bagent%7D/%7Bthread_id%7D";
    for id in ["ana/1", "ana/2", "ben/1"] {
        send(owner, "POST", &format!("/api/threads?{template}"), &json!({ "id": id }));
        let file = format!("/api/threads/{}/files/x?{template}", id.replace('/', "%2F"));
        assert_eq!(owner.send("PUT", &file, &[], &[b'x'; 100]).status, 201);
    }
    let archive = format!("/api/threads/ana%2F2/archive?{template}");
    assert_eq!(owner.send("POST", &archive, &[], b"").status, 200);
    let retention = |client: &Client, body: Value| {
        send(client, "POST", &format!("/api/thread-retention?{template}"), &body)
    };
    let left = || ids(owner, &format!("/api/threads?archived=true&{template}"));

    assert_eq!(retention(owner, json!({ "dry_run": true })).status, 400);
    assert_eq!(retention(owner, json!({ "max_size": 0, "keep": [] })).status, 422);
    let young = retention(owner, json!({ "older_than": 86_400, "archived": true }));
    assert_eq!((young.status, &young.json()["kept"]), (200, &json!(3)));
    let planned = retention(owner, json!({ "max_size": 100, "dry_run": true })).json();
    let [removed] = planned["removed"].as_array().unwrap().as_slice() else {
        panic!("one thread is over the size: {planned}")
    };
    assert_eq!((&removed["id"], &removed["reason"]), (&json!("ana/1"), &json!("size")));
    assert_eq!((&removed["bytes"], &removed["files"]), (&json!(100), &json!(1)));
    assert_eq!((&planned["kept"], &planned["kept_bytes"]), (&json!(1), &json!(100)));
    assert_eq!((&planned["dry_run"], left().len()), (&json!(true), 3));

    // A reader may only ask, and the token of one thread does not manage it.
    let all = json!({ "max_size": 0 });
    let dry = json!({ "max_size": 0, "dry_run": true });
    let reader = served.with_token(&["--read"]);
    assert_eq!(retention(&reader, dry.clone()).status, 200);
    let [thread, part, elsewhere] = ["/threads/ana+/1", "/threads/ana+/1/x", "/docs"]
        .map(|path| served.with_token(&["--path", path]));
    for client in [&reader, &thread, &part, &elsewhere] {
        assert_eq!(retention(client, all.clone()).status, 403);
    }
    for client in [&thread, &part, &elsewhere] {
        assert_eq!(retention(client, dry.clone()).status, 403);
    }
    assert_eq!(left().len(), 3);

    // Only the threads below the directory of the token count and go.
    let ana = served.with_token(&["--path", "/threads/ana+"]);
    let done = retention(&ana, json!({ "max_size": 0, "archived": true })).json();
    assert_eq!(done["removed"].as_array().unwrap().len(), 2, "{done}");
    assert_eq!((done["kept"].clone(), left()), (json!(0), vec!["ben/1".to_owned()]));
    let restored = format!("/api/threads/ana%2F2/restore?{template}");
    assert_eq!(owner.send("POST", &restored, &[], b"").json()["files"], 1);
    // The command prints the same report.
    let report = ["thread", "prune", "--namespace", "{agent}/{thread_id}", "--max-size", "0"];
    let printed = ok(served.dir(), &[&report[..], &["--dry-run", "--json"]].concat());
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let answered = retention(owner, dry).json();
    let keys = |report: &Value| {
        let removed = report["removed"][0].as_object().unwrap().keys().cloned();
        removed.chain(report.as_object().unwrap().keys().cloned()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&printed), keys(&answered));
    assert_eq!(served.server.interrupt(), Some(0));
}

#[test]
fn the_files_of_a_thread_have_types_metadata_and_searches() {
    let served = Served::start(&[]);
    let client = &served.client;
    send(client, "POST", "/api/threads", &json!({ "id": "t" }));
    let at = |rest: &str| format!("/api/threads/t/{rest}");
    let metadata = "metadata=%7B%22source%22%3A%22gauge%22%7D";
    let path = at(&format!("files/data/levels.json?{metadata}"));
    let written = client.send("PUT", &path, &[], b"{\"levels\": [3]}");
    let record = written.json();
    assert_eq!((written.status, &record["mime"]), (201, &json!("application/json")));
    assert_eq!(record["metadata"], json!({ "source": "gauge" }));
    let patch = json!({ "source": null, "checked": true });
    let patched = send(client, "PATCH", &at("files/data/levels.json"), &patch);
    assert_eq!(patched.json()["metadata"], json!({ "checked": true }));
    let reserved = send(client, "PATCH", &at("files/data/levels.json"), &json!({ "yfs.x": 1 }));
    assert_eq!(reserved.status, 400);

    let read = client.get(&at("files/data/levels.json"));
    assert_eq!((read.status, read.text()), (200, "{\"levels\": [3]}"));
    assert_eq!(read.header("content-type"), "application/json");
    let tag = read.header("etag").to_owned();
    let known = [("If-None-Match", tag.as_str())];
    assert_eq!(client.send("GET", &at("files/data/levels.json"), &known, b"").status, 304);
    let part = [("Range", "bytes=2-7")];
    let part = client.send("GET", &at("files/data/levels.json"), &part, b"");
    assert_eq!((part.status, part.text()), (206, "levels"));

    assert_eq!(send(client, "POST", &at("mkdir"), &json!({ "path": "/a/b" })).status, 201);
    assert_eq!(paths(&client.get(&at("files")).json()), ["/a", "/data"]);
    assert_eq!(paths(&client.get(&at("files/data")).json()), ["/data/levels.json"]);
    let moved = json!({ "from": "/data/levels.json", "to": "/a/b/levels.json" });
    assert_eq!(send(client, "POST", &at("move"), &moved).json()["path"], "/a/b/levels.json");
    let found = client.get(&at("find?glob=**/*.json")).json();
    assert_eq!(found, json!({ "paths": ["/a/b/levels.json"] }));
    let lines = client.get(&at("grep?pattern=LEVELS&ignore_case=true")).json();
    let line = json!({ "line": 1, "content": "{\"levels\": [3]}" });
    let files = json!([{ "path": "/a/b/levels.json", "matches": [line] }]);
    assert_eq!(lines, json!({ "files": files, "binary": 0, "binary_paths": [] }));
    assert_eq!(client.get(&at("grep?pattern=(&regex=true")).status, 400);
    let not_empty = client.send("DELETE", &at("files/a/b"), &[], b"");
    assert_eq!((not_empty.status, &not_empty.json()["code"]), (409, &json!("ENOTEMPTY")));
    for path in ["files/a/b/levels.json", "files/a/b"] {
        assert_eq!(client.send("DELETE", &at(path), &[], b"").status, 204, "{path}");
    }
    assert_eq!(client.get(&at("stat/a/b")).status, 404);

    // The server fetches nothing: a file that is elsewhere has no bytes here.
    let link = json!({ "path": "/raw.csv", "url": "https://example.com/raw.csv", "size": 70 });
    let linked = send(client, "POST", &at("link"), &link);
    assert_eq!((linked.status, &linked.json()["size"]), (201, &json!(70)));
    assert_eq!(client.get(&at("files/raw.csv")).status, 409);
    assert_eq!(client.get(&at("stat/raw.csv")).json()["storage"], link["url"]);
    let wrong = json!({ "path": "/x", "url": "file:///etc/passwd" });
    assert_eq!(send(client, "POST", &at("link"), &wrong).status, 400);
    assert_eq!(client.get(&at("find?glob=*&typo=1")).status, 400);
    assert_eq!(served.server.interrupt(), Some(0));
}

#[test]
fn images_have_small_pictures() {
    let served = Served::start(&[("note.txt", "no image")]);
    let client = &served.client;
    send(client, "POST", "/api/threads", &json!({ "id": "t" }));
    for path in ["/api/threads/t/files/pier.bmp", "/api/files/pier.bmp"] {
        assert_eq!(client.send("PUT", path, &[], &BMP).status, 201, "{path}");
        let small = client.get(&format!("{path}?thumbnail=200x100"));
        assert_eq!((small.status, small.header("content-type")), (200, "image/jpeg"), "{path}");
        assert_eq!(small.body[..2], [0xFF, 0xD8]);
        assert_eq!(small.header("content-security-policy"), "sandbox; default-src 'none'");
        let tag = small.header("etag").to_owned();
        let known = [("If-None-Match", tag.as_str())];
        let same = |size: &str| {
            client.send("GET", &format!("{path}?thumbnail={size}"), &known, b"").status
        };
        assert_eq!((same("200x100"), same("1x1")), (304, 200));
        for bad in ["0x5", "x", "axb", "-1"] {
            assert_eq!(client.get(&format!("{path}?thumbnail={bad}")).status, 400, "{bad}");
        }
    }
    let record = client.get("/api/threads/t/stat/pier.bmp").json();
    assert_eq!((&record["width"], &record["height"]), (&json!(3), &json!(2)));
    assert_eq!(client.get("/api/files/note.txt?thumbnail=9").status, 415);
    // A header that promises 60,000 by 60,000 pixels.
    let mut bomb = BMP;
    bomb[18..26].copy_from_slice(&[0x60, 0xEA, 0, 0, 0x60, 0xEA, 0, 0]);
    client.send("PUT", "/api/files/bomb.bmp", &[], &bomb);
    let refused = client.get("/api/files/bomb.bmp?thumbnail=9");
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(served.server.interrupt(), Some(0));
}

#[test]
fn a_token_reaches_the_threads_below_its_directory_and_no_other() {
    let served = Served::start(&[("secret/key.txt", "key")]);
    let owner = &served.client;
    for id in ["mine", "other"] {
        send(owner, "POST", "/api/threads", &json!({ "id": id }));
        let path = format!("/api/threads/{id}/files/{id}.txt");
        assert_eq!(owner.send("PUT", &path, &[], id.as_bytes()).status, 201);
    }
    let mine = served.with_token(&["--path", "/threads/mine"]);
    assert_eq!(ids(&mine, "/api/threads"), ["mine"]);
    assert_eq!(mine.get("/api/threads/mine/files/mine.txt").text(), "mine");
    assert_eq!(mine.send("PUT", "/api/threads/mine/files/new.txt", &[], b"x").status, 201);
    for (method, path, body) in [
        ("GET", "/api/threads/other", json!(null)),
        ("GET", "/api/threads/missing", json!(null)),
        ("GET", "/api/threads/other/stats", json!(null)),
        ("GET", "/api/threads/other/files", json!(null)),
        ("GET", "/api/threads/other/files/other.txt", json!(null)),
        ("GET", "/api/threads/other/stat/other.txt", json!(null)),
        ("GET", "/api/threads/other/grep?pattern=o", json!(null)),
        ("GET", "/api/threads/other/find?glob=*", json!(null)),
        ("GET", "/api/threads/secret/files/key.txt?root=/", json!(null)),
        ("PUT", "/api/threads/other/files/other.txt", json!(null)),
        ("PATCH", "/api/threads/other/files/other.txt", json!({ "a": 1 })),
        ("DELETE", "/api/threads/other/files/other.txt", json!(null)),
        ("POST", "/api/threads/other/mkdir", json!({ "path": "/x" })),
        ("POST", "/api/threads/other/move", json!({ "from": "/other.txt", "to": "/x" })),
        ("POST", "/api/threads/other/link", json!({ "path": "/x", "url": "https://a.example" })),
        ("POST", "/api/threads/other/fork", json!({ "to": "mine" })),
        // What changes the entry of a thread needs the directory of all threads.
        ("POST", "/api/threads", json!({ "id": "new" })),
        ("POST", "/api/threads", json!({ "id": "mine", "if_missing": true })),
        ("POST", "/api/threads/mine/fork", json!({ "to": "copy" })),
        ("POST", "/api/threads/mine/archive", json!(null)),
        ("POST", "/api/threads/mine/restore", json!(null)),
        ("DELETE", "/api/threads/mine", json!(null)),
    ] {
        let answer = send(&mine, method, path, &body);
        assert_eq!(answer.status, 403, "{method} {path}: {answer:?}");
    }
    // Neither paths nor links lead out of a thread.
    for path in ["../other/other.txt", "%2e%2e/other/other.txt", "..%2fother%2fother.txt"] {
        let answer = mine.get(&format!("/api/threads/mine/files/{path}"));
        assert!([403, 404].contains(&answer.status), "{path}: {answer:?}");
    }
    for target in ["/threads/other/other.txt", "../other/other.txt", "/secret/key.txt"] {
        let link = json!({ "path": "/threads/mine/link", "target": target });
        send(owner, "POST", "/api/symlink", &link);
        assert_eq!(mine.get("/api/threads/mine/files/link").status, 404, "{target}");
        owner.send("DELETE", "/api/files/threads/mine/link", &[], b"");
    }
    // A token for a part of a thread has no thread.
    let part = served.with_token(&["--path", "/threads/mine/notes"]);
    assert_eq!(ids(&part, "/api/threads"), [""; 0]);
    assert_eq!(part.get("/api/threads/mine").status, 403);

    let expected = "mine\nother\n";
    assert_eq!(ok(served.dir(), &["thread", "list", "--all"]), expected);
    let files = ok(served.dir(), &["find", "/threads", "-type", "f"]);
    assert_eq!(files, "/threads/mine/mine.txt\n/threads/mine/new.txt\n/threads/other/other.txt\n");
    assert_eq!(served.server.interrupt(), Some(0));
}

#[test]
fn a_token_for_reading_changes_no_thread() {
    let served = Served::start(&[]);
    for id in ["mine", "other"] {
        send(&served.client, "POST", "/api/threads", &json!({ "id": id }));
    }
    let file = "/api/threads/mine/files/mine.txt";
    assert_eq!(served.client.send("PUT", file, &[], b"mine").status, 201);
    let reader = served.with_token(&["--read", "--path", "/threads"]);
    assert_eq!(ids(&reader, "/api/threads"), ["mine", "other"]);
    for (method, path, body) in [
        ("POST", "/api/threads", json!({ "id": "new" })),
        ("DELETE", "/api/threads/mine", json!(null)),
        ("POST", "/api/threads/mine/archive", json!(null)),
        ("POST", "/api/threads/mine/fork", json!({ "to": "copy" })),
        ("PUT", "/api/threads/mine/files/mine.txt", json!(null)),
        ("PATCH", "/api/threads/mine/files/mine.txt", json!({ "a": 1 })),
        ("DELETE", "/api/threads/mine/files/mine.txt", json!(null)),
        ("POST", "/api/threads/mine/mkdir", json!({ "path": "/x" })),
        ("POST", "/api/threads/mine/move", json!({ "from": "/mine.txt", "to": "/x" })),
        ("POST", "/api/threads/mine/link", json!({ "path": "/x", "url": "https://a.example" })),
    ] {
        let answer = send(&reader, method, path, &body);
        assert_eq!(answer.status, 403, "{method} {path}: {answer:?}");
    }
    assert_eq!(reader.get(file).text(), "mine");
    assert_eq!(ok(served.dir(), &["thread", "list", "--all"]), "mine\nother\n");
    assert_eq!(served.server.interrupt(), Some(0));
}

/// A token for all threads must not move what was deleted to a place outside by a link.
#[test]
fn a_restored_thread_stays_below_the_directory_of_the_token() {
    let served = Served::start(&[("secret/key.txt", "key")]);
    let holder = served.with_token(&["--path", "/threads"]);
    let query = "namespace=%7Ba%7D/%7Bthread_id%7D";
    let made = send(&holder, "POST", &format!("/api/threads?{query}"), &json!({ "id": "ana/1" }));
    assert_eq!(made.status, 201, "{made:?}");
    let thread = format!("/api/threads/ana%2F1?{query}");
    assert_eq!(holder.send("DELETE", &thread, &[], b"").status, 204);
    assert_eq!(holder.send("DELETE", "/api/files/threads/ana+", &[], b"").status, 204);
    let link = json!({ "path": "/threads/ana+", "target": "/secret" });
    let linked = send(&served.client, "POST", "/api/symlink", &link);
    assert_eq!(linked.status, 201);
    let restored = holder.send("POST", &thread.replace('?', "/restore?"), &[], b"");
    assert_eq!(restored.status, 403, "{restored:?}");
    assert_eq!(ok(served.dir(), &["find", "/secret"]), "/secret\n/secret/key.txt\n");
    // What lies behind the link is no thread of the holder.
    send(&served.client, "POST", "/api/mkdir", &json!({ "path": "/secret/2" }));
    let other = holder.get(&format!("/api/threads/ana%2F2?{query}"));
    assert_eq!(other.status, 403, "{other:?}");
    assert_eq!(served.server.interrupt(), Some(0));
}
