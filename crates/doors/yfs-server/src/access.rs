//! Access: tokens, and the rights that each grants.
//!
//! A token is text that states what it grants, signed with a key that only the store holds (a
//! [capability](https://en.wikipedia.org/wiki/Capability-based_security)): any server of the store
//! can check it, and no other program can create one. `docs/format/tokens.md` describes the bytes.
//!
//! The holder of a token for the whole workspace may open every document. A token for a directory
//! opens the documents of files below it, and not the main document, which lists all files.

mod grant;
mod grant_guard;
mod revocations;
mod token;

pub use self::{
    grant::{AccessGrant, GrantRights, UNNAMED},
    token::{IssuedGrant, TokenError, TokenKeys},
};
pub(crate) use self::{
    grant_guard::{confined, for_agent, scoped, showing_way},
    revocations::RevocationWatch,
};

use axum::http::{HeaderMap, header};

/// The prefix of a WebSocket sub-protocol that carries a token. A browser cannot set other headers.
const PROTOCOL_PREFIX: &str = "yfs-token.";

/// How a server decides what a client may do.
#[derive(Debug, Clone)]
pub(crate) enum AccessControl {
    /// Every client that can reach the server has all rights. For loopback addresses only.
    Open,
    /// Each client must present a token.
    Tokens(TokenKeys),
}

impl AccessControl {
    /// Reports whether clients present tokens.
    pub(crate) fn asks_for_tokens(&self) -> bool {
        matches!(self, Self::Tokens(_))
    }

    /// Returns what a token grants; the empty text is not a token.
    ///
    /// # Errors
    ///
    /// If the token grants nothing here, or is no longer valid.
    pub(crate) fn check(&self, token: &str) -> Result<AccessGrant, TokenError> {
        match self {
            Self::Open => Ok(AccessGrant::everything()),
            Self::Tokens(_) if token.is_empty() => Err(TokenError::Missing),
            Self::Tokens(keys) => keys.check(token),
        }
    }
}

/// Finds the token of a request: `Authorization: Bearer`, a sub-protocol, or `?token=`, which is
/// all that some clients can send.
pub(crate) fn token_of(headers: &HeaderMap, query: Option<&str>) -> Option<String> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.split_once(' '));
    let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    if let Some((_, token)) = bearer {
        return Some(token.trim().to_owned());
    }
    if let Some(protocol) = token_protocol(headers) {
        return Some(protocol[PROTOCOL_PREFIX.len()..].to_owned());
    }
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    // A token needs no escapes, so one that has them is none.
    pairs.filter(|(name, _)| *name == "token").map(|(_, token)| token.to_owned()).next()
}

/// Returns the sub-protocol that carries a token; the answer must name it.
pub(crate) fn token_protocol(headers: &HeaderMap) -> Option<&str> {
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let mut offered =
        offered.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    offered.find_map(|name| Some(name.trim()).filter(|name| name.starts_with(PROTOCOL_PREFIX)))
}

#[cfg(test)]
mod tests;
