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
            Self::Fs(error) => return Err(of_ref(error)),
            Self::NotFound => "ERR_YFS_NOT_FOUND",
            Self::Exists => "ERR_YFS_EXISTS",
            Self::Closed => "ERR_YFS_CLOSED",
            Self::ReadOnly => "EROFS",
            Self::NoDocument(_) => "ERR_YFS_NO_DOCUMENT",
            Self::NoFile(_) => "ERR_YFS_NO_FILE",
            Self::Refused(_) => "ERR_YFS_REFUSED",
            Self::Table(_) => "ERR_YFS_TABLE",
            Self::Store(StoreError::Key { .. }) => "ERR_YFS_KEY",
            Self::Store(_) => "ERR_YFS_STORE",
            Self::Content(_) => "ERR_YFS_CONTENT",
            Self::Redacted { .. } => "ERR_YFS_REDACTED",
            Self::Anchor(_) => "ERR_YFS_ANCHOR",
            Self::Host { source, .. } => FsCode::of_io(source).as_str(),
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
            Self::Fs(error) => return Err(of_ref(error)),
            Self::Workspace(error) => return Err(of_ref(error)),
            Self::Id(_) => "ERR_INVALID_ARG_VALUE",
            Self::Missing(_) => "ERR_YFS_NO_THREAD",
            Self::Exists(_) => "ERR_YFS_THREAD_EXISTS",
            _ => "ERR_YFS",
        })
    }
}

impl NodeFailure for ThreadFileError {
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            Self::Fs(error) => return Err(of_ref(error)),
            Self::ReservedMember(_) | Self::BadExternal(_) => "ERR_INVALID_ARG_VALUE",
            Self::Thumbnail { .. } => "ERR_YFS_THUMBNAIL",
            _ => "ERR_YFS",
        })
    }
}

impl NodeFailure for ArtifactError {
    /// A file that is gone is `ENOENT`, one with another content `EIO`.
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            Self::Fs(error) => return Err(of_ref(error)),
            Self::Missing { .. } => FsCode::ENOENT.as_str(),
            Self::Corrupt { .. } | Self::Open { .. } => FsCode::EIO.as_str(),
            Self::Namespace(_) | Self::BadReference(_) | Self::Template(_) => {
                "ERR_INVALID_ARG_VALUE"
            }
            _ => "ERR_YFS",
        })
    }
}

impl NodeFailure for JsonQueryError {
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            Self::Cancelled => FsCode::ECANCELED.as_str(),
            Self::Exceeded => "ERR_YFS_QUERY_LIMIT",
            _ => "ERR_YFS_QUERY",
        })
    }
}

impl NodeFailure for LabelUndoError {
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            Self::Fs(error) => return Err(of_ref(error)),
            Self::NoSuchLabel { .. } => "ERR_YFS_NO_LABEL",
            Self::OtherActors { .. } => "ERR_YFS_OTHER_ACTORS",
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
            Self::Workspace(error) => return Err(of_ref(error)),
            Self::BadTicket => "ERR_YFS_TICKET",
            Self::NotShared => "ERR_YFS_NOT_SHARED",
            Self::NotOwner => "ERR_YFS_NOT_OWNER",
            Self::AlreadyRunning => "ERR_YFS_PEERS_RUNNING",
            Self::NoPeer(..) => "ERR_YFS_NO_PEER",
            Self::Denied(_) | Self::Denies(_) => "ERR_YFS_PEER_DENIED",
            Self::Listen { source, .. } => match source.kind() {
                ErrorKind::AddrInUse => "EADDRINUSE",
                ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
                _ => FsCode::of_io(source).as_str(),
            },
            Self::Store(_) => "ERR_YFS_STORE",
            Self::Io(source) => FsCode::of_io(source).as_str(),
            _ => "ERR_YFS",
        })
    }
}

impl NodeFailure for JoinCodeError {
    /// No message contains the words of a code.
    fn code(&self) -> Result<&'static str, napi::Error> {
        Ok(match self {
            Self::Malformed | Self::UnknownWord { .. } => "ERR_INVALID_ARG_VALUE",
            Self::NotFound { .. } | Self::NotAtRelay { .. } => "ERR_YFS_NO_CODE",
            Self::Unreachable { .. } | Self::Lan(_) => "ERR_YFS_UNREACHABLE",
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
