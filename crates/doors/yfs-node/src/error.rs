//! Errors as JavaScript gets them: the reason is JSON, which `ts/errors.ts` converts to an `Error`
//! with a code.

use std::{error::Error, fmt::Display, io::ErrorKind};

use serde_json::json;
use yfs::WorkspaceError;
use yfs_agent::json_query::JsonQueryError;
use yfs_agent_workspace::LabelUndoError;
use yfs_artifacts::ArtifactError;
use yfs_peer::{JoinCodeError, PeerError};
use yfs_store::StoreError;
use yfs_threads::{ThreadError, ThreadFileError};
use yfs_vfs::{FsCode, FsError};

/// An error that JavaScript gets.
pub(crate) trait NodeFailure: Error {
    /// Returns its code, or the error of a cause that JavaScript gets in its place.
    fn code(&self) -> Result<&'static str, napi::Error>;
}

/// An error as JavaScript gets it, for functions that call others with errors of several types.
pub(crate) struct NodeError(pub(crate) napi::Error);

impl<E: NodeFailure> From<E> for NodeError {
    fn from(error: E) -> Self {
        Self(of(error))
    }
}

impl From<napi::Error> for NodeError {
    fn from(error: napi::Error) -> Self {
        Self(error)
    }
}

/// Converts an error.
pub(crate) fn of<E: NodeFailure>(error: E) -> napi::Error {
    of_ref(&error)
}

fn of_ref(error: &dyn NodeFailure) -> napi::Error {
    match error.code() {
        Ok(code) => plain(code, &error.to_string(), causes(error.source())),
        Err(cause) => cause,
    }
}

impl NodeFailure for FsError {
    /// A call that was still waiting when the workspace was closed gets the same error as a call
    /// after it.
    fn code(&self) -> Result<&'static str, napi::Error> {
        if matches!(WorkspaceError::cause_of(self), Some(WorkspaceError::Closed)) {
            return Err(closed());
        }
        let reason = json!({
            "code": self.code.as_str(),
            "errno": -self.code.errno(),
            "syscall": self.op.as_str(),
            "path": self.path,
            "dest": self.dest,
            "message": self.to_string(),
            "cause": causes(self.source()),
            "lost": self.is_cursor_lost(),
        });
        Err(napi::Error::from_reason(reason.to_string()))
    }
}

impl NodeFailure for WorkspaceError {
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            WorkspaceError::Fs(error) => return Err(of_ref(error)),
            WorkspaceError::NotFound => "ERR_YFS_NOT_FOUND",
            WorkspaceError::Exists => "ERR_YFS_EXISTS",
            WorkspaceError::Closed => "ERR_YFS_CLOSED",
            WorkspaceError::ReadOnly => "EROFS",
            WorkspaceError::NoDocument(_) => "ERR_YFS_NO_DOCUMENT",
            WorkspaceError::NoFile(_) => "ERR_YFS_NO_FILE",
            WorkspaceError::Refused(_) => "ERR_YFS_REFUSED",
            WorkspaceError::Table(_) => "ERR_YFS_TABLE",
            WorkspaceError::Store(StoreError::Key { .. }) => "ERR_YFS_KEY",
            WorkspaceError::Store(_) => "ERR_YFS_STORE",
            WorkspaceError::Content(_) => "ERR_YFS_CONTENT",
            WorkspaceError::Redacted { .. } => "ERR_YFS_REDACTED",
            WorkspaceError::Anchor(_) => "ERR_YFS_ANCHOR",
            WorkspaceError::Host { source, .. } => FsCode::of_io(source).as_str(),
            _ => "ERR_YFS",
        })
    }
}

/// Returns the error of an invalid argument.
pub(crate) fn invalid(what: &str, value: &str) -> napi::Error {
    plain("ERR_INVALID_ARG_VALUE", &format!("not {what}: {value:?}"), None)
}

/// Returns the error of options that make no sense, without their values, which may be secret.
pub(crate) fn invalid_options(reason: &dyn Display) -> napi::Error {
    plain("ERR_INVALID_ARG_VALUE", &format!("the options are not valid: {reason}"), None)
}

/// Returns the error of a closed workspace.
pub(crate) fn closed() -> napi::Error {
    of(WorkspaceError::Closed)
}

/// Returns the error of a call that panicked; its effect is unknown.
pub(crate) fn died(error: &dyn Error) -> napi::Error {
    plain("ERR_YFS_INTERNAL", &error.to_string(), None)
}

/// Returns the error of an invalid path.
pub(crate) fn bad_path(
    op: yfs_vfs::Op,
    text: &str,
    error: yfs_engine::path::PathError,
) -> napi::Error {
    let error = FsError::bad_path(op, text, error);
    match error.code {
        // As Node does with paths that hold a NUL.
        FsCode::EINVAL => invalid("a path without null bytes", text),
        _ => of(error),
    }
}

impl NodeFailure for ThreadError {
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            ThreadError::Fs(error) => return Err(of_ref(error)),
            ThreadError::Workspace(error) => return Err(of_ref(error)),
            ThreadError::Id(_) => "ERR_INVALID_ARG_VALUE",
            ThreadError::Missing(_) => "ERR_YFS_NO_THREAD",
            ThreadError::Exists(_) => "ERR_YFS_THREAD_EXISTS",
            _ => "ERR_YFS",
        })
    }
}

impl NodeFailure for ThreadFileError {
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            ThreadFileError::Fs(error) => return Err(of_ref(error)),
            ThreadFileError::ReservedMember(_) | ThreadFileError::BadExternal(_) => {
                "ERR_INVALID_ARG_VALUE"
            }
            ThreadFileError::Thumbnail { .. } => "ERR_YFS_THUMBNAIL",
            _ => "ERR_YFS",
        })
    }
}

impl NodeFailure for ArtifactError {
    /// A file that is gone is `ENOENT`, one with another content `EIO`.
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            ArtifactError::Fs(error) => return Err(of_ref(error)),
            ArtifactError::Missing { .. } => FsCode::ENOENT.as_str(),
            ArtifactError::Corrupt { .. } | ArtifactError::Open { .. } => FsCode::EIO.as_str(),
            ArtifactError::Namespace(_)
            | ArtifactError::BadReference(_)
            | ArtifactError::Template(_) => "ERR_INVALID_ARG_VALUE",
            _ => "ERR_YFS",
        })
    }
}

impl NodeFailure for JsonQueryError {
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            JsonQueryError::Cancelled => FsCode::ECANCELED.as_str(),
            JsonQueryError::Exceeded => "ERR_YFS_QUERY_LIMIT",
            _ => "ERR_YFS_QUERY",
        })
    }
}

impl NodeFailure for LabelUndoError {
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            LabelUndoError::Fs(error) => return Err(of_ref(error)),
            LabelUndoError::NoSuchLabel { .. } => "ERR_YFS_NO_LABEL",
            LabelUndoError::OtherActors { .. } => "ERR_YFS_OTHER_ACTORS",
            _ => "ERR_YFS",
        })
    }
}

/// Converts the error of reading the records of agents.
pub(crate) fn of_audit(error: &std::io::Error) -> napi::Error {
    plain(FsCode::of_io(error).as_str(), &format!("cannot read the records: {error}"), None)
}

impl NodeFailure for PeerError {
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            PeerError::Workspace(error) => return Err(of_ref(error)),
            PeerError::BadTicket => "ERR_YFS_TICKET",
            PeerError::NotShared => "ERR_YFS_NOT_SHARED",
            PeerError::NotOwner => "ERR_YFS_NOT_OWNER",
            PeerError::AlreadyRunning => "ERR_YFS_PEERS_RUNNING",
            PeerError::NoPeer(..) => "ERR_YFS_NO_PEER",
            PeerError::Denied(_) | PeerError::Denies(_) => "ERR_YFS_PEER_DENIED",
            PeerError::Listen { source, .. } => match source.kind() {
                ErrorKind::AddrInUse => "EADDRINUSE",
                ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
                _ => FsCode::of_io(source).as_str(),
            },
            PeerError::Store(_) => "ERR_YFS_STORE",
            PeerError::Io(source) => FsCode::of_io(source).as_str(),
            _ => "ERR_YFS",
        })
    }
}

impl NodeFailure for JoinCodeError {
    /// No message contains the words of a code.
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            JoinCodeError::Malformed | JoinCodeError::UnknownWord { .. } => "ERR_INVALID_ARG_VALUE",
            JoinCodeError::NotFound { .. } | JoinCodeError::NotAtRelay { .. } => "ERR_YFS_NO_CODE",
            JoinCodeError::Unreachable { .. } | JoinCodeError::Lan(_) => "ERR_YFS_UNREACHABLE",
            _ => "ERR_YFS_CODE",
        })
    }
}

/// Returns the error of a call that needs connections with peers.
pub(crate) fn not_connected() -> napi::Error {
    plain("ERR_YFS_NOT_CONNECTED", "no process connects the workspace with its peers", None)
}

/// Returns the error of an argument whose JSON has other members than its type.
pub(crate) fn not_json(what: &str, reason: &dyn Display) -> napi::Error {
    plain("ERR_INVALID_ARG_VALUE", &format!("not {what}: {reason}"), None)
}

fn plain(code: &str, message: &str, cause: Option<String>) -> napi::Error {
    let message = format!("{code}: {message}");
    let reason = json!({ "code": code, "message": message, "cause": cause });
    napi::Error::from_reason(reason.to_string())
}

fn causes(mut error: Option<&(dyn Error + 'static)>) -> Option<String> {
    let mut messages = Vec::new();
    while let Some(cause) = error {
        messages.push(cause.to_string());
        error = cause.source();
    }
    (!messages.is_empty()).then(|| messages.join(": "))
}
