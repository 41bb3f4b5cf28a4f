//! Conditional requests (RFC 9110, section 13), for all HTTP services of files.

use http::{HeaderMap, header};
use thiserror::Error;
use yfs_types::id::FileId;
use yfs_vfs::{CreateMode, FsCode, FsError, Op, VersionToken};

/// The error of a condition that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct MalformedCondition(String);

type Result<T> = std::result::Result<T, MalformedCondition>;

/// The preconditions of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RequestConditions {
    /// Whether the file may, must or must not exist.
    pub create: CreateMode,
    /// The version that the client read.
    pub known: Option<KnownFileState>,
}

/// A version of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownFileState {
    /// The version.
    pub version: VersionToken,
    /// The id of the file, as a tag has it.
    id: String,
}

impl RequestConditions {
    /// Parses `If-Match` and `If-None-Match` of a request that writes.
    ///
    /// # Errors
    ///
    /// If they are none that a write takes.
    pub fn of(headers: &HeaderMap) -> Result<Self> {
        let mut conditions = Self::default();
        if let Some(tag) = text(headers, &header::IF_NONE_MATCH) {
            if tag != "*" {
                return Err(MalformedCondition(
                    "a write takes no If-None-Match but `*`".to_owned(),
                ));
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
    pub(crate) fn parse(tag: &str) -> Result<Self> {
        let parsed = || {
            let opaque = tag.strip_prefix('"')?.strip_suffix('"')?;
            let (version, id) = opaque.rsplit_once(':').filter(|_| !opaque.contains('"'))?;
            Some(Self { version: VersionToken::new(version), id: id.to_owned() })
        };
        parsed().ok_or_else(|| MalformedCondition(format!("If-Match takes one ETag, not {tag}")))
    }

    /// Rejects the request if another file is at the path now.
    ///
    /// # Errors
    ///
    /// Fails with `ESTALE` then.
    pub fn check_file(&self, id: &FileId, path: &str) -> std::result::Result<(), FsError> {
        if self.id == id_in_tag(id) {
            return Ok(());
        }
        Err(FsError::new(FsCode::ESTALE, Op::Write, path))
    }
}

/// Returns the entity tag of a version.
pub fn entity_tag(id: &FileId, version: &VersionToken) -> String {
    format!("\"{version}:{}\"", id_in_tag(id))
}

/// Returns an id as entity tags have it: the quotation mark, which no tag can have (RFC 9110,
/// section 8.8.3), the comma, which separates tags in lists, the colon before the id, and `%` are
/// percent-encoded.
fn id_in_tag(id: &FileId) -> String {
    let mut text = String::with_capacity(id.as_str().len());
    for character in id.as_str().chars() {
        match character {
            '"' => text.push_str("%22"),
            ',' => text.push_str("%2C"),
            ':' => text.push_str("%3A"),
            '%' => text.push_str("%25"),
            character => text.push(character),
        }
    }
    text
}

/// Reports whether a reader has this version already, by weak comparison.
pub fn unchanged(headers: &HeaderMap, etag: &str) -> bool {
    text(headers, &header::IF_NONE_MATCH).is_some_and(|tags| tags == "*" || names_tag(tags, etag))
}

/// Reports whether a list of tags has one, by weak comparison.
pub(crate) fn names_tag(tags: &str, etag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    tags.split(',').any(|tag| opaque(tag) == opaque(etag))
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

    /// Ids of other programs can have every printable character but slashes.
    #[test]
    fn the_tag_of_every_id_is_one_tag_that_conditions_take() {
        let version = VersionToken::new("s:17");
        for text in ["a\"b", "\"", "a,b", "a%22b", "%", "a:b", "W\"x", "x\",\"17:y", "{!~}"] {
            let id = FileId::parse(text).unwrap();
            let tag = entity_tag(&id, &version);
            let opaque = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap();
            let is_etagc = |byte: u8| byte == 0x21 || (0x23..=0x7e).contains(&byte);
            assert!(opaque.bytes().all(is_etagc), "{tag}");
            let known = RequestConditions::of(&headers(&[(header::IF_MATCH, &tag)])).unwrap().known;
            let known = known.unwrap();
            assert_eq!(known.version, version, "{tag}");
            known.check_file(&id, "/f").unwrap();
            assert!(known.check_file(&FileId::parse("other").unwrap(), "/f").is_err());
            let list = format!("\"1:x\", {tag}");
            assert!(unchanged(&headers(&[(header::IF_NONE_MATCH, &list)]), &tag), "{tag}");
        }
        let tags =
            ["a\"", "a%22", "a,"].map(|id| entity_tag(&FileId::parse(id).unwrap(), &version));
        assert!(tags[0] != tags[1] && tags[0] != tags[2]);
    }

    #[test]
    fn readers_name_the_version_that_they_have() {
        let has = |value| unchanged(&headers(&[(header::IF_NONE_MATCH, value)]), "\"17:abc\"");
        assert!(has("*") && has("\"17:abc\"") && has("\"1:x\", W/\"17:abc\""));
        assert!(unchanged(&headers(&[(header::IF_NONE_MATCH, "W/\"1\"")]), "W/\"1\""));
        assert!(!has("\"18:abc\"") && !unchanged(&headers(&[]), "\"17:abc\""));
    }
}
