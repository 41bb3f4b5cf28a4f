//! Ranges of a content (RFC 9110, section 14).

use std::ops::Range;

use axum::body::Bytes;

use crate::prelude::*;

/// The range of a content that a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum RequestedRange {
    Whole,
    Range(Range<u64>),
    /// The content does not have the range.
    None,
}

/// Answers with a content of `size` bytes, or the requested range of it. `read` returns a range.
pub(crate) fn ranged(
    headers: &HeaderMap,
    etag: &str,
    size: u64,
    read: impl FnOnce(Range<u64>) -> Result<Bytes>,
) -> Result {
    let tag = HeaderValue::try_from(etag).expect("tags are visible ASCII");
    let common = [(header::ETAG, tag), (header::ACCEPT_RANGES, HeaderValue::from_static("bytes"))];
    let (status, range, content_range) = match asked(headers, etag, size) {
        RequestedRange::Whole => (StatusCode::OK, 0..size, None),
        RequestedRange::Range(range) => {
            let shown = format!("bytes {}-{}/{size}", range.start, range.end - 1);
            (StatusCode::PARTIAL_CONTENT, range, Some(shown))
        }
        RequestedRange::None => {
            let detail = format!("the content has {size} bytes");
            let mut response =
                HttpProblem::new(StatusCode::RANGE_NOT_SATISFIABLE, detail).into_response();
            let shown = format!("bytes */{size}").parse().expect("visible ASCII");
            response.headers_mut().insert(header::CONTENT_RANGE, shown);
            return Ok(response);
        }
    };
    let mut response: Response = (status, common, read(range)?).into_response();
    let answered = response.headers_mut();
    let media_type = HeaderValue::from_static("application/octet-stream");
    answered.insert(header::CONTENT_TYPE, media_type);
    if let Some(shown) = content_range {
        answered.insert(header::CONTENT_RANGE, shown.parse().expect("visible ASCII"));
    }
    Ok(response)
}

fn asked(headers: &HeaderMap, etag: &str, size: u64) -> RequestedRange {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if text(header::IF_RANGE).is_some_and(|tag| tag != etag) {
        return RequestedRange::Whole;
    }
    // A range header that is not supported, such as one of several ranges, is ignored.
    text(header::RANGE).and_then(|range| parse(range, size)).unwrap_or(RequestedRange::Whole)
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
