//! Artifacts, statistics and contexts over HTTP, for clients with and without rights.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use serde_json::{Value, json};
use yfs_tests::{
    command::ok,
    served::{Served, send_json as send},
};

fn rows(n_rows: usize) -> Vec<u8> {
    let rows: Vec<Value> = (0..n_rows).map(|id| json!({ "id": id, "kind": "calm" })).collect();
    serde_json::to_vec(&rows).unwrap()
}

#[test]
fn results_become_artifacts_that_are_found_again() {
    let served = Served::start(&[]);
    let client = &served.client;
    let content = rows(1_000);
    let stored = client.send("POST", "/api/artifacts?thread=r-7&call=12", &[], &content);
    assert_eq!(stored.status, 201, "{stored:?}");
    let reference = stored.json();
    let metadata = &reference["FileReference"]["metadata"];
    assert_eq!(metadata["relative_path"], "r-7/tool_call_12.json");
    assert_eq!(metadata["stats"]["JsonArray"]["length"], 1_000);
    let small = client.send("POST", "/api/artifacts?threshold=50000", &[], b"{\"a\": 1}");
    assert_eq!((small.status, small.json()), (200, json!({ "Direct": { "result": { "a": 1 } } })));

    let path = "/api/artifacts/r-7/tool_call_12.json";
    let read = client.get(path);
    assert_eq!((read.status, &read.body), (200, &content));
    let checksum = metadata["checksum"].as_str().unwrap();
    assert_eq!(client.get(&format!("{path}?checksum={}", &checksum[..12])).body, content);
    let listed = client.get("/api/artifacts?pattern=*.json").json();
    assert_eq!(listed["artifacts"][0]["artifact"], "r-7/tool_call_12.json");
    assert_eq!(client.get("/api/artifacts?pattern=*.csv").json(), json!({ "artifacts": [] }));
    let shown = client.get("/api/artifact-references/r-7/tool_call_12.json").json();
    assert_eq!(shown["checksum"], checksum);

    // The reference finds what was stored, wherever the file is and whatever it became.
    let moved = json!({ "from": "/artifacts/r-7/tool_call_12.json", "to": "/kept.json" });
    assert_eq!(send(client, "POST", "/api/move", &moved).status, 204);
    client.send("PUT", "/api/files/kept.json", &[], b"[]");
    let resolved = send(client, "POST", "/api/artifact-references", &reference);
    assert_eq!((resolved.status, &resolved.body), (200, &content));
    let changed = client.get(&format!("{path}?checksum={}", "0".repeat(64)));
    assert_eq!((changed.status, &changed.json()["code"]), (500, &json!("EIO")));
    let missing = client.get("/api/artifacts/r-7/none.json");
    assert_eq!((missing.status, &missing.json()["code"]), (404, &json!("ENOENT")));
    let strange = client.send("POST", "/api/artifacts?namespace=%7Bwho%7D", &[], b"x");
    assert_eq!((strange.status, &strange.json()["code"]), (400, &json!("EINVAL")));
    assert_eq!(served.server.interrupt(), Some(0));
}

#[test]
fn old_artifacts_are_removed_on_request() {
    let served = Served::start(&[]);
    let client = &served.client;
    for call in 1..=3 {
        let path = format!("/api/artifacts?call={call}&thread=r-{call}");
        assert_eq!(client.send("POST", &path, &[], &rows(100)).status, 201);
    }
    let clean = |body: Value| send(client, "POST", "/api/artifact-cleanup", &body);
    assert_eq!(clean(json!({ "dry_run": true })).status, 400);
    let planned = clean(json!({ "max_files": 1, "keep": ["r-1"], "dry_run": true })).json();
    assert_eq!(planned["removed"].as_array().unwrap().len(), 2, "{planned}");
    assert_eq!(planned["removed"][0]["reason"], "files");
    assert_eq!(client.get("/api/artifacts").json()["artifacts"].as_array().unwrap().len(), 3);
    let reader = served.with_token(&["--read"]);
    let dry = json!({ "max_files": 1, "dry_run": true });
    assert_eq!(send(&reader, "POST", "/api/artifact-cleanup", &dry).status, 200);
    let real = json!({ "max_files": 1 });
    assert_eq!(send(&reader, "POST", "/api/artifact-cleanup", &real).status, 403);
    assert_eq!(clean(json!({ "max_files": 1, "keep": ["r-1"] })).status, 200);
    let left = client.get("/api/artifacts").json();
    assert_eq!(left["artifacts"][0]["artifact"], "r-1/tool_call_1.json", "{left}");
    assert_eq!(left["artifacts"].as_array().unwrap().len(), 1);
    // With the two directories that became empty.
    assert_eq!(ok(served.dir(), &["trash", "ls"]).lines().count(), 4);
    assert_eq!(served.server.interrupt(), Some(0));
}

#[test]
fn statistics_and_contexts_describe_what_a_token_covers() {
    let gauges = "gauge,level\npier,3\nlock,4\n";
    let served = Served::start(&[("docs/gauges.csv", gauges), ("secret/key.txt", "the key")]);
    let docs = served.with_token(&["--read", "--path", "/docs"]);
    for client in [&served.client, &docs] {
        for _ in 0..2 {
            let stats = client.get("/api/stats?path=/docs/gauges.csv&preview=100").json();
            assert_eq!((&stats["mime"], &stats["size"]), (&json!("text/csv"), &json!(26)));
            assert_eq!(stats["stats"]["Csv"]["rows"], 2);
            assert!(stats["preview"].as_str().unwrap().contains("pier"), "{stats}");
        }
    }
    served.client.send("PUT", "/api/files/docs/gauges.csv", &[], b"gauge,level\npier,3\n");
    let after = served.client.get("/api/stats?path=/docs/gauges.csv").json();
    assert_eq!((&after["stats"]["Csv"]["rows"], &after["preview"]), (&json!(1), &json!(null)));
    assert_eq!(docs.get("/api/stats?path=/secret/key.txt").status, 403);
    assert_eq!(docs.get("/api/stats?path=/docs").status, 409);
    assert_eq!(docs.get("/api/stats?path=/docs/none").status, 404);

    let context = |client, body: Value| send(client, "POST", "/api/context", &body);
    let all = context(&served.client, json!({})).json();
    assert_eq!((&all["files"], &all["listed"]), (&json!(2), &json!(2)), "{all}");
    let covered = context(&docs, json!({ "max_tokens": 500 })).json();
    assert_eq!(covered["files"], 1);
    let text = covered["text"].as_str().unwrap();
    assert!(text.contains("/docs/gauges.csv") && !text.contains("key"), "{text}");
    assert_eq!(context(&docs, json!({ "paths": ["/secret"] })).status, 403);
    assert_eq!(context(&docs, json!({ "tokens": 2_000_000 })).status, 400);
    assert_eq!(served.server.interrupt(), Some(0));
}

#[test]
fn a_token_stores_and_finds_artifacts_below_its_directory_only() {
    let served = Served::start(&[("team/a.txt", "a")]);
    let stored = served.client.send("POST", "/api/artifacts?call=1", &[], &rows(10));
    let reference = stored.json();
    let team = served.with_token(&["--path", "/team"]);
    assert_eq!(team.send("POST", "/api/artifacts", &[], b"x").status, 403);
    for path in [
        "/api/artifacts",
        "/api/artifacts/shared/tool_call_1.json",
        "/api/artifact-references/shared/tool_call_1.json",
        "/api/artifacts/artifacts/shared/tool_call_1.json?root=/",
    ] {
        assert_eq!(team.get(path).status, 403, "{path}");
    }
    assert_eq!(send(&team, "POST", "/api/artifact-references", &reference).status, 403);
    // A file of the team that moved is found, and one of another that moved is not.
    let own = team.send("POST", "/api/artifacts?root=/team/results&call=2", &[], &rows(20));
    assert_eq!(own.status, 201, "{own:?}");
    let moved = json!({ "from": "/team/results/shared/tool_call_2.json", "to": "/team/b.json" });
    assert_eq!(send(&team, "POST", "/api/move", &moved).status, 204);
    let resolve = |reference: &Value| {
        send(&team, "POST", "/api/artifact-references?root=/team/results", reference)
    };
    assert_eq!(resolve(&own.json()).body, rows(20));
    assert_eq!(resolve(&reference).status, 404);
    let reader = served.with_token(&["--read"]);
    assert_eq!(reader.send("POST", "/api/artifacts", &[], b"x").status, 403);
    assert_eq!(reader.get("/api/artifacts/shared/tool_call_1.json").body, rows(10));
    assert_eq!(served.server.interrupt(), Some(0));
}
