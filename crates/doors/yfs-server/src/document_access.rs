//! Access of a client to a document: its token, its rights, and for how long they are valid.

use std::{sync::Arc, time::Duration};

use axum::http::{HeaderMap, Uri};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::block_in_place,
    time::Instant,
};
use yfs::{DocPort, WorkspaceError};
use yfs_engine::id::FileId;
use yfs_sync::hub::PeerAccess;

use crate::{
    access::{AccessGrant, token_of},
    close_reason::CloseReason,
    server_state::ServerState,
};

/// How long the server waits for a document that a client requests and this server does not know,
/// because another process or replica may have just created it: clients treat the answer that there
/// is none as final.
pub(crate) const MAX_DOCUMENT_WAIT: Duration = Duration::from_secs(2);

/// The longest delay between two checks of the log for such a document.
const MAX_RECHECK_DELAY: Duration = Duration::from_millis(100);

/// The credential that a client presents.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionCredential {
    token: String,
    checked: Instant,
}

/// An open document.
#[derive(Debug)]
pub(crate) struct OpenedDocument {
    pub(crate) port: DocPort,
    pub(crate) access: PeerAccess,
}

impl ConnectionCredential {
    /// Reads the credential of a request.
    pub(crate) fn of_request(headers: &HeaderMap, uri: &Uri) -> Self {
        Self::new(token_of(headers, uri.query()).unwrap_or_default())
    }

    /// Makes a credential of a token.
    pub(crate) fn new(token: String) -> Self {
        Self { token, checked: Instant::now() }
    }

    /// Checks at intervals whether the token still opens a document.
    ///
    /// # Errors
    ///
    /// If the token has expired or was revoked, or the file was moved out of its directory.
    pub(crate) fn check(&mut self, app: &ServerState, guid: &str) -> Result<(), CloseReason> {
        if self.checked.elapsed() < app.recheck {
            return Ok(());
        }
        self.check_now(app, guid)
    }

    /// Checks now whether the token still opens a document.
    ///
    /// # Errors
    ///
    /// The same as [`check`](Self::check).
    pub(crate) fn check_now(&mut self, app: &ServerState, guid: &str) -> Result<(), CloseReason> {
        app.check(app.own_name(guid), &self.check_grant(app)?)
    }

    /// Checks now whether the token still grants anything, and returns what.
    ///
    /// # Errors
    ///
    /// If the token has expired or was revoked.
    pub(crate) fn check_grant(&mut self, app: &ServerState) -> Result<AccessGrant, CloseReason> {
        self.checked = Instant::now();
        self.grant(app)
    }

    /// Returns what the token grants.
    pub(crate) fn grant(&self, app: &ServerState) -> Result<AccessGrant, CloseReason> {
        app.access.check(&self.token).map_err(|error| {
            app.metrics.refused_callers.inc();
            CloseReason::unauthorized(error.to_string())
        })
    }
}

impl ServerState {
    /// Opens a document by its guid. If the token covers no such document, waits for one until
    /// `remaining_wait` is used up.
    pub(crate) async fn open_within(
        &self,
        guid: &str,
        pass: &ConnectionCredential,
        remaining_wait: &mut Duration,
    ) -> Result<OpenedDocument, CloseReason> {
        let mut records = self.workspace.replication().watch_records();
        loop {
            let began = Instant::now();
            let ending = match block_in_place(|| self.open(guid, pass)) {
                Err(ending) if ending.is_temporary() && !remaining_wait.is_zero() => ending,
                opened => return opened,
            };
            // Updates that other processes logged are applied before the server waits.
            match block_in_place(|| self.workspace.catch_up()) {
                Ok(true) => {}
                Ok(false) => {
                    records.wait(MAX_RECHECK_DELAY.min(*remaining_wait)).await;
                }
                Err(_) => return Err(ending),
            }
            *remaining_wait = remaining_wait.saturating_sub(began.elapsed());
        }
    }

    /// Opens a document by its guid. Knowing a guid grants no rights.
    pub(crate) fn open(
        &self,
        guid: &str,
        pass: &ConnectionCredential,
    ) -> Result<OpenedDocument, CloseReason> {
        let grant = pass.grant(self)?;
        let guid = self.own_name(guid);
        self.check(guid, &grant)?;
        let port = self.workspace.documents().port(guid).map_err(|error| match error {
            WorkspaceError::NoDocument(_) | WorkspaceError::NoFile(_) => {
                CloseReason::not_found(error.to_string())
            }
            error => CloseReason::from(yfs_sync::SyncError::Failed(error.into())),
        })?;
        let access = if grant.may_write() { PeerAccess::ReadWrite } else { PeerAccess::ReadOnly };
        // A peer that may not read every blob must not open one by listing its hash.
        let port = if grant.is_whole() { port } else { port.without_blobs() };
        Ok(OpenedDocument { port: port.acting_for(grant.actor), access })
    }

    /// Returns the guid of a document here: clients may name a file's content by the guid of later
    /// versions of the reference implementation ([`FileId::within_guid`]).
    fn own_name<'a>(&self, guid: &'a str) -> &'a str {
        let path = || self.workspace.nodes().path_of(&FileId::parse(guid).ok()?).ok()?;
        match FileId::within_guid(guid) {
            Some(id) if path().is_none() => id,
            _ => guid,
        }
    }

    /// Rejects a document that is not the content of a file that the grant covers. Only a grant of
    /// the whole workspace covers the main document.
    fn check(&self, guid: &str, grant: &AccessGrant) -> Result<(), CloseReason> {
        // The main document is no file, whatever a row says.
        let path = || {
            let id = FileId::parse(guid).ok().filter(|id| id != self.workspace.id())?;
            self.workspace.nodes().path_of(&id).ok()?
        };
        if grant.is_whole() || path().is_some_and(|path| grant.covers(&path)) {
            return Ok(());
        }
        Err(CloseReason::forbidden("the token does not reach this document"))
    }

    /// Waits for permission for an expensive operation: computing and sending a state. For each
    /// document, whose permits are `joins`, at most half as many run as for all documents, so that
    /// clients that join one do not block clients of another.
    pub(crate) async fn admit(
        &self,
        joins: Arc<Semaphore>,
    ) -> Result<AdmittedConnection, CloseReason> {
        self.admit_within(joins, MAX_JOIN_WAIT).await
    }

    async fn admit_within(
        &self,
        joins: Arc<Semaphore>,
        limit: Duration,
    ) -> Result<AdmittedConnection, CloseReason> {
        let permits = async {
            let of_document = joins.acquire_owned().await.ok()?;
            let of_all = self.joins.clone().acquire_owned().await.ok()?;
            Some(AdmittedConnection { _permits: [of_document, of_all] })
        };
        // The semaphores are never closed.
        tokio::time::timeout(limit, permits).await.ok().flatten().ok_or_else(CloseReason::busy)
    }
}

/// The permission to compute and send a state.
#[derive(Debug)]
pub(crate) struct AdmittedConnection {
    _permits: [OwnedSemaphorePermit; 2],
}

/// How long a client may wait to join.
const MAX_JOIN_WAIT: Duration = Duration::from_secs(30);

#[cfg(test)]
pub(crate) mod tests {
    use yfs::{Workspace, WorkspaceOptions};
    use yfs_engine::{
        gate::UpdateBuilder,
        id::{ClientId, ItemId},
        path::VPath,
    };
    use yfs_store::MemoryStore;
    use yfs_vfs::{FileSystem, MkdirOptions, MoveOptions, WriteOptions};

    use super::*;
    use crate::{
        access::{AccessControl as Door, TokenKeys},
        body::BodyBudget,
        rooms::DocumentRooms,
        work_shares::WorkShares,
    };

    const RECHECK: Duration = Duration::from_secs(15);

    pub(crate) fn app(workspace: &Workspace, access: Door, n_joins: usize) -> ServerState {
        let metrics = Arc::default();
        let rooms = Arc::new(DocumentRooms::new(Arc::clone(&metrics)));
        let joins = Arc::new(Semaphore::new(n_joins));
        let bodies = BodyBudget::default();
        let (conflicts, _) = tokio::sync::broadcast::channel(1);
        let workspace = workspace.clone();
        let mcp = yfs_mcp::McpHttpService::new();
        ServerState {
            workspace,
            access,
            rooms,
            metrics,
            joins,
            bodies,
            conflicts,
            dav: Arc::new(yfs_dav::DavService::new(crate::dav::PREFIX)),
            mcp,
            mcp_sessions: Arc::default(),
            work: Arc::new(WorkShares::new(yfs_agent::work_budget::WorkBudget::of_process())),
            uploads: Arc::default(),
            downloads: Arc::default(),
            listings: Arc::default(),
            audit: None,
            json_query: None,
            store_dir: None,
            recheck: RECHECK,
            revocations: Arc::default(),
            live: Arc::default(),
            issuing: Arc::default(),
            uses: Arc::default(),
        }
    }

    fn workspace() -> Workspace {
        Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap()
    }

    #[tokio::test]
    async fn a_client_that_waited_too_long_to_join_must_reconnect() {
        let app = app(&workspace(), Door::Open, 1);
        let joins = || Arc::new(Semaphore::new(1));
        let admitted = app.admit(joins()).await.unwrap();
        assert_eq!(app.admit_within(joins(), Duration::ZERO).await.unwrap_err().code(), 1013);
        // The client that has waited longest is next.
        let (next, ()) = tokio::join!(app.admit(joins()), async { drop(admitted) });
        drop(next.unwrap());
    }

    #[tokio::test]
    async fn joins_of_one_document_do_not_block_another() {
        let app = app(&workspace(), Door::Open, 2);
        let (crowded, quiet) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
        let _first = app.admit(crowded.clone()).await.unwrap();
        assert!(app.admit_within(crowded.clone(), Duration::ZERO).await.is_err());
        app.admit_within(quiet, Duration::ZERO).await.unwrap();
    }

    /// Two stores on one file, as two processes have them.
    fn two_processes(dir: &tempfile::TempDir) -> [Workspace; 2] {
        let file = dir.path().join("db");
        let store = || Arc::new(yfs_store::SqliteStore::open_or_create(&file).unwrap());
        let first = Workspace::create(store(), WorkspaceOptions::default()).unwrap();
        [first, Workspace::open(store(), WorkspaceOptions::default()).unwrap()]
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_file_that_another_process_has_just_made_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let [here, there] = two_processes(&dir);
        let app = app(&here, Door::Open, 1);
        for number in 0..20 {
            let path = VPath::parse(&format!("/{number}.txt")).unwrap();
            let made = there.fs().write(&path, "text".into(), &WriteOptions::default()).await;
            let guid = made.unwrap().id.to_string();
            let mut remaining_wait = Duration::from_secs(600);
            app.open_within(&guid, &ConnectionCredential::new(String::new()), &mut remaining_wait)
                .await
                .unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_document_that_becomes_covered_during_the_wait_is_opened() {
        let (workspace, path) = (workspace(), |text| VPath::parse(text).unwrap());
        let fs = workspace.fs();
        let options = WriteOptions::default();
        fs.mkdir(&path("/docs"), &MkdirOptions::default()).await.unwrap();
        let made = fs.write(&path("/a.txt"), "text".into(), &options).await.unwrap();
        let keys = TokenKeys::of(workspace.store().clone());
        let app = app(&workspace, Door::Tokens(keys.clone()), 1);
        let owner = AccessGrant::owner("human:ana".parse().unwrap());
        let grant = AccessGrant { id: "one".to_owned(), path: path("/docs"), ..owner };
        let pass = ConnectionCredential::new(keys.issue(&grant).unwrap());
        let guid = made.id.to_string();
        let mut remaining_wait = Duration::from_secs(600);
        let (from, to, options) = (path("/a.txt"), path("/docs/a.txt"), MoveOptions::default());
        let (opened, moved) = tokio::join!(
            app.open_within(&guid, &pass, &mut remaining_wait),
            fs.mv(&from, &to, &options),
        );
        moved.unwrap();
        opened.unwrap();
        // A document that is never created is refused in the end, and an invalid guid is refused at
        // once.
        let mut remaining_wait = Duration::from_millis(1);
        let refused = app.open_within("nothing", &pass, &mut remaining_wait).await.unwrap_err();
        assert_eq!((refused.code(), remaining_wait), (4403, Duration::ZERO));
        let stranger = ConnectionCredential::new(String::new());
        let mut remaining_wait = Duration::from_secs(600);
        assert_eq!(
            app.open_within(&guid, &stranger, &mut remaining_wait).await.unwrap_err().code(),
            4401
        );
    }

    #[tokio::test]
    async fn the_content_of_a_file_is_opened_by_its_longer_name_as_well() {
        let workspace = workspace();
        let path = VPath::parse("/a.txt").unwrap();
        let made = workspace.fs().write(&path, "text".into(), &WriteOptions::default()).await;
        let (app, id) = (app(&workspace, Door::Open, 1), made.unwrap().id.to_string());
        let open = |guid: &str| app.open(guid, &ConnectionCredential::new(String::new()));
        let entry = open(&format!("opensidian.files.{id}.content")).unwrap();
        assert_eq!(entry.port.guid().as_str(), id);
        for other in ["opensidian.files.nothing.content", "opensidian.files..content"] {
            assert_eq!(open(other).unwrap_err().code(), 4404);
        }
        assert_eq!(open(&format!("opensidian.notes.{id}.content")).unwrap_err().code(), 4404);
    }

    /// A member planted a row with the id of the workspace in a directory; a token for that
    /// directory then opened the main document, and renamed everything.
    #[tokio::test]
    async fn a_row_with_the_id_of_the_main_document_opens_nothing() {
        let (workspace, path) = (workspace(), |text| VPath::parse(text).unwrap());
        let fs = workspace.fs();
        fs.mkdir(&path("/docs"), &MkdirOptions::default()).await.unwrap();
        let made = fs.write(&path("/docs/a.txt"), "text".into(), &WriteOptions::default()).await;
        let file = made.unwrap().id.to_string();
        let whole = workspace.documents().port(workspace.id().as_str()).unwrap();
        let directory = fs.stat(&path("/docs")).await.unwrap().id.to_string();
        let ids = [workspace.id().to_string(), format!("{}.files.{file}.content", workspace.id())];
        let row = |(clock, id): (usize, &String)| {
            let val = serde_json::json!({
                "id": id, "name": format!("planted-{clock}.txt"), "parentId": directory,
                "type": "file", "size": 0, "createdAt": 1, "updatedAt": 1, "trashedAt": null,
            });
            let element = serde_json::json!({ "key": id, "val": val, "ts": 2e12 });
            yfs_engine::Any::from_json(&element.to_string()).unwrap()
        };
        let rows: Vec<yfs_engine::Any> = ids.iter().enumerate().map(row).collect();
        let mut planted = UpdateBuilder::new();
        let first = ItemId::new(ClientId::new(666).unwrap(), 0);
        planted.array_run(first, None, None, "table:files", &rows);
        whole.receive(&planted.finish()).unwrap();
        let entries = fs.readdir(&path("/docs")).await.unwrap();
        assert_eq!(entries.len(), 1, "what is no file is not shown: {entries:?}");
        let keys = TokenKeys::of(workspace.store().clone());
        let app = app(&workspace, Door::Tokens(keys.clone()), 1);
        let owner = AccessGrant::owner("human:ana".parse().unwrap());
        let grant = AccessGrant { id: "one".to_owned(), path: path("/docs"), ..owner };
        let pass = ConnectionCredential::new(keys.issue(&grant).unwrap());
        assert_eq!(app.open(workspace.id().as_str(), &pass).unwrap_err().code(), 4403);
        // The longer name is still that of the file.
        assert_eq!(app.open(&ids[1], &pass).unwrap().port.guid().as_str(), file);
        let (planted, options) = (path("/docs/planted-0.txt"), WriteOptions::default());
        let put = fs.write(&planted, "x".into(), &options).await.unwrap();
        assert_ne!(put.id.to_string(), ids[0]);
    }

    #[tokio::test]
    async fn a_credential_is_checked_again_at_intervals() {
        let (workspace, path) = (workspace(), |text| VPath::parse(text).unwrap());
        let (inside, outside) = (path("/docs/a.txt"), path("/b.txt"));
        let fs = workspace.fs();
        fs.write(&inside, "text".into(), &WriteOptions::default()).await.unwrap();
        let guid = fs.stat(&inside).await.unwrap().id.to_string();
        let keys = TokenKeys::of(workspace.store().clone());
        let app = app(&workspace, Door::Tokens(keys.clone()), 1);
        let owner = AccessGrant::owner("human:ana".parse().unwrap());
        let grant = AccessGrant { id: "one".to_owned(), path: path("/docs"), ..owner };
        let mut pass = ConnectionCredential::new(keys.issue(&grant).unwrap());
        app.open(&guid, &pass).unwrap();
        let mut check_again = || {
            pass.check(&app, &guid).expect("it was checked a moment ago");
            pass.checked -= RECHECK;
            pass.check(&app, &guid).map_err(|ending| ending.code())
        };
        let options = MoveOptions::default();
        assert_eq!(check_again(), Ok(()));
        fs.mv(&inside, &outside, &options).await.unwrap();
        assert_eq!(check_again(), Err(4403));
        fs.mv(&outside, &inside, &options).await.unwrap();
        assert_eq!(check_again(), Ok(()));
        keys.revoke("one").unwrap();
        assert_eq!(check_again(), Err(4401));
        assert_eq!(app.open(&guid, &pass).unwrap_err().code(), 4401);
    }
}
