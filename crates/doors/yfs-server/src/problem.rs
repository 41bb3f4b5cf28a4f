//! Failures as HTTP answers: a status, and JSON by RFC 9457 ("problem details").

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use yfs::WorkspaceError;
use yfs_dav::{conditions::MalformedCondition, status_of};
use yfs_store::StoreError;
use yfs_vfs::{FsCode, FsError};
use yfs_wire::ProblemJson;

use crate::access::TokenError;

/// The result of a handler.
pub(crate) type Result<T = Response> = std::result::Result<T, HttpProblem>;

/// Why a request was rejected. The request has changed nothing.
#[derive(Debug)]
pub(crate) struct HttpProblem {
    status: StatusCode,
    body: ProblemJson,
}

impl HttpProblem {
    /// Makes a problem of a status.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        let body = ProblemJson { title, detail: detail.into(), code: None, path: None };
        Self { status, body }
    }

    /// Makes a problem of a status from an error and its causes.
    pub(crate) fn caused(status: StatusCode, error: &dyn std::error::Error) -> Self {
        let mut detail = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            detail += &format!(": {error}");
            cause = error.source();
        }
        Self::new(status, detail)
    }

    /// Makes the problem of an error that the filesystem would have a code for.
    pub(crate) fn coded(code: FsCode, error: &dyn std::error::Error) -> Self {
        let mut problem = Self::caused(status_of(code), error);
        problem.body.code = Some(code.as_str());
        problem
    }

    /// Makes the problem of a malformed request.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Makes the problem of a request that the grant does not cover.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, Json(self.body)).into_response();
        let headers = response.headers_mut();
        let media_type = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, media_type);
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<FsError> for HttpProblem {
    fn from(error: FsError) -> Self {
        // A client may repeat a request that was still waiting when the server stopped.
        if matches!(WorkspaceError::cause_of(&error), Some(WorkspaceError::Closed)) {
            return WorkspaceError::Closed.into();
        }
        if let Some(absent) = WorkspaceError::cause_of(&error).filter(|e| e.is_absent_blob()) {
            let reason = "the content has not arrived at this server yet";
            let mut problem = Self::new(StatusCode::CONFLICT, format!("{reason}: {absent}"));
            problem.body.path = error.path.as_deref().map(str::to_owned);
            problem.body.code = Some(error.code.as_str());
            return problem;
        }
        let path = error.path.as_deref().map(str::to_owned);
        let code = Some(error.code.as_str());
        let detail = match &error.source {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        let mut problem = Self::new(status_of(error.code), detail);
        (problem.body.code, problem.body.path) = (code, path);
        problem
    }
}

impl From<WorkspaceError> for HttpProblem {
    fn from(error: WorkspaceError) -> Self {
        let status = match &error {
            WorkspaceError::Fs(_) => {
                let WorkspaceError::Fs(error) = error else { unreachable!("just matched") };
                return error.into();
            }
            WorkspaceError::NoDocument(_) | WorkspaceError::NoFile(_) => StatusCode::NOT_FOUND,
            WorkspaceError::ReadOnly => StatusCode::FORBIDDEN,
            WorkspaceError::Redacted { .. } => StatusCode::GONE,
            error if error.is_absent_blob() => StatusCode::CONFLICT,
            WorkspaceError::Refused(_) | WorkspaceError::Anchor(_) => StatusCode::BAD_REQUEST,
            WorkspaceError::Closed => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<MalformedCondition> for HttpProblem {
    fn from(error: MalformedCondition) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<StoreError> for HttpProblem {
    fn from(error: StoreError) -> Self {
        WorkspaceError::from(error).into()
    }
}

impl From<TokenError> for HttpProblem {
    fn from(error: TokenError) -> Self {
        let status = match error {
            TokenError::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::UNAUTHORIZED,
        };
        Self::new(status, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use yfs_vfs::Op;

    use super::*;

    /// It was answered as a failure of the server.
    #[test]
    fn content_that_has_not_arrived_is_a_conflict() {
        let hash = yfs_engine::hash::ContentHash::of(b"elsewhere");
        let absent = || WorkspaceError::from(StoreError::NoBlob { hash });
        let read = FsError::new(FsCode::EIO, Op::Read, "/a.bin").caused_by(absent());
        for error in [absent(), read.into()] {
            let problem = HttpProblem::from(error);
            assert_eq!(problem.status, StatusCode::CONFLICT);
        }
    }

    #[test]
    fn a_call_that_waits_while_the_workspace_closes_is_answered_as_a_later_one() {
        let waited = FsError::new(FsCode::EIO, Op::Append, "/a").caused_by(WorkspaceError::Closed);
        for error in [WorkspaceError::Closed, waited.into()] {
            assert_eq!(HttpProblem::from(error).status, StatusCode::SERVICE_UNAVAILABLE);
        }
    }
}
