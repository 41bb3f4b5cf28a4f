//! The caller of a request and its rights, which are extracted before the body.

use std::{future::pending, panic::resume_unwind, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use tokio::{
    runtime::Handle,
    task::{block_in_place, spawn_blocking},
};
use yfs::WorkspaceFs;
use yfs_agent::work_budget::WorkCost;
use yfs_engine::{actor::ActorKind, path::VPath};
use yfs_vfs::{CancellationToken, FileSystem, FsCode, FsError, Op};

use crate::{
    access::{AccessGrant, confined, scoped, showing_way, token_of},
    grant_stream::CallerTokenSlot,
    live_presence::{LiveReadings, readings_of},
    problem::HttpProblem,
    server_state::ServerState,
};

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestCaller {
    pub(crate) grant: AccessGrant,
    pub(crate) app: ServerState,
}

impl RequestCaller {
    /// Returns the files that the caller may see.
    pub(crate) fn fs(&self) -> Arc<dyn FileSystem> {
        let fs = scoped(&self.app.workspace, &self.grant);
        match self.grant.actor.kind {
            ActorKind::Agent => readings_of(fs, &self.grant.actor, LiveReadings::of(&self.app)),
            _ => fs,
        }
    }

    /// Returns the files that the caller may see, in the whole tree: the way from the root to them
    /// can be described and listed.
    pub(crate) fn tree(&self) -> Result<Arc<dyn FileSystem>, HttpProblem> {
        let fs = showing_way(self.confined(), &self.grant);
        let fs =
            fs.map_err(|error| HttpProblem::caused(StatusCode::INTERNAL_SERVER_ERROR, &error))?;
        Ok(match self.grant.actor.kind {
            ActorKind::Agent => readings_of(fs, &self.grant.actor, LiveReadings::of(&self.app)),
            _ => fs,
        })
    }

    /// Returns the part of the workspace that the caller may see, to write a file whose content is
    /// read from a file of the host.
    ///
    /// # Errors
    ///
    /// Fails with `EACCES` if the caller may not write there, as a write through
    /// [`fs`](Self::fs) does.
    pub(crate) fn writer(&self, op: Op, path: &VPath) -> Result<WorkspaceFs, FsError> {
        let is_allowed = self.grant.may_write() && self.grant.covers(path);
        if is_allowed { Ok(self.confined()) } else { Err(FsError::new(FsCode::EACCES, op, path)) }
    }

    /// Returns the part of the workspace that the caller may see, for reading only.
    pub(crate) fn confined(&self) -> WorkspaceFs {
        confined(&self.app.workspace, &self.grant)
    }

    /// Does heavy work of a request when the budgets of the process and of the caller's credential
    /// have room. The work ends at its next pause if the request is dropped, because its client
    /// has gone; what it took of the budgets is free when it has ended.
    pub(crate) async fn within_budget<T: Send + 'static>(
        &self,
        cost: WorkCost,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let permit = self.app.work.of(&self.grant.id).admit(cost).await;
        let abandoned = CancellationToken::new();
        let _abandon = CancelOnDrop(abandoned.clone());
        let run = async move {
            let _permit = permit;
            tokio::select! {
                biased;
                () = abandoned.cancelled() => None,
                done = work => Some(done),
            }
        };
        match spawn_blocking(move || Handle::current().block_on(run)).await {
            Ok(done) => done.expect("the work is abandoned with this future only"),
            Err(died) => match died.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime shuts down, and drops this future.
                Err(_) => pending().await,
            },
        }
    }

    /// Rejects a caller that may not see the whole workspace.
    pub(crate) fn needs_whole(&self) -> Result<(), HttpProblem> {
        let refused = || HttpProblem::forbidden("this needs a token for the whole workspace");
        if self.grant.is_whole() { Ok(()) } else { Err(refused()) }
    }

    /// Rejects a caller that may not write.
    pub(crate) fn needs_write(&self) -> Result<(), HttpProblem> {
        let refused = || HttpProblem::forbidden("this needs a token that allows writing");
        if self.grant.may_write() { Ok(()) } else { Err(refused()) }
    }
}

/// Cancels work when the request that it is for is dropped.
struct CancelOnDrop(CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Whether the caller of a request may write, for the extractor of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MayWrite(pub(crate) bool);

impl FromRequestParts<ServerState> for RequestCaller {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, app: &ServerState) -> Result<Self, HttpProblem> {
        let token = token_of(&parts.headers, parts.uri.query()).unwrap_or_default();
        Self::of_token(parts, app, token)
    }
}

impl RequestCaller {
    /// Returns the caller with a token.
    pub(crate) fn of_token(
        parts: &mut Parts,
        app: &ServerState,
        token: String,
    ) -> Result<Self, HttpProblem> {
        let grant = app.access.check(&token).inspect_err(|_| {
            app.metrics.refused_callers.inc();
        })?;
        app.uses.note(&app.access, &grant);
        if let Some(slot) = parts.extensions.get::<CallerTokenSlot>() {
            slot.fill(token);
        }
        parts.extensions.insert(MayWrite(grant.may_write()));
        Ok(Self { grant, app: app.clone() })
    }
}

/// Runs a blocking call, such as a call of the workspace, without delaying other connections.
pub(crate) async fn apart<T>(call: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(call))
}

/// Reads a path of a request.
pub(crate) fn path_of(text: &str) -> Result<VPath, HttpProblem> {
    VPath::parse(text).map_err(|error| HttpProblem::new(StatusCode::BAD_REQUEST, error.to_string()))
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use yfs::{Workspace, WorkspaceOptions};

    use super::*;
    use crate::{access::AccessControl, document_access::tests::app};

    /// What a client asked for goes on only as long as the client waits for it.
    #[tokio::test]
    async fn work_ends_when_its_request_is_dropped() {
        let store = Arc::new(yfs_store::MemoryStore::new());
        let workspace = Workspace::create(store, WorkspaceOptions::default()).unwrap();
        let app = app(&workspace, AccessControl::Open, 1);
        let caller = RequestCaller { grant: AccessGrant::everything(), app };
        let (begin, begun) = oneshot::channel();
        let (held, ended) = oneshot::channel::<()>();
        let work = async move {
            let _held = held;
            begin.send(()).unwrap();
            pending::<()>().await;
        };
        let request =
            tokio::spawn(async move { caller.within_budget(WorkCost::ANALYSIS, work).await });
        begun.await.unwrap();
        request.abort();
        // The work was dropped, and with it the sender.
        assert!(ended.await.is_err());
    }
}
