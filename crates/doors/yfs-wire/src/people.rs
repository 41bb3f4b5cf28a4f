//! Links for people, and who is there.

use serde::{Deserialize, Serialize};

use crate::UnixMillis;

/// The body of `POST /api/tokens`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenRequest {
    /// The file or the directory that the token covers.
    pub path: String,
    /// `read` or `write`.
    pub rights: String,
    /// When it expires, in milliseconds since the Unix epoch; by default as late as possible.
    pub expires: Option<i64>,
    /// The name of the person that it is for; by default each holder chooses a name.
    pub name: Option<String>,
}

/// The body of `POST /api/name`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameRequest {
    /// The name.
    pub name: String,
    /// A text that only this holder of the link knows: an equal one gets an equal token again.
    pub secret: String,
}

/// What a token grants.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Token"))]
pub struct TokenJson {
    /// The id, by which it is revoked.
    pub id: String,
    /// The token; only in the answer to the request that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The file or the directory that it covers.
    pub path: String,
    /// `read` or `write`.
    pub rights: &'static str,
    /// The author of what its holder changes.
    pub actor: String,
    /// When it expires; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<UnixMillis>,
    /// When it was made, if that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<UnixMillis>,
    /// The actor that made it, if that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When it was used last, to the minute; absent if it was not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<UnixMillis>,
}

/// The answer of `GET /api/tokens`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenList {
    /// The tokens that are valid, oldest first.
    pub tokens: Vec<TokenJson>,
}

/// The body of `POST /api/people`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PresentRequest {
    /// Identifies the page among those of the token.
    pub page: String,
    /// The id of the file that is open.
    pub open: Option<String>,
    /// The color of the person, as `#rrggbb`.
    pub color: Option<String>,
}

/// A person or an agent who is there.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Present"))]
pub struct PresentJson {
    /// The client id.
    pub client: u64,
    /// The name.
    pub name: String,
    /// The color, if one was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Whether it is an agent.
    pub agent: bool,
    /// Whether it is an agent that has just written there.
    pub writes: bool,
    /// The id of the file that is open.
    pub open: String,
}

/// The answer of `POST /api/people`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PresentList {
    /// The client id of the page that asks.
    pub client: u64,
    /// Who has a file open that the token covers.
    pub people: Vec<PresentJson>,
}
