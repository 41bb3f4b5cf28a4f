//! Dates in words, as GNU `date -d` reads them: `yesterday 14:30`, `last friday`, `31 Jan 2026`.
//!
//! Each word sets a part: the date, the time of day, the zone, a weekday, or an amount of time to
//! add. Parts that are missing come from the current time, except the time of day, which is
//! midnight if a date or a weekday is given.

use jiff::{
    Span, Zoned,
    civil::{Date, Time, Weekday},
    tz::{Offset, TimeZone},
};

/// The most words of a date.
const MAX_WORDS: usize = 32;

/// The parts of a date that the words have set.
#[derive(Debug, Default)]
struct DateParts {
    date: Option<Date>,
    time: Option<Time>,
    zone: Option<TimeZone>,
    /// A weekday, and how many weeks later: 0 is the first such day from today on.
    weekday: Option<(Weekday, i64)>,
    relative: Vec<RelativeAmount>,
}

/// An amount of time to add.
#[derive(Debug, Clone, Copy)]
struct RelativeAmount {
    number: i64,
    unit: TimeUnit,
}

/// A unit of relative amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeUnit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// Parses a date. Returns none if it is not one.
pub(crate) fn parse(text: &str, now: &Zoned) -> Option<Zoned> {
    let text = text.to_lowercase().replace(',', " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() || words.len() > MAX_WORDS {
        return None;
    }
    let mut parts = DateParts::default();
    let mut at = 0;
    while at < words.len() {
        at += parts.read(&words[at..], now)?;
    }
    parts.resolve(now)
}

impl DateParts {
    /// Reads the next part. Returns how many words it has, or none if they are no part.
    fn read(&mut self, words: &[&str], now: &Zoned) -> Option<usize> {
        let (word, next) = (*words.first()?, words.get(1).copied().unwrap_or_default());
        let day = |number| RelativeAmount { number, unit: TimeUnit::Day };
        match word {
            "now" | "today" => {}
            "yesterday" => self.relative.push(day(-1)),
            "tomorrow" => self.relative.push(day(1)),
            "noon" => set(&mut self.time, Time::constant(12, 0, 0, 0))?,
            "midnight" => set(&mut self.time, Time::midnight())?,
            "z" | "utc" | "gmt" => set(&mut self.zone, TimeZone::UTC)?,
            "ago" if !self.relative.is_empty() => {
                for amount in &mut self.relative {
                    amount.number = amount.number.checked_neg()?;
                }
            }
            "next" | "last" | "this" => {
                let number = i64::from(word == "next") - i64::from(word == "last");
                match (weekday(next), unit(next)) {
                    (Some(day), _) => set(&mut self.weekday, (day, number))?,
                    (_, Some(unit)) => self.relative.push(RelativeAmount { number, unit }),
                    _ => return None,
                }
                return Some(2);
            }
            word if word.starts_with(|char: char| char.is_ascii_digit() || "+-".contains(char)) => {
                return self.read_number(words, now);
            }
            word => match (weekday(word), month(word)) {
                (Some(day), _) => set(&mut self.weekday, (day, 0))?,
                (_, Some(month)) => {
                    let date = date_of(month, next, words.get(2).copied(), now)?;
                    set(&mut self.date, date.0)?;
                    return Some(2 + usize::from(date.1));
                }
                _ => return None,
            },
        }
        Some(1)
    }

    /// Reads a part that begins with a number.
    fn read_number(&mut self, words: &[&str], now: &Zoned) -> Option<usize> {
        let (word, next) = (*words.first()?, words.get(1).copied().unwrap_or_default());
        for format in ["%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d-%b-%Y"] {
            if let Ok(date) = Date::strptime(format, word) {
                set(&mut self.date, date)?;
                return Some(1);
            }
        }
        let is_signed = word.starts_with(['+', '-']);
        if is_signed
            && self.time.is_some()
            && self.zone.is_none()
            && let Some(zone) = offset(word)
        {
            self.zone = Some(zone);
            return Some(1);
        }
        if !is_signed && let Some((time, n_words)) = time_of(word, next) {
            set(&mut self.time, time)?;
            return Some(n_words);
        }
        if let Some(month) = month(next) {
            let (date, has_year) = date_of(month, word, words.get(2).copied(), now)?;
            set(&mut self.date, date)?;
            return Some(2 + usize::from(has_year));
        }
        let digits = word.rfind(|char: char| char.is_ascii_digit())? + 1;
        let (number, attached) = word.split_at(digits);
        let number: i64 = number.parse().ok()?;
        let (name, n_words) = if attached.is_empty() { (next, 2) } else { (attached, 1) };
        self.relative.push(RelativeAmount { number, unit: unit(name)? });
        Some(n_words)
    }

    /// Joins the parts to a time.
    fn resolve(self, now: &Zoned) -> Option<Zoned> {
        let zone = self.zone.unwrap_or_else(|| now.time_zone().clone());
        let now = now.with_time_zone(zone.clone());
        let has_day = self.date.is_some() || self.weekday.is_some();
        let mut date = self.date.unwrap_or_else(|| now.date());
        // Beside a date, a weekday says nothing more, as in `Fri, 31 Jan 2026`.
        if let Some((weekday, weeks)) = self.weekday.filter(|_| self.date.is_none()) {
            let days = i64::from(date.weekday().until(weekday));
            let weeks = if weeks > 0 && days > 0 { weeks - 1 } else { weeks };
            date = date.checked_add(Span::new().try_days(days + 7 * weeks).ok()?).ok()?;
        }
        let time = self.time.unwrap_or(if has_day { Time::midnight() } else { now.time() });
        let mut civil = date.to_datetime(time);
        let mut exact = Span::new();
        for RelativeAmount { number, unit } in self.relative {
            let span = Span::new();
            let days = match unit {
                TimeUnit::Year => span.try_years(number),
                TimeUnit::Month => span.try_months(number),
                TimeUnit::Week => span.try_weeks(number),
                TimeUnit::Day => span.try_days(number),
                TimeUnit::Hour | TimeUnit::Minute | TimeUnit::Second => {
                    let add = match unit {
                        TimeUnit::Hour => span.try_hours(number),
                        TimeUnit::Minute => span.try_minutes(number),
                        _ => span.try_seconds(number),
                    };
                    exact = exact.checked_add(add.ok()?).ok()?;
                    continue;
                }
            };
            civil = civil.checked_add(days.ok()?).ok()?;
        }
        civil.to_zoned(zone).ok()?.checked_add(exact).ok()
    }
}

/// Sets a part. Returns none if it is set already.
fn set<T>(part: &mut Option<T>, value: T) -> Option<()> {
    part.replace(value).is_none().then_some(())
}

/// Reads a time of day, and the word `am` or `pm` after it. Returns how many words it has.
fn time_of(word: &str, next: &str) -> Option<(Time, usize)> {
    let attached = ["am", "pm"].into_iter().find(|half| word.ends_with(half));
    let half = attached.or_else(|| ["am", "pm"].into_iter().find(|half| *half == next));
    let digits = word.trim_end_matches(['a', 'p', 'm']);
    if let Some(half) = half {
        let text = format!("{digits} {half}");
        let time = ["%I:%M:%S %p", "%I:%M %p", "%I %p"]
            .into_iter()
            .find_map(|format| Time::strptime(format, &text).ok())?;
        return Some((time, if attached.is_some() { 1 } else { 2 }));
    }
    ["%H:%M:%S%.f", "%H:%M"]
        .into_iter()
        .find_map(|format| Time::strptime(format, word).ok())
        .map(|time| (time, 1))
}

/// Reads a day and, if it is one, a year. Reports whether it is.
fn date_of(month: i8, day: &str, year: Option<&str>, now: &Zoned) -> Option<(Date, bool)> {
    let day: i8 = day.parse().ok()?;
    let year = year.filter(|year| year.len() == 4).and_then(|year| year.parse::<i16>().ok());
    Some((Date::new(year.unwrap_or(now.year()), month, day).ok()?, year.is_some()))
}

/// Reads an offset from UTC: `+0100`, `-05:30`, `+1`.
fn offset(word: &str) -> Option<TimeZone> {
    let (sign, digits) = match word.split_at(1) {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (digits[..2].parse().ok()?, digits[2..].parse().ok()?);
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok().map(TimeZone::fixed)
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "mon" | "monday" => Weekday::Monday,
        "tue" | "tues" | "tuesday" => Weekday::Tuesday,
        "wed" | "wednesday" => Weekday::Wednesday,
        "thu" | "thur" | "thurs" | "thursday" => Weekday::Thursday,
        "fri" | "friday" => Weekday::Friday,
        "sat" | "saturday" => Weekday::Saturday,
        "sun" | "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

fn month(word: &str) -> Option<i8> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let is_named = |name: &str| name == word || &name[..3] == word;
    let index =
        NAMES.iter().position(|name| is_named(name) || (word == "sept" && name.starts_with(word)));
    i8::try_from(index? + 1).ok()
}

fn unit(word: &str) -> Option<TimeUnit> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => TimeUnit::Second,
        "min" | "mins" | "minute" | "minutes" => TimeUnit::Minute,
        "h" | "hour" | "hours" => TimeUnit::Hour,
        "d" | "day" | "days" => TimeUnit::Day,
        "w" | "week" | "weeks" => TimeUnit::Week,
        "month" | "months" => TimeUnit::Month,
        "year" | "years" => TimeUnit::Year,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Monday.
    const NOW: &str = "2026-11-23T09:30:15+01:00[Europe/Berlin]";

    #[test]
    fn dates_are_read_as_gnu_date_reads_them() {
        let now: Zoned = NOW.parse().unwrap();
        // The values are those of GNU date, except that `ago` applies to all amounts before it.
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
            ("monday", "2026-11-23T00:00:00+01:00"),
            ("next monday", "2026-11-30T00:00:00+01:00"),
            ("last monday", "2026-11-16T00:00:00+01:00"),
            ("friday 17:00", "2026-11-27T17:00:00+01:00"),
            ("next friday", "2026-11-27T00:00:00+01:00"),
            ("last fri", "2026-11-20T00:00:00+01:00"),
            ("next week", "2026-11-30T09:30:15+01:00"),
            ("last month", "2026-10-23T09:30:15+02:00"),
            ("2 hours", "2026-11-23T11:30:15+01:00"),
            ("+1 week 2 days ago", "2026-11-14T09:30:15+01:00"),
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
            "2026-13-01",
            "2026-02-30",
            "25:00",
            "13pm",
            "next",
            "next x",
            "5",
            "5 x",
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
