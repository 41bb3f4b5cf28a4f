//! Dates in words, as GNU `date -d` reads them: `yesterday 14:30`, `last friday`, `31 Jan 2026`.

use jiff::Zoned;
use parse_datetime::{ParsedDateTime, parse_datetime_at_date};

/// Parses a date. Returns none if it is not one.
pub(crate) fn parse(text: &str, now: &Zoned) -> Option<Zoned> {
    // The library takes the current time for a text without words, and a single letter for the name
    // of a military time zone.
    let is_letter = text.len() == 1 && !text.starts_with(|char: char| char.is_ascii_digit());
    if is_letter || !text.contains(char::is_alphanumeric) {
        return None;
    }
    match parse_datetime_at_date(now.clone(), text) {
        Ok(ParsedDateTime::InRange(time)) => Some(time),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Monday.
    const NOW: &str = "2026-11-23T09:30:15+01:00[Europe/Berlin]";

    #[test]
    fn dates_are_read_as_gnu_date_reads_them() {
        let now: Zoned = NOW.parse().unwrap();
        // The values are those of GNU date.
        let cases = [
            ("now", "2026-11-23T09:30:15+01:00"),
            ("today", "2026-11-23T09:30:15+01:00"),
            ("yesterday 14:30", "2026-11-22T14:30:00+01:00"),
            ("14:30:05", "2026-11-23T14:30:05+01:00"),
            ("3pm tomorrow", "2026-11-24T15:00:00+01:00"),
            ("12:05 am", "2026-11-23T00:05:00+01:00"),
            ("31 Jan 2026", "2026-01-31T00:00:00+01:00"),
            ("Jan 31, 2026 14:30", "2026-01-31T14:30:00+01:00"),
            ("Sat, 31 Jan 2026", "2026-01-31T00:00:00+01:00"),
            ("Dec 1", "2026-12-01T00:00:00+01:00"),
            ("1 sept", "2026-09-01T00:00:00+02:00"),
            ("01/31/2026", "2026-01-31T00:00:00+01:00"),
            ("2026-01-31 14:30 +0500", "2026-01-31T14:30:00+05:00"),
            ("2026-01-31 14:30 utc", "2026-01-31T14:30:00+00:00"),
            ("5", "2026-11-23T05:00:00+01:00"),
            ("monday", "2026-11-23T00:00:00+01:00"),
            ("next monday", "2026-11-30T00:00:00+01:00"),
            ("last monday", "2026-11-16T00:00:00+01:00"),
            ("friday 17:00", "2026-11-27T17:00:00+01:00"),
            ("next friday", "2026-11-27T00:00:00+01:00"),
            ("last fri", "2026-11-20T00:00:00+01:00"),
            ("next week", "2026-11-30T09:30:15+01:00"),
            ("last month", "2026-10-23T09:30:15+02:00"),
            ("2 hours", "2026-11-23T11:30:15+01:00"),
            ("+1 week 2 days ago", "2026-11-28T09:30:15+01:00"),
            ("1 month ago", "2026-10-23T09:30:15+02:00"),
            ("2026-01-31 -1 month", "2025-12-31T00:00:00+01:00"),
            ("2026-03-29 1 hour", "2026-03-29T01:00:00+01:00"),
            ("2026-03-28 12:00 1 day", "2026-03-29T12:00:00+02:00"),
            ("2026-03-29 +3hours", "2026-03-29T04:00:00+02:00"),
        ];
        for (text, expected) in cases {
            let parsed = parse(text, &now).map(|time| time.strftime("%FT%T%:z").to_string());
            assert_eq!(parsed.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        let now: Zoned = NOW.parse().unwrap();
        let cases = [
            "",
            "noon-ish",
            "ago-ish",
            "x",
            "2026-13-01",
            "2026-02-30",
            "25:00",
            "13pm",
            "next",
            "next x",
            "jan",
            "jan 32",
            "monday friday",
            "1:00 2:00",
            "utc utc 1:00",
            "99999999999999999999 days",
            "9223372036854775807 days",
            "-9223372036854775808 days ago",
            "99999 years",
            "é",
            "+",
            "-",
            "+é",
            "1é",
        ];
        for text in cases {
            assert!(parse(text, &now).is_none(), "{text:?}");
        }
    }
}
