//! Why a request failed.

use serde::Serialize;

/// Problem details by RFC 9457.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Problem"))]
pub struct ProblemJson {
    /// The sort of problem, in words that do not change.
    pub title: &'static str,
    /// The explanation of this occurrence.
    pub detail: String,
    /// The error code of the filesystem, such as `ENOENT` or `ESTALE`; absent for other problems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// The path concerned; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}
