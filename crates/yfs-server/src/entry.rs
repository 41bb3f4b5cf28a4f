//! How somebody gets to a document: with which token, how far, and for how long.

use std::time::Duration;

use axum::http::{HeaderMap, Uri};
use tokio::time::Instant;
use yfs::{DocPort, WorkspaceError};
use yfs_engine::id::FileId;
use yfs_sync::hub::Access;

use crate::{
    access::{Grant, token_of},
    serve::App,
    wire::Ending,
};

/// How often it is asked whether a token still counts.
const RECHECK: Duration = Duration::from_secs(15);

/// What somebody shows at the door.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    token: String,
    checked: Instant,
}

/// An open document.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) port: DocPort,
    pub(crate) access: Access,
}

impl Pass {
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
    pub(crate) fn check(&mut self, app: &App, guid: &str) -> Result<(), Ending> {
        if self.checked.elapsed() < RECHECK {
            return Ok(());
        }
        self.checked = Instant::now();
        app.check(guid, &self.grant(app)?)
    }

    /// Returns what the token grants.
    pub(crate) fn grant(&self, app: &App) -> Result<Grant, Ending> {
        app.access.check(&self.token).map_err(|error| {
            app.metrics.refused_callers.inc();
            Ending::unauthorized(error.to_string())
        })
    }
}

impl App {
    /// Opens a document by its guid. Knowing a guid gives no right to it.
    pub(crate) fn open(&self, guid: &str, pass: &Pass) -> Result<Entry, Ending> {
        let grant = pass.grant(self)?;
        self.check(guid, &grant)?;
        let port = self.workspace.port(guid).map_err(|error| match error {
            WorkspaceError::NoDocument(_) | WorkspaceError::NoFile(_) => {
                Ending::not_found(error.to_string())
            }
            error => Ending::from(yfs_sync::SyncError::Failed(error.into())),
        })?;
        let access = if grant.may_write() { Access::ReadWrite } else { Access::ReadOnly };
        Ok(Entry { port: port.acting_for(grant.actor), access })
    }

    /// Refuses a document that is not a file's that the grant covers. The main document never is, but for
    /// whom it covers everything.
    fn check(&self, guid: &str, grant: &Grant) -> Result<(), Ending> {
        let path = || self.workspace.path_of(&FileId::parse(guid).ok()?).ok()?;
        if grant.is_whole() || path().is_some_and(|path| grant.covers(&path)) {
            return Ok(());
        }
        Err(Ending::forbidden("the token does not reach this document"))
    }

    /// Waits for permission to do what costs much: computing and sending a state.
    pub(crate) async fn admit(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Ending> {
        self.admit_within(ADMISSION).await
    }

    async fn admit_within(
        &self,
        limit: Duration,
    ) -> Result<tokio::sync::OwnedSemaphorePermit, Ending> {
        let permit = tokio::time::timeout(limit, self.joins.clone().acquire_owned()).await;
        // The semaphore is never closed.
        permit.ok().and_then(Result::ok).ok_or_else(Ending::busy)
    }
}

/// How long somebody may wait to join.
const ADMISSION: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;
    use yfs::{Options, Workspace};
    use yfs_engine::path::VPath;
    use yfs_store::MemoryStore;
    use yfs_vfs::{FileSystem, MoveOptions, WriteOptions};

    use super::*;
    use crate::{
        access::{Access as Door, Keys},
        rooms::Rooms,
    };

    fn app(workspace: &Workspace, access: Door, n_joins: usize) -> App {
        let metrics = Arc::default();
        let rooms = Arc::new(Rooms::new(Arc::clone(&metrics)));
        let joins = Arc::new(Semaphore::new(n_joins));
        App { workspace: workspace.clone(), access, rooms, metrics, joins }
    }

    fn workspace() -> Workspace {
        Workspace::create(Arc::new(MemoryStore::new()), Options::default()).unwrap()
    }

    #[tokio::test]
    async fn who_waited_too_long_to_join_is_told_to_come_back() {
        let app = app(&workspace(), Door::Open, 1);
        let admitted = app.admit().await.unwrap();
        assert_eq!(app.admit_within(Duration::ZERO).await.unwrap_err().code(), 1013);
        // Who waits is next.
        let (next, ()) = tokio::join!(app.admit(), async { drop(admitted) });
        drop(next.unwrap());
    }

    #[tokio::test]
    async fn a_pass_is_looked_at_again_from_time_to_time() {
        let (workspace, path) = (workspace(), |text| VPath::parse(text).unwrap());
        let (inside, outside) = (path("/docs/a.txt"), path("/b.txt"));
        let fs = workspace.fs();
        fs.write(&inside, "text".into(), &WriteOptions::default()).await.unwrap();
        let guid = fs.stat(&inside).await.unwrap().id.to_string();
        let keys = Keys::of(workspace.store().clone());
        let app = app(&workspace, Door::Tokens(keys.clone()), 1);
        let owner = Grant::owner("human:ana".parse().unwrap());
        let grant = Grant { id: "one".to_owned(), path: path("/docs"), ..owner };
        let mut pass = Pass::new(keys.issue(&grant).unwrap());
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
