//! Times as HTTP and WebDAV write them.

use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use yfs_types::time::Millis;

/// Returns a time as HTTP has it: `Mon, 02 Jan 2006 15:04:05 GMT`.
pub(crate) fn http_date(time: Millis) -> String {
    timestamp(time).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Returns a time by ISO 8601, as `creationdate` has it.
pub(crate) fn iso_date(time: Millis) -> String {
    timestamp(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Parses a time as HTTP has it.
pub(crate) fn parse_http_date(text: &str) -> Option<Millis> {
    let parsed = DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Some(Millis(parsed.as_millisecond()))
}

fn timestamp(time: Millis) -> Timestamp {
    Timestamp::from_millisecond(time.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        let time = Millis(784_111_777_000);
        assert_eq!(http_date(time), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(parse_http_date(&http_date(time)), Some(time));
        assert_eq!(iso_date(time), "1994-11-06T08:49:37Z");
        assert_eq!(iso_date(Millis(i64::MAX)), "1970-01-01T00:00:00Z");
        assert_eq!(parse_http_date("soon"), None);
    }
}
