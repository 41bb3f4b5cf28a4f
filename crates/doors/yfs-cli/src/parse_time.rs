//! Parsing and formatting of times and durations.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{SpanRelativeTo, Timestamp, Zoned, civil, fmt::friendly::SpanParser, tz::TimeZone};
use yfs_engine::time::Millis;
pub(crate) use yfs_wire::rfc3339;

use crate::parse_date;

/// The age up to which `ls` considers a time recent: half a year, in milliseconds.
const RECENT_MS: i64 = 31_556_952_000 / 2;

/// Parses durations such as `1 week 2 days`.
static SPAN_PARSER: SpanParser = SpanParser::new();

/// Returns the current time.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Formats a time as `ls -l` does: `Nov 21 23:51`, or `Nov 21  2024` if it is old or in the future.
pub(crate) fn short(time: Millis, now: Millis) -> String {
    let age = now.0.saturating_sub(time.0);
    let format = if (0..RECENT_MS).contains(&age) { "%b %e %H:%M" } else { "%b %e  %Y" };
    local(time).map_or_else(|| "?".to_owned(), |zoned| zoned.strftime(format).to_string())
}

/// Formats a time in full, in the local time zone: `2026-11-21 23:51:25.123 +0000`.
pub(crate) fn long(time: Millis) -> String {
    let format = "%Y-%m-%d %H:%M:%S%.3f %z";
    local(time).map_or_else(|| "?".to_owned(), |zoned| zoned.strftime(format).to_string())
}

/// Formats a time as `strftime` does, in the local time zone.
pub(crate) fn format(time: Millis, format: &str) -> String {
    local(time).map_or_else(|| "?".to_owned(), |zoned| zoned.strftime(format).to_string())
}

/// Formats a time to the minute, in the local time zone: `2026-11-21 23:51`.
pub(crate) fn minute(time: Millis) -> String {
    local(time).map_or_else(|| "?".to_owned(), |zoned| zoned.strftime("%Y-%m-%d %H:%M").to_string())
}

fn local(time: Millis) -> Option<Zoned> {
    Some(Timestamp::from_millisecond(time.0).ok()?.to_zoned(TimeZone::system()))
}

/// Parses a time: `@1700000000`, `2026-11-21`, `2026-11-21 23:51`, `2026-11-21T23:51:25Z`, `now`,
/// `yesterday`, `3 days ago`, and what [`parse_date`] reads. A time without a zone is local.
pub(crate) fn parse(text: &str, now: Millis) -> Result<Millis, String> {
    let text = text.trim();
    let bad =
        || format!("invalid date '{text}' (expected a date such as 2026-01-31, or '3 days ago')");
    if let Some(seconds) = text.strip_prefix('@') {
        let seconds: f64 = seconds.parse().map_err(|_| bad())?;
        return Ok(Millis::from_f64(seconds * 1000.0));
    }
    let day_ms = 86_400_000;
    match text {
        "now" => return Ok(now),
        "yesterday" => return Ok(Millis(now.0.saturating_sub(day_ms))),
        "tomorrow" => return Ok(Millis(now.0.saturating_add(day_ms))),
        _ => (),
    }
    if let Some(age) = text.strip_suffix(" ago").and_then(|age| parse_duration(age).ok()) {
        return Ok(before(now, age));
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(Millis(timestamp.as_millisecond()));
    }
    if let Ok(time) = text.parse::<civil::DateTime>() {
        return of_local(time).ok_or_else(bad);
    }
    let parsed = local(now).and_then(|now| parse_date::parse(text, &now)).ok_or_else(bad)?;
    Ok(Millis(parsed.timestamp().as_millisecond()))
}

/// Parses the argument of an option such as `--since`: a time, or an age such as `2h`.
pub(crate) fn parse_option(text: &str) -> Result<Millis, String> {
    let now = now();
    match parse_duration(text) {
        Ok(age) if text.bytes().any(|byte| byte.is_ascii_alphabetic()) => Ok(before(now, age)),
        _ => parse(text, now),
    }
}

/// Parses a time as `touch -t` does: `[[CC]YY]MMDDhhmm[.ss]`.
pub(crate) fn parse_stamp(text: &str, now: Millis) -> Result<Millis, String> {
    let bad = || format!("invalid date '{text}' (expected [[CC]YY]MMDDhhmm[.ss])");
    let (digits, seconds) = text.split_once('.').unwrap_or((text, "00"));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(digits) || !all_digits(seconds) || seconds.len() != 2 {
        return Err(bad());
    }
    let (format, year) = match digits.len() {
        8 => ("%Y%m%d%H%M.%S", format!("{:04}", local(now).ok_or_else(bad)?.year())),
        10 => ("%y%m%d%H%M.%S", String::new()),
        12 => ("%Y%m%d%H%M.%S", String::new()),
        _ => return Err(bad()),
    };
    let time = civil::DateTime::strptime(format, format!("{year}{digits}.{seconds}"));
    time.ok().and_then(of_local).ok_or_else(bad)
}

fn of_local(time: civil::DateTime) -> Option<Millis> {
    Some(Millis(time.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond()))
}

/// Parses a duration: `30d`, `12h`, `90 minutes`, `1 week 2 days`, `10s`. A number without a unit
/// is a number of seconds. A day has 24 hours; months and years have no fixed length.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let bad = || {
        format!(
            "invalid duration '{text}' (expected a number and a unit, such as 30d, 12h, 15m, 10s)"
        )
    };
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map(Duration::from_secs).map_err(|_| bad());
    }
    let span = SPAN_PARSER.parse_span(text).map_err(|_| bad())?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| bad())?;
    Duration::try_from(duration).map_err(|_| bad())
}

/// Returns the time `age` before `now`.
pub(crate) fn before(now: Millis, age: Duration) -> Millis {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Millis(now.0.saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_700_000_000_000);

    #[test]
    fn times_are_read_in_many_forms() {
        let cases = [
            ("@1700000000", 1_700_000_000_000),
            ("@1.5", 1_500),
            ("2023-11-14T22:13:20Z", 1_700_000_000_000),
            ("2023-11-14T23:13:20+01:00", 1_700_000_000_000),
            ("now", NOW.0),
            ("yesterday", NOW.0 - 86_400_000),
            ("3 days ago", NOW.0 - 3 * 86_400_000),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text, NOW), Ok(Millis(expected)), "{text}");
        }
        for bad in ["", "noon-ish", "2023-13-01", "@x", "ago"] {
            assert!(parse(bad, NOW).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn stamps_of_touch_are_local() {
        let long = parse_stamp("202311142213.20", NOW).unwrap();
        assert_eq!(parse_stamp("2311142213.20", NOW), Ok(long));
        assert_eq!(parse("2023-11-14 22:13:20", NOW), Ok(long));
        for bad in ["", "1", "202313142213", "2023111422xx", "202311142213.2"] {
            assert!(parse_stamp(bad, NOW).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn times_are_written_for_programs_in_utc() {
        assert_eq!(rfc3339(NOW), "2023-11-14T22:13:20.000Z");
        assert_eq!(rfc3339(Millis(i64::MAX)), i64::MAX.to_string());
    }

    #[test]
    fn durations_have_units() {
        let units = [
            (1, "|s|sec|second|seconds"),
            (60, "m|min|minute|minutes"),
            (3_600, "h|hour|hours"),
            (86_400, "d|day|days"),
            (604_800, "w|week|weeks"),
        ];
        for (seconds, names) in units {
            for name in names.split('|') {
                for text in [format!("3{name}"), format!(" 03 {name} ")] {
                    let expected = Duration::from_secs(3 * seconds);
                    assert_eq!(parse_duration(&text), Ok(expected), "{text:?}");
                }
            }
        }
        assert_eq!(parse_duration("1 week 2 days"), Ok(Duration::from_secs(9 * 86_400)));
        assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(parse_duration(&u64::MAX.to_string()), Ok(Duration::from_secs(u64::MAX)));
        for bad in ["", "soon", "-1d", "-1", "d", "1 month", "1y", "3 days ago", "1x", "99999999w"]
        {
            assert!(parse_duration(bad).is_err(), "{bad:?}");
        }
    }
}
