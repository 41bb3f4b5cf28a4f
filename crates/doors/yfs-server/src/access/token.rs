//! Tokens as text: issued, checked, revoked (`docs/format/tokens.md`).

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use yfs::clock::{Clock, SystemClock};
use yfs_engine::{actor::Actor, path::VPath, time::Millis};
use yfs_store::{Store, StoreError};

use super::grant::{AccessGrant, GrantRights};

/// The prefix of every token, so that scanners for leaked secrets can find tokens.
const PREFIX: &str = "yfs_";

/// The greatest length of a token that is parsed, in bytes.
const MAX_LEN: usize = 8 << 10;

/// The name of the store's secret that is the key.
const KEY_SECRET: &str = "server.key";

/// The prefix of the settings that record revoked grants.
const REVOKED_SETTING: &str = "server.revoked.";

/// The setting that changes whenever tokens are revoked.
const REVISION_SETTING: &str = "server.revision";

/// The prefix of the settings that record when a grant was used last.
const USED_SETTING: &str = "server.used.";

/// The separator of an id: a grant is revoked with the one that it was derived from.
const DERIVED: char = '.';

/// The beginning of the settings that list the grants that were issued, numbered from 0.
const ISSUED_SETTING: &str = "server.issued.";

/// The length of the signature, in bytes.
const MAC_LEN: usize = 32;

/// The length of the name of a key, in bytes.
const KEY_NAME_LEN: usize = 8;

/// Makes and checks the tokens of one store.
#[derive(Clone)]
pub struct TokenKeys {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
}

/// The reason why a token grants nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The request has no token.
    #[error("a token is needed")]
    Missing,
    /// The token was not issued by this store, or was changed.
    #[error("the token is not valid")]
    Invalid,
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
    /// The token was revoked.
    #[error("the token was revoked")]
    Revoked,
    /// The store could not be read.
    #[error("the store failed")]
    Store(#[from] StoreError),
}

/// The content of a token.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenClaims {
    id: String,
    rights: String,
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
    actor: String,
}

/// A grant that was recorded, and whether its tokens are still accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedGrant {
    /// The grant.
    pub grant: AccessGrant,
    /// Whether its tokens were revoked. An expired grant is not revoked.
    pub revoked: bool,
    /// When it was made, and by which actor; `None` for one that an earlier version recorded.
    pub made: Option<(Millis, Actor)>,
}

/// A record of a grant, as the store keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct IssuedRecord {
    /// Names the key that signed the token, without revealing it.
    key: String,
    claims: TokenClaims,
    /// When it was made, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<i64>,
    /// The actor that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

impl TokenKeys {
    /// Reads the key of a store, which is created on first use.
    pub fn of(store: Arc<dyn Store>) -> Self {
        Self { store, clock: Arc::new(SystemClock) }
    }

    /// Reads the time from another clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Returns the token of a grant. Equal grants have equal tokens.
    pub fn issue(&self, grant: &AccessGrant) -> Result<String, TokenError> {
        let claims = TokenClaims::of(grant);
        let claims = serde_json::to_vec(&claims).expect("strings and numbers are JSON");
        let mac = blake3::keyed_hash(&self.key()?, &claims);
        let claims = URL_SAFE_NO_PAD.encode(claims);
        Ok(format!("{PREFIX}{claims}.{}", URL_SAFE_NO_PAD.encode(mac.as_bytes())))
    }

    /// Makes the token of a grant on behalf of an actor, and records the grant, so that
    /// [`issued`](Self::issued) lists it. The record does not contain the token.
    pub fn issue_listed(&self, grant: &AccessGrant, by: &Actor) -> Result<String, TokenError> {
        let (key, claims) = (self.key_name()?, TokenClaims::of(grant));
        let (made, by) = (Some(self.clock.now().0), Some(by.to_string()));
        let record = IssuedRecord { key, claims, made, by };
        let record = serde_json::to_vec(&record).expect("strings and numbers are JSON");
        // Another process may record at the same time: the first free number is taken atomically.
        let mut number = 0_u64;
        while self.store.init_meta(&format!("{ISSUED_SETTING}{number}"), &record)? != record {
            number += 1;
        }
        self.issue(grant)
    }

    /// Returns the recorded grants, oldest first. Skips records that this version cannot read.
    pub fn issued(&self) -> Result<Vec<IssuedGrant>, TokenError> {
        let key_name = self.key_name()?;
        let mut issued = Vec::new();
        let mut number = 0_u64;
        while let Some(record) = self.store.get_meta(&format!("{ISSUED_SETTING}{number}"))? {
            number += 1;
            let Ok(record) = serde_json::from_slice::<IssuedRecord>(&record) else { continue };
            let Some(grant) = record.claims.read() else { continue };
            let revoked = record.key != key_name || self.is_revoked(&grant.id)?;
            let by = record.by.and_then(|by| by.parse::<Actor>().ok());
            let made = record.made.map(Millis).zip(by);
            issued.push(IssuedGrant { grant, revoked, made });
        }
        Ok(issued)
    }

    /// Returns the grant of a token that this store signed, also if it has expired or was revoked.
    ///
    /// # Errors
    ///
    /// If this store did not sign the token.
    pub fn identify(&self, token: &str) -> Result<AccessGrant, TokenError> {
        self.verified(token)?.read().ok_or(TokenError::Invalid)
    }

    /// Returns what a token grants.
    ///
    /// # Errors
    ///
    /// If the token grants nothing, or is no longer valid.
    pub fn check(&self, token: &str) -> Result<AccessGrant, TokenError> {
        let claims = self.verified(token)?;
        let grant = claims.read().ok_or(TokenError::Invalid)?;
        if grant.expires.is_some_and(|expires| expires <= self.clock.now()) {
            return Err(TokenError::Expired);
        }
        if self.is_revoked(&grant.id)? {
            return Err(TokenError::Revoked);
        }
        Ok(grant)
    }

    /// Revokes every token of a grant, and of those that are derived from it, for good.
    pub fn revoke(&self, id: &str) -> Result<(), TokenError> {
        let now = self.clock.now().0.to_string();
        self.store.set_meta(&format!("{REVOKED_SETTING}{id}"), now.as_bytes())?;
        self.advance_revision()
    }

    /// Revokes every token of the store, the owner's included, by replacing the key.
    pub fn revoke_all(&self) -> Result<(), TokenError> {
        self.store.set_secret(KEY_SECRET, &random_key())?;
        self.advance_revision()
    }

    /// Returns a value that changes whenever tokens are revoked, by whichever process.
    pub(crate) fn revision(&self) -> Result<Option<Vec<u8>>, TokenError> {
        Ok(self.store.get_meta(REVISION_SETTING)?)
    }

    /// Records that a grant is used now.
    pub(crate) fn note_use(&self, id: &str) -> Result<(), TokenError> {
        let now = self.clock.now().0.to_string();
        Ok(self.store.set_meta(&format!("{USED_SETTING}{id}"), now.as_bytes())?)
    }

    /// Returns when a grant was used last, if that was recorded.
    pub(crate) fn last_use(&self, id: &str) -> Result<Option<Millis>, TokenError> {
        let recorded = self.store.get_meta(&format!("{USED_SETTING}{id}"))?;
        let text = recorded.and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(text.and_then(|text| text.parse().ok()).map(Millis))
    }

    /// Returns the time on the clock of the keys.
    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    fn advance_revision(&self) -> Result<(), TokenError> {
        Ok(self.store.set_meta(REVISION_SETTING, &random_key()[..KEY_NAME_LEN])?)
    }

    /// Reports whether a grant was revoked, or one that it is derived from.
    fn is_revoked(&self, id: &str) -> Result<bool, TokenError> {
        let ends = id.match_indices(DERIVED).map(|(at, _)| at).chain([id.len()]);
        for end in ends {
            if self.store.get_meta(&format!("{REVOKED_SETTING}{}", &id[..end]))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a name of the current key: the beginning of a hash of it.
    fn key_name(&self) -> Result<String, TokenError> {
        let hash = blake3::derive_key("yfs server.issued key name", &self.key()?);
        Ok(URL_SAFE_NO_PAD.encode(&hash[..KEY_NAME_LEN]))
    }

    fn verified(&self, token: &str) -> Result<TokenClaims, TokenError> {
        let read = || {
            let rest = token.strip_prefix(PREFIX).filter(|_| token.len() <= MAX_LEN)?;
            let (claims, mac) = rest.split_once('.')?;
            let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
            let mac: [u8; MAC_LEN] = URL_SAFE_NO_PAD.decode(mac).ok()?.try_into().ok()?;
            Some((claims, blake3::Hash::from_bytes(mac)))
        };
        let (claims, mac) = read().ok_or(TokenError::Invalid)?;
        // Hashes of this library compare in constant time.
        if blake3::keyed_hash(&self.key()?, &claims) != mac {
            return Err(TokenError::Invalid);
        }
        serde_json::from_slice(&claims).map_err(|_| TokenError::Invalid)
    }

    fn key(&self) -> Result<[u8; 32], TokenError> {
        let key = self.store.init_secret(KEY_SECRET, &random_key())?;
        key.try_into().map_err(|_| TokenError::Invalid)
    }
}

impl TokenClaims {
    fn of(grant: &AccessGrant) -> Self {
        Self {
            id: grant.id.clone(),
            rights: grant.rights.as_str().to_owned(),
            path: grant.path.to_string(),
            expires: grant.expires.map(|at| at.0),
            actor: grant.actor.to_string(),
        }
    }

    fn read(self) -> Option<AccessGrant> {
        Some(AccessGrant {
            id: self.id,
            rights: GrantRights::parse(&self.rights)?,
            path: VPath::parse(&self.path).ok()?,
            expires: self.expires.map(Millis),
            actor: self.actor.parse::<Actor>().ok()?,
        })
    }
}

impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    getrandom::fill(&mut key).expect("the operating system has a random source");
    key
}
