//! Times in the format of later versions of the reference: `2026-11-21T21:19:10.581Z`.

use crate::time::Millis;

const MS_PER_DAY: i64 = 86_400_000;

/// Reads a time in the format of JavaScript's `Date.prototype.toISOString`.
pub(super) fn parse_iso(text: &str) -> Option<Millis> {
    let bytes = text.as_bytes();
    let shape = b"dddd-dd-ddTdd:dd:dd.dddZ";
    let fits = |(byte, shape): (&u8, &u8)| match shape {
        b'd' => byte.is_ascii_digit(),
        _ => byte == shape,
    };
    if bytes.len() != shape.len() || !bytes.iter().zip(shape).all(fits) {
        return None;
    }
    let number = |from: usize, to: usize| text[from..to].parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second, ms) =
        (number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?);
    let legal = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !legal || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_from_civil(year, month, day);
    Some(Millis(days * MS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1000 + ms))
}

/// Writes a time in that format; `None` if the year does not have four digits.
pub(super) fn format_iso(time: Millis) -> Option<String> {
    let (days, ms) = (time.0.div_euclid(MS_PER_DAY), time.0.rem_euclid(MS_PER_DAY));
    let (year, month, day) = civil_from_days(days)?;
    let (seconds, ms) = (ms / 1000, ms % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"))
}

/// Counts the days from 1970-01-01 in the Gregorian calendar; years begin in March, so that the
/// leap day is the last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> Option<(i64, i64, i64)> {
    // The years 0000 to 9999.
    if !(-719_528..=2_932_896).contains(&days) {
        return None;
    }
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back_as_they_were_written() {
        for ms in [0, 1, -1, 1_795_295_950_591, 951_782_400_000, 253_402_300_799_999] {
            let text = format_iso(Millis(ms)).unwrap();
            assert_eq!(parse_iso(&text), Some(Millis(ms)), "{text}");
        }
        assert_eq!(format_iso(Millis(1_795_295_950_581)).unwrap(), "2026-11-21T21:19:10.581Z");
    }

    #[test]
    fn only_the_format_of_javascript_is_read() {
        for text in ["", "2026-11-21", "2026-13-21T21:19:10.581Z", "2026-11-21T21:19:10.581+1", "é"]
        {
            assert_eq!(parse_iso(text), None, "{text}");
        }
    }
}
