//! The caller of a request and its rights, which are extracted before the body.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use tokio::{runtime::Handle, task::block_in_place};
use yfs::WorkspaceFs;
use yfs_engine::path::VPath;
use yfs_vfs::{FileSystem, FsCode, FsError, Op};

use crate::{
    access::{AccessGrant, confined, scoped, token_of},
    grant_stream::CallerTokenSlot,
    problem::HttpProblem,
    serve::ServerState,
};

/// The caller of a request.
#[derive(Debug)]
pub(crate) struct RequestCaller {
    pub(crate) grant: AccessGrant,
    pub(crate) app: ServerState,
}

impl RequestCaller {
    /// Returns the files that the caller may see.
    pub(crate) fn fs(&self) -> Arc<dyn FileSystem> {
        scoped(&self.app.workspace, &self.grant)
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

/// Whether the caller of a request may write, for the extractor of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MayWrite(pub(crate) bool);

impl FromRequestParts<ServerState> for RequestCaller {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, app: &ServerState) -> Result<Self, HttpProblem> {
        let token = token_of(&parts.headers, parts.uri.query()).unwrap_or_default();
        let grant = app.access.check(&token).inspect_err(|_| {
            app.metrics.refused_callers.inc();
        })?;
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
