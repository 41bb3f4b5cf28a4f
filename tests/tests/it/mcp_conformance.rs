//! The conformance suite of the Model Context Protocol (npm `@modelcontextprotocol/conformance`)
//! against the HTTP service of `yfs-mcp`. The server of this test adds the tools, resources and
//! prompts that the scenarios ask for; no program that is released has them.

mod fixture_server;

use std::{net::SocketAddr, sync::Arc};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use yfs_agent::AgentSession;
use yfs_mcp::{FixedSession, McpHttpService, McpProfile, RequestOpener};
use yfs_tests::{command, node};
use yfs_vfs::MemoryFs;

use self::fixture_server::FixtureServer;

/// Scenarios that need the checks of `yfs serve`, which the server of this test has not.
const OF_THE_PROGRAM: [&str; 1] = ["dns-rebinding-protection"];

/// Scenarios without fixtures, which the program itself passes.
const WITHOUT_FIXTURES: [&str; 8] = [
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
];

/// The number of scenarios of the pinned version of the suite.
const N_SCENARIOS: usize = 32;

/// Serves the files of one session, with the fixtures, until the runtime ends.
async fn serve_fixtures() -> SocketAddr {
    let actor = "agent:tester".parse().expect("an actor");
    let agent = AgentSession::builder(Arc::new(MemoryFs::new()), actor).build();
    let opener = RequestOpener(Arc::new(FixedSession::new(agent, McpProfile::Full)));
    let service = McpHttpService::of_servers(FixtureServer::new);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (service, opener) = (service.clone(), opener.clone());
            let handle = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
                let service = service.clone();
                request.extensions_mut().insert(opener.clone());
                async move { Ok::<_, std::convert::Infallible>(service.handle(request).await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), handle));
        }
    });
    address
}

/// Runs the suite with arguments, and returns its output.
fn run_suite(arguments: &[&str]) -> String {
    let mut child = node::spawn("conformance/run.mjs", arguments);
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("the suite ends");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the scenarios of the summary that have a mark, such as `✓`.
fn marked<'a>(output: &'a str, mark: &str) -> Vec<&'a str> {
    let summary = output.split("=== SUMMARY ===").nth(1).unwrap_or_default();
    let lines = summary.lines().filter_map(|line| line.strip_prefix(mark)?.split(':').next());
    lines.map(str::trim).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scenario_passes_with_the_fixtures() {
    let url = format!("http://{}/mcp", serve_fixtures().await);
    let run = move || run_suite(&["server", "--url", &url, "--suite", "all"]);
    let output = tokio::task::spawn_blocking(run).await.expect("the suite ran");
    assert_eq!(marked(&output, "✗"), OF_THE_PROGRAM, "{output}");
    assert_eq!(marked(&output, "✓").len(), N_SCENARIOS - OF_THE_PROGRAM.len(), "{output}");
}

#[test]
fn the_program_passes_the_scenarios_without_fixtures() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    command::ok(directory.path(), &["init"]);
    let server = command::Server::start(directory.path(), 0);
    let url = format!("http://127.0.0.1:{}/mcp", server.port());
    let output = run_suite(&["server", "--url", &url]);
    let passed = marked(&output, "✓");
    for name in WITHOUT_FIXTURES {
        assert!(passed.contains(&name), "{name}: {output}");
    }
}
