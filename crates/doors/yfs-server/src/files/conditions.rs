//! Conditional requests (RFC 9110, section 13).

use axum::http::{HeaderMap, header};
use yfs_engine::id::FileId;
use yfs_vfs::{CreateMode, FsCode, FsError, Op, VersionToken};

use crate::problem::{HttpProblem, Result};

/// The preconditions of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestConditions {
    /// Whether the file may, must or must not exist.
    pub(crate) create: CreateMode,
    /// The version that the client read.
    pub(crate) known: Option<KnownFileState>,
}

/// A version of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KnownFileState {
    pub(crate) version: VersionToken,
    id: String,
}

impl RequestConditions {
    /// Parses `If-Match` and `If-None-Match` of a request that writes.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self> {
        let mut conditions = Self::default();
        if let Some(tag) = text(headers, &header::IF_NONE_MATCH) {
            if tag != "*" {
                return Err(HttpProblem::bad_request("a write takes no If-None-Match but `*`"));
            }
            conditions.create = CreateMode::New;
        }
        if let Some(tag) = text(headers, &header::IF_MATCH) {
            conditions.create = CreateMode::Never;
            if tag != "*" {
                conditions.known = Some(KnownFileState::parse(tag)?);
            }
        }
        Ok(conditions)
    }
}

impl KnownFileState {
    fn parse(tag: &str) -> Result<Self> {
        let parsed = || {
            let (version, id) = tag.strip_prefix('"')?.strip_suffix('"')?.split_once(':')?;
            let is_one = !id.contains('"');
            is_one.then(|| Self { version: VersionToken::new(version), id: id.to_owned() })
        };
        parsed()
            .ok_or_else(|| HttpProblem::bad_request(format!("If-Match takes one ETag, not {tag}")))
    }

    /// Rejects the request if another file is at the path now.
    pub(crate) fn check_file(&self, id: &FileId, path: &str) -> Result<()> {
        if self.id == id.as_str() {
            return Ok(());
        }
        Err(FsError::new(FsCode::ESTALE, Op::Write, path).into())
    }
}

/// Returns the entity tag of a version.
pub(crate) fn etag(id: &FileId, version: &VersionToken) -> String {
    format!("\"{version}:{id}\"")
}

/// Reports whether a reader has this version already, by weak comparison.
pub(crate) fn unchanged(headers: &HeaderMap, etag: &str) -> bool {
    let Some(tags) = text(headers, &header::IF_NONE_MATCH) else { return false };
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    tags == "*" || tags.split(',').any(|tag| opaque(tag) == opaque(etag))
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn conditions_are_read() {
        let of =
            |name: header::HeaderName, value| RequestConditions::of(&headers(&[(name, value)]));
        assert_eq!(RequestConditions::of(&headers(&[])).unwrap(), RequestConditions::default());
        let new = of(header::IF_NONE_MATCH, "*").unwrap();
        assert_eq!((new.create, new.known), (CreateMode::New, None));
        let known = of(header::IF_MATCH, "\"17:abc\"").unwrap();
        let state = KnownFileState { version: VersionToken::new("17"), id: "abc".to_owned() };
        assert_eq!((known.create, known.known), (CreateMode::Never, Some(state)));
        for bad in ["17:abc", "\"17\"", "\"1:a\", \"2:b\""] {
            let read = of(header::IF_MATCH, bad);
            assert!(read.is_err(), "{bad}");
        }
        assert!(of(header::IF_NONE_MATCH, "\"17:abc\"").is_err());
    }

    #[test]
    fn readers_name_the_version_that_they_have() {
        let has = |value| unchanged(&headers(&[(header::IF_NONE_MATCH, value)]), "\"17:abc\"");
        assert!(has("*") && has("\"17:abc\"") && has("\"1:x\", W/\"17:abc\""));
        assert!(unchanged(&headers(&[(header::IF_NONE_MATCH, "W/\"1\"")]), "W/\"1\""));
        assert!(!has("\"18:abc\"") && !unchanged(&headers(&[]), "\"17:abc\""));
    }
}
