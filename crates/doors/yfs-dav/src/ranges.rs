//! Ranges of a content (RFC 9110, section 14), for all HTTP services of files.

use std::ops::Range;

use http::{HeaderMap, HeaderValue, header};

/// The range of a content that a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// All of it.
    Whole,
    /// These bytes.
    Range(Range<u64>),
    /// The content does not have the range.
    None,
}

impl RequestedRange {
    /// Returns the range that a request for a content of `size` bytes asks for.
    pub fn of(headers: &HeaderMap, etag: &str, size: u64) -> Self {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if text(header::IF_RANGE).is_some_and(|tag| tag != etag) {
            return Self::Whole;
        }
        // A range header that is not supported, such as one of several ranges, is ignored.
        text(header::RANGE).and_then(|range| parse(range, size)).unwrap_or(Self::Whole)
    }
}

fn parse(range: &str, size: u64) -> Option<RequestedRange> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let range = match (first.is_empty(), last.is_empty()) {
        (true, true) => return None,
        (true, false) => size.saturating_sub(last.parse().ok()?)..size,
        (false, true) => first.parse().ok()?..size,
        (false, false) => {
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            if last < first {
                return None;
            }
            first..size.min(last.saturating_add(1))
        }
    };
    Some(if range.is_empty() { RequestedRange::None } else { RequestedRange::Range(range) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read() {
        let part = |text| parse(text, 100);
        assert_eq!(part("bytes=0-9"), Some(RequestedRange::Range(0..10)));
        assert_eq!(part("bytes=90-"), Some(RequestedRange::Range(90..100)));
        assert_eq!(part("bytes=-10"), Some(RequestedRange::Range(90..100)));
        assert_eq!(part("bytes=-1000"), Some(RequestedRange::Range(0..100)));
        assert_eq!(part("bytes=99-18446744073709551615"), Some(RequestedRange::Range(99..100)));
        assert_eq!(part("bytes=100-"), Some(RequestedRange::None));
        assert_eq!(part("bytes=-0"), Some(RequestedRange::None));
        for strange in ["bytes=-", "bytes=5-4", "bytes=0-1,4-5", "lines=1-2", "bytes=a-b", ""] {
            assert_eq!(part(strange), None, "{strange}");
        }
        assert_eq!(parse("bytes=0-", 0), Some(RequestedRange::None));
    }
}
