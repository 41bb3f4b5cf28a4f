//! Access of a client to a document: with which token, with which rights, and for how long.

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
    serve::ServerState,
    websocket_wire::CloseReason,
};

/// How often it is asked whether a token still counts.
const RECHECK: Duration = Duration::from_secs(15);

/// How long the server waits for a document that a client asks for and this server does not know,
/// because another process or replica may have just created it: clients take the answer that there
/// is none as final.
pub(crate) const APPEARANCE: Duration = Duration::from_secs(2);

/// The longest delay between two checks of the log for such a document.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

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
    /// Takes what a request shows.
    pub(crate) fn of_request(headers: &HeaderMap, uri: &Uri) -> Self {
        Self::new(token_of(headers, uri.query()).unwrap_or_default())
    }

    /// Takes a token.
    pub(crate) fn new(token: String) -> Self {
        Self { token, checked: Instant::now() }
    }

    /// Looks from time to time whether the token still opens a document.
    ///
    /// # Errors
    ///
    /// If it has expired, was revoked, or the file went to where it does not reach.
    pub(crate) fn check(&mut self, app: &ServerState, guid: &str) -> Result<(), CloseReason> {
        if self.checked.elapsed() < RECHECK {
            return Ok(());
        }
        self.checked = Instant::now();
        app.check(app.own_name(guid), &self.grant(app)?)
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
    /// Opens a document by its guid, or ends what is left of `patience` waiting until there is one
    /// that the token reaches.
    pub(crate) async fn open_within(
        &self,
        guid: &str,
        pass: &ConnectionCredential,
        patience: &mut Duration,
    ) -> Result<OpenedDocument, CloseReason> {
        loop {
            let began = Instant::now();
            let ending = match block_in_place(|| self.open(guid, pass)) {
                Err(ending) if ending.may_pass() && !patience.is_zero() => ending,
                opened => return opened,
            };
            // What other processes have logged is taken in before anything is waited for.
            match block_in_place(|| self.workspace.catch_up()) {
                Ok(true) => {}
                Ok(false) => {
                    self.workspace.replication().wait_for_records(LOOK_AGAIN.min(*patience)).await;
                }
                Err(_) => return Err(ending),
            }
            *patience = patience.saturating_sub(began.elapsed());
        }
    }

    /// Opens a document by its guid. Knowing a guid gives no right to it.
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

    /// Refuses a document that is not a file's that the grant covers. The main document never is,
    /// but for whom it covers everything.
    fn check(&self, guid: &str, grant: &AccessGrant) -> Result<(), CloseReason> {
        let path = || self.workspace.nodes().path_of(&FileId::parse(guid).ok()?).ok()?;
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
        self.admit_within(joins, ADMISSION).await
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
const ADMISSION: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use yfs::{Workspace, WorkspaceOptions};
    use yfs_engine::path::VPath;
    use yfs_store::MemoryStore;
    use yfs_vfs::{FileSystem, MkdirOptions, MoveOptions, WriteOptions};

    use super::*;
    use crate::{
        access::{AccessControl as Door, TokenKeys},
        body::BodyBudget,
        rooms::DocumentRooms,
    };

    fn app(workspace: &Workspace, access: Door, n_joins: usize) -> ServerState {
        let metrics = Arc::default();
        let rooms = Arc::new(DocumentRooms::new(Arc::clone(&metrics)));
        let joins = Arc::new(Semaphore::new(n_joins));
        let bodies = BodyBudget::default();
        ServerState { workspace: workspace.clone(), access, rooms, metrics, joins, bodies }
    }

    fn workspace() -> Workspace {
        Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap()
    }

    #[tokio::test]
    async fn who_waited_too_long_to_join_is_told_to_come_back() {
        let app = app(&workspace(), Door::Open, 1);
        let joins = || Arc::new(Semaphore::new(1));
        let admitted = app.admit(joins()).await.unwrap();
        assert_eq!(app.admit_within(joins(), Duration::ZERO).await.unwrap_err().code(), 1013);
        // Who waits is next.
        let (next, ()) = tokio::join!(app.admit(joins()), async { drop(admitted) });
        drop(next.unwrap());
    }

    #[tokio::test]
    async fn who_joins_one_document_keeps_nobody_from_another() {
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
            let mut patience = Duration::from_secs(600);
            app.open_within(&guid, &ConnectionCredential::new(String::new()), &mut patience)
                .await
                .unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_document_that_comes_within_reach_while_it_is_waited_for_is_opened() {
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
        let mut patience = Duration::from_secs(600);
        let (from, to, options) = (path("/a.txt"), path("/docs/a.txt"), MoveOptions::default());
        let (opened, moved) = tokio::join!(
            app.open_within(&guid, &pass, &mut patience),
            fs.mv(&from, &to, &options),
        );
        moved.unwrap();
        opened.unwrap();
        // What never comes is refused in the end, and what can never be is refused at once.
        let mut patience = Duration::from_millis(1);
        let refused = app.open_within("nothing", &pass, &mut patience).await.unwrap_err();
        assert_eq!((refused.code(), patience), (4403, Duration::ZERO));
        let stranger = ConnectionCredential::new(String::new());
        let mut patience = Duration::from_secs(600);
        assert_eq!(
            app.open_within(&guid, &stranger, &mut patience).await.unwrap_err().code(),
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

    #[tokio::test]
    async fn a_pass_is_looked_at_again_from_time_to_time() {
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
            pass.check(&app, &guid).expect("it was looked at a moment ago");
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
