//! The `If` header (RFC 4918, section 10.4).
//!
//! The header is a disjunction of lists, and a list a conjunction of conditions on the state of one
//! resource. All lock tokens in it count as submitted.

use crate::answer::DavError;

/// The greatest length of the header, in bytes, and the greatest number of conditions.
const MAX_LEN: usize = 16 << 10;
const MAX_CONDITIONS: usize = 256;

/// The lists of an `If` header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IfHeader {
    pub(crate) lists: Vec<IfList>,
}

/// Conditions that must all hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IfList {
    /// The URL of the resource; `None` for that of the request.
    pub(crate) resource: Option<String>,
    pub(crate) conditions: Vec<IfCondition>,
}

/// A condition on the state of a resource.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IfCondition {
    pub(crate) is_negated: bool,
    pub(crate) state: IfState,
}

/// A state of a resource.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IfState {
    /// It is locked with this token.
    Token(String),
    /// It has this entity tag.
    Tag(String),
}

impl IfHeader {
    /// Parses the header.
    pub(crate) fn parse(value: &[u8]) -> Result<Self, DavError> {
        let malformed = || DavError::bad_request("the If header is malformed");
        if value.len() > MAX_LEN {
            return Err(DavError::bad_request("the If header is too long"));
        }
        let mut rest = std::str::from_utf8(value).map_err(|_| malformed())?.trim();
        let mut header = Self::default();
        let (mut resource, mut n_conditions) = (None, 0);
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('<') {
                let (url, after) = after.split_once('>').ok_or_else(malformed)?;
                resource = Some(url.to_owned());
                rest = after.trim_start();
            }
            let inside = rest.strip_prefix('(').ok_or_else(malformed)?;
            let (conditions, after) = parse_conditions(inside).ok_or_else(malformed)?;
            n_conditions += conditions.len();
            if n_conditions > MAX_CONDITIONS {
                return Err(DavError::bad_request("the If header has too many conditions"));
            }
            header.lists.push(IfList { resource: resource.clone(), conditions });
            rest = after.trim_start();
        }
        if header.lists.is_empty() { Err(malformed()) } else { Ok(header) }
    }

    /// Returns the lock tokens that the request submits.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &str> {
        let conditions = self.lists.iter().flat_map(|list| &list.conditions);
        conditions.filter_map(|condition| match &condition.state {
            IfState::Token(token) => Some(token.as_str()),
            IfState::Tag(_) => None,
        })
    }
}

/// Parses conditions up to the closing parenthesis, and returns what follows it.
fn parse_conditions(text: &str) -> Option<(Vec<IfCondition>, &str)> {
    let mut conditions = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix(')') {
            return (!conditions.is_empty()).then_some((conditions, after));
        }
        let mut is_negated = false;
        if rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("not")) {
            is_negated = true;
            rest = rest[3..].trim_start();
        }
        let (state, after) = match rest.as_bytes().first()? {
            b'<' => {
                let (token, after) = rest[1..].split_once('>')?;
                (IfState::Token(token.to_owned()), after)
            }
            b'[' => parse_tag(&rest[1..])?,
            _ => return None,
        };
        conditions.push(IfCondition { is_negated, state });
        if conditions.len() > MAX_CONDITIONS {
            return None;
        }
        rest = after.trim_start();
    }
}

/// Parses an entity tag up to the closing bracket.
fn parse_tag(text: &str) -> Option<(IfState, &str)> {
    let text = text.trim_start();
    let start = if text.starts_with("W/") { 2 } else { 0 };
    let opaque = text[start..].strip_prefix('"')?;
    let end = start + 1 + opaque.find('"')? + 1;
    let after = text[end..].trim_start().strip_prefix(']')?;
    Some((IfState::Tag(text[..end].to_owned()), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parsed() {
        let parse = |text: &str| IfHeader::parse(text.as_bytes()).unwrap();
        let header = parse("(<urn:a> [\"1:x\"]) (Not <DAV:no-lock>)");
        assert_eq!(header.lists.len(), 2);
        assert_eq!(header.lists[0].conditions[1].state, IfState::Tag("\"1:x\"".to_owned()));
        assert!(header.lists[1].conditions[0].is_negated);
        assert_eq!(header.tokens().collect::<Vec<_>>(), ["urn:a", "DAV:no-lock"]);
        let tagged = parse("<http://h/a> (<urn:a>)([W/\"]\"]) <http://h/b>(<urn:b>)");
        let resources: Vec<_> =
            tagged.lists.iter().map(|list| list.resource.as_deref().unwrap()).collect();
        assert_eq!(resources, ["http://h/a", "http://h/a", "http://h/b"]);
    }

    #[test]
    fn malformed_headers_are_refused() {
        let long = format!("(<{}>)", "a".repeat(1 << 20));
        let many = "(<a>)".repeat(MAX_CONDITIONS + 1);
        let many_in_one = format!("({})", "<a>".repeat(MAX_CONDITIONS + 1));
        let texts = ["", "()", "(", "(<a>", "<a>", "(<a)", "([\"a])", "(Not)", "x", "(é)", "(Noé"];
        for text in texts.into_iter().chain([&*long, &*many, &*many_in_one]) {
            assert!(IfHeader::parse(text.as_bytes()).is_err(), "{}", &text[..text.len().min(40)]);
        }
        assert!(IfHeader::parse(b"(<\xff>)").is_err());
    }
}
