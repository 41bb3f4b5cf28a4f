//! Ranges of a content (RFC 9110, section 14).

use std::ops::Range;

use axum::body::Bytes;
use yfs_dav::ranges::RequestedRange;

use crate::prelude::*;

/// Answers with a content of `size` bytes, or the requested range of it. `read` returns a range.
pub(crate) fn ranged(
    headers: &HeaderMap,
    etag: &str,
    size: u64,
    read: impl FnOnce(Range<u64>) -> Result<Bytes>,
) -> Result {
    let tag = HeaderValue::try_from(etag).expect("tags are visible ASCII");
    let common = [(header::ETAG, tag), (header::ACCEPT_RANGES, HeaderValue::from_static("bytes"))];
    let (status, range, content_range) = match RequestedRange::of(headers, etag, size) {
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
