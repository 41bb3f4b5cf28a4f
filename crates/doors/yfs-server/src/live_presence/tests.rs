//! Where agents are shown: from what they wrote and read, whichever process they are in.

use std::{os::unix::net::UnixDatagram, sync::Arc, time::Duration};

use serde_json::Value;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{actor::Actor, id::FileId, path::VPath};
use yfs_store::MemoryStore;
use yfs_vfs::{ChangesOptions, FileSystem, FileSystemExt, TextReplacement};

use super::{AgentSigns, LiveReadings, readings_of, receive_forever};
use crate::{
    access::AccessControl,
    document_access::tests::app,
    rooms::{ConnectionOutbox, DocSubscription},
    server_state::ServerState,
};

/// A server with an open page.
struct Watched {
    store: MemoryStore,
    app: ServerState,
    _page: DocSubscription,
}

impl Watched {
    async fn start() -> Self {
        let (store, options) = (MemoryStore::new(), WorkspaceOptions::default());
        let workspace = Workspace::create(Arc::new(store.another_handle()), options).unwrap();
        for (name, text) in [("/log.txt", "Monday\nTuesday\n"), ("/plan.md", "# Plan\n")] {
            workspace.fs().write_text(&path(name), text).await.unwrap();
        }
        let app = app(&workspace, AccessControl::Open, 1);
        let port = workspace.documents().port(workspace.id().as_str()).unwrap();
        let page = app.rooms.join(port, &Arc::<ConnectionOutbox>::default(), &[]);
        Self { store, app, _page: page }
    }

    async fn id(&self, name: &str) -> FileId {
        self.app.workspace.fs().stat(&path(name)).await.unwrap().id
    }

    /// Makes changes, and shows those who made them.
    async fn changed(&self, change: impl AsyncFnOnce(&Workspace)) {
        let fs = self.app.workspace.fs();
        let at = fs.cursor().await.unwrap();
        change(&self.app.workspace).await;
        let options = ChangesOptions { limit: 100, wait: None };
        for change in fs.changes(&at, &options).await.unwrap().events {
            self.app.live.show_change(&self.app.workspace, &self.app.rooms, &change);
        }
    }

    fn states(&self, doc: &FileId) -> Vec<Value> {
        let states = self.app.rooms.states_at(doc);
        states.iter().map(|(_, state)| serde_json::from_str(state).unwrap()).collect()
    }

    /// Returns who is shown: the name, the file, and whether it writes.
    fn shown(&self) -> Vec<(String, String, bool)> {
        let states = self.states(self.app.workspace.id());
        let shown = states.iter().map(|state| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&state["user"]["name"]), text(&state["open"]), state["writes"] == true)
        });
        shown.collect()
    }
}

fn path(name: &str) -> VPath {
    VPath::parse(name).unwrap()
}

fn agent(name: &str) -> Actor {
    format!("agent:{name}").parse().unwrap()
}

async fn edit(workspace: &Workspace, by: &Actor, name: &str, old: &str, new: &str) {
    let edit = TextReplacement::once(old, new);
    workspace.fs_for(by.clone()).edit(&path(name), &edit).await.unwrap();
}

/// Returns the text of a file with a mark where an agent is shown.
async fn marked(server: &Watched, name: &str) -> Option<String> {
    let (workspace, id) = (&server.app.workspace, server.id(name).await);
    let states = server.states(&id);
    let head = states.first()?.get("cursor")?.get("head")?;
    let client = head["item"]["client"].as_u64()?;
    let clock = head["item"]["clock"].as_u64()?;
    let runs = workspace.documents().last_runs(&id, |_| true).unwrap();
    let place = runs.into_iter().filter_map(|run| run.place).find(|place| {
        place
            .neighbor()
            .is_some_and(|(item, _)| (item.client.get(), u64::from(item.clock)) == (client, clock))
    })?;
    let anchor = yfs::workspace::anchors::FileAnchor { file: id, anchor: place };
    let offset = workspace.history().resolve_anchor(&anchor).unwrap().offset;
    let read = workspace.fs().read(&path(name)).await.unwrap();
    let mut text = String::from_utf8(read.data.to_vec()).unwrap();
    text.insert(offset, '|');
    Some(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_shown_behind_what_it_wrote() {
    let server = Watched::start().await;
    let (scout, log) = (agent("scout"), server.id("/log.txt").await.to_string());
    server
        .changed(async |workspace| {
            edit(workspace, &scout, "/log.txt", "Tuesday", "Wednesday").await;
        })
        .await;
    assert_eq!(server.shown(), [("scout".to_owned(), log.clone(), true)]);
    assert_eq!(marked(&server, "/log.txt").await.as_deref(), Some("Monday\nWednesday|\n"));
    // A name for the version is newer, and no text.
    server
        .changed(async |workspace| {
            workspace.history().name_version(&path("/log.txt"), "draft").unwrap();
        })
        .await;
    assert_eq!(marked(&server, "/log.txt").await.as_deref(), Some("Monday\nWednesday|\n"));
    // What people write is theirs.
    server
        .changed(async |workspace| {
            let ana = "human:ana".parse().unwrap();
            edit(workspace, &ana, "/log.txt", "Monday", "Sunday").await;
        })
        .await;
    assert_eq!(server.shown().len(), 1);
    assert_eq!(marked(&server, "/log.txt").await.as_deref(), Some("Sunday\nWednesday|\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_another_process_is_shown_where_it_wrote() {
    let server = Watched::start().await;
    let store = Arc::new(server.store.another_handle());
    let other = Workspace::open(store, WorkspaceOptions::default()).unwrap();
    server
        .changed(async |workspace| {
            edit(&other, &agent("planner"), "/plan.md", "Plan", "Plan for May").await;
            // Its record has no author here, and the agent is found in the document.
            workspace.fs().stat(&path("/plan.md")).await.unwrap();
        })
        .await;
    assert_eq!(server.shown()[0].0, "planner");
    assert_eq!(marked(&server, "/plan.md").await.as_deref(), Some("# Plan for May|\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_shown_at_the_file_that_it_reads() {
    let server = Watched::start().await;
    let (plan, scout) = (server.id("/plan.md").await, agent("scout"));
    let fs = server.app.workspace.fs_for(scout.clone());
    let fs = readings_of(Arc::new(fs), &scout, LiveReadings::of(&server.app));
    fs.read(&path("/plan.md")).await.unwrap();
    assert_eq!(server.shown(), [("scout".to_owned(), plan.to_string(), false)]);
    // It has no caret there, and no mark of its own in the directory.
    assert_eq!(server.states(&plan)[0]["cursor"], Value::Null);
    fs.stat(&path("/log.txt")).await.unwrap();
    assert_eq!(server.shown()[0].1, plan.as_str());
}

/// Reading beside a server costs nothing while no page is open: there is no socket.
#[tokio::test(flavor = "multi_thread")]
async fn readings_of_another_process_arrive_while_a_page_is_open() {
    let server = Watched::start().await;
    let dir = tempfile::tempdir().unwrap();
    let (app, id) = (server.app.clone(), server.id("/plan.md").await);
    let signs = AgentSigns::beside(dir.path(), app.workspace.id()).unwrap();
    // One of a server that was killed, and one that sends what is no sign.
    std::fs::create_dir(dir.path().join("live.sockets")).unwrap();
    let dead = dir.path().join("live.sockets/0000000000000000");
    drop(UnixDatagram::bind(&dead).unwrap());
    let store_dir = dir.path().to_owned();
    let receiving = tokio::spawn(async move {
        receive_forever(&app.live, &app.rooms, &app.workspace, Some(&store_dir)).await
    });
    let sockets = || std::fs::read_dir(dir.path().join("live.sockets")).unwrap().flatten();
    while sockets().count() < 2 {
        tokio::task::yield_now().await;
    }
    let own = sockets().map(|entry| entry.path()).find(|path| *path != dead).unwrap();
    UnixDatagram::unbound().unwrap().send_to(b"{\"workspace\":1}", &own).unwrap();
    let scout = agent("scout");
    let fs = signs.shown(Arc::new(server.app.workspace.fs()), &scout);
    fs.read(&path("/plan.md")).await.unwrap();
    assert!(!dead.exists(), "the socket of a server that was killed");
    while server.shown().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.shown(), [("scout".to_owned(), id.to_string(), false)]);
    // The first sign after the last page was closed ends the socket.
    drop(server);
    fs.read(&path("/plan.md")).await.unwrap();
    while own.exists() {
        tokio::task::yield_now().await;
    }
    receiving.abort();
}

/// The caret ends a moment after the last write, also while the agent goes on reading.
#[tokio::test(flavor = "multi_thread")]
async fn a_caret_ends_while_its_agent_goes_on() {
    let server = Watched::start().await;
    server
        .changed(async |workspace| {
            edit(workspace, &agent("scout"), "/log.txt", "Tuesday", "Friday").await;
        })
        .await;
    let mut sessions = server.app.live.sessions.lock();
    let session = sessions.values_mut().next().unwrap();
    let now = server.app.rooms.now();
    assert!(!session.end_caret(now));
    assert!(session.end_caret(now + super::SHOWN));
    assert!(!session.end_caret(now + super::SHOWN + Duration::from_secs(1)));
    assert_eq!(session.sign.written, None);
}
