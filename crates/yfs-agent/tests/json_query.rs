//! Queries of JSON: results, and hostile programs that must not harm the caller.

use std::{env, process::ExitCode, sync::Arc, time::Duration};

use expect_test::expect;
use serde_json::json;
use yfs_agent::{
    AgentSession, CallContext, ToolCatalog, ToolVocabulary,
    json_query::{JsonQueryLimits, JsonQueryRunner, serve_json_query},
};
use yfs_types::actor::{Actor, ActorKind};
use yfs_vfs::{FileSystemExt, MemoryFs};

/// The argument with which this program runs a query, and does not test.
const SERVE: &str = "serve-json-query";

fn main() -> ExitCode {
    if env::args().nth(1).as_deref() == Some(SERVE) {
        return ExitCode::from(serve_json_query());
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(check_results());
    runtime.block_on(check_hostile_queries());
    ExitCode::SUCCESS
}

async fn run(document: &str, query: &str, limits: JsonQueryLimits) -> String {
    let fs = MemoryFs::new();
    fs.write_text(&"/d.json".parse().expect("a path"), document).await.expect("written");
    let program = env::current_exe().expect("this program");
    let runner = JsonQueryRunner { limits, ..JsonQueryRunner::new(program, SERVE) };
    let actor = Actor::new(ActorKind::Agent, "bob");
    let session = AgentSession::builder(Arc::new(fs), actor).json_query(runner).build();
    let catalog = ToolCatalog::new(&[ToolVocabulary::Beyond]).expect("names differ");
    let arguments = json!({"path": "/d.json", "query": query});
    let called = catalog.call_tool(&session, "query", arguments, CallContext::default());
    called.await.expect("a tool").joined_text()
}

async fn check_results() {
    let document =
        r#"{"items": [{"name": "a", "size": 3}, {"name": "b", "size": 30}]} {"items": []}"#;
    let limits = JsonQueryLimits::default();
    let mut printed = String::new();
    for query in [
        ".items[] | select(.size > 10) | .name",
        ".items | length",
        "[.items[].size] | add",
        ".items[",
        ".items.x",
        "none",
        r#"include "x"; ."#,
        "env | length",
        "$ENV | length",
    ] {
        let text = run(document, query, limits).await;
        printed.push_str(&format!("> {query}\n{text}\n"));
    }
    expect![[r#"
        > .items[] | select(.size > 10) | .name
        "b"

        > .items | length
        2
        0

        > [.items[].size] | add
        33
        null

        > .items[
        Error: the query is malformed: expected closing bracket at the end of the query
        > .items.x
        Error: cannot index [{"name":"a","size":3},{"name":"b","size":30}] with "x"
        > none
        Error: the query is malformed: undefined filter none
        > include "x"; .
        Error: the query is malformed: x: module loading not supported
        > env | length
        0
        0

        > $ENV | length
        Error: the query is malformed: undefined variable $ENV
    "#]]
    .assert_eq(&printed);
    expect!["Error: the document is not JSON: byte offset 1: value expected"]
        .assert_eq(&run("{nonsense", ".", limits).await);
}

/// Programs without end, without bottom and without bound. Each is ended by a limit that the kernel
/// enforces.
async fn check_hostile_queries() {
    let limits = JsonQueryLimits {
        cpu_time: Duration::from_secs(1),
        max_memory: 256 << 20,
        max_output_len: 10_000,
    };
    for query in [
        "def f: f; f",
        "def f: 1 + f; f",
        "[range(1e12)]",
        "\"a\" * 1e12 | length",
        "reduce range(100) as $x (\"a\"; . + .) | length",
        "reduce range(100) as $x (1; [., .]) | tojson | length",
        "reduce range(1e7) as $x (1; [.])",
    ] {
        let text = run("1", query, limits).await;
        assert!(text.starts_with("Error: "), "{query}: {text}");
    }
    let text = run("1", "repeat(1)", limits).await;
    assert!(text.ends_with("[results truncated, make the query more specific]"), "{text}");
    assert!(text.len() < 11_000);
}
