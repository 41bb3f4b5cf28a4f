//! Peers that accept a connection and then send nothing: the session ends with an error.
//! Time is tokio's paused clock, so 70 s pass at once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{FutureExt, Sink, SinkExt, Stream, StreamExt, channel::mpsc, sink, stream};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_replica::{HubMarks, ReplicaError, ReplicaSession, carry, client::RemoteServer};
use yfs_store::MemoryStore;
use yfs_sync::replica::{PING, ReplicaMessage};
use yfs_vfs::{FileSystem, FileSystemExt};

fn workspace() -> Workspace {
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    Workspace::create(Arc::new(MemoryStore::new()), options).unwrap()
}

/// Returns a ping every 10 s, for two hours: a session that waits for ever sees the end of them.
fn pings() -> impl Stream<Item = Result<Bytes, ReplicaError>> {
    stream::iter(0..720).then(|_| async {
        sleep(Duration::from_secs(10)).await;
        Ok(Bytes::from_static(&PING))
    })
}

/// Runs a guest until both sides have everything. Returns its error, and after how many seconds it
/// ended.
async fn run_guest(
    workspace: Workspace,
    frames: impl Stream<Item = Result<Bytes, ReplicaError>>,
) -> (String, u64) {
    let begun = Instant::now();
    let mut guest = ReplicaSession::guest(workspace, &HubMarks::default());
    let nowhere = sink::drain().sink_map_err(|_| ReplicaError::gone("it cannot fail"));
    let done = carry(&mut guest, nowhere, frames, |session| Ok(session.is_done())).await;
    (done.unwrap_err().to_string(), begun.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_only_pings_and_never_welcomes_is_given_up() {
    let ended = run_guest(workspace(), pings()).await;
    assert_eq!(ended, ("the other side did not answer within 20 s".to_owned(), 20));
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_sends_nothing_at_all_is_given_up() {
    let ended = run_guest(workspace(), stream::pending()).await;
    assert_eq!(ended, ("the other side did not answer within 20 s".to_owned(), 20));
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_welcomes_and_then_only_pings_is_given_up() {
    let workspace = workspace();
    let id = workspace.id().clone();
    let welcome = ReplicaMessage::Welcome {
        workspace: id,
        resumed: false,
        writable: true,
        summarizes: false,
    };
    let welcome = Bytes::from(welcome.encode());
    let (error, after) = run_guest(workspace, stream::iter([Ok(welcome)]).chain(pings())).await;
    assert_eq!(error, "the other side did not answer within 70 s");
    assert!((70..75).contains(&after), "it ended after {after} s");
}

/// Returns the two ends of one direction of a connection.
fn direction()
-> (impl Sink<Bytes, Error = ReplicaError>, impl Stream<Item = Result<Bytes, ReplicaError>>) {
    let (sender, receiver) = mpsc::unbounded();
    (sender.sink_map_err(|_| ReplicaError::gone("it has gone")), receiver.map(Ok))
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_stays_and_carries_what_comes_later() {
    let here = workspace();
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let there =
        Workspace::create_replica(Arc::new(MemoryStore::new()), here.id(), options).unwrap();
    let ((to_hub, from_guest), (to_guest, from_hub)) = (direction(), direction());
    let mut hub = ReplicaSession::hub(here.clone(), true);
    let mut guest = ReplicaSession::guest(there.clone(), &HubMarks::default());
    let work = async {
        sleep(Duration::from_secs(600)).await;
        let path = VPath::parse("/late.txt").unwrap();
        let write = there.fs().create_new(&path, "late".into()).now_or_never().unwrap();
        write.unwrap();
        sleep(Duration::from_secs(600)).await;
        here.fs().read(&path).now_or_never().unwrap().unwrap().data
    };
    tokio::select! {
        ended = carry(&mut hub, to_guest, from_guest, |_| Ok(false)) => panic!("{ended:?}"),
        ended = carry(&mut guest, to_hub, from_hub, |_| Ok(false)) => panic!("{ended:?}"),
        read = work => assert_eq!(read, "late"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_accepts_and_says_nothing_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = RemoteServer::parse(&format!("http://{address}"), None).unwrap();
    let expected = format!("the server at ws://{address} did not answer within 20 s");
    assert_eq!(server.workspace_id().await.unwrap_err().to_string(), expected);
    assert_eq!(server.sync(&workspace(), |_| ()).await.unwrap_err().to_string(), expected);
}
