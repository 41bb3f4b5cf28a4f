//! Links: what each may pass on, who lists and revokes them, and the names that are taken.

use std::sync::Arc;

use axum::body::to_bytes;
use serde_json::{Value, json};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_store::MemoryStore;
use yfs_vfs::{FileSystem, RemoveOptions, WriteOptions};

use super::*;
use crate::{document_access::tests::app, people, server_state::ServerState, tree_response::tree};

/// A server of a workspace with `/docs/in.txt` and `/out.txt`.
struct LinkServer {
    app: ServerState,
    keys: TokenKeys,
}

impl LinkServer {
    async fn start() -> Self {
        let store = Arc::new(MemoryStore::new());
        let actor = "human:ana".parse().unwrap();
        let options = WorkspaceOptions { actor, ..WorkspaceOptions::default() };
        let workspace = Workspace::create(store, options).unwrap();
        for name in ["/docs/in.txt", "/out.txt"] {
            let path = VPath::parse(name).unwrap();
            workspace.fs().write(&path, "text".into(), &WriteOptions::default()).await.unwrap();
        }
        let keys = TokenKeys::of(workspace.store().clone());
        Self { app: app(&workspace, AccessControl::Tokens(keys.clone()), 1), keys }
    }

    fn owner(&self) -> RequestCaller {
        self.caller(&AccessGrant::owner("human:ana".parse().unwrap()))
    }

    fn caller(&self, grant: &AccessGrant) -> RequestCaller {
        RequestCaller { grant: grant.clone(), app: self.app.clone() }
    }

    /// Returns the caller with the token of an answer.
    fn holder(&self, answer: &Value) -> RequestCaller {
        self.caller(&self.keys.check(answer["token"].as_str().unwrap()).unwrap())
    }

    fn is_valid(&self, answer: &Value) -> bool {
        self.keys.check(answer["token"].as_str().unwrap()).is_ok()
    }
}

async fn body(answer: Response) -> Value {
    let bytes = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// Returns the answer as JSON, or the status of the problem.
async fn read(answer: Result) -> std::result::Result<Value, u16> {
    match answer {
        Ok(answer) => Ok(body(answer).await),
        Err(problem) => Err(problem.into_response().status().as_u16()),
    }
}

async fn link(caller: RequestCaller, asked: Value) -> std::result::Result<Value, u16> {
    read(make(caller, JsonBody(serde_json::from_value(asked).unwrap())).await).await
}

async fn name(caller: RequestCaller, name: &str, secret: &str) -> std::result::Result<Value, u16> {
    let asked = json!({ "name": name, "secret": secret });
    read(take_name(caller, JsonBody(serde_json::from_value(asked).unwrap())).await).await
}

async fn ids(caller: RequestCaller) -> Vec<Value> {
    let listed = read(list(caller).await).await.unwrap();
    listed["tokens"].as_array().unwrap().iter().map(|token| token["id"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_link_grants_more_than_the_one_with_which_it_is_made() {
    let server = LinkServer::start().await;
    let end = server.keys.now().0 + 1_000_000;
    let asked = json!({ "path": "/docs", "rights": "write", "name": "Ben", "expires": end });
    let ben = link(server.owner(), asked).await.unwrap();
    assert_eq!((&ben["actor"], &ben["by"]), (&json!("human:Ben"), &json!("human:ana")));
    let holder = || server.holder(&ben);
    for path in ["/", "/out.txt", "/docs/../out.txt", "/docsy", "relative"] {
        let asked = json!({ "path": path, "rights": "read" });
        assert!(matches!(link(holder(), asked).await, Err(400 | 403)), "{path}");
    }
    let asked = json!({ "path": "/docs/none.txt", "rights": "read" });
    assert_eq!(link(holder(), asked).await, Err(404));
    // A link of the tree leads nowhere else.
    let away = VPath::parse("/docs/away").unwrap();
    server.app.workspace.fs().symlink("/out.txt", &away).await.unwrap();
    let asked = json!({ "path": "/docs/away", "rights": "read" });
    assert_eq!(link(holder(), asked).await, Err(403));

    let asked = json!({ "path": "/docs/in.txt", "rights": "read", "expires": end + 1 });
    let passed = link(holder(), asked).await.unwrap();
    assert_eq!(passed["expires"], end);
    let asked = json!({ "path": "/docs/in.txt", "rights": "read" });
    assert_eq!(link(server.holder(&passed), asked).await, Err(403));
    assert_eq!(read(list(server.holder(&passed)).await).await, Err(403));

    // Nor does it show or revoke links for other paths, or the one that it came from.
    let asked = json!({ "path": "/", "rights": "write", "name": "Eve" });
    let eve = link(server.owner(), asked).await.unwrap();
    let below = ids(holder()).await;
    assert_eq!(below, [ben["id"].clone(), passed["id"].clone()]);
    let id = |answer: &Value| Path(answer["id"].as_str().unwrap().to_owned());
    assert_eq!(read(revoke(holder(), id(&eve)).await).await, Err(404));
    let asked = json!({ "path": "/docs", "rights": "write", "name": "Cy" });
    let cy = link(holder(), asked).await.unwrap();
    assert_eq!(read(revoke(server.holder(&cy), id(&ben)).await).await, Err(403));

    // With a link, those that were made with it end.
    revoke(server.owner(), id(&ben)).await.unwrap();
    assert!(![&ben, &passed, &cy].into_iter().any(|answer| server.is_valid(answer)));
    assert!(server.is_valid(&eve));
    assert_eq!(ids(server.owner()).await, [eve["id"].clone()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_taken_once_and_belongs_to_one() {
    let server = LinkServer::start().await;
    let secret = |letter: &str| letter.repeat(20);
    let asked = json!({ "path": "/docs", "rights": "write" });
    let unnamed = link(server.owner(), asked.clone()).await.unwrap();
    let guest = || server.holder(&unnamed);
    assert!(guest().grant.is_unnamed());
    let zoe = name(guest(), " Zoë Müller ", &secret("a")).await.unwrap();
    assert_eq!((&zoe["actor"], &zoe["path"]), (&json!("human:Zoë Müller"), &json!("/docs")));
    // The same browser gets the same token; another one does not get the name.
    assert_eq!(name(guest(), "Zoë Müller", &secret("a")).await.unwrap()["token"], zoe["token"]);
    assert_eq!(name(guest(), "zoë müller", &secret("b")).await, Err(409));
    assert_eq!(name(guest(), "Ana", &secret("b")).await, Err(409), "the owner's name");
    for bad in ["", " ", "a\u{202e}b", "a\nb", "guest", &"x".repeat(65)] {
        assert_eq!(name(guest(), bad, &secret("b")).await, Err(400), "{bad}");
    }
    assert_eq!(name(guest(), "Max", "short").await, Err(400));
    // A link for one person has its name.
    assert_eq!(name(server.holder(&zoe), "Max", &secret("a")).await, Err(403));
    let named = json!({ "path": "/docs", "rights": "write", "name": "ZOË müller" });
    assert_eq!(link(server.holder(&zoe), named.clone()).await, Err(409));
    assert!(link(server.owner(), named).await.is_ok(), "the owner may give a person two");
    server.keys.revoke(unnamed["id"].as_str().unwrap()).unwrap();
    assert!(!server.is_valid(&zoe));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_sees_only_those_who_are_below_the_path() {
    let server = LinkServer::start().await;
    let asked = json!({ "path": "/docs", "rights": "read", "name": "Ben" });
    let ben = link(server.owner(), asked).await.unwrap();
    let all = body(tree(server.owner(), HeaderMap::new()).await.unwrap()).await;
    let id_of = |path: &str| {
        let entry = all["entries"].as_array().unwrap().iter().find(|e| e["path"] == path);
        entry.unwrap()["guid"].as_str().unwrap().to_owned()
    };
    let (inside, outside) = (id_of("/docs/in.txt"), id_of("/out.txt"));
    let present = async |caller: RequestCaller, page: &str, open: &str| {
        let asked = json!({ "page": page, "open": open });
        let asked = JsonBody(serde_json::from_value(asked).unwrap());
        body(people::post(caller, asked).await.unwrap()).await
    };
    let asked = json!({ "path": "/", "rights": "read", "name": "Cy" });
    let cy = link(server.owner(), asked).await.unwrap();
    let whole = || server.holder(&cy);
    let main = server.app.workspace.id();
    let show = |name: &str, open: &str| {
        let actor = Actor::new(ActorKind::Agent, name);
        let open = yfs_engine::id::FileId::parse(open).unwrap();
        let sign = crate::live_presence::LiveSign::of_agent(&actor, open, None);
        server.app.live.touch(&server.app.rooms, main, sign).unwrap();
    };
    show("near", &inside);
    show("far", &outside);
    let seen = present(server.holder(&ben), "page", &outside).await;
    let names: Vec<&str> =
        seen["people"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["near"]);
    // What a guest says of a file that it may not know is not said to others.
    let seen = present(whole(), "page", &inside).await.to_string();
    assert!(!seen.contains("Ben"), "{seen}");
    present(server.holder(&ben), "page", &inside).await;
    let seen = present(whole(), "page", &inside).await.to_string();
    assert!(seen.contains("Ben") && seen.contains("far"), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trash_of_a_guest_is_that_of_the_path() {
    let server = LinkServer::start().await;
    let asked = json!({ "path": "/docs", "rights": "write", "name": "Ben" });
    let ben = link(server.owner(), asked).await.unwrap();
    let fs = server.app.workspace.fs();
    for name in ["/docs/in.txt", "/out.txt"] {
        fs.rm(&VPath::parse(name).unwrap(), &RemoveOptions::default()).await.unwrap();
    }
    let trashed = server.app.workspace.trash().list().unwrap();
    let grant = server.holder(&ben).grant;
    let (covered, other): (Vec<_>, Vec<_>) =
        trashed.iter().partition(|entry| grant.covers(&VPath::parse(&entry.original).unwrap()));
    assert_eq!((covered.len(), other.len()), (1, 1));
}
