//! Why a WebSocket ends, as its close frame says it.

use yfs_sync::SyncError;

/// The close code that asks the client to reconnect and sync again.
pub(crate) const TRY_AGAIN_LATER: u16 = 1013;

/// Why a connection ends.
#[derive(Debug)]
pub(crate) struct CloseReason {
    pub(crate) code: u16,
    pub(crate) reason: String,
}

impl CloseReason {
    /// The client reads more slowly than others write.
    pub(crate) fn behind() -> Self {
        Self { code: TRY_AGAIN_LATER, reason: "fell too far behind".to_owned() }
    }

    /// The workspace was closed.
    pub(crate) fn closed() -> Self {
        Self { code: TRY_AGAIN_LATER, reason: "the workspace was closed".to_owned() }
    }

    /// Too many clients wait to join.
    pub(crate) fn busy() -> Self {
        Self { code: TRY_AGAIN_LATER, reason: "too many are joining, try again".to_owned() }
    }

    /// A message exceeds the size limit.
    pub(crate) fn too_large() -> Self {
        Self { code: 1009, reason: "the message is too long".to_owned() }
    }

    /// The client violated RFC 6455.
    pub(crate) fn malformed() -> Self {
        Self { code: 1002, reason: "malformed frame".to_owned() }
    }

    /// The client does not answer.
    pub(crate) fn silent() -> Self {
        Self { code: 1001, reason: "silent for too long".to_owned() }
    }

    /// The client did not authenticate.
    pub(crate) fn unauthorized(reason: impl Into<String>) -> Self {
        Self { code: 4401, reason: short(reason.into()) }
    }

    /// The grant does not cover the document.
    pub(crate) fn forbidden(reason: impl Into<String>) -> Self {
        Self { code: 4403, reason: short(reason.into()) }
    }

    /// There is no such document.
    pub(crate) fn not_found(reason: impl Into<String>) -> Self {
        Self { code: 4404, reason: short(reason.into()) }
    }

    /// Reports whether the condition may end by itself: the document is created, or moved to where
    /// the grant covers it.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self.code, 4403 | 4404)
    }

    /// Returns the close code.
    #[cfg(test)]
    pub(crate) fn code(&self) -> u16 {
        self.code
    }

    /// Returns the reason that is sent to the client.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }
}

impl From<SyncError> for CloseReason {
    fn from(error: SyncError) -> Self {
        Self { code: error.code(), reason: short(error.reason()) }
    }
}

/// Cuts a reason to the size of a close frame (123 bytes, RFC 6455 section 5.5).
fn short(mut reason: String) -> String {
    let mut end = reason.len().min(123);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason.truncate(end);
    reason
}
