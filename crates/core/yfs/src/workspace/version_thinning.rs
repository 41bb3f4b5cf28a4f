//! Which versions a list shows: all recent ones, fewer of those long ago.
//!
//! Thinning concerns the list alone. A version that is not listed keeps its number and its content.

use yfs_engine::time::Millis;

use super::versions::VersionInfo;

const HOUR_MS: i64 = 60 * 60 * 1000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The age in milliseconds up to which every version is listed.
pub(crate) const ALL_LISTED_MS: i64 = 7 * DAY_MS;

/// The age in milliseconds up to which one version of each hour is listed; of older versions, one
/// of each day.
pub(crate) const HOURLY_LISTED_MS: i64 = 30 * DAY_MS;

/// Removes versions from a list: keeps those that are younger than seven days, the last of
/// each hour (UTC) until 30 days, the last of each day before that, and all that are
/// named or current. Returns the number of removed versions.
pub fn thin_versions(versions: &mut Vec<VersionInfo>, now: Millis) -> usize {
    let n_before = versions.len();
    let mut next = None;
    // From the latest, so that the last of each slot is met first.
    versions.reverse();
    versions.retain(|version| {
        let slot = slot_of(version.at, now);
        let is_last = slot.is_none() || next != slot;
        next = slot;
        is_last || version.current || !version.names.is_empty()
    });
    versions.reverse();
    n_before - versions.len()
}

/// Returns the hour or day that a version stands for in a list, or `None` if all are listed.
fn slot_of(at: Millis, now: Millis) -> Option<(i64, i64)> {
    let span = match now.0.saturating_sub(at.0) {
        ..ALL_LISTED_MS => return None,
        ALL_LISTED_MS..HOURLY_LISTED_MS => HOUR_MS,
        _ => DAY_MS,
    };
    Some((span, at.0.div_euclid(span)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thins versions of some ages in minutes, oldest first, and returns the ages that stay. Named
    /// versions have negative ages.
    fn thinned(minutes: &[i64]) -> Vec<i64> {
        let now = Millis(1_795_305_600_000);
        let n_versions = minutes.len();
        let versions = minutes.iter().zip(1..).map(|(minutes, number)| VersionInfo {
            number,
            at: Millis(now.0 - minutes.abs() * 60_000),
            actor: None,
            label: None,
            step: None,
            names: if *minutes < 0 { vec!["name".into()] } else { Vec::new() },
            redacted: false,
            current: number as usize == n_versions,
        });
        let mut versions: Vec<_> = versions.collect();
        let n_removed = thin_versions(&mut versions, now);
        assert_eq!(n_removed + versions.len(), minutes.len());
        versions.iter().map(|version| minutes[version.number as usize - 1]).collect()
    }

    #[test]
    fn recent_versions_are_all_listed_and_older_ones_by_hour_and_day() {
        let day = 24 * 60;
        assert_eq!(thinned(&[]), [0; 0]);
        assert_eq!(thinned(&[3, 2, 1, 0]), [3, 2, 1, 0]);
        assert_eq!(thinned(&[6 * day + 2, 6 * day + 1, 0]), [6 * day + 2, 6 * day + 1, 0]);
        let hour = 10 * day;
        assert_eq!(
            thinned(&[hour + 62, hour + 3, hour + 2, hour + 1, 0]),
            [hour + 62, hour + 1, 0]
        );
        let old = 40 * day;
        assert_eq!(thinned(&[old + 600, -(old + 500), old + 60, 0]), [-(old + 500), old + 60, 0]);
        // The current version is listed however old it is.
        assert_eq!(thinned(&[old + 600, old + 500]), [old + 500]);
    }
}
